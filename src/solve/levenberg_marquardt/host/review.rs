//! The review of a convergence where columns of J̃ nearly depend on each other.
//!
//! The tests of convergence see the gradient, of which a direction has as little as its columns differ, and steps from J̃ᵀJ̃, which does not show
//! differences below √ε at all. So before a run ends where J̃ may lack rank, J̃ itself is factorised, with a damping of 10⁻²²: the reduction of that step is what the
//! model can still gain. Where it is more than tolerances and rounding leave, the run goes on with steps from reflections of J̃ until the tests hold again.
//! Rejected steps raise the damping until one is accepted or the reduction no longer counts. Then the model has promised what no step reaches, and the run
//! ends as it would have. Each accepted step lowers the cost by some of what counts, so that no run goes on forever.

use crate::solve::summary::Termination;
use residua_linalg::DenseQr;

/// The review of a run.
#[derive(Default)]
pub(super) struct Review {
    /// The convergence of the last iteration.
    pub(super) due: Option<(Termination, String)>,
    /// The convergence from which steps are tried, until one is accepted.
    pub(super) open: Option<(Termination, String)>,
    /// Solves the systems since the first review.
    pub(super) qr: Option<DenseQr>,
    /// The reduction that the model promises at the point, if it counts.
    pub(super) promise: Option<f64>,
    /// Whether the residuals may leave a direction free.
    pub(super) may_lack_rank: bool,
}

impl Review {
    /// Forgets what was found at the point before.
    pub(super) fn move_on(&mut self) {
        (self.open, self.promise) = (None, None);
    }
}
