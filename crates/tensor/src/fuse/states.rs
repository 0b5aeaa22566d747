//! States of long rows in blocks: a kernel leaves the numbers of each block's state in scratch memory, and another reads them.

use super::build::{Write, as_type};
use crate::dtype::DType;
use crate::lower::{Lowering, Memory};
use crate::scalar::{Id, Type, TypedOp};
use crate::size::Size;

/// How a long row is cut into blocks of a length, which are reduced or accumulated by themselves.
#[derive(Clone, Copy, Debug)]
pub struct Blocks {
    /// How many.
    pub count: u32,
    /// Points of each; the last may have fewer.
    pub length: u32,
}

/// Where the state of a block stands: blocks one after another, rows within.
pub fn state_index(lowering: &mut Lowering, block: Id, outer: &[Id], shape: &[Size]) -> Id {
    let within = lowering.linear_of(outer, shape);
    let rows = lowering.size(&Size::product(shape));
    let start = lowering.graph.apply(TypedOp::IntMul, &[block, rows]);
    lowering.graph.apply(TypedOp::IntAdd, &[start, within])
}

/// Type in memory of a number of a state.
pub fn state_dtype(ty: Type) -> DType {
    match ty {
        Type::F32 => DType::F32,
        Type::I32 => DType::I32,
        Type::U32 | Type::Bool => DType::U32,
    }
}

/// Writes a number of a state: a result of a fold.
pub fn state_write(lowering: &mut Lowering, [fold, result]: [u32; 2], number: u32, index: Id, ty: Type) -> Write {
    let dtype = state_dtype(ty);
    let value = lowering.graph.folded(fold, result, ty);
    let value = as_type(lowering, value, Type::of(dtype));
    Write { memory: Memory::Scratch(number), dtype, index, value }
}

/// Reads a number of a state, as the type that it has within kernels.
pub fn load_state(lowering: &mut Lowering, number: u32, index: Id, ty: Type) -> Id {
    let dtype = state_dtype(ty);
    let buffer = lowering.buffer(Memory::Scratch(number), dtype);
    let value = lowering.graph.load(buffer, index, Type::of(dtype));
    if ty == Type::Bool { lowering.converted(value, DType::U32, DType::Bool) } else { value }
}
