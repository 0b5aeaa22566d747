//! Gradients by the device without a way through our memory: left there, or read straight into the caller's array.

use js_sys::{Float32Array, Float64Array};
use residua_base::list::Listed;

use residua_base::error::Result;

use super::gpu::DeviceGradient;
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
        if !matches!(self.engine, Engine::Gpu(_)) {
            return Ok(None);
        }
        if let Some(x) = x {
            self.expect_parameters(x.length() as usize)?;
        }
        let (mut value, mut seeds) = (0.0, None);
        if self.has_addends(objective) {
            let x: Option<Vec<f64>> = x.map(|x| x.to_vec().into_iter().map(f64::from).list());
            let point = self.point(x.as_deref()).await?;
            let (of_long_sums, of_rows) = self.seeds_of_long_sums(&point).await?;
            (value, seeds) = (of_long_sums, Some(of_rows));
        }
        let fixed = self.has_constants.then_some(self.constant.as_slice());
        let Engine::Gpu(engine) = &mut self.engine else { return Ok(None) };
        let mut gradient = engine.device_gradient(&self.model, objective, x, seeds.as_deref(), fixed, into).await?;
        gradient.value += value;
        Ok(Some(gradient))
    }
}
