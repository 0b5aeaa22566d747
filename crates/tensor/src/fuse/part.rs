//! Kernels that are made of parts of others.

use super::build::Built;
use crate::kernel::{Body, Buffer, Extent, Kernel};
use crate::lower::Memory;
use crate::lower::merge::reachable;
use crate::scalar::{Graph, Id, Node, Op};
use crate::size::Size;

/// A kernel under construction, which computes what others do.
pub struct Part {
    /// What it computes.
    pub graph: Graph,
    buffers: Vec<Buffer>,
    memories: Vec<Memory>,
    sizes: Vec<Size>,
}

impl Part {
    /// Nothing yet, with the words of a uniform.
    pub fn new(sizes: &[Size]) -> Part {
        Part { graph: Graph::default(), buffers: Vec::new(), memories: Vec::new(), sizes: sizes.to_vec() }
    }

    /// The word of a size.
    pub fn word(&mut self, size: &Size) -> u32 {
        let position = self.sizes.iter().position(|known| known == size).unwrap_or_else(|| {
            self.sizes.push(size.clone());
            self.sizes.len() - 1
        });
        position as u32
    }

    /// A buffer for a memory. One that is read and written is written.
    pub fn buffer(&mut self, memory: Memory, buffer: Buffer) -> u32 {
        let position = self.memories.iter().position(|known| *known == memory).unwrap_or_else(|| {
            self.memories.push(memory);
            self.buffers.push(buffer);
            self.memories.len() - 1
        });
        self.buffers[position].written |= buffer.written;
        position as u32
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
                Node::Size(word) => self.graph.size(words.map_or(word, |words| words[word as usize])),
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

    /// The kernel.
    pub fn built(self, name: String, body: Body) -> Built {
        let Part { graph, buffers, memories, sizes } = self;
        Built { kernel: Kernel { name, buffers, sizes, graph, body, guard: None }, memories }
    }
}
