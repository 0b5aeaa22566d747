//! Which tile suits a product, and whether its depth is cut.

use super::build::Built;
use crate::kernel::{Body, Tile};
use crate::size::Size;

/// Gives the kernel of a product the tile for its shape, [batch…, rows, columns], for the largest dims.
pub fn set_tile(built: &mut Built, shape: &[Size], most_dims: &[u32]) {
    let Body::Product(product) = &mut built.kernel.body else { return };
    let [batch @ .., rows, columns] = shape else { return };
    let most = |size: &Size| size.at(most_dims).max(0) as u64;
    product.tile = choose_tile(most(&Size::product(batch)), most(rows), most(columns));
}

/// Tiles that keep a large device busy: it has about 130 cores with a few tiles each.
const ENOUGH_TILES: u64 = 192;

/// Shortest slice of a depth: shorter ones cost more by their sums than they gain.
const SHORTEST_SLICE: u32 = 512;

/// Most slices of a depth.
const MOST_SLICES: u64 = 16;

/// The tile for a product of these extents, where `batch` is the number of matrices. It follows from the extents alone.
fn choose_tile(batch: u64, rows: u64, columns: u64) -> Tile {
    let tiles = |size: u64| batch.saturating_mul(rows.div_ceil(size)).saturating_mul(columns.div_ceil(size));
    if rows.min(columns) <= u64::from(Tile::MOST_ROWS) {
        Tile::Vector
    } else if rows.min(columns) <= 32 {
        Tile::Small
    } else if tiles(128) >= ENOUGH_TILES {
        Tile::Large
    } else if tiles(64) >= ENOUGH_TILES / 2 {
        Tile::Medium
    } else {
        Tile::Small
    }
}

/// Into how many slices the depth of a product is cut, so that enough workgroups compute it: 1 if it is not cut. The products of the slices are a
/// batch more, whose sum is the product. Sums of slices are rounded in another order than sums of the whole depth, so the number follows from the
/// extents alone.
pub fn split_of(batch: u64, rows: u64, columns: u64, depth: u64) -> u32 {
    let size = 64;
    let tiles = batch.saturating_mul(rows.div_ceil(size)).saturating_mul(columns.div_ceil(size));
    let is_vector = rows.min(columns) <= u64::from(Tile::MOST_ROWS);
    if is_vector || tiles == 0 || tiles >= ENOUGH_TILES || depth < 4 * u64::from(SHORTEST_SLICE) {
        return 1;
    }
    let most = (depth / u64::from(SHORTEST_SLICE)).min(MOST_SLICES);
    ENOUGH_TILES.div_ceil(tiles).clamp(1, most) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_are_large_where_there_are_many() {
        for ((batch, rows, columns), tile) in [
            ((1, 4096, 4096), Tile::Large),
            ((1, 2048, 2048), Tile::Large),
            ((1, 1024, 1024), Tile::Medium),
            ((1, 128, 256), Tile::Small),
            ((64, 256, 256), Tile::Large),
            ((1, 16, 1 << 20), Tile::Small),
            ((1, 8, 4096), Tile::Vector),
            ((1, 4096, 1), Tile::Vector),
            ((1, 0, 0), Tile::Vector),
            ((u64::MAX, 4096, 4096), Tile::Large),
        ] {
            assert_eq!(choose_tile(batch, rows, columns), tile, "{batch} of {rows} x {columns}");
        }
    }

    #[test]
    fn a_depth_is_cut_where_there_are_few_tiles_and_it_is_long() {
        for ((batch, rows, columns, depth), slices) in [
            ((1, 1024, 1024, 4096), 1),
            ((1, 512, 512, 2048), 3),
            ((1, 64, 64, 1 << 20), 16),
            ((1, 64, 64, 2048), 4),
            ((1, 64, 64, 2047), 1),
            ((1, 8, 64, 1 << 20), 1),
            ((0, 64, 64, 4096), 1),
        ] {
            assert_eq!(split_of(batch, rows, columns, depth), slices, "{batch} of {rows} x {columns} x {depth}");
        }
    }
}
