//! Trigonometric functions and their inverses, by the polynomials of shaders/common.

use residua_codegen::wasm::encoding::instructions as wasm;
use residua_ir::graph::Op as Real;

use crate::scalar::Type::{F32, U32};
use crate::scalar::{Formula, Value};
use crate::wasm::code::{Code, Local};

/// π/2 as two f32.
const QUARTER: [f32; 2] = [1.570_796_4, -4.371_139e-8];

fn sine_part(r: Value) -> Value {
    let z = r * r;
    r + r * z * z.polynomial(&[-0.166_666_54, 0.008_332_071, -0.000_195_030_69])
}

fn cosine_part(r: Value) -> Value {
    let z = r * r;
    r.number(1.0) - (z * 0.5 - z * z * z.polynomial(&[0.041_666_646, -0.001_388_725_1, 2.442_492_4e-5]))
}

/// The sine of a remainder and quarter turns.
fn sine_of<'g>(r: Value<'g>, turns: Value<'g>) -> Value<'g> {
    let swapped = !(turns & turns.integer(1)).is(turns.integer(0));
    let size = swapped.select(cosine_part(r), sine_part(r));
    size.with_sign_bit((turns & turns.integer(2)) << 30)
}

/// An op of an angle: its remainder in [−π/4, π/4] and its quarter turns are found in f64, where π/2 in three pieces of which two have 24 bits
/// (Cody and Waite 1980) leaves 2⁻⁵⁰ of an angle to 2²⁸. Larger ones lose their meaning, but results stay within bounds.
pub fn of_angle(code: &mut Code, op: Real, x: Local) -> Local {
    const TURNS: f64 = std::f64::consts::FRAC_2_PI;
    const PIECES: [f64; 3] = [1.570_796_251_296_997, 7.549_789_415_861_596e-8, 5.390_302_858_158_119e-15];
    let [rest, turns] = code.in_halves(&wasm::F64X2_PROMOTE_LOW_F32X4, [x], |code, [x]| {
        let scale = code.double(TURNS);
        let turns = code.two(0, wasm::F64X2_MUL, x, scale);
        let turns = code.one(0, wasm::F64X2_NEAREST, turns);
        let mut rest = x;
        for piece in PIECES {
            let piece = code.double(piece);
            let multiple = code.two(0, wasm::F64X2_MUL, turns, piece);
            rest = code.two(0, wasm::F64X2_SUB, rest, multiple);
        }
        let rest = code.one(0, wasm::F32X4_DEMOTE_F64X2_ZERO, rest);
        [rest, code.one(0, wasm::I32X4_TRUNC_SAT_F64X2_S_ZERO, turns)]
    });
    let formula = Formula::of([F32, U32], |[r, turns]| {
        let r = r.at_least(-0.8).at_most(0.8);
        let (sine, cosine) = (sine_of(r, turns), sine_of(r, turns + turns.integer(1)));
        match op {
            Real::Sin => sine,
            Real::Cos => cosine,
            _ => sine / cosine,
        }
    });
    code.formula(0, &formula, &[rest, turns])
}

/// Arc sine on [−1/2, 1/2].
fn arc_sine_part(x: Value) -> Value {
    let z = x * x;
    x + x * z * z.polynomial(&[0.166_667_54, 0.074_952_416, 0.045_477_1, 0.024_147_572, 0.042_218_62])
}

/// Above 1/2 by the half angle: asin x = π/2 − 2 asin √((1 − x)/2). The root of a negative number is NaN, as it must be beyond 1.
pub fn asin() -> Formula {
    Formula::unary(F32, |x| {
        let size = x.abs();
        let is_small = size.le(x.number(0.5));
        let half = ((x.number(1.0) - size) * 0.5).sqrt();
        let part = arc_sine_part(is_small.select(size, half));
        let far = (x.number(QUARTER[0]) - part * 2.0) + QUARTER[1];
        is_small.select(part, far).with_sign_bit(x.sign_bit())
    })
}

/// π/2 − asin x on [−1/2, 1/2]; 2 asin √((1 − |x|)/2) beyond, or its complement.
pub fn acos() -> Formula {
    Formula::unary(F32, |x| {
        let size = x.abs();
        let is_small = size.le(x.number(0.5));
        let half = ((x.number(1.0) - size) * 0.5).sqrt();
        let part = arc_sine_part(is_small.select(x, half));
        let near = (x.number(QUARTER[0]) - part) + QUARTER[1];
        let double = part + part;
        let opposite = (x.number(2.0 * QUARTER[0]) - double) + 2.0 * QUARTER[1];
        let far = x.lt(x.number(0.0)).select(opposite, double);
        is_small.select(near, far)
    })
}

/// Arc tangent on [0, 1].
fn arc_tangent_part(x: Value) -> Value {
    let z = x * x;
    let p = z.polynomial(&[
        -0.333_331_67,
        0.199_941_37,
        -0.142_142_07,
        0.106_789_336,
        -0.075_805_63,
        0.043_553_345,
        -0.016_581_06,
        0.002_974_558_6,
    ]);
    x + x * z * p
}

pub fn atan() -> Formula {
    Formula::unary(F32, |x| {
        let (size, one) = (x.abs(), x.number(1.0));
        let is_large = one.lt(size);
        let part = arc_tangent_part(is_large.select(one / size, size));
        let far = (x.number(QUARTER[0]) - part) + QUARTER[1];
        is_large.select(far, part).with_sign_bit(x.sign_bit())
    })
}

/// Angle of the point (x, y), by the signs of both, those of zeros included; 0 or π at the origin.
pub fn atan2() -> Formula {
    Formula::of([F32, F32], |[y, x]| {
        let (wide, tall) = (x.abs(), y.abs());
        let is_steep = wide.lt(tall);
        let (larger, smaller) = (is_steep.select(tall, wide), is_steep.select(wide, tall));
        let zero = x.number(0.0);
        // 0/0 and ∞/∞ have angles; a NaN is not equal to itself.
        let of_equals = larger.is(zero).select(zero, x.number(1.0));
        let ratio = smaller.is(larger).select(of_equals, smaller / larger);
        let part = arc_tangent_part(ratio);
        let steep = (x.number(QUARTER[0]) - part) + QUARTER[1];
        let acute = is_steep.select(steep, part);
        let obtuse = (x.number(2.0 * QUARTER[0]) - acute) + 2.0 * QUARTER[1];
        let is_left = !x.sign_bit().is(x.bits().integer(0));
        let angle = is_left.select(obtuse, acute).with_sign_bit(y.sign_bit());
        // A NaN beside an infinity must not be lost by the choice of the larger.
        (x.is_nan() | y.is_nan()).select(x + y, angle)
    })
}
