//! Cholesky's factor of a small dense matrix, row after row, with inverse pivots on its diagonal.

use super::sum;

/// Columns of an inverse that are computed side by side.
const COLUMNS: usize = 4;

/// Scales rows and columns of a symmetric matrix, of which the lower half counts, and factorises it in its place. `false` where the square of
/// a pivot is not above `least`.
#[inline(never)]
#[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
pub fn factorise(matrix: &mut [f64], scales: &[f64], least: f64) -> bool {
    let n = scales.len();
    for i in 0..n {
        let (above, rest) = matrix.split_at_mut(i * n);
        let row = &mut rest[..n];
        for j in 0..i {
            let other = &above[j * n..][..n];
            let entry = row[j] * scales[i] * scales[j] - sum(&row[..j], &other[..j], |a, b| a * b);
            row[j] = entry * other[j];
        }
        let pivot = row[i] * scales[i] * scales[i] - sum(&row[..i], &row[..i], |a, b| a * b);
        // False of a NaN too.
        if pivot.is_nan() || pivot <= least {
            return false;
        }
        row[i] = pivot.sqrt().recip();
    }
    true
}

/// The sum of the squares of the inverse of a factor of `n` rows.
#[inline(never)]
#[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
pub fn inverse_squares(factor: &[f64], n: usize) -> f64 {
    let mut columns: Vec<[f64; COLUMNS]> = Vec::with_capacity(n);
    let mut squares = [0.0; COLUMNS];
    for first in (0..n).step_by(COLUMNS) {
        columns.clear();
        for i in first..n {
            let row = &factor[i * n..][..n];
            let mut entries = [0.0; COLUMNS];
            if let Some(entry) = entries.get_mut(i - first) {
                *entry = 1.0;
            }
            for (l, known) in row[first..i].iter().zip(&columns) {
                for (entry, known) in entries.iter_mut().zip(known) {
                    *entry -= l * known;
                }
            }
            for (entry, square) in entries.iter_mut().zip(&mut squares) {
                *entry *= row[i];
                *square += *entry * *entry;
            }
            columns.push(entries);
        }
    }
    (squares[0] + squares[1]) + (squares[2] + squares[3])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_factor_and_the_squares_of_its_inverse_are_those_of_the_scaled_matrix() {
        for n in 1..=9 {
            // Products of rows of whole numbers, and a scale for each.
            let l = |i: usize, j: usize| if i == j { 4.0 } else { ((3 * i + j) % 5) as f64 - 2.0 };
            let scales: Vec<f64> = (0..n).map(|i| 0.5f64.powi(i as i32 % 3)).collect();
            let product =
                |i: usize, j: usize| (0..=j).map(|k| l(i, k) * l(j, k)).sum::<f64>() / (scales[i] * scales[j]);
            let mut matrix: Vec<f64> =
                (0..n * n).map(|at| if at % n <= at / n { product(at / n, at % n) } else { 7.0 }).collect();
            assert!(factorise(&mut matrix, &scales, 15.0));
            for i in 0..n {
                for j in 0..i {
                    // Whole numbers and powers of two have no rounding.
                    assert_eq!(matrix[i * n + j], l(i, j), "{n} rows: {i}, {j}");
                }
                assert_eq!(matrix[i * n + i], 0.25);
            }
            let mut squares = 0.0;
            for column in 0..n {
                let mut x = vec![0.0; n];
                for i in column..n {
                    let known: f64 = (column..i).map(|k| l(i, k) * x[k]).sum();
                    x[i] = (f64::from(u8::from(i == column)) - known) / 4.0;
                    squares += x[i] * x[i];
                }
            }
            // Some hundred roundings.
            assert!((inverse_squares(&matrix, n) - squares).abs() < 1e-13 * squares, "{n} rows");
            let mut refused: Vec<f64> = vec![1.0; n * n];
            refused[n * n - 1] = f64::NAN;
            assert!(!factorise(&mut refused, &vec![1.0; n], 0.5), "{n} rows");
        }
    }
}
