//! Scalar graphs as those in whose text the order of operations is kept, see [`residua_codegen::wgsl::hidden`].

use residua_codegen::wgsl::Operations;
use residua_ir::graph::Op as Real;

use crate::scalar::{Id, Type, TypedGraph, TypedNode, TypedOp};

impl Operations for TypedGraph {
    type Id = Id;

    fn operation(&self, id: Id) -> Option<(Real, [Id; 2])> {
        match self.node(id) {
            TypedNode::Apply(TypedOp::Real(op), [a, b, _]) => Some((op, [a, b])),
            _ => None,
        }
    }

    fn number(&self, id: Id) -> Option<f64> {
        match self.node(id) {
            TypedNode::Literal(Type::F32, bits) => Some(f64::from(f32::from_bits(bits))),
            _ => None,
        }
    }
}

#[cfg(test)]
#[cfg(not(target_arch = "wasm32"))]
mod tests {
    use super::*;
    use residua_codegen::wgsl::Hidden::{self, ByBits, ByFactor, No};
    use residua_codegen::wgsl::hidden;

    #[test]
    fn operands_of_rules_of_fields_are_hidden() {
        let mut graph = TypedGraph::default();
        let index = graph.coordinate(0);
        let [x, y] = [0, 1].map(|buffer| graph.load(buffer, index, Type::F32));
        let (zero, half, three) = (graph.f32(0.0), graph.f32(0.5), graph.f32(3.0));
        let sum = graph.real(Real::Add, &[x, y]);
        let difference = graph.real(Real::Sub, &[y, x]);
        let product = graph.real(Real::Mul, &[x, y]);
        let quotient = graph.real(Real::Div, &[x, y]);
        let (halved, tripled) = (graph.real(Real::Mul, &[x, half]), graph.real(Real::Mul, &[x, three]));
        let (other, squared) = (graph.real(Real::Mul, &[y, y]), graph.real(Real::Mul, &[tripled, x]));
        let negative = graph.real(Real::Neg, &[sum]);
        let minus = graph.real(Real::Neg, &[x]);
        let root = graph.real(Real::Sqrt, &[x]);
        let cases: [(Real, [Id; 2], [Hidden; 2]); 27] = [
            (Real::Sub, [sum, y], [ByFactor, No]),
            (Real::Sub, [y, sum], [No, ByFactor]),
            (Real::Add, [y, negative], [No, ByFactor]),
            (Real::Add, [sum, difference], [ByFactor, ByBits]),
            (Real::Sub, [x, x], [ByBits, No]),
            (Real::Add, [x, minus], [ByBits, No]),
            (Real::Div, [product, y], [ByBits, No]),
            (Real::Mul, [quotient, y], [ByBits, No]),
            (Real::Div, [three, quotient], [No, ByBits]),
            (Real::Div, [x, x], [ByBits, No]),
            (Real::Mul, [root, root], [ByBits, No]),
            (Real::Mul, [tripled, three], [ByBits, No]),
            (Real::Mul, [squared, three], [ByBits, No]),
            (Real::Sub, [product, x], [No, ByBits]),
            (Real::Sub, [x, product], [ByBits, No]),
            (Real::Add, [product, tripled], [No, ByBits]),
            (Real::Sub, [sum, other], [ByFactor, No]),
            (Real::Mul, [x, zero], [No, ByBits]),
            (Real::Div, [zero, x], [ByBits, No]),
            // What no rule matches: these may become one instruction with what follows.
            (Real::Add, [x, y], [No, No]),
            (Real::Mul, [tripled, y], [No, No]),
            (Real::Mul, [halved, three], [No, No]),
            (Real::Mul, [x, x], [No, No]),
            (Real::Mul, [sum, x], [No, No]),
            (Real::Mul, [halved, y], [No, No]),
            (Real::Add, [tripled, other], [No, No]),
            (Real::Div, [x, zero], [No, No]),
        ];
        for (op, operands, expected) in cases {
            assert_eq!(hidden(&graph, op, &operands), expected, "{op:?} of {operands:?}");
        }
    }
}
