//! Newton's method against minima that are known, and where it ends otherwise.

use super::*;
use crate::eval::tests::{block_on, functions, on_cpu};
use crate::eval::{Functions, Objective};
use crate::model::CompileInput;
use crate::model::tests::{Recorder, compiled};
use crate::solve::options::{NewtonOptions, SolveOptions};
use crate::solve::summary::{IterationSummary, Termination};
use crate::solve::{Listener, Solution};
use residua_base::error::ErrorCode;
use residua_ir::graph::Op;
use residua_linalg::loops::semidefinite::Negative;

/// Stops a run after so many iterations.
struct Patience(u32);

impl Listener for Patience {
    fn iteration(&mut self, summary: &IterationSummary) -> bool {
        summary.iteration >= self.0
    }

    fn aborted(&mut self) -> bool {
        false
    }
}

fn solve(f: &mut Functions, options: &NewtonOptions) -> Solution {
    block_on(minimise(f, options, &mut Patience(u32::MAX))).unwrap()
}

fn with(objective: Objective) -> NewtonOptions {
    NewtonOptions { objective, ..NewtonOptions::defaults() }
}

/// Rosenbrock's (1 − x)² + 100 (y − x²)² from (−1.2, 1), as two terms.
fn rosenbrock() -> Functions {
    rosenbrock_plus(0.0)
}

/// The same plus a number.
fn rosenbrock_plus(constant: f64) -> Functions {
    let mut r = Recorder::default();
    let (x, y) = (r.parameter(0), r.parameter(1));
    let (one, hundred) = (r.constant(1.0), r.constant(100.0));
    let rest = r.apply(Op::Sub, &[one, x]);
    let first = r.square(rest);
    let constant = r.constant(constant);
    let first = r.apply(Op::Add, &[first, constant]);
    let square = r.square(x);
    let off = r.apply(Op::Sub, &[y, square]);
    let off = r.square(off);
    let second = r.apply(Op::Mul, &[hundred, off]);
    functions(r, vec![first, second], &[-1.2, 1.0])
}

fn assert_near(found: &[f64], expected: &[f64], tolerance: f64) {
    for (k, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!((found - expected).abs() <= tolerance, "x[{k}]: {found}, not {expected}");
    }
}

#[test]
fn a_valley_is_followed_to_its_minimum() {
    for negative in [Negative::Clamped, Negative::Absolute] {
        let mut f = rosenbrock();
        let Solution { x, summary, details, .. } =
            solve(&mut f, &NewtonOptions { negative, ..NewtonOptions::defaults() });
        assert_eq!(summary.termination, Termination::CostTolerance, "{}", summary.message());
        // The last step is beyond the tolerance of 1e-8, of the square.
        assert_near(&x, &[1.0, 1.0], 1e-9);
        assert!(summary.iterations <= 25, "{} iterations", summary.iterations);
        assert_eq!(f.values(), x, "the solution is the current point");
        assert!(details.linear_solver.starts_with("sparse-cholesky"), "{}", details.linear_solver);
        assert!(summary.history.windows(2).all(|pair| pair[1].cost <= pair[0].cost), "the objective never rises");
    }
}

#[test]
fn a_number_that_is_added_does_not_end_a_run_before_its_minimum() {
    let iterations = [1e6, 1e12, 1e15].map(|constant| {
        let Solution { x, summary, .. } = solve(&mut rosenbrock_plus(constant), &NewtonOptions::defaults());
        assert!(summary.success(), "plus {constant}: {}", summary.message());
        // The promise is 1e-8 of a fall of 24, and the curvature along the valley 0.4.
        assert_near(&x, &[1.0, 1.0], 3e-3);
        summary.iterations
    });
    assert!(iterations.iter().all(|&count| count <= 25), "{iterations:?}");
}

#[test]
fn a_quadratic_takes_one_step_with_all_digits() {
    // ½ (x − 3)² + ½ (x − 2y)² + 5.
    let mut r = Recorder::default();
    let (x, y) = (r.parameter(0), r.parameter(1));
    let [three, two, half, five] = [3.0, 2.0, 0.5, 5.0].map(|number| r.constant(number));
    let first = r.apply(Op::Sub, &[x, three]);
    let double = r.apply(Op::Mul, &[two, y]);
    let second = r.apply(Op::Sub, &[x, double]);
    let outputs = [first, second].map(|difference| {
        let square = r.square(difference);
        r.apply(Op::Mul, &[half, square])
    });
    let outputs = vec![outputs[0], outputs[1], five];
    let mut f = functions(r, outputs, &[-40.0, 17.0]);
    let Solution { x, summary, .. } = solve(&mut f, &NewtonOptions::defaults());
    assert!(summary.success() && summary.iterations <= 2, "{} iterations: {}", summary.iterations, summary.message());
    // Damping is 1e-11 of the diagonal, and the second step takes what it left.
    assert_near(&x, &[3.0, 1.5], 1e-11);
}

/// −log x − log(1 − x) + 3x: a barrier on both sides.
fn barrier(start: f64) -> Functions {
    let mut r = Recorder::default();
    let x = r.parameter(0);
    let (one, three) = (r.constant(1.0), r.constant(3.0));
    let rest = r.apply(Op::Sub, &[one, x]);
    let logs = [x, rest].map(|number| {
        let log = r.apply(Op::Log, &[number]);
        r.apply(Op::Neg, &[log])
    });
    let slope = r.apply(Op::Mul, &[three, x]);
    functions(r, vec![logs[0], logs[1], slope], &[start])
}

#[test]
fn a_step_beyond_a_barrier_is_shortened() {
    // 3x² − 5x + 1 = 0 between 0 and 1.
    let minimum = (5.0 - 13f64.sqrt()) / 6.0;
    for start in [1e-6, 0.5, 1.0 - 1e-6] {
        let mut f = barrier(start);
        let Solution { x, summary, .. } = solve(&mut f, &NewtonOptions::defaults());
        assert!(summary.success(), "from {start}: {}", summary.message());
        assert_near(&x, &[minimum], 1e-7);
    }
    let mut f = barrier(2.0);
    let error = block_on(minimise(&mut f, &NewtonOptions::defaults(), &mut Patience(9))).unwrap_err();
    assert_eq!(error.code, ErrorCode::NonFinite);
    assert_eq!(f.values(), [2.0]);
}

#[test]
fn bounds_hold_the_coordinates_that_would_leave() {
    // The minimum of Rosenbrock's function with x ≤ ½ is (½, ¼); with y ≥ 2 it is at a root of 400x³ − 798x − 2 = 0 near √2.
    let root = (0..50).fold(1.41_f64, |x, _| x - (400.0 * x.powi(3) - 798.0 * x - 2.0) / (1200.0 * x * x - 798.0));
    let infinite = f64::INFINITY;
    for (lower, upper, start, expected) in [
        ([-infinite; 2], [0.5, infinite], [-1.2, 1.0], [0.5, 0.25]),
        ([-infinite, 2.0], [infinite; 2], [1.2, 3.0], [root, 2.0]),
        ([-infinite, 2.0], [infinite; 2], [1.2, 2.0], [root, 2.0]),
        ([3.0, 3.0], [4.0, 4.0], [4.0, 3.0], [3.0, 4.0]),
    ] {
        let mut f = rosenbrock();
        f.set_bounds(lower.to_vec(), upper.to_vec()).unwrap();
        f.set_values(start.to_vec()).unwrap();
        let Solution { x, summary, .. } = solve(&mut f, &NewtonOptions::defaults());
        assert!(summary.success(), "{lower:?} {upper:?}: {}", summary.message());
        assert_near(&x, &expected, 1e-7);
    }
}

#[test]
fn constants_stay_and_what_nothing_holds_does_not_move() {
    let mut f = rosenbrock();
    f.set_constant(vec![true, false]).unwrap();
    let Solution { x, summary, .. } = solve(&mut f, &NewtonOptions::defaults());
    assert!(summary.success(), "{}", summary.message());
    assert_eq!(x[0], -1.2);
    assert_near(&x, &[-1.2, 1.44], 1e-9);
    // Two numbers of which the difference alone counts: the matrix is singular.
    let mut r = Recorder::default();
    let (a, b) = (r.parameter(0), r.parameter(1));
    let difference = r.apply(Op::Sub, &[a, b]);
    let grown = r.apply(Op::Cosh, &[difference]);
    let mut f = functions(r, vec![grown], &[2.0, -1.0]);
    let Solution { x, summary, .. } = solve(&mut f, &NewtonOptions::defaults());
    assert!(summary.success(), "{}", summary.message());
    assert!((x[0] - x[1]).abs() < 1e-6 && x[0].abs() < 3.0, "{x:?}");
}

#[test]
fn constants_have_no_part_in_the_matrix_and_may_be_beyond_their_bounds() {
    // (x − 1)² + c^1.5, whose second derivative by c is infinite at 0.
    let mut r = Recorder::default();
    let (x, c) = (r.parameter(0), r.parameter(1));
    let (one, power) = (r.constant(1.0), r.constant(1.5));
    let off = r.apply(Op::Sub, &[x, one]);
    let square = r.square(off);
    let power = r.apply(Op::Pow, &[c, power]);
    let sum = r.apply(Op::Add, &[square, power]);
    let mut f = functions(r, vec![sum], &[3.0, 0.0]);
    f.set_constant(vec![false, true]).unwrap();
    f.set_bounds(vec![-9.0, 5.0], vec![9.0, 6.0]).unwrap();
    let Solution { x, summary, .. } = solve(&mut f, &NewtonOptions::defaults());
    assert!(summary.success(), "{}", summary.message());
    assert_near(&x, &[1.0, 0.0], 1e-12);
    // The function of x is quadratic: one step of length 2 leads to the minimum, but for the least damping, 1e-11.
    assert!((summary.history[1].step_norm - 2.0).abs() < 1e-10, "{}", summary.history[1].step_norm);
}

#[test]
fn directions_of_length_one_turn_to_the_least_eigenvector() {
    // xᵀAx on the sphere, A = diag(3, 1, 2) + 0.5 in the corners: indefinite in tangent coordinates at the start.
    let mut input = CompileInput::problem();
    input.add_array("x", 3, 1, "unit-vector").unwrap();
    let mut r = Recorder::default();
    let p: Vec<u32> = (0..3).map(|number| r.parameter(number)).collect();
    let mut sum = r.apply(Op::Mul, &[p[0], p[2]]);
    for (k, factor) in [3.0, 1.0, 2.0].into_iter().enumerate() {
        let factor = r.constant(factor);
        let square = r.square(p[k]);
        let term = r.apply(Op::Mul, &[factor, square]);
        sum = r.apply(Op::Add, &[sum, term]);
    }
    let parameters = input.parameter_count(&[0]).unwrap();
    let tape = r.tape_with_data(vec![sum], parameters, 0);
    input.add_residuals("quotient", vec![0], vec![0], Vec::new(), tape).unwrap();
    let mut f = on_cpu(compiled(input), &[0.8, 0.36, 0.48]);
    let Solution { x, summary, .. } = solve(&mut f, &NewtonOptions::defaults());
    assert!(summary.success(), "{}", summary.message());
    // The tolerance of the quotient is 1e-8, of which a Newton step is the square.
    assert_near(&[x[0], x[1].abs(), x[2]], &[0.0, 1.0, 0.0], 1e-6);
    assert!((summary.final_cost - 1.0).abs() < 1e-12, "{}", summary.final_cost);
}

#[test]
fn a_cost_of_long_sums_is_minimised_too() {
    // (Σ xₖ² − 4)² of 70 numbers, and each number's distance from its start.
    let mut r = Recorder::default();
    let p: Vec<u32> = (0..70).map(|number| r.parameter(number)).collect();
    let (mut sum, tenth) = (r.constant(-4.0), r.constant(0.1));
    for &number in &p {
        let square = r.square(number);
        sum = r.apply(Op::Add, &[sum, square]);
    }
    let mut outputs = vec![sum];
    for &number in &p {
        let off = r.apply(Op::Sub, &[number, tenth]);
        outputs.push(r.apply(Op::Mul, &[tenth, off]));
    }
    let x: Vec<f64> = (0..70).map(|k| 0.4 + 0.1 * f64::from(k).cos()).collect();
    let mut f = functions(r, outputs, &x);
    // The sum is short of 4, so that its part of each number's curvature is negative and left out, and steps do not square the error.
    let mut options = with(Objective::LeastSquares);
    options.solve.cost_tolerance = 1e-14;
    let Solution { x, summary, .. } = solve(&mut f, &options);
    assert!(summary.success(), "{}", summary.message());
    // All numbers are equal at the minimum, where 2 (70 x² − 4) x + 0.01 (x − 0.1) = 0.
    let root = (0..50).fold(0.24_f64, |x, _| x - (140.0 * x.powi(3) - 7.99 * x - 0.001) / (420.0 * x * x - 7.99));
    // It ends where the promise is rounding of the fall from 28, 6e-15: the curvature is 0.01 a number, and the last step leaves a part of the error.
    assert_near(&x, &[root; 70], 1e-6);
    // 71 residuals of 70 numbers: (m − n)/2 of its share of the cost, 0.0068.
    assert!(summary.promise.is_some_and(|promise| promise <= 1e-12), "{:?}", summary.promise);
}

#[test]
fn limits_and_the_caller_end_a_run_at_its_best_point() {
    let limited = |max_iterations| {
        let options = NewtonOptions {
            solve: SolveOptions { max_iterations, ..SolveOptions::defaults() },
            ..NewtonOptions::defaults()
        };
        solve(&mut rosenbrock(), &options).summary
    };
    assert_eq!((limited(0).termination, limited(0).history.len()), (Termination::MaxIterations, 1));
    assert_eq!((limited(3).termination, limited(3).iterations), (Termination::MaxIterations, 3));
    let mut f = rosenbrock();
    let stopped = block_on(minimise(&mut f, &NewtonOptions::defaults(), &mut Patience(2))).unwrap();
    assert_eq!((stopped.summary.termination, stopped.summary.iterations), (Termination::Aborted, 2));
    assert!(stopped.summary.final_cost < stopped.summary.initial_cost);
}

#[test]
fn a_direction_without_curvature_is_damped() {
    // sin(x + y) + (x − y)²/10⁴ at (0.1, 0): negative curvature along (1, 1) is clamped, and next to none is left.
    let mut r = Recorder::default();
    let (x, y) = (r.parameter(0), r.parameter(1));
    let sum = r.apply(Op::Add, &[x, y]);
    let wave = r.apply(Op::Sin, &[sum]);
    let difference = r.apply(Op::Sub, &[x, y]);
    let (square, small) = (r.square(difference), r.constant(1e-4));
    let flat = r.apply(Op::Mul, &[square, small]);
    let mut f = functions(r, vec![wave, flat], &[0.1, 0.0]);
    let Solution { x, summary, .. } = solve(&mut f, &NewtonOptions::defaults());
    assert!(summary.success(), "{}", summary.message());
    // A minimum of the sine, whichever.
    assert!((summary.final_cost + 1.0).abs() < 1e-12, "{} at {x:?}", summary.final_cost);
}

#[test]
fn at_a_tolerance_of_zero_a_run_ends_where_rounding_hides_the_fall() {
    let options = NewtonOptions {
        solve: SolveOptions { cost_tolerance: 0.0, ..SolveOptions::defaults() },
        ..NewtonOptions::defaults()
    };
    for mut f in [rosenbrock(), barrier(0.3)] {
        let summary = solve(&mut f, &options).summary;
        assert!(summary.success() && summary.iterations < 60, "{}: {}", summary.iterations, summary.message());
    }
}

#[test]
fn an_objective_without_a_minimum_is_no_success() {
    // eˣ + x/100 falls along −x for ever, and its curvature vanishes there.
    for start in [-3.0, 1.0] {
        let mut r = Recorder::default();
        let (x, share) = (r.parameter(0), r.constant(0.01));
        let outputs = vec![r.apply(Op::Exp, &[x]), r.apply(Op::Mul, &[x, share])];
        let mut f = functions(r, outputs, &[start]);
        let summary = solve(&mut f, &NewtonOptions::defaults()).summary;
        assert!(!summary.success(), "{start}: {} at {}", summary.message(), summary.final_cost);
    }
}
