#import sign
// -1, 0 or 1; NaN of a NaN.
fn pair_sign(x: vec2<f32>) -> vec2<f32> {
    return vec2<f32>(sign_of(x.x), 0.0);
}

// Both numbers with the sign of the first taken off.
fn pair_size(x: vec2<f32>) -> vec2<f32> {
    let sign = bitcast<u32>(x.x) & 0x80000000u;
    return bitcast<vec2<f32>>(bitcast<vec2<u32>>(x) ^ vec2<u32>(sign, sign));
}
