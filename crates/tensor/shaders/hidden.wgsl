#import guard_zero
// Numbers of which compilers know nothing. As products with a 1 that they cannot derive, where that becomes part of a sum:
fn times_one(x: f32) -> f32 {
    return x * bitcast<f32>(0x3f800000u | guard_zero());
}

fn four_times_one(x: vec4<f32>) -> vec4<f32> {
    return x * bitcast<f32>(0x3f800000u | guard_zero());
}

// By their bits, see `rounded`.
fn rounded_four(x: vec4<f32>) -> vec4<f32> {
    return bitcast<vec4<f32>>(bitcast<vec4<u32>>(x) ^ vec4<u32>(guard_zero()));
}
