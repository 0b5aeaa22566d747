//! The rule of the line search, as scalar functions: the CPU evaluates them in f64, the device runs them as WGSL, so that both decide alike.
//!
//! A bisection for the weak Wolfe conditions (A. Lewis and M. Overton, "Nonsmooth optimization via quasi-Newton methods", Math. Programming
//! 141, 2013, algorithm 2.6), with φ(t) the cost along the direction: a step that does not lower the cost enough bounds the next ones from
//! above, one that leaves the slope too steep bounds them from below. The next step depends on the verdicts so far and on no figure, so
//! the steps of a search form a fixed tree, and several of its nodes can be evaluated before the first is judged. What is added:
//!
//! - Trials that are NaN or infinite bound the interval from above, and the next one is nearer.
//! - Where costs differ by less than their rounding error, slopes decide: the approximate Wolfe conditions of W. Hager and H. Zhang, "A new
//!   conjugate gradient method with guaranteed descent and an efficient line search", SIAM J. Optim. 16 (2005).
//! - A search that cannot go on ends with its lower bound, which lowered the cost enough; without one it says whether rounding is why.
//! - On a path that bends at the bounds, decrease is measured against the displacement that was really made (D. Bertsekas, "On the
//!   Goldstein-Levitin-Polyak gradient projection method", IEEE Trans. Automatic Control 21, 1976), and it is all that is asked there: the
//!   slope jumps at a bend, so that no step need satisfy the other condition.
//!
//! Costs enter as differences from the cost at the start, since on the device only those have digits to compare.

use std::rc::Rc;

use super::scalar::{Formula, Scalar, function};
use crate::codegen::Function;

/// The trial satisfies both conditions.
pub const TAKE: f64 = 0.0;
/// The trial does not lower the cost enough.
pub const LONG: f64 = 1.0;
/// The cost still falls steeply there.
pub const SHORT: f64 = 2.0;
/// Rounded, the trial is where the search began.
pub const UNSEEN: f64 = 3.0;
/// The trial is NaN or infinite.
pub const WILD: f64 = 4.0;

/// Another trial follows.
pub const GO_ON: f64 = 0.0;
/// The search ends with the trial just judged.
pub const TAKE_TRIAL: f64 = 1.0;
/// The search ends with its lower bound.
pub const TAKE_LOWER: f64 = 2.0;
/// The steps that are left change the cost by less than its rounding error.
pub const PRECISION: f64 = 3.0;
/// Every trial was NaN or infinite.
pub const NON_FINITE: f64 = 4.0;
/// However short the step, the cost rises in proportion where its derivative says that it falls.
pub const CONTRADICTION: f64 = 5.0;
/// All trials allowed are spent.
pub const EXHAUSTED: f64 = 6.0;

/// An evaluation chains many roundings, up to about this many that add up; `noise` counts one. It decides what an exhausted search is called,
/// not how it goes.
pub const ROUNDINGS: f64 = 100.0;

/// So many shorter and shorter trials in a row whose cost rises in proportion to the step are no accident of rounding, which knows no steps.
const CONTRADICTIONS: f64 = 4.0;

/// How much longer the next step is while none was too long.
const GROWTH: f64 = 4.0;

/// Where not even this share of the first step was short enough, the next one is this share of the last: the scale is wrong, and halving
/// would take long to find another.
const FAR: f64 = 0.25;
const HASTY: f64 = 1.0 / 64.0;

/// How much longer it is while none was long enough to be seen.
const GROWTH_UNSEEN: f64 = 16.0;

/// What a finite trial is: [`TAKE`], [`LONG`] or [`SHORT`]. `rise` is φ(t) − φ(0), `slope` φ′(t), `predicted` the gradient at the start
/// times the displacement really made, `bent` whether bounds bent the path; `slope0` is φ′(0), `noise` the rounding error of costs, `headroom`
/// how far above φ(0) a trial may cost whose decrease is hidden by it.
pub fn verdict() -> Rc<Function> {
    let parameters = &["rise", "slope", "predicted", "bent", "slope0", "noise", "headroom", "c1", "c2"];
    function("line_verdict", parameters, |f, [rise, slope, predicted, bent, slope0, noise, headroom, c1, c2]| {
        let (zero, one, two) = (f.number(0.0), f.number(1.0), f.number(2.0));
        let downhill = f.less(predicted, zero);
        let share = f.times(c1, predicted);
        let lower = f.at_most(rise, share);
        let seen = f.and(downhill, lower);
        // The first Wolfe condition, or where rounding hides it, what is equivalent to it on a parabola (Hager and Zhang).
        let within = within_noise(f, rise, noise, headroom);
        let twice = f.times(two, c1);
        let factor = f.minus(twice, one);
        let steepest = f.times(factor, slope0);
        let risen_little = f.at_most(slope, steepest);
        let hidden = f.and(within, risen_little);
        let enough = f.or(seen, hidden);
        let remaining = f.times(c2, slope0);
        let flat = f.at_most(remaining, slope);
        let flat = f.or(bent, flat);
        let (take, long, short) = (f.number(TAKE), f.number(LONG), f.number(SHORT));
        let of_enough = f.choose(flat, take, short);
        [f.choose(enough, of_enough, long)]
    })
}

/// Whether the cost of a trial says nothing, so that slopes decide.
fn within_noise(f: &mut Formula, rise: Scalar, noise: Scalar, headroom: Scalar) -> Scalar {
    let size = f.magnitude(rise);
    let small = f.at_most(size, noise);
    let low = f.at_most(rise, headroom);
    f.and(small, low)
}

/// The bracket after a verdict, and the next step: (lower, upper, step). A bound of 0 is none.
pub fn bracket() -> Rc<Function> {
    function("line_bracket", &["verdict", "lower", "upper", "step"], |f, [verdict, lower, upper, step]| {
        let (zero, half, quarter) = (f.number(0.0), f.number(0.5), f.number(0.25));
        let [long, short, unseen, wild] = [LONG, SHORT, UNSEEN, WILD].map(|value| f.is(verdict, value));
        let above = f.or(long, wild);
        let lower = f.choose(short, step, lower);
        let upper = f.choose(above, step, upper);
        let (far, hasty) = (f.number(FAR), f.number(HASTY));
        let unbounded = f.is(lower, 0.0);
        let deep = f.at_most(upper, far);
        let hurry = f.and(unbounded, deep);
        let share = f.choose(hurry, hasty, half);
        let share = f.choose(wild, quarter, share);
        let width = f.minus(upper, lower);
        let part = f.times(share, width);
        let inside = f.plus(lower, part);
        let (growth, growth_unseen) = (f.number(GROWTH), f.number(GROWTH_UNSEEN));
        let factor = f.choose(unseen, growth_unseen, growth);
        let beyond = f.times(factor, step);
        let bounded = f.less(zero, upper);
        [lower, upper, f.choose(bounded, inside, beyond)]
    })
}

/// What the trials say of the derivative: (contradictions in a row, step and secant slope of the last trial that rose against its slope).
pub fn doubt() -> Rc<Function> {
    let parameters = &["verdict", "rise", "slope", "noise", "step", "contradictions", "risen_step", "risen_secant"];
    function(
        "line_doubt",
        parameters,
        |f, [verdict, rise, slope, noise, step, contradictions, risen_step, risen_secant]| {
            let (zero, one, half) = (f.number(0.0), f.number(1.0), f.number(0.5));
            let falls = f.less(slope, zero);
            let rises = f.less(noise, rise);
            let against = f.and(falls, rises);
            let secant = f.over(rise, step);
            let ratio = f.over(secant, risen_secant);
            let (least, most) = (f.number(0.7), f.number(1.4));
            let terms = [f.less(zero, risen_step), f.at_most(least, ratio), f.less(ratio, most)];
            let shorter = f.times(half, risen_step);
            let shorter = f.at_most(step, shorter);
            let agrees = terms.into_iter().fold(shorter, |all, term| f.and(all, term));
            let counted = f.and(against, agrees);
            let more = f.plus(contradictions, one);
            let new = [f.choose(counted, more, zero), f.choose(against, step, zero), f.choose(against, secant, zero)];
            // Trials without figures say nothing, and what is certain stays.
            let enough = f.number(CONTRADICTIONS);
            let settled = f.at_most(enough, contradictions);
            let unseen = f.number(UNSEEN);
            let silent = f.at_most(unseen, verdict);
            let kept = f.or(settled, silent);
            let old = [contradictions, risen_step, risen_secant];
            [0, 1, 2].map(|k| f.choose(kept, old[k], new[k]))
        },
    )
}

/// How a search goes on after a trial, from [`GO_ON`] to [`EXHAUSTED`]. `lower` and `upper` are the bracket after it, `step` the trial's,
/// `trials` counts it; `finite` is whether any trial was; `resolution` the spacing of numbers around 1.
pub fn outcome() -> Rc<Function> {
    let parameters = &[
        "verdict",
        "rise",
        "slope",
        "lower",
        "upper",
        "step",
        "trials",
        "max_trials",
        "finite",
        "contradictions",
        "slope0",
        "noise",
        "headroom",
        "resolution",
    ];
    function(
        "line_outcome",
        parameters,
        |f,
         [
            verdict,
            rise,
            slope,
            lower,
            upper,
            step,
            trials,
            max_trials,
            finite,
            contradictions,
            slope0,
            noise,
            headroom,
            resolution,
        ]| {
            let (zero, go_on) = (f.number(0.0), f.number(GO_ON));
            let bounded = f.less(zero, upper);
            let started = f.less(zero, lower);
            let spent = f.at_most(max_trials, trials);
            let precision = f.number(PRECISION);

            // Spent: what was seen decides its name.
            let steepness = f.magnitude(slope0);
            let promise = f.times(step, steepness);
            let roundings = f.number(ROUNDINGS);
            let visible = f.times(roundings, noise);
            let invisible = f.at_most(promise, visible);
            let hidden = f.and(bounded, invisible);
            let (exhausted, wild) = (f.number(EXHAUSTED), f.number(NON_FINITE));
            let of_finite = f.choose(hidden, precision, exhausted);
            let of_spent = f.choose(finite, of_finite, wild);
            let reason = f.choose(spent, of_spent, go_on);

            // The bracket has no number between its ends.
            let width = f.minus(upper, lower);
            let four = f.number(4.0);
            let spacing = f.times(four, resolution);
            let least = f.times(spacing, upper);
            let narrow = f.at_most(width, least);
            let closed = f.and(bounded, narrow);
            let reason = f.choose(closed, precision, reason);

            // Its whole effect is below the noise, yet its cost rose beyond it and against its slope: the noise is all there is.
            let tiny = f.at_most(promise, noise);
            let falls = f.less(slope, zero);
            let within = within_noise(f, rise, noise, headroom);
            let unseen = f.number(UNSEEN);
            let has_figures = f.less(verdict, unseen);
            let apart = f.not(within);
            let fresh = f.not(started);
            let drowned = [tiny, falls, apart, fresh].into_iter().fold(has_figures, |all, term| f.and(all, term));
            let reason = f.choose(drowned, precision, reason);

            // Too short to be seen is no reason to go on once anything was seen.
            let is_unseen = f.is(verdict, UNSEEN);
            let known = f.or(bounded, started);
            let over = f.or(known, spent);
            let of_unseen = f.choose(over, precision, go_on);
            let reason = f.choose(is_unseen, of_unseen, reason);

            let enough = f.number(CONTRADICTIONS);
            let contradicted = f.at_most(enough, contradictions);
            let contradiction = f.number(CONTRADICTION);
            let reason = f.choose(contradicted, contradiction, reason);

            let (take_lower, take_trial) = (f.number(TAKE_LOWER), f.number(TAKE_TRIAL));
            let end = f.choose(started, take_lower, reason);
            let ends = f.is(reason, GO_ON);
            let on = f.choose(ends, go_on, end);
            let taken = f.is(verdict, TAKE);
            [f.choose(taken, take_trial, on)]
        },
    )
}
