//! The scalar rules of Levenberg-Marquardt, each once: graphs that hosts evaluate in f64 and that shaders contain as generated functions.
//!
//! | function | takes | gives |
//! |---|---|---|
//! | `lm_noise` | cost, Σ Dⱼxⱼ², number of residuals, ε | rounding noise of the cost |
//! | `lm_gain` | numbers of a trial step, the noise, the floor | gain ratio, verdict, floor, end |
//! | `lm_damping` | λ, ν, gain ratio, verdict | λ, ν, end |
//! | `lm_convergence` | numbers of an accepted step, tolerances | end |
//! | `lm_forcing` | gradient norms, last forcing term, ceiling | forcing term η of the linear solver |
//!
//! An *end* is a number: 0 to continue, or [`Termination::code`]. Truths are 0 and 1. Any input may be infinite or NaN: NaN is never progress,
//! and never convergence.
//!
//! A *verdict* is 0 for a rejected step, 1 for a step that is accepted for its reduction, and 2 for a *hidden* step: its predicted reduction is
//! within the noise, and it is accepted for that prediction. Near a minimum the gradient still shows the way when the cost does not. The
//! predicted reduction of a hidden step must be at most half of the last hidden one's, the *floor*, so that there are few of them; and the cost
//! tolerance judges the predicted reduction instead of the reduction.
//!
//! The scale D of the damping is the rule [`damping_scale`]; its parameter is what is kept of earlier points.
//!
//! The trust region is that of H. B. Nielsen, *Damping parameter in Marquardt's method* (1999), also in K. Madsen, H. B. Nielsen and
//! O. Tingleff, *Methods for Non-Linear Least Squares Problems* (2004), section 3.2; its constants, and the tests of convergence,
//! are those of Ceres Solver (levenberg_marquardt_strategy.cc, trust_region_minimizer.cc).

use super::scalar;
use super::summary::Termination;
use residua_codegen::Function;
use residua_ir::graph::{Graph, NodeId, Op};

/// Lower bound of λ: Ceres' max_trust_region_radius, 10¹⁶, inverted.
pub const MIN_DAMPING: f64 = 1e-16;
/// λ above this is the end: Ceres' min_trust_region_radius, inverted.
pub const MAX_DAMPING: f64 = 1e32;
/// The least diagonal entry of JᵀJ that damping is scaled by: Ceres' min_lm_diagonal.
pub const MIN_DIAGONAL: f64 = 1e-6;
/// The largest: Ceres' max_lm_diagonal.
pub const MAX_DIAGONAL: f64 = 1e32;
/// ν at the start and after each accepted step: the factor by which the next rejected step raises λ.
pub const INITIAL_GROWTH: f64 = 2.0;
/// A step is accepted if its gain ratio is above this: Ceres' min_relative_decrease.
const LEAST_GAIN: f64 = 1e-3;
/// A cost is uncertain by so many times the rounding of its residuals, taken as independent.
const ROUNDINGS: f64 = 4.0;
/// The largest share of the floor that the predicted reduction of a hidden step may have.
const LEAST_FALL: f64 = 0.5;
/// The floor before any hidden step: above every predicted reduction, in f32 too.
pub const NO_FLOOR: f64 = 3e38;

/// The entry of D for a coordinate: its diagonal entry of J̃ᵀJ̃ within [`MIN_DIAGONAL`] and [`MAX_DIAGONAL`], and not below `kept`.
///
/// `kept` is the largest entry so far. With the present diagonal alone, a column of J̃ that nearly vanishes on the way loses its damping, and the
/// step is all in its direction (J. J. Moré, "The Levenberg-Marquardt algorithm: implementation and theory", in: Numerical Analysis,
/// LNM 630, 1978, section 6). Many small problems keep nothing, as Ceres does: `kept` is 0 there.
///
/// Shaders compute it with `clamp` and `max`, and [`rescale`] for all coordinates at once.
pub fn damping_scale(diagonal: f64, kept: f64) -> f64 {
    diagonal.clamp(MIN_DIAGONAL, MAX_DIAGONAL).max(kept)
}

/// Raises `scale`, at first 0, to [`damping_scale`] of the coordinates that are not frozen; gives λ times the scales in `damping`.
pub fn rescale(lambda: f64, diagonal: &[f64], frozen: &[bool], scale: &mut [f64], damping: &mut Vec<f64>) {
    damping.resize(scale.len(), 0.0);
    residua_linalg::loops::rescale([MIN_DIAGONAL, MAX_DIAGONAL], lambda, diagonal, frozen, scale, damping);
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

/// The verdict on a trial step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gain {
    /// Reduction over predicted reduction; NaN where the trial has no cost.
    pub ratio: f64,
    /// Whether the step is accepted.
    pub accepted: bool,
    /// The predicted reduction of a hidden step.
    pub hidden: Option<f64>,
    /// The floor for the next trial.
    pub floor: f64,
    /// The end, if precision is exhausted.
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

/// The numbers of an accepted step that convergence is judged by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AcceptedStep {
    /// Cost before the step.
    pub cost: f64,
    /// Cost before minus cost after.
    pub change: f64,
    /// Largest magnitude in the gradient's coordinates that are not frozen, after the step.
    pub gradient_max_norm: f64,
    /// ‖δ̄‖ of the projected step.
    pub step: f64,
    /// ‖x‖ of the coordinates that are not constant, before the step.
    pub size: f64,
    /// The predicted reduction of a hidden step.
    pub hidden: Option<f64>,
}

/// The numbers of a trial step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrialStep {
    /// The reduction: cost before minus cost at the trial point.
    pub change: f64,
    /// The predicted reduction.
    pub predicted: f64,
    /// ‖δ̄‖ of the projected step.
    pub step: f64,
    /// ‖x‖ of the coordinates that are not constant.
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
    /// The ε of the rules: the distance from 1 to the next number of the arithmetic, or 0 where no tolerance is set, since such a run uses
    /// its iterations up.
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

    /// As functions, for shaders.
    pub fn functions(&self) -> [&Function; 5] {
        [&self.noise, &self.gain, &self.damping, &self.convergence, &self.forcing]
    }

    /// The largest difference of two costs near here that rounding explains: from the cost, Σ Dⱼxⱼ² with D the clamped diagonal of J̃ᵀJ̃, the
    /// number of residuals, and the distance ε from 1 to the next number. With ε = 0 there is no noise, and precision is no end.
    pub fn noise(&self, cost: f64, scaled_size: f64, residuals: f64, epsilon: f64) -> f64 {
        self.noise.evaluate(0, &[cost, scaled_size, residuals, epsilon])[0]
    }

    /// The verdict on a trial step.
    pub fn gain(&self, trial: &TrialStep, noise: f64, floor: f64, epsilon: f64) -> Gain {
        let TrialStep { change, predicted, step, size } = *trial;
        let results = self.gain.evaluate(0, &[change, predicted, step, size, noise, floor, epsilon]);
        Gain {
            ratio: results[0],
            accepted: results[1] != 0.0,
            hidden: (results[1] > 1.0).then_some(predicted),
            floor: results[2],
            end: Termination::from_code(results[3]),
        }
    }

    /// The trust region after a verdict, and the end if it has collapsed.
    pub fn damping(&self, damping: Damping, gain: Gain) -> (Damping, Option<Termination>) {
        let verdict = u8::from(gain.accepted) + u8::from(gain.hidden.is_some());
        let results = self.damping.evaluate(0, &[damping.lambda, damping.growth, gain.ratio, verdict.into()]);
        (Damping { lambda: results[0], growth: results[1] }, Termination::from_code(results[2]))
    }

    /// The end that an accepted step meets.
    pub fn convergence(&self, step: &AcceptedStep, tolerances: &Tolerances, epsilon: f64) -> Option<Termination> {
        let AcceptedStep { cost, change, gradient_max_norm, step, size, hidden } = *step;
        let (verdict, predicted) = hidden.map_or((1.0, 0.0), |predicted| (2.0, predicted));
        let Tolerances { cost: of_cost, gradient, parameter } = *tolerances;
        let arguments =
            [verdict, cost, change, predicted, gradient_max_norm, step, size, of_cost, gradient, parameter, epsilon];
        Termination::from_code(self.convergence.evaluate(0, &arguments)[0])
    }

    /// The end that the start meets: only its gradient is judged.
    pub fn convergence_at_start(&self, gradient_max_norm: f64, tolerances: &Tolerances) -> Option<Termination> {
        let start = AcceptedStep { cost: 0.0, change: 0.0, gradient_max_norm, step: 0.0, size: 0.0, hidden: None };
        self.convergence(&start, &Tolerances { cost: 0.0, parameter: 0.0, ..*tolerances }, 0.0)
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

/// Above every finite number but the last in f64; in f32 it is infinity.
const HUGE: f64 = f64::MAX;

/// Rounding of x, and of what is computed from it, leaves residual i uncertain by about ε Σⱼ|Jᵢⱼxⱼ|, and so the cost by ε‖r‖ times the root
/// mean square of that if roundings are independent; and by its own rounding. −1 without ε, since nothing is below that.
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

/// ϱ = reduction/predicted reduction, and the verdict: Madsen et al., (2.18) and algorithm 3.16; Ceres asks for a least ratio. A step that is
/// rejected although its predicted reduction is hidden, or that is too short for the arithmetic, is the limit of precision; if it met NaN or
/// infinity, the end is that instead.
fn gain() -> Function {
    let parameters = &["change", "predicted", "step", "size", "noise", "floor", "epsilon"];
    rule("lm_gain", parameters, |g, [change, predicted, step, size, noise, floor, epsilon]| {
        let (zero, one, least, huge) = (g.literal(0.0), g.literal(1.0), g.literal(LEAST_GAIN), g.literal(HUGE));
        let ratio = g.div(change, predicted);
        let magnitude = g.abs(predicted);
        let hidden = g.le(magnitude, noise);
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
        let accepted = or(g, by_cost, by_model);
        let rejected = g.sub(one, accepted);
        let judged = g.lt(zero, epsilon);
        let over = and(g, rejected, hopeless);
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
        // The ratio of a hidden step is one of rounding errors.
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

/// Whether a tolerance is on, and not below what can be met.
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
        "predicted",
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
        |g, [verdict, cost, change, predicted, gradient, step, size, of_cost, of_gradient, of_parameters, epsilon]| {
            let (zero, one) = (g.literal(0.0), g.literal(1.0));
            // Of a hidden step the predicted reduction is judged, if such a tolerance can be met at all.
            let hidden = g.lt(one, verdict);
            let change = g.select(hidden, predicted, change);
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
        // The ceiling also replaces NaN.
        let below = g.lt(term, ceiling);
        let term = g.select(below, term, ceiling);
        let follows = g.lt(zero, previous_norm);
        [g.select(follows, term, ceiling)]
    })
}

#[cfg(test)]
#[path = "rules_tests.rs"]
mod tests;
