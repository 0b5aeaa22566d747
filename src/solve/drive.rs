//! Runs a solver over compiled functions: evaluates where it asks, passes on what it tells, and writes the solution back.

use std::rc::Rc;

use super::arithmetic::Arithmetic;
use super::curved::Curved;
#[cfg(target_arch = "wasm32")]
use super::device_lbfgs;
use super::lbfgs::{Lbfgs, Step};
use super::levenberg_marquardt::start::Start;
use super::levenberg_marquardt::untouched::Untouched;
use super::options::LbfgsOptions;
use super::summary::{IterationSummary, SolveSummary, Termination};
use crate::clock::now_ms;
use crate::error::Result;
use crate::functions::{Functions, Objective};
use crate::turn::Turns;

/// Who hears of a solve while it runs.
pub trait Listener {
    /// An iteration is done. True ends the solve.
    fn iteration(&mut self, summary: &IterationSummary) -> bool;
    /// Whether the caller wants it to end.
    fn aborted(&mut self) -> bool;
}

/// What a solve gives.
#[derive(Clone, Debug)]
pub struct Solution {
    /// All parameters: the best point found.
    pub x: Vec<f64>,
    /// The run.
    pub summary: SolveSummary,
    /// What a report tells beside it.
    pub details: Details,
}

/// What a solver has to tell of its ways; all of it may be empty.
#[derive(Clone, Debug, Default)]
pub struct Details {
    /// Which linear solver, and why.
    pub linear_solver: String,
    /// Milliseconds by stage of the solve.
    pub times: Vec<(&'static str, f64)>,
    /// Blocks that no residual touches.
    pub untouched: Untouched,
}

/// In which arithmetic the functions are evaluated.
pub fn arithmetic_of(functions: &Functions) -> Arithmetic {
    if functions.engine().is_single_precision() { Arithmetic::SINGLE } else { Arithmetic::DOUBLE }
}

/// Minimises an objective of the functions by L-BFGS from their current parameters, which become the solution. Without `read_back` those that
/// a GPU moved stay on it, and the solution's `x` is empty.
///
/// # Errors
/// `non-finite` naming the residual if the start is not finite; `invalid-argument` for a start that cannot be brought onto its manifold;
/// what the engine's evaluations fail with.
pub async fn minimise(
    functions: &mut Functions,
    options: &LbfgsOptions,
    read_back: bool,
    listener: &mut dyn Listener,
) -> Result<Solution> {
    let began = now_ms();
    functions.bring_values().await?;
    let arithmetic = arithmetic_of(functions);
    let start = Start::of(functions, arithmetic)?;
    let curved = Curved::of(&functions.model().arrays, start.point.len()).await?.map(Rc::new);
    #[cfg(not(target_arch = "wasm32"))]
    let _ = read_back;
    #[cfg(target_arch = "wasm32")]
    if let Some(solution) =
        minimise_on_device(functions, &start, curved.as_deref(), options, read_back, listener, began).await?
    {
        return Ok(solution);
    }
    let Start { point, feasible, preamble } = start;
    let mut solver = Lbfgs::new(point, feasible, options, arithmetic)?.on_manifolds(curved.clone(), preamble);
    let outcome = run(functions, &mut solver, options.objective, curved.as_deref(), listener, began).await;
    let summary = match outcome {
        Ok(summary) => summary,
        Err(error) => {
            // The application goes on seeing the point at which the solve began, if the device still shows anything.
            functions.publish_again();
            return Err(error);
        }
    };
    if summary.failed_at_start() {
        return Err(functions.non_finite_error(solver.solution()).await?);
    }
    let x = solver.solution().to_vec();
    functions.set_values(x.clone())?;
    Ok(Solution { x, summary, details: Details::default() })
}

/// The same where the device takes the problem as a whole.
#[cfg(target_arch = "wasm32")]
async fn minimise_on_device(
    functions: &mut Functions,
    start: &Start,
    curved: Option<&Curved>,
    options: &LbfgsOptions,
    read_back: bool,
    listener: &mut dyn Listener,
    began: f64,
) -> Result<Option<Solution>> {
    if !functions.engine().is_single_precision() {
        return Ok(None);
    }
    let outcome = device_lbfgs::minimise(functions, start, curved, options, listener, began).await;
    let summary = match outcome {
        Ok(Some(summary)) => summary,
        Ok(None) => return Ok(None),
        Err(error) => {
            functions.publish_again();
            return Err(error);
        }
    };
    if summary.failed_at_start() {
        functions.publish_again();
        return Err(functions.non_finite_error(&start.point).await?);
    }
    functions.leave_on_device();
    let x = if read_back {
        functions.bring_values().await?;
        functions.values().to_vec()
    } else {
        Vec::new()
    };
    Ok(Some(Solution { x, summary, details: Details::default() }))
}

/// Evaluates where the solver asks until it is done.
async fn run(
    functions: &mut Functions,
    solver: &mut Lbfgs,
    objective: Objective,
    curved: Option<&Curved>,
    listener: &mut dyn Listener,
    began: f64,
) -> Result<SolveSummary> {
    let mut evaluation = None;
    let mut turns = Turns::new();
    loop {
        // Waiting for the GPU is a turn of the page as it is.
        if !functions.engine().is_single_precision() {
            turns.take().await;
        }
        let elapsed = now_ms() - began;
        if listener.aborted() {
            solver.stop(Termination::Aborted);
        }
        match solver.next(elapsed, evaluation.take()) {
            Step::Evaluate(x) => {
                let mut found = functions.evaluate_at(objective, x).await?;
                if let Some(curved) = curved {
                    curved.bring_to_tangents(x, &mut found.gradient)?;
                }
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
