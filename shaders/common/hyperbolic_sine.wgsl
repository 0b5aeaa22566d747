#import exponential
// Hyperbolic sine. Near 0, where exponentials cancel, a minimax polynomial within 2^-34 of the function.
fn hyperbolic_sine(x: f32) -> f32 {
    if abs(x) < 1.0 {
        let z = x * x;
        return x + x * z * (0.16666667 + z * (0.0083333505 + z * (0.00019836066 + z * 2.8174395e-6)));
    }
    let half = exponential_scaled(abs(x), -1);
    let size = half - 0.25 / half;
    return select(size, -size, x < 0.0);
}
