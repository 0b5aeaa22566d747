//! Whole solves on compiled functions.

use super::*;
use crate::eval::Functions;
use crate::eval::tests::{functions, functions_with_losses};
use crate::model::losses::LossParameters;
use crate::model::tests::Recorder;
use crate::solve::options::TrustRegion;
use crate::solve::{Listener, Solution};
use residua_base::error::ErrorCode;
use residua_ir::graph::Op;
use residua_linalg::Kind;

/// Hears all iterations.
#[derive(Default)]
struct Heard(Vec<IterationSummary>);

impl Listener for Heard {
    fn iteration(&mut self, summary: &IterationSummary) -> bool {
        self.0.push(*summary);
        false
    }

    fn aborted(&mut self) -> bool {
        false
    }
}

fn options() -> LevenbergMarquardtOptions {
    LevenbergMarquardtOptions::defaults()
}

fn solve(functions: &mut Functions, options: &LevenbergMarquardtOptions) -> Solution {
    block_on(minimise_least_squares(functions, &mut SolverResources::default(), options, &mut Heard::default()))
        .unwrap()
}

/// 10(y − x²), 1 − x, and a third parameter that nothing needs.
fn valley(start: &[f64]) -> Functions {
    let mut r = Recorder::default();
    let (x, y) = (r.parameter(0), r.parameter(1));
    let (ten, one) = (r.constant(10.0), r.constant(1.0));
    let square = r.square(x);
    let difference = r.apply(Op::Sub, &[y, square]);
    let outputs = vec![r.apply(Op::Mul, &[ten, difference]), r.apply(Op::Sub, &[one, x])];
    functions(r, outputs, start)
}

#[test]
fn all_linear_solvers_find_the_same_minimum_and_say_what_they_are() {
    for (kind, words) in [
        (None, "dense QR: 2 parameters"),
        (Some(Kind::DenseQr), "dense-qr: as linearSolver says"),
        (Some(Kind::SparseCholesky), "sparse-cholesky: as linearSolver says"),
        (Some(Kind::Pcg), "pcg: as linearSolver says"),
    ] {
        let mut functions = valley(&[-1.2, 1.0]);
        let mut options = LevenbergMarquardtOptions { linear_solver: kind, ..options() };
        options.solve.cost_tolerance = 0.0;
        let solution = solve(&mut functions, &options);
        assert!(solution.summary.success(), "{}", solution.summary.message());
        // gradientTolerance 1e-6 over 0.45², the smallest eigenvalue of JᵀJ.
        assert!(distance(&solution.x, &[1.0, 1.0]) < 5e-6, "{:?}", solution.x);
        assert!(solution.details.linear_solver.starts_with(words), "{}", solution.details.linear_solver);
        assert_eq!(functions.values(), solution.x, "the solution becomes the current parameters");
    }
}

#[test]
fn a_session_keeps_the_linear_systems_of_rows_for_what_was_asked_for() {
    let (mut functions, mut resources) = (valley(&[-1.2, 1.0]), SolverResources::default());
    let mut run = |kind| {
        functions.set_values(vec![-1.2, 1.0]).unwrap();
        let options = LevenbergMarquardtOptions { linear_solver: kind, ..options() };
        let solution =
            block_on(minimise_least_squares(&mut functions, &mut resources, &options, &mut Heard::default())).unwrap();
        assert!(resources.systems.is_some());
        (solution.x, solution.details.linear_solver)
    };
    let first = run(Some(Kind::SparseCholesky));
    assert_eq!(run(Some(Kind::SparseCholesky)), first);
    // Conjugate gradients have products and no rows, and leave the systems as they are.
    assert!(run(Some(Kind::Pcg)).1.starts_with("pcg"));
    assert_eq!(run(Some(Kind::SparseCholesky)), first);
    assert!(run(None).1.starts_with("dense QR"));
    assert_eq!(run(Some(Kind::SparseCholesky)), first);
}

#[test]
fn a_second_solve_analyses_no_pattern() {
    for kind in [Kind::SparseCholesky, Kind::SparseSchur, Kind::IterativeSchur] {
        let (mut functions, mut resources) = (valley(&[-1.2, 1.0]), SolverResources::default());
        let options = LevenbergMarquardtOptions { linear_solver: Some(kind), ..options() };
        let mut run = |resources: &mut SolverResources| {
            functions.set_values(vec![-1.2, 1.0]).unwrap();
            let listener = &mut Heard::default();
            block_on(minimise_least_squares(&mut functions, resources, &options, listener)).unwrap()
        };
        let first = run(&mut resources);
        // Systems that are made anew have words of their own.
        resources.systems.as_mut().unwrap().chosen.why = "kept".to_owned();
        let second = run(&mut resources);
        assert_eq!((second.details.linear_solver.as_str(), second.x), ("kept", first.x), "{kind:?}");
    }
}

#[test]
fn a_second_solve_begins_where_the_first_ended() {
    let mut functions = valley(&[-1.2, 1.0]);
    let mut options = options();
    options.solve.max_iterations = 2;
    let first = solve(&mut functions, &options);
    let second = solve(&mut functions, &options);
    assert_eq!(second.summary.initial_cost, first.summary.final_cost);
    assert!(second.summary.final_cost < first.summary.final_cost);
}

#[test]
fn a_violated_start_is_projected_and_the_message_says_so() {
    let mut functions = valley(&[-1.2, 1.0]);
    functions.set_bounds(vec![0.0, -9.0], vec![0.5, 9.0]).unwrap();
    let solution = solve(&mut functions, &options());
    let words = "1 starting value was out of bounds and was moved to the nearest bound. Converged";
    assert!(solution.summary.message().starts_with(words), "{}", solution.summary.message());
    // At x = ½ the best y is ¼; costTolerance 1e-6 of a cost of ⅛, over a Hessian of 100.
    assert_eq!(solution.x[0], 0.5);
    assert!((solution.x[1] - 0.25).abs() < 1e-4, "{:?}", solution.x);
}

#[test]
fn a_start_that_is_not_finite_names_its_place() {
    let mut r = Recorder::default();
    let (x, y) = (r.parameter(0), r.parameter(1));
    let outputs = vec![r.apply(Op::Add, &[x, y]), r.apply(Op::Sqrt, &[y])];
    let mut with_nan = functions(r, outputs, &[1.0, -1.0]);
    let solve = |functions: &mut Functions| {
        block_on(minimise_least_squares(functions, &mut SolverResources::default(), &options(), &mut Heard::default()))
            .unwrap_err()
    };
    let error = solve(&mut with_nan);
    assert_eq!(error.code, ErrorCode::NonFinite);
    assert!(error.message.starts_with("residual 1 is NaN at the start"), "{}", error.message);
    with_nan.set_values(vec![f64::INFINITY, 1.0]).unwrap();
    let error = solve(&mut with_nan);
    assert!(error.message.starts_with("parameter 0 is inf at the start"), "{}", error.message);
}

#[test]
fn robust_losses_leave_outliers_aside() {
    let mut r = Recorder::default();
    let x = r.parameter(0);
    let data = [1.0, 1.1, 0.9, 1.0, 50.0];
    let outputs = data
        .iter()
        .map(|&datum| {
            let datum = r.constant(datum);
            r.apply(Op::Sub, &[x, datum])
        })
        .collect();
    let mut functions = functions_with_losses(r, outputs, &[10.0]);
    let plain = solve(&mut functions, &options());
    assert!((plain.x[0] - 10.8).abs() < 1e-6, "the mean: {:?}", plain.x);
    for (kind, scale, within) in [("huber", 0.5, 0.15), ("cauchy", 0.5, 0.05), ("tukey", 20.0, 0.05)] {
        functions.set_values(vec![3.0]).unwrap();
        functions.set_loss(0, LossParameters::new(kind, scale, 1.0, 1.0).unwrap()).unwrap();
        let robust = solve(&mut functions, &options());
        assert!(robust.summary.success(), "{kind}: {}", robust.summary.message());
        // Huber's outlier pulls with its scale: 0.5 over four residuals; of the others next to nothing is left.
        assert!((robust.x[0] - 1.0).abs() < within, "{kind}: {:?}", robust.x);
    }
}

#[test]
fn a_solve_is_bitwise_the_same_twice_but_for_its_times() {
    let history = || {
        let solution = solve(&mut valley(&[-1.2, 1.0]), &options());
        let timeless = |iteration: &IterationSummary| IterationSummary { elapsed_ms: 0.0, ..*iteration };
        solution.summary.history.iter().map(timeless).collect::<Vec<_>>()
    };
    let (first, second) = (history(), history());
    assert!(first.len() > 2);
    assert_eq!(first, second, "no figure of this run is NaN");
}

#[test]
fn sizes_count_what_is_free_and_takes_part() {
    use crate::eval::Sizes;
    let mut functions = valley(&[0.0; 4]);
    let mut constant = vec![false; 4];
    let size = |blocks, residuals| Sizes {
        parameter_blocks: blocks,
        parameters: blocks,
        effective_parameters: blocks,
        residual_blocks: residuals,
        residuals,
    };
    assert_eq!(functions.sizes(), [size(4, 2); 2]);
    // 1 − x depends on x alone.
    constant[0] = true;
    functions.set_constant(constant).unwrap();
    assert_eq!(functions.sizes(), [size(4, 2), size(3, 1)]);
    functions.set_enabled(0, false).unwrap();
    assert_eq!(functions.sizes(), [size(4, 2), size(3, 0)]);
}

/// Differences along the sides of a square grid to the next two places, which are to be those of a wave, and numbers that are to be 0, which weigh `pull`.
fn sheet(side: usize, pull: f64) -> Functions {
    let mut r = Recorder::default();
    let pull = r.constant(pull);
    let u = (0..side * side).map(|k| r.parameter(k as u32)).collect::<Vec<_>>();
    let mut outputs: Vec<_> = u.iter().map(|&u| r.apply(Op::Mul, &[pull, u])).collect();
    for k in 0..side * side {
        let (row, column) = (k / side, k % side);
        let along = [1, 2].map(|reach| (column + reach < side).then_some(k + reach));
        let across = [1, 2].map(|reach| (row + reach < side).then_some(k + reach * side));
        for neighbour in along.iter().chain(&across).flatten() {
            let wave = r.constant((0.3 * k as f64).sin());
            let difference = r.apply(Op::Sub, &[u[*neighbour], u[k]]);
            outputs.push(r.apply(Op::Sub, &[difference, wave]));
        }
    }
    functions(r, outputs, &vec![0.0; side * side])
}

#[test]
fn conjugate_gradients_make_way_for_a_factorisation_that_is_faster() {
    let words = "sparse Cholesky: 3,600 parameters";
    for (pull, begins, ends) in [
        (1.0, "conjugate gradients: 3,600 parameters, J 0.05 % filled, while they take at most ", "would be worth"),
        // A condition of some 10⁷: more iterations than the fifty that are allowed.
        (1e-3, words, ", since conjugate gradients took as long"),
    ] {
        let solution = solve(&mut sheet(60, pull), &options());
        let said = &solution.details.linear_solver;
        assert!(said.starts_with(begins) && said.ends_with(ends), "{said}");
        let direct = LevenbergMarquardtOptions { linear_solver: Some(Kind::SparseCholesky), ..options() };
        let exact = solve(&mut sheet(60, pull), &direct);
        // Both stop when a step gains less than costTolerance, a millionth; the cost is quadratic, and a step leaves a thousandth of its error.
        let (cost, expected) = (solution.summary.final_cost, exact.summary.final_cost);
        assert!((cost / expected - 1.0).abs() < 1e-6, "{cost} {expected}");
        let iterations = [&solution, &exact].map(|solution| solution.summary.iterations);
        // A step of conjugate gradients leaves a thousandth, and the one that shows a minimum comes after two such.
        assert!(iterations[0] <= iterations[1] + 2, "{iterations:?}");
    }
}

#[test]
fn a_trial_that_a_limit_of_iterations_cuts_makes_way_too() {
    let mut options = options();
    options.max_linear_iterations = 3;
    let solution = solve(&mut sheet(60, 1.0), &options);
    assert!(solution.summary.success(), "{}", solution.summary.message());
    let said = &solution.details.linear_solver;
    assert!(said.ends_with(", since conjugate gradients took as long"), "{said}");
}

#[test]
fn a_solve_that_ends_while_it_makes_the_kernels_of_rows_does_not_count_as_the_first() {
    let (mut functions, mut resources) = (sheet(30, 1.0), SolverResources::default());
    let mut run = |max_time_ms: f64| {
        let mut options = options();
        options.solve.max_time_ms = max_time_ms;
        block_on(minimise_least_squares(&mut functions, &mut resources, &options, &mut Heard::default())).unwrap()
    };
    assert!(run(1e-6).summary.history.is_empty(), "its kernels have several pieces");
    // The factorisation is too short for products at once, and long enough for them once there has been a solve in rows.
    for solver in ["sparse Cholesky", "conjugate gradients"] {
        let said = run(f64::INFINITY).details.linear_solver;
        assert!(said.starts_with(solver), "{said}");
    }
}

/// Has aborted from the start.
struct Aborting;

impl Listener for Aborting {
    fn iteration(&mut self, _: &IterationSummary) -> bool {
        true
    }

    fn aborted(&mut self) -> bool {
        true
    }
}

#[test]
fn an_end_before_the_start_is_known_says_what_other_ends_say_and_an_abort_comes_first() {
    let late = ", 0.000001 milliseconds, before the cost of the start was known.";
    // Kernels of products are made before the run begins, those of rows in it.
    for kind in [Kind::Pcg, Kind::SparseCholesky] {
        let mut options = LevenbergMarquardtOptions { linear_solver: Some(kind), ..options() };
        options.solve.max_time_ms = 1e-6;
        for (listener, termination, says) in [
            (&mut Heard::default() as &mut dyn Listener, Termination::MaxTime, late),
            (&mut Aborting, Termination::Aborted, "Stopped by the caller."),
        ] {
            let mut functions = sheet(12, 1.0);
            functions.set_enabled(0, false).unwrap();
            let mut resources = SolverResources::default();
            let solution =
                block_on(minimise_least_squares(&mut functions, &mut resources, &options, listener)).unwrap();
            let Solution { summary, details, .. } = solution;
            assert_eq!((summary.termination, summary.history.len()), (termination, 0), "{kind:?}");
            assert!(summary.initial_cost.is_nan() && summary.final_cost.is_nan());
            assert!(summary.message().ends_with(says), "{}", summary.message());
            assert_eq!(details.times[0].0, "setup");
        }
    }
}

#[test]
fn the_dogleg_takes_a_factorisation_and_no_trial() {
    let dogleg =
        |linear_solver| LevenbergMarquardtOptions { trust_region: TrustRegion::Dogleg, linear_solver, ..options() };
    let solution = solve(&mut sheet(90, 1.0), &dogleg(None));
    let said = &solution.details.linear_solver;
    assert!(said.starts_with("sparse Cholesky: 8,100 parameters") && !said.contains("while they take"), "{said}");
    // Linear residuals: the first step is the last that counts, and the second shows it.
    assert!(solution.summary.success() && solution.summary.iterations <= 2, "{}", solution.summary.message());
    for kind in [Kind::DenseQr, Kind::SparseCholesky] {
        let solution = solve(&mut valley(&[-1.2, 1.0]), &dogleg(Some(kind)));
        assert!(solution.summary.success(), "{}", solution.summary.message());
        // parameterTolerance 1e-8, and quadratic convergence.
        assert!(distance(&solution.x, &[1.0, 1.0]) < 1e-7, "{:?}", solution.x);
    }
    // In normal equations, and in rows once these are ill-conditioned.
    let least = solve(&mut polynomial(), &LevenbergMarquardtOptions { linear_solver: None, ..options() });
    let other = solve(&mut polynomial(), &dogleg(None));
    // costTolerance 1e-8 of steps to the minimum.
    assert!(other.summary.final_cost <= least.summary.final_cost * (1.0 + 1e-6), "{}", other.summary.message());
}

/// A polynomial of degree 15 through samples of a wave on [0, 100]: its normal equations are singular in this arithmetic once little damping is left.
fn polynomial() -> Functions {
    let mut r = Recorder::default();
    let coefficients: Vec<_> = (0..16).map(|k| r.parameter(k)).collect();
    let mut outputs = Vec::new();
    for sample in 0..1000 {
        let at = (f64::from(sample) + 0.5) / 10.0;
        let (t, wave) = (r.constant(at), r.constant((5.0 * (at / 50.0 - 1.0)).sin()));
        let mut value = coefficients[15];
        for &coefficient in coefficients[..15].iter().rev() {
            let product = r.apply(Op::Mul, &[value, t]);
            value = r.apply(Op::Add, &[product, coefficient]);
        }
        outputs.push(r.apply(Op::Sub, &[value, wave]));
    }
    functions(r, outputs, &[0.0; 16])
}

#[test]
fn a_system_without_a_solution_raises_the_damping_and_ends_nothing() {
    let mut options = LevenbergMarquardtOptions { linear_solver: Some(Kind::SparseCholesky), ..options() };
    options.solve.max_iterations = 60;
    options.initial_damping = Some(0.0);
    let summary = solve(&mut polynomial(), &options).summary;
    // The first line is the start, which has no system.
    let singular = summary.history[1..].iter().find(|iteration| iteration.linear_iterations.is_none());
    let singular = singular.expect("no system was singular").iteration;
    assert_ne!(summary.termination, Termination::NonFinite, "{}", summary.message());
    let after = &summary.history[singular as usize + 1..];
    assert!(after.iter().any(|iteration| iteration.accepted), "{singular}: {after:?}");
}

/// sinh of the differences of neighbours, of which each is 1: a common motion is free.
fn free_chain(count: u32) -> Functions {
    let mut r = Recorder::default();
    let one = r.constant(1.0);
    let outputs = (1..count)
        .map(|k| {
            let (before, after) = (r.parameter(k - 1), r.parameter(k));
            let difference = r.apply(Op::Sub, &[after, before]);
            let sinh = r.apply(Op::Sinh, &[difference]);
            r.apply(Op::Sub, &[sinh, one])
        })
        .collect();
    functions(r, outputs, &vec![0.0; count as usize])
}

#[test]
fn damping_that_a_free_motion_needs_is_reported() {
    let mut functions = free_chain(200);
    let options = LevenbergMarquardtOptions { linear_solver: Some(Kind::SparseCholesky), ..options() };
    // The last pivot is a rounding error.
    let summary = solve(&mut functions, &options).summary;
    let (message, SolveSummary { history, final_cost, .. }) = (summary.message(), summary);
    assert!(final_cost < 1e-20, "{message}");
    let unsolved = history.iter().filter(|iteration| iteration.linear_iterations.is_none()).count() - 1;
    assert_eq!(unsolved, 1, "one system shows that the damping is too small: {history:?}");
    let expected = "Linear systems without a solution: 1. They were damped by 1.0e-12 of their diagonals";
    assert!(message.contains(expected) && message.contains("rank()"), "{message}");
    // A chain whose end is held has no free motion.
    let mut constant = vec![false; 200];
    constant[0] = true;
    functions.set_constant(constant).unwrap();
    functions.set_values(vec![0.0; 200]).unwrap();
    let held = solve(&mut functions, &options).summary;
    assert!(held.final_cost < 1e-20 && held.findings.is_empty(), "{}", held.message());
}

#[test]
fn iterations_on_a_schur_complement_end_where_a_factorisation_does_and_say_when_they_are_cut_short() {
    let solved = |kind, most: u32| {
        let mut options = LevenbergMarquardtOptions { linear_solver: Some(kind), ..options() };
        options.max_linear_iterations = most;
        let mut functions = valley(&[-1.2, 1.0]);
        solve(&mut functions, &options)
    };
    let solution = solved(Kind::IterativeSchur, 500);
    assert!(solution.summary.success(), "{}", solution.summary.message());
    assert!(distance(&solution.x, &solved(Kind::SparseCholesky, 500).x) < 1e-6, "{:?}", solution.x);
    assert_eq!(solution.details.linear_solver, "iterative-schur: as linearSolver says");
    assert!(
        solution.summary.history[1..].iter().all(|iteration| iteration.linear_iterations <= Some(1)),
        "one is left of two"
    );
}

/// Springs of length 1 that close a ring of so many points, which lie around a circle of that circumference and out of its plane by up to 0.2.
fn ring(points: u32) -> Functions {
    let mut r = Recorder::default();
    let one = r.constant(1.0);
    let coordinates: Vec<u32> = (0..3 * points).map(|number| r.parameter(number)).collect();
    let springs = (0..points).map(|a| {
        let b = (a + 1) % points;
        let squares = [0, 1, 2].map(|axis| {
            let ends = [a, b].map(|point| coordinates[(3 * point + axis) as usize]);
            let difference = r.apply(Op::Sub, &ends);
            r.square(difference)
        });
        let sum = squares.into_iter().reduce(|sum, square| r.apply(Op::Add, &[sum, square])).unwrap();
        let length = r.apply(Op::Norm, &[sum]);
        r.apply(Op::Sub, &[length, one])
    });
    let springs = springs.collect();
    let place = |point: u32| {
        let (turn, wave) = (std::f64::consts::TAU * f64::from(point) / f64::from(points), f64::from(point * point));
        let radius = f64::from(points) / std::f64::consts::TAU + 0.2 * (3.0 * wave).sin();
        [radius * turn.cos(), radius * turn.sin(), 0.2 * wave.cos()]
    };
    functions(r, springs, &(0..points).flat_map(place).collect::<Vec<_>>())
}

#[test]
fn springs_that_leave_directions_free_come_to_rest() {
    let solution = solve(&mut ring(200), &options());
    assert!(solution.details.linear_solver.starts_with("sparse Cholesky"), "{}", solution.details.linear_solver);
    let SolveSummary { iterations, final_cost, .. } = solution.summary;
    assert!(solution.summary.success() && final_cost < 1e-20, "{final_cost} after {iterations} iterations");
    assert!(iterations <= 20, "{iterations} iterations");
}
