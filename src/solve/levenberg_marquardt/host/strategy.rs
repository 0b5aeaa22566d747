//! The strategy of a run: the radius Δ and its scale D, the forcing term of the linear solver, the verdict on a trial step and the test of convergence. It
//! applies [`crate::solve::rules`] to the numbers of the loop and keeps what they carry from one step to the next.

use std::rc::Rc;

use crate::solve::findings::Finding;
use crate::solve::options::LevenbergMarquardtOptions;
use crate::solve::rules::{self, AcceptedStep, Gain, PointBefore, Rules, Tolerances, TrialStep};
use crate::solve::summary::Termination;

use super::ARITHMETIC;
use super::phase::Trial;
use crate::solve::levenberg_marquardt::point;
pub(super) use crate::solve::levenberg_marquardt::point::Linearised;
use residua_base::list::PushAll;

/// A damping is at least so many times one with which a linear system had no solution.
const LEAST_SOLVABLE: f64 = 2.0;

/// And at least this: where a system of some thousand coordinates has no solution with less, its smallest pivots are rounding errors.
const LEAST_AFTER_TROUBLE: f64 = 1e-12;

/// Damping of a column in the unit of the largest is at most this share of its square.
const MOST_OF_COLUMN: f64 = 1e-8;

/// ‖Dx‖ below this share of ‖D⁻¹g‖ is that of parameters that do not matter.
const LEAST_SIZE: f64 = 1e-8;

/// Δ, D and the forcing term of a run.
pub(super) struct Strategy {
    pub(super) rules: Rc<Rules>,
    tolerances: Tolerances,
    /// D²: the largest diagonal entry of J̃ᵀJ̃ so far of each coordinate, but for what it may fall.
    pub(super) scale: Vec<f64>,
    /// The cost where D was last raised.
    pub(super) cost: f64,
    /// Δ; infinite before the first step.
    pub(super) radius: f64,
    /// Whether a step from the present point was rejected.
    has_rejected: bool,
    /// Predicted reductions of steps that rounding hides are less than half of this.
    floor: f64,
    /// η of the present point, and its ceiling.
    forcing: f64,
    forcing_ceiling: f64,
    /// ‖D⁻¹g‖ where η was chosen.
    gradient_norm: f64,
    /// Linear systems are damped by so much of their diagonal: with less, one had no solution.
    least_damping: f64,
    damping: Vec<f64>,
    /// How many systems had none.
    unsolved: u32,
    /// Σ e² of the residuals' errors at the present point, and whether these or errors of derivatives may
    /// explain all effect of parameters.
    pub(super) noise: f64,
    pub(super) hides: bool,
}

impl Strategy {
    /// The strategy at the start of a run over `n` coordinates.
    pub(super) fn new(n: usize, options: &LevenbergMarquardtOptions) -> Strategy {
        let solve = &options.solve;
        Strategy {
            rules: Rules::shared(),
            tolerances: Tolerances {
                cost: solve.cost_tolerance,
                gradient: solve.gradient_tolerance,
                parameter: solve.parameter_tolerance,
            },
            scale: vec![0.0; n],
            cost: f64::INFINITY,
            radius: f64::INFINITY,
            has_rejected: false,
            floor: rules::NO_FLOOR,
            forcing: options.linear_tolerance,
            forcing_ceiling: options.linear_tolerance,
            gradient_norm: 0.0,
            least_damping: rules::MIN_DAMPING,
            damping: Vec::new(),
            unsolved: 0,
            noise: 0.0,
            hides: false,
        }
    }

    /// η, the share of its residual that the linear solver may leave.
    pub(super) fn forcing(&self) -> f64 {
        self.forcing
    }

    /// What keeps linear systems solvable.
    pub(super) fn damping(&self) -> &[f64] {
        &self.damping
    }

    /// Takes the diagonal of J̃ᵀJ̃, the cost and ‖D⁻¹g‖ at a new point.
    pub(super) fn enter_point(&mut self, diagonal: &[f64], cost: f64, gradient_norm: f64) {
        point::follow(&mut self.scale, diagonal.iter().copied(), cost / self.cost);
        self.cost = cost;
        self.damp(diagonal);
        self.forcing = self.rules.forcing(gradient_norm, self.gradient_norm, self.forcing, self.forcing_ceiling);
        self.gradient_norm = gradient_norm;
        self.has_rejected = false;
    }

    /// The first radius: ‖Dx‖ (Moré 1978). Where the parameters that matter are 0 it is as good as 0, and ‖D⁻¹g‖ takes its place, the length of a step along
    /// one column.
    pub(super) fn begin(&mut self, size: f64, gradient_norm: f64) {
        let length = if size > LEAST_SIZE * gradient_norm { size } else { gradient_norm };
        self.radius = if length > 0.0 { length } else { f64::INFINITY };
    }

    /// Raises the damping, with which a linear system had no solution.
    pub(super) fn raise_damping(&mut self, diagonal: &[f64]) {
        self.least_damping = (LEAST_SOLVABLE * self.least_damping).max(LEAST_AFTER_TROUBLE);
        self.unsolved += 1;
        self.damp(diagonal);
    }

    /// Damping, which in a system that leaves directions open chooses among its steps: the shortest one in a unit for all coordinates, as far as columns allow.
    /// The shortest by columns would move points most in directions to which residuals are not sensitive yet, as across a straight chain.
    fn damp(&mut self, diagonal: &[f64]) {
        let least = self.least_damping;
        let largest = if self.unsolved > 0 { diagonal.iter().copied().fold(0.0, f64::max) } else { 0.0 };
        let damped = |&diagonal: &f64| {
            let of_all = (least * largest).min(MOST_OF_COLUMN * diagonal);
            rules::damped(least, diagonal).max(of_all)
        };
        self.damping.clear();
        self.damping.push_all(diagonal.iter().map(damped));
    }

    /// Lengthens the radius after a step of that length, which met a tolerance although the model promises more.
    pub(super) fn go_on(&mut self, length: f64) {
        self.radius = self.radius.max(point::GROWTH_AFTER_SHORT_STEP * length);
    }

    /// The gradient's cosine, from the largest |gⱼ|/‖J̃ⱼ‖ of the coordinates that are not frozen.
    pub(super) fn cosine(&self, scaled_gradient: f64, influence: f64) -> f64 {
        self.rules.cosine(scaled_gradient, influence)
    }

    /// The verdict on a trial step from a linearised point.
    pub(super) fn gain(&self, linearised: Linearised, trial: &TrialStep) -> Gain {
        let noise = self.noise(linearised);
        let Linearised { influence: cost, cosine, .. } = linearised;
        self.rules.gain(&PointBefore { cost, noise, cosine, floor: self.floor }, trial, self.epsilon())
    }

    fn noise(&self, linearised: Linearised) -> f64 {
        let rounding = self.rounding_of_cost(linearised);
        if rounding > 0.0 { rounding.max(point::noise_of_cost(self.noise, linearised)) } else { rounding }
    }

    /// Whether rounding leaves digits of a reduction.
    pub(super) fn shows(&self, linearised: Linearised, predicted: f64) -> bool {
        predicted > self.noise(linearised)
    }

    fn rounding_of_cost(&self, linearised: Linearised) -> f64 {
        let Linearised { cost, residuals, scaled_size, .. } = linearised;
        self.rules.noise(cost, scaled_size, residuals, self.epsilon())
    }

    /// Whether the errors of the residuals leave it to be told which promise is that of a minimum.
    fn tells(&self, linearised: Linearised) -> bool {
        let most = point::MOST_NOISE * linearised.variance() * linearised.residuals;
        // Residuals that are no more than rounding are a minimum whatever noise they have had.
        (!self.hides && self.noise <= most) || linearised.cost <= self.rounding_of_cost(linearised)
    }

    /// The largest promise of a point that is a minimum.
    pub(super) fn least_promise(&self, linearised: Linearised) -> f64 {
        if !self.tells(linearised) {
            return f64::NEG_INFINITY;
        }
        linearised.least_promise(self.rounding(linearised))
    }

    /// The same where steps converge quadratically, so that what is left may have the digits of a step more.
    pub(super) fn tolerable_promise(&self, linearised: Linearised, is_exact: bool) -> f64 {
        // Nor do steps by noisy derivatives.
        let tolerance = if is_exact && self.noise == 0.0 { self.tolerances.cost } else { 0.0 };
        if !self.tells(linearised) {
            return f64::NEG_INFINITY;
        }
        linearised.tolerable_promise(self.rounding(linearised), tolerance)
    }

    /// What rounding of the residuals leaves of a promise.
    pub(super) fn rounding(&self, linearised: Linearised) -> f64 {
        let rounding = linearised.rounding(self.noise(linearised), self.epsilon());
        rounding.max(point::noise_of_promise(self.noise, linearised))
    }

    /// That there were systems without a solution.
    pub(super) fn trouble(&self) -> Option<Finding> {
        let (systems, damping) = (self.unsolved, self.least_damping);
        (systems > 0).then_some(Finding::Unsolved { systems, damping })
    }

    /// Applies a verdict on a step of that length to the radius.
    pub(super) fn update(&mut self, gain: Gain, trial: &Trial) {
        self.floor = gain.floor;
        let growth = if self.has_rejected { rules::GROWTH_AFTER_REJECTION } else { rules::GROWTH };
        self.radius = self.rules.radius(self.radius, trial.length, trial.change, growth, gain);
        self.has_rejected |= !gain.accepted;
    }

    /// The verdict that rejects a trial step instead of `gain`.
    pub(super) fn rejection(&self, gain: Gain) -> Gain {
        Gain { accepted: false, hidden: false, floor: self.floor, ..gain }
    }

    /// The tolerance that the start meets.
    pub(super) fn stops_at_start(&self, cosine: f64) -> Option<Termination> {
        self.rules.convergence_at_start(cosine, &self.tolerances, self.epsilon())
    }

    /// The tolerance that an accepted step meets.
    pub(super) fn stops(&self, step: &AcceptedStep) -> Option<Termination> {
        self.rules.convergence(step, &self.tolerances, self.epsilon())
    }

    /// Whether any tolerance is set. A run without one uses its iterations up.
    pub(super) fn is_judged(&self) -> bool {
        self.epsilon() > 0.0
    }

    fn epsilon(&self) -> f64 {
        self.tolerances.epsilon(ARITHMETIC.epsilon())
    }
}
