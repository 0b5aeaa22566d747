//! What a solve on the device consists of, as command lists that are made once and submitted in any number: the *head* of a step
//! (linearise, begin, look at the convergence, settle where the point is), an *iteration* of conjugate gradients, and the *tail* (make the step, try it,
//! decide). Gates in the state block decide on the device which of their kernels do anything, so the host may submit any
//! sequence of iterations, tails and heads that is long enough: how long never changes a number.

use super::shaders::{Figures, Kernel, Product, SUM_SECTIONS, VECTORS, bindings_of};
use super::shape::{Group, MOST_WORKGROUPS, Preconditioner, Shape, THREADS};
use super::state;
use crate::codegen::wgsl::{self, Dispatch, WORKGROUP_SIZE};
use crate::error::Result;
use crate::functions::joint::{self, Joint};
use crate::functions::layout::{ALIGNMENT, Memory};
use crate::functions::normal::{Declare, Normal, Sums};
use crate::functions::record::{self, Kernels};
use crate::gpu::{BindingKind, BufferId, CommandList, PipelineId, Slice};
use crate::manifolds::{Manifold, retraction_kernel};
use crate::table::Table;

mod products;

/// Numbers that a thread moves where each moves by itself, if their count allows.
const NUMBERS_A_THREAD: u32 = 4;

/// A buffer, by what it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A buffer of the functions'.
    Functions(Memory),
    /// The state block.
    State,
    /// The point: what the application sees.
    Point,
    /// The trial point, which is also where functions are linearised.
    Trial,
    /// The step that was made.
    Made,
    /// The gradient.
    Gradient,
    /// JᵀJp
    Product,
    /// [`VECTORS`]
    Vectors,
    /// Partial sums, and the factors of blocks.
    Sums,
    /// Parts of ‖Jp‖², where products of all residuals are one dispatch.
    Images,
    /// Lower bounds, upper bounds, and which coordinates are constant.
    Limits,
    /// The uniforms of all dispatches of the solver's own.
    Figures,
}

/// A pipeline, by what it computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// One of the functions'.
    Functions(record::Program),
    /// One of the solver's own.
    Own(Kernel),
    /// Steps of blocks.
    Retract(Manifold, u32),
}

/// A command list with the buffers and pipelines that it declares, in their order.
#[derive(Debug, Default)]
pub struct Segment {
    /// What is to be done.
    pub list: CommandList,
    /// Its buffers.
    pub places: Vec<Place>,
    /// Its pipelines.
    pub programs: Vec<Program>,
}

/// Everything a solve submits.
#[derive(Debug)]
pub struct Recording {
    /// Linearises, begins a step, and looks whether there is to be one.
    pub head: Segment,
    /// One iteration of conjugate gradients.
    pub iteration: Segment,
    /// Makes the step and decides.
    pub tail: Segment,
    /// What stands in [`Place::Figures`].
    pub figures: Vec<u32>,
    shape: Shape,
    constrained: bool,
    /// The text of [`Kernel::Products`].
    products: String,
}

impl Recording {
    /// Records the solve of a model. `constrained`: there are bounds or constants.
    pub fn new<K: Kernels>(normal: &Normal<K>, constrained: bool) -> Result<Recording> {
        let shape = Shape::new(&normal.model.arrays, normal.model.num_params);
        // A slot for each dispatch that is not the functions': three a group, a retraction an array, and five more, some of which one model has.
        let slots = 3 * shape.groups.len() + normal.model.arrays.len() + 5;
        let mut writer = Writer::new(&shape, constrained, slots as u64 * ALIGNMENT);
        let head = writer.head(normal)?;
        let iteration = writer.iteration(normal)?;
        let tail = writer.tail(normal)?;
        let (mut figures, products) = (writer.figures, writer.products);
        figures.resize(slots * ALIGNMENT as usize / 4, 0);
        Ok(Recording { head, iteration, tail, figures, shape, constrained, products })
    }

    /// Bytes of a buffer of the solver's own.
    pub fn bytes(&self, place: Place) -> u64 {
        bytes(&self.shape, 4 * self.figures.len() as u64, place)
    }

    /// Numbers between the parts of [`Place::Limits`].
    pub fn stride(&self) -> u32 {
        self.shape.stride()
    }

    /// The text, entry point and bindings of a pipeline of the solver's own.
    pub fn program(&self, program: Program) -> Result<Option<(String, String, Vec<BindingKind>)>> {
        Ok(match program {
            Program::Functions(_) => None,
            Program::Own(kernel) => {
                let text =
                    if kernel == Kernel::Products { self.products.clone() } else { kernel.wgsl(self.constrained) };
                let bindings = bindings_of(&text);
                Some((text, kernel.name().to_owned(), bindings))
            }
            Program::Retract(manifold, dim) => {
                let kernel = retraction_kernel(manifold, dim, self.constrained)?;
                let text = wgsl::write(&kernel)?;
                let bindings = bindings_of(&text);
                Some((text, kernel.name, bindings))
            }
        })
    }
}

fn bytes(shape: &Shape, figures: u64, place: Place) -> u64 {
    let (numbers, stride) = (u64::from(shape.numbers), u64::from(shape.stride()));
    4 * match place {
        Place::Figures => figures / 4,
        Place::Functions(_) => 0,
        Place::State => state::WORDS.into(),
        Place::Point | Place::Trial | Place::Made | Place::Gradient | Place::Product => numbers,
        Place::Vectors => VECTORS.len() as u64 * stride,
        Place::Sums => 2 * (u64::from(SUM_SECTIONS * shape.workgroups) + u64::from(shape.factors)),
        Place::Images => joint::MOST_SUMS,
        Place::Limits => 3 * stride,
    }
}

/// Writes segments.
struct Writer<'a> {
    shape: &'a Shape,
    constrained: bool,
    figures: Vec<u32>,
    figure_bytes: u64,
    segment: Segment,
    buffers: Vec<BufferId>,
    pipelines: Table<Program, PipelineId>,
    products: String,
}

impl Declare for Writer<'_> {
    fn list(&mut self) -> &mut CommandList {
        &mut self.segment.list
    }

    fn memory(&mut self, memory: Memory, bytes: u64) -> Slice {
        self.declare(Place::Functions(memory), bytes)
    }

    fn program(&mut self, program: record::Program, name: &str, layout: &[BindingKind]) -> PipelineId {
        self.pipeline(Program::Functions(program), name, layout)
    }
}

impl<'a> Writer<'a> {
    fn new(shape: &'a Shape, constrained: bool, figure_bytes: u64) -> Writer<'a> {
        let (figures, buffers, pipelines) = (Vec::new(), Vec::new(), Table::default());
        let (segment, products) = (Segment::default(), String::new());
        Writer { shape, constrained, figures, figure_bytes, segment, buffers, pipelines, products }
    }

    fn head<K: Kernels>(&mut self, normal: &Normal<K>) -> Result<Segment> {
        let (trial, gradient, gate) =
            (self.place(Place::Trial), self.place(Place::Gradient), self.gate(state::LINEARISE));
        let costs = normal.linearise(self, trial, gradient, gate)?;
        let curvature = self.functions(normal, Memory::Curvature);
        let way = self.way(normal);
        for group in &self.shape.groups {
            let mut bindings = vec![
                self.place(Place::State),
                gradient,
                curvature,
                self.place(Place::Vectors),
                self.place(Place::Sums),
            ];
            if group.shape.preconditioner == Preconditioner::Pairs {
                bindings.push(self.functions(normal, Memory::CurvatureLow));
            }
            if self.constrained {
                bindings.extend([trial, self.place(Place::Limits)]);
            }
            let figures = self.of_group(group, normal.layout.normal.scale);
            self.dispatch(Kernel::Begin(group.shape, way), bindings, figures, group.workgroups);
        }
        let bindings = vec![self.place(Place::State), costs.slice, self.place(Place::Sums)];
        let figures = self.finishing(costs);
        self.dispatch(Kernel::Converge, bindings, figures, 1);
        let bindings = vec![self.place(Place::State), trial, self.place(Place::Point)];
        self.dispatch_over(Kernel::Settle, bindings, self.shape.numbers);
        Ok(self.finish())
    }

    fn iteration<K: Kernels>(&mut self, normal: &Normal<K>) -> Result<Segment> {
        let (direction, product) = (self.vector(2), self.place(Place::Product));
        let gate = self.gate(state::ITERATE);
        let gathers = self.gathers(normal);
        let way = self.way(normal);
        let image = match (way, &gathers) {
            (Product::Formed, Some(gathers)) => self.multiply(normal, gathers),
            (Product::Weighted, _) => normal.image(self, direction, gate)?,
            (Product::Gathered, _) => normal.product_parts(self, direction, gate)?,
            (Product::Joint { formed, .. }, _) => {
                let image =
                    if formed { self.products(normal)? } else { normal.product_parts(self, direction, gate)? };
                normal.gather_heavy(self, product, gate)?;
                image
            }
            (Product::Whole | Product::Formed, _) => normal.product(self, direction, product, gate)?,
        };
        let curvature = self.functions(normal, Memory::Curvature);
        // Rows of lists stand in the order of the blocks.
        let mut row = normal.layout.joint.as_ref().map_or(0, Joint::first_row);
        for group in &self.shape.groups {
            let mut bindings = vec![self.place(Place::State)];
            bindings.extend((way != Product::Formed).then_some(image.slice));
            match way {
                Product::Gathered | Product::Weighted => bindings.extend(
                    [Memory::GatherOffsets(0, 0), Memory::GatherEntries(0, 0), Memory::Local(0)]
                        .map(|memory| self.functions(normal, memory)),
                ),
                Product::Whole | Product::Formed => bindings.push(product),
                Product::Joint { heavy, .. } => {
                    bindings.extend(heavy.then_some(product));
                    bindings
                        .extend([Memory::JointLists, Memory::AllLocal].map(|memory| self.functions(normal, memory)));
                }
            }
            bindings.extend([curvature, self.place(Place::Vectors), self.place(Place::Sums)]);
            let figures = Figures {
                count: image.count,
                width: image.width,
                local_stride: gathers.as_ref().map_or(0, |gathers| gathers.stride),
                first_partial: gathers.as_ref().map_or(0, |gathers| gathers.first_partial),
                row,
                ..self.of_group(group, normal.layout.normal.scale)
            };
            self.dispatch(Kernel::Update(group.shape, way), bindings, figures, group.workgroups);
            row += group.blocks;
        }
        if !way.is_formed() {
            // Four numbers a thread.
            let bindings = vec![self.place(Place::State), self.place(Place::Sums), self.place(Place::Vectors)];
            self.dispatch_over(Kernel::Direct, bindings, self.shape.stride() / 4);
        }
        Ok(self.finish())
    }

    fn functions<K: Kernels>(&mut self, normal: &Normal<K>, memory: Memory) -> Slice {
        self.table(normal.layout, memory)
    }

    fn tail<K: Kernels>(&mut self, normal: &Normal<K>) -> Result<Segment> {
        if self.way(normal).is_formed() {
            let bindings = vec![self.place(Place::State), self.place(Place::Sums), self.place(Place::Vectors)];
            let figures = self.common();
            self.dispatch(Kernel::Direct, bindings, figures, 1);
        }
        self.retract(normal)?;
        let (trial, made, gate) = (self.place(Place::Trial), self.place(Place::Made), self.gate(state::TRIAL));
        let curvature = self.functions(normal, Memory::Curvature);
        for group in &self.shape.groups {
            let bindings = vec![
                self.place(Place::State),
                self.place(Place::Gradient),
                curvature,
                self.place(Place::Vectors),
                self.place(Place::Point),
                made,
                self.place(Place::Sums),
            ];
            let figures = self.of_group(group, normal.layout.normal.scale);
            self.dispatch(Kernel::Measure(group.shape), bindings, figures, group.workgroups);
        }
        // A step that bounds have cut is not the one that was solved for: its image is computed.
        let image = if self.constrained { Some(normal.image(self, made, gate)?) } else { None };
        let reduction = normal.trial(self, trial, gate)?;
        let mut bindings = vec![self.place(Place::State), reduction.slice, self.place(Place::Sums)];
        let mut figures = self.finishing(reduction);
        if let Some(image) = image {
            bindings.push(image.slice);
            figures = Figures { image_count: image.count, image_width: image.width, ..figures };
        }
        self.dispatch(Kernel::Decide, bindings, figures, 1);
        Ok(self.finish())
    }

    /// The trial point and the step made, array by array, neighbours of one kind together.
    fn retract<K: Kernels>(&mut self, normal: &Normal<K>) -> Result<()> {
        let mut arrays: Vec<(Manifold, u32, u32, u32)> = Vec::new();
        for array in normal.model.arrays.iter().filter(|array| array.dim > 0 && array.count > 0) {
            // Where every number moves by itself, its block does not matter.
            let (dim, blocks) = match array.manifold {
                Manifold::Euclidean => (1, array.count * array.dim),
                Manifold::UnitQuaternion | Manifold::UnitVector | Manifold::Angle => (array.dim, array.count),
            };
            match arrays.last_mut() {
                Some((kind, width, first, count))
                    if (*kind, *width, *first + *width * *count) == (array.manifold, dim, array.offset) =>
                {
                    *count += blocks;
                }
                _ => arrays.push((array.manifold, dim, array.offset, blocks)),
            }
        }
        for (manifold, mut dim, first, mut count) in arrays {
            if manifold == Manifold::Euclidean && count % NUMBERS_A_THREAD == 0 {
                (dim, count) = (NUMBERS_A_THREAD, count / NUMBERS_A_THREAD);
            }
            let gate = self.gate(state::TRIAL);
            let (lower, upper) = if self.constrained {
                let (limits, stride) = (self.place(Place::Limits), 4 * u64::from(self.shape.stride()));
                (limits.part(0, stride), limits.part(stride, stride))
            } else {
                // Not read.
                (gate, gate)
            };
            let bindings = [
                self.place(Place::Point),
                self.vector(3),
                lower,
                upper,
                self.place(Place::Trial),
                self.place(Place::Made),
                gate,
                self.uniform(&Dispatch::new(count, count, first).words()),
            ];
            let layout = bindings_of(&wgsl::write(&retraction_kernel(manifold, dim, self.constrained)?)?);
            let pipeline = self.pipeline(Program::Retract(manifold, dim), "retract", &layout);
            let groups = normal.limits.split_workgroups(u64::from(count).div_ceil(WORKGROUP_SIZE.into()))?;
            self.segment.list.dispatch(pipeline, &bindings, groups);
        }
        Ok(())
    }

    fn of_group(&self, group: &Group, scale: u32) -> Figures {
        Figures {
            blocks: group.blocks,
            threads: group.workgroups * THREADS,
            first: group.first,
            scale,
            group: group.first_workgroup,
            factors: group.factors,
            ..self.common()
        }
    }

    fn finishing(&self, sums: Sums) -> Figures {
        Figures { count: sums.count, width: sums.width, ..self.common() }
    }

    fn common(&self) -> Figures {
        Figures { groups: self.shape.workgroups, stride: self.shape.stride(), nan: Dispatch::NAN, ..Figures::default() }
    }

    /// Runs a kernel with a thread, or a turn of one, for each of so many.
    fn dispatch_over(&mut self, kernel: Kernel, bindings: Vec<Slice>, count: u32) {
        let workgroups = count.div_ceil(THREADS).min(MOST_WORKGROUPS);
        let figures = Figures { blocks: count, threads: workgroups * THREADS, ..self.common() };
        self.dispatch(kernel, bindings, figures, workgroups);
    }

    fn dispatch(&mut self, kernel: Kernel, mut bindings: Vec<Slice>, figures: Figures, workgroups: u32) {
        bindings.push(self.uniform(&figures.words()));
        let program = Program::Own(kernel);
        let pipeline = match self.pipelines.get(&program) {
            Some(pipeline) => *pipeline,
            None => {
                let layout = bindings_of(&kernel.wgsl(self.constrained));
                self.pipeline(program, kernel.name(), &layout)
            }
        };
        self.segment.list.dispatch(pipeline, &bindings, [workgroups, 1]);
    }

    fn uniform(&mut self, words: &[u32]) -> Slice {
        let first = 4 * self.figures.len() as u64;
        self.figures.extend(words);
        self.figures.resize(self.figures.len().next_multiple_of(ALIGNMENT as usize / 4), 0);
        self.place(Place::Figures).part(first, ALIGNMENT)
    }

    fn gate(&mut self, word: u32) -> Slice {
        self.place(Place::State).part(4 * u64::from(word), 16)
    }

    fn vector(&mut self, number: u64) -> Slice {
        let stride = 4 * u64::from(self.shape.stride());
        self.place(Place::Vectors).part(number * stride, 4 * u64::from(self.shape.numbers))
    }

    fn place(&mut self, place: Place) -> Slice {
        self.declare(place, bytes(self.shape, self.figure_bytes, place))
    }

    fn declare(&mut self, place: Place, bytes: u64) -> Slice {
        let position = self.segment.places.iter().position(|known| *known == place).unwrap_or_else(|| {
            self.buffers.push(self.segment.list.buffer(format!("{place:?}"), bytes));
            self.segment.places.push(place);
            self.buffers.len() - 1
        });
        self.segment.list.whole(self.buffers[position])
    }

    fn pipeline(&mut self, program: Program, name: &str, layout: &[BindingKind]) -> PipelineId {
        if let Some(pipeline) = self.pipelines.get(&program) {
            return *pipeline;
        }
        let pipeline = self.segment.list.pipeline(name, layout);
        self.segment.programs.push(program);
        self.pipelines.insert(program, pipeline);
        pipeline
    }

    fn finish(&mut self) -> Segment {
        self.buffers.clear();
        self.pipelines = Table::default();
        std::mem::take(&mut self.segment)
    }
}
