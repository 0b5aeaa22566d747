//! The summary of a run: why it ended, what was found, the numbers of each iteration, and those of the whole run.

use super::findings::{Finding, sentences};
use residua_base::list::Listed;

/// Why a solver ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Termination {
    /// Converged: the relative change of the cost met its tolerance.
    CostTolerance,
    /// Converged: the gradient's max norm met its tolerance.
    GradientTolerance,
    /// Converged: the relative length of the step met its tolerance.
    ParameterTolerance,
    /// Stopped at the iteration limit.
    MaxIterations,
    /// Stopped at the time limit.
    MaxTime,
    /// Stopped by the caller.
    Aborted,
    /// Rounding errors of the evaluations hide further progress.
    PrecisionLimit,
    /// The line search found no acceptable step, and rounding errors do not explain it.
    LineSearchFailed,
    /// The damping exceeded its limit.
    TrustRegionCollapsed,
    /// The cost or a derivative is NaN or infinite at the start or at every trial.
    NonFinite,
}

impl Termination {
    /// All of them, at their codes less one.
    const ALL: [Termination; 10] = [
        Termination::CostTolerance,
        Termination::GradientTolerance,
        Termination::ParameterTolerance,
        Termination::MaxIterations,
        Termination::MaxTime,
        Termination::Aborted,
        Termination::PrecisionLimit,
        Termination::LineSearchFailed,
        Termination::TrustRegionCollapsed,
        Termination::NonFinite,
    ];

    /// The code of the scalar rules and of devices, from 1; 0 means that the run continues.
    pub fn code(self) -> f64 {
        f64::from(self as u32 + 1)
    }

    /// The termination of a code; `None` for any other number.
    pub fn from_code(code: f64) -> Option<Termination> {
        let position = code as usize;
        let termination = Termination::ALL.get(position.checked_sub(1)?).copied();
        termination.filter(|termination| termination.code() == code)
    }

    /// The name in the public contract.
    pub fn as_str(self) -> &'static str {
        match self {
            Termination::CostTolerance => "cost-tolerance",
            Termination::GradientTolerance => "gradient-tolerance",
            Termination::ParameterTolerance => "parameter-tolerance",
            Termination::MaxIterations => "max-iterations",
            Termination::MaxTime => "max-time",
            Termination::Aborted => "aborted",
            Termination::PrecisionLimit => "precision-limit",
            Termination::LineSearchFailed => "line-search-failed",
            Termination::TrustRegionCollapsed => "trust-region-collapsed",
            Termination::NonFinite => "non-finite",
        }
    }

    /// Whether a tolerance was met.
    pub fn converged(self) -> bool {
        match self {
            Termination::CostTolerance | Termination::GradientTolerance | Termination::ParameterTolerance => true,
            Termination::MaxIterations
            | Termination::MaxTime
            | Termination::Aborted
            | Termination::PrecisionLimit
            | Termination::LineSearchFailed
            | Termination::TrustRegionCollapsed
            | Termination::NonFinite => false,
        }
    }
}

/// One iteration; number 0 is the start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IterationSummary {
    /// 0 for the start.
    pub iteration: u32,
    /// Cost after the iteration.
    pub cost: f64,
    /// Cost before − cost after: positive if the cost fell; 0 at the start.
    pub cost_change: f64,
    /// Largest magnitude of the gradient over the coordinates that are not frozen.
    pub gradient_max_norm: f64,
    /// Euclidean length of the step; 0 at the start.
    pub step_norm: f64,
    /// Whether the step was accepted.
    pub accepted: bool,
    /// Trust-region solvers: λ.
    pub damping: Option<f64>,
    /// Trust-region solvers: actual reduction / predicted reduction.
    pub gain_ratio: Option<f64>,
    /// Trust-region solvers: iterations of the linear solver, 1 of one that factorises; `None` at the start and where the system had no solution.
    pub linear_iterations: Option<u32>,
    /// Line-search solvers: the accepted multiple of the direction.
    pub step_size: Option<f64>,
    /// Milliseconds since the solve began.
    pub elapsed_ms: f64,
}

/// A whole run.
#[derive(Clone, Debug, PartialEq)]
pub struct SolveSummary {
    /// Why it ended.
    pub termination: Termination,
    /// The same in words without a full stop, with the numbers that decided it; of a tolerance what is within it.
    pub why: String,
    /// What was found beside it, in the order of the message.
    pub findings: Vec<Finding>,
    /// What the model without a trust region still takes from the cost at the end, in units of the residuals' variance σ²; `None` where it is not known.
    pub promise: Option<f64>,
    /// Accepted steps.
    pub iterations: u32,
    /// Evaluations of cost and gradient.
    pub function_evaluations: u32,
    /// Cost at the start; NaN if the time was over before it was known, also in a run that was aborted, as is the next one.
    pub initial_cost: f64,
    /// Cost at the solution.
    pub final_cost: f64,
    /// Milliseconds.
    pub elapsed_ms: f64,
    /// Every iteration, the start first. Empty if the start is not finite, and if the time was over before its cost was known.
    pub history: Vec<IterationSummary>,
}

impl SolveSummary {
    /// A run that has not begun.
    pub fn before_start() -> SolveSummary {
        SolveSummary {
            termination: Termination::MaxIterations,
            why: String::new(),
            findings: Vec::new(),
            iterations: 0,
            promise: None,
            function_evaluations: 0,
            initial_cost: f64::NAN,
            final_cost: f64::NAN,
            elapsed_ms: 0.0,
            history: Vec::new(),
        }
    }

    /// Why the run ended and what was found, in sentences.
    pub fn message(&self) -> String {
        let is_refuted = self.findings.iter().any(Finding::refutes);
        let why = match self.termination.converged() {
            _ if self.why.is_empty() => String::new(),
            true => format!("Converged: {}.", self.why),
            false if is_refuted => format!("Not converged, though {}.", self.why),
            false => format!("{}.", self.why),
        };
        let way = sentences(self.findings.iter().filter(|finding| finding.is_of_way()));
        let rest = sentences(self.findings.iter().filter(|finding| !finding.is_of_way()));
        [way, why, rest].into_iter().filter(|part| !part.is_empty()).list().join(" ")
    }

    /// Whether the run converged.
    pub fn success(&self) -> bool {
        self.termination.converged()
    }

    /// Whether the start is not finite. The caller then returns an error that names the residual, as the public contract requires;
    /// [`SolveSummary::why`] names the number.
    pub fn failed_at_start(&self) -> bool {
        self.termination == Termination::NonFinite && self.history.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_termination_has_one_code() {
        for (number, termination) in Termination::ALL.into_iter().enumerate() {
            assert_eq!(termination as usize, number);
            assert_eq!(Termination::from_code(termination.code()), Some(termination));
        }
        assert!([0.0, 11.0, -1.0, 1.5, f64::NAN].into_iter().all(|code| Termination::from_code(code).is_none()));
    }
}
