//! What a solve on the host leaves for the next one of the same compiled functions.

use std::rc::Rc;

use crate::gauss_newton::host::HostModel;
use residua_cpu::Program;

/// The Gauss-Newton model, and the kernels of steps along the manifolds. Empty before the first solve.
#[derive(Default)]
pub struct SolverResources {
    /// The Gauss-Newton model, which rank and covariance use too.
    pub model: HostModel,
    /// The kernels of [`super::retraction::Retraction`], once they are compiled.
    pub(super) retraction: Option<Rc<Program>>,
}
