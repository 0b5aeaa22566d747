//! What a run does between the solution of a linear system and the verdict on the step that comes of it.

use super::linear_system::LinearSystems;
use super::minimizer::LevenbergMarquardt;
use super::phase::{Pending, Phase, Trial};
use crate::solve::levenberg_marquardt::ending::{LOST, NO_PROGRESS};
use crate::solve::rules::{POOR_GAIN, TrialStep};
use crate::solve::summary::{IterationSummary, Termination};
use crate::solve::vector::{dot, norm};
use residua_base::error::Result;
use residua_linalg::DenseQr;

/// A bent step that lowers the cost by less than this share of what the model predicts is compared with the step without its bend.
const GOOD_BEND: f64 = 0.5;

/// A step that bounds leave less than this share of its predicted reduction ends at the first bound that it meets.
const LEAST_LEFT_BY_BOUNDS: f64 = 0.5;

/// So many steps show that a cost vanishes, but for the last one, which rounding may spoil: each takes nine tenths of it, with a gain ratio as near to 1 as
/// that.
const VANISHING_STEPS: usize = 8;
const FAITHFUL: f64 = 0.25;

/// Errors of derivatives are estimates: it is in doubt what effect a direction has that fewer of them leave it, and more do not.
const DOUBT: [f64; 2] = [0.2, 3.0];

/// A direction whose effect is explained by errors of this share of its columns has none. What larger errors explain, the residuals may determine.
const MOST_UNSEEN: f64 = 1e-7;

/// Points in a row at which a direction is lost before an attempt ends.
const MOST_LOST_POINTS: u32 = 20;

impl LevenbergMarquardt {
    /// Takes the solution of the linear system at a new point.
    pub(super) fn solved(&mut self, linear_iterations: Option<u32>) -> Result<Pending> {
        let Some(linear_iterations) = linear_iterations else {
            self.strategy.raise_damping(&self.diagonal);
            self.is_new_point = true;
            return Ok(self.reject(Trial::without_step(f64::NAN)));
        };
        if self.is_exact() {
            let promise = self.exact.region.as_mut().map_or(f64::NAN, |region| region.promise());
            self.take_promise(promise);
            self.exact.limit(self.coordinates, self.has_long_curvature);
            let [least, most] = DOUBT.map(|errors| self.exact.deficiency_with(errors));
            let deficiency = self.exact.deficiency();
            self.first_deficiency.get_or_insert(least);
            let are_coarse = self.model.noise > 0.0 || self.model.accuracy.iter().any(|&error| error > MOST_UNSEEN);
            self.strategy.hides |= most > least || (deficiency > 0 && are_coarse);
            self.has_stepped = false;
            // A cost that falls by half and more with each step may vanish, and its derivatives with it.
            let falls = self.summary.history.last().is_some_and(|step| step.accepted && step.cost_change > step.cost);
            self.lost_points = if self.has_lost_rank() && !falls { self.lost_points + 1 } else { 0 };
            if self.lost_points > MOST_LOST_POINTS && self.ending.is_none() && self.strategy.is_judged() {
                self.ending = Some((Termination::PrecisionLimit, LOST.to_owned()));
            }
            return self.make_step();
        }
        self.has_stepped = false;
        let of_step = -0.5 * dot(&self.step, &self.free_gradient);
        let is_cut = self.second_order.is_active && self.second_order.promise > of_step;
        self.take_promise(if is_cut { self.second_order.promise } else { of_step });
        let descent = self.dogleg.begin_path(&self.step, linear_iterations, &self.free_gradient, &self.strategy.scale);
        let square = match self.second_order.is_active {
            true => None,
            false => self.systems.squared_jvp(&self.model, descent),
        };
        match square {
            Some(square) => {
                self.dogleg.bend_path(square);
                self.make_step()
            }
            None => {
                self.phase = Phase::Descending;
                Ok(Pending::SquaredDescent)
            }
        }
    }

    /// Makes a step within the radius, unless the run ends at the point.
    pub(super) fn make_step(&mut self) -> Result<Pending> {
        let is_exact = self.is_exact();
        let is_stopped = self.ending.is_some() && self.stop.is_none();
        if is_exact && self.exact.wants_curvature() && !is_stopped {
            self.phase = Phase::Curving;
            return Ok(Pending::Curvature);
        }
        if self.ends_here() {
            return Ok(self.finish());
        }
        if self.is_new_point {
            return self.begin_step();
        }
        if !is_exact {
            self.length = self.dogleg.step(&self.strategy.rules, self.strategy.radius, &mut self.step);
            return self.project(1.0);
        }
        self.length = self.exact.step(self.strategy.radius, &mut self.step);
        if self.exact.wants_bend() {
            self.phase = Phase::Bending;
            return Ok(Pending::Bend);
        }
        self.project(1.0)
    }

    /// Whether the residuals determine fewer directions than at the start, as where an exponential has vanished or a circle is as good as a line: the cost is
    /// flat in a parameter, and no promise shows in which direction it falls. Residuals of 0 need no parameter: a limit that is kept is one.
    fn has_lost_rank(&self) -> bool {
        self.is_exact() && Some(self.exact.deficiency()) > self.first_deficiency && !self.is_idle()
    }

    /// Whether the coordinates whose columns are 0 have no effect on residuals other than 0, and all others are determined.
    fn is_idle(&self) -> bool {
        let LinearSystems { row_offsets, col_indices, .. } = &self.systems;
        let is_idle = |k: usize| self.diagonal[k] == 0.0 && self.strategy.scale[k] > 0.0 && !self.frozen[k];
        let idle = (0..self.frozen.len()).filter(|&k| is_idle(k)).count();
        let rows = row_offsets.windows(2).zip(&self.model.residuals).filter(|(_, residual)| **residual != 0.0);
        let acts = |row: &[u32]| col_indices[row[0] as usize..row[1] as usize].iter().any(|&k| is_idle(k as usize));
        self.model.normal.is_none()
            && Some(self.exact.deficiency()) == self.first_deficiency.map(|first| first + idle)
            && !rows.map(|(row, _)| row).any(acts)
    }

    /// Whether a small problem is solved by what does not see all that J̃ promises: J̃ᵀJ̃, or conjugate gradients.
    pub(super) fn may_be_exact(&self) -> bool {
        self.systems.can_be_exact(self.frozen.len(), self.residuals as usize)
    }

    /// Whether the run ends at the point: a step or the start has met a tolerance there and the model promises next to nothing, or it is stopped.
    fn ends_here(&mut self) -> bool {
        let linearised = self.linearised();
        if self.stop.is_none() && self.strategy.is_judged() && self.promise <= self.strategy.rounding(linearised) {
            self.stop = Some((Termination::CostTolerance, NO_PROGRESS.to_owned()));
        }
        if self.stop.is_some() && !self.is_exact() && !self.second_order.is_active && self.may_be_exact() {
            // The same point, with exact steps from now on.
            self.exact.qr = Some(DenseQr::new());
            self.is_new_point = true;
            return false;
        }
        if let Some(stop) = self.stop.take() {
            let least = self.strategy.tolerable_promise(linearised, self.is_exact());
            let is_small = self.is_minimum(least);
            if is_small && !self.is_promise_proven() {
                // The same point, with a system that is solved further.
                (self.verifies, self.is_new_point, self.stop) = (true, true, Some(stop));
                return false;
            }
            if is_small && self.exact.bends_down() {
                self.exact.take_second_order();
            } else if is_small {
                self.ending = Some(stop);
            }
            // A step that the model overstates is short for another reason than the ball.
            if self.summary.history.last().and_then(|last| last.gain_ratio).is_none_or(|ratio| ratio >= POOR_GAIN) {
                self.strategy.go_on(self.length);
            }
        }
        self.ending.is_some()
    }

    /// Whether the cost vanishes, and derivatives of some directions with it: step after step took nearly all of the cost, as the model said.
    fn vanishes(&self) -> bool {
        let took_all = |step: &IterationSummary| {
            step.cost_change > 9.0 * step.cost && step.gain_ratio.is_some_and(|ratio| (ratio - 1.0).abs() < FAITHFUL)
        };
        let accepted = self.summary.history.iter().rev().filter(|step| step.accepted);
        accepted.clone().count() > VANISHING_STEPS && accepted.skip(1).take(VANISHING_STEPS).all(took_all)
    }

    /// Whether the point is a minimum, as far as its model tells: `least` is the largest promise of one.
    pub(super) fn is_minimum(&self, least: f64) -> bool {
        // A cost that is rounding is a minimum whatever determines it.
        let is_rounding = self.strategy.rounding(self.linearised()) == f64::INFINITY;
        let is_determined = || is_rounding || !self.has_lost_rank() || self.settles_by_second_order(least);
        (self.promise <= least && is_determined()) || self.vanishes()
    }

    /// Whether the exact model to the second order promises next to nothing, and its step is as short in units of D, the sensitivity that residuals have had:
    /// where J̃ is 0 at a minimum that is not 0, the second order alone tells. Where all derivatives fade, steps stay long in these units.
    fn settles_by_second_order(&self, least: f64) -> bool {
        let is_small = |(promise, length): (f64, f64)| promise <= least && length * length <= 2.0 * least;
        self.exact.second_order_promise().is_some_and(is_small)
    }

    /// Applies the step that was made, of which this share is left: the trial point, and the projected step that leads there.
    pub(super) fn project(&mut self, share: f64) -> Result<Pending> {
        self.length *= share;
        if self.exact.unbent.is_some() && self.leaves_bounds() {
            self.exact.straighten(&mut self.step);
        }
        self.retraction.make(&self.point, &self.step, &mut self.trial, &mut self.projected_step)?;
        // Another step from the same point takes no system.
        let iterations = if self.is_exact() { Some(1) } else { self.dogleg.linear_iterations() };
        let linear_iterations = if std::mem::replace(&mut self.has_stepped, true) { Some(0) } else { iterations };
        // A step too short to move anything has a reduction of 0, or NaN if longer steps met NaN: that is the reason for the end then.
        let last = self.summary.history.last();
        let change =
            last.filter(|last| !last.accepted && last.cost_change.is_nan()).map_or(0.0, |last| last.cost_change);
        let trial = |solver: &LevenbergMarquardt| Trial {
            step_norm: solver.step_norm(),
            scaled_step: solver.scaled_step(),
            length: solver.length,
            linear_iterations,
            ..Trial::without_step(change)
        };
        let Some(square) = self.squared_jvp() else {
            self.phase = Phase::Predicting(trial(self));
            return Ok(Pending::SquaredJvp);
        };
        let predicted = self.descent() - 0.5 * square;
        if self.leaves_bounds() && predicted < LEAST_LEFT_BY_BOUNDS * self.predicted_without_bounds() {
            if self.hold_at_bounds() {
                return self.begin_step();
            }
            self.stop_at_bounds();
            self.retraction.make(&self.point, &self.step, &mut self.trial, &mut self.projected_step)?;
        }
        let square = self.squared_jvp().unwrap_or(square);
        Ok(self.predict(trial(self), square))
    }

    /// The predicted reduction ½‖r̃‖² − ½‖r̃ + J̃δ̄‖² = −δ̄ᵀg − ½‖J̃δ̄‖², from `square` = ‖J̃δ̄‖², or that of the model that made the step.
    pub(super) fn predict(&mut self, trial: Trial, square: f64) -> Pending {
        let descent = self.descent();
        let trial = match &self.exact.unbent {
            // A bend makes up for what the model leaves out, so that the step without it has the prediction.
            Some(unbent) if self.is_exact() => {
                let descent = -dot(unbent, &self.gradient);
                Trial { predicted: descent - 0.5 * self.exact.squared_jvp(unbent), descent, ..trial }
            }
            _ => Trial {
                predicted: descent
                    - 0.5 * square
                    - 0.5 * self.exact.bend_of_model(&self.projected_step, self.is_exact()),
                descent,
                ..trial
            },
        };
        if self.trial == self.point {
            return self.reject(trial);
        }
        self.phase = Phase::EvaluatingTrial(trial);
        Pending::EvaluateTrial
    }

    /// Judges a step, unless it is to be compared with the one without its bend.
    pub(super) fn judge_bent(&mut self, trial: Trial) -> Result<Pending> {
        let is_good = trial.change >= GOOD_BEND * trial.predicted;
        if is_good || self.exact.unbent.is_none() {
            return Ok(self.judge(trial));
        }
        self.summary.function_evaluations += 1;
        std::mem::swap(&mut self.trial, &mut self.bent.0);
        std::mem::swap(&mut self.projected_step, &mut self.bent.1);
        self.exact.straighten(&mut self.step);
        self.trial.resize(self.point.len(), 0.0);
        self.projected_step.resize(self.point.len(), 0.0);
        self.retraction.make(&self.point, &self.step, &mut self.trial, &mut self.projected_step)?;
        self.phase = Phase::EvaluatingUnbent(trial);
        Ok(Pending::EvaluateTrial)
    }

    /// Judges the better one of a bent step and the one without its bend.
    pub(super) fn judge_unbent(&mut self, bent: Trial, change: f64) -> Result<Pending> {
        if bent.change >= change {
            std::mem::swap(&mut self.trial, &mut self.bent.0);
            std::mem::swap(&mut self.projected_step, &mut self.bent.1);
            return Ok(self.judge(bent));
        }
        Ok(self.judge(Trial { change, step_norm: self.step_norm(), scaled_step: self.scaled_step(), ..bent }))
    }

    /// Accepts the trial point, subject to its model, or rejects it.
    fn judge(&mut self, trial: Trial) -> Pending {
        self.summary.function_evaluations += 1;
        let gain = self.strategy.gain(self.linearised(), &self.trial_step(trial));
        if self.is_exact() {
            let predicted = self.descent() - 0.5 * self.exact.squared_jvp(&self.projected_step);
            self.exact.choose_model(&self.projected_step, predicted, trial.change);
        } else {
            let is_active = self.second_order.is_active;
            let square = is_active.then(|| self.systems.squared_jvp(&self.model, &self.projected_step)).flatten();
            let by_gauss_newton = square.map(|square| self.descent() - 0.5 * square);
            // A step by the other model from the same point, if this one is rejected.
            if self.strategy.shows(self.linearised(), trial.predicted) {
                self.is_new_point |=
                    self.second_order.choose(trial.predicted, by_gauss_newton, trial.change, self.strategy.radius);
            }
        }
        let before = self.second_order.end_trial(gain.accepted);
        if !gain.accepted {
            let pending = self.reject(trial);
            if let Some(radius) = before {
                (self.strategy.radius, self.is_new_point) = (radius, true);
            }
            return pending;
        }
        self.phase = Phase::Accepting(trial, gain);
        Pending::LineariseAtTrial
    }

    pub(super) fn trial_step(&self, trial: Trial) -> TrialStep {
        let Trial { change, predicted, descent, scaled_step: step, .. } = trial;
        // Conjugate gradients that use all their iterations are cut short, unless the options require all of them.
        let most = self.options.max_linear_iterations;
        let is_cut = self.systems.solver.is_iterative()
            && self.options.linear_tolerance > 0.0
            && self.dogleg.linear_iterations().is_some_and(|iterations| iterations >= most);
        TrialStep { change, predicted, descent, step, size: self.free_size, is_complete: !is_cut }
    }

    /// ‖J̃δ̄‖², where the model has a matrix.
    fn squared_jvp(&self) -> Option<f64> {
        if self.is_exact() {
            return Some(self.exact.squared_jvp(&self.projected_step));
        }
        if self.second_order.is_active {
            return None;
        }
        self.systems.squared_jvp(&self.model, &self.projected_step)
    }

    fn predicted_without_bounds(&self) -> f64 {
        let square = match self.is_exact() {
            true => self.exact.squared_jvp(&self.step),
            false => self.systems.squared_jvp(&self.model, &self.step).unwrap_or(0.0),
        };
        -dot(&self.step, &self.free_gradient) - 0.5 * square
    }

    fn step_norm(&self) -> f64 {
        norm(&self.projected_step)
    }

    /// ‖Dδ̄‖ of the projected step, with D² the diagonal of J̃ᵀJ̃.
    fn scaled_step(&self) -> f64 {
        let terms = self.projected_step.iter().zip(&self.diagonal);
        terms.map(|(step, diagonal)| diagonal * step * step).sum::<f64>().sqrt()
    }

    fn descent(&self) -> f64 {
        -dot(&self.projected_step, &self.gradient)
    }

    /// Whether the step goes beyond a bound.
    fn leaves_bounds(&self) -> bool {
        let ends = self.point.iter().zip(&self.step).map(|(x, step)| x + step);
        ends.enumerate().any(|(k, end)| self.step[k] != 0.0 && self.feasible.project(k, end) != end)
    }

    /// Takes the promise of the point. Where coordinates are held without a reason in the gradient it is that of the model in which they are free.
    fn take_promise(&mut self, promise: f64) {
        if !self.holds {
            self.promise = promise;
        }
    }

    /// Holds coordinates that are at a bound which the step would leave; whether there are any. Their own gradient may lead inside, while others take them out.
    fn hold_at_bounds(&mut self) -> bool {
        let leaves = |&k: &usize| {
            let (x, step) = (self.point[k], self.step[k]);
            step != 0.0 && !self.frozen[k] && self.feasible.project(k, x + step) == x
        };
        let held: Vec<usize> = (0..self.frozen.len()).filter(leaves).collect();
        for &k in &held {
            (self.frozen[k], self.free_gradient[k]) = (true, 0.0);
        }
        if !held.is_empty() {
            self.measure();
            (self.holds, self.is_new_point) = (true, true);
        }
        !held.is_empty()
    }

    /// Shortens the step to where it meets the first bound. Where columns nearly depend on each other, what is left of a step without one coordinate raises the
    /// cost.
    fn stop_at_bounds(&mut self) {
        let mut share = 1.0_f64;
        for (k, (&x, &step)) in self.point.iter().zip(&self.step).enumerate().filter(|(_, (_, step))| **step != 0.0) {
            let bounded = self.feasible.project(k, x + step);
            if bounded != x + step {
                // Beyond by a rounding error, so that clamping ends it at the bound.
                share = share.min((bounded - x) / step * (1.0 + 4.0 * f64::EPSILON));
            }
        }
        self.step.iter_mut().for_each(|step| *step *= share);
    }
}
