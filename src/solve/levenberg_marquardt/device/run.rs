//! The host's side of a solve on the device: it submits batches of work, one ahead of what it has read, and tells what came of them.

use std::collections::VecDeque;

use super::elimination::Elimination;
use super::resources::{SolverResources, engine};
use super::schedule::{Batch, Schedule};
use super::state::{Settings, State};
use crate::eval::{Arithmetic, Functions};
use crate::model::Manifold;
use crate::solve::before_start;
use crate::solve::findings::Finding;
use crate::solve::levenberg_marquardt::ending::Ending;
use crate::solve::listener::Listener;
use crate::solve::options::{INITIAL_DAMPING, LevenbergMarquardtOptions};
use crate::solve::rules::Tolerances;
use crate::solve::solution::{Details, Solution};
use crate::solve::start::Start;
use crate::solve::summary::{IterationSummary, SolveSummary, Termination};
use crate::solve::write_back::{Left, write_back};
use residua_base::clock::now_ms;
use residua_base::deadline::Deadline;
use residua_base::error::{Error, Result};
use residua_gpu::Submission;

/// Batches on their way at a time.
const IN_FLIGHT: usize = 2;

/// A solve while it runs.
struct Run<'a> {
    options: &'a LevenbergMarquardtOptions,
    arithmetic: Arithmetic,
    began: f64,
    history: Vec<IterationSummary>,
    /// The gradient's cosine, and the last step relative to the point.
    cosine: f64,
    relative_step: f64,
    vanished: [bool; 2],
    promise: Option<f64>,
}

/// Minimises the least-squares cost of functions on the device by Levenberg-Marquardt from their current parameters, which become the
/// solution. `kept`: the resources of the last solve, and then of this one. Without `read_back` the parameters stay on the device, and the
/// solution's `x` is empty.
///
/// # Errors
/// `non-finite` naming the residual if the start is not finite; `invalid-argument` for a start that cannot be brought onto its manifold;
/// `device-lost`; what the device refuses.
pub async fn minimise_on_device(
    functions: &mut Functions,
    kept: &mut Option<SolverResources>,
    options: &LevenbergMarquardtOptions,
    read_back: bool,
    listener: &mut dyn Listener,
) -> Result<Solution> {
    let began = now_ms();
    let constrained = functions.is_constrained();
    let curved = functions.model().arrays.iter().any(|array| array.manifold != Manifold::Euclidean);
    let elimination = Elimination::for_solver(functions.model(), options.linear_solver)?;
    let linear_solver = elimination.as_ref().map_or_else(|| "pcg: on the device".to_owned(), Elimination::sentence);
    let end = Deadline::after(began, options.solve.max_time_ms);
    let Some(mut resources) = SolverResources::of(functions, kept, constrained, elimination, end).await? else {
        functions.bring_values().await?;
        let arithmetic = functions.arithmetic();
        let start = (Start::of(functions, arithmetic)?, arithmetic);
        let mut solution = before_start::solution(functions, &options.solve, start, listener, began).await?;
        if !read_back {
            solution.x.clear();
        }
        return Ok(solution);
    };
    // Where nothing holds the parameters, the start is where they are: on the device already.
    let corrections = if constrained || curved { resources.bring_in(functions).await? } else { Vec::new() };
    let setup = now_ms() - began;
    let mut run = Run {
        options,
        arithmetic: functions.arithmetic(),
        began,
        history: Vec::new(),
        cosine: f64::NAN,
        relative_step: f64::NAN,
        vanished: [false; 2],
        promise: None,
    };
    let mut schedule = resources.schedule_for(options);
    let outcome = run.through(functions, &resources, &mut schedule, listener).await;
    resources.schedule = Some(schedule);
    resources.has_vanished = run.vanished[0];
    let summary = outcome.map(|end| run.summary(end, corrections));
    if summary.is_ok() {
        *kept = Some(resources);
    }
    let (x, mut summary) = write_back(functions, run.arithmetic, summary, || Left::Device { read_back }).await?;
    // A solution that stays on the device is rarely looked at.
    if run.vanished[1] && !read_back && summary.termination.converged() {
        summary.findings.push(Finding::Vanished);
    }
    let details = Details { linear_solver, times: vec![("setup", setup)], ..Details::default() };
    Ok(Solution { x, summary, arithmetic: run.arithmetic, precision: None, details })
}

/// A batch on its way.
struct Underway {
    submission: Submission,
    batch: Batch,
}

impl Run<'_> {
    /// Submits and reads until the end.
    async fn through(
        &mut self,
        functions: &mut Functions,
        resources: &SolverResources,
        schedule: &mut Schedule,
        listener: &mut dyn Listener,
    ) -> Result<Termination> {
        let options = self.options;
        let solve = &options.solve;
        // A solve that is stopped before it begins takes no step; its summary has the cost at the start.
        let stopped_before = self.stop(listener);
        let max_iterations = if stopped_before.is_some() { 0 } else { solve.max_iterations };
        let [_, reduced] = functions.sizes();
        let settings = Settings {
            max_iterations,
            max_linear_iterations: options.max_linear_iterations,
            linear_tolerance: options.linear_tolerance,
            tolerances: Tolerances {
                cost: solve.cost_tolerance,
                gradient: solve.gradient_tolerance,
                parameter: solve.parameter_tolerance,
            },
            initial_damping: options.initial_damping.unwrap_or(INITIAL_DAMPING),
            arithmetic: self.arithmetic,
            residuals: functions.model().num_residuals,
            samples: functions.sample_count() as u32,
            coordinates: reduced.effective_parameters as u32,
            reduces: resources.elimination.is_some(),
        };
        {
            let (engine, _) = engine(functions)?;
            engine.context().write(&resources.state, 0, bytemuck::cast_slice(&settings.words()))?;
        }
        let mut underway: VecDeque<Underway> = VecDeque::new();
        let mut submitted = false;
        let mut stopped = None;
        let mut last_read = now_ms();
        loop {
            while stopped.is_none() && underway.len() < IN_FLIGHT {
                let steps_underway: u32 = underway.iter().map(|one| schedule.steps_of(one.batch)).sum();
                let known = self.history.last().map_or(0, |last| last.iteration);
                let done = known + steps_underway;
                let left = max_iterations.saturating_sub(done);
                if left == 0 && submitted && !underway.is_empty() {
                    break;
                }
                let batch = schedule.next(done, left);
                let submission = resources.submit(functions, batch, !submitted).await?;
                submitted = true;
                underway.push_back(Underway { submission, batch });
            }
            let Some(Underway { submission, batch }) = underway.pop_front() else { break };
            let downloads = submission.finish().await?;
            let now = now_ms();
            let state = State::new(downloads.words(resources.state_download));
            let mut longest = 0;
            for number in self.history.len() as u32..state.recorded() {
                let iteration = state.record(number, now - self.began);
                if state.failed_at_start() {
                    return Ok(Termination::NonFinite);
                }
                let linear = iteration.linear_iterations.map(|linear| linear + resources.products_before());
                longest = longest.max(linear.unwrap_or(0));
                self.history.push(iteration);
                (self.cosine, self.relative_step) = (state.cosine(), state.relative_step());
                self.vanished = state.vanished();
                if listener.iteration(&iteration) {
                    stopped.get_or_insert(Termination::Aborted);
                }
            }
            schedule.observe(batch, now - last_read, longest);
            last_read = now;
            if let Some(termination) = state.termination() {
                self.promise = state.promise();
                return Ok(match termination {
                    Termination::MaxIterations => stopped_before.unwrap_or(termination),
                    _ => termination,
                });
            }
            stopped = stopped.or_else(|| self.stop(listener));
        }
        stopped.ok_or_else(|| Error::internal("a solve on the device has neither ended nor been stopped"))
    }

    /// Why the solve is to stop now, if it is: its caller wants so, or its time is over.
    fn stop(&self, listener: &mut dyn Listener) -> Option<Termination> {
        if listener.aborted() {
            return Some(Termination::Aborted);
        }
        (now_ms() - self.began >= self.options.solve.max_time_ms).then_some(Termination::MaxTime)
    }

    fn summary(&self, termination: Termination, corrections: Vec<Finding>) -> SolveSummary {
        let cost = self.history.last().map_or(f64::NAN, |last| last.cost);
        let why = self.history.last().map_or_else(String::new, |last| {
            let Run { options, arithmetic, cosine, relative_step, .. } = *self;
            Ending { options: &options.solve, arithmetic, last, cosine, relative_step }.message(termination)
        });
        let accepted = self.history.iter().skip(1).filter(|iteration| iteration.accepted).count() as u32;
        let iterations = self.history.len().saturating_sub(1) as u32;
        SolveSummary {
            termination,
            why,
            findings: corrections,
            iterations,
            promise: self.promise,
            // The model at the start and after each step taken, and the cost of each trial.
            function_evaluations: 1 + accepted + iterations,
            initial_cost: self.history.first().map_or(f64::NAN, |first| first.cost),
            final_cost: cost,
            elapsed_ms: now_ms() - self.began,
            history: self.history.clone(),
        }
    }
}
