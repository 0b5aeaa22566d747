//! Products with few rows, which read the right factor once and pack nothing.

use super::blocks::{DEPTH_BLOCK, clear};
use super::four::Four;
use super::{Extents, Factor, Target};

/// Columns whose sums stay in the first cache.
const COLUMN_BLOCK: usize = 1024;
/// Places along the depth of a block of a sum by [`dot`]: each of its 16 parts has 128 terms.
const DOT_BLOCK: usize = 2048;

/// The product, where the right factor follows in memory along the columns or along the depth; false where it does neither.
#[inline]
#[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
pub fn product(extents: Extents, left: Factor<f32>, right: Factor<f32>, target: &mut Target<f32>) -> bool {
    if right.outer_stride == 1 {
        along_columns(extents, left, right, target);
        true
    } else if right.depth_stride == 1 && extents.depth > 0 {
        along_depth(extents, left, right, target);
        true
    } else {
        false
    }
}

/// Adds multiples of rows of the right factor, four rows at a time.
#[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
fn along_columns(extents: Extents, left: Factor<f32>, right: Factor<f32>, target: &mut Target<f32>) {
    let mut sums = [0.0; COLUMN_BLOCK];
    clear(extents, target);
    for first_column in (0..extents.columns).step_by(COLUMN_BLOCK) {
        let width = COLUMN_BLOCK.min(extents.columns - first_column);
        for first_depth in (0..extents.depth).step_by(DEPTH_BLOCK) {
            let last = (first_depth + DEPTH_BLOCK).min(extents.depth);
            for row in 0..extents.rows {
                let sums = &mut sums[..width];
                sums.fill(0.0);
                let number = |depth: usize| left.values[row * left.outer_stride + depth * left.depth_stride];
                let numbers = |depth: usize| &right.values[depth * right.depth_stride + first_column..][..width];
                let mut depth = first_depth;
                while depth + 4 <= last {
                    let factors = [0, 1, 2, 3].map(|i| number(depth + i));
                    add_multiples(sums, factors, [0, 1, 2, 3].map(|i| numbers(depth + i)));
                    depth += 4;
                }
                for depth in depth..last {
                    let factor = number(depth);
                    for (sum, number) in sums.iter_mut().zip(numbers(depth)) {
                        *sum += factor * number;
                    }
                }
                let start = row * target.row_stride + first_column * target.column_stride;
                for (column, sum) in sums.iter().enumerate() {
                    target.values[start + column * target.column_stride] += sum;
                }
            }
        }
    }
}

/// Adds four multiples, one after the other.
#[inline]
#[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
fn add_multiples(sums: &mut [f32], factors: [f32; 4], numbers: [&[f32]; 4]) {
    let (fours, rest) = sums.as_chunks_mut::<4>();
    let done = 4 * fours.len();
    let chunks = numbers.map(|numbers| numbers.as_chunks::<4>().0);
    let [a, b, c, d] = [0, 1, 2, 3].map(|i| factors[i]);
    let (a4, b4, c4, d4) = (Four::all(a), Four::all(b), Four::all(c), Four::all(d));
    for ((((sum, a), b), c), d) in fours.iter_mut().zip(chunks[0]).zip(chunks[1]).zip(chunks[2]).zip(chunks[3]) {
        let mut four = Four::new(*sum).plus_product(a4, Four::new(*a));
        four = four.plus_product(b4, Four::new(*b));
        four = four.plus_product(c4, Four::new(*c));
        *sum = four.plus_product(d4, Four::new(*d)).numbers();
    }
    for (at, sum) in rest.iter_mut().enumerate() {
        for (factor, numbers) in [a, b, c, d].into_iter().zip(numbers) {
            *sum += factor * numbers[done + at];
        }
    }
}

/// Scalar products of rows and columns.
#[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
fn along_depth(extents: Extents, left: Factor<f32>, right: Factor<f32>, target: &mut Target<f32>) {
    // A left factor that does not follow along the depth is copied: it is small.
    let mut rows = vec![0.0; extents.rows * extents.depth];
    for (row, numbers) in rows.chunks_exact_mut(extents.depth).enumerate() {
        for (depth, number) in numbers.iter_mut().enumerate() {
            *number = left.values[row * left.outer_stride + depth * left.depth_stride];
        }
    }
    for column in 0..extents.columns {
        let numbers = &right.values[column * right.outer_stride..][..extents.depth];
        for (row, factors) in rows.chunks_exact(extents.depth).enumerate() {
            let mut sum = 0.0;
            for (factors, numbers) in factors.chunks(DOT_BLOCK).zip(numbers.chunks(DOT_BLOCK)) {
                sum += dot(factors, numbers);
            }
            target.values[row * target.row_stride + column * target.column_stride] = sum;
        }
    }
}

/// Σ aᵢbᵢ in 16 parts.
#[inline]
#[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
fn dot(a: &[f32], b: &[f32]) -> f32 {
    let (a16, a_rest) = a.as_chunks::<16>();
    let (b16, b_rest) = b.as_chunks::<16>();
    let mut sums = [Four::all(0.0); 4];
    for (a, b) in a16.iter().zip(b16) {
        let (a, b) = (a.as_chunks::<4>().0, b.as_chunks::<4>().0);
        for part in 0..4 {
            sums[part] = sums[part].plus_product(Four::new(a[part]), Four::new(b[part]));
        }
    }
    let [x, y, z, w] = sums[0].plus(sums[1]).plus(sums[2].plus(sums[3])).numbers();
    let rest: f32 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    (x + y) + (z + w) + rest
}
