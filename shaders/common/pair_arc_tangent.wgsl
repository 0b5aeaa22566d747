#import arc_tangent
#import normal
#import pair_product
#import pair_sine_cosine
#import pair_sum
// An f32 near the angle of a point, corrected. The point, turned back by it, is at (along, across): an angle so small that it is its tangent.
// One that is not small is of products that left f32's normal numbers.
fn pair_corrected_angle(near: f32, across: f32, along: f32) -> vec2<f32> {
    let correction = across / along;
    let is_known = is_normal(along) & (abs(correction) < 1e-6 * abs(near));
    return exact_sum(near, select(0.0, correction, is_known));
}

// The angle of the point (x, y), from an f32 near it.
fn pair_angle(near: f32, y: vec2<f32>, x: vec2<f32>) -> vec2<f32> {
    let both = pair_sine_cosine(vec2<f32>(near, 0.0));
    let across = pair_difference(pair_product(y, both.zw), pair_product(x, both.xy));
    return pair_corrected_angle(near, across.x, x.x * both.z + y.x * both.x);
}

// Angle of the point (x, y) in [-pi, pi], by the signs of both; 0 or pi at the origin. Within 2^-24 where a coordinate is infinite.
fn pair_arc_tangent_of(y: vec2<f32>, x: vec2<f32>) -> vec2<f32> {
    return pair_angle(arc_tangent_of(y.x, x.x), y, x);
}

// Arc tangent in [-pi/2, pi/2]. Beyond 1e30 it is that of 1e30.
fn pair_arc_tangent(x: vec2<f32>) -> vec2<f32> {
    let near = arc_tangent(x.x);
    let both = pair_sine_cosine(vec2<f32>(near, 0.0));
    let y = select(x, vec2<f32>(clamp(x.x, -1e30, 1e30), 0.0), abs(x.x) >= 1e30);
    let across = pair_difference(pair_product(y, both.zw), both.xy);
    return pair_corrected_angle(near, across.x, both.z + y.x * both.x);
}
