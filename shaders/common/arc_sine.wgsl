#import not_a_number
// Arc sine on [-1/2, 1/2]: minimax polynomial, within 2^-27 of the function.
fn arc_sine_series(x: f32) -> f32 {
    let z = x * x;
    let p = 0.16666754 + z * (0.074952416 + z * (0.0454771 + z * (0.024147572 + z * 0.04221862)));
    return x + x * z * p;
}

// Arc sine in [-pi/2, pi/2]; NaN outside [-1, 1]. Above 1/2 by the half angle: asin x = pi/2 - 2 asin sqrt((1 - x)/2).
fn arc_sine(x: f32) -> f32 {
    let size = abs(x);
    if size > 1.0 {
        return not_a_number();
    }
    if size <= 0.5 {
        return arc_sine_series(x);
    }
    let half = arc_sine_series(sqrt(0.5 * (1.0 - size)));
    let angle = (1.5707964 - 2.0 * half) - 4.371139e-8;
    return select(angle, -angle, x < 0.0);
}

// Arc cosine in [0, pi]; NaN outside [-1, 1].
fn arc_cosine(x: f32) -> f32 {
    let size = abs(x);
    if size > 1.0 {
        return not_a_number();
    }
    if size <= 0.5 {
        return (1.5707964 - arc_sine_series(x)) - 4.371139e-8;
    }
    let angle = 2.0 * arc_sine_series(sqrt(0.5 * (1.0 - size)));
    return select(angle, (3.1415927 - angle) - 8.742278e-8, x < 0.0);
}
