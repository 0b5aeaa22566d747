//! The review of problems that have converged where columns of J̃ may nearly depend on each other. J̃ᵀJ̃ has not the digits for it, and is all that is known
//! here. So single solves go on where these problems have ended, and review them as they do their own ends.

use residua_base::cooperative::Yielder;
use residua_base::error::{ErrorCode, Result};

use crate::solve::levenberg_marquardt::host::{SolverResources, minimise_least_squares};
use crate::solve::listener::Listener;
use crate::solve::many::batch::Batch;
use crate::solve::many::template::Template;
use crate::solve::many::{ManyListener, ManyOptions, ManySolutions, single};
use crate::solve::options::{LevenbergMarquardtOptions, SolveOptions};
use crate::solve::summary::IterationSummary;

/// The square of a unit column's distance from the span of others up to which a problem is reviewed, as in single solves.
pub(super) const DOUBTED: f64 = 1e-10;

/// Goes on with some problems, from where they have ended.
pub(super) async fn review(
    template: &Template,
    batch: &Batch<'_>,
    options: &ManyOptions,
    problems: &[u32],
    solutions: &mut ManySolutions,
    audience: &mut dyn ManyListener,
) -> Result<()> {
    if problems.is_empty() {
        return Ok(());
    }
    let numbers = template.values.len();
    let mut functions = single::functions(template.clone())?;
    let (mut lower, mut upper) = (vec![f64::NEG_INFINITY; numbers], vec![f64::INFINITY; numbers]);
    for coordinate in &template.free {
        if let Some(bounds) = coordinate.bounds {
            let parameter = coordinate.parameter as usize;
            (lower[parameter], upper[parameter]) = bounds;
        }
    }
    functions.set_bounds(lower, upper)?;
    let mut resources = SolverResources::default();
    let mut yielder = Yielder::new();
    for &problem in problems {
        yielder.yield_if_due().await;
        if audience.aborted() {
            return Ok(());
        }
        let place = problem as usize;
        let x = place * numbers..(place + 1) * numbers;
        single::set_problem(&mut functions, batch, &batch.read_data(problem..problem + 1), 0, &solutions.x[x.clone()])?;
        let options = LevenbergMarquardtOptions {
            solve: SolveOptions {
                max_iterations: options.max_iterations.saturating_sub(solutions.iterations[place]),
                cost_tolerance: options.tolerances.cost,
                gradient_tolerance: options.tolerances.gradient,
                parameter_tolerance: options.tolerances.parameter,
                ..SolveOptions::defaults()
            },
            initial_damping: options.initial_damping,
            ..LevenbergMarquardtOptions::defaults()
        };
        let found = minimise_least_squares(&mut functions, &mut resources, &options, &mut Quiet(audience)).await;
        let found = match found {
            Ok(found) => found,
            // The point is as good as it was.
            Err(error) if error.code == ErrorCode::NonFinite => continue,
            Err(error) => return Err(error),
        };
        let summary = found.summary;
        if summary.iterations > 0 || !summary.termination.converged() {
            solutions.x[x].copy_from_slice(&found.x);
            solutions.cost[place] = summary.final_cost;
            solutions.iterations[place] += summary.iterations;
            solutions.termination[place] = summary.termination;
        }
    }
    Ok(())
}

/// Hears nothing of single solves.
struct Quiet<'a>(&'a mut dyn ManyListener);

impl Listener for Quiet<'_> {
    fn iteration(&mut self, _: &IterationSummary) -> bool {
        false
    }

    fn aborted(&mut self) -> bool {
        self.0.aborted()
    }
}
