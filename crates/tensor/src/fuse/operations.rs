//! What computing an element costs.

use residua_ir::elementary;

use crate::expr::{Elementwise, TensorOp, with_memory};

/// Operations of one element, in units of a sum.
pub(super) fn operations(op: &TensorOp) -> f64 {
    match op {
        TensorOp::Elementwise(op) => match op {
            Elementwise::Neg
            | Elementwise::Abs
            | Elementwise::Not
            | Elementwise::StopGradient
            | Elementwise::Cast
            | Elementwise::Bitcast
            | Elementwise::Floor
            | Elementwise::Ceil
            | Elementwise::Trunc
            | Elementwise::Add
            | Elementwise::Sub
            | Elementwise::Mul
            | Elementwise::And
            | Elementwise::Or
            | Elementwise::Xor
            | Elementwise::Shl
            | Elementwise::Shr
            | Elementwise::Select => 1.0,
            Elementwise::Sign
            | Elementwise::Round
            | Elementwise::IsNan
            | Elementwise::IsFinite
            | Elementwise::Minimum
            | Elementwise::Maximum
            | Elementwise::Eq
            | Elementwise::Ne
            | Elementwise::Lt
            | Elementwise::Le
            | Elementwise::Gt
            | Elementwise::Ge
            | Elementwise::GuardedMul => 3.0,
            Elementwise::Sqrt | Elementwise::Div | Elementwise::VectorNorm | Elementwise::InverseNorm => 8.0,
            Elementwise::Mod | Elementwise::FloorMod => 12.0,
            Elementwise::Expm1 | Elementwise::Log1p | Elementwise::Erfc | Elementwise::Pow => 25.0,
            elementary!(Elementwise) => 25.0,
        },
        TensorOp::RandomBits(_) => 80.0,
        TensorOp::Pad { .. }
        | TensorOp::SetSlice { slot: None, .. }
        | TensorOp::Concat(_)
        | TensorOp::Gather(_)
        | TensorOp::GatherElements(_)
        | TensorOp::Dequantize(_) => 4.0,
        TensorOp::Reshape | TensorOp::Permute(_) | TensorOp::Slice { .. } | TensorOp::Windows { .. } => 1.0,
        TensorOp::Expand | TensorOp::Constant(_) | TensorOp::Extent(_) | TensorOp::Number(_) | TensorOp::Iota(_) => 0.0,
        with_memory!() => 0.0,
    }
}
