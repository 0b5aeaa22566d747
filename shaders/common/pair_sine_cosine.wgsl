#import nonfinite
#import not_a_number
#import pair_product
#import pair_series
#import pair_sum
// Sine (x, y) and cosine (z, w) of an angle in radians: Taylor's series on [-0.8, 0.8], the last terms in f32. The error is some 2^-47,
// to |x| = 1e5; beyond, the remainder loses its meaning but stays within bounds.
fn pair_sine_cosine(x: vec2<f32>) -> vec4<f32> {
    // pi/2 in three f32 (Cody and Waite 1980): the quarter turns have 16 bits, so the first difference is exact.
    let turns = floor(x.x * 0.636619772 + 0.5);
    let first = product_with_error(turns, 1.5707964);
    let second = product_with_error(turns, -4.371139e-8);
    let low = pair_sum(exact_sum_of_any(x.y, -first.y), vec2<f32>(-second.x, 0.0));
    let high = exact_sum_of_any(rounded(x.x - first.x), low.x);
    let remainder = exact_sum(high.x, high.y + ((low.y - second.y) - turns * -1.7151245e-15));
    let r = clamp(remainder, vec2<f32>(-0.8, -1e-7), vec2<f32>(0.8, 1e-7));
    let z = pair_square(r);
    let t = z.x;

    let sine_tail = -2.5052108e-8 + t * (1.6059044e-10 + t * -7.6471636e-13);
    var sine = pair_step(vec2<f32>(sine_tail, 0.0), z, vec2<f32>(0.0000027557319, 3.7935712e-14));
    sine = pair_step(sine, z, vec2<f32>(-0.0001984127, 2.7255969e-12));
    sine = pair_step(sine, z, vec2<f32>(0.008333334, -4.346172e-10));
    sine = pair_step(sine, z, vec2<f32>(-0.16666667, 4.967054e-9));
    sine = pair_product(pair_step(sine, z, vec2<f32>(1.0, 0.0)), r);

    let cosine_tail = -2.755732e-7 + t * (2.0876756e-9 + t * (-1.1470745e-11 + t * 4.7794773e-14));
    var cosine = pair_step(vec2<f32>(cosine_tail, 0.0), z, vec2<f32>(0.000024801588, -3.406996e-13));
    cosine = pair_step(cosine, z, vec2<f32>(-0.0013888889, 3.3631094e-11));
    cosine = pair_step(cosine, z, vec2<f32>(0.041666668, -1.2417635e-9));
    cosine = pair_step(cosine, z, vec2<f32>(-0.5, 0.0));
    cosine = pair_step(cosine, z, vec2<f32>(1.0, 0.0));

    let quadrant = bitcast<u32>(i32(clamp(turns, -1e9, 1e9))) & 3u;
    let swapped = (quadrant & 1u) != 0u;
    let of_sine = select(sine, cosine, swapped);
    let of_cosine = select(cosine, sine, swapped);
    let value = vec4<f32>(
        select(of_sine, -of_sine, (quadrant & 2u) != 0u),
        select(of_cosine, -of_cosine, ((quadrant + 1u) & 2u) != 0u),
    );
    return select(vec4<f32>(not_a_number(), 0.0, not_a_number(), 0.0), value, is_finite(x.x));
}

fn pair_sine(x: vec2<f32>) -> vec2<f32> {
    return pair_sine_cosine(x).xy;
}

fn pair_cosine(x: vec2<f32>) -> vec2<f32> {
    return pair_sine_cosine(x).zw;
}
