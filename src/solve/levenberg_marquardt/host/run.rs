//! Levenberg-Marquardt over compiled functions, on the CPU in f64: evaluates what the solver requests, reports its iterations, and writes
//! the solution back. Functions on a GPU have an engine in f64 beside them, so they can be solved here too.

use super::ARITHMETIC;
use super::minimizer::LevenbergMarquardt;
use super::phase::{Answer, Request};
use super::resources::SolverResources;
use super::retraction::Retraction;
use super::second_order::{self, Curved};
use super::solve_path::{Beginning, SolvePath};
use crate::eval::Functions;
use crate::gauss_newton::host::HostModel;
use crate::gauss_newton::host::hessian_system::HessianSystem;
use crate::solve::before_start;
use crate::solve::listener::Listener;
use crate::solve::options::LevenbergMarquardtOptions;
use crate::solve::precision::rounding_of_cost;
use crate::solve::solution::{Details, Solution};
use crate::solve::start::Start;
use crate::solve::summary::{SolveSummary, Termination};
use crate::solve::write_back::{Left, write_back};
use residua_base::clock::now_ms;
use residua_base::cooperative::Yielder;
use residua_base::deadline::Deadline;
use residua_base::error::Result;

/// Milliseconds by stage, each with the decisions that lead to it.
#[derive(Clone, Copy, Debug, Default)]
struct Stages {
    setup: f64,
    model: f64,
    linear: f64,
    trials: f64,
}

/// Minimises the least-squares cost of the functions by Levenberg-Marquardt from their current parameters, which become the solution.
///
/// # Errors
/// `non-finite` naming the residual if the start is not finite; `invalid-argument` for a start that cannot be brought onto its manifold;
/// `limit-exceeded` for a linear solver that was asked for and does not fit; what evaluations fail with.
pub async fn minimise_least_squares(
    functions: &mut Functions,
    resources: &mut SolverResources,
    options: &LevenbergMarquardtOptions,
    listener: &mut dyn Listener,
) -> Result<Solution> {
    let began = now_ms();
    Yielder::new();
    functions.bring_values().await?;
    functions.bring_shared_data().await?;
    let start = Start::of(functions, ARITHMETIC)?;
    let n = start.point.len();
    let (lower, upper) = match functions.bounds() {
        Some((lower, upper)) => (lower.to_vec(), upper.to_vec()),
        None => (vec![f64::NEG_INFINITY; n], vec![f64::INFINITY; n]),
    };
    let SolverResources { model, systems: kept } = resources;
    let mut options = options.clone();
    let retraction = Retraction::new(&functions.model().arrays, lower, upper).await?;
    let end = Deadline::after(began, options.solve.max_time_ms);
    let (mut path, systems) = match SolvePath::of(functions, model, &options, kept.take(), end).await? {
        Beginning::Ready(path, systems) => (path, systems),
        Beginning::Late(rows) => {
            *kept = rows;
            return before_start::solution(functions, &options.solve, (start, ARITHMETIC), listener, began).await;
        }
    };
    if options.affords_more {
        options.solve.max_iterations = options.solve.max_iterations.max(path.affordable_iterations(&systems));
    }
    let mut solver = LevenbergMarquardt::new(functions.sample_count(), start, systems, retraction, &options);
    solver.has_long_curvature = HostModel::has_long_second_order(functions);
    let mut stages = Stages { setup: now_ms() - began, ..Stages::default() };
    let outcome = run(functions, model, &mut solver, &mut path, listener, (began, end), &mut stages).await;
    let (x, summary) = write_back(functions, ARITHMETIC, outcome, || Left::Host(solver.point().to_vec())).await?;
    let may_lack_rank = summary.success() && solver.may_lack_rank();
    let times = vec![
        ("setup", stages.setup),
        ("residual+Jacobian", stages.model),
        ("linear solver", stages.linear),
        ("trials", stages.trials),
    ];
    let linear_solver = path.linear_solver.clone();
    let radius = solver.radius();
    *kept = path.into_kept(solver.into_systems());
    let details = Details { linear_solver, times, may_lack_rank, radius: Some(radius), newton_decrement: None };
    Ok(Solution { x, summary, arithmetic: ARITHMETIC, precision: None, details })
}

/// Computes what the minimizer requests until it has ended.
async fn run(
    functions: &mut Functions,
    model: &mut HostModel,
    minimizer: &mut LevenbergMarquardt,
    path: &mut SolvePath,
    listener: &mut dyn Listener,
    (began, end): (f64, Deadline),
    stages: &mut Stages,
) -> Result<SolveSummary> {
    let mut answer = None;
    let mut hessians = None;
    let mut yielder = Yielder::going_on();
    // Only code of the page aborts, which runs while the thread is yielded and in the listener.
    let mut may_be_aborted = true;
    // A small solve takes no longer than some hundred readings of the clock: it is read once for each request.
    let mut now = now_ms();
    loop {
        if yielder.yield_if_due_at(now).await {
            (may_be_aborted, now) = (true, now_ms());
        }
        if std::mem::take(&mut may_be_aborted) && listener.aborted() {
            minimizer.stop(Termination::Aborted);
        }
        let request = minimizer.next(now - began, answer.take())?;
        let mut unmeasured = 0.0;
        let stage = match request {
            Request::Linearise(x) => {
                if !path.prepare(functions, model, end).await? {
                    minimizer.abandon_step(Termination::MaxTime);
                } else if let Some(mut linearised) = path.linearise(functions, model, x).await? {
                    if HostModel::is_robust(functions) {
                        linearised.influence = HostModel::influence(functions, x).await?;
                    }
                    answer = Some(Answer::Model(linearised));
                } else {
                    // The same is asked for again.
                    minimizer.use_rows(path.take_rows(functions, model)?);
                }
                &mut stages.model
            }
            Request::Solve => {
                answer = minimizer.solve(&mut model.jtj(functions))?;
                while answer.is_none() {
                    let yielded = yielder.yield_if_due().await;
                    let is_aborted = yielded && listener.aborted();
                    if is_aborted || end.has_passed() {
                        minimizer.abandon_step(if is_aborted { Termination::Aborted } else { Termination::MaxTime });
                        break;
                    }
                    answer = minimizer.solve(&mut model.jtj(functions))?;
                }
                if matches!(answer, Some(Answer::RowsNeeded)) {
                    minimizer.use_rows(path.take_rows(functions, model)?);
                }
                &mut stages.linear
            }
            Request::SecondOrder(question) => {
                let mut is_stopped = None;
                let mut stops = || {
                    let why = if listener.aborted() { Some(Termination::Aborted) } else { None };
                    is_stopped = why.or(end.has_passed().then_some(Termination::MaxTime));
                    is_stopped.is_some()
                };
                let step = second_order::step(&mut hessians, functions, question, end, &mut yielder, &mut stops);
                // A future of its own: small problems do not enter it.
                let step = Box::pin(step).await?;
                let is_late = matches!(step, Curved::Absent) && end.has_passed();
                match is_stopped.or(is_late.then_some(Termination::MaxTime)) {
                    Some(why) => minimizer.abandon_step(why),
                    None => answer = Some(Answer::SecondOrder(step)),
                }
                &mut stages.linear
            }
            Request::QuadraticForm(vector, is_convex) => {
                let form = |system: &HessianSystem| system.quadratic_form(vector, is_convex);
                answer = Some(Answer::SquaredJvp(hessians.as_ref().map_or(f64::NAN, form)));
                &mut unmeasured
            }
            Request::SquaredJvp(step) => {
                answer = Some(Answer::SquaredJvp(model.squared_jvp(functions, step)?));
                &mut unmeasured
            }
            Request::Curvature(x) => {
                match model.prepare_second_order(functions, end).await? {
                    None => minimizer.abandon_step(Termination::MaxTime),
                    Some(false) => answer = Some(Answer::Curvature(None)),
                    Some(true) => answer = Some(Answer::Curvature(Some(model.second_order(functions, x).await?))),
                }
                &mut stages.model
            }
            Request::Bend(x, step) => {
                if model.prepare_second_directional(functions, end).await? {
                    answer = Some(Answer::Bend(model.second_directional_gradient(functions, x, step).await?));
                } else {
                    minimizer.abandon_step(Termination::MaxTime);
                }
                &mut stages.model
            }
            Request::EvaluateTrial(x) => {
                if path.prepare_reduction(functions, model, end).await? {
                    answer = Some(Answer::Reduction(path.reduction(functions, model, x).await?));
                } else {
                    minimizer.abandon_step(Termination::MaxTime);
                }
                &mut stages.trials
            }
            Request::Rounding(x) => {
                answer = Some(Answer::Rounding(rounding_of_cost(functions.model(), x, functions.constant())?));
                &mut stages.trials
            }
            Request::Iteration(iteration) => {
                if iteration.accepted {
                    functions.engine().publish(minimizer.point())?;
                }
                if listener.iteration(&iteration) {
                    minimizer.stop(Termination::Aborted);
                }
                may_be_aborted = true;
                &mut unmeasured
            }
            Request::Finished(summary) => return Ok(summary.clone()),
        };
        let done = now_ms();
        *stage += done - now;
        now = done;
    }
}
