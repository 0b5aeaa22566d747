#import exponential
// Hyperbolic tangent. Near 0, where exponentials cancel, a minimax polynomial within 2^-27 of the function.
fn hyperbolic_tangent(x: f32) -> f32 {
    if abs(x) < 0.625 {
        let z = x * x;
        let p = -0.33333284 + z * (0.13331491 + z * (-0.053743497 + z * (0.020650586 + z * -0.0057170433)));
        return x + x * z * p;
    }
    let size = 1.0 - 2.0 / (exponential(2.0 * abs(x)) + 1.0);
    return select(size, -size, x < 0.0);
}
