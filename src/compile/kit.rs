//! The engines of the page, and a whole compile with them.

use crate::eval::choice::{Extent, Job, Measured};
use crate::eval::cpu::CpuEngine;
use crate::eval::gpu::GpuEngine;
use crate::eval::{Engine, Functions, trial};
use crate::model::Model;
use crate::model::access_plan::Entry;
use residua_base::cooperative::Slices;
use residua_base::error::{Error, Result};
use residua_codegen::Width;
use residua_gpu::Context;

use super::backend::Assignment;
use super::engine::{EngineKit, MadeEngine, make_engine};
use super::progress::{Progress, Stage};

/// Kernels of fewer nodes, over all classes, are compiled in about a millisecond.
const FEW_NODES: usize = 512;

/// The engines of a model at a point.
struct Kit<'a> {
    model: &'a Model,
    values: &'a [f64],
    width: Width,
    batch_size: Option<u32>,
    slices: &'a Slices<'a>,
    on_host: Option<CpuEngine>,
    on_device: Option<Engine>,
}

impl EngineKit for Kit<'_> {
    type Device = Context;
    type Engine = Engine;

    fn extent(&self) -> Extent {
        Extent::of(self.model, self.width)
    }

    async fn measure(&mut self, device: &Context) -> Result<Measured> {
        let (engine, measured) = trial::measure(device, self.model, self.values).await?;
        if let Engine::Cpu(engine) = engine {
            self.on_host = Some(engine);
        }
        Ok(measured)
    }

    async fn lay_out(&mut self, device: &Context) -> Result<()> {
        let engine =
            GpuEngine::new_in_slices(device.clone(), self.model, self.width, self.batch_size, self.slices).await?;
        self.on_device = Some(Engine::Gpu(Box::new(engine)));
        Ok(())
    }

    async fn compile_for_device(&mut self, progress: &Progress<'_>) -> Result<()> {
        let on_host = self.on_host.take();
        let Some(Engine::Gpu(engine)) = &mut self.on_device else { return Err(not_laid_out()) };
        let mut done = |done: usize, total: usize| progress.tell(done as f64 / total.max(1) as f64);
        engine.prepare(self.model, self.values, self.slices, &mut done).await?;
        if let Some(on_host) = on_host {
            engine.set_on_cpu(on_host);
        }
        Ok(())
    }

    async fn device_gradient_ms(&mut self) -> Result<f64> {
        let engine = self.on_device.as_mut().ok_or_else(not_laid_out)?;
        trial::gradient_ms(engine, self.model, self.values).await
    }

    async fn compile_for_host(&mut self) -> Result<()> {
        let engine = self.on_host.get_or_insert_default();
        // Few operations are compiled faster than anyone waits for: by the first call that needs them, which may be none.
        if self.model.batches.iter().map(|batch| batch.class.graph.graph().len()).sum::<usize>() < FEW_NODES {
            return Ok(());
        }
        for entry in [Entry::SumGradient, Entry::CostGradient] {
            engine.prepare(self.model, entry).await?;
        }
        Ok(())
    }

    fn into_device_engine(self) -> Result<Engine> {
        self.on_device.ok_or_else(not_laid_out)
    }

    fn into_host_engine(self) -> Engine {
        match self.on_device {
            Some(Engine::Gpu(engine)) => Engine::Cpu(engine.into_cpu()),
            _ => Engine::Cpu(self.on_host.unwrap_or_default()),
        }
    }
}

fn not_laid_out() -> Error {
    Error::internal("a model was compiled for a device before it was laid out there")
}

/// Compiled functions, and where they run.
pub struct Compiled {
    /// The functions.
    pub functions: Functions,
    /// Their device; none on the host.
    pub context: Option<Context>,
    /// Why 'auto' took the host.
    pub fallback_reason: Option<String>,
    /// Whether gradients that are read back are computed on the host.
    pub gradients_on_host: bool,
}

/// Compiles a model for where it is assigned, on a device in numbers of this width. The stage [`Stage::Tables`] begins and the last one ends here.
///
/// # Errors
/// `limit-exceeded` for a model that does not fit a device that was asked for; those of the device and of the progress listener.
pub async fn compile(
    model: Model,
    values: Vec<f64>,
    assignment: Assignment<Context>,
    width: Width,
    batch_size: Option<u32>,
    progress: &Progress<'_>,
    slices: &Slices<'_>,
) -> Result<Compiled> {
    let device = assignment.device.clone();
    let measures = assignment.measures;
    progress.enter(Stage::Tables).await?;
    slices.set_part(0.0, 0.0);
    let (made, fallback_reason) = assignment
        .run(async |device: Option<&Context>| {
            let (on_host, on_device) = (None, None);
            let kit = Kit { model: &model, values: &values, width, batch_size, slices, on_host, on_device };
            make_engine(kit, device, measures, progress).await
        })
        .await?;
    progress.leave();
    progress.tell(1.0)?;
    let MadeEngine { engine, choice, reason } = made;
    let context = device.filter(|_| matches!(engine, Engine::Gpu(_)));
    let mut functions = Functions::at_published(model, engine, values)?;
    let gradients_on_host = context.is_none() || choice.as_ref().is_some_and(|choice| choice.is_on_cpu(Job::Gradient));
    if let Some(choice) = choice {
        functions.choose(choice);
    }
    Ok(Compiled { functions, context, fallback_reason: fallback_reason.or(reason), gradients_on_host })
}
