//! Quantised numbers: a few bits of a word, times the scale of a block.

use residua_ir::graph::Op as Real;

use super::{Graph, Id, Node, Op, Type};
use crate::quantised::{BLOCK, QuantBits};
use crate::size::Size;

/// A load: the buffer and the index.
pub type LoadAt = (u32, Id);

/// A number that [`Graph::dequantized`] made of loads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dequantized {
    /// How many bits it has.
    pub bits: QuantBits,
    /// The word.
    pub word: LoadAt,
    /// The scale.
    pub scale: LoadAt,
    /// Its place along the row, a u32.
    pub place: Id,
}

impl Graph {
    /// The number at a place along a row, from the word and the scale that it has there.
    pub fn dequantized(&mut self, bits: QuantBits, word: Id, scale: Id, place: Id) -> Id {
        let [last, log, mask, offset] =
            [bits.a_word() - 1, bits.bits().trailing_zeros(), (1 << bits.bits()) - 1, 1 << (bits.bits() - 1)]
                .map(|number| self.u32(number));
        let within = self.apply(Op::And, &[place, last]);
        let shift = self.apply(Op::Shl, &[within, log]);
        let shifted = self.apply(Op::Shr, &[word, shift]);
        let mut number = self.apply(Op::And, &[shifted, mask]);
        if bits == QuantBits::Eight {
            // A signed number as one above 0.
            number = self.apply(Op::Xor, &[number, offset]);
        }
        let signed = self.apply(Op::ToI32, &[number]);
        let offset = self.i32(1 << (bits.bits() - 1));
        let signed = self.apply(Op::IntSub, &[signed, offset]);
        let number = self.apply(Op::ToF32, &[signed]);
        self.real(Real::Mul, &[number, scale])
    }

    /// What a number was made of, if [`Graph::dequantized`] made it of two loads.
    pub fn as_dequantized(&self, id: Id) -> Option<Dequantized> {
        let Node::Apply(Op::Real(Real::Mul), [a, b, _]) = self.node(id) else { return None };
        self.as_product(a, b).or_else(|| self.as_product(b, a))
    }

    /// Whether a quantised factor is read by whole blocks along an axis, its words by vectors of 4 from a multiple of 4 on.
    pub fn is_in_blocks(&self, factor: &Dequantized, axis: u32, sizes: &[Size]) -> bool {
        let Dequantized { bits, word, scale, place } = *factor;
        let count = self.find_literal(Type::U32, bits.a_word().trailing_zeros());
        let Some(shift) = count.and_then(|count| self.find(Node::Apply(Op::Shr, [place, count, place]))) else {
            return false;
        };
        self.coefficient(place, axis, None) == Some(1)
            && self.is_multiple(place, (axis, BLOCK), BLOCK, sizes)
            && self.coefficient(word.1, axis, Some(shift)) == Some(1)
            && self.is_multiple(word.1, (axis, BLOCK), 4, sizes)
            && self.is_same_of(BLOCK, scale.1, axis, sizes)
    }

    fn as_product(&self, number: Id, scale: Id) -> Option<Dequantized> {
        let first = |id: Id, wanted: Op| match self.node(id) {
            Node::Apply(op, operands) if op == wanted => Some(operands),
            _ => None,
        };
        let load = |id: Id| match self.node(id) {
            Node::Load { buffer, index } => Some((buffer, index)),
            _ => None,
        };
        let scale = load(scale)?;
        let [difference, ..] = first(number, Op::ToF32)?;
        let [signed, offset, _] = first(difference, Op::IntSub)?;
        let bits = match self.literal_bits(offset)? {
            8 => QuantBits::Four,
            128 => QuantBits::Eight,
            _ => return None,
        };
        let [mut number, ..] = first(signed, Op::ToI32)?;
        if bits == QuantBits::Eight {
            number = first(number, Op::Xor)?[0];
        }
        let [shifted, mask, _] = first(number, Op::And)?;
        let [word, shift, _] = first(shifted, Op::Shr)?;
        let [within, log, _] = first(shift, Op::Shl)?;
        let [place, last, _] = first(within, Op::And)?;
        let literals = [mask, log, last].map(|id| self.literal_bits(id));
        let expected = [(1 << bits.bits()) - 1, bits.bits().trailing_zeros(), bits.a_word() - 1].map(Some);
        (literals == expected).then_some(Dequantized { bits, word: load(word)?, scale, place })
    }
}

#[cfg(test)]
#[cfg(not(target_arch = "wasm32"))]
mod tests {
    use super::*;

    #[test]
    fn what_was_made_of_two_loads_is_found_again() {
        for bits in [QuantBits::Four, QuantBits::Eight] {
            let mut graph = Graph::default();
            let (place, of_scale) = (graph.coordinate(0), graph.coordinate(1));
            let word = graph.load(0, place, Type::U32);
            let scale = graph.load(1, of_scale, Type::F32);
            let number = graph.dequantized(bits, word, scale, place);
            let expected = Dequantized { bits, word: (0, place), scale: (1, of_scale), place };
            assert_eq!(graph.as_dequantized(number), Some(expected));
            let twice = graph.real(Real::Mul, &[number, scale]);
            assert_eq!(graph.as_dequantized(twice), None);
            let computed = graph.dequantized(bits, of_scale, scale, place);
            assert_eq!(graph.as_dequantized(computed), None);
        }
    }
}
