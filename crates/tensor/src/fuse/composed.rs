//! Kernels that are made of parts of others.

use super::build::{Buffers, Built};
use crate::kernel::{Body, Buffer, Extent, Store};
use crate::lower::{Memory, word_of};
use crate::scalar::{Graph, Id, Node, Op};
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
    pub graph: Graph,
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
        Composed { graph: Graph::default(), first_fold: 0, moves, buffers: Buffers::default(), sizes: sizes.to_vec() }
    }

    /// The word of a size.
    pub fn word(&mut self, size: &Size) -> u32 {
        word_of(&mut self.sizes, size)
    }

    /// The position of a piece of memory, as a buffer that is read or written.
    pub fn buffer(&mut self, memory: Memory, buffer: Buffer) -> u32 {
        self.buffers.position(memory, buffer)
    }

    /// A store of another kernel, with its index and value here.
    pub fn store(&mut self, built: &Built, store: &Store, index: Id, value: Id) -> Store {
        let position = store.buffer as usize;
        let (memory, index) = self.moved(built.memories[position], index);
        Store { buffer: self.buffer(memory, built.kernel.buffers[position]), index, value }
    }

    /// Where an element of a piece of memory stands.
    fn moved(&mut self, memory: Memory, index: Id) -> (Memory, Id) {
        match self.moves.iter().find(|of| of.from == memory).copied() {
            None => (memory, index),
            Some(Move { to, distance: 0, .. }) => (to, index),
            Some(Move { to, distance, .. }) => {
                let distance = self.graph.u32(distance);
                (to, self.graph.apply(Op::IntAdd, &[index, distance]))
            }
        }
    }

    /// A value times a literal.
    pub fn of_literal(&mut self, a: Id, literal: u32) -> Id {
        let literal = self.graph.u32(literal);
        self.graph.apply(Op::IntMul, &[a, literal])
    }

    /// The element of a slice and a point, in C order.
    pub fn address(&mut self, slice: Id, coordinates: &[Id], extents: &[Extent]) -> Id {
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

    /// Copies values, with other coordinates, and with other words of sizes if there are some.
    pub fn copy(&mut self, built: &Built, words: Option<&[u32]>, roots: &[Id], coordinates: &[Id]) -> Vec<Id> {
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
                Node::Literal(ty, bits) => self.graph.literal(ty, bits),
                Node::Coordinate(axis) => coordinates[axis as usize],
                Node::Size(word) => self.graph.size(words.map_or(word, |words| words[word as usize])),
                Node::Folded { fold, result } => self.graph.folded(self.first_fold + fold, result, from.ty(id)),
                Node::Load { buffer, index } => {
                    let position = buffer as usize;
                    let read = Buffer { written: false, ..built.kernel.buffers[position] };
                    let (memory, index) = self.moved(built.memories[position], of(index));
                    let buffer = self.buffer(memory, read);
                    self.graph.load(buffer, index, from.ty(id))
                }
                Node::Apply(op, _) => {
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
