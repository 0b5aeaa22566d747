//! What a run does in a [`super::review`].

use super::deficiency;
use super::minimizer::LevenbergMarquardt;
use crate::solve::ending;
use crate::solve::summary::{IterationSummary, Termination};
use residua_linalg::LinearSolver;

/// Multiplications of a factorisation for a convergence that shows less than others, at most: a tenth of a second.
const MOST_WORK: usize = 100_000_000;

/// The damping takes part in that square.
const OF_DAMPING: f64 = 10.0;

impl LevenbergMarquardt {
    /// Whether the residuals may leave a direction free at the point where the run has converged.
    pub(super) fn may_lack_rank(&self) -> bool {
        self.review.may_lack_rank
    }

    /// Whether a convergence has been reviewed.
    pub(super) fn is_reviewed(&self) -> bool {
        self.review.qr.is_some()
    }

    /// The reduction that the model promises where the run has converged, and of which steps have found none.
    pub(super) fn broken_promise(&self) -> Option<f64> {
        self.review.promise
    }

    /// Ends a run that has converged, unless that is to be reviewed.
    pub(super) fn begin_review(&mut self) {
        let Some(end) = self.review.due.take() else { return };
        self.review.may_lack_rank = deficiency::is_suspected(&self.model, &self.systems, &self.frozen);
        if !self.review.may_lack_rank && !self.is_doubted(end.0) {
            self.ending = Some(end);
        } else if self.ending.is_none() {
            self.review.open = Some(end);
            self.review.qr.get_or_insert_default();
            self.strategy.weaken_damping();
        }
    }

    /// Whether columns may nearly depend on each other where [`deficiency`] does not look.
    fn is_doubted(&self, end: Termination) -> bool {
        let n = self.frozen.len();
        let rows = self.model.normal.as_ref().map_or(self.systems.row_offsets.len(), |normal| normal.residuals);
        // In exact arithmetic conjugate gradients take as many iterations as there are unknowns, and few where systems are well conditioned.
        let is_long = |count: u32| count as usize > n;
        let had_trouble = || self.summary.history.iter().any(|step| step.linear_iterations.is_some_and(is_long));
        // A step is relative to all parameters in units of the columns: it can be small beside those that residuals of large weight hold, and long for others.
        let shows_less = end == Termination::ParameterTolerance || had_trouble();
        // Steps to a minimum of 0 take nearly all of the cost, up to rounding.
        let vanishes = |step: &IterationSummary| step.cost_change > 9.0 * step.cost;
        let may_fall = || {
            !self.summary.history.last().is_some_and(vanishes)
                && self.strategy.least_promise(self.linearised()) < self.model.cost
        };
        if shows_less && n.saturating_mul(n).saturating_mul(n + rows) <= MOST_WORK && may_fall() {
            return true;
        }
        match (&self.model.normal, &self.systems.solver) {
            (None, LinearSolver::DenseQr(qr)) => {
                let is_looked_at = deficiency::is_small(n, self.systems.row_offsets.len());
                !is_looked_at
                    && qr.least_pivot().powi(2) <= deficiency::UNSURE_PIVOT + OF_DAMPING * self.strategy.of_systems()
            }
            // The blocks are not all of J̃ᵀJ̃.
            (Some(normal), LinearSolver::Pcg(_)) => {
                normal.jtj_blocks.len() < n * n && deficiency::is_small(n, normal.residuals)
            }
            _ => false,
        }
    }

    /// Whether the run ends at a system that was solved, or had no solution: the reduction does not count, or iterations are used up.
    pub(super) fn ends_review(&mut self, is_solved: bool) -> bool {
        let (Some(qr), true) = (&self.review.qr, self.review.open.is_some()) else { return false };
        let reduction = qr.reduction();
        if !(is_solved && reduction > self.strategy.least_promise(self.linearised())) {
            self.ending = self.review.open.take();
        } else {
            self.review.promise.get_or_insert(reduction);
            self.strategy.raise_evenly();
            self.stop_at_bounds();
            let solve = &self.options.solve;
            if self.summary.iterations >= solve.max_iterations {
                self.ending = Some((Termination::MaxIterations, ending::iteration_limit(solve)));
            }
        }
        self.ending.is_some()
    }

    /// Shortens the step to where it meets the first bound. Where columns nearly depend on each other, what is left of a step without one coordinate raises the cost.
    fn stop_at_bounds(&mut self) {
        let mut share = 1.0_f64;
        for (k, (&x, &step)) in self.point.iter().zip(&self.step).enumerate().filter(|(_, (_, step))| **step != 0.0) {
            let bounded = self.feasible.project(k, x + step);
            if bounded != x + step {
                // Beyond by a rounding error, so that clamping ends it at the bound.
                share = share.min((bounded - x) / step * (1.0 + 4.0 * f64::EPSILON));
            }
        }
        self.step.iter_mut().for_each(|step| *step *= share);
    }
}
