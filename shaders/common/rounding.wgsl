// Nearest integer, halves upward, as JavaScript's Math.round. x + 1/2 would round 0.49999997 up.
fn nearest_integer(x: f32) -> f32 {
    let below = floor(x);
    return below + select(0.0, 1.0, x - below >= 0.5);
}
