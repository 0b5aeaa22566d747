//! What L-BFGS calls convergence, on both engines: parameters in units of very different sizes, a start at the minimum, and costs without a bound.

use crate::on_engines::{Silent, on_both};
use crate::recorder::{Recorder, model};
use residua::eval::{Functions, Objective};
use residua::model::Model;
use residua::solve::{DeviceResources, LbfgsOptions, SolveSummary, Termination, minimise};
use residua_ir::graph::Op;
use wasm_bindgen_test::{console_log, wasm_bindgen_test};

/// 10(y·unit − x²), 1 − x, and 1: the least cost is ½, at (1, 1/unit).
fn valley(unit: f64) -> Model {
    let mut r = Recorder::default();
    let (x, y) = (r.parameter(0), r.parameter(1));
    let [unit, ten, one] = [unit, 10.0, 1.0].map(|number| r.constant(number));
    let square = r.apply(Op::Mul, &[x, x]);
    let y = r.apply(Op::Mul, &[y, unit]);
    let across = r.apply(Op::Sub, &[y, square]);
    let first = r.apply(Op::Mul, &[ten, across]);
    let second = r.apply(Op::Sub, &[one, x]);
    let tape = r.tape(vec![first, second, one], 2, 0);
    model(1, 2, "euclidean", vec![0; 2], vec![0, 1], Vec::new(), tape)
}

/// −ln x for each of some parameters.
fn falling(count: u32) -> Model {
    let mut r = Recorder::default();
    let x = r.parameter(0);
    let logarithm = r.apply(Op::Log, &[x]);
    let zero = r.constant(0.0);
    let residual = r.apply(Op::Sub, &[zero, logarithm]);
    let tape = r.tape(vec![residual], 1, 0);
    model(1, count, "euclidean", vec![0; 1], (0..count).collect(), Vec::new(), tape)
}

async fn solved(functions: &mut Functions, objective: Objective) -> SolveSummary {
    let mut options = LbfgsOptions { objective, ..LbfgsOptions::defaults() };
    options.solve.max_iterations = 500;
    let resources = &mut DeviceResources::default();
    let summary = minimise(functions, resources, &options, true, &mut Silent).await.unwrap().summary;
    console_log!(
        "{:?}: {} iterations, {} evaluations, {} to {}, {}: {}",
        functions.place(),
        summary.iterations,
        summary.function_evaluations,
        summary.initial_cost,
        summary.final_cost,
        summary.termination.as_str(),
        summary.message()
    );
    summary
}

#[wasm_bindgen_test]
async fn a_success_is_a_minimum_in_any_unit_of_a_parameter() {
    let mut short = 0;
    for unit in [1.0, 1e6, 1e-6, 1e9, 1e-9] {
        for mut functions in on_both(&valley(unit), &[-1.25, 1.0 / unit]).await {
            let summary = solved(&mut functions, Objective::LeastSquares).await;
            // 1e-4 of the cost; where rounding ends the run, the valley's floor to 1e-7 of the largest terms, which are 100.
            let least = summary.final_cost - 0.5 <= 5e-5;
            assert!(least || !summary.success(), "{unit}: {} {}", summary.final_cost, summary.message());
            assert!(unit != 1.0 || summary.success(), "{}", summary.message());
            short += u32::from(!least);
        }
    }
    assert!(short > 0, "every run met the minimum, and the test shows nothing");
}

#[wasm_bindgen_test]
async fn a_solve_that_is_repeated_at_its_end_is_a_success() {
    for mut functions in on_both(&valley(1.0), &[-1.25, 1.0]).await {
        for _ in 0..2 {
            let summary = solved(&mut functions, Objective::LeastSquares).await;
            assert!(summary.success() && summary.final_cost - 0.5 <= 5e-5, "{}", summary.message());
        }
    }
}

#[wasm_bindgen_test]
async fn a_sum_that_falls_without_a_bound_is_no_success() {
    // The derivative vanishes as 1/x, while the cost goes on falling.
    for mut functions in on_both(&falling(3), &[1.0, 2.0, 4.0]).await {
        let summary = solved(&mut functions, Objective::Sum).await;
        let expected = [Termination::NonFinite, Termination::MaxIterations, Termination::PrecisionLimit];
        assert!(expected.contains(&summary.termination), "{}", summary.message());
        if summary.termination == Termination::NonFinite {
            assert!(summary.message().starts_with("The cost falls without a bound"), "{}", summary.message());
        }
    }
}
