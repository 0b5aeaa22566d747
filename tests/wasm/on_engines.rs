//! Functions on each engine, and a listener that neither hears nor stops: what most tests of solvers begin with.

use crate::shared_context::shared_context;
use residua::eval::cpu::CpuEngine;
use residua::eval::gpu::GpuEngine;
use residua::eval::{Engine, Functions};
use residua::model::Model;
use residua::solve::{IterationSummary, Listener};
use residua_codegen::Width;
use residua_gpu::Context;

/// Neither hears nor stops.
pub struct Silent;

impl Listener for Silent {
    fn iteration(&mut self, _: &IterationSummary) -> bool {
        false
    }

    fn aborted(&mut self) -> bool {
        false
    }
}

pub async fn on_gpu(context: &Context, width: Width, model: &Model, x: &[f64]) -> Functions {
    let engine = GpuEngine::new(context.clone(), model, width, None).await.unwrap();
    Functions::new(model.clone(), Engine::Gpu(Box::new(engine)), x.to_vec()).unwrap()
}

pub fn on_cpu(model: &Model, x: &[f64]) -> Functions {
    Functions::new(model.clone(), Engine::Cpu(CpuEngine::new()), x.to_vec()).unwrap()
}

/// The same functions on the shared device in f32, and on the CPU.
pub async fn on_both(model: &Model, x: &[f64]) -> [Functions; 2] {
    [on_gpu(&shared_context().await, Width::Single, model, x).await, on_cpu(model, x)]
}
