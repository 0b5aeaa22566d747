//! Recordings of products with J̃ and J̃ᵀJ̃, and the choice of what a solver reads of the latter.
//!
//! A product q = J̃ᵀJ̃p begins in the instances, which read their rows of J̃ from local tables. What they leave, and how a block of q is summed, is a
//! [`JtjProduct`]: a solver that reads the parts by itself saves a dispatch and a vector.

use crate::eval::declare::Sums;
use crate::eval::record::Kernels;
use crate::eval::shaders::Shader;
use crate::model::access_plan::Entry;
use crate::model::incidence::{Destination, Source};
use crate::model::least_squares::{LocalTable, has_row_in_pairs, is_mirrored};
use residua_base::error::Result;
use residua_codegen::Width;
use residua_codegen::wgsl::FusedKernel;
use residua_gpu::Slice;

use super::buffers::ModelBuffer;
use super::declare::DeclareModel;
use super::fused_lists::has_row_for_each_block;
use super::layout::Cleared;
use super::model::ModelRecorder;
use super::shaders::{GradientPairs, LocalEntries};
use crate::eval::layout::{Chunk, Memory};

/// What a solver reads to get a block of the product J̃ᵀJ̃p.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JtjProduct {
    /// The vector q, which [`ModelRecorder::product`] leaves.
    Vector,
    /// The parts of the product that instances leave in the only local table ([`ModelRecorder::product_parts`]), by the lists of its gather.
    LocalParts,
    /// J̃p, of which instances with one residual leave a number each in the only local table ([`ModelRecorder::jvp`]), times their columns of J̃.
    LocalJvp {
        /// Whether an instance has two blocks, and the second's columns are the negatives of the first's and not there.
        mirrored: bool,
    },
    /// The parts of the product in all local tables, by [`super::fused_lists`].
    FusedParts {
        /// Whether there are blocks with very many entries: their product is in a vector ([`ModelRecorder::gather_heavy`]).
        heavy: bool,
        /// Whether one kernel leaves all parts ([`ModelRecorder::fused_products`]). It and the solver form the direction p by themselves.
        forms_direction: bool,
    },
}

impl JtjProduct {
    /// Whether the direction is formed by the kernels that read it.
    pub fn forms_direction(self) -> bool {
        matches!(self, JtjProduct::FusedParts { forms_direction: true, .. })
    }

    /// Whether a vector is read.
    pub fn reads_vector(self) -> bool {
        matches!(self, JtjProduct::Vector | JtjProduct::FusedParts { heavy: true, .. })
    }

    /// Whether the lists over all local tables are read.
    pub fn reads_lists(self) -> bool {
        matches!(self, JtjProduct::FusedParts { .. })
    }

    /// Whether the only local table is read.
    pub fn reads_entries(self) -> bool {
        matches!(self, JtjProduct::LocalParts | JtjProduct::LocalJvp { .. })
    }
}

/// Where J̃ stands in a local table.
#[derive(Clone, Copy, Debug, Default)]
pub struct JacobianColumns {
    /// Distance of the columns.
    pub stride: u32,
    /// The first column.
    pub first: u32,
}

/// The kernels of all products in one.
pub struct FusedProducts<'a> {
    /// The kernels.
    pub kernel: FusedKernel<'a>,
    /// The uniforms of its parts.
    pub uniforms: Slice,
    /// Its workgroups.
    pub workgroups: u32,
}

impl<K: Kernels> ModelRecorder<'_, K> {
    /// What a solver reads of products.
    pub fn jtj_product(&self) -> JtjProduct {
        if let Some(fused) = &self.layout.fused {
            return JtjProduct::FusedParts {
                heavy: !fused.heavy.is_empty(),
                forms_direction: fused.together.is_some(),
            };
        }
        match &self.evaluation.chunks[..] {
            // Rows stand in the order of the blocks: as many rows as blocks are all of them.
            [chunk] if self.takes_part(chunk) && has_row_for_each_block(self.model, chunk) => {
                match self.local_entries(0) {
                    LocalEntries::Parts => JtjProduct::LocalParts,
                    LocalEntries::Rows => JtjProduct::LocalJvp { mirrored: false },
                    LocalEntries::MirroredRows => JtjProduct::LocalJvp { mirrored: true },
                }
            }
            _ => JtjProduct::Vector,
        }
    }

    /// Where J̃ stands in the only local table.
    pub fn jacobian_columns(&self) -> JacobianColumns {
        let [chunk] = &self.evaluation.chunks[..] else { return JacobianColumns::default() };
        let table = LocalTable::of(&self.model.batches[chunk.batch].class);
        let stride = chunk.range.len() as u32;
        JacobianColumns { stride, first: table.partial(0, 0) * stride }
    }

    /// J̃p, left in the first columns of the local tables; gives the sums of ‖J̃p‖².
    pub fn jvp(&self, d: &mut dyn DeclareModel, p: Slice, gate: Slice) -> Result<Sums> {
        self.run(d, Entry::Jvp, ModelBuffer::ProductSums, p, gate)?;
        Ok(self.sums(d, ModelBuffer::ProductSums))
    }

    /// The parts of the product J̃ᵀJ̃p, left in the local tables; gives the sums of ‖J̃p‖².
    pub fn product_parts(&self, d: &mut dyn DeclareModel, p: Slice, gate: Slice) -> Result<Sums> {
        self.run(d, Entry::Product, ModelBuffer::ProductSums, p, gate)?;
        Ok(self.sums(d, ModelBuffer::ProductSums))
    }

    /// J̃ᵀJ̃p to `q`, without the damping; gives the sums of ‖J̃p‖².
    pub fn product(&self, d: &mut dyn DeclareModel, p: Slice, q: Slice, gate: Slice) -> Result<Sums> {
        if !self.overwrites() {
            self.clear(d, Cleared::Vector, q, gate)?;
        }
        let sums = self.product_parts(d, p, gate)?;
        for number in self.chunks() {
            self.gather(d, number, q, Width::Single, gate)?;
        }
        Ok(sums)
    }

    /// The kernels of all products in one, if one dispatch runs them.
    pub fn fused_products(&self, d: &mut dyn DeclareModel) -> Result<Option<FusedProducts<'_>>> {
        let Some(fused) = &self.layout.fused else { return Ok(None) };
        let Some(together) = &fused.together else { return Ok(None) };
        let (start, length) = fused.product_uniforms();
        let uniforms = self.buffer(d, ModelBuffer::FusedUniforms).part(start, length);
        let kernel = self.kernels.fused(&together.batches, Entry::Product)?;
        Ok(Some(FusedProducts { kernel, uniforms, workgroups: together.groups as u32 }))
    }

    /// Sums what the local table of a chunk has for each block.
    pub(super) fn gather(
        &self,
        d: &mut dyn DeclareModel,
        number: usize,
        to: Slice,
        width: Width,
        gate: Slice,
    ) -> Result<()> {
        let chunk = &self.evaluation.chunks[number];
        for (position, (pass, uniforms)) in chunk.passes.iter().zip(&self.layout.passes[number]).enumerate() {
            let mut bindings = self.pass_tables(d, number, position).to_vec();
            bindings.push(match pass.source {
                Source::Local => self.buffer(d, ModelBuffer::Local(number)),
                Source::Scratch(which) => self.memory(d, Memory::Scratch(which)),
            });
            bindings.push(match pass.destination {
                Destination::Gradient => to,
                Destination::Scratch(which) => self.memory(d, Memory::Scratch(which)),
            });
            let uniforms = self.uniforms(d, uniforms.gather[usize::from(!self.overwrites())]);
            bindings.extend_from_slice(&[gate, uniforms]);
            let pipeline = d.shader(Shader::Gather { fused: false, gated: true, pairs: width == Width::Pair });
            d.list().dispatch(pipeline, &bindings, self.limits.split_workgroups(pass.workgroups.into())?);
        }
        Ok(())
    }

    /// What the local table of a chunk with a single pass holds of J̃p, or of r̃ where gradient and block diagonal are gathered in one: with one
    /// residual an instance, a number each is less to write and to read than one for each of its parameters.
    pub(super) fn local_entries(&self, number: usize) -> LocalEntries {
        let Chunk { batch, passes, .. } = &self.evaluation.chunks[number];
        let class = &self.model.batches[*batch].class;
        match (class.outputs.len(), &class.block_dims[..], &passes[..]) {
            (1, &[first, _], [pass]) if first == pass.dim && is_mirrored(class) => LocalEntries::MirroredRows,
            (1, _, [_]) => LocalEntries::Rows,
            _ => LocalEntries::Parts,
        }
    }

    /// The same of a linearisation. A gradient in pairs is not made of rows that are rounded, but its parts can be mirrored.
    pub(super) fn linearised_entries(&self, number: usize) -> LocalEntries {
        match self.local_entries(number) {
            LocalEntries::Rows if self.gradient_pairs(number) == GradientPairs::Parts => LocalEntries::Parts,
            entries => entries,
        }
    }

    /// What the gradient is made of in pairs, where it is gathered together with the block diagonal.
    pub(super) fn gradient_pairs(&self, number: usize) -> GradientPairs {
        let batch = self.evaluation.chunks[number].batch;
        let outputs = self.model.batches[batch].class.outputs.len();
        match self.local_entries(number) {
            _ if !self.is_wide() => GradientPairs::None,
            LocalEntries::Rows | LocalEntries::MirroredRows
                if has_row_in_pairs(outputs, self.kernels.losses(batch)) =>
            {
                GradientPairs::Rows
            }
            LocalEntries::Parts | LocalEntries::Rows | LocalEntries::MirroredRows => GradientPairs::Parts,
        }
    }
}
