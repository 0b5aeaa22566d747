#import nonfinite
#import not_a_number
// -1, 0 or 1; NaN of a NaN.
fn sign_of(x: f32) -> f32 {
    return select(sign(x), not_a_number(), is_nan(x));
}
