//! Levenberg-Marquardt on the device against the same in f64 on the CPU, in a browser on a real WebGPU device.

use crate::least_squares::{
    Edge, Random, curve, grid, quaternions, root_and_line, rosenbrock, scattered, shared, springs, twelve_numbers,
};
use crate::on_engines::{on_cpu, on_gpu};
use crate::shared_context::shared_context;
use crate::{damped_steps, landmarks, mixture};
use residua::eval::gpu::GpuEngine;
use residua::eval::{Engine, Functions};
use residua::solve::levenberg_marquardt::device::{self, minimise_on_device};
use residua::solve::levenberg_marquardt::host::SolverResources;
use residua::solve::{
    IterationSummary, LevenbergMarquardtOptions, Listener, Solution, Termination, minimise_least_squares,
};
use residua_codegen::Width;
use residua_linalg::PcgOptions;
use wasm_bindgen_test::{console_log, wasm_bindgen_test};

#[derive(Default)]
struct Heard {
    iterations: Vec<IterationSummary>,
    stop_at: Option<u32>,
    is_aborted: bool,
}

impl Listener for Heard {
    fn iteration(&mut self, summary: &IterationSummary) -> bool {
        self.iterations.push(*summary);
        self.stop_at.is_some_and(|stop| summary.iteration >= stop)
    }

    fn aborted(&mut self) -> bool {
        self.is_aborted
    }
}

/// The numbers as the device holds them.
fn singles(x: &[f64]) -> Vec<f64> {
    x.iter().map(|&x| f64::from(x as f32)).collect()
}

fn options() -> LevenbergMarquardtOptions {
    LevenbergMarquardtOptions::defaults()
}

/// The resources of device solves of the same functions.
type Kept = Option<device::SolverResources>;

async fn solve(functions: &mut Functions, kept: &mut Kept, options: &LevenbergMarquardtOptions) -> Solution {
    let mut heard = Heard::default();
    let solution = minimise_on_device(functions, kept, options, true, &mut heard).await.unwrap();
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
    console_log!("{:?}: {}", solution.summary.termination, solution.summary.message());
    solution
}

/// All steps of a device were accepted, and each leads to the cost to which it leads in f64 on the CPU, up to these shares of it: at the start and after a
/// step.
async fn goes_the_way_of_the_cpu(
    device: &[IterationSummary],
    host: &mut Functions,
    options: PcgOptions,
    [at_start, after]: [f64; 2],
) {
    assert!(device.iter().all(|step| step.accepted));
    for (step, expected) in device.iter().zip(damped_steps::costs(host, device, options).await) {
        console_log!("{} {} {expected}", step.iteration, step.cost);
        let bound = if step.iteration == 0 { at_start } else { after };
        assert!((step.cost - expected).abs() <= bound * expected, "{}: {} {expected}", step.iteration, step.cost);
    }
}

#[wasm_bindgen_test]
async fn rosenbrock_is_solved() {
    let mut functions = on_gpu(&shared_context().await, Width::Single, &rosenbrock(), &[-1.2, 1.0]).await;
    let solution = solve(&mut functions, &mut None, &options()).await;
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
        linear_solver: Some(residua_linalg::Kind::Pcg),
        // The grid has fewer springs than numbers. With little damping the first steps are much too long, and rounding grows with them.
        initial_damping: Some(1.0),
        ..options()
    };
    let mut steps = steps;
    steps.solve.max_iterations = 6;
    let device = solve(&mut on_gpu(&shared_context().await, Width::Single, &model, &x).await, &mut None, &steps).await;
    assert_eq!(device.summary.iterations, 6);
    // Roundings of some thousand residuals, of their sums, and of six times ten iterations of conjugate gradients.
    let options = PcgOptions { tolerance: 0.0, max_iterations: 10 };
    goes_the_way_of_the_cpu(&device.summary.history, &mut on_cpu(&model, &x), options, [1e-5; 2]).await;
}

#[wasm_bindgen_test]
#[ignore = "long"]
async fn each_way_to_multiply_goes_the_way_of_the_cpu() {
    let context = shared_context().await;
    let mut steps = LevenbergMarquardtOptions {
        linear_tolerance: 0.0,
        max_linear_iterations: 5,
        linear_solver: Some(residua_linalg::Kind::Pcg),
        // With little damping the first step is much too long, and rounding grows with it.
        initial_damping: Some(1.0),
        ..options()
    };
    steps.solve.max_iterations = 1;
    // Models of 4,680 instances are fused, those of 100,833 are not.
    for (edge, side) in
        [Edge::Spring, Edge::Uneven, Edge::Differences].into_iter().flat_map(|edge| [(edge, 40), (edge, 184)])
    {
        let model = grid(side, edge);
        let x = scattered(model.num_params);
        let device = solve(&mut on_gpu(&context, Width::Single, &model, &x).await, &mut None, &steps).await;
        console_log!("{edge:?} {side}");
        assert_eq!(device.summary.iterations, 1);
        // Roundings of residuals; after the step those of five iterations of conjugate gradients, too.
        let options = PcgOptions { tolerance: 0.0, max_iterations: 5 };
        goes_the_way_of_the_cpu(&device.summary.history, &mut on_cpu(&model, &x), options, [2e-6, 2e-5]).await;
    }
}

#[wasm_bindgen_test]
#[ignore = "long"]
async fn each_way_to_multiply_eliminates_as_the_cpu_does() {
    let context = shared_context().await;
    let mut steps = LevenbergMarquardtOptions {
        linear_tolerance: 1e-6,
        linear_solver: Some(residua_linalg::Kind::IterativeSchur),
        initial_damping: Some(0.1),
        ..options()
    };
    steps.solve.max_iterations = 3;
    // Fused lists, light and heavy, with places in pairs of f32 and not; the lists of one gather, where places and landmarks are blocks of one kind.
    for (places, count, has_heading) in [(8, 60, true), (8, 60, false), (1_200, 2_000, true), (5_000, 25_000, false)] {
        let model = landmarks::model(places, count, 5, has_heading);
        let x = landmarks::start(&model);
        let device = solve(&mut on_gpu(&context, Width::Single, &model, &x).await, &mut None, &steps).await;
        assert!(device.details.linear_solver.starts_with("iterative-schur"), "{}", device.details.linear_solver);
        console_log!("{places} {count}");
        assert_eq!(device.summary.iterations, 3);
        // Roundings of f32 residuals, and steps that are solved for to six digits.
        let options = PcgOptions { tolerance: 1e-10, max_iterations: 10_000 };
        goes_the_way_of_the_cpu(&device.summary.history, &mut on_cpu(&model, &x), options, [2e-5; 2]).await;
    }
}

#[wasm_bindgen_test]
async fn a_curve_is_fitted_as_on_the_cpu() {
    let model = curve(90);
    let start = [1.0, 1.0, 0.0];
    let device =
        solve(&mut on_gpu(&shared_context().await, Width::Single, &model, &start).await, &mut None, &options()).await;
    let mut heard = Heard::default();
    let tight = LevenbergMarquardtOptions::defaults();
    let host = minimise_least_squares(&mut on_cpu(&model, &start), &mut SolverResources::default(), &tight, &mut heard)
        .await
        .unwrap();
    // f32 may reach its limit before a tolerance.
    assert!(device.summary.success() || device.summary.termination == Termination::PrecisionLimit);
    for (a, b) in device.x.iter().zip(&host.x) {
        // The cost tolerance of 1e-6 leaves its root in the parameters.
        assert!((a - b).abs() < 1e-3 * b.abs(), "{:?} {:?}", device.x, host.x);
    }
    assert!((device.summary.final_cost - host.summary.final_cost).abs() < 1e-4 * host.summary.final_cost);
}

#[wasm_bindgen_test]
async fn quaternions_stay_on_their_sphere_and_arrive() {
    let context = shared_context().await;
    // Few blocks are solved for in pairs, many in f32.
    for count in [3, 1500] {
        let (model, x) = quaternions(count);
        let wanted = model.batches[0].data.clone();
        let solution = solve(&mut on_gpu(&context, Width::Single, &model, &x).await, &mut None, &options()).await;
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

#[wasm_bindgen_test]
#[ignore = "long"]
async fn blocks_of_more_than_ten_numbers_are_solved_for() {
    let context = shared_context().await;
    // Few blocks are solved for in pairs, many in f32; each number is a block of its own for the preconditioner.
    for (count, steps) in [(3, 20), (1100, 2)] {
        let mut random = Random(11);
        let wanted: Vec<f64> = (0..12 * count).map(|_| random.uniform(-1.0, 1.0)).collect();
        let start: Vec<f64> = wanted.iter().map(|x| x + 0.25).collect();
        let mut options = options();
        options.solve.max_iterations = steps;
        let solution =
            solve(&mut on_gpu(&context, Width::Single, &twelve_numbers(&wanted), &start).await, &mut None, &options)
                .await;
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

#[wasm_bindgen_test]
#[ignore = "long"]
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
    let mut functions = on_gpu(&shared_context().await, Width::Single, &model, &x).await;
    functions.set_bounds(lower.clone(), upper.clone()).unwrap();
    let device = solve(&mut functions, &mut None, &options()).await;
    let mut functions = on_cpu(&model, &x);
    functions.set_bounds(lower.clone(), upper.clone()).unwrap();
    let tight = LevenbergMarquardtOptions::defaults();
    let host = minimise_least_squares(&mut functions, &mut SolverResources::default(), &tight, &mut Heard::default())
        .await
        .unwrap();
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
async fn a_mixture_of_residuals_goes_the_way_of_the_cpu_whoever_takes_part_and_whatever_is_held() {
    let context = shared_context().await;
    let mut steps = LevenbergMarquardtOptions {
        linear_tolerance: 0.0,
        max_linear_iterations: 10,
        linear_solver: Some(residua_linalg::Kind::Pcg),
        // There are fewer springs than numbers: with little damping the first steps are much too long, and rounding grows with them.
        initial_damping: Some(1.0),
        ..options()
    };
    // One step: a second one makes thousands of times more of what rounding has left in the first.
    steps.solve.max_iterations = 1;
    let losses = [("cauchy", 0.8), ("tolerant", 0.5), ("huber", 0.3)];
    let x = mixture::point();
    let numbers = mixture::PARAMETERS;
    for batch_size in [None, Some(37)] {
        let model = mixture::model(losses);
        let engine = GpuEngine::new(context.clone(), &model, Width::Single, batch_size).await.unwrap();
        let mut device = Functions::new(model.clone(), Engine::Gpu(Box::new(engine)), x.clone()).unwrap();
        let (mut host, mut kept) = (on_cpu(&model, &x), None);
        // The same functions solve again with another block disabled, with limits, and as at first.
        for (disabled, limited) in [(None, false), (Some(1), false), (Some(2), true), (None, true), (None, false)] {
            for functions in [&mut device, &mut host] {
                (0..3).for_each(|block| functions.set_enabled(block, disabled != Some(block)).unwrap());
                let held = |i: usize| limited && i < 3;
                functions.set_constant((0..numbers).map(held).collect()).unwrap();
                let bound = |i: usize, away: f64| {
                    if limited && i % 7 == 3 && i < 100 { x[i] + away } else { f64::INFINITY * away }
                };
                let [lower, upper] = [-0.01, 0.01].map(|away| (0..numbers).map(|i| bound(i, away)).collect());
                functions.set_bounds(lower, upper).unwrap();
                functions.set_values(x.clone()).unwrap();
            }
            let on_device = solve(&mut device, &mut kept, &steps).await;
            console_log!("{batch_size:?} {disabled:?} {limited}");
            assert_eq!(on_device.summary.iterations, 1);
            // Roundings of 200 residuals and of their sums; after the step those of ten iterations of conjugate gradients, too.
            let options = PcgOptions { tolerance: 0.0, max_iterations: 10 };
            goes_the_way_of_the_cpu(&on_device.summary.history, &mut host, options, [2e-6, 2e-5]).await;
        }
    }
}

#[wasm_bindgen_test]
async fn bounds_hold_and_constants_stay() {
    let context = shared_context().await;
    let mut functions = on_gpu(&context, Width::Single, &rosenbrock(), &[-1.2, 1.0]).await;
    functions.set_bounds(vec![f64::NEG_INFINITY, f64::NEG_INFINITY], vec![0.5, f64::INFINITY]).unwrap();
    let solution = solve(&mut functions, &mut None, &options()).await;
    // On the bound x = ½ the valley is at y = ¼, and the cost ½(1 − ½)².
    assert_eq!(solution.x[0], 0.5);
    assert!((solution.x[1] - 0.25).abs() < 1e-5 && (solution.summary.final_cost - 0.125).abs() < 1e-6);
    assert!(solution.summary.success());

    let mut functions = on_gpu(&context, Width::Single, &rosenbrock(), &[-1.2, 1.0]).await;
    functions.set_constant(vec![false, true]).unwrap();
    let mut kept = None;
    let solution = solve(&mut functions, &mut kept, &options()).await;
    assert_eq!(solution.x[1], 1.0);
    // With y = 1 the derivative of the cost is (x − 1)(200x(x + 1) + 1); it is 107 in size at the start. In f32 it is known to some 1e-4.
    let x = solution.x[0];
    assert!(((x - 1.0) * (200.0 * x * (x + 1.0) + 1.0)).abs() < 1e-2, "{x}");
    functions.set_constant(vec![false, false]).unwrap();
    let solution = solve(&mut functions, &mut kept, &options()).await;
    assert!(solution.x.iter().all(|x| (x - 1.0).abs() < 1e-4), "freed: {:?}", solution.x);
}

#[wasm_bindgen_test]
async fn twenty_steps_read_back_at_most_five_times_and_repeat_to_the_bit() {
    let context = shared_context().await;
    let model = springs(12);
    let x = scattered(model.num_params);
    let mut options = options();
    options.solve.max_iterations = 20;
    (options.solve.cost_tolerance, options.solve.gradient_tolerance, options.solve.parameter_tolerance) =
        (0.0, 0.0, 0.0);
    for linear_tolerance in [0.0, 0.1] {
        options.linear_tolerance = linear_tolerance;
        options.max_linear_iterations = 10;
        let mut functions = on_gpu(&context, Width::Single, &model, &x).await;
        let (mut histories, mut kept) = (Vec::new(), None);
        for _ in 0..2 {
            functions.set_values(x.clone()).unwrap();
            let before = context.stats().readbacks;
            let mut heard = Heard::default();
            let solution = minimise_on_device(&mut functions, &mut kept, &options, false, &mut heard).await.unwrap();
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
async fn a_listener_or_the_clock_ends_a_solve_within_two_batches_and_a_start_that_is_nan_is_an_error() {
    let context = shared_context().await;
    let model = springs(12);
    let x = scattered(model.num_params);
    let mut options = options();
    options.solve.max_iterations = 1000;
    (options.solve.cost_tolerance, options.solve.gradient_tolerance, options.solve.parameter_tolerance) =
        (0.0, 0.0, 0.0);
    let mut heard = Heard { stop_at: Some(1), ..Heard::default() };
    let mut kept = None;
    let mut functions = on_gpu(&context, Width::Single, &model, &x).await;
    let solution = minimise_on_device(&mut functions, &mut kept, &options, true, &mut heard).await.unwrap();
    assert_eq!(solution.summary.termination, Termination::Aborted);
    assert!(solution.summary.iterations <= 12, "{}", solution.summary.iterations);
    assert!(solution.summary.final_cost < solution.summary.initial_cost);

    // A limit that has passed before the first batch, and one that passes on the way.
    let mut before = 0;
    for (limit, most) in [(0.0, 0), (200.0, 999)] {
        functions.set_values(x.clone()).unwrap();
        options.solve.max_time_ms = limit;
        let solution =
            minimise_on_device(&mut functions, &mut kept, &options, true, &mut Heard::default()).await.unwrap();
        let summary = &solution.summary;
        assert_eq!(summary.termination, Termination::MaxTime, "{}", summary.message());
        assert!(summary.elapsed_ms >= limit && (before..=most).contains(&summary.iterations), "{}", summary.iterations);
        before = summary.iterations;
    }
    options.solve.max_time_ms = f64::INFINITY;

    functions.set_values(x.clone()).unwrap();
    let mut aborted = Heard { is_aborted: true, ..Heard::default() };
    let solution = minimise_on_device(&mut functions, &mut kept, &options, true, &mut aborted).await.unwrap();
    assert_eq!((solution.summary.termination, solution.summary.iterations), (Termination::Aborted, 0));
    assert_eq!(solution.x, singles(&x), "an abort before the solve moves nothing");
    assert!(solution.summary.final_cost > 0.0);

    let mut start = x.clone();
    start[3] = f64::NAN;
    functions.set_values(start).unwrap();
    let error = minimise_on_device(&mut functions, &mut kept, &options, true, &mut Heard::default()).await.unwrap_err();
    assert_eq!(error.code, residua_base::ErrorCode::NonFinite);
    functions.set_values(x).unwrap();
    options.solve.max_iterations = 3;
    assert!(minimise_on_device(&mut functions, &mut kept, &options, true, &mut Heard::default()).await.is_ok());
}

#[wasm_bindgen_test]
async fn an_infinite_derivative_of_a_residual_of_0_at_the_start_is_an_error() {
    let context = shared_context().await;
    let options = options();
    // √x₀ and x₁ − 2: at x₀ = 0 the residual is 0, and so is the product of both that stands in the gradient on some devices.
    let mut functions = on_gpu(&context, Width::Single, &root_and_line(), &[0.0, 1.0]).await;
    let mut kept = None;
    let error = minimise_on_device(&mut functions, &mut kept, &options, true, &mut Heard::default()).await.unwrap_err();
    assert_eq!(error.code, residua_base::ErrorCode::NonFinite);
    assert!(
        error.message.contains("derivative of residual 0") && error.message.contains("Infinity"),
        "{}",
        error.message
    );
    assert_eq!(functions.values(), [0.0, 1.0], "the start stays");
    functions.set_values(vec![1.0, 1.0]).unwrap();
    let solution = minimise_on_device(&mut functions, &mut kept, &options, true, &mut Heard::default()).await.unwrap();
    assert!((solution.x[1] - 2.0).abs() < 1e-5, "{:?}", solution.x);
}
