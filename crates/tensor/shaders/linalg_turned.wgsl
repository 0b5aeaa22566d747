// A rotation of two numbers (Golub and Van Loan: "Matrix Computations", 4th edition, 8.5).
//
// With τ = s / (1 + c) a rotation adds to each number what is small for a small angle, so that roundings of many of them do not add up (Rutishauser: "The
// Jacobi method for real symmetric matrices", 1966).

// Two numbers, turned.
fn rotated(p: f32, q: f32, angle: vec2<f32>) -> vec2<f32> {
    return vec2<f32>(p - angle.x * (q + angle.y * p), q + angle.x * (p - angle.y * q));
}

// s and τ of the rotation of a symmetric matrix of two rows that makes it diagonal.
fn angle_of(beside: f32, first: f32, second: f32) -> vec2<f32> {
    let half = 0.5 * (second - first) / beside;
    // Beyond 1e18 its square is too large, and the root is the number.
    let most = abs(half);
    let root = select(sqrt(half * half + 1.0), most, most > 1e18);
    let tangent = select(1.0, -1.0, half < 0.0) / (most + root);
    let c = 1.0 / sqrt(tangent * tangent + 1.0);
    let s = tangent * c;
    return vec2<f32>(s, s / (1.0 + c));
}
