//! The rules, a table of cases each.

use super::*;
#[cfg(not(target_arch = "wasm32"))]
use residua_codegen::wgsl::{NoParameters, ProgramText, Template};

const NAN: f64 = f64::NAN;
const INF: f64 = f64::INFINITY;
const EPSILON: f64 = f64::EPSILON;

fn same(a: f64, b: f64) -> bool {
    a == b || (a.is_nan() && b.is_nan())
}

/// A full Gauss-Newton step, which is its own extension, of a point with a small gradient.
const TRIAL: TrialStep =
    TrialStep { change: 1.0, predicted: 1.0, descent: 2.0, step: 1.0, size: 1.0, is_complete: true };
const POINT: PointBefore = PointBefore { cost: 1e3, noise: 0.0, cosine: 1e-4, floor: NO_FLOOR };

/// A full Gauss-Newton step that promises so much.
fn promising(predicted: f64) -> TrialStep {
    TrialStep { predicted, descent: 2.0 * predicted, ..TRIAL }
}

#[test]
fn a_step_is_accepted_if_its_gain_ratio_is_large_enough() {
    let rules = Rules::new();
    let table = [
        (1.0, 1.0, 1.0, true),
        (2e-3, 1.0, 2e-3, true),
        (1e-3, 1.0, 1e-3, false),
        (0.0, 1.0, 0.0, false),
        (-1.0, 1.0, -1.0, false),
        (-1.0, -1.0, 1.0, false),
        (1.0, 0.0, INF, false),
        (0.0, 0.0, NAN, false),
        (NAN, 1.0, NAN, false),
        (1.0, NAN, NAN, false),
        (-INF, 1.0, -INF, false),
        (INF, 1.0, INF, false),
        (1e-300, 1e-300, 1.0, true),
    ];
    let noise = rules.noise(1.0, 1.0, 1.0, 0.0);
    for (change, predicted, ratio, accepted) in table {
        let trial = TrialStep { change, step: 0.0, ..promising(predicted) };
        let gain = rules.gain(&PointBefore { noise, ..POINT }, &trial, 0.0);
        assert!(same(gain.ratio, ratio), "{change} of {predicted}: {}", gain.ratio);
        assert_eq!((gain.accepted, gain.hidden, gain.end), (accepted, false, None), "{change} of {predicted}");
    }
}

#[test]
fn where_rounding_hides_the_cost_steps_are_accepted_while_their_predicted_reductions_halve() {
    let rules = Rules::new();
    let usual = |predicted: f64| TrialStep { change: -1.0, size: 10.0, ..promising(predicted) };
    let point = |floor: f64| PointBefore { noise: 2.0, floor, ..POINT };
    // trial, floor → accepted, hidden, floor
    let table = [
        (usual(10.0), NO_FLOOR, false, false, NO_FLOOR),
        (TrialStep { change: 5.0, ..usual(10.0) }, 4.0, true, false, 4.0),
        (usual(2.0), NO_FLOOR, true, true, 2.0),
        (TrialStep { change: -2.0, ..usual(1.0) }, 2.0, true, true, 1.0),
        (usual(1.1), 2.0, false, false, 2.0),
        (TrialStep { change: -2.1, ..usual(1.0) }, 2.0, false, false, 2.0),
        (TrialStep { step: 0.0, ..usual(1.0) }, 2.0, false, false, 2.0),
        (usual(-1.0), 2.0, false, false, 2.0),
        (TrialStep { change: 0.0, ..usual(0.0) }, 2.0, false, false, 2.0),
        (usual(-10.0), 2.0, false, false, 2.0),
        (TrialStep { change: NAN, ..usual(10.0) }, 2.0, false, false, 2.0),
    ];
    for (trial, floor, accepted, hidden, next) in table {
        let gain = rules.gain(&point(floor), &trial, EPSILON);
        assert_eq!((gain.accepted, gain.hidden, gain.floor), (accepted, hidden, next), "{trial:?}");
    }
}

#[test]
fn a_rejected_step_ends_a_run_where_nothing_more_can_be_accepted_and_says_why() {
    let rules = Rules::new();
    let some = Some;
    let (converged, limit) = (some(Termination::CostTolerance), some(Termination::PrecisionLimit));
    let (collapsed, lost) = (some(Termination::TrustRegionCollapsed), some(Termination::NonFinite));
    // A step that rounding hides, and that does not halve the floor.
    let hidden = TrialStep { change: -1.0, size: 10.0, ..promising(2.0) };
    let seen = TrialStep { change: -20.0, size: 10.0, ..promising(10.0) };
    let damped = TrialStep { descent: 2.0 + 1e-3, ..hidden };
    let at = |cosine: f64| PointBefore { noise: 2.0, floor: 2.0, cosine, ..POINT };
    let table = [
        ("no progress is visible and the gradient is small", at(1e-6), hidden, converged),
        ("the damping hides what the extended step promises", at(1e-6), damped, limit),
        ("the residuals are rounding errors", PointBefore { cost: 2.0, ..at(1.0) }, hidden, converged),
        // Noise of 2 in a cost of 1e4 leaves a cosine of 2e-4.
        ("the gradient is its rounding", PointBefore { cost: 1e4, ..at(2e-4) }, hidden, converged),
        ("the gradient is not that small", PointBefore { cost: 1e4, ..at(2.1e-4) }, hidden, limit),
        ("rounding leaves too few digits", at(2e-6), hidden, limit),
        // The square of the cosine is the share of the cost that one coordinate promises.
        ("the gradient promises more than noise", at(4.5e-2), hidden, collapsed),
        ("the gradient promises no more than noise", at(4.4e-2), hidden, limit),
        ("the gradient is large", PointBefore { cost: 1e6, ..at(1.1e-2) }, hidden, collapsed),
        ("the gradient is not that large", PointBefore { cost: 1e6, ..at(1e-2) }, hidden, limit),
        ("a longer step may follow", at(1e-6), seen, None),
        ("the step is too short to move anything", at(1e-4), TrialStep { step: 10.0 * EPSILON, ..seen }, collapsed),
        ("a shorter step may follow", at(1e-4), TrialStep { step: 11.0 * EPSILON, ..seen }, None),
        ("NaN on the way", at(1e-4), TrialStep { change: NAN, ..seen }, None),
        ("nothing but NaN", at(1e-4), TrialStep { change: NAN, step: 0.0, ..seen }, lost),
        ("an infinite cost", at(1e-4), TrialStep { change: -INF, ..hidden }, lost),
        ("no step", at(1e-4), TrialStep { predicted: NAN, change: NAN, step: NAN, ..hidden }, None),
    ];
    for (case, point, trial, end) in table {
        let gain = rules.gain(&point, &trial, EPSILON);
        assert_eq!((gain.accepted, gain.end), (false, end), "{case}");
        assert_eq!(rules.gain(&PointBefore { noise: -1.0, ..point }, &trial, 0.0).end, None, "{case}: no ε, no end");
    }
}

#[test]
fn noise_is_the_rounding_of_residuals_and_of_the_cost_itself() {
    let rules = Rules::new();
    // cost, Σ Dx², residuals → noise/ε
    for (cost, scaled_size, residuals, expected) in [(8.0, 36.0, 4.0, 48.0), (8.0, 0.0, 4.0, 8.0), (0.0, 9.0, 1.0, 0.0)]
    {
        assert_eq!(rules.noise(cost, scaled_size, residuals, EPSILON), expected * EPSILON);
    }
    assert_eq!(rules.noise(8.0, 36.0, 4.0, 0.0), -1.0, "without ε nothing is hidden");
}

#[test]
fn the_cosine_is_the_scaled_gradient_over_the_length_of_the_residuals() {
    let rules = Rules::new();
    for (scaled_gradient, cost, expected) in [(1.0, 8.0, 0.25), (0.0, 8.0, 0.0), (0.0, 0.0, 0.0), (1.0, INF, 0.0)] {
        assert_eq!(rules.cosine(scaled_gradient, cost), expected);
    }
    assert!(rules.cosine(NAN, 1.0).is_nan() && rules.cosine(1.0, NAN).is_nan());
}

#[test]
fn damping_falls_smoothly_after_steps_and_grows_ever_faster_without() {
    let rules = Rules::new();
    let collapsed = Some(Termination::TrustRegionCollapsed);
    // λ, ν, ϱ, accepted → λ, ν, end
    let table = [
        (3.0, 8.0, 1.0, true, 1.0, 2.0, None),
        (3.0, 8.0, 0.5, true, 3.0, 2.0, None),
        (3.0, 2.0, 100.0, true, 1.0, 2.0, None),
        (3.0, 2.0, INF, true, 1.0, 2.0, None),
        (2.0, 2.0, 0.0, true, 4.0, 2.0, None),
        (3.0, 2.0, -5.0, false, 6.0, 4.0, None),
        (3.0, 4.0, NAN, false, 12.0, 8.0, None),
        (0.0, 2.0, NAN, false, MIN_DAMPING, 4.0, None),
        (MIN_DAMPING, 2.0, 1.0, true, MIN_DAMPING, 2.0, None),
        (6e31, 2.0, -1.0, false, 1.2e32, 4.0, collapsed),
        (1e30, 2.0, -1.0, false, 2e30, 4.0, None),
    ];
    for (lambda, growth, ratio, accepted, next, next_growth, end) in table {
        let gain = Gain { ratio, accepted, hidden: false, floor: NO_FLOOR, end: None };
        let (damping, found) = rules.damping(Damping { lambda, growth }, gain);
        // A product of a few rounded factors.
        assert!((damping.lambda - next).abs() <= 4.0 * EPSILON * next, "{lambda}, {ratio}: {}", damping.lambda);
        assert_eq!(damping.growth, next_growth, "{lambda}, {ratio}");
        assert_eq!(found, end, "{lambda}, {ratio}");
    }
    let hidden = Gain { ratio: -7.0, accepted: true, hidden: true, floor: 1.0, end: None };
    let (damping, _) = rules.damping(Damping { lambda: 3.0, growth: 8.0 }, hidden);
    assert_eq!(damping, Damping { lambda: 1.0, growth: 2.0 }, "the ratio of a hidden step is one of rounding errors");
}

#[test]
fn convergence_names_the_first_tolerance_that_is_met() {
    let rules = Rules::new();
    let tolerances = Tolerances { cost: 1e-6, gradient: 1e-4, parameter: 1e-3 };
    let off = Tolerances { cost: 0.0, gradient: 0.0, parameter: 0.0 };
    let (gradient, cost, parameter) =
        (Some(Termination::GradientTolerance), Some(Termination::CostTolerance), Some(Termination::ParameterTolerance));
    let step = |trial: TrialStep| AcceptedStep { cost: 10.0, cosine: 5e-4, trial, is_hidden: false };
    let usual = TrialStep { size: 9.0, ..promising(1.0) };
    let small = TrialStep { change: 0.9e-5, ..promising(0.9e-5) };
    let short = TrialStep { step: 9.0e-3, ..usual };
    let hidden = |trial: TrialStep| AcceptedStep { is_hidden: true, ..step(trial) };
    let at = |cosine: f64| AcceptedStep { cosine, ..step(usual) };
    // −δ̄ᵀg twice as large: ‖J̃δ̄‖² is ⅔ of it, and the extended step 3/2 as long, with a predicted reduction of ¾ of it.
    let damped = |trial: TrialStep| TrialStep { descent: 1.5 * trial.predicted, ..trial };
    let table = [
        (step(usual), tolerances, None),
        (at(1e-4), tolerances, gradient),
        (at(1.1e-4), tolerances, None),
        (at(0.0), off, gradient),
        (at(NAN), tolerances, None),
        (step(small), tolerances, cost),
        (step(TrialStep { change: -0.9e-5, ..small }), tolerances, cost),
        (step(TrialStep { change: 1.1e-5, ..small }), tolerances, None),
        (step(TrialStep { change: 0.9e-5, ..promising(1.1e-5) }), tolerances, None),
        // The model is not to be believed where the cost falls more than twice as much as predicted.
        (step(TrialStep { change: 0.9e-5, ..promising(0.4e-5) }), tolerances, None),
        (step(damped(small)), tolerances, None),
        (step(damped(TrialStep { change: 0.8e-5, ..promising(0.8e-5) })), tolerances, cost),
        (step(TrialStep { is_complete: false, ..small }), tolerances, None),
        // One coordinate promises 1e-6 · 10 at a cosine of 1e-3, and a step of 9e-3 at one of 2e-3.
        (AcceptedStep { cosine: 1.1e-3, ..step(small) }, tolerances, None),
        (AcceptedStep { cosine: 2.1e-3, ..step(short) }, tolerances, None),
        (step(short), tolerances, parameter),
        (step(TrialStep { step: 9.1e-3, ..usual }), tolerances, None),
        (step(damped(short)), tolerances, None),
        (step(TrialStep { step: 5.9e-3, ..damped(usual) }), tolerances, parameter),
        (step(TrialStep { is_complete: false, ..short }), tolerances, None),
        (step(TrialStep { change: 0.0, step: 0.0, ..promising(0.0) }), off, None),
        (
            AcceptedStep { cost: 0.0, ..step(TrialStep { change: 0.0, step: 0.0, size: 0.0, ..promising(0.0) }) },
            off,
            None,
        ),
        (hidden(TrialStep { change: 0.0, ..promising(2e-5) }), tolerances, None),
        (hidden(TrialStep { change: -1.0, ..small }), tolerances, cost),
        (hidden(short), tolerances, parameter),
        (AcceptedStep { cosine: 1e-4, ..hidden(usual) }, tolerances, gradient),
        (
            AcceptedStep {
                cost: NAN,
                cosine: NAN,
                ..step(TrialStep { change: NAN, predicted: NAN, descent: NAN, step: NAN, ..usual })
            },
            tolerances,
            None,
        ),
    ];
    for (accepted, tolerances, end) in table {
        assert_eq!(rules.convergence(&accepted, &tolerances, EPSILON), end, "{accepted:?}");
    }
    assert_eq!(rules.convergence_at_start(1e-4, &tolerances, EPSILON), gradient);
    assert_eq!(rules.convergence_at_start(1.0, &tolerances, EPSILON), None, "a start has no step to be small");
    assert_eq!(rules.convergence_at_start(NAN, &tolerances, EPSILON), None);
}

#[test]
fn a_tolerance_below_what_the_arithmetic_can_tell_counts_as_that() {
    let rules = Rules::new();
    let single = f64::from(f32::EPSILON);
    let least = ROUNDINGS * single;
    let least_cost = least * least;
    let tiny = |cost, gradient, parameter| Tolerances { cost, gradient, parameter };
    let step = |share: f64| {
        let trial = TrialStep { change: share, step: share, ..promising(share) };
        AcceptedStep { cost: 1.0, cosine: 0.5 * share, trial, is_hidden: false }
    };
    for (tolerances, least, end) in [
        (tiny(1e-16, 0.0, 0.0), least_cost, Termination::CostTolerance),
        (tiny(0.0, 1e-12, 0.0), least, Termination::GradientTolerance),
        (tiny(0.0, 0.0, 1e-12), least, Termination::ParameterTolerance),
    ] {
        assert_eq!(rules.convergence(&step(least), &tolerances, single), Some(end));
        assert_eq!(rules.convergence(&step(2.1 * least), &tolerances, single), None, "{end:?}");
    }
}

#[test]
fn a_cost_tolerance_that_asks_for_all_digits_counts_as_the_least() {
    let rules = Rules::new();
    let pairs = f64::from(f32::EPSILON).powi(2);
    let of_cost = |cost| Tolerances { cost, gradient: 0.0, parameter: 0.0 };
    for epsilon in [EPSILON, pairs] {
        let least = (ROUNDINGS * epsilon).powi(2);
        let step = |share: f64| AcceptedStep {
            cost: 1.0,
            cosine: 1e-30,
            trial: TrialStep { change: share, ..promising(share) },
            is_hidden: false,
        };
        for (tolerance, share, is_met) in [
            (2e-15, 1.9e-15, true),
            (1e-15, 0.9e-15, false),
            (1e-15, 1.1 * least, false),
            (1e-15, 0.9 * least, true),
            (1e-40, 0.9 * least, true),
        ] {
            let end = rules.convergence(&step(share), &of_cost(tolerance), epsilon);
            assert_eq!(end, is_met.then_some(Termination::CostTolerance), "{share:e} at {tolerance:e}");
        }
        assert_eq!(rules.convergence(&step(0.9 * least), &of_cost(0.0), epsilon), None, "a test that is off stays off");
    }
}

#[test]
fn the_forcing_term_follows_the_fall_of_the_gradient() {
    let rules = Rules::new();
    // ‖g‖, ‖g‖ before, η before, ceiling → η
    let table = [
        (1.0, 0.0, 0.0, 0.1, 0.1),
        (0.1, 1.0, 0.1, 0.1, 0.009),
        (2.0, 1.0, 0.1, 0.1, 0.1),
        (0.1, 1.0, 0.5, 0.9, 0.225),
        (0.0, 1.0, 0.1, 0.1, 0.0),
        (0.5, 1.0, 0.0, 0.0, 0.0),
        (NAN, 1.0, 0.1, 0.1, 0.1),
        (INF, 1.0, 0.1, 0.1, 0.1),
    ];
    for (norm, previous_norm, previous, ceiling, expected) in table {
        let found = rules.forcing(norm, previous_norm, previous, ceiling);
        // Three products.
        assert!((found - expected).abs() <= 4.0 * EPSILON * expected, "{norm}/{previous_norm}: {found}");
    }
}

#[cfg(not(target_arch = "wasm32"))]
#[test]
fn the_rules_are_functions_of_a_shader() {
    let source = "#import nonfinite\nstruct Dispatch {\nnan: u32,\n}\n\
        @group(0) @binding(0) var<storage, read_write> state: array<f32>;\n\
        @group(0) @binding(1) var<uniform> dispatch: Dispatch;\n\
        @compute @workgroup_size(1)\nfn decide() {\nlet noise = lm_noise(state[4], state[8], 10.0, 1e-7);\n\
let cosine = lm_cosine(state[4], state[8]);\n\
        let gain = lm_gain(state[0], state[1], state[2], state[6], state[7], state[4], cosine, noise, state[8], 1e-7);\n\
        let region = lm_damping(state[2], state[3], gain.x, gain.y);\n\
        let end = lm_convergence(gain.y, 1.0, state[4], state[0], gain.z, state[2], state[5], state[6], state[7], 1e-6, 1e-6, 1e-6, 1e-7);\n\
        state[0] = lm_forcing(state[1], state[2], state[3], 0.1) + region.z + end + gain.w;\n\
        if is_nan(state[0]) {\nstate[0] = 0.0;\n}\n}\n";
    let mut program = ProgramText::new();
    program.read_guard_from("bitcast<u32>(state[9])");
    program.push_template(Template { name: "decide", source }, &[], &NoParameters);
    Rules::new().functions().into_iter().for_each(|rule| program.push_function(rule));
    let text = program.finish();
    assert_eq!(text.matches("fn is_nan(").count(), 1, "what the shader and the rules import stands once");
    residua_portable::validated(&text);
}

#[test]
fn the_dogleg_ends_where_its_path_leaves_the_ball() {
    let rules = Rules::new();
    // Cauchy step (1, 0), Gauss-Newton step (2, 2).
    let (cauchy, gauss_newton, product) = (1.0, 8.0_f64.sqrt(), 2.0);
    for radius in [INF, 10.0, 8.0_f64.sqrt(), 2.5, 1.5, 1.0 + 1e-9, 1.0, 0.25, 1e-30] {
        let [a, b] = rules.dogleg(radius, cauchy, gauss_newton, product);
        let length = f64::hypot(a + 2.0 * b, 2.0 * b);
        // A few operations, of numbers of some units.
        let expected = radius.min(gauss_newton);
        assert!((length - expected).abs() <= 8.0 * EPSILON * expected, "{radius}: {a} {b}");
        let on_path = if radius < cauchy { b == 0.0 } else { (a + b - 1.0).abs() < 4.0 * EPSILON };
        assert!(on_path, "{radius}: {a} {b}");
    }
    // A Gauss-Newton step shorter than the Cauchy step, and against it.
    assert_eq!(rules.dogleg(3.0, 5.0, 2.0, -1.0), [0.0, 1.0]);
    let [a, b] = rules.dogleg(1.5, 1.0, 3.0, -1.0);
    let length = (a * a + 9.0 * b * b - 2.0 * a * b).sqrt();
    assert!((length - 1.5).abs() < 8.0 * EPSILON, "{length}");
    // Without a Cauchy point, a shorter Gauss-Newton step.
    assert_eq!(rules.dogleg(1.0, 0.0, 4.0, 0.0), [0.75, 0.25]);
}

#[test]
fn the_radius_follows_the_gain() {
    let rules = Rules::new();
    let gain = |ratio: f64, accepted: bool, hidden: bool| Gain { ratio, accepted, hidden, floor: NO_FLOOR, end: None };
    // radius, change, growth, ratio, accepted, hidden → radius, after a step of length 2
    for (radius, change, growth, ratio, accepted, hidden, expected) in [
        (2.0, 1.0, 3.0, 0.9, true, false, 6.0),
        (2.0, 1.0, 1.5, 0.9, true, false, 3.0),
        (9.0, 1.0, 3.0, 0.9, true, false, 9.0),
        (INF, 1.0, 3.0, 0.9, true, false, INF),
        (2.0, 1.0, 3.0, 0.5, true, false, 2.0),
        (9.0, 1.0, 3.0, 0.1, true, false, 1.0),
        (2.0, 1.0, 3.0, -3.0, true, true, 6.0),
        (INF, -1.5, 3.0, -1.0, false, false, 0.5),
        (2.0, 0.9, 3.0, 1e-9, false, false, 1.0),
        (2.0, NAN, 3.0, NAN, false, false, 0.5),
        (2.0, -INF, 3.0, -INF, false, false, 0.5),
    ] {
        let found = rules.radius(radius, 2.0, change, growth, gain(ratio, accepted, hidden));
        assert_eq!(found, expected, "{radius} {change} {growth} {ratio}");
    }
}

#[test]
fn shaders_and_the_host_call_the_same_points_minima() {
    use crate::solve::levenberg_marquardt::point::Linearised;
    let rules = Rules::new();
    for (cost, influence, noise) in [(2.0, 1.5, 1e-12), (2.0, 2.0, 3.0), (1e-30, 1e-30, 1e-40)] {
        for (residuals, coordinates, scaled_size) in [(50.0, 4.0, 1e6), (3.0, 3.0, 1e20), (0.0, 2.0, INF)] {
            for (tolerance, epsilon) in [(1e-8, EPSILON), (0.0, f64::from(f32::EPSILON)), (0.5, 0.0)] {
                let point = Linearised { cost, influence, residuals, coordinates, scaled_size, cosine: 0.0 };
                let rounding = point.rounding(noise, epsilon);
                for promise in [0.0, 1e-18, 1e-13, 1e-9, 1e-6, 1e-4, 1.0, NAN, INF] {
                    let arguments =
                        [promise, cost, influence, residuals, coordinates, scaled_size, noise, tolerance, epsilon];
                    let [small, hidden, told, near] = rules.minimum.evaluate(0, &arguments)[..] else { panic!() };
                    // A cost that is noise is a minimum whatever the model says of it.
                    let all = cost <= noise;
                    let least = point.tolerable_promise(rounding, tolerance);
                    assert_eq!(small != 0.0, all || (promise <= least && promise < INF), "{point:?} {promise} {least}");
                    assert_eq!(hidden != 0.0, all || promise <= rounding, "{point:?} {promise}");
                    assert_eq!(told != 0.0, all || rounding <= LEAST_PROMISE * point.variance(), "{point:?}");
                    let least = LEAST_PROMISE * point.variance();
                    assert_eq!(near != 0.0, all || (promise <= least && promise < INF), "{point:?} {promise} {least}");
                }
            }
        }
    }
}
