//! The precision guard of a solve: when the estimate is made, and what follows from it.

use crate::eval::{Arithmetic, Functions, Objective};
use crate::solve::precision::{self, Checked, Evaluated};
use crate::solve::solution::Solution;
use crate::solve::summary::Termination;
use residua_base::error::Result;

/// Of the solves of one object whose parameters stay on the device, the first is checked and then every so many: a check reads parameters and
/// residuals back, which a loop of frames does not wait for otherwise.
const SOLVES_PER_CHECK: u32 = 128;

/// Says which solves of one object are checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckSchedule {
    /// Solves without read-back since the last check; none before the first.
    unchecked: Option<u32>,
}

impl CheckSchedule {
    /// Whether the solve that has just ended is checked.
    pub(super) fn is_due(&mut self, read_back: bool) -> bool {
        let is_due = read_back || self.unchecked.is_none_or(|solves| solves + 1 >= SOLVES_PER_CHECK);
        self.unchecked = Some(if is_due { 0 } else { self.unchecked.map_or(0, |solves| solves + 1) });
        is_due
    }
}

/// Whether a solution is checked if its turn has come: it has converged, and rounds more than f64.
pub(super) fn is_checked(arithmetic: Arithmetic, termination: Termination) -> bool {
    arithmetic.epsilon() > Arithmetic::F64.epsilon() && termination.converged()
}

/// Adds an estimate to a solution that has converged. One that the arithmetic cannot vouch for ends with 'precision-limit'.
pub(super) fn judge(solution: &mut Solution, checked: Checked) {
    let summary = &mut solution.summary;
    summary.message = format!("{} {}", summary.message, checked.sentence);
    if !checked.estimate.suffices() {
        summary.termination = Termination::PrecisionLimit;
    }
    solution.precision = Some(checked);
}

/// Estimates what rounding does to functions at their current parameters, at which a solve has found a cost.
pub(super) async fn check(functions: &mut Functions, objective: Objective, cost: f64) -> Result<Checked> {
    functions.bring_values().await?;
    functions.bring_shared_data().await?;
    let residuals = functions.evaluate(None).await?;
    let arithmetic = functions.arithmetic();
    let point =
        Evaluated { x: functions.values(), constant: functions.constant(), residuals: &residuals, cost, arithmetic };
    let estimate = precision::estimate(functions.model(), objective, &point)?;
    let sentence = estimate.sentence(functions.model(), arithmetic);
    Ok(Checked { estimate, sentence })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn solves_with_read_back_are_all_checked_and_others_now_and_then() {
        let mut schedule = CheckSchedule::default();
        let due = (0..300).filter(|_| schedule.is_due(false)).count();
        assert_eq!(due, 3, "the solves 0, 128 and 256");
        assert!((0..5).all(|_| schedule.is_due(true)));
        assert!((0..127).all(|_| !schedule.is_due(false)), "a check with read-back counts");
        assert!(schedule.is_due(false));
    }

    #[test]
    fn only_what_has_converged_in_less_than_double_precision_is_checked() {
        assert!(is_checked(Arithmetic::F32, Termination::CostTolerance));
        assert!(!is_checked(Arithmetic::F32, Termination::MaxIterations));
        assert!(!is_checked(Arithmetic::F64, Termination::CostTolerance));
    }
}
