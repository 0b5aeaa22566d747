//! How tensors stand in memory.

use super::{Expr, Op, TensorId};
use crate::dtype::DType;

/// The operations that no other kernel can compute within it, as a pattern.
macro_rules! with_memory {
    () => {
        $crate::expr::Op::Input(_)
            | $crate::expr::Op::Reduce(..)
            | $crate::expr::Op::Scan { .. }
            | $crate::expr::Op::Fold { .. }
            | $crate::expr::Op::ScanBy { .. }
            | $crate::expr::Op::MatMul
            | $crate::expr::Op::Attention(_)
            | $crate::expr::Op::Scatter(..)
            | $crate::expr::Op::IndexPut(..)
            | $crate::expr::Op::Argsort { .. }
            | $crate::expr::Op::Fourier(_)
            | $crate::expr::Op::Roots(_)
            | $crate::expr::Op::SetSlice { slot: Some(_), .. }
            | $crate::expr::Op::Linalg(_)
            | $crate::expr::Op::SparseProduct
            | $crate::expr::Op::RangeSum(_)
            | $crate::expr::Op::DigitCounts(_)
            | $crate::expr::Op::DigitSort(_)
            | $crate::expr::Op::Gradient
            | $crate::expr::Op::CustomGradient
    };
}

pub(crate) use with_memory;

/// Whether no other kernel can compute an operation within it.
pub fn has_memory(op: &Op) -> bool {
    match op {
        with_memory!() => true,
        Op::Constant(_)
        | Op::Extent(_)
        | Op::Number(_)
        | Op::Iota(_)
        | Op::RandomBits(_)
        | Op::Elementwise(_)
        | Op::Reshape
        | Op::Expand
        | Op::Permute(_)
        | Op::Slice { .. }
        | Op::SetSlice { slot: None, .. }
        | Op::Pad { .. }
        | Op::Concat(_)
        | Op::Windows { .. }
        | Op::Gather(_)
        | Op::GatherElements(_)
        | Op::Dequantize(_) => false,
    }
}

/// The type in which a tensor stands in memory: what a reduction, scan, product or scatter gives is never packed, since its elements are
/// written one by one. A slot has the type that it was made with.
pub fn memory_dtype(expr: &Expr, id: TensorId) -> DType {
    let tensor = expr.tensor(id);
    if matches!(tensor.op, Op::Input(_) | Op::SetSlice { .. }) || !has_memory(&tensor.op) {
        return tensor.dtype;
    }
    match tensor.dtype {
        DType::F16 => DType::F32,
        DType::U8 | DType::Bool => DType::U32,
        DType::F32 | DType::I32 | DType::U32 => tensor.dtype,
    }
}
