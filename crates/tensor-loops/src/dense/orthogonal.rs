//! A = Q R by Householder's reflections (Golub and Van Loan: "Matrix Computations", 4th edition, 5.1 and 5.2).

use super::add_scaled;

/// Q of orthonormal columns, in the place of a matrix that has no fewer rows than columns, and the upper triangular R. All is NaN
/// where an element is not finite.
#[inline(never)]
#[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
pub fn orthogonal(a: &mut [f64], rows: usize, columns: usize) -> Vec<f64> {
    if !a.iter().all(|x| x.is_finite()) {
        a.fill(f64::NAN);
        return vec![f64::NAN; columns * columns];
    }
    let mut sums = vec![0.0; columns];
    let factors = reflections(a, rows, columns, &mut sums);
    let mut upper = vec![0.0; columns * columns];
    for row in 0..columns {
        let place = row * columns;
        upper[place + row..place + columns].copy_from_slice(&a[place + row..place + columns]);
    }
    // The product of the reflections, from the last: columns before a step's are still reflections.
    for (step, factor) in factors.into_iter().enumerate().rev() {
        a[step * columns + step + 1..(step + 1) * columns].fill(0.0);
        apply(a, [rows, columns], step, factor, step + 1, &mut sums);
        a[step * columns + step] = 1.0 - factor;
        for row in step + 1..rows {
            a[row * columns + step] *= -factor;
        }
        for row in 0..step {
            a[row * columns + step] = 0.0;
        }
    }
    upper
}

/// Makes a matrix R by reflections, and gives their factors τ. R stands in the upper triangle, their vectors without v₀ = 1 below it.
#[inline]
#[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
pub fn reflections(a: &mut [f64], rows: usize, columns: usize, sums: &mut [f64]) -> Vec<f64> {
    let mut factors = vec![0.0; columns];
    for (step, factor) in factors.iter_mut().enumerate() {
        *factor = reflection(a, rows, columns, step);
        apply(a, [rows, columns], step, *factor, step + 1, sums);
    }
    factors
}

/// Makes the reflection of a column that leaves nothing below its diagonal: v with v₀ = 1, whose other elements take the place of the column's, and the
/// factor τ of I − τ v vᵀ.
#[inline]
#[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
fn reflection(a: &mut [f64], rows: usize, columns: usize, step: usize) -> f64 {
    let first = a[step * columns + step];
    let square: f64 = (step + 1..rows).map(|row| a[row * columns + step]).map(|x| x * x).sum();
    if square == 0.0 {
        return 0.0;
    }
    let norm = (first * first + square).sqrt();
    let result = if first > 0.0 { -norm } else { norm };
    for row in step + 1..rows {
        a[row * columns + step] /= first - result;
    }
    a[step * columns + step] = result;
    (result - first) / result
}

/// Applies the reflection of a column to the columns from another one on.
#[inline]
#[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
fn apply(a: &mut [f64], [rows, columns]: [usize; 2], step: usize, factor: f64, from: usize, sums: &mut [f64]) {
    let sums = &mut sums[from..columns];
    sums.copy_from_slice(&a[step * columns + from..(step + 1) * columns]);
    for own in a.chunks_exact(columns).take(rows).skip(step + 1) {
        add_scaled(sums, own[step], &own[from..]);
    }
    add_scaled(&mut a[step * columns + from..(step + 1) * columns], -factor, sums);
    for own in a.chunks_exact_mut(columns).take(rows).skip(step + 1) {
        let multiple = -factor * own[step];
        add_scaled(&mut own[from..], multiple, sums);
    }
}
