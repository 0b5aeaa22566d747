//! Why a run ended in words that the solvers share, with the numbers that decided it. None has a full stop; of a tolerance they say what is within it.

use super::options::{SolveOptions, Used, least_tolerance};
use super::summary::IterationSummary;
use crate::eval::Arithmetic;
use residua_base::decimal::{scientific, shortest};

/// The caller stopped the run.
pub const STOPPED_BY_CALLER: &str = "Stopped by the caller";

/// What is said before the tolerance where the predicted reduction met it.
const PREDICTED: &str = "the relative reduction of the cost that derivatives predict is within costTolerance";

/// The run reached its iteration limit.
pub fn iteration_limit(options: &SolveOptions) -> String {
    format!("Stopped after maxIterations, {}", options.used.iterations.saturating_add(options.max_iterations))
}

/// The run reached its time limit.
pub fn time_limit(options: &SolveOptions) -> String {
    format!("Stopped after maxTimeMs, {} milliseconds", shortest(options.used.ms + options.max_time_ms))
}

/// The run reached its time limit while its kernels were made. An earlier stage has told the cost of its end, which is the start of this one.
pub fn time_limit_at_start(options: &SolveOptions) -> String {
    let limit = time_limit(options);
    if options.used == Used::default() { format!("{limit}, before the cost of the start was known") } else { limit }
}

/// The last iteration met the gradient tolerance with this value of what it judges. `least`: what smaller tolerances count as.
pub fn gradient_tolerance(
    what: &str,
    value: f64,
    options: &SolveOptions,
    least: f64,
    arithmetic: Arithmetic,
) -> String {
    if value == 0.0 {
        "the gradient is zero".to_owned()
    } else {
        within(what, value, "gradientTolerance", options.gradient_tolerance, least, arithmetic)
    }
}

/// The last iteration met the cost tolerance. Of a step whose reduction rounding hides the predicted one did so, whatever the costs say.
pub fn cost_tolerance(options: &SolveOptions, last: &IterationSummary, arithmetic: Arithmetic) -> String {
    let before = (last.cost + last.cost_change).abs();
    let share = if before > 0.0 { last.cost_change.abs() / before } else { 0.0 };
    if share > options.cost_tolerance {
        return format!("{PREDICTED} {}", scientific(options.cost_tolerance, Some(3)));
    }
    within("the cost's relative reduction", share, "costTolerance", options.cost_tolerance, 0.0, arithmetic)
}

/// The last iteration met the parameter tolerance with this relative step.
pub fn parameter_tolerance(relative_step: f64, options: &SolveOptions, arithmetic: Arithmetic) -> String {
    let least = least_tolerance(arithmetic);
    within("the relative step", relative_step, "parameterTolerance", options.parameter_tolerance, least, arithmetic)
}

fn within(what: &str, value: f64, option: &str, tolerance: f64, least: f64, arithmetic: Arithmetic) -> String {
    let [value, shown, raised] = [value, tolerance, least].map(|number| scientific(number, Some(3)));
    let counts =
        if tolerance < least { format!(", which counts as {raised} in {}", arithmetic.name()) } else { String::new() };
    format!("{what} {value} is within {option} {shown}{counts}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reduction_above_the_tolerance_is_not_called_within_it() {
        let step = |cost_change| IterationSummary {
            iteration: 1,
            cost: 1.0,
            cost_change,
            gradient_max_norm: 0.0,
            step_norm: 1.0,
            accepted: true,
            damping: None,
            gain_ratio: None,
            linear_iterations: None,
            step_size: None,
            elapsed_ms: 0.0,
        };
        for (change, expected) in [
            (1e-9, "the cost's relative reduction 1.000e-9 is within costTolerance 1.000e-8"),
            (1e-6, "the relative reduction of the cost that derivatives predict is within costTolerance 1.000e-8"),
            (-1e-6, "the relative reduction of the cost that derivatives predict is within costTolerance 1.000e-8"),
        ] {
            assert_eq!(cost_tolerance(&SolveOptions::defaults(), &step(change), Arithmetic::F64), expected);
        }
    }
}
