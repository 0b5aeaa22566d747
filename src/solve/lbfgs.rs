//! L-BFGS (D. Liu and J. Nocedal, "On the limited memory BFGS method for large scale optimization", Math. Programming 45, 1989) as a state
//! machine: [`Lbfgs::next`] takes cost and gradient at the point it last asked for, and answers with the next point, a finished iteration
//! or the end.
//!
//! Coordinates that are constant or pushed outward at a bound are frozen: their gradient counts as zero, and the direction leaves them. Trial
//! points are projected onto the bounds. When the set of frozen coordinates changes, the curvature history is forgotten.
//!
//! Blocks on manifolds move along them, and all of this is in tangent coordinates: [`super::curved`].
//!
//! Where evaluations are f32, every trial point is rounded to f32 before it is handed out and steps are differences of rounded points, so that
//! the solver sees the function that is really computed.

use std::rc::Rc;

use super::arithmetic::Arithmetic;
use super::convergence::{Convergence, stopped, too_small_to_square};
use super::curvature::CurvaturePairs;
use super::curved::Curved;
use super::descent_rule;
use super::feasible::FeasibleSet;
use super::line_rule::ROUNDINGS;
use super::line_search::{Conditions, Decision, Failure, LineSearch, Next, Origin, Rule, Trial};
use super::options::LbfgsOptions;
use super::scalar::evaluate;
use super::summary::{IterationSummary, SolveSummary, Termination};
use super::vector::{dot, max_norm, norm};
use crate::codegen::Function;
use crate::decimal;
use crate::error::Result;
use crate::functions::Evaluation;
use crate::list::Listed;

/// What [`Lbfgs::next`] asks for or tells.
#[derive(Clone, Copy, Debug)]
pub enum Step<'a> {
    /// Evaluate here, and give the result to the next call; the gradient of a block on a manifold is that by its tangent coordinates.
    Evaluate(&'a [f64]),
    /// An iteration is done; [`Lbfgs::point`] is where it ended. The next call takes no evaluation.
    Iteration(IterationSummary),
    /// It is over; [`Lbfgs::solution`] is the best point.
    Finished(&'a SolveSummary),
}

#[derive(Debug)]
enum Phase {
    /// The start is to be evaluated.
    Start,
    /// A new direction is due.
    Turning,
    /// The trial point is to be evaluated.
    Searching(LineSearch),
    Finished,
}

/// A point with what is known there. Its gradient is zero for constant coordinates.
#[derive(Debug)]
struct Sample {
    point: Vec<f64>,
    gradient: Vec<f64>,
    cost: f64,
}

enum Told {
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
    curved: Option<Rc<Curved>>,
    /// Where the last iteration ended.
    current: Sample,
    /// What is being evaluated.
    trial: Sample,
    /// The best trial of this line search.
    stored: Sample,
    /// The lowest point seen, while it is not the current one.
    lowest: Option<Sample>,
    frozen: Vec<bool>,
    rule: Rc<Rule>,
    descends: Rc<Function>,
    direction: Vec<f64>,
    pairs: CurvaturePairs,
    phase: Phase,
    /// Why the run is to end at the next call.
    ending: Option<(Termination, String)>,
    /// What the message begins with: what was done to the start.
    preamble: String,
    convergence: Convergence,
    summary: SolveSummary,
}

impl Lbfgs {
    /// A run from `start`, which is rounded to what the arithmetic has and projected onto the bounds, constant coordinates excepted.
    ///
    /// # Errors
    /// `invalid-argument` for a start that is empty, of another length than the set, or not finite; `out-of-memory` for a history that does
    /// not fit.
    pub fn new(
        mut start: Vec<f64>,
        feasible: FeasibleSet,
        options: &LbfgsOptions,
        arithmetic: Arithmetic,
    ) -> Result<Lbfgs> {
        let n = start.len();
        let preamble = feasible.admit(&mut start, arithmetic)?;
        let remembered = options.history_size.min(options.solve.max_iterations.max(1));
        let sample = |point: Vec<f64>| Sample { gradient: vec![0.0; n], cost: f64::NAN, point };
        Ok(Lbfgs {
            options: options.clone(),
            arithmetic,
            frozen: (0..n).map(|i| feasible.is_constant(i)).list(),
            feasible,
            curved: None,
            trial: sample(start.clone()),
            stored: sample(start.clone()),
            current: sample(start),
            lowest: None,
            rule: Rule::new(),
            descends: descent_rule::descends(),
            direction: vec![0.0; n],
            pairs: CurvaturePairs::new(n, remembered as usize)?,
            phase: Phase::Start,
            ending: None,
            preamble,
            convergence: Convergence::new(options.solve.clone(), arithmetic.precision),
            summary: SolveSummary {
                termination: Termination::Aborted,
                message: String::new(),
                iterations: 0,
                function_evaluations: 0,
                initial_cost: f64::NAN,
                final_cost: f64::NAN,
                elapsed_ms: 0.0,
                history: Vec::new(),
            },
        })
    }

    /// The same where some blocks are on manifolds; a message begins with `preamble`, what was done to the start.
    pub fn on_manifolds(mut self, curved: Option<Rc<Curved>>, preamble: String) -> Lbfgs {
        (self.curved, self.preamble) = (curved, preamble);
        self
    }

    /// Goes on. `elapsed_ms`: milliseconds since the solve began. `evaluation`: cost and gradient at the point of the last
    /// [`Step::Evaluate`]; without it the same point is asked for again.
    ///
    /// # Panics
    /// If the gradient has another length than the point.
    pub fn next(&mut self, elapsed_ms: f64, evaluation: Option<Evaluation>) -> Step<'_> {
        if !matches!(self.phase, Phase::Finished) {
            self.summary.elapsed_ms = elapsed_ms;
        }
        match self.advance(evaluation) {
            Told::Evaluate => Step::Evaluate(&self.trial.point),
            Told::Iteration(iteration) => Step::Iteration(iteration),
            Told::Finished => Step::Finished(&self.summary),
        }
    }

    /// Ends the run at the next call, unless it has converged by itself; at the earliest when the start has been evaluated.
    pub fn stop(&mut self, termination: Termination) {
        self.ending.get_or_insert((termination, stopped(termination, &self.options.solve)));
    }

    /// Where the last iteration ended.
    pub fn point(&self) -> &[f64] {
        &self.current.point
    }

    /// The best point so far.
    pub fn solution(&self) -> &[f64] {
        &self.lowest.as_ref().unwrap_or(&self.current).point
    }

    fn advance(&mut self, evaluation: Option<Evaluation>) -> Told {
        match self.phase {
            Phase::Finished => return Told::Finished,
            Phase::Start => {
                let Some(evaluation) = evaluation else { return Told::Evaluate };
                return self.begin(evaluation);
            }
            Phase::Turning | Phase::Searching(_) => {}
        }
        if let Some((termination, message)) = self.ending.take() {
            return self.finish(termination, message);
        }
        let limit = self.options.solve.max_time_ms;
        if self.summary.elapsed_ms >= limit {
            return self.finish(Termination::MaxTime, stopped(Termination::MaxTime, &self.options.solve));
        }
        match std::mem::replace(&mut self.phase, Phase::Turning) {
            Phase::Searching(search) => match evaluation {
                Some(evaluation) => {
                    let finite = self.receive(evaluation);
                    let trial = if finite { self.measure(search.step()) } else { Trial::NonFinite };
                    self.search(search, Some(trial))
                }
                None => {
                    self.phase = Phase::Searching(search);
                    Told::Evaluate
                }
            },
            Phase::Turning | Phase::Start | Phase::Finished => self.turn(),
        }
    }

    /// Stores an evaluation of the trial point; says whether all of it is finite.
    fn receive(&mut self, evaluation: Evaluation) -> bool {
        assert_eq!(evaluation.gradient.len(), self.trial.point.len(), "one derivative a coordinate");
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

    fn begin(&mut self, evaluation: Evaluation) -> Told {
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
            return self.finish(Termination::NonFinite, format!("At the start {what}"));
        }
        self.feasible.freeze(&self.current.point, &self.current.gradient, &mut self.frozen);
        self.record(0.0, 0.0, None)
    }

    /// Sets out in a new direction.
    fn turn(&mut self) -> Told {
        self.direction.copy_from_slice(&self.current.gradient);
        self.clear_frozen();
        if self.pairs.is_empty() {
            return self.descend_steepest();
        }
        self.pairs.multiply(&mut self.direction);
        for (i, d) in self.direction.iter_mut().enumerate() {
            *d = -*d;
            if self.feasible.blocks(i, self.current.point[i], *d) {
                *d = 0.0;
            }
        }
        let slope = dot(&self.current.gradient, &self.direction);
        let norms = [self.gradient_norm(), norm(&self.direction)];
        let [descends] = evaluate(&self.descends, &[slope, norms[0], norms[1], self.arithmetic.relative_precision]);
        if descends != 0.0 { self.set_out(slope) } else { self.descend_steepest() }
    }

    /// The gradient's direction, as long as the curvature last seen makes it; before any was seen, no longer than 1.
    fn descend_steepest(&mut self) -> Told {
        self.pairs.forget();
        let scale = self.pairs.scale().unwrap_or_else(|| self.gradient_norm().recip().min(1.0));
        self.direction.copy_from_slice(&self.current.gradient);
        self.clear_frozen();
        self.direction.iter_mut().for_each(|d| *d *= -scale);
        let slope = dot(&self.current.gradient, &self.direction);
        if slope < 0.0 {
            return self.set_out(slope);
        }
        let message = too_small_to_square(self.arithmetic.precision.name());
        self.finish(Termination::PrecisionLimit, message)
    }

    fn clear_frozen(&mut self) {
        self.direction.iter_mut().zip(&self.frozen).filter(|(_, frozen)| **frozen).for_each(|(d, _)| *d = 0.0);
    }

    fn set_out(&mut self, slope: f64) -> Told {
        let noise = self.noise();
        let Sample { cost, .. } = self.current;
        let lowest = self.lowest.as_ref().map_or(cost, |lowest| lowest.cost);
        let origin = Origin { cost, slope, noise, ceiling: lowest + noise };
        let LbfgsOptions { c1, c2, max_line_search_steps, .. } = self.options;
        let resolution = self.arithmetic.relative_precision;
        let conditions = Conditions { c1, c2, max_trials: max_line_search_steps, resolution };
        self.search(LineSearch::new(self.rule.clone(), origin, conditions, 1.0), None)
    }

    /// Rounding error of the cost: of the sum itself, and of the coordinates it is computed from, each of which moves it by gᵢ times the
    /// coordinate's own rounding; independent errors add as squares.
    fn noise(&self) -> f64 {
        let Sample { point, gradient, cost } = &self.current;
        // Tangent coordinates are those of a unit block; an angle's rounding is that of π at most.
        let size = |i: usize, x: f64| if self.is_curved(i) { 1.0 } else { x };
        let moved = norm(&point.iter().zip(gradient).enumerate().map(|(i, (x, g))| size(i, *x) * g).list());
        self.arithmetic.relative_precision * (cost.abs() + moved)
    }

    /// Goes through trials that need no evaluation, up to one that does or to the search's end.
    fn search(&mut self, mut search: LineSearch, mut judged: Option<Trial>) -> Told {
        loop {
            if let Some(trial) = judged {
                let Decision { store, then } = search.judge(trial);
                if store {
                    std::mem::swap(&mut self.trial, &mut self.stored);
                }
                match then {
                    Next::Try(_) => {}
                    Next::Accept => return self.accept(search.accepted_step()),
                    Next::Fail(failure) => return self.fail(failure),
                }
            }
            judged = self.place_trial(search.step());
            if judged.is_none() {
                self.phase = Phase::Searching(search);
                return Told::Evaluate;
            }
        }
    }

    /// Writes the trial point; gives the verdict where it needs no evaluation.
    fn place_trial(&mut self, step: f64) -> Option<Trial> {
        let arithmetic = self.arithmetic;
        let mut finite = true;
        for (i, trial) in self.trial.point.iter_mut().enumerate() {
            let x = self.current.point[i];
            *trial = match &self.curved {
                Some(curved) if curved.has(i) => arithmetic.quantise(step * self.direction[i]),
                _ if self.frozen[i] => x,
                _ => arithmetic.quantise(x + step * self.direction[i]),
            };
            finite &= trial.is_finite();
            if !self.frozen[i] {
                *trial = self.feasible.project(i, *trial);
            }
        }
        if let (Some(curved), true) = (&self.curved, finite) {
            let turned = curved.turn(&self.current.point, &mut self.trial.point);
            turned.expect("the kernels' views are as long as the parameters that they were made for");
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

    /// What the evaluated trial says about the cost along the path.
    fn measure(&self, step: f64) -> Trial {
        let (mut slope, mut predicted, mut bent) = (0.0, 0.0, false);
        for (i, &trial) in self.trial.point.iter().enumerate() {
            if self.frozen[i] {
                continue;
            }
            let curved = self.is_curved(i);
            let made = self.made(i, step, trial);
            predicted += self.current.gradient[i] * made;
            let straight = self.arithmetic.quantise(self.current.point[i] + step * self.direction[i]);
            if curved || straight == trial {
                slope += self.trial.gradient[i] * self.direction[i];
            } else {
                bent = true;
            }
        }
        Trial::Finite { cost: self.trial.cost, slope, predicted, bent }
    }

    fn is_curved(&self, i: usize) -> bool {
        self.curved.as_ref().is_some_and(|curved| curved.has(i))
    }

    /// The step that led to a trial, in tangent coordinates: along the direction, or, where a coordinate moves by itself, the difference of
    /// points.
    fn made(&self, i: usize, step: f64, trial: f64) -> f64 {
        if self.is_curved(i) {
            self.arithmetic.quantise(step * self.direction[i])
        } else {
            trial - self.current.point[i]
        }
    }

    /// Moves to the stored trial.
    fn accept(&mut self, step_size: f64) -> Told {
        for i in 0..self.frozen.len() {
            let made = self.made(i, step_size, self.stored.point[i]);
            let change = self.stored.gradient[i] - self.current.gradient[i];
            let (s, y) = self.pairs.slot();
            s[i] = made;
            y[i] = if self.frozen[i] { 0.0 } else { change };
        }
        let (s, _) = self.pairs.slot();
        let step_norm = norm(s);
        self.pairs.keep(self.arithmetic.relative_precision);
        std::mem::swap(&mut self.current, &mut self.stored);
        let (before, after) = (self.stored.cost, self.current.cost);
        match &self.lowest {
            Some(lowest) if after <= lowest.cost => self.lowest = None,
            // A step taken for its slope, its cost higher within rounding.
            None if after > before => {
                let Sample { point, gradient, cost } = &self.stored;
                self.lowest = Some(Sample { point: point.clone(), gradient: gradient.clone(), cost: *cost });
            }
            _ => {}
        }
        if self.feasible.freeze(&self.current.point, &self.current.gradient, &mut self.frozen) {
            self.pairs.forget();
        }
        self.summary.iterations += 1;
        self.record(before - after, step_norm, Some(step_size))
    }

    /// Reports where the iteration ended, and sees whether the run ends with it.
    fn record(&mut self, cost_change: f64, step_norm: f64, step_size: Option<f64>) -> Told {
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
        self.phase = Phase::Turning;
        self.ending = self.end_of(&iteration).or(self.ending.take());
        Told::Iteration(iteration)
    }

    fn end_of(&mut self, last: &IterationSummary) -> Option<(Termination, String)> {
        let size = self.feasible.norm_of_free(&self.current.point);
        let noise = self.noise();
        self.convergence.judge(last, size, noise)
    }

    /// The line search found nothing: from a quasi-Newton direction the gradient's is tried once; then it is over.
    fn fail(&mut self, failure: Failure) -> Told {
        // The restart forgets the pairs, so there is no second one.
        if !self.pairs.is_empty() {
            return self.descend_steepest();
        }
        // An exhausted search that ended within a hundred roundings of the coordinates saw rounding and nothing else.
        let moved = self.trial.point.iter().zip(&self.current.point).map(|(trial, x)| trial - x).list();
        let visible = ROUNDINGS * self.arithmetic.relative_precision * norm(&self.current.point);
        let failure = match failure {
            Failure::Exhausted if norm(&moved) <= visible => Failure::Precision,
            other => other,
        };
        let (termination, message) =
            failure.explain(self.options.max_line_search_steps, self.arithmetic.precision.name());
        self.finish(termination, message)
    }

    fn finish(&mut self, termination: Termination, message: String) -> Told {
        // What met the gradient's tolerance is the current point, be another one's cost lower within rounding.
        if termination != Termination::GradientTolerance
            && let Some(lowest) = self.lowest.take()
        {
            self.current = lowest;
        }
        self.lowest = None;
        self.summary.termination = termination;
        self.summary.message = format!("{}{message}.", self.preamble);
        self.summary.final_cost = self.current.cost;
        self.phase = Phase::Finished;
        Told::Finished
    }

    fn free_gradient(&self) -> Vec<f64> {
        self.current.gradient.iter().zip(&self.frozen).map(|(g, frozen)| if *frozen { 0.0 } else { *g }).list()
    }

    fn gradient_norm(&self) -> f64 {
        norm(&self.free_gradient())
    }
}
