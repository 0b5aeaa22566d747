//! Functions to minimise: each writes its gradient and gives its cost.

/// Chained: Σ 100 (xᵢ₊₁ − xᵢ²)² + (1 − xᵢ)².
pub(super) fn rosenbrock(x: &[f64], gradient: &mut [f64]) -> f64 {
    gradient.fill(0.0);
    let mut cost = 0.0;
    for i in 0..x.len() - 1 {
        let (a, b) = (x[i + 1] - x[i] * x[i], 1.0 - x[i]);
        cost += 100.0 * a * a + b * b;
        gradient[i] += -400.0 * a * x[i] - 2.0 * b;
        gradient[i + 1] += 200.0 * a;
    }
    cost
}

/// ½ Σ λᵢ (xᵢ − mᵢ)², the λᵢ from 1 to 1e6 in equal ratios, m as in [`quadratic_minimum`].
pub(super) fn quadratic(x: &[f64], gradient: &mut [f64]) -> f64 {
    let n = x.len();
    let minimum = quadratic_minimum(n);
    let mut cost = 0.0;
    for i in 0..n {
        let lambda = 1e6_f64.powf(i as f64 / (n - 1) as f64);
        gradient[i] = lambda * (x[i] - minimum[i]);
        cost += 0.5 * gradient[i] * (x[i] - minimum[i]);
    }
    cost
}

pub(super) fn quadratic_minimum(n: usize) -> Vec<f64> {
    (0..n).map(|i| (i % 5) as f64 - 1.5).collect()
}

pub(super) fn wood(x: &[f64], gradient: &mut [f64]) -> f64 {
    let (a, b) = (x[1] - x[0] * x[0], x[3] - x[2] * x[2]);
    let (p, q) = (x[1] - 1.0, x[3] - 1.0);
    gradient[0] = -400.0 * a * x[0] - 2.0 * (1.0 - x[0]);
    gradient[1] = 200.0 * a + 20.2 * p + 19.8 * q;
    gradient[2] = -360.0 * b * x[2] - 2.0 * (1.0 - x[2]);
    gradient[3] = 180.0 * b + 20.2 * q + 19.8 * p;
    100.0 * a * a + (1.0 - x[0]).powi(2) + 90.0 * b * b + (1.0 - x[2]).powi(2) + 10.1 * (p * p + q * q) + 19.8 * p * q
}

pub(super) fn powell_singular(x: &[f64], gradient: &mut [f64]) -> f64 {
    let (a, b, c, d) = (x[0] + 10.0 * x[1], x[2] - x[3], x[1] - 2.0 * x[2], x[0] - x[3]);
    gradient[0] = 2.0 * a + 40.0 * d.powi(3);
    gradient[1] = 20.0 * a + 4.0 * c.powi(3);
    gradient[2] = 10.0 * b - 8.0 * c.powi(3);
    gradient[3] = -10.0 * b - 40.0 * d.powi(3);
    a * a + 5.0 * b * b + c.powi(4) + 10.0 * d.powi(4)
}

pub(super) fn beale(x: &[f64], gradient: &mut [f64]) -> f64 {
    gradient.fill(0.0);
    let mut cost = 0.0;
    for (i, y) in [1.5, 2.25, 2.625].into_iter().enumerate() {
        let power = i as i32 + 1;
        let r = y - x[0] * (1.0 - x[1].powi(power));
        cost += r * r;
        gradient[0] -= 2.0 * r * (1.0 - x[1].powi(power));
        gradient[1] += 2.0 * r * x[0] * f64::from(power) * x[1].powi(power - 1);
    }
    cost
}

/// x − ln x in every coordinate: NaN below 0, infinite at 0, least at 1.
pub(super) fn logarithmic(x: &[f64], gradient: &mut [f64]) -> f64 {
    x.iter()
        .zip(gradient)
        .map(|(x, gradient)| {
            *gradient = 1.0 - 1.0 / x;
            x - x.ln()
        })
        .sum()
}
