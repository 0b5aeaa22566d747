//! On which engine work runs: one set of rules for compiling and for `solveMany`.
//!
//! The rules see devices through the trait [`Devices`], so that tests use fakes.

use residua_base::adapter::SOFTWARE_REASON;
use residua_base::decimal;
use residua_base::error::{ErrorCode, Result};
use residua_codegen::Width;

/// What a caller requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// The device where it pays, else the host.
    Auto,
    /// The device, or an error.
    Device,
    /// The host.
    Host,
}

impl Backend {
    /// The backend by its public name; none for another name.
    pub fn from_name(name: &str) -> Option<Backend> {
        match name {
            "auto" => Some(Backend::Auto),
            "gpu" => Some(Backend::Device),
            "cpu" => Some(Backend::Host),
            _ => None,
        }
    }
}

/// What the choice of an engine depends on, beside the devices.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EngineRequest {
    /// What the caller requests.
    pub backend: Backend,
    /// Number of residuals. One that is a long sum counts as often as it has terms.
    pub workload: f64,
    /// With fewer residuals 'auto' takes the host; `None` if the caller leaves the choice to measurements.
    pub threshold: Option<f64>,
    /// The threshold if the caller names none.
    pub fewest: f64,
    /// In how many numbers a device holds what it computes.
    pub width: Width,
}

/// The devices that work may run on.
#[allow(async_fn_in_trait, reason = "futures stay on one thread")]
pub trait Devices {
    /// A device.
    type Device;
    /// Whether there may be one. Answers at once.
    fn may_exist(&self) -> bool;
    /// The device that the caller named, or else the shared one, which is requested on first use.
    async fn request(&mut self) -> Result<Self::Device>;
    /// Whether a device is emulated in software.
    fn is_software(&self, device: &Self::Device) -> bool;
}

/// Where work runs first, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Assignment<D> {
    backend: Backend,
    /// The device; none for the host.
    pub device: Option<D>,
    /// Why 'auto' takes the host.
    pub reason: Option<String>,
    /// Whether measurements may still move work to the host.
    pub measures: bool,
}

/// Chooses an engine.
///
/// # Errors
/// Those of the request of a device; `gpu-unavailable` only where the device was asked for.
pub async fn choose<D: Devices>(request: &EngineRequest, devices: &mut D) -> Result<Assignment<D::Device>> {
    let &EngineRequest { backend, workload, threshold, fewest, .. } = request;
    let on_host = |reason| Assignment { backend, device: None, reason, measures: false };
    match backend {
        Backend::Host => return Ok(on_host(None)),
        Backend::Device => {
            let device = Some(devices.request().await?);
            return Ok(Assignment { backend, device, reason: None, measures: false });
        }
        Backend::Auto => {}
    }
    let least = threshold.unwrap_or(fewest);
    let too_few = || {
        format!(
            "residuals: {}, fewer than the fallback threshold of {} below which the CPU is faster than the GPU",
            number(workload),
            number(least)
        )
    };
    // Without WebGPU that is the reason for any workload, so the device is requested, which costs nothing there.
    if workload < least && devices.may_exist() {
        return Ok(on_host(Some(too_few())));
    }
    let device = match devices.request().await {
        Ok(device) => device,
        Err(error) if error.code == ErrorCode::GpuUnavailable => return Ok(on_host(Some(error.message.clone()))),
        Err(error) => return Err(error),
    };
    let measures = threshold.is_none();
    let reason = if workload < least {
        too_few()
    } else if measures && devices.is_software(&device) {
        SOFTWARE_REASON.to_owned()
    } else {
        return Ok(Assignment { backend, device: Some(device), reason: None, measures });
    };
    Ok(on_host(Some(reason)))
}

/// A number as JavaScript writes it.
fn number(number: f64) -> String {
    if number == f64::INFINITY { "Infinity".to_owned() } else { decimal::shortest(number) }
}

impl<D> Assignment<D> {
    /// Runs work where it is assigned. With 'auto', work that exceeds a limit of the device, or whose arithmetic the device lacks, runs again on
    /// the host. Returns its result and why it ran on the host.
    pub async fn run<T>(self, mut work: impl AsyncFnMut(Option<&D>) -> Result<T>) -> Result<(T, Option<String>)> {
        match work(self.device.as_ref()).await {
            Err(error)
                if matches!(error.code, ErrorCode::LimitExceeded | ErrorCode::GpuUnavailable)
                    && self.device.is_some()
                    && self.backend == Backend::Auto =>
            {
                let result = work(None).await?;
                Ok((result, Some(error.message.clone())))
            }
            result => Ok((result?, self.reason)),
        }
    }
}
