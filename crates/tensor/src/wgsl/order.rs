//! Scalar graphs as those in whose text the order of operations is kept, see [`residua_codegen::wgsl::opaque`].

use residua_codegen::wgsl::Operations;
use residua_ir::graph::Op as Real;

use crate::scalar::{Graph, Id, Node, Op};

impl Operations for Graph {
    type Id = Id;

    fn operation(&self, id: Id) -> Option<(Real, [Id; 2])> {
        match self.node(id) {
            Node::Apply(Op::Real(op), [a, b, _]) => Some((op, [a, b])),
            _ => None,
        }
    }

    fn is_zero(&self, id: Id) -> bool {
        self.literal_bits(id).is_some_and(|bits| bits << 1 == 0)
    }
}

#[cfg(test)]
#[cfg(not(target_arch = "wasm32"))]
mod tests {
    use super::*;
    use crate::scalar::Type;
    use residua_codegen::wgsl::opaque;

    #[test]
    fn operands_of_rules_of_fields_are_opaque() {
        let mut graph = Graph::default();
        let index = graph.coordinate(0);
        let [x, y] = [0, 1].map(|buffer| graph.load(buffer, index, Type::F32));
        let (zero, three) = (graph.f32(0.0), graph.f32(3.0));
        let sum = graph.real(Real::Add, &[x, y]);
        let product = graph.real(Real::Mul, &[x, y]);
        let quotient = graph.real(Real::Div, &[x, y]);
        let tripled = graph.real(Real::Mul, &[x, three]);
        let other = graph.real(Real::Mul, &[y, y]);
        let negative = graph.real(Real::Neg, &[sum]);
        let minus = graph.real(Real::Neg, &[x]);
        let root = graph.real(Real::Sqrt, &[x]);
        for (op, operands, expected) in [
            (Real::Sub, [sum, y], [true, false]),
            (Real::Sub, [y, sum], [false, true]),
            (Real::Add, [y, negative], [false, true]),
            (Real::Sub, [x, x], [true, false]),
            (Real::Add, [x, minus], [true, false]),
            (Real::Sub, [product, x], [true, false]),
            (Real::Add, [product, tripled], [true, true]),
            (Real::Add, [quotient, other], [true, true]),
            (Real::Div, [product, y], [true, false]),
            (Real::Mul, [quotient, y], [true, false]),
            (Real::Div, [three, quotient], [false, true]),
            (Real::Div, [x, x], [true, false]),
            (Real::Mul, [root, root], [true, false]),
            (Real::Mul, [x, zero], [false, true]),
            (Real::Div, [zero, x], [true, false]),
            // What no rule matches: these may become one instruction with what follows.
            (Real::Add, [x, y], [false; 2]),
            (Real::Mul, [x, x], [false; 2]),
            (Real::Mul, [sum, x], [false; 2]),
            (Real::Add, [tripled, other], [false; 2]),
            (Real::Div, [x, zero], [false; 2]),
        ] {
            assert_eq!(opaque(&graph, op, &operands), expected, "{op:?} of {operands:?}");
        }
    }
}
