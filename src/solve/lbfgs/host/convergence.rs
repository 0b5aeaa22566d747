//! Convergence of a run of L-BFGS, by [`rules::convergence`](crate::solve::lbfgs::rules::convergence): the tolerances, the iteration limit,
//! and the limit that rounding sets. Only accepted steps are tested.

use std::rc::Rc;

use crate::eval::Arithmetic;
use crate::solve::lbfgs::ending;
use crate::solve::lbfgs::rules::convergence as rule;
use crate::solve::options::SolveOptions;
use crate::solve::scalar::evaluate;
use crate::solve::summary::{IterationSummary, Termination};
use residua_codegen::Function;

/// The convergence test of a run.
#[derive(Clone, Debug)]
pub struct Convergence {
    options: SolveOptions,
    arithmetic: Arithmetic,
    progress: Rc<Function>,
    ending: Rc<Function>,
    /// Cost and gradient's max norm of the last iteration that made visible progress.
    cost: f64,
    gradient_max_norm: f64,
    /// The largest gradient's max norm so far.
    steepest: f64,
    /// Iterations since the last progress.
    idle: f64,
}

impl Convergence {
    /// The test of a run with these options, over evaluations in this arithmetic.
    pub fn new(options: SolveOptions, arithmetic: Arithmetic) -> Convergence {
        let (progress, ending) = (rule::progress(), rule::ending());
        Convergence {
            options,
            arithmetic,
            progress,
            ending,
            cost: 0.0,
            gradient_max_norm: 0.0,
            steepest: 0.0,
            idle: 0.0,
        }
    }

    /// Whether the run ends with this iteration, and the sentence that says why, without its full stop. `size`: Euclidean norm of the
    /// coordinates that are not constant; `noise`: rounding error of the cost. Called once for each iteration, in order.
    pub fn test(&mut self, last: &IterationSummary, size: f64, noise: f64) -> Option<(Termination, String)> {
        let IterationSummary { cost, cost_change, gradient_max_norm, step_norm, .. } = *last;
        let iteration = f64::from(last.iteration);
        let arguments = [iteration, self.cost - cost, noise, gradient_max_norm, self.gradient_max_norm, self.idle];
        let [better, idle] = evaluate(&self.progress, &arguments);
        if better != 0.0 {
            (self.cost, self.gradient_max_norm) = (cost, gradient_max_norm);
        }
        self.idle = idle;
        self.steepest = self.steepest.max(gradient_max_norm);
        let SolveOptions { max_iterations, cost_tolerance, gradient_tolerance, parameter_tolerance, .. } = self.options;
        let before = cost + cost_change;
        let [result] = evaluate(
            &self.ending,
            &[
                iteration,
                cost_change,
                before,
                gradient_max_norm,
                self.steepest,
                step_norm,
                size,
                idle,
                cost_tolerance,
                gradient_tolerance,
                parameter_tolerance,
                f64::from(max_iterations),
                self.arithmetic.epsilon(),
            ],
        );
        ending::of_convergence(result, &self.options, self.arithmetic, last, self.steepest, size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

    fn tested(options: &SolveOptions, last: &IterationSummary, size: f64) -> Option<Termination> {
        let mut convergence = Convergence::new(options.clone(), Arithmetic::F64);
        convergence.steepest = 1.0;
        convergence.test(last, size, 0.0).map(|(termination, _)| termination)
    }

    #[test]
    fn each_tolerance_ends_the_run_at_its_value_and_zero_switches_it_off() {
        let off = SolveOptions {
            cost_tolerance: 0.0,
            gradient_tolerance: 0.0,
            parameter_tolerance: 0.0,
            ..SolveOptions::defaults()
        };
        let cost = SolveOptions { cost_tolerance: 1e-2, ..off.clone() };
        let gradient = SolveOptions { gradient_tolerance: 1e-2, ..off.clone() };
        let parameter = SolveOptions { parameter_tolerance: 1e-2, ..off.clone() };
        // The largest gradient of the run is 1.
        let cases = [
            (&gradient, iteration(0, 1.0, 0.0, 0.01, 0.0), Some(Termination::GradientTolerance)),
            (&gradient, iteration(0, 1.0, 0.0, 0.011, 0.0), None),
            (&cost, iteration(1, 99.0, 1.0, 1.0, 1.0), Some(Termination::CostTolerance)),
            (&cost, iteration(1, -101.0, 1.0, 1.0, 1.0), Some(Termination::CostTolerance)),
            (&cost, iteration(1, 98.0, 2.0, 1.0, 1.0), None),
            // Iteration 0 is the start, which has no change.
            (&cost, iteration(0, 98.0, 0.0, 1.0, 0.0), None),
            (&parameter, iteration(1, 1.0, 1.0, 1.0, 0.1), Some(Termination::ParameterTolerance)),
            (&gradient, iteration(1, 1.0, 0.0, 1e-2, 0.0), Some(Termination::GradientTolerance)),
            (&parameter, iteration(1, 1.0, 1.0, 1.0, 0.11), None),
            (&off, iteration(1, 1.0, 0.0, 1e-300, 0.0), None),
            (&off, iteration(0, 1.0, 0.0, 0.0, 0.0), Some(Termination::GradientTolerance)),
            (&off, iteration(100, 1.0, 1.0, 1.0, 1.0), Some(Termination::MaxIterations)),
        ];
        for (options, last, expected) in cases {
            assert_eq!(tested(options, &last, 10.0), expected, "{last:?}");
        }
    }

    #[test]
    fn ten_iterations_within_the_noise_end_at_the_precision_limit_unless_the_gradient_halves() {
        let options = SolveOptions { cost_tolerance: 0.0, parameter_tolerance: 0.0, ..SolveOptions::defaults() };
        for (gradient_at_5, expected_end) in [(1.0, 10), (0.5, 15)] {
            let mut convergence = Convergence::new(options.clone(), Arithmetic::F32);
            let ended = (0..50).find(|&i| {
                let gradient = if i < 5 { 1.0 } else { gradient_at_5 };
                // The cost varies by less than the noise, 1e-3.
                let cost = 1.0 + if i % 2 == 0 { 0.0 } else { -9e-4 };
                let ended = convergence.test(&iteration(i, cost, 1e-4, gradient, 1.0), 1.0, 1e-3);
                ended.is_some_and(|(termination, _)| termination == Termination::PrecisionLimit)
            });
            assert_eq!(ended, Some(expected_end));
        }
    }
}
