//! The driver of L-BFGS: whole iterations on the device where it takes the problem, otherwise a solver on the host over evaluations in
//! either place.

use std::rc::Rc;

use super::guard::{check, is_checked, judge, judge_by_earlier};
use super::remark::remark;
use crate::eval::Functions;
use crate::solve::check_schedule::CheckTime;
use crate::solve::lbfgs::host::{Lbfgs, run};
use crate::solve::listener::Listener;
use crate::solve::manifold_map::ManifoldMap;
use crate::solve::options::LbfgsOptions;
use crate::solve::session::DeviceResources;
use crate::solve::solution::{Details, Solution};
use crate::solve::start::Start;
use crate::solve::summary::SolveSummary;
use crate::solve::write_back::{Left, write_back};
use residua_base::clock::now_ms;
use residua_base::error::Result;

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
    let began = now_ms();
    functions.bring_values().await?;
    let arithmetic = functions.arithmetic();
    let start = Start::of(functions, arithmetic)?;
    let map = ManifoldMap::of(&functions.model().arrays, start.point.len()).await?.map(Rc::new);
    let on_device = minimise_on_device(functions, resources, &start, map.as_deref(), options, listener, began).await;
    let (x, summary) = match on_device.transpose() {
        Some(run) => write_back(functions, arithmetic, run, || Left::Device { read_back }).await?,
        None => {
            let mut solver = Lbfgs::new(start, map.clone(), options, arithmetic)?;
            let run = run(functions, &mut solver, options.objective, map.as_deref(), listener, began).await;
            write_back(functions, arithmetic, run, || Left::Host(solver.solution().to_vec())).await?
        }
    };
    let mut solution = Solution { x, summary, arithmetic, precision: None, details: Details::default() };
    if is_checked(arithmetic, solution.summary.termination) {
        let cost = solution.summary.final_cost;
        match resources.checks.time(read_back, options.objective, cost) {
            CheckTime::Now => judge(&mut solution, check(functions, options.objective, cost).await?),
            CheckTime::Later(found) => judge_by_earlier(&mut solution, found),
        }
    }
    remark(&mut solution, functions);
    Ok(solution)
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
