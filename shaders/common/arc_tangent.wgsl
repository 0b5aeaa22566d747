#import nonfinite
#import not_a_number
// Arc tangent on [0, 1]: minimax polynomial, within 2^-26 of the function.
fn arc_tangent_series(x: f32) -> f32 {
    let z = x * x;
    let high = 0.106789336 + z * (-0.07580563 + z * (0.043553345 + z * (-0.01658106 + z * 0.0029745586)));
    let p = -0.33333167 + z * (0.19994137 + z * (-0.14214207 + z * high));
    return x + x * z * p;
}

// Arc tangent in [-pi/2, pi/2].
fn arc_tangent(x: f32) -> f32 {
    let size = abs(x);
    var angle: f32;
    if size > 1.0 {
        angle = (1.5707964 - arc_tangent_series(1.0 / size)) - 4.371139e-8;
    } else {
        angle = arc_tangent_series(size);
    }
    let sign = bitcast<u32>(x) & 0x80000000u;
    return select(bitcast<f32>(bitcast<u32>(angle) ^ sign), not_a_number(), is_nan(x));
}

// Angle of the point (x, y) in [-pi, pi], by the signs of both, those of zeros included; 0 or pi at the origin.
fn arc_tangent_of(y: f32, x: f32) -> f32 {
    if is_nan(x) || is_nan(y) {
        return not_a_number();
    }
    let larger = max(abs(x), abs(y));
    let smaller = min(abs(x), abs(y));
    var ratio = 0.0;
    if smaller == larger {
        ratio = select(1.0, 0.0, larger == 0.0);
    } else {
        // WGSL divides by at most 2^126 with accuracy.
        let scale = select(1.0, 0.25, larger > 8.5e37);
        ratio = (smaller * scale) / (larger * scale);
    }
    var angle = arc_tangent_series(ratio);
    if abs(y) > abs(x) {
        angle = (1.5707964 - angle) - 4.371139e-8;
    }
    if bitcast<u32>(x) >= 0x80000000u {
        angle = (3.1415927 - angle) - 8.742278e-8;
    }
    return bitcast<f32>(bitcast<u32>(angle) | (bitcast<u32>(y) & 0x80000000u));
}
