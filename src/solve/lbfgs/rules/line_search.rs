//! Line search of L-BFGS: a bisection for the weak Wolfe conditions, algorithm 2.6 of A. Lewis and M. Overton, "Nonsmooth optimization via
//! quasi-Newton methods", Math. Programming 141 (2013).
//!
//! With φ(t) the cost at x + td, a step t satisfies
//!
//! - A(t): φ(t) ≤ φ(0) + c₁ t φ′(0), and
//! - W(t): φ′(t) ≥ c₂ φ′(0).
//!
//! A step without A becomes the upper end of the bracket, a step with A and without W the lower end, and the next step is the middle; while
//! there is no upper end, it is a multiple of the last step. The next step depends on the verdicts and on no measured number, so the steps of
//! a search form a fixed tree, and several of its nodes can be evaluated before the first one's outcome is known. Beyond the algorithm of the paper:
//!
//! - A trial that is NaN or infinite becomes the upper end, and the next step is at a quarter of the bracket.
//! - Where costs differ by less than their rounding error, slopes decide: the approximate Wolfe conditions of W. Hager and H. Zhang, "A new
//!   conjugate gradient method with guaranteed descent and an efficient line search", SIAM J. Optim. 16 (2005).
//! - A search that cannot continue ends with the lower end of its bracket, which satisfies A. If there is none, the outcome says why.
//! - Where bounds bend the path, A compares with gᵀ of the projected displacement (D. Bertsekas, "On the Goldstein-Levitin-Polyak gradient
//!   projection method", IEEE Trans. Automatic Control 21, 1976), and W is not required: the slope jumps at a bend, so that possibly no
//!   step satisfies W.
//!
//! Costs are passed as differences from φ(0), since costs in f32 have too few digits to be compared.

use std::rc::Rc;

use crate::solve::scalar::{Formula, Scalar, function};
use residua_codegen::Function;

/// Verdict: the trial satisfies both conditions.
pub const ACCEPTABLE: f64 = 0.0;
/// Verdict: the step is too long; it does not satisfy A.
pub const TOO_LONG: f64 = 1.0;
/// Verdict: the step is too short; it satisfies A, but not W.
pub const TOO_SHORT: f64 = 2.0;
/// Verdict: the trial point, rounded, is the point where the search began.
pub const UNMOVED: f64 = 3.0;
/// Verdict: the trial is NaN or infinite.
pub const NON_FINITE_TRIAL: f64 = 4.0;

/// Outcome: another trial follows.
pub const CONTINUE: f64 = 0.0;
/// Outcome: the search ends with the last trial.
pub const ACCEPT_TRIAL: f64 = 1.0;
/// Outcome: the search ends with the lower end of its bracket.
pub const ACCEPT_LOWER: f64 = 2.0;
/// Outcome: the remaining steps change the cost by less than its rounding error.
pub const PRECISION: f64 = 3.0;
/// Outcome: every trial was NaN or infinite.
pub const NON_FINITE: f64 = 4.0;
/// Outcome: at ever shorter steps the cost rises in proportion to the step, where its derivative is negative.
pub const CONTRADICTION: f64 = 5.0;
/// Outcome: the search made as many trials as allowed.
pub const EXHAUSTED: f64 = 6.0;

/// Rounding errors that may add up in one evaluation, in units of `noise`.
pub const ROUNDINGS: f64 = 100.0;

/// Trials in a row that contradict the derivative before the outcome is [`CONTRADICTION`]. Rounding errors do not grow in proportion to the
/// step, so a row of so many is no effect of rounding.
const CONTRADICTIONS: f64 = 4.0;

/// Factor to the next step without an upper end.
const GROWTH: f64 = 4.0;

/// Without a lower end and with an upper end of at most [`SHORT_UPPER_END`], the next step is [`FAST_REDUCTION`] times the last: the
/// direction is far too long, and halving would take many trials.
const SHORT_UPPER_END: f64 = 0.25;
const FAST_REDUCTION: f64 = 1.0 / 64.0;

/// Factor to the next step after one whose trial point is where the search began.
const GROWTH_UNMOVED: f64 = 16.0;

/// The verdict on a finite trial: [`ACCEPTABLE`], [`TOO_LONG`] or [`TOO_SHORT`].
///
/// `rise`: φ(t) − φ(0); `slope`: φ′(t); `predicted`: the gradient at the start times the projected displacement; `bent`: whether bounds bend
/// the path; `slope0`: φ′(0); `noise`: rounding error of a cost; `headroom`: the largest rise of a trial whose decrease is below the noise.
pub fn verdict() -> Rc<Function> {
    let parameters = &["rise", "slope", "predicted", "bent", "slope0", "noise", "headroom", "c1", "c2"];
    function("line_verdict", parameters, |f, [rise, slope, predicted, bent, slope0, noise, headroom, c1, c2]| {
        let (zero, one, two) = (f.number(0.0), f.number(1.0), f.number(2.0));
        let downhill = f.less(predicted, zero);
        let share = f.times(c1, predicted);
        let lower = f.at_most(rise, share);
        let seen = f.and(downhill, lower);
        // A, or below the noise the condition that is equivalent to A on a parabola: φ′(t) ≤ (2c₁ − 1) φ′(0) (Hager and Zhang).
        let within = within_noise(f, rise, predicted, noise, headroom);
        let twice = f.times(two, c1);
        let factor = f.minus(twice, one);
        let steepest = f.times(factor, slope0);
        let slope_ok = f.at_most(slope, steepest);
        let hidden = f.and(within, slope_ok);
        let enough = f.or(seen, hidden);
        let remaining = f.times(c2, slope0);
        let flat = f.at_most(remaining, slope);
        let flat = f.or(bent, flat);
        let (take, long, short) = (f.number(ACCEPTABLE), f.number(TOO_LONG), f.number(TOO_SHORT));
        let of_enough = f.choose(flat, take, short);
        [f.choose(enough, of_enough, long)]
    })
}

/// Whether the rise of a trial is within the noise, so that slopes decide. Where the noise would hide the predicted change, rounding errors that add up are no
/// more than noise either.
fn within_noise(f: &mut Formula, rise: Scalar, predicted: Scalar, noise: Scalar, headroom: Scalar) -> Scalar {
    let (size, predicted) = (f.magnitude(rise), f.magnitude(predicted));
    let faint = f.at_most(predicted, noise);
    let roundings = f.number(ROUNDINGS);
    let sum = f.times(roundings, noise);
    let most = f.choose(faint, sum, noise);
    let small = f.at_most(size, most);
    let room = f.minus(most, noise);
    let room = f.plus(headroom, room);
    let low = f.at_most(rise, room);
    f.and(small, low)
}

/// The bracket after a verdict, and the next step: (lower, upper, step). An end of 0 means none.
pub fn bracket() -> Rc<Function> {
    function("line_bracket", &["verdict", "lower", "upper", "step"], |f, [verdict, lower, upper, step]| {
        let (zero, half, quarter) = (f.number(0.0), f.number(0.5), f.number(0.25));
        let [long, short, unmoved, non_finite] =
            [TOO_LONG, TOO_SHORT, UNMOVED, NON_FINITE_TRIAL].map(|value| f.is(verdict, value));
        let above = f.or(long, non_finite);
        let lower = f.choose(short, step, lower);
        let upper = f.choose(above, step, upper);
        let (short_upper_end, fast_reduction) = (f.number(SHORT_UPPER_END), f.number(FAST_REDUCTION));
        let unbounded = f.is(lower, 0.0);
        let is_short = f.at_most(upper, short_upper_end);
        let fast = f.and(unbounded, is_short);
        let share = f.choose(fast, fast_reduction, half);
        let share = f.choose(non_finite, quarter, share);
        let width = f.minus(upper, lower);
        let part = f.times(share, width);
        let inside = f.plus(lower, part);
        let (growth, growth_unmoved) = (f.number(GROWTH), f.number(GROWTH_UNMOVED));
        let factor = f.choose(unmoved, growth_unmoved, growth);
        let beyond = f.times(factor, step);
        let bounded = f.less(zero, upper);
        [lower, upper, f.choose(bounded, inside, beyond)]
    })
}

/// How far trials contradict the derivative: (contradictions in a row, step and secant slope of the last trial that rose although its slope
/// is negative). A trial counts if its step is at most half of that one's and its secant slope is about the same.
pub fn contradictions() -> Rc<Function> {
    let parameters = &["verdict", "rise", "slope", "noise", "step", "contradictions", "risen_step", "risen_secant"];
    function(
        "line_contradictions",
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
            // A trial without a cost changes nothing, nor does any trial after the last needed one.
            let enough = f.number(CONTRADICTIONS);
            let settled = f.at_most(enough, contradictions);
            let unmoved = f.number(UNMOVED);
            let silent = f.at_most(unmoved, verdict);
            let kept = f.or(settled, silent);
            let old = [contradictions, risen_step, risen_secant];
            [0, 1, 2].map(|k| f.choose(kept, old[k], new[k]))
        },
    )
}

/// The outcome after a trial, from [`CONTINUE`] to [`EXHAUSTED`].
///
/// `lower`, `upper`: the bracket after the trial; `step`: its step; `trials`: their number with it; `finite`: whether any trial was finite;
/// `resolution`: the distance from 1 to the next number.
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
            let (zero, go_on) = (f.number(0.0), f.number(CONTINUE));
            let bounded = f.less(zero, upper);
            let started = f.less(zero, lower);
            let spent = f.at_most(max_trials, trials);
            let precision = f.number(PRECISION);

            // As many trials as allowed: the reason depends on what they found.
            let steepness = f.magnitude(slope0);
            let predicted_reduction = f.times(step, steepness);
            let roundings = f.number(ROUNDINGS);
            let visible = f.times(roundings, noise);
            let invisible = f.at_most(predicted_reduction, visible);
            let hidden = f.and(bounded, invisible);
            let (exhausted, non_finite) = (f.number(EXHAUSTED), f.number(NON_FINITE));
            let of_finite = f.choose(hidden, precision, exhausted);
            let of_spent = f.choose(finite, of_finite, non_finite);
            let reason = f.choose(spent, of_spent, go_on);

            // The bracket has hardly a number between its ends.
            let width = f.minus(upper, lower);
            let four = f.number(4.0);
            let spacing = f.times(four, resolution);
            let least = f.times(spacing, upper);
            let narrow = f.at_most(width, least);
            let closed = f.and(bounded, narrow);
            let reason = f.choose(closed, precision, reason);

            // The predicted reduction is below the noise, yet the cost rose by more than the noise and against the slope: it is noisier than
            // `noise` says.
            let tiny = f.at_most(predicted_reduction, noise);
            let falls = f.less(slope, zero);
            let within = within_noise(f, rise, predicted_reduction, noise, headroom);
            let unmoved = f.number(UNMOVED);
            let has_cost = f.less(verdict, unmoved);
            let apart = f.not(within);
            let fresh = f.not(started);
            let noisy = [tiny, falls, apart, fresh].into_iter().fold(has_cost, |all, term| f.and(all, term));
            let reason = f.choose(noisy, precision, reason);

            // A step that does not move the point ends the search, except before any other trial.
            let is_unmoved = f.is(verdict, UNMOVED);
            let known = f.or(bounded, started);
            let over = f.or(known, spent);
            let of_unmoved = f.choose(over, precision, go_on);
            let reason = f.choose(is_unmoved, of_unmoved, reason);

            let enough = f.number(CONTRADICTIONS);
            let contradicted = f.at_most(enough, contradictions);
            let contradiction = f.number(CONTRADICTION);
            let reason = f.choose(contradicted, contradiction, reason);

            let (take_lower, take_trial) = (f.number(ACCEPT_LOWER), f.number(ACCEPT_TRIAL));
            let end = f.choose(started, take_lower, reason);
            let ends = f.is(reason, CONTINUE);
            let on = f.choose(ends, go_on, end);
            let taken = f.is(verdict, ACCEPTABLE);
            [f.choose(taken, take_trial, on)]
        },
    )
}
