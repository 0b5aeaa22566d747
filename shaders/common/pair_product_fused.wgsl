#import guard
// a * b, rounded, and what the rounding lost, on devices whose fma rounds once.
fn product_with_error(a: f32, b: f32) -> vec2<f32> {
    let product = rounded(a * b);
    return vec2<f32>(product, fma(a, b, -product));
}
