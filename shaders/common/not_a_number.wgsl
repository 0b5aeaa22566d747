// The NaN for operands out of a domain, which comes from the uniform: compilers may assume that arithmetic makes none.
fn not_a_number() -> f32 {
    return bitcast<f32>(dispatch.nan);
}
