//! One decision of the loop each, over residuals of a few lines.

use super::*;
use crate::solve::options::SolveOptions;

const NAN: f64 = f64::NAN;

/// A preconditioner block of both coordinates of a problem.
const BOTH: usize = 2;

/// No tolerance: the run uses its iterations up.
fn without_tolerances(max_iterations: u32) -> SolveOptions {
    SolveOptions {
        max_iterations,
        cost_tolerance: 0.0,
        gradient_tolerance: 0.0,
        parameter_tolerance: 0.0,
        ..SolveOptions::defaults()
    }
}

#[test]
fn rosenbrock_is_solved_by_each_way_of_solving_systems() {
    for pcg_blocks in [None, Some(BOTH)] {
        let mut fake = Fake { pcg_blocks, ..Fake::new(&rosenbrock, &[-1.2, 1.0]) };
        fake.options.solve = SolveOptions { gradient_tolerance: 1e-12, ..without_tolerances(100) };
        let run = run(&fake);
        assert!(run.summary.success(), "{}", run.summary.message());
        // J at the minimum has a singular value of 0.45: a gradient of 1e-12 is an error of 5e-12 at most.
        assert!(distance(&run.point, &[1.0, 1.0]) < 5e-12, "{:?}", run.point);
        assert!(run.summary.history.windows(2).all(|two| two[1].cost <= two[0].cost), "the cost never rises");
        let rejected = run.summary.history.iter().filter(|iteration| !iteration.accepted).count();
        assert_eq!(run.linearised.len() + rejected, run.summary.history.len(), "a model for each accepted point");
    }
}

#[test]
fn a_step_that_meets_nan_is_rejected_and_the_next_is_a_quarter_as_long() {
    // The first steps lead beyond 2, where the residual is NaN.
    let wall = |x: &[f64]| {
        let r = if x[0] > 2.0 { NAN } else { x[0] - 10.0 };
        (vec![r], vec![vec![1.0]])
    };
    let mut fake = Fake::new(&wall, &[0.0]);
    fake.options.solve = without_tolerances(12);
    let run = run(&fake);
    let history = &run.summary.history;
    assert!(!history[1].accepted && !history[2].accepted && history[1].gain_ratio.unwrap().is_nan());
    // Lengths on the surface of the ball are exact to a tenth.
    let [first, second] = [1, 2].map(|k: usize| history[k].step_norm);
    assert!(first == 10.0 && (second / 2.5 - 1.0).abs() <= 0.1 && history[3].accepted, "{first} {second}");
    assert_eq!(history[1].cost, 50.0);
    assert!(history.last().unwrap().cost < 50.0 && run.point[0] <= 2.0, "short steps are accepted again");
}

#[test]
fn nothing_but_nan_ahead_is_non_finite_and_keeps_the_start() {
    let alone = |x: &[f64]| (vec![if x[0] == 3.0 { 1.0 } else { NAN }], vec![vec![1.0]]);
    let run = run(&Fake::new(&alone, &[3.0]));
    assert_eq!(run.summary.termination, Termination::NonFinite, "{}", run.summary.message());
    assert_eq!((run.point[0], run.summary.final_cost), (3.0, 0.5));
    assert!(!run.summary.failed_at_start());
}

#[test]
fn a_derivative_that_is_nan_at_the_trial_point_rejects_the_step() {
    let kink = |x: &[f64]| (vec![x[0]], vec![vec![if x[0] < 0.5 { NAN } else { 1.0 }]]);
    let mut fake = Fake::new(&kink, &[1.0]);
    fake.options.solve = without_tolerances(6);
    let run = run(&fake);
    let first = run.summary.history[1];
    assert!(!first.accepted && first.cost_change.is_nan(), "{first:?}");
    assert_eq!(run.linearised[2], [1.0], "the model of the point is made again");
    assert!(run.point[0] >= 0.5 && run.summary.final_cost < 0.5, "{:?}", run.point);
}

#[test]
fn a_start_that_is_not_finite_ends_the_run_before_any_step() {
    for (residual, derivative) in [(NAN, 1.0), (f64::INFINITY, 1.0), (1.0, NAN), (1e200, 1.0)] {
        let run = run(&Fake::new(&|_: &[f64]| (vec![residual], vec![vec![derivative]]), &[0.0]));
        assert!(run.summary.failed_at_start(), "{residual}, {derivative}: {}", run.summary.message());
        assert!(run.tried.is_empty());
    }
}

#[test]
fn a_column_of_zeros_leaves_its_coordinate_and_moves_the_others() {
    for pcg_blocks in [None, Some(BOTH)] {
        let flat = |x: &[f64]| (vec![x[0] - 3.0], vec![vec![1.0, 0.0]]);
        let run = run(&Fake { pcg_blocks, ..Fake::new(&flat, &[0.0, 7.0]) });
        assert!(run.summary.success(), "{}", run.summary.message());
        // The default gradientTolerance, and a Hessian of 1.
        assert!((run.point[0] - 3.0).abs() <= 1e-6);
        assert_eq!(run.point[1], 7.0);
    }
}

#[test]
fn dependent_columns_share_the_step() {
    for pcg_blocks in [None, Some(BOTH)] {
        let sum = |x: &[f64]| (vec![x[0] + x[1] - 4.0; 2], vec![vec![1.0, 1.0]; 2]);
        let run = run(&Fake { pcg_blocks, ..Fake::new(&sum, &[0.0, 0.0]) });
        assert!(run.summary.success(), "{}", run.summary.message());
        // As above, with a Hessian of 4 along the only direction that counts.
        assert!((run.point[0] + run.point[1] - 4.0).abs() <= 1e-6);
        // Singular values give the shortest of all steps. A preconditioner of dependent columns is rounding.
        let difference = (run.point[0] - run.point[1]).abs();
        assert!(difference < 1e-11 || pcg_blocks.is_some(), "{:?}", run.point);
    }
}

#[test]
fn a_flat_cost_has_converged_at_the_start() {
    let run = run(&Fake::new(&|_: &[f64]| (vec![2.0], vec![vec![0.0]]), &[5.0]));
    assert_eq!(run.summary.termination, Termination::GradientTolerance);
    assert_eq!(run.summary.message(), "Converged: the gradient is zero.");
    assert_eq!((run.summary.iterations, run.point[0]), (0, 5.0));
}

#[test]
fn a_wrong_gradient_ends_with_a_collapsed_trust_region() {
    // By its derivative the cost falls to the right; it falls nowhere.
    let wrong = |x: &[f64]| (vec![1.0 + x[0].abs()], vec![vec![-1.0]]);
    let mut fake = Fake::new(&wrong, &[0.0]);
    fake.options.solve = without_tolerances(100);
    let run = run(&fake);
    assert_eq!(run.summary.termination, Termination::TrustRegionCollapsed, "{}", run.summary.message());
    assert_eq!(run.point, [0.0]);
}

#[test]
fn hidden_steps_are_accepted_while_their_predicted_reductions_halve_and_then_no_progress_is_possible() {
    // The cost is 1e16: the reduction by a step of 1 at a slope of 1 is below its rounding.
    let hidden = |x: &[f64]| (vec![1.4e8, x[0]], vec![vec![0.0], vec![1.0]]);
    let mut fake = Fake::new(&hidden, &[1.0]);
    // The cosine at the start is 7e-9.
    fake.options.solve = SolveOptions { gradient_tolerance: 1e-15, ..without_tolerances(100) };
    let seen = run(&fake);
    assert_eq!(seen.summary.termination, Termination::GradientTolerance, "{}", seen.summary.message());
    // Here the predicted reduction stays the same.
    let constant = |_: &[f64]| (vec![1.4e8, 1.0], vec![vec![0.0], vec![1.0]]);
    let stuck = run(&Fake { residuals: &constant, ..fake.clone() });
    assert_eq!(stuck.summary.termination, Termination::CostTolerance, "{}", stuck.summary.message());
    assert!(
        stuck.summary.message().starts_with("Converged: no further progress is possible"),
        "{}",
        stuck.summary.message()
    );
    assert_eq!(stuck.summary.iterations, 2, "one hidden step is accepted");
    // A residual of 10⁴ is little beside the standard deviation of 1.4 · 10⁸, and a parameter of 10¹⁶ makes residuals uncertain by some units.
    let coarse = |_: &[f64]| (vec![1.4e8, 1e4], vec![vec![0.0], vec![1.0]]);
    let cut = run(&Fake { residuals: &coarse, start: vec![1e16], ..fake });
    assert_eq!(cut.summary.termination, Termination::CostTolerance, "{}", cut.summary.message());
}

#[test]
fn a_step_is_projected_on_bounds_and_its_projection_is_judged() {
    let coupled = |x: &[f64]| (vec![x[0] + 0.5 * x[1] - 3.0, x[1] - x[0] - 1.0], vec![vec![1.0, 0.5], vec![-1.0, 1.0]]);
    for pcg_blocks in [None, Some(BOTH)] {
        let mut fake = Fake { pcg_blocks, ..Fake::new(&coupled, &[0.0, 0.0]) };
        fake.bounds = (vec![-1.0, 0.0], vec![1.0, 10.0]);
        fake.options.solve = SolveOptions { gradient_tolerance: 1e-10, ..without_tolerances(50) };
        let run = run(&fake);
        assert_eq!(run.summary.termination, Termination::GradientTolerance, "{}", run.summary.message());
        // At x = 1 the best y is where 0.5(0.5y − 2) + (y − 2) = 0.
        assert_eq!(run.point[0], 1.0, "a bound is reached exactly");
        assert!((run.point[1] - 2.4).abs() < 1e-9, "gradientTolerance over a Hessian of 1.25: {:?}", run.point);
    }
}

#[test]
fn a_coordinate_whose_gradient_leads_inside_is_held_where_a_step_would_take_it_out() {
    // W. Hock and K. Schittkowski, problem 2: the valley goes through the bound, and 100(1.5 − x²)² + (1 − x)² has a minimum of 4.9412293 there.
    for pcg_blocks in [None, Some(BOTH)] {
        let mut fake = Fake { pcg_blocks, ..Fake::new(&rosenbrock, &[-2.0, 1.5]) };
        fake.bounds = (vec![f64::NEG_INFINITY, 1.5], vec![f64::INFINITY; 2]);
        let run = run(&fake);
        assert!(run.summary.success(), "{}", run.summary.message());
        assert_eq!(run.point[1], 1.5);
        // The tolerance is that of the digits above.
        assert!((2.0 * run.summary.final_cost - 4.941_229_3).abs() < 1e-6, "{}", run.summary.final_cost);
    }
}

/// Residuals xⱼ and 10 + ½bⱼxⱼ²: at the minimum, 0, second derivatives add 10bⱼ to the 1 of JᵀJ, so that a full step leaves −10bⱼ of xⱼ.
fn overshooting(b: &[f64]) -> impl Fn(&[f64]) -> (Vec<f64>, Vec<Vec<f64>>) {
    move |x| {
        let row = |column: usize, entry: f64| (0..x.len()).map(|k| if k == column { entry } else { 0.0 }).collect();
        let pairs = x.iter().zip(b).enumerate();
        pairs.flat_map(|(j, (x, b))| [(*x, row(j, 1.0)), (10.0 + 0.5 * b * x * x, row(j, b * x))]).unzip()
    }
}

#[test]
fn a_step_that_the_model_overstates_makes_the_radius_no_longer_where_it_meets_a_tolerance() {
    let residuals = overshooting(&[0.098]);
    let mut fake = Fake::new(&residuals, &[1.0]);
    // Each step changes the cost by less than that, from 50. The first one is not cut.
    fake.options.solve.cost_tolerance = 0.05;
    fake.options.initial_damping = Some(1e-6);
    let run = run(&fake);
    assert!(run.summary.success(), "{}", run.summary.message());
    // A full step leaves 0.98 of x with the other sign, so that full steps alone take hundreds.
    assert!(run.summary.iterations <= 8, "{}", run.summary.iterations);
}

#[test]
fn many_coordinates_take_second_derivatives_where_the_model_misses() {
    let b: Vec<f64> = (0..40).map(|j| 0.002 * f64::from(j)).collect();
    let residuals = overshooting(&b);
    let start: Vec<f64> = (0..40).map(|j| (f64::from(j) + 1.0).sin()).collect();
    let iterations = [true, false].map(|has_second_derivatives| {
        let run = run(&Fake { has_second_derivatives, ..Fake::new(&residuals, &start) });
        assert!(run.summary.success(), "{}", run.summary.message());
        run.summary.iterations
    });
    // Without them the worst coordinate keeps 0.78 of itself with each full step; with them convergence is quadratic.
    assert!(iterations[0] <= 8 && iterations[1] > 2 * iterations[0], "{iterations:?}");
}

#[test]
fn constants_keep_every_bit() {
    let start = [0.1 + 0.2, -1.0];
    let mut fake = Fake::new(&rosenbrock, &start);
    fake.constant = vec![1, 0];
    fake.bounds = (vec![5.0, -9.0], vec![6.0, 9.0]);
    let run = run(&fake);
    assert!(run.summary.success());
    assert_eq!(run.point[0].to_bits(), start[0].to_bits(), "bounds do not move a constant");
    // gradientTolerance over a Hessian of 100.
    assert!((run.point[1] - start[0] * start[0]).abs() <= 1e-8);
}

#[test]
fn on_a_sphere_the_nearest_direction_is_found_and_the_length_kept() {
    let target = [2.0, -1.0, 2.0];
    // Partials with respect to the tangent coordinates: −target times the basis.
    let residuals = |x: &[f64]| {
        let mut g = residua_ir::graph::Graph::new();
        let point: Vec<_> = (0..3).map(|i| g.input(residua_ir::graph::InputId(i))).collect();
        let rows: Vec<Vec<_>> = (0..3)
            .map(|row| {
                let unit: Vec<_> = (0..3).map(|i| (i == row).then(|| g.literal(1.0))).collect();
                crate::model::manifolds::tangent_partials(&mut g, Manifold::UnitVector, &point, &unit)
            })
            .collect();
        let values = g.check(3).unwrap().evaluate(x);
        let row =
            |row: &Vec<Option<residua_ir::graph::NodeId>>| row.iter().map(|n| values[n.unwrap().index()]).collect();
        ((0..3).map(|i| x[i] - target[i]).collect(), rows.iter().map(row).collect())
    };
    let mut fake = Fake { manifold: Manifold::UnitVector, ..Fake::new(&residuals, &[0.0, 0.0, -1.0]) };
    fake.options.solve.cost_tolerance = 0.0;
    let run = run(&fake);
    assert!(run.summary.success(), "{}", run.summary.message());
    // gradientTolerance 1e-6 over a Hessian of |target| = 3.
    assert!(distance(&run.point, &target.map(|t| t / 3.0)) < 1e-6, "{:?}", run.point);
    let length = run.point.iter().map(|x| x * x).sum::<f64>();
    assert!((length - 1.0).abs() < 1e-15, "normalised at each step: {length}");
}

#[test]
fn without_tolerances_all_iterations_are_made() {
    let linear = |x: &[f64]| (vec![x[0] - 1.0, 2.0], vec![vec![1.0], vec![1.0]]);
    let mut fake = Fake::new(&linear, &[3.0]);
    fake.options.solve = without_tolerances(9);
    let run = run(&fake);
    assert_eq!((run.summary.termination, run.summary.iterations), (Termination::MaxIterations, 9));
}

#[test]
fn limits_and_the_caller_end_a_run_and_the_best_point_is_kept() {
    let mut fake = Fake::new(&rosenbrock, &[-1.2, 1.0]);
    fake.options.solve.max_iterations = 0;
    let none = run(&fake);
    assert_eq!((none.summary.termination, none.summary.history.len()), (Termination::MaxIterations, 1));
    assert_eq!(none.point, [-1.2, 1.0]);

    fake.options.solve.max_iterations = 100;
    fake.options.solve.max_time_ms = 20.0;
    let late = run(&fake);
    assert_eq!(late.summary.termination, Termination::MaxTime);
    assert!(late.summary.message().contains("maxTimeMs, 20"), "{}", late.summary.message());

    fake.options.solve.max_time_ms = f64::INFINITY;
    let stopped = run_with(&fake, |iteration, stop| *stop = iteration.iteration == 3);
    assert_eq!((stopped.summary.termination, stopped.summary.iterations), (Termination::Aborted, 3));
    assert_eq!(stopped.summary.final_cost, stopped.summary.history[3].cost);
    assert!(stopped.summary.final_cost <= stopped.summary.initial_cost);
}

#[test]
fn a_run_repeats_bit_for_bit() {
    for pcg_blocks in [None, Some(BOTH)] {
        let fake = Fake { pcg_blocks, ..Fake::new(&rosenbrock, &[-1.2, 1.0]) };
        assert_eq!(run(&fake).summary, run(&fake).summary, "the clock of these tests repeats, too");
    }
}

#[test]
fn conjugate_gradients_stop_at_the_forcing_term_or_their_limit_and_report_their_iterations() {
    let diagonal: Vec<f64> = (0..40).map(|i| 1.0 + f64::from(i)).collect();
    let residuals = |x: &[f64]| {
        // A ring couples neighbours, so that a diagonal preconditioner does not solve it at once.
        let r: Vec<f64> = (0..40).map(|i| diagonal[i] * x[i] - x[(i + 1) % 40] - 1.0).collect();
        let row = |i: usize| {
            let mut row = vec![0.0; 40];
            row[i] += diagonal[i];
            row[(i + 1) % 40] -= 1.0;
            row
        };
        (r, (0..40).map(row).collect())
    };
    let iterations = |block: usize, tolerance: f64, most: u32| {
        let mut fake = Fake { pcg_blocks: Some(block), ..Fake::new(&residuals, &[0.0; 40]) };
        fake.options.linear_tolerance = tolerance;
        fake.options.max_linear_iterations = most;
        fake.options.solve = without_tolerances(1);
        run(&fake).summary.history[1].linear_iterations.unwrap()
    };
    assert_eq!(iterations(40, 0.1, 100), 1, "one block is the whole system");
    let [loose, tight] = [0.1, 1e-6].map(|tolerance| iterations(1, tolerance, 100));
    assert!(1 < loose && loose < tight && tight < 40, "{loose} {tight}");
    for most in [1, tight - 1, tight] {
        assert_eq!(iterations(1, 1e-6, most), most);
    }
    assert_eq!(iterations(1, 0.0, 7), 7, "without a tolerance all are made");
}

#[test]
fn a_run_without_a_minimum_ends_at_the_best_end_of_its_attempts_with_the_promise_of_that() {
    // The first attempt ends at 2, where derivatives are of the wrong sign, and so do two more elsewhere, at larger costs.
    let misled = |x: &[f64]| {
        let first = if x[0] == 1.0 { 10.0 } else { 9.0 };
        let (residual, slope) = match x[0] {
            1.0 => (first, -2.0),
            at if (at - 2.0).abs() < 1e-9 => (3.0, 1.0),
            _ => (first, 1.0),
        };
        (vec![residual, 1.0], vec![vec![slope], vec![0.0]])
    };
    let run = run(&Fake::new(&misled, &[1.0]));
    let starts = run.linearised.iter().filter(|x| x[0] == 1.0).count();
    assert!(starts == 3 && !run.summary.success(), "{starts}: {:?}", run.summary);
    assert!(distance(&run.point, &[2.0]) < 1e-9 && run.summary.final_cost == 5.0, "{:?}", run.point);
    // ½ 3² of the cost can be had by J, and σ² is 2 · 5 / (2 − 1).
    assert!((run.summary.promise.unwrap() - 0.45).abs() < 1e-15, "{:?}", run.summary.promise);
}
