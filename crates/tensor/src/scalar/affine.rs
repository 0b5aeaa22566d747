//! How an address varies along an axis of the iteration space.

use super::{Graph, Id, Node, Op};
use crate::size::Size;

/// How the elements that an address selects follow one another along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// The same element everywhere.
    Same,
    /// Neighbours, and the element at every multiple of 4 of the coordinate is a multiple of 4.
    Vector,
    /// Neighbours.
    Consecutive,
    /// Anything else.
    Other,
}

impl Graph {
    /// How an address, a u32, varies along an axis. `sizes` are the words of the kernel's uniform.
    pub fn access(&self, index: Id, axis: u32, sizes: &[Size]) -> Access {
        match self.coefficient(index, axis) {
            Some(0) => Access::Same,
            Some(1) if self.rest_is_multiple_of_4(index, axis, sizes) => Access::Vector,
            Some(1) => Access::Consecutive,
            Some(_) | None => Access::Other,
        }
    }

    /// Whether a value depends on a coordinate.
    pub fn depends_on(&self, value: Id, axis: u32) -> bool {
        let mut seen = vec![false; self.len()];
        let mut pending = vec![value];
        while let Some(id) = pending.pop() {
            if std::mem::replace(&mut seen[id.index()], true) {
                continue;
            }
            if self.node(id) == Node::Coordinate(axis) {
                return true;
            }
            pending.extend(self.operands(id));
        }
        false
    }

    /// The literal factor of a coordinate in a u32 that is a sum with it; none if there is no such factor.
    fn coefficient(&self, value: Id, axis: u32) -> Option<u32> {
        match self.node(value) {
            Node::Coordinate(own) => Some(u32::from(own == axis)),
            Node::Literal(..) | Node::Size(_) | Node::Folded { .. } => Some(0),
            Node::Apply(Op::IntAdd, [a, b, _]) => {
                Some(self.coefficient(a, axis)?.wrapping_add(self.coefficient(b, axis)?))
            }
            Node::Apply(Op::IntSub, [a, b, _]) => {
                Some(self.coefficient(a, axis)?.wrapping_sub(self.coefficient(b, axis)?))
            }
            Node::Apply(Op::IntMul, [a, b, _]) => match (self.coefficient(a, axis)?, self.coefficient(b, axis)?) {
                (0, 0) => Some(0),
                (factor, 0) => Some(factor.wrapping_mul(self.literal_bits(b)?)),
                (0, factor) => Some(factor.wrapping_mul(self.literal_bits(a)?)),
                _ => None,
            },
            Node::Apply(..) | Node::Load { .. } => (!self.depends_on(value, axis)).then_some(0),
        }
    }

    /// Whether a sum is a multiple of 4 wherever a coordinate, which it has with factor 1, is.
    fn rest_is_multiple_of_4(&self, value: Id, axis: u32, sizes: &[Size]) -> bool {
        match self.node(value) {
            Node::Coordinate(own) => own == axis,
            Node::Literal(_, bits) => bits.is_multiple_of(4),
            Node::Size(word) => sizes[word as usize].is_multiple_of(4),
            Node::Apply(Op::IntAdd | Op::IntSub, [a, b, _]) => {
                self.rest_is_multiple_of_4(a, axis, sizes) && self.rest_is_multiple_of_4(b, axis, sizes)
            }
            Node::Apply(Op::IntMul, [a, b, _]) => {
                self.rest_is_multiple_of_4(a, axis, sizes) || self.rest_is_multiple_of_4(b, axis, sizes)
            }
            Node::Folded { .. } | Node::Apply(..) | Node::Load { .. } => false,
        }
    }
}
