#import double_single
#import pair_sum
// Largest integer not above x: where the f32 is whole, its error decides.
fn pair_floor(x: vec2<f32>) -> vec2<f32> {
    let below = floor(x.x);
    return exact_sum(below, select(0.0, floor(x.y), (below == x.x) & is_finite(x.x)));
}

fn pair_ceiling(x: vec2<f32>) -> vec2<f32> {
    return -pair_floor(-x);
}

// Nearest integer, halves upward, with the sign of x also where it is 0, as JavaScript's Math.round.
fn pair_nearest_integer(x: vec2<f32>) -> vec2<f32> {
    let below = pair_floor(x);
    let rest = pair_difference(x, below);
    let is_up = (rest.x > 0.5) | ((rest.x == 0.5) & (rest.y >= 0.0));
    let nearest = pair_sum(below, vec2<f32>(select(0.0, 1.0, is_up), 0.0));
    return vec2<f32>(bitcast<f32>(bitcast<u32>(nearest.x) | (bitcast<u32>(x.x) & 0x80000000u)), nearest.y);
}
