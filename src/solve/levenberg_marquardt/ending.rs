//! Why a run of Levenberg-Marquardt ended, in a sentence with the numbers that decided it; for both engines.

use crate::eval::Arithmetic;
use crate::solve::ending;
use crate::solve::options::SolveOptions;
use crate::solve::summary::{IterationSummary, Termination};
use residua_base::decimal::scientific;

/// The numbers that the sentence takes.
#[derive(Clone, Copy, Debug)]
pub struct Ending<'a> {
    /// The options of the solver.
    pub options: &'a SolveOptions,
    /// The last iteration.
    pub last: &'a IterationSummary,
    /// ‖x‖ of the coordinates that are not constant.
    pub size: f64,
}

impl Ending<'_> {
    /// The sentence, without its full stop.
    pub fn message(&self, termination: Termination, arithmetic: Arithmetic) -> String {
        let Ending { options, last, size } = *self;
        match termination {
            Termination::GradientTolerance => ending::gradient_tolerance(options, last),
            Termination::CostTolerance => ending::cost_tolerance(options, last),
            Termination::ParameterTolerance => ending::parameter_tolerance(options, last, size),
            Termination::MaxIterations => ending::iteration_limit(options),
            Termination::MaxTime => ending::time_limit(options),
            Termination::Aborted => ending::STOPPED_BY_CALLER.to_owned(),
            Termination::PrecisionLimit => {
                format!("Steps change the cost by no more than its rounding error in {}", arithmetic.name())
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
