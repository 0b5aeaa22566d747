//! Factorisations of dense matrices in double precision. Matrices are lists of their rows.
//!
//! Inner loops go along rows, which lie in order, and sums have a fixed order. Of a matrix with an element that is not finite all factors but
//! triangular ones are NaN as a whole, and every loop ends: iterations have a limit.

mod eigen;
mod orthogonal;
mod singular;
mod triangular;

pub use eigen::eigen;
pub use orthogonal::{orthogonal, reflections};
pub use singular::singular;
pub use triangular::{cholesky, pivoted, triangular_solve};

/// Partial sums of a dot product.
const TOGETHER: usize = 8;

/// Σ aᵢ bᵢ.
#[inline(never)]
#[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; TOGETHER];
    let (wholes, rest) = (a.chunks_exact(TOGETHER), b.chunks_exact(TOGETHER));
    let mut last = 0.0;
    for (a, b) in wholes.remainder().iter().zip(rest.remainder()) {
        last += a * b;
    }
    for (a, b) in wholes.zip(rest) {
        for lane in 0..TOGETHER {
            sums[lane] += a[lane] * b[lane];
        }
    }
    sums.iter().fold(last, |sum, part| sum + part)
}

/// y += factor · x.
#[inline(never)]
#[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
fn add_scaled(y: &mut [f64], factor: f64, x: &[f64]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y += factor * x;
    }
}

/// The places of numbers in ascending order, by insertion: its time is nothing beside that of the matrix.
fn ascending(numbers: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = Vec::with_capacity(numbers.len());
    for (place, number) in numbers.iter().enumerate() {
        let mut to = order.len();
        while to > 0 && numbers[order[to - 1]] > *number {
            to -= 1;
        }
        order.insert(to, place);
    }
    order
}

/// Two rows of a matrix with so many columns, the first of which stands before the second.
#[inline]
fn two_rows(matrix: &mut [f64], columns: usize, [first, second]: [usize; 2]) -> (&mut [f64], &mut [f64]) {
    let (before, after) = matrix.split_at_mut(second * columns);
    (&mut before[first * columns..][..columns], &mut after[..columns])
}

/// The matrix with its axes exchanged.
pub fn transposed(matrix: &[f64], rows: usize, columns: usize) -> Vec<f64> {
    let mut result = vec![0.0; rows * columns];
    for row in 0..rows {
        for column in 0..columns {
            result[column * rows + row] = matrix[row * columns + column];
        }
    }
    result
}

#[cfg(test)]
#[cfg(not(target_arch = "wasm32"))]
mod tests;
