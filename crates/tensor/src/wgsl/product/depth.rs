//! Large tiles of products whose factors both have their vectors along the depth.

use residua_base::error::Result;
use residua_codegen::template_parameters;

use super::blocks::{Blocks, Numbers};
use super::functions::{Side, store};
use super::roles::{Roles, is_along_depth};
use super::shape::TileShape;
use super::text::{Matrices, declare, finish, tiles};
use crate::kernel::Product;
use crate::scalar::Type;
use crate::wgsl::module::{Module, shader};
use crate::wgsl::text::KernelText;

template_parameters! {
    /// Parameters of `product_depth.wgsl`.
    struct DepthTemplate {
        vectors: u32,
        rows_guarded: bool,
        columns_guarded: bool,
        packed: bool,
        quantised: bool,
        spread: bool,
        upper: bool,
        minima: bool,
        eight_bits: bool,
        side_type: String,
        first_four: String,
        second_four: String,
        unit: String,
        words: String,
        in_windows: bool,
        vector: u32,
    }
}

/// Whether both factors are real numbers with their vectors along the depth. Batches of numbers that are not packed take 9 % longer this way.
pub fn suits(module: &Module, product: &Product) -> bool {
    let roles = Roles::of(product);
    let [row, column, depth] = roles.axes;
    module.kernel.graph.ty(product.left) == Type::F32
        && is_along_depth(module, product.left, row, depth)
        && is_along_depth(module, product.right, column, depth)
        && (product.batch.is_empty() || packed(module, roles).is_some())
}

/// How the right factor is read if its words hold several numbers.
fn packed(module: &Module, roles: Roles) -> Option<Blocks> {
    Blocks::of(module, roles).filter(Blocks::are_packed)
}

/// As the templates take it: steps of eight places, as many rows as columns, and a thread for each.
const SHAPE: TileShape = TileShape::LARGE_ALONG_DEPTH;
const _: () = assert!(SHAPE.step == 8 && SHAPE.rows() == SHAPE.columns() && SHAPE.rows() == SHAPE.x * SHAPE.y);

/// Writes the kernel.
pub fn write(mut module: Module, product: &Product) -> Result<KernelText> {
    let shape = SHAPE;
    let roles = Roles::of(product);
    let left = Side::left(&module, roles, true, [shape.rows(), shape.step]);
    let right = Side::right(&module, roles, true, [shape.columns(), shape.step]);
    let blocks = packed(&module, roles);
    let right_function = match blocks {
        Some(blocks) => {
            declare(&mut module, product, roles, &[&left]);
            blocks.declare(&mut module);
            blocks.functions_of_bits(&mut module, product, roles, shape.columns(), Numbers::Singles)
        }
        None => {
            declare(&mut module, product, roles, &[&left, &right]);
            right.function(&mut module, product, &[])
        }
    };
    let functions =
        [left.function(&mut module, product, &[]), right_function, store(&mut module, product, roles, "")].concat();
    let quantised = blocks.and_then(|blocks| blocks.quantised());
    let eight_bits = quantised.is_some_and(|form| form.low == 8);
    let four = |word: &str, upper: &str| blocks.map_or_else(String::new, |blocks| blocks.four(word, upper));
    let parameters = DepthTemplate {
        vectors: shape.rows() / 4,
        rows_guarded: left.is_outer_guarded,
        columns_guarded: right.is_outer_guarded,
        packed: blocks.is_some(),
        quantised: quantised.is_some(),
        spread: blocks.is_some_and(|blocks| blocks.is_spread()),
        upper: blocks.is_some_and(|blocks| blocks.has_upper()),
        minima: blocks.is_some_and(|blocks| blocks.has_minimum()),
        eight_bits,
        side_type: blocks.map_or_else(String::new, |blocks| blocks.side_type(&module)),
        first_four: four("words.x", "upper.x"),
        second_four: if eight_bits { four("words.y", "") } else { four("words.x >> 16u", "upper.x >> 16u") },
        unit: blocks.map_or("", |blocks| blocks.unit()).to_owned(),
        words: blocks.map_or_else(String::new, |blocks| blocks.words()),
        in_windows: blocks.is_some_and(|blocks| blocks.in_windows(&module)),
        vector: blocks.map_or(8, |blocks| blocks.a_vector()),
    };
    let tiles = tiles(product, roles, [shape.rows(), shape.columns()]);
    let parameters = ((Matrices::of(&module, product, roles), shape.template()), parameters);
    Ok(finish(module, &[(shader!("product_depth"), &parameters)], &functions, vec![tiles]))
}
