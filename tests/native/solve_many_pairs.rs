//! Many small problems in pairs: the device's kernel in the interpreter of shaders against the CPU's solver in f64. Each accuracy has a control in f32.

use crate::interpreter::validated;
use crate::many::{
    Draft, SAMPLES, noisy_peaks, numbers, on_cpu, on_device, on_device_in, options, peaks, samples_batch,
};
use crate::solve_many::{chain, difference, lines, rotations};
use residua::model::losses::{LossKind, LossParameters};
use residua::solve::Termination;
use residua::solve::many::device::DeviceBatch;
use residua::solve::many::{Batch, ManyOptions, ManySolutions, SharedProblem};
use residua::solve::rules::Tolerances;
use residua_base::error::ErrorCode;
use residua_codegen::wgsl::PairForm;
use residua_ir::graph::Op;

const FORMS: [PairForm; 2] = [PairForm::Split, PairForm::Fused];

fn in_pairs(template: &SharedProblem, batch: &Batch, turn: u32) -> ManySolutions {
    on_device_in(template, batch, &options(), turn, Some(PairForm::Split))
}

#[test]
fn exact_samples_give_the_peaks_back_to_eleven_digits() {
    let template = peaks(LossParameters::squared()).template();
    let (truth, samples) = noisy_peaks(1, 0.0);
    let batch = samples_batch(1, samples, 1);
    for form in FORMS {
        let device = on_device_in(&template, &batch, &options(), 40, Some(form));
        assert!(device.termination.iter().all(|end| end.converged()), "{:?}", device.termination);
        // Samples have 48 bits, times the condition of the fit.
        assert!(difference(&device.x, &truth) < 1e-11, "{}", difference(&device.x, &truth));
    }
    assert!(difference(&on_device(&template, &batch, &options(), 40).x, &truth) > 1e-9, "f32 does as well");
}

#[test]
fn noisy_fits_have_the_minimum_of_the_cpu_for_every_loss() {
    let (_, samples) = noisy_peaks(2, 0.05);
    for kind in LossKind::ALL {
        let loss = LossParameters::new(kind.name(), 0.2, 0.3, 2.0).unwrap();
        let template = peaks(loss).template();
        // With Tukey's loss the first start is in a valley where few samples count.
        let first = if kind == LossKind::Tukey { SAMPLES } else { 0 };
        let batch = samples_batch(1, samples[first..first + SAMPLES].to_vec(), 1);
        let (cpu, device) = (on_cpu(&template, &batch, &options()), in_pairs(&template, &batch, 40));
        for (exact, found) in cpu.cost.iter().zip(&device.cost) {
            // 25 terms of 46 bits.
            assert!((found - exact).abs() <= 1e-12 * exact, "{}: {exact}, {found}", kind.name());
        }
        // The cost is flat to the last bits within a distance of the square root of that.
        assert!(difference(&cpu.x, &device.x) < 1e-6, "{}: {:?} {:?}", kind.name(), cpu.x, device.x);
    }
}

#[test]
fn how_often_a_dispatch_is_cut_changes_no_bit_in_pairs() {
    let template = peaks(LossParameters::squared()).template();
    let (_, samples) = noisy_peaks(1, 0.05);
    let batch = samples_batch(1, samples, 1);
    assert_eq!(in_pairs(&template, &batch, 3), in_pairs(&template, &batch, 100));
}

/// Three decays, from which 24 samples were taken: Lanczos' problem, of which the condition of J is 1e4.
fn decays() -> Draft {
    let mut draft = Draft::default();
    draft.array(6, "euclidean", &[0.5, 0.7, 3.6, 4.2, 4.0, 6.3]);
    let t: Vec<f64> = (0..24).map(|sample| 0.05 * f64::from(sample)).collect();
    let y: Vec<f64> = t.iter().map(|t| decay(&DECAYS, *t)).collect();
    draft.block(&[(0, &[0; 24])], &[&t, &y], LossParameters::squared(), |g, p, data| {
        let term = |g: &mut crate::recorder::Recorder, k: usize| {
            let product = g.mul(p[k + 1], data[0]);
            let negative = g.apply(Op::Neg, &[product]);
            let exponential = g.apply(Op::Exp, &[negative]);
            g.mul(p[k], exponential)
        };
        let terms = [0, 2, 4].map(|k| term(g, k));
        let sum = g.add(terms[0], terms[1]);
        let sum = g.add(sum, terms[2]);
        vec![g.sub(sum, data[1])]
    });
    draft
}

/// Lanczos (1956): amplitudes and rates.
const DECAYS: [f64; 6] = [0.0951, 1.0, 0.8607, 3.0, 1.5576, 5.0];

fn decay(p: &[f64; 6], t: f64) -> f64 {
    [0, 2, 4].into_iter().map(|k| p[k] * (-p[k + 1] * t).exp()).sum()
}

#[test]
fn an_ill_conditioned_fit_keeps_eight_digits() {
    let template = decays().template();
    let start = numbers(vec![0.5, 0.7, 3.6, 4.2, 4.0, 6.3]);
    let batch = Batch { count: 1, parameters: vec![(0, 6, start)], data: Vec::new() };
    let tolerances = Tolerances { cost: 0.0, gradient: 1e-13, parameter: 1e-13 };
    let options = ManyOptions { max_iterations: Some(300), tolerances, initial_damping: Some(1e-3) };
    let worst = |solutions: &ManySolutions| {
        let relative = solutions.x.iter().zip(DECAYS).map(|(found, exact)| (found - exact).abs() / exact);
        relative.fold(0.0, f64::max)
    };
    let device = on_device_in(&template, &batch, &options, 400, Some(PairForm::Split));
    assert!(worst(&device) < 1e-8, "{:?} {:?} in {:?}", device.x, device.termination, device.iterations);
    assert!(worst(&on_device(&template, &batch, &options, 400)) > 1e-4, "f32 does as well");
}

#[test]
fn bounds_hold_and_bad_problems_end_apart_in_pairs() {
    let constant = 0.1 + 0.2;
    let bounds = ([f64::NEG_INFINITY, -1.0], [f64::INFINITY, 1.1]);
    let bounded =
        SharedProblem::new(lines().model(), vec![constant, 0.0], &[true, false], Some((&bounds.0, &bounds.1))).unwrap();
    let start = numbers(vec![constant, 0.0, constant, -7.0]);
    let batch = Batch { count: 2, parameters: vec![(0, 2, start)], data: Vec::new() };
    let solutions = in_pairs(&bounded, &batch, 40);
    assert_eq!(solutions.x, [constant, 1.1, constant, 1.1]);
    assert_eq!(solutions.termination, [Termination::GradientTolerance; 2], "what is frozen has no gradient");

    let template = lines().template();
    let times = [0.0, 1.0, 2.0, 0.0, 1.0, 2.0, 0.0, 0.0, 0.0];
    let values = [1.0, 3.0, 5.0, 1.0, f64::NAN, 5.0, 1.0, 1.0, 4.0];
    let mut batch = samples_batch(3, times.to_vec(), 0);
    batch.data.extend(samples_batch(3, values.to_vec(), 1).data);
    batch.parameters.push((0, 2, numbers(vec![0.0, 0.0, 7.0, 8.0, 0.0, 3.0])));
    let solutions = in_pairs(&template, &batch, 40);
    // A few roundings of pairs.
    assert!((solutions.x[0] - 1.0).abs() < 1e-12 && (solutions.x[1] - 2.0).abs() < 1e-12, "{:?}", solutions.x);
    assert_eq!(solutions.termination[1], Termination::NonFinite);
    assert_eq!(solutions.x[2..4], [7.0, 8.0]);
    // Where the gradient is below 1e-10, of a matrix that is singular but for the damping.
    assert!((solutions.x[4] - 2.0).abs() < 1e-9, "the mean of 1, 1 and 4: {:?}", solutions.x);
    assert_eq!(solutions.x[5], 3.0, "nothing depends on the slope");
}

#[test]
fn a_bound_at_large_coordinates_is_met_and_not_passed() {
    // 1e6 + 0.3 is a pair and no f32: the nearest f32 is 1e6 + 0.3125.
    let upper = 1e6 + 0.3;
    let mut draft = Draft::default();
    draft.array(1, "euclidean", &[1e6]);
    draft.block(&[(0, &[0])], &[&[1e6 + 1.0]], LossParameters::squared(), |g, p, data| vec![g.sub(p[0], data[0])]);
    let template =
        SharedProblem::new(draft.model(), vec![1e6], &[false], Some((&[f64::NEG_INFINITY], &[upper]))).unwrap();
    let solutions = in_pairs(&template, &Batch { count: 1, ..Batch::default() }, 40);
    // The bound as a pair is 48 bits of it.
    assert!(solutions.x[0] <= upper && solutions.x[0] > upper - 1e-8, "{:?}", solutions.x);
    assert_eq!(solutions.termination, [Termination::GradientTolerance]);
}

#[test]
fn blocks_move_on_their_manifolds_in_pairs() {
    let template = rotations().template();
    let start = numbers(vec![0.9, 0.1, -0.3, 0.2, 2.8, 0.6, 0.8, 0.1]);
    let batch = Batch { count: 1, parameters: vec![(0, 8, start)], data: Vec::new() };
    let half = std::f64::consts::FRAC_1_SQRT_2;
    let expected = [half, 0.0, 0.0, half, -3.0, 0.0, 0.0, 1.0];
    let solutions = in_pairs(&template, &batch, 40);
    for (found, expected) in solutions.x.iter().zip(expected) {
        // Where the gradient is below 1e-10.
        assert!((found - expected).abs() < 1e-9, "{:?} {:?}", solutions.x, solutions.termination);
    }
}

#[test]
fn kernels_in_pairs_are_valid_and_what_is_too_large_is_named() {
    let batch = Batch { count: 1, ..Batch::default() };
    for free in [1, 2, 5] {
        for form in FORMS {
            let template = chain(free).template();
            validated(&DeviceBatch::new(&template, &batch, &options(), Some(form)).unwrap().program.wgsl);
        }
    }
    let error = DeviceBatch::new(&chain(16).template(), &batch, &options(), Some(PairForm::Split)).map(|_| ());
    assert_eq!(error.unwrap_err().code, ErrorCode::LimitExceeded);
    for kind in LossKind::ALL {
        let template = peaks(LossParameters::new(kind.name(), 1.0, 1.0, 1.0).unwrap()).template();
        let batch = samples_batch(1, vec![0.0; 25], 1);
        validated(&DeviceBatch::new(&template, &batch, &options(), Some(PairForm::Split)).unwrap().program.wgsl);
    }
}
