#import pair_product
// a * b, and 0 where a is 0 (or subnormal) whatever b is. The test is on the bits: compilers that assume b finite would drop another.
fn pair_guarded_product(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> {
    return select(pair_product(a, b), vec2<f32>(0.0, 0.0), (bitcast<u32>(a.x) & 0x7fffffffu) < 0x00800000u);
}
