//! Symmetric matrices as sums of squares: the positive semi-definite matrix nearest to one, as rows R with RᵀR.
//!
//! A matrix that is positive semi-definite is factorised with the largest pivot first (N. J. Higham, *Accuracy and Stability of Numerical Algorithms*, 2nd ed.,
//! section 10.3). Eigenvectors are needed for others alone; they come from the QL algorithm (G. H. Golub and C. F. Van Loan, *Matrix Computations*, 4th ed.,
//! section 8.3).

use crate::tridiagonal;

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

/// Memory of [`semidefinite_rows`] from one matrix to the next.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    whole: Vec<f64>,
    vectors: Vec<f64>,
    values: Vec<f64>,
    beside: Vec<f64>,
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
    let Scratch { whole, vectors, values, beside } = scratch;
    whole.clear();
    whole.extend_from_slice(matrix);
    if factorise(matrix, count, rows) {
        return false;
    }
    diagonalise(whole, count, vectors, values, beside);
    let of_values = values.iter().zip(vectors.chunks_exact(count));
    for (row, (&value, vector)) in rows.chunks_exact_mut(count).zip(of_values) {
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

/// The eigenvalues of a symmetric matrix, and eigenvectors as the rows of `vectors`: reflections make it tridiagonal, and implicit steps of QL with shifts
/// diagonal.
fn diagonalise(matrix: &mut [f64], count: usize, vectors: &mut Vec<f64>, values: &mut Vec<f64>, beside: &mut Vec<f64>) {
    vectors.clear();
    vectors.resize(count * count, 0.0);
    (0..count).for_each(|k| vectors[k * (count + 1)] = 1.0);
    for vector in [&mut *values, &mut *beside] {
        vector.clear();
        vector.resize(count, 0.0);
    }
    tridiagonalise(matrix, count, vectors, beside);
    for k in 0..count {
        values[k] = matrix[k * (count + 1)];
        // Of the last one there is none beside.
        beside[k] = if k + 1 < count { matrix[(k + 1) * count + k] } else { 0.0 };
    }
    tridiagonal::diagonalise(vectors, count, values, beside);
}

/// Reflects rows and columns, one after the other, until nothing is beside the diagonal and its neighbours. The rows of `vectors` become those of Qᵀ with
/// A = Q T Qᵀ.
fn tridiagonalise(matrix: &mut [f64], count: usize, vectors: &mut [f64], reflector: &mut [f64]) {
    for k in 0..count.saturating_sub(2) {
        let tail = k + 1..count;
        let mut square = 0.0;
        for i in tail.clone() {
            reflector[i] = matrix[i * count + k];
            square += reflector[i] * reflector[i];
        }
        // The first entry alone needs no reflection.
        if square == reflector[k + 1] * reflector[k + 1] {
            continue;
        }
        let length = square.sqrt();
        let alpha = -length.copysign(reflector[k + 1]);
        let factor = 1.0 / (square - reflector[k + 1] * alpha);
        reflector[k + 1] -= alpha;
        // H = I − factor · vvᵀ from both sides, and from the left to the vectors.
        for (of, columns) in [(&mut *matrix, k..count), (vectors, 0..count)] {
            for column in columns {
                let along: f64 = tail.clone().map(|i| reflector[i] * of[i * count + column]).sum();
                tail.clone().for_each(|i| of[i * count + column] -= factor * along * reflector[i]);
            }
        }
        for row in matrix.chunks_exact_mut(count).skip(k) {
            let along: f64 = tail.clone().map(|i| reflector[i] * row[i]).sum();
            tail.clone().for_each(|i| row[i] -= factor * along * reflector[i]);
        }
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
    fn eigenvectors_make_matrices_diagonal_whatever_their_entries() {
        // Random, diagonal, of rank one, of equal eigenvalues, of entries that differ by many magnitudes, split.
        let entry = |kind: usize, i: usize, j: usize| -> f64 {
            let (low, high) = (i.min(j), i.max(j));
            match kind {
                0 => (1.7 * (low * low + 3 * high) as f64).sin(),
                1 => {
                    if i == j {
                        i as f64 - 2.0
                    } else {
                        0.0
                    }
                }
                2 => (1.0 + i as f64) * (1.0 + j as f64),
                3 => {
                    if i == j {
                        3.0
                    } else {
                        -1.0
                    }
                }
                4 => (1.3 * (low + 2 * high) as f64).cos() * 10.0_f64.powi(-3 * (i + j) as i32),
                _ => {
                    if i / 2 == j / 2 {
                        1.0
                    } else {
                        0.0
                    }
                }
            }
        };
        for kind in 0..6 {
            for count in 1..9 {
                let original: Vec<f64> = (0..count * count).map(|k| entry(kind, k / count, k % count)).collect();
                let [mut vectors, mut values, mut beside] = [const { Vec::new() }; 3];
                diagonalise(&mut original.clone(), count, &mut vectors, &mut values, &mut beside);
                let size = original.iter().fold(0.0, |most: f64, entry| most.max(entry.abs()));
                for i in 0..count {
                    for j in 0..count {
                        let along = |of: &dyn Fn(usize) -> f64| (0..count).map(of).sum::<f64>();
                        let found = along(&|k| values[k] * vectors[k * count + i] * vectors[k * count + j]);
                        let product = along(&|k| vectors[i * count + k] * vectors[j * count + k]);
                        let identity = f64::from(u8::from(i == j));
                        // Some roundings for each of the rows.
                        assert!((product - identity).abs() <= 1e-14 * count as f64, "{kind}, {count} rows: {product}");
                        let wanted = original[i * count + j];
                        assert!(
                            (found - wanted).abs() <= 1e-14 * count as f64 * size,
                            "{kind}, {count} rows: {found}, not {wanted}"
                        );
                    }
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
