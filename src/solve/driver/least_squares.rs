//! The driver of Levenberg-Marquardt: runs a solve through its stages.

use super::continuation::{Before, Continued, Passed};
use super::stages::{HandOver, Stage, first_stage, hand_over, stage_after};
use super::stagnation::Stagnation;
use crate::eval::Place;
use crate::solve::findings::Finding;
use crate::solve::listener::Listener;
use crate::solve::options::{LevenbergMarquardtOptions, TrustRegion};
use crate::solve::solution::Solution;
use crate::solve::summary::{IterationSummary, Termination};
use residua_base::error::{ErrorCode, Result};
use residua_base::list::Listed;

/// Solvers of one problem, which each begin at its current parameters and make their solution the current ones.
pub(crate) trait Solvers {
    /// In what the functions are evaluated.
    fn stage(&self) -> Stage;
    /// Whether residuals are long sums, which were split into addends.
    fn has_long_sums(&self) -> bool;
    /// Whether a factorisation on the host takes less than the conjugate gradients of the device. An estimate, of counts.
    fn is_for_factorisation(&mut self, options: &LevenbergMarquardtOptions) -> bool;
    /// The current parameters.
    async fn values(&mut self) -> Result<Vec<f64>>;
    /// Makes these the current parameters.
    fn set_values(&mut self, x: Vec<f64>) -> Result<()>;
    /// Makes ready for a stage that follows another; false where it cannot be had.
    async fn enter(&mut self, stage: Stage) -> Result<bool>;
    /// Goes back to the stage of the functions, if another was entered.
    async fn leave(&mut self) -> Result<()>;
    /// Solves in one stage, and examines the solution. Without `read_back` a solution of the device stays there; `start` is where the first stage began,
    /// if that was read.
    async fn solve(
        &mut self,
        stage: Stage,
        options: &LevenbergMarquardtOptions,
        take: Take<'_>,
        listener: &mut dyn Listener,
    ) -> Result<Solution>;
}

/// How the solution of a stage is taken.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Take<'a> {
    /// Whether it is copied to the host.
    pub read_back: bool,
    /// Where the first stage began, if that was read.
    pub start: Option<&'a [f64]>,
    /// Whether a success stands for a small promise of the model of J̃.
    pub by_model: bool,
}

/// What a caller asks of a solve beside the solver's options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Whether a solution on the device is copied to the host.
    pub read_back: bool,
    /// Whether a solve may go on in a more precise stage.
    pub may_hand_over: bool,
}

/// Runs a solve through its stages, and returns them as one run.
pub(crate) async fn solve<S: Solvers>(
    solvers: &mut S,
    options: &LevenbergMarquardtOptions,
    request: Request,
    listener: &mut dyn Listener,
) -> Result<Solution> {
    let outcome = through(solvers, options, request, listener).await;
    let left = solvers.leave().await;
    let solution = outcome?;
    left.map(|()| solution)
}

async fn through<S: Solvers>(
    solvers: &mut S,
    options: &LevenbergMarquardtOptions,
    request: Request,
    listener: &mut dyn Listener,
) -> Result<Solution> {
    let is_dogleg = options.trust_region == TrustRegion::Dogleg;
    let needs_host = is_dogleg || solvers.has_long_sums();
    let factorises = !needs_host && solvers.stage().place == Place::Device && solvers.is_for_factorisation(options);
    let mut stage = first_stage(solvers.stage(), needs_host || factorises);
    let moved = stage != solvers.stage();
    let mut before: Option<Before> = None;
    // A loop of frames does not read its starts back.
    let is_kept = request.read_back && stage.place == Place::Device;
    let start = if is_kept { Some(solvers.values().await?) } else { None };
    let mut refusal = None;
    loop {
        let watches = request.may_hand_over && stage_after(stage, HandOver::Stagnated).is_some();
        let solve = before.as_ref().map_or_else(|| options.solve.clone(), |before| before.rest(&options.solve));
        let rest = LevenbergMarquardtOptions { solve, ..options.clone() };
        let mut continued =
            Continued { listener: &mut *listener, before: before.as_ref().map(|before| &before.solution.summary) };
        let mut stagnation = Stagnation::new(&mut continued, &rest, watches);
        let take = Take { read_back: request.read_back, start: start.as_deref(), by_model: true };
        let outcome = solvers.solve(stage, &rest, take, &mut stagnation).await;
        let (outcome, reason) = match outcome {
            Err(error) => {
                let reason = match (&before, error.code) {
                    // What a stage takes more of than there is, the next one may do without.
                    (Some(before), ErrorCode::LimitExceeded | ErrorCode::OutOfMemory) => before.reason(),
                    // Numbers beyond the range of single precision may be within that of the host.
                    (None, ErrorCode::NonFinite) => Some(HandOver::Ended(Termination::NonFinite)),
                    _ => None,
                };
                (Err(error), reason)
            }
            Ok(solution) => {
                let of_range = solution.precision.as_ref().and_then(|checked| match &checked.estimate {
                    estimate if estimate.has_lost_parameter() => Some(HandOver::Lost),
                    estimate => estimate.underflows.then_some(HandOver::Underflow),
                });
                let reason = hand_over(solution.summary.termination, stagnation.has_occurred(), of_range);
                (Ok(solution), reason)
            }
        };
        // The stage that is made ready: the first after this one that can be had.
        let reason = reason.filter(|_| request.may_hand_over);
        let mut next = reason.and_then(|reason| stage_after(stage, reason));
        while let (Some(candidate), Some(reason)) = (next, reason) {
            if solvers.enter(candidate).await? {
                break;
            }
            next = stage_after(candidate, reason);
        }
        let solution = match (outcome, next) {
            (Ok(solution), _) => solution,
            (Err(error), None) => return Err(error),
            (Err(error), Some(next)) => {
                if before.is_none() {
                    refusal = Some(Finding::Refused { arithmetic: stage.arithmetic, why: error.message.clone() });
                }
                stage = next;
                continue;
            }
        };
        let iterations = solution.summary.iterations;
        let (solution, mut passed) = match before.take() {
            Some(before) => before.join(solution, stage),
            None => (solution, Vec::new()),
        };
        let (Some(next), Some(reason)) = (next, reason) else {
            let why = match (is_dogleg && moved, factorises) {
                (true, _) => "; on the CPU, since trustRegion 'dogleg' does not run on the GPU",
                (_, true) => "; on the CPU, where a factorisation takes less than conjugate gradients on the GPU",
                _ => "",
            };
            return Ok(finished(solution, refusal, why));
        };
        let restarts = reason == HandOver::Lost && start.is_some();
        if restarts && let Some(start) = &start {
            solvers.set_values(start.clone())?;
        }
        passed.push(Passed { stage, reason, iterations, restarts });
        before = Some(Before { solution, passed });
        stage = next;
    }
}

/// The solution of a whole run, which says what its stages do not: why the first one had no solution, trial points without a cost, and why it ran
/// on the host.
fn finished(mut solution: Solution, refusal: Option<Finding>, why: &str) -> Solution {
    let summary = &mut solution.summary;
    let is_lost = |iteration: &&IterationSummary| {
        !iteration.accepted && iteration.step_norm > 0.0 && !iteration.cost_change.is_finite()
    };
    let lost = summary.history.iter().filter(is_lost).count();
    let lost = (lost > 0).then_some(Finding::LostTrials(lost));
    let found = std::mem::take(&mut summary.findings);
    summary.findings = refusal.into_iter().chain(found).chain(lost).list();
    solution.details.linear_solver.push_str(why);
    solution
}
