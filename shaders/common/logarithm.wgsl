#import infinity
#import not_a_number
// (log(1 + f) - f + f^2/2) / f^3 for 1 + f in [sqrt(1/2), sqrt 2]: minimax polynomial, within 2^-30 of the logarithm.
fn logarithm_series(f: f32) -> f32 {
    let high = 0.14219552 + f * (-0.1240559 + f * (0.11888163 + f * (-0.116756506 + f * 0.06746638)));
    return 0.33333313 + f * (-0.2500001 + f * (0.20002119 + f * (-0.16667996 + f * high)));
}

// The e of x = m * 2^e with m in [sqrt(1/2), sqrt 2), for a positive normal x.
fn logarithm_exponent(x: f32) -> i32 {
    return bitcast<i32>(bitcast<u32>(x) - 0x3f3504f3u) >> 23u;
}

// The m of the same.
fn logarithm_mantissa(x: f32) -> f32 {
    return bitcast<f32>(bitcast<u32>(x) - (bitcast<u32>(logarithm_exponent(x)) << 23u));
}

// Natural logarithm; -infinity at 0, NaN below.
fn logarithm(x: f32) -> f32 {
    let bits = bitcast<u32>(x);
    let e = f32(logarithm_exponent(x));
    let f = logarithm_mantissa(x) - 1.0;
    let z = f * f;
    let tail = (f * z * logarithm_series(f) + e * 1.4286068e-6) - 0.5 * z;
    let value = e * 0.693145751953125 + (f + tail);
    // Chosen and not branched: see the comparisons of generated code.
    let beyond = select(not_a_number(), infinity(), bits == 0x7f800000u);
    return select(select(value, beyond, bits >= 0x7f800000u), -infinity(), (bits & 0x7fffffffu) < 0x00800000u);
}
