//! Functions that are evaluated in pairs on their device for a while: by a second engine, which is made when a solve wants more digits.

use residua_base::error::{ErrorCode, Result};
use residua_codegen::Width;
use residua_gpu::Context;

use super::gpu::{GpuEngine, check_pairs};
use super::{Arithmetic, Engine, Functions};

impl Functions {
    /// Evaluates in pairs from now on, and gives the engine that did before. None, and nothing changes, where single precision is not what the present
    /// engine computes in, where the application writes data on the device, or where the device lacks what pairs take or does not compute them.
    ///
    /// # Errors
    /// What the device fails with.
    pub async fn widen(&mut self) -> Result<Option<Engine>> {
        let Engine::Gpu(engine) = &self.engine else { return Ok(None) };
        if engine.arithmetic() != Arithmetic::F32 || engine.shares_data() {
            return Ok(None);
        }
        let context = engine.context().clone();
        self.bring_values().await?;
        let lacks = [ErrorCode::LimitExceeded, ErrorCode::OutOfMemory, ErrorCode::GpuUnavailable];
        let wide = match self.in_pairs(context).await {
            Err(error) if lacks.contains(&error.code) => return Ok(None),
            wide => wide?,
        };
        Ok(Some(std::mem::replace(&mut self.engine, Engine::Gpu(Box::new(wide)))))
    }

    /// An engine in pairs at the current parameters, of which the kernels have been checked.
    async fn in_pairs(&self, context: Context) -> Result<GpuEngine> {
        let wide = GpuEngine::new(context.clone(), &self.model, Width::Pair, None).await?;
        check_pairs(context, &self.model, &self.values).await?;
        wide.publish_at(0, &self.values)?;
        Ok(wide)
    }

    /// Evaluates by the engine that did before, and shows the application what the second one has found.
    ///
    /// # Errors
    /// What the device fails with. The engine is the one before all the same.
    pub async fn narrow(&mut self, before: Engine) -> Result<()> {
        let brought = self.bring_values().await;
        self.engine = before;
        self.ahead = false;
        brought?;
        self.engine.publish(&self.values)
    }
}
