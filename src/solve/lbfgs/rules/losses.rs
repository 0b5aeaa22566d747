//! Steps that lose a parameter: after them its entry of the gradient has all but vanished, and not since its minimum was found.
//!
//! Where an exponential has vanished, the cost is flat in its rate, and no later step leads back. The gradient alone cannot tell such an entry from one
//! that has come to rest. But a step to where a curvature has vanished is long in relation to the parameter, and the steps to a minimum become short, in
//! whatever unit; and the entries of a cost that is nearly at rest fall together. What is left are chances, and limits that are kept: hence [`MOST_LOSSES`].

use std::rc::Rc;

use crate::solve::scalar::function;
use residua_codegen::Function;

/// An entry of the gradient is lost where it falls to less than this share of its largest value in the run, relative to the entry with the largest share.
pub const LOST_SHARE: f64 = 1e-7;

/// Steps to a coordinate are long from this share of it.
pub const LONG_STEP: f64 = 0.25;

/// Steps that are refused in a run, at most.
const MOST_LOSSES: f64 = 8.0;

/// Coordinates of a problem in which steps are refused, at most. Among more there is always one whose entry of the gradient vanishes.
pub const MOST_COORDINATES: u32 = 64;

/// By how much an entry of the gradient has fallen where it is 0.
pub const MOST_FALLEN: f64 = 1e30;

/// Whether a step that the line search would take is refused, since it loses a parameter. `fallen`: by what factor an entry is below its largest
/// value of the run, at most [`MOST_FALLEN`], the largest of those of which the step is long and which were not below [`LOST_SHARE`] before; `share`: the
/// largest share of an entry after the step in its largest value of the run; `losses`: steps that were refused before.
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
    fn a_step_after_which_one_entry_has_vanished_is_refused() {
        let refused = refused();
        for (fallen, share, losses, expected) in [
            (4e8, 0.3, 0.0, true),
            (MOST_FALLEN, 1e-20, 0.0, true),
            // The others have fallen as well.
            (4e8, 1e-2, 0.0, false),
            (4e6, 1.0, 0.0, false),
            (0.0, 1.0, 0.0, false),
            (4e8, 0.3, 7.0, true),
            (4e8, 0.3, 8.0, false),
        ] {
            let [result] = evaluate(&refused, &[fallen, share, losses]);
            assert_eq!(result != 0.0, expected, "{fallen} {share} {losses}");
        }
    }
}
