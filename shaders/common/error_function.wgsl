#import exponential
// Error function, 2/sqrt(pi) times the integral of e^(-t^2) from 0 to x. Near 0 x + x p(x^2), else 1 - e^(-x^2) q(y) with y = (|x| - 2)/(|x| + 2), in which
// e^(x^2) (1 - erf x) is nearly a polynomial: minimax polynomials, within 2^-29 and 2^-34 of the function. It rounds to 1 from 4 on.
fn error_function(x: f32) -> f32 {
    if abs(x) < 1.0 {
        let z = x * x;
        let p = 0.1283791671 + z * (-0.37612626 + z * (0.112835854 + z * (-0.026853813 + z * (0.0051883277 + z * (-0.00080101937 + z * 0.000078538615)))));
        return x + x * p;
    }
    let size = min(abs(x), 4.0);
    let y = (size - 2.0) / (size + 2.0);
    let q = 0.25539568 + y * (-0.42718586 + y * (0.24165721 + y * (-0.078987435 + y * (0.0037279364 + y * 0.0072104563))));
    let value = 1.0 - exponential(-x * x) * q;
    return select(value, -value, x < 0.0);
}
