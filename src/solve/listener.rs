//! The observer of a running solve.

use super::summary::IterationSummary;

/// Receives the iterations of a solve, and may end it.
pub trait Listener {
    /// Receives a finished iteration. True ends the solve.
    fn iteration(&mut self, summary: &IterationSummary) -> bool;
    /// Whether the solve is to end.
    fn aborted(&mut self) -> bool;
}
