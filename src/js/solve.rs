//! Solves on compiled functions.

use js_sys::{Array, Float64Array, Function, Object, Promise};
use wasm_bindgen::prelude::*;

use crate::batch::Batch;
use crate::error::Result;
use crate::functions::texts::kernel_numbers;
use crate::functions::{Engine, Functions, Job, Objective};
use crate::list::Listed;
use crate::solve::device::minimise_on_device;
use crate::solve::{
    IterationSummary, LbfgsOptions, LevenbergMarquardtOptions, Listener, Report, Solution, SolveOptions, Stagnation,
    Termination, arithmetic_of, minimise, minimise_least_squares, take_over,
};

use super::functions::RawFunctions;
use super::value::{is_truthy, number, set, text};

/// Passes iterations on to JavaScript.
struct Callbacks {
    on_iteration: Function,
    aborted: Function,
    /// Whether nobody listens behind `on_iteration`.
    is_deaf: bool,
    /// What a callback threw; it ends the solve and rejects it.
    thrown: Option<JsValue>,
}

impl Callbacks {
    fn new(on_iteration: Function, aborted: Function) -> Callbacks {
        let is_deaf = is_truthy(&on_iteration, "isDeaf");
        Callbacks { on_iteration, aborted, is_deaf, thrown: None }
    }

    fn keep(&mut self, answer: std::result::Result<JsValue, JsValue>) -> bool {
        match answer {
            Ok(answer) => answer.is_truthy(),
            Err(thrown) => {
                self.thrown.get_or_insert(thrown);
                true
            }
        }
    }
}

impl Listener for Callbacks {
    fn iteration(&mut self, summary: &IterationSummary) -> bool {
        if self.is_deaf {
            return false;
        }
        let answer = self.on_iteration.call1(&JsValue::NULL, &iteration_to_js(summary));
        self.keep(answer)
    }

    fn aborted(&mut self) -> bool {
        let answer = self.aborted.call0(&JsValue::NULL);
        self.keep(answer)
    }
}

fn iteration_to_js(summary: &IterationSummary) -> JsValue {
    let object = Object::new();
    set(&object, "iteration", summary.iteration);
    set(&object, "cost", summary.cost);
    set(&object, "costChange", summary.cost_change);
    set(&object, "gradientMaxNorm", summary.gradient_max_norm);
    set(&object, "stepNorm", summary.step_norm);
    set(&object, "accepted", summary.accepted);
    let figures = [
        ("damping", summary.damping),
        ("gainRatio", summary.gain_ratio),
        ("linearIterations", summary.linear_iterations.map(f64::from)),
        ("stepSize", summary.step_size),
    ];
    for (name, figure) in figures {
        if let Some(figure) = figure {
            set(&object, name, figure);
        }
    }
    set(&object, "elapsedMs", summary.elapsed_ms);
    object.into()
}

fn solution_to_js(solution: &Solution, report: String) -> JsValue {
    let summary = &solution.summary;
    let object = Object::new();
    set(&object, "success", summary.success());
    set(&object, "termination", summary.termination.as_str());
    set(&object, "message", summary.message.as_str());
    set(&object, "iterations", summary.iterations);
    set(&object, "functionEvaluations", summary.function_evaluations);
    set(&object, "initialCost", summary.initial_cost);
    set(&object, "finalCost", summary.final_cost);
    set(&object, "computationTime", summary.elapsed_ms);
    set(&object, "x", Float64Array::from(solution.x.as_slice()));
    set(&object, "history", summary.history.iter().map(iteration_to_js).collect::<Array>());
    set(&object, "reportText", report);
    object.into()
}

fn on_cpu(interpreted_because: Option<&str>) -> String {
    match interpreted_because {
        None => "CPU, WebAssembly, f64".to_owned(),
        Some(reason) => format!("CPU, interpreted, f64 ({reason})"),
    }
}

fn report(
    functions: &mut Functions,
    solver: &str,
    options: &SolveOptions,
    times: &[(&'static str, f64)],
    solution: &Solution,
) -> Result<String> {
    let sizes = functions.sizes();
    let backend = match functions.engine() {
        Engine::Cpu(engine) => on_cpu(engine.interpreted_because()),
        Engine::Beside(engine) => on_cpu(engine.interpreted_because()),
        Engine::Gpu(engine) => format!("GPU, WGSL, f32: {}", engine.adapter_name()),
    };
    let backend = match functions.choice() {
        None => backend,
        Some(choice) => format!("{backend} ({})", choice.sentence()),
    };
    let model = functions.model();
    let details = &solution.details;
    // A stage of the solve is told like one of compiling.
    let times: Vec<(&str, f64)> = times.iter().chain(&details.times).copied().list();
    Ok(Report {
        solver,
        backend: &backend,
        sizes,
        kernels: kernel_numbers(model).1,
        linear_solver: &details.linear_solver,
        untouched: &details.untouched,
        options,
        times: &times,
        summary: &solution.summary,
    }
    .to_string())
}

async fn solve_lbfgs(
    functions: &mut Functions,
    options: JsValue,
    times: Vec<(&'static str, f64)>,
    callbacks: &mut Callbacks,
) -> Result<JsValue> {
    // A property that is no number is as good as absent here: the facade has checked the options.
    let read = |name: &str| number(&options, name).ok().flatten();
    let mut lbfgs = LbfgsOptions::from_numbers(arithmetic_of(functions), &read)?;
    if read("leastSquares").is_some_and(|flag| flag != 0.0) {
        lbfgs.objective = Objective::LeastSquares;
    }
    let solution = minimise(functions, &lbfgs, read("readBack") != Some(0.0), callbacks).await?;
    let solver = format!("L-BFGS, history {}", lbfgs.history_size);
    let text = report(functions, &solver, &lbfgs.solve, &times, &solution)?;
    Ok(solution_to_js(&solution, text))
}

async fn solve_levenberg_marquardt(
    functions: &mut Functions,
    options: JsValue,
    times: Vec<(&'static str, f64)>,
    callbacks: &mut Callbacks,
) -> Result<JsValue> {
    let read = |name: &str| number(&options, name).ok().flatten();
    let linear_solver = text(&options, "linearSolver");
    let options = LevenbergMarquardtOptions::from_numbers(arithmetic_of(functions), &read, linear_solver.as_deref())?;
    // A residual that is a long sum is not known to the device before all its addends are.
    let addends = functions.model().batches.iter().any(Batch::has_addends);
    let solution = if functions.engine().is_single_precision() && !addends {
        let read_back = read("readBack") != Some(0.0);
        let may_go_on = read("takeOver").is_some_and(|flag| flag != 0.0);
        let mut stagnation = Stagnation::new(callbacks, &options, may_go_on);
        let solution = minimise_on_device(functions, &options, read_back, &mut stagnation).await?;
        let stagnated = stagnation.is_there() && solution.summary.termination == Termination::Aborted;
        match solution.summary.termination {
            Termination::PrecisionLimit | Termination::TrustRegionCollapsed | Termination::NonFinite if may_go_on => {
                take_over(functions, &options, callbacks, solution, false).await?
            }
            _ if stagnated => take_over(functions, &options, callbacks, solution, true).await?,
            _ => solution,
        }
    } else {
        minimise_least_squares(functions, &options, callbacks).await?
    };
    let text = report(functions, "Levenberg-Marquardt", &options.solve, &times, &solution)?;
    Ok(solution_to_js(&solution, text))
}

#[wasm_bindgen]
impl RawFunctions {
    /// Minimises the least-squares cost by Levenberg-Marquardt. `options`: numbers by their public names, `linearSolver` a string. The rest
    /// as for `lbfgs`.
    #[wasm_bindgen(js_name = levenbergMarquardt)]
    pub fn levenberg_marquardt(&self, options: JsValue, on_iteration: Function, aborted: Function) -> Promise {
        let times = self.times().to_vec();
        self.call_for(Job::LeastSquares, async move |mut functions: Box<Functions>| {
            let mut callbacks = Callbacks::new(on_iteration, aborted);
            let result = solve_levenberg_marquardt(&mut functions, options, times, &mut callbacks).await;
            match callbacks.thrown {
                Some(thrown) => (functions, Err(thrown)),
                None => (functions, result.map_err(super::error::to_js)),
            }
        })
    }

    /// Minimises by L-BFGS. `options`: numbers by their public names, and `leastSquares`, 0 or 1. `onIteration(summary)`
    /// answers true to stop, `aborted()` whether the caller wants to. Resolves with the result, whose report is `reportText`.
    pub fn lbfgs(&self, options: JsValue, on_iteration: Function, aborted: Function) -> Promise {
        let times = self.times().to_vec();
        self.call_for(Job::Descent, async move |mut functions: Box<Functions>| {
            let mut callbacks = Callbacks::new(on_iteration, aborted);
            let result = solve_lbfgs(&mut functions, options, times, &mut callbacks).await;
            match callbacks.thrown {
                Some(thrown) => (functions, Err(thrown)),
                None => (functions, result.map_err(super::error::to_js)),
            }
        })
    }
}
