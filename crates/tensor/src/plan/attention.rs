//! Attention as other operations, where no kernel of its own serves.

use crate::expr::{Expr, Op, Tensor, TensorId};

/// A recipe without attention, and its roots.
pub fn composed(expr: &Expr, roots: Vec<TensorId>) -> (Expr, Vec<TensorId>) {
    let mut result = Expr::default();
    let mut places: Vec<TensorId> = Vec::with_capacity(expr.nodes.len());
    for tensor in &expr.nodes {
        let operands: Vec<TensorId> = tensor.operands.iter().map(|operand| places[operand.0 as usize]).collect();
        places.push(match &tensor.op {
            Op::Attention(attention) => result.composed_attention(attention, &operands),
            _ => result.push(Tensor { operands, ..tensor.clone() }),
        });
    }
    let roots = roots.iter().map(|root| places[root.0 as usize]).collect();
    (result, roots)
}
