//! The result of a solve.

use super::precision::Checked;
use super::summary::SolveSummary;
use crate::eval::Arithmetic;

/// The result of a solve.
#[derive(Clone, Debug)]
pub struct Solution {
    /// All parameters at the best point; empty if they stay on the device.
    pub x: Vec<f64>,
    /// The run.
    pub summary: SolveSummary,
    /// What its last part was computed in.
    pub arithmetic: Arithmetic,
    /// What rounding does to it; none where it was not estimated.
    pub precision: Option<Checked>,
    /// Details for the report.
    pub details: Details,
}

/// Details of a solve that its report shows. All may be empty.
#[derive(Clone, Debug, Default)]
pub struct Details {
    /// The linear solver, and the reason of its choice.
    pub linear_solver: String,
    /// Milliseconds by stage of the solve.
    pub times: Vec<(&'static str, f64)>,
    /// Whether the residuals may leave a direction free at the solution.
    pub may_lack_rank: bool,
    /// The radius with which a run in one ended.
    pub radius: Option<f64>,
    /// Of Newton's method: half of the squared Newton decrement at the last point that had one.
    pub newton_decrement: Option<f64>,
}
