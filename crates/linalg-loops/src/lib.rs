//! Inner loops of linear algebra in f64: vectors, compressed rows, blocks of a preconditioner. They are a crate of their own because a
//! Cargo profile has one optimisation level for a crate: this one is compiled for speed, the others for size.
//!
//! All functions take slices, and slices that belong together have one length; of several lengths the shortest counts. A sparse matrix is
//! given as compressed rows: row `i` has the entries `row_offsets[i]..row_offsets[i + 1]` of `col_indices` and `values`.
//!
//! Sums are kept in several parts, so that an addition need not wait for the previous one; their order is fixed, and a run repeats bit for
//! bit. No function but [`damped`], which is one product, is inlined into another crate, where it would be optimised for size again.

pub mod dense;
pub mod fronts;
mod pair;
pub mod panels;
#[cfg(all(test, not(target_arch = "wasm32")))]
mod property_tests;
pub mod schur;
pub mod semidefinite;
pub mod small;
pub mod tridiagonal;

/// Σ aᵢbᵢ.
#[inline(never)]
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    sum(a, b, |a, b| a * b)
}

#[inline(always)]
fn sum(a: &[f64], b: &[f64], term: impl Fn(f64, f64) -> f64) -> f64 {
    let length = a.len().min(b.len());
    let (a, a_rest) = a[..length].as_chunks::<4>();
    let (b, b_rest) = b[..length].as_chunks::<4>();
    let mut parts = [0.0; 4];
    for (a, b) in a.iter().zip(b) {
        for part in 0..4 {
            parts[part] += term(a[part], b[part]);
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(&a, &b)| term(a, b)).sum();
    (parts[0] + parts[1]) + (parts[2] + parts[3]) + rest
}

/// Euclidean norm, scaled by the largest number where squares would overflow or vanish.
#[inline(never)]
pub fn norm(x: &[f64]) -> f64 {
    let square = dot(x, x);
    // Below, squares lose digits to numbers that are too small to be normal.
    if square > 1e-280 && square.is_finite() {
        return square.sqrt();
    }
    if square.is_nan() {
        return square;
    }
    let largest = max_norm(x);
    if largest == 0.0 || !largest.is_finite() {
        return largest;
    }
    largest * x.iter().map(|x| (x / largest) * (x / largest)).sum::<f64>().sqrt()
}

/// Largest magnitude.
#[inline(never)]
pub fn max_norm(x: &[f64]) -> f64 {
    x.iter().fold(0.0, |largest, x| if x.abs() > largest { x.abs() } else { largest })
}

/// Whether no number is infinite or NaN.
#[inline(never)]
pub fn all_finite(x: &[f64]) -> bool {
    let (eights, rest) = x.as_chunks::<8>();
    let mut parts = [0.0; 8];
    for eight in eights {
        for part in 0..8 {
            parts[part] += eight[part];
        }
    }
    let total = parts.iter().chain(rest).sum::<f64>();
    // A number that is not finite makes every sum so; so does an overflow, and then it is a sum of zeros, or NaN.
    total.is_finite() || sum(x, x, |x, _| 0.0 * x) == 0.0
}

/// y = A x for a matrix in compressed rows.
#[inline(never)]
pub fn rows_product(row_offsets: &[u32], col_indices: &[u32], values: &[f64], x: &[f64], y: &mut [f64]) {
    for (ends, y) in row_offsets.windows(2).zip(y) {
        let range = ends[0] as usize..ends[1] as usize;
        let mut along = 0.0;
        for (&column, value) in col_indices[range.clone()].iter().zip(&values[range]) {
            along += value * x[column as usize];
        }
        *y = along;
    }
}

/// Adds Aᵀw to `target` for a matrix in compressed rows.
#[inline(never)]
pub fn transposed_product(row_offsets: &[u32], col_indices: &[u32], values: &[f64], w: &[f64], target: &mut [f64]) {
    for (ends, w) in row_offsets.windows(2).zip(w) {
        let range = ends[0] as usize..ends[1] as usize;
        for (&column, value) in col_indices[range.clone()].iter().zip(&values[range]) {
            target[column as usize] += value * w;
        }
    }
}

/// Adds the squares of the entries of a sparse matrix to the sums of their columns.
#[inline(never)]
pub fn add_squares(col_indices: &[u32], values: &[f64], sums: &mut [f64]) {
    for (&column, value) in col_indices.iter().zip(values) {
        sums[column as usize] += value * value;
    }
}

/// How many numbers stand for the inverse of a symmetric block: of three coordinates the lower half, row after row, which is less to read;
/// of any other number all.
pub const fn inverse_len(coordinates: usize) -> usize {
    if coordinates == 3 { 6 } else { coordinates * coordinates }
}

/// The inverse, its lower half, of a symmetric matrix of three rows, of which the lower half counts, if it is positive definite (by L D Lᵀ).
fn invert_3(a: &[f64; 9], damping: &[f64; 3]) -> Option<[f64; 6]> {
    let &[a00, _, _, a10, a11, _, a20, a21, a22] = a;
    let [a00, a11, a22] = [a00 + damping[0], a11 + damping[1], a22 + damping[2]];
    let d0 = 1.0 / a00;
    let (l10, l20) = (a10 * d0, a20 * d0);
    let p1 = a11 - l10 * a10;
    let d1 = 1.0 / p1;
    let l21 = (a21 - l20 * a10) * d1;
    let p2 = a22 - l20 * a20 - l21 * l21 * p1;
    let d2 = 1.0 / p2;
    let positive = |pivot: f64| pivot > 0.0 && pivot.is_finite();
    if !(positive(a00) && positive(p1) && positive(p2)) {
        return None;
    }
    let m20 = l10 * l21 - l20;
    let (i20, i21) = (m20 * d2, -l21 * d2);
    let i10 = -l10 * d1 - l21 * i20;
    Some([d0 + l10 * l10 * d1 + m20 * i20, i10, d1 - l21 * i21, i20, i21, d2])
}

/// Inverts damped diagonal blocks of three coordinates, up to the first block that has another number of them or is not positive definite; says
/// how many. A block is its first coordinate and how many it has; `jtj_blocks` has them in full, one after another.
#[inline(never)]
pub fn invert_threes(blocks: &[(usize, usize)], jtj_blocks: &[f64], damping: &[f64], inverses: &mut [f64]) -> usize {
    let of_blocks = blocks.iter().zip(jtj_blocks.as_chunks::<9>().0).zip(inverses.as_chunks_mut::<6>().0);
    let mut done = 0;
    for ((&(first, count), block), inverse) in of_blocks {
        let Some((damping, _)) = damping[first..].split_first_chunk::<3>() else { break };
        match invert_3(block, damping) {
            Some(inverted) if count == 3 => *inverse = inverted,
            _ => break,
        }
        done += 1;
    }
    done
}

/// A step α in conjugate gradients for residual and preconditioned residual: r − αAp, and in the place of Ap z = M⁻¹r, for M of symmetric diagonal
/// blocks whose inverses stand one after another; what is in no block is left as it is. Gives rᵀz. All in one pass, and in as few vectors as
/// can be, since it takes as long as reading and writing them does.
#[inline(never)]
pub fn advance(
    alpha: f64,
    blocks: &[(usize, usize)],
    inverses: &[f64],
    product: &mut [f64],
    residual: &mut [f64],
) -> f64 {
    let mut parts = [0.0; 3];
    let mut outside = 0.0;
    let mut covered = 0;
    let (mut rest, mut blocks) = (inverses, blocks);
    while let Some(&(first, count)) = blocks.first() {
        outside += move_along(alpha, &mut product[covered..first], &mut residual[covered..first]);
        let threes =
            blocks.iter().zip((first..).step_by(3)).take_while(|(block, start)| **block == (*start, 3)).count();
        covered = first + if threes > 0 { 3 * threes } else { count };
        let (z, r) = (&mut product[first..covered], &mut residual[first..covered]);
        if threes > 0 {
            let (own, others) = rest.split_at(6 * threes);
            advance_threes(alpha, own, z, r, &mut parts);
            (rest, blocks) = (others, &blocks[threes..]);
            continue;
        }
        move_along(alpha, z, r);
        let (own, others) = rest.split_at(count * count);
        for (row, z) in own.chunks_exact(count.max(1)).zip(z.iter_mut()) {
            *z = dot(row, r);
        }
        parts[0] += dot(r, z);
        (rest, blocks) = (others, &blocks[1..]);
    }
    outside += move_along(alpha, &mut product[covered..], &mut residual[covered..]);
    parts[0] + parts[1] + parts[2] + outside
}

/// Blocks of three, with the lower halves of their inverses; adds rᵀz to its parts.
#[inline(always)]
fn advance_threes(alpha: f64, inverses: &[f64], product: &mut [f64], residual: &mut [f64], parts: &mut [f64; 3]) {
    let vectors = product.as_chunks_mut::<3>().0.iter_mut().zip(residual.as_chunks_mut::<3>().0);
    for ((z, r), [xx, yx, yy, zx, zy, zz]) in vectors.zip(inverses.as_chunks::<6>().0) {
        for k in 0..3 {
            r[k] -= alpha * z[k];
        }
        *z = [xx * r[0] + yx * r[1] + zx * r[2], yx * r[0] + yy * r[1] + zy * r[2], zx * r[0] + zy * r[1] + zz * r[2]];
        for k in 0..3 {
            parts[k] += r[k] * z[k];
        }
    }
}

/// The same without preconditioning; gives rᵀr.
fn move_along(alpha: f64, product: &mut [f64], residual: &mut [f64]) -> f64 {
    let mut square = 0.0;
    for (z, r) in product.iter_mut().zip(residual) {
        *r -= alpha * *z;
        *z = *r;
        square += *r * *r;
    }
    square
}

/// The rest of that step, and the next direction: x + αp, then p = z + βp, and dp in the place of z, to which Ap can be added. Gives Σ dᵢpᵢ².
#[inline(never)]
pub fn redirect(alpha: f64, beta: f64, d: &[f64], z: &mut [f64], p: &mut [f64], x: &mut [f64]) -> f64 {
    let (d_fours, d_rest) = d.as_chunks::<4>();
    let (z_fours, z_rest) = z.as_chunks_mut::<4>();
    let (p_fours, p_rest) = p.as_chunks_mut::<4>();
    let (x_fours, x_rest) = x.as_chunks_mut::<4>();
    let mut parts = [0.0; 4];
    let mut turn = |part: usize, d: f64, z: &mut f64, p: &mut f64, x: &mut f64| {
        *x += alpha * *p;
        *p = *z + beta * *p;
        *z = d * *p;
        parts[part] += *z * *p;
    };
    for (((d, z), p), x) in d_fours.iter().zip(z_fours).zip(p_fours).zip(x_fours) {
        for k in 0..4 {
            turn(k, d[k], &mut z[k], &mut p[k], &mut x[k]);
        }
    }
    for (((d, z), p), x) in d_rest.iter().zip(z_rest).zip(p_rest).zip(x_rest) {
        turn(0, *d, z, p, x);
    }
    (parts[0] + parts[1]) + (parts[2] + parts[3])
}

/// λD of a coordinate; λ where D is not positive, since no unit is known there and the step is 0 with any damping.
#[inline(always)]
pub fn damped(lambda: f64, scale: f64) -> f64 {
    if scale > 0.0 { lambda * scale } else { lambda }
}

/// Marks so many places from each of the addresses on.
#[inline(never)]
pub fn mark(addresses: &[u32], count: usize, marks: &mut [bool]) {
    let mut last = None;
    for &address in addresses {
        // What all share is marked once.
        if last.replace(address) != Some(address) {
            for mark in &mut marks[address as usize..address as usize + count] {
                *mark = true;
            }
        }
    }
}

/// The diagonals of blocks that stand in full one after another, to their coordinates.
#[inline(never)]
pub fn diagonals(blocks: &[(usize, usize)], numbers: &[f64], diagonal: &mut [f64]) {
    let mut rest = numbers;
    for &(first, count) in blocks {
        let (own, others) = rest.split_at(count * count);
        rest = others;
        for (entry, number) in diagonal[first..first + count].iter_mut().zip(own.iter().step_by(count + 1)) {
            *entry = *number;
        }
    }
}

/// Adds AᵀAp to `product` for a matrix in compressed rows; gives ‖Ap‖².
#[inline(never)]
pub fn normal_product(row_offsets: &[u32], col_indices: &[u32], values: &[f64], p: &[f64], product: &mut [f64]) -> f64 {
    let mut square = 0.0;
    for ends in row_offsets.windows(2) {
        let range = ends[0] as usize..ends[1] as usize;
        let (columns, values) = (&col_indices[range.clone()], &values[range]);
        let mut along = 0.0;
        for (&column, value) in columns.iter().zip(values) {
            along += value * p[column as usize];
        }
        square += along * along;
        for (&column, value) in columns.iter().zip(values) {
            product[column as usize] += value * along;
        }
    }
    square
}

/// x − s·v.
#[inline(never)]
pub fn subtract(s: f64, v: &[f64], x: &mut [f64]) {
    for (v, x) in v.iter().zip(x) {
        *x -= s * v;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_take_every_term_once() {
        for length in 0..10u32 {
            let a: Vec<f64> = (0..length).map(|k| f64::from(k + 1)).collect();
            let b: Vec<f64> = a.iter().map(|a| 10.0 * a).collect();
            // Σ k², in integers.
            let squares = f64::from(length * (length + 1) * (2 * length + 1) / 6);
            assert_eq!(dot(&a, &b), 10.0 * squares);
            let (mut z, mut p, mut x) = (b.clone(), a.clone(), vec![1.0; a.len()]);
            assert_eq!(redirect(3.0, 2.0, &vec![2.0; a.len()], &mut z, &mut p, &mut x), 2.0 * 144.0 * squares);
            let moved = z.iter().zip(&p).zip(&x).zip(&a);
            assert!(moved.into_iter().all(|(((z, p), x), a)| (*z, *p, *x) == (24.0 * a, 12.0 * a, 1.0 + 3.0 * a)));
        }
    }

    #[test]
    fn norms_neither_overflow_nor_vanish() {
        for scale in [1.0, 1e200, 1e-200, 5e-324] {
            assert_eq!(norm(&[3.0 * scale, -4.0 * scale]), 5.0 * scale);
        }
        assert_eq!((norm(&[]), norm(&[0.0, 0.0]), norm(&[1.0, f64::INFINITY])), (0.0, 0.0, f64::INFINITY));
        assert!(norm(&[1.0, f64::NAN]).is_nan() && norm(&[0.0, f64::NAN]).is_nan());
        assert_eq!(max_norm(&[1.0, -3.0, f64::NAN, 2.0]), 3.0);
        assert!(all_finite(&[1e308; 20]) && !all_finite(&[[1e308; 20], [f64::NAN; 20]].concat()));
        assert!(all_finite(&[1.0, -0.0]) && !all_finite(&[1.0, f64::NAN]) && !all_finite(&[f64::NEG_INFINITY]));
    }

    #[test]
    fn small_matrices_times_their_inverses_are_the_unit_matrix() {
        // Symmetric and positive definite with its damping; numbers above the diagonal do not count.
        let (a, damping) = ([3.5, 9.0, 9.0, 1.0, 3.0, 9.0, -1.0, 0.5, 1.75], [0.5, 0.0, 0.25]);
        let full = |i: usize, j: usize| a[3 * i.max(j) + i.min(j)] + if i == j { damping[i] } else { 0.0 };
        let blocks = [(3, 3), (0, 3), (6, 1)];
        let jtj_blocks = [a, a, [1.0; 9]].concat();
        let mut inverses = [0.0; 18];
        let of_blocks = [[0.5, 0.0, 0.25]; 3].concat();
        assert_eq!(invert_threes(&blocks, &jtj_blocks, &of_blocks, &mut inverses), 2);
        assert_eq!((&inverses[..6], &inverses[12..]), (&inverses[6..12], &[0.0; 6][..]));
        let inverse = |i: usize, j: usize| inverses[i.max(j) * (i.max(j) + 1) / 2 + i.min(j)];
        for i in 0..3 {
            for j in 0..3 {
                let entry: f64 = (0..3).map(|k| full(i, k) * inverse(k, j)).sum();
                // Some ten operations on numbers below ten.
                assert!((entry - if i == j { 1.0 } else { 0.0 }).abs() < 1e-14, "{i} {j}: {entry}");
            }
        }
        for indefinite in [[0.0; 9], [1.0, 0.0, 0.0, 2.0, 1.0, 0.0, 0.0, 0.0, 1.0], [f64::NAN; 9]] {
            assert_eq!(invert_threes(&[(0, 3)], &indefinite, &[0.0; 3], &mut [0.0; 6]), 0);
        }
    }

    #[test]
    fn blocks_of_any_width_are_multiplied_and_the_rest_is_left() {
        // One coordinate, two blocks of three side by side, and one of two; those in between are in no block.
        let blocks = [(1, 1), (2, 3), (5, 3), (9, 2)];
        let lower = [2.0, 0.0, 3.0, 0.0, 1.0, 4.0];
        let inverses = [vec![2.0], lower.to_vec(), lower.to_vec(), vec![1.0, 0.5, 0.5, 2.0]].concat();
        // r − 2 Ap is 7 1 1 2 3 4 1 2 3 5 6 8; all numbers are exact.
        let r = [7.0, 1.0, 1.0, 2.0, 3.0, 4.0, 1.0, 2.0, 3.0, 5.0, 6.0, 8.0];
        let mut product: Vec<f64> = (0..r.len()).map(|k| k as f64).collect();
        let mut residual: Vec<f64> = r.iter().zip(&product).map(|(r, product)| r + 2.0 * product).collect();
        let squared = advance(2.0, &blocks, &inverses, &mut product, &mut residual);
        let z = [7.0, 2.0, 2.0, 9.0, 14.0, 8.0, 5.0, 9.0, 3.0, 8.0, 14.5, 8.0];
        assert_eq!((product.as_slice(), residual.as_slice()), (&z[..], &r[..]));
        assert_eq!(squared, r.iter().zip(&z).map(|(r, z)| r * z).sum());
    }

    #[test]
    fn a_scale_of_zero_is_damped_as_one_and_blocks_have_their_diagonals() {
        assert_eq!([damped(0.5, 0.25), damped(0.5, 0.0)], [0.125, 0.5]);
        let mut of_blocks = [0.0; 4];
        diagonals(&[(1, 2), (3, 1)], &[1.0, 2.0, 3.0, 4.0, 5.0], &mut of_blocks);
        assert_eq!(of_blocks, [0.0, 1.0, 4.0, 5.0]);
    }

    #[test]
    fn products_with_compressed_rows_are_those_with_the_matrix() {
        // [1 0 2; 0 0 0; 0 3 -1]
        let (offsets, columns, values) = ([0, 2, 2, 4], [0, 2, 1, 2], [1.0, 2.0, 3.0, -1.0]);
        let mut product = [1.0, 0.0, 0.0];
        assert_eq!(normal_product(&offsets, &columns, &values, &[1.0, 2.0, 3.0], &mut product), 49.0 + 9.0);
        assert_eq!(product, [1.0 + 7.0, 9.0, 14.0 - 3.0]);
        let (mut along, mut product) = ([9.0; 3], [1.0, 0.0, 0.0]);
        rows_product(&offsets, &columns, &values, &[1.0, 2.0, 3.0], &mut along);
        transposed_product(&offsets, &columns, &values, &along, &mut product);
        let mut squares = [1.0; 3];
        add_squares(&columns, &values, &mut squares);
        assert_eq!(squares, [2.0, 10.0, 6.0]);
        assert_eq!((along, product), ([7.0, 0.0, 3.0], [1.0 + 7.0, 9.0, 14.0 - 3.0]));
    }
}
