#import arc_tangent
#import pair_arc_tangent
#import pair_root
#import pair_sum
// Cosine of the arc sine of x, and sine of its arc cosine; NaN outside [-1, 1].
fn pair_leg(x: vec2<f32>) -> vec2<f32> {
    let one = vec2<f32>(1.0, 0.0);
    return pair_square_root(pair_product(pair_difference(one, x), pair_sum(one, x)));
}

// Arc sine in [-pi/2, pi/2]; NaN outside [-1, 1].
fn pair_arc_sine(x: vec2<f32>) -> vec2<f32> {
    let leg = pair_leg(x);
    return pair_angle(arc_tangent_of(x.x, leg.x), x, leg);
}

// Arc cosine in [0, pi]; NaN outside [-1, 1].
fn pair_arc_cosine(x: vec2<f32>) -> vec2<f32> {
    let leg = pair_leg(x);
    return pair_angle(arc_tangent_of(leg.x, x.x), leg, x);
}
