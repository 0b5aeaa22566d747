//! Steps of L-BFGS that lower the cost but lead where a parameter has lost its effect, on both engines.

use crate::least_squares::{curve_among, rise};
use crate::on_engines::{Silent, on_both, on_gpu};
use crate::shared_context::shared_context;
use residua::eval::{Functions, Objective, Place};
use residua::solve::{DeviceResources, IterationSummary, LbfgsOptions, Solution, minimise};
use residua_codegen::Width;
use wasm_bindgen_test::{console_log, wasm_bindgen_test};

async fn solved(functions: &mut Functions) -> Solution {
    let options = LbfgsOptions { objective: Objective::LeastSquares, ..LbfgsOptions::defaults() };
    let solution = minimise(functions, &mut DeviceResources::default(), &options, true, &mut Silent).await.unwrap();
    let steps = |iteration: &IterationSummary| (iteration.cost, iteration.step_size);
    console_log!("{:?}", solution.summary.history.iter().map(steps).collect::<Vec<_>>());
    let evaluations = solution.summary.function_evaluations;
    console_log!(
        "{:?}: {evaluations} evaluations, {:?}, {}",
        functions.place(),
        solution.x,
        solution.summary.message()
    );
    solution
}

/// Half of the certified sum of squares of BoxBOD; where the exponential has vanished it is 4885.8 at best.
const LEAST: f64 = 1168.0088766 / 2.0;

#[wasm_bindgen_test]
async fn a_step_to_where_an_exponential_has_vanished_is_not_taken() {
    for start in [[1.0, 1.0], [10.0, 10.0], [1.0, 10.0], [0.1, 0.1], [100.0, 0.75]] {
        for mut functions in on_both(&rise(), &start).await {
            let Solution { summary, x, .. } = solved(&mut functions).await;
            let about =
                format!("{start:?}: {x:?}, {} evaluations, {}", summary.function_evaluations, summary.message());
            // The cost of six residuals is known to 24 bits, and a cost tolerance of 1e-8 leaves as much of it.
            let within = if functions.place() == Place::Host { 1e-8 } else { 1e-5 };
            assert!((summary.final_cost / LEAST - 1.0).abs() < within, "{about}");
            assert!(summary.success(), "{about}");
        }
    }
}

/// The numbers of a solve's steps, but for their times.
fn steps(solution: &Solution) -> String {
    let timeless = |iteration: &IterationSummary| IterationSummary { elapsed_ms: 0.0, ..*iteration };
    format!("{:?}", solution.summary.history.iter().map(timeless).collect::<Vec<_>>())
}

#[wasm_bindgen_test]
async fn a_problem_that_loses_no_parameter_takes_the_same_steps_as_without_the_rule() {
    let context = shared_context().await;
    let mut solutions = Vec::new();
    // The second one has more than 64 numbers, of which all but three are of no residual.
    for blocks in [1, 22] {
        let start = [1.0, 1.0, 0.0].into_iter().chain(vec![0.0; 3 * (blocks - 1)]).collect::<Vec<_>>();
        let mut functions = on_gpu(&context, Width::Single, &curve_among([blocks as u32, 3], 90), &start).await;
        solutions.push(solved(&mut functions).await);
    }
    assert_eq!(steps(&solutions[0]), steps(&solutions[1]));
    assert!(solutions[0].summary.iterations > 3);
}
