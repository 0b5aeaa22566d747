//! The feasible set of a solve: constant coordinates, and box bounds on the others.
//!
//! A solver projects its points onto this set. A coordinate is *frozen* if it is constant, or at a bound with the descent direction pointing
//! outward: the active set of D. Bertsekas, "Projected Newton methods for optimization problems with simple constraints", SIAM J. Control
//! and Optimization 20 (1982).

use super::vector::norm;
use crate::eval::Arithmetic;
use residua_base::decimal;
use residua_base::error::{Error, Result};
use residua_base::list::Listed;

/// Constant coordinates and box bounds. An empty list means none.
#[derive(Clone, Debug, PartialEq)]
pub struct FeasibleSet {
    dimension: usize,
    constant: Vec<bool>,
    lower: Vec<f64>,
    upper: Vec<f64>,
    /// The bounds rounded to the nearest numbers of the arithmetic, lower and upper.
    nearest: Vec<(f64, f64)>,
}

impl FeasibleSet {
    /// All of ℝⁿ: no constants and no bounds.
    pub fn unconstrained(dimension: usize) -> FeasibleSet {
        FeasibleSet { dimension, constant: Vec::new(), lower: Vec::new(), upper: Vec::new(), nearest: Vec::new() }
    }

    /// `constant`: non-zero for constant coordinates; `lower`, `upper`: bounds, infinite for none. Each has `dimension` entries, or is empty
    /// for none at all. Bounds are rounded inward to the numbers of the arithmetic.
    ///
    /// # Errors
    /// `invalid-argument` for another length, a NaN, or bounds with no number between them.
    pub fn new(
        dimension: usize,
        constant: &[u8],
        lower: &[f64],
        upper: &[f64],
        arithmetic: Arithmetic,
    ) -> Result<FeasibleSet> {
        for (name, length) in [("constant", constant.len()), ("lower", lower.len()), ("upper", upper.len())] {
            if length != 0 && length != dimension {
                let message = format!("{name}: got {length} entries, takes {dimension}, one a parameter, or none");
                return Err(Error::invalid_argument(message));
            }
        }
        let mut set = FeasibleSet {
            dimension,
            constant: constant.iter().map(|&flag| flag != 0).list(),
            lower: Vec::new(),
            upper: Vec::new(),
            nearest: Vec::new(),
        };
        if lower.is_empty() && upper.is_empty() {
            return Ok(set);
        }
        set.lower = or_infinite(lower, dimension, f64::NEG_INFINITY);
        set.upper = or_infinite(upper, dimension, f64::INFINITY);
        for (i, (low, high)) in set.lower.iter_mut().zip(&mut set.upper).enumerate() {
            let possible = *low <= *high && *low < f64::INFINITY && *high > f64::NEG_INFINITY;
            if !possible {
                let [low, high] = [*low, *high].map(decimal::shortest);
                let message = format!(
                    "bounds of parameter {i}: got {low} to {high}, takes lower <= upper, neither NaN, with a finite number that is within both"
                );
                return Err(Error::invalid_argument(message));
            }
            set.nearest.push((arithmetic.quantise(*low), arithmetic.quantise(*high)));
            let inward = (arithmetic.quantise_up(*low), arithmetic.quantise_down(*high));
            (*low, *high) = if inward.0 <= inward.1 {
                inward
            } else {
                // No number of this arithmetic lies between the bounds, so the nearest one is the only feasible value.
                (arithmetic.quantise(*low), arithmetic.quantise(*low))
            };
        }
        Ok(set)
    }

    /// Number of coordinates.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// Whether coordinate `i` is constant.
    pub fn is_constant(&self, i: usize) -> bool {
        self.constant.get(i).copied().unwrap_or(false)
    }

    /// ‖x‖ over the coordinates that are not constant.
    pub fn norm_of_free(&self, x: &[f64]) -> f64 {
        if !self.constant.contains(&true) {
            return norm(x);
        }
        norm(&x.iter().enumerate().map(|(i, x)| if self.is_constant(i) { 0.0 } else { *x }).list())
    }

    /// The feasible value of coordinate `i` nearest to `value`.
    pub fn project(&self, i: usize, value: f64) -> f64 {
        match (self.lower.get(i), self.upper.get(i)) {
            (Some(&low), Some(&high)) => value.max(low).min(high),
            _ => value,
        }
    }

    /// Whether a number of the arithmetic is out of the bounds of coordinate `i`. One that a bound is rounded to is not: it is the bound as this arithmetic has
    /// it, though [`FeasibleSet::project`] may move it inward by a unit of its last place.
    pub fn is_outside(&self, i: usize, value: f64) -> bool {
        self.nearest.get(i).is_some_and(|&(low, high)| value < low || value > high)
    }

    /// Lower and upper bound of coordinate `i`; infinite for none.
    pub fn bounds_of(&self, i: usize) -> (f64, f64) {
        match (self.lower.get(i), self.upper.get(i)) {
            (Some(&low), Some(&high)) => (low, high),
            _ => (f64::NEG_INFINITY, f64::INFINITY),
        }
    }

    /// Whether any coordinate is constant or has bounds.
    pub fn is_constrained(&self) -> bool {
        !self.lower.is_empty() || self.constant.contains(&true)
    }

    /// Whether coordinate `i` is at a bound at `value` and a move in direction `d` leaves the set.
    pub fn blocks(&self, i: usize, value: f64, d: f64) -> bool {
        match (self.lower.get(i), self.upper.get(i)) {
            (Some(&low), Some(&high)) => (value <= low && d < 0.0) || (value >= high && d > 0.0),
            _ => false,
        }
    }

    /// Writes to `frozen` which coordinates are frozen at `point`; returns whether any flag changed.
    pub fn freeze(&self, point: &[f64], gradient: &[f64], frozen: &mut [bool]) -> bool {
        if !self.is_constrained() {
            let changed = frozen.contains(&true);
            frozen.fill(false);
            return changed;
        }
        let mut changed = false;
        for (i, flag) in frozen.iter_mut().enumerate() {
            let now = self.is_constant(i) || self.blocks(i, point[i], -gradient[i]);
            changed |= now != *flag;
            *flag = now;
        }
        changed
    }
}

fn or_infinite(bounds: &[f64], dimension: usize, infinity: f64) -> Vec<f64> {
    if bounds.is_empty() { vec![infinity; dimension] } else { bounds.to_vec() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_a_bound_is_rounded_to_is_at_the_bound() {
        for (arithmetic, unit) in [(Arithmetic::F32, 1.2e-7), (Arithmetic::F32x2, 1e-13), (Arithmetic::F64, 2.3e-16)] {
            for bound in [0.9, -0.9, 0.1, 1.0, 1e-3, 7e5] {
                let unit = unit * f64::abs(bound);
                let sets = [
                    (&[bound], &[f64::INFINITY], 1.0),
                    (&[f64::NEG_INFINITY], &[bound], -1.0),
                    (&[bound], &[bound], 1.0),
                ];
                for (lower, upper, inward) in sets {
                    let set = FeasibleSet::new(1, &[], lower, upper, arithmetic).unwrap();
                    let at_bound = arithmetic.quantise(bound);
                    assert!(!set.is_outside(0, at_bound), "{arithmetic:?}: {bound}");
                    assert!((set.project(0, at_bound) - at_bound).abs() <= unit, "{arithmetic:?}: {bound}");
                    let outside = arithmetic.quantise(bound - 4.0 * inward * unit);
                    assert!(set.is_outside(0, outside), "{arithmetic:?}: {bound}");
                }
            }
        }
        assert!(!FeasibleSet::unconstrained(1).is_outside(0, 1e300));
    }

    #[test]
    fn a_coordinate_is_frozen_when_constant_or_pushed_outward_at_its_bound() {
        let set = FeasibleSet::new(5, &[1, 0, 0, 0, 0], &[0.0; 5], &[1.0; 5], Arithmetic::F64).unwrap();
        let mut frozen = vec![false; 5];
        let point = [0.5, 0.0, 0.0, 1.0, 0.5];
        assert!(set.freeze(&point, &[0.0, 1.0, -1.0, -1.0, 1.0], &mut frozen));
        assert_eq!(frozen, [true, true, false, true, false]);
        assert!(!set.freeze(&point, &[9.0, 2.0, -2.0, -2.0, 2.0], &mut frozen));
    }

    #[test]
    fn bounds_are_rounded_inward_to_the_arithmetic() {
        let set = FeasibleSet::new(2, &[], &[0.1, 0.1], &[0.3, 0.1], Arithmetic::F32).unwrap();
        let (low, high) = (set.project(0, -1.0), set.project(0, 1.0));
        assert!(0.1 <= low && high <= 0.3, "{low} {high}");
        assert_eq!((low, high), (f64::from(low as f32), f64::from(high as f32)));
        // Between 0.1 and 0.1 there is no f32, so the nearest one is feasible.
        assert_eq!(set.project(1, 7.0), f64::from(0.1_f32));
    }

    #[test]
    fn empty_sets_are_refused_with_the_parameter() {
        let none: &[f64] = &[];
        let refused = |constant: &[u8], lower: &[f64], upper: &[f64], words: &str| {
            let message = FeasibleSet::new(2, constant, lower, upper, Arithmetic::F64).unwrap_err().message.clone();
            assert!(message.starts_with(words), "{message}");
        };
        refused(&[1], none, none, "constant: got 1 entries, takes 2");
        refused(&[], &[0.0; 3], none, "lower: got 3 entries, takes 2");
        refused(&[], none, &[0.0; 1], "upper: got 1 entries, takes 2");
        refused(&[], &[0.0, 2.0], &[1.0, 1.0], "bounds of parameter 1: got 2 to 1");
        refused(&[], &[0.0, f64::NAN], &[1.0, 1.0], "bounds of parameter 1: got NaN to 1");
        refused(&[], &[f64::INFINITY, 0.0], none, "bounds of parameter 0: got inf to inf");
    }
}
