#import guard_zero
// x, rounded to f32 here. Compilers may reassociate and fuse floating-point operations, but not across an integer operation with an
// unknown word.
fn rounded(x: f32) -> f32 {
    return bitcast<f32>(bitcast<u32>(x) ^ guard_zero());
}
