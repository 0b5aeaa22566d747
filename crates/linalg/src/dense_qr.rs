//! Dense QR of the stacked matrix [J̃; √d], for problems of few parameters.
//!
//! J̃ᵀJ̃ is never formed, so that a condition of 10⁸ costs 8 digits and not 16 (Björck, Numerical Methods for Least Squares Problems,
//! 1996, §2.4). Rows come in panels: a panel is put below the triangle R of the rows before it, and Householder reflections
//! (Golub and Van Loan, Matrix Computations, 4th ed., algorithm 5.1.1) make one triangle of both, so that memory is for a panel and R
//! however many rows there are. Columns are scaled to unit length first, so that a small number is compared with its own column.
//!
//! Where all rows are of the same few parameters, [`super::normal_equations`] come first, and rows are for what they refuse.

use crate::loops::{dot, subtract};
use residua_base::list::Listed;

use super::sparse::column_lengths;
use super::{System, Trouble};

/// Least squares by Householder QR.
#[derive(Clone, Debug, Default)]
pub struct DenseQr {
    /// Column after column, `stride` numbers each: R on top, a panel below; the last column is the right side.
    stack: Vec<f64>,
    stride: usize,
    lengths: Vec<f64>,
}

/// A panel has this many times as many rows as there are parameters, and at least [`LEAST_PANEL`]: the more, the less of the work goes
/// into R over and over.
const PANEL: usize = 4;
/// See [`PANEL`].
const LEAST_PANEL: usize = 64;
/// The square of what is negligible relative to a column's unit length: below, the reflector's inverse would overflow.
const NEGLIGIBLE: f64 = 1e-280;

impl DenseQr {
    /// A solver; it takes its memory when it first solves.
    pub fn new() -> DenseQr {
        DenseQr::default()
    }

    /// Solves into `step`.
    pub fn solve(&mut self, system: &System, step: &mut [f64]) -> Result<(), Trouble> {
        self.factorise(system);
        self.substitute(system.jacobian.cols, step)
    }

    /// R of the stacked matrix whose columns have unit length, row after row; frozen columns are 0.
    pub(super) fn triangle(&mut self, system: &System) -> Vec<f64> {
        self.factorise(system);
        let n = system.jacobian.cols;
        (0..n * n).map(|entry| self.stack[entry % n * self.stride + entry / n]).list()
    }

    /// The inverse lengths of the stacked columns, as the last call found them; 0 for frozen columns and for zeros.
    pub(super) fn inverse_lengths(&self) -> &[f64] {
        &self.lengths
    }

    fn factorise(&mut self, system: &System) {
        let (jacobian, n) = (&system.jacobian, system.jacobian.cols);
        self.scale(system);
        let panel = (PANEL * n).max(LEAST_PANEL);
        self.stride = n + panel;
        self.stack.clear();
        self.stack.resize(self.stride * (n + 1), 0.0);
        let stride = self.stride;
        let mut filled = n;
        for row in 0..jacobian.rows() {
            if jacobian.range(row).is_empty() {
                continue;
            }
            for (column, value) in jacobian.row(row) {
                self.stack[column * stride + filled] += value * self.lengths[column];
            }
            self.stack[n * stride + filled] = -system.residuals[row];
            filled = self.advance(filled, n);
        }
        for (column, &damping) in system.damping.iter().enumerate() {
            if damping > 0.0 && self.lengths[column] > 0.0 {
                self.stack[column * stride + filled] = damping.sqrt() * self.lengths[column];
                filled = self.advance(filled, n);
            }
        }
        self.triangularise(filled, n);
    }

    /// The inverse lengths of the stacked columns; 0 where a column is frozen, or nothing but zeros.
    fn scale(&mut self, system: &System) {
        let lengths = column_lengths(&system.jacobian, |column| system.damping[column].sqrt());
        self.lengths.clear();
        self.lengths.extend(
            lengths.iter().zip(system.frozen).map(
                |(length, &frozen)| {
                    if frozen || *length == 0.0 { 0.0 } else { length.recip() }
                },
            ),
        );
    }

    /// Goes to the next row, and to the top of the panel when it is full.
    fn advance(&mut self, filled: usize, n: usize) -> usize {
        if filled + 1 < self.stride {
            return filled + 1;
        }
        self.triangularise(self.stride, n);
        n
    }

    /// Makes one triangle of R and the panel's rows up to `end`, and clears the panel.
    fn triangularise(&mut self, end: usize, n: usize) {
        let stride = self.stride;
        let mut reflector = vec![0.0; end - n];
        for k in 0..n {
            let (before, after) = self.stack.split_at_mut((k + 1) * stride);
            let column = &mut before[k * stride..];
            let below = &mut column[n..end];
            let tail = dot(below, below);
            if tail < NEGLIGIBLE {
                below.fill(0.0);
                continue;
            }
            // R has zeros between row k and the panel, so that the reflection touches row k and the panel alone.
            let head = column[k];
            let norm = (head * head + tail).sqrt();
            let alpha = if head > 0.0 { -norm } else { norm };
            reflector.copy_from_slice(&column[n..end]);
            let first = head - alpha;
            let factor = -1.0 / (alpha * first);
            column[k] = alpha;
            column[n..end].fill(0.0);
            for other in after.chunks_exact_mut(stride) {
                let (top, panel) = other.split_at_mut(n);
                let panel = &mut panel[..end - n];
                let product = (first * top[k] + dot(&reflector, panel)) * factor;
                top[k] -= product * first;
                subtract(product, &reflector, panel);
            }
        }
        self.stack[n * stride + n..n * stride + end].fill(0.0);
    }

    /// δ from R δ = Qᵀ(−r̃), and out of the scale of unit columns.
    fn substitute(&self, n: usize, step: &mut [f64]) -> Result<(), Trouble> {
        step.fill(0.0);
        let stride = self.stride;
        let mut right: Vec<f64> = self.stack[n * stride..n * stride + n].to_vec();
        // Columns have unit length, so that a diagonal this small is what rounding leaves of zero.
        let least = f64::EPSILON * n as f64;
        for k in (0..n).rev() {
            if self.lengths[k] == 0.0 {
                continue;
            }
            let column = &self.stack[k * stride..k * stride + n];
            if column[k].is_nan() || column[k].abs() <= least {
                return Err(Trouble::NotPositiveDefinite);
            }
            let value = right[k] / column[k];
            for (right, entry) in right[..k].iter_mut().zip(column) {
                *right -= entry * value;
            }
            step[k] = value * self.lengths[k];
        }
        Ok(())
    }
}
