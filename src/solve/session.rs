//! A session: compiled functions, and the resources of solvers that outlive a solve of them.
//!
//! The first solve makes resources, and later ones find them: the Gauss-Newton model, compiled kernels, buffers and recordings. They belong
//! to these functions alone, so that the session owns both and releases both together.

use super::check_schedule::CheckSchedule;
#[cfg(target_arch = "wasm32")]
use super::lbfgs;
use super::levenberg_marquardt;
#[cfg(target_arch = "wasm32")]
use crate::eval::Engine;
use crate::eval::Functions;
use crate::gauss_newton::host::HostModel;
#[cfg(target_arch = "wasm32")]
use residua_base::error::Result;

/// What the answer of [`factorisation::pays`](super::driver::factorisation::pays) depends on.
#[derive(PartialEq)]
pub struct FactorisationQuestion {
    /// Version of the constants.
    pub constraints: u64,
    /// Iterations of conjugate gradients that a step may take.
    pub iterations: u32,
    /// Whether each block takes part.
    pub taking_part: Vec<bool>,
}

/// Compiled functions with the resources of their solvers.
pub struct Session {
    /// What is minimised.
    pub functions: Functions,
    /// What Levenberg-Marquardt, rank and covariance keep on the host.
    pub host: levenberg_marquardt::host::SolverResources,
    /// What solvers keep on the device.
    pub device: DeviceResources,
    /// The last question whether a factorisation on the host takes less, and its answer.
    pub is_for_factorisation: Option<(FactorisationQuestion, bool)>,
    /// The functions' own engine, while a solve goes on in pairs.
    #[cfg(target_arch = "wasm32")]
    engine: Option<Engine>,
}

impl Session {
    /// A session without resources yet.
    pub fn new(functions: Functions) -> Session {
        let host = levenberg_marquardt::host::SolverResources::default();
        Session {
            functions,
            host,
            device: DeviceResources::default(),
            is_for_factorisation: None,
            #[cfg(target_arch = "wasm32")]
            engine: None,
        }
    }

    /// Forgets what solvers keep of a model that has grown.
    pub fn grow(&mut self) {
        self.host.grow();
        #[cfg(target_arch = "wasm32")]
        self.device.release();
    }

    /// Its parts, each for itself.
    pub fn parts(&mut self) -> Parts<'_> {
        (&mut self.functions, &mut self.host.model, &mut self.device)
    }
}

/// Functions, their Gauss-Newton model on the host, and what solvers keep on the device.
pub type Parts<'a> = (&'a mut Functions, &'a mut HostModel, &'a mut DeviceResources);

#[cfg(target_arch = "wasm32")]
impl Session {
    /// Evaluates and solves in pairs on the device until [`Session::narrow`]; false where that cannot be had. The resources of solves in single
    /// precision are released, since both would take much memory.
    ///
    /// # Errors
    /// What the device fails with.
    pub async fn widen(&mut self) -> Result<bool> {
        if self.engine.is_none() {
            self.engine = self.functions.widen().await?;
            if self.engine.is_some() {
                self.device.release();
            }
        }
        Ok(self.engine.is_some())
    }

    /// Goes back to the functions' own engine.
    ///
    /// # Errors
    /// What the device fails with.
    pub async fn narrow(&mut self) -> Result<()> {
        let Some(engine) = self.engine.take() else { return Ok(()) };
        self.device.release();
        self.functions.narrow(engine).await
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
    fn release(&mut self) {
        (self.lbfgs, self.levenberg_marquardt) = (None, None);
    }

    /// Those of Levenberg-Marquardt, if it ran last.
    pub fn of_levenberg_marquardt(&self) -> Option<&levenberg_marquardt::device::SolverResources> {
        self.levenberg_marquardt.as_ref()
    }

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
