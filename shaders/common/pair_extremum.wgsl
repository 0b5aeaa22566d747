#import not_a_number
#import pair_order
// The smaller; NaN if either is.
fn pair_minimum(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> {
    let smaller = select(a, b, pair_is_less(b, a));
    return select(smaller, vec2<f32>(not_a_number(), 0.0), is_nan(a.x) | is_nan(b.x));
}

// The larger; NaN if either is.
fn pair_maximum(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> {
    let larger = select(a, b, pair_is_less(a, b));
    return select(larger, vec2<f32>(not_a_number(), 0.0), is_nan(a.x) | is_nan(b.x));
}
