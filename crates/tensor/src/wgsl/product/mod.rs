//! Products of matrices: templates for the loops, and generated functions for their factors and for what becomes of their elements.
//!
//! The functions evaluate the kernel's graph at four neighbouring rows, columns or places along the depth, so that neighbours that follow
//! one another in memory are loaded and stored as one vector.

use residua_base::error::Result;
use residua_base::list::Listed;

use super::module::Module;
use super::text::KernelText;
use crate::kernel::{Product, Tile};

mod blocks;
mod bytes;
mod column_functions;
mod depth;
mod functions;
mod roles;
mod row;
mod shape;
mod text;
mod tiles;
mod vector;

use blocks::Blocks;
use roles::{Roles, is_along_depth};
use shape::TileShape;

/// Writes the kernel, for a device whose workgroups have so many bytes of memory. `has_dot` tells whether its language has products of packed bytes.
pub fn write(module: Module, product: &Product, workgroup_bytes: u32, has_dot: bool) -> Result<KernelText> {
    if product.tile != Tile::Vector
        && let Some(factors) = bytes::factors(&module, product)
    {
        return bytes::write(module, product, factors, TileShape::of_bytes(product.tile), has_dot);
    }
    match product.tile {
        Tile::Large if depth::suits(&module, product) => depth::write(module, product),
        Tile::Large | Tile::LargeOf64 | Tile::Wide | Tile::Medium | Tile::Small => {
            tiles::write(module, product, TileShape::of(product.tile, workgroup_bytes))
        }
        Tile::Vector => {
            let is_row = |extent| module.kernel.bound(extent).is_some_and(|extent| extent <= Tile::MOST_ROWS);
            let roles = Roles::of(product);
            let is_column = is_row(product.columns) && !is_row(product.rows);
            vector::write(module, &[(product, if is_column { roles.transposed() } else { roles })], false)
        }
    }
}

/// The number of the type of a product's elements, whether the left and the right factor have their vectors along the depth, and what the right factor has in
/// memory: bits of a number, or 64 and the code of a format. None of a product of integers.
pub fn form(module: &Module, product: &Product) -> Option<[u32; 4]> {
    if bytes::factors(module, product).is_some() {
        return None;
    }
    let roles = Roles::of(product);
    let [row, column, depth] = roles.axes;
    let ty = module.kernel.graph.ty(product.left) as u32;
    let is_along_depth = |factor, outer| u32::from(is_along_depth(module, factor, outer, depth));
    let stored = Blocks::of(module, roles).map_or(32, |blocks| blocks.stored());
    Some([ty, is_along_depth(product.left, row), is_along_depth(product.right, column), stored])
}

/// Writes the kernel of several products with few rows, which workgroups compute side by side or one after the other.
pub fn write_siblings(module: Module, products: &[Product], in_sequence: bool) -> Result<KernelText> {
    let products: Vec<(&Product, Roles)> = products.iter().map(|product| (product, Roles::of(product))).list();
    vector::write(module, &products, in_sequence)
}
