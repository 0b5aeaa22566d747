//! Eigenvalues of symmetric tridiagonal matrices.

/// Most steps for an eigenvalue: two are usual.
const MOST_STEPS: usize = 60;

/// Makes a tridiagonal matrix diagonal by the QL algorithm with implicit shifts, and applies its rotations to pairs of rows: rows that were those of Qᵀ with
/// A = Q T Qᵀ become eigenvectors of A (Golub and Van Loan: "Matrix Computations", 4th edition, 8.3; Bowdler, Martin, Reinsch and Wilkinson: "The QR and QL
/// algorithms for symmetric matrices", 1968). The last element of `beside` is 0.
#[inline(never)]
#[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
pub fn diagonalise(rows: &mut [f64], size: usize, diagonal: &mut [f64], beside: &mut [f64]) {
    let (d, e) = (diagonal, beside);
    for first in 0..size {
        for _ in 0..MOST_STEPS {
            // The block ends where an element beside the diagonal is nothing beside its neighbours.
            let is_nothing = |at: &usize| e[*at].abs() <= f64::EPSILON * (d[*at].abs() + d[*at + 1].abs());
            let last = (first..size - 1).find(is_nothing).unwrap_or(size - 1);
            if last == first {
                break;
            }
            step(rows, size, d, e, first..last);
        }
    }
}

/// A step on the block from `first` to `last`, with the shift of Wilkinson.
#[inline]
#[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
fn step(rows: &mut [f64], size: usize, d: &mut [f64], e: &mut [f64], block: std::ops::Range<usize>) {
    let (first, last) = (block.start, block.end);
    let half = (d[first + 1] - d[first]) / (2.0 * e[first]);
    let root = (half * half + 1.0).sqrt().copysign(half);
    let mut g = d[last] - d[first] + e[first] / (half + root);
    let (mut s, mut c, mut p) = (1.0, 1.0, 0.0);
    for at in block.rev() {
        let (f, b) = (s * e[at], c * e[at]);
        let r = (f * f + g * g).sqrt();
        e[at + 1] = r;
        if r == 0.0 {
            // The block is split here.
            d[at + 1] -= p;
            e[last] = 0.0;
            return;
        }
        (s, c) = (f / r, g / r);
        g = d[at + 1] - p;
        let t = (d[at] - g) * s + 2.0 * c * b;
        p = s * t;
        d[at + 1] = g + p;
        g = c * t - b;
        let (before, after) = rows.split_at_mut((at + 1) * size);
        for (x, y) in before[at * size..].iter_mut().zip(&mut after[..size]) {
            (*x, *y) = (c * *x - s * *y, s * *x + c * *y);
        }
    }
    d[first] -= p;
    e[first] = g;
    e[last] = 0.0;
}
