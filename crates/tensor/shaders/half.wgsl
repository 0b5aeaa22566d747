// The bits of the half that is nearest to a number, ties to even. WGSL leaves open what pack2x16float gives beyond the halves.
fn half_bits(x: f32) -> u32 {
    let bits = bitcast<u32>(x);
    let size = bits & 0x7fffffffu;
    // A subnormal half counts steps of 2^-24, which is the last bit of a sum with 1/2.
    let small = bitcast<u32>(bitcast<f32>(size) + 0.5) - 0x3f000000u;
    let normal = (size + 0xfffu + ((size >> 13u) & 1u) - 0x38000000u) >> 13u;
    let finite = select(normal, small, size < 0x38800000u);
    let half = select(select(finite, 0x7c00u, size >= 0x477ff000u), 0x7e00u, size > 0x7f800000u);
    return ((bits >> 16u) & 0x8000u) | half;
}
