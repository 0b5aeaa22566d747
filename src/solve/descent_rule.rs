//! The other rules of L-BFGS, as scalar functions that both engines share: when a run ends by its own figures, which curvature pairs are kept,
//! and when a direction is given up for the gradient's.

use std::rc::Rc;

use super::scalar::function;
use crate::codegen::Function;

/// The run goes on.
pub const GO_ON: f64 = 0.0;
/// Converged: the gradient is small.
pub const GRADIENT: f64 = 1.0;
/// Converged: the last step hardly changed the cost.
pub const COST: f64 = 2.0;
/// Converged: the last step was small.
pub const PARAMETER: f64 = 3.0;
/// Rounding errors hide any further progress.
pub const PRECISION: f64 = 4.0;
/// As many iterations as allowed.
pub const ITERATIONS: f64 = 5.0;

/// Iterations without visible progress after which rounding is what is left: one or two may be chance where costs need not fall each time.
pub const PATIENCE: u32 = 10;

/// (Whether the iteration is visibly better than the best before it, iterations since then): lower by more than the noise, or with half the
/// gradient. `fall`: least cost less this one; `iteration` 0 is always better.
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

/// Why the run ends with an accepted iteration, from [`GO_ON`] to [`ITERATIONS`]: the tolerances of Ceres Solver, of which 0 switches a test
/// off. `change` is the change of cost, `before` the cost before it; `size` the norm of the coordinates that are no constants.
pub fn ending() -> Rc<Function> {
    let parameters = &[
        "iteration",
        "change",
        "before",
        "gradient",
        "step",
        "size",
        "idle",
        "cost_tolerance",
        "gradient_tolerance",
        "parameter_tolerance",
        "max_iterations",
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
            step,
            size,
            idle,
            cost_tolerance,
            gradient_tolerance,
            parameter_tolerance,
            max_iterations,
        ]| {
            let (zero, patience) = (f.number(0.0), f.number(f64::from(PATIENCE)));
            let out = f.at_most(max_iterations, iteration);
            let idle = f.at_most(patience, idle);
            let [cost, parameter] = [(change, before, cost_tolerance, false), (step, size, parameter_tolerance, true)]
                .map(|(what, scale, tolerance, widened)| {
                    let what = f.magnitude(what);
                    let scale = f.magnitude(scale);
                    let scale = if widened { f.plus(scale, tolerance) } else { scale };
                    let most = f.times(tolerance, scale);
                    let terms = [f.less(zero, tolerance), f.less(zero, iteration)];
                    let within = f.at_most(what, most);
                    terms.into_iter().fold(within, |all, term| f.and(all, term))
                });
            let flat = f.at_most(gradient, gradient_tolerance);
            let reasons =
                [(out, ITERATIONS), (idle, PRECISION), (parameter, PARAMETER), (cost, COST), (flat, GRADIENT)];
            let go_on = f.number(GO_ON);
            [reasons.into_iter().fold(go_on, |other, (holds, reason)| {
                let reason = f.number(reason);
                f.choose(holds, reason, other)
            })]
        },
    )
}

/// (Whether a pair is kept, ρ = 1/sᵀy, γ = sᵀy/yᵀy) of step s and gradient change y: kept if its curvature is positive beyond rounding, since the Hessian stays positive
/// definite only while sᵀy > 0 (Nocedal and Wright, Numerical Optimization, 2nd ed., §7.2). `largest`: the largest number there is.
pub fn pair() -> Rc<Function> {
    let parameters = &["sy", "s_norm", "y_norm", "resolution", "largest"];
    function("curvature_pair", parameters, |f, [sy, s_norm, y_norm, resolution, largest]| {
        let (zero, one) = (f.number(0.0), f.number(1.0));
        let product = f.times(s_norm, y_norm);
        let rounding = f.times(resolution, product);
        let curved = f.less(rounding, sy);
        let rho = f.over(one, sy);
        let of_one = f.over(sy, y_norm);
        let scale = f.over(of_one, y_norm);
        let terms = [f.less(zero, scale), f.at_most(scale, largest), f.at_most(rho, largest)];
        let kept = terms.into_iter().fold(curved, |all, term| f.and(all, term));
        [kept, rho, scale]
    })
}

/// Whether a quasi-Newton direction points downhill by more than the rounding of the product that says so.
pub fn descends() -> Rc<Function> {
    let parameters = &["slope", "gradient_norm", "direction_norm", "resolution"];
    function("descends", parameters, |f, [slope, gradient_norm, direction_norm, resolution]| {
        let product = f.times(gradient_norm, direction_norm);
        let rounding = f.times(resolution, product);
        let minus = f.number(-1.0);
        let limit = f.times(minus, rounding);
        [f.less(slope, limit)]
    })
}
