#import infinity
#import not_a_number
#import pair_series
// e^r for |r| <= ln 2 / 2: Taylor's series, the last terms in f32.
fn pair_exponential_series(r: vec2<f32>) -> vec2<f32> {
    let x = r.x;
    let tail = 0.000024801588 + x * (0.0000027557319 + x * (2.755732e-7 + x * (2.5052108e-8 + x * 2.0876756e-9)));
    var value = pair_step(vec2<f32>(tail, 0.0), r, vec2<f32>(0.0001984127, -2.7255969e-12));
    value = pair_step(value, r, vec2<f32>(0.0013888889, -3.3631094e-11));
    value = pair_step(value, r, vec2<f32>(0.008333334, -4.346172e-10));
    value = pair_step(value, r, vec2<f32>(0.041666668, -1.2417635e-9));
    value = pair_step(value, r, vec2<f32>(0.16666667, -4.967054e-9));
    value = pair_step(value, r, vec2<f32>(0.5, 0.0));
    value = pair_step(value, r, vec2<f32>(1.0, 0.0));
    return pair_step(value, r, vec2<f32>(1.0, 0.0));
}

// a * 2^power for |power| <= 250, in two steps, since 2^power itself may not be an f32.
fn pair_times_power_of_two(a: vec2<f32>, power: i32) -> vec2<f32> {
    let half = power >> 1u;
    return a * bitcast<f32>(u32(half + 127) << 23u) * bitcast<f32>(u32(power - half + 127) << 23u);
}

// e^x * 2^power for a power of 0 or -1, where e^x alone may be beyond f32. ln 2 in three pieces, the first of 15 bits and the second of 16,
// whose products with k are exact (Cody and Waite 1980). Within 2^-45 relatively.
fn pair_exponential_scaled(x: vec2<f32>, power: i32) -> vec2<f32> {
    let largest = 88.72283 - 0.6931472 * f32(power);
    let bounded = clamp(x.x, -110.0, largest);
    let k = floor(bounded * 1.442695 + 0.5);
    let head = exact_sum_of_any(rounded(bounded - k * 0.693145751953125), x.y);
    let rest = exact_sum_of_any(head.x, -(k * 0.0000014285906));
    let r = exact_sum(rest.x, rest.y + (head.y - k * 1.619851e-11));
    let value = pair_times_power_of_two(pair_exponential_series(r), i32(k) + power);
    // Chosen and not branched: see the comparisons of generated code.
    let finite = select(select(value, vec2<f32>(infinity(), 0.0), x.x > largest), vec2<f32>(0.0, 0.0), x.x < -110.0);
    return select(finite, vec2<f32>(not_a_number(), 0.0), is_nan(x.x));
}

fn pair_exponential(x: vec2<f32>) -> vec2<f32> {
    return pair_exponential_scaled(x, 0);
}
