#import nonfinite
#import not_a_number
// The smaller; NaN if either is.
fn minimum(a: f32, b: f32) -> f32 {
    return select(min(a, b), not_a_number(), is_nan(a) | is_nan(b));
}

// The larger; NaN if either is.
fn maximum(a: f32, b: f32) -> f32 {
    return select(max(a, b), not_a_number(), is_nan(a) | is_nan(b));
}
