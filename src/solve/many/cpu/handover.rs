//! Problems that the pass over all of them does not solve: single solves begin at their starts.

use residua_base::cooperative::Yielder;
use residua_base::error::{ErrorCode, Result};

use crate::solve::levenberg_marquardt::host::{SolverResources, deficiency, minimise_least_squares};
use crate::solve::listener::Listener;
use crate::solve::many::batch::Batch;
use crate::solve::many::template::SharedProblem;
use crate::solve::many::{ManyListener, ManyOptions, ManySolutions, single};
use crate::solve::options::{LevenbergMarquardtOptions, SolveOptions};
use crate::solve::summary::{IterationSummary, Termination};
use crate::solve::untouched::Untouched;

/// Solves some problems, each with the iterations that the pass has left it of `most`.
pub(super) async fn solve(
    template: &SharedProblem,
    batch: &Batch<'_>,
    (options, most): (&ManyOptions, u32),
    problems: &[u32],
    solutions: &mut ManySolutions,
    audience: &mut dyn ManyListener,
) -> Result<()> {
    if problems.is_empty() {
        return Ok(());
    }
    let numbers = template.values.len();
    let mut functions = single::functions(template.clone())?;
    single::set_bounds(&mut functions, template)?;
    let mut resources = SolverResources::default();
    let mut yielder = Yielder::new();
    for (left, &problem) in (0..problems.len() as u32).rev().zip(problems) {
        yielder.yield_if_due().await;
        if audience.aborted() {
            return Ok(());
        }
        let place = problem as usize;
        let start = batch.starts(template, problem..problem + 1);
        single::set_problem(&mut functions, batch, &batch.read_data(problem..problem + 1), 0, &start)?;
        let options = LevenbergMarquardtOptions {
            solve: SolveOptions {
                max_iterations: most.saturating_sub(solutions.iterations[place]),
                cost_tolerance: options.tolerances.cost,
                gradient_tolerance: options.tolerances.gradient,
                parameter_tolerance: options.tolerances.parameter,
                ..SolveOptions::defaults()
            },
            initial_damping: options.initial_damping,
            ..LevenbergMarquardtOptions::defaults()
        };
        let found = minimise_least_squares(&mut functions, &mut resources, &options, &mut Quiet(audience)).await;
        let x = &mut solutions.x[place * numbers..(place + 1) * numbers];
        match found {
            Ok(found) => {
                x.copy_from_slice(&found.x);
                solutions.cost[place] = found.summary.final_cost;
                solutions.iterations[place] += found.summary.iterations;
                solutions.termination[place] = found.summary.termination;
                solutions.deficient[place] = Untouched::of(functions.model(), functions.constant()).count > 0
                    || found.details.may_lack_rank
                        && deficiency::finding(&mut functions, &mut resources.model, false).await?.is_some();
            }
            Err(error) if error.code == ErrorCode::NonFinite => {
                x.copy_from_slice(&start);
                solutions.termination[place] = Termination::NonFinite;
            }
            Err(error) => return Err(error),
        }
        audience.progress(batch.count - left);
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
