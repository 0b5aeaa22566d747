//! The command lists of L-BFGS on the device. It takes the objective's recorder and the shape of a run, and gives the lists with the buffers
//! and pipelines that they need; nothing here touches a device.

use super::shaders::{LbfgsShader, LbfgsUniforms};
use super::state::{self, Places};
use crate::eval::declare::{self, Declare, Sums};
use crate::eval::layout::{ALIGNMENT, Memory};
use crate::eval::objective::Descent;
use crate::eval::record::Kernels;
use crate::model::ArrayInfo;
use crate::model::line::{FIRST_STEP, STEPS};
use crate::model::manifolds::{InPlace, Manifold, in_place_kernel};
use crate::shader_source::binding_kinds;
use crate::solve::manifold_map::arrays_on_manifolds;
use residua_base::error::Result;
use residua_base::list::PushAll;
use residua_codegen::Width;
use residua_codegen::wgsl::{self, Dispatch, WORKGROUP_SIZE};
use residua_gpu::{DownloadId, PipelineRequest, Slice};

/// Workgroups of a layer at most, since one workgroup adds up the partial sums of all.
const MOST_WORKGROUPS: u32 = 256;

/// Coordinates per thread at least, so that the sums pay for the barriers of their workgroup.
const LEAST_COORDINATES: u32 = 8;

/// Threads of a workgroup.
const THREADS: u32 = 256;

/// A buffer, by its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LbfgsBuffer {
    /// The state block: [`state`].
    State,
    /// The current point, in the buffer that the application sees.
    Point,
    /// The gradient at the point, the direction, the lowest point, the largest size of each entry of the gradient in
    /// the run, and the start.
    Vectors,
    /// Lower and upper bound of each parameter; if some are on manifolds, then a flag for each parameter, and a number that is not used.
    Bounds,
    /// s and y of each pair of the history.
    History,
    /// Partial sums.
    Partials,
    /// Uniforms: those of the solver's kernels, then those of the kernels for each array on a manifold.
    Uniforms,
}

/// A pipeline, by its kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LbfgsProgram {
    /// A kernel of the solver.
    Own(LbfgsShader),
    /// A kernel for blocks on a manifold, of so many numbers each.
    InPlace(InPlace, Manifold, u32),
}

impl LbfgsProgram {
    /// What to compile for a run of a shape.
    pub fn request(self, shape: Shape) -> Result<PipelineRequest> {
        Ok(match self {
            LbfgsProgram::Own(kernel) => PipelineRequest {
                wgsl: kernel.wgsl(shape.places()),
                entry: kernel.name().to_owned(),
                layout: kernel.layout(),
            },
            LbfgsProgram::InPlace(what, manifold, dim) => {
                let kernel = in_place_kernel(what, manifold, dim, Width::Single)?;
                let layout = binding_kinds(&wgsl::kernel_resources(&kernel));
                let wgsl = wgsl::write(&kernel, wgsl::PairForm::Split)?;
                PipelineRequest { wgsl, entry: kernel.name.clone(), layout }
            }
        })
    }
}

/// The sizes that the lists and buffers of a run depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Parameters.
    pub count: u32,
    /// Pairs of the history at most.
    pub capacity: u32,
    /// Whether any parameter is constant or has bounds.
    pub constrained: bool,
    /// Arrays on manifolds.
    pub manifold_arrays: u32,
}

impl Shape {
    /// Positions in the state block.
    pub fn places(self) -> Places {
        Places::new(self.capacity as usize)
    }

    /// Offset of the lowest point in [`LbfgsBuffer::Vectors`], in bytes.
    pub fn lowest(self) -> u64 {
        4 * state::LOWEST as u64 * self.stride()
    }

    fn stride(self) -> u64 {
        u64::from(self.count.next_multiple_of(64))
    }

    fn groups(self) -> u32 {
        self.count.div_ceil(THREADS * LEAST_COORDINATES).clamp(1, MOST_WORKGROUPS)
    }

    /// Size in bytes of a buffer.
    pub fn bytes(self, kind: LbfgsBuffer) -> u64 {
        4 * match kind {
            LbfgsBuffer::State => self.places().words() as u64,
            LbfgsBuffer::Point => self.count.into(),
            LbfgsBuffer::Vectors => state::VECTORS as u64 * self.stride(),
            LbfgsBuffer::Bounds if self.manifold_arrays > 0 => 4 * u64::from(self.count),
            LbfgsBuffer::Bounds if self.constrained => 2 * u64::from(self.count),
            LbfgsBuffer::Bounds => 4,
            LbfgsBuffer::History => 2 * u64::from(self.capacity) * self.stride(),
            LbfgsBuffer::Partials => 2 * self.places().sections() as u64 * u64::from(self.groups()),
            LbfgsBuffer::Uniforms => ALIGNMENT / 4 * u64::from(1 + self.manifold_arrays),
        }
    }

    /// Uniforms of the solver's kernels; `sums`: those of the objective.
    fn uniforms(self, sums: Sums) -> LbfgsUniforms {
        LbfgsUniforms {
            count: self.count,
            threads: self.groups() * THREADS,
            groups: self.groups(),
            stride: self.stride() as u32,
            constrained: self.constrained.into(),
            on_manifolds: (self.manifold_arrays > 0).into(),
            costs: sums.count,
            width: sums.width,
            nan: Dispatch::NAN,
        }
    }
}

/// A command list of a run.
type Segment = declare::Segment<LbfgsBuffer, LbfgsProgram>;

/// The command lists of a run.
#[derive(Debug)]
pub struct Recording {
    /// The first list of a batch.
    pub begin: Segment,
    /// One round.
    pub round: Segment,
    /// The last list of a batch: the download of the state.
    pub read: Segment,
    /// The first [`state::READ`] numbers of the state.
    pub state: DownloadId,
    /// The content of [`LbfgsBuffer::Uniforms`].
    pub uniforms: Vec<u32>,
}

/// Records a run.
pub fn record<K: Kernels>(descent: &Descent<K>, shape: Shape) -> Result<Recording> {
    let mut writer = Writer { shape, segment: Segment::default() };
    descent.begin(&mut writer.segment);
    let begin = std::mem::take(&mut writer.segment);
    let mut uniforms = shape.uniforms(writer.round(descent)?).words().to_vec();
    for array in arrays_on_manifolds(&descent.model.arrays) {
        uniforms.resize(uniforms.len().next_multiple_of(ALIGNMENT as usize / 4), 0);
        uniforms.push_all(Dispatch::new(array.count, array.count, array.offset).words());
    }
    let round = std::mem::take(&mut writer.segment);
    let part = writer.buffer(LbfgsBuffer::State).part(0, 4 * state::READ as u64);
    let state = writer.segment.list.download(part);
    Ok(Recording { begin, round, read: writer.segment, state, uniforms })
}

struct Writer {
    shape: Shape,
    segment: Segment,
}

impl Writer {
    /// Records one round, and returns the sums of the objective.
    fn round<K: Kernels>(&mut self, descent: &Descent<K>) -> Result<Sums> {
        let numbers = 4 * u64::from(self.shape.count);
        let [trial, gradient] =
            [Memory::Parameters, Memory::Gradient].map(|memory| self.segment.memory(memory, numbers));
        let [state, point, vectors, bounds, history, partials] = [
            LbfgsBuffer::State,
            LbfgsBuffer::Point,
            LbfgsBuffer::Vectors,
            LbfgsBuffer::Bounds,
            LbfgsBuffer::History,
            LbfgsBuffer::Partials,
        ]
        .map(|kind| self.buffer(kind));
        let groups = self.shape.groups();
        let direction = vectors.part(4 * state::DIRECTION as u64 * self.shape.stride(), numbers);
        let line = state.part(4 * state::LINE as u64, 4 * u64::from(FIRST_STEP + STEPS));
        // The path along a manifold is curved, so its steps are tried one at a time.
        if self.shape.manifold_arrays == 0 {
            let sums = descent.along(&mut self.segment, point, direction, line)?;
            self.run(LbfgsShader::Walk, &[state, sums], [1, 1]);
        }
        self.run(LbfgsShader::Place, &[state, point, vectors, bounds, partials, trial, gradient], [groups, 1]);
        let gate = state.part(4 * state::EVALUATES as u64, 8);
        self.on_manifolds(descent, InPlace::Turn, [point, trial, gate])?;
        let sums = descent.evaluate(&mut self.segment, trial, gradient, gate)?;
        self.on_manifolds(descent, InPlace::TangentGradient, [trial, gradient, gate])?;
        let slices = [state, point, vectors, bounds, trial, gradient, history, partials];
        self.run(LbfgsShader::Measure, &slices, [groups, 1 + self.shape.capacity]);
        self.run(LbfgsShader::Decide, &[state, partials, sums.slice], [1, 1]);
        self.run(LbfgsShader::Advance, &slices, [groups, 1]);
        Ok(sums)
    }

    /// Dispatches the kernel of each array on a manifold. It reads the point and writes over `replaced`.
    fn on_manifolds<K: Kernels>(
        &mut self,
        descent: &Descent<K>,
        what: InPlace,
        [point, replaced, gate]: [Slice; 3],
    ) -> Result<()> {
        for (number, array) in arrays_on_manifolds(&descent.model.arrays).enumerate() {
            let &ArrayInfo { manifold, dim, count, .. } = array;
            let uniforms = self.buffer(LbfgsBuffer::Uniforms).part((1 + number as u64) * ALIGNMENT, ALIGNMENT);
            let layout = binding_kinds(&wgsl::kernel_resources(&in_place_kernel(what, manifold, dim, Width::Single)?));
            let pipeline = self.segment.pipeline(LbfgsProgram::InPlace(what, manifold, dim), "in place", &layout);
            let groups = descent.limits.split_workgroups(u64::from(count).div_ceil(WORKGROUP_SIZE.into()))?;
            self.segment.list.dispatch(pipeline, &[point, replaced, gate, uniforms], groups);
        }
        Ok(())
    }

    fn run(&mut self, kernel: LbfgsShader, bindings: &[Slice], workgroups: [u32; 2]) {
        let mut bindings = bindings.to_vec();
        bindings.push(self.buffer(LbfgsBuffer::Uniforms).part(0, ALIGNMENT));
        let pipeline = self.segment.pipeline(LbfgsProgram::Own(kernel), kernel.name(), &kernel.layout());
        self.segment.list.dispatch(pipeline, &bindings, workgroups);
    }

    fn buffer(&mut self, kind: LbfgsBuffer) -> Slice {
        self.segment.buffer(kind, self.shape.bytes(kind))
    }
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::*;

    #[test]
    fn kernels_in_place_bind_the_point_what_they_overwrite_the_gate_and_their_uniform() {
        use residua_gpu::BindingKind::{StorageRead, StorageReadWrite, Uniform};
        let shape = Shape { count: 12, capacity: 3, constrained: false, manifold_arrays: 1 };
        for (manifold, dim) in [(Manifold::UnitQuaternion, 4), (Manifold::UnitVector, 3), (Manifold::Angle, 1)] {
            for what in [InPlace::Turn, InPlace::TangentGradient] {
                let request = LbfgsProgram::InPlace(what, manifold, dim).request(shape).unwrap();
                let PipelineRequest { wgsl, entry, layout } = request;
                assert_eq!(layout, [StorageRead, StorageReadWrite, StorageRead, Uniform], "{entry}");
                let module = residua_portable::validated(&wgsl);
                assert_eq!(module.entry_points[0].name, entry);
            }
        }
    }
}
