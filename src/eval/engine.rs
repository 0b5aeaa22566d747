//! The contract that both engines keep, as an enum: there are two, and each method has one case for either.

use std::ops::Range;

use crate::model::Model;
use crate::model::pattern::Pattern;
use residua_base::error::Result;
use residua_codegen::wgsl::PairForm;

use super::cpu::{CpuEngine, Give, Partials};
use super::{Arithmetic, Evaluation, Objective};

/// Where evaluations are computed. The arithmetic is a separate property, see [`Arithmetic`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// On the CPU, over the model's own tables.
    Host,
    /// On the GPU, over its buffers.
    Device,
}

/// What evaluates a model.
pub enum Engine {
    /// The CPU.
    Cpu(CpuEngine),
    /// A GPU.
    #[cfg(target_arch = "wasm32")]
    Gpu(Box<super::gpu::GpuEngine>),
    /// The CPU for the time of one call, while the GPU's buffers stay valid.
    #[cfg(target_arch = "wasm32")]
    HostCall(Box<super::gpu::GpuEngine>),
}

impl Engine {
    /// Where the present call is computed.
    pub fn place(&self) -> Place {
        match self {
            Engine::Cpu(_) => Place::Host,
            #[cfg(target_arch = "wasm32")]
            Engine::HostCall(_) => Place::Host,
            #[cfg(target_arch = "wasm32")]
            Engine::Gpu(_) => Place::Device,
        }
    }

    /// In what the present call is computed.
    pub fn arithmetic(&self) -> Arithmetic {
        match self {
            Engine::Cpu(_) => CpuEngine::ARITHMETIC,
            #[cfg(target_arch = "wasm32")]
            Engine::HostCall(_) => CpuEngine::ARITHMETIC,
            #[cfg(target_arch = "wasm32")]
            Engine::Gpu(engine) => engine.arithmetic(),
        }
    }

    /// In what calls on the device are computed, if there is one.
    pub fn device_arithmetic(&self) -> Arithmetic {
        match self {
            Engine::Cpu(_) => CpuEngine::ARITHMETIC,
            #[cfg(target_arch = "wasm32")]
            Engine::Gpu(engine) | Engine::HostCall(engine) => engine.arithmetic(),
        }
    }

    /// How kernels in pairs take the error of a product; none where there is no device, or where it computes in single precision.
    pub fn pair_form(&self) -> Option<PairForm> {
        match self {
            Engine::Cpu(_) => None,
            #[cfg(target_arch = "wasm32")]
            Engine::Gpu(engine) | Engine::HostCall(engine) => engine.pair_form(),
        }
    }

    /// The processor, the kernels' form and the arithmetic, for a report: "CPU, WebAssembly, f64", "GPU, WGSL, f32x2 (fma): …".
    pub fn description(&self) -> String {
        let arithmetic = self.arithmetic().as_str();
        match self {
            Engine::Cpu(engine) => on_cpu(arithmetic, engine.interpreted_because()),
            #[cfg(target_arch = "wasm32")]
            Engine::HostCall(engine) => on_cpu(arithmetic, engine.interpreted_because()),
            #[cfg(target_arch = "wasm32")]
            Engine::Gpu(engine) => {
                let form = match engine.pair_form() {
                    None => "",
                    Some(PairForm::Fused) => " (fma)",
                    Some(PairForm::Split) => " (split)",
                };
                format!("GPU, WGSL, {arithmetic}{form}: {}", engine.adapter_name())
            }
        }
    }

    /// The CPU engine: this one, or that of a GPU engine.
    pub(crate) fn on_cpu(&mut self) -> &mut CpuEngine {
        match self {
            Engine::Cpu(engine) => engine,
            #[cfg(target_arch = "wasm32")]
            Engine::Gpu(engine) | Engine::HostCall(engine) => engine.on_cpu(),
        }
    }

    /// All residuals.
    pub async fn values(&mut self, model: &Model, x: &[f64]) -> Result<Vec<f64>> {
        match self {
            #[cfg(target_arch = "wasm32")]
            Engine::Gpu(engine) => engine.values(model, x).await,
            on_cpu => on_cpu.on_cpu().values(model, x).await,
        }
    }

    /// An objective and its gradient. With seeds, batches of addends contribute Σ seed·∂f to the gradient and nothing to
    /// the value.
    pub async fn gradient(
        &mut self,
        model: &Model,
        objective: Objective,
        x: &[f64],
        seeds: Option<&[f64]>,
    ) -> Result<Evaluation> {
        match self {
            #[cfg(target_arch = "wasm32")]
            Engine::Gpu(engine) => engine.gradient(model, objective, x, seeds).await,
            on_cpu => on_cpu.on_cpu().gradient(model, objective, x, seeds).await,
        }
    }

    /// For each batch its local partials: pairs of output and local parameter.
    pub fn partial_columns(&mut self, model: &Model) -> Result<Vec<Vec<(u32, u32)>>> {
        match self {
            #[cfg(target_arch = "wasm32")]
            Engine::Gpu(engine) => engine.partial_columns(model),
            on_cpu => on_cpu.on_cpu().partial_columns(model),
        }
    }

    /// Gives all residuals and the Jacobian in the order of its pattern, piece by piece: `memory` is for them, and `partials` says for each
    /// batch what its partials are of.
    pub async fn jacobian(
        &mut self,
        model: &Model,
        partials: &Partials,
        pattern: &Pattern,
        x: &[f64],
        memory: &mut Vec<f64>,
        give: Give<'_>,
    ) -> Result<()> {
        match self {
            #[cfg(target_arch = "wasm32")]
            Engine::Gpu(engine) => engine.jacobian(model, partials, pattern, x, memory, give).await,
            on_cpu => on_cpu.on_cpu().jacobian(model, partials, pattern, x, memory, give).await,
        }
    }

    /// Columns of a batch's data table have changed. The CPU reads the model's own tables.
    pub fn data_changed(&mut self, model: &Model, batch: usize, columns: Range<u32>) -> Result<()> {
        match self {
            Engine::Cpu(_) => {
                let _ = (model, batch, columns);
                Ok(())
            }
            #[cfg(target_arch = "wasm32")]
            Engine::Gpu(engine) | Engine::HostCall(engine) => engine.data_changed(model, batch, columns),
        }
    }

    /// Numbers of the model's tables have changed. The CPU reads them where they are.
    pub fn tables_changed(&mut self, model: &Model, numbers: Range<u32>) -> Result<()> {
        match self {
            Engine::Cpu(_) => {
                let _ = (model, numbers);
                Ok(())
            }
            #[cfg(target_arch = "wasm32")]
            Engine::Gpu(engine) | Engine::HostCall(engine) => engine.tables_changed(model, numbers),
        }
    }

    /// Brings data that the application wrote on the device into the model's tables; whether there are such data.
    pub async fn read_shared_data(&self, model: &mut Model) -> Result<bool> {
        match self {
            Engine::Cpu(_) => {
                let _ = model;
                Ok(false)
            }
            #[cfg(target_arch = "wasm32")]
            Engine::Gpu(engine) | Engine::HostCall(engine) => engine.read_shared_data(model).await,
        }
    }

    /// A block was enabled or disabled.
    pub fn enabled_changed(&mut self) {
        match self {
            Engine::Cpu(_) => {}
            #[cfg(target_arch = "wasm32")]
            Engine::Gpu(engine) | Engine::HostCall(engine) => engine.enabled_changed(),
        }
    }

    /// A block has another loss. The CPU's kernels have them all.
    pub fn loss_changed(&mut self, model: &Model) {
        match self {
            Engine::Cpu(_) => {
                let _ = model;
            }
            #[cfg(target_arch = "wasm32")]
            Engine::Gpu(engine) | Engine::HostCall(engine) => engine.loss_changed(model),
        }
    }

    /// Other parameters are constant.
    pub fn constant_changed(&mut self) {
        match self {
            Engine::Cpu(_) => {}
            #[cfg(target_arch = "wasm32")]
            Engine::Gpu(engine) | Engine::HostCall(engine) => engine.constant_changed(),
        }
    }

    /// Shows the application these parameters, where it can see them.
    pub fn publish(&self, x: &[f64]) -> Result<()> {
        match self {
            Engine::Cpu(_) => {
                let _ = x;
                Ok(())
            }
            #[cfg(target_arch = "wasm32")]
            Engine::Gpu(engine) | Engine::HostCall(engine) => engine.publish_at(0, x),
        }
    }

    /// The same for the parameters from `first` on.
    pub fn publish_at(&self, first: usize, numbers: &[f64]) -> Result<()> {
        match self {
            Engine::Cpu(_) => {
                let _ = (first, numbers);
                Ok(())
            }
            #[cfg(target_arch = "wasm32")]
            Engine::Gpu(engine) | Engine::HostCall(engine) => engine.publish_at(first, numbers),
        }
    }

    /// The parameters that the application can read on the device; none on the CPU.
    pub async fn published_values(&mut self) -> Result<Vec<f64>> {
        match self {
            Engine::Cpu(_) => Ok(Vec::new()),
            #[cfg(target_arch = "wasm32")]
            Engine::Gpu(engine) | Engine::HostCall(engine) => engine.published_values().await,
        }
    }
}

fn on_cpu(arithmetic: &str, interpreted_because: Option<&str>) -> String {
    match interpreted_because {
        None => format!("CPU, WebAssembly, {arithmetic}"),
        Some(reason) => format!("CPU, interpreted, {arithmetic} ({reason})"),
    }
}
