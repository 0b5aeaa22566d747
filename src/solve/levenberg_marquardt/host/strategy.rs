//! The strategy of a run: the damping λ and its scale D, the forcing term of the linear solver, and the verdict on a trial step. It applies
//! [`crate::solve::rules`] to the numbers of the loop and keeps what they carry from one step to the next.

use std::rc::Rc;

use crate::solve::options::{LevenbergMarquardtOptions, TrustRegion};
use crate::solve::rules::{self, AcceptedStep, Damping, Gain, PointBefore, Rules, Tolerances, TrialStep};
use crate::solve::summary::Termination;

use super::ARITHMETIC;
use super::dogleg::Dogleg;
use super::phase::Trial;
use residua_base::decimal::scientific;
use residua_base::list::PushAll;

/// λ stays above so many times one with which a linear system had no solution.
const LEAST_SOLVABLE: f64 = 2.0;

/// And above this: where a system of some thousand coordinates has no solution with less, its smallest pivots are rounding errors.
const LEAST_AFTER_TROUBLE: f64 = 1e-12;

/// Where λDⱼ is h times the diagonal of J̃ᵀJ̃, a step makes 1/(1 + h) of what coordinate j needs alone, and gains some 2/h of what there is to gain. At this
/// bound a cost tolerance ends a run while up to 50 times itself is left there.
const MOST_HOLD: f64 = 100.0;

/// The factor of λD in a run that was reviewed. With the least λ it is 10⁻²², and holds no direction in which a unit column is more than 10⁻¹⁰, the tolerance of
/// rank(), from the span of others.
const WEAKNESS: f64 = 1e-6;

/// ν in a review. What a step gains is as λ⁻¹ where λ is above the square of the distance.
const EVEN_GROWTH: f64 = 10.0;

/// Where the tests of convergence hold, a reduction may be left that is so many times what they tell of one coordinate: a cosine of 10⁻⁸ shows no more in a
/// direction of which the square of the distance is 10⁻¹⁰, the largest that is reviewed.
const LEFT: f64 = 100.0;

/// The least share of the cost that counts as left: (ε/d)², rounded up, is what rounding of columns at the distance d = 10⁻¹⁰ makes of zero.
const LEAST_LEFT: f64 = 1e-10;

/// What D is raised by at a coordinate whose column a step of the dogleg loses: its share in the next one falls to a sixteenth.
const LOSS_SCALE: f64 = 256.0;

/// λ, D and the forcing term of a run.
pub(super) struct Strategy {
    pub(super) rules: Rc<Rules>,
    tolerances: Tolerances,
    damping: Damping,
    /// D: the largest diagonal entry so far of each coordinate that was free, but for what all of them have fallen since.
    pub(super) scale: Vec<f64>,
    /// λD of the present system.
    scaled_damping: Vec<f64>,
    /// Predicted reductions of steps that rounding hides are less than half of this.
    floor: f64,
    /// η of the present point, and its ceiling.
    forcing: f64,
    forcing_ceiling: f64,
    /// ‖D^(−½)g‖ where η was chosen.
    gradient_norm: f64,
    /// λ is not below this: with less, a linear system had no solution.
    least_damping: f64,
    /// How many systems had none.
    unsolved: u32,
    /// Steps since the last accepted one that were rejected for a lost column.
    losses: u32,
    /// The factor of λD in a run that was reviewed.
    weakness: f64,
    /// The trust region of a radius, where it bounds steps. λ then only keeps systems solvable.
    pub(super) dogleg: Option<Dogleg>,
}

/// The numbers of the linearised point that the verdict takes.
#[derive(Clone, Copy)]
pub(super) struct Linearised {
    pub(super) cost: f64,
    /// How many residuals there are.
    pub(super) residuals: f64,
    /// Σ Dⱼxⱼ² with D the diagonal of J̃ᵀJ̃.
    pub(super) scaled_size: f64,
    /// The gradient's cosine.
    pub(super) cosine: f64,
}

impl Strategy {
    /// The strategy at the start of a run over `n` coordinates.
    pub(super) fn new(n: usize, options: &LevenbergMarquardtOptions) -> Strategy {
        let solve = &options.solve;
        let dogleg = (options.trust_region == TrustRegion::Dogleg).then(Dogleg::new);
        let lambda =
            if dogleg.is_some() { rules::MIN_DAMPING } else { options.initial_damping.max(rules::MIN_DAMPING) };
        Strategy {
            rules: Rules::shared(),
            tolerances: Tolerances {
                cost: solve.cost_tolerance,
                gradient: solve.gradient_tolerance,
                parameter: solve.parameter_tolerance,
            },
            damping: Damping { lambda, growth: rules::INITIAL_GROWTH },
            scale: vec![0.0; n],
            scaled_damping: Vec::new(),
            floor: rules::NO_FLOOR,
            forcing: options.linear_tolerance,
            forcing_ceiling: options.linear_tolerance,
            gradient_norm: 0.0,
            least_damping: rules::MIN_DAMPING,
            unsolved: 0,
            losses: 0,
            weakness: 1.0,
            dogleg,
        }
    }

    /// λ, or the damping that the radius stands for.
    pub(super) fn lambda(&self) -> f64 {
        self.dogleg.as_ref().map_or(self.weakness * self.damping.lambda, Dogleg::damping)
    }

    /// λ of systems, where the radius of a dogleg bounds steps too.
    pub(super) fn of_systems(&self) -> f64 {
        self.damping.lambda
    }

    /// λD, after [`Strategy::scale_damping`].
    pub(super) fn scaled_damping(&self) -> &[f64] {
        &self.scaled_damping
    }

    /// η, the share of its residual that the linear solver may leave.
    pub(super) fn forcing(&self) -> f64 {
        self.forcing
    }

    /// Raises D, relative to the others, to the diagonal of J̃ᵀJ̃ of the coordinates that are not frozen, and computes the damping of the system:
    /// λD, or where a radius bounds steps, λ of the diagonal.
    pub(super) fn scale_damping(&mut self, diagonal: &[f64], frozen: &[bool], is_new_point: bool) {
        if is_new_point {
            // A radius bounds steps in the scale D, and its λ is always the least.
            let lambda = if self.dogleg.is_some() { f64::INFINITY } else { self.damping.lambda };
            rules::lower(lambda, diagonal, frozen, &mut self.scale);
        }
        rules::rescale(self.damping.lambda, diagonal, frozen, &mut self.scale, &mut self.scaled_damping);
        if self.dogleg.is_some() {
            let damped = |&diagonal: &f64| rules::damped(self.damping.lambda, diagonal);
            self.scaled_damping.clear();
            self.scaled_damping.push_all(diagonal.iter().map(damped));
        }
        self.scaled_damping.iter_mut().for_each(|damping| *damping *= self.weakness);
    }

    /// From the next system on steps are those of a damping that holds no direction which counts, of the present diagonal; rejected ones raise it as ever.
    pub(super) fn weaken_damping(&mut self) {
        self.dogleg = None;
        self.damping = Damping { lambda: rules::MIN_DAMPING.max(self.least_damping), growth: rules::INITIAL_GROWTH };
        self.weakness = WEAKNESS;
        self.scale.fill(0.0);
    }

    /// Has the next rejected step raise λ by a factor that is the same for each, so that no length of steps is left out.
    pub(super) fn raise_evenly(&mut self) {
        self.damping.growth = EVEN_GROWTH;
    }

    /// The reduction of the cost that a point may leave where the tests of convergence hold.
    pub(super) fn least_promise(&self, linearised: Linearised) -> f64 {
        let Tolerances { cost, gradient, .. } = self.tolerances;
        let share = (LEFT * cost.max(gradient * gradient)).max(LEAST_LEFT);
        (share * linearised.cost).max(rules::NOISES * self.noise(linearised))
    }

    /// Chooses η at a new point, of which this is ‖D^(−½)g‖ of the coordinates that are not frozen.
    pub(super) fn choose_forcing(&mut self, gradient_norm: f64) {
        self.forcing = self.rules.forcing(gradient_norm, self.gradient_norm, self.forcing, self.forcing_ceiling);
        self.gradient_norm = gradient_norm;
    }

    /// The gradient's cosine, from the largest |gⱼ|/√Dⱼ of the coordinates that are not frozen.
    pub(super) fn cosine(&self, scaled_gradient: f64, cost: f64) -> f64 {
        self.rules.cosine(scaled_gradient, cost)
    }

    /// The verdict on a trial step from a linearised point.
    pub(super) fn gain(&self, linearised: Linearised, trial: &TrialStep) -> Gain {
        let Linearised { cost, cosine, .. } = linearised;
        let noise = self.noise(linearised);
        self.rules.gain(&PointBefore { cost, noise, cosine, floor: self.floor }, trial, self.epsilon())
    }

    fn noise(&self, linearised: Linearised) -> f64 {
        let Linearised { cost, residuals, scaled_size, .. } = linearised;
        self.rules.noise(cost, scaled_size, residuals, self.epsilon())
    }

    /// Keeps λ above the present one, with which a linear system had no solution.
    pub(super) fn raise_least_damping(&mut self) {
        let least = (LEAST_SOLVABLE * self.damping.lambda).max(LEAST_AFTER_TROUBLE);
        self.least_damping = self.least_damping.max(least);
        self.unsolved += 1;
    }

    /// Whether a step that lowers the cost is rejected, since a column of J̃ all but vanishes with it: where an exponential has vanished the cost is
    /// flat in its rate, and no later step leads back. It is lost where its square falls to less than ε, relative to the column that falls least if all fall.
    /// `slopes`: the gradient before the step; `diagonals`: those of J̃ᵀJ̃ before and after.
    ///
    /// A column may vanish where its residuals do, as those of a limit that is kept. Then the model is exact, and the full step leaves no gradient.
    pub(super) fn loses_column(&mut self, slopes: &[f64], diagonals: [&[f64]; 2], step: &[f64], ratio: f64) -> bool {
        let [before, after] = diagonals;
        let ratios =
            before.iter().zip(after).filter(|(before, _)| **before > 0.0).map(|(before, after)| after / before);
        // Another column that grows is no reason to call this one lost.
        let common = ratios.fold(0.0, f64::max).min(1.0);
        let is_exact = ratio > rules::EXACT_GAIN;
        let mut is_lost = false;
        for coordinate in 0..step.len() {
            let falls = after[coordinate] < rules::LEAST_FALL_OF_COLUMN * common * before[coordinate];
            if !falls || self.losses >= rules::MOST_LOSSES {
                continue;
            }
            // The damped step leaves λDδ of the gradient, and a step of the dogleg the more, the less of it is the Gauss-Newton step.
            let slope = slopes[coordinate].abs();
            let left = match &self.dogleg {
                Some(dogleg) => dogleg.left_of_gradient() * slope,
                None => (self.scaled_damping[coordinate] * step[coordinate]).abs(),
            };
            if is_exact && left <= rules::LEFT_OF_GRADIENT * slope {
                continue;
            }
            is_lost = true;
            if let Some(dogleg) = &mut self.dogleg {
                // A smaller ball would hold all coordinates, and not those alone that go too far.
                self.scale[coordinate] *= LOSS_SCALE;
                dogleg.forget_path();
            }
        }
        self.losses = if is_lost { self.losses + 1 } else { 0 };
        is_lost
    }

    /// Lowers D to the present diagonal, if a D of earlier points keeps a coordinate where it is; gives whether it did. No step of such a run shows that
    /// it has come to its end. A column of J̃ that was large by many orders at the start does so where another one stays as large.
    ///
    /// With λ above 1 it is rejected steps that keep the present one short.
    pub(super) fn releases_coordinates(&mut self, diagonal: &[f64], frozen: &[bool]) -> bool {
        // The dogleg has no λD.
        if self.dogleg.is_some() || self.damping.lambda > 1.0 {
            return false;
        }
        let lambda = self.damping.lambda;
        let is_free = |coordinate: usize| !frozen[coordinate] && diagonal[coordinate] > 0.0;
        let holds = |k: usize| is_free(k) && lambda * self.scale[k] > MOST_HOLD * diagonal[k];
        if !(0..diagonal.len()).any(holds) {
            return false;
        }
        for coordinate in (0..diagonal.len()).filter(|&coordinate| is_free(coordinate)) {
            self.scale[coordinate] = diagonal[coordinate];
        }
        true
    }

    /// A sentence on systems without a solution, after a space; empty if there were none.
    pub(super) fn trouble(&self) -> String {
        if self.unsolved == 0 {
            return String::new();
        }
        format!(
            " Linear systems without a solution: {}. The damping was kept above {} for them; rank() finds directions that the residuals do not determine.",
            self.unsolved,
            scientific(self.least_damping, Some(1))
        )
    }

    /// Applies a verdict to the trust region; gives the end if it has collapsed.
    pub(super) fn update(&mut self, gain: Gain, trial: &Trial) -> Option<Termination> {
        self.floor = gain.floor;
        let has_step = trial.linear_iterations.is_some();
        if let Some(dogleg) = self.dogleg.as_mut().filter(|_| has_step) {
            return dogleg.update(&self.rules, gain, trial);
        }
        let (damping, collapsed) = self.rules.damping(self.damping, gain);
        self.damping = Damping { lambda: damping.lambda.max(self.least_damping), ..damping };
        collapsed
    }

    /// Whether the dogleg begins anew at this point, of that cost, where it would end so.
    pub(super) fn begins_anew(&mut self, end: Termination, point: &[f64], cost: f64) -> bool {
        let is_lost = matches!(end, Termination::TrustRegionCollapsed | Termination::NonFinite);
        let Some(dogleg) = self.dogleg.as_mut().filter(|_| is_lost) else { return false };
        dogleg.begin_anew(point, ARITHMETIC.epsilon() * (2.0 * cost).sqrt(), &mut self.scale)
    }

    /// The verdict that rejects a trial step instead of `gain`.
    pub(super) fn rejection(&self, gain: Gain) -> Gain {
        Gain { accepted: false, hidden: false, floor: self.floor, ..gain }
    }

    /// The end that the start meets.
    pub(super) fn converge_at_start(&self, cosine: f64) -> Option<Termination> {
        self.rules.convergence_at_start(cosine, &self.tolerances, self.epsilon())
    }

    /// The end that an accepted step meets.
    pub(super) fn converge(&self, step: &AcceptedStep) -> Option<Termination> {
        self.rules.convergence(step, &self.tolerances, self.epsilon())
    }

    fn epsilon(&self) -> f64 {
        self.tolerances.epsilon(ARITHMETIC.epsilon())
    }
}
