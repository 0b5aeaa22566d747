//! A damped step of few parameters from their normal equations, (J̃ᵀJ̃ + diag(d)) δ = −J̃ᵀr̃, where J̃ᵀJ̃ is small, known in full, and all
//! that is known of J̃: rows without number have been added up to it, and were never written.
//!
//! Sums are rounded, J̃ᵀJ̃ has the condition of J̃ squared, and so such a step is worse than one from the rows. When that does not matter is
//! decided here, and rests on what a step of Levenberg-Marquardt is for:
//!
//! - Where a run ends is where J̃ᵀr̃ is zero, and J̃ᵀr̃ is the same sum whether rows are kept or not: its rounding leaves the parameters an error of the
//!   condition's square times that of r̃, which is what the problem's sensitivity leaves them, reflections or not (Björck, Numerical Methods for
//!   Least Squares Problems, 1996, §1.4). A relative error η of the steps moves that point nowhere. Near it an error e of the parameters becomes
//!   (ϱ + η) e in place of ϱ e, where ϱ is what the Gauss-Newton model neglects: at η = 10⁻⁶ few fits take one step more.
//! - The predicted reduction, −δᵀg − ½ δᵀJ̃ᵀJ̃δ, is true of any δ, an inexact one as well. Its relative error is that of the quadratic form along
//!   δ, which the same figure bounds: at η = 10⁻⁶ the gain ratio has six digits, of which the rules ask for one.
//!
//! With columns brought to unit length (van der Sluis, Numerische Mathematik 14, 1969: no scaling has a much better condition) and N rows, the
//! sums' errors are taken as independent, each sum's √N roundings. Then η ≤ n √N 2⁻⁵³ ‖A⁻¹‖ for the scaled matrix A (Higham, Accuracy and
//! Stability of Numerical Algorithms, 2nd ed., theorems 7.2 and 10.4), and ‖A⁻¹‖ ≤ tr A⁻¹ = ‖L⁻¹‖² in Frobenius' norm, which costs n³/6 more
//! from the Cholesky factor L. So this is no guess from pivots, which can miss a small singular value (Kahan's matrix). Beyond 10⁻⁶ [`solve`]
//! refuses, and a step needs rows: of five columns from a condition of some 10³ on where there are a million, three times that for ten thousand.

use super::pcg::NormalProducts;
use super::sparse::SparseMatrix;
use super::system::{System, Trouble};
use crate::loops::dense;

/// For fewer rows there is no choice: reflections of so few take some tenths of a millisecond at most, and are the most accurate.
pub const LEAST_ROWS: usize = 512;
/// With more columns than this, sums of products take longer than the reading of rows that they spare.
pub const MOST_COLUMNS: usize = 16;
/// The relative error that a step may have.
const MOST_ERROR: f64 = 1e-6;
/// The same for a step that is to be as good as one by reflections.
const TEN_DIGITS: f64 = 1e-10;
/// Between so many columns a sparse J̃ is added up: reflections of fewer take no longer, and more take a sparse factorisation.
const LEAST_COLUMNS: usize = 16;
const MOST_SPARSE_COLUMNS: usize = 64;
/// The square of a unit column's distance from those before it. Below this, most of it is rounding.
const LEAST_PIVOT: f64 = 1e-10;
/// Squares of lengths between which none of their parts that count has overflowed or vanished.
const SQUARES: std::ops::Range<f64> = 1e-250..1e250;

/// Solves into `step`, where `normal` has all coordinates in one block and comes from so many rows.
///
/// # Errors
/// [`Trouble::IllConditioned`] where that would not be as good as it has to be.
pub fn solve(normal: &NormalProducts, rows: usize, step: &mut [f64]) -> Result<(), Trouble> {
    solve_to(MOST_ERROR, normal, rows, step)
}

/// Solves into `step` from few rows with a sparse J̃, as well as reflections to ten digits and in a third of their time. `false` where that is
/// not so, or not worth it.
pub fn solve_rows(system: &System, step: &mut [f64]) -> bool {
    let (jacobian, n) = (&system.jacobian, step.len());
    if !(LEAST_COLUMNS..=MOST_SPARSE_COLUMNS).contains(&n) {
        return false;
    }
    let mut gradient = vec![0.0; n];
    jacobian.add_transposed_times(system.residuals, &mut gradient);
    let jtj_blocks = products(jacobian);
    let System { damping, frozen, .. } = *system;
    let normal = NormalProducts { gradient: &gradient, jtj_blocks: &jtj_blocks, damping, frozen };
    solve_to(TEN_DIGITS, &normal, jacobian.rows(), step).is_ok()
}

/// The lower half of J̃ᵀJ̃, row after row; the other half is 0.
pub fn products(jacobian: &SparseMatrix) -> Vec<f64> {
    let n = jacobian.cols;
    let mut products = vec![0.0; n * n];
    dense::add_products(jacobian.row_offsets, jacobian.col_indices, jacobian.values, n, &mut products);
    products
}

/// Whether the trace of the inverse of a symmetric matrix, of which the lower half counts, is at most `most` once its rows and columns have unit
/// length and those that are frozen are left out. `false` also where the matrix has hardly an inverse.
pub fn is_well_conditioned(matrix: Vec<f64>, frozen: &[bool], most: f64) -> bool {
    let mut factor = ScaledCholesky { n: frozen.len(), entries: matrix, scales: Vec::with_capacity(frozen.len()) };
    for i in (0..factor.n).filter(|&i| frozen[i]) {
        factor.leave_out(i);
    }
    factor.factorise() && factor.has_inverse_trace_within(most)
}

/// The trace of the inverse of a matrix of unit columns, up to which steps from it are good enough for a trust region, where it is a sum over so many rows.
pub fn most_trace_of_sums(n: usize, rows: usize) -> f64 {
    most_trace(MOST_ERROR, n, rows)
}

/// The trace of the inverse of a matrix of unit columns, up to which steps have such an error.
fn most_trace(most_error: f64, n: usize, rows: usize) -> f64 {
    most_error / (n as f64 * (rows as f64).sqrt() * (f64::EPSILON / 2.0))
}

fn solve_to(most_error: f64, normal: &NormalProducts, rows: usize, step: &mut [f64]) -> Result<(), Trouble> {
    let n = step.len();
    let mut factor = ScaledCholesky { n, entries: normal.jtj_blocks.to_vec(), scales: Vec::with_capacity(n) };
    for (i, number) in step.iter_mut().enumerate() {
        factor.entries[i * n + i] += normal.damping[i];
        *number = -normal.gradient[i];
        if normal.frozen[i] {
            factor.leave_out(i);
            *number = 0.0;
        }
    }
    // False of a NaN too.
    if !(factor.factorise() && factor.has_inverse_trace_within(most_trace(most_error, n, rows))) {
        return Err(Trouble::IllConditioned);
    }
    factor.substitute(step);
    Ok(())
}

/// A symmetric matrix, its lower half row after row, and Cholesky's factor L of it with columns brought to unit length.
#[derive(Default)]
pub(super) struct ScaledCholesky {
    /// How many rows.
    n: usize,
    /// The matrix, and then L, whose diagonal is stored inverse.
    entries: Vec<f64>,
    /// The inverse lengths of columns.
    scales: Vec<f64>,
}

impl ScaledCholesky {
    /// Factorises a matrix that is a sum over so many rows, of which the lower half counts, with some rows and columns left out. `false` where steps from it
    /// are not good enough for a trust region.
    pub(super) fn take_sums(&mut self, n: usize, jtj: &[f64], rows: usize, left_out: impl Fn(usize) -> bool) -> bool {
        self.n = n;
        self.entries.clear();
        self.entries.extend_from_slice(jtj);
        self.scales.clear();
        (0..n).filter(|&i| left_out(i)).for_each(|i| self.leave_out(i));
        self.factorise() && self.has_inverse_trace_within(most_trace_of_sums(n, rows))
    }

    /// The entry of Lᵀ in the scale of the matrix that was given.
    pub(super) fn upper(&self, row: usize, column: usize) -> f64 {
        let entry = self.entries[column * self.n + row];
        (if row == column { 1.0 / entry } else { entry }) / self.scales[column]
    }

    /// Gives a coordinate the row and the column of the unit matrix.
    fn leave_out(&mut self, i: usize) {
        let ScaledCholesky { n, entries, .. } = self;
        for j in 0..*n {
            entries[i * *n + j] = 0.0;
            entries[j * *n + i] = 0.0;
        }
        entries[i * *n + i] = 1.0;
    }

    /// Scales and factorises; says whether there is a factor.
    fn factorise(&mut self) -> bool {
        let ScaledCholesky { n, entries, scales } = self;
        for i in 0..*n {
            let square = entries[i * *n + i];
            if !SQUARES.contains(&square) {
                return false;
            }
            scales.push(square.sqrt().recip());
        }
        dense::factorise(entries, scales, LEAST_PIVOT)
    }

    /// Whether the trace of the scaled matrix's inverse, the squares of L⁻¹, is at most this. False of a NaN.
    fn has_inverse_trace_within(&self, most: f64) -> bool {
        let ScaledCholesky { n, entries, .. } = self;
        dense::inverse_squares_bound(entries, *n) <= most || dense::inverse_squares(entries, *n) <= most
    }

    /// The solution in place of a right side, both in the scale of the matrix that was given.
    fn substitute(&self, x: &mut [f64]) {
        let rescale = |x: &mut [f64]| x.iter_mut().zip(&self.scales).for_each(|(x, scale)| *x *= scale);
        rescale(x);
        dense::substitute(&self.entries, x);
        rescale(x);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{DenseQr, SparseMatrix, System};
    use super::*;

    const ROWS: usize = 1003;

    /// Powers of t, sampled between two ends, and a sine, neither even nor odd, as the right side: J̃ and r̃.
    fn fit(cols: usize, ends: [f64; 2]) -> (Vec<f64>, Vec<f64>) {
        let t = |row: usize| ends[0] + (ends[1] - ends[0]) * row as f64 / (ROWS - 1) as f64;
        let values = (0..ROWS).flat_map(|row| (0..cols).map(move |k| 1e3f64.powi(k as i32) * t(row).powi(k as i32)));
        (values.collect(), (0..ROWS).map(|row| (3.0 * t(row) + 0.5).sin()).collect())
    }

    /// J̃ᵀJ̃, its lower half, and J̃ᵀr̃.
    fn sums(values: &[f64], residuals: &[f64], cols: usize) -> (Vec<f64>, Vec<f64>) {
        let (mut jtj_blocks, mut gradient) = (vec![0.0; cols * cols], vec![0.0; cols]);
        for (row, r) in values.chunks_exact(cols).zip(residuals) {
            for i in 0..cols {
                gradient[i] += row[i] * r;
                (0..=i).for_each(|j| jtj_blocks[i * cols + j] += row[i] * row[j]);
            }
        }
        (jtj_blocks, gradient)
    }

    /// The step by reflections of the rows, in which nothing is squared.
    fn by_rows(values: &[f64], residuals: &[f64], damping: &[f64], frozen: &[bool]) -> Vec<f64> {
        let cols = damping.len();
        let offsets: Vec<u32> = (0..=ROWS).map(|row| (row * cols) as u32).collect();
        let columns: Vec<u32> = (0..ROWS).flat_map(|_| 0..cols as u32).collect();
        let jacobian = SparseMatrix { cols, row_offsets: &offsets, col_indices: &columns, values };
        let mut step = vec![0.0; cols];
        DenseQr::new().solve(&System { jacobian, residuals, damping, frozen }, &mut step).unwrap();
        step
    }

    /// ‖a − b‖/‖b‖ where columns have unit length.
    fn error(a: &[f64], b: &[f64], jtj_blocks: &[f64]) -> f64 {
        let n = a.len();
        let size = |x: &dyn Fn(usize) -> f64| (0..n).map(|k| x(k).powi(2) * jtj_blocks[k * n + k]).sum::<f64>().sqrt();
        size(&|k| a[k] - b[k]) / size(&|k| b[k])
    }

    #[test]
    fn a_step_is_as_good_as_promised_or_refused() {
        let (mut taken, mut refused, mut worst) = (0, 0, 0.0f64);
        for cols in 1..=MOST_COLUMNS {
            for (end, damping) in [(-1.0, 0.0), (0.0, 0.0), (0.5, 0.0), (0.9, 0.0), (0.99, 0.0), (0.0, 1e-3)] {
                let (values, residuals) = fit(cols, [end, 1.0]);
                let (jtj_blocks, gradient) = sums(&values, &residuals, cols);
                let damping: Vec<f64> = (0..cols).map(|k| damping * jtj_blocks[k * cols + k]).collect();
                let frozen = vec![false; cols];
                let normal =
                    NormalProducts { gradient: &gradient, jtj_blocks: &jtj_blocks, damping: &damping, frozen: &frozen };
                let mut step = vec![0.0; cols];
                match solve(&normal, ROWS, &mut step) {
                    Ok(()) => {
                        taken += 1;
                        worst = worst.max(error(&step, &by_rows(&values, &residuals, &damping, &frozen), &jtj_blocks));
                    }
                    Err(trouble) => {
                        refused += 1;
                        assert_eq!(trouble, Trouble::IllConditioned);
                    }
                }
            }
        }
        assert!(worst < MOST_ERROR, "{worst}");
        // 16 powers on the unit interval have a condition of 1e12; damping brings it to 30.
        assert!(taken > 30 && refused > 30, "{taken} taken, {refused} refused");
    }

    #[test]
    fn a_sparse_system_is_solved_as_by_reflections_or_left_to_them() {
        // A chain of differences, of which the first number is held by a weight, and the sixth may be frozen.
        let solve = |n: usize, weight: f64, holds_one: bool| {
            let offsets: Vec<u32> = (0..=n as u32).map(|row| if row == 0 { 0 } else { 2 * row - 1 }).collect();
            let columns: Vec<u32> = [0].into_iter().chain((1..n as u32).flat_map(|row| [row - 1, row])).collect();
            let values: Vec<f64> = [weight].into_iter().chain((1..n).flat_map(|_| [-1.0, 1.0])).collect();
            let residuals: Vec<f64> = (0..n).map(|row| (3.0 * row as f64).sin()).collect();
            let jacobian = SparseMatrix { cols: n, row_offsets: &offsets, col_indices: &columns, values: &values };
            let mut frozen = vec![false; n];
            frozen[5] = holds_one;
            let damping = vec![1e-3 * weight * weight; n];
            let system = System { jacobian, residuals: &residuals, damping: &damping, frozen: &frozen };
            let (mut step, mut expected) = (vec![9.0; n], vec![0.0; n]);
            let solved = solve_rows(&system, &mut step);
            DenseQr::new().solve(&system, &mut expected).unwrap();
            (solved, step.iter().zip(&expected).fold(0.0, |most: f64, (a, b)| most.max((a - b).abs())), step[5])
        };
        for n in [LEAST_COLUMNS, 40, MOST_SPARSE_COLUMNS] {
            let (solved, error, frozen) = solve(n, 1.0, true);
            assert!(solved && error < 1e-9 && frozen == 0.0, "{n} columns: {error}");
            assert!(!solve(n, 1e-5, false).0, "{n} columns, of which the sum of all is hardly held");
        }
        assert!(!solve(LEAST_COLUMNS - 1, 1.0, true).0 && !solve(MOST_SPARSE_COLUMNS + 1, 1.0, true).0);
    }

    #[test]
    fn frozen_coordinates_stay_and_a_column_of_zeros_takes_its_damping() {
        let (mut values, residuals) = fit(4, [-1.0, 1.0]);
        values.chunks_exact_mut(4).for_each(|row| row[2] = 0.0);
        let (jtj_blocks, gradient) = sums(&values, &residuals, 4);
        let (damping, frozen) = ([1e-9; 4], [false, true, false, false]);
        let normal =
            NormalProducts { gradient: &gradient, jtj_blocks: &jtj_blocks, damping: &damping, frozen: &frozen };
        let mut step = [9.0; 4];
        solve(&normal, ROWS, &mut step).unwrap();
        assert_eq!((step[1], step[2]), (0.0, 0.0));
        let expected = by_rows(&values, &residuals, &damping, &frozen);
        // A condition below 10, and √N roundings.
        assert!(error(&step, &expected, &jtj_blocks) < 1e-12, "{step:?} {expected:?}");
        let all = NormalProducts { frozen: &[true; 4], ..normal };
        assert_eq!(solve(&all, ROWS, &mut step), Ok(()));
        assert_eq!(step, [0.0; 4]);
    }

    #[test]
    fn what_has_no_digits_is_refused() {
        let refused = |jtj_blocks: [f64; 4], damping: f64| {
            let normal = NormalProducts {
                gradient: &[1.0; 2],
                jtj_blocks: &jtj_blocks,
                damping: &[damping; 2],
                frozen: &[false; 2],
            };
            solve(&normal, 600, &mut [0.0; 2]) == Err(Trouble::IllConditioned)
        };
        assert!(!refused([1.0, 0.0, 0.5, 1.0], 0.0));
        // NaN, overflow, vanished squares, dependent columns, and what damping makes of these.
        for bad in [[f64::NAN, 0.0, 0.5, 1.0], [1.0, 0.0, f64::NAN, 1.0], [1.0, 0.0, 0.0, f64::INFINITY]] {
            assert!(refused(bad, 0.0), "{bad:?}");
        }
        for singular in [[0.0; 4], [1e-300, 0.0, 0.0, 1.0], [1.0, 0.0, 1.0, 1.0]] {
            assert!(refused(singular, 0.0) && !refused(singular, 1e-3), "{singular:?}");
        }
    }
}
