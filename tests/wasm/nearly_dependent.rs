//! Solves on the device where columns of J̃ nearly depend on each other: the tests of convergence see neither column.

use crate::least_squares::line_over_times;
use crate::on_engines::{Silent, on_gpu};
use crate::shared_context::shared_context;
use residua::solve::driver::{Request, check_later, levenberg_marquardt};
use residua::solve::{LevenbergMarquardtOptions, Session, Solution, Termination};
use residua_codegen::Width;
use wasm_bindgen_test::wasm_bindgen_test;

async fn solve(session: &mut Session, read_back: bool, may_hand_over: bool) -> Solution {
    let options = LevenbergMarquardtOptions::defaults();
    levenberg_marquardt(session, &options, Request { read_back, may_hand_over }, &mut Silent).await.unwrap()
}

#[wasm_bindgen_test]
#[ignore = "long"]
async fn a_line_over_time_stamps_is_no_success_on_the_device_and_one_on_the_host() {
    let context = shared_context().await;
    for width in [Width::Single, Width::Pair] {
        let functions = on_gpu(&context, width, &line_over_times(1.7e9), &[0.0, 0.0]).await;
        let mut session = Session::new(functions);
        let Solution { summary, x, .. } = solve(&mut session, true, false).await;
        let about = format!("{width:?}: {x:?}, {}", summary.message());
        assert_eq!(summary.termination, Termination::PrecisionLimit, "{about}");
        session.functions.set_values(vec![0.0, 0.0]).unwrap();
        let Solution { summary, x, .. } = solve(&mut session, true, true).await;
        let about = format!("{width:?}: {x:?}, {}", summary.message());
        assert!(summary.termination.converged(), "{about}");
        // The deviations move the slope by less than a hundredth of it.
        assert!((x[1] / 0.01 - 1.0).abs() < 0.05, "{about}");
    }
}

#[wasm_bindgen_test]
#[ignore = "long"]
async fn a_frame_learns_of_columns_that_nearly_depend_on_each_other() {
    let functions = on_gpu(&shared_context().await, Width::Pair, &line_over_times(1.7e9), &[0.0, 0.0]).await;
    let mut session = Session::new(functions);
    solve(&mut session, false, false).await;
    check_later(&mut session).await.unwrap();
    let Solution { summary, .. } = solve(&mut session, false, false).await;
    assert_eq!(summary.termination, Termination::PrecisionLimit, "{}", summary.message());
    // The device itself proves no minimum there.
    assert!(summary.message().contains("rounding error in double-single precision"), "{}", summary.message());
}

#[wasm_bindgen_test]
async fn a_line_over_times_that_are_far_apart_is_a_success_in_pairs() {
    // Ten times from 0 to 90, where the columns are as far from each other as one in two.
    let functions = on_gpu(&shared_context().await, Width::Pair, &line_over_times(0.0), &[0.0, 0.0]).await;
    let Solution { summary, .. } = solve(&mut Session::new(functions), true, false).await;
    assert!(summary.termination.converged(), "{}", summary.message());
}
