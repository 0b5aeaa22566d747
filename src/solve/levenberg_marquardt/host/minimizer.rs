//! The loop of Levenberg-Marquardt on the host as a state machine. [`LevenbergMarquardt::next`] takes what it last asked for, and answers
//! with the next thing to compute, a finished iteration or the end. It awaits nothing, so that its decisions are tested with small fakes.
//!
//! The steps are those of [`crate::solve::levenberg_marquardt`], in its order; damping and verdicts are [`super::strategy`]'s.

use crate::gauss_newton::host::LeastSquares;
use crate::solve::ending;
use crate::solve::feasible::FeasibleSet;
use crate::solve::levenberg_marquardt::ending::Ending;
use crate::solve::options::LevenbergMarquardtOptions;
use crate::solve::rules::{AcceptedStep, Gain, TrialStep};
use crate::solve::start::Start;
use crate::solve::summary::{IterationSummary, SolveSummary, Termination};
use crate::solve::vector::{dot, max_norm, norm};
use residua_base::error::Result;
use residua_linalg::loops::{add_squares, all_finite, diagonals};
use residua_linalg::{PcgOptions, Products, Trouble};

use super::ARITHMETIC;
use super::dogleg::Dogleg;
use super::linear_system::{DampedSystem, LinearSystems, jacobian};
use super::phase::{Answer, Pending, Phase, Request, Trial};
use super::retraction::Retraction;
use super::review::Review;
use super::strategy::{Linearised, Strategy};

/// A run of Levenberg-Marquardt.
pub struct LevenbergMarquardt {
    pub(super) options: LevenbergMarquardtOptions,
    pub(super) strategy: Strategy,
    pub(super) feasible: FeasibleSet,
    retraction: Retraction,
    pub(super) systems: LinearSystems,
    /// x and x′.
    pub(super) point: Vec<f64>,
    trial: Vec<f64>,
    /// δ and δ̄.
    pub(super) step: Vec<f64>,
    projected_step: Vec<f64>,
    /// The model at the point.
    pub(super) model: LeastSquares,
    /// How many residuals there are.
    residuals: f64,
    /// g = J̃ᵀr̃, and the diagonal of J̃ᵀJ̃.
    gradient: Vec<f64>,
    diagonal: Vec<f64>,
    /// Both at the point before, while a step from it may still be rejected.
    gradient_before: Vec<f64>,
    diagonal_before: Vec<f64>,
    pub(super) frozen: Vec<bool>,
    /// g with zeros at frozen coordinates.
    free_gradient: Vec<f64>,
    /// Σ Dⱼxⱼ² with D the diagonal of J̃ᵀJ̃ and xⱼ the size of the point in a coordinate, and the same over those that are not frozen.
    scaled_size: f64,
    free_size: f64,
    /// The gradient's cosine, and ‖D^(−½)g‖ of the coordinates that are not frozen.
    cosine: f64,
    scaled_gradient_norm: f64,
    /// Whether the forcing term is yet to be chosen at the point.
    is_new_point: bool,
    pub(super) phase: Phase,
    /// Why the run ends at the next call.
    pub(super) ending: Option<(Termination, String)>,
    pub(super) review: Review,
    /// The beginning of the message: how the start was changed.
    preamble: String,
    pub(super) summary: SolveSummary,
}

impl LevenbergMarquardt {
    /// A run from a start.
    pub fn new(
        start: Start,
        systems: LinearSystems,
        retraction: Retraction,
        options: &LevenbergMarquardtOptions,
    ) -> LevenbergMarquardt {
        let Start { point, feasible, preamble } = start;
        let n = point.len();
        LevenbergMarquardt {
            options: options.clone(),
            strategy: Strategy::new(n, options),
            feasible,
            retraction,
            systems,
            trial: point.clone(),
            point,
            step: vec![0.0; n],
            projected_step: vec![0.0; n],
            model: LeastSquares { cost: f64::NAN, residuals: Vec::new(), entries: Vec::new(), normal: None },
            residuals: 0.0,
            gradient: vec![0.0; n],
            diagonal: vec![0.0; n],
            gradient_before: Vec::new(),
            diagonal_before: Vec::new(),
            frozen: vec![false; n],
            free_gradient: Vec::new(),
            scaled_size: 0.0,
            free_size: 0.0,
            cosine: 0.0,
            scaled_gradient_norm: 0.0,
            is_new_point: true,
            phase: Phase::Start,
            ending: None,
            review: Review::default(),
            preamble,
            summary: SolveSummary::before_start(),
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
            Pending::Solve => Request::Solve,
            Pending::SquaredJvp => Request::SquaredJvp(&self.projected_step),
            Pending::EvaluateTrial => Request::EvaluateTrial(&self.trial),
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
        self.phase = Phase::Ready;
    }

    /// Where the last iteration ended: the best point so far, since every accepted step lowers the cost as far as rounding shows.
    pub fn point(&self) -> &[f64] {
        &self.point
    }

    /// From now on models have rows, and these are their systems.
    pub fn use_rows(&mut self, systems: LinearSystems) {
        self.systems = systems;
    }

    /// The linear systems, for the next run.
    pub fn into_systems(self) -> LinearSystems {
        self.systems
    }

    /// The loop: each phase, and the step that follows its answer.
    fn advance(&mut self, answer: Option<Answer>) -> Result<Pending> {
        Ok(match (self.phase, answer) {
            (Phase::Start, Some(Answer::Model(model))) => self.start(model),
            (Phase::Ready, _) => return self.scale_damping(),
            (Phase::Solving(_), Some(Answer::Solved(iterations))) => return self.project(iterations),
            (Phase::Predicting(trial), Some(Answer::SquaredJvp(square))) => self.predict(trial, square),
            (Phase::EvaluatingTrial(trial), Some(Answer::Reduction(change))) => self.judge(Trial { change, ..trial }),
            (Phase::Accepting(trial, gain), Some(Answer::Model(model))) => self.accept(trial, gain, model),
            (Phase::Restoring(trial), Some(Answer::Model(model))) => {
                self.linearise(model);
                self.is_new_point = false;
                self.reject(trial)
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
            // Without an answer the request is repeated.
            (Phase::Start | Phase::Restoring(_) | Phase::Refining, _) => Pending::LineariseAtPoint,
            (Phase::Solving(_), _) => Pending::Solve,
            (Phase::Predicting(_), _) => Pending::SquaredJvp,
            (Phase::EvaluatingTrial(_), _) => Pending::EvaluateTrial,
            (Phase::Accepting(..), _) => Pending::LineariseAtTrial,
            (Phase::Finished, _) => Pending::Finished,
        })
    }

    /// Linearises the start; it has converged if its gradient is small.
    fn start(&mut self, model: LeastSquares) -> Pending {
        self.summary.function_evaluations += 1;
        self.summary.initial_cost = model.cost;
        if !self.linearise(model) {
            self.ending = Some((Termination::NonFinite, "The start is not finite".to_owned()));
            return self.finish();
        }
        let end = self.strategy.converge_at_start(self.cosine);
        self.record(Trial::without_step(0.0), self.strategy.lambda(), None, true, end)
    }

    /// Takes the model at the point, and computes gradient, diagonal, frozen coordinates and ‖x‖ from it. `false` if any of it is not
    /// finite.
    fn linearise(&mut self, model: LeastSquares) -> bool {
        self.model = model;
        self.diagonal.fill(0.0);
        let LinearSystems { row_offsets, col_indices, blocks, .. } = &self.systems;
        if let Some(normal) = &self.model.normal {
            self.residuals = normal.residuals as f64;
            self.gradient.copy_from_slice(&normal.gradient);
            diagonals(&blocks.ranges, &normal.jtj_blocks, &mut self.diagonal);
            if self.feasible.is_constrained() {
                let constant = |(k, _): &(usize, &mut f64)| self.feasible.is_constant(*k);
                self.diagonal.iter_mut().enumerate().filter(constant).for_each(|(_, entry)| *entry = 0.0);
            }
        } else {
            self.residuals = self.model.residuals.len() as f64;
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
        self.is_new_point = true;
        self.model.is_finite() && all_finite(&self.gradient) && all_finite(&self.diagonal)
    }

    /// The sizes of point and gradient in units of the columns of J̃.
    fn measure(&mut self) {
        (self.scaled_size, self.free_size, self.scaled_gradient_norm) = (0.0, 0.0, 0.0);
        let mut largest = 0.0_f64;
        for (k, &diagonal) in self.diagonal.iter().enumerate().filter(|(_, diagonal)| **diagonal > 0.0) {
            let square = diagonal * self.retraction.squared_size(&self.point, k);
            self.scaled_size += square;
            if !self.frozen[k] {
                self.free_size += square;
                let slope = self.gradient[k].abs() / diagonal.sqrt();
                self.scaled_gradient_norm += slope * slope;
                largest = largest.max(slope);
            }
        }
        self.free_size = self.free_size.sqrt();
        self.scaled_gradient_norm = self.scaled_gradient_norm.sqrt();
        self.cosine = self.strategy.cosine(largest, self.model.cost);
    }

    /// ‖√D δ̄‖ of the projected step.
    fn scaled_step(&self) -> f64 {
        let terms = self.projected_step.iter().zip(&self.diagonal);
        terms.map(|(step, diagonal)| diagonal * step * step).sum::<f64>().sqrt()
    }

    /// Ends the run if it is to end here; otherwise scales the damping and chooses the forcing term for the next system.
    fn scale_damping(&mut self) -> Result<Pending> {
        self.begin_review();
        if self.ending.is_none() && self.summary.elapsed_ms >= self.options.solve.max_time_ms {
            self.ending = Some((Termination::MaxTime, ending::time_limit(&self.options.solve)));
        }
        if self.ending.is_some() {
            return Ok(self.finish());
        }
        let is_new_point = std::mem::take(&mut self.is_new_point);
        if is_new_point {
            self.strategy.choose_forcing(self.scaled_gradient_norm);
        }
        self.strategy.scale_damping(&self.diagonal, &self.frozen, is_new_point);
        if let Some(dogleg) = &mut self.strategy.dogleg {
            if is_new_point {
                dogleg.enter_point(self.free_size);
            } else if dogleg.has_path() {
                return self.project(Some(0));
            }
        }
        self.phase = Phase::Solving(false);
        Ok(Pending::Solve)
    }

    /// Computes one slice of the solution of [`Request::Solve`]; gives the answer when the system is solved or turns out to have no solution.
    /// Where the model has no matrix, `products` multiply.
    pub fn solve(&mut self, products: &mut dyn Products) -> Result<Option<Answer>> {
        let begins = matches!(std::mem::replace(&mut self.phase, Phase::Solving(true)), Phase::Solving(false));
        let damping = self.strategy.scaled_damping();
        let system = DampedSystem { model: &self.model, damping, frozen: &self.frozen };
        if let Some(qr) = &mut self.review.qr {
            if self.model.normal.is_some() {
                return Ok(Some(Answer::RowsNeeded));
            }
            let solved = self.systems.advance_qr(qr, system, begins, &mut self.step);
            return Ok(solved.map(|solved| Answer::Solved(solved.ok().map(|iterations| iterations as u32))));
        }
        let max_iterations = self.options.max_linear_iterations as usize;
        let options = PcgOptions { tolerance: self.strategy.forcing(), max_iterations };
        let solved = self.systems.advance(system, options, begins, products, &mut self.step)?;
        Ok(solved.map(|solved| match solved {
            Err(Trouble::IllConditioned | Trouble::TooSlow) => Answer::RowsNeeded,
            solved => Answer::Solved(solved.ok().map(|iterations| iterations as u32)),
        }))
    }

    /// Applies the step of the linear system: the trial point, and the projected step that leads there.
    fn project(&mut self, linear_iterations: Option<u32>) -> Result<Pending> {
        if self.ends_review(linear_iterations.is_some()) {
            return Ok(self.finish());
        }
        let Some(linear_iterations) = linear_iterations else {
            self.strategy.raise_least_damping();
            return Ok(self.reject(Trial::without_step(f64::NAN)));
        };
        self.shorten(linear_iterations);
        self.retraction.make(&self.point, &self.step, &mut self.trial, &mut self.projected_step)?;
        // A step too short to move anything has a reduction of 0, or NaN if longer steps met NaN: that is the reason for the end then.
        let last = self.summary.history.last();
        let change =
            last.filter(|last| !last.accepted && last.cost_change.is_nan()).map_or(0.0, |last| last.cost_change);
        let trial = Trial {
            step_norm: norm(&self.projected_step),
            scaled_step: self.scaled_step(),
            linear_iterations: Some(linear_iterations),
            ..Trial::without_step(change)
        };
        match self.systems.squared_jvp(&self.model, &self.projected_step) {
            Some(square) => Ok(self.predict(trial, square)),
            None => {
                self.phase = Phase::Predicting(trial);
                Ok(Pending::SquaredJvp)
            }
        }
    }

    /// Puts the step of the dogleg in the place of the Gauss-Newton step.
    fn shorten(&mut self, linear_iterations: u32) {
        let Strategy { dogleg: Some(dogleg), scale, rules, .. } = &mut self.strategy else { return };
        if !dogleg.has_path() {
            dogleg.begin_path(&self.step, linear_iterations, &self.free_gradient, scale);
            // Models of this trust region have a matrix; without a curvature the path has no Cauchy point.
            let square = self.systems.squared_jvp(&self.model, dogleg.gradient_step());
            dogleg.bend_path(square.unwrap_or(f64::NAN));
        }
        dogleg.step(rules, &mut self.step);
    }

    /// The predicted reduction ½‖r̃‖² − ½‖r̃ + J̃δ̄‖² = −δ̄ᵀg − ½‖J̃δ̄‖², from `square` = ‖J̃δ̄‖².
    fn predict(&mut self, trial: Trial, square: f64) -> Pending {
        let descent = -dot(&self.projected_step, &self.gradient);
        let trial = Trial { predicted: descent - 0.5 * square, descent, ..trial };
        if self.trial == self.point {
            return self.reject(trial);
        }
        self.phase = Phase::EvaluatingTrial(trial);
        Pending::EvaluateTrial
    }

    /// Accepts the trial point, subject to its model, or rejects it.
    fn judge(&mut self, trial: Trial) -> Pending {
        self.summary.function_evaluations += 1;
        let gain = self.gain(trial);
        if !gain.accepted {
            return self.reject_for(trial, gain);
        }
        self.phase = Phase::Accepting(trial, gain);
        Pending::LineariseAtTrial
    }

    fn gain(&self, trial: Trial) -> Gain {
        self.strategy.gain(self.linearised(), &self.trial_step(trial))
    }

    pub(super) fn linearised(&self) -> Linearised {
        let LevenbergMarquardt { residuals, scaled_size, cosine, .. } = *self;
        Linearised { cost: self.model.cost, residuals, scaled_size, cosine }
    }

    fn trial_step(&self, trial: Trial) -> TrialStep {
        let Trial { change, predicted, descent, scaled_step: step, linear_iterations, .. } = trial;
        // Conjugate gradients that use all their iterations are cut short, unless the options require all of them.
        let most = self.options.max_linear_iterations;
        let linear_iterations = self.strategy.dogleg.as_ref().map_or(linear_iterations, Dogleg::linear_iterations);
        let is_cut = self.systems.solver.is_iterative()
            && self.options.linear_tolerance > 0.0
            && linear_iterations.is_some_and(|iterations| iterations >= most);
        TrialStep { change, predicted, descent, step, size: self.free_size, is_complete: !is_cut }
    }

    /// Moves to the trial point, unless its derivatives are not finite or have lost a column.
    fn accept(&mut self, trial: Trial, gain: Gain, model: LeastSquares) -> Pending {
        let (cost, step) = (self.model.cost, self.trial_step(trial));
        std::mem::swap(&mut self.point, &mut self.trial);
        self.gradient_before.clone_from(&self.gradient);
        self.diagonal_before.clone_from(&self.diagonal);
        let is_finite = self.linearise(model);
        let diagonals = [self.diagonal_before.as_slice(), &self.diagonal];
        if !is_finite || self.strategy.loses_column(&self.gradient_before, diagonals, &self.projected_step, gain.ratio)
        {
            std::mem::swap(&mut self.point, &mut self.trial);
            let change = if is_finite { trial.change } else { f64::NAN };
            self.phase = Phase::Restoring(Trial { change, ..trial });
            return Pending::LineariseAtPoint;
        }
        self.review.move_on();
        let converged =
            self.strategy.converge(&AcceptedStep { cost, cosine: self.cosine, trial: step, is_hidden: gain.hidden });
        // A gradient does not depend on D.
        let goes_on = converged.is_some_and(|end| end != Termination::GradientTolerance)
            && self.strategy.releases_coordinates(&self.diagonal, &self.frozen);
        self.conclude(trial, gain, converged.filter(|_| !goes_on))
    }

    /// Stays at the point and raises the damping.
    fn reject(&mut self, trial: Trial) -> Pending {
        self.reject_for(trial, self.gain(trial))
    }

    fn reject_for(&mut self, trial: Trial, gain: Gain) -> Pending {
        let gain = self.strategy.rejection(gain);
        // A system without a solution gave no step that could show that nothing is left to gain.
        let end = gain.end.filter(|_| trial.linear_iterations.is_some() && self.review.open.is_none());
        let goes_on = end.is_some() && self.strategy.releases_coordinates(&self.diagonal, &self.frozen);
        let end = end.filter(|_| !goes_on);
        let end = end.filter(|&end| !self.strategy.begins_anew(end, &self.point, self.model.cost));
        self.conclude(trial, Gain { end, ..gain }, None)
    }

    fn conclude(&mut self, trial: Trial, gain: Gain, converged: Option<Termination>) -> Pending {
        let lambda = self.strategy.lambda();
        let collapsed = self.strategy.update(gain, &trial);
        self.record(trial, lambda, Some(gain.ratio), gain.accepted, converged.or(gain.end).or(collapsed))
    }

    /// Reports an iteration, and decides whether the run ends with it.
    fn record(
        &mut self,
        trial: Trial,
        lambda: f64,
        gain_ratio: Option<f64>,
        accepted: bool,
        end: Option<Termination>,
    ) -> Pending {
        let iteration = IterationSummary {
            iteration: self.summary.history.len() as u32,
            cost: self.model.cost,
            cost_change: trial.change,
            gradient_max_norm: self.gradient_max_norm(),
            step_norm: trial.step_norm,
            accepted,
            damping: Some(lambda),
            gain_ratio,
            linear_iterations: trial.linear_iterations,
            step_size: None,
            elapsed_ms: self.summary.elapsed_ms,
        };
        self.summary.iterations = iteration.iteration;
        self.summary.history.push(iteration);
        self.phase = Phase::Ready;
        let limit = self.options.solve.max_iterations;
        let end = end.or((iteration.iteration >= limit).then_some(Termination::MaxIterations));
        if let Some(termination) = end {
            let sentence = Ending {
                options: &self.options.solve,
                arithmetic: ARITHMETIC,
                last: &iteration,
                cosine: self.cosine,
                relative_step: trial.scaled_step / self.free_size,
            };
            let underflow = if termination.converged() && self.has_underflow() { ending::UNDERFLOW } else { "" };
            let end = (termination, format!("{}{underflow}", sentence.message(termination)));
            *(if termination.converged() { &mut self.review.due } else { &mut self.ending }) = Some(end);
        }
        Pending::Iteration(iteration)
    }

    fn finish(&mut self) -> Pending {
        if let Some((termination, message)) = self.ending.take() {
            self.summary.termination = termination;
            self.summary.message = format!("{}{message}.{}", self.preamble, self.strategy.trouble());
        }
        self.summary.final_cost = self.model.cost;
        self.phase = Phase::Finished;
        Pending::Finished
    }

    /// Whether residuals have been lost in their squares. Without a matrix the model does not have them.
    fn has_underflow(&self) -> bool {
        self.model.cost < f64::MIN_POSITIVE && self.model.residuals.iter().any(|residual| *residual != 0.0)
    }

    fn gradient_max_norm(&self) -> f64 {
        max_norm(&self.free_gradient)
    }
}
