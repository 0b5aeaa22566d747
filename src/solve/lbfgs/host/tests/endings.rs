//! What counts as convergence: in which units the parameters are, and costs without a minimum.

use super::*;

/// ½ Σ (a exp(−bt) + c − y)² over 20 observations of a = 1e3, b = 1e-3 and c = 200 with errors of one hundredth, from y and t of those sizes.
fn exponential(x: &[f64], gradient: &mut [f64]) -> f64 {
    gradient.fill(0.0);
    let mut cost = 0.0;
    for i in 0..20 {
        let k = f64::from(i);
        let t = 100.0 * (k + 1.0);
        let y = 1e3 * (-1e-3 * t).exp() * (1.0 + 0.01 * (12.9898 * k * k + 78.233 * k).sin()) + 200.0;
        let e = (-x[1] * t).exp();
        let r = x[0] * e + x[2] - y;
        cost += 0.5 * r * r;
        gradient[0] += r * e;
        gradient[1] -= r * x[0] * t * e;
        gradient[2] += r;
    }
    cost
}

/// The sum of squares of M. Powell's badly scaled function (Moré, Garbow and Hillstrom, number 3), whose minimum is 0 near (1.1e-5, 9.1).
fn powell_badly_scaled(x: &[f64], gradient: &mut [f64]) -> f64 {
    let (a, b) = (1e4 * x[0] * x[1] - 1.0, (-x[0]).exp() + (-x[1]).exp() - 1.0001);
    gradient[0] = 2e4 * a * x[1] - 2.0 * b * (-x[0]).exp();
    gradient[1] = 2e4 * a * x[0] - 2.0 * b * (-x[1]).exp();
    a * a + b * b
}

/// Brown's badly scaled function (number 4), whose minimum is 0 at (1e6, 2e-6).
fn brown_badly_scaled(x: &[f64], gradient: &mut [f64]) -> f64 {
    let (a, b, c) = (x[0] - 1e6, x[1] - 2e-6, x[0] * x[1] - 2.0);
    gradient[0] = 2.0 * (a + c * x[1]);
    gradient[1] = 2.0 * (b + c * x[0]);
    a * a + b * b + c * c
}

/// An objective, a start and the cost of its minimum.
type Problem = (fn(&[f64], &mut [f64]) -> f64, &'static [f64], f64);

const PROBLEMS: [Problem; 5] = [
    (exponential, &[500.0, 2.5e-3, 0.0], LEAST),
    (exponential, &[900.0, 1.2e-3, 100.0], LEAST),
    (powell_badly_scaled, &[0.0, 1.0], 0.0),
    (brown_badly_scaled, &[1.0, 1.0], 0.0),
    (rosenbrock, &[-1.2, 1.0], 0.0),
];

/// The least cost of [`exponential`], by Levenberg-Marquardt.
const LEAST: f64 = 54.504_561;

fn defaults(max_iterations: u32) -> LbfgsOptions {
    let mut options = LbfgsOptions::defaults();
    options.solve.max_iterations = max_iterations;
    options
}

/// Whether a cost is the least to one part in ten thousand; where that is 0, to 1e-12 of the cost of the start, which gradients of 1e-8 of the largest leave at
/// a condition of 1e4, and to the 1e-8 of the plateau of Powell's function where one exponential has vanished.
fn is_least(cost: f64, least: f64, start: f64) -> bool {
    cost - least <= 1e-4 * least + if least == 0.0 { (1e-12 * start).max(1.1e-8) } else { 0.0 }
}

#[test]
fn parameters_of_different_sizes_are_fitted_with_default_tolerances() {
    for (objective, start, least) in PROBLEMS {
        let Run { summary, .. } = minimise(&objective, start, &defaults(3000), Arithmetic::F64);
        assert!(summary.success(), "{start:?}: {} {}", summary.final_cost, summary.message());
        assert!(is_least(summary.final_cost, least, summary.initial_cost), "{start:?}: {}", summary.final_cost);
    }
}

/// Runs with parameters in other units: those of the objective times `units`.
fn in_units(objective: Objective, start: &[f64], units: &[f64], options: &LbfgsOptions) -> Run {
    let scaled = |x: &[f64], gradient: &mut [f64]| {
        let x: Vec<f64> = x.iter().zip(units).map(|(x, unit)| x / unit).collect();
        let cost = objective(&x, gradient);
        gradient.iter_mut().zip(units).for_each(|(g, unit)| *g /= unit);
        cost
    };
    let start: Vec<f64> = start.iter().zip(units).map(|(x, unit)| x * unit).collect();
    minimise(&scaled, &start, options, Arithmetic::F64)
}

#[test]
fn the_unit_of_a_parameter_makes_no_success_of_a_point_that_is_no_minimum() {
    let mut failures = 0;
    for (objective, start, least) in PROBLEMS {
        // A start that is a million times too small says another size of the parameter.
        let start = if start == [1.0, 1.0] { &[2e5, 1e-6] } else { start };
        for unit in [1e-9, 1e-6, 1e-3, 1e3, 1e6, 1e9] {
            for i in 0..start.len() {
                let units: Vec<f64> = (0..start.len()).map(|k| if k == i { unit } else { 1.0 }).collect();
                let Run { summary, .. } = in_units(&objective, start, &units, &defaults(300));
                let least = is_least(summary.final_cost, least, summary.initial_cost);
                assert!(
                    least || !summary.success(),
                    "{start:?} {units:?}: {} {}",
                    summary.final_cost,
                    summary.message()
                );
                failures += u32::from(!least);
            }
        }
    }
    assert!(failures > 0, "every run met its minimum, and the test shows nothing");
}

#[test]
fn a_run_that_starts_where_another_ended_is_a_success() {
    // Parameters of about 1.
    let units = [1e-3, 1e3, 1e-3];
    let first = in_units(&exponential, &[900.0, 1.2e-3, 100.0], &units, &defaults(300));
    let start: Vec<f64> = first.solution.iter().zip(units).map(|(x, unit)| x / unit).collect();
    let second = in_units(&exponential, &start, &units, &defaults(300));
    for Run { summary, .. } in [first, second] {
        assert!(summary.success() && is_least(summary.final_cost, LEAST, LEAST), "{}", summary.message());
    }
}

/// A cost of x, and its derivative.
type Curve = fn(f64) -> (f64, f64);

#[test]
fn a_cost_without_a_bound_is_no_success_and_the_message_says_so() {
    let curves: [(Curve, f64); 5] = [
        (|x| (-x, -1.0), 1.0),
        (|x| (-x.ln(), -1.0 / x), 1.0),
        (|x| (-x * x, -2.0 * x), 1.0),
        (|x| (-x.sqrt(), -0.5 / x.sqrt()), 1.0),
        (|x| (x * x * x, 3.0 * x * x), -1.0),
    ];
    let mut noticed = 0;
    for arithmetic in [Arithmetic::F64, Arithmetic::F32] {
        for (k, (curve, start)) in curves.into_iter().enumerate() {
            let objective = |x: &[f64], gradient: &mut [f64]| {
                let (cost, slope) = curve(x[0]);
                gradient[0] = slope;
                // A number that single precision does not hold is infinite there.
                if arithmetic == Arithmetic::F32 { f64::from(cost as f32) } else { cost }
            };
            let Run { summary, .. } = minimise(&objective, &[start], &defaults(1000), arithmetic);
            let words = match summary.termination {
                Termination::NonFinite => "The cost falls without a bound: it still falls at -",
                Termination::MaxIterations => "and may have no bound.",
                other => panic!("{k} {arithmetic:?} {}: {}", other.as_str(), summary.message()),
            };
            assert!(summary.message().contains(words), "{k} {arithmetic:?}: {}", summary.message());
            noticed += u32::from(summary.termination == Termination::NonFinite);
        }
    }
    // Where no pair has curvature each search begins anew, and the limit of iterations comes first.
    assert!(noticed >= 3, "{noticed} of 10 runs were noticed before their limit");
}

#[test]
fn a_cost_that_falls_towards_a_bound_it_does_not_meet_is_no_unbounded_one() {
    let curves: [Curve; 2] = [|x| ((-x).exp(), -(-x).exp()), |x| (1.0 + 1.0 / x, -1.0 / (x * x))];
    for (k, curve) in curves.into_iter().enumerate() {
        let objective = |x: &[f64], gradient: &mut [f64]| {
            let (cost, slope) = curve(x[0]);
            gradient[0] = slope;
            cost
        };
        let Run { summary, .. } = minimise(&objective, &[1.0], &defaults(100), Arithmetic::F64);
        assert!(summary.success(), "{k}: {}", summary.message());
    }
}
