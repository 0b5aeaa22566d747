//! The CPU engine of functions on a device: for what the device does not take, and for calls that are faster on the host.

use super::{CpuEngine, GpuEngine};

impl GpuEngine {
    /// An engine for what the device does not take.
    pub(in crate::eval) fn on_cpu(&mut self) -> &mut CpuEngine {
        self.fallback.get_or_insert_default()
    }

    /// Takes an engine over for what the device does not take, with what it has compiled.
    pub fn set_on_cpu(&mut self, engine: CpuEngine) {
        self.fallback = Some(engine);
    }

    /// That engine, and nothing of the device.
    pub fn into_cpu(self) -> CpuEngine {
        self.fallback.unwrap_or_default()
    }

    /// Why generated code was refused to the CPU engine, if it was.
    pub fn interpreted_because(&self) -> Option<&str> {
        self.fallback.as_ref().and_then(CpuEngine::interpreted_because)
    }

    /// Whether the application writes data on the device.
    pub(in crate::eval) fn shares_data(&self) -> bool {
        !self.shared_data.is_empty()
    }
}
