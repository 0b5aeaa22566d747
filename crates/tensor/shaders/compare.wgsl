#import nonfinite
// Comparisons of four pairs of numbers, false with a NaN. Compilers may assume that there is none, so NaNs are recognised by their bits.
fn are_nan(x: vec4<f32>) -> vec4<bool> {
    return (bitcast<vec4<u32>>(x) & vec4<u32>(0x7fffffffu)) > vec4<u32>(0x7f800000u);
}

fn are_numbers(a: vec4<f32>, b: vec4<f32>) -> vec4<bool> {
    return !(are_nan(a) | are_nan(b));
}

fn are_equal(a: vec4<f32>, b: vec4<f32>) -> vec4<bool> {
    return (a == b) & are_numbers(a, b);
}

fn are_less(a: vec4<f32>, b: vec4<f32>) -> vec4<bool> {
    return (a < b) & are_numbers(a, b);
}

fn are_at_most(a: vec4<f32>, b: vec4<f32>) -> vec4<bool> {
    return (a <= b) & are_numbers(a, b);
}
