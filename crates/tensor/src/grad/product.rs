//! The rule of products of matrices.

use super::{Adjoint, PullBack, Shares};
use crate::expr::TensorId;
use crate::size::Size;
use residua_base::list::Listed;

impl PullBack<'_> {
    /// Of A·B: the adjoint times Bᵀ, and Aᵀ times the adjoint, summed over the axes of the batch along which a factor was repeated.
    pub(super) fn product(&mut self) -> Shares {
        let (a, b, adjoint) = (self.operands[0], self.operands[1], self.adjoint.node);
        let types = [a, b].map(|id| self.sweep.expr.dtype(id));
        let mut shares = vec![None, None];
        if self.wanted[0] {
            let transposed = self.expr().transpose(b);
            let share = self.expr().matmul(adjoint, transposed, types[0]);
            shares[0] = Some(self.sum_to(share, 0));
        }
        if self.wanted[1] {
            // One matrix for a whole batch: the rows of the batch are rows of one product, which then has no sum after it.
            let is_one_matrix = self.shape(1).len() == 2;
            let (a, adjoint) = if is_one_matrix { (self.rows(a), self.rows(adjoint)) } else { (a, adjoint) };
            let transposed = self.expr().transpose(a);
            let share = self.expr().matmul(transposed, adjoint, types[1]);
            shares[1] = Some(self.sum_to(share, 1));
        }
        let guarded = self.adjoint.guarded;
        shares.into_iter().map(|share| share.map(|node| Adjoint { node, guarded })).list()
    }

    /// All rows of a batch of matrices as one matrix.
    fn rows(&mut self, x: TensorId) -> TensorId {
        let shape = self.sweep.expr.shape(x);
        let (rows, columns) = shape.split_at(shape.len() - 1);
        let shape = [Size::product(rows), columns[0].clone()];
        self.expr().reshape(x, &shape)
    }
}
