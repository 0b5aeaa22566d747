//! The rule of attention. With P the weights, O = P V and S the scores before the softmax: ∂V = Pᵀ ∂O, ∂P = ∂O Vᵀ and
//! ∂S = P ∘ (∂P − rowsum(P ∘ ∂P)); a softcap multiplies by 1 − tanh².

use super::{Adjoint, PullBack, Shares};
use crate::dtype::DType;
use crate::expr::{Attention, Elementwise, Reduction, TensorId, Weights};
use residua_base::list::Listed;

impl PullBack<'_> {
    pub(super) fn attention(&mut self, attention: &Attention) -> Shares {
        use Elementwise::{Mul, Sub};
        let (operands, adjoint) = (self.operands, self.adjoint.node);
        let heads = self.sweep.expr.heads_of_a_group(operands);
        let Weights { queries, keys, capped, weights } = self.expr().attention_weights(attention, operands);
        let adjoint = self.expr().in_groups(adjoint, heads);
        let values = self.expr().shared_by_groups(operands[2], heads);
        let mut shares: Vec<Option<TensorId>> = vec![None; operands.len()];
        if self.wanted[2] {
            let turned = self.expr().transpose(weights);
            let share = self.expr().matmul(turned, adjoint, DType::F32);
            shares[2] = Some(self.of_key_heads(share, heads.is_some(), 2));
        }
        if self.wanted.iter().enumerate().any(|(place, wanted)| *wanted && place != 2) {
            let turned = self.expr().transpose(values);
            let of_weights = self.expr().matmul(adjoint, turned, DType::F32);
            let product = self.apply(Mul, &[of_weights, weights]);
            let axis = [self.sweep.expr.shape(product).len() as u32 - 1];
            let sum = self.expr().reduce_keeping(Reduction::Sum, product, &axis);
            let difference = self.apply(Sub, &[of_weights, sum]);
            let mut of_scores = self.apply(Mul, &[weights, difference]);
            if self.wanted.get(3) == Some(&true) {
                let mut shape = self.shape(0);
                shape.pop();
                shape.push(self.shape(1)[shape.len() - 1].clone());
                let share = self.expr().reshape(of_scores, &shape);
                shares[3] = Some(self.sum_to(share, 3));
            }
            if let Some(capped) = capped {
                let square = self.apply(Mul, &[capped, capped]);
                let one = self.number(1.0);
                let slope = self.apply(Sub, &[one, square]);
                of_scores = self.apply(Mul, &[of_scores, slope]);
            }
            let of_products = self.scaled(attention.scale, of_scores);
            if self.wanted[0] {
                let share = self.expr().matmul(of_products, keys, DType::F32);
                let shape = self.shape(0);
                let share = self.expr().reshape(share, &shape);
                let dtype = self.sweep.expr.dtype(operands[0]);
                shares[0] = Some(self.expr().cast(share, dtype));
            }
            if self.wanted[1] {
                let turned = self.expr().transpose(of_products);
                let share = self.expr().matmul(turned, queries, DType::F32);
                shares[1] = Some(self.of_key_heads(share, heads.is_some(), 1));
            }
        }
        let guarded = self.adjoint.guarded;
        shares.into_iter().map(|share| share.map(|node| Adjoint { node, guarded })).list()
    }

    /// Summed over the heads of a group, in the type of an operand.
    fn of_key_heads(&mut self, share: TensorId, has_groups: bool, place: usize) -> TensorId {
        let axis = [self.sweep.expr.shape(share).len() as u32 - 3];
        let sum = if has_groups { self.expr().reduce(Reduction::Sum, share, &axis) } else { share };
        let dtype = self.sweep.expr.dtype(self.operands[place]);
        self.expr().cast(sum, dtype)
    }
}
