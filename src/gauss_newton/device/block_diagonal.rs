//! Recordings of the block diagonal of J̃ᵀJ̃, where it is not assembled together with the gradient.

use crate::eval::record::Kernels;
use crate::model::incidence::{Destination, Source};
use residua_base::error::Result;
use residua_base::list::PushAll;
use residua_gpu::Slice;

use super::buffers::ModelBuffer;
use super::declare::DeclareModel;
use super::model::ModelRecorder;
use super::shaders::ModelShader;

impl<K: Kernels> ModelRecorder<'_, K> {
    /// Sums the products of the columns that the local table of a chunk has for each block.
    pub(super) fn gather_block_diagonal(&self, d: &mut dyn DeclareModel, number: usize, gate: Slice) -> Result<()> {
        let chunk = &self.evaluation.chunks[number];
        for (position, (pass, uniforms)) in chunk.passes.iter().zip(&self.layout.passes[number]).enumerate() {
            let source = match pass.source {
                Source::Local => ModelBuffer::Local(number),
                Source::Scratch(which) => ModelBuffer::BlockDiagonalScratch(which),
            };
            let destination = match pass.destination {
                Destination::Gradient => ModelBuffer::BlockDiagonal,
                Destination::Scratch(which) => ModelBuffer::BlockDiagonalScratch(which),
            };
            let mut bindings = self.pass_tables(d, number, position).to_vec();
            let buffers = [source, destination, ModelBuffer::BlockDiagonalLow];
            bindings.push_all(buffers.map(|buffer| self.buffer(d, buffer)));
            bindings
                .extend_from_slice(&[gate, self.uniforms(d, uniforms.block_diagonal[usize::from(!self.overwrites())])]);
            let pipeline = d.model_shader(ModelShader::BlockDiagonal { fused: false });
            let groups = self.limits.split_workgroups(uniforms.block_diagonal_workgroups.into())?;
            d.list().dispatch(pipeline, &bindings, groups);
        }
        Ok(())
    }
}
