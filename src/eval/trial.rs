//! Trying a model's kernels on both engines, to choose one. Takes the model at its start; gives milliseconds.

use std::pin::pin;

use js_sys::Float64Array;

use crate::model::Model;
use residua_base::clock::{now_ms, tick_ms};
use residua_base::cooperative::yield_now;
use residua_base::error::Result;
use residua_gpu::Context;

use super::Objective;
use super::choice::Measured;
use super::cpu::CpuEngine;
use super::engine::Engine;

/// Runs are repeated until they have taken so long, and so many steps of the clock.
const ENOUGH_MS: f64 = 1.0;
const TICKS: f64 = 4.0;

/// The most runs in a row, however short they are.
const MOST_RUNS: u32 = 1 << 10;

/// What takes longer than this once is not tried again.
const LONG_MS: f64 = 20.0;

/// Instances that the CPU tries, at most: a few milliseconds, even of long residuals, and too many for its caches.
const MOST_TRIED: f64 = 65_536.0;

/// Milliseconds of a gradient by an engine, at the values, which a device has already; when what is done once is done: code gets faster as it runs.
pub async fn gradient_ms(engine: &mut Engine, model: &Model, values: &[f64]) -> Result<f64> {
    let began = now_ms();
    // Made anew by each call, which is timed separately, since it does not depend on the part that is tried.
    let (mut gradient, part) = match engine {
        Engine::Cpu(_) => {
            let instances: f64 = model.batches.iter().map(|batch| f64::from(batch.count)).sum();
            (vec![0.0; values.len()], (MOST_TRIED / instances).min(1.0))
        }
        Engine::Gpu(_) | Engine::HostCall(_) => (Vec::new(), 1.0),
    };
    let making = now_ms() - began;
    let read_back = Float64Array::new_with_length(values.len() as u32);
    let mut least = f64::INFINITY;
    let mut runs = 1_u32;
    let enough = (TICKS * tick_ms()).clamp(ENOUGH_MS, LONG_MS);
    for round in 0.. {
        let began = now_ms();
        for _ in 0..runs {
            match engine {
                Engine::Cpu(engine) => engine.try_gradient(model, values, &mut gradient, part).await?,
                Engine::Gpu(engine) | Engine::HostCall(engine) => {
                    engine.device_gradient(model, Objective::Sum, None, None, None, Some(&read_back)).await?;
                }
            }
        }
        let elapsed = now_ms() - began;
        let is_told = elapsed >= enough || runs >= MOST_RUNS;
        if is_told {
            // A shorter time may be nothing but a step of the clock, or none.
            least = least.min(elapsed / f64::from(runs));
        }
        if elapsed > LONG_MS || (is_told && round > 0) {
            break;
        }
        runs *= if is_told { 1 } else { 4 };
        yield_now().await;
    }
    Ok(least / part + making)
}

/// What is known without the GPU's kernels: the CPU is tried while the device gets ready to be measured.
pub async fn measure(context: &Context, model: &Model, values: &[f64]) -> Result<(Engine, Measured)> {
    let mut engine = Engine::Cpu(CpuEngine::new());
    let mut cpu_gradient_ms = Ok(0.0);
    let device = {
        let trial = pin!(async { cpu_gradient_ms = gradient_ms(&mut engine, model, values).await });
        context.speed(trial).await?
    };
    Ok((engine, Measured { device, cpu_gradient_ms: cpu_gradient_ms?, gpu_gradient_ms: None }))
}
