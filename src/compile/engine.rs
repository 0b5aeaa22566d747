//! The engine of a model, made in stages: where it was assigned, or where measurement shows it to be faster.
//!
//! [`make_engine`] sees engines through the trait [`EngineKit`], so that tests use fakes.

use residua_base::clock::now_ms;
use residua_base::error::Result;

use super::progress::{Progress, Stage};
use crate::eval::choice::{Choice, Extent, Measured};

/// The parts of which an engine is made, of one model.
#[allow(async_fn_in_trait, reason = "futures stay on one thread")]
pub trait EngineKit {
    /// A device.
    type Device;
    /// The engine.
    type Engine;
    /// What of the model the choice depends on.
    fn extent(&self) -> Extent;
    /// Measures the device, and the model's kernels on the host.
    async fn measure(&mut self, device: &Self::Device) -> Result<Measured>;
    /// Lays the model out on the device.
    async fn lay_out(&mut self, device: &Self::Device) -> Result<()>;
    /// Compiles the kernels for the device.
    async fn compile_for_device(&mut self, progress: &Progress<'_>) -> Result<()>;
    /// Milliseconds of a gradient on the device.
    async fn device_gradient_ms(&mut self) -> Result<f64>;
    /// Compiles the kernels for the host.
    async fn compile_for_host(&mut self) -> Result<()>;
    /// The engine on the device, which may run calls on the host.
    fn into_device_engine(self) -> Result<Self::Engine>;
    /// The engine on the host.
    fn into_host_engine(self) -> Self::Engine;
}

/// An engine, and how it was chosen.
#[derive(Debug)]
pub struct MadeEngine<E> {
    /// The engine.
    pub engine: E,
    /// Which calls run where, if that was measured.
    pub choice: Option<Choice>,
    /// Why a device was measured and is not used.
    pub reason: Option<String>,
}

/// Makes the engine of a model. `device`: none for the host. With `measures` the host is taken if it is faster for every call. The stage
/// [`Stage::Tables`] has begun; the last stage has not ended.
///
/// # Errors
/// `limit-exceeded` for a model that does not fit the device, those of the device and of the progress listener.
pub async fn make_engine<K: EngineKit>(
    mut kit: K,
    device: Option<&K::Device>,
    measures: bool,
    progress: &Progress<'_>,
) -> Result<MadeEngine<K::Engine>> {
    let mut measured = None;
    if let (Some(device), true) = (device, measures) {
        let began = now_ms();
        measured = Some(kit.measure(device).await?);
        progress.set_apart("choice", now_ms() - began);
    }
    let mut choice = measured.as_ref().map(|measured| Choice::new(&kit.extent(), measured));
    let Some(device) = device.filter(|_| !is_all_on_host(choice.as_ref())) else {
        progress.leave();
        progress.enter(Stage::Pipelines).await?;
        kit.compile_for_host().await?;
        return Ok(on_host(kit, choice));
    };
    kit.lay_out(device).await?;
    progress.leave();
    progress.enter(Stage::Pipelines).await?;
    kit.compile_for_device(progress).await?;
    if let Some(measured) = &mut measured {
        let began = now_ms();
        measured.gpu_gradient_ms = Some(kit.device_gradient_ms().await?);
        progress.set_apart("trial", now_ms() - began);
        choice = Some(Choice::new(&kit.extent(), measured));
    }
    if is_all_on_host(choice.as_ref()) {
        return Ok(on_host(kit, choice));
    }
    Ok(MadeEngine { engine: kit.into_device_engine()?, choice, reason: None })
}

fn is_all_on_host(choice: Option<&Choice>) -> bool {
    choice.is_some_and(Choice::is_all_on_cpu)
}

fn on_host<K: EngineKit>(kit: K, choice: Option<Choice>) -> MadeEngine<K::Engine> {
    let reason = choice.as_ref().map(|choice| format!("the CPU is faster for every call; {}", choice.sentence()));
    MadeEngine { engine: kit.into_host_engine(), choice, reason }
}
