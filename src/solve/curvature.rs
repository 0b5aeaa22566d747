//! The memory of L-BFGS: the last pairs of step s and gradient change y, and the product of the inverse Hessian they imply with a vector.
//!
//! J. Nocedal, "Updating quasi-Newton matrices with limited storage", Math. Comp. 35 (1980); D. Liu and J. Nocedal, "On the limited memory
//! BFGS method for large scale optimization", Math. Programming 45 (1989). Letters are theirs.

use std::rc::Rc;

use super::descent_rule;
use super::scalar::evaluate;
use super::vector::{dot, norm, subtract};
use crate::codegen::Function;
use crate::error::{Error, ErrorCode, Result};

/// A ring of curvature pairs in one allocation.
#[derive(Clone, Debug)]
pub struct CurvaturePairs {
    dimension: usize,
    /// s₀ y₀ s₁ y₁ …, each of `dimension` numbers; one slot more than is remembered, so that a pair is written before the oldest goes.
    storage: Vec<f64>,
    /// 1 / sᵀy of each slot.
    rho: Vec<f64>,
    /// Scratch of the two-loop recursion.
    alpha: Vec<f64>,
    /// The slot that is written next.
    next: usize,
    count: usize,
    /// Which pairs are kept.
    rule: Rc<Function>,
    /// γ = sᵀy / yᵀy of the newest pair that was ever kept, forgotten ones included.
    scale: Option<f64>,
}

impl CurvaturePairs {
    /// Room for `capacity` pairs of `dimension` numbers.
    ///
    /// # Errors
    /// `out-of-memory` where there is no such room.
    pub fn new(dimension: usize, capacity: usize) -> Result<CurvaturePairs> {
        let slots = capacity.saturating_add(1);
        let mut storage = Vec::new();
        let numbers = slots.checked_mul(2).and_then(|vectors| vectors.checked_mul(dimension));
        if numbers.is_none_or(|numbers| storage.try_reserve_exact(numbers).is_err()) {
            let message = format!("no memory for an L-BFGS history of {capacity} pairs of {dimension} numbers");
            return Err(Error::new(ErrorCode::OutOfMemory, message));
        }
        storage.resize(slots * 2 * dimension, 0.0);
        Ok(CurvaturePairs {
            dimension,
            storage,
            rho: vec![0.0; slots],
            alpha: vec![0.0; slots],
            next: 0,
            count: 0,
            rule: descent_rule::pair(),
            scale: None,
        })
    }

    /// Where the next s and y are to be written, before [`CurvaturePairs::keep`].
    pub fn slot(&mut self) -> (&mut [f64], &mut [f64]) {
        let n = self.dimension;
        let start = self.next * 2 * n;
        self.storage[start..start + 2 * n].split_at_mut(n)
    }

    /// Remembers the pair in [`CurvaturePairs::slot`] if its curvature is positive beyond rounding, else leaves the memory as it was.
    /// Says which.
    pub fn keep(&mut self, relative_precision: f64) -> bool {
        let (s, y) = self.pair(self.next);
        let sy = dot(s, y);
        let norms = [s, y].map(norm);
        let [kept, rho, scale] = evaluate(&self.rule, &[sy, norms[0], norms[1], relative_precision, f64::MAX]);
        if kept == 0.0 {
            return false;
        }
        self.rho[self.next] = rho;
        self.scale = Some(scale);
        self.next = (self.next + 1) % self.rho.len();
        self.count = (self.count + 1).min(self.rho.len() - 1);
        true
    }

    /// Forgets all pairs, but not the scale.
    pub fn forget(&mut self) {
        self.count = 0;
    }

    /// Whether no pair is remembered.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// γ, the size of the inverse Hessian, if any pair was ever kept.
    pub fn scale(&self) -> Option<f64> {
        self.scale
    }

    /// q ← H q by the two-loop recursion, H starting from γI.
    pub fn multiply(&mut self, q: &mut [f64]) {
        for age in 1..=self.count {
            let slot = self.slot_of_age(age);
            let (s, y) = self.pair(slot);
            let alpha = self.rho[slot] * dot(s, q);
            subtract(alpha, y, q);
            self.alpha[slot] = alpha;
        }
        let gamma = self.scale.unwrap_or(1.0);
        q.iter_mut().for_each(|q| *q *= gamma);
        for age in (1..=self.count).rev() {
            let slot = self.slot_of_age(age);
            let (s, y) = self.pair(slot);
            let beta = self.rho[slot] * dot(y, q);
            subtract(beta - self.alpha[slot], s, q);
        }
    }

    /// The newest has age 1.
    fn slot_of_age(&self, age: usize) -> usize {
        let slots = self.rho.len();
        (self.next + slots - age) % slots
    }

    fn pair(&self, slot: usize) -> (&[f64], &[f64]) {
        let n = self.dimension;
        self.storage[slot * 2 * n..(slot + 1) * 2 * n].split_at(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(pairs: &mut CurvaturePairs, s: &[f64], y: &[f64]) -> bool {
        let (to_s, to_y) = pairs.slot();
        to_s.copy_from_slice(s);
        to_y.copy_from_slice(y);
        pairs.keep(f64::EPSILON)
    }

    type Matrix = [[f64; 3]; 3];

    fn matrix(entry: impl Fn(usize, usize) -> f64) -> Matrix {
        std::array::from_fn(|i| std::array::from_fn(|j| entry(i, j)))
    }

    fn product(a: &Matrix, b: &Matrix) -> Matrix {
        matrix(|i, j| (0..3).map(|k| a[i][k] * b[k][j]).sum())
    }

    /// H by the BFGS formula (Nocedal and Wright, (7.16)), from the pairs, oldest first.
    fn dense(pairs: &[([f64; 3], [f64; 3])]) -> Matrix {
        let identity = |i: usize, j: usize| if i == j { 1.0 } else { 0.0 };
        let (s, y) = pairs[pairs.len() - 1];
        let gamma = dot(&s, &y) / dot(&y, &y);
        pairs.iter().fold(matrix(|i, j| gamma * identity(i, j)), |h, (s, y)| {
            let rho = 1.0 / dot(s, y);
            let v = matrix(|i, j| identity(i, j) - rho * y[i] * s[j]);
            let transposed = matrix(|i, j| v[j][i]);
            let vhv = product(&transposed, &product(&h, &v));
            matrix(|i, j| vhv[i][j] + rho * s[i] * s[j])
        })
    }

    #[test]
    fn the_recursion_equals_the_dense_formula_over_the_newest_pairs() {
        let all = [
            ([1.0, 0.5, -0.25], [2.0, 1.0, 0.5]),
            ([0.0, 1.0, 1.0], [0.5, 3.0, 1.0]),
            ([-1.0, 0.25, 0.5], [-2.0, 1.0, 4.0]),
            ([0.5, 0.5, 0.0], [1.0, 2.0, -1.0]),
        ];
        for capacity in 1..=5 {
            let mut pairs = CurvaturePairs::new(3, capacity).unwrap();
            for used in 1..=all.len() {
                let (s, y) = all[used - 1];
                assert!(write(&mut pairs, &s, &y));
                let h = dense(&all[used.saturating_sub(capacity)..used]);
                let q = [1.0, -2.0, 3.0];
                let mut product = q;
                pairs.multiply(&mut product);
                for (row, got) in h.iter().zip(product) {
                    // Some forty operations on numbers below ten.
                    let expected = dot(row, &q);
                    assert!((got - expected).abs() < 1e-13, "{capacity} {used}: {got} {expected}");
                }
            }
        }
    }

    #[test]
    fn pairs_without_positive_curvature_change_nothing() {
        let mut pairs = CurvaturePairs::new(2, 2).unwrap();
        assert!(write(&mut pairs, &[1.0, 0.0], &[2.0, 0.0]));
        for (s, y) in [
            ([1.0, 0.0], [-1.0, 0.0]),
            ([1.0, 0.0], [0.0, 1.0]),
            ([1.0, 0.0], [1e-17, 1.0]),
            ([0.0, 0.0], [0.0, 0.0]),
            ([1.0, 0.0], [f64::NAN, 0.0]),
        ] {
            assert!(!write(&mut pairs, &s, &y), "{s:?} {y:?}");
        }
        let mut q = [2.0, 2.0];
        pairs.multiply(&mut q);
        assert_eq!(q, [1.0, 1.0]);
    }

    #[test]
    fn forgetting_keeps_the_scale() {
        let mut pairs = CurvaturePairs::new(1, 3).unwrap();
        assert_eq!(pairs.scale(), None);
        assert!(write(&mut pairs, &[1.0], &[4.0]));
        pairs.forget();
        assert!(pairs.is_empty());
        assert_eq!(pairs.scale(), Some(0.25));
    }

    #[test]
    fn a_history_beyond_memory_is_an_error() {
        let error = CurvaturePairs::new(usize::MAX / 64, u32::MAX as usize).unwrap_err();
        assert_eq!(error.code, ErrorCode::OutOfMemory);
    }
}
