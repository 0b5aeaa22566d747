//! Limits of time on the device while pipelines are made, in a browser on a real WebGPU device.

use crate::least_squares::{scattered, springs};
use crate::on_engines::{Silent, on_gpu};
use crate::shared_context::own_context;
use residua::solve::levenberg_marquardt::device::minimise_on_device;
use residua::solve::{DeviceResources, LbfgsOptions, LevenbergMarquardtOptions, SolveOptions, Termination, minimise};
use residua_codegen::Width;
use wasm_bindgen_test::wasm_bindgen_test;

#[wasm_bindgen_test]
async fn a_solve_ends_while_its_pipelines_are_made_and_a_later_one_finds_them() {
    let context = own_context().await;
    let model = springs(12);
    let x = scattered(model.num_params);
    let mut functions = on_gpu(&context, Width::Single, &model, &x).await;
    let (mut kept, mut resources) = (None, DeviceResources::default());
    for is_lbfgs in [false, true] {
        functions.set_values(x.clone()).unwrap();
        let known = context.stats().pipelines;
        let mut late = 0;
        // The browser takes some seconds at most, and each solve waits for a turn of its timer.
        let solution = loop {
            let mut solve = SolveOptions { max_iterations: 3, max_time_ms: 1e-3, ..SolveOptions::defaults() };
            if late > 0 && context.stats().pipelines > known {
                solve.max_time_ms = f64::INFINITY;
            }
            let heard = &mut Silent;
            let solution = if is_lbfgs {
                let options = LbfgsOptions { solve, ..LbfgsOptions::defaults() };
                minimise(&mut functions, &mut resources, &options, true, heard).await.unwrap()
            } else {
                let options = LevenbergMarquardtOptions { solve, ..LevenbergMarquardtOptions::defaults() };
                minimise_on_device(&mut functions, &mut kept, &options, true, heard).await.unwrap()
            };
            if !solution.summary.history.is_empty() {
                break solution;
            }
            assert_eq!(solution.summary.termination, Termination::MaxTime, "{}", solution.summary.message());
            assert!(solution.summary.message().ends_with("before the cost of the start was known."));
            assert!(solution.summary.initial_cost.is_nan() && solution.summary.final_cost.is_nan());
            assert_eq!(solution.x, x.iter().map(|&x| f64::from(x as f32)).collect::<Vec<_>>(), "the start is left");
            late += 1;
            assert!(late < 5_000, "the pipelines are never there");
        };
        assert!(late > 0, "no solve ended before its pipelines were there");
        assert!(solution.summary.final_cost <= solution.summary.initial_cost);
    }
    context.dispose();
}
