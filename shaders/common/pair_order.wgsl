#import nonfinite
// Comparisons of pairs: by the rounded numbers, and where those are equal and finite by their errors. All are false for a NaN.

// The error, which means nothing where the number is infinite.
fn pair_error(x: vec2<f32>) -> f32 {
    return select(0.0, x.y, is_finite(x.x));
}

fn pair_is_equal(a: vec2<f32>, b: vec2<f32>) -> bool {
    return (a.x == b.x) & (pair_error(a) == pair_error(b)) & !is_nan(a.x) & !is_nan(b.x);
}

fn pair_is_less(a: vec2<f32>, b: vec2<f32>) -> bool {
    let is_less = (a.x < b.x) | ((a.x == b.x) & (pair_error(a) < pair_error(b)));
    return is_less & !is_nan(a.x) & !is_nan(b.x);
}

fn pair_is_at_most(a: vec2<f32>, b: vec2<f32>) -> bool {
    return pair_is_less(a, b) | pair_is_equal(a, b);
}
