//! The stages of a least-squares solve, each in another place or arithmetic, and when it goes from one to the next.

use crate::eval::{Arithmetic, Place};
use crate::solve::summary::Termination;

/// Where a part of a solve runs, and in what its evaluations are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stage {
    pub place: Place,
    pub arithmetic: Arithmetic,
}

/// The last stage: nothing is more precise.
pub(crate) const HOST: Stage = Stage { place: Place::Host, arithmetic: Arithmetic::F64 };

/// The first stage for functions that are evaluated in `of_functions`. The solver of the device linearises instance by instance, so
/// residuals that are long sums, which are known when all their addends are, are solved on the host, as are steps that it does not have.
pub(crate) fn first_stage(of_functions: Stage, needs_host: bool) -> Stage {
    match of_functions.place {
        Place::Host => HOST,
        Place::Device if needs_host => HOST,
        Place::Device => of_functions,
    }
}

/// The device in pairs of single precision.
pub(crate) const PAIRS: Stage = Stage { place: Place::Device, arithmetic: Arithmetic::F32x2 };

/// The next more precise stage for a solve that hands over for this reason. Pairs have the range of single precision, and their conjugate gradients
/// are in it, so that they help where digits are wanting and nowhere else.
pub(crate) fn stage_after(stage: Stage, reason: HandOver) -> Option<Stage> {
    match (stage.place, stage.arithmetic) {
        (Place::Device, Arithmetic::F32) => match reason {
            HandOver::Ended(Termination::PrecisionLimit | Termination::TrustRegionCollapsed) => Some(PAIRS),
            HandOver::Ended(_) | HandOver::Underflow | HandOver::Lost | HandOver::Stagnated => Some(HOST),
        },
        (Place::Device, Arithmetic::F32x2 | Arithmetic::F64) => Some(HOST),
        (Place::Host, Arithmetic::F32 | Arithmetic::F32x2 | Arithmetic::F64) => None,
    }
}

/// Why a solve goes on to the next stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HandOver {
    /// It ended for want of digits.
    Ended(Termination),
    /// It ended with [`Termination::PrecisionLimit`] since squares of residuals are below the range of its arithmetic.
    Underflow,
    /// It ended so since a parameter has lost its effect on the way. The next stage begins where this one began.
    Lost,
    /// Its conjugate gradients stagnated.
    Stagnated,
}

/// Whether a stage that ended so hands over. `has_stagnated`: it was stopped because its conjugate gradients stagnated. `of_range`: what the check
/// of its digits found to be below the range of its arithmetic.
pub(crate) fn hand_over(termination: Termination, has_stagnated: bool, of_range: Option<HandOver>) -> Option<HandOver> {
    match termination {
        Termination::PrecisionLimit if of_range.is_some() => of_range,
        Termination::PrecisionLimit | Termination::TrustRegionCollapsed | Termination::NonFinite => {
            Some(HandOver::Ended(termination))
        }
        Termination::Aborted => has_stagnated.then_some(HandOver::Stagnated),
        Termination::CostTolerance
        | Termination::GradientTolerance
        | Termination::ParameterTolerance
        | Termination::MaxIterations
        | Termination::MaxTime
        | Termination::LineSearchFailed => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEVICE: Stage = Stage { place: Place::Device, arithmetic: Arithmetic::F32 };

    #[test]
    fn a_solve_begins_where_the_functions_are_unless_long_sums_need_the_host() {
        for (functions, has_long_sums, expected) in
            [(HOST, false, HOST), (HOST, true, HOST), (DEVICE, false, DEVICE), (DEVICE, true, HOST)]
        {
            assert_eq!(first_stage(functions, has_long_sums), expected, "{functions:?} {has_long_sums}");
        }
    }

    #[test]
    fn pairs_follow_where_digits_are_wanting_and_the_host_in_f64_is_the_last_stage() {
        for (reason, after_single) in [
            (HandOver::Ended(Termination::PrecisionLimit), PAIRS),
            (HandOver::Ended(Termination::TrustRegionCollapsed), PAIRS),
            (HandOver::Ended(Termination::NonFinite), HOST),
            (HandOver::Underflow, HOST),
            (HandOver::Lost, HOST),
            (HandOver::Stagnated, HOST),
        ] {
            assert_eq!(stage_after(DEVICE, reason), Some(after_single), "{reason:?}");
            assert_eq!(stage_after(PAIRS, reason), Some(HOST), "{reason:?}");
            assert_eq!(stage_after(HOST, reason), None, "{reason:?}");
        }
    }

    #[test]
    fn what_the_range_lacks_is_said_before_what_digits_lack() {
        for of_range in [HandOver::Underflow, HandOver::Lost] {
            assert_eq!(hand_over(Termination::PrecisionLimit, false, Some(of_range)), Some(of_range));
            assert_eq!(hand_over(Termination::MaxIterations, false, Some(of_range)), None);
        }
    }
}
