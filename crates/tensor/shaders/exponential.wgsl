#import guard_zero
#import nonfinite
// e^x without conversions between integers and reals, which few units of a GPU do: x / ln 2 is rounded by adding 1.5 * 2^23, and the low bits of
// that sum are the power of two. ln 2 in two pieces (Cody and Waite 1980); a polynomial within 2^-28. Results below the normal numbers are 0.
fn exponential_of(x: f32) -> f32 {
    let shifted = bitcast<u32>(x * 1.442695 + 12582912.0);
    let k = bitcast<f32>(shifted ^ guard_zero()) - 12582912.0;
    // A factor of 1 keeps the pieces apart.
    let one = bitcast<f32>(0x3f800000u | guard_zero());
    let r = (x - k * 0.693145751953125) * one - k * 1.4286068e-6;
    let p = 0.5 + r * (0.16666518 + r * (0.041666202 + r * (0.008369025 + r * 0.001395072)));
    let scaled = bitcast<f32>(bitcast<u32>(1.0 + (r + r * r * p)) + (shifted << 23u));
    let beyond = bitcast<f32>(0x7f800000u | guard_zero());
    let value = select(select(scaled, beyond, x > 88.72283), 0.0, x < -87.33654);
    return select(value, x, is_nan(x));
}

// 1 / (1 + e^-x)
fn logistic_of(x: f32) -> f32 {
    let e = exponential_of(-abs(x));
    return select(1.0, e, x < 0.0) / (1.0 + e);
}

// By a polynomial near 0, where the quotient would cancel.
fn hyperbolic_tangent_of(x: f32) -> f32 {
    let z = x * x;
    let p = -0.33333284 + z * (0.13331491 + z * (-0.053743497 + z * (0.020650586 + z * -0.0057170433)));
    let size = 1.0 - 2.0 / (exponential_of(2.0 * abs(x)) + 1.0);
    return select(select(size, -size, x < 0.0), x + x * z * p, abs(x) < 0.625);
}
