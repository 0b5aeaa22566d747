//! The Gauss-Newton model of the least-squares cost on the CPU: r̃ and J̃ at a point, and by how much the cost falls from there
//! to another one. What they are, [`crate::batch::least_squares`] says.

use crate::batch::least_squares::LocalTable;
use crate::batch::pattern::{Pattern, pattern};
use crate::batch::plan::{Entry, Target, plan};
use crate::batch::{Batch, BlockInfo, Local, Model, Rows};
use crate::error::{Error, Result};
use crate::list::Listed;
use crate::losses;

use residua_loops::all_finite;

use super::cpu::{CpuEngine, Memory, Partials};
use super::products::Normal;
use super::{Differentiated, Functions, mask};

/// The model ½‖r̃ + J̃δ‖² at a point.
#[derive(Clone, Debug, PartialEq)]
pub struct LeastSquares {
    /// ½ Σ weight·ρ(‖r‖²).
    pub cost: f64,
    /// r̃: one number for each residual, 0 where the block takes no part.
    pub residuals: Vec<f64>,
    /// J̃, in the order of the pattern of [`Functions::tangent_pattern`]; 0 in the columns of constant parameters.
    pub entries: Vec<f64>,
    /// What stands for residuals and entries, which are empty then, where the matrix is not made.
    pub normal: Option<Normal>,
}

/// What is kept of a linearisation until the next.
#[derive(Default)]
pub(super) struct Linearised {
    /// The local table of each batch.
    pub tables: Vec<Vec<f64>>,
    /// For each batch where in the curvature its blocks begin, and how many numbers that has.
    pub curvature_places: Vec<Vec<u32>>,
    pub curvature_len: usize,
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

impl Functions {
    /// The pattern of J̃. Its columns are parameters; those of a block on a manifold stand for tangent coordinates.
    pub fn tangent_pattern(&mut self) -> Result<&Pattern> {
        self.make_tangents()?;
        let tangents = self.tangents.as_ref();
        tangents.map(|tangents| &tangents.pattern).ok_or_else(|| Error::internal("a pattern was made and is not there"))
    }

    fn make_tangents(&mut self) -> Result<()> {
        if self.tangents.is_some() {
            return Ok(());
        }
        let partials = self.engine.on_cpu().tangent_partials(&self.model)?;
        let pattern = pattern(&self.model, &partials)?;
        self.tangents = Some(Differentiated { partials, pattern });
        Ok(())
    }

    /// The Gauss-Newton model at a point, in f64.
    pub async fn linearise(&mut self, x: &[f64]) -> Result<LeastSquares> {
        self.expect_parameters(x.len())?;
        self.make_tangents()?;
        let Functions { model, engine, tangents, constant, has_constants, .. } = self;
        let Some(Differentiated { pattern, partials }) = tangents else {
            return Err(Error::internal("a pattern was made and is not there"));
        };
        let engine = engine.on_cpu();
        engine.prepare_scattered(model, Entry::Linearise, partials, pattern).await?;
        let mut result = LeastSquares {
            cost: 0.0,
            residuals: vec![0.0; model.num_residuals as usize],
            entries: vec![0.0; pattern.col_indices.len()],
            normal: None,
        };
        engine.linearise(model, x, &mut result)?;
        engine.linearised.long_sums = long_sums(model, &result.residuals);
        for sum in &engine.linearised.long_sums {
            result.correct(sum, &model.blocks[sum.block], pattern);
        }
        if *has_constants {
            mask(&mut result.entries, &pattern.col_indices, constant);
        }
        Ok(result)
    }

    /// The least-squares cost at the last linearised point minus that at `x`, in f64: positive where it falls, NaN where it is
    /// not defined.
    pub async fn reduction(&mut self, x: &[f64]) -> Result<f64> {
        self.expect_parameters(x.len())?;
        self.engine.on_cpu().reduction(&self.model, x).await
    }
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
        let Rows::Addends(column) = batch.rows else { continue };
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

impl LeastSquares {
    /// Whether all of it is finite: where there is no matrix, sums over it tell.
    pub fn is_finite(&self) -> bool {
        let numbers = match &self.normal {
            Some(normal) => [&normal.gradient, &normal.curvature],
            None => [&self.residuals, &self.entries],
        };
        self.cost.is_finite() && numbers.into_iter().all(|numbers| all_finite(numbers))
    }

    /// Corrects the row of a long sum for loss and weight, and adds its cost.
    fn correct(&mut self, sum: &LongSum, block: &BlockInfo, pattern: &Pattern) {
        let s = sum.value * sum.value;
        let (rho, slope) = losses::evaluate(&block.loss, s);
        let bend = losses::evaluate_bend(&block.loss, s);
        let root = if bend > 0.0 && s > 0.0 { (1.0 + 2.0 * s * bend / slope).sqrt() } else { 1.0 };
        let scale = (block.weight * slope).sqrt();
        self.cost += 0.5 * block.weight * rho;
        self.residuals[sum.row] = sum.value * scale / root;
        let row = pattern.row_offsets[sum.row] as usize..pattern.row_offsets[sum.row + 1] as usize;
        self.entries[row].iter_mut().for_each(|entry| *entry *= scale * root);
    }
}

impl CpuEngine {
    /// What J̃'s entries are of.
    fn tangent_partials(&self, model: &Model) -> Result<Partials> {
        let of_batch = |batch: &Batch| {
            let places = plan(&batch.class, batch.rows, Entry::Linearise, Target::Cpu, "")?.partials;
            Ok(places.into_iter().map(|(output, place)| (output, local(batch, place))).list())
        };
        model.batches.iter().map(of_batch).list_or_error()
    }

    /// Fills the local tables with residuals, and a model with zeros with what it has of its own.
    fn linearise(&mut self, model: &Model, x: &[f64], result: &mut LeastSquares) -> Result<()> {
        let mut tables = std::mem::take(&mut self.linearised.tables);
        tables.resize(model.batches.len(), Vec::new());
        for (number, (batch, table)) in model.batches.iter().zip(&mut tables).enumerate() {
            if model.blocks[batch.block as usize].enabled {
                let columns = LocalTable::of(&batch.class);
                table.resize(columns.residual(columns.outputs) as usize * batch.count as usize, 0.0);
                let (residuals, partials) = (result.residuals.as_mut_slice(), result.entries.as_mut_slice());
                let memory = Memory { x, residuals, partials, local: table, ..Memory::default() };
                result.cost += self.run_scattered(model, number, Entry::Linearise, memory)?;
            }
        }
        self.linearised.tables = tables;
        Ok(())
    }

    async fn reduction(&mut self, model: &Model, x: &[f64]) -> Result<f64> {
        let mut reduction = 0.0;
        let mut tables = std::mem::take(&mut self.linearised.tables);
        let mut after = vec![0.0; if self.linearised.long_sums.is_empty() { 0 } else { model.num_residuals as usize }];
        for (number, (batch, table)) in model.batches.iter().zip(&mut tables).enumerate() {
            if !model.blocks[batch.block as usize].enabled {
                continue;
            }
            if batch.has_addends() {
                let memory = Memory { x, residuals: &mut after, ..Memory::default() };
                self.run(model, number, Entry::Values, memory).await?;
            } else {
                let memory = Memory { x, local: table, ..Memory::default() };
                reduction += self.run(model, number, Entry::Trial, memory).await?;
            }
        }
        self.linearised.tables = tables;
        for sum in &self.linearised.long_sums {
            let block = &model.blocks[sum.block];
            let rho = |value: f64| losses::evaluate(&block.loss, value * value).0;
            reduction += 0.5 * block.weight * (rho(sum.value) - rho(after[sum.row]));
        }
        Ok(reduction)
    }
}
