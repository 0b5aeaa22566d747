//! The state machine of L-BFGS: [`Lbfgs::next`] takes cost and gradient at the point it last returned, and returns the next point, a
//! finished iteration or the end. [`crate::solve::lbfgs`] describes the steps.

use residua_base::list::Listed;
use std::rc::Rc;

use crate::eval::{Arithmetic, Evaluation};
use crate::solve::feasible::FeasibleSet;
use crate::solve::findings::Finding;
use crate::solve::lbfgs::ending::{self, Failure};
use crate::solve::lbfgs::rules;
use crate::solve::lbfgs::rules::line_search::ROUNDINGS;
use crate::solve::manifold_map::ManifoldMap;
use crate::solve::options::{LbfgsOptions, SolveOptions};
use crate::solve::rules::LEAST_PROMISE;
use crate::solve::scalar::evaluate;
use crate::solve::start::Start;
use crate::solve::summary::{IterationSummary, SolveSummary, Termination};
use crate::solve::vector::{dot, max_norm, norm};
use residua_base::decimal;
use residua_base::error::Result;
use residua_codegen::Function;

mod measures;

use super::convergence::{Convergence, Measures};
use super::history::History;
use super::line_search::{Conditions, Decision, LineSearch, Next, Origin, Rule, Trial};
use super::shares::Shares;

/// A request or a report of [`Lbfgs::next`].
#[derive(Clone, Copy, Debug)]
pub enum Step<'a> {
    /// Cost and gradient at this point are due with the next call; the gradient of a block on a manifold is that in tangent coordinates.
    Evaluate(&'a [f64]),
    /// An iteration has ended, at [`Lbfgs::point`]. The next call takes no evaluation.
    Iteration(IterationSummary),
    /// The run has ended; [`Lbfgs::solution`] is the best point.
    Finished(&'a SolveSummary),
}

#[derive(Debug)]
enum Phase {
    /// The evaluation of the start is due.
    Start,
    /// A new direction is due.
    Direction,
    /// The evaluation of the trial point is due.
    LineSearch(LineSearch),
    Finished,
}

/// A point with its cost and gradient. The gradient is zero for constant coordinates.
#[derive(Debug)]
struct Iterate {
    point: Vec<f64>,
    gradient: Vec<f64>,
    cost: f64,
}

/// A [`Step`] before it borrows the run.
enum Pending {
    Evaluate,
    Iteration(IterationSummary),
    Finished,
}

/// A run of L-BFGS.
#[derive(Debug)]
pub struct Lbfgs {
    options: LbfgsOptions,
    arithmetic: Arithmetic,
    feasible: FeasibleSet,
    manifolds: Option<Rc<ManifoldMap>>,
    /// Where the last iteration ended.
    current: Iterate,
    /// The trial point being evaluated.
    trial: Iterate,
    /// The best trial of this line search.
    stored: Iterate,
    /// The iterate of lowest cost, where that is not the current one.
    lowest: Option<Iterate>,
    frozen: Vec<bool>,
    line_search_rule: Rc<Rule>,
    descends: Rc<Function>,
    direction: Vec<f64>,
    shares: Shares,
    history: History,
    phase: Phase,
    /// The reason to end the run at the next call.
    ending: Option<(Termination, String)>,
    convergence: Convergence,
    /// Σ w e² of the errors e of plain functions' residuals.
    uncertain: f64,
    /// By how much the slopes at both ends of the last step say that it lowered the cost.
    by_slopes: f64,
    /// How many residuals there are, if the cost is half the sum of their squares.
    residuals: Option<usize>,
    summary: SolveSummary,
}

impl Lbfgs {
    /// A run from `start`, with some blocks on `manifolds`.
    ///
    /// # Errors
    /// `out-of-memory` for a history that does not fit.
    pub fn new(
        start: Start,
        manifolds: Option<Rc<ManifoldMap>>,
        options: &LbfgsOptions,
        arithmetic: Arithmetic,
    ) -> Result<Lbfgs> {
        let Start { point, feasible, corrections } = start;
        let n = point.len();
        let capacity = options.history_size.min(options.solve.max_iterations.max(1));
        let shares = Shares::new(&point);
        let iterate = |point: Vec<f64>| Iterate { gradient: vec![0.0; n], cost: f64::NAN, point };
        Ok(Lbfgs {
            options: options.clone(),
            arithmetic,
            frozen: (0..n).map(|i| feasible.is_constant(i)).list(),
            feasible,
            manifolds,
            trial: iterate(point.clone()),
            stored: iterate(point.clone()),
            current: iterate(point),
            lowest: None,
            line_search_rule: Rule::new(),
            descends: rules::history::descends(),
            direction: vec![0.0; n],
            shares,
            history: History::new(n, capacity as usize)?,
            phase: Phase::Start,
            ending: None,
            convergence: Convergence::new(&options.solve, arithmetic),
            uncertain: 0.0,
            by_slopes: 0.0,
            residuals: None,
            summary: SolveSummary { findings: corrections, ..SolveSummary::before_start() },
        })
    }

    /// Continues the run. `elapsed_ms`: milliseconds since the solve began. `evaluation`: cost and gradient at the point of the last
    /// [`Step::Evaluate`]; without it the same point is returned again.
    ///
    /// # Panics
    /// If the gradient has another length than the point.
    pub fn next(&mut self, elapsed_ms: f64, evaluation: Option<Evaluation>) -> Step<'_> {
        if !matches!(self.phase, Phase::Finished) {
            self.summary.elapsed_ms = elapsed_ms;
        }
        match self.advance(evaluation) {
            Pending::Evaluate => Step::Evaluate(&self.trial.point),
            Pending::Iteration(iteration) => Step::Iteration(iteration),
            Pending::Finished => Step::Finished(&self.summary),
        }
    }

    /// Ends the run at the next call, unless it has converged; at the earliest after the evaluation of the start.
    pub fn stop(&mut self, termination: Termination) {
        self.ending.get_or_insert(ending::stopped(termination, &self.options.solve));
    }

    /// The options of every solver.
    pub(super) fn options(&self) -> &SolveOptions {
        &self.options.solve
    }

    /// The corrections made to the start.
    pub(super) fn corrections(&self) -> &[Finding] {
        &self.summary.findings
    }

    /// Where the last iteration ended.
    pub fn point(&self) -> &[f64] {
        &self.current.point
    }

    /// The best point so far.
    pub fn solution(&self) -> &[f64] {
        &self.lowest.as_ref().unwrap_or(&self.current).point
    }

    fn advance(&mut self, evaluation: Option<Evaluation>) -> Pending {
        match self.phase {
            Phase::Finished => return Pending::Finished,
            Phase::Start => {
                let Some(evaluation) = evaluation else { return Pending::Evaluate };
                return self.begin(evaluation);
            }
            Phase::Direction | Phase::LineSearch(_) => {}
        }
        if let Some(ending) = self.ending.take() {
            return self.finish(ending);
        }
        let limit = self.options.solve.max_time_ms;
        if self.summary.elapsed_ms >= limit {
            return self.finish(ending::stopped(Termination::MaxTime, &self.options.solve));
        }
        match std::mem::replace(&mut self.phase, Phase::Direction) {
            Phase::LineSearch(search) => match evaluation {
                Some(evaluation) => {
                    let finite = self.receive(evaluation);
                    let trial = if finite { self.measure_trial(search.step()) } else { Trial::NonFinite };
                    self.judge_trial(search, Some(trial))
                }
                None => {
                    self.phase = Phase::LineSearch(search);
                    Pending::Evaluate
                }
            },
            Phase::Direction | Phase::Start | Phase::Finished => self.compute_direction(),
        }
    }

    /// Stores an evaluation of the trial point; returns whether all of it is finite.
    fn receive(&mut self, evaluation: Evaluation) -> bool {
        assert_eq!(evaluation.gradient.len(), self.trial.point.len(), "one derivative per coordinate");
        self.summary.function_evaluations = self.summary.function_evaluations.saturating_add(1);
        self.trial.cost = evaluation.cost;
        self.trial.gradient = evaluation.gradient;
        for (i, derivative) in self.trial.gradient.iter_mut().enumerate() {
            if self.feasible.is_constant(i) {
                *derivative = 0.0;
            }
        }
        self.trial.cost.is_finite() && self.trial.gradient.iter().all(|derivative| derivative.is_finite())
    }

    fn begin(&mut self, evaluation: Evaluation) -> Pending {
        let finite = self.receive(evaluation);
        self.summary.initial_cost = self.trial.cost;
        std::mem::swap(&mut self.current, &mut self.trial);
        if !finite {
            let what = match self.current.gradient.iter().position(|derivative| !derivative.is_finite()) {
                Some(i) if self.current.cost.is_finite() => {
                    format!("the derivative by parameter {i} is {}", decimal::shortest(self.current.gradient[i]))
                }
                _ => format!("the cost is {}", decimal::shortest(self.current.cost)),
            };
            return self.finish((Termination::NonFinite, format!("At the start {what}")));
        }
        self.feasible.freeze(&self.current.point, &self.current.gradient, &mut self.frozen);
        self.finish_iteration(0.0, 0.0, None)
    }

    /// −Hg, or −γg where there is no history or −Hg does not point downhill.
    fn compute_direction(&mut self) -> Pending {
        self.direction.copy_from_slice(&self.current.gradient);
        self.clear_frozen();
        if self.history.is_empty() {
            return self.descend_steepest();
        }
        self.history.multiply(&mut self.direction);
        for (i, d) in self.direction.iter_mut().enumerate() {
            *d = -*d;
            if self.feasible.blocks(i, self.current.point[i], *d) {
                *d = 0.0;
            }
        }
        let slope = dot(&self.current.gradient, &self.direction);
        let norms = [self.gradient_norm(), norm(&self.direction)];
        let [descends] = evaluate(&self.descends, &[slope, norms[0], norms[1], self.arithmetic.epsilon()]);
        if descends != 0.0 { self.start_search(slope) } else { self.descend_steepest() }
    }

    /// −γg with the γ of the history, or min(1, 1/‖g‖) at the start. Clears the history.
    fn descend_steepest(&mut self) -> Pending {
        self.history.clear();
        let scale = self.history.scale().unwrap_or_else(|| self.gradient_norm().recip().min(1.0));
        self.direction.copy_from_slice(&self.current.gradient);
        self.clear_frozen();
        self.direction.iter_mut().for_each(|d| *d *= -scale);
        let slope = dot(&self.current.gradient, &self.direction);
        if slope < 0.0 {
            return self.start_search(slope);
        }
        self.finish(ending::gradient_underflow(self.arithmetic))
    }

    fn clear_frozen(&mut self) {
        self.direction.iter_mut().zip(&self.frozen).filter(|(_, frozen)| **frozen).for_each(|(d, _)| *d = 0.0);
    }

    /// Begins a line search with a first step of 1.
    fn start_search(&mut self, slope: f64) -> Pending {
        let noise = self.noise();
        let Iterate { cost, .. } = self.current;
        let lowest = self.lowest.as_ref().map_or(cost, |lowest| lowest.cost);
        let origin = Origin { cost, slope, noise, ceiling: lowest + noise };
        let LbfgsOptions { c1, c2, max_line_search_steps, .. } = self.options;
        let resolution = self.arithmetic.epsilon();
        let conditions = Conditions { c1, c2, max_trials: max_line_search_steps, resolution };
        self.judge_trial(LineSearch::new(self.line_search_rule.clone(), origin, conditions, 1.0), None)
    }

    /// Takes Σ w e² of the errors e of residuals that are plain functions.
    pub(super) fn take_noise(&mut self, squares: f64) {
        self.uncertain = squares;
    }

    /// Rounding error of the cost: that of the sum, and that of the coordinates, each of which changes the cost by gᵢ times its own rounding
    /// error; beside the noise of plain functions, of half a sum of squares r e for each residual. Independent errors add as squares.
    fn noise(&self) -> f64 {
        let cost = self.current.cost.abs();
        let factor = self.residuals.map_or(1.0, |residuals| 2.0 * cost / residuals.max(1) as f64);
        self.arithmetic.epsilon() * (cost + self.effect()) + (factor * self.uncertain).sqrt()
    }

    /// The norm of what the coordinates change the cost by when each changes by its own size.
    fn effect(&self) -> f64 {
        norm(&(0..self.frozen.len()).map(|i| self.coordinate_size(i) * self.current.gradient[i]).list())
    }

    /// |x|; tangent coordinates are those of a unit block, and the rounding error of an angle is at most that of π.
    fn coordinate_size(&self, i: usize) -> f64 {
        if self.is_on_manifold(i) { 1.0 } else { self.current.point[i].abs() }
    }

    /// Continues the search with a measured trial, up to one that needs an evaluation or to the end of the search.
    fn judge_trial(&mut self, mut search: LineSearch, mut measured: Option<Trial>) -> Pending {
        loop {
            if let Some(trial) = measured {
                let Decision { store, then } = search.judge(trial);
                if store {
                    std::mem::swap(&mut self.trial, &mut self.stored);
                }
                match then {
                    Next::Try(_) => {}
                    Next::Accept if !self.is_refused(&search) => return self.accept(search.accepted_step()),
                    // The gradient leads elsewhere than a direction that goes too far.
                    Next::Accept if !self.history.is_empty() => return self.descend_steepest(),
                    Next::Accept => search.refuse(),
                    Next::Fail(failure) => return self.restart(failure),
                }
            }
            measured = self.place_trial(search.step());
            if measured.is_none() {
                self.phase = Phase::LineSearch(search);
                return Pending::Evaluate;
            }
        }
    }

    /// Writes the trial point x ⊞ αd, projected onto the bounds. Returns the trial where it needs no evaluation.
    fn place_trial(&mut self, step: f64) -> Option<Trial> {
        let arithmetic = self.arithmetic;
        let mut finite = true;
        for (i, trial) in self.trial.point.iter_mut().enumerate() {
            let x = self.current.point[i];
            *trial = match &self.manifolds {
                Some(manifolds) if manifolds.contains(i) => arithmetic.quantise(step * self.direction[i]),
                _ if self.frozen[i] => x,
                _ => arithmetic.quantise(x + step * self.direction[i]),
            };
            finite &= trial.is_finite();
            if !self.frozen[i] {
                *trial = self.feasible.project(i, *trial);
            }
        }
        if let (Some(manifolds), true) = (&self.manifolds, finite) {
            let retracted = manifolds.retract(&self.current.point, &mut self.trial.point);
            retracted.expect("the kernels' views have the length of the parameters that the map was made for");
            self.trial.point.iter_mut().for_each(|x| *x = arithmetic.quantise(*x));
            finite = self.trial.point.iter().all(|x| x.is_finite());
        }
        let moved = self.trial.point != self.current.point;
        match (finite, moved) {
            (false, _) => Some(Trial::NonFinite),
            (true, false) => Some(Trial::Unmoved),
            (true, true) => None,
        }
    }

    /// Moves to the stored trial.
    fn accept(&mut self, step_size: f64) -> Pending {
        let step_norm = self.update_history(step_size);
        std::mem::swap(&mut self.current, &mut self.stored);
        let (before, after) = (self.stored.cost, self.current.cost);
        match &self.lowest {
            Some(lowest) if after <= lowest.cost => self.lowest = None,
            // The step was accepted for its slope, and its cost is higher within the noise.
            None if after > before => {
                let Iterate { point, gradient, cost } = &self.stored;
                self.lowest = Some(Iterate { point: point.clone(), gradient: gradient.clone(), cost: *cost });
            }
            _ => {}
        }
        if self.feasible.freeze(&self.current.point, &self.current.gradient, &mut self.frozen) {
            self.history.clear();
        }
        self.summary.iterations += 1;
        self.finish_iteration(before - after, step_norm, Some(step_size))
    }

    /// Adds the pair of the step to the stored trial, if the rule keeps it. Otherwise, if the step was along −γg, the next one along it starts
    /// with its length: where the unit of the cost is small, one line search does not make a first step long enough. Returns ‖s‖.
    fn update_history(&mut self, step_size: f64) -> f64 {
        for i in 0..self.frozen.len() {
            let step = self.projected_step(i, step_size, self.stored.point[i]);
            let change = self.stored.gradient[i] - self.current.gradient[i];
            let (s, y) = self.history.slot();
            s[i] = step;
            y[i] = if self.frozen[i] { 0.0 } else { change };
        }
        let (s, y) = self.history.slot();
        let step_norm = norm(s);
        self.by_slopes = -(dot(s, &self.current.gradient) + 0.5 * dot(s, y));
        if !self.history.keep(self.arithmetic.epsilon()) && self.history.is_empty() {
            let slopes = self.stored.gradient.iter().zip(&self.frozen).filter(|(_, frozen)| !**frozen);
            let gradient_norm = slopes.map(|(slope, _)| slope * slope).sum::<f64>().sqrt();
            self.history.set_scale(step_norm / gradient_norm);
        }
        step_norm
    }

    /// Reports the iteration that ended at the current point, and tests convergence.
    fn finish_iteration(&mut self, cost_change: f64, step_norm: f64, step_size: Option<f64>) -> Pending {
        let iteration = IterationSummary {
            iteration: self.summary.iterations,
            cost: self.current.cost,
            cost_change,
            gradient_max_norm: max_norm(&self.free_gradient()),
            step_norm,
            accepted: true,
            damping: None,
            gain_ratio: None,
            linear_iterations: None,
            step_size,
            elapsed_ms: self.summary.elapsed_ms,
        };
        self.summary.history.push(iteration);
        self.phase = Phase::Direction;
        self.ending = self.converge(&iteration).or(self.ending.take());
        Pending::Iteration(iteration)
    }

    /// Has the cost be half the sum of the squares of so many residuals: a small fall of it, or a short step, is convergence only where H promises next to
    /// nothing more, at most [`LEAST_PROMISE`] of the variance of the residuals.
    pub fn take_residuals(&mut self, residuals: usize) {
        self.residuals = Some(residuals);
    }

    /// σ² of the residuals at the current point, where there are residuals.
    fn variance(&self) -> Option<f64> {
        let free = self.frozen.iter().filter(|frozen| !**frozen).count();
        self.residuals.map(|residuals| 2.0 * self.current.cost / residuals.saturating_sub(free).max(1) as f64)
    }

    /// Whether the run ends with this iteration.
    fn converge(&mut self, last: &IterationSummary) -> Option<(Termination, String)> {
        let size = self.feasible.norm_of_free(&self.current.point);
        let gradient = self.free_gradient();
        let (limit, epsilon) = (self.convergence.limit(), self.arithmetic.epsilon());
        let on_manifold = |i| self.manifolds.as_ref().is_some_and(|manifolds| manifolds.contains(i));
        let (share, unsettled) = self.shares.take(&self.current.point, &gradient, on_manifold, limit, epsilon);
        let (noise, effect) = (self.noise(), self.effect());
        let rounding = noise.max(epsilon * (self.summary.initial_cost - self.current.cost));
        let variance = self.variance();
        let measures = Measures {
            has_size: self.residuals.is_some(),
            by_slopes: self.by_slopes,
            size,
            noise,
            effect,
            share,
            unsettled,
        };
        let Lbfgs { convergence, history, .. } = self;
        let ending = convergence.test(last, &measures, || {
            let promise = promised(history, &gradient);
            let is_open = |promise: &f64| variance.is_some_and(|of| *promise > (LEAST_PROMISE * of).max(rounding));
            promise.filter(|promise| !is_open(promise)).unwrap_or(f64::MAX)
        })?;
        self.summary.promise = variance.and_then(|variance| {
            promised(history, &gradient).map(|promise| if promise == 0.0 { 0.0 } else { promise / variance })
        });
        Some(ending)
    }

    /// After a line search without a step: searches along the gradient, or ends the run if that was the direction.
    fn restart(&mut self, failure: Failure) -> Pending {
        // The restart clears the history, so there is no second one.
        if !self.history.is_empty() {
            return self.descend_steepest();
        }
        // The cost differences of an exhausted search whose last trial was this near are rounding errors.
        let moved = self.trial.point.iter().zip(&self.current.point).map(|(trial, x)| trial - x).list();
        let visible = ROUNDINGS * self.arithmetic.epsilon() * norm(&self.current.point);
        let failure = match failure {
            Failure::Exhausted if norm(&moved) <= visible => Failure::Precision,
            other => other,
        };
        let settled = self.convergence.settled();
        self.finish(failure.ending(self.options.max_line_search_steps, self.arithmetic, settled))
    }

    fn finish(&mut self, (termination, why): (Termination, String)) -> Pending {
        // The current point met a tolerance, even where another one has a lower cost within the noise.
        if !termination.converged()
            && let Some(lowest) = self.lowest.take()
        {
            self.current = lowest;
            // That of another point.
            self.summary.promise = None;
        }
        self.lowest = None;
        (self.summary.termination, self.summary.why) = (termination, why);
        if let (Some(residuals), Some(variance)) = (self.residuals, self.variance())
            && self.uncertain > 0.0
        {
            let size = (self.uncertain / residuals.max(1) as f64).sqrt();
            self.summary.findings.push(Finding::Noise(size, size / variance.sqrt()));
        }
        self.summary.final_cost = self.current.cost;
        self.phase = Phase::Finished;
        Pending::Finished
    }

    fn free_gradient(&self) -> Vec<f64> {
        self.current.gradient.iter().zip(&self.frozen).map(|(g, frozen)| if *frozen { 0.0 } else { *g }).list()
    }

    fn gradient_norm(&self) -> f64 {
        norm(&self.free_gradient())
    }
}

/// ½gᵀHg; nothing without an H.
fn promised(history: &mut History, gradient: &[f64]) -> Option<f64> {
    if max_norm(gradient) == 0.0 {
        return Some(0.0);
    }
    if history.is_empty() {
        return None;
    }
    let mut step = gradient.to_vec();
    history.multiply(&mut step);
    Some(0.5 * dot(gradient, &step))
}
