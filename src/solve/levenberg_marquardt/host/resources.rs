//! What a solve on the host leaves for the next one of the same compiled functions.

use super::solve_path::RowSystems;
use crate::gauss_newton::host::HostModel;

/// The Gauss-Newton model and the structure of linear systems. Empty before the first solve.
#[derive(Default)]
pub struct SolverResources {
    /// The Gauss-Newton model, which rank and covariance use too.
    pub model: HostModel,
    /// The linear systems of rows, once they are made.
    pub(super) systems: Option<RowSystems>,
}

impl SolverResources {
    /// Forgets what depends on the numbers of instances and parameters, which have grown.
    pub fn grow(&mut self) {
        self.model.grow();
        self.systems = None;
    }
}
