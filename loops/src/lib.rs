//! Inner loops of linear algebra in f64. They are a crate of their own because a profile has one level of optimisation for a crate: the
//! module is small, and these are fast.
//!
//! Sums are kept in several parts, so that an addition need not wait for the one before; the order is fixed, and a run repeats bit for bit.
//! None is inlined: in what calls them they would be optimised for size again. Slices that belong together are as long as the shortest of them.

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

/// Σ dᵢxᵢ² with every d brought between two bounds.
#[inline(never)]
pub fn clamped_weighted_square(d: &[f64], x: &[f64], least: f64, most: f64) -> f64 {
    sum(d, x, |d, x| d.max(least).min(most) * x * x)
}

/// Euclidean norm, scaled by the largest number where squares would overflow or vanish.
#[inline(never)]
pub fn norm(x: &[f64]) -> f64 {
    let square = dot(x, x);
    // Below, squares lose digits to numbers that are too small to be normal.
    if square > 1e-280 && square.is_finite() {
        return square.sqrt();
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
    // A sum of zeros, or NaN.
    sum(x, x, |x, _| 0.0 * x) == 0.0
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

/// Adds Aᵀw to `image` for a matrix in compressed rows.
#[inline(never)]
pub fn transposed_product(row_offsets: &[u32], col_indices: &[u32], values: &[f64], w: &[f64], image: &mut [f64]) {
    for (ends, w) in row_offsets.windows(2).zip(w) {
        let range = ends[0] as usize..ends[1] as usize;
        for (&column, value) in col_indices[range.clone()].iter().zip(&values[range]) {
            image[column as usize] += value * w;
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

/// The inverse, in full, of a symmetric matrix of three rows, of which the lower half counts, if it is positive definite (by L D Lᵀ).
#[inline(never)]
pub fn invert_3(a: &[f64; 9]) -> Option<[f64; 9]> {
    let &[a00, _, _, a10, a11, _, a20, a21, a22] = a;
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
    Some([d0 + l10 * l10 * d1 + m20 * i20, i10, i20, i10, d1 - l21 * i21, i21, i20, i21, d2])
}

/// A step α along p in conjugate gradients: x + αp, and r − α(Ap + dp), of which `image` is Ap.
#[inline(never)]
pub fn advance(alpha: f64, p: &[f64], image: &[f64], damping: &[f64], x: &mut [f64], r: &mut [f64]) {
    for ((((p, image), damping), x), r) in p.iter().zip(image).zip(damping).zip(x).zip(r) {
        *x += alpha * p;
        *r -= alpha * (image + damping * p);
    }
}

/// The next direction: z + βp. Gives Σ dᵢpᵢ² of it.
#[inline(never)]
pub fn redirect(beta: f64, z: &[f64], d: &[f64], p: &mut [f64]) -> f64 {
    let mut parts = [0.0; 2];
    for (number, ((z, d), p)) in z.iter().zip(d).zip(p).enumerate() {
        let next = z + beta * *p;
        *p = next;
        parts[number & 1] += d * next * next;
    }
    parts[0] + parts[1]
}

/// z = M⁻¹r for M of symmetric diagonal blocks, whose inverses stand one after another in full; what is in no block is left as it is. Gives
/// rᵀz. A block is its first coordinate and how many it has.
#[inline(never)]
pub fn precondition(blocks: &[(usize, usize)], inverses: &[f64], r: &[f64], z: &mut [f64]) -> f64 {
    let mut parts = [0.0; 3];
    let mut outside = 0.0;
    let mut covered = 0;
    let mut rest = inverses;
    for &(first, count) in blocks {
        outside += copy(&r[covered..first], &mut z[covered..first]);
        covered = first + count;
        let (inverse, others) = rest.split_at(count * count);
        rest = others;
        let (r, z) = (&r[first..first + count], &mut z[first..first + count]);
        match (inverse, r, z) {
            (&[xx, _, _, yx, yy, _, zx, zy, zz], &[x, y, z], [to_x, to_y, to_z]) => {
                *to_x = xx * x + yx * y + zx * z;
                *to_y = yx * x + yy * y + zy * z;
                *to_z = zx * x + zy * y + zz * z;
                parts[0] += x * *to_x;
                parts[1] += y * *to_y;
                parts[2] += z * *to_z;
            }
            (_, r, z) => {
                for (row, z) in inverse.chunks_exact(count.max(1)).zip(z.iter_mut()) {
                    *z = dot(row, r);
                }
                parts[0] += dot(r, z);
            }
        }
    }
    outside += copy(&r[covered..], &mut z[covered..]);
    parts[0] + parts[1] + parts[2] + outside
}

/// Copies, and gives the sum of squares.
fn copy(r: &[f64], z: &mut [f64]) -> f64 {
    z.copy_from_slice(r);
    r.iter().map(|r| r * r).sum()
}

/// Adds AᵀAp to `image` for a matrix in compressed rows; gives ‖Ap‖².
#[inline(never)]
pub fn normal_product(row_offsets: &[u32], col_indices: &[u32], values: &[f64], p: &[f64], image: &mut [f64]) -> f64 {
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
            image[column as usize] += value * along;
        }
    }
    square
}

/// x − s·v, of which v has entries at `rows` alone.
#[inline(never)]
pub fn subtract_scattered(s: f64, rows: &[u32], v: &[f64], x: &mut [f64]) {
    for (&row, v) in rows.iter().zip(v) {
        x[row as usize] -= s * v;
    }
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
            assert_eq!(clamped_weighted_square(&a, &vec![2.0; a.len()], 3.0, 3.0), 12.0 * f64::from(length));
            let mut p = a.clone();
            assert_eq!(redirect(2.0, &b, &vec![2.0; a.len()], &mut p), 2.0 * 144.0 * squares);
            assert!(p.iter().zip(&a).all(|(p, a)| *p == 12.0 * a));
        }
    }

    #[test]
    fn norms_neither_overflow_nor_vanish() {
        for scale in [1.0, 1e200, 1e-200, 5e-324] {
            assert_eq!(norm(&[3.0 * scale, -4.0 * scale]), 5.0 * scale);
        }
        assert_eq!((norm(&[]), norm(&[0.0, 0.0]), norm(&[1.0, f64::INFINITY])), (0.0, 0.0, f64::INFINITY));
        assert!(norm(&[1.0, f64::NAN]).is_nan());
        assert_eq!(max_norm(&[1.0, -3.0, f64::NAN, 2.0]), 3.0);
        assert!(all_finite(&[1.0, -0.0]) && !all_finite(&[1.0, f64::NAN]) && !all_finite(&[f64::NEG_INFINITY]));
    }

    #[test]
    fn small_matrices_times_their_inverses_are_the_unit_matrix() {
        // Symmetric and positive definite; numbers above the diagonal do not count.
        let a = [4.0, 9.0, 9.0, 1.0, 3.0, 9.0, -1.0, 0.5, 2.0];
        let full = |i: usize, j: usize| a[3 * i.max(j) + i.min(j)];
        let inverse = invert_3(&a).unwrap();
        for i in 0..3 {
            for j in 0..3 {
                let entry: f64 = (0..3).map(|k| full(i, k) * inverse[3 * k + j]).sum();
                // Some ten operations on numbers below ten.
                assert!((entry - if i == j { 1.0 } else { 0.0 }).abs() < 1e-14, "{i} {j}: {entry}");
            }
        }
        for indefinite in [[0.0; 9], [1.0, 0.0, 0.0, 2.0, 1.0, 0.0, 0.0, 0.0, 1.0], [f64::NAN; 9]] {
            assert_eq!(invert_3(&indefinite), None);
        }
    }

    #[test]
    fn blocks_of_any_width_are_multiplied_and_the_rest_is_left() {
        let inverses =
            [vec![2.0], vec![2.0, 0.0, 0.0, 0.0, 3.0, 1.0, 0.0, 1.0, 4.0], vec![1.0, 0.5, 0.5, 2.0]].concat();
        let r = [7.0, 1.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let mut z = [0.0; 8];
        let product = precondition(&[(1, 1), (2, 3), (6, 2)], &inverses, &r, &mut z);
        assert_eq!(z, [7.0, 2.0, 2.0, 9.0, 14.0, 4.0, 8.0, 14.5]);
        assert_eq!(product, r.iter().zip(&z).map(|(r, z)| r * z).sum());
    }

    #[test]
    fn products_with_compressed_rows_are_those_with_the_matrix() {
        // [1 0 2; 0 0 0; 0 3 -1]
        let (offsets, columns, values) = ([0, 2, 2, 4], [0, 2, 1, 2], [1.0, 2.0, 3.0, -1.0]);
        let mut image = [1.0, 0.0, 0.0];
        assert_eq!(normal_product(&offsets, &columns, &values, &[1.0, 2.0, 3.0], &mut image), 49.0 + 9.0);
        assert_eq!(image, [1.0 + 7.0, 9.0, 14.0 - 3.0]);
        let (mut along, mut image) = ([9.0; 3], [1.0, 0.0, 0.0]);
        rows_product(&offsets, &columns, &values, &[1.0, 2.0, 3.0], &mut along);
        transposed_product(&offsets, &columns, &values, &along, &mut image);
        let mut squares = [1.0; 3];
        add_squares(&columns, &values, &mut squares);
        assert_eq!(squares, [2.0, 10.0, 6.0]);
        assert_eq!((along, image), ([7.0, 0.0, 3.0], [1.0 + 7.0, 9.0, 14.0 - 3.0]));
    }
}
