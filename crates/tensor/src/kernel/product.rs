//! Products of matrices.

use super::{Extent, Fold, Store, WORKGROUP_THREADS};
use crate::scalar::Id;

/// A batch of products of matrices, [`rows`, `depth`] times [`depth`, `columns`]. Coordinates 0 … count the axes of the batch, the three after
/// them are the row, the column and the place along the depth. Reductions of a row are numbered from 0 on, and the product after them.
#[derive(Clone, Debug, PartialEq)]
pub struct Product {
    /// Extents of the axes of the batch; may be empty.
    pub batch: Vec<Extent>,
    /// Rows of the result.
    pub rows: Extent,
    /// Columns of the result.
    pub columns: Extent,
    /// Length of the sums.
    pub depth: Extent,
    /// Reductions along the depth on which the left factor depends; only of a product of one row with [`Tile::Vector`].
    pub folds: Vec<Fold>,
    /// The left factor at (batch, row, depth): a load, or a few operations on loads. f32, i32 or u32.
    pub left: Id,
    /// The right factor at (batch, depth, column), of the same type.
    pub right: Id,
    /// What is written for each (batch, row, column), where result 0 of the fold after those of a row is the element of the product.
    pub elements: Vec<Store>,
    /// How it is tiled.
    pub tile: Tile,
}

impl Product {
    /// Threads of a workgroup of [`Tile::Vector`] that reads right factors by whole blocks along the depth; else it has all.
    pub const BLOCK_THREADS: u32 = WORKGROUP_THREADS / 2;
}

/// How a product is tiled. Sums go along the depth in order with every tile but the last, so that the choice between those does not change
/// results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tile {
    /// 128 × 128 elements a workgroup. Where both factors have their vectors along the depth a thread has 128 of them, else 64.
    Large,
    /// 128 × 128 elements a workgroup, 64 a thread.
    LargeOf64,
    /// 64 × 256 elements a workgroup, 128 a thread.
    Wide,
    /// 64 × 64.
    Medium,
    /// 32 × 32.
    Small,
    /// A few rows, or a few columns: a workgroup for some of the other axis, threads along the depth.
    Vector,
}

impl Tile {
    /// Most rows, or columns, that [`Tile::Vector`] suits.
    pub const MOST_ROWS: u32 = 8;

    /// The tiles that may take one another's place in a kernel, by the numbers that the facade has for them: `TILES` in
    /// pkg-template/src/tensor/device/tiles.ts. Where these tiles or their kernels change, `VERSION` in tuner.ts changes too: times of
    /// earlier kernels are then not used.
    pub const EXCHANGEABLE: [Tile; 5] = [Tile::Large, Tile::LargeOf64, Tile::Medium, Tile::Small, Tile::Wide];
}
