//! Compiled functions whose model has grown: kernels stay, what depends on the number of parameters and instances is made anew.

use super::{Differentiated, Engine, Functions};
use crate::model::Model;
use crate::model::pattern::pattern;
use residua_base::error::Result;

impl Functions {
    /// Brings here what the device alone has: the current parameters, and data that the application writes there.
    ///
    /// # Errors
    /// What the device fails with.
    pub async fn bring_all(&mut self) -> Result<()> {
        self.bring_values().await?;
        self.bring_shared_data().await
    }

    /// Goes over to a model with more parameters or instances, after [`Functions::bring_all`]. Nothing is constant then and nothing has bounds. `values` are of
    /// all parameters; those that were there keep their own.
    ///
    /// # Errors
    /// `limit-exceeded` for what does not fit the device, and what else it fails with. The functions are those before then.
    pub async fn grow(&mut self, model: Model, mut values: Vec<f64>) -> Result<()> {
        for (array, before) in model.arrays.iter().zip(&self.model.arrays) {
            let [to, from] = [array, before].map(|array| array.offset as usize);
            let length = (before.count * before.dim) as usize;
            values[to..to + length].copy_from_slice(&self.values[from..from + length]);
        }
        // A block that had no instances has kernels of its own now.
        let has_same_kernels = model.batches.len() == self.model.batches.len();
        // What can fail comes before the engine has changed.
        let pattern = match &self.differentiated {
            Some(Differentiated { partials, .. }) if has_same_kernels => Some(pattern(&model, partials)?),
            _ => None,
        };
        self.engine.grow(&model, &values, has_same_kernels).await?;
        let before = self.differentiated.take().zip(pattern);
        self.differentiated =
            before.map(|(Differentiated { partials, .. }, pattern)| Differentiated { partials, pattern });
        self.constant = vec![false; model.num_params as usize];
        (self.model, self.values, self.bounds, self.hessians) = (model, values, None, [None, None]);
        (self.has_constants, self.has_bounds, self.ahead) = (false, false, false);
        self.constraints_version += 1;
        self.count_again();
        self.expect_parameters(self.values.len())
    }
}

impl Engine {
    /// Follows a model that has grown. With `has_same_kernels` each batch has the class that it had.
    async fn grow(&mut self, model: &Model, values: &[f64], has_same_kernels: bool) -> Result<()> {
        match self {
            Engine::Cpu(engine) => {
                let _ = values;
                engine.grow(model, has_same_kernels);
                Ok(())
            }
            #[cfg(target_arch = "wasm32")]
            Engine::Gpu(engine) | Engine::HostCall(engine) => engine.grow(model, values, has_same_kernels).await,
        }
    }
}
