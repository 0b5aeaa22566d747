//! The products of an iteration: of the direction, and of the preconditioned residual where blocks are eliminated.

use super::{SolverBuffer, SolverShader, SolverUniforms, Writer};
use crate::eval::declare::{Declare, Sums};
use crate::eval::layout::Memory;
use crate::eval::record::Kernels;
use crate::gauss_newton::device::fused_lists::FusedLists;
use crate::gauss_newton::device::products::FusedProducts;
use crate::gauss_newton::device::{DeclareModel, JtjProduct, ModelBuffer, ModelRecorder};
use crate::model::access_plan::Role;
use crate::solve::levenberg_marquardt::device::shape::{Group, Part, THREADS};
use crate::solve::levenberg_marquardt::device::state;
use residua_base::error::{Error, Result};
use residua_base::list::{Listed, PushAll};
use residua_codegen::Width;
use residua_gpu::Slice;

/// Eliminated blocks that a workgroup of [`SolverShader::Complement`] takes at a time.
const TILE: u32 = 64;

/// Its workgroups, at most: they fill a large GPU, and the next kernel adds their sums.
const MOST_TILES: u32 = 1024;

impl Writer<'_> {
    /// The product of the direction, as far as it is made before the update; gives the sums of ‖Jp‖².
    pub(super) fn product_of_direction<K: Kernels>(&mut self, model: &ModelRecorder<K>) -> Result<Sums> {
        let (direction, product, gate) = (self.vector(2), self.place(SolverBuffer::Product), self.gate(state::ITERATE));
        if self.is_coupled {
            return self.complement(model);
        }
        if let JtjProduct::FusedParts { forms_direction: true, .. } = model.jtj_product() {
            let jvp = self.products(model)?;
            model.gather_heavy(&mut self.segment, product, Width::Single, gate, &|_| true)?;
            return Ok(jvp);
        }
        self.multiply(model, direction, &|_| true)
    }

    /// The product of a vector, as far as it is made before a kernel reads it; of blocks with very many entries only those of some sizes.
    fn multiply<K: Kernels>(
        &mut self,
        model: &ModelRecorder<K>,
        vector: Slice,
        is_wanted: &dyn Fn(u32) -> bool,
    ) -> Result<Sums> {
        let (product, gate) = (self.place(SolverBuffer::Product), self.gate(state::ITERATE));
        match model.jtj_product() {
            JtjProduct::LocalJvp { .. } => model.jvp(&mut self.segment, vector, gate),
            JtjProduct::LocalParts => model.product_parts(&mut self.segment, vector, gate),
            JtjProduct::FusedParts { .. } => {
                let jvp = model.product_parts(&mut self.segment, vector, gate)?;
                model.gather_heavy(&mut self.segment, product, Width::Single, gate, is_wanted)?;
                Ok(jvp)
            }
            JtjProduct::Vector => model.product(&mut self.segment, vector, product, gate),
        }
    }

    /// The product of a Schur complement in one kernel; gives the sums of pᵀ(JᵀJ + λD)p but for λD of the kept blocks.
    fn complement<K: Kernels>(&mut self, model: &ModelRecorder<K>) -> Result<Sums> {
        let groups = self.shape.groups.iter().zip(self.rows(model));
        let absent = || Error::internal("a Schur complement without eliminated blocks");
        let is_eliminated = |(group, _): &(&Group, u32)| group.shape.part == Part::Eliminated;
        let (group, row) = groups.into_iter().find(is_eliminated).ok_or_else(absent)?;
        let slice = self.place(SolverBuffer::JvpSquares);
        let mut bindings = vec![self.place(SolverBuffer::State)];
        bindings.push(self.segment.model_table(model.layout, ModelBuffer::FusedLists));
        bindings.push(self.segment.table(model.evaluation, Memory::AllIndices));
        let tables = [ModelBuffer::AllLocal, ModelBuffer::BlockDiagonal];
        bindings.push_all(tables.map(|buffer| self.segment.model_table(model.layout, buffer)));
        bindings.extend_from_slice(&[self.place(SolverBuffer::Vectors), self.place(SolverBuffer::Sums), slice]);
        let workgroups = group.blocks.div_ceil(TILE).min(MOST_TILES);
        let uniforms =
            SolverUniforms { row, threads: workgroups * THREADS, ..self.of_group(group, model.layout.scale) };
        self.dispatch(SolverShader::Complement(group.shape), bindings, uniforms, workgroups);
        let (product, gate, dim) = (self.place(SolverBuffer::Product), self.gate(state::ITERATE), group.shape.dim);
        model.gather_heavy(&mut self.segment, product, Width::Single, gate, &|size| size != dim)?;
        Ok(Sums { slice, count: workgroups, width: 1 })
    }

    /// The preconditioned residual of eliminated blocks, from that of the others.
    pub(super) fn substitute<K: Kernels>(&mut self, model: &ModelRecorder<K>) -> Result<()> {
        let preconditioned = self.vector(1);
        let groups = self.shape.groups.iter().zip(self.rows(model));
        let groups = groups.filter(|(group, _)| group.shape.part == Part::Eliminated).list();
        self.multiply(model, preconditioned, &|dim| groups.iter().any(|(group, _)| group.shape.dim == dim))?;
        let strategy = model.jtj_product();
        for (group, row) in groups {
            let mut bindings = vec![self.place(SolverBuffer::State)];
            bindings.push_all(self.product_bindings(model, strategy));
            bindings.push(self.segment.model_table(model.layout, ModelBuffer::BlockDiagonal));
            bindings.extend_from_slice(&[self.place(SolverBuffer::Vectors), self.place(SolverBuffer::Sums)]);
            let uniforms = self.product_uniforms(model, group, row);
            self.dispatch(SolverShader::Substitute(group.shape, strategy), bindings, uniforms, group.workgroups);
        }
        Ok(())
    }

    /// For each group where its first row of lists stands: rows stand in the order of the blocks.
    pub(super) fn rows<K: Kernels>(&self, model: &ModelRecorder<K>) -> Vec<u32> {
        let mut row = model.layout.fused.as_ref().map_or(0, FusedLists::first_row);
        let row_after = |group: &Group| {
            row += group.blocks;
            row - group.blocks
        };
        self.shape.groups.iter().map(row_after).list()
    }

    /// What a kernel reads to get blocks of a product.
    pub(super) fn product_bindings<K: Kernels>(
        &mut self,
        model: &ModelRecorder<K>,
        strategy: JtjProduct,
    ) -> Vec<Slice> {
        match strategy {
            JtjProduct::LocalParts | JtjProduct::LocalJvp { .. } => {
                let lists = [Memory::GatherOffsets(0, 0), Memory::GatherEntries(0, 0)];
                let [offsets, entries] = lists.map(|memory| self.segment.table(model.evaluation, memory));
                vec![offsets, entries, self.segment.model_table(model.layout, ModelBuffer::Local(0))]
            }
            JtjProduct::Vector => vec![self.place(SolverBuffer::Product)],
            JtjProduct::FusedParts { heavy, .. } => {
                let mut bindings = Vec::new();
                bindings.push_all(heavy.then(|| self.place(SolverBuffer::Product)));
                let buffers = [ModelBuffer::FusedLists, ModelBuffer::AllLocal];
                bindings.push_all(buffers.map(|buffer| self.segment.model_table(model.layout, buffer)));
                bindings
            }
        }
    }

    /// The uniforms of such a kernel over a group.
    pub(super) fn product_uniforms<K: Kernels>(
        &self,
        model: &ModelRecorder<K>,
        group: &Group,
        row: u32,
    ) -> SolverUniforms {
        let jacobian = model.jacobian_columns();
        let of_group = self.of_group(group, model.layout.scale);
        SolverUniforms { local_stride: jacobian.stride, first_partial: jacobian.first, row, ..of_group }
    }

    /// The parts of the product of the direction that is yet to be formed, of all residuals in one dispatch; gives the sums of ‖Jp‖².
    fn products<K: Kernels>(&mut self, model: &ModelRecorder<K>) -> Result<Sums> {
        let absent = || Error::internal("products of several kernels that are not fused");
        let FusedProducts { kernel, uniforms: parts, workgroups } =
            model.fused_products(&mut self.segment)?.ok_or_else(absent)?;
        self.fused_kernels = kernel.declarations(model.evaluation.chunks.len(), Role::Vector.declaration().0);
        let slice = self.place(SolverBuffer::JvpSquares);
        let mut bindings =
            vec![self.place(SolverBuffer::State), self.segment.table(model.evaluation, Memory::AllIndices)];
        bindings.push(self.segment.model_table(model.layout, ModelBuffer::AllLocal));
        bindings.extend_from_slice(&[self.place(SolverBuffer::Vectors), self.place(SolverBuffer::Sums), slice, parts]);
        let uniforms = self.common();
        self.dispatch(SolverShader::Products, bindings, uniforms, workgroups);
        Ok(Sums { slice, count: workgroups, width: 1 })
    }
}
