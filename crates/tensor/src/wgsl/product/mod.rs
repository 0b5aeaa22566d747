//! Products of matrices: templates for the loops, and generated functions for their factors and for what becomes of their elements.
//!
//! The functions evaluate the kernel's graph at four neighbouring rows, columns or places along the depth, so that neighbours that follow
//! one another in memory are loaded and stored as one vector.

use residua_base::error::Result;
use residua_codegen::wgsl::{Parameters, Template};

use super::module::{Module, shader};
use super::workgroups::{Factor, Workgroups};
use super::{KernelText, points};
use crate::kernel::{Extent, Product, Tile};
use crate::scalar::{Access, Id};

mod functions;
mod shape;
mod tiles;
mod vector;

use functions::Side;
use shape::TileShape;

/// Files that the templates include.
const FILES: &[Template<'static>] = &[shader!("product_load"), shader!("product_compute"), shader!("product_store")];

/// Writes the kernel.
pub fn write(module: Module, product: &Product) -> Result<KernelText> {
    match product.tile {
        Tile::Large | Tile::Medium | Tile::Small => tiles::write(module, product, TileShape::of(product.tile)),
        Tile::Vector => {
            let is_row = |extent| module.kernel.known(extent).is_some_and(|extent| extent <= Tile::MOST_ROWS);
            let roles = Roles::of(product);
            let is_column = is_row(product.columns) && !is_row(product.rows);
            vector::write(module, product, if is_column { roles.transposed() } else { roles })
        }
    }
}

/// The parts of a product: those of the kernel, or of its transpose, where factors and axes change places.
#[derive(Clone, Copy)]
struct Roles {
    /// Axes of rows, columns and depth.
    axes: [u32; 3],
    /// Their extents.
    extents: [Extent; 3],
    left: Id,
    right: Id,
}

impl Roles {
    fn of(product: &Product) -> Roles {
        let batch = product.batch.len() as u32;
        Roles {
            axes: [batch, batch + 1, batch + 2],
            extents: [product.rows, product.columns, product.depth],
            left: product.left,
            right: product.right,
        }
    }

    fn transposed(self) -> Roles {
        let Roles { axes: [row, column, depth], extents: [rows, columns, length], left, right } = self;
        Roles { axes: [column, row, depth], extents: [columns, rows, length], left: right, right: left }
    }
}

/// Whether an extent is a multiple of a number whatever the dims are.
fn is_multiple(module: &Module, extent: Extent, number: u32) -> bool {
    match extent {
        Extent::Known(extent) => extent.is_multiple_of(number),
        Extent::Word(word) => module.kernel.sizes[word as usize].is_multiple_of(i64::from(number)),
    }
}

/// Whether a factor is loaded by vectors along the depth, and not along its rows or columns.
fn is_along_depth(module: &Module, factor: Id, outer: u32, depth: u32) -> bool {
    let loads = points::loads(module, &[factor]);
    let rank = |axis: u32| {
        let accesses = loads.iter().map(|(_, index)| module.kernel.graph.access(*index, axis, &module.kernel.sizes));
        let rank = |access| match access {
            Access::Vector => 2,
            Access::Consecutive => 1,
            Access::Same | Access::Other => 0,
        };
        accesses.map(rank).max().unwrap_or(0)
    };
    rank(depth) > rank(outer)
}

/// Declares buffers for what is done with them: results and what they are computed from go by four along the columns, factors along the axis
/// of their vectors.
fn declare(module: &mut Module, product: &Product, roles: Roles, sides: [&Side; 2]) {
    let [_, column, _] = roles.axes;
    let roots: Vec<Id> = product.elements.iter().flat_map(|store| [store.index, store.value]).collect();
    let loads = points::loads(module, &roots);
    let masked = !module.is_multiple_of_4(roles.extents[1]);
    points::declare(module, Some(column), &loads, &product.elements, &[], masked);
    for side in sides {
        for (buffer, index) in points::loads(module, &[side.value]) {
            module.read_vectors(buffer, index, side.lanes());
        }
    }
}

/// The text from its template and its functions.
fn finish(
    mut module: Module,
    product: &Product,
    roles: Roles,
    template: Template<'static>,
    parameters: &dyn Parameters,
    functions: &str,
    [rows, columns]: [u32; 2],
) -> KernelText {
    let (mut text, bindings) = module.head();
    module.program.push("\n");
    module.program.push_template(template, FILES, parameters);
    module.program.push(functions);
    text += &std::mem::take(&mut module.program).finish();
    let batch = product.batch.iter().map(|extent| Factor { extent: *extent, divisor: 1 });
    let tiles =
        [Factor { extent: roles.extents[0], divisor: rows }, Factor { extent: roles.extents[1], divisor: columns }];
    KernelText { text, bindings, workgroups: Workgroups { factors: batch.chain(tiles).collect(), units: 1 } }
}
