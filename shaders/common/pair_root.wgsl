#import normal
#import not_a_number
#import pair_product
// Square root, by a step of Newton's method from the f32 root; NaN below 0.
fn pair_square_root(a: vec2<f32>) -> vec2<f32> {
    let root = rounded(sqrt(a.x));
    let square = product_with_error(root, root);
    let rest = rounded(rounded(a.x - square.x) + (a.y - square.y));
    let value = exact_sum(root, select(0.0, rest / (root + root), is_normal(square.x)));
    return select(value, vec2<f32>(not_a_number(), 0.0), a.x < 0.0);
}

// Length of a vector whose squared length is a; NaN below 0.
fn pair_norm(a: vec2<f32>) -> vec2<f32> {
    return select(pair_square_root(a), vec2<f32>(0.0, 0.0), a.x == 0.0);
}

// 1 / sqrt a, by a step of second order from the f32 value, and 0 at 0 (and among the subnormal numbers); NaN below 0.
fn pair_inverse_norm(a: vec2<f32>) -> vec2<f32> {
    let estimate = rounded(inverseSqrt(a.x));
    let one = pair_scaled(pair_scaled(a, estimate), estimate);
    let rest = rounded(1.0 - one.x) - one.y;
    let correction = estimate * (rest * (0.5 + 0.375 * rest));
    let value = exact_sum(estimate, select(0.0, correction, is_normal(one.x)));
    let is_zero = (bitcast<u32>(a.x) & 0x7fffffffu) < 0x00800000u;
    return select(select(value, vec2<f32>(not_a_number(), 0.0), a.x < 0.0), vec2<f32>(0.0, 0.0), is_zero);
}
