//! Quantised numbers: integers of a few bits of a word, times the scale of a block, less its minimum.

use std::slice;

use residua_base::list::Listed;
use residua_ir::graph::Op as Real;

use super::{Id, TypedGraph, TypedNode, TypedOp};
use crate::quantised::{BLOCK, CURVE, Field, Form, Level, Minimum};
use crate::size::Size;

/// A load: the buffer and the index.
pub type LoadAt = (u32, Id);

/// A number that [`TypedGraph::dequantized`] made of loads: scale × level − minimum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dequantized {
    /// Its format.
    pub form: Form,
    /// The word.
    pub word: LoadAt,
    /// The half, or the first word of the record.
    pub side: LoadAt,
    /// What the integer stands for.
    pub level: Id,
    /// The scale.
    pub scale: Id,
    /// The minimum of formats that have one.
    pub minimum: Option<Id>,
}

impl TypedGraph {
    /// Which elements of the side a number needs at a place along a row, by their places along the row of the side.
    pub fn side_places(&mut self, form: Form, place: Id) -> Vec<Id> {
        let record = self.shifted(TypedOp::Shr, place, form.span.trailing_zeros());
        if form.record == 0 {
            return vec![record];
        }
        let words = self.u32(form.record);
        let first = self.apply(TypedOp::IntMul, &[record, words]);
        let mut places = vec![first];
        let mut add = |graph: &mut TypedGraph, within: Id| places.push(graph.apply(TypedOp::IntAdd, &[first, within]));
        for field in fields(form) {
            let mut at = self.u32(field.at);
            // Of 32 bits or fewer there is one word.
            if form.span / form.group * field.bits > 32 {
                let group = self.group(form, place);
                let word = self.shifted(TypedOp::Shr, group, (32 / field.bits).trailing_zeros());
                at = self.apply(TypedOp::IntAdd, &[word, at]);
            }
            add(self, at);
            if let Some(upper) = field.upper {
                let at = self.u32(upper / 32);
                add(self, at);
            }
        }
        if form.high > 0 {
            let (within, at) = (self.masked(place, form.span - 1), self.u32(form.high_at));
            // Numbers a word.
            let word = self.shifted(TypedOp::Shr, within, 5 - form.high.trailing_zeros());
            let at = self.apply(TypedOp::IntAdd, &[word, at]);
            add(self, at);
        }
        places
    }

    /// The number at a place along a row, from the word and the elements of the side that it has there.
    pub fn dequantized(&mut self, form: Form, word: Id, side: &[Id], place: Id) -> Id {
        let mut elements = side.iter();
        let first = next(&mut elements);
        let half = |graph: &mut TypedGraph, shift: Id| {
            let bits = graph.apply(TypedOp::Shr, &[first, shift]);
            graph.apply(TypedOp::HalfToF32, &[bits])
        };
        let (mut scale, mut minimum) = (first, None);
        if form.record > 0 {
            let shift = if form.half < form.span {
                let block = self.shifted(TypedOp::Shr, place, form.half.trailing_zeros());
                let parity = self.masked(block, 1);
                self.shifted(TypedOp::Shl, parity, 4)
            } else {
                self.u32(0)
            };
            scale = half(self, shift);
            if let Some(field) = form.scales {
                let integer = self.integer(form, field, &mut elements, place);
                scale = self.real(Real::Mul, &[scale, integer]);
            }
            if form.minimum != Minimum::None {
                let shift = self.u32(16);
                let second = half(self, shift);
                minimum = Some(match form.minimum {
                    Minimum::Times(field) => {
                        let integer = self.integer(form, field, &mut elements, place);
                        self.real(Real::Mul, &[second, integer])
                    }
                    Minimum::None | Minimum::Opposite => self.real(Real::Neg, &[second]),
                });
            }
        }
        let mut integer = self.bits_of(word, form.low, place);
        if form.high > 0 {
            let high = self.bits_of(next(&mut elements), form.high, place);
            let high = self.shifted(TypedOp::Shl, high, form.low);
            integer = self.apply(TypedOp::Or, &[integer, high]);
        }
        let level = self.level(form.level, integer);
        let level = self.apply(TypedOp::Level(form), &[level, word, first]);
        let product = self.real(Real::Mul, &[level, scale]);
        match minimum {
            Some(minimum) => self.real(Real::Sub, &[product, minimum]),
            None => product,
        }
    }

    /// What a number was made of, if [`TypedGraph::dequantized`] made it of loads.
    pub fn as_dequantized(&self, id: Id) -> Option<Dequantized> {
        let (product, minimum) = match self.node(id) {
            TypedNode::Apply(TypedOp::Real(Real::Sub), [product, minimum, _]) => (product, Some(minimum)),
            _ => (id, None),
        };
        let TypedNode::Apply(TypedOp::Real(Real::Mul), [a, b, _]) = self.node(product) else { return None };
        let load = |id: Id| match self.node(id) {
            TypedNode::Load { buffer, index } => Some((buffer, index)),
            _ => None,
        };
        let (scale, form, [level, word, side]) =
            [(a, b), (b, a)].into_iter().find_map(|(of, scale)| match self.node(of) {
                TypedNode::Apply(TypedOp::Level(form), operands) => Some((scale, form, operands)),
                _ => None,
            })?;
        let is_whole = minimum.is_some() == (form.minimum != Minimum::None);
        is_whole.then_some(Dequantized { form, word: load(word)?, side: load(side)?, level, scale, minimum })
    }

    /// Whether a quantised factor is read by whole blocks along an axis, its words from a multiple of 4 on, or of 2 where a block has 2.
    pub fn is_in_blocks(&self, factor: &Dequantized, axis: u32, sizes: &[Size]) -> bool {
        let Dequantized { form, word, side, .. } = *factor;
        let is_place = |id: &Id| match self.node(*id) {
            TypedNode::Apply(TypedOp::Shr, [place, count, _]) => {
                self.literal_bits(count) == Some(form.a_word().trailing_zeros())
                    && self.coefficient(place, axis, None) == Some(1)
                    && self.is_multiple(place, (axis, BLOCK), BLOCK, sizes)
                    && self.coefficient(word.1, axis, Some(*id)) == Some(1)
            }
            _ => false,
        };
        self.needed([word.1]).iter().any(is_place)
            && self.is_multiple(word.1, (axis, BLOCK), form.block_words().min(4), sizes)
            && self.is_same_of(BLOCK, side.1, axis, sizes)
    }

    /// The loads of a buffer that some values need.
    pub fn loads_of(&self, buffer: u32, roots: impl IntoIterator<Item = Id>) -> Vec<Id> {
        let is_load = |id: &Id| matches!(self.node(*id), TypedNode::Load { buffer: of, .. } if of == buffer);
        self.needed(roots).into_iter().filter(is_load).list()
    }

    /// The integer of a field at the group of a place, as an f32.
    fn integer(&mut self, form: Form, field: Field, words: &mut slice::Iter<Id>, place: Id) -> Id {
        let group = self.group(form, place);
        let within = self.masked(group, 32 / field.bits - 1);
        let shift = self.shifted(TypedOp::Shl, within, field.bits.trailing_zeros());
        let shifted = self.apply(TypedOp::Shr, &[next(words), shift]);
        let mut bits = self.masked(shifted, (1 << field.bits) - 1);
        if field.bits == 8 {
            return self.level(Level::Signed, bits);
        }
        if let Some(upper) = field.upper {
            let shift = self.shifted(TypedOp::Shl, group, 1);
            let first = self.u32(upper % 32);
            let shift = self.apply(TypedOp::IntAdd, &[shift, first]);
            let shifted = self.apply(TypedOp::Shr, &[next(words), shift]);
            let upper = self.masked(shifted, 3);
            let upper = self.shifted(TypedOp::Shl, upper, field.bits);
            bits = self.apply(TypedOp::Or, &[bits, upper]);
        }
        self.level(Level::Less(field.less), bits)
    }

    /// The number of the group of a place within its record.
    fn group(&mut self, form: Form, place: Id) -> Id {
        let within = self.masked(place, form.span - 1);
        self.shifted(TypedOp::Shr, within, form.group.trailing_zeros())
    }

    /// The bits of the integer at a place of those that share a word.
    fn bits_of(&mut self, word: Id, bits: u32, place: Id) -> Id {
        let shift = if bits == 8 {
            let within = self.masked(place, 3);
            self.shifted(TypedOp::Shl, within, 3)
        } else {
            let within = self.masked(place, 7);
            let shift = self.shifted(TypedOp::Shl, within, 2);
            let eight = self.shifted(TypedOp::Shr, place, 3);
            let which = self.masked(eight, 4 / bits - 1);
            let first = self.shifted(TypedOp::Shl, which, bits.trailing_zeros());
            self.apply(TypedOp::IntAdd, &[shift, first])
        };
        let shifted = self.apply(TypedOp::Shr, &[word, shift]);
        self.masked(shifted, (1 << bits) - 1)
    }

    /// What an integer stands for, as an f32.
    fn level(&mut self, level: Level, integer: Id) -> Id {
        let (bits, zero) = match level {
            Level::Less(zero) => (integer, zero),
            Level::Signed | Level::Curve => {
                let byte = if level == Level::Curve { self.of_curve(integer) } else { integer };
                // A signed number as one above 0.
                let sign = self.u32(128);
                (self.apply(TypedOp::Xor, &[byte, sign]), 128)
            }
        };
        let signed = self.apply(TypedOp::ToI32, &[bits]);
        let zero = self.i32(zero as i32);
        let signed = self.apply(TypedOp::IntSub, &[signed, zero]);
        self.apply(TypedOp::ToF32, &[signed])
    }

    /// The byte of the curve for an integer.
    fn of_curve(&mut self, integer: Id) -> Id {
        let bytes = CURVE.as_chunks::<4>().0;
        let mut words = bytes.iter().map(|bytes| self.u32(u32::from_le_bytes(bytes.map(|byte| byte as u8)))).list();
        for bit in [4, 8] {
            let mask = self.masked(integer, bit);
            let zero = self.u32(0);
            let is_low = self.apply(TypedOp::Eq, &[mask, zero]);
            words = words.chunks(2).map(|pair| self.apply(TypedOp::Select, &[is_low, pair[0], pair[1]])).list();
        }
        let within = self.masked(integer, 3);
        let shift = self.shifted(TypedOp::Shl, within, 3);
        let shifted = self.apply(TypedOp::Shr, &[words[0], shift]);
        self.masked(shifted, 255)
    }

    fn masked(&mut self, value: Id, mask: u32) -> Id {
        let mask = self.u32(mask);
        self.apply(TypedOp::And, &[value, mask])
    }

    fn shifted(&mut self, shift: TypedOp, value: Id, count: u32) -> Id {
        let count = self.u32(count);
        self.apply(shift, &[value, count])
    }
}

/// The fields of a record in the order of their words.
fn fields(form: Form) -> impl Iterator<Item = Field> {
    let of_minimum = match form.minimum {
        Minimum::Times(field) => Some(field),
        Minimum::None | Minimum::Opposite => None,
    };
    form.scales.into_iter().chain(of_minimum)
}

fn next(elements: &mut slice::Iter<Id>) -> Id {
    *elements.next().unwrap_or_else(|| unreachable!("there is an element for each place"))
}

#[cfg(test)]
#[cfg(not(target_arch = "wasm32"))]
mod tests {
    use super::*;
    use crate::scalar::Type;

    #[test]
    fn what_was_made_of_loads_is_found_again() {
        for form in Form::all() {
            let mut graph = TypedGraph::default();
            let place = graph.coordinate(0);
            let places = graph.side_places(form, place);
            let ty = Type::of(form.side_dtype());
            let side = places.iter().map(|index| graph.load(1, *index, ty)).list();
            let word = graph.load(0, place, Type::U32);
            let number = graph.dequantized(form, word, &side, place);
            let found = graph.as_dequantized(number).expect("a number of loads");
            assert_eq!((found.form, found.word, found.side), (form, (0, place), (1, places[0])));
            assert_eq!(found.minimum.is_some(), form.minimum != Minimum::None);
            let (twice, less) = (graph.real(Real::Mul, &[number, number]), graph.real(Real::Sub, &[number, number]));
            assert_eq!([twice, less].map(|id| graph.as_dequantized(id)), [None; 2]);
            let computed = graph.dequantized(form, place, &side, place);
            assert_eq!(graph.as_dequantized(computed), None);
        }
    }
}
