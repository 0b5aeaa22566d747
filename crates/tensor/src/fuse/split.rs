//! Products whose depth is cut: one kernel computes the products of slices, another sums them and what follows.

use super::build::Built;
use super::composed::Composed;
use super::states::state_dtype;
use crate::kernel::{Body, Combine, Extent, Fold, Product, Rows, Store, TensorBuffer, Tile};
use crate::lower::Memory;
use crate::scalar::{Id, Type, TypedOp};
use residua_base::list::Listed;

/// The two kernels of a product whose depth is `slices` slices of `length` places. The first writes the products of slices to a piece of scratch
/// memory, with the slice as the first axis of its batch.
pub fn split(built: &Built, product: &Product, slices: u32, length: u32, tile: Tile, scratch: u32) -> [Built; 2] {
    let ty = built.kernel.graph.ty(product.left);
    let combine = if ty == Type::F32 { Combine::Sum } else { Combine::PlainSum };
    let dtype = state_dtype(ty);
    let axes = product.batch.len() as u32;
    let matrices = [&product.batch[..], &[product.rows, product.columns]].concat();

    let mut composed = Composed::new(&built.kernel.sizes);
    let slice = composed.graph.coordinate(0);
    let mut coordinates: Vec<Id> = (0..axes + 2).map(|axis| composed.graph.coordinate(axis + 1)).list();
    let index = composed.address(slice, &coordinates, &matrices);
    let place = composed.graph.coordinate(axes + 3);
    let first = composed.of_literal(slice, length);
    coordinates.push(composed.graph.apply(TypedOp::IntAdd, &[first, place]));
    let copied = composed.copy(built, &[product.left, product.right], &coordinates);
    let value = composed.graph.folded(0, 0, ty);
    let buffer = composed.buffer(Memory::Scratch(scratch), TensorBuffer { dtype, written: true });
    let body = Product {
        batch: [&[Extent::Known(slices)], &product.batch[..]].concat(),
        depth: Extent::Known(length),
        left: copied[0],
        right: copied[1],
        elements: vec![Store { buffer, index, value }],
        tile,
        folds: Vec::new(),
        ..*product
    };
    let products = composed.built(format!("{}_of_slices", built.kernel.name), Body::Product(body));

    let mut composed = Composed::new(&built.kernel.sizes);
    let coordinates: Vec<Id> = (0..axes + 2).map(|axis| composed.graph.coordinate(axis)).list();
    let slice = composed.graph.coordinate(axes + 2);
    let index = composed.address(slice, &coordinates, &matrices);
    let (_, results) = composed.copy_with_stores(built, &[], &product.elements, &coordinates);
    let buffer = composed.buffer(Memory::Scratch(scratch), TensorBuffer { dtype, written: false });
    let operand = composed.graph.load(buffer, index, ty);
    let body = Rows {
        outer: matrices,
        row: vec![Extent::Known(slices)],
        valid: None,
        folds: vec![Fold { combine, operands: vec![operand], merges_states: false, keeps_state: false }],
        elements: Vec::new(),
        results,
    };
    let sums = composed.built(format!("{}_sum", built.kernel.name), Body::Rows(body));
    [products, sums]
}
