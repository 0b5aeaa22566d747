//! Contexts that measure where their time goes, on a real WebGPU device. Without one these tests fail.

use js_sys::{Function, Object, Promise, Reflect};
use residua_gpu::{BindingKind, BufferRequest, CommandList, Context, PipelineRequest, PreparedList, Times};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use wasm_bindgen_test::wasm_bindgen_test;

/// Timestamps are rounded to this many milliseconds where nothing else is asked for.
const QUANTUM: f64 = 0.1;

/// Numbers that a kernel works on: enough for it to take a while.
const COUNT: u32 = 1 << 16;

fn kernel(name: &str, operation: &str) -> PipelineRequest {
    let wgsl = format!(
        "@group(0) @binding(0) var<storage, read_write> x: array<f32>;
@compute @workgroup_size(64) fn {name}(@builtin(global_invocation_id) id: vec3u) {{ x[id.x] = x[id.x] {operation}; }}
"
    );
    PipelineRequest { wgsl, entry: name.into(), layout: vec![BindingKind::StorageReadWrite] }
}

/// Work that runs `add` `times` times over and `double` once, and brings a number back if that is wanted.
async fn prepare(context: &Context, times: u32, read_back: bool) -> PreparedList {
    let size = 4 * u64::from(COUNT);
    let buffers = context.allocate(&[BufferRequest::storage("x", size).zeroed()]).await.unwrap();
    let kernels =
        context.pipelines(&[kernel("add", "+ 1.0"), kernel("double", "* 2.0")], &mut |_, _| Ok(())).await.unwrap();
    let mut list = CommandList::new();
    let x = list.buffer("x", size);
    let [add, double] = ["add", "double"].map(|name| list.pipeline(name, &[BindingKind::StorageReadWrite]));
    for _ in 0..times {
        list.dispatch(add, &[list.whole(x)], [COUNT / 64, 1]);
    }
    list.dispatch(double, &[list.whole(x)], [COUNT / 64, 1]);
    if read_back {
        list.download(list.whole(x).part(0, 4));
    }
    context.prepare(&list, &buffers, &kernels).await.unwrap()
}

async fn sleep(ms: i32) {
    let global = js_sys::global();
    let set_timeout: Function = Reflect::get(&global, &"setTimeout".into()).unwrap().unchecked_into();
    let promise = Promise::new(&mut |resolve, _| {
        set_timeout.call2(&global, &resolve, &ms.into()).unwrap();
    });
    JsFuture::from(promise).await.unwrap();
}

/// The figures, once the device has told all that it was asked.
async fn settled(context: &Context) -> Times {
    for _ in 0..200 {
        let times = context.times().unwrap();
        if times.kernels().iter().all(|kernel| kernel.timed.count == kernel.dispatches) {
            return times;
        }
        sleep(10).await;
    }
    panic!("times did not come: {:?}", context.times());
}

fn counts(times: &Times) -> Vec<(&str, u64, u64)> {
    times.kernels().iter().map(|kernel| (kernel.name.as_str(), kernel.dispatches, kernel.timed.count)).collect()
}

#[wasm_bindgen_test]
async fn every_dispatch_is_counted_and_timed_under_its_kernels_name_within_the_wall_time() {
    let context = Context::create_with(None, None, true).await.unwrap();
    let prepared = prepare(&context, 3, true).await;
    let began = js_sys::Date::now();
    for _ in 0..5 {
        prepared.run(&[]).await.unwrap();
    }
    // Date counts whole milliseconds.
    let wall = js_sys::Date::now() - began + 1.0;
    let times = settled(&context).await;
    assert_eq!(counts(&times), [("add", 15, 15), ("double", 5, 5)]);
    assert_eq!(times.kernels().iter().map(|kernel| kernel.dispatches).sum::<u64>(), context.stats().dispatches);
    let on_device: f64 = times.kernels().iter().map(|kernel| kernel.timed.ms).sum();
    // Passes follow one another, so that rounding adds at most one tick to each submission's sum.
    assert!(on_device > 0.0 && on_device <= wall + 5.0 * QUANTUM, "{on_device} ms on the device in {wall}");
    assert_eq!((times.compile.count, times.encode.count, times.read_back.count), (2, 5, 5));
    for stage in [times.compile, times.encode, times.read_back] {
        assert!(stage.ms >= 0.0 && stage.ms.is_finite(), "{stage:?}");
    }
    assert!(times.encode.ms + times.read_back.ms <= wall, "{times:?} in {wall}");
    context.dispose();
}

#[wasm_bindgen_test]
async fn what_timing_holds_does_not_grow_and_is_freed() {
    let context = Context::create_with(None, None, true).await.unwrap();
    let prepared = prepare(&context, 1, true).await;
    prepared.run(&[]).await.unwrap();
    settled(&context).await;
    let before = context.stats();
    for _ in 0..100 {
        prepared.run(&[]).await.unwrap();
    }
    settled(&context).await;
    let after = context.stats();
    // A caller may be told before its times are: then a second set of three buffers (results, timestamps twice) is on its way.
    assert!(after.buffers <= before.buffers + 3, "{} buffers, then {}", before.buffers, after.buffers);
    drop(prepared);
    context.trim();
    assert_eq!(context.stats().buffers, 0);
    context.dispose();
}

#[wasm_bindgen_test]
async fn more_work_than_there_are_timestamps_for_is_counted_and_goes_on_untimed() {
    let context = Context::create_with(None, None, true).await.unwrap();
    // 16 sets of 512.
    let most = 8192;
    let prepared = prepare(&context, 8999, true).await;
    prepared.run(&[]).await.unwrap();
    let counted = |times: &Times| {
        let sum = |count: fn(&(&str, u64, u64)) -> u64| counts(times).iter().map(count).sum::<u64>();
        (sum(|kernel| kernel.1), sum(|kernel| kernel.2))
    };
    let mut times = context.times().unwrap();
    for _ in 0..200 {
        if counted(&times).1 == most {
            break;
        }
        sleep(10).await;
        times = context.times().unwrap();
    }
    assert_eq!(counted(&times), (9000, most));
    let again = prepare(&context, 9, true).await;
    again.run(&[]).await.unwrap();
    for _ in 0..200 {
        if counted(&times).1 == most + 10 {
            break;
        }
        sleep(10).await;
        times = context.times().unwrap();
    }
    assert_eq!(counted(&times), (9010, most + 10), "sets serve again");
    context.dispose();
}

#[wasm_bindgen_test]
async fn a_device_without_timestamps_counts_and_says_that_it_tells_no_times() {
    let gpu = Reflect::get(&Reflect::get(&js_sys::global(), &"navigator".into()).unwrap(), &"gpu".into()).unwrap();
    let call = async |of: &JsValue, name: &str| {
        let method: Function = Reflect::get(of, &name.into()).unwrap().unchecked_into();
        JsFuture::from(Promise::from(method.call1(of, &Object::new()).unwrap())).await.unwrap()
    };
    let device = call(&call(&gpu, "requestAdapter").await, "requestDevice").await;
    let context = Context::create_with(None, Some(device), true).await.unwrap();
    prepare(&context, 3, true).await.run(&[]).await.unwrap();
    let times = context.times().unwrap();
    assert!(!times.has_gpu_times);
    assert_eq!(counts(&times), [("add", 3, 0), ("double", 1, 0)]);
    context.dispose();
}

#[wasm_bindgen_test]
async fn a_context_that_was_not_asked_measures_nothing() {
    let context = Context::create(None, None).await.unwrap();
    prepare(&context, 1, true).await.run(&[]).await.unwrap();
    assert_eq!(context.times(), None);
    assert_eq!(
        context.stats().buffers,
        1 + 1,
        "what is computed on, and what it is read through; of which one is unused"
    );
    context.dispose();
}

#[wasm_bindgen_test]
async fn times_that_are_on_their_way_when_the_context_is_disposed_are_dropped() {
    let context = Context::create_with(None, None, true).await.unwrap();
    let prepared = prepare(&context, 3, false).await;
    let submission = prepared.submit(&[]).unwrap();
    context.dispose();
    drop(submission);
    sleep(50).await;
    // The context was disposed of before the device could answer.
    assert_eq!(counts(&context.times().unwrap()), [("add", 3, 0), ("double", 1, 0)]);
}
