//! Products of integers: a left factor of bytes and a right one of few bits, which becomes bytes.

use residua_base::error::Result;
use residua_codegen::template_parameters;

use super::blocks::{Blocks, Numbers};
use super::functions::store;
use super::roles::Roles;
use super::shape::TileShape;
use super::text::{Matrices, declare, finish, tiles};
use crate::kernel::Product;
use crate::quantised::BLOCK;
use crate::wgsl::module::{Module, shader};
use crate::wgsl::text::KernelText;

template_parameters! {
    /// Parameters of `product_bytes.wgsl`.
    struct BytesTemplate {
        rows_of_tile: u32,
        columns_of_tile: u32,
        rows_guarded: bool,
        columns_guarded: bool,
        packed_dot: bool,
        left_words: String,
        left_in_windows: bool,
        right_partial: bool,
        spread: bool,
        upper: bool,
        minima: bool,
        eight_bits: bool,
        side_type: String,
        words: String,
        in_windows: bool,
        half: String,
        groups: u32,
        halves: u32,
        both_halves: bool,
    }
}

/// Both factors of a product of integers, if it is one.
pub fn factors(module: &Module, product: &Product) -> Option<[Blocks; 2]> {
    let roles = Roles::of(product);
    let left = Blocks::of_left(module, roles)?;
    let right = Blocks::of(module, roles)?;
    (left.quantised()?.is_single && right.quantised().is_some()).then_some([left, right])
}

/// Writes the kernel; `has_dot` tells whether the device has a product of packed bytes.
pub fn write(
    mut module: Module,
    product: &Product,
    [left, right]: [Blocks; 2],
    shape: TileShape,
    has_dot: bool,
) -> Result<KernelText> {
    let roles = Roles::of(product);
    declare(&mut module, product, roles, &[]);
    left.declare(&mut module);
    right.declare(&mut module);
    let (rows, columns) = (shape.rows(), shape.columns());
    let functions = [
        left.functions_of_bits(&mut module, product, roles.transposed(), rows, Numbers::Bytes),
        right.functions_of_bits(&mut module, product, roles, columns, Numbers::Bytes),
        store(&mut module, product, roles, ""),
    ]
    .concat();
    let is_guarded = |extent, size| !module.kernel.is_multiple(extent, size);
    let eight_bits = right.quantised().is_some_and(|form| form.low == 8);
    let groups = right.quantised().map_or(1, |form| BLOCK / form.group);
    let parameters = BytesTemplate {
        rows_of_tile: rows,
        columns_of_tile: columns,
        rows_guarded: is_guarded(product.rows, rows),
        columns_guarded: is_guarded(product.columns, columns),
        packed_dot: has_dot,
        left_words: left.words(),
        left_in_windows: left.in_windows(&module),
        right_partial: 2 * columns < shape.x * shape.y,
        spread: right.is_spread(),
        upper: right.has_upper(),
        minima: right.has_minimum(),
        eight_bits,
        side_type: right.side_type(&module),
        words: right.words(),
        in_windows: right.in_windows(&module),
        half: if eight_bits { " + right_half" } else { "" }.to_owned(),
        groups,
        halves: 2 / groups,
        both_halves: groups == 1,
    };
    let tiles = tiles(product, roles, [rows, columns]);
    let parameters = ((Matrices::of(&module, product, roles), shape.template()), parameters);
    Ok(finish(module, &[(shader!("product_bytes"), &parameters)], &functions, vec![tiles]))
}
