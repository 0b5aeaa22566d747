//! Corrected seminormal equations (Björck, Linear Algebra and its Applications 88/89, 1987): least squares with many full rows of few numbers,
//! in two passes over them.
//!
//! RᵀR = J̃ᵀJ̃ + D gives a step; RᵀR ε = −J̃ᵀ(r̃ + J̃δ) − Dδ, from the rows themselves, what that lacks. R comes from Cholesky's factorisation
//! here, so that its error grows with the condition's square: the first step's relative error is about what the correction says,
//! and the second's is that squared. Where this is not below rounding there is no result, and reflections have to do the work.

use residua_loops::{gram, residual_product};

use super::System;
use crate::list::Listed;

/// So few rows are not worth the choice.
const LEAST_ROWS: usize = 512;
/// With more columns than this, reflections in panels are as fast.
const MOST_COLUMNS: usize = 16;
/// The relative size of a correction whose square is below 2⁻⁵³.
const MOST_CORRECTION: f64 = 1e-8;
/// What is left of a unit column beside those before it, squared: below, rounding has most of it.
const LEAST_PIVOT: f64 = 1e-10;
/// Squares of lengths between which none of their parts that count has overflowed or vanished.
const SQUARES: std::ops::Range<f64> = 1e-250..1e250;

/// Solves into `step` if that is good to the last digits that the columns' condition leaves; says whether it is.
pub(super) fn solve(system: &System, step: &mut [f64]) -> bool {
    let (jacobian, n) = (&system.jacobian, system.jacobian.cols);
    let full = jacobian.values.len() == n * jacobian.rows();
    if !full || jacobian.rows() < LEAST_ROWS || !(1..=MOST_COLUMNS).contains(&n) || system.frozen.contains(&true) {
        return false;
    }
    let width = n + 1;
    let mut factor = vec![0.0; n * width];
    gram(jacobian.values, system.residuals, n, &mut factor);
    let mut scales = Vec::with_capacity(n);
    for (k, damping) in system.damping.iter().enumerate() {
        factor[k * width + k] += damping;
        let square = factor[k * width + k];
        if !SQUARES.contains(&square) {
            return false;
        }
        scales.push(square.sqrt().recip());
    }
    let side: Vec<f64> = (0..n).map(|k| -factor[k * width + n]).list();
    if !factorise(&mut factor, &scales) {
        return false;
    }
    let first = substitute(&factor, &scales, &side);
    let mut side = vec![0.0; n];
    residual_product(jacobian.values, system.residuals, &first, &mut side);
    for ((side, damping), first) in side.iter_mut().zip(system.damping).zip(&first) {
        *side = -*side - damping * first;
    }
    let correction = substitute(&factor, &scales, &side);
    let size = |x: &[f64]| x.iter().zip(&scales).map(|(x, scale)| (x / scale).powi(2)).sum::<f64>().sqrt();
    for ((step, first), correction) in step.iter_mut().zip(&first).zip(&correction) {
        *step = first + correction;
    }
    // False of a NaN too.
    size(&correction) <= MOST_CORRECTION * size(&first)
}

/// Rᵀ in place of the lower half of a matrix, whose columns are brought to unit length; the diagonal is stored inverse.
fn factorise(matrix: &mut [f64], scales: &[f64]) -> bool {
    let width = scales.len() + 1;
    for i in 0..scales.len() {
        for j in 0..=i {
            let mut entry = matrix[i * width + j] * scales[i] * scales[j];
            for k in 0..j {
                entry -= matrix[i * width + k] * matrix[j * width + k];
            }
            matrix[i * width + j] = if j < i {
                entry * matrix[j * width + j]
            } else if entry > LEAST_PIVOT {
                entry.sqrt().recip()
            } else {
                return false;
            };
        }
    }
    true
}

/// The solution of RᵀR x = b, in and out of the scale of unit columns.
fn substitute(factor: &[f64], scales: &[f64], b: &[f64]) -> Vec<f64> {
    let (n, width) = (scales.len(), scales.len() + 1);
    let mut x: Vec<f64> = b.iter().zip(scales).map(|(b, scale)| b * scale).list();
    for i in 0..n {
        for k in 0..i {
            x[i] -= factor[i * width + k] * x[k];
        }
        x[i] *= factor[i * width + i];
    }
    for i in (0..n).rev() {
        for k in i + 1..n {
            x[i] -= factor[k * width + i] * x[k];
        }
        x[i] *= factor[i * width + i];
    }
    x.iter_mut().zip(scales).for_each(|(x, scale)| *x *= scale);
    x
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
