//! Steps that lower the cost but lead where a parameter has lost its effect.

use super::*;

/// BoxBOD of NIST: a rise b₁(1 − exp(−b₂t)) through six points. Half of the certified sum of squares is [`LEAST`]; where the exponential has vanished the
/// cost is 4885.75 at best.
fn rise(b: &[f64], gradient: &mut [f64]) -> f64 {
    let points = [(1.0, 109.0), (2.0, 149.0), (3.0, 149.0), (5.0, 191.0), (7.0, 213.0), (10.0, 224.0)];
    gradient.fill(0.0);
    let term = |(t, y): (f64, f64)| {
        let power = (-b[1] * t).exp();
        let residual = b[0] * (1.0 - power) - y;
        gradient[0] += residual * (1.0 - power);
        gradient[1] += residual * b[0] * t * power;
        0.5 * residual * residual
    };
    points.into_iter().map(term).sum()
}

const LEAST: f64 = 1168.0088766 / 2.0;

#[test]
fn a_step_to_where_an_exponential_has_vanished_is_not_taken() {
    // The cost in f32 has 24 bits.
    for (arithmetic, within) in [(Arithmetic::F64, 1e-8), (Arithmetic::F32, 1e-5)] {
        for start in [[1.0, 1.0], [10.0, 10.0], [1.0, 10.0], [0.1, 0.1], [100.0, 0.75]] {
            let Run { summary, solution, .. } = minimise(&rise, &start, &LbfgsOptions::defaults(), arithmetic);
            let about = format!("{start:?}: {solution:?}, {}, {}", summary.function_evaluations, summary.message());
            assert!(summary.success() && (summary.final_cost / LEAST - 1.0).abs() < within, "{about}");
            // 41 at most, and a tenth.
            assert!(summary.function_evaluations <= 46, "{about}");
        }
    }
}

#[test]
fn limits_that_are_kept_do_not_hold_others_up() {
    // Beyond its limit each of the first parameters has no effect any longer. The last one has some way to go.
    let limits = |x: &[f64], gradient: &mut [f64]| {
        let mut cost = 0.0;
        for (i, limit) in [1.0, 2.0, -1.0].into_iter().enumerate() {
            gradient[i] = (x[i] - limit).max(0.0);
            cost += 0.5 * gradient[i] * gradient[i];
        }
        let (curved, away) = (x[3].powi(3) - 8.0, x[3] - 2.0);
        gradient[3] = 3.0 * x[3] * x[3] * curved + away;
        cost + 0.5 * (curved * curved + away * away)
    };
    let Run { summary, solution, .. } =
        minimise(&limits, &[5.0, 300.0, 0.5, 4.0], &LbfgsOptions::defaults(), Arithmetic::F64);
    let about = format!("{solution:?}, {} evaluations, {}", summary.function_evaluations, summary.message());
    assert!(summary.success() && (solution[3] - 2.0).abs() < 1e-4, "{about}");
    assert!(solution[0] < 1.0001 && solution[1] < 2.0001 && solution[2] < -0.9999, "{about}");
}

#[test]
fn among_more_coordinates_steps_are_taken() {
    let start: Vec<f64> = [1.0, 1.0].into_iter().chain([0.0; 63]).collect();
    let Run { summary, .. } = minimise(&rise, &start, &LbfgsOptions::defaults(), Arithmetic::F64);
    assert!(summary.final_cost > 4000.0, "{}", summary.message());
}
