#import guard_zero
// The NaN for operands out of a domain, where the uniform has none. Compilers may assume that arithmetic makes none.
fn not_a_number() -> f32 {
    return bitcast<f32>(0x7fc00000u | guard_zero());
}
