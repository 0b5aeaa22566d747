//! A change of a loss replaces kernels in pairs, which are checked as those of a compile are.

use crate::least_squares::curve;
use crate::on_engines::{Silent, on_cpu, on_gpu};
use crate::shared_context::own_context;
use residua::eval::{Functions, Job, Objective, Place};
use residua::model::losses::LossParameters;
use residua::solve::driver::{Request, levenberg_marquardt};
use residua::solve::{LevenbergMarquardtOptions, Session};
use residua_base::ErrorCode;
use residua_codegen::Width;
use residua_gpu::{Context, Rounding};
use wasm_bindgen_test::wasm_bindgen_test;

const START: [f64; 3] = [1.0, 1.0, 0.0];

fn cauchy() -> LossParameters {
    LossParameters::new("cauchy", 0.003, 1.0, 1.0).unwrap()
}

/// Functions in pairs on the device.
async fn functions(context: &Context) -> Functions {
    on_gpu(context, Width::Pair, &curve(90), &START).await
}

#[wasm_bindgen_test]
async fn kernels_that_a_change_of_the_loss_replaces_are_checked_once() {
    let context = own_context().await;
    let mut functions = functions(&context).await;
    let dispatches = |context: &Context| context.stats().dispatches;
    let compiled = dispatches(&context);
    functions.enter(Job::LeastSquares).await.unwrap();
    assert_eq!(dispatches(&context), compiled, "without a change compiling has checked them");
    functions.set_loss(0, cauchy()).unwrap();
    functions.enter(Job::Values).await.unwrap();
    assert_eq!(dispatches(&context), compiled, "residuals are without losses");
    functions.enter(Job::LeastSquares).await.unwrap();
    let checked = dispatches(&context);
    assert!(checked > compiled && functions.place() == Place::Device);
    functions.enter(Job::Gradient).await.unwrap();
    functions.set_loss(0, LossParameters::default()).unwrap();
    functions.enter(Job::Gradient).await.unwrap();
    assert_eq!(dispatches(&context), checked, "the kernels stay, and have been checked");
    context.dispose();
}

#[wasm_bindgen_test]
async fn where_they_do_not_hold_calls_are_refused_or_run_on_the_host() {
    let context = own_context().await;
    let mut functions = functions(&context).await;
    functions.set_loss(0, cauchy()).unwrap();
    // Products by fma, which software adapters round twice, as a device that passes the test of single operations may. Where it rounds once,
    // nothing is refused.
    context.set_rounding(Rounding::Fused);
    if !context.adapter().is_software {
        return;
    }
    for _ in 0..2 {
        let refused = functions.enter(Job::LeastSquares).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::GpuUnavailable);
        assert!(refused.message.starts_with("double-single arithmetic does not hold on this device: "), "{refused:?}");
        assert_eq!(functions.place(), Place::Device);
    }
    let stays = functions.evaluate_on_device(Objective::LeastSquares, None, None).await;
    assert_eq!(stays.err().map(|error| error.code), Some(ErrorCode::GpuUnavailable));
    assert!(functions.evaluate_on_device(Objective::Sum, None, None).await.is_ok(), "sums have no loss");

    functions.allow_host();
    functions.enter(Job::LeastSquares).await.unwrap();
    assert_eq!(functions.place(), Place::Host);
    let mut host = on_cpu(&curve(90), &START);
    host.set_loss(0, cauchy()).unwrap();
    let request = Request { read_back: true, may_hand_over: true };
    let options = LevenbergMarquardtOptions::defaults();
    let mut session = Session::new(functions);
    let solution = levenberg_marquardt(&mut session, &options, request, &mut Silent).await.unwrap();
    let expected = levenberg_marquardt(&mut Session::new(host), &options, request, &mut Silent).await.unwrap();
    assert_eq!(solution.x, expected.x);
    let Session { mut functions, .. } = session;
    let fault = functions.device_fault().unwrap().message.clone();
    assert_eq!(solution.summary.message(), format!("{} On the CPU, since {fault}.", expected.summary.message()));
    functions.leave();
    assert_eq!(functions.place(), Place::Device);
    let dispatches = context.stats().dispatches;
    functions.enter(Job::Gradient).await.unwrap();
    assert_eq!((functions.place(), context.stats().dispatches), (Place::Host, dispatches), "it is not checked again");
    functions.leave();
    functions.enter(Job::Jacobian).await.unwrap();
    assert_eq!(functions.place(), Place::Device, "residuals and Jacobian are without losses");
    context.dispose();
}
