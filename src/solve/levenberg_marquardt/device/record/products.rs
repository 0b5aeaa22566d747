//! The product JᵀJp of an iteration of conjugate gradients: which of the ways to it a model allows, and those that the solver goes by itself.

use super::super::shaders::{JtjProduct, Kernel};
use super::{Place, Writer};
use crate::eval::declare::Sums;
use crate::eval::layout::Memory;
use crate::eval::record::Kernels;
use crate::eval::shaders::Parts;
use crate::gauss_newton::device::record::Normal;
use crate::model::access_plan::Role;
use crate::model::incidence::{Destination, Source};
use crate::model::least_squares::LocalTable;
use residua_base::error::{Error, Result};

/// How blocks gather the product, and where they find its parts.
pub(super) struct Gathers {
    pub strategy: JtjProduct,
    pub stride: u32,
    pub first_partial: u32,
}

impl Writer<'_> {
    /// How an update finds the product.
    pub(super) fn jtj_product<K: Kernels>(&self, normal: &Normal<K>) -> JtjProduct {
        match (&normal.layout.fused, self.gathers(normal)) {
            (Some(fused), _) => {
                JtjProduct::FusedParts { heavy: !fused.heavy.is_empty(), forms_direction: fused.together.is_some() }
            }
            (None, Some(gathers)) => gathers.strategy,
            (None, None) => JtjProduct::Vector,
        }
    }

    /// The parts of the product of the direction that is yet to be formed, of all residuals in one dispatch; gives the sums of ‖Jp‖².
    pub(super) fn products<K: Kernels>(&mut self, normal: &Normal<K>) -> Result<Sums> {
        let absent = || Error::internal("products of several kernels that are not together");
        let (kernel, parts, groups) = normal.products(self)?.ok_or_else(absent)?;
        self.fused_kernels = kernel.declarations(normal.layout.chunks.len(), Role::Vector.declaration().0);
        let sums = self.place(Place::JvpSquares);
        let mut bindings = vec![self.place(Place::State)];
        bindings.extend([Memory::AllIndices, Memory::AllLocal].map(|memory| self.functions(normal, memory)));
        bindings.extend([self.place(Place::Vectors), self.place(Place::Sums), sums, parts]);
        let uniforms = self.common();
        self.dispatch(Kernel::Products, bindings, uniforms, groups);
        Ok(Sums { slice: sums, count: groups, width: 1 })
    }

    /// Whether blocks can gather the product themselves: all blocks are of one shape and touched by the instances of one chunk, each
    /// block by few.
    pub(super) fn gathers<K: Kernels>(&self, normal: &Normal<K>) -> Option<Gathers> {
        let ([group], [chunk]) = (&self.shape.groups[..], &normal.layout.chunks[..]) else { return None };
        let [pass] = &chunk.passes[..] else { return None };
        let light = pass.source == Source::Local && pass.destination == Destination::Gradient;
        let batch = &normal.model.batches[chunk.batch];
        let enabled = normal.model.blocks[batch.block as usize].enabled;
        // Rows stand in the order of the blocks: as many rows as blocks are all of them.
        let all = pass.dim == group.shape.dim && pass.rows == group.blocks;
        let table = LocalTable::of(&batch.class);
        let stride = chunk.range.len() as u32;
        // With one residual an instance, its number of Jp is less to write and to read than a number for each of its parameters.
        let strategy = match normal.parts(0) {
            Parts::Whole => JtjProduct::LocalParts,
            Parts::Weighted => JtjProduct::LocalJvp { mirrored: false },
            Parts::Mirrored => JtjProduct::LocalJvp { mirrored: true },
        };
        let first_partial = table.partial(0, 0) * stride;
        (light && enabled && all).then_some(Gathers { strategy, stride, first_partial })
    }
}
