//! Standard errors of many small problems: against SciPy, against the covariance of each problem, and where there are none.

use crate::many::{Draft, Silent, block_on, noisy_peaks, numbers, on_cpu, on_device, options, peaks, samples_batch};
use crate::recorder::Recorder;
use residua::eval::cpu::CpuEngine;
use residua::eval::{Engine, Functions};
use residua::gauss_newton::host::HostModel;
use residua::model::losses::LossParameters;
use residua::solve::many::standard_errors::{requested, standard_errors};
use residua::solve::many::{Batch, ManyListener, SharedProblem};
use residua::solve::{CovarianceOptions, covariance};
use residua_ir::graph::Op;

const SCALED: CovarianceOptions = CovarianceOptions { absolute_sigma: false, robust: None };
const ABSOLUTE: CovarianceOptions = CovarianceOptions { absolute_sigma: true, robust: None };

fn errors(template: &SharedProblem, batch: &Batch, x: &[f64], options: CovarianceOptions) -> Vec<f64> {
    block_on(standard_errors(template.clone(), batch, x, options, &mut Silent)).unwrap()
}

fn assert_close(got: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(got.len(), expected.len());
    for (got, expected) in got.iter().zip(expected) {
        assert!((got - expected).abs() <= tolerance * expected.abs(), "{got} and {expected}");
    }
}

/// a·exp(−bt) − y at nine times from 0 to 4.
fn decays() -> Draft {
    let mut draft = Draft::default();
    draft.array(2, "euclidean", &[1.0, 1.0]);
    let t: Vec<f64> = (0..9).map(|k| f64::from(k) / 2.0).collect();
    draft.block(&[(0, &[0; 9])], &[&t, &[0.0; 9]], LossParameters::squared(), |g, p, data| {
        let product = g.mul(p[1], data[0]);
        let negative = g.apply(Op::Neg, &[product]);
        let decay = g.apply(Op::Exp, &[negative]);
        let model = g.mul(p[0], decay);
        vec![g.sub(model, data[1])]
    });
    draft
}

#[test]
fn standard_errors_are_those_of_scipy() {
    let mut samples = vec![3.02, 2.11, 1.5, 1.04, 0.75, 0.51, 0.37, 0.26, 0.18];
    samples.extend([1.1, 1.3, 0.6, 0.5, 0.55, 0.1, 0.3, 0.0, 0.2]);
    let (template, batch) = (decays().template(), samples_batch(2, samples, 1));
    // numpy.sqrt(numpy.diag(pcov)) of scipy.optimize.curve_fit, SciPy 1.17.1, sigma 1, analytic jac, all tolerances 1e-15, with
    // absolute_sigma=False and True.
    let scaled = [0.007800980564, 0.003136766012, 0.164290121677, 0.128851619217];
    let absolute = [0.876343933726, 0.352376966387, 0.842775472119, 0.660983040918];
    let cpu = on_cpu(&template, &batch, &options());
    // A share of 1e-12 of the cost is √1e-12 standard errors of a parameter, and those are up to a seventh of the parameters.
    assert_close(&errors(&template, &batch, &cpu.x, SCALED), &scaled, 1e-6);
    assert_close(&errors(&template, &batch, &cpu.x, ABSOLUTE), &absolute, 1e-6);
    let device = on_device(&template, &batch, &options(), 40);
    // f32 cannot tell a share of 1e-7 of the cost.
    assert_close(&errors(&template, &batch, &device.x, SCALED), &scaled, 1e-3);
}

#[test]
fn standard_errors_are_those_of_each_problems_covariance() {
    let (_, samples) = noisy_peaks(70, 0.05);
    for kind in ["squared", "cauchy"] {
        let template = peaks(LossParameters::new(kind, 0.2, 0.3, 2.0).unwrap()).template();
        let batch = samples_batch(70, samples.clone(), 1);
        let x = on_cpu(&template, &batch, &options()).x;
        let got = errors(&template, &batch, &x, SCALED);
        let engine = Engine::Cpu(CpuEngine::new());
        let mut functions = Functions::new(template.model.clone(), engine, template.values.clone()).unwrap();
        // The last of the first range that is read at once, and the first of the next.
        for problem in [0, 63, 64, 69] {
            functions.set_data(0, 1, &samples[25 * problem..25 * (problem + 1)]).unwrap();
            functions.set_values(x[5 * problem..5 * (problem + 1)].to_vec()).unwrap();
            let matrix = block_on(covariance(&mut functions, &mut HostModel::default(), None, SCALED)).unwrap();
            let expected: Vec<f64> = (0..5).map(|k| matrix[6 * k].sqrt()).collect();
            assert_eq!(got[5 * problem..5 * (problem + 1)], expected, "{kind}, problem {problem}");
        }
    }
}

/// y = a + b·t over own times, and an angle that nothing moves.
fn lines() -> Draft {
    let mut draft = Draft::default();
    draft.array(1, "euclidean", &[0.0, 0.0]);
    draft.array(1, "angle", &[0.5]);
    let columns: [&[f64]; 2] = [&[0.0, 1.0, 2.0, 3.0], &[1.0, 3.1, 4.9, 7.0]];
    let residual = |g: &mut Recorder, p: &[u32], data: &[u32]| {
        let product = g.mul(p[1], data[0]);
        let line = g.add(p[0], product);
        vec![g.sub(line, data[1])]
    };
    draft.block(&[(0, &[0; 4]), (0, &[1; 4])], &columns, LossParameters::squared(), residual);
    draft
}

#[test]
fn a_problem_without_a_covariance_has_nan_and_constants_have_zero() {
    let template = SharedProblem::new(lines().model(), vec![0.0; 3], &[false, false, true], None).unwrap();
    // Good, singular (all at one time), not finite; over time stamps of seconds, where normal equations have no digits left.
    let seconds = 1.7e9;
    let mut times = vec![0.0, 1.0, 2.0, 3.0, 2.0, 2.0, 2.0, 2.0, 0.0, f64::NAN, 2.0, 3.0];
    times.extend([0.0, 1.0, 2.0, 3.0].map(|t| seconds + t));
    let batch = samples_batch(4, times, 0);
    let x = [1.03, 1.98, 0.5, 1.0, 1.0, 0.5, 1.0, 1.0, 0.5, 1.03 - 1.98 * seconds, 1.98, 0.5];
    let got = errors(&template, &batch, &x, ABSOLUTE);
    // Σ(t − 1.5)² = 5.
    assert_close(&[got[1], got[10]], &[0.2f64.sqrt(); 2], 1e-6);
    assert_eq!([got[2], got[5], got[8], got[11]], [0.0; 4]);
    assert!(got[3..5].iter().chain(&got[6..8]).all(|error| error.is_nan()), "{got:?}");
}

/// Stops at once.
struct Aborting;

impl ManyListener for Aborting {
    fn progress(&mut self, _: u32) {}
    fn aborted(&mut self) -> bool {
        true
    }
}

#[test]
fn an_abort_leaves_standard_errors_nan() {
    let template = decays().template();
    let batch = Batch { count: 2, parameters: vec![(0, 2, numbers(vec![1.0; 4]))], data: Vec::new() };
    let got = block_on(standard_errors(template, &batch, &[1.0; 4], SCALED, &mut Aborting)).unwrap();
    assert!(got.len() == 4 && got.iter().all(|error| error.is_nan()));
}

#[test]
fn the_public_options_say_which_estimate_is_taken() {
    let of = |given: &'static [(&str, f64)]| {
        requested(&move |name| given.iter().find(|(known, _)| *known == name).map(|(_, value)| *value))
    };
    assert_eq!(of(&[("standardErrors", 0.0), ("absoluteSigma", 1.0)]), None);
    assert_eq!(of(&[("standardErrors", 1.0), ("absoluteSigma", 0.0), ("robust", -1.0)]), Some(SCALED));
    assert_eq!(of(&[("standardErrors", 1.0), ("absoluteSigma", 1.0), ("robust", -1.0)]), Some(ABSOLUTE));
    let robust = |robust| Some(CovarianceOptions { absolute_sigma: false, robust: Some(robust) });
    assert_eq!(of(&[("standardErrors", 1.0), ("robust", 1.0)]), robust(true));
    assert_eq!(of(&[("standardErrors", 1.0), ("robust", 0.0)]), robust(false));
}
