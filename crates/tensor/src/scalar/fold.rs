//! Operations on literals: what construction computes instead of a kernel. Elementary functions stay, so that their results are those of the
//! engine.

use residua_ir::graph::Op as Real;

use super::{Op, Type};
use crate::half::number_of_half;

/// The bits of an operation's result from the types and bits of its operands, where every engine has the same.
pub(crate) fn fold(op: Op, types: [Type; 3], [a, b, c]: [u32; 3]) -> Option<u32> {
    let signed = types[0] == Type::I32;
    let (x, y) = (f32::from_bits(a), f32::from_bits(b));
    let is_real = types[0] == Type::F32;
    let truth = |value: bool| u32::from(value);
    Some(match op {
        Op::Real(Real::Add) => (x + y).to_bits(),
        Op::Real(Real::Sub) => (x - y).to_bits(),
        Op::Real(Real::Mul) => (x * y).to_bits(),
        Op::Real(Real::Div) => (x / y).to_bits(),
        Op::Real(Real::Neg) => (-x).to_bits(),
        Op::Real(Real::Abs) => x.abs().to_bits(),
        Op::Real(Real::Floor) => x.floor().to_bits(),
        Op::Real(_) | Op::Trunc => return None,
        Op::Eq if is_real => truth(x == y),
        Op::Eq => truth(a == b),
        Op::Lt if is_real => truth(x < y),
        Op::Lt if signed => truth((a as i32) < b as i32),
        Op::Lt => truth(a < b),
        Op::Le if is_real => truth(x <= y),
        Op::Le if signed => truth(a as i32 <= b as i32),
        Op::Le => truth(a <= b),
        Op::Select => {
            if a != 0 {
                b
            } else {
                c
            }
        }
        Op::IntAdd => a.wrapping_add(b),
        Op::IntSub => a.wrapping_sub(b),
        Op::IntMul => a.wrapping_mul(b),
        Op::IntDiv | Op::IntRem if b == 0 => 0,
        Op::IntDiv if signed => (a as i32).wrapping_div(b as i32) as u32,
        Op::IntDiv => a / b,
        Op::IntRem if signed => (a as i32).wrapping_rem(b as i32) as u32,
        Op::IntRem => a % b,
        Op::IntMin if signed => (a as i32).min(b as i32) as u32,
        Op::IntMin => a.min(b),
        Op::IntMax if signed => (a as i32).max(b as i32) as u32,
        Op::IntMax => a.max(b),
        Op::HighProduct => ((u64::from(a) * u64::from(b)) >> 32) as u32,
        Op::And => a & b,
        Op::Or => a | b,
        Op::Xor => a ^ b,
        Op::Not if types[0] == Type::Bool => a ^ 1,
        Op::Not => !a,
        Op::Shl => a.wrapping_shl(b),
        Op::Shr if signed => (a as i32).wrapping_shr(b) as u32,
        Op::Shr => a.wrapping_shr(b),
        Op::ToF32 => match types[0] {
            Type::F32 => a,
            Type::I32 => (a as i32 as f32).to_bits(),
            Type::U32 | Type::Bool => (a as f32).to_bits(),
        },
        Op::ToI32 => match types[0] {
            Type::F32 => x as i32 as u32,
            Type::I32 | Type::U32 | Type::Bool => a,
        },
        Op::ToU32 => match types[0] {
            Type::F32 => x as u32,
            Type::I32 | Type::U32 | Type::Bool => a,
        },
        Op::BitsToF32 | Op::BitsOfF32 | Op::Level(_) => a,
        Op::HalfToF32 => number_of_half(a as u16).to_bits(),
    })
}
