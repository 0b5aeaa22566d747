//! Gradients that stay on the device, or go straight into an array of JavaScript's.

use js_sys::{Float32Array, Float64Array};
use wasm_bindgen::JsValue;

use crate::model::Model;
use residua_base::error::Result;
use residua_codegen::Width;

use super::super::Objective;
use super::super::layout::Memory;
use super::super::layout::lists::ListMemory;
use super::super::record_gradient::{GradientCall, Point};
use super::GpuEngine;
use super::call::RecordedCall;
use super::calls::Launched;

/// An objective and its gradient.
pub struct DeviceGradient {
    /// The objective.
    pub value: f64,
    /// The `GPUBuffer` that has the gradient, where it stays; else the array.
    pub gradient: JsValue,
}

impl GpuEngine {
    /// An objective and its gradient, at a point as the device holds vectors, or at the parameters that the
    /// application sees. Parameters for which `fixed` says so have zeros in it. The gradient goes into an array of its length, or
    /// without one stays on the device.
    pub(in crate::eval) async fn device_gradient(
        &mut self,
        model: &Model,
        objective: Objective,
        point: Option<&Float32Array>,
        seeds: Option<&[f64]>,
        fixed: Option<&[bool]>,
        into: Option<&Float64Array>,
    ) -> Result<DeviceGradient> {
        if let Some(constant) = fixed {
            self.upload_fixed_mask(model, constant).await?;
        }
        let at = match point {
            None => Point::Current,
            Some(numbers) => {
                let buffer = self.table(model, Memory::Parameters).await?;
                self.context().write_numbers(&buffer, numbers)?;
                Point::Resident
            }
        };
        let (seeded, fixed) = (seeds.is_some(), fixed.is_some());
        let call = GradientCall { objective, seeded, at, stays: into.is_none(), fixed };
        let Launched { submission, spreads, mut downloads } =
            self.launch(model, RecordedCall::Gradient(call), None, seeds).await?;
        let read = into.and_then(|_| downloads.pop());
        let mapped = submission.finish_mapped().await;
        for spread in spreads {
            spread.finish().await?;
        }
        let (mapped, mut value) = (mapped?, 0.0);
        if let Some(mapped) = &mapped {
            for sums in downloads {
                value += mapped.reals(sums).to_vec().into_iter().map(f64::from).sum::<f64>();
            }
        }
        let gradient = match (read, into, &mapped) {
            (Some(download), Some(array), Some(mapped)) => {
                let numbers: Float32Array = mapped.reals(download);
                let count = self.layout().num_params() as u32;
                // Its memory may have been transferred or shrunk meanwhile; then writing would throw, and the facade says so.
                if array.length() == count && count > 0 {
                    match self.layout().width {
                        Width::Single => array.set(&numbers, 0),
                        Width::Pair => array.copy_from(&self.vector(&numbers.to_vec())),
                    }
                }
                array.into()
            }
            _ => self.buffers.get(&Memory::Lists(ListMemory::Left)).map_or(JsValue::NULL, |left| left.raw_buffer()),
        };
        Ok(DeviceGradient { value, gradient })
    }
}
