//! Construction of scalar graphs: nodes are checked by type, folded and simplified.

use residua_ir::graph::Op as Real;

use super::{Graph, Id, Node, Op, Type, fold::fold};

impl Graph {
    /// A number of a type, by its bits.
    pub fn literal(&mut self, ty: Type, bits: u32) -> Id {
        self.intern(Node::Literal(ty, bits), ty)
    }

    /// A number in f32.
    pub fn f32(&mut self, value: f32) -> Id {
        self.literal(Type::F32, value.to_bits())
    }

    /// A signed integer.
    pub fn i32(&mut self, value: i32) -> Id {
        self.literal(Type::I32, value as u32)
    }

    /// An unsigned integer.
    pub fn u32(&mut self, value: u32) -> Id {
        self.literal(Type::U32, value)
    }

    /// A truth value.
    pub fn bool(&mut self, value: bool) -> Id {
        self.literal(Type::Bool, u32::from(value))
    }

    /// A coordinate of the iteration space.
    pub fn coordinate(&mut self, axis: u32) -> Id {
        self.intern(Node::Coordinate(axis), Type::U32)
    }

    /// A word of the uniform.
    pub fn size(&mut self, word: u32) -> Id {
        self.intern(Node::Size(word), Type::U32)
    }

    /// An element of a buffer of a type.
    pub fn load(&mut self, buffer: u32, index: Id, ty: Type) -> Id {
        self.intern(Node::Load { buffer, index }, ty)
    }

    /// A result of a reduction, of a type.
    pub fn folded(&mut self, fold: u32, result: u32, ty: Type) -> Id {
        self.intern(Node::Folded { fold, result }, ty)
    }

    /// The bits of a literal.
    pub fn literal_bits(&self, id: Id) -> Option<u32> {
        match self.node(id) {
            Node::Literal(_, bits) => Some(bits),
            Node::Coordinate(_) | Node::Size(_) | Node::Load { .. } | Node::Folded { .. } | Node::Apply(..) => None,
        }
    }

    /// An operation on reals.
    pub fn real(&mut self, op: Real, operands: &[Id]) -> Id {
        self.apply(Op::Real(op), operands)
    }

    /// An operation on as many operands as it takes, simplified.
    pub fn apply(&mut self, op: Op, operands: &[Id]) -> Id {
        debug_assert_eq!(operands.len(), op.arity(), "{op:?}");
        let [mut a, mut b, c] = match *operands {
            [a] => [a, a, a],
            [a, b] => [a, b, a],
            [a, b, c] => [a, b, c],
            _ => unreachable!("operations take one to three operands"),
        };
        // Literals stand behind, others in the order of their making, so that equal sums are one node.
        if is_commutative(op) && (self.literal_bits(a).is_some(), a) > (self.literal_bits(b).is_some(), b) {
            std::mem::swap(&mut a, &mut b);
        }
        let operands = match op.arity() {
            1 => [a, a, a],
            2 => [a, b, a],
            _ => [a, b, c],
        };
        let types = operands.map(|operand| self.ty(operand));
        if let Some(simple) = self.simplified(op, operands, types) {
            return simple;
        }
        self.intern(Node::Apply(op, operands), op.result(types))
    }

    /// A simpler node with the same value.
    fn simplified(&mut self, op: Op, [a, b, c]: [Id; 3], types: [Type; 3]) -> Option<Id> {
        let bits = [a, b, c].map(|operand| self.literal_bits(operand));
        if let [Some(x), Some(y), Some(z)] = bits
            && let Some(result) = fold(op, types, [x, y, z])
        {
            return Some(self.literal(op.result(types), result));
        }
        let [first, second, _] = bits;
        let is_bool = types[0] == Type::Bool;
        match op {
            Op::IntAdd | Op::IntSub | Op::Shl | Op::Shr if second == Some(0) => Some(a),
            Op::IntAdd => self.whole(a, b),
            Op::IntSub if a == b => Some(self.literal(types[0], 0)),
            Op::IntMul | Op::IntDiv if second == Some(1) => Some(a),
            Op::IntMul | Op::And if second == Some(0) => Some(b),
            Op::IntRem if second == Some(1) => Some(self.literal(types[0], 0)),
            Op::IntDiv if types[0] == Type::U32 => self.quotient(a, b),
            Op::And if is_bool && second == Some(1) || a == b => Some(a),
            Op::Or if second == Some(0) || a == b => Some(a),
            Op::Or if is_bool && second == Some(1) => Some(b),
            Op::Xor if second == Some(0) => Some(a),
            Op::IntMin | Op::IntMax if a == b => Some(a),
            Op::Not => match self.node(a) {
                Node::Apply(Op::Not, [inner, ..]) => Some(inner),
                _ => None,
            },
            Op::Select => match first {
                Some(0) => Some(c),
                Some(_) => Some(b),
                None if b == c => Some(b),
                None => None,
            },
            Op::ToI32 if types[0] == Type::I32 => Some(a),
            Op::ToU32 if types[0] == Type::U32 => Some(a),
            Op::ToF32 if types[0] == Type::F32 => Some(a),
            // A pair of casts that change no bits.
            Op::ToI32 | Op::ToU32 => match self.node(a) {
                Node::Apply(Op::ToI32 | Op::ToU32, [inner, ..]) if self.ty(inner) == op.result(types) => Some(inner),
                _ => None,
            },
            Op::Real(Real::Mul) if second == Some(1f32.to_bits()) => Some(a),
            Op::Real(Real::Div) if second == Some(1f32.to_bits()) => Some(a),
            // a − 0 is a, also for −0; a + 0 is not.
            Op::Real(Real::Sub) if second == Some(0) => Some(a),
            Op::Real(Real::Neg) => match self.node(a) {
                Node::Apply(Op::Real(Real::Neg), [inner, ..]) => Some(inner),
                _ => None,
            },
            _ => None,
        }
    }

    /// (x / n) · n + x mod n is x: the address of an element whose coordinates were taken from its linear index.
    fn whole(&self, a: Id, b: Id) -> Option<Id> {
        let of = |product: Id, remainder: Id| {
            let Node::Apply(Op::IntRem, [x, n, _]) = self.node(remainder) else { return None };
            let Node::Apply(Op::IntMul, [p, q, _]) = self.node(product) else { return None };
            let is_quotient = |id: Id| self.node(id) == Node::Apply(Op::IntDiv, [x, n, x]);
            (self.ty(x) == Type::U32 && (is_quotient(p) && q == n || is_quotient(q) && p == n)).then_some(x)
        };
        of(a, b).or_else(|| of(b, a))
    }

    /// (x mod n) / n is 0.
    fn quotient(&mut self, a: Id, n: Id) -> Option<Id> {
        match self.node(a) {
            Node::Apply(Op::IntRem, [_, divisor, _]) if divisor == n => Some(self.u32(0)),
            _ => None,
        }
    }
}

/// Whether operands may be exchanged without another result.
fn is_commutative(op: Op) -> bool {
    matches!(
        op,
        Op::Real(Real::Add | Real::Mul)
            | Op::Eq
            | Op::IntAdd
            | Op::IntMul
            | Op::IntMin
            | Op::IntMax
            | Op::HighProduct
            | Op::And
            | Op::Or
            | Op::Xor
    )
}

#[cfg(test)]
#[cfg(not(target_arch = "wasm32"))]
mod tests {
    use super::*;

    #[test]
    fn the_address_of_a_linear_index_is_that_index() {
        let mut graph = Graph::default();
        let (x, n) = (graph.coordinate(0), graph.size(0));
        let (quotient, remainder) = (graph.apply(Op::IntDiv, &[x, n]), graph.apply(Op::IntRem, &[x, n]));
        let product = graph.apply(Op::IntMul, &[quotient, n]);
        assert_eq!(graph.apply(Op::IntAdd, &[product, remainder]), x);
        assert_eq!(graph.apply(Op::IntAdd, &[remainder, product]), x);
    }

    #[test]
    fn equal_sums_are_one_node_whatever_the_order() {
        let mut graph = Graph::default();
        let (x, y, two) = (graph.coordinate(0), graph.coordinate(1), graph.u32(2));
        assert_eq!(graph.apply(Op::IntAdd, &[x, y]), graph.apply(Op::IntAdd, &[y, x]));
        let sum = graph.apply(Op::IntAdd, &[two, x]);
        assert_eq!(graph.node(sum), Node::Apply(Op::IntAdd, [x, two, x]));
        let seven = graph.u32(7);
        assert_eq!(graph.apply(Op::IntMul, &[two, seven]), graph.u32(14));
    }

    #[test]
    fn the_sign_of_a_zero_survives() {
        let mut graph = Graph::default();
        let (x, zero) = (graph.load_for_test(), graph.f32(0.0));
        assert_eq!(graph.real(Real::Sub, &[x, zero]), x);
        assert_ne!(graph.real(Real::Add, &[x, zero]), x);
    }

    impl Graph {
        fn load_for_test(&mut self) -> Id {
            let index = self.coordinate(0);
            self.load(0, index, Type::F32)
        }
    }
}
