//! The check of a model's kernels in pairs, see [`crate::eval::pair_check`], on the device.

use residua_base::error::Result;
use residua_codegen::Width;

use super::GpuEngine;
use crate::eval::Objective;
use crate::eval::pair_arithmetic::pairs_do_not_hold;
use crate::eval::pair_check::{Computed, Sample};
use crate::model::Model;

impl GpuEngine {
    /// Tries the kernels of this engine, which is in pairs, at a point.
    ///
    /// # Errors
    /// `gpu-unavailable` where what the device computes is less than pairs; the message names a residual.
    pub async fn check_pairs(&self, model: &Model, x: &[f64]) -> Result<()> {
        let sample = Sample::of(model, x);
        let mut engine = GpuEngine::new(self.context.clone(), &sample.model, Width::Pair, None).await?;
        let residuals = engine.values(&sample.model, &sample.x).await?;
        let evaluation = engine.gradient(&sample.model, Objective::LeastSquares, &sample.x, None).await?;
        let computed = Computed { residuals, gradient: evaluation.gradient };
        match sample.find_fault(model, &computed)? {
            None => Ok(()),
            Some(fault) => Err(pairs_do_not_hold(&fault)),
        }
    }
}
