//! Dense QR of the stacked matrix [J̃; √d], for problems of few parameters.
//!
//! J̃ᵀJ̃ is never formed, so that a condition of 10⁸ costs 8 digits and not 16 (Björck, Numerical Methods for Least Squares Problems,
//! 1996, §2.4). Rows come in panels: a panel is put below the triangle R of the rows before it, and Householder reflections
//! (Golub and Van Loan, Matrix Computations, 4th ed., algorithm 5.1.1) make one triangle of both, so that memory is for a panel and R
//! however many rows there are. Columns are scaled to unit length first, so that a small number is compared with its own column.
//!
//! Where all rows are of the same few parameters, [`super::normal_equations`] come first, and rows are for what they refuse.

use crate::loops::{dot, subtract};
use residua_base::list::{Listed, PushAll};

use super::sparse::column_lengths;
use super::{System, Trouble};

/// Least squares by Householder QR.
#[derive(Clone, Debug, Default)]
pub struct DenseQr {
    /// How far the factorisation is.
    progress: Progress,
    /// Column after column, `stride` numbers each: R on top, a panel below; the last column is the right side.
    stack: Vec<f64>,
    stride: usize,
    lengths: Vec<f64>,
}

/// How far a factorisation is.
#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    /// The next row of J̃, and behind those of the damping.
    row: usize,
    /// The rows of the stack that are filled.
    filled: usize,
    /// The next column whose reflection is due, if the panel is full or nothing more will come.
    column: Option<usize>,
}

/// A panel has this many times as many rows as there are parameters, and at least [`LEAST_PANEL`]: the more, the less of the work goes
/// into R over and over.
const PANEL: usize = 4;
/// See [`PANEL`].
const LEAST_PANEL: usize = 64;
/// And at most so many: beyond, reflections of R are a small part of the work, and a panel of thousands of columns is memory.
const MOST_PANEL: usize = 2048;
/// Numbers of the stack that are cleared between two questions whether to go on.
const CLEARED: usize = 1 << 20;
/// The square of what is negligible relative to a column's unit length: below, the reflector's inverse would overflow.
const NEGLIGIBLE: f64 = 1e-280;

/// Rows of a panel beside so many columns.
fn panel(cols: usize) -> usize {
    (PANEL * cols).clamp(LEAST_PANEL, MOST_PANEL)
}

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

    /// An entry of R.
    pub(super) fn entry(&self, row: usize, column: usize) -> f64 {
        self.stack[column * self.stride + row]
    }

    /// An entry of Qᵀ(−r̃).
    pub(super) fn right(&self, row: usize) -> f64 {
        self.stack[self.lengths.len() * self.stride + row]
    }

    fn factorise(&mut self, system: &System) {
        self.begin(system);
        self.advance(system, f64::INFINITY);
    }

    /// How many numbers are stored for so many columns.
    pub fn stored_len(cols: usize) -> u64 {
        (cols + panel(cols)) as u64 * (cols as u64 + 1)
    }

    /// Begins a factorisation, for [`DenseQr::advance`].
    pub fn begin(&mut self, system: &System) {
        let n = system.jacobian.cols;
        self.scale(system);
        self.stride = n + panel(n);
        self.stack.clear();
        self.stack.reserve_exact(self.stride * (n + 1));
        self.progress = Progress { row: 0, filled: n, column: None };
    }

    /// Goes on with the same system for about so many multiplications; whether the factor is there.
    pub fn advance(&mut self, system: &System, multiplications: f64) -> bool {
        let n = system.jacobian.cols;
        let mut work = 0.0;
        let length = self.stride * (n + 1);
        while self.stack.len() < length {
            if work >= multiplications {
                return false;
            }
            let to = length.min(self.stack.len() + CLEARED);
            work += (to - self.stack.len()) as f64;
            self.stack.resize(to, 0.0);
        }
        loop {
            if self.progress.column.is_none() {
                work += self.fill(system, multiplications - work) as f64;
                if self.progress.filled < self.stride && self.progress.row < system.jacobian.rows() + n {
                    return false;
                }
                self.progress.column = Some(0);
            }
            let end = self.progress.filled;
            while let Some(column) = self.progress.column.filter(|&column| column < n) {
                if work >= multiplications {
                    return false;
                }
                self.reflect(column, end, n);
                work += 2.0 * (end - n) as f64 * (n - column) as f64;
                self.progress.column = Some(column + 1);
            }
            self.stack[n * self.stride + n..n * self.stride + end].fill(0.0);
            (self.progress.filled, self.progress.column) = (n, None);
            if self.progress.row >= system.jacobian.rows() + n {
                return true;
            }
        }
    }

    /// Fills the panel with the next rows, as far as there are any, and until there are so many entries; gives their number.
    fn fill(&mut self, system: &System, most: f64) -> usize {
        let (jacobian, stride) = (&system.jacobian, self.stride);
        let n = jacobian.cols;
        let mut entries = 0;
        while self.progress.row < jacobian.rows() + n && self.progress.filled < stride && entries as f64 <= most {
            let (row, filled) = (self.progress.row, self.progress.filled);
            self.progress.row += 1;
            if row < jacobian.rows() {
                if jacobian.range(row).is_empty() {
                    continue;
                }
                entries += jacobian.range(row).len();
                for (column, value) in jacobian.row(row) {
                    self.stack[column * stride + filled] += value * self.lengths[column];
                }
                self.stack[n * stride + filled] = -system.residuals[row];
            } else {
                let column = row - jacobian.rows();
                let damping = system.damping[column];
                if damping <= 0.0 || self.lengths[column] <= 0.0 {
                    continue;
                }
                self.stack[column * stride + filled] = damping.sqrt() * self.lengths[column];
            }
            self.progress.filled += 1;
        }
        entries
    }

    /// The inverse lengths of the stacked columns; 0 where a column is frozen, or nothing but zeros.
    fn scale(&mut self, system: &System) {
        let lengths = column_lengths(&system.jacobian, |column| system.damping[column].sqrt());
        self.lengths.clear();
        self.lengths.push_all(
            lengths.iter().zip(system.frozen).map(
                |(length, &frozen)| {
                    if frozen || *length == 0.0 { 0.0 } else { length.recip() }
                },
            ),
        );
    }

    /// Reflects column `k` of R and the panel's rows up to `end` onto row `k`, and the columns behind with it. The panel's part of it becomes 0.
    fn reflect(&mut self, k: usize, end: usize, n: usize) {
        let stride = self.stride;
        let (before, after) = self.stack.split_at_mut((k + 1) * stride);
        let column = &mut before[k * stride..];
        let below = &mut column[n..end];
        let tail = dot(below, below);
        if tail < NEGLIGIBLE {
            below.fill(0.0);
            return;
        }
        // R has zeros between row k and the panel, so that the reflection touches row k and the panel alone.
        let head = column[k];
        let norm = (head * head + tail).sqrt();
        let alpha = if head > 0.0 { -norm } else { norm };
        let first = head - alpha;
        let factor = -1.0 / (alpha * first);
        column[k] = alpha;
        let (_, reflector) = column.split_at_mut(n);
        let reflector = &mut reflector[..end - n];
        for other in after.chunks_exact_mut(stride) {
            let (top, panel) = other.split_at_mut(n);
            let panel = &mut panel[..end - n];
            let product = (first * top[k] + dot(reflector, panel)) * factor;
            top[k] -= product * first;
            subtract(product, reflector, panel);
        }
        reflector.fill(0.0);
    }

    /// δ from R δ = Qᵀ(−r̃), and out of the scale of unit columns.
    pub fn substitute(&self, n: usize, step: &mut [f64]) -> Result<(), Trouble> {
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
