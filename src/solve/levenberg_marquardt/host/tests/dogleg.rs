//! What the dogleg does otherwise than damping.

use super::dual::{Dual, linearised};
use super::*;
use crate::solve::options::TrustRegion;

fn with_dogleg<'a>(residuals: Residuals<'a>, start: &[f64]) -> Fake<'a> {
    let mut fake = Fake::new(residuals, start);
    fake.options.trust_region = TrustRegion::Dogleg;
    fake
}

#[test]
fn a_rejected_step_is_followed_by_one_along_the_same_path_without_a_linear_system() {
    let run = run(&with_dogleg(&rosenbrock, &[-1.2, 1.0]));
    assert!(run.summary.success(), "{}", run.summary.message());
    // parameterTolerance 1e-8, and quadratic convergence.
    assert!(distance(&run.point, &[1.0, 1.0]) < 1e-7, "{:?}", run.point);
    let steps = &run.summary.history[1..];
    let rejected = steps.iter().filter(|step| !step.accepted).count();
    assert!(rejected > 0);
    for pair in steps.windows(2) {
        let expected = if pair[0].accepted { 1 } else { 0 };
        assert_eq!(pair[1].linear_iterations, Some(expected), "{pair:?}");
        assert!(pair[0].accepted || pair[1].step_norm < pair[0].step_norm, "the next one is shorter: {pair:?}");
        assert!(pair[1].cost <= pair[0].cost);
    }
}

#[test]
fn points_that_are_nan_make_the_region_smaller_until_they_are_left_out() {
    let wall = |x: &[f64]| {
        let r = if x[0] > 2.0 { f64::NAN } else { x[0] - 10.0 };
        (vec![r], vec![vec![1.0]])
    };
    let mut fake = with_dogleg(&wall, &[0.0]);
    fake.options.solve.max_iterations = 12;
    let run = run(&fake);
    let history = &run.summary.history;
    // The rounding of a few operations.
    let is_long = |step: &IterationSummary, length: f64| (step.step_norm - length).abs() < 1e-14;
    assert!(!history[1].accepted && is_long(&history[1], 10.0), "the first step is that of Gauss and Newton");
    assert!(is_long(&history[2], 2.5), "without a cost the next one is a quarter as long");
    assert!(run.summary.final_cost < 50.0 && run.point[0] <= 2.0, "{:?}", run.point);
}

#[test]
fn columns_of_zeros_and_dependent_columns_have_a_step() {
    let flat = |x: &[f64]| (vec![x[0] - 3.0], vec![vec![1.0, 0.0]]);
    let alone = run(&with_dogleg(&flat, &[0.0, 7.0]));
    assert!(alone.summary.success(), "{}", alone.summary.message());
    // A linear residual, and a damping of 1e-16.
    assert!((alone.point[0] - 3.0).abs() < 1e-14 && alone.point[1] == 7.0, "{:?}", alone.point);
    let sum = |x: &[f64]| (vec![x[0] + x[1] - 4.0; 2], vec![vec![1.0, 1.0]; 2]);
    let shared = run(&with_dogleg(&sum, &[0.0, 0.0]));
    assert!(shared.summary.success(), "{}", shared.summary.message());
    // parameterTolerance 1e-8 of the sum.
    assert!((shared.point[0] + shared.point[1] - 4.0).abs() < 1e-7, "{:?}", shared.point);
}

#[test]
fn bounds_project_the_step() {
    let coupled = |x: &[f64]| (vec![x[0] + 0.5 * x[1] - 3.0, x[1] - x[0] - 1.0], vec![vec![1.0, 0.5], vec![-1.0, 1.0]]);
    let mut fake = with_dogleg(&coupled, &[0.0, 0.0]);
    fake.bounds = (vec![-1.0, 0.0], vec![1.0, 10.0]);
    let run = run(&fake);
    assert!(run.summary.success(), "{}", run.summary.message());
    assert_eq!(run.point[0], 1.0, "a bound is reached exactly");
    // At x = 1 the best y is where 0.5(0.5y − 2) + (y − 2) = 0; gradientTolerance 1e-8.
    assert!((run.point[1] - 2.4).abs() < 1e-7, "{:?}", run.point);
}

#[test]
fn a_wrong_gradient_ends_with_a_collapsed_trust_region() {
    let wrong = |x: &[f64]| (vec![1.0 + x[0].abs()], vec![vec![-1.0]]);
    let mut fake = with_dogleg(&wrong, &[0.0]);
    // No step is accepted for its prediction alone.
    let solve = &mut fake.options.solve;
    (solve.cost_tolerance, solve.gradient_tolerance, solve.parameter_tolerance) = (0.0, 0.0, 0.0);
    let run = run(&fake);
    assert_eq!(run.summary.termination, Termination::TrustRegionCollapsed, "{}", run.summary.message());
    assert_eq!(run.point, [0.0]);
    // Other steps than those that were tried may exist.
    assert!(
        run.summary.message().starts_with("No step that was tried at this point lowered the cost"),
        "{}",
        run.summary.message()
    );
}

/// A run of at most so many iterations.
fn run_within(most: u32, residuals: impl Fn(&[Dual]) -> Vec<Dual>, start: &[f64]) -> Run {
    let residuals = |x: &[f64]| linearised(x, &residuals);
    let mut fake = with_dogleg(&residuals, start);
    fake.options.solve.max_iterations = most;
    run(&fake)
}

#[test]
fn a_parameter_that_starts_at_zero_moves_though_the_other_columns_nearly_vanish() {
    let decay = |x: &[Dual]| vec![x[0].clone() - 1.0, (-(x[1].clone() * 5.0)).exp()];
    // One step, and one that shows convergence.
    let Run { summary, point, .. } = run_within(2, decay, &[0.0, 10.0]);
    assert!(summary.success() && summary.final_cost < 1e-20, "{point:?} {}", summary.message());
    for column in [1e-9, 1e-13, 1e-18, 1e-30] {
        let residuals = |x: &[Dual]| vec![x[0].clone() - 1.0, x[1].clone() * column];
        let Run { summary, point, .. } = run_within(2, residuals, &[0.0, 1.0]);
        assert!(summary.success() && summary.final_cost < 1e-20, "{column}: {point:?} {}", summary.message());
    }
}

/// A line and a decay at 50 times, of which the first is 1: the decay of the start, exp(−40t), is hidden by rounding.
fn line_and_decay(c: &[Dual]) -> Vec<Dual> {
    let at = |k: i32| {
        let t = 1.0 + f64::from(k) / 50.0;
        let y = 1.0 + 2.0 * t + (-0.5 * t).exp();
        c[0].clone() + c[1].clone() * t + (-(c[2].clone() * t)).exp() - y
    };
    (0..50).map(at).collect()
}

#[test]
fn a_column_that_vanishes_at_the_start_does_not_hold_the_others() {
    let Run { summary, point, .. } = run_within(100, line_and_decay, &[0.0, 0.0, 40.0]);
    // The best line alone leaves 4.9e-4.
    assert!(summary.success() && summary.final_cost < 4e-4, "{point:?} {}", summary.message());
}

#[test]
fn powells_badly_scaled_function_from_far_away_is_left_for_its_valley() {
    let residuals = |x: &[Dual]| {
        vec![x[0].clone() * x[1].clone() * 1e4 - 1.0, (-x[0].clone()).exp() + (-x[1].clone()).exp() - 1.0001]
    };
    let Run { summary, point, .. } = run_within(100, residuals, &[0.0, 100.0]);
    // The valley x₀x₁ = 1e-4 has a cost of 5e-9 out there, and hardly any slope; the start has 0.5.
    assert!(summary.final_cost < 6e-9, "{point:?} {}", summary.message());
    assert_ne!(summary.termination, Termination::TrustRegionCollapsed, "{}", summary.message());
}
