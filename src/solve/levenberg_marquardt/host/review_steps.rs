//! What a run does in a [`super::review`].

use super::deficiency;
use super::minimizer::LevenbergMarquardt;
use crate::solve::ending;
use crate::solve::summary::Termination;
use residua_linalg::LinearSolver;

/// The square of a column's distance from those before it up to which a factorisation is doubted.
const DOUBTED: f64 = 1e-10;

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
        if !self.review.may_lack_rank && !self.is_doubted() {
            self.ending = Some(end);
        } else if self.ending.is_none() {
            self.review.open = Some(end);
            self.review.qr.get_or_insert_default();
            self.strategy.weaken_damping();
        }
    }

    /// Whether columns may nearly depend on each other where [`deficiency`] does not look.
    fn is_doubted(&self) -> bool {
        let n = self.frozen.len();
        match (&self.model.normal, &self.systems.solver) {
            (None, LinearSolver::DenseQr(qr)) => {
                let is_looked_at = deficiency::is_small(n, self.systems.row_offsets.len());
                !is_looked_at && qr.least_pivot().powi(2) <= DOUBTED + OF_DAMPING * self.strategy.of_systems()
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
