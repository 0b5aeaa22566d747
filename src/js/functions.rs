//! Compiled functions.

use residua_base::list::Listed;
use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

use js_sys::{Array, Float64Array, Object, Promise, WebAssembly};
use wasm_bindgen::prelude::*;

use crate::compile::backend::{self, Backend};
use crate::compile::progress::{Progress, Stage};
use crate::compile::{self, Compiled};
use crate::eval::choice::Job;
use crate::eval::gpu::{DataPart, NewSharedData};
use crate::eval::texts::{KernelSource, kernel_sources};
use crate::eval::{Functions, Objective};
use crate::model::losses::LossParameters;
use crate::solve::Session;
use crate::solve::driver::Occupancy;
use crate::solve::driver::SessionCall;
use residua_base::error::{Error, Result};
use residua_codegen::Width;
use residua_codegen::wgsl::PairForm;
use residua_gpu::Context;

use residua_base::cooperative::Slices;

use super::compile::{Callbacks, engine_request};
use super::error::to_js;
use super::evaluate::{Point, gradient, jacobian};
use super::problem::{RawProblem, read_numbers};
use super::value::{promise, result_or_promise, set};

/// A call on the functions, which gives them back with its result.
type Work = Box<dyn FnOnce(Box<Session>) -> Pin<Box<dyn Future<Output = (Box<Session>, Result<JsValue, JsValue>)>>>>;

/// A handle on compiled functions. The facade queues calls, so that there is one at a time.
#[wasm_bindgen]
pub struct RawFunctions {
    session: Occupancy<Box<Session>>,
    facts: Rc<RefCell<Facts>>,
    width: Width,
    compile_times: Vec<(&'static str, f64)>,
    /// The device, if they are on one.
    context: Option<Context>,
    fallback_reason: Option<String>,
    precision: &'static str,
    gradients_on_cpu: bool,
    /// Buffers that the application was given and the next call will take over.
    new_data: Rc<RefCell<Vec<NewSharedData>>>,
    /// The numbers of [`Point::Placed`].
    place: Rc<RefCell<Vec<f64>>>,
}

/// What is known of functions also during a call, until they grow.
struct Facts {
    num_params: u32,
    num_residuals: u32,
    kernel_sources: Vec<KernelSource>,
    parameter_buffer: JsValue,
}

impl Facts {
    fn of(functions: &Functions, width: Width) -> Facts {
        let model = functions.model();
        Facts {
            num_params: model.num_params,
            num_residuals: model.num_residuals,
            kernel_sources: kernel_sources(model, width, functions.engine().pair_form().unwrap_or(PairForm::Split)),
            parameter_buffer: functions.parameter_buffer(),
        }
    }
}

/// Takes a problem in which the model of a session has grown, and the numbers of all its parameters.
async fn grow(session: &mut Session, problem: RawProblem, values: Vec<f64>) -> Result<()> {
    session.functions.bring_all().await?;
    let input = problem.into_input();
    let model = input.into_model_after(Some(session.functions.model()), &Slices::without_progress()).await?;
    session.functions.grow(model, values).await?;
    session.grow();
    Ok(())
}

async fn compile(
    problem: RawProblem,
    (values, fill_values): (Float64Array, js_sys::Function),
    engine: JsValue,
    batch_size: Option<u32>,
    callbacks: Callbacks,
) -> Result<RawFunctions> {
    let (request, mut page) = engine_request(&engine)?;
    let progress = Progress::new(&callbacks);
    let assignment = backend::choose(&request, &mut page).await?;
    let listener = |done| progress.tell(done);
    progress.enter(Stage::Group).await?;
    let slices = Slices::new(&listener);
    let model = problem.into_input().into_model(&slices).await?;
    slices.set_part(1.0, 1.0);
    let values = read_numbers(&values, &fill_values, &slices).await?;
    progress.leave();
    let compiled = compile::compile(model, values, assignment, request.width, batch_size, &progress, &slices).await?;
    let Compiled { mut functions, context, fallback_reason, gradients_on_host } = compiled;
    if request.backend == Backend::Auto {
        functions.allow_host();
    }
    Ok(RawFunctions {
        facts: Rc::new(RefCell::new(Facts::of(&functions, request.width))),
        width: request.width,
        precision: functions.engine().device_arithmetic().as_str(),
        compile_times: progress.into_times(),
        context,
        fallback_reason,
        gradients_on_cpu: gradients_on_host,
        session: Occupancy::new(Box::new(Session::new(functions))),
        new_data: Rc::default(),
        place: Rc::default(),
    })
}

impl RawFunctions {
    /// Runs a call on the functions: takes them out, and puts them back when the call is done. On the CPU the result itself may be given.
    pub(super) fn call<C, F>(&self, call: C) -> Promise
    where
        C: FnOnce(Box<Session>) -> F + 'static,
        F: Future<Output = (Box<Session>, Result<JsValue, JsValue>)> + 'static,
    {
        self.call_boxed(None, Box::new(|session| Box::pin(call(session))))
    }

    /// The same, by the engine that was chosen for such calls, if one was.
    pub(super) fn call_for<C, F>(&self, job: Job, call: C) -> Promise
    where
        C: FnOnce(Box<Session>) -> F + 'static,
        F: Future<Output = (Box<Session>, Result<JsValue, JsValue>)> + 'static,
    {
        self.call_boxed(Some(job), Box::new(|session| Box::pin(call(session))))
    }

    fn call_boxed(&self, job: Option<Job>, work: Work) -> Promise {
        let (session, new_data) = (self.session.clone(), self.new_data.clone());
        let call = async move { session.call(|| SessionCall { new_data: new_data.take(), job }, to_js, work).await };
        if self.context.is_none() { result_or_promise(call) } else { promise(call) }
    }

    fn point(&self, x: JsValue) -> Point {
        if x.is_undefined() {
            Point::Current
        } else if x.is_null() {
            Point::Placed(self.place.clone())
        } else {
            Point::Given(x.unchecked_into())
        }
    }

    /// Works on the functions at once.
    fn with<T>(&self, work: impl FnOnce(&mut Functions) -> Result<T>) -> Result<T, JsValue> {
        self.session.change(|session| work(&mut session.functions)).map_err(to_js)
    }

    /// `{ value, gradient }`; the gradient is `into`, or without it a buffer on the device, null where there is none.
    /// `x` is a `Float32Array` for a device in single precision, else a `Float64Array`, or null where it was put into [`RawFunctions::point_place`];
    /// `into` has as many numbers as there are parameters.
    /// Gives buffers that no engine has taken over yet the host's new numbers.
    fn overwrite_new_data(&self, batch: Option<usize>, first: u32, numbers: &[f64]) -> Result<(), JsValue> {
        if let Some(context) = &self.context {
            for new in self.new_data.borrow_mut().iter_mut() {
                new.overwrite(context, batch, first, numbers).map_err(to_js)?;
            }
        }
        Ok(())
    }

    fn gradient(&self, objective: Objective, x: JsValue, into: Option<Float64Array>) -> Promise {
        let stays = into.is_none();
        let point = self.point(x);
        let call = async move |mut session: Box<Session>| {
            let result = gradient(&mut session.functions, objective, point, into).await;
            (session, result.map_err(to_js))
        };
        // What stays on the device has to be made there.
        if stays { self.call(call) } else { self.call_for(Job::Gradient, call) }
    }
}

#[wasm_bindgen]
impl RawFunctions {
    /// Compiles a problem on the engine that is chosen by `engine`, `{ backend, precision, workload, fewest, fallbackThreshold,
    /// requestContext }`. Its start, `values`, is read meanwhile, some numbers at a time, before which `fillValues(first, count)` is called.
    pub fn compile(
        problem: RawProblem,
        values: Float64Array,
        fill_values: js_sys::Function,
        engine: JsValue,
        batch_size: Option<u32>,
        on_progress: Option<js_sys::Function>,
        aborted: Option<js_sys::Function>,
    ) -> Promise {
        let callbacks = Callbacks { report: on_progress, aborted };
        promise(async move {
            let compiled = compile(problem, (values, fill_values), engine, batch_size, callbacks).await;
            compiled.map(JsValue::from).map_err(to_js)
        })
    }

    /// Whether they are on a device.
    #[wasm_bindgen(js_name = isOnGpu)]
    pub fn is_on_gpu(&self) -> bool {
        self.context.is_some()
    }

    /// Whether gradients that are read back are computed on the CPU.
    #[wasm_bindgen(js_name = areGradientsOnCpu)]
    pub fn are_gradients_on_cpu(&self) -> bool {
        self.gradients_on_cpu
    }

    /// Why 'auto' took the CPU; undefined if it did not.
    #[wasm_bindgen(js_name = fallbackReason)]
    pub fn fallback_reason(&self) -> Option<String> {
        self.fallback_reason.clone()
    }

    /// What evaluations are computed in: 'f32', 'f32x2' or 'f64'.
    pub fn precision(&self) -> String {
        self.precision.to_owned()
    }

    /// All parameters, constants included.
    #[wasm_bindgen(js_name = numParams)]
    pub fn num_params(&self) -> u32 {
        self.facts.borrow().num_params
    }

    /// Residuals.
    #[wasm_bindgen(js_name = numResiduals)]
    pub fn num_residuals(&self) -> u32 {
        self.facts.borrow().num_residuals
    }

    /// Groups of residuals that differ in kernel.
    #[wasm_bindgen(js_name = kernelCount)]
    pub fn kernel_count(&self) -> u32 {
        self.facts.borrow().kernel_sources.len() as u32
    }

    /// The generated shaders: `{ name, instances, wgsl }`, one per kernel and entry point.
    pub fn kernels(&self) -> Result<Array, JsValue> {
        let kernels = Array::new();
        for source in &self.facts.borrow().kernel_sources {
            let kernel = source.texts().map_err(to_js)?;
            for (entry, wgsl) in kernel.entries {
                let object = Object::new();
                set(&object, "name", format!("{} {entry}", kernel.name));
                set(&object, "instances", kernel.instances);
                set(&object, "wgsl", wgsl);
                kernels.push(&object);
            }
        }
        Ok(kernels)
    }

    /// Milliseconds by stage.
    #[wasm_bindgen(js_name = compileTimes)]
    pub fn compile_times(&self) -> Object {
        let times = Object::new();
        for (stage, ms) in &self.compile_times {
            set(&times, stage, *ms);
        }
        times
    }

    /// Takes a problem in which arrays and blocks have grown, with the numbers of all parameters: those that were there keep their own, and nothing is
    /// constant or bounded. Resolves when that is done; where it fails nothing has changed.
    pub fn grow(&self, problem: RawProblem, values: Vec<f64>) -> Promise {
        let (facts, width) = (self.facts.clone(), self.width);
        self.call(async move |mut session: Box<Session>| {
            let grown = grow(&mut session, problem, values).await;
            if grown.is_ok() {
                facts.replace(Facts::of(&session.functions, width));
            }
            (session, grown.map(|()| JsValue::UNDEFINED).map_err(to_js))
        })
    }

    /// Sets some of the current parameters: each of `lengths` takes its share of `numbers` to where its start says.
    #[wasm_bindgen(js_name = setValuesAt)]
    pub fn set_values_at(&self, starts: &[u32], lengths: &[u32], numbers: &[f64]) -> Result<(), JsValue> {
        self.with(|functions| functions.set_values_at(starts, lengths, numbers))
    }

    /// Says which parameters are constant: 1 where they are.
    #[wasm_bindgen(js_name = setConstant)]
    pub fn set_constant(&self, mask: Vec<u8>) -> Result<(), JsValue> {
        self.with(|functions| functions.set_constant(mask.into_iter().map(|constant| constant != 0).list()))
    }

    /// Sets box bounds, infinite where there are none.
    #[wasm_bindgen(js_name = setBounds)]
    pub fn set_bounds(&self, lower: Vec<f64>, upper: Vec<f64>) -> Result<(), JsValue> {
        self.with(|functions| functions.set_bounds(lower, upper))
    }

    /// Gives the tables that residuals read new numbers from `first` on.
    #[wasm_bindgen(js_name = setTables)]
    pub fn set_tables(&self, first: u32, numbers: &[f64]) -> Result<(), JsValue> {
        self.overwrite_new_data(None, first, numbers)?;
        self.with(|functions| functions.set_tables(first as usize, numbers))
    }

    /// Gives the instances of a residual template new data: columns from `firstColumn` on, column after column.
    #[wasm_bindgen(js_name = setData)]
    pub fn set_data(&self, template: u32, first_column: u32, columns: Vec<f64>) -> Result<(), JsValue> {
        self.overwrite_new_data(Some(template as usize), first_column, &columns)?;
        self.with(|functions| functions.set_data(template as usize, first_column, &columns))
    }

    /// Sets a block's weight.
    #[wasm_bindgen(js_name = setWeight)]
    pub fn set_weight(&self, block: u32, weight: f64) -> Result<(), JsValue> {
        self.with(|functions| functions.set_weight(block as usize, weight))
    }

    /// Sets a block's robust loss.
    #[wasm_bindgen(js_name = setLoss)]
    pub fn set_loss(&self, block: u32, kind: &str, a: f64, b: f64, factor: f64) -> Result<(), JsValue> {
        self.with(|functions| functions.set_loss(block as usize, LossParameters::new(kind, a, b, factor)?))
    }

    /// Lets a block take part, or not.
    #[wasm_bindgen(js_name = setEnabled)]
    pub fn set_enabled(&self, block: u32, enabled: bool) -> Result<(), JsValue> {
        self.with(|functions| functions.set_enabled(block as usize, enabled))
    }

    /// Memory of the module for the point of the next call, a number for each parameter: to be filled at once, in place of a copy on the way. It belongs
    /// to that call until it is through.
    #[wasm_bindgen(js_name = pointPlace)]
    pub fn point_place(&self) -> Float64Array {
        let length = self.num_params();
        let mut place = self.place.borrow_mut();
        place.resize(length as usize, 0.0);
        let address = place.as_mut_ptr().expose_provenance() as u32;
        let memory: WebAssembly::Memory = wasm_bindgen::memory().unchecked_into();
        Float64Array::new_with_byte_offset_and_length(&memory.buffer(), address, length)
    }

    /// Whether all numbers are finite that were put there.
    #[wasm_bindgen(js_name = isPointFinite)]
    pub fn is_point_finite(&self) -> bool {
        residua_linalg::loops::all_finite(&self.place.borrow())
    }

    /// Resolves with the residuals.
    pub fn evaluate(&self, x: Option<Vec<f64>>) -> Promise {
        self.call_for(Job::Values, async move |mut session: Box<Session>| {
            let residuals = session.functions.evaluate(x.as_deref()).await;
            (session, residuals.map(|residuals| Float64Array::from(residuals.as_slice()).into()).map_err(to_js))
        })
    }

    /// Resolves with `{ value, gradient }` of the weighted sum; the gradient is `into`, filled.
    #[wasm_bindgen(js_name = evaluateSumWithGradient)]
    pub fn evaluate_sum_with_gradient(&self, x: JsValue, into: Float64Array) -> Promise {
        self.gradient(Objective::Sum, x, Some(into))
    }

    /// Resolves with `{ value, gradient }` of the least-squares cost.
    #[wasm_bindgen(js_name = evaluateCostWithGradient)]
    pub fn evaluate_cost_with_gradient(&self, x: JsValue, into: Float64Array) -> Promise {
        self.gradient(Objective::LeastSquares, x, Some(into))
    }

    /// Resolves with `{ value, gradient }` of the weighted sum, the gradient a `GPUBuffer`, or null on the CPU.
    #[wasm_bindgen(js_name = evaluateSumWithGradientOnDevice)]
    pub fn evaluate_sum_with_gradient_on_device(&self, x: JsValue) -> Promise {
        self.gradient(Objective::Sum, x, None)
    }

    /// The same of the least-squares cost.
    #[wasm_bindgen(js_name = evaluateCostWithGradientOnDevice)]
    pub fn evaluate_cost_with_gradient_on_device(&self, x: JsValue) -> Promise {
        self.gradient(Objective::LeastSquares, x, None)
    }

    /// Resolves with `{ values, entries }`, which are arrays that are given or fresh, and with `pattern` with `rowOffsets` and `colIndices`
    /// too, which are the same at every call.
    #[wasm_bindgen(js_name = evaluateJacobian)]
    pub fn evaluate_jacobian(
        &self,
        x: JsValue,
        pattern: bool,
        values: Option<Float64Array>,
        entries: Option<Float64Array>,
    ) -> Promise {
        let point = self.point(x);
        self.call_for(Job::Jacobian, async move |mut session: Box<Session>| {
            let result = jacobian(&mut session.functions, point, pattern, values, entries).await;
            (session, result.map_err(to_js))
        })
    }

    /// Resolves with `{ maxRelativeError, residual, parameter }`.
    #[wasm_bindgen(js_name = checkGradients)]
    pub fn check_gradients(&self, x: Option<Vec<f64>>) -> Promise {
        self.call(async move |mut session: Box<Session>| {
            let check = session.functions.check_gradients(x.as_deref()).await;
            let result = check.map(|check| {
                let object = Object::new();
                set(&object, "maxRelativeError", check.max_relative_error);
                set(&object, "residual", check.residual);
                set(&object, "parameter", check.parameter);
                object.into()
            });
            (session, result.map_err(to_js))
        })
    }

    /// The parameters' `GPUBuffer`, null on the CPU.
    #[wasm_bindgen(js_name = parameterBuffer)]
    pub fn parameter_buffer(&self) -> JsValue {
        self.facts.borrow().parameter_buffer.clone()
    }

    /// A `GPUBuffer` for the application to write, that holds `numbers`; null on the CPU. Later calls take from it the columns from
    /// `firstColumns[k]` on of residual template `templates[k]`, or numbers of the tables where that is 2³² − 1: `sources` says for each number of these
    /// columns, column after column and template after template, where in the buffer it stands; `lengths[k]` of them are of template `k`.
    #[wasm_bindgen(js_name = dataBuffer)]
    pub fn data_buffer(
        &self,
        numbers: Vec<f64>,
        templates: Vec<u32>,
        first_columns: Vec<u32>,
        lengths: Vec<u32>,
        sources: Vec<u32>,
    ) -> Result<JsValue, JsValue> {
        let Some(context) = &self.context else { return Ok(JsValue::NULL) };
        let mut rest = sources.as_slice();
        let mut parts = Vec::new();
        for ((&template, &first), &length) in templates.iter().zip(&first_columns).zip(&lengths) {
            let Some((own, others)) = rest.split_at_checked(length as usize) else {
                return Err(to_js(Error::internal("the sources of shared data end too early")));
            };
            rest = others;
            let batch = (template != u32::MAX).then_some(template as usize);
            parts.push(DataPart { batch, first, sources: own.to_vec() });
        }
        let new = NewSharedData::new(context, &numbers, parts).map_err(to_js)?;
        let buffer = new.raw_buffer();
        self.new_data.borrow_mut().push(new);
        Ok(buffer)
    }

    /// Resolves with the parameters as the last solve left them on the device.
    pub fn download(&self) -> Promise {
        self.call(async move |mut session: Box<Session>| {
            let brought = session.functions.bring_values().await;
            let values = brought.map(|()| Float64Array::from(session.functions.values()).into());
            (session, values.map_err(to_js))
        })
    }

    /// Frees everything; a call that is running frees it when it ends.
    pub fn dispose(&self) {
        self.session.dispose();
        self.new_data.borrow_mut().clear();
    }
}
