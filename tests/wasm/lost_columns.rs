//! Steps of Levenberg-Marquardt on the device that lower the cost but lead where a column of J̃ has vanished.

use crate::least_squares::{curve_among, rise};
use crate::on_engines::{on_cpu, on_gpu};
use crate::shared_context::shared_context;
use residua::eval::Functions;
use residua::solve::levenberg_marquardt::device::minimise_on_device;
use residua::solve::levenberg_marquardt::host::SolverResources;
use residua::solve::{IterationSummary, LevenbergMarquardtOptions, Listener, Solution, minimise_least_squares};
use residua_codegen::Width;
use wasm_bindgen_test::{console_log, wasm_bindgen_test};

struct Silent;

impl Listener for Silent {
    fn iteration(&mut self, _: &IterationSummary) -> bool {
        false
    }

    fn aborted(&mut self) -> bool {
        false
    }
}

async fn on_device(functions: &mut Functions) -> Solution {
    let options = LevenbergMarquardtOptions::defaults();
    let solution = minimise_on_device(functions, &mut None, &options, true, &mut Silent).await.unwrap();
    let steps = |iteration: &IterationSummary| (iteration.cost, iteration.damping, iteration.gain_ratio);
    console_log!("{:?}", solution.summary.history.iter().map(steps).collect::<Vec<_>>());
    console_log!("{:?}: {:?}, {}", solution.summary.termination, solution.x, solution.summary.message);
    solution
}

async fn on_host(start: &[f64]) -> Solution {
    let (mut functions, mut kept) = (on_cpu(&rise(1), start), SolverResources::default());
    minimise_least_squares(&mut functions, &mut kept, &LevenbergMarquardtOptions::defaults(), &mut Silent)
        .await
        .unwrap()
}

/// Half of the certified sum of squares of BoxBOD; where the exponential has vanished it is 4885.8 at best.
const LEAST: f64 = 1168.0088766 / 2.0;

#[wasm_bindgen_test]
async fn a_step_to_where_an_exponential_has_vanished_is_rejected() {
    let context = shared_context().await;
    // The cost of six residuals is known to 24 bits or 48, and a cost tolerance of 1e-8 leaves as much of it.
    for (width, within) in [(Width::Single, 1e-5), (Width::Pair, 1e-8)] {
        let mut functions = on_gpu(&context, width, &rise(1), &[1.0, 1.0]).await;
        for start in [[1.0, 1.0], [10.0, 10.0], [1.0, 10.0], [0.1, 0.1], [100.0, 0.75]] {
            functions.set_values(start.to_vec()).unwrap();
            let Solution { summary, x, .. } = on_device(&mut functions).await;
            let about = format!("{width:?} {start:?}: {x:?}, {} iterations, {}", summary.iterations, summary.message);
            assert!((summary.final_cost / LEAST - 1.0).abs() < within, "{about}");
            let most = 2 * on_host(&start).await.summary.iterations;
            assert!(summary.iterations <= most, "{about}, {most}");
        }
    }
}

/// The numbers of a solve's steps, but for their times; as text, since a gain of 0/0 is NaN.
fn steps(solution: &Solution) -> String {
    let timeless = |iteration: &IterationSummary| IterationSummary { elapsed_ms: 0.0, ..*iteration };
    format!("{:?}", solution.summary.history.iter().map(timeless).collect::<Vec<_>>())
}

#[wasm_bindgen_test]
async fn a_problem_that_loses_no_column_takes_the_same_steps_as_without_the_rule() {
    let context = shared_context().await;
    for width in [Width::Single, Width::Pair] {
        let mut solutions = Vec::new();
        // The second one has more than 64 numbers, of which all but three are of no residual.
        for blocks in [1, 22] {
            let start = [1.0, 1.0, 0.0].into_iter().chain(vec![0.0; 3 * (blocks - 1)]).collect::<Vec<_>>();
            let mut functions = on_gpu(&context, width, &curve_among(blocks as u32, 90), &start).await;
            solutions.push(on_device(&mut functions).await);
        }
        assert_eq!(steps(&solutions[0]), steps(&solutions[1]));
        assert_eq!(solutions[0].x, solutions[1].x[..3]);
        assert!(solutions[0].summary.history.iter().filter(|step| step.accepted).count() > 3);
    }
}

#[wasm_bindgen_test]
async fn a_problem_of_more_numbers_is_without_the_rule() {
    let start = [1.0, 1.0].into_iter().chain([0.0; 64]).collect::<Vec<_>>();
    let mut functions = on_gpu(&shared_context().await, Width::Single, &rise(33), &start).await;
    let Solution { summary, .. } = on_device(&mut functions).await;
    assert!(summary.final_cost > 4000.0, "{}", summary.message);
}
