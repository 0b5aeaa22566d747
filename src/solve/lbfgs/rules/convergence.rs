//! Convergence of L-BFGS: whether an accepted iteration is the last.

use std::rc::Rc;

use crate::solve::rules::ROUNDINGS;
use crate::solve::scalar::function;
use residua_codegen::Function;

/// The run continues.
pub const CONTINUE: f64 = 0.0;
/// Converged: the gradient met its tolerance.
pub const GRADIENT: f64 = 1.0;
/// Converged: the last change of the cost met its tolerance.
pub const COST: f64 = 2.0;
/// Converged: the last step met its tolerance.
pub const PARAMETER: f64 = 3.0;
/// Rounding errors hide further progress.
pub const PRECISION: f64 = 4.0;
/// The run made as many iterations as allowed.
pub const ITERATIONS: f64 = 5.0;

/// Iterations without visible progress after which the run ends with [`PRECISION`]. A few of them are no sign of it, since the cost need not
/// fall in every iteration.
pub const PATIENCE: u32 = 10;

/// (Whether the iteration made visible progress, iterations since the last one that did).
///
/// Progress is a cost below the least one so far by more than the noise, or at most half the least gradient norm so far; the start, iteration
/// 0, counts as progress. `fall`: least cost − cost; `idle`: iterations since the last progress, before this one.
pub fn progress() -> Rc<Function> {
    let parameters = &["iteration", "fall", "noise", "gradient", "least_gradient", "idle"];
    function("progress", parameters, |f, [iteration, fall, noise, gradient, least_gradient, idle]| {
        let (zero, one, half) = (f.number(0.0), f.number(1.0), f.number(0.5));
        let first = f.is(iteration, 0.0);
        let lower = f.less(noise, fall);
        let half_of_least = f.times(half, least_gradient);
        let flatter = f.at_most(gradient, half_of_least);
        let either = f.or(lower, flatter);
        let better = f.or(first, either);
        let more = f.plus(idle, one);
        [better, f.choose(better, zero, more)]
    })
}

/// Whether and why the run ends with an accepted iteration, from [`CONTINUE`] to [`ITERATIONS`].
///
/// The tests take ratios, so that the unit of the cost and a common unit of the parameters change no decision: ‖g‖∞ ≤ `gradient_tolerance` ·
/// `steepest`, the largest ‖g‖∞ of the run; |change| ≤ `cost_tolerance`·|before|; step ≤ `parameter_tolerance`·size. The gradient is compared
/// with that of the run because f may have any offset, and x any origin, and a comparison with |f|/‖x‖ would depend on both. A tolerance of 0
/// switches its test off; one of the cost or the step below [`ROUNDINGS`] ε counts as that. The gradient's has no such limit, since the
/// rounding of a gradient is not relative to the largest of the run. A gradient of exactly 0 is convergence. `change`: cost before − cost after;
/// `before`: cost before; `step`: ‖s‖; `size`: norm of the coordinates that are not constant.
pub fn ending() -> Rc<Function> {
    let parameters = &[
        "iteration",
        "change",
        "before",
        "gradient",
        "steepest",
        "step",
        "size",
        "idle",
        "cost_tolerance",
        "gradient_tolerance",
        "parameter_tolerance",
        "max_iterations",
        "epsilon",
    ];
    function(
        "ending",
        parameters,
        |f,
         [
            iteration,
            change,
            before,
            gradient,
            steepest,
            step,
            size,
            idle,
            cost_tolerance,
            gradient_tolerance,
            parameter_tolerance,
            max_iterations,
            epsilon,
        ]| {
            let (zero, patience) = (f.number(0.0), f.number(f64::from(PATIENCE)));
            let roundings = f.number(ROUNDINGS);
            let least = f.times(roundings, epsilon);
            let out = f.at_most(max_iterations, iteration);
            let idle = f.at_most(patience, idle);
            let follows = f.less(zero, iteration);
            let [cost, parameter, flat] = [
                (change, before, cost_tolerance, least, follows),
                (step, size, parameter_tolerance, least, follows),
                (gradient, steepest, gradient_tolerance, zero, f.number(1.0)),
            ]
            .map(|(what, scale, tolerance, least, judged)| {
                let (what, scale) = (f.magnitude(what), f.magnitude(scale));
                let below = f.less(tolerance, least);
                let raised = f.choose(below, least, tolerance);
                let most = f.times(raised, scale);
                let on = f.less(zero, tolerance);
                let within = f.at_most(what, most);
                let within = f.and(within, on);
                f.and(within, judged)
            });
            let vanishes = f.is(gradient, 0.0);
            let flat = f.or(flat, vanishes);
            let reasons =
                [(out, ITERATIONS), (idle, PRECISION), (parameter, PARAMETER), (cost, COST), (flat, GRADIENT)];
            let go_on = f.number(CONTINUE);
            [reasons.into_iter().fold(go_on, |other, (holds, reason)| {
                let reason = f.number(reason);
                f.choose(holds, reason, other)
            })]
        },
    )
}
