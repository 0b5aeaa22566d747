//! Which solves of one object the precision guard checks.

use crate::eval::Objective;
use crate::solve::precision::Checked;

/// Of the solves of one object whose parameters stay on the device, the first is checked and then every so many, each after its result is given:
/// a check reads parameters and residuals back, which a loop of frames does not wait for.
const SOLVES_PER_CHECK: u32 = 128;

/// Says which solves of one object are checked, and keeps what a check finds after the solve's result was given.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CheckSchedule {
    /// Solves without read-back since the last check; none before the first.
    unchecked: Option<u32>,
    /// The solve that is to be checked once its result is given.
    due: Option<End>,
    /// The finding that no result has carried yet.
    found: Option<Checked>,
}

/// The end of a solve, as a check takes it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct End {
    pub(crate) objective: Objective,
    pub(crate) cost: f64,
    /// Whether a success stands for a small promise of the model of J̃.
    pub(crate) by_model: bool,
}

/// When a solution that has converged is checked.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum CheckTime {
    /// Before its result is given.
    Now,
    /// Not at all, or once the result is given, which carries this finding of an earlier solve.
    Later(Option<Checked>),
}

impl CheckSchedule {
    /// The time of the check of the solve that has just ended.
    pub(crate) fn time(&mut self, read_back: bool, end: End) -> CheckTime {
        let is_due = self.unchecked.is_none_or(|solves| solves + 1 >= SOLVES_PER_CHECK);
        self.unchecked = Some(if read_back || is_due { 0 } else { self.unchecked.map_or(0, |solves| solves + 1) });
        if read_back {
            (self.due, self.found) = (None, None);
            return CheckTime::Now;
        }
        if is_due {
            self.due = Some(end);
        }
        CheckTime::Later(self.found.take())
    }

    /// Keeps what the check that was due has found, for a later result.
    pub(crate) fn keep(&mut self, found: Checked) {
        (self.due, self.found) = (None, Some(found));
    }

    /// Takes the solve that is to be checked.
    pub(crate) fn take_due(&mut self) -> Option<End> {
        self.due.take()
    }

    /// Whether a solve is to be checked.
    pub fn is_due(&self) -> bool {
        self.due.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solve::precision::PrecisionEstimate;

    const SUM: End = End { objective: Objective::Sum, cost: 2.0, by_model: false };

    fn fit(cost: f64) -> End {
        End { objective: Objective::LeastSquares, cost, by_model: true }
    }

    fn later(schedule: &mut CheckSchedule) -> bool {
        let time = schedule.time(false, SUM);
        assert_eq!(time, CheckTime::Later(None), "no result waits for a check, and there is no finding");
        schedule.due.take().is_some()
    }

    #[test]
    fn solves_with_read_back_are_all_checked_and_others_now_and_then() {
        let mut schedule = CheckSchedule::default();
        let due = (0..300).filter(|_| later(&mut schedule)).count();
        assert_eq!(due, 3, "the solves 0, 128 and 256");
        assert!((0..5).all(|_| schedule.time(true, SUM) == CheckTime::Now));
        assert!((0..127).all(|_| !later(&mut schedule)), "a check with read-back counts");
        assert!(later(&mut schedule));
    }

    #[test]
    fn one_later_result_carries_a_finding_and_a_check_with_read_back_replaces_it() {
        let estimate = PrecisionEstimate {
            loss: 0.5,
            shift: None,
            instances: 1,
            underflows: false,
            immovable: None,
            lost: None,
            without_effect: None,
            is_undetermined: false,
            left: 0.0,
        };
        let found = Some(Checked { estimate, findings: Vec::new() });
        let mut schedule = CheckSchedule { found: found.clone(), ..CheckSchedule::default() };
        assert_eq!(schedule.time(false, fit(3.0)), CheckTime::Later(found.clone()));
        assert_eq!(schedule.due, Some(fit(3.0)));
        assert_eq!(schedule.time(false, fit(4.0)), CheckTime::Later(None));
        schedule.found = found;
        assert_eq!(schedule.time(true, fit(5.0)), CheckTime::Now);
        assert_eq!((schedule.due, schedule.found), (None, None));
    }
}
