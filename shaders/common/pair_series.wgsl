#import double_single
#import product_with_error
// A step of Horner's rule: value * x + constant, where the constant is the larger addend.
fn pair_step(value: vec2<f32>, x: vec2<f32>, constant: vec2<f32>) -> vec2<f32> {
    let product = product_with_error(value.x, x.x);
    let sum = rounded(constant.x + product.x);
    // Both addends may be of one size, so this difference is guarded as well.
    let error = rounded(product.x - rounded(sum - constant.x));
    return exact_sum(sum, error + ((product.y + (value.x * x.y + value.y * x.x)) + constant.y));
}
