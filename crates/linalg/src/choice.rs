//! Which solver suits a problem, and why.

use super::cholesky::{Analysis, Complement, SparseCholesky, too_large};
use super::{CoordinateBlocks, DenseQr, IterativeSchur, LinearSolver, Pcg};
use residua_base::error::{Error, ErrorCode, Result};

/// The solvers of linear systems.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Householder QR of the dense, stacked matrix.
    DenseQr,
    /// Cholesky factorisation of the sparse normal equations.
    SparseCholesky,
    /// The same with independent blocks eliminated first, and a sparse Schur complement.
    SparseSchur,
    /// The same with a dense Schur complement.
    DenseSchur,
    /// Conjugate gradients on the Schur complement, which is not formed.
    IterativeSchur,
    /// Preconditioned conjugate gradients.
    Pcg,
}

impl Kind {
    /// Whether it iterates on systems instead of factorising their matrices.
    pub fn is_iterative(self) -> bool {
        matches!(self, Kind::IterativeSchur | Kind::Pcg)
    }

    /// As the public contract and the report call it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::DenseQr => "dense-qr",
            Kind::SparseCholesky => "sparse-cholesky",
            Kind::SparseSchur => "sparse-schur",
            Kind::DenseSchur => "dense-schur",
            Kind::IterativeSchur => "iterative-schur",
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
/// Dense QR stores at most so many: 400 MB, for some 6,100 columns.
const MOST_QR: u64 = 50_000_000;
/// A factor of this many numbers takes 240 MB.
const MOST_FACTOR: f64 = 2e7;
/// A factorisation of this many multiplications takes some two seconds in Node, which makes six a nanosecond.
const MOST_MULTIPLICATIONS: f64 = 1e10;

/// Conjugate gradients are not tried before a factorisation of fewer multiplications, which takes some thirty microseconds at most.
const LEAST_TRIED: f64 = 1.5e5;
/// With at least so many multiplications they are tried in the first solve of a session already. With fewer, the kernels of products can take longer to
/// compile than one solve saves: that solve took a third longer on a chain of 1,661 poses. Later solves of the session try them.
const LEAST_COMPILED: f64 = 1e7;
/// They are not tried before a factorisation that takes the time of fewer iterations than this.
const LEAST_ITERATIONS: f64 = 32.0;
/// Multiplications that an iteration does, in the time that they take, for each parameter beside two for each entry of J.
const ITERATION_VECTORS: f64 = 13.0;
/// A multiplication of a factorisation takes as long as so many of an iteration, on springs, pose graphs and bundle adjustments.
const FACTOR_PACE: f64 = 0.5;
/// So does a product of two entries of a row, of which J̃ᵀJ̃ is made, with its part of making the rows.
const PRODUCT_PACE: f64 = 6.0;

/// A solver, and why it.
pub struct SolverChoice {
    /// What solves.
    pub solver: LinearSolver,
    /// For the report.
    pub why: String,
    /// Conjugate gradients may be faster than `solver`, and nothing but their convergence says whether they are.
    pub trial: Option<IterativeTrial>,
}

/// Conjugate gradients before a factorisation. With so many iterations at most no more is lost than two factorisations take, once; what is gained
/// has no bound: 50 cameras that see 10,000 points take 11 iterations a system where a factorisation takes as long as 95.
#[derive(Clone)]
pub struct IterativeTrial {
    /// So many iterations take as long as a factorisation.
    pub iterations: usize,
    /// Whether it pays in the first solve of a session, too.
    pub pays_at_once: bool,
    /// For the report.
    pub why: String,
}

/// Chooses for a pattern of `cols` columns.
pub fn choose(
    cols: usize,
    row_offsets: &[u32],
    col_indices: &[u32],
    blocks: &CoordinateBlocks,
) -> Result<SolverChoice> {
    let plain = |solver, why| Ok(SolverChoice { solver, why, trial: None });
    let rows = row_offsets.len().saturating_sub(1);
    let fill = col_indices.len() as f64 / (rows as f64 * cols as f64).max(1.0);
    let start = format!("{} parameters, J {} % filled", grouped(cols as u64), percent(fill));
    let small = cols <= FEW_PARAMETERS || (cols <= DENSE_PARAMETERS && fill >= DENSE_FILL);
    if small && rows as f64 * (cols as f64).powi(2) <= MOST_QR_WORK {
        return plain(LinearSolver::DenseQr(DenseQr::new()), format!("dense QR: {start}"));
    }
    if let Some(why) = too_large(cols, row_offsets) {
        return plain(LinearSolver::Pcg(Pcg::new()), format!("conjugate gradients: {start}, {why}"));
    }
    // The columns of the longest row alone are as much of a factor, so that J̃ᵀJ̃ need not be formed.
    let longest = row_offsets.windows(2).map(|ends| ends[1] - ends[0]).max().map_or(0.0, f64::from);
    let least = (longest * (longest + 1.0) / 2.0) as u64;
    if let Some(why) = too_costly(least, longest.powi(3) / 6.0, "at least ") {
        return plain(LinearSolver::Pcg(Pcg::new()), format!("conjugate gradients: {start}, {why}"));
    }
    let analysis = Analysis::new(cols, row_offsets, col_indices, blocks, Complement::DenseIfSmall)?;
    let name = if analysis.eliminated().is_some() { "dense Schur complement" } else { "sparse Cholesky" };
    let length = analysis.factor_len();
    let eliminated = analysis.eliminated().map_or_else(String::new, |eliminated| eliminated.in_words(cols));
    if let Some(why) = too_costly(length, analysis.multiplications(), "") {
        return plain(LinearSolver::Pcg(Pcg::new()), format!("conjugate gradients: {start}, {why}"));
    }
    let products = row_offsets.windows(2).map(|ends| f64::from(ends[1] - ends[0]).powi(2)).sum();
    let trial = worth_a_trial(cols, col_indices.len(), products, analysis.multiplications()).map(|iterations| IterativeTrial {
        iterations,
        pays_at_once: analysis.multiplications() >= LEAST_COMPILED,
        why: format!(
            "conjugate gradients: {start}, while they take at most {} iterations, which a Cholesky factor of {} numbers would be worth",
            grouped(iterations as u64),
            grouped(length)
        ),
    });
    let solver = LinearSolver::SparseCholesky(Box::new(SparseCholesky::new(analysis)?));
    Ok(SolverChoice {
        solver,
        why: format!("{name}: {start}{eliminated}, the factor has {} numbers", grouped(length)),
        trial,
    })
}

/// How many iterations of conjugate gradients take as long as a factorisation of so many products and multiplications, if those are worth a
/// trial.
fn worth_a_trial(cols: usize, entries: usize, products: f64, multiplications: f64) -> Option<usize> {
    let factorisation = FACTOR_PACE * multiplications + PRODUCT_PACE * products;
    let iterations = factorisation / (2.0 * entries as f64 + ITERATION_VECTORS * cols as f64);
    (multiplications >= LEAST_TRIED && iterations >= LEAST_ITERATIONS).then_some(iterations as usize)
}

/// Why a factor of so many numbers, made by so many multiplications, is not for a page, if it is not. `at_least`: what stands before the first
/// where it is a lower bound.
fn too_costly(length: u64, multiplications: f64, at_least: &str) -> Option<String> {
    (length as f64 > MOST_FACTOR || multiplications > MOST_MULTIPLICATIONS)
        .then(|| format!("a Cholesky factor would have {at_least}{} numbers", grouped(length)))
}

/// Makes the solver of a kind that the user asked for.
pub fn make(
    kind: Kind,
    cols: usize,
    row_offsets: &[u32],
    col_indices: &[u32],
    blocks: &CoordinateBlocks,
) -> Result<LinearSolver> {
    Ok(match kind {
        Kind::DenseQr => {
            let length = DenseQr::stored_len(cols);
            if length > MOST_QR {
                return Err(Error::new(
                    ErrorCode::LimitExceeded,
                    format!(
                        "dense QR would store {} numbers, and at most {} are stored",
                        grouped(length),
                        grouped(MOST_QR)
                    ),
                ));
            }
            LinearSolver::DenseQr(DenseQr::new())
        }
        Kind::Pcg => LinearSolver::Pcg(Pcg::new()),
        Kind::IterativeSchur => {
            LinearSolver::IterativeSchur(Box::new(IterativeSchur::new(cols, row_offsets, col_indices, blocks)?))
        }
        Kind::SparseCholesky | Kind::SparseSchur | Kind::DenseSchur => {
            let complement = match kind {
                Kind::SparseSchur => Complement::Sparse,
                Kind::DenseSchur => Complement::Dense,
                _ => Complement::None,
            };
            let analysis = Analysis::new(cols, row_offsets, col_indices, blocks, complement)?;
            if let (Kind::DenseSchur, true) = (kind, analysis.factor_len() as f64 > MOST_FACTOR) {
                let length = grouped(analysis.factor_len());
                return Err(Error::new(
                    ErrorCode::LimitExceeded,
                    format!(
                        "the factor with a dense Schur complement would have {length} numbers, and at most {} are stored",
                        grouped(MOST_FACTOR as u64)
                    ),
                ));
            }
            LinearSolver::SparseCholesky(Box::new(SparseCholesky::new(analysis)?))
        }
    })
}

/// With a comma every three digits.
pub fn grouped(number: u64) -> String {
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
    fn a_factor_may_be_too_large_or_take_too_long() {
        let says = |length| Some(format!("a Cholesky factor would have {length} numbers"));
        assert_eq!(too_costly(1_500_000, 2e8, ""), None);
        assert_eq!(too_costly(20_000_000, 1e10, ""), None, "limits are allowed");
        assert_eq!(too_costly(30_000_000, 2e8, ""), says("30,000,000"));
        assert_eq!(too_costly(15_000_000, 2e10, ""), says("15,000,000"));
    }

    #[test]
    fn solvers_have_the_names_of_the_contract() {
        assert_eq!(
            [Kind::DenseQr, Kind::SparseCholesky, Kind::SparseSchur, Kind::DenseSchur, Kind::IterativeSchur, Kind::Pcg]
                .map(Kind::name),
            ["dense-qr", "sparse-cholesky", "sparse-schur", "dense-schur", "iterative-schur", "pcg"]
        );
    }

    #[test]
    fn conjugate_gradients_are_tried_before_long_factorisations_of_sparse_matrices() {
        // Nets of springs with 400, 1,024 and 10,000 vertices; 50 cameras and 10,000 points; a matrix that is nearly full; few parameters.
        assert_eq!(worth_a_trial(1_200, 7_200, 4.6e4, 1.8e6), Some(39));
        assert_eq!(worth_a_trial(3_072, 17_900, 1.1e5, 5.32e6), Some(43));
        assert_eq!(worth_a_trial(30_000, 178_000, 1.1e6, 2.95e8), Some(206));
        assert_eq!(worth_a_trial(30_450, 1_440_000, 1.73e7, 1.9e8), Some(60));
        assert_eq!(worth_a_trial(500, 500_000, 1e6, 1.5e7), None);
        assert_eq!(worth_a_trial(100, 600, 3e3, 4e4), None);
    }

    #[test]
    fn numbers_are_grouped_and_parts_are_in_percent() {
        assert_eq!([0, 999, 1000, 7_500_000].map(grouped), ["0", "999", "1,000", "7,500,000"]);
        assert_eq!([0.0, 0.0003, 0.0999, 0.1, 0.456, 1.0].map(percent), ["0.00", "0.03", "9.99", "10", "46", "100"]);
    }
}
