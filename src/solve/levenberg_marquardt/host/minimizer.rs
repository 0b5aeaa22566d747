//! The loop of Levenberg-Marquardt on the host as a state machine. [`LevenbergMarquardt::next`] takes what it last asked for, and answers
//! with the next thing to compute, a finished iteration or the end. It awaits nothing, so that its decisions are tested with small fakes.
//!
//! The steps are those of [`crate::solve::levenberg_marquardt`], in its order; radius, verdicts and convergence are [`super::strategy`]'s, steps those of
//! [`super::exact`] or [`super::dogleg`].

use crate::gauss_newton::host::LeastSquares;
use crate::solve::ending;
use crate::solve::feasible::FeasibleSet;
use crate::solve::findings::Finding;
use crate::solve::levenberg_marquardt::ending::{EXACT, Ending};
use crate::solve::levenberg_marquardt::point::TOLERANCE_OF_PROMISE;
use crate::solve::options::LevenbergMarquardtOptions;
use crate::solve::rules::{AcceptedStep, Gain, MAX_DAMPING};
use crate::solve::start::Start;
use crate::solve::summary::{IterationSummary, SolveSummary, Termination};
use crate::solve::vector::max_norm;
use residua_base::error::Result;
use residua_base::list::{Listed, PushAll};
use residua_linalg::loops::{add_squares, all_finite, diagonals};
use residua_linalg::{JtjOperator, PcgOptions, Trouble};

use super::ARITHMETIC;
use super::deficiency;
use super::dogleg::Dogleg;
use super::exact::Exact;
use super::linear_system::{DampedSystem, LinearSystems, jacobian};
use super::phase::{Answer, Attempts, Pending, Phase, Request, Trial};
use super::retraction::Retraction;
use super::second_order::{Curved, Question, SecondOrder};
use super::strategy::{Linearised, Strategy};

/// A system that tells whether a point is a minimum is solved until it has taken a part of the iterations of the run, or so many.
const SHARE_OF_VERIFICATION: u32 = 8;
const LEAST_VERIFICATION: u32 = 50;

/// The first iteration after which it is asked what rounding leaves of the cost: of one far below that of the start, and of another.
const LEAST_DOUBTED_FAR_BELOW: u32 = 8;
const LEAST_DOUBTED: u32 = 128;

/// A run of Levenberg-Marquardt.
pub struct LevenbergMarquardt {
    pub(super) options: LevenbergMarquardtOptions,
    pub(super) strategy: Strategy,
    pub(super) exact: Exact,
    pub(super) dogleg: Dogleg,
    pub(super) second_order: SecondOrder,
    pub(super) feasible: FeasibleSet,
    pub(super) retraction: Retraction,
    pub(super) systems: LinearSystems,
    /// x and x′.
    pub(super) point: Vec<f64>,
    pub(super) trial: Vec<f64>,
    /// δ and δ̄.
    pub(super) step: Vec<f64>,
    pub(super) projected_step: Vec<f64>,
    /// The model at the point.
    pub(super) model: LeastSquares,
    /// How many residuals count as samples.
    pub(super) residuals: f64,
    /// g = J̃ᵀr̃, and the diagonal of J̃ᵀJ̃.
    pub(super) gradient: Vec<f64>,
    pub(super) diagonal: Vec<f64>,
    pub(super) frozen: Vec<bool>,
    /// g with zeros at frozen coordinates.
    pub(super) free_gradient: Vec<f64>,
    /// Σ Dⱼ²xⱼ² with D² the diagonal of J̃ᵀJ̃ and xⱼ the size of the point in a coordinate, and the same over those that are not frozen.
    scaled_size: f64,
    pub(super) free_size: f64,
    /// How many coordinates are not frozen, and have an effect.
    pub(super) coordinates: usize,
    /// The gradient's cosine, and ‖D⁻¹g‖ of the coordinates that are not frozen.
    cosine: f64,
    scaled_gradient_norm: f64,
    /// Whether the point has no model of steps yet.
    pub(super) is_new_point: bool,
    /// Whether a step from the point was tried.
    pub(super) has_stepped: bool,
    /// Whether the system of the point is solved to what a promise needs.
    pub(super) verifies: bool,
    /// Whether coordinates are held at bounds that their gradient leads away from.
    pub(super) holds: bool,
    pub(super) phase: Phase,
    /// The tolerance that the last step met, or the start.
    pub(super) stop: Option<(Termination, String)>,
    /// Why the run ends at the next call, unless it has converged.
    pub(super) ending: Option<(Termination, String)>,
    /// What the model without a ball takes from the cost, at the point or the one before.
    pub(super) promise: f64,
    /// How many directions the residuals left free at the first point with exact steps.
    pub(super) first_deficiency: Option<usize>,
    /// ‖Dδ‖ of the step in the ball.
    pub(super) length: f64,
    /// The trial point and the projected step of a bent step that is compared with another.
    pub(super) bent: (Vec<f64>, Vec<f64>),
    /// Whether the code of second derivatives is long, so that steps do without where the model predicts them well.
    pub(super) has_long_curvature: bool,
    /// The iteration at which it was last asked what rounding leaves of the cost.
    doubted: u32,
    /// Points in a row that determine fewer directions than the start.
    pub(super) lost_points: u32,
    pub(super) attempts: Attempts,
    pub(super) summary: SolveSummary,
}

impl LevenbergMarquardt {
    /// A run from a start. `samples`: the number m of residuals that count, as in σ² = 2F/(m − n).
    pub fn new(
        samples: usize,
        start: Start,
        systems: LinearSystems,
        retraction: Retraction,
        options: &LevenbergMarquardtOptions,
    ) -> LevenbergMarquardt {
        let Start { point, feasible, corrections } = start;
        let n = point.len();
        LevenbergMarquardt {
            options: options.clone(),
            strategy: Strategy::new(n, options),
            exact: Exact::default(),
            dogleg: Dogleg::default(),
            second_order: SecondOrder::new(options.linear_solver.is_none_or(|kind| !kind.is_iterative())),
            feasible,
            retraction,
            systems,
            trial: point.clone(),
            has_long_curvature: false,
            doubted: 0,
            lost_points: 0,
            attempts: Attempts { start: point.clone(), ..Attempts::default() },
            point,
            step: vec![0.0; n],
            projected_step: vec![0.0; n],
            model: LeastSquares::nothing(),
            residuals: samples as f64,
            gradient: vec![0.0; n],
            diagonal: vec![0.0; n],
            frozen: vec![false; n],
            free_gradient: Vec::new(),
            scaled_size: 0.0,
            free_size: 0.0,
            coordinates: 0,
            cosine: 0.0,
            scaled_gradient_norm: 0.0,
            is_new_point: true,
            has_stepped: false,
            verifies: false,
            holds: false,
            phase: Phase::Start,
            stop: None,
            ending: None,
            promise: f64::NAN,
            first_deficiency: None,
            length: 0.0,
            bent: Default::default(),
            summary: SolveSummary { findings: corrections, ..SolveSummary::before_start() },
        }
    }

    /// Continues with the answer to the last request; without one the same is asked for again. `elapsed_ms`: milliseconds since the solve
    /// began.
    pub fn next(&mut self, elapsed_ms: f64, answer: Option<Answer>) -> Result<Request<'_>> {
        if !matches!(self.phase, Phase::Finished) {
            self.summary.elapsed_ms = elapsed_ms;
        }
        Ok(match self.advance(answer)? {
            Pending::LineariseAtPoint => Request::Linearise(&self.point),
            Pending::LineariseAtTrial => Request::Linearise(&self.trial),
            Pending::Solve if self.second_order.is_wanted() && !self.is_exact() => Request::SecondOrder(Question {
                point: &self.point,
                gradient: &self.free_gradient,
                frozen: &self.frozen,
                ball: (&self.strategy.scale, self.strategy.radius),
                ends: self.stop.is_some(),
                replaces: self.second_order.replaces(),
            }),
            Pending::Solve => Request::Solve,
            Pending::SquaredDescent if self.second_order.is_active => {
                Request::QuadraticForm(self.dogleg.descent(), true)
            }
            Pending::SquaredDescent => Request::SquaredJvp(self.dogleg.descent()),
            Pending::SquaredJvp if self.second_order.is_active => Request::QuadraticForm(&self.projected_step, false),
            Pending::SquaredJvp => Request::SquaredJvp(&self.projected_step),
            Pending::Curvature => Request::Curvature(&self.point),
            Pending::Bend => Request::Bend(&self.point, &self.step),
            Pending::EvaluateTrial => Request::EvaluateTrial(&self.trial),
            Pending::Rounding => Request::Rounding(&self.point),
            Pending::Iteration(iteration) => Request::Iteration(iteration),
            Pending::Finished => Request::Finished(&self.summary),
        })
    }

    /// Ends the run when the present iteration is done, unless it has converged by then; at the earliest after the start.
    pub fn stop(&mut self, termination: Termination) {
        self.ending.get_or_insert((termination, ending::STOPPED_BY_CALLER.to_owned()));
    }

    /// Ends the run where the last iteration ended, since what the next one needs takes too long, or the caller aborts.
    pub fn abandon_step(&mut self, termination: Termination) {
        let why = match termination {
            Termination::MaxTime if matches!(self.phase, Phase::Start) => {
                ending::time_limit_at_start(&self.options.solve)
            }
            Termination::MaxTime => ending::time_limit(&self.options.solve),
            _ => ending::STOPPED_BY_CALLER.to_owned(),
        };
        self.ending.get_or_insert((termination, why));
        self.stop = None;
        self.phase = Phase::Ready;
    }

    /// Where the last iteration ended: the best point so far, since every accepted step lowers the cost as far as rounding shows.
    pub fn point(&self) -> &[f64] {
        &self.point
    }

    /// The radius of the next step.
    pub fn radius(&self) -> f64 {
        self.strategy.radius
    }

    /// From now on models have rows, and these are their systems.
    pub fn use_rows(&mut self, systems: LinearSystems) {
        self.systems = systems;
    }

    /// Whether the residuals may leave a direction free at the point.
    pub(super) fn may_lack_rank(&self) -> bool {
        deficiency::is_suspected(&self.model, &self.systems, &self.frozen)
    }

    /// The linear systems, for the next run.
    pub fn into_systems(self) -> LinearSystems {
        self.systems
    }

    /// The loop: each phase, and the step that follows its answer.
    fn advance(&mut self, answer: Option<Answer>) -> Result<Pending> {
        Ok(match (self.phase, answer) {
            (Phase::Start, Some(Answer::Model(model))) => self.start(model),
            (Phase::Ready, _) => return self.begin_step(),
            (Phase::Solving(_), Some(Answer::Solved(iterations))) => return self.solved(iterations),
            (Phase::Solving(_), Some(Answer::SecondOrder(Curved::Step(step, promise)))) => {
                (self.step, self.second_order.is_active, self.second_order.promise) = (step, true, promise);
                return self.solved(Some(1));
            }
            (Phase::Solving(_), Some(Answer::SecondOrder(without))) => {
                match without {
                    Curved::Absent => self.second_order.give_up(),
                    _ => self.second_order.leave(),
                }
                self.phase = Phase::Solving(false);
                Pending::Solve
            }
            (Phase::Descending, Some(Answer::SquaredJvp(square))) => {
                self.dogleg.bend_path(square);
                return self.make_step();
            }
            (Phase::Curving, Some(Answer::Curvature(curvature))) => {
                self.exact.take_curvature(curvature);
                return self.make_step();
            }
            (Phase::Bending, Some(Answer::Bend(gradient))) => {
                let share = self.exact.bend(&gradient, &self.strategy.scale, &mut self.step);
                return self.project(share);
            }
            (Phase::Predicting(trial), Some(Answer::SquaredJvp(square))) => self.predict(trial, square),
            (Phase::EvaluatingTrial(trial), Some(Answer::Reduction(change))) => {
                return self.judge_bent(Trial { change, ..trial });
            }
            (Phase::EvaluatingUnbent(bent), Some(Answer::Reduction(change))) => return self.judge_unbent(bent, change),
            (Phase::Accepting(trial, gain), Some(Answer::Model(model))) => self.accept(trial, gain, model),
            (Phase::Restoring(trial), Some(Answer::Model(model))) => {
                self.linearise(model);
                self.is_new_point = false;
                self.reject(trial)
            }
            (Phase::Restarting, Some(Answer::Model(model))) => {
                self.linearise(model);
                self.begin_attempt();
                return self.begin_step();
            }
            (Phase::Solving(_), Some(Answer::RowsNeeded)) => {
                self.phase = Phase::Refining;
                Pending::LineariseAtPoint
            }
            (Phase::Refining, Some(Answer::Model(model))) => {
                self.linearise(model);
                self.phase = Phase::Solving(false);
                Pending::Solve
            }
            (Phase::Doubting, Some(Answer::Rounding(cost))) => return self.settle(cost),
            // Without an answer the request is repeated.
            (Phase::Start | Phase::Restoring(_) | Phase::Refining | Phase::Restarting, _) => Pending::LineariseAtPoint,
            (Phase::Solving(_), _) => Pending::Solve,
            (Phase::Descending, _) => Pending::SquaredDescent,
            (Phase::Curving, _) => Pending::Curvature,
            (Phase::Bending, _) => Pending::Bend,
            (Phase::Predicting(_), _) => Pending::SquaredJvp,
            (Phase::EvaluatingTrial(_) | Phase::EvaluatingUnbent(_), _) => Pending::EvaluateTrial,
            (Phase::Accepting(..), _) => Pending::LineariseAtTrial,
            (Phase::Doubting, _) => Pending::Rounding,
            (Phase::Finished, _) => Pending::Finished,
        })
    }

    /// Linearises the start; it may be a minimum if its gradient is small.
    fn start(&mut self, model: LeastSquares) -> Pending {
        self.summary.function_evaluations += 1;
        self.summary.initial_cost = model.cost;
        if !self.linearise(model) {
            self.ending = Some((Termination::NonFinite, "The start is not finite".to_owned()));
            return self.finish();
        }
        let damped = self.options.initial_damping.map(|damping| self.scaled_gradient_norm / damping);
        self.strategy.begin(damped.unwrap_or(self.free_size), self.scaled_gradient_norm);
        if let Some(radius) = self.options.initial_radius {
            self.strategy.radius = radius;
        }
        let stop = self.strategy.stops_at_start(self.cosine);
        self.record(Trial::without_step(0.0), None, true, stop)
    }

    /// Takes the model at the point, and computes gradient, diagonal, frozen coordinates and ‖x‖ from it. `false` if any of it is not
    /// finite.
    fn linearise(&mut self, model: LeastSquares) -> bool {
        self.model = model;
        self.diagonal.fill(0.0);
        let LinearSystems { row_offsets, col_indices, blocks, .. } = &self.systems;
        if let Some(normal) = &self.model.normal {
            self.gradient.copy_from_slice(&normal.gradient);
            diagonals(&blocks.ranges, &normal.jtj_blocks, &mut self.diagonal);
            if self.feasible.is_constrained() {
                let constant = |(k, _): &(usize, &mut f64)| self.feasible.is_constant(*k);
                self.diagonal.iter_mut().enumerate().filter(constant).for_each(|(_, entry)| *entry = 0.0);
            }
        } else {
            self.gradient.fill(0.0);
            let jacobian = jacobian(self.point.len(), row_offsets, col_indices, &self.model.entries);
            jacobian.add_transposed_times(&self.model.residuals, &mut self.gradient);
            add_squares(col_indices, &self.model.entries, &mut self.diagonal);
        }
        self.feasible.freeze(&self.point, &self.gradient, &mut self.frozen);
        let zero = |(entry, _): (&mut f64, &bool)| *entry = 0.0;
        self.free_gradient.clone_from(&self.gradient);
        self.free_gradient.iter_mut().zip(&self.frozen).filter(|(_, frozen)| **frozen).for_each(zero);
        self.measure();
        // Derivatives that are no more than their errors say so.
        let mut errors = self.model.accuracy.iter().zip(&self.frozen);
        self.strategy.hides = self.model.noise > 0.0 && errors.any(|(&error, &frozen)| error >= 1.0 && !frozen);
        self.strategy.noise = self.model.noise;
        (self.is_new_point, self.verifies, self.holds) = (true, false, false);
        self.model.is_finite() && all_finite(&self.gradient) && all_finite(&self.diagonal)
    }

    /// The sizes of point and gradient in units of the columns of J̃.
    pub(super) fn measure(&mut self) {
        (self.scaled_size, self.free_size, self.scaled_gradient_norm, self.coordinates) = (0.0, 0.0, 0.0, 0);
        let mut largest = 0.0_f64;
        for (k, &diagonal) in self.diagonal.iter().enumerate().filter(|(_, diagonal)| **diagonal > 0.0) {
            let square = diagonal * self.retraction.squared_size(&self.point, k);
            self.scaled_size += square;
            if !self.frozen[k] {
                self.coordinates += 1;
                self.free_size += square;
                let slope = self.gradient[k].abs() / diagonal.sqrt();
                self.scaled_gradient_norm += slope * slope;
                largest = largest.max(slope);
            }
        }
        self.free_size = self.free_size.sqrt();
        self.scaled_gradient_norm = self.scaled_gradient_norm.sqrt();
        self.cosine = self.strategy.cosine(largest, self.model.influence);
    }

    /// Whether the steps in the ball are exact, and not along a path.
    pub(super) fn is_exact(&self) -> bool {
        self.exact.qr.is_some() || self.systems.are_exact(self.frozen.len())
    }

    /// Ends the run if it is to end here; otherwise makes the next step, with a linear system at a new point.
    pub(super) fn begin_step(&mut self) -> Result<Pending> {
        if self.ending.is_none() && self.summary.elapsed_ms >= self.options.solve.max_time_ms {
            self.ending = Some((Termination::MaxTime, ending::time_limit(&self.options.solve)));
        }
        if self.may_be_rounding() {
            self.doubted = self.summary.iterations;
            self.phase = Phase::Doubting;
            return Ok(Pending::Rounding);
        }
        // Whether a point is a minimum is known when its system is solved.
        if self.ending.is_some() && self.stop.is_none() {
            return Ok(self.finish());
        }
        if !std::mem::take(&mut self.is_new_point) {
            return self.make_step();
        }
        self.strategy.enter_point(&self.diagonal, self.model.influence, self.scaled_gradient_norm);
        self.dogleg.forget_path();
        self.second_order.is_active = false;
        self.phase = Phase::Solving(false);
        Ok(Pending::Solve)
    }

    /// Whether to ask what rounding leaves of the cost: where steps still take some of it, after twice as many iterations each time, and where the run ends
    /// without a minimum.
    fn may_be_rounding(&self) -> bool {
        let SolveSummary { iterations, initial_cost, .. } = self.summary;
        let is_far_below = self.model.cost <= ARITHMETIC.epsilon() * initial_cost;
        let least = if is_far_below { LEAST_DOUBTED_FAR_BELOW } else { LEAST_DOUBTED };
        let is_due = match &self.ending {
            Some((why, _)) => matches!(why, Termination::MaxIterations | Termination::PrecisionLimit),
            None => iterations >= least.max(2 * self.doubted),
        };
        is_due && self.doubted < iterations && self.stop.is_none() && self.strategy.is_judged()
    }

    /// Ends the run at a cost that rounding may leave, and goes on with another.
    fn settle(&mut self, rounding: f64) -> Result<Pending> {
        if rounding.is_finite() && self.model.cost <= rounding {
            (self.ending, self.promise) = (Some((Termination::CostTolerance, EXACT.to_owned())), 0.0);
        }
        self.begin_step()
    }

    /// Computes one slice of the solution of [`Request::Solve`]; gives the answer when the system is solved or turns out to have no solution.
    /// Where the model has no matrix, `products` multiply.
    pub fn solve(&mut self, products: &mut dyn JtjOperator) -> Result<Option<Answer>> {
        let begins = matches!(std::mem::replace(&mut self.phase, Phase::Solving(true)), Phase::Solving(false));
        if self.is_exact() {
            let scale = self.strategy.scale.iter().map(|square| square.sqrt()).list();
            let free = (scale.as_slice(), self.frozen.as_slice());
            let region = self.systems.advance_exact(&mut self.exact.qr, &self.model, &self.gradient, free, begins);
            return Ok(region.map(|region| match region {
                Ok(mut region) => {
                    region.set_accuracy(&self.model.accuracy);
                    self.exact.enter_point(region);
                    Answer::Solved(Some(1))
                }
                Err(_) => Answer::RowsNeeded,
            }));
        }
        let system = DampedSystem { model: &self.model, damping: self.strategy.damping(), frozen: &self.frozen };
        let (mut tolerance, mut max_iterations) = (self.strategy.forcing(), self.options.max_linear_iterations);
        if self.verifies {
            let spent = self.summary.history.iter().filter_map(|step| step.linear_iterations).sum::<u32>();
            tolerance = tolerance.min(TOLERANCE_OF_PROMISE);
            max_iterations = max_iterations.min(LEAST_VERIFICATION.max(spent / SHARE_OF_VERIFICATION));
        }
        let options = PcgOptions { tolerance, max_iterations: max_iterations as usize };
        let solved = self.systems.advance(system, options, begins, products, &mut self.step)?;
        Ok(solved.map(|solved| match solved {
            // What a promise needs may take longer than a step; what was found of it counts.
            Err(Trouble::TooSlow) if self.verifies => Answer::Solved(Some(self.systems.iterations())),
            Err(Trouble::IllConditioned | Trouble::TooSlow) => Answer::RowsNeeded,
            solved => Answer::Solved(solved.ok().map(|iterations| iterations as u32)),
        }))
    }

    pub(super) fn linearised(&self) -> Linearised {
        let LevenbergMarquardt { residuals, scaled_size, cosine, coordinates, model, .. } = self;
        Linearised {
            cost: model.cost,
            influence: model.influence,
            residuals: *residuals,
            coordinates: *coordinates as f64,
            scaled_size: *scaled_size,
            cosine: *cosine,
        }
    }

    /// Moves to the trial point, unless its derivatives are not finite.
    fn accept(&mut self, trial: Trial, gain: Gain, model: LeastSquares) -> Pending {
        let (before, step, is_proven) = (self.linearised(), self.trial_step(trial), self.is_promise_proven());
        std::mem::swap(&mut self.point, &mut self.trial);
        if !self.linearise(model) {
            std::mem::swap(&mut self.point, &mut self.trial);
            self.phase = Phase::Restoring(Trial { change: f64::NAN, ..trial });
            return Pending::LineariseAtPoint;
        }
        let accepted =
            AcceptedStep { cost: before.influence, cosine: self.cosine, trial: step, is_hidden: gain.hidden };
        let stop = self.strategy.stops(&accepted);
        self.strategy.update(gain, &trial);
        let is_whole = !self.is_exact() && self.dogleg.is_whole();
        let pending = self.record(trial, Some(gain.ratio), true, stop);
        // A whole Gauss-Newton step from a point where it promised next to nothing leads to one where it promises less.
        let is_shown = is_whole && step.is_complete && is_proven && !self.may_be_exact();
        if is_shown && self.promise <= self.strategy.least_promise(before) {
            self.ending = self.stop.take().or(self.ending.take());
        }
        self.verifies = self.stop.is_some();
        pending
    }

    /// Whether the system of the point is solved to what the promise of a minimum needs.
    pub(super) fn is_promise_proven(&self) -> bool {
        self.verifies || self.second_order.is_active || !self.systems.solver.is_iterative()
    }

    /// Stays at the point, with a smaller radius.
    pub(super) fn reject(&mut self, trial: Trial) -> Pending {
        let gain = self.strategy.rejection(self.strategy.gain(self.linearised(), &self.trial_step(trial)));
        if trial.linear_iterations.is_some() {
            self.strategy.update(gain, &trial);
        }
        let is_collapsed = self.scaled_gradient_norm > MAX_DAMPING * self.strategy.radius;
        let collapsed = is_collapsed.then_some(Termination::TrustRegionCollapsed);
        // A system without a solution gave no step that could show that nothing is left to gain.
        let end = gain.end.or(collapsed).filter(|_| trial.linear_iterations.is_some()).map(|end| match end {
            Termination::NonFinite => end,
            _ if self.is_minimum(self.strategy.tolerable_promise(self.linearised(), self.is_exact()))
                && !self.exact.bends_down() =>
            {
                Termination::CostTolerance
            }
            Termination::CostTolerance => Termination::PrecisionLimit,
            end => end,
        });
        let pending = self.record(trial, Some(gain.ratio), false, end);
        if end == Some(Termination::CostTolerance) && !self.is_promise_proven() {
            (self.verifies, self.is_new_point) = (true, true);
            return pending;
        }
        // What was known of the point does not change.
        self.ending = self.stop.take().or(self.ending.take());
        pending
    }

    /// Reports an iteration, and notes why the run may end with it.
    fn record(&mut self, trial: Trial, gain_ratio: Option<f64>, accepted: bool, end: Option<Termination>) -> Pending {
        let damping = if self.is_exact() { self.exact.lambda } else { self.dogleg.damping(self.strategy.radius) };
        let iteration = IterationSummary {
            iteration: self.summary.history.len() as u32,
            cost: self.model.cost,
            cost_change: trial.change,
            gradient_max_norm: max_norm(&self.free_gradient),
            step_norm: trial.step_norm,
            accepted,
            damping: Some(damping),
            gain_ratio,
            linear_iterations: trial.linear_iterations,
            step_size: None,
            elapsed_ms: self.summary.elapsed_ms,
        };
        self.summary.iterations = iteration.iteration;
        self.summary.history.push(iteration);
        self.phase = Phase::Ready;
        let message = |termination: Termination| {
            let sentence = Ending {
                options: &self.options.solve,
                arithmetic: ARITHMETIC,
                last: &iteration,
                cosine: self.cosine,
                relative_step: trial.scaled_step / self.free_size,
            };
            (termination, sentence.message(termination))
        };
        let stop = end.map(message);
        let is_last = iteration.iteration >= self.options.solve.max_iterations;
        let limit = is_last.then(|| message(Termination::MaxIterations));
        self.stop = stop;
        self.ending = self.ending.take().or(limit);
        Pending::Iteration(iteration)
    }

    pub(super) fn finish(&mut self) -> Pending {
        let promise = self.promise_by_variance();
        if self.restarts() {
            return Pending::LineariseAtPoint;
        }
        if let Some(ending) = self.ending.take() {
            (self.summary.termination, self.summary.why) = ending;
            let underflow = (self.summary.success() && self.has_underflow()).then_some(Finding::Underflow);
            let (noise, variance) = (self.model.noise / self.residuals, self.linearised().variance());
            let noise = (noise > 0.0).then(|| Finding::Noise(noise.sqrt(), (noise / variance).sqrt()));
            self.summary.findings.push_all(underflow.into_iter().chain(self.strategy.trouble()).chain(noise));
        }
        self.summary.promise.get_or_insert(promise);
        self.summary.final_cost = self.model.cost;
        self.phase = Phase::Finished;
        Pending::Finished
    }

    /// The promise in units of σ². Nothing is left of nothing.
    pub(super) fn promise_by_variance(&self) -> f64 {
        if self.promise == 0.0 { 0.0 } else { self.promise / self.linearised().variance() }
    }

    /// Whether residuals have been lost in their squares. Without a matrix the model does not have them.
    fn has_underflow(&self) -> bool {
        self.model.cost < f64::MIN_POSITIVE && self.model.residuals.iter().any(|residual| *residual != 0.0)
    }
}
