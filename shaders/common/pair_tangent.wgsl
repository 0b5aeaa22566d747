#import pair_quotient
#import pair_sine_cosine
// Tangent of an angle in radians: sine over cosine, of which the range reduction keeps both accurate near their zeros.
fn pair_tangent(x: vec2<f32>) -> vec2<f32> {
    let both = pair_sine_cosine(x);
    return pair_quotient(both.xy, both.zw);
}
