//! The few parts of the WebGPU interface that are called by name and not through wgpu: error scopes of all three kinds,
//! asynchronous pipelines, mapping, loss. Objects are taken as they come (an application's device may belong to another
//! window, or to Node's `webgpu` package), so no class is tested.

use js_sys::{Function, Object, Promise, Reflect};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

#[wasm_bindgen]
extern "C" {
    /// `GPUDevice`
    #[derive(Clone)]
    pub type RawDevice;
    #[wasm_bindgen(method, getter)]
    pub fn queue(this: &RawDevice) -> RawQueue;
    #[wasm_bindgen(method, getter)]
    pub fn lost(this: &RawDevice) -> Promise;
    #[wasm_bindgen(method)]
    pub fn destroy(this: &RawDevice);
    #[wasm_bindgen(method, js_name = pushErrorScope)]
    pub fn push_error_scope(this: &RawDevice, filter: &str);
    #[wasm_bindgen(method, js_name = popErrorScope)]
    pub fn pop_error_scope(this: &RawDevice) -> Promise;
    #[wasm_bindgen(method, catch, js_name = createBuffer)]
    pub fn create_buffer(this: &RawDevice, descriptor: &Object) -> Result<RawBuffer, JsValue>;
    #[wasm_bindgen(method, catch, js_name = createShaderModule)]
    pub fn create_shader_module(this: &RawDevice, descriptor: &Object) -> Result<RawShaderModule, JsValue>;
    #[wasm_bindgen(method, catch, js_name = createBindGroupLayout)]
    pub fn create_bind_group_layout(this: &RawDevice, descriptor: &Object) -> Result<JsValue, JsValue>;
    #[wasm_bindgen(method, catch, js_name = createPipelineLayout)]
    pub fn create_pipeline_layout(this: &RawDevice, descriptor: &Object) -> Result<JsValue, JsValue>;
    #[wasm_bindgen(method, catch, js_name = createComputePipelineAsync)]
    pub fn create_compute_pipeline_async(this: &RawDevice, descriptor: &Object) -> Result<Promise, JsValue>;

    /// `GPUQueue`
    #[derive(Clone)]
    pub type RawQueue;
    #[wasm_bindgen(method)]
    pub fn submit(this: &RawQueue, command_buffers: &js_sys::Array);
    #[wasm_bindgen(method, catch, js_name = onSubmittedWorkDone)]
    pub fn on_submitted_work_done(this: &RawQueue) -> Result<Promise, JsValue>;
    #[wasm_bindgen(method, catch, js_name = writeBuffer)]
    pub fn write_buffer(
        this: &RawQueue,
        buffer: &RawBuffer,
        offset: f64,
        data: &js_sys::Float32Array,
    ) -> Result<(), JsValue>;

    /// `GPUShaderModule`
    #[derive(Clone)]
    pub type RawShaderModule;
    #[wasm_bindgen(method, catch, js_name = getCompilationInfo)]
    pub fn get_compilation_info(this: &RawShaderModule) -> Result<Promise, JsValue>;

    /// `GPUBuffer`
    #[derive(Clone)]
    pub type RawBuffer;
    #[wasm_bindgen(method, catch, js_name = mapAsync)]
    pub fn map_async(this: &RawBuffer, mode: u32, offset: f64, size: f64) -> Result<Promise, JsValue>;
    #[wasm_bindgen(method, catch, js_name = getMappedRange)]
    pub fn get_mapped_range(this: &RawBuffer, offset: f64, size: f64) -> Result<js_sys::ArrayBuffer, JsValue>;
    #[wasm_bindgen(method)]
    pub fn unmap(this: &RawBuffer);
    #[wasm_bindgen(method)]
    pub fn destroy(this: &RawBuffer);

    /// `GPU` and `GPUAdapter`
    #[derive(Clone)]
    pub type RawGpu;
    #[wasm_bindgen(method, catch, js_name = requestAdapter)]
    pub fn request_adapter(this: &RawGpu, options: &Object) -> Result<JsValue, JsValue>;
    #[derive(Clone)]
    pub type RawAdapter;
    #[wasm_bindgen(method, catch, js_name = requestDevice)]
    pub fn request_device(this: &RawAdapter, descriptor: &Object) -> Result<JsValue, JsValue>;

    /// `MessageChannel`
    pub type MessageChannel;
    #[wasm_bindgen(constructor, catch)]
    pub fn new() -> Result<MessageChannel, JsValue>;
    #[wasm_bindgen(method, getter)]
    pub fn port1(this: &MessageChannel) -> MessagePort;
    #[wasm_bindgen(method, getter)]
    pub fn port2(this: &MessageChannel) -> MessagePort;
    pub type MessagePort;
    #[wasm_bindgen(method, setter)]
    pub fn set_onmessage(this: &MessagePort, handler: Option<&Function>);
    #[wasm_bindgen(method, js_name = postMessage)]
    pub fn post_message(this: &MessagePort, message: u32);
    #[wasm_bindgen(method)]
    pub fn close(this: &MessagePort);

    /// Milliseconds since some start; a window, a worker and Node all have it.
    #[wasm_bindgen(js_namespace = performance, js_name = now)]
    pub fn now() -> f64;
    #[wasm_bindgen(js_name = setTimeout)]
    fn set_timeout(handler: &Function, milliseconds: f64) -> JsValue;
}

/// `GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST`
pub const USAGE_STAGING: u32 = 9;
/// `GPUMapMode.READ`
pub const MAP_READ: u32 = 1;
/// `GPUShaderStage.COMPUTE`
pub const STAGE_COMPUTE: u32 = 4;

/// A property, undefined where there is none or `of` is no object.
pub fn get(of: &JsValue, name: &str) -> JsValue {
    Reflect::get(of, &JsValue::from_str(name)).unwrap_or(JsValue::UNDEFINED)
}

/// A property that is text, empty where it is not.
pub fn get_text(of: &JsValue, name: &str) -> String {
    get(of, name).as_string().unwrap_or_default()
}

/// A plain object with these properties.
pub fn object(properties: &[(&str, JsValue)]) -> Object {
    let object = Object::new();
    for (name, value) in properties {
        Reflect::set(&object, &JsValue::from_str(name), value).expect("a fresh plain object takes any property");
    }
    object
}

/// What a thrown value says.
pub fn words(thrown: &JsValue) -> String {
    let message = get_text(thrown, "message");
    if message.is_empty() { format!("{thrown:?}") } else { message }
}

/// What comes after so much time; it never fails.
pub fn sleep(milliseconds: f64) -> JsFuture {
    JsFuture::from(Promise::new(&mut |resolve, _| {
        set_timeout(&resolve, milliseconds);
    }))
}
