//! Triangular factors and systems: Cholesky's and Gauss's (Golub and Van Loan: "Matrix Computations", 4th edition, 4.2 and 3.4).

use super::{add_scaled, dot, two_rows};

/// The lower triangular L of A = L Lᵀ, of the lower triangle of a symmetric matrix, in its place. All is NaN where A is not positive definite.
#[inline(never)]
#[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
pub fn cholesky(a: &mut [f64], size: usize) {
    for row in 0..size {
        for column in 0..row {
            let (of_column, own) = two_rows(a, size, [column, row]);
            own[column] = (own[column] - dot(&own[..column], &of_column[..column])) / of_column[column];
        }
        let own = &mut a[row * size..][..size];
        let square = own[row] - dot(&own[..row], &own[..row]);
        if !(square > 0.0 && square < f64::INFINITY) {
            return a.fill(f64::NAN);
        }
        own[row] = square.sqrt();
        own[row + 1..].fill(0.0);
    }
}

/// The solution X of L X = B for a lower triangular L, in the place of B, which has so many columns.
#[inline(never)]
#[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
pub fn triangular_solve(lower: &[f64], size: usize, b: &mut [f64], columns: usize) {
    for row in 0..size {
        let own = &lower[row * size..][..=row];
        let (known, rest) = b.split_at_mut(row * columns);
        if columns == 0 {
            return;
        }
        if columns == 1 {
            rest[0] = (rest[0] - dot(&own[..row], known)) / own[row];
            continue;
        }
        let result = &mut rest[..columns];
        for (factor, earlier) in own.iter().zip(known.chunks_exact(columns)) {
            add_scaled(result, -factor, earlier);
        }
        result.iter_mut().for_each(|x| *x /= own[row]);
    }
}

/// Unit lower and upper triangular factors of the rows in an order, in the place of the matrix: the element of largest magnitude is the pivot of
/// its column. Gives for each row of the factors which row of the matrix it is of, and for each step −1 where it exchanged rows, else 1.
#[inline(never)]
#[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
pub fn pivoted(a: &mut [f64], rows: usize, columns: usize) -> (Vec<usize>, Vec<f64>) {
    let mut order: Vec<usize> = (0..rows).collect();
    let mut signs = vec![1.0; rows];
    for step in 0..rows.min(columns) {
        // A NaN is the largest, so that it reaches the result.
        let size = |row: usize| a[row * columns + step].to_bits() & !(1 << 63);
        let mut pivot = step;
        for row in step + 1..rows {
            if size(row) > size(pivot) {
                pivot = row;
            }
        }
        if pivot != step {
            let (first, second) = two_rows(a, columns, [step, pivot]);
            first.swap_with_slice(second);
            order.swap(step, pivot);
            signs[step] = -1.0;
        }
        let divisor = a[step * columns + step];
        if divisor == 0.0 {
            continue;
        }
        for row in step + 1..rows {
            let (of_step, own) = two_rows(a, columns, [step, row]);
            let factor = own[step] / divisor;
            own[step] = factor;
            add_scaled(&mut own[step + 1..], -factor, &of_step[step + 1..]);
        }
    }
    (order, signs)
}
