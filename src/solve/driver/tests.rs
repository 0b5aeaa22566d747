//! The stages of a solve over fake solvers, whose runs are scripts.

mod free_directions;
mod guard;
mod ladder;
mod stagnation;
mod whole_run;

use std::collections::VecDeque;

use super::examine::{is_checked, judge, judge_by_earlier};
use super::least_squares::{Request, Solvers, Take, solve};
use super::stages::{HOST, PAIRS, Stage};
use super::{levenberg_marquardt, minimise};
use crate::eval::tests::functions;
use crate::eval::{Arithmetic, Functions, Objective, Place};
use crate::model::tests::Recorder;
use crate::solve::check_schedule::{CheckSchedule, CheckTime, End};
use crate::solve::ending::{iteration_limit, time_limit, time_limit_at_start};
use crate::solve::findings::Finding;
use crate::solve::listener::Listener;
use crate::solve::options::{LbfgsOptions, LevenbergMarquardtOptions};
use crate::solve::precision::{Checked, PrecisionEstimate};
use crate::solve::session::{DeviceResources, Session};
use crate::solve::solution::{Details, Solution};
use crate::solve::summary::{IterationSummary, SolveSummary, Termination};
use residua_base::cooperative::run_synchronously;
use residua_base::error::{Error, ErrorCode, Result};
use residua_ir::graph::Op;

const DEVICE: Stage = Stage { place: Place::Device, arithmetic: Arithmetic::F32 };
const MS_PER_ITERATION: f64 = 10.0;

/// The run of a fake solver: its steps, and its end unless the listener ends it.
type Script = (Vec<IterationSummary>, Result<Termination>);

/// A run of so many fast steps.
fn fast(steps: u32, end: Termination) -> Script {
    ((1..=steps).map(|number| step(number, 500.0)).collect(), Ok(end))
}

/// A run of six steps that gain little, whose conjugate gradients are cut short.
fn slow(end: Termination) -> Script {
    ((1..=6).map(|number| step(number, 9.0)).collect(), Ok(end))
}

fn fails(code: ErrorCode) -> Script {
    (Vec::new(), Err(Error::new(code, "refused")))
}

/// An accepted step from a cost of 1000 + `gain`, after 100 iterations of conjugate gradients.
fn step(iteration: u32, gain: f64) -> IterationSummary {
    IterationSummary {
        iteration,
        cost: 1000.0,
        cost_change: gain,
        gradient_max_norm: 1.0,
        step_norm: 1.0,
        accepted: true,
        damping: None,
        gain_ratio: None,
        linear_iterations: Some(100),
        step_size: None,
        elapsed_ms: MS_PER_ITERATION * f64::from(iteration),
    }
}

/// One run of a fake solver as it was asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Run {
    stage: Stage,
    max_iterations: u32,
    max_time_ms: f64,
    read_back: bool,
}

struct Fakes {
    stage: Stage,
    has_long_sums: bool,
    is_for_factorisation: bool,
    /// The loss that a check finds; no check is expected without one.
    loss: Option<f64>,
    /// Whether it finds that squares of residuals underflow.
    underflows: bool,
    /// Whether it finds that a parameter has lost its effect.
    loses: bool,
    checks: CheckSchedule,
    scripts: VecDeque<Script>,
    /// The run whose time is over before its start is linearised.
    late: Option<usize>,
    runs: Vec<Run>,
    /// Before which runs the parameters were set to the start.
    restarts: Vec<usize>,
    /// Whether pairs can be had.
    has_pairs: bool,
    /// How often the functions' own stage was gone back to.
    left: u32,
}

impl Fakes {
    /// Solvers of functions in `stage` on a device without pairs.
    fn new(stage: Stage, scripts: Vec<Script>) -> Fakes {
        Fakes {
            stage,
            has_long_sums: false,
            is_for_factorisation: false,
            loss: None,
            underflows: false,
            loses: false,
            checks: CheckSchedule::default(),
            scripts: scripts.into(),
            late: None,
            runs: Vec::new(),
            restarts: Vec::new(),
            has_pairs: false,
            left: 0,
        }
    }
}

impl Fakes {
    /// What a check of a solve from `start` finds.
    fn checked(&self, start: Option<&[f64]>) -> Checked {
        let loss = self.loss.expect("a check has a loss");
        let estimate = PrecisionEstimate {
            loss,
            shift: None,
            instances: 1,
            underflows: self.underflows,
            immovable: None,
            lost: start.filter(|_| self.loses).map(|_| 0),
            without_effect: None,
            is_undetermined: false,
            left: 0.0,
        };
        let (arithmetic, suffices) = (Arithmetic::F32, estimate.suffices());
        let rounding = Finding::Rounding { arithmetic, loss, shift: None, instances: 1, suffices, is_earlier: false };
        Checked { estimate, findings: vec![rounding] }
    }

    fn examine(&mut self, take: Take<'_>, solution: &mut Solution) {
        if self.loss.is_none() || !is_checked(solution.arithmetic, solution.summary.termination) {
            return;
        }
        let end =
            End { objective: Objective::LeastSquares, cost: solution.summary.final_cost, by_model: take.by_model };
        match self.checks.time(take.read_back, end) {
            CheckTime::Now => judge(solution, self.checked(take.start)),
            CheckTime::Later(found) => judge_by_earlier(solution, found),
        }
    }
}

impl Solvers for Fakes {
    fn stage(&self) -> Stage {
        self.stage
    }

    fn has_long_sums(&self) -> bool {
        self.has_long_sums
    }

    fn is_for_factorisation(&mut self, _: &LevenbergMarquardtOptions) -> bool {
        self.is_for_factorisation
    }

    async fn values(&mut self) -> Result<Vec<f64>> {
        Ok(vec![-1.0])
    }

    fn set_values(&mut self, x: Vec<f64>) -> Result<()> {
        assert_eq!(x, [-1.0]);
        self.restarts.push(self.runs.len());
        Ok(())
    }

    async fn enter(&mut self, stage: Stage) -> Result<bool> {
        Ok(stage != PAIRS || self.has_pairs)
    }

    async fn leave(&mut self) -> Result<()> {
        self.left += 1;
        Ok(())
    }

    async fn solve(
        &mut self,
        stage: Stage,
        options: &LevenbergMarquardtOptions,
        take: Take<'_>,
        listener: &mut dyn Listener,
    ) -> Result<Solution> {
        let number = self.runs.len() as f64;
        let solve = &options.solve;
        self.runs.push(Run {
            stage,
            max_iterations: solve.max_iterations,
            max_time_ms: solve.max_time_ms,
            read_back: take.read_back,
        });
        let (steps, end) = self.scripts.pop_front().expect("a run has a script");
        let mut termination = end?;
        if self.late == Some(self.runs.len() - 1) {
            let why = time_limit_at_start(solve);
            return Ok(Solution {
                x: vec![number],
                summary: SolveSummary { termination, why, elapsed_ms: 1.0, ..SolveSummary::before_start() },
                arithmetic: stage.arithmetic,
                precision: None,
                details: Details::default(),
            });
        }
        let start = IterationSummary { linear_iterations: None, ..step(0, 0.0) };
        let mut history = Vec::new();
        for iteration in std::iter::once(start).chain(steps) {
            history.push(iteration);
            if listener.iteration(&iteration) {
                termination = Termination::Aborted;
                break;
            }
        }
        let iterations = history.len() as u32 - 1;
        let summary = SolveSummary {
            promise: None,
            termination,
            why: match termination {
                Termination::MaxIterations => iteration_limit(solve),
                Termination::MaxTime => time_limit(solve),
                _ => termination.as_str().to_owned(),
            },
            findings: Vec::new(),
            iterations,
            function_evaluations: 2 * iterations,
            initial_cost: 2000.0 - number,
            final_cost: 1000.0,
            elapsed_ms: MS_PER_ITERATION * f64::from(iterations),
            history,
        };
        let linear_solver = format!("solver {number}");
        let times = vec![("setup", number)];
        let mut solution = Solution {
            x: vec![number],
            summary,
            arithmetic: stage.arithmetic,
            precision: None,
            details: Details { linear_solver, times, ..Details::default() },
        };
        self.examine(take, &mut solution);
        Ok(solution)
    }
}

/// Records the numbers of iterations, and stops at one.
#[derive(Default)]
struct Recording {
    iterations: Vec<u32>,
    stops_at: Option<u32>,
}

impl Listener for Recording {
    fn iteration(&mut self, summary: &IterationSummary) -> bool {
        self.iterations.push(summary.iteration);
        self.stops_at == Some(summary.iteration)
    }

    fn aborted(&mut self) -> bool {
        false
    }
}

fn options() -> LevenbergMarquardtOptions {
    let mut options = LevenbergMarquardtOptions::defaults();
    (options.max_linear_iterations, options.linear_tolerance) = (100, 0.1);
    (options.solve.max_iterations, options.solve.max_time_ms) = (50, 1000.0);
    options
}

/// The runs that a solve of functions in `stage` asks for, and its outcome.
fn run(
    stage: Stage,
    has_long_sums: bool,
    scripts: Vec<Script>,
    request: Request,
    listener: &mut Recording,
) -> (Vec<Run>, Result<Solution>) {
    let mut fakes = Fakes { has_long_sums, ..Fakes::new(stage, scripts) };
    let outcome = run_synchronously(solve(&mut fakes, &options(), request, listener));
    assert_eq!(fakes.left, 1, "whatever the outcome");
    (fakes.runs, outcome)
}

const AUTO: Request = Request { read_back: true, may_hand_over: true };
const GPU: Request = Request { read_back: true, may_hand_over: false };

#[test]
fn each_solve_runs_through_its_stages() {
    let end = |termination| fast(3, termination);
    let converged = || end(Termination::CostTolerance);
    for (case, functions, long_sums, request, scripts, stages, termination) in [
        (
            "functions on the host",
            HOST,
            false,
            AUTO,
            vec![end(Termination::PrecisionLimit)],
            vec![HOST],
            Termination::PrecisionLimit,
        ),
        ("functions on the device", DEVICE, false, AUTO, vec![converged()], vec![DEVICE], Termination::CostTolerance),
        ("long sums", DEVICE, true, GPU, vec![converged()], vec![HOST], Termination::CostTolerance),
        (
            "the precision limit with 'auto'",
            DEVICE,
            false,
            AUTO,
            vec![end(Termination::PrecisionLimit), converged()],
            vec![DEVICE, HOST],
            Termination::CostTolerance,
        ),
        (
            "the precision limit with 'gpu'",
            DEVICE,
            false,
            GPU,
            vec![end(Termination::PrecisionLimit)],
            vec![DEVICE],
            Termination::PrecisionLimit,
        ),
        (
            "a collapsed trust region",
            DEVICE,
            false,
            AUTO,
            vec![end(Termination::TrustRegionCollapsed), end(Termination::TrustRegionCollapsed)],
            vec![DEVICE, HOST],
            Termination::TrustRegionCollapsed,
        ),
        (
            "NaN ahead",
            DEVICE,
            false,
            AUTO,
            vec![end(Termination::NonFinite), converged()],
            vec![DEVICE, HOST],
            Termination::CostTolerance,
        ),
        (
            "stagnation with 'auto'",
            DEVICE,
            false,
            AUTO,
            vec![slow(Termination::MaxIterations), converged()],
            vec![DEVICE, HOST],
            Termination::CostTolerance,
        ),
        (
            "stagnation with 'gpu'",
            DEVICE,
            false,
            GPU,
            vec![slow(Termination::MaxIterations)],
            vec![DEVICE],
            Termination::MaxIterations,
        ),
        (
            "stagnation on the host",
            DEVICE,
            false,
            AUTO,
            vec![end(Termination::PrecisionLimit), slow(Termination::MaxIterations)],
            vec![DEVICE, HOST],
            Termination::MaxIterations,
        ),
        (
            "the iteration limit",
            DEVICE,
            false,
            AUTO,
            vec![end(Termination::MaxIterations)],
            vec![DEVICE],
            Termination::MaxIterations,
        ),
    ] {
        let (runs, outcome) = run(functions, long_sums, scripts, request, &mut Recording::default());
        assert_eq!(runs.iter().map(|run| run.stage).collect::<Vec<_>>(), stages, "{case}");
        let solution = outcome.unwrap();
        assert_eq!(solution.summary.termination, termination, "{case}");
        assert_eq!(solution.x, [stages.len() as f64 - 1.0], "{case}: the last stage's solution");
    }
}

#[test]
fn functions_on_the_device_are_solved_on_the_host_where_a_factorisation_takes_less() {
    let why = "; on the CPU, where a factorisation takes less than conjugate gradients on the GPU";
    for (stage, is_told) in [(DEVICE, true), (HOST, false)] {
        let scripts = vec![fast(3, Termination::CostTolerance)];
        let mut fakes = Fakes { is_for_factorisation: true, ..Fakes::new(stage, scripts) };
        let outcome = run_synchronously(solve(&mut fakes, &options(), GPU, &mut Recording::default()));
        let Details { linear_solver, .. } = outcome.unwrap().details;
        assert_eq!(fakes.runs[0].stage, HOST);
        assert_eq!(linear_solver.ends_with(why), is_told, "{linear_solver}");
    }
}

#[test]
fn a_caller_who_stops_a_stage_stops_the_solve() {
    for (scripts, stops_at) in
        [(vec![fast(3, Termination::PrecisionLimit)], 2), (vec![slow(Termination::MaxIterations)], 5)]
    {
        let mut listener = Recording { stops_at: Some(stops_at), ..Recording::default() };
        let (runs, outcome) = run(DEVICE, false, scripts, AUTO, &mut listener);
        assert_eq!(runs.len(), 1);
        assert_eq!(outcome.unwrap().summary.termination, Termination::Aborted);
    }
}

#[test]
fn an_error_ends_the_solve_in_whichever_stage() {
    for (scripts, stages) in [
        (vec![fails(ErrorCode::DeviceLost)], 1),
        (vec![fast(3, Termination::PrecisionLimit), fails(ErrorCode::DeviceLost)], 2),
    ] {
        let (runs, outcome) = run(DEVICE, false, scripts, AUTO, &mut Recording::default());
        assert_eq!((runs.len(), outcome.unwrap_err().code), (stages, ErrorCode::DeviceLost));
    }
}

#[test]
fn a_later_stage_has_the_iterations_and_the_time_that_are_left() {
    for read_back in [true, false] {
        let scripts = vec![fast(7, Termination::PrecisionLimit), fast(2, Termination::CostTolerance)];
        let request = Request { read_back, ..AUTO };
        let (runs, _) = run(DEVICE, false, scripts, request, &mut Recording::default());
        let expected = [
            Run { stage: DEVICE, max_iterations: 50, max_time_ms: 1000.0, read_back },
            Run { stage: HOST, max_iterations: 43, max_time_ms: 930.0, read_back },
        ];
        assert_eq!(runs, expected);
    }
    let scripts = vec![fast(120, Termination::PrecisionLimit), fast(0, Termination::MaxTime)];
    let (runs, _) = run(DEVICE, false, scripts, AUTO, &mut Recording::default());
    assert_eq!(runs[1].max_iterations, 0);
    assert!(runs[1].max_time_ms > 0.0, "options take positive times");
}

#[test]
fn limits_are_told_for_the_whole_run() {
    for (end, says) in [
        (Termination::MaxIterations, "7 iterations in all. Stopped after maxIterations, 50."),
        (Termination::MaxTime, "7 iterations in all. Stopped after maxTimeMs, 1000 milliseconds."),
    ] {
        let scripts = vec![fast(4, Termination::PrecisionLimit), fast(3, end)];
        let (_, outcome) = run(DEVICE, false, scripts, AUTO, &mut Recording::default());
        let message = outcome.unwrap().summary.message();
        assert!(message.ends_with(says), "{message}");
    }
}

/// Changes functions before they are solved.
type Change = fn(&mut Functions);

#[test]
fn a_solve_of_nothing_says_so() {
    let all_constant = |f: &mut Functions| f.set_constant(vec![true; 2]).unwrap();
    let disabled = |f: &mut Functions| f.set_enabled(0, false).unwrap();
    let without_weight = |f: &mut Functions| f.set_weight(0, 0.0).unwrap();
    let table: [(Change, &str); 4] = [
        (all_constant, " All parameters are constant, so that nothing was solved for."),
        (disabled, " No residual takes part: all blocks are disabled or have the weight 0."),
        (without_weight, " No residual takes part: all blocks are disabled or have the weight 0."),
        (|_| (), "."),
    ];
    for (set, says) in table {
        let made = || {
            let mut r = Recorder::default();
            let (a, b) = (r.parameter(0), r.parameter(1));
            let outputs = [Op::Add, Op::Sub].map(|op| r.apply(op, &[a, b])).to_vec();
            let mut f = functions(r, outputs, &[1.0, 3.0]);
            set(&mut f);
            f
        };
        let mut session = Session::new(made());
        let request = Request { read_back: true, may_hand_over: false };
        let (options, mut listeners) = (options(), [Recording::default(), Recording::default()]);
        let [first, second] = &mut listeners;
        let by_least_squares = levenberg_marquardt(&mut session, &options, request, first);
        let lbfgs = LbfgsOptions { objective: Objective::LeastSquares, ..LbfgsOptions::defaults() };
        let (mut f, mut resources) = (made(), DeviceResources::default());
        let by_descent = minimise(&mut f, &mut resources, &lbfgs, true, second);
        for solution in [run_synchronously(by_least_squares), run_synchronously(by_descent)] {
            let message = solution.unwrap().summary.message();
            assert!(message.ends_with(says) && message.contains("nothing") == says.contains("nothing"), "{message}");
        }
    }
}

#[test]
fn stages_make_one_run() {
    let mut listener = Recording::default();
    let scripts = vec![fast(4, Termination::PrecisionLimit), fast(3, Termination::GradientTolerance)];
    let (_, outcome) = run(DEVICE, false, scripts, AUTO, &mut listener);
    let Solution { summary, details, .. } = outcome.unwrap();
    assert_eq!(listener.iterations, [0, 1, 2, 3, 4, 5, 6, 7], "each iteration once, in order");
    assert_eq!(summary.history.iter().map(|iteration| iteration.iteration).collect::<Vec<_>>(), listener.iterations);
    let times: Vec<f64> = summary.history.iter().map(|iteration| iteration.elapsed_ms).collect();
    assert_eq!(times, [0.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0]);
    assert_eq!((summary.iterations, summary.function_evaluations, summary.elapsed_ms), (7, 14, 70.0));
    assert_eq!((summary.initial_cost, summary.final_cost), (2000.0, 1000.0));
    assert_eq!(
        summary.message(),
        "The GPU ended with 'precision-limit' after 4 iterations in single precision, and the CPU continued for 3 in double precision: \
         7 iterations in all. Converged: gradient-tolerance."
    );
    assert_eq!(details.linear_solver, "solver 0; then on the CPU solver 1");
    assert_eq!(details.times, [("setup", 0.0), ("setup", 1.0)]);

    let scripts = vec![slow(Termination::MaxIterations), fast(1, Termination::CostTolerance)];
    let (_, outcome) = run(DEVICE, false, scripts, AUTO, &mut Recording::default());
    let message = outcome.unwrap().summary.message();
    assert!(
        message.starts_with("The GPU ended with conjugate gradients that stagnated after 5 iterations"),
        "{message}"
    );
}
