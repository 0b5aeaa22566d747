//! The model in rows: r̃, and J̃ in compressed rows. [`crate::model::least_squares`] defines both.

use crate::eval::cpu::{CpuEngine, Memory, Partials};
use crate::eval::{Differentiated, Functions, OnHost, mask};
use crate::model::access_plan::{Derivatives, Entry};
use crate::model::least_squares::LocalTable;
use crate::model::losses;
use crate::model::pattern::{Pattern, pattern};
use crate::model::{Batch, BlockInfo, Class, Local, Model, Rows as BatchRows};
use residua_base::deadline::Deadline;
use residua_base::error::{Error, Result};
use residua_base::list::Listed;

use super::local_tables::LocalTables;
use super::model::LeastSquares;

/// What is kept of a linearisation in rows.
#[derive(Default)]
pub(super) struct Rows {
    /// The pattern of J̃, once it is made.
    tangents: Option<Differentiated>,
    /// What the entries of J̃ are derivatives of, of a model that has grown since.
    outgrown: Partials,
    /// Of each batch its derivatives, from the pattern to the kernel.
    derivatives: Vec<Option<Derivatives>>,
    /// The residuals that are long sums.
    long_sums: Vec<LongSum>,
}

/// A residual that is only known when its addends are added up.
#[derive(Clone, Copy, Debug)]
struct LongSum {
    row: usize,
    block: usize,
    value: f64,
}

impl Rows {
    /// The pattern of J̃.
    pub(super) fn pattern(&mut self, functions: &Functions) -> Result<&Pattern> {
        Ok(&self.differentiate(functions.model())?.pattern)
    }

    /// Whether the pattern of J̃ has been made.
    pub(super) fn has_pattern(&self) -> bool {
        self.tangents.is_some()
    }

    /// Forgets what depends on the numbers of instances and parameters.
    pub(super) fn grow(&mut self) {
        let partials = self.tangents.take().map(|tangents| tangents.partials);
        let outgrown = partials.unwrap_or_else(|| std::mem::take(&mut self.outgrown));
        *self = Rows { outgrown, ..Rows::default() };
    }

    fn differentiate(&mut self, model: &Model) -> Result<&Differentiated> {
        let tangents = match self.tangents.take() {
            Some(tangents) => tangents,
            None => {
                let partials = match std::mem::take(&mut self.outgrown) {
                    known if known.len() == model.batches.len() => known,
                    _ => self.tangent_partials(model),
                };
                let pattern = pattern(model, &partials)?;
                Differentiated { partials, pattern }
            }
        };
        Ok(self.tangents.insert(tangents))
    }

    /// For each batch what the entries of J̃ are derivatives of.
    fn tangent_partials(&mut self, model: &Model) -> Partials {
        self.derivatives.clear();
        let of_batch = |batch: &Batch| {
            let derivatives = Derivatives::new(&batch.class, batch.rows);
            let partials = derivatives.places.iter().map(|&(output, place)| (output, local(batch, place))).list();
            self.derivatives.push(Some(derivatives));
            partials
        };
        model.batches.iter().map(of_batch).list()
    }

    /// Compiles the kernels of a linearisation; whether they are there at the deadline.
    pub(super) async fn prepare(&mut self, functions: &mut Functions, end: Deadline) -> Result<bool> {
        let OnHost { model, engine, .. } = functions.on_host();
        self.differentiate(model)?;
        let Some(Differentiated { pattern, partials }) = &self.tangents else {
            return Err(Error::internal("a pattern was made and is not there"));
        };
        engine.prepare_scattered(model, Entry::Linearise, partials, pattern, &mut self.derivatives, end).await
    }

    /// The same for [`Rows::reduction`].
    pub(super) async fn prepare_reduction(&self, functions: &mut Functions, end: Deadline) -> Result<bool> {
        let OnHost { model, engine, .. } = functions.on_host();
        let takes_part = |batch: &&Batch| model.blocks[batch.block as usize].enabled;
        let mut are_ready = true;
        for (entry, has_addends) in [(Entry::Values, true), (Entry::Trial, false)] {
            if model.batches.iter().filter(takes_part).any(|batch| batch.has_addends() == has_addends) {
                are_ready = are_ready && engine.prepare_until(model, entry, end).await?;
            }
        }
        Ok(are_ready)
    }

    /// r̃ and J̃ at a point.
    pub(super) async fn linearise(
        &mut self,
        functions: &mut Functions,
        tables: &mut LocalTables,
        x: &[f64],
    ) -> Result<LeastSquares> {
        functions.expect_parameters(x.len())?;
        self.prepare(functions, Deadline::NEVER).await?;
        let OnHost { model, engine, constant, .. } = functions.on_host();
        let pattern = &self.differentiate(model)?.pattern;
        let mut result = LeastSquares {
            cost: 0.0,
            residuals: vec![0.0; model.num_residuals as usize],
            entries: vec![0.0; pattern.col_indices.len()],
            ..LeastSquares::nothing()
        };
        fill(engine, model, x, tables, &mut result)?;
        let long_sums = long_sums(model, &result.residuals);
        for sum in &long_sums {
            correct(&mut result, sum, &model.blocks[sum.block], pattern);
        }
        if let Some(constant) = constant {
            mask(&mut result.entries, &pattern.col_indices, constant);
        }
        self.long_sums = long_sums;
        result.influence = result.cost;
        Ok(result)
    }

    /// The cost at the last linearised point minus that at `x`.
    pub(super) async fn reduction(
        &self,
        functions: &mut Functions,
        tables: &mut LocalTables,
        x: &[f64],
    ) -> Result<f64> {
        functions.expect_parameters(x.len())?;
        let OnHost { model, engine, .. } = functions.on_host();
        let mut reduction = 0.0;
        let mut after = vec![0.0; if self.long_sums.is_empty() { 0 } else { model.num_residuals as usize }];
        for (number, table) in tables.of_enabled(model) {
            if model.batches[number].has_addends() {
                let memory = Memory { x, residuals: &mut after, ..Memory::default() };
                engine.run(model, number, Entry::Values, memory).await?;
            } else {
                let memory = Memory { x, local: table, ..Memory::default() };
                reduction += engine.run(model, number, Entry::Trial, memory).await?;
            }
        }
        for sum in &self.long_sums {
            let block = &model.blocks[sum.block];
            let rho = |value: f64| losses::evaluate(&block.loss, value * value).0;
            reduction += 0.5 * block.weight * (rho(sum.value) - rho(after[sum.row]));
        }
        Ok(reduction)
    }
}

/// Fills the local tables with residuals, and a model of zeros with what the batches have of it.
fn fill(
    engine: &mut CpuEngine,
    model: &Model,
    x: &[f64],
    tables: &mut LocalTables,
    result: &mut LeastSquares,
) -> Result<()> {
    let columns = |class: &Class| {
        let table = LocalTable::of(class);
        table.residual(table.outputs)
    };
    for (number, table) in tables.with_columns(model, columns) {
        let (residuals, partials) = (result.residuals.as_mut_slice(), result.entries.as_mut_slice());
        let memory = Memory { x, residuals, partials, local: table, ..Memory::default() };
        result.cost += engine.run_scattered(model, number, Entry::Linearise, memory)?;
    }
    Ok(())
}

fn local(batch: &Batch, place: u32) -> Local {
    let mut component = place;
    let mut column = 0;
    for &dim in &batch.class.block_dims {
        if component < dim {
            break;
        }
        component -= dim;
        column += 1;
    }
    Local { column, component }
}

/// The long sums of the blocks that take part, each once.
fn long_sums(model: &Model, residuals: &[f64]) -> Vec<LongSum> {
    let mut sums: Vec<LongSum> = Vec::new();
    let mut seen = Vec::new();
    for batch in model.batches.iter().filter(|batch| model.blocks[batch.block as usize].enabled) {
        let BatchRows::Addends(column) = batch.rows else { continue };
        seen.resize(residuals.len(), false);
        for &row in batch.column(column) {
            let row = row as usize;
            if !std::mem::replace(&mut seen[row], true) {
                sums.push(LongSum { row, block: batch.block as usize, value: residuals[row] });
            }
        }
    }
    sums
}

/// Corrects the row of a long sum for loss and weight, and adds its cost.
fn correct(model: &mut LeastSquares, sum: &LongSum, block: &BlockInfo, pattern: &Pattern) {
    let s = sum.value * sum.value;
    let (rho, slope) = losses::evaluate(&block.loss, s);
    let bend = losses::evaluate_bend(&block.loss, s);
    let root = if bend > 0.0 && s > 0.0 { (1.0 + 2.0 * s * bend / slope).sqrt() } else { 1.0 };
    let scale = (block.weight * slope).sqrt();
    model.cost += 0.5 * block.weight * rho;
    model.residuals[sum.row] = sum.value * scale / root;
    let row = pattern.row_offsets[sum.row] as usize..pattern.row_offsets[sum.row + 1] as usize;
    model.entries[row].iter_mut().for_each(|entry| *entry *= scale * root);
}
