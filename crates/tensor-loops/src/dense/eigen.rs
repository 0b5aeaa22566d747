//! Eigenvalues of symmetric matrices: Householder's reduction to a tridiagonal matrix (Golub and Van Loan: "Matrix Computations", 4th edition, 8.3), and QL.

use super::{add_scaled, ascending, dot};
use residua_linalg_loops::tridiagonal::diagonalise;

/// Eigenvalues in ascending order, and their eigenvectors in the rows of the matrix, which takes their place. All is NaN where an element is not finite.
#[inline(never)]
#[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
pub fn eigen(a: &mut [f64], size: usize) -> Vec<f64> {
    if !a.iter().all(|x| x.is_finite()) {
        a.fill(f64::NAN);
        return vec![f64::NAN; size];
    }
    let (mut diagonal, mut beside) = tridiagonal(a, size);
    diagonalise(a, size, &mut diagonal, &mut beside);
    let order = ascending(&diagonal);
    let vectors: Vec<f64> = order.iter().flat_map(|row| a[row * size..][..size].iter().copied()).collect();
    a.copy_from_slice(&vectors);
    order.iter().map(|place| diagonal[*place]).collect()
}

/// Makes A = Qᵀ T Q with a tridiagonal T, of which it gives the diagonal and the elements beside it. Q takes the place of A.
#[inline]
#[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
fn tridiagonal(a: &mut [f64], size: usize) -> (Vec<f64>, Vec<f64>) {
    let (mut diagonal, mut beside) = (vec![0.0; size], vec![0.0; size]);
    let mut factors = vec![0.0; size];
    let mut product = vec![0.0; size];
    for step in 0..size.saturating_sub(1) {
        // The column below the diagonal is the row beside it: v stands in the row.
        let from = step + 1;
        let (own, rest) = a[step * size..].split_at_mut(size);
        diagonal[step] = own[step];
        let v = &mut own[from..];
        let tail = dot(&v[1..], &v[1..]);
        if tail == 0.0 {
            beside[step] = v[0];
            continue;
        }
        let norm = (v[0] * v[0] + tail).sqrt();
        let result = if v[0] > 0.0 { -norm } else { norm };
        let factor = (result - v[0]) / result;
        let divisor = v[0] - result;
        v[1..].iter_mut().for_each(|x| *x /= divisor);
        v[0] = 1.0;
        (beside[step], factors[step]) = (result, factor);
        // p = τ B v, w = p − ½ τ (pᵀv) v, B −= v wᵀ + w vᵀ.
        let product = &mut product[from..];
        for (row, p) in rest.chunks_exact(size).zip(product.iter_mut()) {
            *p = factor * dot(&row[from..], v);
        }
        let half = -0.5 * factor * dot(product, v);
        add_scaled(product, half, v);
        for (place, row) in rest.chunks_exact_mut(size).enumerate() {
            let row = &mut row[from..];
            let (of_v, of_w) = (v[place], product[place]);
            for ((x, v), w) in row.iter_mut().zip(v.iter()).zip(product.iter()) {
                *x -= of_v * w + of_w * v;
            }
        }
    }
    if let Some(last) = size.checked_sub(1) {
        diagonal[last] = a[last * size + last];
        a[last * size..].fill(0.0);
        a[last * size + last] = 1.0;
    }
    // The product of the reflections, from the last. Its rows from a step's on have columns from there on alone.
    for step in (0..size.saturating_sub(1)).rev() {
        let from = step + 1;
        let (own, rest) = a[step * size..].split_at_mut(size);
        let v = &own[from..];
        for row in rest.chunks_exact_mut(size) {
            let row = &mut row[from..];
            let multiple = -factors[step] * dot(row, v);
            add_scaled(row, multiple, v);
        }
        own.fill(0.0);
        own[step] = 1.0;
    }
    (diagonal, beside)
}
