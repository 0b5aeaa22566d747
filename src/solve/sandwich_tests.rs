//! The sandwich estimate: its formula, and the spread of fits to made data.

use crate::eval::Functions;
use crate::eval::tests::{block_on, functions_with_losses, on_cpu};
use crate::gauss_newton::host::HostModel;
use crate::model::CompileInput;
use crate::model::losses::LossParameters;
use crate::model::tests::{Recorder, compiled};
use crate::solve::{CovarianceOptions, covariance};
use residua_base::error::ErrorCode;
use residua_ir::graph::Op;

const SAMPLES: usize = 100;

fn time(sample: usize) -> f64 {
    2.0 * sample as f64 / (SAMPLES - 1) as f64 - 1.0
}

/// a·t + b − y at the times, with any loss.
fn line() -> Functions {
    let mut r = Recorder::default();
    let (a, b, t, y) = (r.parameter(0), r.parameter(1), r.data(0), r.data(1));
    let product = r.apply(Op::Mul, &[a, t]);
    let sum = r.apply(Op::Add, &[product, b]);
    let residual = r.apply(Op::Sub, &[sum, y]);
    let mut input = CompileInput::problem();
    input.add_array("line", 2, 1, "euclidean").unwrap();
    let mut data: Vec<f64> = (0..SAMPLES).map(time).collect();
    data.extend([0.0; SAMPLES]);
    input.add_residuals("samples", vec![0], vec![0; SAMPLES], data, r.tape_with_data(vec![residual], 2, 2)).unwrap();
    on_cpu(compiled(input), &[0.0, 0.0])
}

fn robust(f: &mut Functions, robust: Option<bool>) -> Vec<f64> {
    robust_of(f, &mut HostModel::default(), robust)
}

fn robust_of(f: &mut Functions, model: &mut HostModel, robust: Option<bool>) -> Vec<f64> {
    let options = CovarianceOptions { absolute_sigma: false, robust };
    block_on(covariance(f, model, None, options)).unwrap()
}

/// ψ(r) = rρ′(r²), and its derivative.
fn influence(kind: &str, scale: f64, r: f64) -> (f64, f64) {
    let square = (r / scale).powi(2);
    match kind {
        "huber" if r.abs() <= scale => (r, 1.0),
        "huber" => (scale * r.signum(), 0.0),
        "cauchy" => (r / (1.0 + square), (1.0 - square) / (1.0 + square).powi(2)),
        _ => (r, 1.0),
    }
}

/// Normal numbers by the method of Box and Muller, over a congruential generator.
struct Normal(u64);

impl Normal {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    fn next(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

/// The inverse of a symmetric matrix [a b; b c], as [a b c].
fn inverse([a, b, c]: [f64; 3]) -> [f64; 3] {
    let determinant = a * c - b * b;
    [c / determinant, -b / determinant, a / determinant]
}

/// The minimum of Σ ρ for a line through samples by Newton's method, from the line that the samples were made of.
fn fit(kind: &str, scale: f64, y: &[f64]) -> [f64; 2] {
    let mut line = [0.0; 2];
    for _ in 0..100 {
        let (mut gradient, mut second) = ([0.0; 2], [0.0; 3]);
        for (sample, y) in y.iter().enumerate() {
            let t = time(sample);
            let (psi, slope) = influence(kind, scale, line[0] * t + line[1] - y);
            gradient[0] += psi * t;
            gradient[1] += psi;
            [t * t, t, 1.0].iter().zip(&mut second).for_each(|(term, sum)| *sum += slope * term);
        }
        let [a, b, c] = inverse(second);
        let step = [a * gradient[0] + b * gradient[1], b * gradient[0] + c * gradient[1]];
        line = [line[0] - step[0], line[1] - step[1]];
        if step[0].abs().max(step[1].abs()) < 1e-12 {
            return line;
        }
    }
    panic!("no minimum")
}

/// The variances of both parameters over fits to made data, the means of the sandwich estimates, and those of the estimates from J̃ᵀJ̃.
fn spread(kind: &str, scale: f64, outliers: f64) -> [[f64; 2]; 3] {
    const FITS: usize = 1_000;
    let mut random = Normal(20_260_101);
    let mut f = line();
    f.set_loss(0, LossParameters::new(kind, scale, 1.0, 1.0).unwrap()).unwrap();
    let mut model = HostModel::default();
    let mut sums = [[0.0; 2]; 3];
    for _ in 0..FITS {
        let mut noise = || random.next() * if random.uniform() < outliers { 10.0 } else { 1.0 };
        let y: Vec<f64> = (0..SAMPLES).map(|_| noise()).collect();
        let line = fit(kind, scale, &y);
        f.set_data(0, 1, &y).unwrap();
        f.set_values(line.to_vec()).unwrap();
        let estimates = [true, false].map(|sandwich| robust_of(&mut f, &mut model, Some(sandwich)));
        for k in 0..2 {
            // The expected line is 0.
            sums[0][k] += line[k] * line[k];
            sums[1][k] += estimates[0][3 * k];
            sums[2][k] += estimates[1][3 * k];
        }
    }
    sums.map(|sum| sum.map(|value| value / FITS as f64))
}

#[test]
fn sandwich_estimates_are_the_spread_of_fits() {
    // A variance from 1,000 fits has the relative standard error √(2/1000) = 0.045; three of them, and 0.02 for terms of the next order in
    // parameters over samples, 2/100.
    const TOLERANCE: f64 = 0.155;
    for (kind, scale, outliers) in
        [("cauchy", 1.0, 0.0), ("cauchy", 1.0, 0.1), ("huber", 1.0, 0.1), ("squared", 1.0, 0.0)]
    {
        let [spread, sandwich, inverse] = spread(kind, scale, outliers);
        for k in 0..2 {
            let (ratio, of_inverse) = (sandwich[k] / spread[k], inverse[k] / spread[k]);
            assert!((ratio - 1.0).abs() < TOLERANCE, "{kind}, {outliers} outliers: {ratio}");
            match (kind, outliers) {
                ("squared", _) => assert!((of_inverse - 1.0).abs() < TOLERANCE, "{of_inverse}"),
                ("cauchy", 0.0) => assert!(of_inverse < 1.0 - TOLERANCE, "both estimates fit: {of_inverse}"),
                _ => {}
            }
        }
    }
}

#[test]
fn the_sandwich_has_the_terms_of_its_formula() {
    let y: Vec<f64> = (0..SAMPLES).map(|k| (k as f64 * 0.7).sin() + if k % 9 == 0 { 5.0 } else { 0.0 }).collect();
    for (kind, weight) in [("cauchy", 1.0), ("huber", 3.0), ("squared", 0.5)] {
        let mut f = line();
        f.set_loss(0, LossParameters::new(kind, 0.8, 1.0, 1.0).unwrap()).unwrap();
        f.set_weight(0, weight).unwrap();
        f.set_data(0, 1, &y).unwrap();
        f.set_values(vec![0.1, 0.2]).unwrap();
        let (mut a, mut b) = ([0.0; 3], [0.0; 3]);
        for (sample, y) in y.iter().enumerate() {
            let t = time(sample);
            let (psi, slope) = influence(kind, 0.8, 0.1 * t + 0.2 - y);
            for (k, term) in [t * t, t, 1.0].into_iter().enumerate() {
                a[k] += weight * slope * term;
                b[k] += (weight * psi).powi(2) * term;
            }
        }
        let [p, q, r] = inverse(a);
        let left = [p * b[0] + q * b[1], p * b[1] + q * b[2], q * b[0] + r * b[1], q * b[1] + r * b[2]];
        let off = left[0] * q + left[1] * r;
        let expected = [left[0] * p + left[1] * q, off, off, left[2] * q + left[3] * r].map(|v| v * 100.0 / 98.0);
        let got = robust(&mut f, Some(true));
        for (got, &element) in got.iter().zip(&expected) {
            // Conjugate gradients end at 1e-11, in a problem of condition 3.
            assert!((got - element).abs() < 1e-9 * expected[0], "{kind}: {got} and {element}");
        }
        assert_eq!(robust(&mut f, None) == got, kind != "squared", "a robust loss is the default's reason");
    }
}

#[test]
fn many_parameters_have_the_sandwich_of_each() {
    // So many that the inverse is sparse. Three residuals x − y each.
    let count = 450u32;
    let mut r = Recorder::default();
    let y = |k: u32, j: u32| f64::from(k % 7 * j) * 0.3 - 0.2;
    let mut outputs = Vec::new();
    for k in 0..count {
        for j in 0..3 {
            let (x, target) = (r.parameter(k), r.constant(y(k, j)));
            outputs.push(r.apply(Op::Sub, &[x, target]));
        }
    }
    let mut f = functions_with_losses(r, outputs, &vec![0.5; count as usize]);
    f.set_loss(0, LossParameters::new("cauchy", 4.0, 1.0, 1.0).unwrap()).unwrap();
    let got = robust(&mut f, None);
    for k in 0..count {
        let terms = [0, 1, 2].map(|j| influence("cauchy", 4.0, 0.5 - y(k, j)));
        let (b, a) = terms.iter().fold((0.0, 0.0), |(b, a), (psi, slope)| (b + psi * psi, a + slope));
        let (expected, place) = (1.5 * b / (a * a), (k * count + k) as usize);
        assert!((got[place] - expected).abs() < 1e-9 * expected, "{k}: {} and {expected}", got[place]);
    }
}

#[test]
fn a_point_that_is_no_minimum_has_no_sandwich() {
    let mut f = line();
    f.set_loss(0, LossParameters::new("cauchy", 0.1, 1.0, 1.0).unwrap()).unwrap();
    f.set_values(vec![0.0, 50.0]).unwrap();
    let error =
        block_on(covariance(&mut f, &mut HostModel::default(), None, CovarianceOptions::default())).unwrap_err();
    assert_eq!(error.code, ErrorCode::InvalidArgument);
    assert!(error.message.contains("not positive definite"), "{}", error.message);
}
