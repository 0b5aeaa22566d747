//! A session: compiled functions, and the resources of solvers that outlive a solve of them.
//!
//! The first solve makes resources, and later ones find them: the Gauss-Newton model, compiled kernels, buffers and recordings. They belong
//! to these functions alone, so that the session owns both and releases both together.

use super::check_schedule::CheckSchedule;
#[cfg(target_arch = "wasm32")]
use super::lbfgs;
use super::levenberg_marquardt;
use crate::eval::Functions;

/// Compiled functions with the resources of their solvers.
pub struct Session {
    /// What is minimised.
    pub functions: Functions,
    /// What Levenberg-Marquardt, rank and covariance keep on the host.
    pub host: levenberg_marquardt::host::SolverResources,
    /// What solvers keep on the device.
    pub device: DeviceResources,
}

impl Session {
    /// A session without resources yet.
    pub fn new(functions: Functions) -> Session {
        let host = levenberg_marquardt::host::SolverResources::default();
        Session { functions, host, device: DeviceResources::default() }
    }
}

/// The resources on the device of the solver that ran there last. Those of another solver are released, since their buffers are large.
#[derive(Default)]
pub struct DeviceResources {
    /// Which solves are checked for their digits.
    pub checks: CheckSchedule,
    #[cfg(target_arch = "wasm32")]
    lbfgs: Option<lbfgs::device::SolverResources>,
    #[cfg(target_arch = "wasm32")]
    levenberg_marquardt: Option<levenberg_marquardt::device::SolverResources>,
}

#[cfg(target_arch = "wasm32")]
impl DeviceResources {
    /// The resources of L-BFGS.
    pub fn lbfgs(&mut self) -> &mut Option<lbfgs::device::SolverResources> {
        self.levenberg_marquardt = None;
        &mut self.lbfgs
    }

    /// The resources of Levenberg-Marquardt.
    pub fn levenberg_marquardt(&mut self) -> &mut Option<levenberg_marquardt::device::SolverResources> {
        self.lbfgs = None;
        &mut self.levenberg_marquardt
    }
}
