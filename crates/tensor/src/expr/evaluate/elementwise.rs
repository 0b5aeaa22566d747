//! Elementwise operations on numbers.

use residua_base::list::Listed;
use residua_ir::graph::evaluate as real;

use super::{Array, Node, stored};
use crate::dtype::DType;
use crate::expr::Elementwise;

impl Node<'_> {
    /// One number everywhere.
    pub(super) fn constant(&self, shape: Vec<usize>, number: f64) -> Array {
        let number = convert(number, DType::F32, self.tensor.dtype);
        Array::of(shape, |_| number)
    }

    /// An operation on operands that broadcast.
    pub(super) fn elementwise(&self, shape: Vec<usize>, op: Elementwise) -> Array {
        let types: Vec<DType> = self.tensor.operands.iter().map(|operand| self.expr.dtype(*operand)).list();
        let mut operands = vec![0.0; types.len()];
        Array::of(shape, |at| {
            for (place, operand) in operands.iter_mut().enumerate() {
                *operand = self.operand(place).broadcast_at(at);
            }
            apply(op, &types, self.tensor.dtype, &operands)
        })
    }
}

/// An operation on elements. `types` are those of the operands, `to` that of the result.
fn apply(op: Elementwise, types: &[DType], to: DType, operands: &[f64]) -> f64 {
    let of = types[types.len() - 1];
    match op {
        Elementwise::Cast => convert(operands[0], of, to),
        Elementwise::Bitcast => bitcast(operands[0], of, to),
        Elementwise::Select => operands[if operands[0] != 0.0 { 1 } else { 2 }],
        Elementwise::StopGradient => operands[0],
        _ if of.is_real() => apply_real(op, operands),
        _ => {
            let integer = |place: usize| operands.get(place).copied().unwrap_or_default() as i64;
            stored(to, apply_integer(op, of, integer(0), integer(1)))
        }
    }
}

/// A number of one type as another.
fn convert(value: f64, from: DType, to: DType) -> f64 {
    match to {
        DType::F32 | DType::F16 => value,
        DType::Bool => truth(value != 0.0),
        DType::I32 if from.is_real() => f64::from(value as i32),
        DType::U32 if from.is_real() => f64::from(value as u32),
        DType::U8 if from.is_real() => f64::from(value as u8),
        DType::I32 | DType::U32 | DType::U8 => stored(to, value as i64),
    }
}

fn bitcast(value: f64, from: DType, to: DType) -> f64 {
    let bits = if from == DType::F32 { (value as f32).to_bits() } else { value as i64 as u32 };
    if to == DType::F32 { f64::from(f32::from_bits(bits)) } else { stored(to, i64::from(bits)) }
}

fn truth(condition: bool) -> f64 {
    f64::from(u8::from(condition))
}

fn apply_real(op: Elementwise, operands: &[f64]) -> f64 {
    if let Some(op) = op.real() {
        return real(op, operands);
    }
    let (a, b) = (operands[0], operands[operands.len() - 1]);
    match op {
        Elementwise::Expm1 => a.exp_m1(),
        Elementwise::Log1p => a.ln_1p(),
        Elementwise::Erfc => libm::erfc(a),
        Elementwise::Trunc => a.trunc(),
        Elementwise::IsNan => truth(a.is_nan()),
        Elementwise::IsFinite => truth(a.is_finite()),
        Elementwise::FloorMod => {
            let remainder = a % b;
            if remainder != 0.0 && (remainder < 0.0) != (b < 0.0) { remainder + b } else { remainder }
        }
        _ => unreachable!("{} takes no reals, or any type", op.name()),
    }
}

/// On integers and truth values; the result's low bits count.
fn apply_integer(op: Elementwise, of: DType, a: i64, b: i64) -> i64 {
    match op {
        Elementwise::Neg => -a,
        Elementwise::Abs => a.abs(),
        Elementwise::Sign => a.signum(),
        Elementwise::Not if of == DType::Bool => i64::from(a == 0),
        Elementwise::Not => !a,
        Elementwise::Add => a + b,
        Elementwise::Sub => a - b,
        Elementwise::Mul => a.wrapping_mul(b),
        Elementwise::Div => a.checked_div(b).unwrap_or(0),
        Elementwise::Mod => a.checked_rem(b).unwrap_or(0),
        Elementwise::FloorMod => match a.checked_rem(b).unwrap_or(0) {
            remainder if remainder != 0 && (remainder < 0) != (b < 0) => remainder + b,
            remainder => remainder,
        },
        Elementwise::Pow => {
            let power = |exponent: u64| {
                let product = (0..64).rev().fold(1i64, |product, bit| {
                    let square = product.wrapping_mul(product);
                    if exponent >> bit & 1 == 1 { square.wrapping_mul(a) } else { square }
                });
                stored(of, product) as i64
            };
            if b < 0 { 1i64.checked_div(power(b.unsigned_abs())).unwrap_or(0) } else { power(b as u64) }
        }
        Elementwise::Minimum => a.min(b),
        Elementwise::Maximum => a.max(b),
        Elementwise::Eq => i64::from(a == b),
        Elementwise::Ne => i64::from(a != b),
        Elementwise::Lt => i64::from(a < b),
        Elementwise::Le => i64::from(a <= b),
        Elementwise::Gt => i64::from(a > b),
        Elementwise::Ge => i64::from(a >= b),
        Elementwise::And => a & b,
        Elementwise::Or => a | b,
        Elementwise::Xor => a ^ b,
        Elementwise::Shl => a << (b & 31),
        Elementwise::Shr => a >> (b & 31),
        _ => unreachable!("{} takes no integers, or any type", op.name()),
    }
}
