//! Evaluations in pairs on the device against the CPU in f64, in a browser.
//!
//! Points and data have all the bits of f64. The bound, 1e-11 of the largest entry, is what the package promises of gradients; in single
//! precision the same comparison is off by more than [`CONTROL`], which each test sees once.

use crate::engines::{
    Differences, Random, both_in, compare, difference, each_loss_is_within, mixed_tape, op_tape, problem_model,
};
use crate::recorder::{Recorder, compiled, params_model, problem, with_any_loss};
use js_sys::{Float32Array, Float64Array};
use residua::eval::gpu::{DataPart, NewSharedData};
use residua::eval::pairs::to_vector;
use residua::eval::{Arithmetic, Functions, Objective};
use residua::model::Model;
use residua::model::losses::LossParameters;
use residua_codegen::Width;
use residua_ir::graph::Op;
use wasm_bindgen_test::{console_log, wasm_bindgen_test};

const BOUND: f64 = 1e-11;

/// Half a unit in the last place of single precision is 6e-8; the largest of hundreds of errors is near it.
const CONTROL: f64 = 1e-8;

const OBJECTIVES: [Objective; 2] = [Objective::Sum, Objective::LeastSquares];

/// Numbers between two bounds, with bits that single precision lacks.
fn numbers(seed: u64, count: usize, bounds: (f64, f64)) -> Vec<f64> {
    let mut random = Random(seed);
    (0..count).map(|_| random.uniform(bounds) * (1.0 + 1e-8 * random.uniform((-1.0, 1.0)))).collect()
}

fn worst(d: &Differences) -> f64 {
    [d.sum, d.gradient, d.jacobian].into_iter().fold(d.values, f64::max)
}

/// Compares both engines, in pairs and in single precision.
async fn hold(what: &str, model: &Model, x: &[f64], batch_size: Option<u32>, change: &dyn Fn(&mut Functions)) {
    for width in [Width::Pair, Width::Single] {
        let (mut gpu, mut cpu) = both_in(width, model.clone(), x, batch_size).await;
        for functions in [&mut gpu, &mut cpu] {
            change(functions);
        }
        for objective in OBJECTIVES {
            let d = compare(&mut gpu, &mut cpu, objective).await;
            let Differences { values, sum, gradient, jacobian } = d;
            console_log!(
                "{what}, {width:?}, {objective:?}, {batch_size:?}: values {values:.1e}, sum {sum:.1e}, gradient {gradient:.1e}, Jacobian {jacobian:.1e}"
            );
            match width {
                Width::Pair => assert!(worst(&d) < BOUND, "{what}"),
                Width::Single => assert!(values > CONTROL && gradient > CONTROL, "{what}: the control holds"),
            }
        }
    }
}

#[wasm_bindgen_test]
#[ignore = "long"]
async fn pairs_of_many_kinds_agree_whole_and_in_chunks() {
    let (tape, parameters) = mixed_tape();
    let x = numbers(11, parameters as usize, (-1.0, 1.0));
    let model = with_any_loss(params_model(tape, parameters));
    hold("mixed", &model, &x, None, &|_| {}).await;
    let robust = |functions: &mut Functions| {
        functions.set_weight(0, 0.4).unwrap();
        functions.set_loss(0, LossParameters::new("cauchy", 0.5, 0.0, 2.0).unwrap()).unwrap();
        functions.set_constant((0..parameters).map(|parameter| parameter % 5 == 0).collect()).unwrap();
    };
    hold("robust, part constant", &model, &x, Some(7), &robust).await;
}

#[wasm_bindgen_test]
#[ignore = "long"]
async fn pairs_of_blocks_of_other_dimensions_agree_and_take_new_data() {
    let x = numbers(5, 300, (-1.0, 1.0));
    let data = numbers(6, 60, (0.5, 7.5));
    for batch_size in [None, Some(11)] {
        let change = |functions: &mut Functions| {
            functions.set_data(2, 1, &data).unwrap();
            functions.set_enabled(1, false).unwrap();
        };
        hold("new data and a block less", &problem_model(), &x, batch_size, &change).await;
    }
}

#[wasm_bindgen_test]
async fn every_loss_agrees_in_pairs() {
    let x = numbers(99, 512, (-5.0, 5.0));
    let model = with_any_loss(params_model(op_tape(Op::Neg, 512), 512));
    let (mut gpu, mut cpu) = both_in(Width::Pair, model, &x, None).await;
    each_loss_is_within([BOUND, BOUND], &mut gpu, &mut cpu).await;
}

#[wasm_bindgen_test]
async fn pairs_repeat_to_the_bit() {
    let x = numbers(3, 4096, (-2.0, 2.0));
    let (mut gpu, _) = both_in(Width::Pair, params_model(op_tape(Op::Sin, 4096), 4096), &x, None).await;
    let first = gpu.evaluate_with_gradient(Objective::LeastSquares, None).await.unwrap();
    for _ in 0..3 {
        assert_eq!(first, gpu.evaluate_with_gradient(Objective::LeastSquares, None).await.unwrap());
    }
}

#[wasm_bindgen_test]
async fn what_the_device_publishes_begins_with_single_precision_and_comes_back() {
    let x = numbers(17, 100, (-1e6, 1e6));
    let (mut gpu, mut cpu) = both_in(Width::Pair, params_model(op_tape(Op::Sin, 100), 100), &x, None).await;
    assert_eq!(gpu.arithmetic(), Arithmetic::F32x2);
    // Some of them are set on their own.
    let some = numbers(18, 7, (-10.0, 10.0));
    for functions in [&mut gpu, &mut cpu] {
        functions.set_values_at(&[5, 90], &[3, 4], &some).unwrap();
    }
    let expected: Vec<f64> = cpu.values().iter().map(|&x| Arithmetic::F32x2.quantise(x)).collect();
    gpu.leave_on_device();
    gpu.bring_values().await.unwrap();
    assert_eq!(gpu.values(), cpu.values(), "what has not moved keeps its digits");
    let parts = to_vector(Width::Pair, cpu.values());
    let buffer = {
        let (engine, _) = gpu.on_device().unwrap();
        let mut list = residua_gpu::CommandList::new();
        let published = list.buffer("published", 4 * parts.len() as u64);
        let download = list.download(list.whole(published));
        let buffers = [engine.published().clone()];
        let prepared = engine.context().prepare(&list, &buffers, &[]).await.unwrap();
        prepared.run(&[]).await.unwrap().reals(download).to_vec()
    };
    assert_eq!(buffer, parts);
    let single: Vec<f32> = cpu.values().iter().map(|&x| x as f32).collect();
    assert_eq!(buffer[..100], single);
    let joined: Vec<f64> = residua::eval::pairs::from_vector(Width::Pair, &buffer, 100);
    assert_eq!(joined, expected);
}

#[wasm_bindgen_test]
async fn gradients_on_the_device_are_those_that_come_back() {
    let (tape, parameters) = mixed_tape();
    let x = numbers(23, parameters as usize, (-1.0, 1.0));
    let (mut gpu, mut cpu) = both_in(Width::Pair, with_any_loss(params_model(tape, parameters)), &x, None).await;
    for functions in [&mut gpu, &mut cpu] {
        functions.set_constant((0..parameters).map(|parameter| parameter % 7 == 0).collect()).unwrap();
    }
    for objective in OBJECTIVES {
        let expected = gpu.evaluate_with_gradient(objective, None).await.unwrap();
        let on_cpu = cpu.evaluate_with_gradient(objective, None).await.unwrap();
        assert!(difference(&expected.gradient, &on_cpu.gradient) < BOUND);
        let point = Float32Array::from(to_vector(Width::Pair, &x).as_slice());
        for point in [None, Some(&point)] {
            let into = Float64Array::new_with_length(parameters);
            let found = gpu.evaluate_on_device(objective, point, Some(&into)).await.unwrap().unwrap();
            assert_eq!((found.value, into.to_vec()), (expected.cost, expected.gradient.clone()));
            let left = gpu.evaluate_on_device(objective, point, None).await.unwrap().unwrap();
            assert_eq!(left.value, expected.cost);
            assert!(!left.gradient.is_null());
        }
    }
}

/// Springs around a ring of so many points in space, the first and the last of which are joined, each with a length of its own.
fn springs(points: u32) -> Model {
    let mut r = Recorder::default();
    let mut squares = Vec::new();
    for axis in 0..3 {
        let (a, b) = (r.parameter(axis), r.parameter(3 + axis));
        let difference = r.apply(Op::Sub, &[a, b]);
        squares.push(r.apply(Op::Mul, &[difference, difference]));
    }
    let sum = squares.into_iter().reduce(|a, b| r.apply(Op::Add, &[a, b])).unwrap();
    let (length, rest) = (r.apply(Op::Norm, &[sum]), r.data(0));
    let residual = r.apply(Op::Sub, &[length, rest]);
    let tape = r.tape(vec![residual], 6, 1);
    let mut input = problem(&[("points", 3, points, "euclidean")]);
    let ends = (0..points).chain((0..points).map(|point| (point + 1) % points)).collect();
    input.add_residuals("springs", vec![0, 0], ends, numbers(31, points as usize, (0.5, 1.5)), tape).unwrap();
    compiled(input)
}

#[wasm_bindgen_test]
async fn sums_over_lists_agree_in_pairs_and_in_chunks() {
    let model = springs(20_000);
    let x = numbers(37, 60_000, (-1.0, 1.0));
    for (width, batch_size) in [(Width::Pair, None), (Width::Pair, Some(9000)), (Width::Single, None)] {
        let (mut gpu, mut cpu) = both_in(width, model.clone(), &x, batch_size).await;
        let lists = &gpu.on_device().unwrap().0.layout().lists.of_chunks;
        assert!(lists.iter().any(Option::is_some), "{width:?}, chunks of {batch_size:?}");
        for objective in OBJECTIVES {
            let [found, expected] = [
                gpu.evaluate_with_gradient(objective, None).await.unwrap(),
                cpu.evaluate_with_gradient(objective, None).await.unwrap(),
            ];
            let off = difference(&found.gradient, &expected.gradient);
            let value = ((found.cost - expected.cost) / expected.cost).abs();
            console_log!("springs, {width:?}, {objective:?}, {batch_size:?}: value {value:.1e}, gradient {off:.1e}");
            assert_eq!(off < BOUND && value < BOUND, width == Width::Pair);
            assert!(width == Width::Pair || off > CONTROL);
        }
    }
}

#[wasm_bindgen_test]
async fn data_that_the_application_writes_are_single_numbers() {
    let model = springs(300);
    let x = numbers(41, 900, (-1.0, 1.0));
    let (mut gpu, mut cpu) = both_in(Width::Pair, model.clone(), &x, None).await;
    let lengths = &model.batches[0].data;
    let parts = vec![DataPart { batch: Some(0), first: 0, sources: (0..300).collect() }];
    let context = gpu.on_device().unwrap().0.context().clone();
    gpu.share_data(NewSharedData::new(&context, lengths, parts).unwrap()).await.unwrap();
    let mut whole = compare(&mut gpu, &mut cpu, Objective::LeastSquares).await;
    // The lengths are 1e-8 from numbers of single precision at most.
    assert!(whole.gradient > 1e-9, "the CPU has all digits of the data");
    let rounded: Vec<f64> = lengths.iter().map(|&length| f64::from(length as f32)).collect();
    cpu.set_data(0, 0, &rounded).unwrap();
    whole = compare(&mut gpu, &mut cpu, Objective::LeastSquares).await;
    assert!(worst(&whole) < BOUND, "and the device what f32 holds");
}
