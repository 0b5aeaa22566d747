//! The check of a model's kernels in pairs, see [`crate::eval::pair_check`], on the device.

use std::pin::Pin;

use residua_base::cooperative::Slices;
use residua_base::error::Result;
use residua_base::list::PushAll;
use residua_codegen::Width;
use residua_gpu::{Context, PipelineRequest};

use super::GpuEngine;
use super::call::RecordedCall;
use crate::eval::Objective;
use crate::eval::pair_arithmetic::pairs_do_not_hold;
use crate::eval::pair_check::{Computed, Sample};
use crate::eval::record_gradient::{GradientCall, Point};
use crate::model::Model;

/// Tries a model's kernels in pairs, with the losses that its blocks have.
///
/// # Errors
/// Those of [`PairCheck::run`] and of the device.
pub fn check_pairs<'a>(
    context: Context,
    model: &'a Model,
    x: &'a [f64],
) -> Pin<Box<dyn Future<Output = Result<()>> + 'a>> {
    Box::pin(async move { PairCheck::new(context, model, x).await?.run(model).await })
}

/// A trial of a model's kernels in pairs at a point.
pub struct PairCheck {
    sample: Sample,
    engine: GpuEngine,
}

impl PairCheck {
    /// Lays the sample out on the device.
    pub async fn new(context: Context, model: &Model, x: &[f64]) -> Result<PairCheck> {
        let sample = Sample::of(model, x);
        let engine = GpuEngine::new(context, &sample.model, Width::Pair, None).await?;
        Ok(PairCheck { sample, engine })
    }

    /// The pipelines that it runs. A few instances can be summed by other kernels than many, so some may be its own: they compile beside those of the model.
    pub(super) async fn requests(&mut self) -> Result<Vec<PipelineRequest>> {
        let (objective, at) = (Objective::LeastSquares, Point::Brought);
        let gradient =
            RecordedCall::Gradient(GradientCall { objective, seeded: false, at, stays: false, fixed: false });
        let mut programs = self.engine.record(&self.sample.model, gradient)?.programs;
        programs.push_all(self.engine.record(&self.sample.model, RecordedCall::Values)?.programs);
        Ok(self.engine.pipeline_requests(&programs, &Slices::without_progress()).await?.1)
    }

    /// Compares what the device computes with the reference.
    ///
    /// # Errors
    /// `gpu-unavailable` where what the device computes is less than pairs; the message names a residual.
    pub async fn run(mut self, of_whole: &Model) -> Result<()> {
        let PairCheck { sample, engine } = &mut self;
        let residuals = engine.values(&sample.model, &sample.x).await?;
        let evaluation = engine.gradient(&sample.model, Objective::LeastSquares, &sample.x, None).await?;
        let computed = Computed { residuals, gradient: evaluation.gradient };
        match sample.find_fault(of_whole, &computed)? {
            None => Ok(()),
            Some(fault) => Err(pairs_do_not_hold(&fault)),
        }
    }
}
