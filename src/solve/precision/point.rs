//! The point at which a solve has ended.

use crate::eval::Arithmetic;

/// Squares below this are 0 on devices that flush subnormal numbers. Pairs have the range of single precision.
pub(super) const SMALLEST_SQUARE: f64 = f32::MIN_POSITIVE as f64;

/// A point of a solve, and what was computed there.
#[derive(Clone, Copy, Debug)]
pub struct Evaluated<'a> {
    /// All parameters: constant ones as the caller gave them.
    pub x: &'a [f64],
    /// Which parameters are constant.
    pub constant: &'a [bool],
    /// The residuals, as they were computed in `arithmetic`.
    pub residuals: &'a [f64],
    /// The cost, as it was computed in `arithmetic`.
    pub cost: f64,
    /// Rounds to the numbers of the computation.
    pub arithmetic: Arithmetic,
}

/// A part of a whole, from 0 to 1. 1 if either is not a number: one of the two evaluations is not finite, so that the other is not confirmed.
pub(super) fn share(part: f64, whole: f64) -> f64 {
    if part == 0.0 {
        return 0.0;
    }
    let share = part / whole;
    if share.is_nan() { 1.0 } else { share.min(1.0) }
}
