//! Operations on literals: what construction computes instead of a kernel. Elementary functions stay, so that their results are those of the
//! engine.

use residua_ir::graph::Op as Real;

use super::{Type, TypedOp};
use crate::half::number_of_half;

/// The bits of an operation's result from the types and bits of its operands, where every engine has the same.
pub(crate) fn fold(op: TypedOp, types: [Type; 3], [a, b, c]: [u32; 3]) -> Option<u32> {
    let signed = types[0] == Type::I32;
    let (x, y) = (f32::from_bits(a), f32::from_bits(b));
    let is_real = types[0] == Type::F32;
    let truth = |value: bool| u32::from(value);
    Some(match op {
        TypedOp::Real(Real::Add) => (x + y).to_bits(),
        TypedOp::Real(Real::Sub) => (x - y).to_bits(),
        TypedOp::Real(Real::Mul) => (x * y).to_bits(),
        TypedOp::Real(Real::Div) => (x / y).to_bits(),
        TypedOp::Real(Real::Neg) => (-x).to_bits(),
        TypedOp::Real(Real::Abs) => x.abs().to_bits(),
        TypedOp::Real(Real::Floor) => x.floor().to_bits(),
        TypedOp::Real(_) | TypedOp::Trunc => return None,
        TypedOp::Eq if is_real => truth(x == y),
        TypedOp::Eq => truth(a == b),
        TypedOp::Lt if is_real => truth(x < y),
        TypedOp::Lt if signed => truth((a as i32) < b as i32),
        TypedOp::Lt => truth(a < b),
        TypedOp::Le if is_real => truth(x <= y),
        TypedOp::Le if signed => truth(a as i32 <= b as i32),
        TypedOp::Le => truth(a <= b),
        TypedOp::Select => {
            if a != 0 {
                b
            } else {
                c
            }
        }
        TypedOp::IntAdd => a.wrapping_add(b),
        TypedOp::IntSub => a.wrapping_sub(b),
        TypedOp::IntMul => a.wrapping_mul(b),
        TypedOp::IntDiv | TypedOp::IntRem if b == 0 => 0,
        TypedOp::IntDiv if signed => (a as i32).wrapping_div(b as i32) as u32,
        TypedOp::IntDiv => a / b,
        TypedOp::IntRem if signed => (a as i32).wrapping_rem(b as i32) as u32,
        TypedOp::IntRem => a % b,
        TypedOp::IntMin if signed => (a as i32).min(b as i32) as u32,
        TypedOp::IntMin => a.min(b),
        TypedOp::IntMax if signed => (a as i32).max(b as i32) as u32,
        TypedOp::IntMax => a.max(b),
        TypedOp::HighProduct => ((u64::from(a) * u64::from(b)) >> 32) as u32,
        TypedOp::And => a & b,
        TypedOp::Or => a | b,
        TypedOp::Xor => a ^ b,
        TypedOp::Not if types[0] == Type::Bool => a ^ 1,
        TypedOp::Not => !a,
        TypedOp::Shl => a.wrapping_shl(b),
        TypedOp::Shr if signed => (a as i32).wrapping_shr(b) as u32,
        TypedOp::Shr => a.wrapping_shr(b),
        TypedOp::ToF32 => match types[0] {
            Type::F32 => a,
            Type::I32 => (a as i32 as f32).to_bits(),
            Type::U32 | Type::Bool => (a as f32).to_bits(),
        },
        TypedOp::ToI32 => match types[0] {
            Type::F32 => x as i32 as u32,
            Type::I32 | Type::U32 | Type::Bool => a,
        },
        TypedOp::ToU32 => match types[0] {
            Type::F32 => x as u32,
            Type::I32 | Type::U32 | Type::Bool => a,
        },
        TypedOp::BitsToF32 | TypedOp::BitsOfF32 | TypedOp::Level(_) => a,
        TypedOp::HalfToF32 => number_of_half(a as u16).to_bits(),
    })
}
