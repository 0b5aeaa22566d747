//! What a device does for an objective and its gradient, as a command list. Pure: tested without a device.
//!
//! A chunk that has lists ([`super::lists`]) is one dispatch for each size of its blocks, which writes over what stands in the
//! gradient where it is the first there; any other writes local gradients, and gather passes add them up.

use crate::model::Model;
use crate::model::access_plan::{Entry, Role};
use residua_base::error::{Error, Result};
use residua_base::list::Listed;
use residua_codegen::Width;
use residua_gpu::{Limits, Slice};

use super::Objective;
use super::layout::lists::{ChunkLists, ListMemory};
use super::layout::{Chunk, Layout, Memory};
use super::record::{Kernels, Program, Recorder, Recording, list_layout, sums_of_lists};
use super::shaders::Shader;
use super::titles::kernel_name;

/// Where a gradient is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Point {
    /// At the current parameters, as the application reads them.
    Current,
    /// At those that stand in [`Memory::Parameters`].
    Resident,
    /// At such as each run brings.
    Brought,
}

/// Which gradient, where, and what becomes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GradientCall {
    /// Of which scalar of the residuals.
    pub objective: Objective,
    /// Batches of addends run seeded, and their totals are ignored.
    pub seeded: bool,
    /// Where it is taken.
    pub at: Point,
    /// The gradient stays on the device, where the application can read it.
    pub stays: bool,
    /// Some parameters are constant: their entries are zeros.
    pub fixed: bool,
}

/// What happens to the chunks' parts of the gradient.
#[derive(Debug, Default, PartialEq, Eq)]
struct Parts {
    /// For each chunk that takes part its number, and for each of its shapes whether it adds to what stands there; none where
    /// local gradients are gathered.
    chunks: Vec<(usize, Option<Vec<bool>>)>,
    /// Something adds to, or leaves as it is, what no one has written before.
    clear: bool,
}

/// Records a gradient. Downloads: sums that add up to the objective, one list or several; then the gradient, unless it stays.
/// The uniform tables are there before, and so is what is constant.
pub fn record_gradient(
    model: &Model,
    layout: &Layout,
    kernels: &impl Kernels,
    limits: &Limits,
    call: GradientCall,
) -> Result<Recording> {
    let mut recorder = Recorder::new(model, layout, kernels, limits);
    let x = match call.at {
        Point::Current => {
            recorder.point = Memory::Lists(ListMemory::Point);
            None
        }
        Point::Resident => None,
        Point::Brought => recorder.upload_point(),
    };
    if call.stays {
        recorder.gradient = Memory::Lists(ListMemory::Left);
    }
    let seeds = call.seeded.then(|| {
        let slice = recorder.whole(Memory::Seeds);
        recorder.list.upload_argument(slice)
    });
    let gradient = recorder.whole(recorder.gradient);
    let parts = parts(model, layout, call);
    if parts.clear {
        recorder.list.clear(gradient);
    }
    // Chunks that do not bring theirs leave their sums as they are: zeros.
    let listed = parts.chunks.iter().filter(|(_, adds)| adds.is_some()).count();
    let gathers = parts.chunks.len() > listed;
    if gathers {
        let sums = recorder.whole(Memory::PartialSums);
        recorder.list.clear(sums);
    }
    if listed > 0 && listed < layout.lists.of_chunks.iter().flatten().count() {
        let sums = recorder.whole(Memory::Lists(ListMemory::Sums));
        recorder.list.clear(sums);
    }
    for (number, adds) in &parts.chunks {
        let chunk = &layout.chunks[*number];
        let entry = match call.objective {
            _ if is_seeded(model, chunk, call) => Entry::SeededGradient,
            Objective::Sum => Entry::SumGradient,
            Objective::LeastSquares => Entry::CostGradient,
        };
        match (adds, &layout.lists.of_chunks[*number]) {
            (Some(adds), Some(lists)) => recorder.sum_lists(*number, lists, entry, adds)?,
            _ => {
                recorder.run_kernel(*number, entry)?;
                recorder.gather(*number)?;
            }
        }
    }
    if call.fixed {
        recorder.zero_fixed(gradient)?;
    }
    let mut downloads = Vec::new();
    if gathers {
        recorder.reduce()?;
        let sums = recorder.whole(Memory::Sums);
        downloads.push(recorder.list.download(sums));
    }
    if listed > 0 {
        let sums = recorder.list_sums()?;
        downloads.push(recorder.list.download(sums));
    }
    if !call.stays {
        downloads.push(recorder.list.download(gradient));
    }
    Ok(recorder.finish(x, seeds, downloads))
}

fn is_seeded(model: &Model, chunk: &Chunk, call: GradientCall) -> bool {
    call.seeded && model.batches[chunk.batch].has_addends()
}

fn parts(model: &Model, layout: &Layout, call: GradientCall) -> Parts {
    let mut parts = Parts::default();
    // Ranges of parameters whose part of the gradient is written.
    let mut written: Vec<(u32, u32)> = Vec::new();
    for (number, chunk) in layout.chunks.iter().enumerate() {
        if !model.blocks[model.batches[chunk.batch].block as usize].enabled {
            continue;
        }
        let lists = layout.lists.of_chunks[number].as_ref().filter(|_| !is_seeded(model, chunk, call));
        let Some(ChunkLists { shapes, .. }) = lists else {
            // It may add anywhere, so all is cleared first, and counts as written.
            parts.clear = true;
            written.push((0, model.num_params));
            parts.chunks.push((number, None));
            continue;
        };
        let mut adds = Vec::new();
        for shape in shapes {
            let range = (shape.first, shape.first + shape.owners * shape.slots.dim);
            let overlaps = written.iter().any(|other| other.0 < range.1 && range.0 < other.1);
            let is_within = written.iter().any(|other| other.0 <= range.0 && range.1 <= other.1);
            parts.clear |= overlaps && !is_within;
            adds.push(overlaps);
            written.push(range);
        }
        parts.chunks.push((number, Some(adds)));
    }
    // The start in the upper half, the end in the lower.
    let mut ranges = written.iter().map(|&(start, end)| u64::from(start) << 32 | u64::from(end)).list();
    ranges.sort_unstable();
    let furthest = |end: u32, range: u64| if (range >> 32) as u32 <= end { end.max(range as u32) } else { end };
    let covered = ranges.into_iter().fold(0, furthest);
    parts.clear |= covered < model.num_params;
    parts
}

impl<K: Kernels> Recorder<'_, K> {
    /// Sums over a chunk's lists.
    fn sum_lists(&mut self, number: usize, lists: &ChunkLists, entry: Entry, adds: &[bool]) -> Result<()> {
        let (kernels, layout) = (self.kernels, self.layout);
        let chunk = &layout.chunks[number];
        for (shape, &add) in adds.iter().enumerate() {
            let plan = kernels.lists(chunk.batch, entry, shape)?;
            let mut bindings: Vec<Slice> = Vec::new();
            for role in &plan.roles {
                bindings.push(match role {
                    Role::Others => self.whole(Memory::Lists(ListMemory::Others(number, shape))),
                    Role::Parameters | Role::Data | Role::BatchConstants | Role::Gradient => {
                        self.bind(*role, number, chunk)?
                    }
                    Role::Indices
                    | Role::Tables
                    | Role::Seeds
                    | Role::Residuals
                    | Role::AddendValues
                    | Role::LocalGradient
                    | Role::Partials
                    | Role::Places
                    | Role::JtjBlocks
                    | Role::Local
                    | Role::Vector
                    | Role::Steps => return Err(Error::internal("a sum over lists takes what lists have not")),
                });
            }
            bindings.push(self.whole(Memory::Lists(ListMemory::Offsets(number, shape))));
            let groups = lists.workgroups(shape);
            if plan.kernel.has_total() {
                let sums = self.whole(Memory::Lists(ListMemory::Sums));
                bindings.push(sums.part(4 * lists.first_sum, 4 * sums_of_lists(plan, groups)));
            }
            bindings.push(self.uniforms(lists.uniforms(shape, add)));
            let program = Program::Lists(kernels.number(chunk.batch), entry, shape);
            let pipeline = self.pipeline(program, &kernel_name(self.model, chunk.batch, entry), &list_layout(plan));
            self.list.dispatch(pipeline, &bindings, self.limits.split_workgroups(groups)?);
        }
        Ok(())
    }

    /// The partial sums of lists, few enough for the host.
    fn list_sums(&mut self) -> Result<Slice> {
        let lists = &self.layout.lists;
        let sums = self.whole(Memory::Lists(ListMemory::Sums));
        if lists.are_few() {
            return Ok(sums);
        }
        let totals = self.whole(Memory::Lists(ListMemory::Totals));
        let bindings = [sums, totals, self.whole(Memory::GuardZero), self.uniforms(lists.reduce_uniforms)];
        let pipeline = self.shader(Shader::ReduceSum);
        let groups = u64::from(lists.reduction().workgroups());
        self.list.dispatch(pipeline, &bindings, self.limits.split_workgroups(groups)?);
        Ok(totals)
    }

    /// Sets what is constant to zero.
    fn zero_fixed(&mut self, gradient: Slice) -> Result<()> {
        let fixed = self.whole(Memory::Lists(ListMemory::FixedMask));
        let bindings = [fixed, gradient, self.uniforms(self.layout.lists.fixed_mask_uniforms)];
        let pipeline = self.shader(Shader::FixedMask { pairs: self.layout.width == Width::Pair });
        let groups = u64::from(self.model.num_params).div_ceil(64);
        self.list.dispatch(pipeline, &bindings, self.limits.split_workgroups(groups)?);
        Ok(())
    }
}

impl GradientCall {
    /// The kernels that it needs.
    pub fn entries(self) -> Vec<Entry> {
        let entry = match self.objective {
            Objective::Sum => Entry::SumGradient,
            Objective::LeastSquares => Entry::CostGradient,
        };
        [entry].into_iter().chain(self.seeded.then_some(Entry::SeededGradient)).list()
    }
}
