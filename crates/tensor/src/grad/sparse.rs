//! The rule of sparse products. Of A·X the adjoint of X is Aᵀ times that of the product, and that of an entry of A is a sum over the products of two rows.

use super::{Adjoint, PullBack, Shares};
use crate::dtype::DType;
use crate::expr::{Reduction, Tensor, TensorOp};
use residua_base::list::Listed;

impl PullBack<'_> {
    pub(super) fn sparse_product(&mut self) -> Shares {
        let [offsets, columns, values, x, rows, offsets_by_column, by_column] = self.operands[..] else {
            return Vec::new();
        };
        let adjoint = self.adjoint.node;
        let mut shares = vec![None; 7];
        if self.wanted[2] {
            let [of_rows, of_columns] =
                [(adjoint, rows), (x, columns)].map(|(of, places)| self.expr().gather(of, places, 0));
            let product = self.times(of_rows, of_columns);
            let axes: Vec<u32> = (self.shape(2).len() as u32..self.shape(3).len() as u32).list();
            let sum = if axes.is_empty() { product } else { self.expr().reduce(Reduction::Sum, product, &axes) };
            shares[2] = Some(sum);
        }
        if self.wanted[3] {
            let shape = self.shape(3);
            let moved = [rows, values, columns].map(|of| self.expr().gather(of, by_column, 0));
            // The order that leads back is that of the places.
            let order = self.expr().cast(by_column, DType::U32);
            let entries = self.sweep.expr.shape(order).to_vec();
            let back = self.expr().push(Tensor {
                op: TensorOp::Argsort { bits: 32 },
                operands: vec![order],
                dtype: DType::I32,
                shape: entries,
            });
            let [rows, values, columns] = moved;
            let operands = vec![offsets_by_column, rows, values, adjoint, columns, offsets, back];
            shares[3] =
                Some(self.expr().push(Tensor { op: TensorOp::SparseProduct, operands, dtype: DType::F32, shape }));
        }
        let guarded = self.adjoint.guarded;
        shares.into_iter().map(|share| share.map(|node| Adjoint { node, guarded })).list()
    }
}
