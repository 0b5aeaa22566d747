#import reduced_angle
// Sine and cosine of an angle in radians. Minimax polynomials on [-0.8, 0.8], within 2^-27 of the function.
fn sine_cosine(x: f32) -> vec2<f32> {
    let angle = reduced_angle(x);
    let r = angle.remainder;
    let z = r * r;
    let sine_part = r + r * z * (-0.16666654 + z * (0.008332071 + z * -0.00019503069));
    let cosine_part = 1.0 - (0.5 * z - z * z * (0.041666646 + z * (-0.0013887251 + z * 2.4424924e-5)));
    let swapped = (angle.quadrant & 1u) != 0u;
    let sine_bits = bitcast<u32>(select(sine_part, cosine_part, swapped));
    let cosine_bits = bitcast<u32>(select(cosine_part, sine_part, swapped));
    return vec2<f32>(
        bitcast<f32>(sine_bits ^ ((angle.quadrant & 2u) << 30u)),
        bitcast<f32>(cosine_bits ^ (((angle.quadrant + 1u) & 2u) << 30u)),
    );
}

fn sine(x: f32) -> f32 {
    return sine_cosine(x).x;
}

fn cosine(x: f32) -> f32 {
    return sine_cosine(x).y;
}
