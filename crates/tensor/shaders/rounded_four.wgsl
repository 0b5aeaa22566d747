#import guard_zero
// Four numbers of which compilers know nothing, see `rounded`.
fn rounded_four(x: vec4<f32>) -> vec4<f32> {
    return bitcast<vec4<f32>>(bitcast<vec4<u32>>(x) ^ vec4<u32>(guard_zero()));
}
