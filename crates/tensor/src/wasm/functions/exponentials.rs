//! The exponential and functions of it, by the polynomials of shaders/common, which also say how far these are off.

use crate::scalar::{Formula, Type::F32, Value};

/// The larger piece of ln 2: 16 bits, so that its multiples are exact.
const LARGE_PIECE: f32 = 0.693_145_75;

/// A real whose low bits are those of k + offset, where k is the nearest integer to ±x / ln 2; k; and ± what its multiple of the larger piece leaves of x.
fn nearest<'g>(x: Value<'g>, sign: f32, offset: i32) -> [Value<'g>; 3] {
    // 3 · 2²²: the sum's last bits are the nearest integer.
    let shifter = 12_582_912.0 + offset as f32;
    let shifted = x * (sign * std::f32::consts::LOG2_E) + shifter;
    let k = shifted - shifter;
    [shifted, k, x - k * (sign * LARGE_PIECE)]
}

/// The same real, and ± what k leaves of x, by Cody and Waite's method (1980), with ln 2 in two pieces.
fn reduced<'g>(x: Value<'g>, sign: f32, offset: i32) -> (Value<'g>, Value<'g>) {
    let [shifted, k, rest] = nearest(x, sign, offset);
    (shifted, rest - k * (sign * 1.428_606_8e-6))
}

/// Factors of r², r³ … in eʳ for |r| ≤ ln 2 / 2.
const COEFFICIENTS: [f32; 5] = [0.5, 0.166_665_18, 0.041_666_202, 0.008_369_025, 0.001_395_072];

/// eˣ · 2ᵖ. The power of two is applied as two factors, so that results below the normal numbers are rounded once and larger ones than f32 has are
/// infinite.
pub fn scaled<'g>(x: Value<'g>, power: i32) -> Value<'g> {
    // Twice the bias of exponents, so that both halves have it.
    let (shifted, r) = reduced(x.at_least(-106.0).at_most(91.0), 1.0, 254 + power);
    let value = (r + r * r * r.polynomial(&COEFFICIENTS)) + 1.0;
    // The low bits of the shifter and of its half are 0, so that a shift to the exponent leaves those of k and its half alone.
    let k = shifted.bits().to_i32();
    let half = k >> 1;
    value * (half << 23).as_real() * ((k - half) << 23).as_real()
}

/// eˣ for x ≤ 0. There are no overflows, so that one factor is enough: the polynomial has 2⁻¹⁰⁰ in it, and the power of two is as much larger.
pub fn of_nonpositive(x: Value) -> Value {
    const SCALE: f32 = f32::from_bits((127 - 100) << 23);
    let (shifted, r) = reduced(x.at_least(-106.0), 1.0, 127 + 100);
    let mut coefficients = [SCALE; 7];
    coefficients.iter_mut().skip(2).zip(COEFFICIENTS).for_each(|(scaled, plain)| *scaled = plain * SCALE);
    r.polynomial(&coefficients) * (shifted.bits() << 23).as_real()
}

/// eˣ for x ≤ 0 in two operations less: off by at most 2 units of the last place to x = −20, by 5 below. The smaller piece of ln 2 is 11.988
/// units of 2⁻²³. Twelve for each k go to the fraction of the power of two, which is near 1.
pub fn of_softmax(x: Value) -> Value {
    // The high bits of the shifter come out as 242 times 2²³, and the offset as 180 in the fraction.
    const OFFSET: i32 = 127 + 100 - 242;
    let scale = 2f64.powi(-100) / (1.0 - f64::from(12 * OFFSET) * 2f64.powi(-23));
    let [shifted, _, r] = nearest(x.at_least(-106.0), 1.0, OFFSET);
    let mut coefficients = [scale as f32; 7];
    coefficients.iter_mut().skip(2).zip(COEFFICIENTS).for_each(|(scaled, plain)| *scaled = plain * scale as f32);
    let bits = shifted.bits();
    r.polynomial(&coefficients) * (bits * bits.integer((1 << 23) - 12)).as_real()
}

/// e^−|x|
pub fn of_negative_size(x: Value) -> Value {
    of_nonpositive(-x.abs())
}

pub fn exp() -> Formula {
    Formula::unary(F32, |x| scaled(x, 0))
}

pub fn exp_of_nonpositive() -> Formula {
    Formula::unary(F32, of_nonpositive)
}

pub fn exp_of_softmax() -> Formula {
    Formula::unary(F32, of_softmax)
}

/// Near 0, where exponentials cancel, a polynomial.
pub fn sinh() -> Formula {
    Formula::unary(F32, |x| {
        let z = x * x;
        let near = x + x * z * z.polynomial(&[0.166_666_67, 0.008_333_350_5, 0.000_198_360_66, 2.817_439_5e-6]);
        let half = scaled(x.abs(), -1);
        let far = (half - half.number(0.25) / half).with_sign_bit(x.sign_bit());
        x.abs().lt(x.number(1.0)).select(near, far)
    })
}

pub fn cosh() -> Formula {
    Formula::unary(F32, |x| {
        let half = scaled(x.abs(), -1);
        half + half.number(0.25) / half
    })
}

/// Near 0, where exponentials cancel, a polynomial.
pub fn tanh() -> Formula {
    Formula::unary(F32, |x| {
        let z = x * x;
        let p = z.polynomial(&[-0.333_332_84, 0.133_314_91, -0.053_743_497, 0.020_650_586, -0.005_717_043_3]);
        let near = x + x * z * p;
        let e = of_nonpositive(x.abs() * -2.0);
        let far = (x.number(1.0) - (e + e) / (e + 1.0)).with_sign_bit(x.sign_bit());
        x.abs().lt(x.number(0.625)).select(near, far)
    })
}

/// Near 0 a polynomial of the square, else 1 − e^(−x²) times a polynomial of (|x| − 2)/(|x| + 2).
pub fn erf() -> Formula {
    const NEAR: [f32; 7] =
        [0.128_379_17, -0.376_126_26, 0.112_835_854, -0.026_853_813, 0.005_188_327_7, -8.010_193_7e-4, 7.853_861_5e-5];
    const FAR: [f32; 6] = [0.255_395_68, -0.427_185_86, 0.241_657_21, -0.078_987_435, 0.003_727_936_4, 0.007_210_456_3];
    Formula::unary(F32, |x| {
        let z = x * x;
        let near = x + x * z.polynomial(&NEAR);
        let size = x.abs().at_most(4.0);
        let y = (size - 2.0) / (size + 2.0);
        let far = (x.number(1.0) - of_nonpositive(-z) * y.polynomial(&FAR)).with_sign_bit(x.sign_bit());
        x.abs().lt(x.number(1.0)).select(near, far)
    })
}

/// 1/(1 + e⁻ˣ) as s/(s + s e⁻ˣ): a small s leaves room for sizes of e⁻ˣ where the quotient is below the normal numbers.
pub fn sigmoid() -> Formula {
    const SCALE: f32 = f32::from_bits((127 - 24) << 23);
    Formula::unary(F32, |x| {
        let (shifted, opposite) = reduced(x.at_least(-104.0).at_most(60.0), -1.0, 127 - 24);
        let mut coefficients = [1.0, -1.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        for (place, coefficient) in COEFFICIENTS.into_iter().enumerate() {
            coefficients[place + 2] = if place % 2 == 0 { coefficient } else { -coefficient };
        }
        let e = opposite.polynomial(&coefficients) * (shifted.bits() << 23).as_real();
        x.number(SCALE) / (e + SCALE)
    })
}
