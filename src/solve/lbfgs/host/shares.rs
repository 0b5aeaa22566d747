//! How far each entry of the gradient has fallen since its largest value in the run, which no unit of a parameter changes.

use crate::solve::lbfgs::rules::convergence::KNOWN_TRAVEL;

/// The largest size of each entry of the gradient in a run, and where the run began.
#[derive(Clone, Debug)]
pub struct Shares {
    largest: Vec<f64>,
    start: Vec<f64>,
}

impl Shares {
    /// Of a run from a point.
    pub fn new(start: &[f64]) -> Shares {
        Shares { largest: vec![0.0; start.len()], start: start.to_vec() }
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
