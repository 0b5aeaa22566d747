#import exponential
// 1/(1 + e^-x), by the exponential that does not overflow.
fn sigmoid(x: f32) -> f32 {
    let e = exponential(-abs(x));
    return select(1.0, e, x < 0.0) / (1.0 + e);
}
