//! Products whose depth is cut: one kernel computes the products of slices, another sums them and what follows.

use super::build::Built;
use crate::dtype::DType;
use crate::kernel::{Body, Buffer, Combine, Extent, Fold, Kernel, Product, Rows, Store, Tile};
use crate::lower::Memory;
use crate::lower::merge::reachable;
use crate::scalar::{Graph, Id, Node, Op, Type};

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

    let mut part = Part::new(built);
    let slice = part.graph.coordinate(0);
    let mut coordinates: Vec<Id> = (0..axes + 2).map(|axis| part.graph.coordinate(axis + 1)).collect();
    let index = part.address(slice, &coordinates, &matrices);
    let place = part.graph.coordinate(axes + 3);
    let first = part.of_literal(slice, length);
    coordinates.push(part.graph.apply(Op::IntAdd, &[first, place]));
    let copied = part.copy(built, &[product.left, product.right], &coordinates);
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

    let mut part = Part::new(built);
    let coordinates: Vec<Id> = (0..axes + 2).map(|axis| part.graph.coordinate(axis)).collect();
    let slice = part.graph.coordinate(axes + 2);
    let index = part.address(slice, &coordinates, &matrices);
    let roots: Vec<Id> = product.elements.iter().flat_map(|store| [store.index, store.value]).collect();
    let copied = part.copy(built, &roots, &coordinates);
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

/// A kernel that computes a part of what another one does.
struct Part {
    graph: Graph,
    buffers: Vec<Buffer>,
    memories: Vec<Memory>,
    sizes: Vec<crate::size::Size>,
}

impl Part {
    fn new(built: &Built) -> Part {
        let sizes = built.kernel.sizes.clone();
        Part { graph: Graph::default(), buffers: Vec::new(), memories: Vec::new(), sizes }
    }

    /// A buffer for a memory. One that is read and written is written.
    fn buffer(&mut self, memory: Memory, buffer: Buffer) -> u32 {
        let position = self.memories.iter().position(|known| *known == memory).unwrap_or_else(|| {
            self.memories.push(memory);
            self.buffers.push(buffer);
            self.memories.len() - 1
        });
        self.buffers[position].written |= buffer.written;
        position as u32
    }

    fn of_literal(&mut self, a: Id, literal: u32) -> Id {
        let literal = self.graph.u32(literal);
        self.graph.apply(Op::IntMul, &[a, literal])
    }

    /// The element of a slice and a point, in C order.
    fn address(&mut self, slice: Id, coordinates: &[Id], extents: &[Extent]) -> Id {
        let mut address = slice;
        for (coordinate, extent) in coordinates.iter().zip(extents) {
            let extent = match *extent {
                Extent::Known(number) => self.graph.u32(number),
                Extent::Word(word) => self.graph.size(word),
            };
            let row = self.graph.apply(Op::IntMul, &[address, extent]);
            address = self.graph.apply(Op::IntAdd, &[row, *coordinate]);
        }
        address
    }

    /// Copies values, with other coordinates.
    fn copy(&mut self, built: &Built, roots: &[Id], coordinates: &[Id]) -> Vec<Id> {
        let from = &built.kernel.graph;
        let is_needed = reachable(from, roots);
        let mut copies: Vec<Id> = Vec::with_capacity(from.len());
        for id in from.ids() {
            // Only the copies of needed nodes are looked at.
            if !is_needed[id.index()] {
                copies.push(id);
                continue;
            }
            let of = |id: Id| copies[id.index()];
            let copy = match from.node(id) {
                Node::Literal(ty, bits) => self.graph.literal(ty, bits),
                Node::Coordinate(axis) => coordinates[axis as usize],
                Node::Size(word) => self.graph.size(word),
                Node::Folded { fold, result } => self.graph.folded(fold, result, from.ty(id)),
                Node::Load { buffer, index } => {
                    let position = buffer as usize;
                    let read = Buffer { written: false, ..built.kernel.buffers[position] };
                    let buffer = self.buffer(built.memories[position], read);
                    self.graph.load(buffer, of(index), from.ty(id))
                }
                Node::Apply(op, _) => {
                    let operands: Vec<Id> = from.operands(id).into_iter().map(of).collect();
                    self.graph.apply(op, &operands)
                }
            };
            copies.push(copy);
        }
        roots.iter().map(|root| copies[root.index()]).collect()
    }

    fn built(self, name: String, body: Body) -> Built {
        let Part { graph, buffers, memories, sizes } = self;
        Built { kernel: Kernel { name, buffers, sizes, graph, body, guard: None }, memories }
    }
}
