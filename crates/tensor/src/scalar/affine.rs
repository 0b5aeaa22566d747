//! How an address varies along an axis of the iteration space.

use super::{Id, Type, TypedGraph, TypedNode, TypedOp};
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

impl TypedGraph {
    /// How an address, a u32, varies along an axis. `sizes` are the words of the kernel's uniform.
    pub fn access(&self, index: Id, axis: u32, sizes: &[Size]) -> Access {
        match self.coefficient(index, axis, None) {
            Some(0) => Access::Same,
            Some(1) if self.is_multiple(index, (axis, 4), 4, sizes) => Access::Vector,
            Some(1) => Access::Consecutive,
            Some(_) | None => Access::Other,
        }
    }

    /// How an address varies between four points along an axis, the first of which is at a multiple of 4.
    pub fn access_of_four(&self, index: Id, axis: u32, sizes: &[Size]) -> Access {
        match self.coefficient_of_four(index, axis, sizes) {
            Some(0) => Access::Same,
            Some(1) if self.is_multiple(index, (axis, 4), 4, sizes) => Access::Vector,
            Some(1) => Access::Consecutive,
            Some(_) | None if self.is_same_of(4, index, axis, sizes) => Access::Same,
            Some(_) | None => Access::Other,
        }
    }

    /// The literal factor of a coordinate within four points. Four neighbours lie between the same multiples of a multiple of 4, so that they have one
    /// quotient and neighbouring remainders.
    fn coefficient_of_four(&self, value: Id, axis: u32, sizes: &[Size]) -> Option<u32> {
        let of = |value: Id| self.coefficient_of_four(value, axis, sizes);
        match self.node(value) {
            TypedNode::Apply(TypedOp::IntAdd, [a, b, _]) => Some(of(a)?.wrapping_add(of(b)?)),
            TypedNode::Apply(TypedOp::IntSub, [a, b, _]) => Some(of(a)?.wrapping_sub(of(b)?)),
            TypedNode::Apply(TypedOp::IntMul, [a, b, _]) => match (of(a)?, of(b)?) {
                (0, 0) => Some(0),
                (factor, 0) => Some(factor.wrapping_mul(self.literal_bits(b)?)),
                (0, factor) => Some(factor.wrapping_mul(self.literal_bits(a)?)),
                _ => None,
            },
            TypedNode::Apply(op @ (TypedOp::IntDiv | TypedOp::IntRem), [a, b, _])
                if self.ty(a) == Type::U32
                    && of(a) == Some(1)
                    && self.is_multiple(a, (axis, 4), 4, sizes)
                    && !self.depends_on(b, axis)
                    && self.is_multiple(b, (axis, 4), 4, sizes) =>
            {
                Some(u32::from(op == TypedOp::IntRem))
            }
            _ => self.coefficient(value, axis, None),
        }
    }

    /// Whether an address selects neighbours along an axis, and at every multiple of `step` of the coordinate a multiple of `elements`.
    pub fn is_consecutive(&self, index: Id, axis: u32, step: u32, elements: u32, sizes: &[Size]) -> bool {
        self.coefficient(index, axis, None) == Some(1) && self.is_multiple(index, (axis, step), elements, sizes)
    }

    /// Whether a value depends on a coordinate.
    pub fn depends_on(&self, value: Id, axis: u32) -> bool {
        let mut seen = vec![false; self.len()];
        let mut pending = vec![value];
        while let Some(id) = pending.pop() {
            if std::mem::replace(&mut seen[id.index()], true) {
                continue;
            }
            if self.node(id) == TypedNode::Coordinate(axis) {
                return true;
            }
            pending.extend(self.operands(id));
        }
        false
    }

    /// The literal factor of a coordinate in a u32 that is a sum with it; none if there is no such factor. With `of`, that of this node, where
    /// nothing else of the sum depends on the coordinate.
    pub(super) fn coefficient(&self, value: Id, axis: u32, of: Option<Id>) -> Option<u32> {
        if of == Some(value) {
            return Some(1);
        }
        match self.node(value) {
            TypedNode::Coordinate(own) if of.is_some() => (own != axis).then_some(0),
            TypedNode::Coordinate(own) => Some(u32::from(own == axis)),
            TypedNode::Literal(..) | TypedNode::Size(_) | TypedNode::Folded { .. } => Some(0),
            TypedNode::Apply(TypedOp::IntAdd, [a, b, _]) => {
                Some(self.coefficient(a, axis, of)?.wrapping_add(self.coefficient(b, axis, of)?))
            }
            TypedNode::Apply(TypedOp::IntSub, [a, b, _]) => {
                Some(self.coefficient(a, axis, of)?.wrapping_sub(self.coefficient(b, axis, of)?))
            }
            TypedNode::Apply(TypedOp::IntMul, [a, b, _]) => {
                match (self.coefficient(a, axis, of)?, self.coefficient(b, axis, of)?) {
                    (0, 0) => Some(0),
                    (factor, 0) => Some(factor.wrapping_mul(self.literal_bits(b)?)),
                    (0, factor) => Some(factor.wrapping_mul(self.literal_bits(a)?)),
                    _ => None,
                }
            }
            TypedNode::Apply(..) | TypedNode::Load { .. } => (!self.depends_on(value, axis)).then_some(0),
        }
    }

    /// Whether a u32 is a multiple of a number wherever a coordinate is a multiple of another.
    pub fn is_multiple(&self, value: Id, coordinate: (u32, u32), number: u32, sizes: &[Size]) -> bool {
        let of = |value: Id, number: u32| self.is_multiple(value, coordinate, number, sizes);
        match self.node(value) {
            TypedNode::Coordinate(own) => own == coordinate.0 && coordinate.1.is_multiple_of(number),
            TypedNode::Literal(_, bits) => bits.is_multiple_of(number),
            TypedNode::Size(word) => sizes[word as usize].is_multiple_of(i64::from(number)),
            TypedNode::Apply(TypedOp::IntAdd | TypedOp::IntSub, [a, b, _]) => of(a, number) && of(b, number),
            TypedNode::Apply(TypedOp::IntRem, [a, b, _]) => of(a, number) && of(b, number),
            TypedNode::Apply(TypedOp::IntMul, [a, b, _]) => of(a, number) || of(b, number),
            TypedNode::Apply(TypedOp::Shr, [a, count, _]) => match self.literal_bits(count) {
                Some(count @ 0..16) => number.checked_mul(1 << count).is_some_and(|number| of(a, number)),
                Some(_) | None => false,
            },
            TypedNode::Folded { .. } | TypedNode::Apply(..) | TypedNode::Load { .. } => false,
        }
    }

    /// Whether a value is the same at a group of neighbours along an axis, from every multiple of their number on; that is a power of two.
    pub fn is_same_of(&self, group: u32, value: Id, axis: u32, sizes: &[Size]) -> bool {
        self.same_of(group, axis, value.index() + 1, sizes).last().copied().unwrap_or(true)
    }

    /// For each of the first nodes whether it is the same at a group of neighbours.
    pub fn same_of(&self, group: u32, axis: u32, count: usize, sizes: &[Size]) -> Vec<bool> {
        let mut same: Vec<bool> = Vec::with_capacity(count);
        for id in self.ids().take(count) {
            let is_same = match self.node(id) {
                TypedNode::Coordinate(own) => own != axis,
                TypedNode::Apply(TypedOp::IntDiv, [place, extent, _])
                    if self.ty(place) == Type::U32
                        && same[extent.index()]
                        && self.is_multiple(extent, (axis, group), group, sizes)
                        && self.coefficient(place, axis, None) == Some(1)
                        && self.is_multiple(place, (axis, group), group, sizes) =>
                {
                    true
                }
                TypedNode::Apply(TypedOp::Shr, [place, count, _])
                    if self.literal_bits(count).is_some_and(|count| 1 << (count % 32) >= group)
                        && self.coefficient(place, axis, None) == Some(1) =>
                {
                    self.is_multiple(place, (axis, group), group, sizes)
                }
                _ => self.operands(id).iter().all(|operand| same[operand.index()]),
            };
            same.push(is_same);
        }
        same
    }
}

#[cfg(test)]
#[cfg(not(target_arch = "wasm32"))]
mod tests {
    use super::*;

    #[test]
    fn four_neighbours_lie_between_multiples_of_a_multiple_of_four() {
        let mut graph = TypedGraph::default();
        let sizes = [Size::constant(64), Size::constant(6), Size::sum([(4, vec![0])])];
        let place = graph.coordinate(0);
        for (word, added, access, is_same) in [
            (0, 0, Access::Vector, true),
            (0, 1, Access::Other, false),
            (1, 0, Access::Other, false),
            (2, 0, Access::Vector, true),
            (2, 4, Access::Vector, true),
        ] {
            let (extent, added) = (graph.size(word), graph.u32(added));
            let place = graph.apply(TypedOp::IntAdd, &[place, added]);
            let (row, rest) =
                (graph.apply(TypedOp::IntDiv, &[place, extent]), graph.apply(TypedOp::IntRem, &[place, extent]));
            let expected = if is_same { Access::Same } else { Access::Other };
            assert_eq!(graph.access_of_four(row, 0, &sizes), expected, "{word}");
            assert_eq!(graph.is_same_of(4, row, 0, &sizes), is_same, "{word}");
            assert_eq!(graph.access_of_four(rest, 0, &sizes), access, "{word}");
            // Rows that are two longer in memory, and a place further on.
            let two = graph.u32(2);
            let beyond = graph.apply(TypedOp::IntMul, &[row, two]);
            let address = graph.apply(TypedOp::IntAdd, &[rest, beyond]);
            let expected = if is_same { Access::Consecutive } else { Access::Other };
            assert_eq!(graph.access_of_four(address, 0, &sizes), expected, "{word}");
            // Along the whole axis these are no neighbours.
            assert_eq!(graph.access(address, 0, &sizes), Access::Other);
        }
    }

    #[test]
    fn neighbours_within_a_group_share_what_a_shift_selects() {
        let mut graph = TypedGraph::default();
        let sizes = [Size::constant(64), Size::constant(6)];
        let (row, place) = (graph.coordinate(0), graph.coordinate(1));
        let address = |graph: &mut TypedGraph, word: u32, added: u32, count: u32| {
            let (extent, added, count) = (graph.size(word), graph.u32(added), graph.u32(count));
            let start = graph.apply(TypedOp::IntMul, &[row, extent]);
            let sum = graph.apply(TypedOp::IntAdd, &[start, place]);
            let sum = graph.apply(TypedOp::IntAdd, &[sum, added]);
            graph.apply(TypedOp::Shr, &[sum, count])
        };
        for ((word, added, count, group), expected) in [
            ((0, 0, 3, 4), true),
            ((0, 0, 3, 8), true),
            ((0, 0, 3, 16), false),
            ((0, 4, 3, 4), true),
            ((0, 4, 3, 8), false),
            ((0, 2, 3, 4), false),
            ((0, 0, 1, 4), false),
            ((1, 0, 3, 4), false),
            ((1, 0, 3, 2), true),
        ] {
            let value = address(&mut graph, word, added, count);
            assert_eq!(graph.is_same_of(group, value, 1, &sizes), expected, "{word} {added} {count} {group}");
        }
        let value = address(&mut graph, 0, 32, 3);
        assert!(graph.is_multiple(value, (1, 32), 4, &sizes));
        assert!(!graph.is_multiple(value, (1, 16), 4, &sizes));
        assert_eq!(graph.coefficient(value, 1, Some(value)), Some(1));
        let sum = graph.apply(TypedOp::IntAdd, &[value, place]);
        assert_eq!(graph.coefficient(sum, 1, Some(value)), None);
    }
}
