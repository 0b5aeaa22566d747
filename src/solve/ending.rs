//! The sentences for why a run ended that both solvers share, with the numbers that decided it. None has a full stop.

use super::options::SolveOptions;
use super::summary::IterationSummary;
use residua_base::decimal::{scientific, shortest};

/// The caller stopped the run.
pub const STOPPED_BY_CALLER: &str = "Stopped by the caller";

/// The run reached its iteration limit.
pub fn iteration_limit(options: &SolveOptions) -> String {
    format!("Stopped after maxIterations, {}", options.max_iterations)
}

/// The run reached its time limit.
pub fn time_limit(options: &SolveOptions) -> String {
    format!("Stopped after maxTimeMs, {} milliseconds", shortest(options.max_time_ms))
}

/// The last iteration met the gradient tolerance.
pub fn gradient_tolerance(options: &SolveOptions, last: &IterationSummary) -> String {
    if last.gradient_max_norm == 0.0 {
        "Converged: the gradient is zero".to_owned()
    } else {
        within("the gradient's max norm", last.gradient_max_norm, "gradientTolerance", options.gradient_tolerance)
    }
}

/// The last iteration met the cost tolerance.
pub fn cost_tolerance(options: &SolveOptions, last: &IterationSummary) -> String {
    let before = (last.cost + last.cost_change).abs();
    let share = if before > 0.0 { last.cost_change.abs() / before } else { 0.0 };
    within("the cost's relative change", share, "costTolerance", options.cost_tolerance)
}

/// The last iteration met the parameter tolerance. `size`: Euclidean norm of the coordinates that are not constant.
pub fn parameter_tolerance(options: &SolveOptions, last: &IterationSummary, size: f64) -> String {
    let tolerance = options.parameter_tolerance;
    within("the relative step", last.step_norm / (size + tolerance), "parameterTolerance", tolerance)
}

fn within(what: &str, value: f64, option: &str, tolerance: f64) -> String {
    let [value, tolerance] = [value, tolerance].map(|number| scientific(number, Some(3)));
    format!("Converged: {what} {value} is within {option} {tolerance}")
}
