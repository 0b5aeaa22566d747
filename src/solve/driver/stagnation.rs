//! The end of a stage whose conjugate gradients stagnate.

use crate::solve::listener::Listener;
use crate::solve::options::LevenbergMarquardtOptions;
use crate::solve::summary::IterationSummary;

/// Accepted steps in a row, each cut short and each with little gain, that are stagnation.
const STAGNANT_STEPS: u32 = 5;

/// The smallest share of the cost by which a step lowers it without being stagnant.
const LEAST_GAIN: f64 = 0.01;

/// A listener that ends a solve when its conjugate gradients stagnate: step after step they reach their iteration limit before their
/// tolerance, and the cost hardly falls.
pub(crate) struct Stagnation<'a> {
    listener: &'a mut dyn Listener,
    /// The limit of conjugate gradients; none where every step runs to it, or nothing is watched.
    limit: Option<u32>,
    steps: u32,
}

impl<'a> Stagnation<'a> {
    /// Passes a solve on to its listener. With `watches` it ends one that stagnates.
    pub(crate) fn new(
        listener: &'a mut dyn Listener,
        options: &LevenbergMarquardtOptions,
        watches: bool,
    ) -> Stagnation<'a> {
        let limit = (watches && options.linear_tolerance > 0.0).then_some(options.max_linear_iterations);
        Stagnation { listener, limit, steps: 0 }
    }

    /// Whether the solve has stagnated.
    pub(crate) fn has_occurred(&self) -> bool {
        self.steps >= STAGNANT_STEPS
    }
}

impl Listener for Stagnation<'_> {
    fn iteration(&mut self, summary: &IterationSummary) -> bool {
        if summary.accepted && !self.has_occurred() {
            let is_cut = summary.linear_iterations.is_some() && summary.linear_iterations >= self.limit;
            let gains_little = summary.cost_change < LEAST_GAIN * (summary.cost + summary.cost_change);
            self.steps = if self.limit.is_some() && is_cut && gains_little { self.steps + 1 } else { 0 };
        }
        if self.listener.iteration(summary) {
            // A solve that its listener ends does not go on elsewhere.
            (self.limit, self.steps) = (None, 0);
            return true;
        }
        self.has_occurred()
    }

    fn aborted(&mut self) -> bool {
        self.listener.aborted()
    }
}
