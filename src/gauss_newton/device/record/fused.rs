//! The normal equations by way of the lists of all local tables: one dispatch for gradient and block diagonal of each kind of blocks, whatever the
//! chunks, and what a solver needs to run the kernels of all products in one.

use crate::model::access_plan::Entry;
use crate::model::incidence::{Destination, Source};
use residua_base::error::Result;
use residua_codegen::wgsl::{FusedKernel, WORKGROUP_SIZE};
use residua_gpu::Slice;

use super::Normal;
use crate::eval::declare::Declare;
use crate::eval::layout::fused::{FusedLayout, HeavyPass};
use crate::eval::layout::{ALIGNMENT, Memory};
use crate::eval::record::Kernels;
use crate::eval::shaders::Shader;

impl<K: Kernels> Normal<'_, K> {
    /// The kernels of products in one, and the uniforms of its parts, if one dispatch runs them.
    pub fn products(&self, d: &mut dyn Declare) -> Result<Option<(FusedKernel<'_>, Slice, u32)>> {
        let Some(fused) = &self.layout.fused else { return Ok(None) };
        let Some(together) = &fused.together else { return Ok(None) };
        let (start, length) = fused.product_uniforms();
        let uniforms = self.memory(d, Memory::FusedUniforms).part(start, length);
        Ok(Some((self.kernels.fused(&together.batches, Entry::Product)?, uniforms, together.groups as u32)))
    }

    /// Gathers gradient and block diagonal of all blocks.
    pub(super) fn assemble_all(
        &self,
        d: &mut dyn Declare,
        fused: &FusedLayout,
        gradient: Slice,
        gate: Slice,
    ) -> Result<()> {
        let [lists, local, block_diagonal, low] =
            [Memory::FusedLists, Memory::AllLocal, Memory::BlockDiagonal, Memory::BlockDiagonalLow]
                .map(|memory| self.memory(d, memory));
        for (number, rows) in (0u64..).zip(&fused.arrays) {
            let bindings = [lists, local, gradient, block_diagonal, low, gate, self.fused_uniforms(d, number)];
            let pipeline = d.shader(Shader::AssembleFused { dim: rows.dim, pairs: rows.pairs });
            let groups = u64::from(rows.rows.div_ceil(WORKGROUP_SIZE));
            d.list().dispatch(pipeline, &bindings, self.limits.split_workgroups(groups)?);
        }
        self.gather_heavy(d, gradient, gate)?;
        for pass in &fused.heavy {
            let mut bindings = self.heavy_bindings(d, pass, block_diagonal);
            bindings.push(low);
            let workgroups = u64::from(pass.block_diagonal_workgroups);
            self.dispatch_heavy(d, pass, bindings, HeavyKernel::BlockDiagonal, [lists, gate], workgroups)?;
        }
        Ok(())
    }

    /// Sums the parts that local tables have of blocks with very many entries, and writes them over what stands in a vector.
    pub fn gather_heavy(&self, d: &mut dyn Declare, to: Slice, gate: Slice) -> Result<()> {
        let Some(fused) = &self.layout.fused else { return Ok(()) };
        let lists = self.memory(d, Memory::FusedLists);
        for pass in &fused.heavy {
            let bindings = self.heavy_bindings(d, pass, to);
            let workgroups = u64::from(pass.shape.workgroups);
            self.dispatch_heavy(d, pass, bindings, HeavyKernel::Gather, [lists, gate], workgroups)?;
        }
        Ok(())
    }

    /// The tables of a pass, its source and its destination.
    fn heavy_bindings(&self, d: &mut dyn Declare, pass: &HeavyPass, to: Slice) -> Vec<Slice> {
        let lists = self.memory(d, Memory::FusedLists);
        let mut bindings = Vec::new();
        for (start, length) in pass.tables {
            bindings.push(lists.part(4 * start, 4 * length));
        }
        bindings.push(match pass.shape.source {
            Source::Local => self.memory(d, Memory::AllLocal),
            Source::Scratch(which) => self.memory(d, Memory::FusedScratch(which)),
        });
        bindings.push(match pass.shape.destination {
            Destination::Gradient => to,
            Destination::Scratch(which) => self.memory(d, Memory::FusedScratch(which)),
        });
        bindings
    }

    fn dispatch_heavy(
        &self,
        d: &mut dyn Declare,
        pass: &HeavyPass,
        mut bindings: Vec<Slice>,
        kernel: HeavyKernel,
        [lists, gate]: [Slice; 2],
        workgroups: u64,
    ) -> Result<()> {
        let fused = pass.shape.source == Source::Local;
        let (shader, uniforms) = match kernel {
            HeavyKernel::Gather => (Shader::Gather { fused, gated: true }, pass.uniforms[0]),
            HeavyKernel::BlockDiagonal => (Shader::BlockDiagonal { fused }, pass.uniforms[1]),
        };
        if fused {
            bindings.push(lists);
        }
        bindings.extend([gate, self.fused_uniforms(d, uniforms)]);
        let pipeline = d.shader(shader);
        d.list().dispatch(pipeline, &bindings, self.limits.split_workgroups(workgroups)?);
        Ok(())
    }

    fn fused_uniforms(&self, d: &mut dyn Declare, position: u64) -> Slice {
        self.memory(d, Memory::FusedUniforms).part(position * ALIGNMENT, ALIGNMENT)
    }
}

/// Which sums of blocks with very many entries.
#[derive(Clone, Copy)]
enum HeavyKernel {
    Gather,
    BlockDiagonal,
}
