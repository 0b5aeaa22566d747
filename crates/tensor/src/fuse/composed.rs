//! Kernels that are made of parts of others.

use super::build::{Buffers, Built};
use crate::kernel::{Body, Elements, Extent, Product, Store, TensorBuffer};
use crate::lower::{Memory, word_of};
use crate::scalar::{Id, TypedGraph, TypedNode, TypedOp};
use crate::size::Size;
use residua_base::list::Listed;

/// Memory that stands elsewhere: so many elements further in another piece.
#[derive(Clone, Copy)]
pub struct Move {
    /// What it was.
    pub from: Memory,
    /// Where it is.
    pub to: Memory,
    /// How far from the first element.
    pub distance: u32,
}

/// A kernel under construction, which computes what others do.
pub struct Composed {
    /// What it computes.
    pub graph: TypedGraph,
    /// How many folds stand before those that are copied.
    pub first_fold: u32,
    /// Memory of the copied kernels that stands elsewhere.
    pub moves: Vec<Move>,
    buffers: Buffers,
    sizes: Vec<Size>,
}

impl Composed {
    /// Nothing yet, with the words of a uniform.
    pub fn new(sizes: &[Size]) -> Composed {
        let moves = Vec::new();
        Composed {
            graph: TypedGraph::default(),
            first_fold: 0,
            moves,
            buffers: Buffers::default(),
            sizes: sizes.to_vec(),
        }
    }

    /// A word of another kernel's uniform.
    fn word(&mut self, built: &Built, word: u32) -> u32 {
        word_of(&mut self.sizes, &built.kernel.sizes[word as usize])
    }

    /// An extent of another kernel.
    fn extent(&mut self, built: &Built, extent: Extent) -> Extent {
        match extent {
            Extent::Known(number) => Extent::Known(number),
            Extent::Word(word) => Extent::Word(self.word(built, word)),
        }
    }

    /// The coordinates of so many axes.
    fn coordinates(&mut self, axes: usize) -> Vec<Id> {
        (0..axes as u32).map(|axis| self.graph.coordinate(axis)).list()
    }

    /// The position of a piece of memory, as a buffer that is read or written.
    pub fn buffer(&mut self, memory: Memory, buffer: TensorBuffer) -> u32 {
        self.buffers.position(memory, buffer)
    }

    /// A product of another kernel that has no reductions.
    pub fn product(&mut self, built: &Built, product: &Product) -> Product {
        let coordinates = self.coordinates(product.batch.len() + 3);
        let (factors, elements) =
            self.copy_with_stores(built, &[product.left, product.right], &product.elements, &coordinates);
        let batch = product.batch.iter().map(|extent| self.extent(built, *extent)).list();
        let [rows, columns, depth] =
            [product.rows, product.columns, product.depth].map(|extent| self.extent(built, extent));
        let [left, right] = [factors[0], factors[1]];
        Product { batch, rows, columns, depth, folds: Vec::new(), left, right, elements, tile: product.tile }
    }

    /// A map of another kernel.
    pub fn elements(&mut self, built: &Built, Elements { space, stores, fills }: &Elements) -> Elements {
        let coordinates = self.coordinates(space.len());
        let (_, stores) = self.copy_with_stores(built, &[], stores, &coordinates);
        let space = space.iter().map(|extent| self.extent(built, *extent)).list();
        Elements { space, stores, fills: *fills }
    }

    /// Where an element of a piece of memory stands.
    fn moved(&mut self, memory: Memory, index: Id) -> (Memory, Id) {
        match self.moves.iter().find(|of| of.from == memory).copied() {
            None => (memory, index),
            Some(Move { to, distance: 0, .. }) => (to, index),
            Some(Move { to, distance, .. }) => {
                let distance = self.graph.u32(distance);
                (to, self.graph.apply(TypedOp::IntAdd, &[index, distance]))
            }
        }
    }

    /// A value times a literal.
    pub fn of_literal(&mut self, a: Id, literal: u32) -> Id {
        let literal = self.graph.u32(literal);
        self.graph.apply(TypedOp::IntMul, &[a, literal])
    }

    /// The element of a slice and a point, in C order.
    pub fn address(&mut self, slice: Id, coordinates: &[Id], extents: &[Extent]) -> Id {
        let mut address = slice;
        for (coordinate, extent) in coordinates.iter().zip(extents) {
            let extent = match *extent {
                Extent::Known(number) => self.graph.u32(number),
                Extent::Word(word) => self.graph.size(word),
            };
            let row = self.graph.apply(TypedOp::IntMul, &[address, extent]);
            address = self.graph.apply(TypedOp::IntAdd, &[row, *coordinate]);
        }
        address
    }

    /// Copies values and stores, with other coordinates.
    pub fn copy_with_stores(
        &mut self,
        built: &Built,
        values: &[Id],
        stores: &[Store],
        coordinates: &[Id],
    ) -> (Vec<Id>, Vec<Store>) {
        let mut roots = values.to_vec();
        roots.extend(Store::roots(stores));
        let mut copies = self.copy(built, &roots, coordinates);
        let of_stores = copies.split_off(values.len());
        let copied = stores.iter().zip(of_stores.chunks_exact(2)).map(|(store, copy)| {
            let position = store.buffer as usize;
            let (memory, index) = self.moved(built.memories[position], copy[0]);
            Store { buffer: self.buffer(memory, built.kernel.buffers[position]), index, value: copy[1] }
        });
        let copied = copied.list();
        (copies, copied)
    }

    /// Copies values, with other coordinates.
    pub fn copy(&mut self, built: &Built, roots: &[Id], coordinates: &[Id]) -> Vec<Id> {
        let from = &built.kernel.graph;
        let is_needed = from.reachable(roots.iter().copied());
        let mut copies: Vec<Id> = Vec::with_capacity(from.len());
        for id in from.ids() {
            // Only the copies of needed nodes are looked at.
            if !is_needed[id.index()] {
                copies.push(id);
                continue;
            }
            let of = |id: Id| copies[id.index()];
            let copy = match from.node(id) {
                TypedNode::Literal(ty, bits) => self.graph.literal(ty, bits),
                TypedNode::Coordinate(axis) => coordinates[axis as usize],
                TypedNode::Size(word) => {
                    let word = self.word(built, word);
                    self.graph.size(word)
                }
                TypedNode::Folded { fold, result } => self.graph.folded(self.first_fold + fold, result, from.ty(id)),
                TypedNode::Load { buffer, index } => {
                    let position = buffer as usize;
                    let read = TensorBuffer { written: false, ..built.kernel.buffers[position] };
                    let (memory, index) = self.moved(built.memories[position], of(index));
                    let buffer = self.buffer(memory, read);
                    self.graph.load(buffer, index, from.ty(id))
                }
                TypedNode::Apply(op, _) => {
                    let operands: Vec<Id> = from.operands(id).into_iter().map(of).list();
                    self.graph.apply(op, &operands)
                }
            };
            copies.push(copy);
        }
        roots.iter().map(|root| copies[root.index()]).list()
    }

    /// The kernel.
    pub fn built(self, name: String, body: Body) -> Built {
        self.buffers.built(name, self.sizes, self.graph, body)
    }
}
