//! Objectives on the host, whichever engine the functions have: for solvers that run there alone.

use residua_base::deadline::Deadline;
use residua_base::error::Result;

use super::{Functions, Objective};
use crate::model::Batch;
use crate::model::access_plan::Entry;

impl Functions {
    /// Compiles what an objective and its gradient need; whether it is there at the deadline. What is not is finished later.
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
