//! Why a run of Levenberg-Marquardt ended, in a sentence with the numbers that decided it; for both engines.

use crate::eval::Arithmetic;
use crate::solve::ending;
use crate::solve::options::{SolveOptions, least_tolerance};
use crate::solve::summary::{IterationSummary, Termination};
use residua_base::decimal::scientific;

/// Rounding hides what is left of the cost's reduction.
pub const NO_PROGRESS: &str =
    "no further progress is possible, since the reduction of the cost that is left is below its rounding error";

/// The cost is what rounding leaves of residuals that are 0.
pub const EXACT: &str = "rounding of what the residuals are computed from explains the whole cost";

/// Steps have left the range in which the residuals determine the parameters.
pub const LOST: &str = "The residuals have come to determine fewer parameters than at the start, and the cost hardly falls in any direction that is left";

/// The numbers that the sentence takes.
#[derive(Clone, Copy, Debug)]
pub struct Ending<'a> {
    /// The options of the solver.
    pub options: &'a SolveOptions,
    /// What evaluations are computed in.
    pub arithmetic: Arithmetic,
    /// The last iteration.
    pub last: &'a IterationSummary,
    /// The gradient's cosine after it.
    pub cosine: f64,
    /// ‖√D δ̄‖ / ‖√D x‖ of its step.
    pub relative_step: f64,
}

impl Ending<'_> {
    /// The sentence, without its full stop.
    pub fn message(&self, termination: Termination) -> String {
        let Ending { options, arithmetic, last, cosine, relative_step } = *self;
        match termination {
            Termination::GradientTolerance => {
                let least = least_tolerance(arithmetic);
                ending::gradient_tolerance("the gradient's largest cosine", cosine, options, least, arithmetic)
            }
            Termination::CostTolerance if last.accepted => ending::cost_tolerance(options, last, arithmetic),
            Termination::CostTolerance => format!(
                "no further progress is possible in {}, since the reduction of the cost that is left is below its rounding error",
                arithmetic.name()
            ),
            Termination::ParameterTolerance => ending::parameter_tolerance(relative_step, options, arithmetic),
            Termination::MaxIterations => ending::iteration_limit(options),
            Termination::MaxTime => ending::time_limit(options),
            Termination::Aborted => ending::STOPPED_BY_CALLER.to_owned(),
            Termination::PrecisionLimit => format!(
                "Steps change the cost by no more than its rounding error in {}, and the gradient's largest cosine is still {}",
                arithmetic.name(),
                scientific(cosine, Some(3))
            ),
            Termination::TrustRegionCollapsed => {
                let damping = last.damping.unwrap_or(f64::NAN);
                format!(
                    "No step that was tried at this point lowered the cost enough, the last of length {}, though the derivatives say that it falls: the largest cosine is {} at a damping of {}",
                    scientific(last.step_norm, Some(1)),
                    scientific(cosine, Some(3)),
                    scientific(damping, Some(1))
                )
            }
            Termination::NonFinite => "The cost, or a derivative, is NaN or infinite at every step ahead".to_owned(),
            Termination::LineSearchFailed => "The line search failed".to_owned(),
        }
    }
}
