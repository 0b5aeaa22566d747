#import double_single
// Products and quotients of numbers that are given as a rounded number and its error (Dekker 1971): some 46 bits.

fn product_of_pairs(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> {
    let product = exact_product(a.x, b.x);
    return exact_sum(product.x, product.y + (a.x * b.y + a.y * b.x));
}

fn quotient_of_pairs(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> {
    let quotient = rounded(a.x / b.x);
    let rest = sum_of_pairs(a, -product_of_pairs(vec2<f32>(quotient, 0.0), b));
    return exact_sum(quotient, rest.x / b.x);
}
