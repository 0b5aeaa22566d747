//! The history of L-BFGS: the last pairs of step s and gradient change y, and products with the inverse Hessian H that they define.
//!
//! The two-loop recursion is that of J. Nocedal, "Updating quasi-Newton matrices with limited storage", Math. Comp. 35 (1980); the letters
//! are those of D. Liu and J. Nocedal, "On the limited memory BFGS method for large scale optimization", Math. Programming 45 (1989).

use std::rc::Rc;

use crate::solve::lbfgs::rules;
use crate::solve::scalar::evaluate;
use crate::solve::vector::{dot, norm, subtract};
use residua_base::error::{Error, ErrorCode, Result};
use residua_codegen::Function;

/// A ring buffer of pairs in one allocation.
#[derive(Clone, Debug)]
pub struct History {
    dimension: usize,
    /// s₀ y₀ s₁ y₁ …, each of `dimension` numbers. There is one slot more than the capacity, so that a pair can be written and then
    /// discarded without losing the oldest.
    storage: Vec<f64>,
    /// 1 / sᵀy of each slot.
    rho: Vec<f64>,
    /// α of each slot, scratch of the two-loop recursion.
    alpha: Vec<f64>,
    /// The slot that is written next.
    next: usize,
    count: usize,
    /// [`rules::history::pair`].
    rule: Rc<Function>,
    /// γ = sᵀy / yᵀy of the pair that was kept last, cleared ones included, or what was set since.
    scale: Option<f64>,
}

impl History {
    /// An empty history of at most `capacity` pairs of `dimension` numbers.
    ///
    /// # Errors
    /// `out-of-memory` if the allocation fails.
    pub fn new(dimension: usize, capacity: usize) -> Result<History> {
        let slots = capacity.saturating_add(1);
        let mut storage = Vec::new();
        let numbers = slots.checked_mul(2).and_then(|vectors| vectors.checked_mul(dimension));
        if numbers.is_none_or(|numbers| storage.try_reserve_exact(numbers).is_err()) {
            let message = format!("no memory for an L-BFGS history of {capacity} pairs of {dimension} numbers");
            return Err(Error::new(ErrorCode::OutOfMemory, message));
        }
        storage.resize(slots * 2 * dimension, 0.0);
        Ok(History {
            dimension,
            storage,
            rho: vec![0.0; slots],
            alpha: vec![0.0; slots],
            next: 0,
            count: 0,
            rule: rules::history::pair(),
            scale: None,
        })
    }

    /// The next s and y, to be written before [`History::keep`].
    pub fn slot(&mut self) -> (&mut [f64], &mut [f64]) {
        let n = self.dimension;
        let start = self.next * 2 * n;
        self.storage[start..start + 2 * n].split_at_mut(n)
    }

    /// Adds the pair in [`History::slot`] if its curvature sᵀy is positive beyond rounding; returns whether it did.
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

    /// Sets γ.
    pub fn set_scale(&mut self, scale: f64) {
        self.scale = Some(scale);
    }

    /// Removes all pairs, but keeps γ.
    pub fn clear(&mut self) {
        self.count = 0;
    }

    /// Whether there are no pairs.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// γ, by which H starts; `None` before any step.
    pub fn scale(&self) -> Option<f64> {
        self.scale
    }

    /// q ← Hq by the two-loop recursion, with H₀ = γI.
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

    /// The slot of a pair by its age; the newest has age 1.
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

    fn write(history: &mut History, s: &[f64], y: &[f64]) -> bool {
        let (to_s, to_y) = history.slot();
        to_s.copy_from_slice(s);
        to_y.copy_from_slice(y);
        history.keep(f64::EPSILON)
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
    fn the_two_loop_recursion_equals_the_dense_bfgs_formula() {
        let all = [
            ([1.0, 0.5, -0.25], [2.0, 1.0, 0.5]),
            ([0.0, 1.0, 1.0], [0.5, 3.0, 1.0]),
            ([-1.0, 0.25, 0.5], [-2.0, 1.0, 4.0]),
            ([0.5, 0.5, 0.0], [1.0, 2.0, -1.0]),
        ];
        for capacity in 1..=5 {
            let mut history = History::new(3, capacity).unwrap();
            for used in 1..=all.len() {
                let (s, y) = all[used - 1];
                assert!(write(&mut history, &s, &y));
                let h = dense(&all[used.saturating_sub(capacity)..used]);
                let q = [1.0, -2.0, 3.0];
                let mut product = q;
                history.multiply(&mut product);
                for (row, got) in h.iter().zip(product) {
                    // Some forty operations on numbers below ten.
                    let expected = dot(row, &q);
                    assert!((got - expected).abs() < 1e-13, "{capacity} {used}: {got} {expected}");
                }
            }
        }
    }

    #[test]
    fn pairs_without_positive_curvature_are_discarded() {
        let mut history = History::new(2, 2).unwrap();
        assert!(write(&mut history, &[1.0, 0.0], &[2.0, 0.0]));
        for (s, y) in [
            ([1.0, 0.0], [-1.0, 0.0]),
            ([1.0, 0.0], [0.0, 1.0]),
            ([1.0, 0.0], [1e-17, 1.0]),
            ([0.0, 0.0], [0.0, 0.0]),
            ([1.0, 0.0], [f64::NAN, 0.0]),
        ] {
            assert!(!write(&mut history, &s, &y), "{s:?} {y:?}");
        }
        let mut q = [2.0, 2.0];
        history.multiply(&mut q);
        assert_eq!(q, [1.0, 1.0]);
    }

    #[test]
    fn clearing_keeps_the_scale() {
        let mut history = History::new(1, 3).unwrap();
        assert_eq!(history.scale(), None);
        assert!(write(&mut history, &[1.0], &[4.0]));
        history.clear();
        assert!(history.is_empty());
        assert_eq!(history.scale(), Some(0.25));
    }

    #[test]
    fn a_history_beyond_the_address_space_is_out_of_memory() {
        let error = History::new(usize::MAX / 64, u32::MAX as usize).unwrap_err();
        assert_eq!(error.code, ErrorCode::OutOfMemory);
    }
}
