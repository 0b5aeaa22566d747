//! Losses against their closed forms, in f64 and in emulated f32.

use super::{LossKind, LossParameters, function};
use residua_codegen::Case;
use residua_ir::graph::{Node, Op, evaluate};

/// ρ and ρ′ as Ceres documents them, by functions of f64 that keep their digits at small arguments.
fn closed_form(kind: LossKind, s: f64, a: f64, b: f64) -> [f64; 2] {
    let y = s / (a * a);
    match kind {
        LossKind::Squared => [s, 1.0],
        LossKind::Huber if s <= a * a => [s, 1.0],
        LossKind::Huber => [2.0 * a * s.sqrt() - a * a, a / s.sqrt()],
        // √(1 + y) − 1 = eˡ − 1 with l = ½ log(1 + y)
        LossKind::SoftL1 => [2.0 * a * a * (0.5 * y.ln_1p()).exp_m1(), (1.0 + y).sqrt().recip()],
        LossKind::Cauchy => [a * a * y.ln_1p(), (1.0 + y).recip()],
        LossKind::Arctan => [a * s.atan2(a), (1.0 + (s / a).powi(2)).recip()],
        LossKind::Tukey if s > a * a => [a * a / 3.0, 0.0],
        // 1 − (1 − y)³ = −(e³ˡ − 1) with l = log(1 − y)
        LossKind::Tukey => [-a * a / 3.0 * (3.0 * (-y).ln_1p()).exp_m1(), (1.0 - y).powi(2)],
        LossKind::Tolerant => {
            let share = ((a / b).exp() + 1.0).recip();
            // Beyond u = 1 the first form, for eᵘ may overflow; below it the second, which does not cancel.
            let rho = if s / b > 1.0 {
                let softplus = |x: f64| x.max(0.0) + (-x.abs()).exp().ln_1p();
                b * (softplus((s - a) / b) - softplus(-a / b))
            } else {
                b * ((s / b).exp_m1() * share).ln_1p()
            };
            [rho, (1.0 + ((a - s) / b).exp()).recip()]
        }
    }
}

/// Evaluates with `round` after every number and operation.
fn results(case: &Case, inputs: [f64; 3], round: impl Fn(f64) -> f64) -> [f64; 2] {
    let mut values: Vec<f64> = Vec::new();
    for node in case.graph.graph().nodes() {
        let value = match node {
            Node::Literal(bits) => f64::from_bits(*bits),
            Node::Input(input) => inputs[input.0 as usize],
            Node::Result(..) => unreachable!("losses have no loops"),
            Node::Apply(op, operands) => evaluate(*op, &operands.map(|operand| values[operand.index()])[..op.arity()]),
        };
        values.push(round(value));
    }
    [0, 1].map(|result| values[case.results[result].index()])
}

const SCALES: [(f64, f64); 5] = [(1.0, 1.0), (0.125, 0.5), (8.0, 0.25), (3.7, 2.9), (0.0625, 4.0)];

/// Compares over s from 1e-12 to 1e6 and returns the largest errors: of ρ relative, of ρ′ absolute (it is 1 at most).
fn largest_errors(kind: LossKind, case: &Case, round: impl Fn(f64) -> f64 + Copy) -> [f64; 2] {
    let mut largest = [0.0f64; 2];
    for (a, b) in SCALES.map(|(a, b)| (round(a), round(b))) {
        for step in 0..=1_800 {
            let s = round(10f64.powf(-12.0 + f64::from(step) / 100.0));
            let expected = closed_form(kind, s, a, b);
            let found = results(case, [s, a, b], round);
            largest[0] = largest[0].max((found[0] - expected[0]).abs() / expected[0]);
            largest[1] = largest[1].max((found[1] - expected[1]).abs());
        }
    }
    largest
}

#[test]
fn losses_have_their_closed_forms_in_f64_and_keep_their_digits_in_f32() {
    let function = function();
    for kind in LossKind::ALL {
        let case = &function.cases[kind as usize];
        assert_eq!(case.name, kind.name());
        // In units of half an ulp: some ten roundings, the reference's own included; tolerant's exponentials multiply those of
        // their arguments by a/b, which is 32 at most here.
        let roundings = if kind == LossKind::Tolerant { 64.0 } else { 10.0 };
        let exact = largest_errors(kind, case, |value| value);
        let single = largest_errors(kind, case, |value| f64::from(value as f32));
        println!("{}: {exact:?} in f64, {single:?} in f32", kind.name());
        for (errors, half_ulp) in [(exact, f64::EPSILON / 2.0), (single, f64::from(f32::EPSILON) / 2.0)] {
            assert!(errors.iter().all(|error| *error <= roundings * half_ulp), "{}: {errors:?}", kind.name());
        }
    }
}

#[test]
fn the_derivative_is_that_of_the_loss() {
    let function = function();
    for kind in LossKind::ALL {
        let case = &function.cases[kind as usize];
        for (a, b) in SCALES {
            for step in 0..=60 {
                let s = 10f64.powf(-3.0 + f64::from(step) / 10.0);
                let h = 1e-4 * s;
                if (s - a * a).abs() < 3.0 * h {
                    continue; // Huber's and Tukey's bend.
                }
                let rho = |s: f64| results(case, [s, a, b], |value| value)[0];
                let expected = (8.0 * (rho(s + h) - rho(s - h)) - (rho(s + 2.0 * h) - rho(s - 2.0 * h))) / (12.0 * h);
                let found = results(case, [s, a, b], |value| value)[1];
                // Rounding of ρ/h is 1e-12·ρ/s ≤ 1e-12; the formula's own error is (h/s)⁴ = 1e-16, times (s/b)⁵ ≤ 1e10 where
                // tolerant bends.
                assert!((found - expected).abs() < 2e-6, "{} at s = {s}: {found}, {expected}", kind.name());
            }
        }
    }
}

#[test]
fn at_zero_losses_are_zero_with_unit_slope_and_a_nan_stays() {
    let function = function();
    for kind in LossKind::ALL {
        let case = &function.cases[kind as usize];
        for (a, b) in SCALES {
            let slope = if kind == LossKind::Tolerant { evaluate(Op::Sigmoid, &[-a / b]) } else { 1.0 };
            assert_eq!(results(case, [0.0, a, b], |value| value), [0.0, slope], "{} at 0", kind.name());
        }
        let [rho, slope] = results(case, [f64::NAN, 1.0, 1.0], |value| value);
        assert!(rho.is_nan(), "{} of NaN is {rho}", kind.name());
        assert!(slope.is_nan() || kind == LossKind::Squared, "{}′ of NaN is {slope}", kind.name());
    }
}

#[test]
fn the_factor_scales_loss_and_derivative() {
    let loss = LossParameters::new("tukey", 2.0, 0.0, 3.0).unwrap();
    // y = ¼: ρ = (4/3)(1 − (3/4)³) and ρ′ = (3/4)², all exact but the third.
    let (rho, slope) = super::evaluate(&loss, 1.0);
    assert!((rho - 4.0 * (1.0 - 0.421875)).abs() < 1e-15 * rho);
    assert_eq!(slope, 3.0 * 0.5625);
    assert_eq!(super::evaluate(&LossParameters::squared(), 7.0), (7.0, 1.0));
}
