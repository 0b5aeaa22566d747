//! Reshapes behind what follows products, so that a product's kernel computes it: a convolution is a product whose places are one axis, and what
//! follows it has two.

use residua_base::list::Listed;

use crate::expr::{Expr, Tensor, TensorId, TensorOp};
use crate::fuse::blocks::block_axes;
use crate::size::Size;

/// Which tensors of a recipe that grows are products, or are computed from one element by element.
pub struct Products {
    follows: Vec<bool>,
    /// Whether stacks of stacks count as products.
    with_stacks: bool,
}

impl Products {
    /// Of a recipe without nodes.
    pub fn new(with_stacks: bool) -> Products {
        Products { follows: Vec::new(), with_stacks }
    }

    /// An elementwise operation on a reshape of a product, as a reshape of the operation on the product itself; none where no operand is one.
    pub fn behind(&mut self, expr: &mut Expr, tensor: &Tensor, operands: &[TensorId]) -> Option<TensorId> {
        self.grow(expr);
        let of_product = |operand: &TensorId| {
            let base = unshaped(expr, *operand);
            let is_reshape = base != *operand && *expr.shape(*operand) == *tensor.shape;
            (is_reshape && self.follows[base.0 as usize]).then_some(base)
        };
        let shape = expr.shape(operands.iter().find_map(of_product)?).to_vec();
        let moved = operands.iter().map(|operand| moved(expr, *operand, &tensor.shape, &shape)).list();
        let result = expr.push(Tensor { op: tensor.op.clone(), operands: moved, dtype: tensor.dtype, shape });
        Some(expr.reshape(result, &tensor.shape))
    }

    /// Looks at what is new.
    fn grow(&mut self, expr: &Expr) {
        for tensor in &expr.nodes[self.follows.len()..] {
            let is_of_product =
                |operand: &TensorId| self.follows[operand.0 as usize] && *expr.shape(*operand) == *tensor.shape;
            let follows = match tensor.op {
                TensorOp::MatMul => true,
                TensorOp::Concat(_) if self.with_stacks => {
                    !block_axes(expr, &[], TensorId(self.follows.len() as u32)).is_empty()
                }
                TensorOp::Elementwise(_) => tensor.operands.iter().any(is_of_product),
                _ => false,
            };
            self.follows.push(follows);
        }
    }
}

/// An operand of one shape, or one that broadcasts to it, in another shape with as many elements.
fn moved(expr: &mut Expr, operand: TensorId, from: &[Size], to: &[Size]) -> TensorId {
    let shape = expr.shape(operand);
    if shape.iter().all(|extent| extent.is(1)) {
        // It broadcasts to any shape of more axes.
        return if shape.len() <= to.len() { operand } else { expr.reshape(operand, &[]) };
    }
    let base = unshaped(expr, operand);
    if shape == from && expr.shape(base) == to {
        return base;
    }
    let whole = expr.expand(operand, from);
    expr.reshape(whole, to)
}

/// What a tensor is a reshape of, or itself.
fn unshaped(expr: &Expr, mut id: TensorId) -> TensorId {
    while expr.tensor(id).op == TensorOp::Reshape {
        id = expr.tensor(id).operands[0];
    }
    id
}
