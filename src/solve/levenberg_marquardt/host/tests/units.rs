//! No decision depends on the unit of the residuals or of a parameter.

use super::dual::{Dual, linearised};
use super::*;
use crate::solve::options::TrustRegion;

/// A problem in other units: residuals and each parameter are numbers of units that are so many times smaller.
struct Case {
    name: &'static str,
    residuals: fn(&[Dual]) -> Vec<Dual>,
    start: &'static [f64],
}

/// b₀ (1 − exp(−b₁t)) − y, of Misra1a's kind.
fn rise(b: &[Dual]) -> Vec<Dual> {
    let sample = |k: i32| {
        let t = 80.0 * f64::from(k);
        let y = 240.0 * (1.0 - (-5e-4 * t).exp()) + 0.1 * (3.0 * t).sin();
        b[0].clone() * (1.0 - (-(b[1].clone() * t)).exp()) - y
    };
    (1..12).map(sample).collect()
}

fn valley(x: &[Dual]) -> Vec<Dual> {
    vec![(x[1].clone() - x[0].powi(2)) * 10.0, 1.0 - x[0].clone()]
}

/// Two heights and rates, of which the data determine little.
fn decays(b: &[Dual]) -> Vec<Dual> {
    let sample = |k: i32| {
        let t = 0.05 * f64::from(k);
        let y = 0.5 * (-t).exp() + 1.5 * (-3.0 * t).exp() + 1e-3 * (9.0 * t).sin();
        let decay = |height: usize| b[height].clone() * (-(b[height + 1].clone() * t)).exp();
        decay(0) + decay(2) - y
    };
    (0..24).map(sample).collect()
}

const CASES: [Case; 3] = [
    Case { name: "rise", residuals: rise, start: &[500.0, 1e-4] },
    Case { name: "valley", residuals: valley, start: &[-1.2, 1.0] },
    Case { name: "decays", residuals: decays, start: &[1.0, 0.3, 1.0, 5.0] },
];

/// How steps are made: with dense QR or conjugate gradients, and bounded how.
const WAYS: [(Option<usize>, TrustRegion); 3] =
    [(None, TrustRegion::LevenbergMarquardt), (Some(2), TrustRegion::LevenbergMarquardt), (None, TrustRegion::Dogleg)];

/// The run of a case whose residuals are multiplied by `of_residuals`, and whose parameters are.
fn run_in_units(case: &Case, of_residuals: f64, of_parameters: &[f64], way: (Option<usize>, TrustRegion)) -> Run {
    let residuals = |x: &[f64]| {
        linearised(x, |x| {
            let x: Vec<Dual> = x.iter().zip(of_parameters).map(|(x, unit)| x.clone() * (1.0 / unit)).collect();
            (case.residuals)(&x).into_iter().map(|residual| residual * of_residuals).collect()
        })
    };
    let start: Vec<f64> = case.start.iter().zip(of_parameters).map(|(x, unit)| x * unit).collect();
    let (pcg_blocks, trust_region) = way;
    let mut fake = Fake { pcg_blocks, ..Fake::new(&residuals, &start) };
    fake.options.trust_region = trust_region;
    run(&fake)
}

/// What a run decided.
fn decisions(run: &Run) -> (bool, Vec<(bool, Option<u32>)>) {
    let of = |iteration: &IterationSummary| (iteration.accepted, iteration.linear_iterations);
    (run.summary.success(), run.summary.history.iter().map(of).collect())
}

/// Units of the residuals and of one parameter after the other.
fn units(parameters: usize, factors: [f64; 2]) -> Vec<(f64, Vec<f64>)> {
    let mut units = Vec::new();
    for factor in factors {
        units.push((factor, vec![1.0; parameters]));
        for k in 0..parameters {
            let mut one = vec![1.0; parameters];
            one[k] = factor;
            units.push((1.0, one));
        }
    }
    units
}

#[test]
fn units_of_nine_powers_of_ten_change_no_decision() {
    for case in &CASES {
        for way in WAYS {
            // Its last residuals are 0 or not by a rounding error, which decides whether a step follows.
            if case.name == "valley" && way.1 == TrustRegion::Dogleg {
                continue;
            }
            let usual = run_in_units(case, 1.0, &vec![1.0; case.start.len()], way);
            assert!(usual.summary.success(), "{}: {}", case.name, usual.summary.message());
            for (of_residuals, of_parameters) in units(case.start.len(), [1e9, 1e-9]) {
                let other = run_in_units(case, of_residuals, &of_parameters, way);
                let about = format!("{}, {way:?}: {of_residuals:e} {of_parameters:?}", case.name);
                assert_eq!(decisions(&other), decisions(&usual), "{about}: {}", other.summary.message());
            }
        }
    }
}

#[test]
fn units_of_powers_of_two_change_no_bit() {
    for case in &CASES {
        for way in WAYS {
            let usual = run_in_units(case, 1.0, &vec![1.0; case.start.len()], way);
            for (of_residuals, of_parameters) in units(case.start.len(), [2.0_f64.powi(30), 2.0_f64.powi(-30)]) {
                let other = run_in_units(case, of_residuals, &of_parameters, way);
                let about = format!("{}, {way:?}: {of_residuals:e} {of_parameters:?}", case.name);
                assert_eq!(decisions(&other), decisions(&usual), "{about}");
                let point: Vec<f64> = other.point.iter().zip(&of_parameters).map(|(x, unit)| x / unit).collect();
                assert_eq!(point, usual.point, "{about}");
                let cost = of_residuals * of_residuals;
                for (a, b) in other.summary.history.iter().zip(&usual.summary.history) {
                    assert_eq!((a.cost, a.damping), (cost * b.cost, b.damping), "{about}");
                }
            }
        }
    }
}

#[test]
fn a_decay_in_nanoamperes_moves_and_is_fitted() {
    let current = |b: &[Dual]| {
        let sample = |k: i32| {
            let t = 0.1 * f64::from(k);
            b[0].clone() * (-(b[1].clone() * t)).exp() - 3e-9 * (-1.7 * t).exp()
        };
        (0..40).map(sample).collect()
    };
    let run = run(&Fake::new(&|x: &[f64]| linearised(x, current), &[1e-9, 1.0]));
    assert!(run.summary.success(), "{}", run.summary.message());
    // Residuals of zero: convergence is quadratic, and parameterTolerance 1e-8.
    assert!((run.point[0] / 3e-9 - 1.0).abs() < 1e-8 && (run.point[1] / 1.7 - 1.0).abs() < 1e-8, "{:?}", run.point);
}

#[test]
fn a_cost_that_underflows_is_named_where_a_run_has_converged() {
    for (unit, start, underflows) in
        [(1e-170, 3.0, true), (1e-156, 3.0, false), (1e-100, 3.0, false), (1e-170, 1.0, false)]
    {
        let residuals = |x: &[f64]| linearised(x, |x| vec![(x[0].clone() - 1.0) * unit]);
        let summary = run(&Fake::new(&residuals, &[start])).summary;
        assert!(summary.success(), "{}", summary.message());
        assert_eq!(summary.message().contains("The cost underflows"), underflows, "{unit}: {}", summary.message());
    }
}

#[test]
fn a_step_to_where_squares_of_derivatives_overflow_is_shortened() {
    // The first step, as long as the point, leads to where the derivative is 1e160.
    let residuals = |x: &[f64]| {
        let slope = if (1.85..2.15).contains(&x[0]) { 1e160 } else { 1.0 };
        (vec![x[0] - 20.0], vec![vec![slope]])
    };
    let Run { summary, point, .. } = run(&Fake::new(&residuals, &[1.0]));
    // parameterTolerance 1e-8 of 20.
    assert!(summary.success() && (point[0] - 20.0).abs() < 2e-7, "{point:?} {}", summary.message());
    assert!(summary.history.iter().any(|iteration| !iteration.accepted), "the first step is rejected");
}

#[test]
fn a_size_of_the_point_beyond_the_range_shows_no_convergence() {
    // (1e150 · 1e6)² is beyond f64. The first of the steps leaves 1e-4 of the distance, the damping.
    let residuals = |x: &[f64]| linearised(x, |x| vec![(x[0].clone() - 1e6) * 1e150]);
    let Run { summary, point, .. } = run(&Fake::new(&residuals, &[1.001e6]));
    assert!(summary.success(), "{}", summary.message());
    // Rounding of 1e6.
    assert!((point[0] - 1e6).abs() < 1e-9, "{point:?} {}", summary.message());
}
