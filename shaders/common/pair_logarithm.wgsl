#import infinity
#import logarithm
#import not_a_number
#import pair_exponential
#import pair_quotient
#import pair_series
#import pair_sum
// 2 artanh s for |s| <= 0.1716, which is log((1 + s) / (1 - s)): its power series, the last terms in f32.
fn pair_logarithm_series(s: vec2<f32>) -> vec2<f32> {
    let z = pair_square(s);
    let x = z.x;
    let tail = 0.18181819 + x * (0.15384616 + x * (0.13333334 + x * (0.11764706 + x * 0.10526316)));
    var value = pair_step(vec2<f32>(tail, 0.0), z, vec2<f32>(0.22222222, -1.6556846e-9));
    value = pair_step(value, z, vec2<f32>(0.2857143, -1.2772424e-8));
    value = pair_step(value, z, vec2<f32>(0.4, -5.9604646e-9));
    value = pair_step(value, z, vec2<f32>(0.6666667, -1.9868216e-8));
    value = pair_step(value, z, vec2<f32>(2.0, 0.0));
    return pair_product(value, s);
}

// log of a positive normal x. Near 1 the error is relative to the logarithm, too.
fn pair_logarithm_of_positive(x: vec2<f32>) -> vec2<f32> {
    let exponent = logarithm_exponent(x.x);
    let e = f32(exponent);
    let mantissa = vec2<f32>(logarithm_mantissa(x.x), pair_times_power_of_two(x, -exponent).y);
    let one = vec2<f32>(1.0, 0.0);
    let log = pair_logarithm_series(pair_quotient(pair_difference(mantissa, one), pair_sum(mantissa, one)));
    // ln 2 in three pieces, as in the exponential.
    let whole = pair_sum(vec2<f32>(e * 0.693145751953125, 0.0), exact_sum(e * 0.0000014285906, e * 1.619851e-11));
    return pair_sum(whole, log);
}

// Natural logarithm; -infinity at 0 (and among the subnormal numbers), NaN below.
fn pair_logarithm(x: vec2<f32>) -> vec2<f32> {
    let bits = bitcast<u32>(x.x);
    let beyond = select(not_a_number(), infinity(), bits == 0x7f800000u);
    let value = select(pair_logarithm_of_positive(x), vec2<f32>(beyond, 0.0), bits >= 0x7f800000u);
    return select(value, vec2<f32>(-infinity(), 0.0), (bits & 0x7fffffffu) < 0x00800000u);
}
