//! What the parts of a product are, and how they lie.

use super::super::module::Module;
use crate::kernel::{Extent, Product};
use crate::scalar::{Access, Id};

/// The parts of a product: those of the kernel, or of its transpose, where factors and axes change places.
#[derive(Clone, Copy)]
pub struct Roles {
    /// Axes of rows, columns and depth.
    pub axes: [u32; 3],
    /// Their extents.
    pub extents: [Extent; 3],
    /// The left factor.
    pub left: Id,
    /// The right factor.
    pub right: Id,
}

impl Roles {
    /// Those of the kernel.
    pub fn of(product: &Product) -> Roles {
        let batch = product.batch.len() as u32;
        Roles {
            axes: [batch, batch + 1, batch + 2],
            extents: [product.rows, product.columns, product.depth],
            left: product.left,
            right: product.right,
        }
    }

    /// Those of the transpose.
    pub fn transposed(self) -> Roles {
        let Roles { axes: [row, column, depth], extents: [rows, columns, length], left, right } = self;
        Roles { axes: [column, row, depth], extents: [columns, rows, length], left: right, right: left }
    }
}

/// Whether a factor is loaded by vectors along the depth, and not along its rows or columns.
pub fn is_along_depth(module: &Module, factor: Id, outer: u32, depth: u32) -> bool {
    let loads = module.kernel.graph.loads([factor]);
    let rank = |axis: u32| {
        let rank = |(_, index): &(u32, Id)| match module.access(*index, axis) {
            Access::Vector => 2,
            Access::Consecutive => 1,
            // Four neighbours in one word.
            Access::Same if module.kernel.graph.depends_on(*index, axis) => 2,
            Access::Same | Access::Other => 0,
        };
        loads.iter().map(rank).max().unwrap_or(0)
    };
    rank(depth) > rank(outer)
}
