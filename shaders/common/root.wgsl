#import not_a_number
// Square root; NaN below 0.
fn square_root(x: f32) -> f32 {
    return select(sqrt(x), not_a_number(), x < 0.0);
}

// Length of a vector whose squared length is x; NaN below 0.
fn vector_norm(x: f32) -> f32 {
    return select(square_root(x), 0.0, x == 0.0);
}

// 1 / sqrt x, and 0 at 0 (and among the subnormal numbers, which devices may take for 0); NaN below 0.
fn inverse_norm(x: f32) -> f32 {
    let is_zero = (bitcast<u32>(x) & 0x7fffffffu) < 0x00800000u;
    return select(select(inverseSqrt(x), not_a_number(), x < 0.0), 0.0, is_zero);
}
