// a * b, and 0 where a is 0 whatever b is. The test is on the bits: compilers that assume b finite would drop another.
fn guarded_product(a: f32, b: f32) -> f32 {
    return select(a * b, 0.0, (bitcast<u32>(a) << 1u) == 0u);
}
