// Whether x is finite and not 0 nor subnormal, by its exponent bits.
fn is_normal(x: f32) -> bool {
    return ((bitcast<u32>(x) + 0x00800000u) & 0x7f000000u) != 0u;
}
