//! Many small problems, natively: the CPU's solver with interpreted kernels, and the device's kernel in the interpreter of shaders.

use crate::interpreter::validated;
use crate::many::{Draft, Random, SAMPLES, noisy_peaks, numbers, on_cpu, on_device, options, peaks, samples_batch};
use crate::recorder::Recorder;
use residua::model::losses::{LossKind, LossParameters};
use residua::solve::Termination;
use residua::solve::many::device::DeviceBatch;
use residua::solve::many::{Batch, ManyOptions, ManySolutions, SharedProblem};
use residua_base::error::ErrorCode;
use residua_ir::graph::Op;
use residua_portable::assert_guard_reads_storage;

fn finite(solutions: &ManySolutions) -> bool {
    solutions.x.iter().chain(&solutions.cost).all(|number| number.is_finite())
}

/// The largest difference of parameters that both know, by magnitude: a peak of width −w is the same one.
pub fn difference(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).fold(0.0, |worst: f64, (a, b)| worst.max((a.abs() - b.abs()).abs()))
}

#[test]
fn exact_samples_give_the_peaks_back() {
    let template = peaks(LossParameters::squared()).template();
    let (truth, samples) = noisy_peaks(12, 0.0);
    let batch = samples_batch(12, samples, 1);
    let cpu = on_cpu(&template, &batch, &options());
    assert!(cpu.termination.iter().all(|end| end.converged()), "{:?}", cpu.termination);
    // The gradient's tolerance, 1e-10, over the smallest curvature, about 1.
    assert!(difference(&cpu.x, &truth) < 1e-9);
    let device = on_device(&template, &batch, &options(), 40);
    // Tolerances that f32 cannot show: the limit of precision is an honest end.
    let honest = |end: &Termination| end.converged() || *end == Termination::PrecisionLimit;
    assert!(device.termination.iter().all(honest), "{:?}", device.termination);
    // Samples rounded to f32, times the condition of the fit.
    assert!(difference(&device.x, &truth) < 3e-6, "{}", difference(&device.x, &truth));
}

#[test]
fn noisy_fits_agree_between_the_engines_for_every_loss() {
    let (_, samples) = noisy_peaks(3, 0.05);
    for kind in LossKind::ALL {
        let loss = LossParameters::new(kind.name(), 0.2, 0.3, 2.0).unwrap();
        let template = peaks(loss).template();
        let batch = samples_batch(3, samples.clone(), 1);
        let (cpu, device) = (on_cpu(&template, &batch, &options()), on_device(&template, &batch, &options(), 40));
        assert!(finite(&cpu) && finite(&device), "{}", kind.name());
        // With Tukey's loss one start is in a valley where few samples count: that is no success.
        let converged = device.termination.iter().filter(|end| end.converged()).count();
        assert!(converged >= if kind == LossKind::Tukey { 2 } else { 3 }, "{} {:?}", kind.name(), device.termination);
        let found = cpu.cost.iter().zip(&device.cost).zip(&device.termination);
        for (problem, ((exact, single), _)) in found.enumerate().filter(|(_, (_, end))| end.converged()) {
            // 25 terms in f32, each from residuals of relative error 1e-6.
            let excess = (single - exact).abs() / exact;
            assert!(excess < 2e-5, "{}: {exact} and {single} in fit {problem}", kind.name());
        }
    }
}

#[test]
fn a_residual_beyond_all_measure_does_not_end_a_robust_fit() {
    let exact = [1.0, 3.0, 5.0, 7.0, 9.0, 11.0, 13.0, 15.0];
    let noise = [0.02, -0.03, 0.01, 0.03, -0.02, 0.02, -0.01, -0.02];
    let fit = |kind: &str, outlier: f64| {
        let mut draft = Draft::default();
        draft.array(2, "euclidean", &[0.0, 0.0]);
        let times: Vec<f64> = (0..8).map(f64::from).collect();
        let mut values: Vec<f64> = exact.iter().zip(noise).map(|(y, noise)| y + noise).collect();
        values[3] += outlier;
        let loss = LossParameters::new(kind, 0.05, 1.0, 1.0).unwrap();
        draft.block(&[(0, &[0; 8])], &[&times, &values], loss, |g, p, data| {
            let product = g.mul(p[1], data[0]);
            let line = g.add(p[0], product);
            vec![g.sub(line, data[1])]
        });
        on_cpu(&draft.template(), &Batch { count: 1, ..Batch::default() }, &options())
    };
    for kind in ["huber", "softL1"] {
        // From a distance of 20 scales on the slope of an outlier's loss is 1 to six digits and more.
        let near = fit(kind, 1e3);
        for outlier in [1e6, 1e9, 1e15] {
            let far = fit(kind, outlier);
            assert!(far.termination[0].converged(), "{kind} {outlier}: {far:?}");
            assert!(difference(&far.x, &near.x) < 1e-6, "{kind} {outlier}: {far:?} {near:?}");
        }
    }
}

#[test]
fn a_peak_at_unix_times_is_that_at_times_from_its_start() {
    let at = |origin: f64| {
        let mut draft = Draft::default();
        draft.array(3, "euclidean", &[1.5, origin + 0.2, 0.5]);
        let times: Vec<f64> = (0..SAMPLES).map(|sample| origin + 0.125 * sample as f64 - 1.5).collect();
        let bell = |t: f64| 2.0 * (-((t - 0.125) / 0.25).powi(2)).exp();
        let values: Vec<f64> = times.iter().map(|t| bell(t - origin)).collect();
        draft.block(&[(0, &[0; SAMPLES])], &[&times, &values], LossParameters::squared(), |g, p, data| {
            let offset = g.sub(data[0], p[1]);
            let z = g.div(offset, p[2]);
            let square = g.mul(z, z);
            let negative = g.apply(Op::Neg, &[square]);
            let bell = g.apply(Op::Exp, &[negative]);
            let bell = g.mul(p[0], bell);
            vec![g.sub(bell, data[1])]
        });
        on_cpu(&draft.template(), &Batch { count: 1, ..Batch::default() }, &options())
    };
    for origin in [0.0, 1.7e9] {
        let found = at(origin);
        assert!(found.termination[0].converged(), "{origin}: {found:?}");
        // Two units in the last place of 1.7e9, and what they make of the others.
        let expected = [2.0, origin + 0.125, 0.25];
        assert!(difference(&found.x, &expected) < 1e-6, "{origin}: {found:?}");
    }
}

#[test]
fn how_often_a_dispatch_is_cut_changes_no_bit() {
    let template = peaks(LossParameters::squared()).template();
    let (_, samples) = noisy_peaks(6, 0.05);
    let batch = samples_batch(6, samples, 1);
    let whole = on_device(&template, &batch, &options(), 100);
    for turn in [1, 3] {
        let cut = on_device(&template, &batch, &options(), turn);
        assert_eq!(cut, whole, "in turns of {turn}");
    }
    assert_eq!(on_cpu(&template, &batch, &options()), on_cpu(&template, &batch, &options()));
}

#[test]
fn the_iterations_are_bounded() {
    let template = peaks(LossParameters::squared()).template();
    let (_, samples) = noisy_peaks(3, 0.05);
    let batch = samples_batch(3, samples, 1);
    for max_iterations in [0, 2] {
        let options = ManyOptions { max_iterations: Some(max_iterations), ..options() };
        for solutions in [on_cpu(&template, &batch, &options), on_device(&template, &batch, &options, 1)] {
            assert_eq!(solutions.iterations, [max_iterations; 3]);
            assert_eq!(solutions.termination, [Termination::MaxIterations; 3]);
            assert!(finite(&solutions), "the cost of the start is told");
        }
    }
}

#[test]
fn an_initial_damping_is_the_first_radius() {
    let template = lines().template();
    let first_step = |initial_damping: Option<f64>| {
        let options = ManyOptions { max_iterations: Some(1), initial_damping, ..options() };
        on_cpu(&template, &Batch { count: 1, ..Batch::default() }, &options).x
    };
    // The line is found in one step; from 0 no length of the parameters bounds it.
    assert!(difference(&first_step(None), &[1.0, 2.0]) < 1e-14);
    assert!(difference(&first_step(Some(0.0)), &[1.0, 2.0]) < 1e-14);
    // D² is (3, 5), g (−9, −13), so that ‖D⁻¹g‖ is √(27 + 33.8).
    let x = first_step(Some(100.0));
    let (length, radius) = ((3.0 * x[0] * x[0] + 5.0 * x[1] * x[1]).sqrt(), 60.8f64.sqrt() / 100.0);
    // The length of a step on the surface is right to a tenth.
    assert!((length / radius - 1.0).abs() < 0.1, "{length} {radius}");
}

#[test]
fn no_problems_are_no_work() {
    let template = peaks(LossParameters::squared()).template();
    let batch = samples_batch(0, Vec::new(), 1);
    assert_eq!(on_cpu(&template, &batch, &options()), ManySolutions::default());
}

/// y = a + b·t over shared times: two arrays of one number.
pub fn lines() -> Draft {
    let mut draft = Draft::default();
    draft.array(1, "euclidean", &[0.0, 0.0]);
    draft.block(
        &[(0, &[0, 0, 0]), (0, &[1, 1, 1])],
        &[&[0.0, 1.0, 2.0], &[1.0, 3.0, 5.0]],
        LossParameters::squared(),
        |g, p, data| {
            let product = g.mul(p[1], data[0]);
            let line = g.add(p[0], product);
            vec![g.sub(line, data[1])]
        },
    );
    draft
}

#[test]
fn bounds_hold_and_constants_stay_to_the_last_bit() {
    let draft = lines();
    let constant = 0.1 + 0.2;
    // The slope 2 is out of reach; the offset, 1 if it were free, is a constant that f32 does not hold.
    let bounded = SharedProblem::new(
        draft.model(),
        vec![constant, 0.0],
        &[true, false],
        Some((&[f64::NEG_INFINITY, -1.0], &[f64::INFINITY, 1.1])),
    )
    .unwrap();
    let start = numbers(vec![constant, 0.0, constant, -7.0]);
    let batch = Batch { count: 2, parameters: vec![(0, 2, start)], data: Vec::new() };
    for solutions in [on_cpu(&bounded, &batch, &options()), on_device(&bounded, &batch, &options(), 40)] {
        assert_eq!(solutions.x[0].to_bits(), constant.to_bits());
        assert_eq!(solutions.x[1], 1.1, "at the bound, which f32 rounds up and the result does not");
        assert_eq!(solutions.x[2..], [constant, 1.1], "a start below its bound is projected");
        assert_eq!(solutions.termination, [Termination::GradientTolerance; 2], "what is frozen has no gradient");
    }
}

#[test]
fn one_bad_problem_does_not_concern_the_others() {
    let template = lines().template();
    // The samples' times and values: good, NaN, singular (all at time 0), good with a start that is infinite.
    let times = [0.0, 1.0, 2.0, 0.0, 1.0, 2.0, 0.0, 0.0, 0.0, 0.0, 1.0, 2.0];
    let values = [1.0, 3.0, 5.0, 1.0, f64::NAN, 5.0, 1.0, 1.0, 4.0, 1.0, 3.0, 5.0];
    let mut batch = samples_batch(4, times.to_vec(), 0);
    batch.data.extend(samples_batch(4, values.to_vec(), 1).data);
    let starts = vec![0.0, 0.0, 7.0, 8.0, 0.0, 3.0, f64::INFINITY, 0.0];
    batch.parameters.push((0, 2, numbers(starts)));
    for solutions in [on_cpu(&template, &batch, &options()), on_device(&template, &batch, &options(), 40)] {
        // A few roundings of f32.
        assert!((solutions.x[0] - 1.0).abs() < 1e-6 && (solutions.x[1] - 2.0).abs() < 1e-6);
        assert_eq!(solutions.termination[1], Termination::NonFinite);
        assert_eq!(solutions.x[2..4], [7.0, 8.0]);
        assert!((solutions.x[4] - 2.0).abs() < 1e-6, "the mean of 1, 1 and 4");
        assert_eq!(solutions.x[5], 3.0, "nothing depends on the slope");
        assert_eq!(solutions.termination[3], Termination::NonFinite);
        assert_eq!(solutions.x[6..], [f64::INFINITY, 0.0]);
        assert_eq!(solutions.iterations[3], 0);
    }
}

/// Rotates three axes; another array of one angle that both should give, and one block twice in an instance.
pub fn rotations() -> Draft {
    let mut draft = Draft::default();
    draft.array(4, "unit-quaternion", &[1.0, 0.0, 0.0, 0.0]);
    draft.array(1, "angle", &[3.0]);
    draft.array(3, "unit-vector", &[0.6, 0.8, 0.0]);
    let axes: [&[f64]; 6] =
        [&[1.0, 0.0, 0.0], &[0.0, 1.0, 0.0], &[0.0, 0.0, 1.0], &[0.0, -1.0, 0.0], &[1.0, 0.0, 0.0], &[0.0, 0.0, 1.0]];
    draft.block(&[(0, &[0; 3])], &axes, LossParameters::squared(), |g, q, data| {
        // v + 2w(u × v) + 2u × (u × v)
        let cross = |g: &mut Recorder, a: &[u32], b: &[u32]| {
            [(1, 2), (2, 0), (0, 1)].map(|(i, j)| {
                let (first, second) = (g.mul(a[i], b[j]), g.mul(a[j], b[i]));
                g.sub(first, second)
            })
        };
        let once = cross(g, &q[1..4], &data[..3]);
        let twice = cross(g, &q[1..4], &once);
        (0..3)
            .map(|axis| {
                let turned = g.mul(q[0], once[axis]);
                let sum = g.add(turned, twice[axis]);
                let sum = g.add(sum, sum);
                let moved = g.add(data[axis], sum);
                g.sub(moved, data[3 + axis])
            })
            .collect()
    });
    draft.block(&[(1, &[0]), (1, &[0])], &[&[-3.0]], LossParameters::squared(), |g, p, data| {
        let sine = g.apply(Op::Sin, &[p[0]]);
        let cosine = g.apply(Op::Cos, &[p[1]]);
        let (target_sine, target_cosine) = (g.apply(Op::Sin, &[data[0]]), g.apply(Op::Cos, &[data[0]]));
        vec![g.sub(sine, target_sine), g.sub(cosine, target_cosine)]
    });
    draft.block(&[(2, &[0])], &[&[0.0], &[0.0], &[1.0]], LossParameters::squared(), |g, v, data| {
        (0..3).map(|axis| g.sub(v[axis], data[axis])).collect()
    });
    draft
}

#[test]
fn blocks_move_on_their_manifolds() {
    let template = rotations().template();
    assert_eq!(template.free.len(), 3 + 1 + 2);
    let start = numbers(vec![0.9, 0.1, -0.3, 0.2, 2.8, 0.6, 0.8, 0.1]);
    let batch = Batch { count: 1, parameters: vec![(0, 8, start)], data: Vec::new() };
    // x to y, y to −x: a turn by 90° about z.
    let half = std::f64::consts::FRAC_1_SQRT_2;
    let expected = [half, 0.0, 0.0, half, -3.0, 0.0, 0.0, 1.0];
    for (solutions, tolerance) in [
        // Where the gradient is below 1e-10.
        (on_cpu(&template, &batch, &options()), 1e-9),
        // Roundings of f32, and those of sines and cosines.
        (on_device(&template, &batch, &options(), 40), 2e-6),
    ] {
        for (found, expected) in solutions.x.iter().zip(expected) {
            assert!((found - expected).abs() < tolerance, "{:?} {:?}", solutions.x, solutions.termination);
        }
    }
}

/// `free` numbers, each drawn to a target of its own and to its neighbour: every instance over other parameters.
pub fn chain(free: u32) -> Draft {
    let mut draft = Draft::default();
    draft.array(1, "euclidean", &vec![0.0; free as usize]);
    let all: Vec<u32> = (0..free).collect();
    let next: Vec<u32> = all.iter().map(|number| (number + 1) % free).collect();
    let targets: Vec<f64> = all.iter().map(|&number| f64::from(number)).collect();
    draft.block(&[(0, &all)], &[&targets], LossParameters::squared(), |g, p, data| vec![g.sub(p[0], data[0])]);
    draft.block(&[(0, &all), (0, &next)], &[], LossParameters::new("softL1", 1.0, 1.0, 1.0).unwrap(), |g, p, _| {
        vec![g.sub(p[0], p[1])]
    });
    draft
}

#[test]
fn instances_over_different_parameters_agree_between_the_engines() {
    let template = chain(5).template();
    assert_eq!(template.groups.len(), 10);
    let mut random = Random(3);
    let targets: Vec<f64> = (0..15).map(|_| 3.0 * random.next()).collect();
    let batch = samples_batch(3, targets, 0);
    let (cpu, device) = (on_cpu(&template, &batch, &options()), on_device(&template, &batch, &options(), 40));
    assert!(cpu.termination.iter().all(|end| end.converged()));
    // A well-conditioned problem in f32.
    assert!(difference(&cpu.x, &device.x) < 1e-6, "{}", difference(&cpu.x, &device.x));
}

#[test]
fn every_size_of_kernel_is_valid_and_what_is_too_large_is_named() {
    let batch = Batch { count: 1, ..Batch::default() };
    for free in [1, 2, 5, 16] {
        let template = chain(free).template();
        let module = validated(&DeviceBatch::new(&template, &batch, &options(), None).unwrap().program.wgsl);
        assert_guard_reads_storage(&module);
    }
    for kind in LossKind::ALL {
        let template = peaks(LossParameters::new(kind.name(), 1.0, 1.0, 1.0).unwrap()).template();
        let module = validated(
            &DeviceBatch::new(&template, &samples_batch(1, vec![0.0; 25], 1), &options(), None).unwrap().program.wgsl,
        );
        assert_guard_reads_storage(&module);
    }
    let large = chain(17).template();
    let error = DeviceBatch::new(&large, &batch, &options(), None).map(|_| ()).unwrap_err();
    assert_eq!(error.code, ErrorCode::LimitExceeded);
    assert_eq!(error.message, "solveMany: a problem has 17 free coordinates; the GPU takes at most 16");
    assert!(on_cpu(&large, &batch, &options()).termination[0].converged(), "and the CPU takes it");

    let draft = chain(2);
    let error = SharedProblem::new(draft.model(), vec![0.0; 2], &[true; 2], None).unwrap_err();
    assert_eq!(error.code, ErrorCode::InvalidArgument);
}
