//! What records the Gauss-Newton model: into whose command list is up to the caller. The recordings themselves are in [`super::linearisation`],
//! [`super::products`], [`super::block_diagonal`] and [`super::assembly`]; here is what they share.

use crate::eval::declare::Sums;
use crate::eval::layout::{ALIGNMENT, Chunk, Layout, Memory};
use crate::eval::record::{Kernels, Program, kernel_layout};
use crate::eval::titles::kernel_name;
use crate::model::Model;
use crate::model::access_plan::{Entry, Role};
use residua_base::error::{Error, Result};
use residua_codegen::Width;
use residua_gpu::{Limits, Slice};

use super::buffers::ModelBuffer;
use super::declare::DeclareModel;
use super::layout::{Cleared, ModelLayout};
use super::shaders::ModelShader;

/// Records the Gauss-Newton model of a problem. Every kernel has a gate, so that the device decides what runs.
pub struct ModelRecorder<'a, K> {
    /// The problem.
    pub model: &'a Model,
    /// Where its evaluation lies.
    pub evaluation: &'a Layout,
    /// Where its Gauss-Newton model lies.
    pub layout: &'a ModelLayout,
    /// Its kernels, those of [`ENTRIES`].
    pub kernels: &'a K,
    /// The device's limits.
    pub limits: &'a Limits,
}

/// The entries of the kernels that are recorded.
pub const ENTRIES: [Entry; 5] = [Entry::Linearise, Entry::LineariseRows, Entry::Product, Entry::Jvp, Entry::Trial];

impl<K: Kernels> ModelRecorder<'_, K> {
    pub(super) fn memory(&self, d: &mut dyn DeclareModel, memory: Memory) -> Slice {
        d.table(self.evaluation, memory)
    }

    pub(super) fn batch_constants(&self, d: &mut dyn DeclareModel, batch: usize) -> Slice {
        let (start, length) = self.evaluation.batch_constants[batch];
        self.memory(d, Memory::BatchConstants).part(start, 4 * length)
    }

    pub(super) fn buffer(&self, d: &mut dyn DeclareModel, buffer: ModelBuffer) -> Slice {
        d.model_table(self.layout, buffer)
    }

    pub(super) fn uniforms(&self, d: &mut dyn DeclareModel, position: u64) -> Slice {
        self.buffer(d, ModelBuffer::Uniforms).part(position * ALIGNMENT, ALIGNMENT)
    }

    /// Sums that the next kernel finishes.
    pub(super) fn sums(&self, d: &mut dyn DeclareModel, sums: ModelBuffer) -> Sums {
        let width = self.layout.sum_width(sums);
        Sums { slice: self.buffer(d, sums), count: self.layout.num_sums() as u32, width }
    }

    /// Whether points, costs and gradients are pairs.
    pub(super) fn is_wide(&self) -> bool {
        self.layout.width == Width::Pair
    }

    /// The chunks of blocks that take part.
    pub(super) fn chunks(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.evaluation.chunks.len()).filter(|&number| self.takes_part(&self.evaluation.chunks[number]))
    }

    pub(super) fn takes_part(&self, chunk: &Chunk) -> bool {
        self.model.blocks[self.model.batches[chunk.batch].block as usize].enabled
    }

    /// Whether every run writes all that an earlier one wrote.
    pub(super) fn overwrites(&self) -> bool {
        self.evaluation.rows_are_disjoint && self.evaluation.chunks.iter().all(|chunk| self.takes_part(chunk))
    }

    /// The tables of a gather pass.
    pub(super) fn pass_tables(&self, d: &mut dyn DeclareModel, number: usize, pass: usize) -> [Slice; 3] {
        [Memory::GatherOffsets(number, pass), Memory::GatherEntries(number, pass), Memory::GatherTargets(number, pass)]
            .map(|memory| self.memory(d, memory))
    }

    /// Runs the kernels of an entry, chunk by chunk; their partial sums go to `sums`.
    pub(super) fn run(
        &self,
        d: &mut dyn DeclareModel,
        entry: Entry,
        sums: ModelBuffer,
        vector: Slice,
        gate: Slice,
    ) -> Result<()> {
        let bytes = 4 * u64::from(self.layout.sum_width(sums));
        let sums = self.buffer(d, sums);
        for number in self.chunks() {
            let chunk = &self.evaluation.chunks[number];
            let mut bindings = self.bindings(d, number, entry, vector)?;
            let (first, groups) = self.layout.sums[number];
            let uniforms = self.memory(d, Memory::Uniforms).part(chunk.uniforms * ALIGNMENT, ALIGNMENT);
            bindings.extend_from_slice(&[sums.part(bytes * first, bytes * groups), gate, uniforms]);
            let program = Program::Kernel(self.kernels.number(chunk.batch), entry);
            let name = kernel_name(self.model, chunk.batch, entry);
            let pipeline = d.program(program, &name, &kernel_layout(self.kernels.plan(chunk.batch, entry)?));
            d.list().dispatch(pipeline, &bindings, self.limits.split_workgroups(groups)?);
        }
        Ok(())
    }

    /// What the kernel of a chunk is bound to.
    fn bindings(&self, d: &mut dyn DeclareModel, number: usize, entry: Entry, vector: Slice) -> Result<Vec<Slice>> {
        let chunk = &self.evaluation.chunks[number];
        let plan = self.kernels.plan(chunk.batch, entry)?;
        let mut bindings = Vec::new();
        for role in &plan.roles {
            let slice = match role {
                Role::Parameters | Role::Vector => Some(vector),
                Role::Local => Some(self.buffer(d, ModelBuffer::Local(number))),
                role => d.of_model(self.evaluation, *role, number),
            };
            bindings.push(slice.ok_or_else(|| Error::internal("a kernel of the Gauss-Newton model evaluates"))?);
        }
        Ok(bindings)
    }

    /// Sets a buffer to zero.
    pub(super) fn clear(&self, d: &mut dyn DeclareModel, what: Cleared, slice: Slice, gate: Slice) -> Result<()> {
        let uniforms = self.uniforms(d, self.layout.clear_uniforms(what));
        let pipeline = d.model_shader(ModelShader::Clear);
        let groups = (slice.size / 4).div_ceil(64);
        d.list().dispatch(pipeline, &[slice, gate, uniforms], self.limits.split_workgroups(groups)?);
        Ok(())
    }
}
