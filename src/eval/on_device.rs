//! Gradients by the device without a way through our memory: left there, or read straight into the caller's array.

use js_sys::{Float32Array, Float64Array};

use residua_base::error::{Error, Result};

use super::gpu::DeviceGradient;
use super::pairs::{from_vector, vector_len};
use super::{Engine, Functions, Objective};

impl Functions {
    /// An objective and its gradient by the device, which goes into an array, or without one stays there; none on the CPU. Without a point, at the
    /// current parameters, of which the device has a copy already.
    pub async fn evaluate_on_device(
        &mut self,
        objective: Objective,
        x: Option<&Float32Array>,
        into: Option<&Float64Array>,
    ) -> Result<Option<DeviceGradient>> {
        let Engine::Gpu(engine) = &self.engine else { return Ok(None) };
        let width = engine.layout().width;
        let parameters = self.model.num_params as usize;
        if let Some(x) = x
            && u64::from(x.length()) != vector_len(width, parameters as u64)
        {
            self.expect_parameters(x.length() as usize)?;
            return Err(Error::internal("a point of single precision where pairs are taken"));
        }
        if objective == Objective::LeastSquares {
            self.check_losses().await?;
        }
        let (mut value, mut seeds) = (0.0, None);
        if self.has_addends(objective) {
            let x: Option<Vec<f64>> = x.map(|x| from_vector(width, &x.to_vec(), parameters));
            let point = self.point(x.as_deref()).await?;
            let residuals = self.engine.values(&self.model, &point).await?;
            let (of_long_sums, of_rows) = self.seeds_of_long_sums(&residuals);
            (value, seeds) = (of_long_sums, Some(of_rows));
        }
        let fixed = self.has_constants.then_some(self.constant.as_slice());
        let Engine::Gpu(engine) = &mut self.engine else { return Ok(None) };
        let mut gradient = engine.device_gradient(&self.model, objective, x, seeds.as_deref(), fixed, into).await?;
        gradient.value += value;
        Ok(Some(gradient))
    }
}
