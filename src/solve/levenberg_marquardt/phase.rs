//! What a run of Levenberg-Marquardt waits for, and what it carries from one answer to the next.

use super::IterationSummary;
#[cfg(doc)]
use super::Step;

/// A step that waits for its verdict.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trial {
    /// What the model promises; NaN where there is no step.
    pub(super) predicted: f64,
    /// What the cost really does.
    pub(super) change: f64,
    pub(super) step_norm: f64,
    pub(super) linear_iterations: Option<u32>,
}

/// What a run waits for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Phase {
    /// The model at the start is due.
    Start,
    /// A step is due.
    Stepping,
    /// Its linear system is to be solved; whether that has begun.
    Solving(bool),
    /// The rows of the model at the point are due: its sums do not give a step.
    Refining,
    /// ‖J̃δ‖² of the step made is due.
    Promising(Trial),
    /// The cost at the trial point is due.
    Trying(Trial),
    /// The model at the trial point, which is to be accepted, is due.
    Accepting(Trial),
    /// The model at the point is due again: at the trial point it was not finite.
    Restoring(Trial),
    Finished,
}

/// A [`Step`] before it borrows the run that it comes from.
pub(super) enum Told {
    LineariseAtPoint,
    LineariseAtTrial,
    Solve,
    Image,
    Reduce,
    Iteration(IterationSummary),
    Finished,
}
