//! Graphs of scalar operations as elementwise operations on tensors.

use residua_base::list::Listed;
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
            Node::Apply(op, _) => {
                let operands: Vec<TensorId> = node.operands().iter().map(|operand| tensors[operand.index()]).list();
                apply(expr, *op, &operands)
            }
        };
        tensors.push(tensor);
    }
    outputs.iter().map(|output| expr.expand(tensors[output.index()], &shape)).list()
}

/// A scalar operation, whose truth values are 1 and 0, on tensors.
fn apply(expr: &mut Expr, op: Scalar, operands: &[TensorId]) -> TensorId {
    let op = match op {
        Scalar::Neg => Elementwise::Neg,
        Scalar::Abs => Elementwise::Abs,
        Scalar::Sign => Elementwise::Sign,
        Scalar::Sqrt => Elementwise::Sqrt,
        Scalar::Norm => Elementwise::VectorNorm,
        Scalar::InverseNorm => Elementwise::InverseNorm,
        Scalar::Exp => Elementwise::Exp,
        Scalar::Log => Elementwise::Log,
        Scalar::Sin => Elementwise::Sin,
        Scalar::Cos => Elementwise::Cos,
        Scalar::Tan => Elementwise::Tan,
        Scalar::Asin => Elementwise::Asin,
        Scalar::Acos => Elementwise::Acos,
        Scalar::Atan => Elementwise::Atan,
        Scalar::Sinh => Elementwise::Sinh,
        Scalar::Cosh => Elementwise::Cosh,
        Scalar::Tanh => Elementwise::Tanh,
        Scalar::Sigmoid => Elementwise::Sigmoid,
        Scalar::Softplus => Elementwise::Softplus,
        Scalar::Floor => Elementwise::Floor,
        Scalar::Ceil => Elementwise::Ceil,
        Scalar::Round => Elementwise::Round,
        Scalar::StopGradient => Elementwise::StopGradient,
        Scalar::Add => Elementwise::Add,
        Scalar::Sub => Elementwise::Sub,
        Scalar::Mul => Elementwise::Mul,
        Scalar::Div => Elementwise::Div,
        Scalar::Pow => Elementwise::Pow,
        Scalar::Mod => Elementwise::Mod,
        Scalar::Atan2 => Elementwise::Atan2,
        Scalar::Min => Elementwise::Minimum,
        Scalar::Max => Elementwise::Maximum,
        Scalar::Eq => Elementwise::Eq,
        Scalar::Ne => Elementwise::Ne,
        Scalar::Lt => Elementwise::Lt,
        Scalar::Le => Elementwise::Le,
        Scalar::Gt => Elementwise::Gt,
        Scalar::Ge => Elementwise::Ge,
        Scalar::GuardedMul => Elementwise::GuardedMul,
        Scalar::Select => {
            let condition = expr.cast(operands[0], DType::Bool);
            return expr.elementwise(Elementwise::Select, &[condition, operands[1], operands[2]]);
        }
    };
    let result = expr.elementwise(op, operands);
    expr.cast(result, DType::F32)
}
