//! What a matrix leaves free: its numerical rank, a basis of its null space, and the inverse of JᵀJ where there is none.
//!
//! Columns are scaled to unit length first, so that units of measurement play no part. A column then depends on others if its distance
//! from their span is at most the tolerance. Few columns are taken as dense: QR with column pivoting (Businger and Golub, 1965; Golub
//! and Van Loan, Matrix Computations, 4th ed., §5.4.2). For many, a sparse Cholesky factorisation of JᵀJ leaves out the columns whose
//! pivots rounding could have made; their distances are too small for squares to tell, and come from J itself by corrected seminormal
//! equations (Björck, 1987).

use super::cholesky::{Analysis, Complement, SparseCholesky};
use super::sparse::column_lengths;
use super::{CoordinateBlocks, DenseQr, SparseMatrix, System};
use residua_base::error::{Error, ErrorCode, Result};
use residua_base::list::{Listed, PushAll};

/// The distance below which a column counts as dependent by default. Rounding makes about 10⁻¹⁴ of 0, so that a distance below this
/// has few correct digits.
pub const TOLERANCE: f64 = 1e-10;

/// So many columns are taken as dense: the pivoted QR takes some 10⁸ operations then.
const DENSE_COLUMNS: usize = 400;
/// And if there are at most so many rows·cols².
const MOST_DENSE_WORK: f64 = 2e9;
/// A pivot of unit columns that JᵀJ cannot tell from 0: its rounding error is about 2⁻⁵² times the number of a column's entries.
const UNSURE_PIVOT: f64 = 1e-11;
/// The same of inexact columns, at most: more pivots than that would be of few columns that are all error.
const MOST_UNSURE_PIVOT: f64 = 1e-6;
/// A basis of a large null space may have so many numbers in all.
const MOST_BASIS_NUMBERS: usize = 20_000_000;

/// Rank and null space of a matrix without its frozen columns.
#[derive(Clone, Debug, PartialEq)]
pub struct NullSpace {
    /// Columns that are not frozen.
    pub columns: usize,
    /// How many of them are independent.
    pub rank: usize,
    /// A basis of the null space: `columns - rank` vectors with a number for each column, 0 at frozen ones, the largest number 1.
    pub basis: Vec<Vec<f64>>,
}

/// (JᵀJ)⁻¹ of independent columns, as a product with a vector.
pub struct Inverse {
    lengths: Vec<f64>,
    factor: Factor,
}

enum Factor {
    /// R, row after row.
    Dense(Vec<f64>),
    Sparse(Box<SparseCholesky>),
}

/// The null space, and the inverse of JᵀJ if the null space is empty and JᵀJ can be inverted in this arithmetic. `accuracy`: the error of each column relative to
/// its length, which is its tolerance where it is larger; none where all are exact but for rounding.
pub fn null_space(
    matrix: &SparseMatrix,
    frozen: &[bool],
    tolerance: f64,
    accuracy: &[f64],
) -> Result<(NullSpace, Option<Inverse>)> {
    let (rows, cols) = (matrix.rows(), matrix.cols);
    // Columns of nothing but zeros are free by themselves, and take no part in what follows.
    let lengths = column_lengths(matrix, |_| 0.0);
    let untouched = |k: usize| !frozen[k] && lengths[k] == 0.0;
    let mut basis: Vec<Vec<f64>> = (0..cols).filter(|&k| untouched(k)).map(|k| unit(cols, k)).list();
    let left_out: Vec<bool> = (0..cols).map(|k| frozen[k] || untouched(k)).list();
    let taken = left_out.iter().filter(|left_out| !**left_out).count();
    let columns = taken + basis.len();
    let tolerances = (0..cols).map(|k| accuracy.get(k).map_or(tolerance, |error| error.max(tolerance))).list();

    let inverse = if cols <= DENSE_COLUMNS && rows as f64 * (cols as f64).powi(2) <= MOST_DENSE_WORK {
        let zeros = vec![0.0; rows.max(cols)];
        let system =
            System { jacobian: *matrix, residuals: &zeros[..rows], damping: &zeros[..cols], frozen: &left_out };
        let mut qr = DenseQr::new();
        let triangle = qr.triangle(&system);
        let lengths = qr.inverse_lengths().to_vec();
        basis.push_all(dense_basis(triangle.clone(), &left_out, &tolerances));
        Some(Inverse { lengths, factor: Factor::Dense(triangle) })
    } else {
        let lengths = lengths.iter().zip(&left_out).map(|(l, &out)| if out { 0.0 } else { l.recip() }).list();
        let (of_dependent, inverse) = sparse_basis(matrix, &left_out, lengths, &tolerances)?;
        basis.push_all(of_dependent);
        inverse
    };
    // Out of the scale of unit columns.
    if let Some(Inverse { lengths, .. }) = &inverse {
        let zeros = columns - taken;
        basis[zeros..].iter_mut().for_each(|vector| vector.iter_mut().zip(lengths).for_each(|(v, l)| *v *= l));
    }
    basis.iter_mut().for_each(|vector| normalise(vector));
    let complete = basis.is_empty();
    Ok((NullSpace { columns, rank: columns - basis.len(), basis }, inverse.filter(|_| complete)))
}

fn unit(cols: usize, k: usize) -> Vec<f64> {
    let mut vector = vec![0.0; cols];
    vector[k] = 1.0;
    vector
}

/// Makes the number of the largest magnitude 1.
fn normalise(vector: &mut [f64]) {
    let largest = vector.iter().fold(0.0f64, |largest, &v| if v.abs() > largest.abs() { v } else { largest });
    if largest != 0.0 {
        vector.iter_mut().for_each(|v| *v /= largest);
    }
}

/// The null space of a triangle R of unit columns, row after row, by QR with column pivoting.
fn dense_basis(mut a: Vec<f64>, left_out: &[bool], tolerances: &[f64]) -> Vec<Vec<f64>> {
    let n = left_out.len();
    let mut order: Vec<usize> = (0..n).filter(|&k| !left_out[k]).list();
    let mut rank = 0;
    let mut reflector = vec![0.0; n];
    while rank < order.len() {
        // In units of their tolerances, so that exact columns come first.
        let rest = |k: usize| (rank..n).map(|row| a[row * n + k] * a[row * n + k]).sum::<f64>().sqrt() / tolerances[k];
        let rests: Vec<f64> = order[rank..].iter().map(|&k| rest(k)).list();
        let best = rests.iter().enumerate().fold(0, |best, (k, rest)| if *rest > rests[best] { k } else { best });
        if rests[best] <= 1.0 {
            break;
        }
        let length = rests[best] * tolerances[order[rank + best]];
        order.swap(rank, rank + best);
        let pivot = order[rank];
        for row in rank..n {
            reflector[row] = a[row * n + pivot];
        }
        let alpha = if reflector[rank] > 0.0 { -length } else { length };
        reflector[rank] -= alpha;
        let factor = -1.0 / (alpha * reflector[rank]);
        for &column in &order[rank..] {
            let product: f64 = (rank..n).map(|row| reflector[row] * a[row * n + column]).sum();
            for row in rank..n {
                a[row * n + column] -= factor * product * reflector[row];
            }
        }
        rank += 1;
    }
    // [R₁ R₂]: each column of R₂ is a combination of those of R₁.
    let of_dependent = |&dependent: &usize| {
        let mut vector = unit(n, dependent);
        for row in (0..rank).rev() {
            let known: f64 = a[row * n + dependent]
                + order[row + 1..rank].iter().map(|&column| a[row * n + column] * vector[column]).sum::<f64>();
            vector[order[row]] = -known / a[row * n + order[row]];
        }
        vector
    };
    order[rank..].iter().map(of_dependent).list()
}

/// The same for many columns, in the scale of unit columns; and the inverse. `None` if JᵀJ cannot be inverted in this arithmetic.
fn sparse_basis(
    matrix: &SparseMatrix,
    left_out: &[bool],
    lengths: Vec<f64>,
    tolerances: &[f64],
) -> Result<(Vec<Vec<f64>>, Option<Inverse>)> {
    let columns = matrix.col_indices.iter().map(|&column| column as usize);
    let scaled: Vec<f64> = matrix.values.iter().zip(columns).map(|(value, column)| value * lengths[column]).list();
    let matrix = SparseMatrix { values: &scaled, ..*matrix };
    let analysis = Analysis::new(
        matrix.cols,
        matrix.row_offsets,
        matrix.col_indices,
        &CoordinateBlocks::default(),
        Complement::None,
    )?;
    let mut cholesky = Box::new(SparseCholesky::new(analysis)?);
    let square = tolerances.iter().copied().fold(0.0, f64::max).powi(2);
    let unsure = cholesky.factorise_independent(&matrix, left_out, square.clamp(UNSURE_PIVOT, MOST_UNSURE_PIVOT));
    if unsure.len().saturating_mul(matrix.cols) > MOST_BASIS_NUMBERS {
        return Err(Error::new(
            ErrorCode::LimitExceeded,
            format!(
                "up to {} directions of {} parameters are free; a basis may have {MOST_BASIS_NUMBERS} numbers",
                unsure.len(),
                matrix.cols
            ),
        ));
    }
    let mut independent: Vec<bool> = left_out.iter().map(|out| !out).list();
    unsure.iter().for_each(|&k| independent[k] = false);
    let mut basis = Vec::new();
    for &k in &unsure {
        let mut vector = unit(matrix.cols, k);
        let (mut jvp, mut correction) = (vec![0.0; matrix.rows()], vec![0.0; matrix.cols]);
        let mut distance = f64::INFINITY;
        // The first pass solves the normal equations, the others correct what squaring lost.
        for _ in 0..4 {
            matrix.times(&vector, &mut jvp);
            distance = jvp.iter().map(|v| v * v).sum::<f64>().sqrt();
            correction.fill(0.0);
            matrix.add_transposed_times(&jvp, &mut correction);
            correction
                .iter_mut()
                .zip(&independent)
                .for_each(|(c, &independent)| *c *= f64::from(u8::from(independent)));
            cholesky.factorisation().solve(&mut correction);
            vector.iter_mut().zip(&correction).for_each(|(v, c)| *v -= c);
        }
        let squares = vector.iter().zip(tolerances).map(|(v, tolerance)| (v * tolerance).powi(2));
        if distance <= squares.sum::<f64>().sqrt() {
            basis.push(vector);
        }
    }
    let invertible = unsure.is_empty()
        || (basis.is_empty() && cholesky.factorise(&matrix, &vec![0.0; matrix.cols], left_out).is_ok());
    if !basis.is_empty() || invertible {
        return Ok((basis, Some(Inverse { lengths, factor: Factor::Sparse(cholesky) })));
    }
    Ok((basis, None))
}

impl Inverse {
    /// Replaces x by (JᵀJ)⁻¹ x. Numbers at frozen columns come out as 0.
    pub fn apply(&self, x: &mut [f64]) {
        x.iter_mut().zip(&self.lengths).for_each(|(x, length)| *x *= length);
        match &self.factor {
            Factor::Sparse(cholesky) => cholesky.factorisation().solve(x),
            Factor::Dense(triangle) => {
                let n = x.len();
                let taken: Vec<usize> = (0..n).filter(|&k| self.lengths[k] != 0.0).list();
                for (position, &k) in taken.iter().enumerate() {
                    let known: f64 = taken[..position].iter().map(|&j| triangle[j * n + k] * x[j]).sum();
                    x[k] = (x[k] - known) / triangle[k * n + k];
                }
                for (position, &k) in taken.iter().enumerate().rev() {
                    let known: f64 = taken[position + 1..].iter().map(|&j| triangle[k * n + j] * x[j]).sum();
                    x[k] = (x[k] - known) / triangle[k * n + k];
                }
            }
        }
        x.iter_mut().zip(&self.lengths).for_each(|(x, length)| *x *= length);
    }
}
