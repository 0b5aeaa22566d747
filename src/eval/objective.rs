//! An objective and its gradient on the device, and the objective along a direction, recorded to be built into a solver's own lists. Nothing here touches a device.

use crate::model::Model;
use crate::model::access_plan::{Entry, Role};
use crate::model::incidence::{Destination, Source};
use crate::model::line::STEPS;
use residua_base::error::{Error, Result};
use residua_base::list::PushAll;
use residua_codegen::Guard;
use residua_codegen::wgsl::WORKGROUP_SIZE;
use residua_gpu::{Limits, Slice};

use super::Objective;
use super::declare::{Declare, Sums};
use super::layout::lists::{ChunkLists, ListMemory};
use super::layout::{ALIGNMENT, Chunk, Layout, Memory};
use super::record::{Kernels, Program, kernel_layout, list_layout};
use super::shaders::Shader;
use super::titles::kernel_name;

/// Sums up to so many are left to the kernel that needs them.
const MOST_SUMS: u32 = 1024;

/// Records an objective of a model whose functions are in single precision.
pub struct Descent<'a, K> {
    /// What is evaluated.
    pub model: &'a Model,
    /// Where it lies.
    pub layout: &'a Layout,
    /// Its kernels, those of [`Descent::entries`].
    pub kernels: &'a K,
    /// The device's limits.
    pub limits: &'a Limits,
    /// Which scalar of the residuals.
    pub objective: Objective,
}

impl<K: Kernels> Descent<'_, K> {
    /// Which kernels are needed: for a gradient, and along a line.
    pub fn entries(objective: Objective) -> [Entry; 2] {
        match objective {
            Objective::Sum => [Entry::SumDescent, Entry::SumLine],
            Objective::LeastSquares => [Entry::CostDescent, Entry::CostLine],
        }
    }

    /// Clears what blocks that take no part would leave of earlier work. Once a list, before anything else.
    pub fn begin(&self, d: &mut dyn Declare) {
        let sums = self.memory(d, Memory::PartialSums);
        d.list().clear(sums);
        let sums = self.memory(d, Memory::LineSums);
        d.list().clear(sums);
    }

    /// Evaluates at several steps from a point along a direction. `steps` is a gate, and from `FIRST_STEP` on the steps; gives where the partial
    /// sums stand, pairs of objective and slope for one step after the other.
    pub fn along(&self, d: &mut dyn Declare, from: Slice, direction: Slice, steps: Slice) -> Result<Slice> {
        let sums = self.memory(d, Memory::LineSums);
        let mut first = 0;
        for (number, chunk) in self.layout.chunks.iter().enumerate() {
            let length = 4 * chunk.line_sums();
            let part = sums.part(first, length);
            first += length;
            if self.takes_part(chunk) {
                let groups = u64::from(STEPS) * chunk.line_workgroups();
                self.run(d, number, Self::entries(self.objective)[1], [from, direction, steps, part, steps], groups)?;
            }
        }
        Ok(sums)
    }

    /// Whether the block of a chunk is enabled.
    pub(crate) fn takes_part(&self, chunk: &Chunk) -> bool {
        self.model.blocks[self.model.batches[chunk.batch].block as usize].enabled
    }

    /// Runs the kernel of a chunk.
    fn run(
        &self,
        d: &mut dyn Declare,
        number: usize,
        entry: Entry,
        [at, direction, steps, sums, gate]: [Slice; 5],
        groups: u64,
    ) -> Result<()> {
        let chunk = &self.layout.chunks[number];
        let plan = self.kernels.plan(chunk.batch, entry)?;
        let mut bindings = Vec::new();
        for role in &plan.roles {
            let slice = match role {
                Role::Parameters => Some(at),
                Role::Vector => Some(direction),
                Role::Steps => Some(steps),
                Role::LocalGradient => Some(self.memory(d, Memory::LocalGradient)),
                role => d.of_model(self.layout, *role, number),
            };
            bindings.push(slice.ok_or_else(|| Error::internal("a gradient's kernel does something else"))?);
        }
        bindings.push(sums);
        bindings.push_all((plan.kernel.guard == Guard::Gate).then_some(gate));
        bindings.push(self.uniforms(d, chunk.uniforms));
        let program = Program::Kernel(self.kernels.number(chunk.batch), entry);
        let name = kernel_name(self.model, chunk.batch, entry);
        let pipeline = d.program(program, &name, &kernel_layout(plan));
        d.list().dispatch(pipeline, &bindings, self.limits.split_workgroups(groups)?);
        Ok(())
    }

    /// Evaluates at a point and adds the gradient to what stands in `gradient`; gives the sums of the objective.
    pub fn evaluate(&self, d: &mut dyn Declare, at: Slice, gradient: Slice, gate: Slice) -> Result<Sums> {
        let sums = self.memory(d, Memory::PartialSums);
        for (number, chunk) in self.layout.chunks.iter().enumerate() {
            if !self.takes_part(chunk) {
                continue;
            }
            if let Some(lists) = &self.layout.lists.of_chunks[number] {
                self.sum_lists(d, number, lists, [at, gradient, gate])?;
            } else {
                let groups = (chunk.range.len() as u64).div_ceil(WORKGROUP_SIZE.into());
                let part = sums.part(4 * chunk.first_sum, 4 * groups);
                self.run(d, number, Self::entries(self.objective)[0], [at, at, at, part, gate], groups)?;
                self.gather(d, number, gradient, gate)?;
            }
        }
        self.sums(d)
    }

    /// Adds the sums over a chunk's lists, and puts the objective where the chunk's kernel would.
    fn sum_lists(
        &self,
        d: &mut dyn Declare,
        number: usize,
        lists: &ChunkLists,
        [at, gradient, gate]: [Slice; 3],
    ) -> Result<()> {
        let chunk = &self.layout.chunks[number];
        let entry = Self::entries(self.objective)[0];
        // No more partial sums than the chunk's kernel has: threads take several blocks where need be.
        let most = (chunk.range.len() as u64).div_ceil(WORKGROUP_SIZE.into());
        for shape in 0..lists.shapes.len() {
            let plan = self.kernels.lists(chunk.batch, entry, shape)?;
            let mut bindings = Vec::new();
            for role in &plan.roles {
                let slice = match role {
                    Role::Parameters => Some(at),
                    Role::Gradient => Some(gradient),
                    Role::Others => Some(self.memory(d, Memory::Lists(ListMemory::Others(number, shape)))),
                    role => d.of_model(self.layout, *role, number),
                };
                let absent = || Error::internal("a sum over lists takes what lists have not");
                bindings.push(slice.ok_or_else(absent)?);
            }
            bindings.push(self.memory(d, Memory::Lists(ListMemory::Offsets(number, shape))));
            let groups = lists.workgroups(shape).min(most);
            if plan.kernel.has_total() {
                bindings.push(self.memory(d, Memory::PartialSums).part(4 * chunk.first_sum, 4 * groups));
            }
            bindings.extend_from_slice(&[gate, self.uniforms(d, lists.uniforms(shape, true))]);
            let program = Program::Lists(self.kernels.number(chunk.batch), entry, shape);
            let pipeline = d.program(program, &kernel_name(self.model, chunk.batch, entry), &list_layout(plan));
            d.list().dispatch(pipeline, &bindings, self.limits.split_workgroups(groups)?);
        }
        Ok(())
    }

    /// Adds up the local gradients of a chunk, which a kernel has left.
    pub(crate) fn gather(&self, d: &mut dyn Declare, number: usize, gradient: Slice, gate: Slice) -> Result<()> {
        let chunk = &self.layout.chunks[number];
        for (position, pass) in chunk.passes.iter().enumerate() {
            let bindings = [
                self.memory(d, Memory::GatherOffsets(number, position)),
                self.memory(d, Memory::GatherEntries(number, position)),
                self.memory(d, Memory::GatherTargets(number, position)),
                match pass.source {
                    Source::Local => self.memory(d, Memory::LocalGradient),
                    Source::Scratch(which) => self.memory(d, Memory::Scratch(which)),
                },
                match pass.destination {
                    Destination::Gradient => gradient,
                    Destination::Scratch(which) => self.memory(d, Memory::Scratch(which)),
                },
                gate,
                self.uniforms(d, chunk.uniforms + 1 + position as u64),
            ];
            let pipeline = d.shader(Shader::Gather { fused: false, gated: true, pairs: false });
            d.list().dispatch(pipeline, &bindings, self.limits.split_workgroups(pass.workgroups.into())?);
        }
        Ok(())
    }

    fn sums(&self, d: &mut dyn Declare) -> Result<Sums> {
        let (slice, reduction) = (self.memory(d, Memory::PartialSums), self.layout.reduction());
        if reduction.count <= MOST_SUMS {
            return Ok(Sums { slice, count: reduction.count, width: 1 });
        }
        let totals = self.memory(d, Memory::Sums);
        let groups = reduction.workgroups();
        let bindings =
            [slice, totals, self.memory(d, Memory::GuardZero), self.uniforms(d, self.layout.reduce_uniforms)];
        let pipeline = d.shader(Shader::ReduceSum);
        d.list().dispatch(pipeline, &bindings, self.limits.split_workgroups(groups.into())?);
        Ok(Sums { slice: totals, count: groups, width: 2 })
    }

    fn memory(&self, d: &mut dyn Declare, memory: Memory) -> Slice {
        d.table(self.layout, memory)
    }

    /// Uniforms of the functions' kernels, by their position.
    pub(crate) fn uniforms(&self, d: &mut dyn Declare, position: u64) -> Slice {
        self.memory(d, Memory::Uniforms).part(position * ALIGNMENT, ALIGNMENT)
    }
}
