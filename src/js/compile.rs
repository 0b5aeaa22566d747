//! Making an engine for a problem, stage by stage: where it is told to, or where it turns out to be faster.

use std::cell::{Cell, RefCell};

use wasm_bindgen::prelude::*;

use crate::eval::choice::{Choice, Extent};
use crate::eval::cpu::CpuEngine;
use crate::eval::gpu::GpuEngine;
use crate::eval::{Engine, trial};
use crate::model::Model;
use crate::model::access_plan::Entry;
use residua_base::clock::now_ms;
use residua_base::cooperative::{Slices, yield_now};
use residua_base::error::{Error, ErrorCode, Result};
use residua_gpu::Context;

/// Tells the facade how far compiling is, and hears whether it was called off.
pub struct Progress {
    report: Option<js_sys::Function>,
    aborted: Option<js_sys::Function>,
    /// Milliseconds by stage.
    pub times: RefCell<Vec<(&'static str, f64)>>,
    began: Cell<f64>,
    stage: Cell<usize>,
    /// How much was done when the listener last heard: it hears of no less.
    most: Cell<f64>,
}

/// The stages of compiling.
const STAGES: [&str; 3] = ["group", "tables", "pipelines"];

impl Progress {
    /// Nothing is done yet.
    pub fn new(report: Option<js_sys::Function>, aborted: Option<js_sys::Function>) -> Progress {
        Progress {
            report,
            aborted,
            times: RefCell::default(),
            began: Cell::new(0.0),
            stage: Cell::new(0),
            most: Cell::new(0.0),
        }
    }

    /// The next stage begins.
    pub async fn enter(&self, stage: usize) -> Result<()> {
        // The caller's signal can only fire while the page has a turn.
        yield_now().await;
        self.stage.set(stage);
        self.began.set(now_ms());
        self.tell(0.0)
    }

    /// The stage has ended.
    pub fn leave(&self) {
        self.times.borrow_mut().push((STAGES[self.stage.get()], now_ms() - self.began.get()));
    }

    /// A part of the stage is told as one of its own.
    fn set_apart(&self, name: &'static str, ms: f64) {
        self.times.borrow_mut().push((name, ms));
        self.began.set(self.began.get() + ms);
    }

    /// So much of the stage is done, from 0 to 1; each stage counts 100. Fails when the caller has called it off.
    pub fn tell(&self, done: f64) -> Result<()> {
        let aborted = match &self.aborted {
            Some(aborted) => aborted.call0(&JsValue::NULL).is_ok_and(|answer| answer.is_truthy()),
            None => false,
        };
        if aborted {
            return Err(Error::new(ErrorCode::Aborted, "the signal fired while compiling"));
        }
        let stage = self.stage.get();
        let done = 100.0 * (stage as f64 + done);
        if let Some(report) = &self.report
            && done >= self.most.get()
        {
            self.most.set(done);
            let all = JsValue::from(100 * STAGES.len() as u32);
            // A listener that throws stops the compile like an abort would.
            report
                .call3(&JsValue::NULL, &JsValue::from(done as u32), &all, &STAGES[stage].into())
                .map_err(|_| Error::new(ErrorCode::Aborted, "onProgress threw"))?;
        }
        Ok(())
    }
}

/// Where to compile for.
pub struct Target {
    /// The device; none for the CPU.
    pub context: Option<Context>,
    /// The CPU may be taken all the same.
    pub choose: bool,
    /// The most instances in one dispatch.
    pub batch_size: Option<u32>,
}

/// The engine for a target, and if that was open, which calls are done where.
pub async fn make_engine(
    model: &Model,
    values: &[f64],
    target: Target,
    progress: &Progress,
    slices: &Slices<'_>,
) -> Result<(Engine, Option<Choice>)> {
    let Target { context, choose, batch_size } = target;
    let mut tried = None;
    let on_cpu = match &context {
        None => Some((CpuEngine::new(), None)),
        Some(_) if !choose => None,
        Some(context) => {
            let began = now_ms();
            let (engine, measured) = trial::measure(context, model, values).await?;
            let choice = Choice::new(&Extent::of(model), &measured);
            progress.set_apart("choice", now_ms() - began);
            match engine {
                Engine::Cpu(engine) if choice.is_all_on_cpu() => Some((engine, Some(choice))),
                engine => {
                    tried = Some((engine, measured));
                    None
                }
            }
        }
    };
    if let (None, Some(context)) = (&on_cpu, context) {
        let mut engine = GpuEngine::new_in_slices(context, model, batch_size, slices).await?;
        progress.leave();
        progress.enter(2).await?;
        let mut done = |done: usize, total: usize| progress.tell(done as f64 / total.max(1) as f64);
        engine.prepare(model, values, slices, &mut done).await?;
        let Some((on_cpu, mut measured)) = tried else { return Ok((Engine::Gpu(Box::new(engine)), None)) };
        if let Engine::Cpu(on_cpu) = on_cpu {
            engine.set_on_cpu(on_cpu);
        }
        let mut engine = Engine::Gpu(Box::new(engine));
        let began = now_ms();
        measured.gpu_gradient_ms = Some(trial::gradient_ms(&mut engine, model, values).await?);
        progress.set_apart("trial", now_ms() - began);
        let choice = Choice::new(&Extent::of(model), &measured);
        let engine = match engine {
            Engine::Gpu(engine) if choice.is_all_on_cpu() => Engine::Cpu(engine.into_cpu()),
            engine => engine,
        };
        return Ok((engine, Some(choice)));
    }
    progress.leave();
    progress.enter(2).await?;
    let (mut engine, choice) = on_cpu.unwrap_or_default();
    for entry in [Entry::SumGradient, Entry::CostGradient] {
        engine.prepare(model, entry).await?;
    }
    Ok((Engine::Cpu(engine), choice))
}
