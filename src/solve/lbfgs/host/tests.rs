//! Whole runs of L-BFGS: on functions of J. Moré, B. Garbow and K. Hillstrom, "Testing unconstrained optimization software" (ACM TOMS 7, 1981),
//! on quadratics with a known minimum, at bounds, on manifolds, in f32, and on small functions that check one decision.

mod bounds;
mod decisions;
mod endings;
mod losses;
mod manifolds;
mod objectives;
mod rounding;

use std::rc::Rc;

use super::{Lbfgs, Step};
use crate::eval::{Arithmetic, Evaluation};
use crate::solve::manifold_map::ManifoldMap;
use crate::solve::vector::dot;
use crate::solve::{FeasibleSet, IterationSummary, LbfgsOptions, SolveOptions, SolveSummary, Start, Termination};

use objectives::*;

/// Every evaluated point, and the run's summary and solution.
struct Run {
    summary: SolveSummary,
    solution: Vec<f64>,
    evaluated: Vec<Vec<f64>>,
    /// Where each iteration ended.
    points: Vec<Vec<f64>>,
}

type Objective<'a> = &'a dyn Fn(&[f64], &mut [f64]) -> f64;

fn run(objective: Objective, mut lbfgs: Lbfgs) -> Run {
    let (mut evaluation, mut evaluated, mut points, mut clock) = (None, Vec::new(), Vec::new(), 0.0);
    let summary = loop {
        clock += 1.0;
        match lbfgs.next(clock, evaluation.take()) {
            Step::Evaluate(x) => {
                let mut gradient = vec![0.0; x.len()];
                let cost = objective(x, &mut gradient);
                evaluated.push(x.to_vec());
                evaluation = Some(Evaluation { cost, gradient });
            }
            Step::Iteration(_) => points.push(lbfgs.point().to_vec()),
            Step::Finished(summary) => break summary.clone(),
        }
    };
    assert_eq!(summary.function_evaluations as usize, evaluated.len());
    assert_eq!(summary.history.len(), points.len());
    Run { summary, solution: lbfgs.solution().to_vec(), evaluated, points }
}

fn minimise(objective: Objective, start: &[f64], options: &LbfgsOptions, arithmetic: Arithmetic) -> Run {
    let set = FeasibleSet::unconstrained(start.len());
    run(objective, solver(start, set, None, options, arithmetic))
}

/// A solver from `start`.
fn solver(
    start: &[f64],
    set: FeasibleSet,
    manifolds: Option<Rc<ManifoldMap>>,
    options: &LbfgsOptions,
    arithmetic: Arithmetic,
) -> Lbfgs {
    let start = Start::new(start.to_vec(), set, arithmetic).unwrap();
    Lbfgs::new(start, manifolds, options, arithmetic).unwrap()
}

/// Options that end a run where the gradient's max norm is `norm`, if no entry had a larger value than the largest of the start.
fn until_norm(norm: f64, objective: impl Fn(&[f64], &mut [f64]) -> f64, start: &[f64], most: u32) -> LbfgsOptions {
    let mut gradient = vec![0.0; start.len()];
    objective(start, &mut gradient);
    let largest = gradient.iter().fold(0.0, |largest: f64, g| largest.max(g.abs()));
    until_gradient(norm / largest, most)
}

/// Options without any tolerance but that of the gradient.
fn until_gradient(tolerance: f64, max_iterations: u32) -> LbfgsOptions {
    let mut options = LbfgsOptions::defaults();
    options.solve = SolveOptions {
        max_iterations,
        cost_tolerance: 0.0,
        gradient_tolerance: tolerance,
        parameter_tolerance: 0.0,
        ..options.solve
    };
    options
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

struct Case {
    name: &'static str,
    objective: fn(&[f64], &mut [f64]) -> f64,
    start: Vec<f64>,
    minimum: Vec<f64>,
    /// Distance from the minimum at which the gradient is 1e-9: 1e-9 divided by the least curvature; for the singular function its cube
    /// root.
    nearness: f64,
    max_iterations: u32,
}

fn cases() -> Vec<Case> {
    let case = |name, objective, start: &[f64], minimum: &[f64], nearness, max_iterations| Case {
        name,
        objective,
        start: start.to_vec(),
        minimum: minimum.to_vec(),
        nearness,
        max_iterations,
    };
    vec![
        case("Rosenbrock", rosenbrock, &[-1.2, 1.0], &[1.0; 2], 1e-8, 60),
        case("chained Rosenbrock, 1000", rosenbrock, &[0.0; 1000], &[1.0; 1000], 1e-7, 6000),
        case("quadratic of condition 1e6", quadratic, &[0.0; 12], &quadratic_minimum(12), 1e-8, 4000),
        case("Wood", wood, &[-3.0, -1.0, -3.0, -1.0], &[1.0; 4], 1e-8, 150),
        case("Powell singular", powell_singular, &[3.0, -1.0, 0.0, 1.0], &[0.0; 4], 2e-3, 150),
        case("Beale", beale, &[1.0, 1.0], &[3.0, 0.5], 1e-7, 60),
    ]
}

/// The cases of at most 12 coordinates.
fn small_cases() -> impl Iterator<Item = Case> {
    cases().into_iter().filter(|case| case.start.len() <= 12)
}

#[test]
fn the_analytic_gradients_of_the_test_functions_agree_with_differences() {
    for case in cases() {
        let x: Vec<f64> = case.start.iter().enumerate().map(|(i, x)| x + 0.01 * (i % 7) as f64).collect();
        let mut gradient = vec![0.0; x.len()];
        let mut ignored = gradient.clone();
        (case.objective)(&x, &mut gradient);
        for i in [0, 1, x.len() - 1] {
            let h = 1e-5;
            let mut at = |x_i: f64| {
                let mut x = x.clone();
                x[i] = x_i;
                (case.objective)(&x, &mut ignored)
            };
            let difference = (at(x[i] + h) - at(x[i] - h)) / (2.0 * h);
            // Third derivatives of about 1e4 times h², and rounding errors of cost/h.
            assert!((difference - gradient[i]).abs() <= 1e-5 * (1.0 + gradient[i].abs()), "{} {i}", case.name);
        }
    }
}

#[test]
fn known_minima_are_found() {
    for case in cases() {
        // Of each entry: 1e-12 of a few hundred, where the least curvature is 0.2; the steepest entries are at most 1e6.
        let options = until_gradient(1e-12, case.max_iterations);
        let Run { summary, solution, .. } = minimise(&case.objective, &case.start, &options, Arithmetic::F64);
        assert_eq!(summary.termination, Termination::GradientTolerance, "{}: {}", case.name, summary.message());
        let off = distance(&solution, &case.minimum);
        assert!(off <= case.nearness, "{}: {off}", case.name);
        // Most line searches accept their first trial.
        let limit = 2 * summary.iterations + 20;
        assert!(summary.function_evaluations <= limit, "{}: {} evaluations", case.name, summary.function_evaluations);
    }
}

#[test]
fn the_default_tolerances_converge_on_every_function_with_a_smooth_minimum() {
    for case in small_cases() {
        let mut options = LbfgsOptions::defaults();
        options.solve.max_iterations = case.max_iterations;
        let Run { summary, .. } = minimise(&case.objective, &case.start, &options, Arithmetic::F64);
        assert!(summary.success(), "{}: {}", case.name, summary.message());
        assert!(summary.final_cost < summary.initial_cost);
    }
}

#[test]
fn every_accepted_step_satisfies_the_wolfe_conditions() {
    for case in small_cases() {
        for c2 in [0.1, 0.9] {
            // The tolerance ends the runs where changes of the cost are above the noise; below it slopes alone decide.
            let options = LbfgsOptions { c2, max_line_search_steps: 40, ..until_gradient(1e-4, 5000) };
            let Run { summary, points, .. } = minimise(&case.objective, &case.start, &options, Arithmetic::F64);
            assert!(summary.success() && points.len() > 5, "{}: {}", case.name, summary.message());
            for pair in points.windows(2) {
                let (mut before, mut after) = (vec![0.0; case.start.len()], vec![0.0; case.start.len()]);
                let cost = (case.objective)(&pair[0], &mut before);
                let cost_after = (case.objective)(&pair[1], &mut after);
                let step: Vec<f64> = pair[1].iter().zip(&pair[0]).map(|(b, a)| b - a).collect();
                let (slope, slope_after) = (dot(&before, &step), dot(&after, &step));
                // The step is a difference of rounded points.
                let rounding = 1e-12 * (cost.abs() + slope.abs());
                assert!(slope < 0.0, "{}", case.name);
                assert!(cost_after <= cost + options.c1 * slope + rounding, "{}", case.name);
                assert!(slope_after >= c2 * slope - rounding, "{} {slope_after} {slope}", case.name);
            }
        }
    }
}

#[test]
fn a_run_repeats_bit_for_bit() {
    for case in small_cases() {
        let options = until_gradient(1e-9, case.max_iterations);
        let once = || minimise(&case.objective, &case.start, &options, Arithmetic::F64);
        let (first, second) = (once(), once());
        assert_eq!(first.summary, second.summary, "{}", case.name);
        let bits = |points: &[Vec<f64>]| points.concat().iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&first.evaluated), bits(&second.evaluated), "{}", case.name);
    }
}
