//! The value of each operation, in f32 and in 32-bit integers that wrap. A value is its 32 bits; a bool is 0 or 1.

use residua_base::list::Listed;
use residua_ir::graph::{self, CheckedGraph, Node as ScalarNode, NodeId};

use crate::scalar::{Type, TypedOp, fold};

/// The value of an operation on operands of types. Operations on integers, comparisons and casts are those of construction.
pub fn apply(op: TypedOp, types: [Type; 3], operands: [u32; 3]) -> u32 {
    let numbers = operands.map(f32::from_bits);
    match op {
        TypedOp::Real(op) => real(op, &numbers.map(f64::from)[..op.arity()]).to_bits(),
        TypedOp::Trunc => numbers[0].trunc().to_bits(),
        _ => fold(op, types, operands).unwrap_or_else(|| unreachable!("construction folds all but functions of reals")),
    }
}

/// The f32 that is nearest to the value of an operation in f64. Sums, products, quotients and roots are those of f32.
fn real(op: graph::Op, operands: &[f64]) -> f32 {
    graph::evaluate(op, operands) as f32
}

/// The values of some nodes of a scalar graph, each operation rounded to f32.
pub fn evaluate(graph: &CheckedGraph, inputs: &[f32], results: &[NodeId]) -> Vec<f32> {
    let mut values: Vec<f32> = Vec::with_capacity(graph.graph().len());
    for node in graph.graph().nodes() {
        let value = match node {
            ScalarNode::Literal(bits) => f64::from_bits(*bits) as f32,
            ScalarNode::Input(input) => inputs[input.0 as usize],
            ScalarNode::Result(..) => unreachable!("rules of tensors have no loops"),
            ScalarNode::Apply(op, operands) => {
                let operands = operands.map(|operand| f64::from(values[operand.index()]));
                real(*op, &operands[..op.arity()])
            }
        };
        values.push(value);
    }
    results.iter().map(|result| values[result.index()]).list()
}

#[cfg(test)]
#[cfg(not(target_arch = "wasm32"))]
mod tests {
    use super::*;

    #[test]
    fn integers_wrap_and_quotients_by_zero_are_zero() {
        let of = |op, ty, a: i64, b: i64| apply(op, [ty; 3], [a as u32, b as u32, 0]) as i32;
        for (op, a, b, expected) in [
            (TypedOp::IntDiv, -7, 2, -3),
            (TypedOp::IntRem, -7, 2, -1),
            (TypedOp::IntDiv, 5, 0, 0),
            (TypedOp::IntRem, 5, 0, 0),
            (TypedOp::IntDiv, i64::from(i32::MIN), -1, i32::MIN),
            (TypedOp::IntRem, i64::from(i32::MIN), -1, 0),
            (TypedOp::IntMin, -1, 1, -1),
            (TypedOp::Shr, -8, 33, -4),
            (TypedOp::Shl, 1, 33, 2),
            (TypedOp::Lt, -1, 1, 1),
        ] {
            assert_eq!(of(op, Type::I32, a, b), expected, "{op:?} of {a} and {b}");
        }
        assert_eq!(of(TypedOp::IntMin, Type::U32, -1, 1), 1);
        assert_eq!(of(TypedOp::Lt, Type::U32, -1, 1), 0);
        assert_eq!(of(TypedOp::HighProduct, Type::U32, -1, -1), -2);
        assert_eq!(of(TypedOp::Not, Type::Bool, 1, 0), 0);
    }

    #[test]
    fn casts_clamp() {
        let of = |op, x: f32| apply(op, [Type::F32; 3], [x.to_bits(); 3]);
        assert_eq!(of(TypedOp::ToI32, 3e9), i32::MAX as u32);
        assert_eq!(of(TypedOp::ToI32, -2.9) as i32, -2);
        assert_eq!(of(TypedOp::ToU32, -2.9), 0);
        assert_eq!(of(TypedOp::ToU32, f32::NAN), 0);
        assert_eq!(of(TypedOp::Lt, f32::NAN), 0);
    }
}
