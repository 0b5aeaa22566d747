#import guard
#import nonfinite
#import not_a_number
struct ReducedAngle {
    remainder: f32, // pi/4 at most, or a little more where rounding chose the quadrant
    quadrant: u32,  // whole quarter turns, modulo 4
}

// x as quarter turns and a remainder, by the method of Cody and Waite (1980): pi/2 in pieces of 8 bits, whose products with
// up to 65,535 quarter turns are exact. Good to |x| = 1e5; beyond, the remainder loses its meaning but stays within bounds.
fn reduced_angle(x: f32) -> ReducedAngle {
    let turns = floor(x * 0.636619772 + 0.5);
    var remainder = rounded(x - turns * 1.5703125);
    remainder = rounded(remainder - turns * 0.0004825592041015625);
    remainder = rounded(remainder - turns * 1.2665987014770508e-6);
    remainder = clamp(remainder - turns * 9.920936e-10, -0.8, 0.8);
    let whole = clamp(turns, -1e9, 1e9);
    return ReducedAngle(select(not_a_number(), remainder, is_finite(x)), bitcast<u32>(i32(whole)) & 3u);
}
