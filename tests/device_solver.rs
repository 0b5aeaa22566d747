//! Levenberg-Marquardt on the device against the same in f64 on the CPU, in a browser on a real WebGPU device.
#![cfg(target_arch = "wasm32")]
// What fails here fails the test, which is what unwrap() says.
#![allow(clippy::unwrap_used)]

mod recorder;

use recorder::Recorder;
use residua::batch::{ArrayInfo, BlockInfo, Manifold, Model, Recipe, Tape};
use residua::functions::cpu::CpuEngine;
use residua::functions::gpu::GpuEngine;
use residua::functions::{Engine, Functions};
use residua::gpu::Context;
use residua::graph::Op;
use residua::losses::LossParameters;
use residua::solve::device::minimise_on_device;
use residua::solve::{
    Arithmetic, IterationSummary, LevenbergMarquardtOptions, Listener, Solution, Termination, minimise_least_squares,
};
use wasm_bindgen_test::{console_log, wasm_bindgen_test, wasm_bindgen_test_configure};

wasm_bindgen_test_configure!(run_in_browser);

/// A model of one array and one kind of residual.
fn model(
    dim: u32,
    count: u32,
    manifold: Manifold,
    slots: Vec<u32>,
    indices: Vec<u32>,
    data: Vec<f64>,
    tape: Tape,
) -> Model {
    let array = ArrayInfo { name: "x".to_owned(), dim, count, offset: 0, manifold };
    let instances = (indices.len() / slots.len()) as u32;
    let outputs = tape.outputs().len() as u32;
    let rows = instances * outputs;
    let recipe = Recipe {
        block: 0,
        instances: (0..instances).collect(),
        rows: (0..instances).map(|instance| instance * outputs).collect(),
        slots,
        indices,
        data_columns: data.len() as u32 / instances,
        data,
        tape,
    };
    let batches = vec![recipe.into_batch(std::slice::from_ref(&array)).unwrap()];
    let loss = LossParameters::squared();
    let block = BlockInfo { name: "r".to_owned(), instances, first_row: 0, rows, weight: 1.0, loss, enabled: true };
    Model { arrays: vec![array], blocks: vec![block], batches, num_params: dim * count, num_residuals: rows }
}

/// A small multiplicative congruential generator (Lehmer; Park and Miller 1988): the same numbers every run.
struct Random(u64);

impl Random {
    fn uniform(&mut self, low: f64, high: f64) -> f64 {
        self.0 = self.0 * 48_271 % 0x7fff_ffff;
        f64::from((low + (high - low) * (self.0 as f64 / 0x7fff_ffff as f64)) as f32)
    }
}

/// 10(x₁ − x₀²), 1 − x₀.
fn rosenbrock() -> Model {
    let mut r = Recorder::default();
    let (x, y) = (r.parameter(0), r.parameter(1));
    let square = r.apply(Op::Mul, &[x, x]);
    let valley = r.apply(Op::Sub, &[y, square]);
    let ten = r.constant(10.0);
    let first = r.apply(Op::Mul, &[ten, valley]);
    let one = r.constant(1.0);
    let second = r.apply(Op::Sub, &[one, x]);
    let tape = r.tape(vec![first, second], 2, 0);
    model(2, 1, Manifold::Euclidean, vec![0], vec![0], Vec::new(), tape)
}

/// Springs of rest length 1 on a grid: each vertex with its right, lower and lower-right neighbour.
fn springs(side: u32) -> Model {
    let (mut from, mut to) = (Vec::new(), Vec::new());
    for i in 0..side {
        for j in 0..side {
            for (di, dj) in [(0, 1), (1, 0), (1, 1)] {
                if i + di < side && j + dj < side {
                    from.push(i * side + j);
                    to.push((i + di) * side + j + dj);
                }
            }
        }
    }
    let mut r = Recorder::default();
    let ends: Vec<u32> = (0..6).map(|number| r.parameter(number)).collect();
    let squares: Vec<u32> = (0..3)
        .map(|k| {
            let difference = r.apply(Op::Sub, &[ends[k], ends[k + 3]]);
            r.apply(Op::Mul, &[difference, difference])
        })
        .collect();
    let sum = r.apply(Op::Add, &[squares[0], squares[1]]);
    let sum = r.apply(Op::Add, &[sum, squares[2]]);
    let length = r.apply(Op::Sqrt, &[sum]);
    let rest = r.constant(1.0);
    let residual = r.apply(Op::Sub, &[length, rest]);
    let tape = r.tape(vec![residual], 6, 0);
    let indices = from.into_iter().chain(to).collect();
    model(3, side * side, Manifold::Euclidean, vec![0, 0], indices, Vec::new(), tape)
}

fn scattered(numbers: u32) -> Vec<f64> {
    let mut random = Random(17);
    (0..numbers).map(|_| random.uniform(0.0, 10.0)).collect()
}

async fn context() -> Context {
    Context::create(None, None).await.expect("a WebGPU device: these tests need one")
}

async fn on_gpu(context: &Context, model: Model, x: &[f64]) -> Functions {
    let engine = GpuEngine::new(context.clone(), &model, None).await.unwrap();
    Functions::new(model, Engine::Gpu(Box::new(engine)), x.to_vec()).unwrap()
}

fn on_cpu(model: Model, x: &[f64]) -> Functions {
    Functions::new(model, Engine::Cpu(CpuEngine::new()), x.to_vec()).unwrap()
}

#[derive(Default)]
struct Heard {
    iterations: Vec<IterationSummary>,
    stop_at: Option<u32>,
}

impl Listener for Heard {
    fn iteration(&mut self, summary: &IterationSummary) -> bool {
        self.iterations.push(*summary);
        self.stop_at.is_some_and(|stop| summary.iteration >= stop)
    }

    fn aborted(&mut self) -> bool {
        false
    }
}

fn options() -> LevenbergMarquardtOptions {
    LevenbergMarquardtOptions::defaults(Arithmetic::SINGLE)
}

async fn solve(functions: &mut Functions, options: &LevenbergMarquardtOptions) -> Solution {
    let mut heard = Heard::default();
    let solution = minimise_on_device(functions, options, true, &mut heard).await.unwrap();
    // As text, since a gain of 0/0 is NaN.
    let text = |iterations: &[IterationSummary]| format!("{iterations:?}");
    assert_eq!(text(&heard.iterations), text(&solution.summary.history), "every iteration is heard of, in order");
    for (number, iteration) in solution.summary.history.iter().enumerate() {
        assert_eq!(iteration.iteration as usize, number);
    }
    for iteration in &solution.summary.history {
        console_log!(
            "{:3} {:.8} {:.3e} g {:.3e} d {:.3e} {} l {:.1e} gain {:.3} pcg {:?}",
            iteration.iteration,
            iteration.cost,
            iteration.cost_change,
            iteration.gradient_max_norm,
            iteration.step_norm,
            iteration.accepted,
            iteration.damping.unwrap(),
            iteration.gain_ratio.unwrap_or(f64::NAN),
            iteration.linear_iterations
        );
    }
    console_log!("{:?}: {}", solution.summary.termination, solution.summary.message);
    solution
}

#[wasm_bindgen_test]
async fn rosenbrock_is_solved() {
    let mut functions = on_gpu(&context().await, rosenbrock(), &[-1.2, 1.0]).await;
    let solution = solve(&mut functions, &options()).await;
    // The minimum is 0 at (1, 1): f32 residuals of 1e-7 are what is left.
    assert!(solution.x.iter().all(|x| (x - 1.0).abs() < 1e-5), "{:?}", solution.x);
    assert!(solution.summary.success());
    assert_eq!(functions.values(), solution.x);
    assert!((solution.summary.initial_cost - 12.1).abs() < 1e-5);
}

#[wasm_bindgen_test]
async fn a_grid_of_springs_goes_the_way_of_the_cpu() {
    let model = springs(40);
    let x = scattered(model.num_params);
    let steps = LevenbergMarquardtOptions {
        linear_tolerance: 0.0,
        max_linear_iterations: 10,
        linear_solver: Some(residua::linear::Kind::Pcg),
        ..options()
    };
    let mut steps = steps;
    steps.solve.max_iterations = 6;
    let device = solve(&mut on_gpu(&context().await, model.clone(), &x).await, &steps).await;
    let mut heard = Heard::default();
    let host = minimise_least_squares(&mut on_cpu(model, &x), &steps, &mut heard).await.unwrap();
    assert_eq!(device.summary.history.len(), host.summary.history.len());
    for (a, b) in device.summary.history.iter().zip(&host.summary.history) {
        console_log!("{} {} {}", a.iteration, a.cost, b.cost);
        assert_eq!(a.accepted, b.accepted);
        // The first steps are much too long for the model, so that the rounding of f32 grows a thousandfold with each. The very first: the
        // grid has fewer springs than numbers, so what rounding g to f32 leaves outside of the range of Jᵀ is divided by the damping of
        // 1e-3; rounding nothing but g moves this cost by up to 4e-6 of it, rounding nothing but the sums of products by 6e-6.
        let bound = [1e-8, 1e-5, 1e-3, 1e-2][a.iteration.min(3) as usize];
        assert!((a.cost - b.cost).abs() <= bound * b.cost, "{}: {} {}", a.iteration, a.cost, b.cost);
    }
}

/// c₀ exp(−c₁ t) + c₂ − y for samples of such a curve.
fn curve(samples: u32) -> Model {
    let mut r = Recorder::default();
    let c: Vec<u32> = (0..3).map(|number| r.parameter(number)).collect();
    let (t, y) = (r.data(0), r.data(1));
    let product = r.apply(Op::Mul, &[c[1], t]);
    let exponent = r.apply(Op::Neg, &[product]);
    let power = r.apply(Op::Exp, &[exponent]);
    let scaled = r.apply(Op::Mul, &[c[0], power]);
    let value = r.apply(Op::Add, &[scaled, c[2]]);
    let residual = r.apply(Op::Sub, &[value, y]);
    let tape = r.tape(vec![residual], 3, 2);
    let times: Vec<f64> = (0..samples).map(|i| 0.05 * f64::from(i)).collect();
    let values = times.iter().map(|t| 2.0 * (-1.3 * t).exp() + 0.5 + 0.01 * (7.0 * t).sin());
    let data = times.iter().copied().chain(values).map(|number| f64::from(number as f32)).collect();
    model(3, 1, Manifold::Euclidean, vec![0], vec![0; samples as usize], data, tape)
}

#[wasm_bindgen_test]
async fn a_curve_is_fitted_as_on_the_cpu() {
    let model = curve(90);
    let start = [1.0, 1.0, 0.0];
    let device = solve(&mut on_gpu(&context().await, model.clone(), &start).await, &options()).await;
    let mut heard = Heard::default();
    let tight = LevenbergMarquardtOptions::defaults(Arithmetic::DOUBLE);
    let host = minimise_least_squares(&mut on_cpu(model, &start), &tight, &mut heard).await.unwrap();
    // f32 may reach its limit before a tolerance.
    assert!(device.summary.success() || device.summary.termination == Termination::PrecisionLimit);
    for (a, b) in device.x.iter().zip(&host.x) {
        // The cost tolerance of 1e-6 leaves its root in the parameters.
        assert!((a - b).abs() < 1e-3 * b.abs(), "{:?} {:?}", device.x, host.x);
    }
    assert!((device.summary.final_cost - host.summary.final_cost).abs() < 1e-4 * host.summary.final_cost);
}

/// Quaternions whose numbers are to be those of another, times what is given.
fn quaternions(count: u32) -> (Model, Vec<f64>) {
    let mut r = Recorder::default();
    let q: Vec<u32> = (0..4).map(|number| r.parameter(number)).collect();
    let wanted: Vec<u32> = (0..4).map(|number| r.data(number)).collect();
    let outputs = (0..4).map(|k| r.apply(Op::Sub, &[q[k], wanted[k]])).collect();
    let tape = r.tape(outputs, 4, 4);
    let mut random = Random(5);
    let mut columns = vec![Vec::new(); 4];
    for _ in 0..count {
        let numbers: Vec<f64> = (0..4).map(|_| random.uniform(0.2, 1.0)).collect();
        let norm = numbers.iter().map(|q| q * q).sum::<f64>().sqrt();
        for (column, number) in columns.iter_mut().zip(numbers) {
            column.push(f64::from((number / norm) as f32));
        }
    }
    let x = (0..count).flat_map(|_| [1.0, 0.0, 0.0, 0.0]).collect();
    let indices = (0..count).collect();
    (model(4, count, Manifold::UnitQuaternion, vec![0], indices, columns.concat(), tape), x)
}

#[wasm_bindgen_test]
async fn quaternions_stay_on_their_sphere_and_arrive() {
    let context = context().await;
    // Few blocks are solved for in pairs, many in f32.
    for count in [3, 1500] {
        let (model, x) = quaternions(count);
        let wanted = model.batches[0].data.clone();
        let solution = solve(&mut on_gpu(&context, model, &x).await, &options()).await;
        assert!(solution.summary.success());
        for (block, q) in solution.x.chunks_exact(4).enumerate() {
            let norm = q.iter().map(|q| q * q).sum::<f64>().sqrt();
            assert!((norm - 1.0).abs() < 1e-6, "{norm}");
            for (k, q) in q.iter().enumerate() {
                assert!((q - wanted[k * count as usize + block]).abs() < 1e-4);
            }
        }
    }
}

/// Σ dₖxₖ + x₀²/10 at blocks of twelve numbers, with twenty sets of factors d each, which is to be what it is at x = `wanted`.
fn twelve_numbers(wanted: &[f64]) -> Model {
    const NUMBERS: u32 = 12;
    const EACH: u32 = 20;
    let mut r = Recorder::default();
    let x: Vec<u32> = (0..NUMBERS).map(|number| r.parameter(number)).collect();
    let tenth = r.constant(0.1);
    let square = r.apply(Op::Mul, &[x[0], x[0]]);
    let mut sum = r.apply(Op::Mul, &[tenth, square]);
    for k in 0..NUMBERS {
        let factor = r.data(k);
        let term = r.apply(Op::Mul, &[factor, x[k as usize]]);
        sum = r.apply(Op::Add, &[sum, term]);
    }
    let value = r.data(NUMBERS);
    let residual = r.apply(Op::Sub, &[sum, value]);
    let tape = r.tape(vec![residual], NUMBERS, NUMBERS + 1);
    let count = wanted.len() as u32 / NUMBERS;
    let mut random = Random(29);
    let mut columns: Vec<Vec<f64>> = vec![Vec::new(); NUMBERS as usize + 1];
    for instance in 0..EACH * count {
        let block = &wanted[(instance / EACH * NUMBERS) as usize..][..NUMBERS as usize];
        let mut value = 0.1 * block[0] * block[0];
        for (column, x) in columns.iter_mut().zip(block) {
            let factor = random.uniform(-1.0, 1.0);
            column.push(factor);
            value += factor * x;
        }
        columns[NUMBERS as usize].push(f64::from(value as f32));
    }
    let indices = (0..EACH * count).map(|instance| instance / EACH).collect();
    model(NUMBERS, count, Manifold::Euclidean, vec![0], indices, columns.concat(), tape)
}

#[wasm_bindgen_test]
async fn blocks_of_more_than_ten_numbers_are_solved_for() {
    let context = context().await;
    // Few blocks are solved for in pairs, many in f32; each number is a block of its own for the preconditioner.
    for (count, steps) in [(3, 20), (1100, 2)] {
        let mut random = Random(11);
        let wanted: Vec<f64> = (0..12 * count).map(|_| random.uniform(-1.0, 1.0)).collect();
        let start: Vec<f64> = wanted.iter().map(|x| x + 0.25).collect();
        let mut options = options();
        options.solve.max_iterations = steps;
        let solution = solve(&mut on_gpu(&context, twelve_numbers(&wanted), &start).await, &options).await;
        // The model is nearly linear: what the first step leaves is what conjugate gradients leave of it at a tolerance of 0.1 at most.
        assert!(solution.summary.final_cost < 1e-3 * solution.summary.initial_cost);
        if steps == 2 {
            continue;
        }
        assert!(solution.summary.success());
        for (x, wanted) in solution.x.iter().zip(&wanted) {
            // The cost tolerance of 1e-6 leaves its root in the parameters at most.
            assert!((x - wanted).abs() < 1e-3, "{x} {wanted}");
        }
    }
}

/// Factors that many share, and pairs of numbers of which each belongs to one: a·b₀ − y₀, c + b₁ + b₁³ − y₁, b₀ − b₁ − y₂.
fn shared(pairs: u32) -> Model {
    const SHARED: u32 = 2;
    let mut r = Recorder::default();
    let x: Vec<u32> = (0..4).map(|number| r.parameter(number)).collect();
    let product = r.apply(Op::Mul, &[x[0], x[2]]);
    let square = r.apply(Op::Mul, &[x[3], x[3]]);
    let cube = r.apply(Op::Mul, &[square, x[3]]);
    let rising = r.apply(Op::Add, &[x[3], cube]);
    let shifted = r.apply(Op::Add, &[x[1], rising]);
    let difference = r.apply(Op::Sub, &[x[2], x[3]]);
    let outputs = [product, shifted, difference]
        .into_iter()
        .enumerate()
        .map(|(k, value)| {
            let y = r.data(k as u32);
            r.apply(Op::Sub, &[value, y])
        })
        .collect();
    let tape = r.tape(outputs, 4, 3);
    let array = |name: &str, count, offset| ArrayInfo {
        name: name.to_owned(),
        dim: 2,
        count,
        offset,
        manifold: Manifold::Euclidean,
    };
    let arrays = vec![array("factors", SHARED, 0), array("pairs", pairs, 2 * SHARED)];
    let mut random = Random(23);
    let recipe = Recipe {
        block: 0,
        instances: (0..pairs).collect(),
        rows: (0..pairs).map(|instance| 3 * instance).collect(),
        slots: vec![0, 1],
        indices: (0..pairs).map(|i| i % SHARED).chain(0..pairs).collect(),
        data_columns: 3,
        data: (0..3 * pairs).map(|_| random.uniform(0.5, 2.0)).collect(),
        tape,
    };
    let batches = vec![recipe.into_batch(&arrays).unwrap()];
    let loss = LossParameters::squared();
    let (rows, name) = (3 * pairs, "r".to_owned());
    let block = BlockInfo { name, instances: pairs, first_row: 0, rows, weight: 1.0, loss, enabled: true };
    Model { arrays, blocks: vec![block], batches, num_params: 2 * (SHARED + pairs), num_residuals: rows }
}

#[wasm_bindgen_test]
async fn bounds_on_several_arrays_hold_as_on_the_cpu() {
    let model = shared(1100);
    let numbers = model.num_params as usize;
    let x: Vec<f64> = (0..numbers).map(|i| if i % 2 == 0 { 1.0 } else { 0.5 }).collect();
    // Of the shared factors one from above, of the pairs every third number from below and every fifth from above.
    let mut lower = vec![f64::NEG_INFINITY; numbers];
    let mut upper = vec![f64::INFINITY; numbers];
    upper[0] = 1.0;
    (4..numbers).step_by(3).for_each(|i| lower[i] = 0.5);
    (4..numbers).step_by(5).for_each(|i| upper[i] = 1.0);
    let mut functions = on_gpu(&context().await, model.clone(), &x).await;
    functions.set_bounds(lower.clone(), upper.clone()).unwrap();
    let device = solve(&mut functions, &options()).await;
    let mut functions = on_cpu(model, &x);
    functions.set_bounds(lower.clone(), upper.clone()).unwrap();
    let tight = LevenbergMarquardtOptions::defaults(Arithmetic::DOUBLE);
    let host = minimise_least_squares(&mut functions, &tight, &mut Heard::default()).await.unwrap();
    let at_bounds = |x: &[f64]| x.iter().enumerate().filter(|&(i, x)| *x == lower[i] || *x == upper[i]).count();
    console_log!("{} {}, cost {}", at_bounds(&device.x), at_bounds(&host.x), host.summary.final_cost);
    assert!(device.summary.success() && host.summary.success());
    assert!(device.x.iter().enumerate().all(|(i, x)| (lower[i]..=upper[i]).contains(x)));
    assert!(at_bounds(&host.x) > 100 && at_bounds(&device.x) > 100);
    // The cost tolerance of 1e-6, and the way there that is another.
    let share = device.summary.final_cost / host.summary.final_cost - 1.0;
    assert!(share.abs() < 1e-5, "{share}");
}

#[wasm_bindgen_test]
async fn bounds_hold_and_constants_stay() {
    let context = context().await;
    let mut functions = on_gpu(&context, rosenbrock(), &[-1.2, 1.0]).await;
    functions.set_bounds(vec![f64::NEG_INFINITY, f64::NEG_INFINITY], vec![0.5, f64::INFINITY]).unwrap();
    let solution = solve(&mut functions, &options()).await;
    // On the bound x = ½ the valley is at y = ¼, and the cost ½(1 − ½)².
    assert_eq!(solution.x[0], 0.5);
    assert!((solution.x[1] - 0.25).abs() < 1e-5 && (solution.summary.final_cost - 0.125).abs() < 1e-6);
    assert!(solution.summary.success());

    let mut functions = on_gpu(&context, rosenbrock(), &[-1.2, 1.0]).await;
    functions.set_constant(vec![false, true]).unwrap();
    let solution = solve(&mut functions, &options()).await;
    assert_eq!(solution.x[1], 1.0);
    assert!(solution.x[0].abs() > 0.9, "{:?}", solution.x);
    functions.set_constant(vec![false, false]).unwrap();
    let solution = solve(&mut functions, &options()).await;
    assert!(solution.x.iter().all(|x| (x - 1.0).abs() < 1e-4), "freed: {:?}", solution.x);
}

#[wasm_bindgen_test]
async fn twenty_steps_read_back_at_most_five_times_and_repeat_to_the_bit() {
    let context = context().await;
    let model = springs(12);
    let x = scattered(model.num_params);
    let mut options = options();
    options.solve.max_iterations = 20;
    (options.solve.cost_tolerance, options.solve.gradient_tolerance, options.solve.parameter_tolerance) =
        (0.0, 0.0, 0.0);
    for linear_tolerance in [0.0, 0.1] {
        options.linear_tolerance = linear_tolerance;
        options.max_linear_iterations = 10;
        let mut functions = on_gpu(&context, model.clone(), &x).await;
        let mut histories = Vec::new();
        for _ in 0..2 {
            functions.set_values(x.clone()).unwrap();
            let before = context.stats().readbacks;
            let mut heard = Heard::default();
            let solution = minimise_on_device(&mut functions, &options, false, &mut heard).await.unwrap();
            let readbacks = context.stats().readbacks - before;
            assert!(readbacks <= 5, "{readbacks}");
            assert_eq!(solution.summary.termination, Termination::MaxIterations);
            assert!(solution.x.is_empty());
            assert_eq!(heard.iterations.len(), 21);
            let timeless = |iteration: &IterationSummary| IterationSummary { elapsed_ms: 0.0, ..*iteration };
            histories.push(heard.iterations.iter().map(timeless).collect::<Vec<_>>());
            functions.bring_values().await.unwrap();
            assert_ne!(functions.values(), x);
        }
        assert_eq!(histories[0], histories[1]);
    }
}

#[wasm_bindgen_test]
async fn a_listener_ends_a_solve_within_two_batches_and_a_start_that_is_nan_is_an_error() {
    let context = context().await;
    let model = springs(12);
    let x = scattered(model.num_params);
    let mut options = options();
    options.solve.max_iterations = 1000;
    (options.solve.cost_tolerance, options.solve.gradient_tolerance, options.solve.parameter_tolerance) =
        (0.0, 0.0, 0.0);
    let mut heard = Heard { stop_at: Some(1), ..Heard::default() };
    let mut functions = on_gpu(&context, model.clone(), &x).await;
    let solution = minimise_on_device(&mut functions, &options, true, &mut heard).await.unwrap();
    assert_eq!(solution.summary.termination, Termination::Aborted);
    assert!(solution.summary.iterations <= 12, "{}", solution.summary.iterations);
    assert!(solution.summary.final_cost < solution.summary.initial_cost);

    let mut start = x.clone();
    start[3] = f64::NAN;
    functions.set_values(start).unwrap();
    let error = minimise_on_device(&mut functions, &options, true, &mut Heard::default()).await.unwrap_err();
    assert_eq!(error.code, residua::ErrorCode::NonFinite);
    functions.set_values(x).unwrap();
    options.solve.max_iterations = 3;
    assert!(minimise_on_device(&mut functions, &options, true, &mut Heard::default()).await.is_ok());
}
