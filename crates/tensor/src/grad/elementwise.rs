//! Rules of elementwise operations: those of `residua_ir::autodiff`, and those of the operations that only tensors have.

use residua_base::list::Listed;
use residua_ir::autodiff::{Application, Derivation, Passage};
use residua_ir::graph::Op as Real;

use super::scalar::{elementwise_of, passage_of};
use super::{Adjoint, PullBack, Shares};
use crate::expr::{Elementwise, TensorId};

impl PullBack<'_> {
    pub(super) fn elementwise(&mut self, op: Elementwise) -> Shares {
        let count = self.operands.len();
        let share = |place: usize| {
            if !self.wanted[place] {
                return None;
            }
            // Zeros of a selection say that an element is left out.
            let guarded =
                self.adjoint.guarded || matches!(passage_of(op, place), Passage::Guarded | Passage::Selected { .. });
            let share = self.share(op, place)?;
            Some(Adjoint { node: self.sum_to(share, place), guarded })
        };
        (0..count).map(share).list()
    }

    /// The adjoint times the partial by the operand at a place, in the shape of the result.
    fn share(&mut self, op: Elementwise, place: usize) -> Option<TensorId> {
        let (a, adjoint) = (self.operands[0], self.adjoint.node);
        Some(match op {
            Elementwise::Expm1 => self.times_of(adjoint, Real::Exp, a),
            Elementwise::Log1p => {
                let one = self.number(1.0);
                let sum = self.apply(Elementwise::Add, &[one, a]);
                self.quotient(adjoint, sum)
            }
            Elementwise::Erfc => {
                let square = self.apply(Elementwise::Mul, &[a, a]);
                let exponent = self.apply(Elementwise::Neg, &[square]);
                let density = self.apply(Elementwise::Exp, &[exponent]);
                let slope = self.scaled(-std::f64::consts::FRAC_2_SQRT_PI, density);
                self.times(adjoint, slope)
            }
            Elementwise::FloorMod => self.share_of_remainder(place),
            Elementwise::Cast => {
                let dtype = self.sweep.expr.dtype(a);
                self.expr().cast(adjoint, dtype)
            }
            Elementwise::Select if place == 1 => self.where_holds(a, adjoint),
            Elementwise::Select => {
                let zero = self.number(0.0);
                self.apply(Elementwise::Select, &[a, zero, adjoint])
            }
            _ => return self.pull_back(op.real()?, place),
        })
    }
}

/// Without limits at 0: a tensor does not tell what its elements depend on.
impl Derivation for PullBack<'_> {
    type Value = TensorId;

    fn application(&self) -> Application<TensorId> {
        let operand = |place: usize| self.operands.get(place).copied().unwrap_or(self.operands[0]);
        Application { operands: [0, 1, 2].map(operand), result: self.result, adjoint: self.adjoint.node }
    }

    fn number(&mut self, value: f64) -> TensorId {
        PullBack::number(self, value)
    }

    fn apply(&mut self, op: Real, operands: &[TensorId]) -> TensorId {
        PullBack::apply(self, elementwise_of(op), operands)
    }

    fn is_guarded(&self) -> bool {
        self.adjoint.guarded
    }
}
