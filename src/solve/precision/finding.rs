//! What an estimate finds, and when a solution may count as converged.

use super::shift::Shift;
use crate::eval::Arithmetic;
use crate::model::Model;
use crate::solve::findings::Finding;
use crate::solve::rules::LEAST_PROMISE;
use residua_base::list::PushAll;

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

    /// What it tells of a solution in that arithmetic, the digits first.
    pub fn findings(&self, model: &Model, arithmetic: Arithmetic) -> Vec<Finding> {
        let PrecisionEstimate { loss, shift, instances, underflows, immovable, lost, without_effect, left, .. } = *self;
        let name = |parameter| model.parameter_name(parameter);
        let shift = shift.filter(|shift| shift.relative > MOST_SHIFT);
        let shift = shift.map(|shift| (name(shift.parameter), shift.relative));
        let (suffices, is_earlier) = (self.suffices(), false);
        let mut findings = vec![Finding::Rounding { arithmetic, loss, shift, instances, suffices, is_earlier }];
        findings.push_all(underflows.then_some(Finding::Underflow));
        findings.push_all(immovable.map(|parameter| Finding::Immovable(name(parameter))));
        findings.push_all(lost.or(without_effect).map(|parameter| Finding::WithoutEffect(name(parameter))));
        findings.push_all((left > LEAST_PROMISE).then_some(Finding::Promise(left)));
        findings
    }
}

/// An estimate, and what it tells.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// The figures.
    pub estimate: PrecisionEstimate,
    /// [`PrecisionEstimate::findings`], and what was found beside.
    pub findings: Vec<Finding>,
}
