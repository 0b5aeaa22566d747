//! Remainders of reals, exactly.

use residua_codegen::wasm::encoding::Instruction;
use residua_codegen::wasm::encoding::ValType;
use residua_codegen::wasm::encoding::instructions as wasm;

use crate::scalar::{Formula, Type::F32};
use crate::wasm::code::{Code, Local};

/// Remainder of a / b with the sign of a, as JavaScript's `%`.
pub fn remainder(code: &mut Code, a: Local, b: Local) -> Local {
    // Divisions that have no remainder are put off: 0 by 1. An infinite divisor is one beyond every f32 in f64.
    let is_bad = Formula::of([F32, F32], |[a, b]| {
        let infinity = a.number(f32::INFINITY);
        !a.abs().lt(infinity) | b.is_nan() | b.is(b.number(0.0))
    });
    let is_bad = code.formula(0, &is_bad, &[a, b]);
    let size = code.one(0, wasm::F32X4_ABS, a);
    let size = code.two(0, wasm::V128_ANDNOT, size, is_bad);
    let one = code.word(1f32.to_bits());
    let divisor = code.one(0, wasm::F32X4_ABS, b);
    let divisor = code.choose(0, is_bad, one, divisor);
    let [rest] = code.in_halves(&wasm::F64X2_PROMOTE_LOW_F32X4, [size, divisor], |code, [a, b]| {
        let beyond = code.double(1e39);
        let b = code.two(0, wasm::F64X2_PMIN, b, beyond);
        [divide(code, a, b)]
    });
    let signed = Formula::of([F32, F32], |[a, rest]| rest.with_sign_bit(a.sign_bit()));
    let rest = code.formula(0, &signed, &[a, rest]);
    let nan = code.word(f32::NAN.to_bits());
    code.choose(0, is_bad, nan, rest)
}

/// The remainder of two lanes of finite f64 that hold f32, b not 0: a loses multiples of b by 24 bits of the quotient at a time, whose products
/// with b are exact.
fn divide(code: &mut Code, a: Local, b: Local) -> Local {
    const BITS: u64 = !0 << 29;
    let rest = code.vector(0, &[a.get()]);
    let quotient = code.local(ValType::V128);
    let (mask, large) = (code.constant(u128::from(BITS) << 64 | u128::from(BITS)), code.double(16_777_216.0));
    code.put(
        0,
        &[
            Instruction::Loop,
            rest.get(),
            rest.get(),
            b.get(),
            wasm::F64X2_DIV,
            wasm::F64X2_TRUNC,
            quotient.tee(),
            mask.get(),
            wasm::V128_AND,
            b.get(),
            wasm::F64X2_MUL,
            wasm::F64X2_SUB,
            rest.set(),
            quotient.get(),
            large.get(),
            wasm::F64X2_GE,
            wasm::V128_ANY_TRUE,
            Instruction::BrIf(0),
            wasm::END,
        ],
    );
    // A quotient that was rounded up to a power of two has taken b once too often.
    let zero = code.word(0);
    let is_negative = code.two(0, wasm::F64X2_LT, rest, zero);
    let correction = code.two(0, wasm::V128_AND, is_negative, b);
    let rest = code.two(0, wasm::F64X2_ADD, rest, correction);
    code.one(0, wasm::F32X4_DEMOTE_F64X2_ZERO, rest)
}
