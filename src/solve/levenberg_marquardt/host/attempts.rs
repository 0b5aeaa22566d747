//! Attempts of a small problem: which valley a run enters depends on its first steps, so that one which comes to no minimum begins anew, twice at most.

use super::minimizer::LevenbergMarquardt;
use super::phase::{End, Phase};
use super::strategy::Strategy;
use crate::solve::summary::Termination;

/// Attempts of a small problem after the first one.
const MOST_ATTEMPTS: u32 = 2;

/// The share of themselves by which the first step of such an attempt may change the parameters.
const SHARE_OF_PARAMETERS: f64 = 0.3;

impl LevenbergMarquardt {
    fn go_to_start(&mut self) {
        self.point.clone_from(&self.attempts.start);
        self.strategy = Strategy::new(self.point.len(), &self.options);
        (self.stop, self.ending, self.length) = (None, None, 0.0);
    }

    /// Begins a small problem anew where an attempt has come to no minimum. The run ends at the first minimum, or else at the best end of all attempts.
    pub(super) fn restarts(&mut self) -> bool {
        let Some(termination) = self.ending.as_ref().map(|(termination, _)| *termination) else { return false };
        let is_lost = matches!(
            termination,
            Termination::TrustRegionCollapsed | Termination::PrecisionLimit | Termination::NonFinite
        );
        let is_left = self.summary.iterations < self.options.solve.max_iterations && self.attempts.made < MOST_ATTEMPTS;
        // Noise is the same on every way.
        let is_noise = self.strategy.noise > 0.0 && self.promise <= self.strategy.rounding(self.linearised());
        let is_next = is_lost && !is_noise && is_left && self.is_exact() && self.summary.iterations > 0;
        let is_best = self.attempts.best.as_ref().is_none_or(|end| self.model.cost < end.cost);
        if is_next && is_best {
            self.attempts.best = self.ending.take().map(|why| {
                let (point, cost) = (self.point.clone(), self.model.cost);
                End { point, cost, promise: self.promise_by_variance(), why }
            });
        }
        if is_next {
            self.attempts.made += 1;
            self.go_to_start();
            self.exact.forget();
            self.lost_points = 0;
            self.phase = Phase::Restarting;
            return true;
        }
        let (converged, cost) = (termination.converged(), self.model.cost);
        if let Some(end) = self.attempts.best.take_if(|end| !converged && end.cost <= cost) {
            (self.point, self.model.cost, self.ending) = (end.point, end.cost, Some(end.why));
            self.summary.promise = Some(end.promise);
        }
        false
    }

    /// Scale and radius of another attempt, once its start is linearised: in the second, steps change parameters by a share of themselves; in the third, the
    /// first one is not cut.
    pub(super) fn begin_attempt(&mut self) {
        if self.attempts.made == 1 {
            let square = 2.0 * self.model.influence;
            for (k, scale) in self.strategy.scale.iter_mut().enumerate().filter(|&(k, _)| !self.frozen[k]) {
                let of_parameter = square / self.retraction.squared_size(&self.point, k);
                *scale = if of_parameter.is_finite() { of_parameter } else { 0.0 };
            }
            self.strategy.cost = self.model.influence;
            self.strategy.begin(SHARE_OF_PARAMETERS * square.sqrt(), 0.0);
        }
    }
}
