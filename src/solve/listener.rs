//! The observer of a running solve.

use super::summary::IterationSummary;

/// Receives the iterations of a solve, and may end it.
pub trait Listener {
    /// Receives a finished iteration. True ends the solve.
    fn iteration(&mut self, summary: &IterationSummary) -> bool;
    /// Whether the solve is to end.
    fn aborted(&mut self) -> bool;
}

/// Lets every solve run to its end.
#[cfg(test)]
impl Listener for () {
    fn iteration(&mut self, _: &IterationSummary) -> bool {
        false
    }

    fn aborted(&mut self) -> bool {
        false
    }
}
