//! The scalar rules of Levenberg-Marquardt, each once: graphs that hosts evaluate in f64 and that shaders contain as generated functions.
//!
//! | function | takes | gives |
//! |---|---|---|
//! | `lm_noise` | cost, Σ Dⱼxⱼ², number of residuals, ε | rounding noise of the cost |
//! | `lm_cosine` | max |gⱼ|/√Dⱼ, cost | the gradient's cosine |
//! | `lm_gain` | numbers of a trial step, the noise, the floor | gain ratio, verdict, floor, end |
//! | `lm_damping` | λ, ν, gain ratio, verdict | λ, ν, end |
//! | `lm_convergence` | numbers of an accepted step, tolerances | end |
//! | `lm_minimum` | promise of the undamped model, numbers of the point | whether it is a minimum, whether rounding leaves no more, whether rounding is too small to hide one that counts, and whether it is a minimum where no step leads on |
//! | `lm_dogleg` | radius; lengths and product of Cauchy and Gauss-Newton step | their shares in the step |
//! | `lm_radius` | radius, numbers of a trial step, gain ratio, verdict | radius |
//! | `lm_forcing` | gradient norms, last forcing term, ceiling | forcing term η of the linear solver |
//!
//! An *end* is a number: 0 to continue, or [`Termination::code`]. Truths are 0 and 1. Any input may be infinite or NaN: NaN is never progress,
//! and never convergence.
//!
//! # Units
//!
//! Every rule takes ratios of numbers of one unit, so that no decision depends on the unit of the residuals or of a parameter. Lengths of
//! steps and points are ‖√D·‖ with D the diagonal of J̃ᵀJ̃: the column norms of J̃ give each parameter its unit.
//!
//! - The *cosine* is max |gⱼ| / (‖J̃ⱼ‖ √(2F)), the largest cosine between r̃ and a column of J̃ (MINPACK's gtol). With a robust loss √(2F)
//!   stands for ‖r̃‖. Its square is the share of the cost that one parameter alone can still remove.
//! - A damped step is short because of its damping. The tests therefore judge the *extended* step, which ends at the minimum of the model along
//!   the same direction: t = −δ̄ᵀg / ‖J̃δ̄‖² times as long, with the predicted reduction −½ t δ̄ᵀg.
//!
//! - A tolerance below what the arithmetic can tell counts as that. One of the cost up to [`ALL_DIGITS`](constants::ALL_DIGITS) counts as the least, too: the
//!   gradient shows the way for longer than the cost does.
//!
//! # Rounding
//!
//! A *verdict* is 0 for a rejected step, 1 for a step that is accepted for its reduction, and 2 for a *hidden* step: its predicted reduction is
//! within the noise, and it is accepted for that prediction. Near a minimum the gradient still shows the way when the cost does not. The
//! predicted reduction of a hidden step must be at most half of the last hidden one's, the *floor*, so that there are few of them; and the cost
//! tolerance judges the predicted reduction alone.
//!
//! A step that is rejected although it is hidden is the last: rounding shows no more progress. It is convergence where the residuals are
//! rounding errors themselves, or where the extended step promises no more than noise and the cosine is at most [`SETTLED`](constants::SETTLED), or no more
//! than its own rounding, which is that of the cost relative to it, if that is at most [`MOST_NOISE`](constants::MOST_NOISE). It is a collapse
//! of the trust region where the cosine is above [`STEEP`](constants::STEEP) and its square promises more than noise, or the step is rejected
//! although it is not hidden and too short for the arithmetic: derivatives and values do not agree. Otherwise it is the limit of precision.
//!
//! The trust region is that of H. B. Nielsen, *Damping parameter in Marquardt's method* (1999), also in K. Madsen, H. B. Nielsen and
//! O. Tingleff, *Methods for Non-Linear Least Squares Problems* (2004), section 3.2; the tests of convergence are those of MINPACK
//! (J. J. Moré, B. S. Garbow and K. E. Hillstrom, *User guide for MINPACK-1*, 1980, lmder), on extended steps.

mod constants;
mod graphs;

pub use constants::{
    EXACT_GAIN, GROWTH, GROWTH_AFTER_REJECTION, HALF_A_UNIT, INITIAL_GROWTH, LEAST_FALL_OF_COLUMN, LEAST_PROMISE,
    LEFT_OF_GRADIENT, LEFT_OF_TOLERANCE, MAX_DAMPING, MIN_DAMPING, MOST_LOSSES, NO_FLOOR, NOISES, POOR_GAIN, ROUNDINGS,
};

use std::rc::Rc;

use super::scalar::evaluate;
use super::summary::Termination;
use residua_codegen::Function;
pub use residua_linalg::loops::damped;

/// The rules, ready to be evaluated.
#[derive(Clone, Debug)]
pub struct Rules {
    gain: Function,
    damping: Function,
    convergence: Function,
    noise: Function,
    cosine: Function,
    forcing: Function,
    dogleg: Function,
    radius: Function,
    minimum: Function,
}

/// The verdict on a trial step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gain {
    /// Reduction over predicted reduction; NaN where the trial has no cost.
    pub ratio: f64,
    /// Whether the step is accepted.
    pub accepted: bool,
    /// Whether it is accepted as a hidden step.
    pub hidden: bool,
    /// The floor for the next trial.
    pub floor: f64,
    /// The end, if no later step can be accepted.
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
    /// The gradient's cosine after the step.
    pub cosine: f64,
    /// The step.
    pub trial: TrialStep,
    /// Whether it was accepted as a hidden step.
    pub is_hidden: bool,
}

/// The numbers of a trial step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrialStep {
    /// The reduction: cost before minus cost at the trial point.
    pub change: f64,
    /// The predicted reduction.
    pub predicted: f64,
    /// −δ̄ᵀg
    pub descent: f64,
    /// ‖√D δ̄‖ of the projected step.
    pub step: f64,
    /// ‖√D x‖ of the coordinates that are not frozen.
    pub size: f64,
    /// Whether the linear system was solved as exactly as asked for.
    pub is_complete: bool,
}

/// The numbers of the point that a trial step starts from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PointBefore {
    /// The cost, and its rounding noise.
    pub cost: f64,
    /// See [`Rules::noise`].
    pub noise: f64,
    /// The gradient's cosine.
    pub cosine: f64,
    /// The floor of hidden steps.
    pub floor: f64,
}

/// The tolerances; 0 switches a test off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerances {
    /// Of the cost's relative reduction, predicted and actual.
    pub cost: f64,
    /// Of the gradient's cosine.
    pub gradient: f64,
    /// Of the step's relative length, in units of the columns of J̃.
    pub parameter: f64,
}

impl Tolerances {
    /// The ε of the rules: the distance from 1 to the next number of the arithmetic, or 0 where no tolerance is set, since such a run uses
    /// its iterations up.
    pub fn epsilon(&self, of_arithmetic: f64) -> f64 {
        let any = self.cost > 0.0 || self.gradient > 0.0 || self.parameter > 0.0;
        if any { of_arithmetic } else { 0.0 }
    }

    /// Cost, gradient and step in single precision. A test that is on stays on: devices may take subnormal numbers for 0.
    pub fn in_single_precision(&self) -> [f32; 3] {
        [self.cost, self.gradient, self.parameter].map(|tolerance| match tolerance > 0.0 {
            true => (tolerance as f32).max(f32::MIN_POSITIVE),
            false => 0.0,
        })
    }
}

impl Gain {
    /// What `lm_gain` takes.
    pub fn arguments(point: &PointBefore, trial: &TrialStep, epsilon: f64) -> [f64; 10] {
        let PointBefore { cost, noise, cosine, floor } = *point;
        let TrialStep { change, predicted, descent, step, size, .. } = *trial;
        [change, predicted, descent, step, size, cost, cosine, noise, floor, epsilon]
    }

    /// From what it gives.
    pub fn of([ratio, verdict, floor, end]: [f64; 4]) -> Gain {
        let end = Termination::from_code(end);
        Gain { ratio, accepted: verdict != 0.0, hidden: verdict > 1.0, floor, end }
    }

    /// What `lm_radius` takes.
    pub fn arguments_of_radius(&self, radius: f64, length: f64, change: f64, growth: f64) -> [f64; 6] {
        let verdict = u8::from(self.accepted) + u8::from(self.hidden);
        [radius, length, change, growth, self.ratio, verdict.into()]
    }
}

impl Damping {
    /// What `lm_damping` takes.
    pub fn arguments(self, gain: Gain) -> [f64; 4] {
        let verdict = u8::from(gain.accepted) + u8::from(gain.hidden);
        [self.lambda, self.growth, gain.ratio, verdict.into()]
    }

    /// From what it gives, with the end if the trust region has collapsed.
    pub fn of([lambda, growth, end, _]: [f64; 4]) -> (Damping, Option<Termination>) {
        (Damping { lambda, growth }, Termination::from_code(end))
    }
}

impl AcceptedStep {
    /// The start, of which only the gradient is judged.
    pub fn at_start(cosine: f64) -> AcceptedStep {
        let trial = TrialStep { change: 0.0, predicted: 0.0, descent: 0.0, step: 0.0, size: 0.0, is_complete: false };
        AcceptedStep { cost: 0.0, cosine, trial, is_hidden: false }
    }

    /// What `lm_convergence` takes.
    pub fn arguments(&self, tolerances: &Tolerances, epsilon: f64) -> [f64; 13] {
        let AcceptedStep { cost, cosine, trial, is_hidden } = *self;
        let TrialStep { change, predicted, descent, step, size, is_complete } = trial;
        let verdict = 1.0 + f64::from(u8::from(is_hidden));
        let complete = f64::from(u8::from(is_complete));
        let Tolerances { cost: of_cost, gradient, parameter } = *tolerances;
        [verdict, complete, cost, change, predicted, descent, cosine, step, size, of_cost, gradient, parameter, epsilon]
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
        Rules {
            gain: graphs::gain(),
            damping: graphs::damping(),
            convergence: graphs::convergence(),
            noise: graphs::noise(),
            cosine: graphs::cosine(),
            forcing: graphs::forcing(),
            dogleg: graphs::dogleg(),
            radius: graphs::radius(),
            minimum: graphs::minimum(),
        }
    }

    /// All of them, made once: a small solve takes no longer than to make them.
    pub fn shared() -> Rc<Rules> {
        thread_local! {
            static RULES: Rc<Rules> = Rc::new(Rules::new());
        }
        RULES.with(Rc::clone)
    }

    /// Those that single solves on the device take.
    pub fn functions(&self) -> [&Function; 7] {
        [&self.noise, &self.cosine, &self.gain, &self.damping, &self.convergence, &self.forcing, &self.minimum]
    }

    /// Those that many problems on the host take.
    pub fn of_many(&self) -> [&Function; 5] {
        [&self.noise, &self.cosine, &self.gain, &self.radius, &self.convergence]
    }

    /// Those that the kernel of many problems takes.
    pub fn of_kernel(&self) -> [&Function; 6] {
        [&self.noise, &self.cosine, &self.gain, &self.radius, &self.convergence, &self.minimum]
    }

    /// The largest difference of two costs near here that rounding explains: from the cost, Σ Dⱼxⱼ² with D the diagonal of J̃ᵀJ̃, the
    /// number of residuals, and the distance ε from 1 to the next number. With ε = 0 there is no noise, and precision is no end.
    pub fn noise(&self, cost: f64, scaled_size: f64, residuals: f64, epsilon: f64) -> f64 {
        evaluate::<4>(&self.noise, &[cost, scaled_size, residuals, epsilon])[0]
    }

    /// The largest cosine between r̃ and a column of J̃, from the largest |gⱼ|/√Dⱼ and the cost; 0 where the gradient is 0.
    pub fn cosine(&self, scaled_gradient: f64, cost: f64) -> f64 {
        evaluate::<4>(&self.cosine, &[scaled_gradient, cost])[0]
    }

    /// The verdict on a trial step.
    pub fn gain(&self, point: &PointBefore, trial: &TrialStep, epsilon: f64) -> Gain {
        Gain::of(evaluate(&self.gain, &Gain::arguments(point, trial, epsilon)))
    }

    /// The trust region after a verdict, and the end if it has collapsed.
    pub fn damping(&self, damping: Damping, gain: Gain) -> (Damping, Option<Termination>) {
        Damping::of(evaluate(&self.damping, &damping.arguments(gain)))
    }

    /// The end that an accepted step meets.
    pub fn convergence(&self, accepted: &AcceptedStep, tolerances: &Tolerances, epsilon: f64) -> Option<Termination> {
        Termination::from_code(evaluate::<4>(&self.convergence, &accepted.arguments(tolerances, epsilon))[0])
    }

    /// The end that the start meets: only its gradient is judged.
    pub fn convergence_at_start(&self, cosine: f64, tolerances: &Tolerances, epsilon: f64) -> Option<Termination> {
        self.convergence(&AcceptedStep::at_start(cosine), tolerances, epsilon)
    }

    /// The shares of the Cauchy step and of the Gauss-Newton step in the step of the dogleg, from the radius, their lengths and their product.
    pub fn dogleg(&self, radius: f64, cauchy: f64, gauss_newton: f64, product: f64) -> [f64; 2] {
        let results = self.dogleg.evaluate(0, &[radius, cauchy, gauss_newton, product]);
        [results[0], results[1]]
    }

    /// The radius after a verdict on a step of that length, which may grow to `growth` lengths.
    pub fn radius(&self, radius: f64, length: f64, change: f64, growth: f64, gain: Gain) -> f64 {
        self.radius.evaluate(0, &gain.arguments_of_radius(radius, length, change, growth))[0]
    }

    /// The share of its residual that the linear solver may leave. The norms are ‖D^(−½)g‖;
    /// `previous_norm` is that of the last point, 0 at the start.
    pub fn forcing(&self, gradient_norm: f64, previous_norm: f64, previous: f64, ceiling: f64) -> f64 {
        evaluate::<4>(&self.forcing, &[gradient_norm, previous_norm, previous, ceiling])[0]
    }
}

#[cfg(test)]
mod tests;
