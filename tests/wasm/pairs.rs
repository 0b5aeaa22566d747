//! Operations on pairs on a real WebGPU device, compared with the reference evaluation in f64.

use crate::affine::{allocate, bytes, pipeline};
use crate::pair_operations::{Measure, agrees, bound, joined, kernel, operands, rounded, singular, words, worst};
use crate::recorder::{Recorder, params_model};
use crate::shared_context::own_context;
use residua::eval::gpu::GpuEngine;
use residua::eval::pair_arithmetic::{pair_form, test};
use residua_base::ErrorCode;
use residua_codegen::Width;
use residua_codegen::wgsl::{Dispatch, PairForm};
use residua_gpu::{BindingKind, BufferRequest, CommandList, Context, PipelineRequest, Rounding};
use residua_ir::graph::{Op, evaluate};
use wasm_bindgen_test::{console_log, wasm_bindgen_test};

const LAYOUT: [BindingKind; 4] =
    [BindingKind::StorageRead, BindingKind::StorageReadWrite, BindingKind::StorageRead, BindingKind::Uniform];

/// The words of the results of a kernel of an op.
async fn results_of(context: &Context, text: &str, operands: &[u32]) -> Vec<u32> {
    let count = operands.len() as u32 / 6;
    let sizes = [24 * u64::from(count), 8 * u64::from(count), 4, 16];
    let requests = ["operands", "results", "zero", "dispatch"].into_iter().zip(sizes);
    let mut list = CommandList::new();
    let mut slices = Vec::new();
    let mut buffers = Vec::new();
    let mut last = None;
    for (name, size) in requests {
        let request =
            if name == "dispatch" { BufferRequest::uniform(name, size) } else { BufferRequest::storage(name, size) };
        buffers.push(allocate(context, request.zeroed()).await);
        let buffer = list.buffer(name, size);
        slices.push(list.whole(buffer));
        last = Some(buffer);
    }
    list.upload(last.unwrap(), 0, bytes(&Dispatch::new(count, 0, 0).words()).to_vec());
    list.upload_argument(slices[0]);
    let operation = list.pipeline("operation", &LAYOUT);
    list.dispatch(operation, &slices, [count.div_ceil(64), 1]);
    let download = list.download(slices[1]);
    let request = PipelineRequest { wgsl: text.to_owned(), entry: "operation".into(), layout: LAYOUT.to_vec() };
    let compiled = pipeline(context, request).await;
    let prepared = context.prepare(&list, &buffers, &[compiled]).await.unwrap();
    prepared.run(&[bytes(operands)]).await.unwrap().words(download).to_vec()
}

/// The worst error of an op in a form, with an expression for the guard's zero.
async fn error_of(context: &Context, op: Op, (form, guard): (PairForm, &str), operands: &[[f64; 3]]) -> f64 {
    worst(op, operands, &results_of(context, &kernel(op, form, guard), &words(operands)).await).0
}

#[wasm_bindgen_test]
async fn every_op_on_pairs_is_within_its_bound() {
    let context = own_context().await;
    for op in Op::ALL {
        let operands = operands(*op, 4096);
        let (measure, bound) = bound(*op);
        let error = error_of(&context, *op, (PairForm::Split, "zero[0]"), &operands).await;
        assert!(error <= bound, "{}: {error:e}", op.name());
        if measure == Measure::Exact {
            continue;
        }
        // Controls: with the operands' errors dropped, and where the arithmetic of pairs does not hold, the bound is missed. Software
        // adapters round an `fma` twice, others rearrange what is not guarded. Chromium's rearranges no sum.
        let text = kernel(*op, PairForm::Split, "zero[0]");
        let singles = worst(*op, &operands, &results_of(&context, &text, &words(&rounded(&operands))).await).0;
        assert!(singles > bound, "{} of f32: {singles:e}", op.name());
        let fused = error_of(&context, *op, (PairForm::Fused, "zero[0]"), &operands).await;
        let unguarded = error_of(&context, *op, (PairForm::Split, "0u"), &operands).await;
        console_log!(
            "{:11} {error:.1e}, of f32 {singles:.1e}, by fma {fused:.1e}, unguarded {unguarded:.1e}",
            op.name()
        );
        let is_sum = matches!(op, Op::Add | Op::Sub);
        assert!(is_sum || fused.max(unguarded) > bound, "{}: {fused:e}, {unguarded:e}", op.name());
    }
    context.dispose();
}

#[wasm_bindgen_test]
async fn singular_operands_on_pairs_give_what_the_reference_gives() {
    let context = own_context().await;
    let mut wrong = Vec::new();
    for op in Op::ALL {
        let operands = singular(*op);
        let results = results_of(&context, &kernel(*op, PairForm::Split, "zero[0]"), &words(&operands)).await;
        for (operands, result) in operands.iter().zip(results.chunks_exact(2)) {
            let result = [f32::from_bits(result[0]), f32::from_bits(result[1])];
            if !agrees(*op, operands, result) {
                let operands = &operands[..op.arity()];
                wrong.push(format!(
                    "{}({operands:?}) is {}, got {}",
                    op.name(),
                    evaluate(*op, operands),
                    joined(result)
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    context.dispose();
}

#[wasm_bindgen_test]
async fn the_test_of_arithmetic_finds_a_form_and_is_made_once() {
    let context = own_context().await;
    let began = js_sys::Date::now();
    let form = pair_form(&context).await.unwrap();
    console_log!("{form:?}, tested in {:.0} ms", js_sys::Date::now() - began);
    let stats = context.stats();
    assert_eq!(pair_form(&context).await.unwrap(), form);
    assert_eq!(context.stats(), stats, "the answer is kept");
    // In the form that it finds, every op is within its bound.
    for op in Op::ALL {
        let error = error_of(&context, *op, (form, "zero[0]"), &operands(*op, 1024)).await;
        assert!(error <= bound(*op).1, "{}: {error:e}", op.name());
    }
    context.dispose();
}

#[wasm_bindgen_test]
async fn a_form_that_does_not_hold_is_refused_in_words() {
    let context = own_context().await;
    // The form that was not chosen: fma on software adapters, which round it twice. Where it rounds once, nothing is refused.
    match test(&context, &[PairForm::Fused]).await.unwrap() {
        Rounding::Unfit(_) => {
            let error = pair_form(&context).await.unwrap_err();
            assert_eq!(error.code, ErrorCode::GpuUnavailable);
            assert!(error.message.starts_with("double-single arithmetic does not hold on this device: products are"));
            // So are functions in pairs; those in single precision are not.
            let mut recorder = Recorder::default();
            let x = recorder.parameter(0);
            let model = params_model(recorder.tape(vec![x], 1, 0), 1);
            let refused = GpuEngine::new(context.clone(), &model, Width::Pair, None).await.err();
            assert_eq!(refused, Some(error));
            assert!(GpuEngine::new(context.clone(), &model, Width::Single, None).await.is_ok());
        }
        found => assert!(found == Rounding::Fused && !context.adapter().is_software, "{found:?}"),
    }
    context.dispose();
}
