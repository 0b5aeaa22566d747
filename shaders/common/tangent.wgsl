#import sine_cosine
// Tangent of an angle in radians: sine over cosine, of which the range reduction keeps both accurate near their zeros.
fn tangent(x: f32) -> f32 {
    let pair = sine_cosine(x);
    return pair.x / pair.y;
}
