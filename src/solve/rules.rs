//! The decisions of Levenberg-Marquardt, each once: as graphs, which the CPU's solver evaluates in f64 and the device's shader runs
//! in f32.
//!
//! | function | takes | gives |
//! |---|---|---|
//! | `lm_gain` | the cost's change, the change predicted | gain ratio, whether the step is accepted |
//! | `lm_damping` | λ, ν, gain ratio, accepted | λ, ν, end |
//! | `lm_convergence` | an accepted step's figures, tolerances | end |
//! | `lm_precision` | a trial's figures, ε | stalls, end |
//! | `lm_forcing` | gradient norms, last forcing term, ceiling | forcing term η of the linear solver |
//!
//! An *end* is a number: 0 to go on, or [`Termination::code`]. Truths are 0 and 1. No figure needs to be finite: what is NaN is never
//! progress, and never convergence.
//!
//! The trust region is that of H. B. Nielsen, *Damping parameter in Marquardt's method* (1999), also in K. Madsen, H. B. Nielsen and
//! O. Tingleff, *Methods for Non-Linear Least Squares Problems* (2004), section 3.2; its constants, and the tests of convergence,
//! are those of Ceres Solver (levenberg_marquardt_strategy.cc, trust_region_minimizer.cc).

use super::summary::Termination;
use crate::codegen::{Case, Function};
use crate::graph::{Graph, InputId, NodeId, Op};

/// λ is never below: Ceres' max_trust_region_radius, 10¹⁶, inverted.
pub const MIN_DAMPING: f64 = 1e-16;
/// λ above this is the end: Ceres' min_trust_region_radius, inverted.
pub const MAX_DAMPING: f64 = 1e32;
/// The least diagonal entry of JᵀJ that damping is scaled by: Ceres' min_lm_diagonal.
pub const MIN_DIAGONAL: f64 = 1e-6;
/// The largest: Ceres' max_lm_diagonal.
pub const MAX_DIAGONAL: f64 = 1e32;
/// ν at the start and after each accepted step: the factor by which the next rejected one raises λ.
pub const INITIAL_GROWTH: f64 = 2.0;
/// A step is taken if it brings more than this share of what was predicted: Ceres' min_relative_decrease.
const LEAST_GAIN: f64 = 1e-3;
/// Iterations in a row with an invisible prediction after which there is no further progress.
const PATIENCE: f64 = 3.0;
/// A prediction is invisible below so many roundings of the cost.
const INVISIBLE: f64 = 10.0;

/// The rules, ready to be evaluated.
#[derive(Clone, Debug)]
pub struct Rules {
    gain: Function,
    damping: Function,
    convergence: Function,
    precision: Function,
    forcing: Function,
}

/// What became of a trial step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gain {
    /// Actual over predicted reduction; NaN where the trial has no cost.
    pub ratio: f64,
    /// Whether the step is taken.
    pub accepted: bool,
}

/// The trust region.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Damping {
    /// λ
    pub lambda: f64,
    /// ν
    pub growth: f64,
}

/// Figures of an accepted step, for convergence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Cost before the step.
    pub cost: f64,
    /// Cost before less cost after.
    pub change: f64,
    /// Largest magnitude of the gradient's free coordinates, after the step.
    pub gradient_max_norm: f64,
    /// ‖δ‖ of the step made.
    pub step: f64,
    /// ‖x‖ of the coordinates that are no constants.
    pub size: f64,
}

/// Figures of a trial step, for the precision's limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrialFigures {
    /// Whether it was taken.
    pub accepted: bool,
    /// Cost before less cost at the trial.
    pub change: f64,
    /// The same as predicted.
    pub predicted: f64,
    /// ‖δ‖ of the step made.
    pub step: f64,
    /// ‖x‖ of the coordinates that are no constants.
    pub size: f64,
    /// Cost before the step.
    pub cost: f64,
}

/// The tolerances; 0 switches a test off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerances {
    /// Of the cost's relative change.
    pub cost: f64,
    /// Of the gradient's max norm.
    pub gradient: f64,
    /// Of the step's relative length.
    pub parameter: f64,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules::new()
    }
}

impl Rules {
    /// All of them.
    pub fn new() -> Rules {
        Rules {
            gain: gain(),
            damping: damping(),
            convergence: convergence(),
            precision: precision(),
            forcing: forcing(),
        }
    }

    /// As functions, to be written for the device.
    pub fn functions(&self) -> [&Function; 5] {
        [&self.gain, &self.damping, &self.convergence, &self.precision, &self.forcing]
    }

    /// Whether a trial step is taken.
    pub fn gain(&self, change: f64, predicted: f64) -> Gain {
        let results = self.gain.evaluate(0, &[change, predicted]);
        Gain { ratio: results[0], accepted: results[1] != 0.0 }
    }

    /// The trust region after a trial step, and whether it has collapsed.
    pub fn damping(&self, damping: Damping, gain: Gain) -> (Damping, Option<Termination>) {
        let accepted = f64::from(u8::from(gain.accepted));
        let results = self.damping.evaluate(0, &[damping.lambda, damping.growth, gain.ratio, accepted]);
        (Damping { lambda: results[0], growth: results[1] }, Termination::from_code(results[2]))
    }

    /// Whether an accepted step is the last.
    pub fn convergence(&self, progress: &Progress, tolerances: &Tolerances) -> Option<Termination> {
        let Progress { cost, change, gradient_max_norm, step, size } = *progress;
        let Tolerances { cost: of_cost, gradient, parameter } = *tolerances;
        let figures = [cost, change, gradient_max_norm, step, size, of_cost, gradient, parameter];
        Termination::from_code(self.convergence.evaluate(0, &figures)[0])
    }

    /// Whether the start is the end: only the gradient is judged.
    pub fn convergence_at_start(&self, gradient_max_norm: f64, tolerances: &Tolerances) -> Option<Termination> {
        let progress = Progress { cost: 0.0, change: 0.0, gradient_max_norm, step: 0.0, size: 0.0 };
        self.convergence(&progress, &Tolerances { cost: 0.0, parameter: 0.0, ..*tolerances })
    }

    /// How many trials in a row have promised nothing visible, and whether this is the arithmetic's limit. `epsilon`: distance from 1
    /// to the next number, 0 to switch the test off.
    pub fn precision(&self, trial: &TrialFigures, stalls: f64, epsilon: f64) -> (f64, Option<Termination>) {
        let TrialFigures { accepted, change, predicted, step, size, cost } = *trial;
        let accepted = f64::from(u8::from(accepted));
        let results = self.precision.evaluate(0, &[accepted, change, predicted, step, size, cost, stalls, epsilon]);
        (results[0], Termination::from_code(results[1]))
    }

    /// The share of its residual that the linear solver may leave. `previous_norm`: ‖g‖ where the last step was computed, 0 at the start.
    pub fn forcing(&self, gradient_norm: f64, previous_norm: f64, previous: f64, ceiling: f64) -> f64 {
        self.forcing.evaluate(0, &[gradient_norm, previous_norm, previous, ceiling])[0]
    }
}

/// A function of one case. `formula` takes the graph and its parameters.
fn rule<const P: usize, const R: usize>(
    name: &'static str,
    parameters: &'static [&'static str; P],
    formula: impl FnOnce(&mut Graph, [NodeId; P]) -> [NodeId; R],
) -> Function {
    let mut graph = Graph::new();
    let mut number = 0;
    let inputs = [(); P].map(|()| {
        number += 1;
        graph.input(InputId(number - 1))
    });
    let results = formula(&mut graph, inputs);
    let (graph, results) = graph.extract(&results);
    let graph = graph.check(P as u32).expect("a rule reads its parameters alone");
    Function { name, parameters, results: R, cases: vec![Case { name: "", graph, results }] }
}

/// Both are true.
fn and(g: &mut Graph, a: NodeId, b: NodeId) -> NodeId {
    g.mul(a, b)
}

/// Either is true.
fn or(g: &mut Graph, a: NodeId, b: NodeId) -> NodeId {
    g.apply(Op::Max, &[a, b])
}

/// What every finite number but the last is below, on either engine: in f32 it is infinity.
const HUGE: f64 = f64::MAX;

/// ϱ = actual/predicted, and whether to take the step: Madsen et al., (2.18) and algorithm 3.16; Ceres asks for a least ratio.
fn gain() -> Function {
    rule("lm_gain", &["change", "predicted"], |g, [change, predicted]| {
        let (zero, least, huge) = (g.literal(0.0), g.literal(LEAST_GAIN), g.literal(HUGE));
        let ratio = g.div(change, predicted);
        let descends = g.lt(zero, predicted);
        let enough = g.lt(least, ratio);
        // A cost of −∞ is no progress.
        let finite = g.lt(change, huge);
        let promising = and(g, descends, enough);
        [ratio, and(g, promising, finite)]
    })
}

/// λ and ν: Nielsen's rule, Madsen et al., (2.21) and algorithm 3.16; λ·max(⅓, 1 − (2ϱ − 1)³) after a step, λν and 2ν without one.
fn damping() -> Function {
    rule("lm_damping", &["lambda", "growth", "ratio", "accepted"], |g, [lambda, growth, ratio, accepted]| {
        let (one, two, third) = (g.literal(1.0), g.literal(2.0), g.literal(1.0 / 3.0));
        let doubled = g.mul(two, ratio);
        let centred = g.sub(doubled, one);
        let square = g.mul(centred, centred);
        let cube = g.mul(square, centred);
        let slack = g.sub(one, cube);
        let shrink = g.apply(Op::Max, &[third, slack]);
        let factor = g.select(accepted, shrink, growth);
        let scaled = g.mul(lambda, factor);
        let least = g.literal(MIN_DAMPING);
        let lambda = g.apply(Op::Max, &[scaled, least]);
        let faster = g.mul(two, growth);
        let initial = g.literal(INITIAL_GROWTH);
        let growth = g.select(accepted, initial, faster);
        let most = g.literal(MAX_DAMPING);
        let beyond = g.lt(most, lambda);
        let code = g.literal(Termination::TrustRegionCollapsed.code());
        let goes_on = g.literal(0.0);
        [lambda, growth, g.select(beyond, code, goes_on)]
    })
}

/// The gradient's max norm, the cost's relative change, the step's relative length, in this order: Ceres' GradientToleranceReached,
/// FunctionToleranceReached and ParameterToleranceReached. A gradient of exactly 0 is convergence at any tolerance.
fn convergence() -> Function {
    let parameters =
        &["cost", "change", "gradient", "step", "size", "cost_tolerance", "gradient_tolerance", "parameter_tolerance"];
    rule(
        "lm_convergence",
        parameters,
        |g, [cost, change, gradient, step, size, of_cost, of_gradient, of_parameters]| {
            let zero = g.literal(0.0);
            let flat = g.le(gradient, of_gradient);

            let (change, cost) = (g.abs(change), g.abs(cost));
            let share = g.mul(of_cost, cost);
            let small_change = g.le(change, share);
            let judged = g.lt(zero, of_cost);
            let settled = and(g, judged, small_change);

            let length = g.add(size, of_parameters);
            let share = g.mul(of_parameters, length);
            let small_step = g.le(step, share);
            let judged = g.lt(zero, of_parameters);
            let still = and(g, judged, small_step);

            let mut code = |termination: Termination| g.literal(termination.code());
            let codes = [Termination::ParameterTolerance, Termination::CostTolerance, Termination::GradientTolerance];
            let [parameter, cost, gradient] = codes.map(&mut code);
            let end = g.select(still, parameter, zero);
            let end = g.select(settled, cost, end);
            [g.select(flat, gradient, end)]
        },
    )
}

/// A rejected step that promised, or moved, no more than rounding can show is the arithmetic's limit; so is the third trial in a row
/// with a prediction of a few roundings, taken or not. Where such a step met NaN or infinity, the limit is not the arithmetic's.
fn precision() -> Function {
    let parameters = &["accepted", "change", "predicted", "step", "size", "cost", "stalls", "epsilon"];
    rule("lm_precision", parameters, |g, [accepted, change, predicted, step, size, cost, stalls, epsilon]| {
        let (zero, one) = (g.literal(0.0), g.literal(1.0));
        let (predicted, cost) = (g.abs(predicted), g.abs(cost));
        let rounding = g.mul(epsilon, cost);
        let invisible = g.literal(INVISIBLE);
        let roundings = g.mul(invisible, rounding);
        let stalled = g.le(predicted, roundings);
        let longer = g.add(stalls, one);
        let stalls = g.select(stalled, longer, zero);

        let promised = g.le(predicted, rounding);
        let least_step = g.mul(epsilon, size);
        let moved = g.le(step, least_step);
        let hopeless = or(g, promised, moved);
        let rejected = g.sub(one, accepted);
        let refused = and(g, rejected, hopeless);
        let patience = g.literal(PATIENCE);
        let worn_out = g.le(patience, stalls);
        let over = or(g, refused, worn_out);
        let judged = g.lt(zero, epsilon);
        let over = and(g, judged, over);

        let size = g.abs(change);
        let huge = g.literal(HUGE);
        let finite = g.lt(size, huge);
        let limit = g.literal(Termination::PrecisionLimit.code());
        let lost = g.literal(Termination::NonFinite.code());
        let end = g.select(finite, limit, lost);
        [stalls, g.select(over, end, zero)]
    })
}

/// Eisenstat and Walker, *Choosing the forcing terms in an inexact Newton method* (1996), choice 2 with γ = 0.9 and α = 2, and its
/// safeguard; the ceiling at the start.
fn forcing() -> Function {
    let parameters = &["gradient_norm", "previous_norm", "previous", "ceiling"];
    rule("lm_forcing", parameters, |g, [norm, previous_norm, previous, ceiling]| {
        let (zero, gamma, threshold) = (g.literal(0.0), g.literal(0.9), g.literal(0.1));
        let ratio = g.div(norm, previous_norm);
        let square = g.mul(ratio, ratio);
        let choice = g.mul(gamma, square);
        let square = g.mul(previous, previous);
        let safeguard = g.mul(gamma, square);
        let raised = g.apply(Op::Max, &[choice, safeguard]);
        let guarded = g.lt(threshold, safeguard);
        let term = g.select(guarded, raised, choice);
        // Not below the ceiling: also a NaN.
        let below = g.lt(term, ceiling);
        let term = g.select(below, term, ceiling);
        let follows = g.lt(zero, previous_norm);
        [g.select(follows, term, ceiling)]
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codegen::wgsl::compose_with;

    const NAN: f64 = f64::NAN;
    const INF: f64 = f64::INFINITY;
    const EPSILON: f64 = f64::EPSILON;

    fn same(a: f64, b: f64) -> bool {
        a == b || (a.is_nan() && b.is_nan())
    }

    #[test]
    fn a_step_is_taken_if_it_brings_enough_of_what_was_predicted() {
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
        for (change, predicted, ratio, accepted) in table {
            let gain = rules.gain(change, predicted);
            assert!(same(gain.ratio, ratio), "{change} of {predicted}: {}", gain.ratio);
            assert_eq!(gain.accepted, accepted, "{change} of {predicted}");
        }
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
            let (damping, found) = rules.damping(Damping { lambda, growth }, Gain { ratio, accepted });
            // A product of a few rounded factors.
            assert!((damping.lambda - next).abs() <= 4.0 * EPSILON * next, "{lambda}, {ratio}: {}", damping.lambda);
            assert_eq!(damping.growth, next_growth, "{lambda}, {ratio}");
            assert_eq!(found, end, "{lambda}, {ratio}");
        }
    }

    #[test]
    fn convergence_names_the_first_tolerance_that_is_met() {
        let rules = Rules::new();
        let tolerances = Tolerances { cost: 1e-6, gradient: 1e-4, parameter: 1e-3 };
        let off = Tolerances { cost: 0.0, gradient: 0.0, parameter: 0.0 };
        let usual = Progress { cost: 10.0, change: 1.0, gradient_max_norm: 1.0, step: 1.0, size: 9.0 };
        let (gradient, cost, parameter) =
            (Termination::GradientTolerance, Termination::CostTolerance, Termination::ParameterTolerance);
        let table = [
            (usual, tolerances, None),
            (Progress { gradient_max_norm: 1e-4, ..usual }, tolerances, Some(gradient)),
            (Progress { change: 0.9e-5, ..usual }, tolerances, Some(cost)),
            (Progress { change: -0.9e-5, ..usual }, tolerances, Some(cost)),
            (Progress { change: 1.1e-5, ..usual }, tolerances, None),
            // 1e-3 · (9 + 1e-3)
            (Progress { step: 9.0e-3, ..usual }, tolerances, Some(parameter)),
            (Progress { step: 9.1e-3, ..usual }, tolerances, None),
            (Progress { change: 0.0, gradient_max_norm: 0.0, step: 0.0, ..usual }, tolerances, Some(gradient)),
            (Progress { change: 0.0, step: 0.0, ..usual }, off, None),
            (Progress { gradient_max_norm: 0.0, ..usual }, off, Some(gradient)),
            (Progress { cost: 0.0, change: 0.0, step: 0.0, ..usual }, off, None),
            (Progress { cost: NAN, change: NAN, gradient_max_norm: NAN, step: NAN, size: NAN }, tolerances, None),
            (Progress { cost: INF, change: INF, gradient_max_norm: INF, step: INF, size: 1.0 }, off, None),
        ];
        for (progress, tolerances, end) in table {
            assert_eq!(rules.convergence(&progress, &tolerances), end, "{progress:?}");
        }
        assert_eq!(rules.convergence_at_start(1e-4, &tolerances), Some(gradient));
        assert_eq!(rules.convergence_at_start(1.0, &tolerances), None, "a start has no step to be small");
        assert_eq!(rules.convergence_at_start(NAN, &tolerances), None);
    }

    #[test]
    fn the_precision_limit_is_a_refused_step_that_rounding_hides_or_three_faint_ones() {
        let rules = Rules::new();
        let usual = TrialFigures { accepted: false, change: -1.0, predicted: 1.0, step: 1.0, size: 10.0, cost: 100.0 };
        let (limit, lost) = (Some(Termination::PrecisionLimit), Some(Termination::NonFinite));
        let faint = 5.0 * EPSILON * usual.cost;
        let least = EPSILON * usual.cost;
        let table = [
            (usual, 2.0, 0.0, None),
            (TrialFigures { predicted: least, ..usual }, 0.0, 1.0, limit),
            (TrialFigures { predicted: -least, ..usual }, 0.0, 1.0, limit),
            (TrialFigures { predicted: -1.0, ..usual }, 0.0, 0.0, None),
            (TrialFigures { predicted: least, accepted: true, ..usual }, 0.0, 1.0, None),
            (TrialFigures { step: 10.0 * EPSILON, ..usual }, 0.0, 0.0, limit),
            (TrialFigures { step: 11.0 * EPSILON, ..usual }, 0.0, 0.0, None),
            (TrialFigures { predicted: faint, ..usual }, 1.0, 2.0, None),
            (TrialFigures { predicted: faint, ..usual }, 2.0, 3.0, limit),
            (TrialFigures { predicted: faint, accepted: true, ..usual }, 2.0, 3.0, limit),
            (TrialFigures { change: NAN, ..usual }, 0.0, 0.0, None),
            (TrialFigures { change: NAN, step: 0.0, ..usual }, 0.0, 0.0, lost),
            (TrialFigures { change: -INF, predicted: faint, ..usual }, 2.0, 3.0, lost),
            (TrialFigures { predicted: NAN, change: NAN, step: NAN, ..usual }, 2.0, 0.0, None),
        ];
        for (trial, stalls, expected, end) in table {
            assert_eq!(rules.precision(&trial, stalls, EPSILON), (expected, end), "{trial:?}");
        }
        let nothing = TrialFigures { predicted: 0.0, step: 0.0, ..usual };
        assert_eq!(rules.precision(&nothing, 5.0, 0.0).1, None, "ε = 0 switches it off");
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

    #[test]
    fn the_rules_are_functions_of_a_shader() {
        let shader = "#import nonfinite\nstruct Dispatch {\nnan: u32,\nzero: u32,\n}\n\
            @group(0) @binding(0) var<storage, read_write> state: array<f32>;\n\
            @group(0) @binding(1) var<uniform> dispatch: Dispatch;\n\
            @compute @workgroup_size(1)\nfn decide() {\nlet gain = lm_gain(state[0], state[1]);\n\
            let region = lm_damping(state[2], state[3], gain.x, gain.y);\n\
            let end = lm_convergence(state[4], state[0], state[5], state[6], state[7], 1e-6, 1e-6, 1e-6);\n\
            let limit = lm_precision(gain.y, state[0], state[1], state[6], state[7], state[4], state[8], 1e-7);\n\
            state[0] = lm_forcing(state[1], state[2], state[3], 0.1) + region.z + end + limit.y;\n\
            if is_nan(state[0]) {\nstate[0] = 0.0;\n}\n}\n";
        let text = compose_with(shader, &Rules::new().functions());
        assert_eq!(text.matches("fn is_nan(").count(), 1, "what the shader and the rules import stands once");
        let module = naga::front::wgsl::parse_str(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let capabilities = naga::valid::Capabilities::empty();
        let mut validator = naga::valid::Validator::new(naga::valid::ValidationFlags::all(), capabilities);
        validator.validate(&module).unwrap_or_else(|error| panic!("{error:?}\n{text}"));
    }
}
