//! Why a run of Levenberg-Marquardt ended, in a sentence with the figures that decided it; for both engines.

use crate::decimal::{scientific, shortest};
use crate::solve::arithmetic::Precision;
use crate::solve::options::SolveOptions;
use crate::solve::summary::{IterationSummary, Termination};

/// What the sentence tells of.
#[derive(Clone, Copy, Debug)]
pub struct Ending<'a> {
    /// What the solver was told.
    pub options: &'a SolveOptions,
    /// The last iteration.
    pub last: &'a IterationSummary,
    /// The cost where the run ended.
    pub cost: f64,
    /// ‖x‖ of the coordinates that are no constants.
    pub size: f64,
}

impl Ending<'_> {
    /// The sentence, without its full stop.
    pub fn message(&self, termination: Termination, precision: Precision) -> String {
        let SolveOptions { cost_tolerance, gradient_tolerance, parameter_tolerance, max_iterations, max_time_ms } =
            *self.options;
        let last = self.last;
        match termination {
            Termination::GradientTolerance if last.gradient_max_norm == 0.0 => {
                "Converged: the gradient is zero".to_owned()
            }
            Termination::GradientTolerance => {
                within("the gradient's max norm", last.gradient_max_norm, "gradientTolerance", gradient_tolerance)
            }
            Termination::CostTolerance => {
                let before = (self.cost + last.cost_change).abs();
                let share = if before > 0.0 { last.cost_change.abs() / before } else { 0.0 };
                within("the cost's relative change", share, "costTolerance", cost_tolerance)
            }
            Termination::ParameterTolerance => {
                let share = last.step_norm / (self.size + parameter_tolerance);
                within("the relative step", share, "parameterTolerance", parameter_tolerance)
            }
            Termination::MaxIterations => format!("Stopped after maxIterations, {max_iterations}"),
            Termination::MaxTime => time(max_time_ms),
            Termination::Aborted => "Stopped by the caller".to_owned(),
            Termination::PrecisionLimit => {
                format!("Steps change the cost by no more than its rounding error in {}", precision.name())
            }
            Termination::TrustRegionCollapsed => {
                let damping = last.damping.unwrap_or(f64::NAN);
                format!("No step lowered the cost, however much it was damped, up to {}", scientific(damping, Some(1)))
            }
            Termination::NonFinite => "The cost, or a derivative, is NaN or infinite at every step ahead".to_owned(),
            Termination::LineSearchFailed => "The line search failed".to_owned(),
        }
    }
}

/// The sentence of a run that took its time.
pub fn time(max_time_ms: f64) -> String {
    format!("Stopped after maxTimeMs, {} milliseconds", shortest(max_time_ms))
}

fn within(what: &str, value: f64, option: &str, tolerance: f64) -> String {
    let [value, tolerance] = [value, tolerance].map(|number| scientific(number, Some(3)));
    format!("Converged: {what} {value} is within {option} {tolerance}")
}
