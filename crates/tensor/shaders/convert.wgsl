#import nonfinite
// Toward zero, clamped, and 0 of a NaN.
fn integer_of(x: f32) -> i32 {
    let inner = i32(clamp(x, -2147483648.0, 2147483520.0));
    return select(select(inner, 2147483647i, x >= 2147483648.0), 0i, is_nan(x));
}

// The same to an unsigned integer.
fn unsigned_of(x: f32) -> u32 {
    let inner = u32(clamp(x, 0.0, 4294967040.0));
    return select(select(inner, 4294967295u, x >= 4294967296.0), 0u, is_nan(x));
}
