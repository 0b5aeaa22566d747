//! A solve that goes on in pairs on the device before the host is asked.

use super::*;

/// The stages of a solve of functions on a device that has pairs, and its outcome.
fn run_with_pairs(functions: Stage, scripts: Vec<Script>, request: Request) -> (Vec<Run>, Result<Solution>) {
    let mut fakes = Fakes { has_pairs: true, ..Fakes::new(functions, scripts) };
    let outcome = run_synchronously(solve(&mut fakes, &options(), request, &mut Recording::default()));
    assert_eq!(fakes.left, 1, "whatever the outcome");
    (fakes.runs, outcome)
}

#[test]
fn pairs_come_before_the_host_where_digits_are_wanting() {
    let end = |termination| fast(3, termination);
    let limit = || end(Termination::PrecisionLimit);
    let converged = || end(Termination::CostTolerance);
    let cases = [
        ("the precision limit", DEVICE, AUTO, vec![limit(), converged()], vec![DEVICE, PAIRS]),
        ("in pairs too", DEVICE, AUTO, vec![limit(), limit(), converged()], vec![DEVICE, PAIRS, HOST]),
        ("of pairs that were asked for", PAIRS, AUTO, vec![limit(), converged()], vec![PAIRS, HOST]),
        ("with 'gpu'", DEVICE, GPU, vec![limit()], vec![DEVICE]),
        ("NaN ahead", DEVICE, AUTO, vec![end(Termination::NonFinite), converged()], vec![DEVICE, HOST]),
        ("stagnation", DEVICE, AUTO, vec![slow(Termination::MaxIterations), converged()], vec![DEVICE, HOST]),
        (
            "stagnation in pairs",
            DEVICE,
            AUTO,
            vec![limit(), slow(Termination::MaxIterations), converged()],
            vec![DEVICE, PAIRS, HOST],
        ),
        (
            "more memory than there is",
            DEVICE,
            AUTO,
            vec![limit(), fails(ErrorCode::LimitExceeded), converged()],
            vec![DEVICE, PAIRS, HOST],
        ),
    ];
    for (case, functions, request, scripts, stages) in cases {
        let (runs, outcome) = run_with_pairs(functions, scripts, request);
        assert_eq!(runs.iter().map(|run| run.stage).collect::<Vec<_>>(), stages, "{case}");
        assert_eq!(outcome.unwrap().x, [stages.len() as f64 - 1.0], "{case}: the last stage's solution");
    }
    let (runs, outcome) = run_with_pairs(DEVICE, vec![limit(), fails(ErrorCode::DeviceLost)], AUTO);
    assert_eq!((runs.len(), outcome.unwrap_err().code), (2, ErrorCode::DeviceLost));
}

#[test]
fn squares_that_underflow_go_to_the_host_since_pairs_have_the_same_range() {
    for (underflows, second) in [(false, PAIRS), (true, HOST)] {
        // The same loss is found in pairs, so that their stage hands over too.
        let scripts = (0..3).map(|_| fast(3, Termination::CostTolerance)).collect();
        let mut fakes = Fakes { loss: Some(0.5), underflows, has_pairs: true, ..Fakes::new(DEVICE, scripts) };
        let solution = run_synchronously(solve(&mut fakes, &options(), AUTO, &mut Recording::default())).unwrap();
        assert_eq!(fakes.runs[1].stage, second, "{underflows}");
        assert_eq!(fakes.runs.last().map(|run| run.stage), Some(HOST));
        let message = solution.summary.message();
        assert!(message.starts_with("The GPU ended with 'precision-limit' after 3 iterations"), "{message}");
    }
}

#[test]
fn three_stages_are_one_run_of_which_the_message_names_each() {
    let scripts = vec![
        fast(3, Termination::PrecisionLimit),
        fast(5, Termination::TrustRegionCollapsed),
        fast(2, Termination::CostTolerance),
    ];
    let (runs, solution) = run_with_pairs(DEVICE, scripts, AUTO);
    let Solution { summary, arithmetic, details, .. } = solution.unwrap();
    assert_eq!(
        summary.message(),
        "The GPU ended with 'precision-limit' after 3 iterations in single precision, then with 'trust-region-collapsed' after 5 in double-single \
         precision, and the CPU continued for 2 in double precision: 10 iterations in all. Converged: cost-tolerance."
    );
    assert_eq!((summary.iterations, summary.history.len(), arithmetic), (10, 11, Arithmetic::F64));
    assert_eq!(
        summary.history.iter().map(|iteration| iteration.iteration).collect::<Vec<_>>(),
        (0..=10).collect::<Vec<_>>()
    );
    assert_eq!(runs.iter().map(|run| run.max_iterations).collect::<Vec<_>>(), [50, 47, 42]);
    assert_eq!(details.linear_solver, "solver 0; then on the GPU solver 1; then on the CPU solver 2");
}

#[test]
fn a_solve_that_has_lost_a_parameter_begins_again_on_the_host_at_the_start() {
    let scripts = || (0..2).map(|_| fast(3, Termination::CostTolerance)).collect::<Vec<_>>();
    for (request, restarts) in [(AUTO, true), (GPU, false)] {
        let mut fakes = Fakes { loss: Some(0.0), loses: true, has_pairs: true, ..Fakes::new(DEVICE, scripts()) };
        let solution = run_synchronously(solve(&mut fakes, &options(), request, &mut Recording::default())).unwrap();
        let stages = fakes.runs.iter().map(|run| run.stage).collect::<Vec<_>>();
        let (termination, message) = (solution.summary.termination, solution.summary.message());
        if restarts {
            assert_eq!((stages, fakes.restarts), (vec![DEVICE, HOST], vec![1]));
            assert_eq!(termination, Termination::CostTolerance);
            let says = "and the CPU began again at the start for 3 in double precision: 6 iterations in all. Rounding";
            assert!(message.contains(says), "{message}");
        } else {
            assert_eq!((stages, fakes.restarts), (vec![DEVICE], vec![]));
            assert_eq!(termination, Termination::PrecisionLimit, "{message}");
        }
    }
}

#[test]
fn a_start_that_is_not_finite_on_the_device_is_solved_on_the_host() {
    let scripts = || vec![fails(ErrorCode::NonFinite), fast(3, Termination::CostTolerance)];
    for stage in [DEVICE, PAIRS] {
        let (runs, outcome) = run_with_pairs(stage, scripts(), AUTO);
        assert_eq!(runs.iter().map(|run| run.stage).collect::<Vec<_>>(), [stage, HOST]);
        let Solution { summary, arithmetic, .. } = outcome.unwrap();
        assert_eq!((summary.iterations, arithmetic), (3, Arithmetic::F64));
        let says = format!("Not in {}: refused. Converged: cost-tolerance.", stage.arithmetic.name());
        assert_eq!(summary.message(), says);
        let (runs, outcome) = run_with_pairs(stage, scripts(), GPU);
        assert_eq!((runs.len(), outcome.unwrap_err().code), (1, ErrorCode::NonFinite));
    }
    let neither = vec![fails(ErrorCode::NonFinite), fails(ErrorCode::NonFinite)];
    let (runs, outcome) = run_with_pairs(DEVICE, neither, AUTO);
    assert_eq!((runs.len(), outcome.unwrap_err().code), (2, ErrorCode::NonFinite));
}
