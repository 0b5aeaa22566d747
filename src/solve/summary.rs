//! What a solver tells: why it ended, each iteration's figures, and the whole run's.

/// Why a solver ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Termination {
    /// Converged: the last step hardly changed the cost.
    CostTolerance,
    /// Converged: the gradient is small.
    GradientTolerance,
    /// Converged: the last step was small.
    ParameterTolerance,
    /// Stopped after as many iterations as allowed.
    MaxIterations,
    /// Stopped after as much time as allowed.
    MaxTime,
    /// Stopped by the caller.
    Aborted,
    /// Rounding errors of the evaluations hide any further progress.
    PrecisionLimit,
    /// No acceptable point along the last direction, and rounding errors do not explain it.
    LineSearchFailed,
    /// The trust region shrank to nothing.
    TrustRegionCollapsed,
    /// Nothing but NaN and infinity ahead.
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

    /// As a number, for rules and devices: 1 and up; 0 is to go on.
    pub fn code(self) -> f64 {
        f64::from(self as u32 + 1)
    }

    /// The termination of a code, if it is one.
    pub fn from_code(code: f64) -> Option<Termination> {
        Termination::ALL.into_iter().find(|termination| termination.code() == code)
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
    /// Cost before less cost after: positive when it fell; 0 at the start.
    pub cost_change: f64,
    /// Largest magnitude in the gradient over the coordinates that may move.
    pub gradient_max_norm: f64,
    /// Euclidean length of the step; 0 at the start.
    pub step_norm: f64,
    /// Whether the step was taken.
    pub accepted: bool,
    /// Trust-region solvers: λ.
    pub damping: Option<f64>,
    /// Trust-region solvers: actual over predicted reduction.
    pub gain_ratio: Option<f64>,
    /// Trust-region solvers with an iterative linear solver: its iterations.
    pub linear_iterations: Option<u32>,
    /// Line-search solvers: the multiple of the direction that was taken.
    pub step_size: Option<f64>,
    /// Milliseconds since the solve began.
    pub elapsed_ms: f64,
}

/// A whole run.
#[derive(Clone, Debug, PartialEq)]
pub struct SolveSummary {
    /// Why it ended.
    pub termination: Termination,
    /// The same for a person, with the figures that decided it.
    pub message: String,
    /// Accepted steps.
    pub iterations: u32,
    /// Evaluations of cost and gradient.
    pub function_evaluations: u32,
    /// Cost at the start.
    pub initial_cost: f64,
    /// Cost at the solution.
    pub final_cost: f64,
    /// Milliseconds.
    pub elapsed_ms: f64,
    /// Every iteration, the start first. Empty if the start is not finite.
    pub history: Vec<IterationSummary>,
}

impl SolveSummary {
    /// It converged.
    pub fn success(&self) -> bool {
        self.termination.converged()
    }

    /// The start itself is not finite: the public contract wants an error here, which names the residual; [`SolveSummary::message`]
    /// names the number.
    pub fn failed_at_start(&self) -> bool {
        self.termination == Termination::NonFinite && self.history.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_that_of_its_termination_alone() {
        for (number, termination) in Termination::ALL.into_iter().enumerate() {
            assert_eq!(termination as usize, number);
            assert_eq!(Termination::from_code(termination.code()), Some(termination));
        }
        assert!([0.0, 11.0, -1.0, 1.5, f64::NAN].into_iter().all(|code| Termination::from_code(code).is_none()));
    }
}
