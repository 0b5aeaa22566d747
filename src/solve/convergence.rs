//! When a run ends by its own figures: the tolerances, the iteration limit, and the floor that rounding sets.
//!
//! The tolerances are those of Ceres Solver: largest gradient entry, change of cost relative to the cost, length of step relative to the
//! parameters. A tolerance of 0 switches its test off. Only accepted steps are judged.

use std::rc::Rc;

use super::arithmetic::Precision;
use super::descent_rule::{self, PATIENCE};
use super::options::SolveOptions;
use super::scalar::evaluate;
use super::summary::{IterationSummary, Termination};
use crate::codegen::Function;
use crate::decimal;

/// Judges each iteration in turn, by [`descent_rule`].
#[derive(Clone, Debug)]
pub struct Convergence {
    options: SolveOptions,
    precision: Precision,
    progress: Rc<Function>,
    ending: Rc<Function>,
    /// Cost and gradient's max norm when they were last visibly better than before.
    cost: f64,
    gradient_max_norm: f64,
    idle: f64,
}

impl Convergence {
    /// A judge of a run with these options, over evaluations of this precision.
    pub fn new(options: SolveOptions, precision: Precision) -> Convergence {
        let (progress, ending) = (descent_rule::progress(), descent_rule::ending());
        Convergence { options, precision, progress, ending, cost: 0.0, gradient_max_norm: 0.0, idle: 0.0 }
    }

    /// Why the run ends with this iteration, in one word and in a sentence without its full stop. `size`: Euclidean norm of the coordinates
    /// that are no constants; `noise`: rounding error of the cost.
    pub fn judge(&mut self, last: &IterationSummary, size: f64, noise: f64) -> Option<(Termination, String)> {
        let IterationSummary { cost, cost_change, gradient_max_norm, step_norm, .. } = *last;
        let iteration = f64::from(last.iteration);
        let figures = [iteration, self.cost - cost, noise, gradient_max_norm, self.gradient_max_norm, self.idle];
        let [better, idle] = evaluate(&self.progress, &figures);
        if better != 0.0 {
            (self.cost, self.gradient_max_norm) = (cost, gradient_max_norm);
        }
        self.idle = idle;
        let SolveOptions { max_iterations, cost_tolerance, gradient_tolerance, parameter_tolerance, .. } = self.options;
        let before = cost + cost_change;
        let [ending] = evaluate(
            &self.ending,
            &[
                iteration,
                cost_change,
                before,
                gradient_max_norm,
                step_norm,
                size,
                idle,
                cost_tolerance,
                gradient_tolerance,
                parameter_tolerance,
                f64::from(max_iterations),
            ],
        );
        explain(ending, &self.options, self.precision, last, size)
    }
}

/// A verdict of [`descent_rule::ending`] on an iteration, in one word and in a sentence without its full stop.
pub fn explain(
    ending: f64,
    options: &SolveOptions,
    precision: Precision,
    last: &IterationSummary,
    size: f64,
) -> Option<(Termination, String)> {
    Some(match ending {
        descent_rule::GRADIENT => {
            let (norm, tolerance) = (last.gradient_max_norm, options.gradient_tolerance);
            let message = if norm == 0.0 {
                "Converged: the gradient is zero".to_owned()
            } else {
                figures("the gradient's max norm", norm, "gradientTolerance", tolerance)
            };
            (Termination::GradientTolerance, message)
        }
        descent_rule::COST => {
            let before = (last.cost + last.cost_change).abs();
            let share = if before > 0.0 { last.cost_change.abs() / before } else { 0.0 };
            let message = figures("the cost's relative change", share, "costTolerance", options.cost_tolerance);
            (Termination::CostTolerance, message)
        }
        descent_rule::PARAMETER => {
            let tolerance = options.parameter_tolerance;
            let message =
                figures("the relative step", last.step_norm / (size + tolerance), "parameterTolerance", tolerance);
            (Termination::ParameterTolerance, message)
        }
        descent_rule::PRECISION => {
            let precision = precision.name();
            let message = format!(
                "{PATIENCE} iterations lowered the cost by no more than its rounding error in {precision}, and did not halve the gradient"
            );
            (Termination::PrecisionLimit, message)
        }
        descent_rule::ITERATIONS => {
            (Termination::MaxIterations, format!("Stopped after maxIterations, {}", options.max_iterations))
        }
        _ => return None,
    })
}

fn figures(what: &str, value: f64, option: &str, tolerance: f64) -> String {
    let [value, tolerance] = [value, tolerance].map(|number| decimal::scientific(number, Some(3)));
    format!("Converged: {what} {value} is within {option} {tolerance}")
}

/// Why a run was stopped from outside.
pub(super) fn stopped(termination: Termination, options: &SolveOptions) -> String {
    match termination {
        Termination::Aborted => "Stopped by the caller".to_owned(),
        Termination::MaxTime => {
            format!("Stopped after maxTimeMs, {} milliseconds", decimal::shortest(options.max_time_ms))
        }
        other => format!("Stopped: {}", other.as_str()),
    }
}

/// Why a run ends whose gradient's square is nothing.
pub(super) fn too_small_to_square(precision: &str) -> String {
    format!("The gradient is too small to square in {precision}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solve::arithmetic::Arithmetic;

    fn iteration(
        iteration: u32,
        cost: f64,
        cost_change: f64,
        gradient_max_norm: f64,
        step_norm: f64,
    ) -> IterationSummary {
        IterationSummary {
            iteration,
            cost,
            cost_change,
            gradient_max_norm,
            step_norm,
            accepted: true,
            damping: None,
            gain_ratio: None,
            linear_iterations: None,
            step_size: None,
            elapsed_ms: 0.0,
        }
    }

    fn judged(options: &SolveOptions, last: &IterationSummary, size: f64) -> Option<Termination> {
        let mut convergence = Convergence::new(options.clone(), Precision::Double);
        convergence.judge(last, size, 0.0).map(|(termination, _)| termination)
    }

    #[test]
    fn each_tolerance_ends_the_run_at_its_figure_and_not_before_and_zero_switches_it_off() {
        let off = SolveOptions {
            cost_tolerance: 0.0,
            gradient_tolerance: 0.0,
            parameter_tolerance: 0.0,
            ..SolveOptions::defaults(Arithmetic::DOUBLE)
        };
        let cost = SolveOptions { cost_tolerance: 1e-2, ..off.clone() };
        let gradient = SolveOptions { gradient_tolerance: 1e-2, ..off.clone() };
        let parameter = SolveOptions { parameter_tolerance: 1e-2, ..off.clone() };
        let cases = [
            (&gradient, iteration(0, 1.0, 0.0, 0.01, 0.0), Some(Termination::GradientTolerance)),
            (&gradient, iteration(0, 1.0, 0.0, 0.011, 0.0), None),
            (&cost, iteration(1, 99.0, 1.0, 1.0, 1.0), Some(Termination::CostTolerance)),
            (&cost, iteration(1, -101.0, 1.0, 1.0, 1.0), Some(Termination::CostTolerance)),
            (&cost, iteration(1, 98.0, 2.0, 1.0, 1.0), None),
            // The start has changed nothing yet.
            (&cost, iteration(0, 98.0, 0.0, 1.0, 0.0), None),
            (&parameter, iteration(1, 1.0, 1.0, 1.0, 0.1), Some(Termination::ParameterTolerance)),
            (&parameter, iteration(1, 1.0, 1.0, 1.0, 0.11), None),
            (&off, iteration(1, 1.0, 0.0, 1e-300, 0.0), None),
            (&off, iteration(0, 1.0, 0.0, 0.0, 0.0), Some(Termination::GradientTolerance)),
            (&off, iteration(100, 1.0, 1.0, 1.0, 1.0), Some(Termination::MaxIterations)),
        ];
        for (options, last, expected) in cases {
            assert_eq!(judged(options, &last, 10.0), expected, "{last:?}");
        }
    }

    #[test]
    fn ten_iterations_within_the_noise_are_the_precision_limit_unless_the_gradient_halves() {
        let options = SolveOptions {
            cost_tolerance: 0.0,
            parameter_tolerance: 0.0,
            ..SolveOptions::defaults(Arithmetic::DOUBLE)
        };
        for (gradient_at_5, expected_end) in [(1.0, 10), (0.5, 15)] {
            let mut convergence = Convergence::new(options.clone(), Precision::Single);
            let ended = (0..50).find(|&i| {
                let gradient = if i < 5 { 1.0 } else { gradient_at_5 };
                // The cost jitters within the noise of 1e-3.
                let cost = 1.0 + if i % 2 == 0 { 0.0 } else { -9e-4 };
                let ended = convergence.judge(&iteration(i, cost, 1e-4, gradient, 1.0), 1.0, 1e-3);
                ended.is_some_and(|(termination, _)| termination == Termination::PrecisionLimit)
            });
            assert_eq!(ended, Some(expected_end));
        }
    }
}
