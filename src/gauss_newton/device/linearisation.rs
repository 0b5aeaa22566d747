//! Recordings of the linearisation at a point, and of the reduction of the cost at another.

use crate::eval::declare::Sums;
use crate::eval::record::Kernels;
use crate::model::access_plan::Entry;
use residua_base::error::Result;
use residua_gpu::Slice;

use super::buffers::ModelBuffer;
use super::declare::DeclareModel;
use super::layout::Cleared;
use super::model::ModelRecorder;
use super::shaders::LocalEntries;

impl<K: Kernels> ModelRecorder<'_, K> {
    /// Linearises at a point. J̃ stays in the local tables, the gradient J̃ᵀr̃ goes to `gradient`, the block diagonal of J̃ᵀJ̃ to
    /// [`ModelBuffer::BlockDiagonal`]; gives the sums of the cost.
    pub fn linearise(&self, d: &mut dyn DeclareModel, at: Slice, gradient: Slice, gate: Slice) -> Result<Sums> {
        if let Some(fused) = &self.layout.fused {
            self.run(d, Entry::Linearise, ModelBuffer::CostSums, at, gate)?;
            self.assemble_fused(d, fused, gradient, gate)?;
            return Ok(self.sums(d, ModelBuffer::CostSums));
        }
        if !self.overwrites() {
            self.clear(d, Cleared::Gradient, gradient, gate)?;
            let errors = self.layout.pairs.then_some(ModelBuffer::BlockDiagonalLow);
            for buffer in [Some(ModelBuffer::BlockDiagonal), errors].into_iter().flatten() {
                let slice = self.buffer(d, buffer);
                self.clear(d, Cleared::BlockDiagonal, slice, gate)?;
            }
        }
        let reads_rows =
            |number: usize| self.assembles(number).is_some() && self.linearised_entries(number) != LocalEntries::Parts;
        let rows_alone = self.chunks().any(reads_rows);
        let entry = if rows_alone { Entry::LineariseRows } else { Entry::Linearise };
        self.run(d, entry, ModelBuffer::CostSums, at, gate)?;
        for number in self.chunks() {
            if !self.assemble(d, number, gradient, gate)? {
                self.gather(d, number, gradient, self.layout.width, gate)?;
                self.gather_block_diagonal(d, number, gate)?;
            }
        }
        Ok(self.sums(d, ModelBuffer::CostSums))
    }

    /// The sums of the reduction: the cost at the linearised point minus that at another.
    pub fn trial(&self, d: &mut dyn DeclareModel, at: Slice, gate: Slice) -> Result<Sums> {
        self.run(d, Entry::Trial, ModelBuffer::CostSums, at, gate)?;
        Ok(self.sums(d, ModelBuffer::CostSums))
    }
}
