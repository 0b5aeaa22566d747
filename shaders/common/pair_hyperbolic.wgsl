#import pair_exponential
#import pair_quotient
#import pair_root
#import pair_sum
// Hyperbolic sine for |x| < 0.3, where exponentials cancel: Taylor's series, the last terms in f32.
fn pair_hyperbolic_sine_series(x: vec2<f32>) -> vec2<f32> {
    let z = pair_square(x);
    let t = z.x;
    let tail = 0.0001984127 + t * (0.0000027557319 + t * (2.5052108e-8 + t * 1.6059044e-10));
    var value = pair_step(vec2<f32>(tail, 0.0), z, vec2<f32>(0.008333334, -4.346172e-10));
    value = pair_step(value, z, vec2<f32>(0.16666667, -4.967054e-9));
    return pair_product(pair_step(value, z, vec2<f32>(1.0, 0.0)), x);
}

fn pair_hyperbolic_sine(x: vec2<f32>) -> vec2<f32> {
    if abs(x.x) < 0.3 {
        return pair_hyperbolic_sine_series(x);
    }
    let is_negative = x.x < 0.0;
    let half = pair_exponential_scaled(select(x, -x, is_negative), -1);
    let size = pair_difference(half, pair_quotient(vec2<f32>(0.25, 0.0), half));
    return select(size, -size, is_negative);
}

fn pair_hyperbolic_cosine(x: vec2<f32>) -> vec2<f32> {
    let half = pair_exponential_scaled(select(x, -x, x.x < 0.0), -1);
    return pair_sum(half, pair_quotient(vec2<f32>(0.25, 0.0), half));
}

// Hyperbolic tangent. Near 0 it is s / sqrt(1 + s^2) with the hyperbolic sine s.
fn pair_hyperbolic_tangent(x: vec2<f32>) -> vec2<f32> {
    let one = vec2<f32>(1.0, 0.0);
    if abs(x.x) < 0.3 {
        let sine = pair_hyperbolic_sine_series(x);
        return pair_product(sine, pair_inverse_norm(pair_sum(one, pair_square(sine))));
    }
    let is_negative = x.x < 0.0;
    let square = pair_exponential(2.0 * select(x, -x, is_negative));
    let size = pair_difference(one, pair_quotient(vec2<f32>(2.0, 0.0), pair_sum(square, one)));
    return select(size, -size, is_negative);
}
