//! The decisions of Levenberg-Marquardt, each once: as graphs, which the CPU's solver evaluates in f64 and the device's shader runs
//! in f32.
//!
//! | function | takes | gives |
//! |---|---|---|
//! | `lm_noise` | cost, Σ Dⱼxⱼ², residuals, ε | what of the cost is rounding |
//! | `lm_gain` | a trial's figures, the noise | gain ratio, verdict, floor, end |
//! | `lm_damping` | λ, ν, gain ratio, verdict | λ, ν, end |
//! | `lm_convergence` | an accepted step's figures, tolerances | end |
//! | `lm_forcing` | gradient norms, last forcing term, ceiling | forcing term η of the linear solver |
//!
//! An *end* is a number: 0 to go on, or [`Termination::code`]. Truths are 0 and 1. No figure needs to be finite: what is NaN is never
//! progress, and never convergence. A *verdict* is 0 for a trial that is refused, 1 for one that is taken for what it brings, and 2 for
//! one whose promise is hidden by the rounding of the cost, and which is taken because the model promises it: near a minimum the
//! gradient still shows the way when the cost does not. Such a step must promise half of the last one of its kind at most (the
//! *floor*), so that there are few; and its promise, not what it changed, is what the cost's tolerance judges.
//!
//! The trust region is that of H. B. Nielsen, *Damping parameter in Marquardt's method* (1999), also in K. Madsen, H. B. Nielsen and
//! O. Tingleff, *Methods for Non-Linear Least Squares Problems* (2004), section 3.2; its constants, and the tests of convergence,
//! are those of Ceres Solver (levenberg_marquardt_strategy.cc, trust_region_minimizer.cc).

use super::scalar;
use super::summary::Termination;
use crate::codegen::Function;
use crate::graph::{Graph, NodeId, Op};

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
/// A cost is uncertain by so many times the rounding of its residuals, taken as independent.
const ROUNDINGS: f64 = 4.0;
/// Of a promise that is hidden, the share of the one before it that it may have.
const LEAST_FALL: f64 = 0.5;
/// The floor before any hidden step: above every promise, also in f32.
pub const NO_FLOOR: f64 = 3e38;

/// Brings what damping of each coordinate is scaled by, at first 0, up to the diagonal of J̃ᵀJ̃, but where it is frozen: the largest so far. Gives λ
/// times the scales in `damping`.
///
/// With the present diagonal alone, a column of J̃ that nearly vanishes on the way takes its damping along, and the step is all in its direction (J. J. Moré,
/// "The Levenberg-Marquardt algorithm: implementation and theory", in: Numerical Analysis, LNM 630, 1978, section 6). The device's shaders
/// say the same with `clamp` and `max`.
pub fn rescale(lambda: f64, diagonal: &[f64], frozen: &[bool], scale: &mut [f64], damping: &mut Vec<f64>) {
    damping.resize(scale.len(), 0.0);
    residua_loops::rescale([MIN_DIAGONAL, MAX_DIAGONAL], lambda, diagonal, frozen, scale, damping);
}

/// The rules, ready to be evaluated.
#[derive(Clone, Debug)]
pub struct Rules {
    gain: Function,
    damping: Function,
    convergence: Function,
    noise: Function,
    forcing: Function,
}

/// What became of a trial step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gain {
    /// Actual over predicted reduction; NaN where the trial has no cost.
    pub ratio: f64,
    /// Whether the step is taken.
    pub accepted: bool,
    /// What it promises, if it is taken although rounding hides what it brings.
    pub hidden: Option<f64>,
    /// The floor for the next trial.
    pub floor: f64,
    /// The precision's limit, if that is what was met.
    pub end: Option<Termination>,
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
    /// What it promised, where rounding hid what it brought.
    pub hidden: Option<f64>,
}

/// Figures of a trial step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrialFigures {
    /// Cost before less cost at the trial.
    pub change: f64,
    /// The same as predicted.
    pub predicted: f64,
    /// ‖δ‖ of the step made.
    pub step: f64,
    /// ‖x‖ of the coordinates that are no constants.
    pub size: f64,
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

impl Tolerances {
    /// The ε of [`Rules::precision`]: that of the arithmetic, or 0 where no tolerance is set, since such a run is to use up its iterations.
    pub fn epsilon(&self, of_arithmetic: f64) -> f64 {
        let any = self.cost > 0.0 || self.gradient > 0.0 || self.parameter > 0.0;
        if any { of_arithmetic } else { 0.0 }
    }
}

impl Default for Rules {
    fn default() -> Rules {
        Rules::new()
    }
}

impl Rules {
    /// All of them.
    pub fn new() -> Rules {
        Rules { gain: gain(), damping: damping(), convergence: convergence(), noise: noise(), forcing: forcing() }
    }

    /// As functions, to be written for the device.
    pub fn functions(&self) -> [&Function; 5] {
        [&self.noise, &self.gain, &self.damping, &self.convergence, &self.forcing]
    }

    /// Up to which difference two costs near here are the same: from the cost, Σ Dⱼxⱼ² with D the clamped diagonal of J̃ᵀJ̃, how many
    /// residuals there are, and the distance ε from 1 to the next number. With ε = 0 there is no noise, and no precision's limit.
    pub fn noise(&self, cost: f64, scaled_size: f64, residuals: f64, epsilon: f64) -> f64 {
        self.noise.evaluate(0, &[cost, scaled_size, residuals, epsilon])[0]
    }

    /// Whether a trial step is taken.
    pub fn gain(&self, trial: &TrialFigures, noise: f64, floor: f64, epsilon: f64) -> Gain {
        let TrialFigures { change, predicted, step, size } = *trial;
        let results = self.gain.evaluate(0, &[change, predicted, step, size, noise, floor, epsilon]);
        Gain {
            ratio: results[0],
            accepted: results[1] != 0.0,
            hidden: (results[1] > 1.0).then_some(predicted),
            floor: results[2],
            end: Termination::from_code(results[3]),
        }
    }

    /// The trust region after a trial step, and whether it has collapsed.
    pub fn damping(&self, damping: Damping, gain: Gain) -> (Damping, Option<Termination>) {
        let verdict = u8::from(gain.accepted) + u8::from(gain.hidden.is_some());
        let results = self.damping.evaluate(0, &[damping.lambda, damping.growth, gain.ratio, verdict.into()]);
        (Damping { lambda: results[0], growth: results[1] }, Termination::from_code(results[2]))
    }

    /// Whether an accepted step is the last.
    pub fn convergence(&self, progress: &Progress, tolerances: &Tolerances, epsilon: f64) -> Option<Termination> {
        let Progress { cost, change, gradient_max_norm, step, size, hidden } = *progress;
        let (verdict, promise) = hidden.map_or((1.0, 0.0), |promise| (2.0, promise));
        let Tolerances { cost: of_cost, gradient, parameter } = *tolerances;
        let figures =
            [verdict, cost, change, promise, gradient_max_norm, step, size, of_cost, gradient, parameter, epsilon];
        Termination::from_code(self.convergence.evaluate(0, &figures)[0])
    }

    /// Whether the start is the end: only the gradient is judged.
    pub fn convergence_at_start(&self, gradient_max_norm: f64, tolerances: &Tolerances) -> Option<Termination> {
        let progress = Progress { cost: 0.0, change: 0.0, gradient_max_norm, step: 0.0, size: 0.0, hidden: None };
        self.convergence(&progress, &Tolerances { cost: 0.0, parameter: 0.0, ..*tolerances }, 0.0)
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
    let inputs = scalar::inputs(&mut graph);
    let results = formula(&mut graph, inputs);
    scalar::of_graph(name, parameters, graph, &results)
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

/// Rounding x, and what is computed from it, leaves residual i uncertain by about ε Σⱼ|Jᵢⱼxⱼ|, and so the cost by ε‖r‖ times the root
/// mean square of that, where roundings are independent; and by its own. −1 without ε: nothing is below it.
fn noise() -> Function {
    rule("lm_noise", &["cost", "scaled_size", "residuals", "epsilon"], |g, [cost, scaled_size, residuals, epsilon]| {
        let (zero, one, two) = (g.literal(0.0), g.literal(1.0), g.literal(2.0));
        let squares = g.mul(two, cost);
        let norm = g.sqrt(squares);
        let mean = g.div(scaled_size, residuals);
        let spread = g.sqrt(mean);
        let of_residuals = g.mul(norm, spread);
        let roundings = g.literal(ROUNDINGS);
        let of_residuals = g.mul(roundings, of_residuals);
        let sum = g.apply(Op::Max, &[of_residuals, cost]);
        let noise = g.mul(epsilon, sum);
        let none = g.neg(one);
        let judged = g.lt(zero, epsilon);
        [g.select(judged, noise, none)]
    })
}

/// ϱ = actual/predicted, and whether to take the step: Madsen et al., (2.18) and algorithm 3.16; Ceres asks for a least ratio. A step
/// that is refused where its promise is hidden, or that moves nothing that rounding leaves, is the arithmetic's limit; where it met NaN
/// or infinity, the limit is not the arithmetic's.
fn gain() -> Function {
    let parameters = &["change", "predicted", "step", "size", "noise", "floor", "epsilon"];
    rule("lm_gain", parameters, |g, [change, predicted, step, size, noise, floor, epsilon]| {
        let (zero, one, least, huge) = (g.literal(0.0), g.literal(1.0), g.literal(LEAST_GAIN), g.literal(HUGE));
        let ratio = g.div(change, predicted);
        let promise = g.abs(predicted);
        let hidden = g.le(promise, noise);
        let seen = g.sub(one, hidden);
        let descends = g.lt(zero, predicted);
        let magnitude = g.abs(change);
        let finite = g.lt(magnitude, huge);
        let sound = and(g, descends, finite);

        let enough = g.lt(least, ratio);
        let enough = and(g, seen, enough);

        let share = g.literal(LEAST_FALL);
        let half = g.mul(share, floor);
        let falls = g.le(predicted, half);
        let moves = g.lt(zero, step);
        let loss = g.neg(change);
        let harmless = g.le(loss, noise);
        let faint = and(g, hidden, falls);
        let faint = and(g, faint, moves);
        let faint = and(g, faint, harmless);

        let by_cost = and(g, sound, enough);
        let by_model = and(g, sound, faint);
        let doubled = g.add(by_model, by_model);
        let verdict = g.add(by_cost, doubled);
        let floor = g.select(by_model, predicted, floor);

        let least_step = g.mul(epsilon, size);
        let still = g.le(step, least_step);
        let hopeless = or(g, hidden, still);
        let taken = or(g, by_cost, by_model);
        let refused = g.sub(one, taken);
        let judged = g.lt(zero, epsilon);
        let over = and(g, refused, hopeless);
        let over = and(g, over, judged);
        let limit = g.literal(Termination::PrecisionLimit.code());
        let lost = g.literal(Termination::NonFinite.code());
        let end = g.select(finite, limit, lost);
        [ratio, verdict, floor, g.select(over, end, zero)]
    })
}

/// λ and ν: Nielsen's rule, Madsen et al., (2.21) and algorithm 3.16; λ·max(⅓, 1 − (2ϱ − 1)³) after a step, λν and 2ν
/// without one.
fn damping() -> Function {
    rule("lm_damping", &["lambda", "growth", "ratio", "verdict"], |g, [lambda, growth, ratio, verdict]| {
        let (one, two, third) = (g.literal(1.0), g.literal(2.0), g.literal(1.0 / 3.0));
        let doubled = g.mul(two, ratio);
        let centred = g.sub(doubled, one);
        let square = g.mul(centred, centred);
        let cube = g.mul(square, centred);
        let slack = g.sub(one, cube);
        let shrink = g.apply(Op::Max, &[third, slack]);
        // A ratio of rounding errors says nothing.
        let hidden = g.lt(one, verdict);
        let shrink = g.select(hidden, third, shrink);
        let factor = g.select(verdict, shrink, growth);
        let scaled = g.mul(lambda, factor);
        let least = g.literal(MIN_DAMPING);
        let lambda = g.apply(Op::Max, &[scaled, least]);
        let faster = g.mul(two, growth);
        let initial = g.literal(INITIAL_GROWTH);
        let growth = g.select(verdict, initial, faster);
        let most = g.literal(MAX_DAMPING);
        let beyond = g.lt(most, lambda);
        let code = g.literal(Termination::TrustRegionCollapsed.code());
        let goes_on = g.literal(0.0);
        [lambda, growth, g.select(beyond, code, goes_on)]
    })
}

/// Whether a tolerance is on, and no less than what can be met.
fn judges(g: &mut Graph, tolerance: NodeId, least: NodeId) -> NodeId {
    let zero = g.literal(0.0);
    let (on, met) = (g.lt(zero, tolerance), g.le(least, tolerance));
    and(g, on, met)
}

/// The gradient's max norm, the cost's relative change, the step's relative length, in this order: Ceres' GradientToleranceReached,
/// FunctionToleranceReached and ParameterToleranceReached. A gradient of exactly 0 is convergence at any tolerance.
fn convergence() -> Function {
    let parameters = &[
        "verdict",
        "cost",
        "change",
        "promise",
        "gradient",
        "step",
        "size",
        "cost_tolerance",
        "gradient_tolerance",
        "parameter_tolerance",
        "epsilon",
    ];
    rule(
        "lm_convergence",
        parameters,
        |g, [verdict, cost, change, promise, gradient, step, size, of_cost, of_gradient, of_parameters, epsilon]| {
            let (zero, one) = (g.literal(0.0), g.literal(1.0));
            // Where the change is rounding, the promise is judged, if such a tolerance can be met at all.
            let hidden = g.lt(one, verdict);
            let change = g.select(hidden, promise, change);
            let roundings = g.literal(ROUNDINGS);
            let least = g.mul(roundings, epsilon);
            let least = g.mul(hidden, least);
            let flat = g.le(gradient, of_gradient);

            let (change, cost) = (g.abs(change), g.abs(cost));
            let share = g.mul(of_cost, cost);
            let small_change = g.le(change, share);
            let judged = judges(g, of_cost, least);
            let settled = and(g, judged, small_change);

            let length = g.add(size, of_parameters);
            let share = g.mul(of_parameters, length);
            let small_step = g.le(step, share);
            let judged = judges(g, of_parameters, least);
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
#[path = "rules_tests.rs"]
mod tests;
