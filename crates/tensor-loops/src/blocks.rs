//! Sums of long depths: sums of blocks are added to a result.

use super::{Extents, ProductTarget};

/// Places along the depth that are summed before the sum is added to the result: a panel of the right factor then fits the first cache.
/// Rows of the 384 numbers that small encoders have are read whole.
pub const DEPTH_BLOCK: usize = 384;

/// Sets the elements of a result to 0.
pub fn clear(extents: Extents, target: &mut ProductTarget<f32>) {
    for row in 0..extents.rows {
        for column in 0..extents.columns {
            target.values[row * target.row_stride + column * target.column_stride] = 0.0;
        }
    }
}
