//! What a driver says of a whole run.

use super::*;
use crate::solve::options::TrustRegion;
use crate::solve::untouched::Untouched;

#[test]
fn the_dogleg_of_a_device_runs_on_the_host_and_the_report_says_so() {
    let mut fakes = Fakes::new(DEVICE, vec![fast(3, Termination::CostTolerance)]);
    let options = LevenbergMarquardtOptions { trust_region: TrustRegion::Dogleg, ..options() };
    let solution = run_synchronously(solve(&mut fakes, &options, AUTO, &mut Recording::default())).unwrap();
    assert_eq!(fakes.runs.iter().map(|run| run.stage).collect::<Vec<_>>(), [HOST]);
    let said = solution.details.linear_solver;
    assert_eq!(said, "solver 0; on the CPU, since trustRegion 'dogleg' does not run on the GPU");
}

#[test]
fn the_message_counts_trial_points_that_were_not_finite() {
    for (lost, words) in [
        (0, "Converged: cost-tolerance."),
        (1, "Converged: cost-tolerance. 1 trial point was not finite."),
        (2, "Converged: cost-tolerance. 2 trial points were not finite."),
    ] {
        let (mut steps, end) = fast(5, Termination::CostTolerance);
        for step in &mut steps[1..=lost] {
            (step.accepted, step.cost_change) = (false, [f64::NAN, f64::NEG_INFINITY][step.iteration as usize % 2]);
        }
        // A step that was rejected for its cost, and one that moved nothing.
        (steps[3].accepted, steps[3].cost_change) = (false, -1.0);
        (steps[4].accepted, steps[4].cost_change, steps[4].step_norm) = (false, f64::NAN, 0.0);
        let (_, solution) = run(HOST, false, vec![(steps, end)], AUTO, &mut Recording::default());
        assert_eq!(solution.unwrap().summary.message(), words);
    }
}

#[test]
fn without_read_back_no_result_waits_for_a_check_and_a_later_one_carries_its_finding() {
    let scripts = (0..3).map(|_| fast(3, Termination::CostTolerance)).collect();
    let mut fakes = Fakes { loss: Some(0.5), ..Fakes::new(DEVICE, scripts) };
    let request = Request { read_back: false, may_hand_over: false };
    let next =
        |fakes: &mut Fakes| run_synchronously(solve(fakes, &options(), request, &mut Recording::default())).unwrap();
    let first = next(&mut fakes);
    assert_eq!((first.summary.termination, first.precision), (Termination::CostTolerance, None));
    assert!(fakes.checks.is_due());
    let found = fakes.checked(None);
    fakes.checks.keep(found);
    let second = next(&mut fakes);
    assert_eq!(second.summary.termination, Termination::PrecisionLimit);
    assert_eq!(
        second.summary.message(),
        "Not converged, though cost-tolerance. At an earlier solution: Rounding in single precision explains 5e-1 of the cost, by 1 instance in double precision."
    );
    assert_eq!(next(&mut fakes).summary.termination, Termination::CostTolerance, "once");
}

#[test]
fn a_stage_without_a_start_leaves_the_numbers_of_the_stage_before() {
    let scripts = vec![fast(4, Termination::CostTolerance), fast(0, Termination::MaxTime)];
    let mut fakes = Fakes { loss: Some(0.5), late: Some(1), ..Fakes::new(DEVICE, scripts) };
    let solution = run_synchronously(solve(&mut fakes, &options(), AUTO, &mut Recording::default())).unwrap();
    assert_eq!(fakes.runs.iter().map(|run| run.stage).collect::<Vec<_>>(), [DEVICE, HOST]);
    let Solution { summary, arithmetic, precision, details, .. } = solution;
    assert_eq!((summary.termination, summary.initial_cost, summary.final_cost), (Termination::MaxTime, 2000.0, 1000.0));
    assert_eq!((summary.iterations, summary.history.len(), summary.elapsed_ms), (4, 5, 41.0));
    assert_eq!((arithmetic, precision.map(|checked| checked.estimate.loss)), (Arithmetic::F32, Some(0.5)));
    assert!(
        summary.message().ends_with("in double precision. Stopped after maxTimeMs, 1000 milliseconds."),
        "{}",
        summary.message()
    );
    assert_eq!(details.linear_solver, "solver 0");
}

#[test]
fn a_first_stage_without_a_start_says_that_the_cost_is_not_known() {
    let mut fakes = Fakes { late: Some(0), ..Fakes::new(HOST, vec![fast(0, Termination::MaxTime)]) };
    let solution = run_synchronously(solve(&mut fakes, &options(), AUTO, &mut Recording::default())).unwrap();
    let message = "Stopped after maxTimeMs, 1000 milliseconds, before the cost of the start was known.";
    assert_eq!(solution.summary.message(), message);
    assert!(solution.summary.final_cost.is_nan() && solution.summary.history.is_empty());
}

#[test]
fn both_solvers_name_blocks_that_no_residual_touches() {
    let made = || {
        let mut r = Recorder::default();
        let (x, four) = (r.parameter(0), r.constant(4.0));
        let output = r.apply(Op::Sub, &[x, four]);
        functions(r, vec![output], &[1.0, 5.0])
    };
    let request = Request { read_back: true, may_hand_over: false };
    let (mut session, mut f, mut resources) = (Session::new(made()), made(), DeviceResources::default());
    let (options, lbfgs) = (options(), LbfgsOptions { objective: Objective::LeastSquares, ..LbfgsOptions::defaults() });
    let [first, second] = &mut [Recording::default(), Recording::default()];
    let by_least_squares = run_synchronously(levenberg_marquardt(&mut session, &options, request, first)).unwrap();
    let by_descent = run_synchronously(minimise(&mut f, &mut resources, &lbfgs, true, second)).unwrap();
    for Solution { summary, .. } in [by_least_squares, by_descent] {
        assert!(summary.message().contains(" parameter 1 is touched by no residual."), "{}", summary.message());
        let untouched = Untouched { names: vec!["parameter 1".to_owned()], count: 1 };
        assert!(summary.findings.contains(&Finding::Untouched(untouched)), "{:?}", summary.findings);
    }
}

#[test]
fn l_bfgs_ends_where_its_own_model_promises_next_to_nothing() {
    // A line through times far from 0, so that its two parameters nearly depend on each other.
    let noise = [0.3, -0.2, 0.1, -0.4, 0.2, 0.25, -0.15, 0.05, -0.1, 0.2];
    let times = |k: usize| 1000.0 + k as f64;
    let mut r = Recorder::default();
    let (a, b) = (r.parameter(0), r.parameter(1));
    let residual = |(k, noise): (usize, f64)| {
        let (t, y) = (r.constant(times(k)), r.constant(3.0 + 0.5 * times(k) + noise));
        let slope = r.apply(Op::Mul, &[b, t]);
        let value = r.apply(Op::Add, &[a, slope]);
        r.apply(Op::Sub, &[value, y])
    };
    let outputs = noise.into_iter().enumerate().map(residual).collect();
    let mut f = functions(r, outputs, &[0.0, 0.0]);
    let lbfgs = LbfgsOptions { objective: Objective::LeastSquares, ..LbfgsOptions::defaults() };
    let (mut resources, mut listener) = (DeviceResources::default(), Recording::default());
    let Solution { x, summary, .. } =
        run_synchronously(minimise(&mut f, &mut resources, &lbfgs, true, &mut listener)).unwrap();
    assert!(summary.success() && summary.promise.is_some_and(|promise| promise <= 1e-4), "{summary:?}");
    // By the normal equations of centred times: Σ(t − t̄)² = 82.5.
    let centred = |k: usize| k as f64 - 4.5;
    let slope = noise.iter().enumerate().map(|(k, noise)| centred(k) * noise).sum::<f64>() / 82.5;
    let mean = noise.iter().sum::<f64>() / 10.0;
    let rest = noise.iter().enumerate().map(|(k, noise)| (noise - mean - slope * centred(k)).powi(2)).sum::<f64>();
    let standard_error = (rest / 8.0 / 82.5).sqrt();
    let off = [x[1] - 0.5 - slope, x[0] + x[1] * 1004.5 - 3.0 - 0.5 * 1004.5 - mean];
    assert!(off[0].abs() < 0.05 * standard_error && off[1].abs() < 0.05 * (rest / 80.0).sqrt(), "{off:?} {summary:?}");
}
