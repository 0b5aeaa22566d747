//! Single decisions: how runs begin, stop and fail.

use super::*;
use residua_base::error::ErrorCode;

fn square(x: &[f64], gradient: &mut [f64]) -> f64 {
    gradient.iter_mut().zip(x).for_each(|(g, x)| *g = 2.0 * x);
    x.iter().map(|x| x * x).sum()
}

fn begin(start: &[f64], options: &LbfgsOptions) -> Lbfgs {
    solver(start, FeasibleSet::unconstrained(start.len()), None, options, Arithmetic::F64)
}

/// Evaluates the start and takes iteration 0.
fn started(objective: Objective, start: &[f64], options: &LbfgsOptions) -> Lbfgs {
    let mut lbfgs = begin(start, options);
    let mut gradient = vec![0.0; start.len()];
    let cost = objective(start, &mut gradient);
    let step = lbfgs.next(0.0, Some(Evaluation { cost, gradient }));
    assert!(matches!(step, Step::Iteration(IterationSummary { iteration: 0, .. })), "{step:?}");
    lbfgs
}

fn ended(step: Step) -> SolveSummary {
    let Step::Finished(summary) = step else { panic!("{step:?}") };
    summary.clone()
}

#[test]
fn a_flat_function_has_converged_at_its_start() {
    let flat = |_: &[f64], gradient: &mut [f64]| {
        gradient.fill(0.0);
        4.0
    };
    let Run { summary, solution, .. } = minimise(&flat, &[1.0, 2.0], &until_gradient(0.0, 100), Arithmetic::F64);
    assert_eq!((summary.termination, summary.iterations), (Termination::GradientTolerance, 0));
    assert_eq!((summary.function_evaluations, summary.history.len()), (1, 1));
    assert_eq!((summary.initial_cost, summary.final_cost), (4.0, 4.0));
    assert_eq!(solution, [1.0, 2.0]);
}

#[test]
fn a_limit_of_no_iterations_means_one_evaluation() {
    let Run { summary, .. } = minimise(&square, &[3.0], &until_gradient(1e-9, 0), Arithmetic::F64);
    assert_eq!((summary.termination, summary.function_evaluations), (Termination::MaxIterations, 1));
    assert_eq!(summary.message(), "Stopped after maxIterations, 0.");
}

#[test]
fn the_first_step_is_no_longer_than_one() {
    for (start, length) in [(100.0, 1.0), (0.125, 0.25)] {
        let Run { evaluated, .. } = minimise(&square, &[start], &until_gradient(1e-9, 10), Arithmetic::F64);
        assert_eq!(evaluated[0][0] - evaluated[1][0], length);
    }
}

#[test]
fn each_iteration_of_the_summary_has_cost_change_step_and_time() {
    let Run { summary, .. } = minimise(&square, &[100.0, 0.0], &until_gradient(1e-9, 10), Arithmetic::F64);
    let first = summary.history[0];
    assert_eq!((first.iteration, first.cost, first.cost_change), (0, 1e4, 0.0));
    assert_eq!((first.gradient_max_norm, first.step_norm, first.step_size), (200.0, 0.0, None));
    for (i, pair) in summary.history.windows(2).enumerate() {
        assert_eq!(pair[1].iteration as usize, i + 1);
        assert_eq!(pair[1].cost_change, pair[0].cost - pair[1].cost);
        assert!(pair[1].elapsed_ms > pair[0].elapsed_ms && pair[1].step_norm > 0.0);
        assert!(pair[1].accepted && pair[1].step_size.is_some());
    }
    assert_eq!(summary.history.last().unwrap().cost, summary.final_cost);
}

#[test]
fn a_run_converges_beside_a_region_of_nan() {
    let seen_nan = std::cell::Cell::new(false);
    for start in [[1e-3, 50.0], [8.0, 8.0], [0.02, 0.9]] {
        let objective = |x: &[f64], gradient: &mut [f64]| {
            seen_nan.set(seen_nan.get() || x.iter().any(|x| *x < 0.0));
            logarithmic(x, gradient)
        };
        let Run { summary, solution, .. } =
            minimise(&objective, &start, &until_norm(1e-9, objective, &start, 100), Arithmetic::F64);
        assert_eq!(summary.termination, Termination::GradientTolerance, "{start:?}: {}", summary.message());
        // Curvature 1 at the minimum.
        assert!(distance(&solution, &[1.0, 1.0]) < 2e-9);
    }
    assert!(seen_nan.get(), "no trial was in the region");
}

#[test]
fn a_search_whose_trials_are_all_nan_ends_at_the_best_point() {
    let wall = |x: &[f64], gradient: &mut [f64]| {
        gradient[0] = 1.0;
        if x[0] == 3.0 { 5.0 } else { f64::NAN }
    };
    let Run { summary, solution, .. } = minimise(&wall, &[3.0], &until_gradient(1e-9, 100), Arithmetic::F64);
    assert_eq!(summary.termination, Termination::NonFinite);
    assert!(!summary.failed_at_start());
    assert_eq!((summary.final_cost, solution), (5.0, vec![3.0]));
    assert_eq!(summary.message(), "All 20 trial steps along the gradient gave NaN or infinity.");
}

#[test]
fn a_start_that_is_not_finite_is_named_with_its_number() {
    let cases: [(f64, [f64; 2], &str); 3] = [
        (f64::NAN, [1.0, 1.0], "At the start the cost is NaN."),
        (f64::INFINITY, [f64::NAN, 1.0], "At the start the cost is inf."),
        (1.0, [1.0, f64::NEG_INFINITY], "At the start the derivative by parameter 1 is -inf."),
    ];
    for (cost, gradient, message) in cases {
        let mut lbfgs = begin(&[1.0, 2.0], &until_gradient(1e-9, 100));
        let summary = ended(lbfgs.next(0.0, Some(Evaluation { cost, gradient: gradient.to_vec() })));
        assert!(summary.failed_at_start());
        assert_eq!(summary.message(), message);
    }
}

#[test]
fn a_derivative_of_the_wrong_sign_is_a_failed_line_search() {
    let wrong = |x: &[f64], gradient: &mut [f64]| {
        let cost = square(x, gradient);
        gradient.iter_mut().for_each(|g| *g = -*g);
        cost
    };
    let Run { summary, solution, .. } = minimise(&wrong, &[3.0, 1.0], &until_gradient(1e-9, 100), Arithmetic::F64);
    assert_eq!(summary.termination, Termination::LineSearchFailed, "{}", summary.message());
    assert_eq!(solution, [3.0, 1.0]);
}

#[test]
fn a_quasi_newton_direction_without_a_step_is_followed_by_one_restart_along_the_gradient() {
    // Six iterations build a history; after them every trial has a cost of 1e9.
    let mut lbfgs = begin(&[-1.2, 1.0], &until_gradient(1e-9, 100));
    let (mut evaluation, mut iterations, mut failing, mut directions) = (None, 0, false, Vec::<[f64; 2]>::new());
    let summary = loop {
        let here = [lbfgs.point()[0], lbfgs.point()[1]];
        match lbfgs.next(0.0, evaluation.take()) {
            Step::Evaluate(x) => {
                let mut gradient = vec![0.0; 2];
                let cost = rosenbrock(x, &mut gradient);
                if failing {
                    let d = [x[0] - here[0], x[1] - here[1]];
                    let length = d[0].hypot(d[1]);
                    // The direction of shorter steps is lost in rounding.
                    if length > 1e-8 {
                        directions.push([d[0] / length, d[1] / length]);
                    }
                }
                evaluation = Some(Evaluation { cost: if failing { 1e9 } else { cost }, gradient });
            }
            Step::Iteration(_) => {
                iterations += 1;
                failing = iterations == 6;
            }
            Step::Finished(summary) => break summary.clone(),
        }
    };
    let mut gradient = vec![0.0; 2];
    rosenbrock(lbfgs.solution(), &mut gradient);
    let length = gradient[0].hypot(gradient[1]);
    let downhill = [-gradient[0] / length, -gradient[1] / length];
    // A step of 1e-8 has eight digits.
    let same = |a: &[f64; 2], b: &[f64; 2]| distance(a, b) < 1e-6;
    let restart = directions.iter().position(|d| same(d, &downhill)).unwrap();
    assert!(restart > 0 && directions[..restart].iter().all(|d| same(d, &directions[0])));
    assert!(directions[restart..].iter().all(|d| same(d, &downhill)));
    assert_eq!(summary.iterations, 5);
    assert!(!summary.success());
}

#[test]
fn a_stop_takes_effect_at_the_next_call_and_keeps_the_last_point() {
    let mut lbfgs = started(&rosenbrock, &[-1.2, 1.0], &until_gradient(1e-9, 100));
    assert!(matches!(lbfgs.next(1.0, None), Step::Evaluate(_)));
    lbfgs.stop(Termination::Aborted);
    let evaluation = Evaluation { cost: 0.0, gradient: vec![0.0; 2] };
    let summary = ended(lbfgs.next(2.0, Some(evaluation)));
    assert_eq!((summary.termination, summary.message().as_str()), (Termination::Aborted, "Stopped by the caller."));
    assert_eq!(lbfgs.solution(), [-1.2, 1.0]);
    assert_eq!(ended(lbfgs.next(9.0, None)), summary);
}

#[test]
fn a_stop_before_the_start_waits_for_its_cost_and_convergence_outranks_it() {
    let mut lbfgs = begin(&[2.0], &until_gradient(1e-9, 100));
    lbfgs.stop(Termination::Aborted);
    assert!(matches!(lbfgs.next(0.0, None), Step::Evaluate(_)));
    assert!(matches!(lbfgs.next(0.0, Some(Evaluation { cost: 4.0, gradient: vec![4.0] })), Step::Iteration(_)));
    let summary = ended(lbfgs.next(0.0, None));
    assert_eq!((summary.termination, summary.initial_cost), (Termination::Aborted, 4.0));

    let mut lbfgs = started(&square, &[0.0], &until_gradient(1e-9, 100));
    lbfgs.stop(Termination::Aborted);
    assert_eq!(ended(lbfgs.next(0.0, None)).termination, Termination::GradientTolerance);
}

#[test]
fn the_time_limit_ends_a_run_within_a_line_search() {
    let mut options = until_gradient(1e-9, 100);
    options.solve.max_time_ms = 10.0;
    let mut lbfgs = started(&square, &[3.0], &options);
    assert!(matches!(lbfgs.next(9.9, None), Step::Evaluate(_)));
    let summary = ended(lbfgs.next(10.0, Some(Evaluation { cost: 0.0, gradient: vec![0.0] })));
    assert_eq!((summary.termination, summary.final_cost, summary.elapsed_ms), (Termination::MaxTime, 9.0, 10.0));
}

#[test]
fn a_call_without_the_evaluation_returns_the_same_point_again() {
    let mut lbfgs = started(&square, &[3.0], &until_gradient(1e-9, 100));
    let mut ask = || match lbfgs.next(0.0, None) {
        Step::Evaluate(x) => x.to_vec(),
        other => panic!("{other:?}"),
    };
    assert_eq!(ask(), ask());
}

#[test]
fn starts_without_finite_coordinates_are_refused() {
    let cases: [(&[f64], usize, &str); 4] = [
        (&[], 0, "x: got 0 numbers, takes 1"),
        (&[1.0], 2, "x: got 1 numbers, takes 2"),
        (&[1.0, f64::NAN], 2, "x: got NaN at position 1, takes numbers that are finite in single precision"),
        (&[1e300], 1, "x: got 1000"),
    ];
    for (start, dimension, words) in cases {
        let set = FeasibleSet::unconstrained(dimension);
        let error = Start::new(start.to_vec(), set, Arithmetic::F32).unwrap_err();
        assert_eq!(error.code, ErrorCode::InvalidArgument);
        assert!(error.message.starts_with(words), "{}", error.message);
    }
}

#[test]
fn a_unit_of_the_cost_is_no_obstacle_where_the_start_is_concave() {
    // unit·(1 − cos x) from x = 2, where steps along the gradient give no pair. The least unit has gradients of 1e-30 and a first step as short.
    for unit in [1.0, 1e-18, 1e-30] {
        let objective = |x: &[f64], gradient: &mut [f64]| {
            gradient[0] = unit * x[0].sin();
            unit * (1.0 - x[0].cos())
        };
        let Run { summary, solution, .. } = minimise(&objective, &[2.0], &until_gradient(1e-9, 30), Arithmetic::F64);
        assert_eq!(summary.termination, Termination::GradientTolerance, "{unit}: {}", summary.message());
        // Minima are at multiples of 2π; the cost is flat within √ε of one.
        let turns = solution[0] / std::f64::consts::TAU;
        assert!((turns - turns.round()).abs() < 1e-8, "{unit}: {solution:?}");
    }
}
