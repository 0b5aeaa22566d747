//! Runs that rounding limits: f32, costs with noise, and steps below the spacing of numbers.

use super::*;

/// Options without a tolerance.
fn exhausting(max_iterations: u32) -> LbfgsOptions {
    until_gradient(0.0, max_iterations)
}

/// Rosenbrock's function computed in f32, plus a constant that reduces its digits.
fn rosenbrock_f32(offset: f32) -> impl Fn(&[f64], &mut [f64]) -> f64 {
    move |x, gradient| {
        gradient.fill(0.0);
        let mut cost = offset;
        for i in 0..x.len() - 1 {
            let (u, v) = (x[i] as f32, x[i + 1] as f32);
            assert!(f64::from(u) == x[i] && f64::from(v) == x[i + 1], "a point that is no f32");
            let (a, b) = (v - u * u, 1.0 - u);
            cost += 100.0 * a * a + b * b;
            gradient[i] += f64::from(-400.0 * a * u - 2.0 * b);
            gradient[i + 1] += f64::from(200.0 * a);
        }
        f64::from(cost)
    }
}

#[test]
fn without_tolerances_a_run_in_f32_ends_at_the_precision_limit_near_the_minimum() {
    for n in [2, 10, 50] {
        for offset in [0.0, 1.0, 1000.0] {
            let start: Vec<f64> = (0..n).map(|i| if i % 2 == 0 { -0.2 } else { 0.3 }).collect();
            let objective = rosenbrock_f32(offset);
            let Run { summary, solution, .. } = minimise(&objective, &start, &exhausting(3000), Arithmetic::F32);
            let fine = summary.termination == Termination::PrecisionLimit
                || summary.termination == Termination::GradientTolerance;
            assert!(fine, "{n} {offset}: {} {}", summary.termination.as_str(), summary.message());
            // The constant does not affect slopes, on which the approximate Wolfe conditions depend: a gradient of about a hundred
            // rounding errors of terms up to 400, divided by a least curvature of 0.4.
            let off = distance(&solution, &vec![1.0; n]);
            assert!(off < 2e-2, "{n} {offset}: {off}");
            assert!(summary.final_cost <= summary.initial_cost);
        }
    }
}

#[test]
fn noise_of_a_hundred_roundings_ends_at_the_precision_limit() {
    for seed in 0..40_u64 {
        let state = std::cell::Cell::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        // A fixed congruential sequence (Knuth's MMIX constants), uniform in ±1.
        let random = || {
            state.set(state.get().wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407));
            (state.get() >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
        };
        let noisy = |x: &[f64], gradient: &mut [f64]| {
            let cost = rosenbrock(x, gradient) + 10.0;
            let scale = 100.0 * Arithmetic::F32.epsilon();
            gradient.iter_mut().for_each(|g| *g += scale * random());
            cost * (1.0 + scale * random())
        };
        let Run { summary, .. } = minimise(&noisy, &[-1.2, 1.0], &exhausting(500), Arithmetic::F32);
        assert_eq!(summary.termination, Termination::PrecisionLimit, "{seed}: {}", summary.message());
        // The noise of the cost is 1.2e-4; along the valley the cost falls by 4 in all.
        assert!(summary.final_cost < 10.0 + 1e-2, "{seed}: {}", summary.final_cost);
    }
}

#[test]
fn the_default_tolerances_converge_in_single_precision() {
    let options = LbfgsOptions::defaults();
    for offset in [0.0, 1000.0] {
        let Run { summary, .. } = minimise(&rosenbrock_f32(offset), &[-1.25, 1.0], &options, Arithmetic::F32);
        assert!(summary.success(), "{offset}: {}", summary.message());
    }
}

#[test]
fn without_tolerances_a_run_in_f64_ends_at_the_precision_limit() {
    for case in small_cases() {
        let Run { summary, solution, .. } =
            minimise(&case.objective, &case.start, &exhausting(10_000), Arithmetic::F64);
        let fine =
            summary.termination == Termination::PrecisionLimit || summary.termination == Termination::GradientTolerance;
        assert!(fine, "{}: {} {}", case.name, summary.termination.as_str(), summary.message());
        assert!(distance(&solution, &case.minimum) <= case.nearness, "{}", case.name);
    }
}

#[test]
fn the_final_cost_is_the_lowest_of_the_history_unless_the_gradient_decided() {
    let mut compared = 0;
    for n in [2, 10, 50] {
        let start = vec![0.25; n];
        let Run { summary, solution, .. } =
            minimise(&rosenbrock_f32(1000.0), &start, &exhausting(3000), Arithmetic::F32);
        let lowest = summary.history.iter().map(|iteration| iteration.cost).fold(f64::INFINITY, f64::min);
        if summary.termination != Termination::GradientTolerance {
            assert_eq!(summary.final_cost, lowest);
            compared += 1;
        }
        assert_eq!(rosenbrock_f32(1000.0)(&solution, &mut vec![0.0; n]), summary.final_cost);
    }
    assert!(compared > 0, "every run ended at a gradient of 0");
}

#[test]
fn a_first_step_below_the_spacing_of_f32_is_lengthened_until_it_moves() {
    // The spacing of f32 at 1e9 is 64, so that a first step of length 1 does not move the point.
    let far = |x: &[f64], gradient: &mut [f64]| {
        gradient[0] = 1e-3 * (x[0] - 1.1e9);
        0.5e-3 * (x[0] - 1.1e9).powi(2)
    };
    let Run { summary, solution, .. } = minimise(&far, &[1e9], &exhausting(100), Arithmetic::F32);
    assert!(summary.iterations > 0, "{}", summary.message());
    assert!((solution[0] - 1.1e9).abs() <= 128.0, "{solution:?} {}", summary.message());
}

#[test]
fn a_constant_that_is_added_to_the_cost_makes_no_success_of_a_point_that_is_no_minimum() {
    let mut met = 0;
    // At the saddle of Wood's function, where the least eigenvalue is -0.02 and the largest 2,000, a run ends with any constant.
    for case in small_cases().filter(|case| case.name != "Wood") {
        for (constant, arithmetic) in [
            (0.0, Arithmetic::F64),
            (1e3, Arithmetic::F64),
            (-1e6, Arithmetic::F64),
            (1e9, Arithmetic::F64),
            (1e12, Arithmetic::F64),
            (1e15, Arithmetic::F64),
            (1e9, Arithmetic::F32),
        ] {
            let raised = |x: &[f64], gradient: &mut [f64]| {
                let cost = (case.objective)(x, gradient) + constant;
                if arithmetic == Arithmetic::F32 { f64::from(cost as f32) } else { cost }
            };
            let mut options = LbfgsOptions::defaults();
            options.solve.max_iterations = case.max_iterations;
            let Run { summary, solution, .. } = minimise(&raised, &case.start, &options, arithmetic);
            let mut gradient = vec![0.0; case.start.len()];
            let start = (case.objective)(&case.start, &mut gradient);
            let left = (case.objective)(&solution, &mut gradient) - (case.objective)(&case.minimum, &mut gradient);
            // The model of ten pairs may promise a tenth of what is left; in f32 points have seven digits.
            let tolerance = if arithmetic == Arithmetic::F32 { 1e-5 } else { 1e-7 };
            assert!(
                !summary.success() || left <= tolerance * start,
                "{} {constant} {arithmetic:?}: {left} {}",
                case.name,
                summary.message()
            );
            met += u32::from(summary.success());
        }
    }
    assert!(met >= 22, "{met} of 28 runs met their minimum");
}

#[test]
fn a_cost_that_falls_without_a_bound_has_no_minimum_where_a_constant_hides_the_fall() {
    for arithmetic in [Arithmetic::F64, Arithmetic::F32] {
        let logarithm = |x: &[f64], gradient: &mut [f64]| {
            gradient[0] = -1.0 / x[0];
            let cost = 1e9 - x[0].ln();
            if arithmetic == Arithmetic::F32 { f64::from(cost as f32) } else { cost }
        };
        let Run { summary, .. } = minimise(&logarithm, &[1.0], &LbfgsOptions::defaults(), arithmetic);
        assert!(!summary.success(), "{arithmetic:?}: {}", summary.message());
    }
}
