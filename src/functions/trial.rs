//! Trying a model's kernels on both engines, to know which suits it. Takes the model at its start; gives milliseconds.

use crate::batch::Model;
use crate::clock::now_ms;
use crate::error::Result;

use super::Objective;
use super::choice::Measured;
use super::cpu::CpuEngine;
use super::engine::Engine;

/// Runs are repeated until they have taken so long, if the clock tells only tenths of a millisecond.
const ENOUGH_MS: f64 = 1.0;

/// What takes longer than this once is not tried again.
const LONG_MS: f64 = 20.0;

/// Milliseconds of a gradient by an engine, when what is done once is done. What compiles the engine's code makes it faster as it runs.
pub async fn gradient_ms(engine: &mut Engine, model: &Model, values: &[f64]) -> Result<f64> {
    let mut least = f64::INFINITY;
    let mut runs = 1_u32;
    for round in 0.. {
        let began = now_ms();
        for _ in 0..runs {
            engine.gradient(model, Objective::Sum, values, None).await?;
        }
        let elapsed = now_ms() - began;
        least = least.min(elapsed / f64::from(runs));
        if elapsed > LONG_MS || (elapsed >= ENOUGH_MS && round > 0) || runs >= 1 << 10 {
            break;
        }
        runs *= if elapsed >= ENOUGH_MS { 1 } else { 4 };
    }
    Ok(least)
}

/// What is known without the GPU's kernels.
pub async fn measure(device: crate::gpu::Speed, model: &Model, values: &[f64]) -> Result<(Engine, Measured)> {
    let mut engine = Engine::Cpu(CpuEngine::new());
    let cpu_gradient_ms = gradient_ms(&mut engine, model, values).await?;
    Ok((engine, Measured { device, cpu_gradient_ms, gpu_gradient_ms: None }))
}
