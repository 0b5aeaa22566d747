//! Which solver suits a problem, and why.

use super::cholesky::{Analysis, SparseCholesky, too_large};
use super::{DenseQr, LinearSolver, Pcg};
use crate::error::Result;

/// The solvers of linear systems.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Householder QR of the dense, stacked matrix.
    DenseQr,
    /// Cholesky factorisation of the sparse normal equations.
    SparseCholesky,
    /// Preconditioned conjugate gradients.
    Pcg,
}

impl Kind {
    /// As the public contract and the report call it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::DenseQr => "dense-qr",
            Kind::SparseCholesky => "sparse-cholesky",
            Kind::Pcg => "pcg",
        }
    }
}

/// So few parameters are always taken as dense: QR costs nothing then, and is the most accurate.
const FEW_PARAMETERS: usize = 64;
/// So few are taken as dense if J is rather full.
const DENSE_PARAMETERS: usize = 200;
/// That is what rather full means: this part of J's entries is there.
const DENSE_FILL: f64 = 0.3;
/// QR does about 2·rows·cols² operations; with this many rows·cols² it takes about half a second a step, and the normal equations less.
const MOST_QR_WORK: f64 = 2e8;
/// A factor of this many numbers takes 240 MB.
const MOST_FACTOR: f64 = 2e7;
/// A factorisation of this many multiplications takes some four seconds: 2·10⁸ took 0.14 s in Chromium's engine.
const MOST_MULTIPLICATIONS: f64 = 5e9;

/// Chooses for a pattern of `cols` columns; the sentence is for the report.
pub fn choose(cols: usize, row_offsets: &[u32], col_indices: &[u32]) -> Result<(LinearSolver, String)> {
    let rows = row_offsets.len().saturating_sub(1);
    let fill = col_indices.len() as f64 / (rows as f64 * cols as f64).max(1.0);
    let start = format!("{} parameters, J {} % filled", grouped(cols as u64), percent(fill));
    let small = cols <= FEW_PARAMETERS || (cols <= DENSE_PARAMETERS && fill >= DENSE_FILL);
    if small && rows as f64 * (cols as f64).powi(2) <= MOST_QR_WORK {
        return Ok((LinearSolver::DenseQr(DenseQr::new()), format!("dense QR: {start}")));
    }
    if let Some(why) = too_large(cols, row_offsets) {
        return Ok((LinearSolver::Pcg(Pcg::new()), format!("conjugate gradients: {start}, {why}")));
    }
    let analysis = Analysis::new(cols, row_offsets, col_indices)?;
    let length = analysis.factor_len();
    if length as f64 > MOST_FACTOR || analysis.multiplications() > MOST_MULTIPLICATIONS {
        let why = format!("a Cholesky factor would have {} numbers", grouped(length));
        return Ok((LinearSolver::Pcg(Pcg::new()), format!("conjugate gradients: {start}, {why}")));
    }
    let solver = LinearSolver::SparseCholesky(Box::new(SparseCholesky::new(analysis)?));
    Ok((solver, format!("sparse Cholesky: {start}, the factor has {} numbers", grouped(length))))
}

/// Makes the solver of a kind that the user asked for.
pub fn make(kind: Kind, cols: usize, row_offsets: &[u32], col_indices: &[u32]) -> Result<LinearSolver> {
    Ok(match kind {
        Kind::DenseQr => LinearSolver::DenseQr(DenseQr::new()),
        Kind::Pcg => LinearSolver::Pcg(Pcg::new()),
        Kind::SparseCholesky => {
            let analysis = Analysis::new(cols, row_offsets, col_indices)?;
            LinearSolver::SparseCholesky(Box::new(SparseCholesky::new(analysis)?))
        }
    })
}

/// With a comma every three digits.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (k, digit) in digits.chars().enumerate() {
        if k > 0 && (digits.len() - k).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A part of one in percent: whole numbers from 10 on, else two digits after the point.
fn percent(part: f64) -> String {
    let hundredths = (part * 1e4).round() as u64;
    if hundredths >= 1000 {
        return ((hundredths + 50) / 100).to_string();
    }
    format!("{}.{:02}", hundredths / 100, hundredths % 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_and_parts_are_in_percent() {
        assert_eq!([0, 999, 1000, 7_500_000].map(grouped), ["0", "999", "1,000", "7,500,000"]);
        assert_eq!([0.0, 0.0003, 0.0999, 0.1, 0.456, 1.0].map(percent), ["0.00", "0.03", "9.99", "10", "46", "100"]);
    }
}
