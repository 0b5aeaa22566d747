//! Weights of instances: as copies of instances, as masks, and in what counts samples.

use crate::many::{Draft, Silent, block_on, numbers, on_cpu, on_device, on_device_in, options, samples_batch};
use residua::eval::cpu::CpuEngine;
use residua::eval::{Engine, Functions, Objective};
use residua::gauss_newton::host::HostModel;
use residua::model::losses::{LossKind, LossParameters};
use residua::solve::many::standard_errors::standard_errors;
use residua::solve::many::{Batch, SharedProblem, check_starts};
use residua::solve::{CovarianceOptions, Termination, covariance};
use residua_base::error::ErrorCode;
use residua_codegen::wgsl::PairForm;
use residua_ir::graph::Op;

const SCALED: CovarianceOptions = CovarianceOptions { absolute_sigma: false, robust: None };

/// a·exp(−bt) − y and b − 0.1·y, at times with samples and weights.
fn decays(loss: LossParameters, t: &[f64], y: &[f64], weights: Option<&[f64]>) -> Draft {
    let mut draft = Draft::default();
    draft.array(2, "euclidean", &[1.0, 1.0]);
    let columns = [Some(t), Some(y), weights].into_iter().flatten().collect::<Vec<_>>();
    draft.block(&[(0, &vec![0; t.len()])], &columns, loss, |g, p, data| {
        let product = g.mul(p[1], data[0]);
        let negative = g.apply(Op::Neg, &[product]);
        let decay = g.apply(Op::Exp, &[negative]);
        let model = g.mul(p[0], decay);
        let tenth = g.constant(0.1);
        let share = g.mul(tenth, data[1]);
        vec![g.sub(model, data[1]), g.sub(p[1], share)]
    });
    if weights.is_some() { draft.weighted() } else { draft }
}

fn functions(template: &SharedProblem) -> Functions {
    Functions::new(template.model.clone(), Engine::Cpu(CpuEngine::new()), template.values.clone()).unwrap()
}

const TIMES: [f64; 6] = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0];
const SAMPLES: [f64; 6] = [3.1, 2.0, 1.6, 1.0, 0.9, 0.3];
const WEIGHTS: [f64; 6] = [1.0, 3.0, 0.0, 2.0, 1.0, 2.0];

/// Each number as often as its weight says.
fn repeated(numbers: &[f64]) -> Vec<f64> {
    numbers.iter().zip(WEIGHTS).flat_map(|(&number, weight)| vec![number; weight as usize]).collect()
}

fn close(got: &[f64], expected: &[f64], tolerance: f64, about: &str) {
    assert_eq!(got.len(), expected.len());
    for (got, expected) in got.iter().zip(expected) {
        assert!((got - expected).abs() <= tolerance * expected.abs().max(1e-3), "{about}: {got} and {expected}");
    }
}

#[test]
fn a_weight_counts_an_instance_as_often_with_every_loss_on_both_engines() {
    for kind in LossKind::ALL {
        let loss = LossParameters::new(kind.name(), 0.4, 0.3, 1.5).unwrap();
        let mut samples = SAMPLES;
        // What has the weight 0 does not matter.
        samples[2] = f64::NAN;
        let weighted = decays(loss, &TIMES, &samples, Some(&WEIGHTS)).template();
        let copies = decays(loss, &repeated(&TIMES), &repeated(&SAMPLES), None).template();
        let [mut f, mut g] = [&weighted, &copies].map(functions);
        for objective in [Objective::Sum, Objective::LeastSquares] {
            let [got, expected] = [&mut f, &mut g].map(|f| block_on(f.evaluate_at(objective, &[2.0, 0.7])).unwrap());
            // Nine terms in another order.
            close(&[got.cost], &[expected.cost], 1e-14, kind.name());
            close(&got.gradient, &expected.gradient, 1e-13, kind.name());
        }
        let batch = Batch { count: 1, ..Batch::default() };
        let [got, expected] = [&weighted, &copies].map(|template| on_cpu(template, &batch, &options()));
        assert!(got.termination[0].converged(), "{}", kind.name());
        close(&got.cost, &expected.cost, 1e-12, kind.name());
        // A share of 1e-12 of the cost, or 1e-10 of the slope.
        close(&got.x, &expected.x, 1e-6, kind.name());
        let device = on_device(&weighted, &batch, &options(), 40);
        // Nine terms in f32.
        close(&device.cost, &expected.cost, 2e-5, kind.name());
        let pairs = on_device_in(&weighted, &batch, &options(), 40, Some(PairForm::default()));
        close(&pairs.cost, &expected.cost, 1e-11, kind.name());
    }
}

#[test]
fn an_instance_of_weight_0_is_no_residual_whatever_it_would_be() {
    let mut samples = SAMPLES;
    samples[2] = f64::INFINITY;
    let template = decays(LossParameters::squared(), &TIMES, &samples, Some(&WEIGHTS)).template();
    let mut f = functions(&template);
    assert_eq!(block_on(f.evaluate(None)).unwrap()[4..6], [0.0, 0.0]);
    let jacobian = block_on(f.evaluate_jacobian(None)).unwrap();
    let pattern = f.pattern().unwrap();
    let rows = pattern.row_offsets[4] as usize..pattern.row_offsets[6] as usize;
    assert!(jacobian.entries[rows].iter().all(|entry| *entry == 0.0));
    assert!(jacobian.entries.iter().all(|entry| entry.is_finite()));
    assert_eq!((f.sample_count(), f.sizes().map(|sizes| sizes.residuals)), (10, [12, 10]));
    f.set_data(0, 2, &[1.0, 0.0, 0.0, 0.0, 0.0, 1.0]).unwrap();
    assert_eq!((f.sample_count(), f.sizes()[1].residuals), (4, 4));
    f.set_weight(0, 0.0).unwrap();
    assert_eq!((f.sample_count(), f.sizes()[1].residuals), (0, 0));
}

/// m − y with a weight for each instance.
fn means(y: &[f64], weights: &[f64]) -> Draft {
    let mut draft = Draft::default();
    draft.array(1, "euclidean", &[0.0]);
    let squared = LossParameters::squared();
    draft.block(&[(0, &vec![0; y.len()])], &[y, weights], squared, |g, p, data| vec![g.sub(p[0], data[0])]);
    draft.weighted()
}

#[test]
fn the_standard_error_of_a_mean_does_not_count_what_is_masked() {
    let (y, weights) = ([1.0, f64::NAN, 2.0, 0.0, 4.0, 1e300], [1.0, 0.0, 1.0, 0.0, 1.0, 0.0]);
    let template = means(&y, &weights).template();
    let mut f = functions(&template);
    f.set_values(vec![7.0 / 3.0]).unwrap();
    let variance = block_on(covariance(&mut f, &mut HostModel::default(), None, SCALED)).unwrap();
    // s/√3 with s² = 7/3.
    close(&variance, &[7.0 / 9.0], 1e-14, "covariance");
    // The same, with weights that scale.
    f.set_data(0, 1, &weights.map(|weight| 3.0 * weight)).unwrap();
    let variance = block_on(covariance(&mut f, &mut HostModel::default(), None, SCALED)).unwrap();
    close(&variance, &[7.0 / 9.0], 1e-14, "covariance");
    let robust = CovarianceOptions { absolute_sigma: false, robust: Some(true) };
    let variance = block_on(covariance(&mut f, &mut HostModel::default(), None, robust)).unwrap();
    // m/(m − n)·Σr²/m²
    close(&variance, &[14.0 / 3.0 / 6.0], 1e-14, "sandwich");
}

#[test]
fn problems_of_differing_lengths_are_solved_as_if_each_were_alone() {
    // Four problems of 6, 3, 0 and 4 samples.
    let template = decays(LossParameters::squared(), &TIMES, &SAMPLES, Some(&WEIGHTS)).template();
    let lengths = [6, 3, 0, 4];
    let sample = |problem: usize, k: usize| SAMPLES[k] * (1.0 + 0.1 * problem as f64) + 0.02 * ((k * k) as f64).sin();
    let (mut y, mut weights) = (Vec::new(), Vec::new());
    for (problem, length) in lengths.into_iter().enumerate() {
        y.extend((0..6).map(|k| if k < length { sample(problem, k) } else { f64::NAN }));
        weights.extend((0..6).map(|k| f64::from(u8::from(k < length))));
    }
    let mut batch = samples_batch(4, y, 1);
    batch.data.extend(samples_batch(4, weights, 2).data);
    let together = on_cpu(&template, &batch, &options());
    let errors = block_on(standard_errors(template.clone(), &batch, &together.x, SCALED, &mut Silent)).unwrap();
    let device = on_device(&template, &batch, &options(), 40);
    for (problem, length) in lengths.into_iter().enumerate().filter(|(_, length)| *length > 0) {
        let y = (0..length).map(|k| sample(problem, k)).collect::<Vec<_>>();
        let alone = decays(LossParameters::squared(), &TIMES[..length], &y, None).template();
        let own = Batch { count: 1, ..Batch::default() };
        let found = on_cpu(&alone, &own, &options());
        assert_eq!(together.iterations[problem], found.iterations[0], "problem {problem}");
        assert_eq!(together.termination[problem], found.termination[0], "problem {problem}");
        // Terms of 0 change no sum; their number is that of rounding's terms, which is the same.
        assert_eq!(together.x[2 * problem..2 * problem + 2], found.x, "problem {problem}");
        assert_eq!(together.cost[problem], found.cost[0], "problem {problem}");
        let expected = block_on(standard_errors(alone.clone(), &own, &found.x, SCALED, &mut Silent)).unwrap();
        close(&errors[2 * problem..2 * problem + 2], &expected, 1e-12, "standard errors");
        let of_device = on_device(&alone, &own, &options(), 40);
        assert_eq!(device.x[2 * problem..2 * problem + 2], of_device.x, "problem {problem}");
        assert_eq!(device.iterations[problem], of_device.iterations[0], "problem {problem}");
    }
    assert_eq!((together.x[4..6].to_vec(), together.cost[2]), (vec![1.0, 1.0], 0.0), "without samples nothing moves");
    assert!(errors[4].is_nan() && errors[5].is_nan());
}

#[test]
fn samples_are_what_can_differ_from_0() {
    type Residuals = fn(&mut crate::recorder::Recorder, &[u32], &[u32]) -> Vec<u32>;
    // At x = 0, 0, 1, 2, y = 0, 1, 0, 2 and the mask 1, 0, 1, 1.
    let columns: [&[f64]; 3] = [&[0.0, 0.0, 1.0, 2.0], &[0.0, 1.0, 0.0, 2.0], &[1.0, 0.0, 1.0, 1.0]];
    let table: [(&str, Residuals, usize); 6] = [
        (
            "a line through the origin, which a sample at 0 fits",
            |g, p, d| {
                let line = g.mul(p[0], d[0]);
                vec![g.sub(line, d[1])]
            },
            4,
        ),
        (
            "a product with a mask",
            |g, p, d| {
                let difference = g.sub(p[0], d[1]);
                vec![g.mul(difference, d[2])]
            },
            3,
        ),
        (
            "a quotient of that, negated",
            |g, p, d| {
                let difference = g.sub(p[0], d[1]);
                let product = g.mul(d[2], difference);
                let quotient = g.div(product, p[1]);
                vec![g.apply(Op::Neg, &[quotient])]
            },
            3,
        ),
        (
            "a choice by a mask",
            |g, p, d| {
                let zero = g.constant(0.0);
                let difference = g.sub(p[0], d[1]);
                let product = g.mul(difference, zero);
                vec![g.apply(Op::Select, &[d[2], difference, product])]
            },
            3,
        ),
        (
            "rows of a matrix of an instance",
            |g, p, d| {
                let (first, second) = (g.sub(p[0], d[1]), g.sub(p[1], d[1]));
                let terms = [g.mul(first, d[0]), g.mul(second, d[1])];
                let sum = g.add(terms[0], terms[1]);
                vec![sum, g.mul(second, d[2])]
            },
            3 + 3,
        ),
        (
            "a product with a parameter",
            |g, p, d| {
                let difference = g.sub(p[0], d[1]);
                vec![g.mul(difference, p[1])]
            },
            4,
        ),
    ];
    for (about, residuals, expected) in table {
        let mut draft = Draft::default();
        draft.array(1, "euclidean", &[0.0, 0.0]);
        draft.block(&[(0, &[0; 4]), (0, &[1; 4])], &columns, LossParameters::squared(), residuals);
        assert_eq!(draft.model().sample_count(), expected, "{about}");
    }
}

#[test]
fn problems_that_cannot_start_for_what_they_share_are_refused_as_one_is() {
    // log y of a negative number of the template, and own starts.
    let mut draft = Draft::default();
    draft.array(1, "euclidean", &[0.0]);
    draft.block(&[(0, &[0, 0])], &[&[1.0, -1.0]], LossParameters::squared(), |g, p, data| {
        let logarithm = g.apply(Op::Log, &[data[0]]);
        vec![g.sub(p[0], logarithm)]
    });
    let template = draft.template();
    let started = |starts: Vec<f64>| {
        let count = starts.len() as u32;
        let batch = Batch { count, parameters: vec![(0, 1, numbers(starts))], data: Vec::new() };
        let solutions = on_cpu(&template, &batch, &options());
        assert!(solutions.termination.iter().all(|end| *end == Termination::NonFinite));
        block_on(check_starts(&template, &batch, &solutions))
    };
    let error = started(vec![f64::NAN, 2.0]).unwrap_err();
    assert_eq!(error.code, ErrorCode::NonFinite);
    let message = "solveMany: no problem can start: of problem 1, residual 1 (block 'block 0', instance 1, residual 0 of 1) is NaN at the start";
    assert_eq!(error.message, message);
    assert!(started(vec![f64::NAN, f64::INFINITY]).is_ok(), "each has its own fault");
}
