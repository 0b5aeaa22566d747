#import exponential
// log(1 + e^x) = max(x, 0) + log(1 + e^-|x|), the logarithm as 2 artanh s: minimax polynomial, within 2^-27.
fn softplus(x: f32) -> f32 {
    let e = exponential(-abs(x));
    // Twice s = e/(2 + e), which alone would leave f32's normal numbers sooner than the result.
    let t = e / (1.0 + 0.5 * e);
    let z = 0.25 * t * t;
    let p = 0.33333206 + z * (0.2001085 + z * (0.13999571 + z * 0.14012226));
    return max(x, 0.0) + (t + t * z * p);
}
