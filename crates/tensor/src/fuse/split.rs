//! Products whose depth is cut: one kernel computes the products of slices, another sums them and what follows.

use super::build::Built;
use super::part::Part;
use crate::dtype::DType;
use crate::kernel::{Body, Buffer, Combine, Extent, Fold, Product, Rows, Store, Tile};
use crate::lower::Memory;
use crate::scalar::{Id, Op, Type};

/// The two kernels of a product whose depth is `slices` slices of `length` places. The first writes the products of slices to a piece of scratch
/// memory, with the slice as the first axis of its batch.
pub fn split(built: &Built, product: &Product, slices: u32, length: u32, tile: Tile, scratch: u32) -> [Built; 2] {
    let ty = built.kernel.graph.ty(product.left);
    let combine = if ty == Type::F32 { Combine::Sum } else { Combine::IntSum };
    let dtype = match ty {
        Type::F32 => DType::F32,
        Type::I32 => DType::I32,
        Type::U32 | Type::Bool => DType::U32,
    };
    let axes = product.batch.len() as u32;
    let matrices = [&product.batch[..], &[product.rows, product.columns]].concat();

    let mut part = Part::new(&built.kernel.sizes);
    let slice = part.graph.coordinate(0);
    let mut coordinates: Vec<Id> = (0..axes + 2).map(|axis| part.graph.coordinate(axis + 1)).collect();
    let index = part.address(slice, &coordinates, &matrices);
    let place = part.graph.coordinate(axes + 3);
    let first = part.of_literal(slice, length);
    coordinates.push(part.graph.apply(Op::IntAdd, &[first, place]));
    let copied = part.copy(built, None, &[product.left, product.right], &coordinates);
    let value = part.graph.folded(0, 0, ty);
    let buffer = part.buffer(Memory::Scratch(scratch), Buffer { dtype, written: true });
    let body = Product {
        batch: [&[Extent::Known(slices)], &product.batch[..]].concat(),
        depth: Extent::Known(length),
        left: copied[0],
        right: copied[1],
        elements: vec![Store { buffer, index, value }],
        tile,
        ..*product
    };
    let products = part.built(format!("{}_of_slices", built.kernel.name), Body::Product(body));

    let mut part = Part::new(&built.kernel.sizes);
    let coordinates: Vec<Id> = (0..axes + 2).map(|axis| part.graph.coordinate(axis)).collect();
    let slice = part.graph.coordinate(axes + 2);
    let index = part.address(slice, &coordinates, &matrices);
    let roots: Vec<Id> = product.elements.iter().flat_map(|store| [store.index, store.value]).collect();
    let copied = part.copy(built, None, &roots, &coordinates);
    let buffer = part.buffer(Memory::Scratch(scratch), Buffer { dtype, written: false });
    let operand = part.graph.load(buffer, index, ty);
    let store = |(store, roots): (&Store, &[Id])| {
        let buffer = part.buffer(built.memories[store.buffer as usize], built.kernel.buffers[store.buffer as usize]);
        Store { buffer, index: roots[0], value: roots[1] }
    };
    let results = product.elements.iter().zip(copied.chunks_exact(2)).map(store).collect();
    let body = Rows {
        outer: matrices,
        row: vec![Extent::Known(slices)],
        valid: None,
        folds: vec![Fold { combine, operands: vec![operand], merges_states: false, keeps_state: false }],
        elements: Vec::new(),
        results,
    };
    let sums = part.built(format!("{}_sum", built.kernel.name), Body::Rows(body));
    [products, sums]
}
