//! Where one call on functions of a device runs: there, or on the host for its time.

use residua_base::error::{ErrorCode, Result};

use super::cpu::CpuEngine;
use super::gpu::check_pairs;
use super::{Engine, Functions, Job};

impl Functions {
    /// Gets ready for a call: moves to the CPU where that is chosen for it, or where kernels in pairs do not hold and the host is allowed, until
    /// [`Functions::leave`].
    ///
    /// # Errors
    /// Those of [`Functions::check_losses`] and of the device.
    pub async fn enter(&mut self, job: Job) -> Result<()> {
        // Data that the application writes on the device would have to be brought here first.
        let may_move = matches!(&self.engine, Engine::Gpu(engine) if !engine.shares_data());
        let mut moves = may_move && self.choice.as_ref().is_some_and(|choice| choice.is_on_cpu(job));
        if !moves
            && job.has_losses()
            && let Err(error) = self.check_losses().await
        {
            if !may_move || !self.may_run_on_host || error.code != ErrorCode::GpuUnavailable {
                return Err(error);
            }
            moves = true;
        }
        if moves {
            self.bring_values().await?;
            self.move_engine();
        }
        Ok(())
    }

    /// Checks the kernels in pairs that a change of a loss has replaced, once, at the parameters that are known here. Compiling has checked those without losses.
    ///
    /// # Errors
    /// `gpu-unavailable` where what the device computes is less than pairs; the message names a residual. Those of the device.
    pub async fn check_losses(&mut self) -> Result<()> {
        if let Engine::Gpu(engine) = &mut self.engine
            && engine.has_unchecked_losses()
            && self.device_fault.is_none()
        {
            // Where the device is ahead, earlier parameters do as well.
            match check_pairs(engine.context().clone(), &self.model, &self.values).await {
                Err(error) if error.code == ErrorCode::GpuUnavailable => self.device_fault = Some(error),
                checked => checked.map(|()| engine.losses_are_checked())?,
            }
        }
        self.device_fault.clone().map_or(Ok(()), Err)
    }

    /// Moves back to where the functions belong.
    pub fn leave(&mut self) {
        if matches!(self.engine, Engine::HostCall(_)) {
            self.move_engine();
        }
    }

    fn move_engine(&mut self) {
        self.engine = match std::mem::replace(&mut self.engine, Engine::Cpu(CpuEngine::new())) {
            Engine::Gpu(engine) => Engine::HostCall(engine),
            Engine::HostCall(engine) => Engine::Gpu(engine),
            Engine::Cpu(engine) => Engine::Cpu(engine),
        };
    }
}
