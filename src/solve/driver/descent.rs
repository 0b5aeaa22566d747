//! The drivers of L-BFGS and of Newton's method. L-BFGS: whole iterations on the device where it takes the problem, otherwise a solver on the host over evaluations in
//! either place. A run on the device that ends for want of digits can go on there in pairs.

use std::rc::Rc;

use super::continuation::{Before, Continued, Passed};
use super::examine::examine;
use super::least_squares::{Request, Solvers, Take};
use super::stages::{HandOver, PAIRS, stage_after};
use crate::eval::{Functions, Objective};
use crate::gauss_newton::host::HostModel;
use crate::solve::findings::Finding;
use crate::solve::lbfgs::host::{Lbfgs, run};
use crate::solve::levenberg_marquardt::host::deficiency;
use crate::solve::listener::Listener;
use crate::solve::manifold_map::ManifoldMap;
use crate::solve::newton;
use crate::solve::options::{LbfgsOptions, NewtonOptions, SolveOptions};
use crate::solve::rules::LEAST_PROMISE;
use crate::solve::session::{DeviceResources, Parts, Session};
use crate::solve::solution::{Details, Solution};
use crate::solve::start::Start;
use crate::solve::summary::{SolveSummary, Termination};
use crate::solve::write_back::{Left, write_back};
use residua_base::clock::now_ms;
use residua_base::error::{ErrorCode, Result};

/// Minimises as [`minimise`] does. Where single precision on the device is the limit and the request allows it, the run goes on in pairs there. A
/// solution that stays on the device is one of a loop of frames, which does not go on: near its minimum each frame would.
///
/// # Errors
/// Those of [`minimise`].
pub async fn descend(
    session: &mut Session,
    options: &LbfgsOptions,
    request: Request,
    listener: &mut dyn Listener,
) -> Result<Solution> {
    let stage = session.stage();
    let Request { read_back, may_hand_over } = request;
    let solution = minimise_in(session.parts(), options, read_back, listener).await?;
    let is_below_range = solution.precision.as_ref().is_some_and(|checked| checked.estimate.is_below_range());
    let reason = HandOver::Ended(solution.summary.termination);
    let wants_digits = solution.summary.termination == Termination::PrecisionLimit && !is_below_range;
    let goes_on = read_back && may_hand_over && wants_digits && stage_after(stage, reason) == Some(PAIRS);
    if !goes_on || !session.enter(PAIRS).await? {
        return Ok(solution);
    }
    let passed = vec![Passed { stage, reason, iterations: solution.summary.iterations, restarts: false }];
    let before = Before { solution, passed };
    let rest = LbfgsOptions { solve: before.rest(&options.solve), ..options.clone() };
    let mut continued = Continued { listener, before: Some(&before.solution.summary) };
    let outcome = minimise_in(session.parts(), &rest, read_back, &mut continued).await;
    session.leave().await?;
    match outcome {
        // What pairs take more of than there is, the run in single precision did without.
        Err(error) if matches!(error.code, ErrorCode::LimitExceeded | ErrorCode::OutOfMemory) => Ok(before.solution),
        outcome => outcome.map(|solution| before.join(solution, PAIRS).0),
    }
}

/// Minimises an objective of the functions by L-BFGS from their current parameters, which become the solution. `resources`: those that
/// solvers keep on the device for these functions. Without `read_back` a solution on the device stays there, and its `x` is empty.
///
/// # Errors
/// `non-finite` naming the residual if the start is not finite; `invalid-argument` for a start that cannot be brought onto its manifold;
/// what the engine's evaluations fail with.
pub async fn minimise(
    functions: &mut Functions,
    resources: &mut DeviceResources,
    options: &LbfgsOptions,
    read_back: bool,
    listener: &mut dyn Listener,
) -> Result<Solution> {
    minimise_in((functions, &mut HostModel::default(), resources), options, read_back, listener).await
}

/// Minimises by Newton's method, on the device where the functions are there and it takes them.
///
/// # Errors
/// Those of [`newton::minimise`].
pub async fn newton(session: &mut Session, options: &NewtonOptions, listener: &mut dyn Listener) -> Result<Solution> {
    let mut solution = newton::minimise(&mut session.functions, options, listener).await?;
    examine(session.parts(), options.objective, Take { read_back: true, start: None, by_model: false }, &mut solution)
        .await?;
    Ok(solution)
}

async fn minimise_in(
    (functions, host, resources): Parts<'_>,
    options: &LbfgsOptions,
    read_back: bool,
    listener: &mut dyn Listener,
) -> Result<Solution> {
    let began = now_ms();
    functions.bring_values().await?;
    let arithmetic = functions.arithmetic();
    let start = Start::of(functions, arithmetic)?;
    let first = read_back.then(|| functions.values().to_vec());
    let map = ManifoldMap::of(&functions.model().arrays, start.point.len()).await?.map(Rc::new);
    let on_device = minimise_on_device(functions, resources, &start, map.as_deref(), options, listener, began).await;
    let (x, summary) = match on_device.transpose() {
        Some(run) => write_back(functions, arithmetic, run, || Left::Device { read_back }).await?,
        None => {
            let mut solver = Lbfgs::new(start, map.clone(), options, arithmetic)?;
            if options.objective == Objective::LeastSquares {
                solver.take_residuals(functions.sample_count());
            }
            let run = run(functions, &mut solver, options.objective, map.as_deref(), listener, began).await;
            write_back(functions, arithmetic, run, || Left::Host(solver.solution().to_vec())).await?
        }
    };
    let mut solution = Solution { x, summary, arithmetic, precision: None, details: Details::default() };
    if let Some(start) = first.as_deref().filter(|_| options.objective == Objective::LeastSquares) {
        review(functions, host, start, options, &mut solution).await?;
    }
    let take = Take { read_back, start: first.as_deref(), by_model: false };
    examine((functions, host, resources), options.objective, take, &mut solution).await?;
    Ok(solution)
}

/// Ends a run with 'precision-limit' that has come to rest where J̃ of a small problem promises more: along a narrow valley, as that of a parabola far from its
/// origin, gradients and falls are small everywhere beside those of the start. A success of least squares stands for a small promise, whatever made it.
async fn review(
    functions: &mut Functions,
    host: &mut HostModel,
    start: &[f64],
    options: &LbfgsOptions,
    solution: &mut Solution,
) -> Result<()> {
    let SolveOptions { cost_tolerance, gradient_tolerance, parameter_tolerance, .. } = options.solve;
    let tolerance = cost_tolerance.max(gradient_tolerance).max(parameter_tolerance);
    if solution.summary.success() && solution.summary.final_cost > 0.0 {
        functions.bring_values().await?;
        functions.bring_shared_data().await?;
        let run = Some((start, tolerance.sqrt()));
        let left = deficiency::promise(functions, host, solution.arithmetic, run).await?;
        if let Some(left) = left.filter(|left| *left > LEAST_PROMISE) {
            solution.summary.findings.push(Finding::Promise(left));
            solution.summary.termination = Termination::PrecisionLimit;
        }
    }
    Ok(())
}

/// The run on the device. `None` where the functions are not there, or the device does not take the problem.
async fn minimise_on_device(
    functions: &mut Functions,
    resources: &mut DeviceResources,
    start: &Start,
    map: Option<&ManifoldMap>,
    options: &LbfgsOptions,
    listener: &mut dyn Listener,
    began: f64,
) -> Result<Option<SolveSummary>> {
    #[cfg(target_arch = "wasm32")]
    if let Some(run) = crate::solve::lbfgs::device::Run::new(functions, start, map, options, began) {
        return run.minimise(functions, resources.lbfgs(), listener).await;
    }
    #[cfg(not(target_arch = "wasm32"))]
    let _ = (functions, resources, start, map, options, listener, began);
    Ok(None)
}
