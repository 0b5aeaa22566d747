#import guard_zero
// WGSL refuses constant expressions that are infinite, so the bits are put together at run time.
fn infinity() -> f32 {
    return bitcast<f32>(0x7f800000u | guard_zero());
}
