//! Corrected seminormal equations (Björck, Linear Algebra and its Applications 88/89, 1987): least squares with many full rows of few numbers,
//! in two passes over them.
//!
//! RᵀR = J̃ᵀJ̃ + D gives a step; RᵀR ε = −J̃ᵀ(r̃ + J̃δ) − Dδ, from the rows themselves, what that lacks. R comes from Cholesky's factorisation
//! here, so that its error grows with the condition's square: the first step's relative error is about what the correction says,
//! and the second's is that squared. Where this is not below rounding there is no result, and reflections have to do the work.

use residua_loops::{gram, residual_product};

use super::System;
use super::normal_equations::{Factor, MOST_COLUMNS};
use crate::list::Listed;

/// So few rows are not worth the choice.
pub const LEAST_ROWS: usize = 512;
/// The relative size of a correction whose square is below 2⁻⁵³.
const MOST_CORRECTION: f64 = 1e-8;

/// Solves into `step` if that is good to the last digits that the columns' condition leaves; says whether it is.
pub(super) fn solve(system: &System, step: &mut [f64]) -> bool {
    let (jacobian, n) = (&system.jacobian, system.jacobian.cols);
    let full = jacobian.values.len() == n * jacobian.rows();
    if !full || jacobian.rows() < LEAST_ROWS || !(1..=MOST_COLUMNS).contains(&n) || system.frozen.contains(&true) {
        return false;
    }
    let mut factor = Factor::new(n);
    let stride = factor.stride;
    gram(jacobian.values, system.residuals, n, &mut factor.entries);
    for (k, damping) in system.damping.iter().enumerate() {
        factor.entries[k * stride + k] += damping;
    }
    let side: Vec<f64> = (0..n).map(|k| -factor.entries[k * stride + n]).list();
    if !factor.factorise() {
        return false;
    }
    let first = factor.substitute(&side);
    let mut side = vec![0.0; n];
    residual_product(jacobian.values, system.residuals, &first, &mut side);
    for ((side, damping), first) in side.iter_mut().zip(system.damping).zip(&first) {
        *side = -*side - damping * first;
    }
    let correction = factor.substitute(&side);
    let size = |x: &[f64]| x.iter().zip(&factor.scales).map(|(x, scale)| (x / scale).powi(2)).sum::<f64>().sqrt();
    for ((step, first), correction) in step.iter_mut().zip(&first).zip(&correction) {
        *step = first + correction;
    }
    // False of a NaN too.
    size(&correction) <= MOST_CORRECTION * size(&first)
}

#[cfg(test)]
mod tests {
    use super::super::{DenseQr, SparseMatrix};
    use super::*;

    /// Samples of powers of t between two ends, and of a sine as the right side.
    fn fit(cols: usize, ends: [f64; 2], rows: usize) -> (Vec<u32>, Vec<u32>, Vec<f64>, Vec<f64>) {
        let t = |row: usize| ends[0] + (ends[1] - ends[0]) * row as f64 / (rows - 1) as f64;
        let values =
            (0..rows).flat_map(|row| (0..cols).map(move |k| 1e3f64.powi(k as i32) * t(row).powi(k as i32))).collect();
        let indices = (0..rows).flat_map(|_| 0..cols as u32).collect();
        (
            (0..=rows).map(|row| (row * cols) as u32).collect(),
            indices,
            values,
            (0..rows).map(|row| (3.0 * t(row)).sin()).collect(),
        )
    }

    #[test]
    fn the_step_is_that_of_reflections_or_there_is_none() {
        // A condition of 30 or so, of 2e5 (whose square leaves the correction 1e-6), and dependent columns but for rounding.
        for (cols, ends, damping, good) in [
            (5, [-1.0, 1.0], 0.0, true),
            (5, [-1.0, 1.0], 0.25, true),
            (5, [9.0, 10.0], 0.0, false),
            (9, [99.0, 100.0], 0.0, false),
        ] {
            let (row_offsets, col_indices, values, residuals) = fit(cols, ends, 1003);
            let jacobian = SparseMatrix { cols, row_offsets: &row_offsets, col_indices: &col_indices, values: &values };
            let (damping, frozen) = (vec![damping; cols], vec![false; cols]);
            let system = System { jacobian, residuals: &residuals, damping: &damping, frozen: &frozen };
            let (mut step, mut expected) = (vec![0.0; cols], vec![0.0; cols]);
            assert_eq!(solve(&system, &mut step), good, "{cols} {ends:?}");
            if good {
                DenseQr::new().reflect(&system, &mut expected).unwrap();
                // The condition times 2⁻⁵³ and the square root of the number of rows is 1e-13.
                let error = step.iter().zip(&expected).map(|(a, b)| (a / b - 1.0).abs());
                // Of an odd function, even powers have no part.
                let odd =
                    error.enumerate().filter(|(k, _)| k % 2 == 1).fold(0.0, |most, (_, error)| f64::max(most, error));
                assert!(odd < 1e-12, "{odd}");
            }
        }
    }

    #[test]
    fn what_is_not_finite_is_refused() {
        for bad in [f64::NAN, f64::INFINITY, 1e200] {
            let (row_offsets, col_indices, mut values, residuals) = fit(2, [0.0, 1.0], 600);
            values[7] = bad;
            let jacobian =
                SparseMatrix { cols: 2, row_offsets: &row_offsets, col_indices: &col_indices, values: &values };
            let system = System { jacobian, residuals: &residuals, damping: &[0.0; 2], frozen: &[false; 2] };
            assert!(!solve(&system, &mut [0.0; 2]), "{bad}");
        }
    }
}
