//! Levenberg-Marquardt on the device in double-single arithmetic against the same in f64 on the CPU. Each test has a control: f32 does not pass it.

use crate::least_squares::{curve, quaternions, rosenbrock};
use crate::on_engines::{on_cpu, on_gpu};
use crate::shared_context::shared_context;
use crate::{landmarks, mixture};
use residua::eval::gpu::GpuEngine;
use residua::eval::{Arithmetic, Engine, Functions, Objective};
use residua::model::Manifold;
use residua::model::losses::LossParameters;
use residua::solve::levenberg_marquardt::device::minimise_on_device;
use residua::solve::levenberg_marquardt::host::SolverResources;
use residua::solve::{IterationSummary, LevenbergMarquardtOptions, Listener, Solution, minimise_least_squares};
use residua_codegen::Width;
use wasm_bindgen_test::{console_log, wasm_bindgen_test};

struct Heard;

impl Listener for Heard {
    fn iteration(&mut self, summary: &IterationSummary) -> bool {
        console_log!(
            "{:3} {:.16e} {:.3e} g {:.3e} d {:.3e} {} gain {:.3} pcg {:?}",
            summary.iteration,
            summary.cost,
            summary.cost_change,
            summary.gradient_max_norm,
            summary.step_norm,
            summary.accepted,
            summary.gain_ratio.unwrap_or(f64::NAN),
            summary.linear_iterations
        );
        false
    }

    fn aborted(&mut self) -> bool {
        false
    }
}

/// To the last digit: tolerances that count as what the arithmetic can tell.
fn options() -> LevenbergMarquardtOptions {
    let mut options = LevenbergMarquardtOptions::defaults();
    (options.solve.cost_tolerance, options.solve.gradient_tolerance, options.solve.parameter_tolerance) =
        (1e-40, 1e-40, 1e-40);
    options
}

async fn on_device(functions: &mut Functions) -> Solution {
    let solution = minimise_on_device(functions, &mut None, &options(), true, &mut Heard).await.unwrap();
    console_log!("{:?}: {}", solution.summary.termination, solution.summary.message());
    solution
}

async fn on_host(functions: &mut Functions) -> Solution {
    let mut kept = SolverResources::default();
    let solution = minimise_least_squares(functions, &mut kept, &options(), &mut Heard).await.unwrap();
    console_log!("{:?}: {}", solution.summary.termination, solution.summary.message());
    solution
}

/// The largest distance of a coordinate.
fn distance(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).fold(0.0, |largest: f64, (a, b)| largest.max((a - b).abs()))
}

#[wasm_bindgen_test]
async fn a_curve_has_the_digits_of_the_cpu() {
    let (context, model, start) = (shared_context().await, curve(90), [1.0, 1.0, 0.0]);
    let expected = on_host(&mut on_cpu(&model, &start)).await;
    let pairs = on_device(&mut on_gpu(&context, Width::Pair, &model, &start).await).await;
    assert_eq!(pairs.arithmetic, Arithmetic::F32x2);
    // Residuals of 1 to 48 bits, and the condition of three coefficients of a decay.
    assert!(distance(&pairs.x, &expected.x) < 1e-11, "{:?} {:?}", pairs.x, expected.x);
    assert!(pairs.summary.iterations <= 2 * expected.summary.iterations);
    let share = pairs.summary.final_cost / expected.summary.final_cost - 1.0;
    assert!(share.abs() < 1e-12, "{share}");
    let single = on_device(&mut on_gpu(&context, Width::Single, &model, &start).await).await;
    assert!(distance(&single.x, &expected.x) > 1e-9, "in f32: {:?}", single.x);
    // Bit for bit.
    let again = on_device(&mut on_gpu(&context, Width::Pair, &model, &start).await).await;
    assert_eq!(again.x, pairs.x);
}

#[wasm_bindgen_test]
async fn a_loss_that_is_set_between_solves_takes_effect() {
    let (context, model, start) = (shared_context().await, curve(90), [1.0, 1.0, 0.0]);
    // A scale three times the sinusoid of 0.01 that the curve leaves, so that the loss moves the minimum. Steps without ρ″ leave a tenth of the distance each.
    let loss = LossParameters::new("cauchy", 0.03, 1.0, 1.0).unwrap();
    let mut host = on_cpu(&model, &start);
    host.set_loss(0, loss).unwrap();
    let expected = on_host(&mut host).await;
    let mut functions = on_gpu(&context, Width::Pair, &model, &start).await;
    let mut resources = None;
    let mut solutions = Vec::new();
    for loss in [LossParameters::default(), loss] {
        functions.set_loss(0, loss).unwrap();
        functions.set_values(start.to_vec()).unwrap();
        solutions.push(minimise_on_device(&mut functions, &mut resources, &options(), true, &mut Heard).await.unwrap());
    }
    assert!(distance(&solutions[0].x, &expected.x) > 1e-5, "the loss does not matter: {:?}", solutions[0].x);
    // The bound of the squared loss above, times the loss's own condition.
    assert!(distance(&solutions[1].x, &expected.x) < 1e-10, "{:?} {:?}", solutions[1].x, expected.x);
}

#[wasm_bindgen_test]
#[ignore = "long"]
async fn quaternions_arrive_and_stay_on_their_sphere_to_48_bits() {
    let context = shared_context().await;
    // Few blocks are solved for in pairs, many in f32.
    for count in [3, 1500] {
        let (model, x) = quaternions(count);
        // The nearest point of the sphere to what is wanted of each.
        let wanted = &model.batches[0].data;
        let mut expected = Vec::new();
        for block in 0..count as usize {
            let mut q: Vec<f64> = (0..4).map(|k| wanted[k * count as usize + block]).collect();
            Manifold::UnitQuaternion.normalise(&mut q).unwrap();
            expected.extend(q);
        }
        let mut apart = Vec::new();
        for width in [Width::Pair, Width::Single] {
            let solution = on_device(&mut on_gpu(&context, width, &model, &x).await).await;
            apart.push(distance(&solution.x, &expected));
            let length = |q: &[f64]| q.iter().map(|q| q * q).sum::<f64>().sqrt();
            let off = solution.x.chunks_exact(4).fold(0.0, |off: f64, q| off.max((length(q) - 1.0).abs()));
            apart.push(off);
        }
        console_log!("{count} quaternions: {apart:?}");
        // Some ten operations of 2⁻⁴⁷, and the quotient with the square root of as many.
        assert!(apart[0] < 1e-12 && apart[1] < 1e-13, "{apart:?}");
        assert!(apart[2] > 1e-9 && apart[3] > 1e-9, "in f32: {apart:?}");
    }
}

#[wasm_bindgen_test]
#[ignore = "long"]
async fn a_bound_that_is_no_f32_is_met_to_48_bits() {
    let context = shared_context().await;
    for (width, far) in [(Width::Pair, false), (Width::Single, true)] {
        let mut functions = on_gpu(&context, width, &rosenbrock(), &[-1.2, 1.0]).await;
        functions.set_bounds(vec![f64::NEG_INFINITY, f64::NEG_INFINITY], vec![0.3, f64::INFINITY]).unwrap();
        let solution = on_device(&mut functions).await;
        // On the bound x = 0.3 the valley is at y = 0.09.
        assert!(solution.x[0] <= 0.3);
        assert_eq!((solution.x[0] - 0.3).abs() > 1e-14, far, "{:?}", solution.x);
        assert_eq!((solution.x[1] - 0.09).abs() > 1e-13, far, "{:?}", solution.x);
        let [x, y] = solution.x[..] else { panic!("two numbers") };
        let cost = 0.5 * (100.0 * (y - x * x).powi(2) + (1.0 - x).powi(2));
        assert!((solution.summary.final_cost - cost).abs() < if far { 1e-6 } else { 1e-14 });
    }
}

#[wasm_bindgen_test]
#[ignore = "long"]
async fn landmarks_that_are_eliminated_have_the_digits_of_the_cpu() {
    let context = shared_context().await;
    // Linear, so that what is compared is where steps end, and not which way they take.
    let model = landmarks::model(12, 300, 4, false);
    let x = landmarks::start(&model);
    let numbers = x.len();
    let (mut lower, mut upper) = (vec![f64::NEG_INFINITY; numbers], vec![f64::INFINITY; numbers]);
    // Bounds of some landmarks that are no f32; the first place stays, since the others are known relative to it.
    (24..numbers).step_by(7).for_each(|i| lower[i] = x[i] - 0.1);
    (24..numbers).step_by(5).for_each(|i| upper[i] = x[i] + 0.1);
    let constant: Vec<bool> = (0..numbers).map(|i| i < 2).collect();
    let mut found = Vec::new();
    for width in [Some(Width::Pair), Some(Width::Single), None] {
        let mut functions = match width {
            Some(width) => on_gpu(&context, width, &model, &x).await,
            None => on_cpu(&model, &x),
        };
        functions.set_bounds(lower.clone(), upper.clone()).unwrap();
        functions.set_constant(constant.clone()).unwrap();
        let solution = match width {
            Some(_) => on_device(&mut functions).await,
            None => on_host(&mut functions).await,
        };
        found.push(solution.x);
    }
    let expected = found.pop().unwrap();
    let apart: Vec<f64> = found.iter().map(|x| distance(x, &expected)).collect();
    let at_bounds = |x: &[f64]| x.iter().enumerate().filter(|&(i, x)| *x == lower[i] || *x == upper[i]).count();
    console_log!("{apart:?}, at bounds {}", at_bounds(&expected));
    // Places that some 100 landmarks each tell apart; numbers to 3.
    assert!(apart[0] < 1e-11, "{apart:?}");
    assert!(apart[1] > 1e-8, "in f32: {apart:?}");
    assert!(at_bounds(&expected) > 10);
}

#[wasm_bindgen_test]
#[ignore = "long"]
async fn losses_and_chunks_cost_what_they_do_on_the_cpu() {
    let context = shared_context().await;
    let losses = [("cauchy", 0.8), ("tolerant", 0.5), ("huber", 0.3)];
    let x = mixture::point();
    let mut steps = options();
    steps.linear_tolerance = 0.0;
    steps.max_linear_iterations = 10;
    steps.linear_solver = Some(residua_linalg::Kind::Pcg);
    steps.initial_damping = Some(1.0);
    steps.solve.max_iterations = 1;
    let model = mixture::model(losses);
    let mut kept = SolverResources::default();
    let expected = minimise_least_squares(&mut on_cpu(&model, &x), &mut kept, &steps, &mut Heard).await.unwrap();
    for (width, batch_size) in [(Width::Pair, None), (Width::Pair, Some(37)), (Width::Single, None)] {
        let engine = GpuEngine::new(context.clone(), &model, width, batch_size).await.unwrap();
        let mut device = Functions::new(model.clone(), Engine::Gpu(Box::new(engine)), x.clone()).unwrap();
        let found = minimise_on_device(&mut device, &mut None, &steps, true, &mut Heard).await.unwrap();
        let share = found.summary.initial_cost / expected.summary.initial_cost - 1.0;
        console_log!("{width:?} {batch_size:?} {share:e}");
        assert_eq!(share.abs() < 1e-12, width == Width::Pair, "{width:?} {batch_size:?}: {share:e}");
        // Where the step leads is a matter of f32, what the cost is there is not.
        let there = on_cpu(&model, &found.x).evaluate_at(Objective::LeastSquares, &found.x).await.unwrap();
        let share = found.summary.final_cost / there.cost - 1.0;
        assert_eq!(share.abs() < 1e-12, width == Width::Pair, "{width:?} {batch_size:?}: {share:e}");
    }
}
