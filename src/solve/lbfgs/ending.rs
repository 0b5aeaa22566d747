//! Why a run of L-BFGS ended: the termination and the sentence, without its full stop, for each result of the [`rules`](super::rules);
//! for host and device.

use super::rules::convergence::{self as convergence_rule, PATIENCE};
use super::rules::line_search as line_rule;
use crate::eval::Arithmetic;
use crate::solve::ending;
use crate::solve::options::SolveOptions;
use crate::solve::summary::{IterationSummary, Termination};
use residua_base::decimal::scientific;

/// The ending that a result of [`convergence_rule::ending`] stands for; `None` to go on. `last`: the iteration that was tested;
/// `first_cost`: the cost of the start; `share`: the largest share of an entry of the gradient in its largest value of the run; `size`: Euclidean norm of the coordinates that are not constant.
pub fn of_convergence(
    result: f64,
    options: &SolveOptions,
    arithmetic: Arithmetic,
    last: &IterationSummary,
    first_cost: f64,
    share: f64,
    size: f64,
) -> Option<(Termination, String)> {
    Some(match result {
        convergence_rule::GRADIENT => {
            let what = "the gradient, each entry relative to its largest value in the run,";
            let message = ending::gradient_tolerance(what, share, options, 0.0, arithmetic);
            (Termination::GradientTolerance, message)
        }
        convergence_rule::COST => (Termination::CostTolerance, ending::cost_tolerance(options, last, arithmetic)),
        convergence_rule::PARAMETER if last.step_norm == 0.0 && step_underflows(size, arithmetic) => {
            (Termination::PrecisionLimit, format!("The steps are too small to square in {}", arithmetic.name()))
        }
        convergence_rule::PARAMETER => {
            (Termination::ParameterTolerance, ending::parameter_tolerance(last.step_norm / size, options, arithmetic))
        }
        convergence_rule::PRECISION => {
            let precision = arithmetic.name();
            let message = format!(
                "{PATIENCE} iterations lowered the cost by no more than its rounding error in {precision}, and did not halve the gradient"
            );
            (Termination::PrecisionLimit, message)
        }
        convergence_rule::UNBOUNDED => {
            let [cost, size] = [last.cost, size].map(|number| scientific(number, Some(3)));
            (
                Termination::NonFinite,
                format!("The cost falls without a bound: it still falls at {cost}, with parameters of norm {size}"),
            )
        }
        convergence_rule::ITERATIONS => {
            let limit = ending::iteration_limit(options);
            // A fall by so much, to below 0, is more often a fault of the function than a minimum far away.
            let deep = last.cost < 0.0 && last.cost.abs() > 1e8 * first_cost.abs();
            let [from, to] = [first_cost, last.cost].map(|cost| scientific(cost, Some(3)));
            let doubt =
                if deep { format!("; the cost fell from {from} to {to} and may have no bound") } else { String::new() };
            (Termination::MaxIterations, limit + &doubt)
        }
        _ => return None,
    })
}

/// Whether a step that rounding can tell, relative to coordinates of that norm, has a square below the smallest normal number. Its norm is
/// then 0, which shows nothing.
fn step_underflows(size: f64, arithmetic: Arithmetic) -> bool {
    let smallest = match arithmetic {
        Arithmetic::F32 | Arithmetic::F32x2 => f64::from(f32::MIN_POSITIVE),
        Arithmetic::F64 => f64::MIN_POSITIVE,
    };
    (4.0 * arithmetic.epsilon() * size).powi(2) < smallest
}

/// The ending of a run that was stopped from outside.
pub fn stopped(termination: Termination, options: &SolveOptions) -> (Termination, String) {
    let message = match termination {
        Termination::Aborted => ending::STOPPED_BY_CALLER.to_owned(),
        Termination::MaxTime => ending::time_limit(options),
        other => format!("Stopped: {}", other.as_str()),
    };
    (termination, message)
}

/// The ending of a run whose squared gradient norm underflows.
pub fn gradient_underflow(arithmetic: Arithmetic) -> (Termination, String) {
    (Termination::PrecisionLimit, format!("The gradient is too small to square in {}", arithmetic.name()))
}

/// Why a line search found no step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The remaining steps change the cost by less than its rounding error.
    Precision,
    /// Every trial was NaN or infinite.
    NonFinite,
    /// At ever shorter steps the cost rises in proportion to the step, where its derivative is negative.
    Contradiction,
    /// The search made as many trials as allowed.
    Exhausted,
}

impl Failure {
    /// The failure that a result of [`line_rule::outcome`] stands for.
    pub fn of(outcome: f64) -> Failure {
        match outcome {
            line_rule::NON_FINITE => Failure::NonFinite,
            line_rule::CONTRADICTION => Failure::Contradiction,
            line_rule::EXHAUSTED => Failure::Exhausted,
            _ => Failure::Precision,
        }
    }

    /// The ending of a run whose search along the gradient failed. `trials`: the most that a search may make; `settled`: whether the run has
    /// converged if rounding hides any further fall of the cost.
    pub fn ending(self, trials: u32, arithmetic: Arithmetic, settled: bool) -> (Termination, String) {
        let tried = "along the gradient";
        match self {
            Failure::Precision if settled => (
                Termination::CostTolerance,
                format!("steps {tried} change the cost by no more than its rounding error in {}", arithmetic.name()),
            ),
            Failure::Precision => (
                Termination::PrecisionLimit,
                format!("Steps {tried} change the cost by no more than its rounding error in {}", arithmetic.name()),
            ),
            Failure::NonFinite => {
                (Termination::NonFinite, format!("All {trials} trial steps {tried} gave NaN or infinity"))
            }
            Failure::Contradiction => (
                Termination::LineSearchFailed,
                format!("The cost rises {tried} where its derivative says that it falls"),
            ),
            Failure::Exhausted => (
                Termination::LineSearchFailed,
                format!(
                    "None of {trials} trial steps {tried}, as many as maxLineSearchSteps allows, lowered the cost enough"
                ),
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solve::options::LbfgsOptions;

    #[test]
    fn a_step_whose_square_underflows_has_not_converged() {
        let options = LbfgsOptions::defaults().solve;
        let last = |step_norm| IterationSummary {
            iteration: 3,
            cost: 1e-33,
            cost_change: 1e-36,
            gradient_max_norm: 1e-16,
            step_norm,
            accepted: true,
            damping: None,
            gain_ratio: None,
            linear_iterations: None,
            step_size: None,
            elapsed_ms: 1.0,
        };
        // A step of 5e-7 of coordinates of 1e-18 has a square of 2e-49.
        for (size, step, expected) in [
            (1e-18, 0.0, Termination::PrecisionLimit),
            (1.0, 0.0, Termination::ParameterTolerance),
            (1e-18, 1e-26, Termination::ParameterTolerance),
        ] {
            let ending =
                of_convergence(convergence_rule::PARAMETER, &options, Arithmetic::F32, &last(step), 1.0, 1e-15, size);
            assert_eq!(ending.unwrap().0, expected, "{size} {step}");
        }
    }
}
