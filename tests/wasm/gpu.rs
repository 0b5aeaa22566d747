//! The device layer on a real WebGPU device: recorded work, buffers and pipelines. Without one these tests fail.

use crate::shared_context::own_context;
use std::cell::Cell;
use std::rc::Rc;

use crate::affine::{MAP, affine, allocate, bytes, call, check_affine, pipeline, prepare};
use js_sys::{Function, Object, Promise, Reflect};
use residua_base::ErrorCode;
use residua_gpu::{Buffer, BufferRequest, CommandList, PipelineRequest};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use wasm_bindgen_test::wasm_bindgen_test;

#[wasm_bindgen_test]
async fn a_recorded_kernel_computes_what_was_uploaded_and_runs_again_without_new_bind_groups() {
    let context = own_context().await;
    let (prepared, x, y) = prepare(&context, 1000, 3.0).await;
    assert_eq!((x.index(), y.index()), (0, 0));
    let before = context.stats();
    for round in 0..5 {
        let x = vec![round as f32; 1000];
        let results = prepared.run(&[bytes(&x)]).await.unwrap();
        let expected: Vec<f32> = (0..1000).map(|i| (3 * round + i) as f32).collect();
        assert_eq!(results.reals(y), expected, "round {round}");
    }
    let after = context.stats();
    assert_eq!(after.bind_groups, before.bind_groups);
    assert_eq!(after.dispatches, before.dispatches + 5);
    assert_eq!(after.submits, before.submits + 5);
    assert_eq!(after.readbacks, before.readbacks + 5);
    assert_eq!(after.buffers, before.buffers + 1, "one staging buffer serves all rounds");
    context.dispose();
}

#[wasm_bindgen_test]
async fn more_than_65535_workgroups_use_the_second_dimension() {
    let context = own_context().await;
    let count = 64 * 65_536 + 5;
    let (prepared, _, y) = prepare(&context, count, 0.0).await;
    let x = vec![0_f32; count as usize];
    let results = prepared.run(&[bytes(&x)]).await.unwrap();
    // f32 counts exactly up to 2²⁴, and 64 · 65,536 is 2²².
    let wrong = results.reals(y).iter().enumerate().find(|&(i, &value)| value != i as f32);
    assert_eq!(wrong, None);
    context.dispose();
}

#[wasm_bindgen_test]
async fn commands_of_every_kind_take_effect_in_order() {
    let context = own_context().await;
    let buffers = context.allocate(&[BufferRequest::storage("a", 64), BufferRequest::storage("b", 64)]).await.unwrap();
    let mut list = CommandList::new();
    let (a, b) = (list.buffer("a", 16), list.buffer("b", 16));
    let (whole_a, whole_b) = (list.whole(a), list.whole(b));
    list.upload(a, 0, bytes(&[1_u32, 2, 3, 4]).to_vec());
    list.copy(whole_a, b, 0);
    list.upload(a, 4, bytes(&[9_u32]).to_vec());
    list.clear(whole_b.part(8, 4));
    let (first, second) = (list.download(whole_a), list.download(whole_b));
    list.copy(whole_a.part(4, 4), b, 12);
    let third = list.download(whole_b.part(8, 8));
    let prepared = context.prepare(&list, &buffers, &[]).await.unwrap();
    for _ in 0..2 {
        let results = prepared.run(&[]).await.unwrap();
        assert_eq!(results.words(first), [1, 9, 3, 4]);
        assert_eq!(results.words(second), [1, 2, 0, 4]);
        assert_eq!(results.words(third), [0, 9]);
    }
    context.dispose();
}

#[wasm_bindgen_test]
async fn submissions_finish_in_order_and_may_be_read_late_or_not_at_all() {
    let context = own_context().await;
    let (prepared, _, y) = prepare(&context, 4, 1.0).await;
    let submissions: Vec<_> = (0..4).map(|round| prepared.submit(&[bytes(&[round as f32; 4])]).unwrap()).collect();
    for (round, submission) in submissions.into_iter().enumerate() {
        if round == 1 {
            drop(submission);
            continue;
        }
        let first = round as f32;
        assert_eq!(submission.finish().await.unwrap().reals(y), [first, first + 1.0, first + 2.0, first + 3.0]);
    }
    context.dispose();
}

#[wasm_bindgen_test]
async fn empty_submissions_are_made_during_a_read_back_and_not_after_it() {
    let context = own_context().await;
    // Work of some milliseconds, so that there is something to wait for.
    let count = 1 << 22;
    let (prepared, _, y) = prepare(&context, count, 1.0).await;
    let queue = Reflect::get(&context.raw_device(), &"queue".into()).unwrap();
    let submit: Function = Reflect::get(&queue, &"submit".into()).unwrap().unchecked_into();
    let submissions = Rc::new(Cell::new(0));
    let counting = {
        let (queue, submissions) = (queue.clone(), submissions.clone());
        Closure::<dyn FnMut(js_sys::Array)>::new(move |commands: js_sys::Array| {
            submissions.set(submissions.get() + u32::from(commands.length() == 0));
            submit.call1(&queue, &commands).unwrap();
        })
    };
    Reflect::set(&queue, &"submit".into(), counting.as_ref()).unwrap();
    let x = vec![1_f32; count as usize];
    for _ in 0..2 {
        submissions.set(0);
        assert_eq!(prepared.run(&[bytes(&x)]).await.unwrap().reals(y)[9], 10.0);
        assert!(submissions.get() > 0);
        sleep(20).await;
        submissions.set(0);
        sleep(50).await;
        assert_eq!(submissions.get(), 0, "the loop ends with the wait");
    }
    Reflect::delete_property::<JsValue>(queue.unchecked_ref(), &"submit".into()).unwrap();
    context.dispose();
}

#[wasm_bindgen_test]
async fn buffers_are_where_they_began_after_a_thousand_rounds() {
    let context = own_context().await;
    let start = (context.stats().buffers, context.stats().buffer_bytes);
    assert_eq!(start, (0, 0));
    for round in 0..1000_u32 {
        let size = 1000 + 400 * u64::from(round % 7);
        let buffers = context
            .allocate(&[BufferRequest::storage("a", size), BufferRequest::storage("b", 2 * size).exported()])
            .await
            .unwrap();
        context.write(&buffers[0], 0, &[1; 64]).unwrap();
    }
    let stats = context.stats();
    assert!(stats.buffers <= 7, "one buffer of each class serves all rounds: {stats:?}");
    assert!(stats.peak_buffer_bytes <= 7 * 4096 + 6800, "{stats:?}");
    let (prepared, _, _) = prepare(&context, 100, 1.0).await;
    prepared.run(&[&[0; 400]]).await.unwrap();
    drop(prepared);
    context.trim();
    assert_eq!((context.stats().buffers, context.stats().buffer_bytes), start);
    context.dispose();
}

#[wasm_bindgen_test]
async fn destroyed_buffers_are_really_destroyed() {
    let context = own_context().await;
    let kept = allocate(&context, BufferRequest::storage("kept", 256)).await;
    let trimmed = allocate(&context, BufferRequest::storage("trimmed", 1024)).await.raw_buffer();
    let exported = allocate(&context, BufferRequest::storage("exported", 12).exported()).await;
    let raw = exported.raw_buffer();
    let size = Reflect::get(&raw, &"size".into()).unwrap();
    assert_eq!(size, 16, "an exported buffer has room for whole vectors");
    drop(exported);
    context.trim();
    for (name, buffer, alive) in
        [("kept", kept.raw_buffer(), true), ("trimmed", trimmed, false), ("exported", raw, false)]
    {
        // Mapping a buffer without MAP_READ, or a destroyed one, fails alike; submitting tells them apart.
        let device = context.raw_device();
        call(&device, "pushErrorScope", &["validation".into()]);
        let encoder = call(&device, "createCommandEncoder", &[]);
        call(&encoder, "clearBuffer", &[buffer]);
        let commands = call(&encoder, "finish", &[]);
        let queue = Reflect::get(&device, &"queue".into()).unwrap();
        call(&queue, "submit", &[js_sys::Array::of1(&commands).into()]);
        let error = JsFuture::from(Promise::from(call(&device, "popErrorScope", &[]))).await.unwrap();
        assert_eq!(error.is_null(), alive, "{name}: {error:?}");
    }
    context.dispose();
}

#[wasm_bindgen_test]
async fn a_pooled_buffer_asked_for_zeroed_is_zero() {
    let context = own_context().await;
    let read = async |buffer: &Buffer| {
        let mut list = CommandList::new();
        let id = list.buffer("buffer", 256);
        let download = list.download(list.whole(id));
        let prepared = context.prepare(&list, std::slice::from_ref(buffer), &[]).await.unwrap();
        prepared.run(&[]).await.unwrap().words(download).to_vec()
    };
    let buffer = allocate(&context, BufferRequest::storage("old", 256)).await;
    context.write(&buffer, 0, &[7; 256]).unwrap();
    let old = buffer.raw_buffer();
    drop(buffer);
    let buffer = allocate(&context, BufferRequest::storage("new", 256).zeroed()).await;
    assert_eq!(buffer.raw_buffer(), old, "the pool's buffer serves again");
    assert_eq!(read(&buffer).await, [0; 64]);
    let another = allocate(&context, BufferRequest::storage("another", 256).zeroed()).await;
    assert_eq!(read(&another).await, [0; 64]);
    context.dispose();
}

#[wasm_bindgen_test]
async fn a_pipeline_is_compiled_once_a_context() {
    let context = own_context().await;
    let requests = [affine(1.0), affine(2.0), affine(1.0)];
    let mut heard = Vec::new();
    let pipelines = context
        .pipelines(&requests, &mut |done, total| {
            heard.push((done, total));
            Ok(())
        })
        .await
        .unwrap();
    assert_eq!(pipelines.len(), 3);
    assert_eq!(heard, [(0, 2), (1, 2), (2, 2)]);
    assert_eq!((context.stats().pipelines, context.stats().pipeline_cache_hits), (2, 0));
    pipeline(&context, affine(2.0)).await;
    assert_eq!((context.stats().pipelines, context.stats().pipeline_cache_hits), (2, 1));

    let stop = || residua_base::Error::new(ErrorCode::Aborted, "stopped");
    let stopped = context.pipelines(&[affine(5.0)], &mut |_, _| Err(stop())).await;
    assert_eq!(stopped.err(), Some(stop()));
    context.dispose();
}

#[wasm_bindgen_test]
async fn wgsl_that_does_not_compile_is_a_shader_compilation_error_with_the_text() {
    let context = own_context().await;
    let valid = affine(1.0);
    let broken = [
        (
            "a name that is not there",
            PipelineRequest { wgsl: valid.wgsl.replace("x[i]", "z[i]"), ..valid.clone() },
            "line 10",
        ),
        ("an entry point that is not there", PipelineRequest { entry: "gradient".into(), ..valid.clone() }, "gradient"),
        ("a layout that is not the text's", PipelineRequest { layout: MAP[..2].to_vec(), ..valid.clone() }, "affine"),
    ];
    for (case, request, words) in broken {
        let wgsl = request.wgsl.clone();
        let result = context.pipelines(&[valid.clone(), request], &mut |_, _| Ok(())).await;
        let error = result.err().expect(case);
        assert_eq!(error.code, ErrorCode::ShaderCompilation, "{case}: {error}");
        assert!(error.message.contains(words), "{case}: {error}");
        assert_eq!(error.wgsl, Some(wgsl), "{case}");
    }
    check_affine(&context).await;
    context.dispose();
}

#[wasm_bindgen_test]
async fn work_beyond_the_limits_is_refused_before_anything_is_allocated() {
    let context = own_context().await;
    let limit = context.limits().max_buffer_size;
    let requests = [BufferRequest::storage("small", 4), BufferRequest::storage("residuals", limit + 4)];
    let error = context.allocate(&requests).await.err().unwrap();
    assert_eq!(error.code, ErrorCode::LimitExceeded);
    for part in ["residuals".to_owned(), "maxBufferSize".to_owned(), (limit + 4).to_string(), limit.to_string()] {
        assert!(error.message.contains(&part), "{part} in {error}");
    }
    assert_eq!(context.stats().buffers, 0);
    assert_eq!(context.stats().peak_buffer_bytes, 0);
    context.dispose();
}

#[wasm_bindgen_test]
async fn a_refused_allocation_leaves_nothing_behind() {
    let context = own_context().await;
    let idle = allocate(&context, BufferRequest::storage("idle", 4096)).await;
    drop(idle);
    // SwiftShader would give nearly anything, so the device's answer is written for it: out of memory, always.
    let device = context.raw_device();
    let answer = Closure::<dyn FnMut() -> Promise>::new(|| {
        let error = Object::new();
        Reflect::set(&error, &"message".into(), &"no room".into()).unwrap();
        Promise::resolve::<JsValue>(&error.into())
    });
    Reflect::set(&device, &"popErrorScope".into(), answer.as_ref()).unwrap();
    let requests = [BufferRequest::storage("small", 4096), BufferRequest::storage("large", 8192)];
    let error = context.allocate(&requests).await.err().unwrap();
    Reflect::delete_property::<JsValue>(device.unchecked_ref(), &"popErrorScope".into()).unwrap();
    assert_eq!(error.code, ErrorCode::OutOfMemory, "{error}");
    assert!(error.message.contains("12288 bytes for small, large: no room"), "{error}");
    let stats = context.stats();
    assert_eq!((stats.buffers, stats.buffer_bytes), (0, 0), "unused buffers were given up for it");
    assert_eq!(stats.peak_buffer_bytes, 4096, "what was refused never counted");
    context.dispose();
}

async fn sleep(milliseconds: u32) {
    let promise = Promise::new(&mut |resolve, _| {
        call(&js_sys::global(), "setTimeout", &[resolve.into(), milliseconds.into()]);
    });
    JsFuture::from(promise).await.unwrap();
}
