// x, rounded to f32 here: compilers may reassociate and fuse what is computed before with what comes after, and this hides
// the one from the other.
fn rounded(x: f32) -> f32 {
    return bitcast<f32>(bitcast<u32>(x) ^ dispatch.zero);
}
