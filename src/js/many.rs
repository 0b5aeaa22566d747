//! Many small problems of one shape.

use js_sys::{Array, Float64Array, Function, Object, Promise, Uint8Array, Uint32Array};
use residua_base::list::Listed;
use wasm_bindgen::prelude::*;

use crate::compile::backend::{self, Backend};
use crate::eval::Arithmetic;
use crate::eval::pair_arithmetic::pair_form;
use crate::model::losses::LossParameters;
use crate::solve::findings::{packed, sentences};
use crate::solve::many::guard::{Guarded, PairSolver, guard};
use crate::solve::many::standard_errors::{requested, standard_errors};
use crate::solve::many::{
    Batch, ManyListener, ManyOptions, ManySolutions, SharedProblem, Varying, check_starts, cpu, gpu,
};
use crate::solve::summary::Termination;
use residua_base::clock::now_ms;
use residua_base::cooperative::Slices;
use residua_base::error::{Error, Result};
use residua_codegen::Width;
use residua_gpu::Context;

use super::compile::engine_request;
use super::error::to_js;
use super::problem::RawProblem;
use super::value::{number, promise, set};

/// A template while its settings and the batch's numbers are handed over; solving consumes it.
#[wasm_bindgen]
pub struct RawMany {
    problem: RawProblem,
    values: Vec<f64>,
    constant: Vec<bool>,
    lower: Vec<f64>,
    upper: Vec<f64>,
    settings: Vec<Setting>,
    batch: Batch<'static>,
}

/// Settings of a residual block.
struct Setting {
    block: u32,
    weight: f64,
    loss: LossParameters,
    enabled: bool,
}

/// Numbers that stay where JavaScript has them and are read a piece at a time.
fn numbers(array: Float64Array) -> crate::solve::many::Numbers<'static> {
    Box::new(move |first, into| {
        array.subarray(first as u32, (first + into.len()) as u32).copy_to(into);
    })
}

#[wasm_bindgen]
impl RawMany {
    /// A template at its parameters, which of them are constant (1 where they are), their bounds (infinite where there are none),
    /// and how many problems there are.
    #[wasm_bindgen(constructor)]
    pub fn new(
        problem: RawProblem,
        values: Vec<f64>,
        constant: &[u8],
        lower: Vec<f64>,
        upper: Vec<f64>,
        count: u32,
    ) -> RawMany {
        let constant = constant.iter().map(|&constant| constant != 0).list();
        let batch = Batch { count, ..Batch::default() };
        RawMany { problem, values, constant, lower, upper, settings: Vec::new(), batch }
    }

    /// Sets a block's weight, its loss, and whether it is enabled.
    #[allow(clippy::too_many_arguments)]
    #[wasm_bindgen(js_name = setBlock)]
    pub fn set_block(
        &mut self,
        block: u32,
        weight: f64,
        kind: &str,
        a: f64,
        b: f64,
        factor: f64,
        enabled: bool,
    ) -> Result<(), JsValue> {
        let loss = LossParameters::new(kind, a, b, factor).map_err(to_js)?;
        self.settings.push(Setting { block, weight, loss, enabled });
        Ok(())
    }

    /// Starts of the problems, problem after problem, for `length` parameters from `first` on.
    #[wasm_bindgen(js_name = addParameters)]
    pub fn add_parameters(&mut self, first: u32, length: u32, values: Float64Array) {
        self.batch.parameters.push((first, length as usize, numbers(values)));
    }

    /// Data of the problems, problem after problem, `length` numbers each, for the columns of a residual template from `firstColumn` on;
    /// `sources` says for each number of these columns, column after column, where among a problem's it stands.
    #[wasm_bindgen(js_name = addData)]
    pub fn add_data(&mut self, template: u32, first_column: u32, sources: Vec<u32>, length: u32, values: Float64Array) {
        let (batch, length, numbers) = (template as usize, length as usize, numbers(values));
        self.batch.data.push(Varying { batch, first_column, sources, length, numbers });
    }

    /// Solves on the engine that is chosen by `engine`, see `RawFunctions.compile`. Resolves with
    /// `{ x, cost, standardErrors, iterations, termination, converged, computationTime, backend, arithmetic, precisionLoss, message,
    /// fallbackReason }`, where `termination` holds codes of `terminations`.
    pub fn solve(self, engine: JsValue, options: JsValue, on_progress: Option<Function>, aborted: Function) -> Promise {
        promise(async move {
            let mut callbacks = Callbacks { on_progress, aborted, thrown: None };
            let solved = solve(self, &engine, &options, &mut callbacks).await;
            match callbacks.thrown {
                Some(thrown) => Err(thrown),
                None => solved.map_err(to_js),
            }
        })
    }
}

struct Callbacks {
    on_progress: Option<Function>,
    aborted: Function,
    thrown: Option<JsValue>,
}

impl ManyListener for Callbacks {
    fn progress(&mut self, done: u32) {
        if let Some(listener) = &self.on_progress
            && let Err(thrown) = listener.call1(&JsValue::NULL, &done.into())
        {
            self.thrown = Some(thrown);
        }
    }

    fn aborted(&mut self) -> bool {
        self.thrown.is_some() || self.aborted.call0(&JsValue::NULL).is_ok_and(|answer| answer.is_truthy())
    }
}

async fn solve(many: RawMany, engine: &JsValue, options: &JsValue, callbacks: &mut Callbacks) -> Result<JsValue> {
    let RawMany { problem, values, constant, lower, upper, settings, batch } = many;
    let (request, mut page) = engine_request(engine)?;
    let assignment = backend::choose(&request, &mut page).await?;
    let began = now_ms();
    let mut model = problem.into_input().into_model(&Slices::without_progress()).await?;
    for Setting { block, weight, loss, enabled } in settings {
        let Some(info) = model.blocks.get_mut(block as usize) else {
            return Err(Error::internal("settings of a residual block that there is not"));
        };
        (info.weight, info.loss, info.enabled) = (weight, loss, enabled);
    }
    let template = SharedProblem::new(model, values, &constant, Some((&lower, &upper)))?;
    let read = |name: &str| number(options, name).ok().flatten();
    let options = ManyOptions::from_numbers(&read);
    let may_hand_over = request.backend == Backend::Auto;
    let (guarded, fallback_reason) = assignment
        .run(async |device: Option<&Context>| match device {
            None => Ok(Guarded::of_host(cpu::solve_many(&template, &batch, &options, callbacks).await?)),
            Some(context) => {
                let mut pairs = InPairs { context, template: &template, options: &options };
                let (arithmetic, solutions) = match request.width {
                    Width::Single => {
                        let solutions = gpu::solve_many(context, &template, &batch, &options, None, callbacks).await?;
                        (Arithmetic::F32, solutions)
                    }
                    Width::Pair => (Arithmetic::F32x2, pairs.solve(&batch, callbacks).await?),
                };
                let pairs = may_hand_over.then_some(&mut pairs);
                guard(&template, &batch, &options, solutions, arithmetic, pairs, callbacks).await
            }
        })
        .await?;
    check_starts(&template, &batch, &guarded.solutions).await?;
    let (findings, arithmetic) = (guarded.findings(), guarded.arithmetic);
    let engine = if arithmetic == Arithmetic::F64 { "cpu" } else { "gpu" };
    let fallback_reason = fallback_reason.or(guarded.reason());
    let errors = match requested(&read) {
        None => JsValue::NULL,
        Some(estimate) => {
            let errors = standard_errors(template, &batch, &guarded.solutions.x, estimate, callbacks).await?;
            Float64Array::from(errors.as_slice()).into()
        }
    };
    let object = solutions_to_js(&guarded.solutions, now_ms() - began);
    set(&object, "standardErrors", errors);
    set(&object, "backend", engine);
    set(&object, "arithmetic", arithmetic.as_str());
    set(&object, "precisionLoss", guarded.loss());
    set(&object, "message", sentences(findings.iter()));
    set(&object, "findings", packed(&findings));
    set(&object, "fallbackReason", fallback_reason.map_or(JsValue::NULL, JsValue::from));
    Ok(object.into())
}

/// Solves on a device in pairs.
struct InPairs<'a> {
    context: &'a Context,
    template: &'a SharedProblem,
    options: &'a ManyOptions,
}

impl PairSolver for InPairs<'_> {
    async fn solve(&mut self, batch: &Batch<'_>, audience: &mut dyn ManyListener) -> Result<ManySolutions> {
        let form = pair_form(self.context).await?;
        gpu::solve_many(self.context, self.template, batch, self.options, Some(form), audience).await
    }
}

fn solutions_to_js(solutions: &ManySolutions, elapsed: f64) -> Object {
    let object = Object::new();
    let (mut codes, mut converged) = (Vec::with_capacity(solutions.termination.len()), 0);
    for end in &solutions.termination {
        codes.push(end.code() as u8);
        converged += i32::from(end.converged());
    }
    let names = Array::of1(&JsValue::from(""));
    while let Some(end) = Termination::from_code(f64::from(names.length())) {
        names.push(&JsValue::from(end.as_str()));
    }
    set(&object, "x", Float64Array::from(solutions.x.as_slice()));
    set(&object, "cost", Float64Array::from(solutions.cost.as_slice()));
    set(&object, "iterations", Uint32Array::from(solutions.iterations.as_slice()));
    set(&object, "termination", Uint8Array::from(codes.as_slice()));
    set(&object, "terminations", names);
    set(&object, "converged", converged);
    set(&object, "computationTime", elapsed);
    object
}
