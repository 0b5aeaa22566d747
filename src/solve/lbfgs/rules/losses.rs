//! Steps that lose a parameter: after them its entry of the gradient has all but vanished, and not since its minimum was found.
//!
//! Where an exponential has vanished, the cost is flat in its rate, and no later step leads back. The gradient alone cannot tell such an entry from one
//! that has come to rest. But a step to where a curvature has vanished is long in relation to the parameter, and the steps to a minimum become short, in
//! whatever unit; and the entries of a cost that is nearly at rest fall together. What is left are chances, and limits that are kept: hence [`MOST_LOSSES`].

use std::rc::Rc;

use crate::solve::scalar::function;
use residua_codegen::Function;

/// An entry of the gradient is lost where it falls to less than this share of its largest value in the run, relative to the entry with the largest share.
pub const LOST_SHARE: f64 = 1e-5;

/// Steps to a coordinate are long from this share of it.
const LONG_STEP: f64 = 0.25;

/// Steps that are refused in a run, at most.
const MOST_LOSSES: f64 = 8.0;

/// Coordinates of a problem in which steps are refused, at most. Among more there is always one whose entry of the gradient vanishes.
pub const MOST_COORDINATES: u32 = 64;

/// The least share of an entry that counts: what is left of 0.
const LEAST_SHARE: f64 = 1e-30;

/// By what factor an entry of the gradient is below its largest value of the run after a step that may have lost it; 0 after another one.
///
/// `before`, `after`: sizes of the entry; `steepest`: its largest size in the run, not less than `after`; `moved`: size of the step in its coordinate;
/// `size`: that of the coordinate after it.
pub fn fallen() -> Rc<Function> {
    let parameters = &["before", "after", "steepest", "moved", "size"];
    function("entry_fallen", parameters, |f, [before, after, steepest, moved, size]| {
        let (zero, one) = (f.number(0.0), f.number(1.0));
        let [lost, long, least] = [LOST_SHARE, LONG_STEP, LEAST_SHARE].map(|number| f.number(number));
        // An entry that was lost before is not lost again.
        let limit = f.times(lost, steepest);
        let least_step = f.times(long, size);
        let terms = [f.at_most(limit, before), f.at_most(least_step, moved)];
        let falls = f.less(after, before);
        let may_be = terms.into_iter().fold(falls, |all, term| f.and(all, term));
        let share = f.over(after, steepest);
        let share = f.larger(share, least);
        let factor = f.over(one, share);
        [f.choose(may_be, factor, zero)]
    })
}

/// Whether a step that the line search would take is refused, since it loses a parameter. `fallen`: the largest of [`fallen`]; `share`: the largest share
/// of an entry after the step in its largest value of the run; `losses`: steps that were refused before.
pub fn refused() -> Rc<Function> {
    function("step_refused", &["fallen", "share", "losses"], |f, [fallen, share, losses]| {
        let (most, least) = (f.number(MOST_LOSSES), f.number(1.0 / LOST_SHARE));
        let apart = f.times(fallen, share);
        let lost = f.less(least, apart);
        let few = f.less(losses, most);
        [f.and(lost, few)]
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solve::scalar::evaluate;

    #[test]
    fn a_long_step_after_which_one_entry_has_vanished_is_refused() {
        let (fallen, refused) = (fallen(), refused());
        let is_refused = |[before, after, steepest, moved, size]: [f64; 5], share: f64, losses: f64| {
            let [factor] = evaluate(&fallen, &[before, after, steepest, moved, size]);
            evaluate::<1>(&refused, &[factor, share, losses])[0] != 0.0
        };
        let lost = [2.0, 1e-6, 4.0, 20.0, 22.0];
        for (entry, share, losses, expected) in [
            (lost, 0.3, 0.0, true),
            ([2.0, 0.0, 4.0, 20.0, 22.0], 0.3, 0.0, true),
            // The others have fallen as well.
            (lost, 1e-3, 0.0, false),
            // The step is short.
            ([2.0, 1e-6, 4.0, 5.0, 22.0], 0.3, 0.0, false),
            // The entry had vanished before.
            ([1e-5, 1e-6, 4.0, 20.0, 22.0], 0.3, 0.0, false),
            ([2.0, 1e-3, 4.0, 20.0, 22.0], 0.3, 0.0, false),
            (lost, 0.3, 7.0, true),
            (lost, 0.3, 8.0, false),
        ] {
            assert_eq!(is_refused(entry, share, losses), expected, "{entry:?} {share} {losses}");
            // Neither the unit of the cost nor that of the parameter matters.
            let [before, after, steepest, moved, size] = entry;
            let scaled = [1e9 * before, 1e9 * after, 1e9 * steepest, 1e-9 * moved, 1e-9 * size];
            assert_eq!(is_refused(scaled, share, losses), expected, "{entry:?} {share} {losses}");
        }
    }
}
