//! A damped step of few parameters from their normal equations, (J̃ᵀJ̃ + diag(d)) δ = −J̃ᵀr̃, where J̃ᵀJ̃ is small, known in full, and all
//! that is known of J̃: rows without number have been added up to it, and were never written.
//!
//! Sums are rounded, J̃ᵀJ̃ has the condition of J̃ squared, and so such a step is worse than one from the rows. When that does not matter is
//! decided here, and rests on what a step of Levenberg-Marquardt is for:
//!
//! - Where a run ends is where J̃ᵀr̃ is zero, and J̃ᵀr̃ is the same sum whether rows are kept or not. A relative error η of the steps leaves that
//!   point where it is. Near it an error e of the parameters becomes (ϱ + η) e in place of ϱ e, where ϱ is what the Gauss-Newton model neglects:
//!   with η = 10⁻⁶ no fit takes a step more that would have shown in the last digits.
//! - What the model promises, −δᵀg − ½ δᵀJ̃ᵀJ̃δ, is true of any δ, an inexact one as well. Its relative error is that of the quadratic form along
//!   δ, which the same figure bounds: at η = 10⁻⁶ the gain ratio has six digits, of which the rules ask for one.
//!
//! With columns brought to unit length (van der Sluis, Numerische Mathematik 14, 1969: no scaling has a much better condition) and N rows, the
//! sums' errors are taken as independent, each sum's √N roundings. Then η ≤ n √N 2⁻⁵³ ‖A⁻¹‖ for the scaled matrix A (Higham, Accuracy and
//! Stability of Numerical Algorithms, 2nd ed., theorems 7.2 and 10.4), and ‖A⁻¹‖ ≤ tr A⁻¹ = ‖L⁻¹‖² in Frobenius' norm, which costs n³/6 more
//! from the Cholesky factor L. So this is no guess from pivots, which can miss a small singular value (Kahan's matrix). Beyond 10⁻⁶ [`solve`]
//! refuses, and a step needs rows: of five columns from a condition of some 10³ on where there are a million, three times that for ten thousand.

use super::pcg::Normal;
use super::system::Trouble;
use crate::list::Listed;

/// With more columns than this, sums of products take longer than the reading of rows that they spare.
pub const MOST_COLUMNS: usize = 16;
/// The relative error that a step may have.
const MOST_ERROR: f64 = 1e-6;
/// What is left of a unit column beside those before it, squared: below, rounding has most of it.
const LEAST_PIVOT: f64 = 1e-10;
/// Squares of lengths between which none of their parts that count has overflowed or vanished.
const SQUARES: std::ops::Range<f64> = 1e-250..1e250;

/// Solves into `step`, where `normal` has all coordinates in one block and comes from so many rows.
///
/// # Errors
/// [`Trouble::IllConditioned`] where that would not be as good as it has to be.
pub fn solve(normal: &Normal, rows: usize, step: &mut [f64]) -> Result<(), Trouble> {
    let free: Vec<usize> = (0..step.len()).filter(|&column| !normal.frozen[column]).list();
    let (n, all) = (free.len(), step.len());
    let mut factor = Factor::new(n);
    let mut side = Vec::with_capacity(n);
    for (row, &i) in free.iter().enumerate() {
        for (column, &j) in free[..=row].iter().enumerate() {
            factor.entries[row * factor.stride + column] = normal.curvature[i * all + j];
        }
        factor.entries[row * factor.stride + row] += normal.damping[i];
        side.push(-normal.gradient[i]);
    }
    let unit = f64::EPSILON / 2.0;
    let most = MOST_ERROR / (n as f64 * (rows as f64).sqrt() * unit);
    // False of a NaN too.
    if !(factor.factorise() && factor.inverse_trace() <= most) {
        return Err(Trouble::IllConditioned);
    }
    step.fill(0.0);
    for (&i, number) in free.iter().zip(factor.substitute(&side)) {
        step[i] = number;
    }
    Ok(())
}

/// A symmetric matrix, its lower half row after row, and Cholesky's factor L of it with columns brought to unit length.
pub(super) struct Factor {
    /// The matrix, and then L, whose diagonal is stored inverse.
    pub(super) entries: Vec<f64>,
    /// From row to row, of which there is one less.
    pub(super) stride: usize,
    /// The inverse lengths of columns.
    pub(super) scales: Vec<f64>,
}

impl Factor {
    /// For so many rows, each with room for one number more.
    pub(super) fn new(n: usize) -> Factor {
        Factor { entries: vec![0.0; n * (n + 1)], stride: n + 1, scales: Vec::with_capacity(n) }
    }

    /// Scales and factorises; says whether there is a factor.
    pub(super) fn factorise(&mut self) -> bool {
        let Factor { entries: matrix, stride, scales } = self;
        let stride = *stride;
        for i in 0..stride - 1 {
            let square = matrix[i * stride + i];
            if !SQUARES.contains(&square) {
                return false;
            }
            scales.push(square.sqrt().recip());
            for j in 0..=i {
                let mut entry = matrix[i * stride + j] * scales[i] * scales[j];
                for k in 0..j {
                    entry -= matrix[i * stride + k] * matrix[j * stride + k];
                }
                matrix[i * stride + j] = if j < i {
                    entry * matrix[j * stride + j]
                } else if entry > LEAST_PIVOT {
                    entry.sqrt().recip()
                } else {
                    return false;
                };
            }
        }
        true
    }

    /// The trace of the scaled matrix's inverse: the squares of L⁻¹, column after column.
    fn inverse_trace(&self) -> f64 {
        let n = self.stride - 1;
        let mut trace = 0.0;
        for column in 0..n {
            let mut x = vec![0.0; n];
            x[column] = 1.0;
            self.forward(&mut x, column);
            trace += x.iter().map(|x| x * x).sum::<f64>();
        }
        trace
    }

    /// L⁻¹x in place of x, which is zero before `first`.
    fn forward(&self, x: &mut [f64], first: usize) {
        for i in first..x.len() {
            for k in first..i {
                x[i] -= self.entries[i * self.stride + k] * x[k];
            }
            x[i] *= self.entries[i * self.stride + i];
        }
    }

    /// The solution for a right side, both in the scale of the matrix that was given.
    pub(super) fn substitute(&self, b: &[f64]) -> Vec<f64> {
        let mut x: Vec<f64> = b.iter().zip(&self.scales).map(|(b, scale)| b * scale).list();
        self.forward(&mut x, 0);
        for i in (0..x.len()).rev() {
            for k in i + 1..x.len() {
                x[i] -= self.entries[k * self.stride + i] * x[k];
            }
            x[i] *= self.entries[i * self.stride + i];
        }
        x.iter_mut().zip(&self.scales).for_each(|(x, scale)| *x *= scale);
        x
    }
}
