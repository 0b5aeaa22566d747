//! The precision guard of a solve: when the estimate is made, and what follows from it.

use crate::eval::{Arithmetic, Functions, Objective};
use crate::solve::precision::{self, Checked, Evaluated};
use crate::solve::session::Session;
use crate::solve::solution::Solution;
use crate::solve::summary::Termination;
use residua_base::error::Result;

/// Of the solves of one object whose parameters stay on the device, the first is checked and then every so many, each after its result is given:
/// a check reads parameters and residuals back, which a loop of frames does not wait for.
const SOLVES_PER_CHECK: u32 = 128;

/// Says which solves of one object are checked, and keeps what a check finds after the solve's result was given.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CheckSchedule {
    /// Solves without read-back since the last check; none before the first.
    unchecked: Option<u32>,
    /// The solve that is to be checked once its result is given: its objective and its cost.
    due: Option<(Objective, f64)>,
    /// The finding that no result has carried yet.
    found: Option<Checked>,
}

/// When a solution that has converged is checked.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Turn {
    /// Before its result is given.
    Now,
    /// Not at all, or once the result is given, which carries this finding of an earlier solve.
    Later(Option<Checked>),
}

impl CheckSchedule {
    /// The turn of the solve that has just ended.
    pub(crate) fn turn(&mut self, read_back: bool, objective: Objective, cost: f64) -> Turn {
        let is_due = self.unchecked.is_none_or(|solves| solves + 1 >= SOLVES_PER_CHECK);
        self.unchecked = Some(if read_back || is_due { 0 } else { self.unchecked.map_or(0, |solves| solves + 1) });
        if read_back {
            (self.due, self.found) = (None, None);
            return Turn::Now;
        }
        if is_due {
            self.due = Some((objective, cost));
        }
        Turn::Later(self.found.take())
    }

    /// Keeps what the check that was due has found, for a later result.
    pub(crate) fn keep(&mut self, found: Checked) {
        (self.due, self.found) = (None, Some(found));
    }

    /// Whether [`check_later`] has something to do.
    pub fn is_due(&self) -> bool {
        self.due.is_some()
    }
}

/// Checks the solve whose result was given and whose check is due. A later result carries the finding.
///
/// # Errors
/// What the device fails with.
pub async fn check_later(session: &mut Session) -> Result<()> {
    let Some((objective, cost)) = session.device.checks.due.take() else { return Ok(()) };
    let found = check(&mut session.functions, objective, cost).await?;
    session.device.checks.keep(found);
    Ok(())
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

/// The same with the finding of an earlier solve of the same functions, if there is one.
pub(super) fn judge_by_earlier(solution: &mut Solution, found: Option<Checked>) {
    if let Some(found) = found {
        let sentence = format!("At an earlier solution: {}", found.sentence);
        judge(solution, Checked { sentence, ..found });
    }
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

    fn later(schedule: &mut CheckSchedule) -> bool {
        let turn = schedule.turn(false, Objective::Sum, 2.0);
        assert_eq!(turn, Turn::Later(None), "no result waits for a check, and there is no finding");
        schedule.due.take().is_some()
    }

    #[test]
    fn solves_with_read_back_are_all_checked_and_others_now_and_then() {
        let mut schedule = CheckSchedule::default();
        let due = (0..300).filter(|_| later(&mut schedule)).count();
        assert_eq!(due, 3, "the solves 0, 128 and 256");
        assert!((0..5).all(|_| schedule.turn(true, Objective::Sum, 2.0) == Turn::Now));
        assert!((0..127).all(|_| !later(&mut schedule)), "a check with read-back counts");
        assert!(later(&mut schedule));
    }

    #[test]
    fn one_later_result_carries_a_finding_and_a_check_with_read_back_replaces_it() {
        let estimate = precision::PrecisionEstimate { loss: 0.5, shift: None, instances: 1 };
        let found = Some(Checked { estimate, sentence: "Lost.".to_owned() });
        let mut schedule = CheckSchedule { found: found.clone(), ..CheckSchedule::default() };
        assert_eq!(schedule.turn(false, Objective::LeastSquares, 3.0), Turn::Later(found.clone()));
        assert_eq!(schedule.due, Some((Objective::LeastSquares, 3.0)));
        assert_eq!(schedule.turn(false, Objective::LeastSquares, 4.0), Turn::Later(None));
        schedule.found = found;
        assert_eq!(schedule.turn(true, Objective::LeastSquares, 5.0), Turn::Now);
        assert_eq!((schedule.due, schedule.found), (None, None));
    }

    #[test]
    fn only_what_has_converged_in_less_than_double_precision_is_checked() {
        assert!(is_checked(Arithmetic::F32, Termination::CostTolerance));
        assert!(!is_checked(Arithmetic::F32, Termination::MaxIterations));
        assert!(!is_checked(Arithmetic::F64, Termination::CostTolerance));
    }
}
