//! GPU against CPU, in a browser on a real WebGPU device: the whole op table, the losses, and batches that need splitting.
//!
//! Inputs are drawn from each op's domain and rounded to f32, so that both engines see the same numbers. A difference is
//! taken relative to the largest entry of what is compared. The bounds, 1e-5 for values and 1e-4 for derivatives, are the
//! package's promise; what was measured is printed.

use crate::recorder::{Recorder, compiled, params_model, problem, with_any_loss};
use crate::shared_context::shared_context;
use residua::eval::cpu::CpuEngine;
use residua::eval::gpu::GpuEngine;
use residua::eval::{Engine, Functions, Objective};
use residua::model::losses::LossParameters;
use residua::model::{Leaf, Model, Tape};
use residua_codegen::Width;
use residua_ir::graph::Op;
use wasm_bindgen_test::{console_log, wasm_bindgen_test};

const VALUES: f64 = 1e-5;
const DERIVATIVES: f64 = 1e-4;

/// A small multiplicative congruential generator (Lehmer; Park and Miller 1988): the same numbers every run.
pub struct Random(pub u64);

impl Random {
    pub fn uniform(&mut self, (low, high): (f64, f64)) -> f64 {
        self.0 = self.0 * 48_271 % 0x7fff_ffff;
        let unit = self.0 as f64 / 0x7fff_ffff as f64;
        f64::from((low + (high - low) * unit) as f32)
    }
}

/// `instances` residuals that each apply an op to parameters of their own.
pub fn op_tape(op: Op, instances: u32) -> Tape {
    let arity = op.arity() as u32;
    let (mut ops, mut operands, mut outputs) = (Vec::new(), [const { Vec::new() }; 3], Vec::new());
    let mut push = |code: u8, entry: [u32; 3]| {
        ops.push(code);
        for (column, operand) in operands.iter_mut().zip(entry) {
            column.push(operand);
        }
        ops.len() as u32 - 1
    };
    for instance in 0..instances {
        let mut entry = [0; 3];
        for operand in 0..arity {
            entry[operand as usize] = push(Leaf::Parameter as u8, [instance * arity + operand, 0, 0]);
        }
        outputs.push(push(op as u8, entry));
    }
    Tape::new(ops, operands, Vec::new(), outputs, instances * arity, 0).unwrap()
}

async fn both(model: Model, x: &[f64], batch_size: Option<u32>) -> (Functions, Functions) {
    both_in(Width::Single, model, x, batch_size).await
}

/// Functions on the GPU in numbers of a width, and on the CPU.
pub async fn both_in(width: Width, model: Model, x: &[f64], batch_size: Option<u32>) -> (Functions, Functions) {
    let gpu = GpuEngine::new(shared_context().await, &model, width, batch_size).await.unwrap();
    let gpu = Functions::new(model.clone(), Engine::Gpu(Box::new(gpu)), x.to_vec()).unwrap();
    (gpu, Functions::new(model, Engine::Cpu(CpuEngine::new()), x.to_vec()).unwrap())
}

/// Largest difference over the largest magnitude; places where one is not finite must agree exactly.
pub fn difference(got: &[f64], expected: &[f64]) -> f64 {
    assert_eq!(got.len(), expected.len());
    let scale = expected.iter().filter(|e| e.is_finite()).fold(0.0f64, |scale, e| scale.max(e.abs()));
    let mut worst = 0.0f64;
    for (got, expected) in got.iter().zip(expected) {
        if got.is_finite() && expected.is_finite() {
            worst = worst.max((got - expected).abs());
        } else if !(got == expected || got.is_nan() && expected.is_nan()) {
            return f64::INFINITY;
        }
    }
    if worst == 0.0 { 0.0 } else { worst / scale }
}

pub struct Differences {
    pub values: f64,
    pub sum: f64,
    pub gradient: f64,
    pub jacobian: f64,
}

pub async fn compare(gpu: &mut Functions, cpu: &mut Functions, objective: Objective) -> Differences {
    let values = difference(&gpu.evaluate(None).await.unwrap(), &cpu.evaluate(None).await.unwrap());
    let (on_gpu, on_cpu) = (
        gpu.evaluate_with_gradient(objective, None).await.unwrap(),
        cpu.evaluate_with_gradient(objective, None).await.unwrap(),
    );
    let (gpu_jacobian, cpu_jacobian) =
        (gpu.evaluate_jacobian(None).await.unwrap(), cpu.evaluate_jacobian(None).await.unwrap());
    assert_eq!(gpu.pattern(), cpu.pattern());
    // The sum may cancel: its scale is that of the largest addend.
    let residuals = cpu.evaluate(None).await.unwrap();
    let scale = residuals.iter().fold(on_cpu.cost.abs(), |scale, r| scale.max(r.abs()));
    Differences {
        values,
        sum: if on_gpu.cost == on_cpu.cost { 0.0 } else { (on_gpu.cost - on_cpu.cost).abs() / scale },
        gradient: difference(&on_gpu.gradient, &on_cpu.gradient),
        jacobian: difference(&gpu_jacobian.entries, &cpu_jacobian.entries),
    }
}

#[wasm_bindgen_test]
async fn every_op_agrees_over_its_domain() {
    let context = shared_context().await;
    let mut worst: Vec<String> = Vec::new();
    for &op in Op::ALL {
        let mut random = Random(12_345 + op as u64);
        let instances = 512;
        let x: Vec<f64> = (0..instances).flat_map(|_| op.domain()).map(|&domain| random.uniform(domain)).collect();
        let model = params_model(op_tape(op, instances), x.len() as u32);
        let gpu = GpuEngine::new(context.clone(), &model, Width::Single, None).await.unwrap();
        let mut gpu = Functions::new(model.clone(), Engine::Gpu(Box::new(gpu)), x.clone()).unwrap();
        let mut cpu = Functions::new(model, Engine::Cpu(CpuEngine::new()), x).unwrap();
        let d = compare(&mut gpu, &mut cpu, Objective::Sum).await;
        console_log!(
            "{:>13}: values {:.1e}, sum {:.1e}, gradient {:.1e}, Jacobian {:.1e}",
            op.name(),
            d.values,
            d.sum,
            d.gradient,
            d.jacobian
        );
        if !(d.values < VALUES && d.gradient < DERIVATIVES && d.jacobian < DERIVATIVES) {
            worst.push(op.name().to_owned());
        }
    }
    assert!(worst.is_empty(), "GPU and CPU differ: {worst:?}");
}

#[wasm_bindgen_test]
async fn every_loss_agrees() {
    let x: Vec<f64> = {
        let mut random = Random(99);
        (0..512).map(|_| random.uniform((-5.0, 5.0))).collect()
    };
    let model = with_any_loss(params_model(op_tape(Op::Neg, 512), 512));
    let (mut gpu, mut cpu) = both(model, &x, None).await;
    each_loss_is_within([VALUES, DERIVATIVES], &mut gpu, &mut cpu).await;
}

/// Compares costs and gradients of both engines with each loss in turn; they may differ by these bounds.
pub async fn each_loss_is_within([of_cost, of_gradient]: [f64; 2], gpu: &mut Functions, cpu: &mut Functions) {
    for (kind, a, b) in [
        ("squared", 0.0, 0.0),
        ("huber", 0.7, 0.0),
        ("softL1", 0.7, 0.0),
        ("cauchy", 0.7, 0.0),
        ("arctan", 0.7, 0.0),
        ("tukey", 3.0, 0.0),
        ("tolerant", 1.5, 0.4),
    ] {
        for functions in [&mut *gpu, &mut *cpu] {
            functions.set_loss(0, LossParameters::new(kind, a, b, 1.5).unwrap()).unwrap();
            functions.set_weight(0, 0.3).unwrap();
        }
        let d = compare(gpu, cpu, Objective::LeastSquares).await;
        console_log!("{kind:>10}: cost {:.1e}, gradient {:.1e}", d.sum, d.gradient);
        assert!(d.sum < of_cost && d.gradient < of_gradient, "{kind}");
    }
}

#[wasm_bindgen_test]
async fn a_batch_split_into_chunks_gives_what_the_whole_gives() {
    let mut random = Random(7);
    let x: Vec<f64> = (0..2000).map(|_| random.uniform((0.5, 2.0))).collect();
    let model = params_model(op_tape(Op::Div, 1000), 2000);
    let (mut whole, mut cpu) = both(model.clone(), &x, None).await;
    let (mut split, _) = both(model, &x, Some(64)).await;
    let d = compare(&mut split, &mut cpu, Objective::Sum).await;
    assert!(d.values < VALUES && d.sum < VALUES && d.gradient < DERIVATIVES && d.jacobian < DERIVATIVES);
    assert_eq!(whole.evaluate(None).await.unwrap(), split.evaluate(None).await.unwrap());
}

#[wasm_bindgen_test]
async fn results_repeat_to_the_bit() {
    let mut random = Random(3);
    let x: Vec<f64> = (0..4096).map(|_| random.uniform((-2.0, 2.0))).collect();
    let (mut gpu, _) = both(params_model(op_tape(Op::Sin, 4096), 4096), &x, None).await;
    let first = gpu.evaluate_with_gradient(Objective::LeastSquares, None).await.unwrap();
    for _ in 0..5 {
        let again = gpu.evaluate_with_gradient(Objective::LeastSquares, None).await.unwrap();
        assert_eq!(first, again);
    }
}

#[wasm_bindgen_test]
async fn more_than_four_million_instances_take_a_second_dimension_of_workgroups() {
    // 65,535 workgroups of 64 are 4,194,240 instances.
    let count = 4_200_000u32;
    let parameters = 1000;
    let mut r = Recorder::default();
    let x = r.parameter(0);
    let negative = r.apply(Op::Neg, &[x]);
    let indices = (0..count).map(|instance| instance % parameters).collect();
    let model =
        crate::recorder::model(1, parameters, "euclidean", vec![0], indices, Vec::new(), r.tape(vec![negative], 1, 0));
    let x: Vec<f64> = (0..parameters).map(f64::from).collect();
    let gpu = GpuEngine::new(shared_context().await, &model, Width::Single, None).await.unwrap();
    let mut gpu = Functions::new(model, Engine::Gpu(Box::new(gpu)), x).unwrap();
    let residuals = gpu.evaluate(None).await.unwrap();
    assert_eq!(residuals.len(), count as usize);
    assert!(residuals.iter().enumerate().all(|(instance, &r)| r == -((instance % 1000) as f64)));
    let sum = gpu.evaluate_with_gradient(Objective::Sum, None).await.unwrap();
    // Whole numbers: sums of 64 stay below 2²⁴ and are exact, the rest is compensated and added in f64.
    assert_eq!(sum.cost, -f64::from(count / 1000) * 499_500.0);
    assert!(sum.gradient.iter().all(|&g| g == -4200.0), "each parameter gathers 4,200 entries");
}

/// Residuals of many kinds, mixed, so that rows of one kind do not stand together: with data, with a parameter that all share,
/// with stopGradient beside the same without, and one that is a long sum.
pub fn mixed_tape() -> (Tape, u32) {
    let parameters = 300;
    let mut r = Recorder::default();
    let mut outputs = Vec::new();
    let mut addends = Vec::new();
    let shared = r.parameter(0);
    for number in 1..parameters {
        let x = r.parameter(number);
        outputs.push(match number % 4 {
            0 => {
                let target = r.constant(f64::from(number) / 300.0);
                let difference = r.apply(Op::Sub, &[x, target]);
                r.apply(Op::Mul, &[difference, difference])
            }
            1 => {
                let sine = r.apply(Op::Sin, &[shared]);
                r.apply(Op::Mul, &[sine, x])
            }
            2 => {
                let held = r.apply(Op::StopGradient, &[x]);
                r.apply(Op::Mul, &[x, held])
            }
            _ => r.apply(Op::Mul, &[x, x]),
        });
        addends.push(r.apply(Op::Exp, &[x]));
    }
    let sum = addends.into_iter().reduce(|a, b| r.apply(Op::Add, &[a, b])).unwrap();
    let scale = r.constant(0.01);
    let mean = r.apply(Op::Mul, &[sum, scale]);
    outputs.insert(100, mean);
    (r.tape(outputs, parameters, 0), parameters)
}

fn assert_close(d: &Differences, what: &str) {
    console_log!(
        "{what}: values {:.1e}, sum {:.1e}, gradient {:.1e}, Jacobian {:.1e}",
        d.values,
        d.sum,
        d.gradient,
        d.jacobian
    );
    assert!(d.values < VALUES && d.sum < VALUES && d.gradient < DERIVATIVES && d.jacobian < DERIVATIVES, "{what}");
}

#[wasm_bindgen_test]
async fn residuals_of_many_kinds_agree_whole_and_in_chunks() {
    let (tape, parameters) = mixed_tape();
    let mut random = Random(11);
    let x: Vec<f64> = (0..parameters).map(|_| random.uniform((-1.0, 1.0))).collect();
    let model = with_any_loss(params_model(tape, parameters));
    assert!(model.batches.len() >= 5 && model.batches.iter().any(|batch| batch.has_addends()));
    for batch_size in [None, Some(7)] {
        let (mut gpu, mut cpu) = both(model.clone(), &x, batch_size).await;
        for objective in [Objective::Sum, Objective::LeastSquares] {
            let d = compare(&mut gpu, &mut cpu, objective).await;
            assert_close(&d, &format!("{objective:?}, batches of {batch_size:?}"));
        }
        for functions in [&mut gpu, &mut cpu] {
            functions.set_weight(0, 0.4).unwrap();
            functions.set_loss(0, LossParameters::new("cauchy", 0.5, 0.0, 2.0).unwrap()).unwrap();
            functions.set_constant((0..parameters).map(|parameter| parameter % 5 == 0).collect()).unwrap();
        }
        assert_close(&compare(&mut gpu, &mut cpu, Objective::LeastSquares).await, "weighted, robust, part constant");
        assert_eq!(gpu.evaluate_with_gradient(Objective::Sum, None).await.unwrap().gradient[5], 0.0);
        for functions in [&mut gpu, &mut cpu] {
            functions.set_enabled(0, false).unwrap();
            let nothing = functions.evaluate_with_gradient(Objective::LeastSquares, None).await.unwrap();
            assert!(nothing.cost == 0.0 && nothing.gradient.iter().all(|&g| g == 0.0));
            functions.set_enabled(0, true).unwrap();
        }
        assert_close(&compare(&mut gpu, &mut cpu, Objective::LeastSquares).await, "enabled again");
    }
}

/// Two blocks of the same formula over arrays of dimension 2 and 3, of which it leaves coordinates out; then one with three
/// outputs and two columns of data, whose rows start at an odd place.
pub fn problem_model() -> Model {
    let mut input = problem(&[("a", 2, 60, "euclidean"), ("b", 3, 60, "euclidean")]);
    let difference = |dim: u32| {
        let mut r = Recorder::default();
        let (p, q) = (r.parameter(0), r.parameter(dim));
        let difference = r.apply(Op::Sub, &[p, q]);
        r.tape(vec![difference], 2 * dim, 0)
    };
    let products = {
        let mut r = Recorder::default();
        let point: Vec<u32> = (0..3).map(|axis| r.parameter(axis)).collect();
        let (first, second) = (r.data(0), r.data(1));
        let scale = r.apply(Op::Add, &[first, second]);
        let outputs = point.iter().map(|&p| r.apply(Op::Mul, &[p, scale])).collect();
        r.tape(outputs, 3, 2)
    };
    let pairs = |count: u32| (0..count).chain((0..count).map(move |i| (i + 1) % count)).collect::<Vec<u32>>();
    let data = (0..120).map(|i| f64::from(i) / 16.0).collect();
    input.add_residuals("block 0", vec![0, 0], pairs(59), Vec::new(), difference(2)).unwrap();
    input.add_residuals("block 1", vec![1, 1], pairs(60), Vec::new(), difference(3)).unwrap();
    input.add_residuals("block 2", vec![1], (0..60).rev().collect(), data, products).unwrap();
    let mut model = compiled(input);
    for (block, weight) in model.blocks.iter_mut().zip([1.0, 2.0, 3.0]) {
        block.weight = weight;
    }
    model
}

#[wasm_bindgen_test]
async fn blocks_of_other_dimensions_agree_and_take_new_data() {
    let mut random = Random(5);
    let x: Vec<f64> = (0..300).map(|_| random.uniform((-1.0, 1.0))).collect();
    for batch_size in [None, Some(11)] {
        let (mut gpu, mut cpu) = both(problem_model(), &x, batch_size).await;
        for objective in [Objective::Sum, Objective::LeastSquares] {
            let d = compare(&mut gpu, &mut cpu, objective).await;
            assert_close(&d, &format!("{objective:?}, batches of {batch_size:?}"));
        }
        let data: Vec<f64> = (0..60).map(|i| f64::from(i * i) / 64.0).collect();
        for functions in [&mut gpu, &mut cpu] {
            functions.set_data(2, 1, &data).unwrap();
            functions.set_enabled(1, false).unwrap();
        }
        assert_close(&compare(&mut gpu, &mut cpu, Objective::LeastSquares).await, "with new data and a block less");
    }
}
