// The NaN for operands out of a domain. It comes from the uniform, since compilers may assume that arithmetic makes none.
fn not_a_number() -> f32 {
    return bitcast<f32>(dispatch.nan);
}
