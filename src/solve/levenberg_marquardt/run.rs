//! Levenberg-Marquardt over compiled functions, on the CPU in f64: evaluates what the solver asks for, passes on what it tells, and writes
//! the solution back. Functions on a GPU have an engine in f64 beside them, so they can be solved here too.

use super::retraction::Retraction;
use super::start::Start;
use super::untouched::Untouched;
use super::{Answer, LevenbergMarquardt, LinearSystems, Step};
use crate::batch::Model;
use crate::batch::pattern::Pattern;
use crate::clock::now_ms;
use crate::error::Result;
use crate::functions::Functions;
use crate::linear::choice::{self, Choice, Trial};
use crate::linear::{Blocks, DenseQr, Kind, LinearSolver, Pcg};
use crate::list::Listed;
use crate::solve::arithmetic::Arithmetic;
use crate::solve::drive::{Details, Listener, Solution};
use crate::solve::options::LevenbergMarquardtOptions;
use crate::solve::summary::{IterationSummary, SolveSummary, Termination};
use crate::turn::Turns;

/// Milliseconds by stage.
#[derive(Clone, Copy, Debug, Default)]
struct Stages {
    setup: f64,
    model: f64,
    trials: f64,
}

/// Minimises the least-squares cost of the functions by Levenberg-Marquardt from their current parameters, which become the solution.
///
/// # Errors
/// `non-finite` naming the residual if the start is not finite; `invalid-argument` for a start that cannot be brought onto its manifold;
/// `limit-exceeded` for a linear solver that was asked for and does not fit; what evaluations fail with.
pub async fn minimise_least_squares(
    functions: &mut Functions,
    options: &LevenbergMarquardtOptions,
    listener: &mut dyn Listener,
) -> Result<Solution> {
    let began = now_ms();
    functions.bring_values().await?;
    functions.bring_shared_data().await?;
    let start = Start::of(functions, Arithmetic::DOUBLE)?;
    let untouched = Untouched::of(functions.model(), functions.constant());
    let n = start.point.len();
    let (lower, upper) = match functions.bounds() {
        Some((lower, upper)) => (lower.to_vec(), upper.to_vec()),
        None => (vec![f64::NEG_INFINITY; n], vec![f64::INFINITY; n]),
    };
    let (arrays, kept) = functions.arrays_and_steps();
    let retraction = Retraction::new(arrays, lower, upper, kept).await?;
    let (mut course, systems) = Course::of(functions, options.linear_solver).await?;
    let mut solver = LevenbergMarquardt::new(start, systems, retraction, options);
    let mut stages = Stages { setup: now_ms() - began, ..Stages::default() };
    let outcome = run(functions, &mut solver, &mut course, listener, began, &mut stages).await;
    let mut summary = match outcome {
        Ok(summary) => summary,
        Err(error) => {
            // The application goes on seeing the point at which the solve began, if the device still shows anything.
            functions.publish_again();
            return Err(error);
        }
    };
    if summary.failed_at_start() {
        return Err(functions.non_finite_error(solver.point()).await?);
    }
    if untouched.count > 0 {
        summary.message = format!("{} {}", summary.message, untouched.sentence());
    }
    let x = solver.point().to_vec();
    functions.set_values(x.clone())?;
    let times = vec![
        ("setup", stages.setup),
        ("residual+Jacobian", stages.model),
        ("linear solver", solver.linear_ms()),
        ("trials", stages.trials),
    ];
    Ok(Solution { x, summary, details: Details { linear_solver: course.linear_solver, times, untouched } })
}

/// In which form the solver is given its models.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// [`Functions::linearise_as_sums`], as long as these do.
    Sums,
    /// [`Functions::linearise_for_products`]
    Products,
    /// [`Functions::linearise`]
    Rows,
}

/// How a run gets its models and solves its systems.
struct Course {
    form: Form,
    /// What the user asked for.
    kind: Option<Kind>,
    /// For the report.
    linear_solver: String,
    /// The systems of rows that wait while others are tried, and what the report would say of them.
    reserve: Option<(LinearSystems, String)>,
}

impl Course {
    /// The course that a run begins with.
    async fn of(functions: &mut Functions, kind: Option<Kind>) -> Result<(Course, LinearSystems)> {
        let n = functions.values().len();
        if matches!(kind, None | Some(Kind::DenseQr)) && functions.prepare_normal_equations().await? {
            let linear_solver = match kind {
                None => format!("normal equations: {n} parameters, which all residuals share"),
                Some(kind) => format!("{}: as linearSolver says, by normal equations", kind.name()),
            };
            let systems = without_rows(Blocks { ranges: vec![(0, n)] }, LinearSolver::DenseQr(DenseQr::new()), None);
            return Ok((Course { form: Form::Sums, kind, linear_solver, reserve: None }, systems));
        }
        // Where J̃ is asked for by its products alone, its pattern is never made.
        let blocks = blocks(functions.model());
        if kind == Some(Kind::Pcg) && functions.prepare_products(&blocks).await? {
            let Choice { solver, why, .. } = solver_of(kind, n, &[], &[])?;
            let systems = without_rows(blocks, solver, None);
            return Ok((Course { form: Form::Products, kind, linear_solver: why, reserve: None }, systems));
        }
        let (systems, linear_solver, trial) = of_rows(functions, kind)?;
        let by_products = kind.is_none() && (trial.is_some() || systems.solver.kind() == Kind::Pcg);
        if !(by_products && functions.prepare_products(&blocks).await?) {
            return Ok((Course { form: Form::Rows, kind, linear_solver, reserve: None }, systems));
        }
        let pcg = |trial| without_rows(blocks, LinearSolver::Pcg(Pcg::new()), trial);
        Ok(match trial {
            None => (Course { form: Form::Products, kind, linear_solver, reserve: None }, pcg(None)),
            Some(Trial { iterations, why }) => {
                let reserve = Some((systems, linear_solver));
                (Course { form: Form::Products, kind, linear_solver: why, reserve }, pcg(Some(iterations)))
            }
        })
    }

    /// Goes on with rows to the end: what is ill-conditioned mostly stays so.
    fn take_rows(&mut self, functions: &mut Functions, solver: &mut LevenbergMarquardt) -> Result<()> {
        let (systems, linear_solver, since) = match self.reserve.take() {
            Some((systems, linear_solver)) => (systems, linear_solver, "conjugate gradients took as long"),
            None => {
                let (systems, linear_solver, _) = of_rows(functions, self.kind)?;
                (systems, linear_solver, "normal equations were ill-conditioned")
            }
        };
        solver.use_rows(systems);
        self.form = Form::Rows;
        self.linear_solver = format!("{linear_solver}, since {since}");
        Ok(())
    }
}

/// Linear systems of models without rows.
fn without_rows(blocks: Blocks, solver: LinearSolver, trial: Option<usize>) -> LinearSystems {
    LinearSystems { row_offsets: Vec::new(), col_indices: Vec::new(), blocks, solver, trial }
}

/// The linear systems of rows, what the report says of them, and what may be tried before.
fn of_rows(functions: &mut Functions, kind: Option<Kind>) -> Result<(LinearSystems, String, Option<Trial>)> {
    let (n, blocks) = (functions.values().len(), blocks(functions.model()));
    let Pattern { row_offsets, col_indices, .. } = functions.tangent_pattern()?.without_places();
    let Choice { solver, why, trial } = solver_of(kind, n, &row_offsets, &col_indices)?;
    Ok((LinearSystems { row_offsets, col_indices, blocks, solver, trial: None }, why, trial))
}

/// The solver that the user asked for, or that suits a pattern of `n` columns.
fn solver_of(kind: Option<Kind>, n: usize, row_offsets: &[u32], col_indices: &[u32]) -> Result<Choice> {
    let Some(kind) = kind else { return choice::choose(n, row_offsets, col_indices) };
    let solver = choice::make(kind, n, row_offsets, col_indices)?;
    Ok(Choice { solver, why: format!("{}: as linearSolver says", kind.name()), trial: None })
}

/// Answers the solver until it is done.
async fn run(
    functions: &mut Functions,
    solver: &mut LevenbergMarquardt,
    course: &mut Course,
    listener: &mut dyn Listener,
    began: f64,
    stages: &mut Stages,
) -> Result<SolveSummary> {
    let mut answer = None;
    let mut turns = Turns::new();
    loop {
        turns.take().await;
        if listener.aborted() {
            solver.stop(Termination::Aborted);
        }
        let step = solver.next(now_ms() - began, answer.take())?;
        let asked = now_ms();
        match step {
            Step::Linearise(x) => {
                let model = match course.form {
                    Form::Sums => functions.linearise_as_sums(x)?,
                    Form::Products => functions.linearise_for_products(x)?,
                    Form::Rows => functions.linearise(x).await?,
                };
                if course.form == Form::Sums && !model.is_finite() {
                    // Squares overflow where rows may not: the same is asked for again.
                    course.take_rows(functions, solver)?;
                } else {
                    answer = Some(Answer::Model(model));
                }
                stages.model += now_ms() - asked;
            }
            Step::Solve => {
                answer = solver.solve(functions)?;
                while answer.is_none() {
                    turns.take().await;
                    answer = solver.solve(functions)?;
                }
                if matches!(answer, Some(Answer::RowsNeeded)) {
                    course.take_rows(functions, solver)?;
                }
            }
            Step::Image(made) => answer = Some(Answer::Image(functions.image(made)?)),
            Step::Reduce(x) => {
                let reduction = match course.form {
                    Form::Sums => functions.reduction_of_sums(x)?,
                    Form::Products | Form::Rows => functions.reduction(x).await?,
                };
                answer = Some(Answer::Reduction(reduction));
                stages.trials += now_ms() - asked;
            }
            Step::Iteration(iteration) => {
                if iteration.accepted {
                    functions.engine().publish(solver.point())?;
                }
                if listener.iteration(&iteration) {
                    solver.stop(Termination::Aborted);
                }
            }
            Step::Finished(summary) => return Ok(summary.clone()),
        }
    }
}

/// The tangent coordinates of each block of parameters.
fn blocks(model: &Model) -> Blocks {
    let of_array = |array: &crate::batch::ArrayInfo| {
        let (offset, dim) = (array.offset as usize, array.dim as usize);
        let tangents = array.manifold.tangent_dim(array.dim) as usize;
        (0..array.count as usize).map(move |block| (offset + block * dim, tangents))
    };
    Blocks { ranges: model.arrays.iter().flat_map(of_array).list() }
}

/// A listener to a solve that goes on where another one ended.
struct Continued<'a> {
    listener: &'a mut dyn Listener,
    before: &'a SolveSummary,
}

impl Listener for Continued<'_> {
    fn iteration(&mut self, summary: &IterationSummary) -> bool {
        // The start of this part is the end of the one before, and has been told.
        summary.iteration > 0 && self.listener.iteration(&continued(summary, self.before))
    }

    fn aborted(&mut self) -> bool {
        self.listener.aborted()
    }
}

fn continued(summary: &IterationSummary, before: &SolveSummary) -> IterationSummary {
    IterationSummary {
        iteration: summary.iteration + before.iterations,
        elapsed_ms: summary.elapsed_ms + before.elapsed_ms,
        ..*summary
    }
}

/// So many accepted steps in a row, each cut short and each with little gain, are stagnation.
const STAGNANT_STEPS: u32 = 5;

/// Of the cost, what a step that is no stagnation brings.
const LEAST_GAIN: f64 = 0.01;

/// A listener that ends a solve on the device when its conjugate gradients stagnate: they run to their limit without meeting their
/// tolerance, step after step, and the cost hardly falls.
pub struct Stagnation<'a> {
    listener: &'a mut dyn Listener,
    /// The most iterations of conjugate gradients; none where they always run to it.
    most: Option<u32>,
    steps: u32,
}

impl<'a> Stagnation<'a> {
    /// Watches a solve for its listener, or only listens.
    pub fn new(listener: &'a mut dyn Listener, options: &LevenbergMarquardtOptions, watches: bool) -> Stagnation<'a> {
        let most = (watches && options.linear_tolerance > 0.0).then_some(options.max_linear_iterations);
        Stagnation { listener, most, steps: 0 }
    }

    /// Whether that is why the solve has ended.
    pub fn is_there(&self) -> bool {
        self.steps >= STAGNANT_STEPS
    }
}

impl Listener for Stagnation<'_> {
    fn iteration(&mut self, summary: &IterationSummary) -> bool {
        if summary.accepted && !self.is_there() {
            let cut = summary.linear_iterations.is_some() && summary.linear_iterations >= self.most;
            let little = summary.cost_change < LEAST_GAIN * (summary.cost + summary.cost_change);
            self.steps = if self.most.is_some() && cut && little { self.steps + 1 } else { 0 };
        }
        if self.listener.iteration(summary) {
            // Whoever wants it to end does not want it to go on elsewhere.
            (self.most, self.steps) = (None, 0);
            return true;
        }
        self.is_there()
    }

    fn aborted(&mut self) -> bool {
        self.listener.aborted()
    }
}

/// Goes on in f64 where a solve on the device has ended for want of digits: `before`, whose point is the functions' current one. What
/// was found there counts; iterations and time are those of both together.
pub async fn take_over(
    functions: &mut Functions,
    options: &LevenbergMarquardtOptions,
    listener: &mut dyn Listener,
    before: Solution,
    stagnated: bool,
) -> Result<Solution> {
    let mut rest = options.clone();
    rest.solve.max_iterations = options.solve.max_iterations.saturating_sub(before.summary.iterations);
    rest.solve.max_time_ms = (options.solve.max_time_ms - before.summary.elapsed_ms).max(f64::MIN_POSITIVE);
    let mut listener = Continued { listener, before: &before.summary };
    let mut solution = minimise_least_squares(functions, &rest, &mut listener).await?;
    let Solution { summary: of_device, details: device, .. } = before;
    let summary = &mut solution.summary;
    let end = of_device.termination.as_str();
    let end = if stagnated { "conjugate gradients that stagnated" } else { &format!("'{end}'") };
    summary.message = format!(
        "The GPU ended with {end} after {} iterations in single precision, and the CPU went on. {}",
        of_device.iterations, summary.message
    );
    let rest = summary.history.iter().skip(1).map(|iteration| continued(iteration, &of_device));
    summary.history = of_device.history.iter().copied().chain(rest).list();
    summary.iterations += of_device.iterations;
    summary.function_evaluations += of_device.function_evaluations;
    summary.elapsed_ms += of_device.elapsed_ms;
    summary.initial_cost = of_device.initial_cost;
    let details = &mut solution.details;
    details.linear_solver = format!("{}; then on the CPU {}", device.linear_solver, details.linear_solver);
    details.times = device.times.into_iter().chain(std::mem::take(&mut details.times)).list();
    Ok(solution)
}
