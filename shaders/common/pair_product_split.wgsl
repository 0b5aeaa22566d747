#import double_single
// a * b, rounded, and what the rounding lost, on devices whose fma rounds twice.
fn product_with_error(a: f32, b: f32) -> vec2<f32> {
    return exact_product(a, b);
}
