//! The model without its matrix: J̃ stays in local tables as its kernel wrote it, and kernels multiply by J̃ᵀJ̃. [`crate::model::least_squares`]
//! defines the kernels.
//!
//! Local tables take less memory than compressed rows, and less of it is read: entries that are the negatives of others are not stored.

use crate::eval::cpu::{CpuEngine, Memory};
use crate::eval::{Functions, OnHost};
use crate::model::access_plan::{Entry, Target};
use crate::model::least_squares::LocalTable;
use crate::model::{Batch, Class, Model};
use residua_base::deadline::Deadline;
use residua_base::error::Result;
use residua_linalg::{CoordinateBlocks, JtjOperator};

use super::local_tables::LocalTables;
use super::model::{LeastSquares, Normal};

/// A kernel of diagonal blocks has so many products of entries at most: each is an instruction.
const MOST_PRODUCTS: u64 = 1 << 17;

/// Where the diagonal blocks of J̃ᵀJ̃ stand.
#[derive(Default)]
pub(super) struct MatrixFree {
    /// For each batch, column after column, where the diagonal block of an instance's parameter block begins.
    places: Vec<Vec<u32>>,
    /// Numbers of all diagonal blocks.
    len: usize,
}

impl MatrixFree {
    /// Compiles the kernels, for the tangent coordinates of these blocks. `false` where the model needs its matrix: for long sums, whose rows
    /// are only known when their addends are added up, where an instance has a block twice, whose columns are sums, where the blocks are
    /// not those of the model, and where the kernel of the diagonal blocks would be too long. `None` where the deadline passes before they are there.
    pub(super) async fn prepare(
        &mut self,
        functions: &mut Functions,
        blocks: &CoordinateBlocks,
        end: Deadline,
    ) -> Result<Option<bool>> {
        let OnHost { model, engine, .. } = functions.on_host();
        let needs_rows = |batch: &Batch| batch.has_addends() || has_a_block_twice(batch) || is_long(&batch.class);
        if model.batches.iter().any(needs_rows) {
            return Ok(Some(false));
        }
        // Where each diagonal block begins, and how wide it is.
        let mut starts = vec![(0u32, 0u32); model.num_params as usize];
        let mut total = 0;
        for &(first, count) in &blocks.ranges {
            starts[first] = (total, count as u32);
            total += (count * count) as u32;
        }
        let mut places = Vec::new();
        for batch in &model.batches {
            let mut of_batch = Vec::with_capacity(batch.class.block_dims.len() * batch.count as usize);
            for (column, (&dim, manifold)) in (0..).zip(batch.class.block_dims.iter().zip(&batch.class.manifolds)) {
                for &first in batch.column(column) {
                    let (start, width) = starts[first as usize];
                    if width != manifold.tangent_dim(dim) {
                        return Ok(Some(false));
                    }
                    of_batch.push(start);
                }
            }
            places.push(of_batch);
        }
        for entry in [Entry::Linearise, Entry::Normal, Entry::Product, Entry::Jvp, Entry::Trial] {
            if !engine.prepare_until(model, entry, end).await? {
                return Ok(None);
            }
        }
        (self.places, self.len) = (places, total as usize);
        Ok(Some(true))
    }

    /// J̃ᵀr̃ and the diagonal blocks of J̃ᵀJ̃ at a point.
    pub(super) fn linearise(
        &self,
        functions: &mut Functions,
        tables: &mut LocalTables,
        x: &[f64],
    ) -> Result<LeastSquares> {
        functions.expect_parameters(x.len())?;
        let OnHost { model, engine, constant, .. } = functions.on_host();
        let mut gradient = vec![0.0; model.num_params as usize];
        let mut jtj_blocks = vec![0.0; self.len];
        let mut cost = 0.0;
        let columns = |class: &Class| LocalTable::of(class).columns(Target::Cpu);
        for (number, table) in tables.with_columns(model, columns) {
            let memory = Memory { x, local: table, ..Memory::default() };
            cost += engine.run_prepared(model, number, Entry::Linearise, memory)?;
            let places = self.places[number].as_slice();
            let (gradient, jtj_blocks) = (gradient.as_mut_slice(), jtj_blocks.as_mut_slice());
            let memory = Memory { gradient, jtj_blocks, places, local: table, ..Memory::default() };
            engine.run_prepared(model, number, Entry::Normal, memory)?;
        }
        if let Some(constant) = constant {
            let entries = gradient.iter_mut().zip(constant);
            entries.filter(|(_, constant)| **constant).for_each(|(entry, _)| *entry = 0.0);
        }
        let normal = Some(Normal { residuals: model.num_residuals as usize, gradient, jtj_blocks });
        Ok(LeastSquares { cost, influence: cost, normal, ..LeastSquares::nothing() })
    }
}

/// ‖J̃p‖² with J̃ as the local tables hold it.
pub(super) fn squared_jvp(functions: &mut Functions, tables: &mut LocalTables, p: &[f64]) -> Result<f64> {
    let OnHost { model, engine, .. } = functions.on_host();
    multiply(engine, model, tables, Entry::Jvp, p, &mut [])
}

/// J̃ᵀJ̃ with J̃ as the local tables hold it.
pub(super) struct JtJ<'a> {
    pub(super) functions: &'a mut Functions,
    pub(super) tables: &'a mut LocalTables,
}

impl JtjOperator for JtJ<'_> {
    fn product(&mut self, p: &[f64], product: &mut [f64]) -> Result<f64> {
        let OnHost { model, engine, .. } = self.functions.on_host();
        multiply(engine, model, self.tables, Entry::Product, p, product)
    }
}

/// Runs the kernels of a product over all tables; gives ‖J̃p‖².
fn multiply(
    engine: &CpuEngine,
    model: &Model,
    tables: &mut LocalTables,
    entry: Entry,
    p: &[f64],
    product: &mut [f64],
) -> Result<f64> {
    let mut square = 0.0;
    for (number, table) in tables.of_enabled(model) {
        let memory = Memory { vector: p, gradient: &mut *product, local: table, ..Memory::default() };
        square += engine.run_prepared(model, number, entry, memory)?;
    }
    Ok(square)
}

/// Whether the kernel of the diagonal blocks may have more than [`MOST_PRODUCTS`].
fn is_long(class: &Class) -> bool {
    let squares: u64 = class.block_dims.iter().map(|&dim| u64::from(dim).pow(2)).sum();
    squares * class.outputs.len() as u64 > MOST_PRODUCTS
}

fn has_a_block_twice(batch: &Batch) -> bool {
    let columns = batch.class.block_dims.len() as u32;
    (0..columns).any(|a| (0..a).any(|b| batch.column(a).iter().zip(batch.column(b)).any(|(a, b)| a == b)))
}
