//! Making an engine for a problem, stage by stage: where it is told to, or where it turns out to be faster.

use wasm_bindgen::prelude::*;

use crate::batch::Model;
use crate::batch::plan::Entry;
use crate::clock::now_ms;
use crate::error::{Error, ErrorCode, Result};
use crate::functions::choice::{Choice, Extent};
use crate::functions::cpu::CpuEngine;
use crate::functions::gpu::GpuEngine;
use crate::functions::{Engine, trial};
use crate::gpu::Context;
use crate::turn::next_turn;

/// Tells the facade how far compiling is, and hears whether it was called off.
pub struct Progress {
    report: Option<js_sys::Function>,
    aborted: Option<js_sys::Function>,
    /// Milliseconds by stage.
    pub times: Vec<(&'static str, f64)>,
    began: f64,
}

/// The stages of compiling.
const STAGES: [&str; 3] = ["group", "tables", "pipelines"];

impl Progress {
    /// Nothing is done yet.
    pub fn new(report: Option<js_sys::Function>, aborted: Option<js_sys::Function>) -> Progress {
        Progress { report, aborted, times: Vec::new(), began: 0.0 }
    }

    /// Stage number `stage` begins.
    pub async fn enter(&mut self, stage: usize) -> Result<()> {
        // The caller's signal can only fire while the page has a turn.
        next_turn().await;
        self.tell(stage, 0, 1)?;
        self.began = now_ms();
        Ok(())
    }

    /// Stage number `stage` has ended.
    pub fn leave(&mut self, stage: usize) {
        self.times.push((STAGES[stage], now_ms() - self.began));
    }

    /// A part of the stage is told as one of its own.
    fn set_apart(&mut self, name: &'static str, ms: f64) {
        self.times.push((name, ms));
        self.began += ms;
    }

    /// So much of a stage is done; each stage counts 100. Fails when the caller has called it off.
    pub fn tell(&self, stage: usize, done: usize, total: usize) -> Result<()> {
        if let Some(report) = &self.report {
            let done = JsValue::from((100 * stage + 100 * done / total.max(1)) as u32);
            let all = JsValue::from(100 * STAGES.len() as u32);
            // A listener that throws stops the compile like an abort would.
            report
                .call3(&JsValue::NULL, &done, &all, &STAGES[stage].into())
                .map_err(|_| Error::new(ErrorCode::Aborted, "onProgress threw"))?;
        }
        let aborted = match &self.aborted {
            Some(aborted) => aborted.call0(&JsValue::NULL).is_ok_and(|answer| answer.is_truthy()),
            None => false,
        };
        if aborted {
            return Err(Error::new(ErrorCode::Aborted, "the signal fired while compiling"));
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
    progress: &mut Progress,
) -> Result<(Engine, Option<Choice>)> {
    let Target { context, choose, batch_size } = target;
    let mut tried = None;
    let on_cpu = match &context {
        None => Some((CpuEngine::new(), None)),
        Some(_) if !choose => None,
        Some(context) => {
            let began = now_ms();
            let (engine, measured) = trial::measure(context.speed().await?, model, values).await?;
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
        let mut engine = GpuEngine::new(context, model, batch_size).await?;
        progress.leave(1);
        progress.enter(2).await?;
        engine.prepare(model, &mut |done, total| progress.tell(2, done, total)).await?;
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
    progress.leave(1);
    progress.enter(2).await?;
    let (mut engine, choice) = on_cpu.unwrap_or_default();
    for entry in [Entry::SumGradient, Entry::CostGradient] {
        engine.prepare(model, entry).await?;
    }
    Ok((Engine::Cpu(engine), choice))
}
