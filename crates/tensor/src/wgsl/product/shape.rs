//! Which tile suits a product, and how many workgroups compute it.

use super::super::module::Module;
use super::{Roles, is_along_depth};
use crate::kernel::Tile;

/// A tile: threads, and the elements of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TileShape {
    /// Threads along the columns.
    pub x: u32,
    /// Threads along the rows.
    pub y: u32,
    /// How many threads along the columns stand beside one another in a subgroup; divides `x`.
    pub lanes: u32,
    /// Blocks of 4 rows of a thread.
    pub row_blocks: u32,
    /// Blocks of 4 columns of a thread.
    pub column_blocks: u32,
    /// Places along the depth that lie in workgroup memory at once; a multiple of 4.
    pub step: u32,
    pub order: u32,
    pub rotated: bool,
}

impl TileShape {
    /// That of a tile.
    pub const fn of(tile: Tile) -> TileShape {
        match tile {
            Tile::Large => TileShape {
                x: 16,
                y: 16,
                lanes: 16,
                row_blocks: 2,
                column_blocks: 2,
                step: 8,
                order: 0,
                rotated: false,
            },
            Tile::Medium => {
                TileShape { x: 8, y: 8, lanes: 8, row_blocks: 2, column_blocks: 2, step: 16, order: 0, rotated: false }
            }
            Tile::Small | Tile::Vector => {
                TileShape { x: 8, y: 8, lanes: 8, row_blocks: 1, column_blocks: 1, step: 16, order: 0, rotated: false }
            }
        }
    }

    /// Rows of the tile.
    pub const fn rows(self) -> u32 {
        self.y * self.row_blocks * 4
    }

    /// Columns of the tile.
    pub const fn columns(self) -> u32 {
        self.x * self.column_blocks * 4
    }
}

/// How a product with few rows is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VectorShape {
    /// Threads of a workgroup.
    pub threads: u32,
    /// Threads that divide the depth of a column, or of 4 columns; a power of two.
    pub places: u32,
    /// Rows of a workgroup.
    pub rows: u32,
    /// Whether threads read the right factor by vectors along the depth, and not along its columns.
    pub along_depth: bool,
}

impl VectorShape {
    /// That of a product.
    pub fn of(module: &Module, roles: Roles) -> VectorShape {
        let [_, column, depth] = roles.axes;
        let along_depth = is_along_depth(module, roles.right, column, depth);
        let rows = module.kernel.known(roles.extents[0]).unwrap_or(4).clamp(1, Tile::MOST_ROWS);
        VectorShape { threads: 256, places: 64, rows, along_depth }
    }

    /// Columns of a workgroup.
    pub const fn columns(self) -> u32 {
        self.threads / self.places * if self.along_depth { 1 } else { 4 }
    }
}
