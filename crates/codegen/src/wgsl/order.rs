//! Which operands compilers must not see through.
//!
//! Compilers of shaders take reals for numbers of a field: (x + y) − y becomes x, x·y / y becomes x, x − x becomes 0 and x · 0 becomes 0 (all of them
//! on NVIDIA, those with constants on SwiftShader). Each is another number where a sum or product rounds or overflows, or where x is infinite or
//! NaN. An operand with which such a rule could match is written with its bits changed by the guard's zero, which ends what a compiler knows of
//! it. All other operations stay bare, so that a product and the sum that it is part of may become one instruction.

use residua_base::list::Listed;
use residua_ir::graph::{Graph, Node, NodeId, Op};

/// A graph, as far as these rules look at it.
pub trait Operations {
    /// Its nodes.
    type Id: Copy + PartialEq;

    /// The operation on reals that a node is, with its first operands; one operand is there twice.
    fn operation(&self, id: Self::Id) -> Option<(Op, [Self::Id; 2])>;

    /// Whether a node is the number 0.
    fn is_zero(&self, id: Self::Id) -> bool;
}

impl Operations for Graph {
    type Id = NodeId;

    fn operation(&self, id: NodeId) -> Option<(Op, [NodeId; 2])> {
        match self.node(id) {
            Node::Apply(op, [a, b, _]) => Some((op, [a, b])),
            Node::Literal(_) | Node::Input(_) => None,
        }
    }

    fn is_zero(&self, id: NodeId) -> bool {
        self.literal_value(id) == Some(0.0)
    }
}

/// Which of the operands of an operation on reals are to be opaque.
pub fn opaque<G: Operations>(graph: &G, op: Op, operands: &[G::Id]) -> [bool; 2] {
    let &[a, b] = operands else { return [false; 2] };
    let bases = [a, b].map(|operand| without_sign(graph, operand));
    let is = |id: G::Id, ops: &[Op]| graph.operation(id).is_some_and(|(op, _)| ops.contains(&op));
    let is_product = |id: G::Id| is(id, &[Op::Mul, Op::Div]);
    let is_same = bases[0] == bases[1];
    match op {
        Op::Add | Op::Sub => {
            let factors = bases.map(|base| factors(graph, base));
            let shares = factors[0].iter().any(|factor| factors[1].contains(factor));
            let mut opaque = bases.map(|base| is(base, &[Op::Add, Op::Sub]) || shares && is_product(base));
            opaque[0] |= is_same;
            opaque
        }
        Op::Mul | Op::Div => {
            let is_root = is(bases[0], &[Op::Sqrt, Op::Norm, Op::InverseNorm]);
            let mut opaque = bases.map(is_product);
            // A product with 0 and a quotient of 0.
            opaque[0] |= graph.is_zero(a) || is_same && (op == Op::Div || is_root);
            opaque[1] |= graph.is_zero(b) && op == Op::Mul;
            opaque
        }
        _ => [false; 2],
    }
}

fn without_sign<G: Operations>(graph: &G, id: G::Id) -> G::Id {
    match graph.operation(id) {
        Some((Op::Neg | Op::StopGradient, [inner, _])) => without_sign(graph, inner),
        _ => id,
    }
}

/// A value and what it is a product of.
fn factors<G: Operations>(graph: &G, id: G::Id) -> Vec<G::Id> {
    let operands = match graph.operation(id) {
        Some((Op::Mul | Op::Div, operands)) => operands.map(|operand| without_sign(graph, operand)).to_vec(),
        _ => Vec::new(),
    };
    std::iter::once(id).chain(operands).list()
}
