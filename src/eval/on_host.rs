//! Objectives on the host, whichever engine the functions have: for solvers that run there alone.

use residua_base::deadline::Deadline;
use residua_base::error::Result;

use super::{Evaluation, Functions, Objective};
use crate::model::Batch;
use crate::model::access_plan::Entry;

impl Functions {
    /// An objective and its gradient at a point, by the host.
    pub(crate) async fn evaluate_on_host(&mut self, objective: Objective, x: &[f64]) -> Result<Evaluation> {
        let mut of_long_sums = None;
        if self.has_addends(objective) {
            let residuals = self.engine.on_cpu().values(&self.model, x).await?;
            of_long_sums = Some(self.seeds_of_long_sums(&residuals));
        }
        let seeds = of_long_sums.as_ref().map(|(_, seeds)| seeds.as_slice());
        let mut evaluation = self.engine.on_cpu().gradient(&self.model, objective, x, seeds).await?;
        evaluation.cost += of_long_sums.map_or(0.0, |(value, _)| value);
        self.mask_gradient(&mut evaluation);
        Ok(evaluation)
    }

    /// Compiles what [`Functions::evaluate_on_host`] needs; whether it is there at the deadline. What is not is finished later.
    pub(crate) async fn prepare_on_host(&mut self, objective: Objective, end: Deadline) -> Result<bool> {
        let has_addends = self.has_addends(objective);
        let entries: &[Entry] = match objective {
            Objective::Sum => &[Entry::SumGradient],
            Objective::LeastSquares if !has_addends => &[Entry::CostGradient],
            Objective::LeastSquares if self.model.batches.iter().all(Batch::has_addends) => {
                &[Entry::Values, Entry::SeededGradient]
            }
            Objective::LeastSquares => &[Entry::Values, Entry::SeededGradient, Entry::CostGradient],
        };
        let engine = self.engine.on_cpu();
        for &entry in entries {
            if !engine.prepare_until(&self.model, entry, end).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
