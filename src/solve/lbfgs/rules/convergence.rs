//! Convergence of L-BFGS: whether an accepted iteration is the last.

use std::rc::Rc;

use crate::eval::Arithmetic;
use crate::solve::rules::ROUNDINGS;
use crate::solve::scalar::{Formula, Scalar, function};
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
/// The cost falls without a bound.
pub const UNBOUNDED: f64 = 6.0;

/// Iterations without visible progress after which the run ends with [`PRECISION`]. A few of them are no sign of it, since the cost need not
/// fall in every iteration.
pub const PATIENCE: u32 = 10;

/// The size of a coordinate is known where it has moved by at most this share of it since the start. One that came from 0, or from near 0, has a
/// size that the steps have made, and badly scaled steps make it too small.
pub const KNOWN_TRAVEL: f64 = 0.5;

/// A coordinate whose own size would change the cost by at most this share of it, along the gradient, need not have come to rest. A run that starts
/// at a minimum cannot lower its gradient much, and ends by this.
const MINOR_EFFECT: f64 = 1e-2;

/// The largest cost or norm of parameters that is a result. Its square, and that of numbers ten thousand times as large, are finite.
pub fn largest_result(arithmetic: Arithmetic) -> f64 {
    match arithmetic {
        Arithmetic::F32 | Arithmetic::F32x2 => 1e15,
        Arithmetic::F64 => 1e150,
    }
}

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

/// The square of the share of its largest value in the run to which an entry of the gradient must have fallen, for a small fall of the cost or
/// a short step to be convergence.
///
/// Near a minimum the excess of the cost is the square of the gradient: a share σ leaves about σ² of the fall of the run. It may leave `tolerance`
/// of the cost, or of the fall where that is smaller, and need not leave less than ε of the fall. `cost`: cost now; `fall`: cost of the start −
/// cost now; the tolerance is the larger of the two, and at least [`ROUNDINGS`] ε.
pub fn share_limit() -> Rc<Function> {
    let parameters = &["cost", "fall", "cost_tolerance", "parameter_tolerance", "epsilon"];
    function("share_limit", parameters, |f, [cost, fall, cost_tolerance, parameter_tolerance, epsilon]| {
        let (one, roundings) = (f.number(1.0), f.number(ROUNDINGS));
        let least = f.times(roundings, epsilon);
        let tolerance = f.larger(cost_tolerance, parameter_tolerance);
        let tolerance = f.larger(tolerance, least);
        let size = f.magnitude(cost);
        let ratio = f.over(size, fall);
        let deep = f.less(size, fall);
        let ratio = f.choose(deep, ratio, one);
        let square = f.times(tolerance, ratio);
        [f.larger(square, epsilon)]
    })
}

/// The fall of the cost in a step: what the costs tell beyond their rounding, else what the slopes at both ends of the step tell, whatever number is added to
/// the cost. `change`: cost before − cost after; `by_slopes`: −½(g + g′)ᵀs.
pub fn fall() -> Rc<Function> {
    function("fall_of_step", &["change", "by_slopes", "noise"], |f, [change, by_slopes, noise]| {
        let [size, told] = [change, by_slopes].map(|fall| f.magnitude(fall));
        let within = f.at_most(size, noise);
        let faint = f.at_most(told, noise);
        let hidden = f.or(within, faint);
        [f.choose(hidden, by_slopes, change)]
    })
}

/// (Whether and why the run ends with an accepted iteration, from [`CONTINUE`] to [`UNBOUNDED`]; whether it has converged if rounding hides any
/// further fall of the cost).
///
/// The tests take ratios, so that the unit of the cost changes no decision, and the unit of a parameter none that ends as convergence. The cost has a size of
/// its own, F, where nothing may have been added to it; of a sum of energies F is no more than their fall in the run.
///
/// - Gradient: `share` ≤ `gradient_tolerance`, unless the cost still falls by much of the fall of the run at parameters whose own size would change
///   it by much: so ends −ln x, which has no minimum, though its gradient vanishes.
/// - Cost: change ≤ `cost_tolerance`·F. Parameters: step ≤ `parameter_tolerance`·size. Neither is a sign of a minimum by itself: a step
///   is short, too, where the direction is badly scaled. Both count only where `promise` is at most the larger tolerance times F, and every entry
///   of the gradient has fallen to [`share_limit`], or its coordinate's own size would change the cost by little: `unsettled` ≤ [`MINOR_EFFECT`]·F.
///
/// The gradient is compared with that of the run because f may have any offset, and x any origin, and a comparison with |f|/‖x‖ would depend on
/// both. A tolerance of 0 switches its test off; one of the cost or the step below [`ROUNDINGS`] ε counts as that. The gradient's has no such
/// limit, since the rounding of a gradient is not relative to the largest of the run. A gradient of exactly 0 is convergence.
///
/// `change`: [`fall`] of the step; `before`: cost after + change; `run`: sum of the falls; `has_size`: whether nothing was added to the cost;
/// `promise`: ½gᵀHg, the fall that the history's model still promises; `gradient`: ‖g‖∞; `share`: the largest of |gᵢ| over the largest |gᵢ| of the
/// run; `unsettled`: the largest of |gᵢxᵢ| over the entries above [`share_limit`], divided by ε for coordinates whose size is not known, by
/// [`KNOWN_TRAVEL`]; `effect`: the norm of all gᵢxᵢ; `step`: ‖s‖; `size`: norm of the coordinates that are not constant; `largest`: above it a cost or
/// a norm is no result.
pub fn ending() -> Rc<Function> {
    let parameters = &[
        "promise",
        "iteration",
        "change",
        "before",
        "run",
        "has_size",
        "gradient",
        "share",
        "unsettled",
        "effect",
        "step",
        "size",
        "idle",
        "cost_tolerance",
        "gradient_tolerance",
        "parameter_tolerance",
        "max_iterations",
        "epsilon",
        "largest",
    ];
    function(
        "ending",
        parameters,
        |f,
         [
            promise,
            iteration,
            change,
            before,
            run,
            has_size,
            gradient,
            share,
            unsettled,
            effect,
            step,
            size,
            idle,
            cost_tolerance,
            gradient_tolerance,
            parameter_tolerance,
            max_iterations,
            epsilon,
            largest,
        ]| {
            let (zero, one, patience) = (f.number(0.0), f.number(1.0), f.number(f64::from(PATIENCE)));
            let roundings = f.number(ROUNDINGS);
            let least = f.times(roundings, epsilon);
            let out = f.at_most(max_iterations, iteration);
            let idle = f.at_most(patience, idle);
            let follows = f.less(zero, iteration);
            let cost_now = f.minus(before, change);
            let cost_size = f.magnitude(cost_now);

            let fallen = f.magnitude(run);
            let deep = f.less(cost_size, fallen);
            let is_size = f.or(has_size, deep);
            let own = f.choose(is_size, cost_size, fallen);

            let minor = f.number(MINOR_EFFECT);
            let [of_own, of_cost] = [own, cost_size].map(|size| f.times(minor, size));
            let at_rest = f.at_most(unsettled, of_own);
            let settled = f.and(at_rest, follows);
            // Where no step is left, slopes have told all that they can.
            let at_rest = f.at_most(unsettled, of_cost);
            let judged = f.less(zero, cost_tolerance);
            let at_rest = f.and(at_rest, judged);

            // (what / of)² ≤ gradient_tolerance, false where what > 0 and of is 0.
            let is_minor = |what: Scalar, of: Scalar, f: &mut Formula| {
                let ratio = f.over(what, of);
                let square = f.times(ratio, ratio);
                let small = f.at_most(square, gradient_tolerance);
                let none = f.at_most(what, zero);
                f.or(small, none)
            };
            let sum = f.plus(fallen, cost_size);
            let scale = f.choose(has_size, sum, fallen);
            let slow = is_minor(change, fallen, f);
            let weak = is_minor(effect, scale, f);
            let comes_to_rest = f.or(slow, weak);
            let starts = f.not(follows);
            let comes_to_rest = f.or(comes_to_rest, starts);

            let within = |f: &mut Formula, what, scale, tolerance, least, judged| {
                let what = f.magnitude(what);
                let raised = f.larger(tolerance, least);
                let most = f.times(raised, scale);
                let on = f.less(zero, tolerance);
                let within = f.at_most(what, most);
                let within = f.and(within, on);
                f.and(within, judged)
            };
            let tolerance = f.larger(cost_tolerance, parameter_tolerance);
            let promised = within(f, promise, own, tolerance, least, settled);
            let cost = within(f, change, own, cost_tolerance, least, promised);
            let parameter = within(f, step, size, parameter_tolerance, least, promised);
            let flat = within(f, share, one, gradient_tolerance, zero, comes_to_rest);
            let vanishes = f.is(gradient, 0.0);
            let flat = f.or(flat, vanishes);

            // A cost far below any of the start, or parameters far from any result, while it still falls.
            let falls = f.less(zero, change);
            let far = f.less(largest, size);
            let minus = f.minus(zero, cost_now);
            let low = f.less(largest, minus);
            let start = f.plus(cost_now, run);
            let start = f.magnitude(start);
            let part = f.number(1e-8);
            let part = f.times(part, cost_size);
            let below_start = f.less(start, part);
            let low = f.and(low, below_start);
            let endless = f.or(far, low);
            let unbounded = f.and(falls, endless);

            let reasons = [
                (out, ITERATIONS),
                (idle, PRECISION),
                (parameter, PARAMETER),
                (cost, COST),
                (flat, GRADIENT),
                (unbounded, UNBOUNDED),
            ];
            let go_on = f.number(CONTINUE);
            let reason = reasons.into_iter().fold(go_on, |other, (holds, reason)| {
                let reason = f.number(reason);
                f.choose(holds, reason, other)
            });
            [reason, at_rest]
        },
    )
}
