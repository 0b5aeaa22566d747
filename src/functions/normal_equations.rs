//! The Gauss-Newton model of problems with few parameters that all instances share, as sums alone: cost, J̃ᵀr̃ and J̃ᵀJ̃, without a row of J̃. What
//! an instance adds, [`crate::batch::normal_equations`] says; when sums suffice for a step, [`crate::linear::normal_equations`].
//!
//! One pass over the instances at a trial point gives by how much the cost falls there and the model there, which is what comes next if the
//! point is taken: most are, and then an iteration is one pass. Residuals are kept for the next fall, two columns of them in turn.

use residua_loops::all_finite;

use crate::batch::normal_equations::SharedSums;
use crate::batch::plan::Entry;
use crate::batch::{Batch, Model};
use crate::error::Result;
use crate::linear::normal_equations::{LEAST_ROWS, MOST_COLUMNS};
use crate::list::Listed;
use crate::losses::LossKind;

use super::Functions;
use super::cpu::{CpuEngine, Memory};
use super::least_squares::LeastSquares;
use super::products::Normal;

/// What is kept from pass to pass.
#[derive(Default)]
pub(super) struct Passes {
    /// The residuals of each batch where the model was made last, and at the trial point.
    before: Vec<Vec<f64>>,
    after: Vec<Vec<f64>>,
    /// The trial point, and the model there.
    trial: Option<(Vec<f64>, LeastSquares)>,
}

impl Functions {
    /// Compiles what models of sums take. `false` where there are none: for many parameters, for few residuals, which are not worth it, where
    /// instances have blocks of their own, and for long sums, whose rows are only known when their addends are added up.
    pub async fn prepare_normal_equations(&mut self) -> Result<bool> {
        let model = &self.model;
        let is_small = model.num_params as usize <= MOST_COLUMNS && model.num_residuals as usize >= LEAST_ROWS;
        if !is_small || !model.batches.iter().all(shares_blocks) {
            return Ok(false);
        }
        let engine = self.engine.on_cpu();
        engine.passes = Passes { trial: None, ..std::mem::take(&mut engine.passes) };
        for entry in [Entry::SquaredSums, Entry::RobustSums] {
            if model.batches.iter().any(|batch| entry_of(model, batch) == Some(entry)) {
                engine.prepare(model, entry).await?;
            }
        }
        Ok(true)
    }

    /// The model at a point, in f64, its curvature in one block of all parameters; of what [`Functions::prepare_normal_equations`] has
    /// compiled.
    pub fn linearise_as_sums(&mut self, x: &[f64]) -> Result<LeastSquares> {
        let model = match self.engine.on_cpu().passes.trial.take() {
            Some((point, model)) if point == x => model,
            _ => self.pass(x)?.1,
        };
        let Passes { before, after, .. } = &mut self.engine.on_cpu().passes;
        std::mem::swap(before, after);
        Ok(model)
    }

    /// The same as [`Functions::reduction`] where the model was last made as sums.
    pub fn reduction_of_sums(&mut self, x: &[f64]) -> Result<f64> {
        let (reduction, model) = self.pass(x)?;
        self.engine.on_cpu().passes.trial = Some((x.to_vec(), model));
        Ok(reduction)
    }

    /// By how much the cost falls, and the model.
    fn pass(&mut self, x: &[f64]) -> Result<(f64, LeastSquares)> {
        self.expect_parameters(x.len())?;
        let Functions { model, engine, constant, .. } = self;
        let engine = engine.on_cpu();
        let mut passes = std::mem::take(&mut engine.passes);
        let mut sums = Sums::new(model.num_params as usize);
        let outcome = engine.add_up(model, x, &mut passes, &mut sums);
        engine.passes = passes;
        outcome?;
        // A robust loss may have a number where its residual has none.
        let is_robust = |number: &usize| entry_of(model, &model.batches[*number]) == Some(Entry::RobustSums);
        let mut robust = (0..model.batches.len()).filter(is_robust);
        if !robust.all(|number| all_finite(&engine.passes.after[number])) {
            sums.cost = f64::NAN;
        }
        for column in (0..constant.len()).filter(|&column| constant[column]) {
            sums.clear(column);
        }
        let Sums { cost, reduction, gradient, curvature } = sums;
        let normal = Some(Normal { residuals: model.num_residuals as usize, gradient, curvature });
        Ok((reduction, LeastSquares { cost, residuals: Vec::new(), entries: Vec::new(), normal }))
    }
}

/// Whether all instances of a batch have the same blocks.
fn shares_blocks(batch: &Batch) -> bool {
    let shares = |column: u32| batch.column(column).windows(2).all(|pair| pair[0] == pair[1]);
    !batch.has_addends()
        && SharedSums::of(&batch.class).width <= MOST_COLUMNS
        && (0..batch.class.block_dims.len() as u32).all(shares)
}

/// The kernel that adds up a batch; none if it takes no part.
fn entry_of(model: &Model, batch: &Batch) -> Option<Entry> {
    let block = &model.blocks[batch.block as usize];
    let entry = if block.loss.kind == LossKind::Squared { Entry::SquaredSums } else { Entry::RobustSums };
    (block.enabled && batch.count > 0).then_some(entry)
}

impl CpuEngine {
    fn add_up(&mut self, model: &Model, x: &[f64], passes: &mut Passes, sums: &mut Sums) -> Result<()> {
        let Passes { before, after, .. } = passes;
        before.resize(model.batches.len(), Vec::new());
        after.resize(model.batches.len(), Vec::new());
        for (number, batch) in model.batches.iter().enumerate() {
            let Some(entry) = entry_of(model, batch) else { continue };
            let layout = SharedSums::of(&batch.class);
            let mut of_batch = vec![0.0; layout.numbers()];
            let length = batch.class.outputs.len() * batch.count as usize;
            for residuals in [&mut before[number], &mut after[number]] {
                residuals.resize(length, 0.0);
            }
            let (seeds, residuals) = (before[number].as_slice(), after[number].as_mut_slice());
            let memory = Memory { x, seeds, residuals, curvature: &mut of_batch, ..Memory::default() };
            let fall = self.run_prepared(model, number, entry, memory)?;
            let block = &model.blocks[batch.block as usize];
            sums.add(batch, &of_batch, fall, block.weight * block.loss.factor);
        }
        Ok(())
    }
}

/// Sums over all batches.
struct Sums {
    cost: f64,
    reduction: f64,
    gradient: Vec<f64>,
    /// Row after row, of which the lower half counts.
    curvature: Vec<f64>,
}

impl Sums {
    fn new(n: usize) -> Sums {
        Sums { cost: 0.0, reduction: 0.0, gradient: vec![0.0; n], curvature: vec![0.0; n * n] }
    }

    /// Adds those of a batch, each to its parameters, times a weight.
    fn add(&mut self, batch: &Batch, sums: &[f64], fall: f64, weight: f64) {
        let (layout, n) = (SharedSums::of(&batch.class), self.gradient.len());
        self.cost += 0.5 * weight * sums[0];
        self.reduction += 0.5 * weight * fall;
        let of_block = |(column, &dim): (u32, &u32)| {
            let first = batch.column(column)[0];
            first..first + dim
        };
        let parameters: Vec<u32> = (0..).zip(&batch.class.block_dims).flat_map(of_block).list();
        for (row, &i) in parameters.iter().enumerate() {
            self.gradient[i as usize] += weight * sums[layout.gradient(row)];
            for (column, &j) in parameters[..=row].iter().enumerate() {
                let product = weight * sums[layout.curvature(row, column)];
                // A parameter that an instance has twice has the sum of both columns, of which the square has the product twice.
                let times = if i == j && row != column { 2.0 } else { 1.0 };
                self.curvature[i.max(j) as usize * n + i.min(j) as usize] += times * product;
            }
        }
    }

    /// Zeros for a parameter, whatever it had.
    fn clear(&mut self, parameter: usize) {
        let n = self.gradient.len();
        self.gradient[parameter] = 0.0;
        for other in 0..n {
            self.curvature[parameter * n + other] = 0.0;
            self.curvature[other * n + parameter] = 0.0;
        }
    }
}
