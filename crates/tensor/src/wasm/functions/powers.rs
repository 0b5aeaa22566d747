//! Powers, by logarithms and exponentials in f64.

use residua_base::list::Listed;
use residua_codegen::wasm::encoding::Instruction;
use residua_codegen::wasm::encoding::instructions as wasm;

use crate::scalar::{Formula, Type::F32};
use crate::wasm::code::{Code, Local};

/// aᵇ as JavaScript's `Math.pow`.
pub fn pow(code: &mut Code, a: Local, b: Local) -> Local {
    let size = code.one(0, wasm::F32X4_ABS, a);
    let power = of_positive(code, size, b);
    let formula = Formula::of([F32, F32, F32], |[a, b, power]| {
        let (zero, one, infinity, nan) = (a.number(0.0), a.number(1.0), a.number(f32::INFINITY), a.number(f32::NAN));
        let (size, rises) = (a.abs(), zero.lt(b));
        let is_infinite = b.abs().is(infinity);
        // 0 and ∞ to any power, and any size but 1 to an infinite one.
        let grows = one.lt(size).is(rises);
        let extreme = grows.select(infinity, zero);
        let is_extreme = size.is(zero) | size.is(infinity) | is_infinite;
        let value = is_extreme.select(extreme, power);
        // A negative number takes whole powers alone, and an odd one keeps its sign. Half of an odd number is no integer.
        let (whole, half) = (b.floor().is(b), b * 0.5);
        let odd = whole & !half.floor().is(half) & !is_infinite;
        let sign = odd.select(a.sign_bit().as_real(), zero).bits();
        let value = value.with_sign_bit(sign);
        let is_refused = (a.lt(zero) & !whole & !size.is(infinity)) | (is_infinite & size.is(one));
        let value = (is_refused | a.is_nan() | b.is_nan()).select(nan, value);
        b.is(zero).select(one, value)
    });
    code.formula(0, &formula, &[a, b, power])
}

/// aᵇ of finite positive numbers; anything of others.
fn of_positive(code: &mut Code, a: Local, b: Local) -> Local {
    // a = m · 2ᵉ with m in [√½, √2), by the bits of f32; a subnormal number is scaled first.
    let parts = |exponent: bool| {
        Formula::unary(F32, |a| {
            let is_subnormal = a.lt(a.number(f32::MIN_POSITIVE));
            let normal = is_subnormal.select(a * 8_388_608.0, a);
            let bits = normal.bits();
            let e = (bits - bits.integer(0x3f35_04f3)).to_i32() >> 23;
            match exponent {
                true => e.to_real() - is_subnormal.select(a.number(23.0), a.number(0.0)),
                false => (bits - (e << 23).to_u32()).as_real(),
            }
        })
    };
    let (mantissa, exponent) = (code.formula(0, &parts(false), &[a]), code.formula(0, &parts(true), &[a]));
    let [power] = code.in_halves(&wasm::F64X2_PROMOTE_LOW_F32X4, [mantissa, exponent, b], |code, [m, e, b]| {
        [half_power(code, m, e, b)]
    });
    power
}

/// (m · 2ᵉ)ᵇ for two lanes of f64, as the lower lanes of an f32x4. log m is 2 artanh((m − 1)/(m + 1)), whose series to the 17th power leaves
/// 2⁻⁴⁸; the exponential's to the tenth leaves 2⁻⁴¹.
fn half_power(code: &mut Code, m: Local, e: Local, b: Local) -> Local {
    let one = code.double(1.0);
    let (numerator, denominator) = (code.two(0, wasm::F64X2_SUB, m, one), code.two(0, wasm::F64X2_ADD, m, one));
    let s = code.two(0, wasm::F64X2_DIV, numerator, denominator);
    let z = code.two(0, wasm::F64X2_MUL, s, s);
    let odd: Vec<f64> = (0..9).rev().map(|k| 2.0 / f64::from(2 * k + 1)).list();
    let series = horner(code, z, &odd);
    let log = code.two(0, wasm::F64X2_MUL, series, s);
    let ln_2 = code.double(std::f64::consts::LN_2);
    let whole = code.two(0, wasm::F64X2_MUL, e, ln_2);
    let log = code.two(0, wasm::F64X2_ADD, log, whole);
    let product = code.two(0, wasm::F64X2_MUL, log, b);
    // Beyond these bounds f32 has 0 and ∞.
    let (least, most) = (code.double(-120.0), code.double(120.0));
    let product = code.two(0, wasm::F64X2_PMAX, least, product);
    let product = code.two(0, wasm::F64X2_PMIN, most, product);
    let log2_e = code.double(std::f64::consts::LOG2_E);
    let k = code.two(0, wasm::F64X2_MUL, product, log2_e);
    let k = code.one(0, wasm::F64X2_NEAREST, k);
    let multiple = code.two(0, wasm::F64X2_MUL, k, ln_2);
    let r = code.two(0, wasm::F64X2_SUB, product, multiple);
    let mut factorial = 1.0;
    let mut reciprocals = vec![1.0];
    for n in 1..=10 {
        factorial *= f64::from(n);
        reciprocals.push(1.0 / factorial);
    }
    reciprocals.reverse();
    let value = horner(code, r, &reciprocals);
    // 2ᵏ by the exponent bits of f64: the last bits of k + 3 · 2⁵¹ are k.
    let shifter = code.double(6_755_399_441_055_744.0 + 1023.0);
    let shifted = code.two(0, wasm::F64X2_ADD, k, shifter);
    let power = code.vector(0, &[shifted.get(), Instruction::I32Const(52), wasm::I64X2_SHL]);
    let value = code.two(0, wasm::F64X2_MUL, value, power);
    code.one(0, wasm::F32X4_DEMOTE_F64X2_ZERO, value)
}

/// A polynomial, the highest coefficient first.
fn horner(code: &mut Code, x: Local, coefficients: &[f64]) -> Local {
    let mut sum = code.double(coefficients[0]);
    for coefficient in &coefficients[1..] {
        let product = code.two(0, wasm::F64X2_MUL, sum, x);
        let coefficient = code.double(*coefficient);
        sum = code.two(0, wasm::F64X2_ADD, product, coefficient);
    }
    sum
}
