//! What a run does on the device, as command lists: rounds, each of which evaluates one trial point and decides what becomes of it.

use super::shaders::{Figures, Kernel};
use super::state::{self, Places};
use crate::batch::ArrayInfo;
use crate::batch::line::STEPS;
use crate::codegen::wgsl::{self, Dispatch, WORKGROUP_SIZE};
use crate::error::Result;
use crate::functions::layout::{ALIGNMENT, Memory};
use crate::functions::normal::{Declare, Sums};
use crate::functions::objective::Descent;
use crate::functions::record::{self, Kernels};
use crate::gpu::{BindingKind, BufferId, CommandList, DownloadId, PipelineId, Slice};
use crate::manifolds::{InPlace, Manifold, in_place_kernel};
use crate::solve::curved::on_manifolds;
use crate::table::Table;

/// Workgroups of a layer, at most: one more kernel sums what each of them brings.
const MOST_WORKGROUPS: u32 = 256;

/// Coordinates a thread has, at least: workgroups that only add up their threads' sums are not worth their barriers.
const LEAST_COORDINATES: u32 = 8;

/// Threads of a workgroup.
const THREADS: u32 = 256;

/// What a kernel in place binds: the point, what it writes over, the gate and its uniform.
const IN_PLACE_LAYOUT: [BindingKind; 4] =
    [BindingKind::StorageRead, BindingKind::StorageReadWrite, BindingKind::StorageRead, BindingKind::Uniform];

/// A buffer, by what it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A buffer of the functions'.
    Functions(Memory),
    /// The state block.
    State,
    /// The point: what the application sees.
    Point,
    /// Its gradient, the direction, and the lowest point.
    Vectors,
    /// Lower and upper limits of each parameter; where some are on manifolds, after them which are, and a second number that is not used.
    Limits,
    /// The pairs of the history: a step and a gradient's change for each.
    History,
    /// Partial sums.
    Partials,
    /// The uniforms: of the solver's own kernels, and of those for each array on a manifold.
    Figures,
}

/// A pipeline, by what it computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// One of the functions'.
    Functions(record::Program),
    /// One of the solver's own.
    Own(Kernel),
    /// What is done to blocks on a manifold.
    InPlace(InPlace, Manifold, u32),
}

impl Program {
    /// The text, entry point and bindings of a pipeline of the solver's own, for a run of a shape.
    pub fn request(self, shape: Shape) -> Result<Option<(String, String, Vec<BindingKind>)>> {
        Ok(match self {
            Program::Functions(_) => None,
            Program::Own(kernel) => Some((kernel.wgsl(shape.places()), kernel.name().to_owned(), kernel.layout())),
            Program::InPlace(what, manifold, dim) => {
                let kernel = in_place_kernel(what, manifold, dim)?;
                Some((wgsl::write(&kernel)?, kernel.name, IN_PLACE_LAYOUT.to_vec()))
            }
        })
    }
}

/// The sizes of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Parameters.
    pub count: u32,
    /// Pairs that are remembered.
    pub capacity: u32,
    /// Whether there are constants or bounds.
    pub limited: bool,
    /// Arrays on manifolds.
    pub curved: u32,
}

impl Shape {
    /// Where the parts of the state stand.
    pub fn places(self) -> Places {
        Places::new(self.capacity as usize)
    }

    /// Where in [`Place::Vectors`] the lowest point stands, in bytes.
    pub fn lowest(self) -> u64 {
        4 * state::LOWEST as u64 * self.stride()
    }

    fn stride(self) -> u64 {
        u64::from(self.count.next_multiple_of(64))
    }

    fn groups(self) -> u32 {
        self.count.div_ceil(THREADS * LEAST_COORDINATES).clamp(1, MOST_WORKGROUPS)
    }

    /// Bytes of a buffer of the solver's own.
    pub fn bytes(self, place: Place) -> u64 {
        4 * match place {
            Place::Functions(_) => 0,
            Place::State => self.places().words() as u64,
            Place::Point => self.count.into(),
            Place::Vectors => 3 * self.stride(),
            Place::Limits if self.curved > 0 => 4 * u64::from(self.count),
            Place::Limits if self.limited => 2 * u64::from(self.count),
            Place::Limits => 4,
            Place::History => 2 * u64::from(self.capacity) * self.stride(),
            Place::Partials => 2 * self.places().sections() as u64 * u64::from(self.groups()),
            Place::Figures => ALIGNMENT / 4 * u64::from(1 + self.curved),
        }
    }

    /// What stands in [`Place::Figures`]; `sums` are those of the objective.
    fn figures(self, sums: Sums) -> Figures {
        Figures {
            count: self.count,
            threads: self.groups() * THREADS,
            groups: self.groups(),
            stride: self.stride() as u32,
            limited: self.limited.into(),
            curved: (self.curved > 0).into(),
            costs: sums.count,
            width: sums.width,
        }
    }
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

/// Everything that a run submits.
#[derive(Debug)]
pub struct Recording {
    /// What a batch begins with.
    pub begin: Segment,
    /// One round.
    pub round: Segment,
    /// What a batch ends with: the state comes back.
    pub read: Segment,
    /// The first [`state::READ`] numbers of the state.
    pub state: DownloadId,
    /// What stands in [`Place::Figures`].
    pub figures: Vec<u32>,
}

/// Records a run.
pub fn record<K: Kernels>(descent: &Descent<K>, shape: Shape) -> Result<Recording> {
    let mut writer = Writer { shape, segment: Segment::default(), buffers: Vec::new(), pipelines: Table::default() };
    descent.begin(&mut writer);
    let begin = writer.finish();
    let mut figures = shape.figures(writer.round(descent)?).words().to_vec();
    for array in on_manifolds(&descent.model.arrays) {
        figures.resize(figures.len().next_multiple_of(ALIGNMENT as usize / 4), 0);
        figures.extend(Dispatch::new(array.count, array.count, array.offset).words());
    }
    let round = writer.finish();
    let part = writer.place(Place::State).part(0, 4 * state::READ as u64);
    let state = writer.list().download(part);
    Ok(Recording { begin, round, read: writer.finish(), state, figures })
}

struct Writer {
    shape: Shape,
    segment: Segment,
    buffers: Vec<BufferId>,
    pipelines: Table<Program, PipelineId>,
}

impl Declare for Writer {
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

impl Writer {
    fn round<K: Kernels>(&mut self, descent: &Descent<K>) -> Result<Sums> {
        let numbers = 4 * u64::from(self.shape.count);
        let (trial, gradient) = (self.memory(Memory::Parameters, numbers), self.memory(Memory::Gradient, numbers));
        let [state, point, vectors, limits, history, partials] =
            [Place::State, Place::Point, Place::Vectors, Place::Limits, Place::History, Place::Partials]
                .map(|place| self.place(place));
        let groups = self.shape.groups();
        let direction = vectors.part(4 * state::DIRECTION as u64 * self.shape.stride(), numbers);
        let line = state.part(4 * state::LINE as u64, 4 * u64::from(1 + STEPS));
        // Along manifolds steps are tried one by one: the way is no straight line.
        if self.shape.curved == 0 {
            let sums = descent.along(self, point, direction, line)?;
            self.run(Kernel::Walk, &[state, sums], [1, 1]);
        }
        self.run(Kernel::Place, &[state, point, vectors, limits, partials, trial, gradient], [groups, 1]);
        let gate = state.part(4 * state::EVALUATES as u64, 4);
        self.on_manifolds(descent, InPlace::Turn, [point, trial, gate])?;
        let sums = descent.evaluate(self, trial, gradient, gate)?;
        self.on_manifolds(descent, InPlace::TangentGradient, [trial, gradient, gate])?;
        let bindings = [state, point, vectors, limits, trial, gradient, history, partials];
        self.run(Kernel::Measure, &bindings, [groups, 1 + self.shape.capacity]);
        self.run(Kernel::Decide, &[state, partials, sums.slice], [1, 1]);
        self.run(Kernel::Advance, &bindings, [groups, 1]);
        Ok(sums)
    }

    /// Runs the kernel of each array on a manifold: a point, what it writes over, and the gate.
    fn on_manifolds<K: Kernels>(
        &mut self,
        descent: &Descent<K>,
        what: InPlace,
        [point, turned, gate]: [Slice; 3],
    ) -> Result<()> {
        for (number, array) in on_manifolds(&descent.model.arrays).enumerate() {
            let &ArrayInfo { manifold, dim, count, .. } = array;
            let figures = self.place(Place::Figures).part((1 + number as u64) * ALIGNMENT, ALIGNMENT);
            let pipeline = self.pipeline(Program::InPlace(what, manifold, dim), "in place", &IN_PLACE_LAYOUT);
            let groups = descent.limits.split_workgroups(u64::from(count).div_ceil(WORKGROUP_SIZE.into()))?;
            self.segment.list.dispatch(pipeline, &[point, turned, gate, figures], groups);
        }
        Ok(())
    }

    fn run(&mut self, kernel: Kernel, bindings: &[Slice], workgroups: [u32; 2]) {
        let mut bindings = bindings.to_vec();
        bindings.push(self.place(Place::Figures).part(0, ALIGNMENT));
        let pipeline = self.pipeline(Program::Own(kernel), kernel.name(), &kernel.layout());
        self.segment.list.dispatch(pipeline, &bindings, workgroups);
    }

    fn place(&mut self, place: Place) -> Slice {
        self.declare(place, self.shape.bytes(place))
    }

    fn declare(&mut self, place: Place, bytes: u64) -> Slice {
        let position = self.segment.places.iter().position(|known| *known == place).unwrap_or_else(|| {
            self.buffers.push(self.segment.list.buffer(format!("{place:?}"), bytes));
            self.segment.places.push(place);
            self.segment.places.len() - 1
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

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::*;
    use crate::solve::device::shaders::bindings_of;

    #[test]
    fn kernels_in_place_bind_what_their_texts_declare() {
        let shape = Shape { count: 12, capacity: 3, limited: false, curved: 1 };
        for (manifold, dim) in [(Manifold::UnitQuaternion, 4), (Manifold::UnitVector, 3), (Manifold::Angle, 1)] {
            for what in [InPlace::Turn, InPlace::TangentGradient] {
                let (text, entry, layout) = Program::InPlace(what, manifold, dim).request(shape).unwrap().unwrap();
                assert_eq!(bindings_of(&text), layout, "{entry}");
                let module = crate::portable::validated(&text);
                assert_eq!(module.entry_points[0].name, entry);
            }
        }
    }
}
