//! What a solve on the device consists of, as command lists that are made once and submitted in any number: the *head* of a step
//! (linearise, begin, look at the convergence, settle where the point is), an *iteration* of conjugate gradients, and the *tail* (make the step, try it,
//! decide). Gates in the state block decide on the device which of their kernels do anything, so the host may submit any
//! sequence of iterations, tails and heads that is long enough: how long never changes a number.

mod products;

use super::coupling::Coupling;
use super::elimination::Elimination;
use super::shaders::{GUARD_VECTORS, Kernel, MOST_GUARDED, SUM_SECTIONS, Setting, SolverUniforms, VECTORS};
use super::shape::{Group, MOST_WORKGROUPS, Part, Preconditioner, Shape, THREADS};
use super::state;
use crate::eval::declare::{self, Sums};
use crate::eval::layout::ALIGNMENT;
use crate::eval::pairs::{table_len, vector_len};
use crate::eval::record::Kernels;
use crate::gauss_newton::device::fused_lists::MOST_SUMS;
use crate::gauss_newton::device::shaders::ModelShader;
use crate::gauss_newton::device::{DeclareModel, ModelBuffer, ModelRecorder};
use crate::model::manifolds::{Manifold, retraction_kernel};
use crate::shader_source::binding_kinds;
use residua_base::error::Result;
use residua_base::list::PushAll;
use residua_codegen::wgsl::{self, Dispatch, PairForm, WORKGROUP_SIZE};
use residua_gpu::{PipelineId, PipelineRequest, Slice};

/// Numbers that a thread moves where each moves by itself, if their count allows.
const NUMBERS_A_THREAD: u32 = 4;

/// A buffer, by what it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// A buffer of the functions' Gauss-Newton model.
    Model(ModelBuffer),
    /// The state block.
    State,
    /// The point: what the application sees.
    Point,
    /// The trial point, which is also where functions are linearised.
    Trial,
    /// The projected step.
    ProjectedStep,
    /// The gradient.
    Gradient,
    /// JᵀJp
    Product,
    /// [`VECTORS`]
    Vectors,
    /// Partial sums, and the factors of blocks.
    Sums,
    /// Parts of ‖Jp‖², where products of all residuals are one dispatch.
    JvpSquares,
    /// Lower bounds, upper bounds, and which coordinates are constant.
    Bounds,
    /// The uniforms of all dispatches of the solver's own.
    Uniforms,
}

/// A pipeline, by what it computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Program {
    /// A hand-written one of the functions' Gauss-Newton model.
    Model(ModelShader),
    /// One of the solver's own.
    Own(Kernel),
    /// Steps of blocks.
    Retract(Manifold, u32),
}

/// A command list of a solve.
pub type Segment = declare::Segment<Place, Program>;

/// Everything a solve submits.
#[derive(Debug)]
pub struct Recording {
    /// Linearises, begins a step, and looks whether there is to be one.
    pub head: Segment,
    /// One iteration of conjugate gradients.
    pub iteration: Segment,
    /// Makes the step and decides.
    pub tail: Segment,
    /// What stands in [`Place::Uniforms`].
    pub uniforms: Vec<u32>,
    /// How blocks lie.
    pub shape: Shape,
    setting: Setting,
    /// The kernels of all products that run in [`Kernel::Products`].
    fused_kernels: String,
    coupling: Coupling,
}

impl Recording {
    /// Records the solve of a model. `constrained`: there are bounds or constants.
    pub fn new<K: Kernels>(
        model: &ModelRecorder<K>,
        constrained: bool,
        elimination: Option<&Elimination>,
    ) -> Result<Recording> {
        let shape = Shape::new(&model.model.arrays, model.model.num_params, elimination);
        // A slot for each dispatch that is not the functions': four a group, a retraction an array, and five more, some of which one model has.
        let slots = 4 * shape.groups.len() + model.model.arrays.len() + 5;
        let coupling = Coupling::of(model, &shape, elimination);
        let guarded = shape.numbers <= MOST_GUARDED;
        let setting = Setting { constrained, width: model.layout.width, guarded };
        let mut writer = Writer::new(&shape, setting, coupling.is_some(), slots as u64 * ALIGNMENT);
        let head = writer.head(model)?;
        let iteration = writer.iteration(model)?;
        let tail = writer.tail(model)?;
        let (mut uniforms, fused_kernels) = (writer.uniforms, writer.fused_kernels);
        uniforms.resize(slots * ALIGNMENT as usize / 4, 0);
        let coupling = coupling.unwrap_or_default();
        Ok(Recording { head, iteration, tail, uniforms, shape, setting, fused_kernels, coupling })
    }

    /// Bytes of a buffer of the solver's own.
    pub fn bytes(&self, place: Place) -> u64 {
        bytes(&self.shape, self.setting, 4 * self.uniforms.len() as u64, place)
    }

    /// Numbers between the parts of [`Place::Bounds`].
    pub fn stride(&self) -> u32 {
        self.shape.stride()
    }

    /// What to compile for a pipeline, on a device that has the errors of products by this form.
    pub fn request(&self, program: Program, form: PairForm) -> Result<PipelineRequest> {
        Ok(match program {
            Program::Model(shader) => {
                PipelineRequest { wgsl: shader.wgsl(), entry: shader.entry().to_owned(), layout: shader.layout() }
            }
            Program::Own(kernel) => PipelineRequest {
                wgsl: kernel.wgsl(self.setting, &self.fused_kernels, &self.coupling),
                entry: kernel.name().to_owned(),
                layout: kernel.layout(self.setting),
            },
            Program::Retract(manifold, dim) => {
                let Setting { constrained, width, .. } = self.setting;
                let kernel = retraction_kernel(manifold, dim, constrained, width)?;
                let layout = binding_kinds(&wgsl::kernel_resources(&kernel));
                PipelineRequest { wgsl: wgsl::write(&kernel, form)?, entry: kernel.name.clone(), layout }
            }
        })
    }
}

fn bytes(shape: &Shape, Setting { constrained, width, guarded }: Setting, uniforms: u64, place: Place) -> u64 {
    let (numbers, stride) = (u64::from(shape.numbers), u64::from(shape.stride()));
    4 * match place {
        Place::Uniforms => uniforms / 4,
        Place::Model(_) => 0,
        Place::State => state::WORDS.into(),
        Place::Point | Place::Trial | Place::Gradient => vector_len(width, numbers),
        // A step that was projected is a difference of points.
        Place::ProjectedStep if constrained => vector_len(width, numbers),
        Place::ProjectedStep | Place::Product => numbers,
        Place::Vectors => (VECTORS.len() + if guarded { GUARD_VECTORS.len() } else { 0 }) as u64 * stride,
        Place::Sums => 2 * (u64::from(SUM_SECTIONS * shape.workgroups) + u64::from(shape.factors)),
        Place::JvpSquares => MOST_SUMS,
        Place::Bounds => (2 * table_len(width, 1) + 1) * stride,
    }
}

/// The uniforms of a generated kernel over blocks: those of pairs begin with those of numbers.
fn of_dispatch(count: u32, first: u32, low: u32) -> Vec<u32> {
    let mut words = Dispatch::new(count, count, first).words().to_vec();
    words.extend_from_slice(&[low, low]);
    words
}

/// Writes segments.
struct Writer<'a> {
    shape: &'a Shape,
    setting: Setting,
    /// Whether one kernel multiplies by a Schur complement.
    is_coupled: bool,
    uniforms: Vec<u32>,
    uniform_bytes: u64,
    segment: Segment,
    fused_kernels: String,
}

impl DeclareModel for Segment {
    fn model_buffer(&mut self, buffer: ModelBuffer, bytes: u64) -> Slice {
        self.buffer(Place::Model(buffer), bytes)
    }

    fn model_shader(&mut self, shader: ModelShader) -> PipelineId {
        self.pipeline(Program::Model(shader), shader.entry(), &shader.layout())
    }
}

impl<'a> Writer<'a> {
    fn new(shape: &'a Shape, setting: Setting, is_coupled: bool, uniform_bytes: u64) -> Writer<'a> {
        let (segment, uniforms, fused_kernels) = (Segment::default(), Vec::new(), String::new());
        Writer { shape, setting, is_coupled, uniforms, uniform_bytes, segment, fused_kernels }
    }

    fn head<K: Kernels>(&mut self, model: &ModelRecorder<K>) -> Result<Segment> {
        let (trial, gradient, gate) =
            (self.place(Place::Trial), self.place(Place::Gradient), self.gate(state::LINEARISE));
        let costs = model.linearise(&mut self.segment, trial, gradient, gate)?;
        let block_diagonal = self.segment.model_table(model.layout, ModelBuffer::BlockDiagonal);
        let strategy = model.jtj_product();
        for group in &self.shape.groups {
            let mut bindings = vec![
                self.place(Place::State),
                gradient,
                block_diagonal,
                self.place(Place::Vectors),
                self.place(Place::Sums),
            ];
            if group.shape.preconditioner == Preconditioner::Pairs {
                bindings.push(self.segment.model_table(model.layout, ModelBuffer::BlockDiagonalLow));
            }
            if self.setting.constrained {
                bindings.extend_from_slice(&[trial, self.place(Place::Bounds)]);
            }
            let uniforms = self.of_group(group, model.layout.scale);
            self.dispatch(Kernel::Begin(group.shape, strategy), bindings, uniforms, group.workgroups);
        }
        let bindings = vec![self.place(Place::State), costs.slice, self.place(Place::Sums)];
        let uniforms = self.finishing(costs);
        self.dispatch(Kernel::Converge, bindings, uniforms, 1);
        let bindings = vec![self.place(Place::State), trial, self.place(Place::Point)];
        let numbers = vector_len(self.setting.width, self.shape.numbers.into()) as u32;
        self.dispatch_over(Kernel::Settle, bindings, numbers);
        Ok(self.finish())
    }

    fn iteration<K: Kernels>(&mut self, model: &ModelRecorder<K>) -> Result<Segment> {
        let strategy = model.jtj_product();
        let jvp = self.product_of_direction(model)?;
        let block_diagonal = self.segment.model_table(model.layout, ModelBuffer::BlockDiagonal);
        let rows = self.rows(model);
        for (group, row) in self.shape.groups.iter().zip(rows) {
            let mut bindings = vec![self.place(Place::State), jvp.slice];
            let uniforms =
                SolverUniforms { count: jvp.count, width: jvp.width, ..self.product_uniforms(model, group, row) };
            if self.is_coupled && group.shape.part == Part::Eliminated {
                bindings.extend_from_slice(&[self.place(Place::Vectors), self.place(Place::Sums)]);
                let uniforms = SolverUniforms { blocks: group.blocks * group.shape.dim, ..uniforms };
                self.dispatch(Kernel::Advance, bindings, uniforms, group.workgroups);
                continue;
            }
            bindings.push_all(self.product_bindings(model, strategy));
            bindings.extend_from_slice(&[block_diagonal, self.place(Place::Vectors), self.place(Place::Sums)]);
            self.dispatch(Kernel::Update(group.shape, strategy), bindings, uniforms, group.workgroups);
        }
        let eliminates = self.shape.groups.iter().any(|group| group.shape.part == Part::Eliminated);
        if eliminates && !self.is_coupled {
            self.substitute(model)?;
        }
        if !strategy.forms_direction() {
            // Four numbers a thread.
            let bindings = vec![self.place(Place::State), self.place(Place::Sums), self.place(Place::Vectors)];
            self.dispatch_over(Kernel::Direct, bindings, self.shape.stride() / 4);
        }
        Ok(self.finish())
    }

    fn tail<K: Kernels>(&mut self, model: &ModelRecorder<K>) -> Result<Segment> {
        if model.jtj_product().forms_direction() {
            let bindings = vec![self.place(Place::State), self.place(Place::Sums), self.place(Place::Vectors)];
            let uniforms = self.common();
            self.dispatch(Kernel::Direct, bindings, uniforms, 1);
        }
        self.retract(model)?;
        let (trial, projected_step, gate) =
            (self.place(Place::Trial), self.place(Place::ProjectedStep), self.gate(state::TRIAL));
        let block_diagonal = self.segment.model_table(model.layout, ModelBuffer::BlockDiagonal);
        for group in &self.shape.groups {
            let bindings = vec![
                self.place(Place::State),
                self.place(Place::Gradient),
                block_diagonal,
                self.place(Place::Vectors),
                self.place(Place::Point),
                projected_step,
                self.place(Place::Sums),
            ];
            let uniforms = self.of_group(group, model.layout.scale);
            self.dispatch(Kernel::Measure(group.shape), bindings, uniforms, group.workgroups);
        }
        // A step that bounds have cut is not the one that was solved for: its jvp is computed.
        let jvp =
            if self.setting.constrained { Some(model.jvp(&mut self.segment, projected_step, gate)?) } else { None };
        let reduction = model.trial(&mut self.segment, trial, gate)?;
        let mut bindings = vec![self.place(Place::State), reduction.slice, self.place(Place::Sums)];
        let mut uniforms = self.finishing(reduction);
        if let Some(jvp) = jvp {
            bindings.push(jvp.slice);
            uniforms = SolverUniforms { jvp_count: jvp.count, jvp_width: jvp.width, ..uniforms };
        }
        self.dispatch(Kernel::Decide, bindings, uniforms, 1);
        Ok(self.finish())
    }

    /// The trial point and the projected step, array by array, neighbours of one kind together.
    fn retract<K: Kernels>(&mut self, model: &ModelRecorder<K>) -> Result<()> {
        let mut arrays: Vec<(Manifold, u32, u32, u32)> = Vec::new();
        for array in model.model.arrays.iter().filter(|array| array.dim > 0 && array.count > 0) {
            // Where every number moves by itself, its block does not matter.
            let (dim, blocks) = match array.manifold {
                Manifold::Euclidean => (1, array.count * array.dim),
                _ => (array.dim, array.count),
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
            let Setting { constrained, width, .. } = self.setting;
            let (lower, upper) = if constrained {
                let stride = 4 * table_len(width, self.shape.stride().into());
                let bounds = self.place(Place::Bounds);
                (bounds.part(0, stride), bounds.part(stride, stride))
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
                self.place(Place::ProjectedStep),
                gate,
                self.uniform(&of_dispatch(count, first, self.shape.stride())),
            ];
            let kernel = retraction_kernel(manifold, dim, constrained, width)?;
            let layout = binding_kinds(&wgsl::kernel_resources(&kernel));
            let pipeline = self.segment.pipeline(Program::Retract(manifold, dim), "retract", &layout);
            let groups = model.limits.split_workgroups(u64::from(count).div_ceil(WORKGROUP_SIZE.into()))?;
            self.segment.list.dispatch(pipeline, &bindings, groups);
        }
        Ok(())
    }

    fn of_group(&self, group: &Group, scale: u32) -> SolverUniforms {
        SolverUniforms {
            blocks: group.blocks,
            threads: group.workgroups * THREADS,
            first: group.first,
            scale,
            group: group.first_workgroup,
            factors: group.factors,
            ..self.common()
        }
    }

    fn finishing(&self, sums: Sums) -> SolverUniforms {
        SolverUniforms { count: sums.count, width: sums.width, ..self.common() }
    }

    fn common(&self) -> SolverUniforms {
        SolverUniforms::new(self.shape.workgroups, self.shape.stride())
    }

    /// Runs a kernel with a thread, or a turn of one, for each of so many.
    fn dispatch_over(&mut self, kernel: Kernel, bindings: Vec<Slice>, count: u32) {
        let workgroups = count.div_ceil(THREADS).min(MOST_WORKGROUPS);
        let uniforms = SolverUniforms { blocks: count, threads: workgroups * THREADS, ..self.common() };
        self.dispatch(kernel, bindings, uniforms, workgroups);
    }

    fn dispatch(&mut self, kernel: Kernel, mut bindings: Vec<Slice>, uniforms: SolverUniforms, workgroups: u32) {
        bindings.push(self.uniform(&uniforms.words()));
        let pipeline = self.segment.pipeline(Program::Own(kernel), kernel.name(), &kernel.layout(self.setting));
        self.segment.list.dispatch(pipeline, &bindings, [workgroups, 1]);
    }

    fn uniform(&mut self, words: &[u32]) -> Slice {
        let first = 4 * self.uniforms.len() as u64;
        self.uniforms.extend_from_slice(words);
        self.uniforms.resize(self.uniforms.len().next_multiple_of(ALIGNMENT as usize / 4), 0);
        self.place(Place::Uniforms).part(first, ALIGNMENT)
    }

    fn gate(&mut self, word: u32) -> Slice {
        self.place(Place::State).part(4 * u64::from(word), 16)
    }

    fn vector(&mut self, number: u64) -> Slice {
        let stride = 4 * u64::from(self.shape.stride());
        self.place(Place::Vectors).part(number * stride, 4 * u64::from(self.shape.numbers))
    }

    fn place(&mut self, place: Place) -> Slice {
        self.segment.buffer(place, bytes(self.shape, self.setting, self.uniform_bytes, place))
    }

    fn finish(&mut self) -> Segment {
        std::mem::take(&mut self.segment)
    }
}
