//! Recordings that assemble gradient and block diagonal together: of a chunk whose only gather pass allows that, or of all chunks by
//! [`FusedLists`].

use crate::eval::layout::ALIGNMENT;
use crate::eval::record::Kernels;
use crate::eval::shaders::Shader;
use crate::model::incidence::{Destination, Source};
use residua_base::error::Result;
use residua_base::list::PushAll;
use residua_codegen::Width;
use residua_codegen::wgsl::WORKGROUP_SIZE;
use residua_gpu::Slice;

use super::buffers::ModelBuffer;
use super::declare::DeclareModel;
use super::fused_lists::{FusedLists, GroupLists, HeavyPass};
use super::model::ModelRecorder;
use super::shaders::{GradientPairs, ModelShader};

impl<K: Kernels> ModelRecorder<'_, K> {
    /// The uniforms of a gather of both gradient and block diagonal of a chunk, if its only pass allows that. There is only one chunk then.
    pub(super) fn assembles(&self, number: usize) -> Option<u64> {
        let [pass] = &self.layout.passes[number][..] else { return None };
        pass.assemble.filter(|_| self.overwrites())
    }

    /// Gathers gradient and block diagonal of a chunk in one, if that goes.
    pub(super) fn assemble(
        &self,
        d: &mut dyn DeclareModel,
        number: usize,
        gradient: Slice,
        gate: Slice,
    ) -> Result<bool> {
        let (Some(uniforms), [pass]) = (self.assembles(number), &self.evaluation.chunks[number].passes[..]) else {
            return Ok(false);
        };
        let mut bindings = self.pass_tables(d, number, 0).to_vec();
        let [local, blocks] =
            [ModelBuffer::Local(number), ModelBuffer::BlockDiagonal].map(|buffer| self.buffer(d, buffer));
        bindings.extend_from_slice(&[local, gradient, blocks]);
        let pairs = self.gradient_pairs(number);
        if pairs == GradientPairs::Rows {
            bindings.push(self.batch_constants(d, self.evaluation.chunks[number].batch));
        }
        bindings.extend_from_slice(&[gate, self.uniforms(d, uniforms)]);
        let entries = self.linearised_entries(number);
        let pipeline = d.model_shader(ModelShader::Assemble { dim: pass.dim, entries, pairs });
        let groups = u64::from(pass.rows.div_ceil(WORKGROUP_SIZE));
        d.list().dispatch(pipeline, &bindings, self.limits.split_workgroups(groups)?);
        Ok(true)
    }

    /// Gathers gradient and block diagonal of all blocks.
    pub(super) fn assemble_fused(
        &self,
        d: &mut dyn DeclareModel,
        fused: &FusedLists,
        gradient: Slice,
        gate: Slice,
    ) -> Result<()> {
        let [lists, local, block_diagonal, low] =
            [ModelBuffer::FusedLists, ModelBuffer::AllLocal, ModelBuffer::BlockDiagonal, ModelBuffer::BlockDiagonalLow]
                .map(|buffer| self.buffer(d, buffer));
        for (number, GroupLists { blocks, .. }) in (0u64..).zip(&fused.groups) {
            let uniforms = self.fused_uniforms(d, number);
            let bindings = [lists, local, gradient, block_diagonal, low, gate, uniforms];
            let shader =
                ModelShader::AssembleFused { dim: blocks.kind.dim, pairs: blocks.kind.pairs, wide: self.is_wide() };
            let pipeline = d.model_shader(shader);
            let groups = u64::from(blocks.count.div_ceil(WORKGROUP_SIZE));
            d.list().dispatch(pipeline, &bindings, self.limits.split_workgroups(groups)?);
        }
        self.gather_heavy(d, gradient, self.layout.width, gate, &|_| true)?;
        for pass in &fused.heavy {
            let mut bindings = self.heavy_bindings(d, pass, block_diagonal);
            let is_fused = pass.shape.source == Source::Local;
            bindings.push(low);
            bindings.push_all(is_fused.then_some(lists));
            bindings.extend_from_slice(&[gate, self.fused_uniforms(d, pass.uniforms[1])]);
            let pipeline = d.model_shader(ModelShader::BlockDiagonal { fused: is_fused });
            let groups = self.limits.split_workgroups(pass.block_diagonal_workgroups.into())?;
            d.list().dispatch(pipeline, &bindings, groups);
        }
        Ok(())
    }

    /// Sums the parts that local tables have of blocks with very many entries, and writes them over what stands in a vector: of blocks of the sizes
    /// that are wanted. `width` says in what the parts are: those of a gradient may be pairs, those of a product are f32.
    pub fn gather_heavy(
        &self,
        d: &mut dyn DeclareModel,
        to: Slice,
        width: Width,
        gate: Slice,
        is_wanted: &dyn Fn(u32) -> bool,
    ) -> Result<()> {
        let Some(fused) = &self.layout.fused else { return Ok(()) };
        let lists = self.buffer(d, ModelBuffer::FusedLists);
        for pass in fused.heavy.iter().filter(|pass| is_wanted(pass.shape.dim)) {
            let mut bindings = self.heavy_bindings(d, pass, to);
            let is_fused = pass.shape.source == Source::Local;
            bindings.push_all(is_fused.then_some(lists));
            bindings.extend_from_slice(&[gate, self.fused_uniforms(d, pass.uniforms[0])]);
            let pipeline = d.shader(Shader::Gather { fused: is_fused, gated: true, pairs: width == Width::Pair });
            let groups = self.limits.split_workgroups(pass.shape.workgroups.into())?;
            d.list().dispatch(pipeline, &bindings, groups);
        }
        Ok(())
    }

    /// The tables of a pass, its source and its destination.
    fn heavy_bindings(&self, d: &mut dyn DeclareModel, pass: &HeavyPass, to: Slice) -> Vec<Slice> {
        let lists = self.buffer(d, ModelBuffer::FusedLists);
        let mut bindings = Vec::new();
        for (start, length) in pass.tables {
            bindings.push(lists.part(4 * start, 4 * length));
        }
        bindings.push(match pass.shape.source {
            Source::Local => self.buffer(d, ModelBuffer::AllLocal),
            Source::Scratch(which) => self.buffer(d, ModelBuffer::FusedScratch(which)),
        });
        bindings.push(match pass.shape.destination {
            Destination::Gradient => to,
            Destination::Scratch(which) => self.buffer(d, ModelBuffer::FusedScratch(which)),
        });
        bindings
    }

    fn fused_uniforms(&self, d: &mut dyn DeclareModel, position: u64) -> Slice {
        self.buffer(d, ModelBuffer::FusedUniforms).part(position * ALIGNMENT, ALIGNMENT)
    }
}
