//! Solves on compiled functions.

use js_sys::{Array, Float64Array, Function, Object, Promise};
use wasm_bindgen::prelude::*;

use crate::eval::{Job, Objective};
use crate::solve::driver::{self, Request};
use crate::solve::options::{TrustRegion, affordable_iterations};
use crate::solve::record::{Record, record};
use crate::solve::{IterationSummary, LbfgsOptions, LevenbergMarquardtOptions, Listener, NewtonOptions, Session};
use residua_base::error::Result;
use residua_linalg::loops::semidefinite::Negative;

use super::functions::RawFunctions;
use super::value::{is_truthy, number, set, text};

/// Passes iterations on to JavaScript.
struct Callbacks {
    on_iteration: Function,
    aborted: Function,
    /// Whether `on_iteration` has no listener.
    is_deaf: bool,
    /// What a callback threw; it ends the solve and rejects it.
    thrown: Option<JsValue>,
}

impl Callbacks {
    fn new(on_iteration: Function, aborted: Function) -> Callbacks {
        let is_deaf = is_truthy(&on_iteration, "isDeaf");
        Callbacks { on_iteration, aborted, is_deaf, thrown: None }
    }

    /// What a solve gives, or what a callback threw.
    fn outcome(self, result: Result<JsValue>) -> std::result::Result<JsValue, JsValue> {
        match self.thrown {
            Some(thrown) => Err(thrown),
            None => result.map_err(super::error::to_js),
        }
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

fn record_to_js((numbers, texts): Record) -> JsValue {
    Array::of2(&Float64Array::from(numbers.as_slice()), &texts.into()).into()
}

async fn solve_lbfgs(session: &mut Session, options: JsValue, callbacks: &mut Callbacks) -> Result<JsValue> {
    let read = read_options(&options);
    let mut lbfgs = LbfgsOptions::from_numbers(&read)?;
    if is_set(read("leastSquares")) {
        lbfgs.objective = Objective::LeastSquares;
    }
    let solution = driver::descend(session, &lbfgs, request(&read), callbacks).await?;
    let solver = format!("L-BFGS, history {}", lbfgs.history_size);
    let check_is_due = session.device.checks.is_due();
    Ok(record_to_js(record(&mut session.functions, &solver, &lbfgs.solve, &solution, check_is_due)))
}

async fn solve_levenberg_marquardt(
    session: &mut Session,
    options: JsValue,
    callbacks: &mut Callbacks,
) -> Result<JsValue> {
    let read = read_options(&options);
    let names = |name: &str| text(&options, name);
    let place = session.functions.place();
    let mut solver = LevenbergMarquardtOptions::from_numbers(place, &read, &names)?;
    if read("maxIterations").is_none() {
        let [_, sizes] = session.functions.sizes();
        solver.solve.max_iterations = affordable_iterations(sizes.effective_parameters, sizes.residuals);
    }
    let solution = driver::levenberg_marquardt(session, &solver, request(&read), callbacks).await?;
    let name = match solver.trust_region {
        TrustRegion::LevenbergMarquardt => "Levenberg-Marquardt",
        TrustRegion::Dogleg => "Levenberg-Marquardt with dogleg steps",
    };
    let check_is_due = session.device.checks.is_due();
    Ok(record_to_js(record(&mut session.functions, name, &solver.solve, &solution, check_is_due)))
}

async fn solve_newton(session: &mut Session, options: JsValue, callbacks: &mut Callbacks) -> Result<JsValue> {
    let read = read_options(&options);
    let mut solver = NewtonOptions::from_numbers(&read)?;
    if is_set(read("leastSquares")) {
        solver.objective = Objective::LeastSquares;
    }
    if is_set(read("absolute")) {
        solver.negative = Negative::Absolute;
    }
    let solution = driver::newton(session, &solver, callbacks).await?;
    Ok(record_to_js(record(&mut session.functions, "projected Newton", &solver.solve, &solution, false)))
}

fn request(read: &impl Fn(&str) -> Option<f64>) -> Request {
    Request { read_back: read("readBack") != Some(0.0), may_hand_over: is_set(read("takeOver")) }
}

/// The options that are numbers. The facade has checked them, so that any other is as good as absent.
fn read_options(options: &JsValue) -> impl Fn(&str) -> Option<f64> {
    move |name: &str| number(options, name).ok().flatten()
}

fn is_set(flag: Option<f64>) -> bool {
    flag.is_some_and(|flag| flag != 0.0)
}

#[wasm_bindgen]
impl RawFunctions {
    /// Minimises the least-squares cost by Levenberg-Marquardt. `options`: numbers by their public names, `linearSolver` a string. The rest
    /// as for `lbfgs`.
    #[wasm_bindgen(js_name = levenbergMarquardt)]
    pub fn levenberg_marquardt(&self, options: JsValue, on_iteration: Function, aborted: Function) -> Promise {
        self.call_for(Job::LeastSquares, async move |mut session: Box<Session>| {
            let mut callbacks = Callbacks::new(on_iteration, aborted);
            let result = solve_levenberg_marquardt(&mut session, options, &mut callbacks).await;
            (session, callbacks.outcome(result))
        })
    }

    /// Estimates what rounding does to the solution of a solve whose check is due. A later result carries the finding.
    #[wasm_bindgen(js_name = checkDigits)]
    pub fn check_digits(&self) -> Promise {
        self.call(async move |mut session: Box<Session>| {
            let checked = driver::check_later(&mut session).await;
            (session, checked.map(|()| JsValue::UNDEFINED).map_err(super::error::to_js))
        })
    }

    /// Minimises by L-BFGS. `options`: numbers by their public names, and `leastSquares`, 0 or 1. `onIteration(summary)`
    /// answers true to stop, `aborted()` whether the caller has aborted. Resolves with the numbers and the texts of a
    /// [`Record`].
    pub fn lbfgs(&self, options: JsValue, on_iteration: Function, aborted: Function) -> Promise {
        self.call_for(Job::Descent, async move |mut session: Box<Session>| {
            let mut callbacks = Callbacks::new(on_iteration, aborted);
            let result = solve_lbfgs(&mut session, options, &mut callbacks).await;
            (session, callbacks.outcome(result))
        })
    }

    /// Minimises by Newton's method. The rest as for `lbfgs`; `absolute`, 0 or 1: negative eigenvalues become their magnitudes.
    pub fn newton(&self, options: JsValue, on_iteration: Function, aborted: Function) -> Promise {
        self.call(async move |mut session: Box<Session>| {
            let mut callbacks = Callbacks::new(on_iteration, aborted);
            let result = solve_newton(&mut session, options, &mut callbacks).await;
            (session, callbacks.outcome(result))
        })
    }
}
