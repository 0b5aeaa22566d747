#import double_single
#import product_with_error
// a * b, within 2^-45 relatively (algorithm 10 of Joldes, Muller and Popescu 2017).
fn pair_product(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> {
    return normalised_product(unnormalised_product(a, b));
}

fn pair_square(a: vec2<f32>) -> vec2<f32> {
    return normalised_product(unnormalised_square(a));
}

// a * b for a number that is an f32.
fn pair_scaled(a: vec2<f32>, b: f32) -> vec2<f32> {
    return normalised_product(unnormalised_scaled(a, b));
}

// The pair of an unnormalised product. Without a finite product there are no errors.
fn normalised_product(product: vec2<f32>) -> vec2<f32> {
    return exact_sum(product.x, select(0.0, product.y, is_finite(product.x)));
}

// Unnormalised: the product of the rounded numbers, and its error with the products of theirs, as an addend of sums.
fn unnormalised_product(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> {
    let product = product_with_error(a.x, b.x);
    return vec2<f32>(product.x, product.y + (a.x * b.y + a.y * b.x));
}

fn unnormalised_square(a: vec2<f32>) -> vec2<f32> {
    let square = product_with_error(a.x, a.x);
    return vec2<f32>(square.x, square.y + 2.0 * (a.x * a.y));
}

fn unnormalised_scaled(a: vec2<f32>, b: f32) -> vec2<f32> {
    let product = product_with_error(a.x, b);
    return vec2<f32>(product.x, product.y + a.y * b);
}
