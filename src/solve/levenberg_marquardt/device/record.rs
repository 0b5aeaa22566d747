//! What a solve on the device consists of, as command lists that are made once and submitted in any number: the *head* of a step
//! (linearise, begin, look at the convergence, settle where the point is), an *iteration* of conjugate gradients, and the *tail* (make the step, try it,
//! decide). Gates in the state block decide on the device which of their kernels do anything, so the host may submit any
//! sequence of iterations, tails and heads that is long enough: how long never changes a number.

mod products;

use super::coupling::Coupling;
use super::elimination::Elimination;
use super::shaders::{GUARD_VECTORS, MOST_GUARDED, SUM_SECTIONS, Setting, SolverShader, SolverUniforms, VECTORS};
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
pub enum SolverBuffer {
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
pub enum SolverProgram {
    /// A hand-written one of the functions' Gauss-Newton model.
    Model(ModelShader),
    /// One of the solver's own.
    Own(SolverShader),
    /// Steps of blocks.
    Retract(Manifold, u32),
}

/// A command list of a solve.
pub type Segment = declare::Segment<SolverBuffer, SolverProgram>;

/// Everything a solve submits.
#[derive(Debug)]
pub struct Recording {
    /// Linearises, begins a step, and looks whether there is to be one.
    pub head: Segment,
    /// One iteration of conjugate gradients.
    pub iteration: Segment,
    /// Makes the step and decides.
    pub tail: Segment,
    /// What stands in [`SolverBuffer::Uniforms`].
    pub uniforms: Vec<u32>,
    /// How blocks lie.
    pub shape: Shape,
    setting: Setting,
    /// The kernels of all products that run in [`SolverShader::Products`].
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
    pub fn bytes(&self, place: SolverBuffer) -> u64 {
        bytes(&self.shape, self.setting, 4 * self.uniforms.len() as u64, place)
    }

    /// Numbers between the parts of [`SolverBuffer::Bounds`].
    pub fn stride(&self) -> u32 {
        self.shape.stride()
    }

    /// What to compile for a pipeline, on a device that has the errors of products by this form.
    pub fn request(&self, program: SolverProgram, form: PairForm) -> Result<PipelineRequest> {
        Ok(match program {
            SolverProgram::Model(shader) => {
                PipelineRequest { wgsl: shader.wgsl(), entry: shader.entry().to_owned(), layout: shader.layout() }
            }
            SolverProgram::Own(kernel) => PipelineRequest {
                wgsl: kernel.wgsl(self.setting, &self.fused_kernels, &self.coupling),
                entry: kernel.name().to_owned(),
                layout: kernel.layout(self.setting),
            },
            SolverProgram::Retract(manifold, dim) => {
                let Setting { constrained, width, .. } = self.setting;
                let kernel = retraction_kernel(manifold, dim, constrained, width)?;
                let layout = binding_kinds(&wgsl::kernel_resources(&kernel));
                PipelineRequest { wgsl: wgsl::write(&kernel, form)?, entry: kernel.name.clone(), layout }
            }
        })
    }
}

fn bytes(shape: &Shape, Setting { constrained, width, guarded }: Setting, uniforms: u64, place: SolverBuffer) -> u64 {
    let (numbers, stride) = (u64::from(shape.numbers), u64::from(shape.stride()));
    4 * match place {
        SolverBuffer::Uniforms => uniforms / 4,
        SolverBuffer::Model(_) => 0,
        SolverBuffer::State => state::WORDS.into(),
        SolverBuffer::Point | SolverBuffer::Trial | SolverBuffer::Gradient => vector_len(width, numbers),
        // A step that was projected is a difference of points.
        SolverBuffer::ProjectedStep if constrained => vector_len(width, numbers),
        SolverBuffer::ProjectedStep | SolverBuffer::Product => numbers,
        SolverBuffer::Vectors => (VECTORS.len() + if guarded { GUARD_VECTORS.len() } else { 0 }) as u64 * stride,
        SolverBuffer::Sums => 2 * (u64::from(SUM_SECTIONS * shape.workgroups) + u64::from(shape.factors)),
        SolverBuffer::JvpSquares => MOST_SUMS,
        SolverBuffer::Bounds => (2 * table_len(width, 1) + 1) * stride,
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
        self.buffer(SolverBuffer::Model(buffer), bytes)
    }

    fn model_shader(&mut self, shader: ModelShader) -> PipelineId {
        self.pipeline(SolverProgram::Model(shader), shader.entry(), &shader.layout())
    }
}

impl<'a> Writer<'a> {
    fn new(shape: &'a Shape, setting: Setting, is_coupled: bool, uniform_bytes: u64) -> Writer<'a> {
        let (segment, uniforms, fused_kernels) = (Segment::default(), Vec::new(), String::new());
        Writer { shape, setting, is_coupled, uniforms, uniform_bytes, segment, fused_kernels }
    }

    fn head<K: Kernels>(&mut self, model: &ModelRecorder<K>) -> Result<Segment> {
        let (trial, gradient, gate) =
            (self.place(SolverBuffer::Trial), self.place(SolverBuffer::Gradient), self.gate(state::LINEARISE));
        let costs = model.linearise(&mut self.segment, trial, gradient, gate)?;
        let block_diagonal = self.segment.model_table(model.layout, ModelBuffer::BlockDiagonal);
        let strategy = model.jtj_product();
        for group in &self.shape.groups {
            let mut bindings = vec![
                self.place(SolverBuffer::State),
                gradient,
                block_diagonal,
                self.place(SolverBuffer::Vectors),
                self.place(SolverBuffer::Sums),
            ];
            if group.shape.preconditioner == Preconditioner::Pairs {
                bindings.push(self.segment.model_table(model.layout, ModelBuffer::BlockDiagonalLow));
            }
            if self.setting.constrained {
                bindings.extend_from_slice(&[trial, self.place(SolverBuffer::Bounds)]);
            }
            let uniforms = self.of_group(group, model.layout.scale);
            self.dispatch(SolverShader::Begin(group.shape, strategy), bindings, uniforms, group.workgroups);
        }
        let bindings = vec![self.place(SolverBuffer::State), costs.slice, self.place(SolverBuffer::Sums)];
        let uniforms = self.finishing(costs);
        self.dispatch(SolverShader::Converge, bindings, uniforms, 1);
        let bindings = vec![self.place(SolverBuffer::State), trial, self.place(SolverBuffer::Point)];
        let numbers = vector_len(self.setting.width, self.shape.numbers.into()) as u32;
        self.dispatch_over(SolverShader::Settle, bindings, numbers);
        Ok(self.finish())
    }

    fn iteration<K: Kernels>(&mut self, model: &ModelRecorder<K>) -> Result<Segment> {
        let strategy = model.jtj_product();
        let jvp = self.product_of_direction(model)?;
        let block_diagonal = self.segment.model_table(model.layout, ModelBuffer::BlockDiagonal);
        let rows = self.rows(model);
        for (group, row) in self.shape.groups.iter().zip(rows) {
            let mut bindings = vec![self.place(SolverBuffer::State), jvp.slice];
            let uniforms =
                SolverUniforms { count: jvp.count, width: jvp.width, ..self.product_uniforms(model, group, row) };
            if self.is_coupled && group.shape.part == Part::Eliminated {
                bindings.extend_from_slice(&[self.place(SolverBuffer::Vectors), self.place(SolverBuffer::Sums)]);
                let uniforms = SolverUniforms { blocks: group.blocks * group.shape.dim, ..uniforms };
                self.dispatch(SolverShader::Advance, bindings, uniforms, group.workgroups);
                continue;
            }
            bindings.push_all(self.product_bindings(model, strategy));
            bindings.extend_from_slice(&[
                block_diagonal,
                self.place(SolverBuffer::Vectors),
                self.place(SolverBuffer::Sums),
            ]);
            self.dispatch(SolverShader::Update(group.shape, strategy), bindings, uniforms, group.workgroups);
        }
        let eliminates = self.shape.groups.iter().any(|group| group.shape.part == Part::Eliminated);
        if eliminates && !self.is_coupled {
            self.substitute(model)?;
        }
        if !strategy.forms_direction() {
            // Four numbers a thread.
            let bindings = vec![
                self.place(SolverBuffer::State),
                self.place(SolverBuffer::Sums),
                self.place(SolverBuffer::Vectors),
            ];
            self.dispatch_over(SolverShader::Direct, bindings, self.shape.stride() / 4);
        }
        Ok(self.finish())
    }

    fn tail<K: Kernels>(&mut self, model: &ModelRecorder<K>) -> Result<Segment> {
        if model.jtj_product().forms_direction() {
            let bindings = vec![
                self.place(SolverBuffer::State),
                self.place(SolverBuffer::Sums),
                self.place(SolverBuffer::Vectors),
            ];
            let uniforms = self.common();
            self.dispatch(SolverShader::Direct, bindings, uniforms, 1);
        }
        self.retract(model)?;
        let (trial, projected_step, gate) =
            (self.place(SolverBuffer::Trial), self.place(SolverBuffer::ProjectedStep), self.gate(state::TRIAL));
        let block_diagonal = self.segment.model_table(model.layout, ModelBuffer::BlockDiagonal);
        for group in &self.shape.groups {
            let bindings = vec![
                self.place(SolverBuffer::State),
                self.place(SolverBuffer::Gradient),
                block_diagonal,
                self.place(SolverBuffer::Vectors),
                self.place(SolverBuffer::Point),
                projected_step,
                self.place(SolverBuffer::Sums),
            ];
            let uniforms = self.of_group(group, model.layout.scale);
            self.dispatch(SolverShader::Measure(group.shape), bindings, uniforms, group.workgroups);
        }
        // A step that bounds have cut is not the one that was solved for: its jvp is computed.
        let jvp =
            if self.setting.constrained { Some(model.jvp(&mut self.segment, projected_step, gate)?) } else { None };
        let reduction = model.trial(&mut self.segment, trial, gate)?;
        let mut bindings = vec![self.place(SolverBuffer::State), reduction.slice, self.place(SolverBuffer::Sums)];
        let mut uniforms = self.finishing(reduction);
        if let Some(jvp) = jvp {
            bindings.push(jvp.slice);
            uniforms = SolverUniforms { jvp_count: jvp.count, jvp_width: jvp.width, ..uniforms };
        }
        self.dispatch(SolverShader::Decide, bindings, uniforms, 1);
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
                let bounds = self.place(SolverBuffer::Bounds);
                (bounds.part(0, stride), bounds.part(stride, stride))
            } else {
                // Not read.
                (gate, gate)
            };
            let bindings = [
                self.place(SolverBuffer::Point),
                self.vector(3),
                lower,
                upper,
                self.place(SolverBuffer::Trial),
                self.place(SolverBuffer::ProjectedStep),
                gate,
                self.uniform(&of_dispatch(count, first, self.shape.stride())),
            ];
            let kernel = retraction_kernel(manifold, dim, constrained, width)?;
            let layout = binding_kinds(&wgsl::kernel_resources(&kernel));
            let pipeline = self.segment.pipeline(SolverProgram::Retract(manifold, dim), "retract", &layout);
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
    fn dispatch_over(&mut self, kernel: SolverShader, bindings: Vec<Slice>, count: u32) {
        let workgroups = count.div_ceil(THREADS).min(MOST_WORKGROUPS);
        let uniforms = SolverUniforms { blocks: count, threads: workgroups * THREADS, ..self.common() };
        self.dispatch(kernel, bindings, uniforms, workgroups);
    }

    fn dispatch(&mut self, kernel: SolverShader, mut bindings: Vec<Slice>, uniforms: SolverUniforms, workgroups: u32) {
        bindings.push(self.uniform(&uniforms.words()));
        let pipeline = self.segment.pipeline(SolverProgram::Own(kernel), kernel.name(), &kernel.layout(self.setting));
        self.segment.list.dispatch(pipeline, &bindings, [workgroups, 1]);
    }

    fn uniform(&mut self, words: &[u32]) -> Slice {
        let first = 4 * self.uniforms.len() as u64;
        self.uniforms.extend_from_slice(words);
        self.uniforms.resize(self.uniforms.len().next_multiple_of(ALIGNMENT as usize / 4), 0);
        self.place(SolverBuffer::Uniforms).part(first, ALIGNMENT)
    }

    fn gate(&mut self, word: u32) -> Slice {
        self.place(SolverBuffer::State).part(4 * u64::from(word), 16)
    }

    fn vector(&mut self, number: u64) -> Slice {
        let stride = 4 * u64::from(self.shape.stride());
        self.place(SolverBuffer::Vectors).part(number * stride, 4 * u64::from(self.shape.numbers))
    }

    fn place(&mut self, place: SolverBuffer) -> Slice {
        self.segment.buffer(place, bytes(self.shape, self.setting, self.uniform_bytes, place))
    }

    fn finish(&mut self) -> Segment {
        std::mem::take(&mut self.segment)
    }
}
