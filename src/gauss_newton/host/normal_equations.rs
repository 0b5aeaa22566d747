//! The model as sums, for few parameters that all instances share: cost, J̃ᵀr̃ and J̃ᵀJ̃, without a row of J̃. [`crate::model::normal_equations`]
//! defines what an instance adds; [`residua_linalg::normal_equations`] decides when sums suffice for a step.
//!
//! One pass over the instances at a trial point gives the reduction of the cost and the model there. The model is what comes next if the
//! point is accepted; most points are, and then an iteration is one pass. Two columns of residuals are kept in turn for the next reduction.

use residua_base::list::Listed;
use residua_linalg::loops::all_finite;
use residua_linalg::normal_equations::{LEAST_ROWS, MOST_COLUMNS};

use crate::eval::cpu::{CpuEngine, Memory};
use crate::eval::{Functions, OnHost};
use crate::model::access_plan::Entry;
use crate::model::losses::LossKind;
use crate::model::normal_equations::SharedSums;
use crate::model::{Batch, Model};
use residua_base::deadline::Deadline;
use residua_base::error::Result;

use super::model::{LeastSquares, Normal};

/// What is kept from pass to pass.
#[derive(Default)]
pub(super) struct Sums {
    /// The residuals of each batch where the model was made last, and at the trial point.
    before: Vec<Vec<f64>>,
    after: Vec<Vec<f64>>,
    /// The trial point, and the model there.
    trial: Option<(Vec<f64>, LeastSquares)>,
}

impl Sums {
    /// Compiles the kernels. `false` where there are no sums: for many parameters, for few residuals, where instances have blocks of their
    /// own, and for long sums, whose rows are only known when their addends are added up. `None` where the deadline passes before they are there.
    pub(super) async fn prepare(&mut self, functions: &mut Functions, end: Deadline) -> Result<Option<bool>> {
        let OnHost { model, engine, .. } = functions.on_host();
        let is_small = model.num_params as usize <= MOST_COLUMNS && model.num_residuals as usize >= LEAST_ROWS;
        if !is_small || !model.batches.iter().all(shares_blocks) {
            return Ok(Some(false));
        }
        self.trial = None;
        for entry in [Entry::SquaredSums, Entry::RobustSums] {
            let is_used = model.batches.iter().any(|batch| entry_of(model, batch) == Some(entry));
            if is_used && !engine.prepare_until(model, entry, end).await? {
                return Ok(None);
            }
        }
        Ok(Some(true))
    }

    /// The model at a point, with J̃ᵀJ̃ in one block of all parameters.
    pub(super) fn linearise(&mut self, functions: &mut Functions, x: &[f64]) -> Result<LeastSquares> {
        let model = match self.trial.take() {
            Some((point, model)) if point == x => model,
            _ => self.pass(functions, x)?.1,
        };
        std::mem::swap(&mut self.before, &mut self.after);
        Ok(model)
    }

    /// The cost where the model was last made minus that at `x`.
    pub(super) fn reduction(&mut self, functions: &mut Functions, x: &[f64]) -> Result<f64> {
        let (reduction, model) = self.pass(functions, x)?;
        self.trial = Some((x.to_vec(), model));
        Ok(reduction)
    }

    /// The reduction, and the model.
    fn pass(&mut self, functions: &mut Functions, x: &[f64]) -> Result<(f64, LeastSquares)> {
        functions.expect_parameters(x.len())?;
        let OnHost { model, engine, constant, .. } = functions.on_host();
        let mut totals = Totals::new(model.num_params as usize);
        self.add_up(engine, model, x, &mut totals)?;
        // A robust loss may be finite where its residual is not.
        let is_robust = |number: &usize| entry_of(model, &model.batches[*number]) == Some(Entry::RobustSums);
        let mut robust = (0..model.batches.len()).filter(is_robust);
        if !robust.all(|number| all_finite(&self.after[number])) {
            totals.cost = f64::NAN;
        }
        let constant = constant.unwrap_or_default();
        for column in (0..constant.len()).filter(|&column| constant[column]) {
            totals.clear(column);
        }
        let Totals { cost, reduction, gradient, jtj_blocks } = totals;
        let normal = Some(Normal { residuals: model.num_residuals as usize, gradient, jtj_blocks });
        Ok((reduction, LeastSquares { cost, influence: cost, normal, ..LeastSquares::nothing() }))
    }

    fn add_up(&mut self, engine: &CpuEngine, model: &Model, x: &[f64], totals: &mut Totals) -> Result<()> {
        let Sums { before, after, .. } = self;
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
            let memory = Memory { x, seeds, residuals, jtj_blocks: &mut of_batch, ..Memory::default() };
            let fall = engine.run_prepared(model, number, entry, memory)?;
            let block = &model.blocks[batch.block as usize];
            totals.add(batch, &of_batch, fall, block.weight * block.loss.factor);
        }
        Ok(())
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

/// Sums over all batches.
struct Totals {
    cost: f64,
    reduction: f64,
    gradient: Vec<f64>,
    /// Row after row, of which the lower half counts.
    jtj_blocks: Vec<f64>,
}

impl Totals {
    fn new(n: usize) -> Totals {
        Totals { cost: 0.0, reduction: 0.0, gradient: vec![0.0; n], jtj_blocks: vec![0.0; n * n] }
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
                let product = weight * sums[layout.jtj(row, column)];
                // A parameter that an instance has twice has the sum of both columns, of which the square has the product twice.
                let times = if i == j && row != column { 2.0 } else { 1.0 };
                self.jtj_blocks[i.max(j) as usize * n + i.min(j) as usize] += times * product;
            }
        }
    }

    /// Zeros for a parameter, whatever it had.
    fn clear(&mut self, parameter: usize) {
        let n = self.gradient.len();
        self.gradient[parameter] = 0.0;
        for other in 0..n {
            self.jtj_blocks[parameter * n + other] = 0.0;
            self.jtj_blocks[other * n + parameter] = 0.0;
        }
    }
}
