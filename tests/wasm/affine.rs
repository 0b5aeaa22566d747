//! A kernel of one line and all that it takes to run it, for tests of the device layer.
// Not every test file needs all of it; what fails here fails the test, which is what unwrap() says.
#![allow(dead_code, clippy::unwrap_used)]

use js_sys::{Function, Reflect};
use residua_gpu::{
    ArgumentId, BindingKind, Buffer, BufferRequest, CommandList, Context, DownloadId, Pipeline, PipelineRequest,
    PreparedList,
};
use wasm_bindgen::prelude::*;

/// What [`affine`] is bound to.
pub const MAP: [BindingKind; 3] = [BindingKind::StorageRead, BindingKind::StorageReadWrite, BindingKind::Uniform];

/// `y[i] = scale · x[i] + i` for i below `count`, with the workgroup numbering of generated kernels.
pub fn affine(scale: f32) -> PipelineRequest {
    let wgsl = format!(
        "struct Dispatch {{ count: u32, a: u32, b: u32, c: u32 }}
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<uniform> dispatch: Dispatch;
@compute @workgroup_size(64)
fn affine(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
          @builtin(local_invocation_index) local: u32) {{
  let i = (group.x + group.y * groups.x) * 64u + local;
  if (i >= dispatch.count) {{ return; }}
  y[i] = {scale:?} * x[i] + f32(i);
}}
"
    );
    PipelineRequest { wgsl, entry: "affine".into(), layout: MAP.to_vec() }
}

/// The pipeline of a request.
pub async fn pipeline(context: &Context, request: PipelineRequest) -> Pipeline {
    context.pipelines(&[request], &mut |_, _| Ok(())).await.unwrap().remove(0)
}

/// A buffer.
pub async fn allocate(context: &Context, request: BufferRequest) -> Buffer {
    context.allocate(&[request]).await.unwrap().remove(0)
}

/// Numbers as bytes.
pub fn bytes<T: bytemuck::Pod>(data: &[T]) -> &[u8] {
    bytemuck::cast_slice(data)
}

/// The affine map over `count` numbers: x is uploaded, y downloaded.
pub async fn prepare(context: &Context, count: u32, scale: f32) -> (PreparedList, ArgumentId, DownloadId) {
    let size = 4 * u64::from(count);
    let buffers = context
        .allocate(&[
            BufferRequest::storage("x", size),
            BufferRequest::storage("y", size),
            BufferRequest::uniform("u", 16),
        ])
        .await
        .unwrap();
    let mut list = CommandList::new();
    let (x, y, u) = (list.buffer("x", size), list.buffer("y", size), list.buffer("u", 16));
    let kernel = list.pipeline("affine", &MAP);
    list.upload(u, 0, bytes(&[count, 0, 0, 0]).to_vec());
    let argument = list.upload_argument(list.whole(x));
    let bindings = [list.whole(x), list.whole(y), list.whole(u)];
    let workgroups = context.limits().split_workgroups(u64::from(count).div_ceil(64)).unwrap();
    list.dispatch(kernel, &bindings, workgroups);
    let download = list.download(list.whole(y));
    let kernel = pipeline(context, affine(scale)).await;
    (context.prepare(&list, &buffers, &[kernel]).await.unwrap(), argument, download)
}

/// Panics unless the map is computed.
pub async fn check_affine(context: &Context) {
    let (prepared, _, y) = prepare(context, 100, 2.0).await;
    let x: Vec<f32> = (0..100).map(|i| 0.5 * i as f32).collect();
    let results = prepared.run(&[bytes(&x)]).await.unwrap();
    let expected: Vec<f32> = (0..100).map(|i| 2.0 * i as f32).collect();
    assert_eq!(results.reals(y), expected);
}

/// Calls a method of a JavaScript object.
pub fn call(on: &JsValue, method: &str, arguments: &[JsValue]) -> JsValue {
    let function: Function = Reflect::get(on, &method.into()).unwrap().unchecked_into();
    function.apply(on, &arguments.iter().collect()).unwrap()
}
