//! Attention as other operations, where no kernel of its own serves.

use crate::expr::{Expr, Op, Tensor, TensorId};
use crate::fuse::Target;

/// Most numbers of a query and a key that the kernels take.
const MOST_SIZE: i64 = 256;
/// Most numbers of a value that they take: a thread holds one in 16 of them for each of 8 queries.
const MOST_WIDTH: i64 = 128;

/// A recipe in which all attention has kernels, and its roots.
pub fn composed(expr: &Expr, roots: Vec<TensorId>, target: &Target) -> (Expr, Vec<TensorId>) {
    let mut result = Expr::default();
    let mut places: Vec<TensorId> = Vec::with_capacity(expr.nodes.len());
    for tensor in &expr.nodes {
        let operands: Vec<TensorId> = tensor.operands.iter().map(|operand| places[operand.0 as usize]).collect();
        places.push(match &tensor.op {
            Op::Attention(attention) if !has_kernels(&result, &operands, target) => {
                result.composed_attention(attention, &operands)
            }
            _ => result.push(Tensor { operands, ..tensor.clone() }),
        });
    }
    let roots = roots.iter().map(|root| places[root.0 as usize]).collect();
    (result, roots)
}

/// Whether there are kernels for attention of these operands: on a device, where heads have known sizes that are multiples of 4.
fn has_kernels(expr: &Expr, operands: &[TensorId], target: &Target) -> bool {
    let fits = |operand: TensorId, most: i64| {
        let size = expr.shape(operand).last().and_then(|size| size.known());
        size.is_some_and(|size| (4..=most).contains(&size) && size % 4 == 0)
    };
    !target.is_host && fits(operands[0], MOST_SIZE) && fits(operands[2], MOST_WIDTH)
}
