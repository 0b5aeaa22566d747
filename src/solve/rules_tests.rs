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
    let off = rules.noise(1.0, 1.0, 1.0, 0.0);
    for (change, predicted, ratio, accepted) in table {
        let trial = TrialStep { change, predicted, step: 0.0, size: 1.0 };
        let gain = rules.gain(&trial, off, NO_FLOOR, 0.0);
        assert!(same(gain.ratio, ratio), "{change} of {predicted}: {}", gain.ratio);
        assert_eq!((gain.accepted, gain.hidden, gain.end), (accepted, None, None), "{change} of {predicted}");
    }
}

#[test]
fn where_rounding_hides_the_cost_steps_are_accepted_while_their_predicted_reductions_halve() {
    let rules = Rules::new();
    let usual = TrialStep { change: -1.0, predicted: 10.0, step: 1.0, size: 10.0 };
    let (limit, lost) = (Some(Termination::PrecisionLimit), Some(Termination::NonFinite));
    let noise = 2.0;
    // trial, floor → accepted, hidden, floor, end
    let table = [
        (usual, NO_FLOOR, false, false, NO_FLOOR, None),
        (TrialStep { change: 5.0, ..usual }, 4.0, true, false, 4.0, None),
        (TrialStep { predicted: 2.0, ..usual }, NO_FLOOR, true, true, 2.0, None),
        (TrialStep { predicted: 1.0, change: -2.0, ..usual }, 2.0, true, true, 1.0, None),
        (TrialStep { predicted: 1.1, ..usual }, 2.0, false, false, 2.0, limit),
        (TrialStep { predicted: 1.0, change: -2.1, ..usual }, 2.0, false, false, 2.0, limit),
        (TrialStep { predicted: 1.0, step: 0.0, ..usual }, 2.0, false, false, 2.0, limit),
        (TrialStep { predicted: -1.0, ..usual }, 2.0, false, false, 2.0, limit),
        (TrialStep { predicted: 0.0, change: 0.0, ..usual }, 2.0, false, false, 2.0, limit),
        (TrialStep { predicted: -10.0, ..usual }, 2.0, false, false, 2.0, None),
        (TrialStep { step: 10.0 * EPSILON, ..usual }, 2.0, false, false, 2.0, limit),
        (TrialStep { step: 11.0 * EPSILON, ..usual }, 2.0, false, false, 2.0, None),
        (TrialStep { change: NAN, ..usual }, 2.0, false, false, 2.0, None),
        (TrialStep { change: NAN, step: 0.0, ..usual }, 2.0, false, false, 2.0, lost),
        (TrialStep { change: -INF, predicted: 1.0, ..usual }, 2.0, false, false, 2.0, lost),
        (TrialStep { predicted: NAN, change: NAN, step: NAN, ..usual }, 2.0, false, false, 2.0, None),
    ];
    for (trial, floor, accepted, hidden, next, end) in table {
        let gain = rules.gain(&trial, noise, floor, EPSILON);
        assert_eq!(
            (gain.accepted, gain.hidden.is_some(), gain.floor, gain.end),
            (accepted, hidden, next, end),
            "{trial:?}"
        );
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
        let gain = Gain { ratio, accepted, hidden: None, floor: NO_FLOOR, end: None };
        let (damping, found) = rules.damping(Damping { lambda, growth }, gain);
        // A product of a few rounded factors.
        assert!((damping.lambda - next).abs() <= 4.0 * EPSILON * next, "{lambda}, {ratio}: {}", damping.lambda);
        assert_eq!(damping.growth, next_growth, "{lambda}, {ratio}");
        assert_eq!(found, end, "{lambda}, {ratio}");
    }
    let hidden = Gain { ratio: -7.0, accepted: true, hidden: Some(1.0), floor: 1.0, end: None };
    let (damping, _) = rules.damping(Damping { lambda: 3.0, growth: 8.0 }, hidden);
    assert_eq!(damping, Damping { lambda: 1.0, growth: 2.0 }, "the ratio of a hidden step is one of rounding errors");
}

#[test]
fn the_damping_scale_is_the_clamped_diagonal_or_what_is_kept() {
    // diagonal, kept → scale
    let table = [
        (4.0, 0.0, 4.0),
        (4.0, 9.0, 9.0),
        (9.0, 4.0, 9.0),
        (0.0, 0.0, MIN_DIAGONAL),
        (1e40, 0.0, MAX_DIAGONAL),
        (0.0, 2.0, 2.0),
    ];
    for (diagonal, kept, expected) in table {
        assert_eq!(damping_scale(diagonal, kept), expected, "{diagonal}, {kept}");
        let (mut scale, mut damping) = (vec![kept; 2], Vec::new());
        rescale(0.5, &[diagonal; 2], &[false, true], &mut scale, &mut damping);
        assert_eq!(scale, [expected, kept], "a frozen coordinate keeps its scale");
        assert_eq!(damping, [0.5 * expected, 0.5 * kept]);
    }
}

#[test]
fn convergence_names_the_first_tolerance_that_is_met() {
    let rules = Rules::new();
    let tolerances = Tolerances { cost: 1e-6, gradient: 1e-4, parameter: 1e-3 };
    let off = Tolerances { cost: 0.0, gradient: 0.0, parameter: 0.0 };
    let usual = AcceptedStep { cost: 10.0, change: 1.0, gradient_max_norm: 1.0, step: 1.0, size: 9.0, hidden: None };
    let (gradient, cost, parameter) =
        (Termination::GradientTolerance, Termination::CostTolerance, Termination::ParameterTolerance);
    let table = [
        (usual, tolerances, None),
        (AcceptedStep { gradient_max_norm: 1e-4, ..usual }, tolerances, Some(gradient)),
        (AcceptedStep { change: 0.9e-5, ..usual }, tolerances, Some(cost)),
        (AcceptedStep { change: -0.9e-5, ..usual }, tolerances, Some(cost)),
        (AcceptedStep { change: 1.1e-5, ..usual }, tolerances, None),
        // 1e-3 · (9 + 1e-3)
        (AcceptedStep { step: 9.0e-3, ..usual }, tolerances, Some(parameter)),
        (AcceptedStep { step: 9.1e-3, ..usual }, tolerances, None),
        (AcceptedStep { change: 0.0, gradient_max_norm: 0.0, step: 0.0, ..usual }, tolerances, Some(gradient)),
        (AcceptedStep { change: 0.0, step: 0.0, ..usual }, off, None),
        (AcceptedStep { gradient_max_norm: 0.0, ..usual }, off, Some(gradient)),
        (AcceptedStep { cost: 0.0, change: 0.0, step: 0.0, ..usual }, off, None),
        (AcceptedStep { change: 0.0, hidden: Some(2e-5), ..usual }, tolerances, None),
        (AcceptedStep { change: 1.0, hidden: Some(0.9e-5), ..usual }, tolerances, Some(cost)),
        (AcceptedStep { step: 9.0e-3, hidden: Some(1.0), ..usual }, tolerances, Some(parameter)),
        (AcceptedStep { step: 0.0, hidden: Some(0.0), ..usual }, off, None),
        (AcceptedStep { gradient_max_norm: 1e-4, hidden: Some(1.0), ..usual }, tolerances, Some(gradient)),
        (AcceptedStep { cost: NAN, change: NAN, gradient_max_norm: NAN, step: NAN, ..usual }, tolerances, None),
        (AcceptedStep { cost: INF, change: INF, gradient_max_norm: INF, step: INF, ..usual }, off, None),
    ];
    for (progress, tolerances, end) in table {
        assert_eq!(rules.convergence(&progress, &tolerances, EPSILON), end, "{progress:?}");
    }
    let faint = AcceptedStep { change: 1.0, step: 0.0, hidden: Some(0.0), ..usual };
    let beyond = Tolerances { cost: EPSILON, gradient: 0.0, parameter: EPSILON };
    assert_eq!(rules.convergence(&faint, &beyond, EPSILON), None, "no tolerance below the rounding is met by it");
    assert_eq!(rules.convergence_at_start(1e-4, &tolerances), Some(gradient));
    assert_eq!(rules.convergence_at_start(1.0, &tolerances), None, "a start has no step to be small");
    assert_eq!(rules.convergence_at_start(NAN, &tolerances), None);
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
        let gain = lm_gain(state[0], state[1], state[6], state[7], noise, state[8], 1e-7);\n\
        let region = lm_damping(state[2], state[3], gain.x, gain.y);\n\
        let end = lm_convergence(gain.y, state[4], state[0], gain.z, state[5], state[6], state[7], 1e-6, 1e-6, 1e-6, 1e-7);\n\
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
