//! The report of a run on the device while it is read batch by batch: iterations so far, and why the run ends.

use super::state;
use crate::eval::Arithmetic;
use crate::solve::findings::Finding;
use crate::solve::lbfgs::ending::{self, Failure};
use crate::solve::listener::Listener;
use crate::solve::options::LbfgsOptions;
use crate::solve::summary::{IterationSummary, SolveSummary, Termination};
use residua_base::clock::now_ms;

/// The part of a run that the host has read.
pub struct PendingReport<'a> {
    options: &'a LbfgsOptions,
    arithmetic: Arithmetic,
    corrections: &'a [Finding],
    /// Iterations, the start first.
    history: Vec<IterationSummary>,
    /// The state block of the last read.
    state: Vec<f32>,
    /// The reason to stop the run from outside.
    stop: Option<Termination>,
    began: f64,
}

impl<'a> PendingReport<'a> {
    /// The report of a run that began at `began`, a time of [`now_ms`]. `corrections`: those of the start.
    pub fn new(
        options: &'a LbfgsOptions,
        arithmetic: Arithmetic,
        corrections: &'a [Finding],
        began: f64,
    ) -> PendingReport<'a> {
        PendingReport { options, arithmetic, corrections, history: Vec::new(), state: Vec::new(), stop: None, began }
    }

    /// Stops the run if the caller has requested it or the time limit has passed.
    pub fn check_limits(&mut self, listener: &mut dyn Listener) {
        if self.stop.is_none() && listener.aborted() {
            self.stop = Some(Termination::Aborted);
        }
        if now_ms() - self.began >= self.options.solve.max_time_ms {
            self.stop.get_or_insert(Termination::MaxTime);
        }
    }

    /// Whether the start has been read.
    pub fn has_start(&self) -> bool {
        !self.history.is_empty()
    }

    /// Whether the run has ended on the device or is stopped from outside.
    pub fn is_over(&self) -> bool {
        self.stop.is_some() || self.state.get(state::PHASE) == Some(&state::DONE)
    }

    /// Takes a state block, and reports its new iterations to the listener.
    pub fn read(&mut self, state: &[f32], listener: &mut dyn Listener) {
        self.state = state.to_vec();
        let iterations = self.number(state::ITERATION);
        while (self.history.len() as f64) <= iterations {
            let summary = self.iteration(self.history.len());
            self.history.push(summary);
            if listener.iteration(&summary) {
                self.stop.get_or_insert(Termination::Aborted);
            }
        }
    }

    /// Whether the solution is the lowest point rather than the current one. A current point that met a tolerance is the solution, even where
    /// another one has a lower cost within the noise.
    pub fn ends_at_lowest(&self) -> bool {
        self.number(state::HAS_LOWEST) != 0.0 && !self.ending().0.converged()
    }

    /// The summary of the ended run.
    pub fn summary(self) -> SolveSummary {
        let (termination, why) = self.ending();
        let cost = if self.ends_at_lowest() { state::LOWEST_COST } else { state::COST };
        SolveSummary {
            termination,
            why,
            findings: self.corrections.to_vec(),
            iterations: (self.history.len() as u32).saturating_sub(1),
            promise: None,
            function_evaluations: self.number(state::EVALUATIONS) as u32,
            initial_cost: self.history.first().map_or(f64::NAN, |start| start.cost),
            final_cost: self.pair(cost),
            elapsed_ms: now_ms() - self.began,
            history: self.history,
        }
    }

    fn ending(&self) -> (Termination, String) {
        let result = self.number(state::ENDING) as f32;
        let on_device = match (result, self.history.last()) {
            (state::END_START, _) | (_, None) => Some((Termination::NonFinite, String::new())),
            (state::END_SMALL, _) => Some(ending::gradient_underflow(self.arithmetic)),
            (result, _) if result >= state::END_SEARCH => {
                let settled = self.number(state::SETTLED) != 0.0;
                let failure = Failure::of(f64::from(result - state::END_SEARCH));
                Some(failure.ending(self.options.max_line_search_steps, self.arithmetic, settled))
            }
            (result, Some(last)) => {
                let size = self.number(record(last.iteration as usize) + 6);
                let share = self.number(state::SHARE);
                let first = self.history.first().map_or(f64::NAN, |start| start.cost);
                ending::of_convergence(result.into(), &self.options.solve, self.arithmetic, last, first, share, size)
            }
        };
        on_device.unwrap_or_else(|| ending::stopped(self.stop.unwrap_or(Termination::Aborted), &self.options.solve))
    }

    fn iteration(&self, iteration: usize) -> IterationSummary {
        let record = record(iteration);
        IterationSummary {
            iteration: iteration as u32,
            cost: self.pair(record),
            cost_change: self.number(record + 2),
            gradient_max_norm: self.number(record + 3),
            step_norm: self.number(record + 4),
            accepted: true,
            damping: None,
            gain_ratio: None,
            linear_iterations: None,
            step_size: (iteration > 0).then(|| self.number(record + 5)),
            elapsed_ms: now_ms() - self.began,
        }
    }

    fn number(&self, word: usize) -> f64 {
        self.state.get(word).copied().map_or(0.0, f64::from)
    }

    /// A number in two words: its f32 value and the rounding error of that.
    fn pair(&self, word: usize) -> f64 {
        self.number(word) + self.number(word + 1)
    }
}

/// The first word of an iteration's record in the ring of records.
fn record(iteration: usize) -> usize {
    state::RECORDS + state::RECORD_WORDS * (iteration % state::MOST_RECORDS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solve::lbfgs::rules::{convergence, line_search};

    /// Collects iterations, and stops after the last one requested.
    struct Collector {
        costs: Vec<f64>,
        wanted: usize,
    }

    impl Listener for Collector {
        fn iteration(&mut self, summary: &IterationSummary) -> bool {
            assert_eq!(summary.iteration as usize, self.costs.len());
            self.costs.push(summary.cost);
            self.costs.len() >= self.wanted
        }

        fn aborted(&mut self) -> bool {
            false
        }
    }

    /// A state block after so many iterations, iteration k of cost 100 − k + 2⁻³⁰ in two words.
    fn state_block(iterations: usize, result: f32) -> Vec<f32> {
        let mut block = vec![0.0; state::READ];
        block[state::ITERATION] = iterations as f32;
        block[state::EVALUATIONS] = 2.0 * iterations as f32 + 1.0;
        block[state::ENDING] = result;
        block[state::PHASE] = if result == 0.0 { state::START } else { state::DONE };
        let costs = |k: usize| [100.0 - k as f32, 2.0_f32.powi(-30)];
        block[state::COST..state::COST + 2].copy_from_slice(&costs(iterations));
        block[state::LOWEST_COST..state::LOWEST_COST + 2].copy_from_slice(&[-1.0, 0.0]);
        // Later records overwrite earlier ones.
        for k in 0..=iterations {
            let first = record(k);
            block[first..first + 2].copy_from_slice(&costs(k));
            block[first + 3] = 0.5;
            block[first + 6] = 10.0;
        }
        block
    }

    fn options() -> LbfgsOptions {
        LbfgsOptions::defaults()
    }

    #[test]
    fn every_iteration_is_reported_once_although_the_ring_of_records_wraps() {
        let options = options();
        let mut report = PendingReport::new(&options, Arithmetic::F32, &[], 0.0);
        let mut listener = Collector { costs: Vec::new(), wanted: usize::MAX };
        let last = state::MOST_RECORDS + 40;
        for iterations in [0, 3, 3, state::MOST_RECORDS - 1, last] {
            report.read(&state_block(iterations, 0.0), &mut listener);
            assert!(report.has_start() && !report.is_over());
            assert_eq!(listener.costs.len(), iterations + 1);
        }
        let expected = (0..=last).map(|k| 100.0 - k as f64 + 2.0_f64.powi(-30));
        assert!(listener.costs.iter().copied().eq(expected), "{:?}", listener.costs);
    }

    #[test]
    fn the_summary_names_the_ending_and_has_the_cost_of_the_solution() {
        let search = |outcome: f64| state::END_SEARCH + outcome as f32;
        let current = 98.0 + 2.0_f64.powi(-30);
        let cases = [
            (
                convergence::GRADIENT as f32,
                Termination::GradientTolerance,
                current,
                "Converged: the gradient, each entry relative to its largest value in the run, 1.000e-9 is within",
            ),
            (
                convergence::UNBOUNDED as f32,
                Termination::NonFinite,
                -1.0,
                "The cost falls without a bound: it still falls at",
            ),
            (convergence::ITERATIONS as f32, Termination::MaxIterations, -1.0, "Stopped after maxIterations, 100."),
            (
                convergence::PRECISION as f32,
                Termination::PrecisionLimit,
                -1.0,
                "10 iterations lowered the cost by no more",
            ),
            (
                state::END_SMALL,
                Termination::PrecisionLimit,
                -1.0,
                "The gradient is too small to square in single precision.",
            ),
            (
                search(line_search::NON_FINITE),
                Termination::NonFinite,
                -1.0,
                "All 20 trial steps along the gradient gave NaN",
            ),
            (
                search(line_search::EXHAUSTED),
                Termination::LineSearchFailed,
                -1.0,
                "None of 20 trial steps along the gradient",
            ),
            (0.0, Termination::Aborted, -1.0, "Stopped by the caller."),
        ];
        let options = options();
        for (result, termination, cost, words) in cases {
            let mut block = state_block(2, result);
            block[state::HAS_LOWEST] = 1.0;
            block[state::SHARE] = 1e-9;
            let mut report = PendingReport::new(&options, Arithmetic::F32, &[Finding::Projected(1)], 0.0);
            report.read(&block, &mut Collector { costs: Vec::new(), wanted: 3 });
            assert!(report.is_over());
            assert_eq!(report.ends_at_lowest(), cost == -1.0, "{words}");
            let summary = report.summary();
            assert_eq!((summary.termination, summary.final_cost), (termination, cost), "{words}");
            let message = summary.message();
            let moved = "1 starting value was out of bounds and was moved to the nearest bound. ";
            assert!(message.strip_prefix(moved).is_some_and(|rest| rest.starts_with(words)), "{message}");
            assert_eq!(
                (summary.iterations, summary.function_evaluations, summary.initial_cost),
                (2, 5, 100.0 + 2.0_f64.powi(-30))
            );
        }
    }

    #[test]
    fn a_start_that_is_not_finite_has_no_iterations() {
        let options = options();
        let mut block = state_block(0, state::END_START);
        block[state::ITERATION] = -1.0;
        let mut report = PendingReport::new(&options, Arithmetic::F32, &[], 0.0);
        report.read(&block, &mut Collector { costs: Vec::new(), wanted: 0 });
        assert!(!report.has_start() && report.is_over());
        assert!(report.summary().failed_at_start());
    }
}
