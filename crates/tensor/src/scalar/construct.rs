//! Construction of scalar graphs: nodes are checked by type, folded and simplified.

use residua_ir::graph::Op as Real;

use super::{Id, Type, TypedGraph, TypedNode, TypedOp, fold::fold};

impl TypedGraph {
    /// A number of a type, by its bits.
    pub fn literal(&mut self, ty: Type, bits: u32) -> Id {
        self.intern(TypedNode::Literal(ty, bits), ty)
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
        self.intern(TypedNode::Coordinate(axis), Type::U32)
    }

    /// A word of the uniform.
    pub fn size(&mut self, word: u32) -> Id {
        self.intern(TypedNode::Size(word), Type::U32)
    }

    /// An element of a buffer of a type.
    pub fn load(&mut self, buffer: u32, index: Id, ty: Type) -> Id {
        self.intern(TypedNode::Load { buffer, index }, ty)
    }

    /// A result of a reduction, of a type.
    pub fn folded(&mut self, fold: u32, result: u32, ty: Type) -> Id {
        self.intern(TypedNode::Folded { fold, result }, ty)
    }

    /// The bits of a literal.
    pub fn literal_bits(&self, id: Id) -> Option<u32> {
        match self.node(id) {
            TypedNode::Literal(_, bits) => Some(bits),
            TypedNode::Coordinate(_)
            | TypedNode::Size(_)
            | TypedNode::Load { .. }
            | TypedNode::Folded { .. }
            | TypedNode::Apply(..) => None,
        }
    }

    /// An operation on reals.
    pub fn real(&mut self, op: Real, operands: &[Id]) -> Id {
        self.apply(TypedOp::Real(op), operands)
    }

    /// An operation on as many operands as it takes, simplified.
    pub fn apply(&mut self, op: TypedOp, operands: &[Id]) -> Id {
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
        self.intern(TypedNode::Apply(op, operands), op.result(types))
    }

    /// A simpler node with the same value.
    fn simplified(&mut self, op: TypedOp, [a, b, c]: [Id; 3], types: [Type; 3]) -> Option<Id> {
        let bits = [a, b, c].map(|operand| self.literal_bits(operand));
        if let [Some(x), Some(y), Some(z)] = bits
            && let Some(result) = fold(op, types, [x, y, z])
        {
            return Some(self.literal(op.result(types), result));
        }
        let [first, second, _] = bits;
        let is_bool = types[0] == Type::Bool;
        match op {
            TypedOp::IntAdd | TypedOp::IntSub | TypedOp::Shl | TypedOp::Shr if second == Some(0) => Some(a),
            TypedOp::IntAdd => self.whole(a, b),
            TypedOp::IntSub if a == b => Some(self.literal(types[0], 0)),
            TypedOp::IntMul | TypedOp::IntDiv if second == Some(1) => Some(a),
            TypedOp::IntMul | TypedOp::And if second == Some(0) => Some(b),
            TypedOp::IntRem if second == Some(1) => Some(self.literal(types[0], 0)),
            TypedOp::IntDiv if types[0] == Type::U32 => self.quotient(a, b),
            TypedOp::And if is_bool && second == Some(1) || a == b => Some(a),
            TypedOp::Or if second == Some(0) || a == b => Some(a),
            TypedOp::Or if is_bool && second == Some(1) => Some(b),
            TypedOp::Xor if second == Some(0) => Some(a),
            TypedOp::IntMin | TypedOp::IntMax if a == b => Some(a),
            TypedOp::Not => match self.node(a) {
                TypedNode::Apply(TypedOp::Not, [inner, ..]) => Some(inner),
                _ => None,
            },
            TypedOp::Select => match first {
                Some(0) => Some(c),
                Some(_) => Some(b),
                None if b == c => Some(b),
                None => None,
            },
            TypedOp::ToI32 if types[0] == Type::I32 => Some(a),
            TypedOp::ToU32 if types[0] == Type::U32 => Some(a),
            TypedOp::ToF32 if types[0] == Type::F32 => Some(a),
            // A pair of casts that change no bits.
            TypedOp::ToI32 | TypedOp::ToU32 => match self.node(a) {
                TypedNode::Apply(TypedOp::ToI32 | TypedOp::ToU32, [inner, ..])
                    if self.ty(inner) == op.result(types) =>
                {
                    Some(inner)
                }
                _ => None,
            },
            TypedOp::Real(Real::Mul) if second == Some(1f32.to_bits()) => Some(a),
            TypedOp::Real(Real::Div) if second == Some(1f32.to_bits()) => Some(a),
            // a − 0 is a, also for −0; a + 0 is not.
            TypedOp::Real(Real::Sub) if second == Some(0) => Some(a),
            TypedOp::Real(Real::Neg) => match self.node(a) {
                TypedNode::Apply(TypedOp::Real(Real::Neg), [inner, ..]) => Some(inner),
                _ => None,
            },
            _ => None,
        }
    }

    /// (x / n) · n + x mod n is x: the address of an element whose coordinates were taken from its linear index.
    fn whole(&self, a: Id, b: Id) -> Option<Id> {
        let of = |product: Id, remainder: Id| {
            let TypedNode::Apply(TypedOp::IntRem, [x, n, _]) = self.node(remainder) else { return None };
            let TypedNode::Apply(TypedOp::IntMul, [p, q, _]) = self.node(product) else { return None };
            let is_quotient = |id: Id| self.node(id) == TypedNode::Apply(TypedOp::IntDiv, [x, n, x]);
            (self.ty(x) == Type::U32 && (is_quotient(p) && q == n || is_quotient(q) && p == n)).then_some(x)
        };
        of(a, b).or_else(|| of(b, a))
    }

    /// (x mod n) / n is 0.
    fn quotient(&mut self, a: Id, n: Id) -> Option<Id> {
        match self.node(a) {
            TypedNode::Apply(TypedOp::IntRem, [_, divisor, _]) if divisor == n => Some(self.u32(0)),
            _ => None,
        }
    }
}

/// Whether operands may be exchanged without another result.
fn is_commutative(op: TypedOp) -> bool {
    matches!(
        op,
        TypedOp::Real(Real::Add | Real::Mul)
            | TypedOp::Eq
            | TypedOp::IntAdd
            | TypedOp::IntMul
            | TypedOp::IntMin
            | TypedOp::IntMax
            | TypedOp::HighProduct
            | TypedOp::And
            | TypedOp::Or
            | TypedOp::Xor
    )
}

#[cfg(test)]
#[cfg(not(target_arch = "wasm32"))]
mod tests {
    use super::*;

    #[test]
    fn the_address_of_a_linear_index_is_that_index() {
        let mut graph = TypedGraph::default();
        let (x, n) = (graph.coordinate(0), graph.size(0));
        let (quotient, remainder) = (graph.apply(TypedOp::IntDiv, &[x, n]), graph.apply(TypedOp::IntRem, &[x, n]));
        let product = graph.apply(TypedOp::IntMul, &[quotient, n]);
        assert_eq!(graph.apply(TypedOp::IntAdd, &[product, remainder]), x);
        assert_eq!(graph.apply(TypedOp::IntAdd, &[remainder, product]), x);
    }

    #[test]
    fn equal_sums_are_one_node_whatever_the_order() {
        let mut graph = TypedGraph::default();
        let (x, y, two) = (graph.coordinate(0), graph.coordinate(1), graph.u32(2));
        assert_eq!(graph.apply(TypedOp::IntAdd, &[x, y]), graph.apply(TypedOp::IntAdd, &[y, x]));
        let sum = graph.apply(TypedOp::IntAdd, &[two, x]);
        assert_eq!(graph.node(sum), TypedNode::Apply(TypedOp::IntAdd, [x, two, x]));
        let seven = graph.u32(7);
        assert_eq!(graph.apply(TypedOp::IntMul, &[two, seven]), graph.u32(14));
    }

    #[test]
    fn the_sign_of_a_zero_survives() {
        let mut graph = TypedGraph::default();
        let (x, zero) = (graph.load_for_test(), graph.f32(0.0));
        assert_eq!(graph.real(Real::Sub, &[x, zero]), x);
        assert_ne!(graph.real(Real::Add, &[x, zero]), x);
    }

    impl TypedGraph {
        fn load_for_test(&mut self) -> Id {
            let index = self.coordinate(0);
            self.load(0, index, Type::F32)
        }
    }
}
