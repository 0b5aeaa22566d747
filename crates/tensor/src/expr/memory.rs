//! How tensors stand in memory.

use super::{Expr, TensorId, TensorOp};
use crate::dtype::DType;

/// The operations that no other kernel can compute within it, as a pattern.
macro_rules! with_memory {
    () => {
        $crate::expr::TensorOp::Input(_)
            | $crate::expr::TensorOp::Reduce(..)
            | $crate::expr::TensorOp::Scan { .. }
            | $crate::expr::TensorOp::Fold { .. }
            | $crate::expr::TensorOp::ScanBy { .. }
            | $crate::expr::TensorOp::MatMul
            | $crate::expr::TensorOp::Attention(_)
            | $crate::expr::TensorOp::Scatter(..)
            | $crate::expr::TensorOp::IndexPut(..)
            | $crate::expr::TensorOp::Argsort { .. }
            | $crate::expr::TensorOp::Fourier(_)
            | $crate::expr::TensorOp::Roots(_)
            | $crate::expr::TensorOp::SetSlice { slot: Some(_), .. }
            | $crate::expr::TensorOp::Linalg(_)
            | $crate::expr::TensorOp::SparseProduct
            | $crate::expr::TensorOp::RangeSum(_)
            | $crate::expr::TensorOp::DigitCounts(_)
            | $crate::expr::TensorOp::DigitSort(_)
            | $crate::expr::TensorOp::Gradient
            | $crate::expr::TensorOp::CustomGradient
    };
}

pub(crate) use with_memory;

/// Whether no other kernel can compute an operation within it.
pub fn has_memory(op: &TensorOp) -> bool {
    match op {
        with_memory!() => true,
        TensorOp::Constant(_)
        | TensorOp::Extent(_)
        | TensorOp::Number(_)
        | TensorOp::Iota(_)
        | TensorOp::RandomBits(_)
        | TensorOp::Elementwise(_)
        | TensorOp::Reshape
        | TensorOp::Expand
        | TensorOp::Permute(_)
        | TensorOp::Slice { .. }
        | TensorOp::SetSlice { slot: None, .. }
        | TensorOp::Pad { .. }
        | TensorOp::Concat(_)
        | TensorOp::Windows { .. }
        | TensorOp::Gather(_)
        | TensorOp::GatherElements(_)
        | TensorOp::Dequantize(_) => false,
    }
}

/// The type in which a tensor stands in memory: what a reduction, scan, product or scatter gives is never packed, since its elements are
/// written one by one. A slot has the type that it was made with.
pub fn memory_dtype(expr: &Expr, id: TensorId) -> DType {
    let tensor = expr.tensor(id);
    if matches!(tensor.op, TensorOp::Input(_) | TensorOp::SetSlice { .. }) || !has_memory(&tensor.op) {
        return tensor.dtype;
    }
    match tensor.dtype {
        DType::F16 => DType::F32,
        DType::U8 | DType::Bool => DType::U32,
        DType::F32 | DType::I32 | DType::U32 => tensor.dtype,
    }
}
