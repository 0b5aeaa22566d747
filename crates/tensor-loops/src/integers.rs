//! Products of matrices of 32-bit integers.

use super::{Extents, MatrixFactor, ProductTarget};

/// The product of two matrices of integers, which wraps: the low 32 bits are the same for signed and unsigned ones.
///
/// # Panics
/// If an element of a factor or of the target is not within its slice.
#[inline(never)]
#[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
pub fn integer_product(
    extents: Extents,
    left: MatrixFactor<u32>,
    right: MatrixFactor<u32>,
    target: &mut ProductTarget<u32>,
) {
    let mut sums = vec![0_u32; extents.columns];
    for row in 0..extents.rows {
        sums.fill(0);
        for depth in 0..extents.depth {
            let factor = left.values[row * left.outer_stride + depth * left.depth_stride];
            let start = depth * right.depth_stride;
            if right.outer_stride == 1 {
                for (sum, number) in sums.iter_mut().zip(&right.values[start..start + extents.columns]) {
                    *sum = sum.wrapping_add(factor.wrapping_mul(*number));
                }
            } else {
                for (column, sum) in sums.iter_mut().enumerate() {
                    *sum = sum.wrapping_add(factor.wrapping_mul(right.values[start + column * right.outer_stride]));
                }
            }
        }
        let start = row * target.row_stride;
        for (column, sum) in sums.iter().enumerate() {
            target.values[start + column * target.column_stride] = *sum;
        }
    }
}
