#import guard
#import nonfinite
#import not_a_number
#import power_of_two
// e^r for |r| <= ln 2 / 2: minimax polynomial, within 2^-28 of the function.
fn exponential_series(r: f32) -> f32 {
    let p = 0.5 + r * (0.16666518 + r * (0.041666202 + r * (0.008369025 + r * 0.001395072)));
    return 1.0 + (r + r * r * p);
}

// e^x * 2^power, where e^x alone may be beyond f32. ln 2 in two pieces (Cody and Waite 1980); the first has 15 bits, so that
// its product with the power of two is exact.
fn exponential_scaled(x: f32, power: i32) -> f32 {
    let bounded = clamp(x, -120.0, 120.0);
    let k = floor(bounded * 1.442695 + 0.5);
    let r = rounded(bounded - k * 0.693145751953125) - k * 1.4286068e-6;
    let value = times_power_of_two(exponential_series(r), i32(k) + power);
    return select(value, not_a_number(), is_nan(x));
}

fn exponential(x: f32) -> f32 {
    return exponential_scaled(x, 0);
}
