//! Conversions between halves and reals by integer arithmetic: WebAssembly has no half precision.

use crate::scalar::{Formula, Type};

/// The real of a half. Its magnitude, moved to the places of an f32, is too small by 2¹¹², which a product corrects also for subnormal numbers.
pub fn from_half() -> Formula {
    Formula::unary(Type::U32, |half| {
        let magnitude = half & half.integer(0x7fff);
        let sign = (half & half.integer(0x8000)) << 16;
        let moved = magnitude << 13;
        let finite = (moved.as_real() * f32::from_bits((127 + 112) << 23)).bits();
        let is_finite = magnitude.lt(half.integer(0x7c00));
        (is_finite.select(finite, moved | half.integer(0x7f80_0000)) | sign).as_real()
    })
}

/// The half nearest to a real, ties to even.
pub fn to_half() -> Formula {
    Formula::unary(Type::F32, |x| {
        let sign = x.sign_bit();
        let magnitude = x.bits() ^ sign;
        // Half of the last place that stays, less one, plus that place, carries as it must, up to infinity; the exponent is 112 less.
        let odd = (magnitude >> 13) & magnitude.integer(1);
        let normal = (magnitude + magnitude.integer(0xfff_u32.wrapping_sub(112 << 23)) + odd) >> 13;
        // Beside 1/2 the last place of an f32 is that of a subnormal half.
        let half = x.number(0.5);
        let subnormal = (magnitude.as_real() + half).bits() - half.bits();
        let small = magnitude.lt(magnitude.integer(113 << 23));
        let finite = small.select(subnormal, normal);
        let is_nan = magnitude.integer(0x7f80_0000).lt(magnitude);
        let beyond = is_nan.select(magnitude.integer(0x7e00), magnitude.integer(0x7c00));
        let result = magnitude.lt(magnitude.integer(143 << 23)).select(finite, beyond);
        result | (sign >> 16)
    })
}
