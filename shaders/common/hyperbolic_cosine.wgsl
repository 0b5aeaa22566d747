#import exponential
// Hyperbolic cosine.
fn hyperbolic_cosine(x: f32) -> f32 {
    let half = exponential_scaled(abs(x), -1);
    return half + 0.25 / half;
}
