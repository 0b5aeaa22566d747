#import exponential
// log(1 + e^x) = max(x, 0) + log(1 + e^-|x|), the logarithm as 2 artanh(e/(2 + e)): minimax polynomial, within 2^-27.
fn softplus(x: f32) -> f32 {
    let e = exponential(-abs(x));
    let s = e / (2.0 + e);
    let z = s * s;
    let p = 0.33333206 + z * (0.2001085 + z * (0.13999571 + z * 0.14012226));
    return max(x, 0.0) + 2.0 * (s + s * z * p);
}
