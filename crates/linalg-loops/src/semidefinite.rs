//! Symmetric matrices as sums of squares: the positive semi-definite matrix nearest to one, as rows R with RᵀR.
//!
//! A matrix that is positive semi-definite is factorised with the largest pivot first (N. J. Higham, *Accuracy and Stability of Numerical Algorithms*, 2nd ed.,
//! section 10.3). Eigenvectors are needed for others alone; they come from rotations (G. H. Golub and C. F. Van Loan, *Matrix Computations*, 4th ed., section
//! 8.5).

/// What becomes of negative eigenvalues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Negative {
    /// They are 0: the nearest matrix in the Frobenius norm.
    Clamped,
    /// Their magnitudes.
    Absolute,
}

/// Roundings of the largest diagonal entry, for each row, that a pivot of 0 may have.
const ROUNDINGS: f64 = 4.0;
/// Sweeps of rotations; some six suffice.
const MOST_SWEEPS: usize = 40;

/// Memory of [`semidefinite_rows`] from one matrix to the next.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    whole: Vec<f64>,
    vectors: Vec<f64>,
}

/// Writes rows R to `rows`, as many as the matrix has, where those behind its rank are 0, so that RᵀR is the matrix with other eigenvalues in the place of
/// negative ones. Tells whether there were any. The matrix, of `count` rows, is overwritten; where it has a NaN or an infinity, so have the rows.
#[inline(never)]
pub fn semidefinite_rows(
    matrix: &mut [f64],
    count: usize,
    negative: Negative,
    rows: &mut [f64],
    scratch: &mut Scratch,
) -> bool {
    rows.fill(0.0);
    if matrix.iter().any(|entry| !entry.is_finite()) {
        rows.fill(f64::NAN);
        return false;
    }
    let Scratch { whole, vectors } = scratch;
    whole.clear();
    whole.extend_from_slice(matrix);
    if factorise(matrix, count, rows) {
        return false;
    }
    diagonalise(whole, count, vectors);
    for (k, (row, vector)) in rows.chunks_exact_mut(count).zip(vectors.chunks_exact(count)).enumerate() {
        let value = whole[k * (count + 1)];
        let root = match negative {
            Negative::Clamped => value.max(0.0).sqrt(),
            Negative::Absolute => value.abs().sqrt(),
        };
        for (entry, vector) in row.iter_mut().zip(vector) {
            *entry = root * vector;
        }
    }
    true
}

/// Rotates a symmetric matrix until it is diagonal; the eigenvectors are the rows of `vectors`.
fn diagonalise(matrix: &mut [f64], count: usize, vectors: &mut Vec<f64>) {
    vectors.clear();
    vectors.resize(count * count, 0.0);
    (0..count).for_each(|k| vectors[k * (count + 1)] = 1.0);
    for _ in 0..MOST_SWEEPS {
        let mut is_rotated = false;
        for p in 0..count {
            for q in p + 1..count {
                let [a, b, off] = [p * (count + 1), q * (count + 1), p * count + q].map(|place| matrix[place]);
                if off.abs() <= f64::EPSILON * (a.abs() + b.abs()) {
                    continue;
                }
                is_rotated = true;
                let zeta = (b - a) / (2.0 * off);
                let tangent = 1.0_f64.copysign(zeta) / (zeta.abs() + (1.0 + zeta * zeta).sqrt());
                let cosine = 1.0 / (1.0 + tangent * tangent).sqrt();
                let sine = cosine * tangent;
                rotate_rows(matrix, count, (p, q), (cosine, sine));
                for row in matrix.chunks_exact_mut(count) {
                    (row[p], row[q]) = (cosine * row[p] - sine * row[q], sine * row[p] + cosine * row[q]);
                }
                (matrix[p * count + q], matrix[q * count + p]) = (0.0, 0.0);
                rotate_rows(vectors, count, (p, q), (cosine, sine));
            }
        }
        if !is_rotated {
            break;
        }
    }
}

fn rotate_rows(matrix: &mut [f64], count: usize, (p, q): (usize, usize), (cosine, sine): (f64, f64)) {
    let (before, after) = matrix.split_at_mut(q * count);
    for (a, b) in before[p * count..][..count].iter_mut().zip(&mut after[..count]) {
        (*a, *b) = (cosine * *a - sine * *b, sine * *a + cosine * *b);
    }
}

/// The largest magnitude on the diagonal.
fn largest(matrix: &[f64], count: usize) -> f64 {
    (0..count).map(|k| matrix[k * (count + 1)].abs()).fold(0.0, f64::max)
}

/// Factorises a positive semi-definite matrix; whether it is one.
fn factorise(matrix: &mut [f64], count: usize, rows: &mut [f64]) -> bool {
    let least = ROUNDINGS * count as f64 * f64::EPSILON * largest(matrix, count);
    for row in rows.chunks_exact_mut(count.max(1)) {
        let pivots = (0..count).map(|k| (k, matrix[k * (count + 1)]));
        let Some((k, pivot)) = pivots.max_by(|a, b| a.1.total_cmp(&b.1)) else { return true };
        if pivot <= least {
            return matrix.iter().all(|entry| entry.abs() <= least);
        }
        let root = pivot.sqrt();
        for (entry, number) in row.iter_mut().zip(&matrix[k * count..]) {
            *entry = number / root;
        }
        for (a, of_row) in row.iter().zip(matrix.chunks_exact_mut(count)) {
            of_row.iter_mut().zip(&*row).for_each(|(number, b)| *number -= a * b);
        }
        // What is left of the pivot's own row is rounding.
        for j in 0..count {
            (matrix[k * count + j], matrix[j * count + k]) = (0.0, 0.0);
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Σ value · vvᵀ of three orthogonal vectors, and of 3 in the fourth place.
    fn matrix(values: [f64; 3]) -> Vec<f64> {
        let third = 1.0 / 3.0;
        let vectors = [[2.0, -1.0, 2.0], [2.0, 2.0, -1.0], [-1.0, 2.0, 2.0]].map(|v| v.map(|entry| entry * third));
        let mut matrix = vec![0.0; 16];
        for (value, vector) in values.iter().zip(vectors) {
            for row in 0..3 {
                (0..3).for_each(|column| matrix[row * 4 + column] += value * vector[row] * vector[column]);
            }
        }
        matrix[15] = 3.0;
        matrix
    }

    #[test]
    fn rows_give_the_matrix_with_other_eigenvalues_for_negative_ones() {
        // Eigenvalues, what becomes of them, and whether some were negative.
        for (values, clamped, absolute, is_indefinite) in [
            ([5.0, 2.0, 0.5], [5.0, 2.0, 0.5], [5.0, 2.0, 0.5], false),
            ([5.0, 0.0, 0.0], [5.0, 0.0, 0.0], [5.0, 0.0, 0.0], false),
            ([0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0], false),
            ([5.0, -2.0, 0.5], [5.0, 0.0, 0.5], [5.0, 2.0, 0.5], true),
            ([-5.0, -2.0, -1e-9], [0.0, 0.0, 0.0], [5.0, 2.0, 1e-9], true),
        ] {
            for (negative, expected) in [(Negative::Clamped, clamped), (Negative::Absolute, absolute)] {
                let mut rows = vec![f64::NAN; 16];
                assert_eq!(
                    semidefinite_rows(&mut matrix(values), 4, negative, &mut rows, &mut Scratch::default()),
                    is_indefinite,
                    "{values:?}"
                );
                for (k, expected) in matrix(expected).iter().enumerate() {
                    let found: f64 = rows.chunks_exact(4).map(|row| row[k / 4] * row[k % 4]).sum();
                    // Some roundings of the largest eigenvalue.
                    assert!(
                        (found - expected).abs() < 1e-13,
                        "{values:?} {negative:?} at {k}: {found}, not {expected}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_zero_on_the_diagonal_beside_other_entries_is_indefinite() {
        let (mut rows, mut scratch) = (vec![0.0; 4], Scratch::default());
        assert!(semidefinite_rows(&mut [0.0, 1.0, 1.0, 0.0], 2, Negative::Clamped, &mut rows, &mut scratch));
        let found = [(0, 0), (0, 1), (1, 1)].map(|(i, j)| rows[i] * rows[j] + rows[2 + i] * rows[2 + j]);
        assert!(found.iter().all(|entry| (entry - 0.5).abs() < 1e-15), "half of the ones: {found:?}");
        assert!(!semidefinite_rows(&mut [1.0, f64::NAN, f64::NAN, 1.0], 2, Negative::Clamped, &mut rows, &mut scratch));
        assert!(rows.iter().all(|entry| entry.is_nan()));
    }
}
