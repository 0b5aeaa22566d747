//! A run of the host solver over compiled functions.

use super::minimizer::{Lbfgs, Step};
use crate::eval::{Functions, Objective, Place};
use crate::gauss_newton::host::HostModel;
use crate::solve::before_start;
use crate::solve::listener::Listener;
use crate::solve::manifold_map::ManifoldMap;
use crate::solve::summary::{SolveSummary, Termination};
use residua_base::clock::now_ms;
use residua_base::cooperative::Yielder;
use residua_base::deadline::Deadline;
use residua_base::error::Result;

/// Evaluates an objective at the points that the solver returns, until the run ends. `manifolds`: the map of the solver; `began`: a time of
/// [`now_ms`].
///
/// # Errors
/// What an evaluation fails with.
pub async fn run(
    functions: &mut Functions,
    solver: &mut Lbfgs,
    objective: Objective,
    manifolds: Option<&ManifoldMap>,
    listener: &mut dyn Listener,
    began: f64,
) -> Result<SolveSummary> {
    let mut yielder = Yielder::new();
    if !functions.prepare_at(objective, Deadline::after(began, solver.options().max_time_ms)).await? {
        return Ok(before_start::summary(solver.options(), solver.corrections().to_vec(), listener, began));
    }
    let mut evaluation = None;
    loop {
        match functions.place() {
            Place::Host => {
                yielder.yield_if_due().await;
            }
            // Waiting for the device yields.
            Place::Device => {}
        }
        let elapsed = now_ms() - began;
        if listener.aborted() {
            solver.stop(Termination::Aborted);
        }
        match solver.next(elapsed, evaluation.take()) {
            Step::Evaluate(x) => {
                let mut found = functions.evaluate_at(objective, x).await?;
                if let Some(manifolds) = manifolds {
                    manifolds.convert_gradient(x, &mut found.gradient)?;
                }
                solver.take_noise(HostModel::noise(functions)?);
                evaluation = Some(found);
            }
            Step::Iteration(summary) => {
                functions.engine().publish(solver.point())?;
                if listener.iteration(&summary) {
                    solver.stop(Termination::Aborted);
                }
            }
            Step::Finished(summary) => return Ok(summary.clone()),
        }
    }
}
