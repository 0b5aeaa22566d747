//! The precision guard after a stage in single precision.

use super::*;

/// The runs of a solve of functions on the device, where a check finds a loss.
fn run_checked(loss: f64, scripts: Vec<Script>, request: Request) -> (Vec<Run>, Result<Solution>) {
    let mut fakes = Fakes { loss: Some(loss), ..Fakes::new(DEVICE, scripts) };
    let outcome = run_synchronously(solve(&mut fakes, &options(), request, &mut Recording::default()));
    (fakes.runs, outcome)
}

#[test]
fn a_solution_that_is_rounding_has_not_converged_and_auto_goes_on() {
    let converged = || fast(3, Termination::CostTolerance);
    let (runs, solution) = run_checked(0.5, vec![converged(), converged()], AUTO);
    let solution = solution.unwrap();
    assert_eq!(runs.iter().map(|run| run.stage).collect::<Vec<_>>(), [DEVICE, HOST]);
    assert_eq!((solution.arithmetic, solution.precision), (Arithmetic::F64, None));
    assert_eq!((solution.summary.termination, solution.summary.iterations), (Termination::CostTolerance, 6));
    let message = solution.summary.message();
    assert!(
        message.contains("ended with 'precision-limit' after 3 iterations")
            && message.contains("Rounding in single precision explains 5e-1 of the cost"),
        "{message}"
    );

    let (runs, solution) = run_checked(0.5, vec![converged()], GPU);
    let solution = solution.unwrap();
    assert_eq!((runs.len(), solution.arithmetic), (1, Arithmetic::F32));
    assert_eq!(solution.summary.termination, Termination::PrecisionLimit);
    assert_eq!(solution.precision.map(|checked| checked.estimate.loss), Some(0.5));
    assert_eq!(
        solution.summary.message(),
        "Not converged, though cost-tolerance. Rounding in single precision explains 5e-1 of the cost, by 1 instance in double precision."
    );
}

#[test]
fn a_solution_that_keeps_its_digits_stays_and_one_that_has_not_converged_is_not_checked() {
    let (runs, solution) = run_checked(1e-6, vec![fast(3, Termination::CostTolerance)], AUTO);
    let solution = solution.unwrap();
    assert_eq!((runs.len(), solution.summary.termination), (1, Termination::CostTolerance));
    assert_eq!(solution.precision.map(|checked| checked.estimate.loss), Some(1e-6));
    let (_, solution) = run_checked(0.5, vec![fast(3, Termination::MaxIterations)], AUTO);
    let solution = solution.unwrap();
    assert_eq!((solution.summary.termination, solution.precision), (Termination::MaxIterations, None));
}
