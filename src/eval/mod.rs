//! Compiled functions: residuals, sums, costs, gradients and Jacobians of a model, by one contract on two engines.
//!
//! [`Functions`] holds what does not depend on the engine: the current parameters, which of them are constant, the blocks'
//! weights and losses, the pattern of the Jacobian. An [`Engine`] evaluates: [`cpu`] in f64, one instance pair after
//! another; `gpu` in f32, all instances at once.
//!
//! Conventions, as in the public contract: residuals and Jacobian are raw, without loss and weight; the sum is
//! Σ weight·f; the cost ½ Σ weight·ρ(‖r‖²) over instances; gradient entries of constant parameters are exact zeros. NaN and
//! infinities are returned as they come.

use residua_base::list::Listed;
use std::borrow::Cow;
use std::cell::Cell;
use std::ops::Range;

use crate::model::losses::{self, LossKind, LossParameters};
use crate::model::pattern::{Pattern, pattern};
use crate::model::{Batch, Losses, Model, Rows};
use residua_base::deadline::Deadline;
use residua_base::error::{Error, Result};

pub mod access_plan_cache;
mod arithmetic;
pub mod check;
pub mod choice;
pub mod cpu;
mod current;
pub mod declare;
mod engine;
mod evaluation;
#[cfg(target_arch = "wasm32")]
pub mod gpu;
mod growth;
pub(crate) mod hessian;
pub mod hessian_pattern;
pub mod layout;
mod non_finite;
pub mod objective;
#[cfg(target_arch = "wasm32")]
mod on_device;
mod on_host;
#[cfg(target_arch = "wasm32")]
mod one_call;
pub mod pair_arithmetic;
pub mod pair_check;
pub mod pairs;
mod preparation;
pub mod record;
pub mod record_gradient;
#[cfg(target_arch = "wasm32")]
mod second_engine;
pub mod shaders;
mod sizes;
pub mod texts;
pub mod titles;
#[cfg(target_arch = "wasm32")]
pub mod trial;

pub use arithmetic::Arithmetic;
pub use choice::{Choice, Job};
pub use cpu::Part;
pub use engine::{Engine, Place};
pub use evaluation::{Evaluation, Linearisation, Objective};
pub use sizes::Sizes;

/// What the Jacobian's entries are.
pub(crate) struct Differentiated {
    pub(crate) partials: cpu::Partials,
    pub(crate) pattern: Pattern,
}

/// Zeros in the columns of constant parameters.
pub(crate) fn mask(entries: &mut [f64], col_indices: &[u32], constant: &[bool]) {
    for (entry, &column) in entries.iter_mut().zip(col_indices) {
        if constant[column as usize] {
            *entry = 0.0;
        }
    }
}

/// What a computation on the host takes of compiled functions.
pub(crate) struct OnHost<'a> {
    pub(crate) model: &'a Model,
    pub(crate) engine: &'a mut cpu::CpuEngine,
    pub(crate) constant: Option<&'a [bool]>,
    pub(crate) bounds: Option<(&'a [f64], &'a [f64])>,
}

/// A model, compiled for an engine.
pub struct Functions {
    model: Model,
    engine: Engine,
    values: Vec<f64>,
    /// The current parameters are on the device, and `values` are older.
    ahead: bool,
    /// What of `values` has been set since then, and is published: it is current too. `None` once that is in too many places to look at each.
    set_since: Option<Vec<Range<usize>>>,
    /// Counts changes of constants and bounds.
    constraints_version: u64,
    has_constants: bool,
    has_bounds: bool,
    constant: Vec<bool>,
    bounds: Option<(Vec<f64>, Vec<f64>)>,
    differentiated: Option<Differentiated>,
    /// The patterns of the Hessians of the sum and of the cost, once they have been evaluated.
    hessians: [Option<hessian_pattern::HessianPattern>; 2],
    /// Memory for entries of a Jacobian.
    spare: Vec<f64>,
    /// Until constants or enabled blocks change.
    sizes: Option<[Sizes; 2]>,
    samples: Cell<Option<usize>>,
    /// Which calls are done on the CPU although there is a device.
    choice: Option<Choice>,
    may_run_on_host: bool,
    device_fault: Option<Error>,
}

impl Functions {
    /// Compiled functions at the given parameters.
    pub fn new(model: Model, engine: Engine, values: Vec<f64>) -> Result<Functions> {
        let functions = Functions::at_published(model, engine, values)?;
        functions.engine.publish(&functions.values)?;
        Ok(functions)
    }

    /// The same for an engine that has published the parameters.
    pub fn at_published(model: Model, engine: Engine, values: Vec<f64>) -> Result<Functions> {
        let constant = vec![false; model.num_params as usize];
        let functions = Functions {
            model,
            engine,
            values,
            ahead: false,
            set_since: None,
            constraints_version: 0,
            has_constants: false,
            has_bounds: false,
            constant,
            bounds: None,
            differentiated: None,
            hessians: [None, None],
            spare: Vec::new(),
            sizes: None,
            samples: Cell::new(None),
            choice: None,
            may_run_on_host: false,
            device_fault: None,
        };
        functions.expect_parameters(functions.values.len())?;
        Ok(functions)
    }

    /// What is evaluated.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The model, the engine on the host, which parameters are constant, if any is, and their bounds.
    pub(crate) fn on_host(&mut self) -> OnHost<'_> {
        let constant = self.has_constants.then_some(self.constant.as_slice());
        let bounds = self.bounds.as_ref().map(|(lower, upper)| (lower.as_slice(), upper.as_slice()));
        OnHost { model: &self.model, engine: self.engine.on_cpu(), constant, bounds }
    }

    /// Does each kind of call by the engine that this says, if there are two.
    pub fn choose(&mut self, choice: Choice) {
        self.choice = Some(choice);
    }

    /// The parameters' buffer that the application can read; null on the host.
    #[cfg(target_arch = "wasm32")]
    pub fn parameter_buffer(&self) -> wasm_bindgen::JsValue {
        match &self.engine {
            Engine::Gpu(engine) | Engine::HostCall(engine) => engine.published_buffer(),
            Engine::Cpu(_) => wasm_bindgen::JsValue::NULL,
        }
    }

    /// What was chosen, if anything was.
    pub fn choice(&self) -> Option<&Choice> {
        self.choice.as_ref()
    }

    /// Says that calls may run on the host where kernels on the device turn out not to hold.
    pub fn allow_host(&mut self) {
        self.may_run_on_host = true;
    }

    /// Whether it was left to the library where calls run.
    #[cfg(target_arch = "wasm32")]
    pub fn may_run_on_host(&self) -> bool {
        self.may_run_on_host
    }

    /// What is wrong with kernels on the device that compute losses, as far as it is known. Calls of them are refused, or run on the host.
    pub fn device_fault(&self) -> Option<&Error> {
        self.device_fault.as_ref()
    }

    /// What evaluates it.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Where it is evaluated.
    pub fn place(&self) -> Place {
        self.engine.place()
    }

    /// In what it is evaluated.
    pub fn arithmetic(&self) -> Arithmetic {
        self.engine.arithmetic()
    }

    /// Whether each parameter is constant.
    pub fn constant(&self) -> &[bool] {
        &self.constant
    }

    /// The engine on the device, if that is what evaluates, and its model.
    #[cfg(target_arch = "wasm32")]
    pub fn on_device(&mut self) -> Option<(&mut gpu::GpuEngine, &Model)> {
        match &mut self.engine {
            Engine::Cpu(_) | Engine::HostCall(_) => None,
            Engine::Gpu(engine) => Some((engine, &self.model)),
        }
    }

    /// Says which parameters are constant.
    pub fn set_constant(&mut self, constant: Vec<bool>) -> Result<()> {
        self.expect_parameters(constant.len())?;
        self.has_constants = constant.contains(&true);
        self.constraints_version += 1;
        self.constant = constant;
        self.sizes = None;
        self.engine.constant_changed();
        Ok(())
    }

    /// Whether any parameter is constant or has a bound.
    pub fn is_constrained(&self) -> bool {
        self.has_constants || self.has_bounds
    }

    /// How large the problem is, whole and reduced to free parameters and enabled blocks.
    pub fn sizes(&mut self) -> [Sizes; 2] {
        *self.sizes.get_or_insert_with(|| Sizes::of(&self.model, &self.constant))
    }

    /// The number of samples m of statistics, as in σ² = 2·cost/(m − n): see [`Model::sample_count`]. Data that the application writes on the device count
    /// once [`Functions::bring_shared_data`] has brought them.
    pub fn sample_count(&self) -> usize {
        let count = self.samples.get().unwrap_or_else(|| self.model.sample_count());
        self.samples.set(Some(count));
        count
    }

    /// Forgets counts that weights and data decide.
    fn count_again(&mut self) {
        self.sizes = None;
        self.samples.set(None);
    }

    /// Lower and upper bounds, infinite where there are none; no bounds at all until they are set.
    pub fn bounds(&self) -> Option<(&[f64], &[f64])> {
        self.bounds.as_ref().map(|(lower, upper)| (lower.as_slice(), upper.as_slice()))
    }

    /// Sets box bounds, infinite where there are none. Solvers respect them; evaluations ignore them.
    pub fn set_bounds(&mut self, lower: Vec<f64>, upper: Vec<f64>) -> Result<()> {
        self.expect_parameters(lower.len())?;
        self.expect_parameters(upper.len())?;
        self.has_bounds = lower.iter().chain(&upper).any(|bound| bound.is_finite());
        self.bounds = Some((lower, upper));
        self.constraints_version += 1;
        Ok(())
    }

    /// Another number after each change of the constants or the bounds.
    pub fn constraints_version(&self) -> u64 {
        self.constraints_version
    }

    /// Gives the instances of a batch new data: columns from `first_column` on, column after column. What a plain function has computed is forgotten, also with
    /// no column.
    pub fn set_data(&mut self, batch: usize, first_column: u32, columns: &[f64]) -> Result<()> {
        let batches = self.model.batches.len();
        let Some(of_batch) = self.model.batches.get_mut(batch) else {
            return Err(Error::invalid_argument(format!("there are {batches} batches, and no number {batch}")));
        };
        let start = first_column as usize * of_batch.count as usize;
        let length = of_batch.data.len();
        let Some(target) = of_batch.data.get_mut(start..start + columns.len()) else {
            return Err(Error::invalid_argument(format!(
                "{} numbers from {start} on do not fit a data table of {length}",
                columns.len()
            )));
        };
        target.copy_from_slice(columns);
        if let Some(plain) = &of_batch.plain {
            plain.change(&of_batch.data);
            if columns.is_empty() {
                return Ok(());
            }
        }
        let changed = first_column..first_column + (columns.len() / (of_batch.count as usize).max(1)) as u32;
        self.count_again();
        self.engine.data_changed(&self.model, batch, changed)
    }

    /// Gives the model's tables new numbers from `first` on.
    pub fn set_tables(&mut self, first: usize, numbers: &[f64]) -> Result<()> {
        let length = self.model.tables.len();
        let Some(target) = self.model.tables.get_mut(first..).and_then(|tables| tables.get_mut(..numbers.len())) else {
            let what = format!("{} numbers from {first} on do not fit tables of {length}", numbers.len());
            return Err(Error::invalid_argument(what));
        };
        target.copy_from_slice(numbers);
        self.engine.tables_changed(&self.model, first as u32..(first + numbers.len()) as u32)
    }

    /// From now on takes data from a buffer that the application writes.
    #[cfg(target_arch = "wasm32")]
    pub async fn share_data(&mut self, new: gpu::NewSharedData) -> Result<()> {
        match &mut self.engine {
            Engine::Cpu(_) => Err(Error::internal("data is shared with the CPU engine")),
            Engine::Gpu(engine) | Engine::HostCall(engine) => engine.share_data(&self.model, new).await,
        }
    }

    /// Brings data that the application writes on the device into the model's tables, for evaluations on the CPU.
    pub async fn bring_shared_data(&mut self) -> Result<()> {
        if self.engine.read_shared_data(&mut self.model).await? {
            self.count_again();
        }
        Ok(())
    }

    /// Sets a block's weight.
    pub fn set_weight(&mut self, block: usize, weight: f64) -> Result<()> {
        self.block_mut(block)?.weight = weight;
        self.count_again();
        Ok(())
    }

    /// Sets a block's robust loss.
    pub fn set_loss(&mut self, block: usize, loss: LossParameters) -> Result<()> {
        let takes_none = |batch: &Batch| batch.block as usize == block && batch.class.losses == Losses::Squared;
        if loss.kind != LossKind::Squared && self.model.batches.iter().any(takes_none) {
            return Err(Error::internal("a loss is set for residuals that were compiled to have none"));
        }
        self.block_mut(block)?.loss = loss;
        self.count_again();
        self.engine.loss_changed(&self.model);
        Ok(())
    }

    /// Lets a block take part, or not. A block that does not contributes zeros.
    pub fn set_enabled(&mut self, block: usize, enabled: bool) -> Result<()> {
        let changed = std::mem::replace(&mut self.block_mut(block)?.enabled, enabled) != enabled;
        if changed {
            self.count_again();
            self.engine.enabled_changed();
        }
        Ok(())
    }

    fn block_mut(&mut self, block: usize) -> Result<&mut crate::model::BlockInfo> {
        let blocks = self.model.blocks.len();
        self.model.blocks.get_mut(block).ok_or_else(|| {
            Error::invalid_argument(format!("there are {blocks} residual blocks, and no number {block}"))
        })
    }

    pub(crate) fn expect_parameters(&self, got: usize) -> Result<()> {
        let expected = self.model.num_params as usize;
        if got == expected {
            return Ok(());
        }
        Err(Error::invalid_argument(format!("x has {got} numbers; it takes numParams = {expected}")))
    }

    /// The point to evaluate at: the one given, or the current one.
    async fn point<'x>(&mut self, x: Option<&'x [f64]>) -> Result<Cow<'x, [f64]>> {
        let Some(x) = x else {
            self.bring_values().await?;
            return Ok(Cow::Owned(self.values.clone()));
        };
        self.expect_parameters(x.len())?;
        Ok(Cow::Borrowed(x))
    }

    /// All residuals, in the order in which they were given.
    pub async fn evaluate(&mut self, x: Option<&[f64]>) -> Result<Vec<f64>> {
        let x = self.point(x).await?;
        self.engine.values(&self.model, &x).await
    }

    /// An objective and its gradient.
    pub async fn evaluate_with_gradient(&mut self, objective: Objective, x: Option<&[f64]>) -> Result<Evaluation> {
        let x = self.point(x).await?;
        self.evaluate_at(objective, &x).await
    }

    /// An objective and its gradient at a point.
    pub async fn evaluate_at(&mut self, objective: Objective, x: &[f64]) -> Result<Evaluation> {
        let mut evaluation = if self.has_addends(objective) {
            let residuals = self.engine.values(&self.model, x).await?;
            let (value, seeds) = self.seeds_of_long_sums(&residuals);
            let mut evaluation = self.engine.gradient(&self.model, objective, x, Some(&seeds)).await?;
            evaluation.cost += value;
            evaluation
        } else {
            self.engine.gradient(&self.model, objective, x, None).await?
        };
        self.mask_gradient(&mut evaluation);
        Ok(evaluation)
    }

    /// Zeros for constants.
    fn mask_gradient(&self, evaluation: &mut Evaluation) {
        if self.has_constants {
            let entries = evaluation.gradient.iter_mut().zip(&self.constant);
            entries.filter(|(_, constant)| **constant).for_each(|(entry, _)| *entry = 0.0);
        }
    }

    /// Compiles what [`Functions::evaluate_at`] needs on the host; whether it is there at the deadline. What is not is finished later.
    pub(crate) async fn prepare_at(&mut self, objective: Objective, end: Deadline) -> Result<bool> {
        if self.place() == Place::Device {
            // Compiling has made the kernels.
            return Ok(true);
        }
        self.prepare_on_host(objective, end).await
    }

    /// Whether an objective has residuals that are long sums in it.
    fn has_addends(&self, objective: Objective) -> bool {
        objective == Objective::LeastSquares && self.model.batches.iter().any(Batch::has_addends)
    }

    /// A residual that is a long sum is only known when its addends are added up, so its part of the cost, and the factor
    /// of its derivatives, take an evaluation of their own.
    fn seeds_of_long_sums(&self, residuals: &[f64]) -> (f64, Vec<f64>) {
        let mut cost = 0.0;
        let mut seeds = vec![0.0; residuals.len()];
        let mut done = vec![false; residuals.len()];
        for batch in &self.model.batches {
            let Rows::Addends(column) = batch.rows else { continue };
            let block = &self.model.blocks[batch.block as usize];
            for &row in batch.column(column) {
                let row = row as usize;
                if std::mem::replace(&mut done[row], true) || !block.enabled {
                    continue;
                }
                let (rho, slope) = losses::evaluate(&block.loss, residuals[row] * residuals[row]);
                cost += 0.5 * block.weight * rho;
                seeds[row] = block.weight * slope * residuals[row];
            }
        }
        (cost, seeds)
    }

    /// The pattern of the Jacobian, once it has been evaluated.
    pub fn pattern(&self) -> Option<&Pattern> {
        self.differentiated.as_ref().map(|differentiated| &differentiated.pattern)
    }

    /// Makes the pattern of the Jacobian, if it has not been made.
    pub fn differentiate(&mut self) -> Result<&Pattern> {
        let differentiated = match self.differentiated.take() {
            Some(differentiated) => differentiated,
            None => {
                let columns = self.engine.partial_columns(&self.model)?;
                let batches = self.model.batches.iter().zip(columns);
                let locals = |batch: &Batch, columns: Vec<(u32, u32)>| {
                    columns.into_iter().map(|(output, local)| (output, batch.class.locals[local as usize])).list()
                };
                let partials = batches.map(|(batch, columns)| locals(batch, columns)).list();
                let pattern = pattern(&self.model, &partials)?;
                Differentiated { partials, pattern }
            }
        };
        Ok(&self.differentiated.insert(differentiated).pattern)
    }

    /// Residuals and Jacobian. Columns of constant parameters are explicit zeros.
    pub async fn evaluate_jacobian(&mut self, x: Option<&[f64]>) -> Result<Linearisation> {
        let mut residuals = vec![0.0; self.model.num_residuals as usize];
        let mut entries = vec![0.0; self.differentiate()?.col_indices.len()];
        let mut give = |part, start: usize, piece: &mut [f64]| {
            let all = if part == Part::Residuals { &mut residuals } else { &mut entries };
            all[start..start + piece.len()].copy_from_slice(piece);
        };
        self.evaluate_jacobian_in_pieces(x, &mut give).await?;
        Ok(Linearisation { residuals, entries })
    }

    /// The same, given piece by piece, so that it need not all be in our memory.
    pub async fn evaluate_jacobian_in_pieces(&mut self, x: Option<&[f64]>, give: cpu::Give<'_>) -> Result<()> {
        let x = self.point(x).await?;
        self.differentiate()?;
        let Functions { model, engine, differentiated, spare, constant, has_constants, .. } = self;
        let Some(Differentiated { partials, pattern }) = differentiated else {
            return Err(Error::internal("a pattern was made and is not there"));
        };
        let mut give = |part, start: usize, piece: &mut [f64]| {
            if *has_constants && part == Part::Entries {
                mask(piece, &pattern.col_indices[start..], constant);
            }
            give(part, start, piece);
        };
        engine.jacobian(model, partials, pattern, &x, spare, &mut give).await
    }
}

#[cfg(test)]
pub(crate) mod tests;
