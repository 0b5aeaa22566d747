//! Tensors that are longer than a binding.

use residua_base::cooperative::run_synchronously;

use super::*;
use crate::wgsl::{DeviceLimits, Windows};

/// A sum of six inputs of 1,000 numbers.
fn six() -> Recipe {
    let mut expr = Expr::default();
    let inputs: Vec<TensorId> = (0..6).map(|slot| expr.input(slot, DType::F32, &shape(&[1000]))).collect();
    let sum = inputs[1..].iter().fold(inputs[0], |sum, input| expr.elementwise(E::Add, &[sum, *input]));
    Recipe { expr, dims: Vec::new(), results: vec![sum], assignments: Vec::new() }
}

fn in_windows(recipe: &Recipe, storage_buffers: u32, binding_bytes: u64) -> (Plan, Vec<Windows>) {
    let target = Target { most_buffers: storage_buffers, ..GPU };
    let limits = DeviceLimits { storage_buffers, binding_bytes, ..DeviceLimits::default() };
    run_synchronously(Plan::in_windows(recipe, &target, &limits)).expect("a recipe that plans")
}

#[test]
fn what_fits_a_binding_has_one() {
    let (plan, windows) = in_windows(&six(), 8, 4000);
    assert_eq!((plan.steps.len(), windows), (1, vec![Windows::default()]));
}

#[test]
fn what_is_longer_has_windows_of_whole_offsets() {
    let (plan, windows) = in_windows(&six(), 64, 1500);
    // 1,500 bytes hold 5 × 256; 4,000 bytes take four windows of that.
    assert_eq!((plan.steps.len(), windows), (1, vec![Windows { bytes: 1280, counts: vec![4; 7] }]));
}

#[test]
fn a_kernel_with_too_many_windows_is_split() {
    let recipe = six();
    let (plan, windows) = in_windows(&recipe, 8, 2048);
    assert!(plan.steps.len() > 1, "{plan}");
    for windows in &windows {
        assert!(windows.counts.iter().sum::<u32>() <= 8, "{plan}");
    }
    let inputs: Vec<Vec<f64>> = (0..6).map(|seed| numbers(1000, seed)).collect();
    let mut slots: Vec<Vec<u8>> = inputs.iter().map(|input| bytes_of(DType::F32, input)).collect();
    let found = execute(&plan, &[], &mut slots).expect("a plan that runs");
    let expected = (0..1000).map(|k| inputs[1..].iter().fold(inputs[0][k] as f32, |sum, input| sum + input[k] as f32));
    let found: Vec<f32> = elements_of(DType::F32, &found[0], 1000).iter().map(|number| *number as f32).collect();
    assert_eq!(found, expected.collect::<Vec<f32>>());
}

#[test]
fn transforms_take_windows_of_all_that_they_read_and_write() {
    use crate::expr::{Fourier, FourierKind};
    let mut expr = Expr::default();
    let pairs = expr.input(0, DType::F32, &shape(&[1, 60, 2]));
    let parts = [0, 1].map(|part| expr.part(pairs, part));
    let of = Fourier { axis: 1, to: 1, length: 60, kind: FourierKind::Forward, scale: 1.0 };
    let found = expr.fourier(of, &parts);
    let recipe = Recipe { expr, dims: Vec::new(), results: vec![found], assignments: Vec::new() };
    let (plan, windows) = in_windows(&recipe, 64, 256);
    for (kernel, windows) in plan.kernels.iter().zip(&windows) {
        assert!(windows.counts.iter().all(|count| *count > 1), "{windows:?}");
        let limits = DeviceLimits { storage_buffers: 64, binding_bytes: 256, ..DeviceLimits::default() };
        let text = crate::wgsl::write_in_windows(kernel, &limits, windows).expect("a kernel with a text");
        residua_portable::validated(&text.text);
    }
}
