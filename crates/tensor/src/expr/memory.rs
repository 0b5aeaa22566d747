//! How tensors stand in memory.

use super::{Expr, Op, TensorId};
use crate::dtype::DType;

/// Whether no other kernel can compute an operation within it.
pub fn has_memory(op: &Op) -> bool {
    match op {
        Op::Input(_)
        | Op::Reduce(..)
        | Op::Scan { .. }
        | Op::Fold { .. }
        | Op::ScanBy { .. }
        | Op::MatMul
        | Op::Attention(_)
        | Op::Scatter(..)
        | Op::IndexPut(..)
        | Op::Argsort { .. }
        | Op::Fourier(_)
        | Op::Roots(_)
        | Op::SetSlice { slot: Some(_), .. }
        | Op::Linalg(_)
        | Op::SparseProduct
        | Op::RangeSum(_)
        | Op::DigitCounts(_)
        | Op::DigitSort(_)
        | Op::Gradient
        | Op::CustomGradient => true,
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
