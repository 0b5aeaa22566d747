//! Gradients that stay where they are computed: on the device, for whoever goes on with them there.

use crate::error::Result;

use super::{Engine, Functions, Objective};

impl Functions {
    /// An objective, and its gradient on the device; on the CPU the objective alone. Without a point, at the current
    /// parameters, of which a device has a copy already.
    pub async fn evaluate_on_device(&mut self, objective: Objective, x: Option<&[f64]>) -> Result<f64> {
        if let Some(x) = x {
            self.expect_parameters(x.len())?;
        }
        if matches!(self.engine, Engine::Cpu(_)) {
            return Ok(self.evaluate_with_gradient(objective, x).await?.cost);
        }
        let (mut value, mut seeds, mut brought) = (0.0, None, None);
        if self.has_addends(objective) {
            let point = self.point(x).await?;
            let (of_long_sums, of_rows) = self.seeds_of_long_sums(&point).await?;
            (value, seeds, brought) = (of_long_sums, Some(of_rows), Some(point));
        }
        let held = self.has_constants.then_some(self.constant.as_slice());
        let point = brought.as_deref().or(x);
        value += self.engine.gradient_on_device(&self.model, objective, point, seeds.as_deref(), held).await?;
        Ok(value)
    }
}
