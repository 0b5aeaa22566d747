//! What a solve on the host leaves for the next one of the same compiled functions.

use std::rc::Rc;

use super::solve_path::RowSystems;
use crate::gauss_newton::host::HostModel;
use residua_cpu::Program;

/// The Gauss-Newton model, the kernels of steps along the manifolds, and the structure of linear systems. Empty before the first solve.
#[derive(Default)]
pub struct SolverResources {
    /// The Gauss-Newton model, which rank and covariance use too.
    pub model: HostModel,
    /// The kernels of [`super::retraction::Retraction`], once they are compiled.
    pub(super) retraction: Option<Rc<Program>>,
    /// The linear systems of rows, once they are made.
    pub(super) systems: Option<RowSystems>,
}
