//! Contexts on a real WebGPU device: whose device it is, how they are lost, disposed of and refused, and that they keep out of one
//! another's way. Without a device these tests fail.

use crate::affine::{affine, allocate, bytes, call, check_affine, prepare};
use crate::shared_context::own_context;
use js_sys::{Object, Promise, Reflect};
use residua_base::ErrorCode;
use residua_gpu::{BufferRequest, Context};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use wasm_bindgen_test::wasm_bindgen_test;

#[wasm_bindgen_test]
async fn a_device_lost_in_mid_flight_fails_everything_promptly_and_a_new_context_works() {
    let context = own_context().await;
    let (prepared, _, _) = prepare(&context, 1 << 20, 1.0).await;
    let x = vec![0_u8; 4 << 20];
    let submission = prepared.submit(&[&x]).unwrap();
    let late = prepared.submit(&[&x]).unwrap();
    call(&context.raw_device(), "destroy", &[]);
    let start = js_sys::Date::now();
    assert_eq!(submission.finish().await.unwrap_err().code, ErrorCode::DeviceLost);
    assert_eq!(late.finish().await.unwrap_err().code, ErrorCode::DeviceLost);
    // Ten times what a loss takes on the slowest of machines seen; a hang would be for ever.
    assert!(js_sys::Date::now() - start < 2000.0, "it took {} ms", js_sys::Date::now() - start);
    assert!(context.is_lost());
    assert_eq!(prepared.submit(&[&x]).err().unwrap().code, ErrorCode::DeviceLost);
    let storage = BufferRequest::storage("x", 4);
    assert_eq!(context.allocate(&[storage]).await.err().unwrap().code, ErrorCode::DeviceLost);
    let compiled = context.pipelines(&[affine(1.0)], &mut |_, _| Ok(())).await;
    assert_eq!(compiled.err().unwrap().code, ErrorCode::DeviceLost);
    let info = JsFuture::from(context.lost()).await.unwrap();
    assert_eq!(Reflect::get(&info, &"reason".into()).unwrap(), "destroyed");
    assert!(Reflect::get(&info, &"message".into()).unwrap().is_string());
    drop(prepared);
    assert_eq!(context.stats().buffers, 0);

    let next = own_context().await;
    check_affine(&next).await;
    next.dispose();
}

#[wasm_bindgen_test]
async fn an_application_s_device_is_adopted_and_stays_its_own() {
    let navigator = Reflect::get(&js_sys::global(), &"navigator".into()).unwrap();
    let gpu = Reflect::get(&navigator, &"gpu".into()).unwrap();
    let adapter = JsFuture::from(Promise::from(call(&gpu, "requestAdapter", &[]))).await.unwrap();
    let device = JsFuture::from(Promise::from(call(&adapter, "requestDevice", &[]))).await.unwrap();
    let context = Context::create(None, Some(device.clone())).await.unwrap();
    assert_eq!(context.raw_device(), device);
    assert_eq!(context.limits().max_storage_buffers_per_shader_stage, 8, "the device has default limits");
    check_affine(&context).await;
    let buffer = allocate(&context, BufferRequest::storage("points", 1024)).await;
    context.dispose();
    assert_eq!(context.stats().buffers, 0);
    drop(buffer);

    let second = Context::create(None, Some(device.clone())).await.unwrap();
    check_affine(&second).await;
    assert!(!second.is_lost(), "disposing a context leaves the application's device alone");
    let gpu_now = Reflect::get(&navigator, &"gpu".into()).unwrap();
    assert_eq!(gpu_now, gpu, "navigator.gpu is as it was");
    assert!(!Object::has_own::<JsValue>(navigator.unchecked_ref(), &"gpu".into()), "and where it was");
    call(&device, "destroy", &[]);
    let error = Context::create(None, Some(device)).await.err();
    assert_eq!(error.map(|error| error.code), Some(ErrorCode::DeviceLost));
}

#[wasm_bindgen_test]
async fn two_contexts_work_at_once_and_keep_their_buffers_apart() {
    let (first, second) = (own_context().await, own_context().await);
    assert_ne!(first.raw_device(), second.raw_device());
    let (a, _, y) = prepare(&first, 8, 1.0).await;
    let (b, _, _) = prepare(&second, 8, 10.0).await;
    let x = [1_f32; 8];
    let (a, b) = (a.submit(&[bytes(&x)]).unwrap(), b.submit(&[bytes(&x)]).unwrap());
    let (b, a) = (b.finish().await.unwrap(), a.finish().await.unwrap());
    assert_eq!((a.reals(y)[3], b.reals(y)[3]), (4.0, 13.0));

    let foreign = allocate(&second, BufferRequest::storage("foreign", 64)).await;
    assert!(first.write(&foreign, 0, &[0; 4]).is_err());
    first.dispose();
    check_affine(&second).await;
    second.dispose();
}

#[wasm_bindgen_test]
async fn disposing_fails_what_waits_and_whatever_comes_later() {
    let context = own_context().await;
    let (prepared, _, _) = prepare(&context, 64, 1.0).await;
    let submission = prepared.submit(&[&[0; 256]]).unwrap();
    let raw = context.raw_device();
    context.dispose();
    context.dispose();
    assert_eq!(submission.finish().await.unwrap_err().code, ErrorCode::Disposed);
    assert_eq!(prepared.submit(&[&[0; 256]]).err().unwrap().code, ErrorCode::Disposed);
    assert_eq!(context.check().unwrap_err().code, ErrorCode::Disposed);
    assert_eq!(context.stats().buffers, 0);
    JsFuture::from(Promise::from(Reflect::get(&raw, &"lost".into()).unwrap())).await.unwrap();
    JsFuture::from(context.lost()).await.unwrap();
}

#[wasm_bindgen_test]
async fn what_is_no_device_or_preference_is_refused_by_name() {
    for (device, words) in [(JsValue::from_str("gpu"), "gpu"), (Object::new().into(), "another object")] {
        let error = Context::create(None, Some(device)).await.err().unwrap();
        assert_eq!(error.code, ErrorCode::InvalidArgument);
        assert!(error.message.contains(words) && error.message.contains("GPUDevice"), "{error}");
    }
    let error = Context::create(Some("fastest"), None).await.err().unwrap();
    assert_eq!(error.code, ErrorCode::InvalidArgument);
    assert!(error.message.contains("'fastest'") && error.message.contains("'low-power'"), "{error}");
}

#[wasm_bindgen_test]
async fn without_an_adapter_or_without_navigator_gpu_the_message_says_which() {
    let navigator = Reflect::get(&js_sys::global(), &"navigator".into()).unwrap();
    let nothing = Object::new();
    Reflect::set(
        &nothing,
        &"requestAdapter".into(),
        &Closure::<dyn FnMut() -> JsValue>::new(|| JsValue::NULL).into_js_value(),
    )
    .unwrap();
    for (gpu, words) in [(JsValue::UNDEFINED, "no navigator.gpu"), (nothing.into(), "no adapter")] {
        let descriptor = Object::new();
        Reflect::set(&descriptor, &"value".into(), &gpu).unwrap();
        Reflect::set(&descriptor, &"configurable".into(), &true.into()).unwrap();
        Reflect::define_property::<JsValue>(navigator.unchecked_ref(), &"gpu".into(), &descriptor).unwrap();
        let (created, available) = (Context::create(None, None).await, Context::is_available().await);
        Reflect::delete_property::<JsValue>(navigator.unchecked_ref(), &"gpu".into()).unwrap();
        let error = created.err().unwrap();
        assert_eq!(error.code, ErrorCode::GpuUnavailable);
        assert!(error.message.contains(words), "{error}");
        assert!(!available);
    }
    assert!(Context::is_available().await);
}

#[wasm_bindgen_test]
async fn a_software_adapter_is_known_for_one() {
    let context = own_context().await;
    let adapter = context.adapter();
    let words = format!("{} {}", adapter.architecture, adapter.description).to_lowercase();
    let is_known = ["swiftshader", "llvmpipe"].iter().any(|name| words.contains(name));
    assert!(adapter.is_software || !is_known, "{adapter:?}");
    // Firefox tells nothing about its adapters.
    let info = Reflect::get(&context.raw_device(), &"adapterInfo".into()).unwrap();
    assert_eq!(adapter.vendor, Reflect::get(&info, &"vendor".into()).unwrap().as_string().unwrap());
    context.dispose();
}
