//! Logarithms, by the polynomials of shaders/common.

use super::exponentials::of_negative_size;
use crate::scalar::{Formula, Type::F32};

/// Natural logarithm; −∞ at 0, NaN below. x is m · 2ᵉ with m in [√½, √2).
pub fn log() -> Formula {
    Formula::unary(F32, |x| {
        let is_subnormal = x.lt(x.number(f32::MIN_POSITIVE));
        let normal = is_subnormal.select(x * 8_388_608.0, x);
        let bits = normal.bits();
        let exponent = (bits - bits.integer(0x3f35_04f3)).to_i32() >> 23;
        let f = (bits - (exponent << 23).to_u32()).as_real() - 1.0;
        let e = exponent.to_real() - is_subnormal.select(x.number(23.0), x.number(0.0));
        let z = f * f;
        let series = f.polynomial(&[
            0.333_333_13,
            -0.250_000_1,
            0.200_021_19,
            -0.166_679_96,
            0.142_195_52,
            -0.124_055_9,
            0.118_881_63,
            -0.116_756_506,
            0.067_466_38,
        ]);
        let tail = (f * z * series + e * 1.428_606_8e-6) - z * 0.5;
        let value = e * 0.693_145_75 + (f + tail);
        let infinity = x.number(f32::INFINITY);
        // A NaN is not below infinity, and stays.
        let finite = x.lt(infinity).select(value, x);
        let zero = x.number(0.0);
        let beyond = x.is(zero).select(-infinity, x.number(f32::NAN));
        x.le(zero).select(beyond, finite)
    })
}

/// log(1 + eˣ) = max(x, 0) + log(1 + e^−|x|), the logarithm as 2 artanh s.
pub fn softplus() -> Formula {
    Formula::unary(F32, |x| {
        let e = of_negative_size(x);
        // Twice s = e/(2 + e), which alone would leave f32's normal numbers sooner than the result.
        let t = e / (e * 0.5 + 1.0);
        let z = t * t * 0.25;
        let p = z.polynomial(&[0.333_332_06, 0.200_108_5, 0.139_995_71, 0.140_122_26]);
        x.at_least(0.0) + (t + t * z * p)
    })
}
