//! Functions with an engine on either side, in a browser on a real WebGPU device: which calls run where, and that nobody notices but by
//! their digits.

use crate::on_engines::{Silent, on_cpu, on_gpu};
use crate::shared_context::{own_context, shared_context};
use std::pin::pin;

use crate::recorder::{Recorder, model as model_of};
use residua::eval::choice::{Extent, Measured};
use residua::eval::gpu::GpuEngine;
use residua::eval::{Choice, Engine, Job, Objective, Place, trial};
use residua::model::Model;
use residua::solve::{DeviceResources, LbfgsOptions, Termination, minimise};
use residua_codegen::Width;
use residua_gpu::Speed;
use residua_ir::graph::Op;
use wasm_bindgen_test::wasm_bindgen_test;

const COUNT: u32 = 300;

/// Residuals xᵢ² − xᵢ₊₁ − 1/3: a third is no f32.
fn model() -> Model {
    let mut r = Recorder::default();
    let ends = [r.parameter(0), r.parameter(1)];
    let square = r.apply(Op::Mul, &[ends[0], ends[0]]);
    let difference = r.apply(Op::Sub, &[square, ends[1]]);
    let third = r.constant(1.0 / 3.0);
    let residual = r.apply(Op::Sub, &[difference, third]);
    let ends = (0..COUNT - 1).chain(1..COUNT).collect();
    model_of(1, COUNT, "euclidean", vec![0, 0], ends, Vec::new(), r.tape(vec![residual], 2, 0))
}

fn start() -> Vec<f64> {
    (0..COUNT).map(|i| 1.0 + f64::from(i % 5) / 8.0).collect()
}

/// By figures in which evaluations are sooner on the CPU, and L-BFGS too unless there are many parameters.
fn choice(params: f64) -> Choice {
    let device = Speed { round_trip_ms: 1.0, dispatch_ms: 0.01, moving_ms: 1.0 };
    let extent = Extent { params, residuals: 1e3, entries: 2e3, batches: 1.0, parts: 1.0 };
    Choice::new(&extent, &Measured { device, cpu_gradient_ms: 0.01, gpu_gradient_ms: Some(1.1) })
}

#[wasm_bindgen_test]
async fn calls_that_are_sooner_on_the_cpu_have_its_digits_and_the_others_the_gpus() {
    let model = model();
    let mut cpu = on_cpu(&model, &start());
    let mut gpu = on_gpu(&shared_context().await, Width::Single, &model, &start()).await;
    let mut both = on_gpu(&shared_context().await, Width::Single, &model, &start()).await;
    both.choose(choice(1e5));
    assert!(both.choice().unwrap().is_on_cpu(Job::Gradient) && !both.choice().unwrap().is_on_cpu(Job::Descent));
    let exact = cpu.evaluate(None).await.unwrap();
    assert_ne!(gpu.evaluate(None).await.unwrap(), exact, "single precision has other digits");

    both.enter(Job::Values).await.unwrap();
    assert_eq!(both.evaluate(None).await.unwrap(), exact);
    both.leave();
    both.enter(Job::Gradient).await.unwrap();
    let gradient = both.evaluate_with_gradient(Objective::LeastSquares, None).await.unwrap();
    assert_eq!(gradient, cpu.evaluate_with_gradient(Objective::LeastSquares, None).await.unwrap());
    both.leave();
    both.enter(Job::Descent).await.unwrap();
    assert!(both.place() == Place::Device, "L-BFGS stays on the device");
    assert_eq!(both.evaluate(None).await.unwrap(), gpu.evaluate(None).await.unwrap());
    both.leave();
}

#[wasm_bindgen_test]
async fn a_solve_on_the_cpu_is_that_of_the_cpu_and_the_device_shows_where_it_ended() {
    let model = model();
    let options = LbfgsOptions { objective: Objective::LeastSquares, ..LbfgsOptions::defaults() };
    let mut cpu = on_cpu(&model, &start());
    let expected = minimise(&mut cpu, &mut DeviceResources::default(), &options, true, &mut Silent).await.unwrap();
    let mut both = on_gpu(&shared_context().await, Width::Single, &model, &start()).await;
    both.choose(choice(1e3));
    assert!(both.choice().unwrap().is_on_cpu(Job::Descent));
    both.enter(Job::Descent).await.unwrap();
    let solution = minimise(&mut both, &mut DeviceResources::default(), &options, true, &mut Silent).await.unwrap();
    both.leave();
    assert_eq!(solution.summary.termination, expected.summary.termination);
    assert_ne!(solution.summary.termination, Termination::MaxIterations);
    assert_eq!(solution.x, expected.x);
    // Read back from the device; numbers that are there what they are here, up to rounding, keep their digits.
    both.leave_on_device();
    both.bring_values().await.unwrap();
    assert_eq!(both.values(), expected.x);
}

#[wasm_bindgen_test]
async fn parameters_that_a_solve_left_on_the_device_are_brought_before_the_cpu_evaluates() {
    let model = model();
    let mut both = on_gpu(&shared_context().await, Width::Single, &model, &start()).await;
    both.choose(choice(1e5));
    let options = LbfgsOptions { objective: Objective::LeastSquares, ..LbfgsOptions::defaults() };
    minimise(&mut both, &mut DeviceResources::default(), &options, false, &mut Silent).await.unwrap();
    both.enter(Job::Values).await.unwrap();
    let residuals = both.evaluate(None).await.unwrap();
    both.leave();
    let cost: f64 = residuals.iter().map(|r| r * r / 2.0).sum();
    assert!(cost < 1e-6, "the cost is that of the solution: {cost}");
}

#[wasm_bindgen_test]
async fn a_devices_speed_is_measured_once_and_a_models_on_either_engine() {
    let context = own_context().await;
    let mut done = false;
    let speed = context.speed(pin!(async { done = true })).await.unwrap();
    assert!(done, "what is to be done meanwhile is done");
    for figure in [speed.round_trip_ms, speed.dispatch_ms, speed.moving_ms] {
        assert!(figure.is_finite() && figure >= 0.0, "{speed:?}");
    }
    assert!(speed.round_trip_ms > 0.0, "{speed:?}");
    let dispatches = context.stats().dispatches;
    assert_eq!(context.speed(pin!(async { done = false })).await.unwrap(), speed);
    assert!(!done, "also where nothing is measured");
    assert_eq!(context.stats().dispatches, dispatches, "the second time it is only told");

    let model = model();
    let (_, measured) = trial::measure(&context, &model, &start()).await.unwrap();
    assert_eq!(measured.device, speed);
    assert!(measured.cpu_gradient_ms > 0.0, "{measured:?}");
    assert_eq!(measured.gpu_gradient_ms, None);
    let mut gpu = Engine::Gpu(Box::new(GpuEngine::new(context, &model, Width::Single, None).await.unwrap()));
    assert!(trial::gradient_ms(&mut gpu, &model, &start()).await.unwrap() > 0.0);
}
