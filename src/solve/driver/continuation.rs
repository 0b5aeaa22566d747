//! A solve that goes on in another stage, as one run: its iterations and times continue those of the stages before.

use super::stages::{HandOver, Stage};
use crate::solve::findings::{Finding, Leg, processor};
use crate::solve::listener::Listener;
use crate::solve::options::{SolveOptions, Used};
use crate::solve::solution::{Details, Solution};
use crate::solve::summary::{IterationSummary, SolveSummary, Termination};
use residua_base::list::Listed;

/// A stage that has handed over.
pub(crate) struct Passed {
    pub stage: Stage,
    pub reason: HandOver,
    pub iterations: u32,
    /// Whether the next stage begins where this one began.
    pub restarts: bool,
}

/// The stages so far, as one run. There is one at least.
pub(crate) struct Before {
    pub solution: Solution,
    pub passed: Vec<Passed>,
}

impl Before {
    /// The iterations and the time that the options leave to the next stage.
    pub(crate) fn rest(&self, options: &SolveOptions) -> SolveOptions {
        let SolveSummary { iterations, elapsed_ms, .. } = self.solution.summary;
        SolveOptions {
            max_iterations: options.max_iterations.saturating_sub(iterations),
            max_time_ms: (options.max_time_ms - elapsed_ms).max(f64::MIN_POSITIVE),
            used: Used { iterations: options.max_iterations.min(iterations), ms: options.max_time_ms.min(elapsed_ms) },
            ..options.clone()
        }
    }

    /// Why the last of them handed over.
    pub(crate) fn reason(&self) -> Option<HandOver> {
        self.passed.last().map(|passed| passed.reason)
    }

    /// One run of these stages and the next one, and the stages before that.
    pub(crate) fn join(self, next: Solution, stage: Stage) -> (Solution, Vec<Passed>) {
        let Before { solution, passed } = self;
        let Solution { summary: before, arithmetic: arithmetic_before, precision: precision_before, .. } = solution;
        let details_before = solution.details;
        let Solution { x, mut summary, mut arithmetic, mut precision, details } = next;
        let restarts = passed.last().is_some_and(|passed| passed.restarts);
        let leg = |Passed { stage, reason, iterations, .. }: &Passed| {
            let end = match reason {
                HandOver::Ended(termination) => Some(*termination),
                HandOver::Underflow | HandOver::Lost => Some(Termination::PrecisionLimit),
                HandOver::Stagnated => None,
            };
            let Stage { place, arithmetic } = *stage;
            Leg { place, arithmetic, end: end.map(Termination::as_str), iterations: *iterations }
        };
        let lost = precision_before.as_ref().filter(|checked| !checked.estimate.suffices());
        let stages = Finding::Stages {
            passed: passed.iter().map(leg).list(),
            last: (stage.place, stage.arithmetic, summary.iterations),
            restarts,
            lost: lost.map_or_else(Vec::new, |checked| checked.findings.clone()),
        };
        let is_kept = |finding: &&Finding| finding.is_of_way() && !matches!(finding, Finding::Stages { .. });
        let way = before.findings.iter().filter(is_kept).cloned();
        let found = std::mem::take(&mut summary.findings);
        let is_new = |finding: &Finding| !(finding.is_of_way() && before.findings.contains(finding));
        summary.findings = std::iter::once(stages).chain(way).chain(found.into_iter().filter(is_new)).list();
        // The stage ended before its start was linearised, so that the last numbers are those of the stages before.
        let is_late = summary.history.is_empty();
        // The start of a stage is the end of the one before, or that of the first one.
        let rest = summary.history.iter().skip(1).map(|iteration| continued(iteration, &before));
        summary.history = before.history.iter().copied().chain(rest).list();
        if is_late {
            summary.final_cost = if restarts { before.initial_cost } else { before.final_cost };
            (arithmetic, precision) = (arithmetic_before, precision_before);
        }
        summary.iterations += before.iterations;
        summary.function_evaluations += before.function_evaluations;
        summary.elapsed_ms += before.elapsed_ms;
        summary.initial_cost = before.initial_cost;
        let mut linear_solver = details_before.linear_solver;
        if !is_late && !details.linear_solver.is_empty() {
            linear_solver.push_str(&format!("; then on the {} {}", processor(stage.place), details.linear_solver));
        }
        let times = details_before.times.into_iter().chain(details.times).list();
        let details = Details { linear_solver, times, ..details };
        (Solution { x, summary, arithmetic, precision, details }, passed)
    }
}

fn continued(summary: &IterationSummary, before: &SolveSummary) -> IterationSummary {
    IterationSummary {
        iteration: summary.iteration + before.iterations,
        elapsed_ms: summary.elapsed_ms + before.elapsed_ms,
        ..*summary
    }
}

/// A listener that receives the iterations of a stage as those of the whole run.
pub(crate) struct Continued<'a> {
    pub listener: &'a mut dyn Listener,
    /// The stages before; none for the first.
    pub before: Option<&'a SolveSummary>,
}

impl Listener for Continued<'_> {
    fn iteration(&mut self, summary: &IterationSummary) -> bool {
        match self.before {
            None => self.listener.iteration(summary),
            // The listener has received the start of this stage as the end of the one before.
            Some(before) => summary.iteration > 0 && self.listener.iteration(&continued(summary, before)),
        }
    }

    fn aborted(&mut self) -> bool {
        self.listener.aborted()
    }
}
