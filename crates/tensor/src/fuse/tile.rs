//! Which tile suits a product, and whether its depth is cut.

use super::build::Built;
use super::split::split;
use crate::kernel::{Body, Extent, Product, SizeBounds, TensorKernel, Tile};
use crate::size::Size;

/// The kernels of a product: one with the tile for its extents, or two if its depth is cut. Where dims decide how many rows or columns there
/// are, kernels for one and for a few of them stand beside those for many. `scratch` counts pieces of scratch memory.
pub fn tiled(built: Built, most_dims: &[u32], scratch: &mut u32) -> Vec<Built> {
    let Body::Product(product) = built.kernel.body.clone() else { return vec![built] };
    let Some(size) = [product.rows, product.columns].iter().find_map(|extent| unknown(&built, *extent)) else {
        return of_largest(built, product, most_dims, scratch);
    };
    let most = size.at(most_dims).clamp(0, i64::from(u32::MAX)) as u32;
    let guarded = |built: Built, least: u32, most: u32| {
        let guard = Some(SizeBounds { size: size.clone(), least, most });
        Built { kernel: TensorKernel { guard, ..built.kernel }, ..built }
    };
    let mut kernels = Vec::new();
    for (least, limit) in [(0, 1), (2, Tile::MOST_ROWS)].into_iter().filter(|(least, _)| *least <= most) {
        let mut few = built.clone();
        few.kernel.body = Body::Product(Product { tile: Tile::Vector, ..product.clone() });
        kernels.push(guarded(few, least, limit));
    }
    let many = Tile::MOST_ROWS + 1;
    if many <= most {
        let largest = of_largest(built, product, most_dims, scratch);
        kernels.extend(largest.into_iter().map(|built| guarded(built, many, u32::MAX)));
    }
    kernels
}

/// The size of an extent that dims decide.
fn unknown(built: &Built, extent: Extent) -> Option<Size> {
    match extent {
        Extent::Word(word) if built.kernel.known(extent).is_none() => Some(built.kernel.sizes[word as usize].clone()),
        _ => None,
    }
}

/// The kernels for the largest dims.
fn of_largest(mut built: Built, product: Product, most_dims: &[u32], scratch: &mut u32) -> Vec<Built> {
    let most = |extent: &Extent| u64::from(built.kernel.extent(*extent, most_dims));
    let batch = product.batch.iter().map(most).fold(1, u64::saturating_mul);
    let (rows, columns) = (most(&product.rows), most(&product.columns));
    let depth = built.kernel.known(product.depth).unwrap_or_default();
    let slices = split_of(batch, rows, columns, depth);
    if slices > 1 {
        let tile = choose_tile(batch * u64::from(slices), rows, columns);
        *scratch += 1;
        return split(&built, &product, slices, depth / slices, tile, *scratch - 1).into();
    }
    built.kernel.body = Body::Product(Product { tile: choose_tile(batch, rows, columns), ..product });
    vec![built]
}

/// Tiles that keep a large device busy: it has about 130 cores with a few tiles each.
const ENOUGH_TILES: u64 = 192;

/// Large tiles that such a device computes side by side.
const ROUND: u64 = 264;

/// Shortest depth that is cut.
const SHORTEST_CUT: u32 = 2048;

/// Shortest slice of a depth: shorter ones cost more by their sums than they gain.
const SHORTEST_SLICE: u32 = 256;

/// Most slices of a depth.
const MOST_SLICES: u32 = 16;

/// What all steps along the depth divide.
const STEP: u32 = 32;

/// The tile for a product of these extents, where `batch` is the number of matrices. It follows from the extents alone. Large tiles are 7/6 as fast as
/// medium ones (decision 0032), wide ones 6/5, which is lost where they compute that much more beyond the last row or column.
fn choose_tile(batch: u64, rows: u64, columns: u64) -> Tile {
    let tiles = |size: u64| batch.saturating_mul(rows.div_ceil(size)).saturating_mul(columns.div_ceil(size));
    let wide = batch.saturating_mul(rows.div_ceil(64)).saturating_mul(columns.div_ceil(256));
    if rows.min(columns) <= u64::from(Tile::MOST_ROWS) {
        Tile::Vector
    } else if rows.min(columns) <= 32 {
        Tile::Small
    } else if tiles(128) >= ENOUGH_TILES && tiles(128).saturating_mul(4 * 6) <= tiles(64).saturating_mul(7) {
        Tile::Large
    } else if wide >= ENOUGH_TILES && wide.saturating_mul(4 * 5) <= tiles(64).saturating_mul(6) {
        Tile::Wide
    } else if tiles(64) >= ENOUGH_TILES / 2 {
        Tile::Medium
    } else {
        Tile::Small
    }
}

/// Into how many equal slices the depth of a product is cut, so that enough large tiles compute it: 1 if it is not cut. Sums of slices are
/// rounded in another order than sums of the whole depth, so the number follows from the extents alone.
fn split_of(batch: u64, rows: u64, columns: u64, depth: u32) -> u32 {
    let tiles = batch.saturating_mul(rows.div_ceil(128)).saturating_mul(columns.div_ceil(128));
    let is_vector = rows.min(columns) <= u64::from(Tile::MOST_ROWS);
    if is_vector || tiles == 0 || depth < SHORTEST_CUT {
        return 1;
    }
    if tiles >= ENOUGH_TILES {
        // A second round of less than half as many takes as long as the first: three of halves take a quarter less.
        let is_half_empty = ROUND < tiles && tiles <= ROUND / 2 * 3;
        let is_large = choose_tile(batch, rows, columns) == Tile::Large;
        return if is_half_empty && is_large && depth.is_multiple_of(2 * STEP) { 2 } else { 1 };
    }
    let wanted = ENOUGH_TILES.div_ceil(tiles);
    // Slices are whole steps of every tile, so that factors need no guards.
    let is_possible = |slices: &u32| depth.is_multiple_of(slices * STEP) && depth / slices >= SHORTEST_SLICE;
    let mut possible = (2..=MOST_SLICES).filter(is_possible);
    let least = possible.clone().find(|slices| u64::from(*slices) >= wanted);
    least.or(possible.next_back()).unwrap_or(1)
}

#[cfg(test)]
#[cfg(not(target_arch = "wasm32"))]
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
            ((1, 64, 1 << 16), Tile::Wide),
            ((1, 64, 1 << 15), Tile::Medium),
            ((1, 1 << 16, 64), Tile::Medium),
            ((1, 65, 1 << 16), Tile::Large),
            ((1, 192, 1 << 16), Tile::Wide),
            ((1, 320, 1 << 16), Tile::Wide),
            ((1, 448, 1 << 16), Tile::Large),
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
            ((1, 2048, 2048, 4096), 1),
            ((1, 1024, 5632, 2048), 2),
            ((1, 2048, 5632, 2048), 1),
            ((1, 1024, 5632, 1024), 1),
            ((1, 64, 40_000, 4096), 1),
            ((u64::MAX, 4096, 4096, 4096), 1),
            ((1, 1024, 1024, 4096), 4),
            ((1, 1024, 1024, 2016), 1),
            ((1, 128, 4096, 4096), 8),
            ((1, 64, 64, 1 << 20), 16),
            ((1, 64, 64, 2048), 8),
            ((1, 64, 64, 2080), 5),
            ((1, 64, 64, 2049), 1),
            ((1, 8, 64, 1 << 20), 1),
            ((0, 64, 64, 4096), 1),
        ] {
            assert_eq!(split_of(batch, rows, columns, depth), slices, "{batch} of {rows} x {columns} x {depth}");
        }
    }
}
