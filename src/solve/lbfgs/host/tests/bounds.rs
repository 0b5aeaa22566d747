//! Constant coordinates and box bounds.

use super::*;

fn bounded(objective: Objective, start: &[f64], constant: &[u8], lower: &[f64], upper: &[f64]) -> Run {
    let set = FeasibleSet::new(start.len(), constant, lower, upper, Arithmetic::F64).unwrap();
    let options = until_norm(1e-9, objective, start, 300);
    let run = run(objective, solver(start, set.clone(), None, &options, Arithmetic::F64));
    for x in &run.evaluated {
        for (i, &value) in x.iter().enumerate() {
            let allowed = if set.is_constant(i) { start[i] } else { set.project(i, value) };
            assert_eq!(value, allowed, "coordinate {i} left its bounds");
        }
    }
    run
}

#[test]
fn bounds_that_are_active_at_the_solution_are_met_exactly_and_the_rest_converges() {
    // The function is separable, so the bounded minimum is the projection of the minimum.
    let n = 12;
    let (lower, upper) = (vec![-1.0; n], vec![1.0; n]);
    let Run { summary, solution, .. } = bounded(&quadratic, &[0.0; 12], &[], &lower, &upper);
    assert_eq!(summary.termination, Termination::GradientTolerance, "{}", summary.message());
    for (x, minimum) in solution.iter().zip(quadratic_minimum(n)) {
        let expected = minimum.clamp(-1.0, 1.0);
        if expected == minimum {
            // A gradient of 1e-9 over the least curvature, 1.
            assert!((x - expected).abs() <= 1e-9, "{x} {expected}");
        } else {
            assert_eq!(*x, expected);
        }
    }
}

#[test]
fn the_bounded_minimum_of_rosenbrock_lies_on_a_bound_across_its_valley() {
    // For x₀ ≤ ½ the minimum is (½, ¼), where the derivative along the bound is 0.
    let Run { summary, solution, .. } = bounded(&rosenbrock, &[-1.2, 1.0], &[], &[], &[0.5, f64::INFINITY]);
    assert_eq!(summary.termination, Termination::GradientTolerance, "{}", summary.message());
    assert_eq!(solution[0], 0.5);
    assert!((solution[1] - 0.25).abs() < 1e-10, "{solution:?}");
}

#[test]
fn a_bound_active_in_an_early_iteration_becomes_inactive() {
    // The first step along the steep coordinate ends at a bound; the minimum (1, 1) is inside.
    let Run { summary, solution, points, .. } = bounded(&rosenbrock, &[-1.2, 1.0], &[], &[-1.3, -2.0], &[2.0, 1.05]);
    assert_eq!(summary.termination, Termination::GradientTolerance, "{}", summary.message());
    assert!(distance(&solution, &[1.0, 1.0]) < 1e-8, "{solution:?}");
    assert!(points.iter().any(|x| x[1] == 1.05 || x[0] == -1.3), "the bound was never touched");
}

#[test]
fn a_start_out_of_bounds_is_projected_and_the_message_says_so() {
    let Run { summary, evaluated, .. } = bounded(&quadratic, &[9.0, 0.0, -9.0], &[], &[-1.0; 3], &[1.0; 3]);
    assert_eq!(evaluated[0], [1.0, 0.0, -1.0]);
    let words = "2 starting values were out of bounds and were moved to the nearest bound. Converged";
    assert!(summary.message().starts_with(words), "{}", summary.message());
}

#[test]
fn constant_coordinates_are_unchanged_even_outside_bounds_and_f32() {
    let start = [0.1, 5.0, 0.7];
    let set = FeasibleSet::new(3, &[1, 0, 1], &[0.5; 3], &[4.0; 3], Arithmetic::F32).unwrap();
    let with_nan = |x: &[f64], gradient: &mut [f64]| {
        gradient.copy_from_slice(&[f64::NAN, 2.0 * (x[1] - 2.0), 7.0]);
        (x[1] - 2.0).powi(2)
    };
    let options = LbfgsOptions::defaults();
    let Run { summary, solution, .. } = run(&with_nan, solver(&start, set, None, &options, Arithmetic::F32));
    assert!(summary.success(), "{}", summary.message());
    assert_eq!((solution[0], solution[2]), (0.1, 0.7));
    assert!((solution[1] - 2.0).abs() < 1e-6, "{solution:?}");
    // Derivatives with respect to constants do not count.
    assert_eq!(summary.history[0].gradient_max_norm, 4.0);
}

#[test]
fn with_every_coordinate_constant_the_start_is_the_solution() {
    let Run { summary, solution, .. } = bounded(&rosenbrock, &[-1.2, 1.0], &[1, 1], &[], &[]);
    assert_eq!((summary.termination, summary.iterations), (Termination::GradientTolerance, 0));
    assert_eq!(solution, [-1.2, 1.0]);
}
