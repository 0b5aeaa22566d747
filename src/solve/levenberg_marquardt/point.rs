//! What is told of a linearised point by its numbers alone: which promise of its model is that of a minimum, and how the scale D of steps follows.

use crate::solve::rules;

/// D² falls to this share at each point, at most: a tenth of D, which keeps a column that all but vanishes within bounds for a while.
pub const FALL_OF_SCALE: f64 = 0.81;

/// Coordinates of a problem whose model is factorised as a dense one: singular values, where columns nearly depend on each other, take some tenths of a second.
/// Steps of larger ones may be inexact, and what is left at the end with them.
pub const MOST_COORDINATES: usize = 200;

/// A system that tells whether a point is a minimum is solved to this tolerance: cut short, it shows the promise of what residuals are steep in, and where units
/// differ by many powers of ten that is not all.
pub const TOLERANCE_OF_PROMISE: f64 = 1e-3;

/// The largest share of σ² that errors of residuals may have where a minimum is to be told: they move parameters by some hundredths of their standard errors.
pub const MOST_NOISE: f64 = 2.5e-4;

/// A step that met a tolerance though the model promises more is followed by a radius of so many times its length.
pub const GROWTH_AFTER_SHORT_STEP: f64 = 10.0;

/// The numbers of the linearised point that verdicts and convergence take.
#[derive(Clone, Copy, Debug)]
pub struct Linearised {
    /// F
    pub cost: f64,
    /// ½ Σ w ρ′² ‖r‖²: the cost that the residuals have by their influence. That of one is bounded, however large the residual is.
    pub influence: f64,
    /// How many residuals there are, and how many coordinates are determined by them.
    pub residuals: f64,
    /// See `residuals`.
    pub coordinates: f64,
    /// Σ Dⱼ²xⱼ² with D² the diagonal of J̃ᵀJ̃.
    pub scaled_size: f64,
    /// The gradient's cosine.
    pub cosine: f64,
}

impl Linearised {
    /// σ² = 2F/(m − n), with bounded influence.
    pub fn variance(&self) -> f64 {
        2.0 * self.influence / (self.residuals - self.coordinates).max(1.0)
    }

    /// What rounding of the residuals leaves of a promise; all of it where the cost is no more than its noise. Each residual is uncertain by the root mean
    /// square of what rounding of x makes of it, and the projection of these errors on the columns is a promise. So is that of a point beside the minimum by
    /// half a unit in the last place of each coordinate: none is nearer.
    pub fn rounding(&self, noise: f64, epsilon: f64) -> f64 {
        let Linearised { cost, residuals, coordinates, scaled_size, .. } = *self;
        if cost <= noise {
            return f64::INFINITY;
        }
        // Squares beyond the range are no measure.
        let scaled_size = if scaled_size.is_finite() { scaled_size } else { 0.0 };
        let of_residuals = rules::ROUNDINGS * rules::ROUNDINGS * coordinates / residuals.max(1.0);
        0.5 * epsilon * epsilon * scaled_size * of_residuals.max(rules::HALF_A_UNIT * rules::HALF_A_UNIT)
    }

    /// The largest promise of a point that is a minimum, with what rounding leaves of one: every parameter is within some hundredth of its standard error of
    /// it.
    pub fn least_promise(&self, rounding: f64) -> f64 {
        (rules::LEAST_PROMISE * self.variance()).max(rounding)
    }

    /// The same where steps converge quadratically, so that what is left may have the digits of a step more.
    pub fn tolerable_promise(&self, rounding: f64, cost_tolerance: f64) -> f64 {
        let least = self.least_promise(rounding);
        match cost_tolerance > 0.0 {
            true => least.min((rules::LEFT_OF_TOLERANCE * cost_tolerance * self.influence).max(rounding)),
            false => least,
        }
    }
}

/// What errors of residuals, of this sum of squares, leave of a difference of costs: some times Σ r e, and what they are themselves.
pub fn noise_of_cost(noise: f64, point: Linearised) -> f64 {
    (8.0 * point.cost * noise / point.residuals.max(1.0)).sqrt() + 0.5 * noise
}

/// What they leave of a promise: their projection on the columns, of which some times the mean counts.
pub fn noise_of_promise(noise: f64, point: Linearised) -> f64 {
    2.0 * noise * point.coordinates / point.residuals.max(1.0)
}

/// D² at a new point, from the diagonal of J̃ᵀJ̃ there and the ratio of the costs. Residuals of a high power fall together with all their derivatives by many
/// orders, and D follows them.
pub fn follow(scale: &mut [f64], diagonal: impl Iterator<Item = f64> + Clone, costs: f64) {
    let taken = scale.iter().zip(diagonal.clone()).filter(|(scale, _)| **scale > 0.0);
    let common = taken.map(|(scale, diagonal)| diagonal / scale).fold(costs, larger);
    let common = if common < 1.0 { common } else { 1.0 };
    for (scale, diagonal) in scale.iter_mut().zip(diagonal) {
        *scale = larger(FALL_OF_SCALE * common * *scale, diagonal);
    }
}

/// The larger one, or `a` of a NaN in `b`. `f64::max` is a call.
fn larger(a: f64, b: f64) -> f64 {
    if b > a { b } else { a }
}
