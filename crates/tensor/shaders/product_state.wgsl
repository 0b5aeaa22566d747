#import normal
#import pair_arithmetic
// Products with what their roundings lost beside them: (product, error), the error less than half a unit of the product's last place. Roundings of
// products of equal factors are equal too, so that those of blocks would add up.
fn merged_products(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> {
    let plain = a.x * b.x;
    // An infinity, a NaN and a 0 have no error.
    return select(vec2<f32>(plain, 0.0), product_of_pairs(a, b), is_normal(plain));
}
