//! Gradients by the device, over lists and gathered, against the CPU's in f64, in a browser on a real WebGPU device.

use crate::recorder::{Recorder, compiled, problem};
use crate::shared_context::shared_context;
use js_sys::{Float32Array, Float64Array};
use residua::eval::cpu::CpuEngine;
use residua::eval::gpu::GpuEngine;
use residua::eval::{Engine, Functions, Objective};
use residua::model::losses::LossParameters;
use residua::model::{Model, Tape};
use residua_codegen::Width;
use residua_ir::graph::Op;
use wasm_bindgen::JsCast;
use wasm_bindgen_test::{console_log, wasm_bindgen_test};

/// The package's promise for values and derivatives, relative to the largest entry.
const VALUES: f64 = 1e-5;
const DERIVATIVES: f64 = 1e-4;

const VERTICES: u32 = 3_000;
const POSES: u32 = 800;
const PARAMETERS: u32 = 3 * VERTICES + 4 * POSES + 2;

/// |a − b| − rest.
fn spring() -> Tape {
    let mut r = Recorder::default();
    let squared = r.squared_distance();
    let length = r.apply(Op::Norm, &[squared]);
    let rest = r.data(0);
    let residual = r.apply(Op::Sub, &[length, rest]);
    r.tape(vec![residual], 6, 1)
}

/// Two residuals of a pose and a vertex, with a factor through which no derivative goes.
fn turned() -> Tape {
    let mut r = Recorder::default();
    let q: Vec<u32> = (0..4).map(|number| r.parameter(number)).collect();
    let v: Vec<u32> = (4..7).map(|number| r.parameter(number)).collect();
    let wx = r.apply(Op::Mul, &[q[0], v[0]]);
    let yz = r.apply(Op::Mul, &[q[2], v[2]]);
    let first = r.apply(Op::Sub, &[wx, yz]);
    let held = r.apply(Op::StopGradient, &[v[1]]);
    let second = r.apply(Op::Mul, &[q[1], held]);
    r.tape(vec![first, second], 7, 0)
}

/// c₀ + c₁ v₀: all instances share c, whose entries are too many for a list.
fn shared() -> Tape {
    let mut r = Recorder::default();
    let (a, b, v) = (r.parameter(0), r.parameter(1), r.parameter(2));
    let product = r.apply(Op::Mul, &[b, v]);
    let residual = r.apply(Op::Add, &[a, product]);
    r.tape(vec![residual], 5, 0)
}

fn model() -> Model {
    let mut input = problem(&[
        ("vertices", 3, VERTICES, "euclidean"),
        ("poses", 4, POSES, "unit-quaternion"),
        ("curve", 2, 1, "euclidean"),
    ]);
    let (springs, turns, samples) = (9_000u32, 8_400u32, VERTICES);
    let ends = (0..springs).map(|i| i % VERTICES).chain((0..springs).map(|i| (i * 7 + 1 + i / VERTICES) % VERTICES));
    let turned_by = (0..turns).map(|i| i % POSES).chain((0..turns).map(|i| (i * 3) % VERTICES));
    let sampled = std::iter::repeat_n(0, samples as usize).chain(0..samples);
    let lengths = vec![1.25; springs as usize];
    input.add_residuals("springs", vec![0, 0], ends.collect(), lengths, spring()).unwrap();
    input.add_residuals("turns", vec![1, 0], turned_by.collect(), Vec::new(), turned()).unwrap();
    input.add_residuals("samples", vec![2, 0], sampled.collect(), Vec::new(), shared()).unwrap();
    let mut model = compiled(input);
    for (block, weight) in model.blocks.iter_mut().zip([0.5, 1.5, 2.5]) {
        block.weight = weight;
    }
    model
}

/// Numbers in [−2, 2), the same in every run: multiples of an irrational number, rounded to f32.
fn point(shift: f64) -> Vec<f64> {
    (0..PARAMETERS)
        .map(|k| f64::from(((f64::from(k) + shift) * 0.618_033_988_749_895).fract() as f32 * 4.0 - 2.0))
        .collect()
}

async fn both(batch_size: Option<u32>) -> [Functions; 2] {
    let context = shared_context().await;
    let engine = GpuEngine::new(context, &model(), Width::Single, batch_size).await.unwrap();
    let gpu = Functions::new(model(), Engine::Gpu(Box::new(engine)), point(0.0)).unwrap();
    [gpu, Functions::new(model(), Engine::Cpu(CpuEngine::new()), point(0.0)).unwrap()]
}

/// Numbers that f32 has.
fn single(x: &[f64]) -> Float32Array {
    Float32Array::from(x.iter().map(|&x| x as f32).collect::<Vec<_>>().as_slice())
}

/// Value and gradient as the device gives them to JavaScript.
async fn read(gpu: &mut Functions, objective: Objective, x: Option<&[f64]>) -> (f64, Vec<f64>) {
    let x = x.map(single);
    let into = Float64Array::new_with_length(PARAMETERS);
    let found =
        gpu.evaluate_on_device(objective, x.as_ref(), Some(&into)).await.unwrap().expect("functions on a device");
    (found.value, found.gradient.unchecked_into::<Float64Array>().to_vec())
}

/// What the device gives, at the current parameters and at those named, is what the CPU gives.
async fn check([gpu, cpu]: &mut [Functions; 2], what: &str) {
    for objective in [Objective::Sum, Objective::LeastSquares] {
        for x in [None, Some(point(0.5))] {
            let expected = cpu.evaluate_with_gradient(objective, x.as_deref()).await.unwrap();
            let scale = expected.gradient.iter().fold(0.0f64, |scale, g| scale.max(g.abs()));
            let (value, gradient) = read(gpu, objective, x.as_deref()).await;
            let differs = |(a, b): (&f64, &f64)| (a - b).abs();
            let worst = gradient.iter().zip(&expected.gradient).map(differs).fold(0.0, f64::max);
            // The sum may cancel: its scale is a hundred addends near 1.
            let off = (value - expected.cost).abs() / expected.cost.abs().max(100.0);
            console_log!("{what}, {objective:?}: value {off:.1e}, gradient {:.1e}", worst / scale.max(1e-300));
            assert!(off < VALUES && worst <= DERIVATIVES * scale, "{what}, {objective:?}");
            let exact = |(g, e): (&f64, &f64)| *e != 0.0 || *g == 0.0;
            assert!(gradient.iter().zip(&expected.gradient).all(exact), "{what}: what is zero is zero");
            let left =
                gpu.evaluate_on_device(objective, x.as_deref().map(single).as_ref(), None).await.unwrap().unwrap();
            assert_eq!(left.value, value, "{what}: and with the gradient left on the device");
            assert!(left.gradient.is_object());
        }
    }
}

#[wasm_bindgen_test]
async fn gradients_over_lists_and_gathered_ones_add_up() {
    for batch_size in [None, Some(1_001)] {
        let mut functions = both(batch_size).await;
        check(&mut functions, &format!("batches of {batch_size:?}")).await;
        for functions in &mut functions {
            let loss = LossParameters::new("cauchy", 0.5, 0.0, 2.0).unwrap();
            functions.set_loss(0, loss).unwrap();
            functions.set_weight(1, 0.25).unwrap();
            functions.set_data(0, 0, &(0..9_000).map(|i| f64::from(i) / 512.0).collect::<Vec<_>>()).unwrap();
        }
        check(&mut functions, "weighted, robust, new data").await;
        for functions in &mut functions {
            functions.set_enabled(2, false).unwrap();
            functions.set_constant((0..PARAMETERS).map(|k| k % 7 == 0).collect()).unwrap();
        }
        check(&mut functions, "without what is gathered, part constant").await;
        for functions in &mut functions {
            functions.set_enabled(0, false).unwrap();
            functions.set_enabled(2, true).unwrap();
            functions.set_constant(vec![false; PARAMETERS as usize]).unwrap();
            functions.set_values(point(0.25)).unwrap();
        }
        check(&mut functions, "without springs, elsewhere").await;
        for functions in &mut functions {
            functions.set_enabled(1, false).unwrap();
            functions.set_enabled(2, false).unwrap();
        }
        check(&mut functions, "without anything").await;
    }
}

#[wasm_bindgen_test]
async fn gradients_repeat_to_the_bit() {
    let [mut gpu, _] = both(None).await;
    let first = read(&mut gpu, Objective::LeastSquares, None).await;
    for _ in 0..5 {
        assert_eq!(read(&mut gpu, Objective::LeastSquares, None).await, first);
        assert_eq!(read(&mut gpu, Objective::LeastSquares, Some(&point(0.0))).await, first);
    }
}

#[wasm_bindgen_test]
async fn a_gradient_that_stays_uploads_nothing_and_submits_once() {
    let [mut gpu, _] = both(None).await;
    gpu.evaluate_on_device(Objective::Sum, None, None).await.unwrap();
    let stats = |gpu: &Functions| match gpu.engine() {
        Engine::Gpu(engine) => engine.context().stats(),
        Engine::Cpu(_) | Engine::HostCall(_) => unreachable!("these are on the device"),
    };
    let before = stats(&gpu);
    gpu.evaluate_on_device(Objective::Sum, None, None).await.unwrap();
    let after = stats(&gpu);
    assert_eq!((after.submits - before.submits, after.readbacks - before.readbacks), (1, 1));
    assert_eq!((after.bind_groups, after.buffers), (before.bind_groups, before.buffers));
}
