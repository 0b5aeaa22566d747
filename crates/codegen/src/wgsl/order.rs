//! Which operands compilers must not see through.
//!
//! Compilers of shaders take reals for numbers of a field: (x + y) − y becomes x, x·y / y becomes x, x − x becomes 0 and x · 0 becomes 0 (all of them
//! on NVIDIA, those with constants on SwiftShader). Each is another number where a sum or product rounds or overflows, or where x is infinite or
//! NaN. An operand with which such a rule could match is hidden by the guard's zero, which ends what a compiler knows of it. All other operations
//! stay bare, so that a product and the sum that it is part of may become one instruction.

use residua_ir::graph::{Graph, Node, NodeId, Op};

/// A graph, as far as these rules look at it.
pub trait Operations {
    /// Its nodes.
    type Id: Copy + PartialEq;

    /// The operation on reals that a node is, with its first operands; one operand is there twice.
    fn operation(&self, id: Self::Id) -> Option<(Op, [Self::Id; 2])>;

    /// The number that a node is, if it is one.
    fn number(&self, id: Self::Id) -> Option<f64>;
}

impl Operations for Graph {
    type Id = NodeId;

    fn operation(&self, id: NodeId) -> Option<(Op, [NodeId; 2])> {
        match self.node(id) {
            Node::Apply(op, [a, b, _]) => Some((op, [a, b])),
            Node::Literal(_) | Node::Input(_) | Node::Result(..) => None,
        }
    }

    fn number(&self, id: NodeId) -> Option<f64> {
        self.literal_value(id)
    }
}

/// How an operand is hidden.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hidden {
    /// Not at all.
    No,
    /// As a product with a 1 that compilers cannot derive, which becomes part of a sum without an instruction of its own.
    ByFactor,
    /// By its bits: a factor would be taken out of a product again, and out of two sums.
    ByBits,
}

/// How the operands of an operation on reals are hidden.
pub fn hidden<G: Operations>(graph: &G, op: Op, operands: &[G::Id]) -> [Hidden; 2] {
    let &[a, b] = operands else { return [Hidden::No; 2] };
    let bases = [a, b].map(|operand| without_sign(graph, operand));
    let is = |id: G::Id, ops: &[Op]| graph.operation(id).is_some_and(|(op, _)| ops.contains(&op));
    let is_same = bases[0] == bases[1];
    let by_bits = |places: [bool; 2]| places.map(|is_hidden| if is_hidden { Hidden::ByBits } else { Hidden::No });
    match op {
        Op::Add | Op::Sub if is_same => by_bits([true, false]),
        Op::Add | Op::Sub => {
            let hidden = match bases.map(|base| is(base, &[Op::Add, Op::Sub])) {
                [false, false] => [Hidden::No; 2],
                [true, false] => [Hidden::ByFactor, Hidden::No],
                [false, true] => [Hidden::No, Hidden::ByFactor],
                [true, true] => [Hidden::ByFactor, Hidden::ByBits],
            };
            // A common factor is taken out. One that is hidden suffices: where the factor itself is added, that one.
            match shares_factor(graph, bases) {
                true if is(bases[1], &[Op::Mul, Op::Div]) && !is(bases[0], &[Op::Mul, Op::Div]) => {
                    [Hidden::ByBits, hidden[1]]
                }
                true => [hidden[0], Hidden::ByBits],
                false => hidden,
            }
        }
        Op::Mul | Op::Div => {
            let is_root = is(bases[0], &[Op::Sqrt, Op::Norm, Op::InverseNorm]);
            let is_zero = |id: G::Id| graph.number(id) == Some(0.0);
            // Numbers of two products become one, and what is divided by is taken out of a quotient. Other products may be multiplied in another order.
            let matches = |base: G::Id, other: G::Id| match op {
                Op::Mul => has_quotient(graph, base) || is_scale(graph, other) && has_scale(graph, base),
                _ => is(base, &[Op::Mul, Op::Div]),
            };
            // A product with 0 and a quotient of 0.
            let is_first = is_zero(a) || is_same && (op == Op::Div || is_root);
            let is_second = is_zero(b) && op == Op::Mul;
            by_bits([is_first || matches(bases[0], b), is_second || matches(bases[1], a)])
        }
        _ => [Hidden::No; 2],
    }
}

/// Whether two terms are products with a common factor, or one is a factor of the other.
fn shares_factor<G: Operations>(graph: &G, terms: [G::Id; 2]) -> bool {
    let [a, b] = terms.map(|term| {
        let mut found = vec![term];
        if let Some((Op::Mul | Op::Div, operands)) = graph.operation(term) {
            found.extend(operands.map(|operand| without_sign(graph, operand)));
        }
        found
    });
    a.iter().any(|factor| graph.number(*factor).is_none() && b.contains(factor))
}

/// The factors of a product, far enough for numbers and quotients among them to be found.
fn any_factor<G: Operations>(graph: &G, id: G::Id, depth: u32, found: &dyn Fn(G::Id) -> bool) -> bool {
    let id = without_sign(graph, id);
    found(id)
        || match graph.operation(id) {
            Some((Op::Mul, operands)) if depth > 0 => {
                operands.into_iter().any(|operand| any_factor(graph, operand, depth - 1, found))
            }
            _ => false,
        }
}

/// Levels of products that are looked through.
const DEPTH: u32 = 4;

fn has_quotient<G: Operations>(graph: &G, id: G::Id) -> bool {
    any_factor(graph, id, DEPTH, &|factor| matches!(graph.operation(factor), Some((Op::Div, _))))
}

fn has_scale<G: Operations>(graph: &G, id: G::Id) -> bool {
    any_factor(graph, id, DEPTH, &|factor| is_scale(graph, factor))
}

/// Whether a node is a number by which a product is rounded: no power of two.
fn is_scale<G: Operations>(graph: &G, id: G::Id) -> bool {
    graph.number(id).is_some_and(|number| !is_power_of_two(number))
}

fn is_power_of_two(number: f64) -> bool {
    number != 0.0 && number.is_finite() && number.to_bits() << 12 == 0
}

fn without_sign<G: Operations>(graph: &G, id: G::Id) -> G::Id {
    match graph.operation(id) {
        Some((Op::Neg | Op::StopGradient, [inner, _])) => without_sign(graph, inner),
        _ => id,
    }
}
