//! The tile of a product that stays in registers.

use super::four::Four;

/// Rows of a tile.
pub const ROWS: usize = 4;
/// Vectors of four columns of a tile.
const VECTORS: usize = 2;
/// Columns of a tile: 8 sums, 2 vectors of the right factor and one of the left leave room in the 16 registers of x86-64.
pub const COLUMNS: usize = 4 * VECTORS;

/// The product of a panel of [`ROWS`] rows and one of [`COLUMNS`] columns, place along the depth after place. It is a function of its own so that the
/// loop's counter and addresses stay in registers.
#[inline(never)]
#[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
pub fn tile(left: &[[f32; ROWS]], right: &[[f32; COLUMNS]]) -> [[f32; COLUMNS]; ROWS] {
    let mut sums = [[Four::all(0.0); VECTORS]; ROWS];
    for (left, right) in left.iter().zip(right) {
        let (fours, _) = right.as_chunks::<4>();
        let mut columns = [Four::all(0.0); VECTORS];
        for (column, four) in columns.iter_mut().zip(fours) {
            *column = Four::new(*four);
        }
        for row in 0..ROWS {
            let a = Four::all(left[row]);
            for vector in 0..VECTORS {
                sums[row][vector] = sums[row][vector].plus_product(a, columns[vector]);
            }
        }
    }
    let mut result = [[0.0; COLUMNS]; ROWS];
    for row in 0..ROWS {
        for vector in 0..VECTORS {
            result[row][4 * vector..4 * vector + 4].copy_from_slice(&sums[row][vector].numbers());
        }
    }
    result
}
