//! Getting a device: the adapter requested, the limits and features requested from it, and the hand-over to wgpu.
//!
//! wgpu takes a device only from an adapter that it requested itself, and finds `navigator.gpu` in a window or a worker only.
//! This module therefore replaces `navigator.gpu` during the one synchronous call in which wgpu reads it; the adapter there returns
//! the device that already exists. That serves an application's own device as well, and Node.

use js_sys::{Array, Object, Promise, Reflect};
use residua_base::adapter::is_software;
use residua_base::list::Listed;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

use super::limits::Limits;
use super::raw::{self, RawAdapter, RawDevice, RawGpu, get, get_text, object};
use residua_base::{Error, ErrorCode, Result};

/// Which adapter a device runs on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Adapter {
    /// `nvidia`, `apple`, …; empty where the browser keeps it to itself.
    pub vendor: String,
    /// `ampere`, …; may be empty.
    pub architecture: String,
    /// The driver's words; may be empty.
    pub description: String,
    /// It computes on the CPU.
    pub is_software: bool,
}

/// The limits that are requested at what the adapter has.
const REQUESTED_LIMITS: [&str; 13] = [
    "maxBufferSize",
    "maxStorageBufferBindingSize",
    "maxUniformBufferBindingSize",
    "maxStorageBuffersPerShaderStage",
    "maxUniformBuffersPerShaderStage",
    "minStorageBufferOffsetAlignment",
    "minUniformBufferOffsetAlignment",
    "maxComputeWorkgroupsPerDimension",
    "maxComputeInvocationsPerWorkgroup",
    "maxComputeWorkgroupSizeX",
    "maxComputeWorkgroupSizeY",
    "maxComputeWorkgroupSizeZ",
    "maxComputeWorkgroupStorageSize",
];

/// The features that are requested where the adapter has them.
const WANTED_FEATURES: [&str; 1] = ["timestamp-query"];

fn unavailable(message: impl Into<String>) -> Error {
    Error::new(ErrorCode::GpuUnavailable, message)
}

/// The adapter, or why there is none.
pub async fn request_adapter(power_preference: Option<&str>) -> Result<RawAdapter> {
    let options = Object::new();
    match power_preference {
        None => {}
        Some(preference @ ("low-power" | "high-performance")) => {
            let value = JsValue::from_str(preference);
            Reflect::set(&options, &"powerPreference".into(), &value).expect("a fresh plain object takes any property");
        }
        Some(other) => {
            let message = format!("powerPreference is '{other}'; it takes 'low-power' or 'high-performance'");
            return Err(Error::invalid_argument(message));
        }
    }
    let navigator = get(&js_sys::global(), "navigator");
    let gpu = get(&navigator, "gpu");
    if gpu.is_undefined() || gpu.is_null() {
        return Err(unavailable("no navigator.gpu: this browser has no WebGPU, or the page is not a secure context"));
    }
    let promise = gpu.unchecked_ref::<RawGpu>().request_adapter(&options);
    let adapter = match promise {
        Ok(answer) => JsFuture::from(Promise::resolve::<JsValue>(&answer)).await,
        Err(thrown) => Err(thrown),
    }
    .map_err(|thrown| unavailable(format!("navigator.gpu gave no adapter: {}", raw::words(&thrown))))?;
    if adapter.is_undefined() || adapter.is_null() {
        return Err(unavailable("navigator.gpu has no adapter: no graphics card that WebGPU may use"));
    }
    Ok(adapter.unchecked_into())
}

/// A device with all that the adapter has of what we need.
pub async fn request_device(adapter: &RawAdapter) -> Result<RawDevice> {
    let has = get(adapter, "limits");
    let limits: Vec<(&str, JsValue)> =
        REQUESTED_LIMITS.iter().map(|&name| (name, get(&has, name))).filter(|(_, v)| v.as_f64().is_some()).list();
    let available = get(adapter, "features");
    let features = Array::new();
    for feature in WANTED_FEATURES {
        if has_feature(&available, feature) {
            features.push(&feature.into());
        }
    }
    let descriptor = object(&[
        ("label", "residua".into()),
        ("requiredLimits", object(&limits).into()),
        ("requiredFeatures", features.into()),
    ]);
    let device = match adapter.request_device(&descriptor) {
        Ok(answer) => JsFuture::from(Promise::resolve::<JsValue>(&answer)).await,
        Err(thrown) => Err(thrown),
    };
    let device =
        device.map_err(|thrown| unavailable(format!("the adapter gave no device: {}", raw::words(&thrown))))?;
    Ok(device.unchecked_into())
}

/// Refuses what is not a `GPUDevice`.
pub fn check_device(device: &JsValue) -> Result<()> {
    let is_function = |name: &str| get(device, name).is_function();
    let looks_right = is_function("createBuffer")
        && is_function("pushErrorScope")
        && get(device, "queue").is_object()
        && get(device, "limits").is_object();
    if looks_right {
        return Ok(());
    }
    let got = if device.is_object() { "another object".into() } else { format!("{device:?}") };
    Err(Error::invalid_argument(format!("device is {got}; it takes a GPUDevice")))
}

/// Whether a `GPUSupportedFeatures` has one.
pub fn has_feature(features: &JsValue, name: &str) -> bool {
    let Ok(has) = get(features, "has").dyn_into::<js_sys::Function>() else { return false };
    has.call1(features, &name.into()).is_ok_and(|answer| answer.is_truthy())
}

/// The limits of a device.
pub fn limits(device: &RawDevice) -> Limits {
    let has = get(device, "limits");
    let least = Limits::default();
    let figure = |name: &str, default: u64| get(&has, name).as_f64().map_or(default, |value| value as u64);
    let count = |name: &str, default: u32| figure(name, default.into()).min(u32::MAX.into()) as u32;
    Limits {
        max_buffer_size: figure("maxBufferSize", least.max_buffer_size),
        max_storage_buffer_binding_size: figure("maxStorageBufferBindingSize", least.max_storage_buffer_binding_size),
        max_uniform_buffer_binding_size: figure("maxUniformBufferBindingSize", least.max_uniform_buffer_binding_size),
        max_storage_buffers_per_shader_stage: count(
            "maxStorageBuffersPerShaderStage",
            least.max_storage_buffers_per_shader_stage,
        ),
        max_uniform_buffers_per_shader_stage: count(
            "maxUniformBuffersPerShaderStage",
            least.max_uniform_buffers_per_shader_stage,
        ),
        min_storage_buffer_offset_alignment: figure(
            "minStorageBufferOffsetAlignment",
            least.min_storage_buffer_offset_alignment,
        ),
        min_uniform_buffer_offset_alignment: figure(
            "minUniformBufferOffsetAlignment",
            least.min_uniform_buffer_offset_alignment,
        ),
        max_compute_workgroups_per_dimension: count(
            "maxComputeWorkgroupsPerDimension",
            least.max_compute_workgroups_per_dimension,
        ),
        max_compute_invocations_per_workgroup: count(
            "maxComputeInvocationsPerWorkgroup",
            least.max_compute_invocations_per_workgroup,
        ),
        max_compute_workgroup_size_x: count("maxComputeWorkgroupSizeX", least.max_compute_workgroup_size_x),
        max_compute_workgroup_storage_size: count(
            "maxComputeWorkgroupStorageSize",
            least.max_compute_workgroup_storage_size,
        ),
    }
}

/// Information on a device's adapter. `requested` is the adapter where this crate requested it; older browsers have no other source.
pub fn adapter(device: &RawDevice, requested: Option<&RawAdapter>) -> Adapter {
    let requested: JsValue = requested.map_or(JsValue::UNDEFINED, |adapter| adapter.into());
    let mut info = get(device, "adapterInfo");
    if info.is_undefined() {
        info = get(&requested, "info");
    }
    let (vendor, architecture) = (get_text(&info, "vendor"), get_text(&info, "architecture"));
    let description = get_text(&info, "description");
    let told = get(&info, "isFallbackAdapter").is_truthy() || get(&requested, "isFallbackAdapter").is_truthy();
    let is_software = is_software(told, |field| get_text(&info, field));
    Adapter { vendor, architecture, description, is_software }
}

/// Passes a device to wgpu.
pub async fn hand_over(device: &RawDevice) -> Result<(wgpu::Device, wgpu::Queue)> {
    let failed =
        |error: &dyn std::fmt::Display| Error::internal(format!("the device could not be taken over: {error}"));
    let answer = device.clone();
    let request_device = Closure::once_into_js(move |_: JsValue| Promise::resolve::<JsValue>(&answer.into()));
    let adapter = object(&[("requestDevice", request_device)]);
    let request_adapter = Closure::once_into_js(move |_: JsValue| Promise::resolve::<JsValue>(&adapter.into()));
    let gpu = object(&[("requestAdapter", request_adapter)]);
    let instance = showing(&gpu, || {
        let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
        descriptor.backends = wgpu::Backends::BROWSER_WEBGPU;
        wgpu::Instance::new(descriptor)
    })?;
    let adapter = instance.request_adapter(&wgpu::RequestAdapterOptions::default()).await;
    let adapter = adapter.map_err(|error| failed(&error))?;
    adapter.request_device(&wgpu::DeviceDescriptor::default()).await.map_err(|error| failed(&error))
}

/// Does something synchronous while `navigator.gpu`, as wgpu finds it, is `gpu`.
fn showing<T>(gpu: &Object, look: impl FnOnce() -> T) -> Result<T> {
    let global: Object = js_sys::global();
    let mut replaced = Vec::new();
    let window = get(&global, "Window");
    let worker = get(&global, "WorkerGlobalScope");
    let mut navigator = get(&global, "navigator");
    let mut ready = true;
    if window.is_undefined() && worker.is_undefined() {
        ready &= replace_property(&mut replaced, &global, "Window", &Object::new());
    }
    if navigator.is_object() {
        ready &= replace_property(&mut replaced, navigator.unchecked_ref(), "gpu", gpu);
    } else {
        navigator = object(&[("gpu", gpu.into())]).into();
        ready &= replace_property(&mut replaced, &global, "navigator", navigator.unchecked_ref());
    }
    let result = ready.then(look);
    for property in replaced.into_iter().rev() {
        property.restore();
    }
    result.ok_or_else(|| Error::internal("navigator.gpu is fixed, so that the device could not be taken over"))
}

/// A property put before another of the same name, to be taken away again.
struct ReplacedProperty {
    of: Object,
    name: JsValue,
    before: JsValue,
}

fn replace_property(replaced: &mut Vec<ReplacedProperty>, of: &Object, name: &str, value: &Object) -> bool {
    let name = JsValue::from_str(name);
    let before = Reflect::get_own_property_descriptor(of, &name).unwrap_or(JsValue::UNDEFINED);
    let descriptor = object(&[("value", value.into()), ("configurable", true.into()), ("writable", true.into())]);
    let done = Reflect::define_property(of, &name, &descriptor).unwrap_or(false);
    if done {
        replaced.push(ReplacedProperty { of: of.clone(), name, before });
    }
    done
}

impl ReplacedProperty {
    fn restore(self) {
        // What could be defined as configurable can be defined again, and deleted.
        let _ = match self.before.dyn_ref::<Object>() {
            Some(before) => Reflect::define_property(&self.of, &self.name, before),
            None => Reflect::delete_property(&self.of, &self.name),
        };
    }
}
