//! Graphs of scalar operations as elementwise operations on tensors, and how derivatives pass.

use residua_base::list::Listed;
use residua_ir::autodiff::{Passage, passage};
use residua_ir::graph::{Graph, InputId, Node, NodeId, Op as Scalar};

use crate::dtype::DType;
use crate::expr::{Elementwise, Expr, TensorId};

/// The nodes of a graph over f32 tensors of one shape, which stand for its inputs.
pub(super) fn tensors_of(expr: &mut Expr, graph: &Graph, inputs: &[TensorId], outputs: &[NodeId]) -> Vec<TensorId> {
    let (graph, outputs) = graph.extract(outputs);
    let shape = expr.shape(inputs[0]).to_vec();
    let mut tensors: Vec<TensorId> = Vec::with_capacity(graph.len());
    for node in graph.nodes() {
        let tensor = match node {
            Node::Literal(bits) => expr.constant(f64::from_bits(*bits), DType::F32),
            Node::Input(InputId(input)) => inputs[*input as usize],
            Node::Result(..) => unreachable!("rules of tensors have no loops"),
            Node::Apply(op, operands) => {
                let operands: Vec<TensorId> =
                    operands[..op.arity()].iter().map(|operand| tensors[operand.index()]).list();
                apply(expr, *op, &operands)
            }
        };
        tensors.push(tensor);
    }
    outputs.iter().map(|output| expr.expand(tensors[output.index()], &shape)).list()
}

/// A scalar operation, whose truth values are 1 and 0, on tensors.
fn apply(expr: &mut Expr, op: Scalar, operands: &[TensorId]) -> TensorId {
    let mut operands = operands.to_vec();
    if op == Scalar::Select {
        operands[0] = expr.cast(operands[0], DType::Bool);
    }
    let result = expr.elementwise(elementwise_of(op), &operands);
    expr.cast(result, DType::F32)
}

/// The elementwise operation that does what a scalar operation does.
pub(super) fn elementwise_of(op: Scalar) -> Elementwise {
    let is_of_op = |elementwise: &&Elementwise| elementwise.real() == Some(op);
    *Elementwise::ALL.iter().find(is_of_op).expect("every scalar operation is one of tensors")
}

/// How a derivative passes from an operation on reals to the operand at a place.
pub(super) fn passage_of(op: Elementwise, place: usize) -> Passage {
    match op {
        Elementwise::Expm1 | Elementwise::Log1p | Elementwise::Erfc | Elementwise::FloorMod | Elementwise::Cast => {
            Passage::Open
        }
        Elementwise::Trunc
        | Elementwise::IsNan
        | Elementwise::IsFinite
        | Elementwise::Not
        | Elementwise::Bitcast
        | Elementwise::And
        | Elementwise::Or
        | Elementwise::Xor
        | Elementwise::Shl
        | Elementwise::Shr => Passage::Closed,
        _ => op.real().map_or(Passage::Closed, |real| passage(real, place)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scalar_operation_is_one_of_tensors() {
        for op in Scalar::ALL {
            assert_eq!(elementwise_of(*op).arity(), op.arity());
        }
    }
}
