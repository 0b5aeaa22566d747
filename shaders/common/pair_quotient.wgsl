#import normal
#import pair_product
// a / b: the f32 quotient, and that of the remainder (algorithm 17 of Joldes, Muller and Popescu 2017). Within 2^-45 relatively where the
// device's quotient is within one unit of its last place. A product that is not normal says nothing of the remainder.
fn pair_quotient(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> {
    let quotient = rounded(a.x / b.x);
    let product = pair_scaled(b, quotient);
    let rest = rounded(rounded(a.x - product.x) + (a.y - product.y));
    return exact_sum(quotient, select(0.0, rest / b.x, is_normal(product.x)));
}
