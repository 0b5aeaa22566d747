//! How the elements of a tile are divided among the threads of a workgroup.

use residua_codegen::template_parameters;

use super::super::module::Module;
use super::roles::{Roles, is_along_depth};
use crate::kernel::{Tile, WORKGROUP_THREADS};
use crate::quantised::BLOCK;

template_parameters! {
    /// What the templates of products in tiles have.
    pub struct TileShapeTemplate {
        x: u32,
        y: u32,
        lanes: u32,
        row_blocks: u32,
        column_blocks: u32,
    }
}

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
    /// Whether the loop takes two steps a turn.
    pub unrolled: bool,
    /// Whether threads load several steps at once where a step has fewer blocks than there are threads, even if blocks are loaded as vectors.
    pub loads_ahead: bool,
}

impl TileShape {
    /// A large tile whose factors both have their vectors along the depth; it is not unrolled.
    pub const LARGE_ALONG_DEPTH: TileShape = TileShape {
        x: 16,
        y: 8,
        lanes: 8,
        row_blocks: 4,
        column_blocks: 2,
        step: 8,
        unrolled: false,
        loads_ahead: false,
    };

    /// That of a tile: the fastest of some measured on an NVIDIA H200, in so much memory of a workgroup. Longer steps are a tenth faster than short ones.
    pub fn of(tile: Tile, workgroup_bytes: u32) -> TileShape {
        match tile {
            Tile::Large | Tile::LargeOf64 => TileShape {
                x: 16,
                y: 16,
                lanes: 8,
                row_blocks: 2,
                column_blocks: 2,
                step: 8,
                unrolled: false,
                loads_ahead: false,
            },
            Tile::Wide => TileShape {
                x: 32,
                y: 4,
                lanes: 8,
                row_blocks: 4,
                column_blocks: 2,
                // Vectors of 64 rows and 256 columns, for two steps.
                step: if workgroup_bytes >= 2 * 8 * 80 * 16 { 8 } else { 4 },
                unrolled: false,
                loads_ahead: false,
            },
            Tile::Medium => TileShape {
                x: 16,
                y: 8,
                lanes: 2,
                row_blocks: 2,
                column_blocks: 1,
                step: 16,
                unrolled: true,
                loads_ahead: true,
            },
            Tile::Small | Tile::Vector => TileShape {
                x: 8,
                y: 8,
                lanes: 2,
                row_blocks: 1,
                column_blocks: 1,
                step: 32,
                unrolled: true,
                loads_ahead: true,
            },
        }
    }

    /// That of a tile of a product of integers, whose step is a block. Eight rows and four columns a thread leave registers for several workgroups, whose
    /// waiting overlaps. Each thread loads half a block of a row.
    pub fn of_bytes(tile: Tile) -> TileShape {
        let [x, y, row_blocks] = match tile {
            Tile::Large | Tile::LargeOf64 | Tile::Wide => [16, 16, 2],
            Tile::Medium => [16, 8, 2],
            Tile::Small | Tile::Vector => [8, 8, 1],
        };
        TileShape { x, y, lanes: 8, row_blocks, column_blocks: 1, step: BLOCK, unrolled: false, loads_ahead: false }
    }

    /// For the templates.
    pub fn template(self) -> TileShapeTemplate {
        let TileShape { x, y, lanes, row_blocks, column_blocks, .. } = self;
        TileShapeTemplate { x, y, lanes, row_blocks, column_blocks }
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
        let [rows, columns, _] = roles.extents.map(|extent| module.kernel.bound(extent));
        // Vectors along the columns are many registers with many rows. Wide products have enough workgroups with more columns each.
        let most_rows = if along_depth { Tile::MOST_ROWS } else { 4 };
        let is_wide = columns.is_some_and(|columns| columns >= 8192);
        VectorShape {
            places: if is_wide && !along_depth { 32 } else { 64 },
            rows: rows.unwrap_or(4).clamp(1, most_rows),
            along_depth,
        }
    }

    /// Columns of a workgroup.
    pub const fn columns(self) -> u32 {
        WORKGROUP_THREADS / self.places * if self.along_depth { 1 } else { 4 }
    }
}
