//! Many small problems, natively: the CPU's solver and the device's kernel.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

mod interpreter;
mod many;

use many::{noisy_peaks, on_cpu, on_device, options, peaks, samples_batch};
use residua::losses::LossParameters;
use residua::solve::Termination;

#[test]
fn peaks_are_fitted_on_both_engines() {
    let template = peaks(LossParameters::squared()).template();
    let (truth, samples) = noisy_peaks(70, 0.0);
    let batch = samples_batch(70, samples, 1);
    let cpu = on_cpu(&template, &batch, &options());
    println!("{:?}", &cpu.termination[..5]);
    println!("{:?}", &cpu.iterations[..20]);
    let device = on_device(&template, &batch, &options(), 40);
    println!("{:?} {:?}", &device.termination[..10], &device.iterations[..20]);
    let worst = |x: &[f64]| x.iter().zip(&truth).fold(0.0f64, |worst, (a, b)| worst.max((a.abs() - b.abs()).abs()));
    println!("{:?} {:?}", worst(&cpu.x), worst(&device.x));
    assert!(cpu.termination.iter().all(|end| end.converged()));
    assert!(worst(&cpu.x) < 1e-8);
    assert!(device.termination.iter().all(|end| end.converged() || *end == Termination::PrecisionLimit));
    assert!(worst(&device.x) < 1e-5);
}
