//! The driver of Levenberg-Marquardt: runs a solve through its stages.

use super::continuation::{Before, Continued, Passed};
use super::guard::{is_checked, judge, judge_by_earlier};
use super::stages::{HandOver, Stage, first_stage, hand_over, stage_after};
use super::stagnation::Stagnation;
use crate::solve::check_schedule::CheckTime;
use crate::solve::listener::Listener;
use crate::solve::options::{LevenbergMarquardtOptions, TrustRegion};
use crate::solve::precision::Checked;
use crate::solve::solution::Solution;
use crate::solve::summary::IterationSummary;
use residua_base::error::{ErrorCode, Result};

/// Solvers of one problem, which each begin at its current parameters and make their solution the current ones.
pub(crate) trait Solvers {
    /// In what the functions are evaluated.
    fn stage(&self) -> Stage;
    /// Whether residuals are long sums, which were split into addends.
    fn has_long_sums(&self) -> bool;
    /// When the solve that has just converged, at that cost, is checked for its digits.
    fn check_time(&mut self, read_back: bool, cost: f64) -> CheckTime;
    /// Estimates what rounding does to the solution, which has that cost.
    async fn check(&mut self, cost: f64) -> Result<Checked>;
    /// Makes ready for a stage that follows another; false where it cannot be had.
    async fn enter(&mut self, stage: Stage) -> Result<bool>;
    /// Goes back to the stage of the functions, if another was entered.
    async fn leave(&mut self) -> Result<()>;
    /// Solves in one stage. Without `read_back` a solution of the device stays there.
    async fn solve(
        &mut self,
        stage: Stage,
        options: &LevenbergMarquardtOptions,
        read_back: bool,
        listener: &mut dyn Listener,
    ) -> Result<Solution>;
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
    let mut stage = first_stage(solvers.stage(), is_dogleg || solvers.has_long_sums());
    let moved = stage != solvers.stage();
    let mut before: Option<Before> = None;
    loop {
        let watches = request.may_hand_over && stage_after(stage, HandOver::Stagnated).is_some();
        let solve = before.as_ref().map_or_else(|| options.solve.clone(), |before| before.rest(&options.solve));
        let rest = LevenbergMarquardtOptions { solve, ..options.clone() };
        let mut continued =
            Continued { listener: &mut *listener, before: before.as_ref().map(|before| &before.solution.summary) };
        let mut stagnation = Stagnation::new(&mut continued, &rest, watches);
        let outcome = solvers.solve(stage, &rest, request.read_back, &mut stagnation).await;
        let mut solution = match (outcome, before.as_ref().and_then(Before::reason)) {
            // What a stage takes more of than there is, the next one may do without.
            (Err(error), Some(reason)) if matches!(error.code, ErrorCode::LimitExceeded | ErrorCode::OutOfMemory) => {
                let Some(next) = entered(solvers, stage_after(stage, reason), reason).await? else { return Err(error) };
                stage = next;
                continue;
            }
            (outcome, _) => outcome?,
        };
        if is_checked(stage.arithmetic, solution.summary.termination) {
            let cost = solution.summary.final_cost;
            match solvers.check_time(request.read_back, cost) {
                CheckTime::Now => judge(&mut solution, solvers.check(cost).await?),
                CheckTime::Later(found) => judge_by_earlier(&mut solution, found),
            }
        }
        let underflows = solution.precision.as_ref().is_some_and(|checked| checked.estimate.is_below_range());
        let reason = hand_over(solution.summary.termination, stagnation.has_occurred(), underflows);
        let iterations = solution.summary.iterations;
        let (solution, mut passed) = match before.take() {
            Some(before) => before.join(solution, stage),
            None => (solution, Vec::new()),
        };
        let next = match reason.filter(|_| request.may_hand_over) {
            Some(reason) => entered(solvers, stage_after(stage, reason), reason).await?.map(|next| (next, reason)),
            None => None,
        };
        let Some((next, reason)) = next else { return Ok(finished(solution, is_dogleg && moved)) };
        passed.push(Passed { stage, reason, iterations });
        before = Some(Before { solution, passed });
        stage = next;
    }
}

/// The stage that is made ready: this one, or the first after it that can be had.
async fn entered<S: Solvers>(solvers: &mut S, stage: Option<Stage>, reason: HandOver) -> Result<Option<Stage>> {
    let mut next = stage;
    while let Some(stage) = next {
        if solvers.enter(stage).await? {
            break;
        }
        next = stage_after(stage, reason);
    }
    Ok(next)
}

/// The solution of a whole run, which says what its stages do not: trial points without a cost, and why it ran on the host.
fn finished(mut solution: Solution, for_dogleg: bool) -> Solution {
    let summary = &mut solution.summary;
    let is_lost = |iteration: &&IterationSummary| {
        !iteration.accepted && iteration.step_norm > 0.0 && !iteration.cost_change.is_finite()
    };
    let lost = summary.history.iter().filter(is_lost).count();
    if lost > 0 {
        let points = if lost == 1 { "1 trial point was" } else { &format!("{lost} trial points were") };
        summary.message.push_str(&format!(" {points} not finite."));
    }
    if for_dogleg {
        solution.details.linear_solver.push_str("; on the CPU, since trustRegion 'dogleg' does not run on the GPU");
    }
    solution
}
