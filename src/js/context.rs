//! The device.

use js_sys::{Object, Promise};
use wasm_bindgen::prelude::*;

use residua_gpu::{Context, Times, Timing};

use super::error::to_js;
use super::value::{promise, set};

/// A handle on a device.
#[wasm_bindgen]
pub struct RawContext(Context);

impl RawContext {
    pub(super) fn context(&self) -> Context {
        self.0.clone()
    }
}

/// The figures of `ContextProfile`.
fn profile(times: &Times) -> Object {
    let stage = |stage: Timing| {
        let object = Object::new();
        set(&object, "count", stage.count as f64);
        set(&object, "ms", stage.ms);
        object
    };
    let kernels = Object::new();
    for kernel in times.kernels() {
        if kernel.dispatches == 0 {
            continue;
        }
        let object = Object::new();
        set(&object, "dispatches", kernel.dispatches as f64);
        if times.has_gpu_times {
            set(&object, "timed", kernel.timed.count as f64);
            set(&object, "gpuMs", kernel.timed.ms);
        }
        set(&kernels, &kernel.name, object);
    }
    let object = Object::new();
    set(&object, "compile", stage(times.compile));
    set(&object, "encode", stage(times.encode));
    set(&object, "readBack", stage(times.read_back));
    set(&object, "hasGpuTimes", times.has_gpu_times);
    set(&object, "kernels", kernels);
    object
}

#[wasm_bindgen]
impl RawContext {
    /// Resolves with whether a context can be had. Never rejects.
    #[wasm_bindgen(js_name = isAvailable)]
    pub fn is_available() -> Promise {
        promise(async { Ok(Context::is_available().await.into()) })
    }

    /// Resolves with a context of its own device, or on the application's; with `profile` it measures where its time goes.
    pub fn create(power_preference: Option<String>, device: JsValue, profile: bool) -> Promise {
        promise(async move {
            let device = (!device.is_undefined() && !device.is_null()).then_some(device);
            let context = Context::create_with(power_preference.as_deref(), device, profile).await.map_err(to_js)?;
            Ok(RawContext(context).into())
        })
    }

    /// Another handle on the same device: compiling takes one and keeps it.
    pub fn share(&self) -> RawContext {
        RawContext(self.0.clone())
    }

    /// The `GPUDevice`.
    pub fn device(&self) -> JsValue {
        self.0.raw_device()
    }

    /// `{ vendor, architecture, description, isSoftware }`.
    pub fn adapter(&self) -> Object {
        let adapter = self.0.adapter();
        let object = Object::new();
        set(&object, "vendor", adapter.vendor.as_str());
        set(&object, "architecture", adapter.architecture.as_str());
        set(&object, "description", adapter.description.as_str());
        set(&object, "isSoftware", adapter.is_software);
        object
    }

    /// Resolves with `{ reason, message }` when the device is lost.
    pub fn lost(&self) -> Promise {
        self.0.lost()
    }

    /// Whether the device is lost.
    #[wasm_bindgen(js_name = isLost)]
    pub fn is_lost(&self) -> bool {
        self.0.is_lost()
    }

    /// The figures of `ContextStats`.
    pub fn stats(&self) -> Object {
        let stats = self.0.stats();
        let object = Object::new();
        for (name, figure) in [
            ("buffers", stats.buffers),
            ("bufferBytes", stats.buffer_bytes),
            ("peakBufferBytes", stats.peak_buffer_bytes),
            ("pipelines", stats.pipelines),
            ("pipelineCacheHits", stats.pipeline_cache_hits),
            ("dispatches", stats.dispatches),
            ("submits", stats.submits),
            ("readbacks", stats.readbacks),
        ] {
            set(&object, name, figure as f64);
        }
        if let Some(times) = self.0.times() {
            set(&object, "profile", profile(&times));
        }
        object
    }

    /// Frees what the pool holds unused.
    pub fn trim(&self) {
        self.0.trim();
    }

    /// Frees everything.
    pub fn dispose(&self) {
        self.0.dispose();
    }
}
