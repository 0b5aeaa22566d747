//! How far each entry of the gradient has fallen since its largest value in the run, which no unit of a parameter changes.

use crate::solve::lbfgs::rules::convergence::KNOWN_TRAVEL;
use crate::solve::lbfgs::rules::losses;
use crate::solve::scalar::evaluate;

/// The largest size of each entry of the gradient in a run, and where the run began.
#[derive(Clone, Debug)]
pub struct Shares {
    largest: Vec<f64>,
    start: Vec<f64>,
    /// Steps that were refused.
    refusals: u32,
}

impl Shares {
    /// Of a run from a point.
    pub fn new(start: &[f64]) -> Shares {
        Shares { largest: vec![0.0; start.len()], start: start.to_vec(), refusals: 0 }
    }

    /// Whether a step is refused, since it loses a coordinate, by [`losses`]. Points and gradients are those before and after it; `is_left_out`: whether a
    /// coordinate stays where it is after the step, or is one on a manifold, which has no size.
    pub fn refuse(
        &mut self,
        [before, after]: [&[f64]; 2],
        [gradient_before, gradient_after]: [&[f64]; 2],
        is_left_out: impl Fn(usize) -> bool,
    ) -> bool {
        let n = before.len();
        if n > losses::MOST_COORDINATES as usize {
            return false;
        }
        let (mut share, mut fallen) = (0.0_f64, 0.0_f64);
        for i in (0..n).filter(|&i| !is_left_out(i)) {
            let (was, is) = (gradient_before[i].abs(), gradient_after[i].abs());
            let steepest = self.largest[i].max(is);
            // The larger of a number and NaN is the number.
            share = share.max(is / steepest);
            let is_long = (after[i] - before[i]).abs() >= losses::LONG_STEP * after[i].abs();
            if is_long && was > is && was >= losses::LOST_SHARE * steepest {
                fallen = fallen.max((steepest / is).min(losses::MOST_FALLEN));
            }
        }
        // No share is above 1, so that the rule need not be asked.
        if fallen * losses::LOST_SHARE < 1.0 {
            return false;
        }
        let [refused] = evaluate(&losses::refused(), &[fallen, share, self.refusals.into()]);
        self.refusals += u32::from(refused != 0.0);
        refused != 0.0
    }

    /// Takes the gradient at the end of an iteration, 0 where a coordinate is frozen. Returns the largest share of an entry in its own largest value,
    /// and the largest effect |gx| of a coordinate whose squared share is above `limit`, divided by `epsilon` where x is no known size.
    pub fn take(
        &mut self,
        point: &[f64],
        gradient: &[f64],
        is_on_manifold: impl Fn(usize) -> bool,
        limit: f64,
        epsilon: f64,
    ) -> (f64, f64) {
        let (mut most, mut unsettled) = (0.0_f64, 0.0_f64);
        for (i, (x, gradient)) in point.iter().zip(gradient).enumerate() {
            let gradient = gradient.abs();
            self.largest[i] = self.largest[i].max(gradient);
            if gradient == 0.0 {
                continue;
            }
            let share = gradient / self.largest[i];
            most = most.max(share);
            if share * share > limit {
                // Tangent coordinates are those of a unit block.
                let known = (x - self.start[i]).abs() <= KNOWN_TRAVEL * x.abs();
                let size = match (is_on_manifold(i), known) {
                    (true, _) => 1.0,
                    (false, true) => x.abs(),
                    (false, false) => x.abs() / epsilon,
                };
                unsettled = unsettled.max(gradient * size);
            }
        }
        (most, unsettled)
    }
}
