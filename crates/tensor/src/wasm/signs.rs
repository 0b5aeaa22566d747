//! What is known of the sign of a value, from the operations that it is made of.

use residua_ir::graph::Op as Real;

use super::values::Values;
use crate::kernel::{Body, Combine, Fold};
use crate::scalar::{Id, Type, TypedNode, TypedOp};

/// The sign of a value that may also be NaN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    /// It is at least 0.
    NotNegative,
    /// It is at most 0.
    NotPositive,
    /// It may be either.
    Unknown,
}

impl Sign {
    fn negated(self) -> Sign {
        match self {
            Sign::NotNegative => Sign::NotPositive,
            Sign::NotPositive => Sign::NotNegative,
            Sign::Unknown => Sign::Unknown,
        }
    }

    fn times(self, other: Sign) -> Sign {
        match other {
            Sign::NotNegative => self,
            Sign::NotPositive => self.negated(),
            Sign::Unknown => Sign::Unknown,
        }
    }
}

/// How many operations are looked at, one below the other.
const DEPTH: u32 = 6;

impl Values<'_, '_> {
    /// The sign of a real at each point.
    pub fn sign(&self, id: Id) -> Sign {
        self.sign_within(id, DEPTH)
    }

    fn sign_within(&self, id: Id, depth: u32) -> Sign {
        let Some(depth) = depth.checked_sub(1) else { return Sign::Unknown };
        let of = |operand: Id| self.sign_within(operand, depth);
        match self.graph.node(id) {
            TypedNode::Literal(Type::F32, bits) if f32::from_bits(bits) >= 0.0 => Sign::NotNegative,
            TypedNode::Literal(Type::F32, bits) if f32::from_bits(bits) <= 0.0 => Sign::NotPositive,
            TypedNode::Apply(TypedOp::Real(op), [a, b, _]) => match op {
                Real::Abs | Real::Exp | Real::Sqrt | Real::Norm | Real::Sigmoid | Real::Cosh => Sign::NotNegative,
                Real::Neg => of(a).negated(),
                Real::Mul if a == b => Sign::NotNegative,
                Real::Mul => of(a).times(of(b)),
                // A zero of either sign divides to an infinity of either sign.
                Real::Div if self.graph.literal_bits(b).is_some_and(|bits| bits << 1 != 0) => of(a).times(of(b)),
                Real::Add if of(a) == of(b) => of(a),
                Real::Sub if self.is_below_largest(id) => Sign::NotPositive,
                _ => Sign::Unknown,
            },
            _ => Sign::Unknown,
        }
    }

    /// The reduction of whose results a node is the only one, if no part of it is left to another kernel.
    fn whole_fold(&self, id: Id) -> Option<&Fold> {
        match (self.graph.node(id), &self.kernel.body) {
            (TypedNode::Folded { fold, .. }, Body::Rows(rows)) => {
                rows.folds.get(fold as usize).filter(|fold| !fold.merges_states && !fold.keeps_state)
            }
            _ => None,
        }
    }

    /// Whether a node is the difference of a value from the largest of its row.
    pub fn is_below_largest(&self, id: Id) -> bool {
        let TypedNode::Apply(TypedOp::Real(Real::Sub), [x, largest, _]) = self.graph.node(id) else { return false };
        self.whole_fold(largest).is_some_and(|fold| matches!(fold.combine, Combine::Max) && fold.operands[0] == x)
    }

    /// Whether a reduction is a sum of e^(x − largest x) over a row: from 1 to the number of points, or NaN.
    pub fn is_sum_of_softmax(&self, fold: usize) -> bool {
        let Body::Rows(rows) = &self.kernel.body else { return false };
        let sum = &rows.folds[fold];
        if sum.merges_states || !matches!(sum.combine, Combine::Sum) {
            return false;
        }
        match self.graph.node(sum.operands[0]) {
            TypedNode::Apply(TypedOp::Real(Real::Exp), [x, ..]) => self.is_below_largest(x),
            _ => false,
        }
    }
}
