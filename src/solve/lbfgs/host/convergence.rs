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
    fall_of_step: Rc<Function>,
    share_limit: Rc<Function>,
    ending: Rc<Function>,
    /// The cost of the start.
    first: f64,
    /// By how much the cost has fallen since.
    fall: f64,
    /// What [`rule::share_limit`] gave for the last iteration.
    limit: f64,
    settled: bool,
    /// Cost and gradient's max norm of the last iteration that made visible progress.
    cost: f64,
    gradient_max_norm: f64,
    /// Iterations since the last progress.
    idle: f64,
}

/// What is measured at the end of an iteration, beside its summary: arguments of [`rule::ending`].
#[derive(Clone, Copy, Debug)]
pub struct Measures {
    /// Whether nothing was added to the cost: whether it is half a sum of squares.
    pub has_size: bool,
    /// By how much the slopes at both ends of the step say that it lowered the cost.
    pub by_slopes: f64,
    /// Euclidean norm of the coordinates that are not constant.
    pub size: f64,
    /// Rounding error of the cost.
    pub noise: f64,
    /// Norm of all gᵢxᵢ.
    pub effect: f64,
    /// The largest share of the gradient.
    pub share: f64,
    /// The largest effect of a coordinate that has not come to rest.
    pub unsettled: f64,
}

impl Convergence {
    /// The test of a run with these options, over evaluations in this arithmetic.
    pub fn new(options: &SolveOptions, arithmetic: Arithmetic) -> Convergence {
        Convergence {
            options: options.clone(),
            arithmetic,
            progress: rule::progress(),
            fall_of_step: rule::fall(),
            share_limit: rule::share_limit(),
            ending: rule::ending(),
            first: 0.0,
            fall: 0.0,
            limit: 0.0,
            settled: false,
            cost: 0.0,
            gradient_max_norm: 0.0,
            idle: 0.0,
        }
    }

    /// The square of the share of the gradient above which a coordinate has not come to rest.
    pub fn limit(&self) -> f64 {
        self.limit
    }

    /// Whether the run has converged if no step from the last iteration lowers the cost visibly.
    pub fn settled(&self) -> bool {
        self.settled
    }

    /// Whether the run ends with this iteration, and the sentence that says why, without its full stop. Called once for each iteration, in
    /// order. `promise`: ½gᵀHg, what the history's model still promises; a number beyond any cost where there is none.
    pub fn test(
        &mut self,
        last: &IterationSummary,
        measures: &Measures,
        promise: impl FnOnce() -> f64,
    ) -> Option<(Termination, String)> {
        let IterationSummary { cost, cost_change, gradient_max_norm, step_norm, .. } = *last;
        let Measures { has_size, by_slopes, size, noise, effect, share, unsettled } = *measures;
        let iteration = f64::from(last.iteration);
        let arguments = [iteration, self.cost - cost, noise, gradient_max_norm, self.gradient_max_norm, self.idle];
        let [better, idle] = evaluate(&self.progress, &arguments);
        if better != 0.0 {
            (self.cost, self.gradient_max_norm) = (cost, gradient_max_norm);
        }
        self.idle = idle;
        if last.iteration == 0 {
            self.first = cost;
        }
        let [change] = evaluate(&self.fall_of_step, &[cost_change, by_slopes, noise]);
        self.fall += change;
        let SolveOptions { max_iterations, cost_tolerance, gradient_tolerance, parameter_tolerance, .. } = self.options;
        let epsilon = self.arithmetic.epsilon();
        [self.limit] = evaluate(&self.share_limit, &[cost, self.fall, cost_tolerance, parameter_tolerance, epsilon]);
        let mut arguments = [
            0.0,
            iteration,
            change,
            cost + change,
            self.fall,
            f64::from(u8::from(has_size)),
            gradient_max_norm,
            share,
            unsettled,
            effect,
            step_norm,
            size,
            idle,
            cost_tolerance,
            gradient_tolerance,
            parameter_tolerance,
            f64::from(max_iterations),
            epsilon,
            rule::largest_result(self.arithmetic),
        ];
        let [mut result, settled] = evaluate(&self.ending, &arguments);
        // The promise takes as long as a direction, so that it is computed where all else is met.
        if result == rule::COST || result == rule::PARAMETER {
            arguments[0] = promise();
            [result, _] = evaluate(&self.ending, &arguments);
        }
        self.settled = settled != 0.0;
        ending::of_convergence(result, &self.options, self.arithmetic, last, self.first, share, size)
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

    /// Of a run whose gradient was 1, and all of whose coordinates have come to rest.
    fn tested(options: &SolveOptions, last: &IterationSummary, size: f64) -> Option<Termination> {
        let share = last.gradient_max_norm;
        let by_slopes = last.cost_change;
        let measures = Measures { has_size: false, by_slopes, size, noise: 0.0, effect: 0.0, share, unsettled: 0.0 };
        tested_at(options, last, &measures)
    }

    fn tested_at(options: &SolveOptions, last: &IterationSummary, measures: &Measures) -> Option<Termination> {
        let mut convergence = Convergence::new(options, Arithmetic::F64);
        convergence.first = 1000.0;
        convergence.fall = 1000.0 - last.cost - last.cost_change;
        convergence.test(last, measures, || 0.0).map(|(termination, _)| termination)
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
            (&cost, iteration(1, 100.0, 1.0, 1.0, 1.0), Some(Termination::CostTolerance)),
            (&cost, iteration(1, -100.0, 1.0, 1.0, 1.0), Some(Termination::CostTolerance)),
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
            let mut convergence = Convergence::new(&options, Arithmetic::F32);
            let ended = (0..50).find(|&i| {
                let gradient = if i < 5 { 1.0 } else { gradient_at_5 };
                // The cost varies by less than the noise, 1e-3.
                let cost = 1.0 + if i % 2 == 0 { 0.0 } else { -9e-4 };
                let (noise, share) = (1e-3, gradient);
                let measures =
                    Measures { has_size: false, by_slopes: 0.0, size: 1.0, noise, effect: 1.0, share, unsettled: 1.0 };
                let ended = convergence.test(&iteration(i, cost, 1e-4, gradient, 1.0), &measures, || 0.0);
                ended.is_some_and(|(termination, _)| termination == Termination::PrecisionLimit)
            });
            assert_eq!(ended, Some(expected_end));
        }
    }
}
