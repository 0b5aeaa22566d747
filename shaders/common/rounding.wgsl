// Nearest integer, halves upward, with the sign of x also where it is 0, as JavaScript's Math.round. x + 1/2 would round
// 0.49999997 up.
fn nearest_integer(x: f32) -> f32 {
    let below = floor(x);
    let nearest = below + select(0.0, 1.0, x - below >= 0.5);
    return bitcast<f32>(bitcast<u32>(nearest) | (bitcast<u32>(x) & 0x80000000u));
}
