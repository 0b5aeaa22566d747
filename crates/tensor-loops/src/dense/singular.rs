//! Singular values, in double precision for numbers that were single.
//!
//! AᵀA has the squares of the singular values. Their rounding of 2⁻⁵³ ‖A‖² is one of 2⁻²⁶·⁵ ‖A‖ at most in a singular value, less than that of single
//! precision. Of A V, whose columns descend, Q R with a nearly diagonal R gives the left vectors, orthonormal to the last digit.

use super::{add_scaled, ascending, eigen, orthogonal, transposed};

/// Singular values in descending order of a matrix that has no fewer rows than columns, the left vectors as columns in its place, and the right
/// vectors as columns. All is NaN where an element is not finite.
#[inline(never)]
#[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
pub fn singular(a: &mut [f64], rows: usize, columns: usize) -> (Vec<f64>, Vec<f64>) {
    if !a.iter().all(|x| x.is_finite()) {
        a.fill(f64::NAN);
        return (vec![f64::NAN; columns], vec![f64::NAN; columns * columns]);
    }
    let mut squares = vec![0.0; columns * columns];
    if columns > 0 {
        for row in a.chunks_exact(columns) {
            for (place, own) in squares.chunks_exact_mut(columns).enumerate() {
                add_scaled(own, row[place], row);
            }
        }
    }
    eigen(&mut squares, columns);
    // The largest first.
    let vectors: Vec<f64> = squares.rchunks_exact(columns.max(1)).flatten().copied().collect();
    let right = transposed(&vectors, columns, columns);
    let mut product = vec![0.0; rows * columns];
    if columns > 0 {
        for (result, row) in product.chunks_exact_mut(columns).zip(a.chunks_exact(columns)) {
            for (factor, vector) in row.iter().zip(right.chunks_exact(columns)) {
                add_scaled(result, *factor, vector);
            }
        }
    }
    let upper = orthogonal(&mut product, rows, columns);
    let diagonal: Vec<f64> = (0..columns).map(|place| upper[place * columns + place]).collect();
    for (result, row) in a.chunks_exact_mut(columns.max(1)).zip(product.chunks_exact(columns.max(1))) {
        for ((result, x), value) in result.iter_mut().zip(row).zip(&diagonal) {
            *result = if *value < 0.0 { -x } else { *x };
        }
    }
    descending(a, right, columns, diagonal.iter().map(|value| value.abs()).collect())
}

/// Orders values that rounding may have exchanged, with their columns.
fn descending(left: &mut [f64], right: Vec<f64>, columns: usize, values: Vec<f64>) -> (Vec<f64>, Vec<f64>) {
    let order = ascending(&values.iter().map(|value| -value).collect::<Vec<f64>>());
    let mut right = right;
    for matrix in [left, &mut right[..]] {
        for row in matrix.chunks_exact_mut(columns.max(1)) {
            let moved: Vec<f64> = order.iter().map(|place| row[*place]).collect();
            row.copy_from_slice(&moved);
        }
    }
    (order.iter().map(|place| values[*place]).collect(), right)
}
