//! What is measured of a trial.

use super::{Lbfgs, LineSearch, Trial};

impl Lbfgs {
    /// Cost, slope and predicted change of the evaluated trial.
    pub(super) fn measure_trial(&self, step: f64) -> Trial {
        let (mut slope, mut predicted, mut bent) = (0.0, 0.0, false);
        for (i, &trial) in self.trial.point.iter().enumerate() {
            if self.frozen[i] {
                continue;
            }
            predicted += self.current.gradient[i] * self.projected_step(i, step, trial);
            let straight = self.arithmetic.quantise(self.current.point[i] + step * self.direction[i]);
            if self.is_on_manifold(i) || straight == trial {
                slope += self.trial.gradient[i] * self.direction[i];
            } else {
                bent = true;
            }
        }
        Trial::Finite { cost: self.trial.cost, slope, predicted, bent }
    }

    pub(super) fn is_on_manifold(&self, i: usize) -> bool {
        self.manifolds.as_ref().is_some_and(|manifolds| manifolds.contains(i))
    }

    /// Coordinate `i` of the step to a trial point: in tangent coordinates for a block on a manifold, else the difference of the points,
    /// which projection and rounding have changed.
    pub(super) fn projected_step(&self, i: usize, step: f64, trial: f64) -> f64 {
        if self.is_on_manifold(i) {
            self.arithmetic.quantise(step * self.direction[i])
        } else {
            trial - self.current.point[i]
        }
    }

    /// Whether the stored trial loses a coordinate.
    pub(super) fn is_refused(&mut self, search: &LineSearch) -> bool {
        if self.history.is_empty() && !search.has_trials() {
            return false;
        }
        let Lbfgs { current, stored, manifolds, feasible, .. } = self;
        let is_left_out = |i: usize| {
            let is_on_manifold = manifolds.as_ref().is_some_and(|manifolds| manifolds.contains(i));
            is_on_manifold || feasible.blocks(i, stored.point[i], -stored.gradient[i])
        };
        self.shares.refuse([&current.point, &stored.point], [&current.gradient, &stored.gradient], is_left_out)
    }
}
