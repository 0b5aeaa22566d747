#import double_single
#import product_with_error
// a * b, within 2^-45 relatively (algorithm 10 of Joldes, Muller and Popescu 2017).
fn pair_product(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> {
    let product = product_with_error(a.x, b.x);
    return pair_of_product(product, a.x * b.y + a.y * b.x);
}

fn pair_square(a: vec2<f32>) -> vec2<f32> {
    let square = product_with_error(a.x, a.x);
    return pair_of_product(square, 2.0 * (a.x * a.y));
}

// a * b for a number that is an f32.
fn pair_scaled(a: vec2<f32>, b: f32) -> vec2<f32> {
    let product = product_with_error(a.x, b);
    return pair_of_product(product, a.y * b);
}

// A product of the rounded numbers and the products with their errors. Without a finite product there are no errors.
fn pair_of_product(product: vec2<f32>, errors: f32) -> vec2<f32> {
    return exact_sum(product.x, select(0.0, product.y + errors, is_finite(product.x)));
}
