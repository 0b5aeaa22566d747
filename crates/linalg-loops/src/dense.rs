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

/// A number that is at least [`inverse_squares`], in a number of operations that grows with the square of `n` alone: the entries of the inverse are at
/// most those of the inverse of the comparison matrix (N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 8.2),
/// which are not negative, so that the square of a row's sum is at least the sum of its squares.
#[inline(never)]
pub fn inverse_squares_bound(factor: &[f64], n: usize) -> f64 {
    let mut sums: Vec<f64> = Vec::with_capacity(n);
    let mut squares = 0.0;
    for (i, row) in factor.chunks_exact(n.max(1)).enumerate() {
        let row_sum = (1.0 + sum(&row[..i], &sums, |l, sum| l.abs() * sum)) * row[i];
        squares += row_sum * row_sum;
        sums.push(row_sum);
    }
    squares
}

/// Solves with a factor of [`factorise`] and its transpose, in place of a right side.
#[inline(never)]
pub fn substitute(factor: &[f64], x: &mut [f64]) {
    let n = x.len();
    for (i, row) in factor.chunks_exact(n.max(1)).enumerate() {
        let (known, rest) = x.split_at_mut(i);
        rest[0] = (rest[0] - sum(&row[..i], known, |a, b| a * b)) * row[i];
    }
    for i in (0..n).rev() {
        let (rest, known) = x.split_at_mut(i + 1);
        let mut value = rest[i];
        for (row, known) in factor[(i + 1) * n..].chunks_exact(n).zip(known) {
            value -= row[i] * *known;
        }
        rest[i] = value * factor[i * n + i];
    }
}

/// Adds AᵀA of compressed rows, whose columns ascend, to the lower half of a matrix of `n` rows.
#[inline(never)]
pub fn add_products(row_offsets: &[u32], columns: &[u32], values: &[f64], n: usize, sums: &mut [f64]) {
    for ends in row_offsets.windows(2) {
        let entries = ends[0] as usize..ends[1] as usize;
        let (columns, values) = (&columns[entries.clone()], &values[entries]);
        for (i, (&column, value)) in columns.iter().zip(values).enumerate() {
            let of_column = &mut sums[column as usize * n..][..n];
            for (&other, factor) in columns[..=i].iter().zip(values) {
                of_column[other as usize] += value * factor;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_of_compressed_rows_are_added_to_the_lower_half() {
        // [1 0 2], [0 3 0], [], [4 5 6]
        let (row_offsets, columns, values) = ([0, 2, 3, 3, 6], [0, 2, 1, 0, 1, 2], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let mut sums = [1.0; 9];
        add_products(&row_offsets, &columns, &values, 3, &mut sums);
        assert_eq!(sums, [18.0, 1.0, 1.0, 21.0, 35.0, 1.0, 27.0, 31.0, 41.0]);
    }

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
            let bound = inverse_squares_bound(&matrix, n);
            assert!(bound >= squares * (1.0 - 1e-13) && bound < 40.0 * squares, "{n} rows: {bound} of {squares}");
            let expected: Vec<f64> = (0..n).map(|k| f64::from(k as u32 % 3) - 1.0).collect();
            let mut x: Vec<f64> = (0..n)
                .map(|i| (0..n).map(|j| product(i.max(j), i.min(j)) * scales[i] * scales[j] * expected[j]).sum())
                .collect();
            substitute(&matrix, &mut x);
            for (x, expected) in x.iter().zip(&expected) {
                // The condition is below 100.
                assert!((x - expected).abs() < 1e-12, "{n} rows: {x} {expected}");
            }
            let mut refused: Vec<f64> = vec![1.0; n * n];
            refused[n * n - 1] = f64::NAN;
            assert!(!factorise(&mut refused, &vec![1.0; n], 0.5), "{n} rows");
        }
    }
}
