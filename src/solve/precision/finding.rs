//! What an estimate finds, and when a solution may count as converged.

use super::shift::Shift;
use crate::eval::Arithmetic;
use crate::model::Model;
use crate::solve::ending::UNDERFLOW;
use crate::solve::rules::LEAST_PROMISE;
use residua_base::decimal::scientific;

/// The largest share of the cost that rounding may explain in a solution that has converged.
pub const MOST_LOSS: f64 = 1e-3;

/// The largest shift of a parameter, relative to its scale, in a solution that has converged.
pub const MOST_SHIFT: f64 = 1e-4;

/// What rounding does to a solution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PrecisionEstimate {
    /// The share of the final cost that rounding can explain, from 0 to 1.
    pub loss: f64,
    /// The parameter that rounding moves furthest; none where it was not estimated.
    pub shift: Option<Shift>,
    /// Instances that were evaluated in f64.
    pub instances: usize,
    /// Whether squares of residuals below the smallest normal number are a part of the cost that matters.
    pub underflows: bool,
    /// A parameter that the solver could not move, since the squares of its derivatives are below the range of the arithmetic.
    pub immovable: Option<u32>,
    /// A parameter without any effect on its residuals, in f64 too, though they are not 0.
    pub lost: Option<u32>,
    /// One without any effect on its residuals, which are 0.
    pub without_effect: Option<u32>,
    /// Whether the residuals, of which all were evaluated, leave a direction free in which no single parameter is alone.
    pub is_undetermined: bool,
    /// What the model promises in f64 beyond rounding, in units of the residuals' variance; 0 where it was not computed.
    pub left: f64,
}

impl PrecisionEstimate {
    /// Whether numbers of the problem are below the range of the arithmetic, which pairs share.
    pub fn is_below_range(&self) -> bool {
        self.underflows || self.has_lost_parameter()
    }

    /// Whether a parameter was lost on the way, which another way may keep.
    pub fn has_lost_parameter(&self) -> bool {
        self.immovable.or(self.lost).is_some()
    }

    /// Whether a solution with this estimate may count as converged.
    pub fn suffices(&self) -> bool {
        self.loss <= MOST_LOSS
            && self.left <= LEAST_PROMISE
            && !self.has_lost_parameter()
            && self.shift.is_none_or(|shift| shift.relative <= MOST_SHIFT)
    }

    /// The estimate as a sentence with its full stop.
    pub fn sentence(&self, model: &Model, arithmetic: Arithmetic) -> String {
        let PrecisionEstimate { loss, shift, instances, underflows, immovable, lost, without_effect, .. } = self;
        let moved = shift.filter(|shift| shift.relative > MOST_SHIFT).map_or_else(String::new, |shift| {
            let name = model.parameter_name(shift.parameter);
            format!(", and moves {name} by {} of its scale", scientific(shift.relative, Some(0)))
        });
        let (arithmetic, loss) = (arithmetic.name(), scientific(*loss, Some(0)));
        let evaluated = if *instances == 1 { "instance" } else { "instances" };
        let underflow = if *underflows { UNDERFLOW } else { "" };
        let immovable = immovable.map_or_else(String::new, |parameter| {
            let name = model.parameter_name(parameter);
            format!(
                " {name} could not be moved: the squares of all derivatives by it are below the smallest number of the arithmetic, since its unit is too small or \
                 its effect has all but vanished. Another unit, another start or backend 'cpu' may help."
            )
        });
        let without_effect = lost.or(*without_effect).map_or_else(String::new, |parameter| {
            let name = model.parameter_name(parameter);
            format!(
                " {name} has no effect on the cost there, as with a weight of 0, or where an exponential has vanished: then another start may lead to a lower cost."
            )
        });
        format!(
            "Rounding in {arithmetic} explains {loss} of the cost{moved}, by {instances} {evaluated} in double precision{underflow}.{immovable}{without_effect}"
        )
    }
}

/// An estimate, and the sentence that it is for the user.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// The figures.
    pub estimate: PrecisionEstimate,
    /// [`PrecisionEstimate::sentence`].
    pub sentence: String,
}
