//! Levenberg-Marquardt (K. Madsen, H. B. Nielsen and O. Tingleff, *Methods for Non-Linear Least Squares Problems*, 2004, section 3.2) as a
//! state machine: [`LevenbergMarquardt::next`] takes what it last asked for, and answers with the next point to look at, a finished
//! iteration or the end.
//!
//! An iteration minimises the damped model ½‖r̃ + J̃δ‖² + ½λ δᵀDδ, D the largest diagonals of J̃ᵀJ̃ so far ([`rules::rescale`]), makes the
//! step δ along the manifolds and within the bounds, and compares the cost's reduction with what the model promised for the step that
//! was really made. All decisions are [`rules`]; what cannot be computed (a singular system, NaN at the trial) is a step that is not
//! taken, and raises λ.
//!
//! Coordinates that are constant, or at a bound with the descent pointing outward, are frozen: δ is 0 there.

use super::feasible::FeasibleSet;
use super::options::LevenbergMarquardtOptions;
use super::rules::{self, Damping, Gain, Progress, Rules, Tolerances, TrialFigures};
use super::summary::{IterationSummary, SolveSummary, Termination};
use super::vector::{dot, max_norm, norm};
use crate::error::Result;
use crate::functions::LeastSquares;
use crate::linear::LinearSolver;
use residua_loops::{add_squares, all_finite, clamped_weighted_square, diagonals};

pub mod ending;
mod linear_system;
mod phase;
pub mod retraction;
mod run;
pub mod start;
#[cfg(test)]
mod tests;
pub mod untouched;

use ending::Ending;
pub use linear_system::LinearSystems;
use linear_system::jacobian;
use phase::{Phase, Told, Trial};
use retraction::Retraction;
pub use run::{Stagnation, minimise_least_squares, take_over};
use start::Start;

/// What [`LevenbergMarquardt::next`] asks for or tells.
#[derive(Clone, Copy, Debug)]
pub enum Step<'a> {
    /// The Gauss-Newton model here is wanted; the next call takes [`Answer::Model`].
    Linearise(&'a [f64]),
    /// A linear system is to be solved: [`LevenbergMarquardt::solve`], until it gives what the next call takes.
    Solve,
    /// ‖J̃δ‖² of the step made is wanted; the next call takes [`Answer::Image`]. Asked for where the model has no matrix.
    Image(&'a [f64]),
    /// By how much the cost falls from where the model was last made to here is wanted; the next call takes [`Answer::Reduction`].
    Reduce(&'a [f64]),
    /// An iteration is done; [`LevenbergMarquardt::point`] is where it ended.
    Iteration(IterationSummary),
    /// It is over; [`LevenbergMarquardt::point`] is the best point.
    Finished(&'a SolveSummary),
}

/// What a [`Step`] asked for.
#[derive(Clone, Debug)]
pub enum Answer {
    /// The model at the point of [`Step::Linearise`].
    Model(LeastSquares),
    /// The iterations that the step of [`Step::Solve`] took; none if there is no step.
    Solved(Option<u32>),
    /// The model's sums do not give a step that is good enough, or its products not soon enough: its rows have to, after
    /// [`LevenbergMarquardt::use_rows`].
    RowsNeeded,
    /// The number of [`Step::Image`].
    Image(f64),
    /// The cost where the model was last made less the cost at the point of [`Step::Reduce`].
    Reduction(f64),
}

/// A run of Levenberg-Marquardt.
pub struct LevenbergMarquardt {
    options: LevenbergMarquardtOptions,
    tolerances: Tolerances,
    rules: Rules,
    feasible: FeasibleSet,
    retraction: Retraction,
    systems: LinearSystems,
    point: Vec<f64>,
    trial: Vec<f64>,
    /// The step asked for, and the one made.
    step: Vec<f64>,
    made: Vec<f64>,
    /// r̃ and J̃ at the point, or what stands for them.
    model: LeastSquares,
    /// How many residuals there are.
    residuals: f64,
    /// J̃ᵀr̃, and the diagonal of J̃ᵀJ̃.
    gradient: Vec<f64>,
    diagonal: Vec<f64>,
    /// D: the largest diagonal so far of each coordinate that was free.
    scale: Vec<f64>,
    /// The gradient with zeros at frozen coordinates.
    free_gradient: Vec<f64>,
    /// ‖x‖ of the coordinates that are no constants.
    size: f64,
    frozen: Vec<bool>,
    /// λD of the system being solved.
    scaled: Vec<f64>,
    damping: Damping,
    /// The forcing term, and ‖g‖ where it was chosen; whether the point is another one since.
    forcing: f64,
    gradient_norm: f64,
    moved: bool,
    /// What the next step that rounding hides must promise less than.
    floor: f64,
    phase: Phase,
    /// Why the run is to end at the next call.
    ending: Option<(Termination, String)>,
    /// What the message begins with: what was done to the start.
    preamble: String,
    summary: SolveSummary,
    linear_ms: f64,
}

impl LevenbergMarquardt {
    /// A run from a start, on a model of so many residuals.
    pub fn new(
        start: Start,
        systems: LinearSystems,
        retraction: Retraction,
        options: &LevenbergMarquardtOptions,
    ) -> LevenbergMarquardt {
        let Start { point, feasible, preamble } = start;
        let n = point.len();
        let solve = &options.solve;
        LevenbergMarquardt {
            options: options.clone(),
            tolerances: Tolerances {
                cost: solve.cost_tolerance,
                gradient: solve.gradient_tolerance,
                parameter: solve.parameter_tolerance,
            },
            rules: Rules::new(),
            feasible,
            retraction,
            systems,
            trial: point.clone(),
            point,
            step: vec![0.0; n],
            made: vec![0.0; n],
            model: LeastSquares { cost: f64::NAN, residuals: Vec::new(), entries: Vec::new(), normal: None },
            residuals: 0.0,
            gradient: vec![0.0; n],
            diagonal: vec![0.0; n],
            scale: vec![0.0; n],
            free_gradient: Vec::new(),
            size: 0.0,
            frozen: vec![false; n],
            scaled: Vec::new(),
            damping: Damping { lambda: options.initial_damping.max(rules::MIN_DAMPING), growth: rules::INITIAL_GROWTH },
            forcing: options.linear_tolerance,
            gradient_norm: 0.0,
            moved: true,
            floor: rules::NO_FLOOR,
            phase: Phase::Start,
            ending: None,
            preamble,
            summary: SolveSummary {
                termination: Termination::MaxIterations,
                message: String::new(),
                iterations: 0,
                function_evaluations: 0,
                initial_cost: f64::NAN,
                final_cost: f64::NAN,
                elapsed_ms: 0.0,
                history: Vec::new(),
            },
            linear_ms: 0.0,
        }
    }

    /// Goes on. `elapsed_ms`: milliseconds since the solve began. `answer`: what the last step asked for; without it the same is asked for
    /// again.
    pub fn next(&mut self, elapsed_ms: f64, answer: Option<Answer>) -> Result<Step<'_>> {
        if !matches!(self.phase, Phase::Finished) {
            self.summary.elapsed_ms = elapsed_ms;
        }
        Ok(match self.advance(answer)? {
            Told::LineariseAtPoint => Step::Linearise(&self.point),
            Told::LineariseAtTrial => Step::Linearise(&self.trial),
            Told::Solve => Step::Solve,
            Told::Image => Step::Image(&self.made),
            Told::Reduce => Step::Reduce(&self.trial),
            Told::Iteration(iteration) => Step::Iteration(iteration),
            Told::Finished => Step::Finished(&self.summary),
        })
    }

    /// Ends the run when the present iteration is done, unless it has converged by itself; at the earliest after the start.
    pub fn stop(&mut self, termination: Termination) {
        self.ending.get_or_insert((termination, "Stopped by the caller".to_owned()));
    }

    /// Where the last iteration ended: the best point so far, since every step that is taken lowers the cost as far as rounding shows.
    pub fn point(&self) -> &[f64] {
        &self.point
    }

    /// From now on models have rows, of which this is the pattern, and so their solver.
    pub fn use_rows(&mut self, systems: LinearSystems) {
        self.systems = systems;
    }

    /// Milliseconds spent on linear systems.
    pub fn linear_ms(&self) -> f64 {
        self.linear_ms
    }

    fn advance(&mut self, answer: Option<Answer>) -> Result<Told> {
        Ok(match (self.phase, answer) {
            (Phase::Finished, _) => Told::Finished,
            (Phase::Start, Some(Answer::Model(model))) => self.begin(model),
            (Phase::Restoring(trial), Some(Answer::Model(model))) => {
                self.model = model;
                self.reject(trial)
            }
            (Phase::Refining, Some(Answer::Model(model))) => {
                self.adopt(model);
                self.phase = Phase::Solving(false);
                Told::Solve
            }
            (Phase::Start | Phase::Restoring(_) | Phase::Refining, _) => Told::LineariseAtPoint,
            (Phase::Stepping, _) => self.set_out(),
            (Phase::Solving(_), Some(Answer::Solved(iterations))) => return self.step_made(iterations),
            (Phase::Solving(_), Some(Answer::RowsNeeded)) => {
                self.phase = Phase::Refining;
                Told::LineariseAtPoint
            }
            (Phase::Solving(_), _) => Told::Solve,
            (Phase::Promising(trial), Some(Answer::Image(square))) => self.promise(trial, square),
            (Phase::Promising(_), _) => Told::Image,
            (Phase::Trying(trial), Some(Answer::Reduction(change))) => {
                self.summary.function_evaluations += 1;
                self.judge(Trial { change, ..trial })
            }
            (Phase::Trying(_), _) => Told::Reduce,
            (Phase::Accepting(trial), Some(Answer::Model(model))) => self.arrive(trial, model),
            (Phase::Accepting(_), _) => Told::LineariseAtTrial,
        })
    }

    fn begin(&mut self, model: LeastSquares) -> Told {
        self.summary.function_evaluations += 1;
        self.summary.initial_cost = model.cost;
        let finite = self.adopt(model);
        if !finite {
            self.ending = Some((Termination::NonFinite, "The start is not finite".to_owned()));
            return self.finish();
        }
        let end = self.rules.convergence_at_start(self.gradient_max_norm(), &self.tolerances);
        let start = Trial { predicted: f64::NAN, change: 0.0, step_norm: 0.0, linear_iterations: None };
        let lambda = self.damping.lambda;
        self.record(start, lambda, None, true, end)
    }

    /// Takes a model over, with what follows from it; says whether all of it is finite.
    fn adopt(&mut self, model: LeastSquares) -> bool {
        self.model = model;
        self.diagonal.fill(0.0);
        let LinearSystems { row_offsets, col_indices, blocks, .. } = &self.systems;
        if let Some(normal) = &self.model.normal {
            self.residuals = normal.residuals as f64;
            self.gradient.copy_from_slice(&normal.gradient);
            diagonals(&blocks.ranges, &normal.curvature, &mut self.diagonal);
            if self.feasible.is_limited() {
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
        self.moved = true;
        let free = |(entry, _): (&mut f64, &bool)| *entry = 0.0;
        self.free_gradient.clone_from(&self.gradient);
        self.free_gradient.iter_mut().zip(&self.frozen).filter(|(_, frozen)| **frozen).for_each(free);
        self.size = self.feasible.norm_of_free(&self.point);
        self.model.is_finite() && all_finite(&self.gradient)
    }

    /// Begins the next step, unless the run is to end.
    fn set_out(&mut self) -> Told {
        let limit = self.options.solve.max_time_ms;
        if self.ending.is_none() && self.summary.elapsed_ms >= limit {
            self.ending = Some((Termination::MaxTime, ending::time(limit)));
        }
        if self.ending.is_some() {
            return self.finish();
        }
        let gradient_norm = norm(&self.free_gradient);
        if std::mem::take(&mut self.moved) {
            let ceiling = self.options.linear_tolerance;
            self.forcing = self.rules.forcing(gradient_norm, self.gradient_norm, self.forcing, ceiling);
            self.gradient_norm = gradient_norm;
        }
        rules::rescale(self.damping.lambda, &self.diagonal, &self.frozen, &mut self.scale, &mut self.scaled);
        self.phase = Phase::Solving(false);
        Told::Solve
    }

    /// Makes the step for a trial.
    fn step_made(&mut self, linear_iterations: Option<u32>) -> Result<Told> {
        let Some(linear_iterations) = linear_iterations else {
            let nowhere = Trial { predicted: f64::NAN, change: f64::NAN, step_norm: 0.0, linear_iterations: None };
            return Ok(self.reject(nowhere));
        };
        self.retraction.make(&self.point, &self.step, &mut self.trial, &mut self.made)?;
        // A step too short to move anything has the cost of no step, but where longer ones met NaN, that is what ended them.
        let last = self.summary.history.last();
        let change =
            last.filter(|last| !last.accepted && last.cost_change.is_nan()).map_or(0.0, |last| last.cost_change);
        let trial = Trial {
            predicted: f64::NAN,
            change,
            step_norm: norm(&self.made),
            linear_iterations: Some(linear_iterations),
        };
        let LinearSystems { row_offsets, col_indices, solver, .. } = &self.systems;
        if let Some(normal) = &self.model.normal {
            if let LinearSolver::Pcg(_) = solver {
                self.phase = Phase::Promising(trial);
                return Ok(Told::Image);
            }
            let square = quadratic_form(&normal.curvature, &self.made);
            return Ok(self.promise(trial, square));
        }
        let jacobian = jacobian(self.point.len(), row_offsets, col_indices, &self.model.entries);
        let mut image = vec![0.0; jacobian.rows()];
        jacobian.times(&self.made, &mut image);
        let square = dot(&image, &image);
        Ok(self.promise(trial, square))
    }

    /// Notes what the model promises for the step made, ½‖r̃‖² − ½‖r̃ + J̃δ‖² = −δᵀg − ½‖J̃δ‖², and has it tried if it moves anything.
    fn promise(&mut self, trial: Trial, square: f64) -> Told {
        let trial = Trial { predicted: -dot(&self.made, &self.gradient) - 0.5 * square, ..trial };
        if self.trial == self.point {
            return self.reject(trial);
        }
        self.phase = Phase::Trying(trial);
        Told::Reduce
    }

    fn judge(&mut self, trial: Trial) -> Told {
        let gain = self.gain(trial);
        if !gain.accepted {
            return self.reject(trial);
        }
        self.phase = Phase::Accepting(trial);
        Told::LineariseAtTrial
    }

    fn gain(&self, trial: Trial) -> Gain {
        let epsilon = self.tolerances.epsilon(f64::EPSILON);
        let scaled_size =
            clamped_weighted_square(&self.diagonal, &self.point, rules::MIN_DIAGONAL, rules::MAX_DIAGONAL);
        let noise = self.rules.noise(self.model.cost, scaled_size, self.residuals, epsilon);
        let Trial { change, predicted, step_norm: step, .. } = trial;
        self.rules.gain(&TrialFigures { change, predicted, step, size: self.size }, noise, self.floor, epsilon)
    }

    /// Moves to the trial point, if the model there can be used.
    fn arrive(&mut self, trial: Trial, model: LeastSquares) -> Told {
        if !model.is_finite() {
            // A cost without derivatives leads nowhere.
            self.phase = Phase::Restoring(Trial { change: f64::NAN, ..trial });
            return Told::LineariseAtPoint;
        }
        let (gain, cost, size) = (self.gain(trial), self.model.cost, self.size);
        std::mem::swap(&mut self.point, &mut self.trial);
        self.adopt(model);
        let progress = Progress {
            cost,
            change: trial.change,
            gradient_max_norm: self.gradient_max_norm(),
            step: trial.step_norm,
            size,
            hidden: gain.hidden,
        };
        let epsilon = self.tolerances.epsilon(f64::EPSILON);
        let converged = self.rules.convergence(&progress, &self.tolerances, epsilon);
        self.conclude(trial, gain, converged)
    }

    /// Stays, and damps more.
    fn reject(&mut self, trial: Trial) -> Told {
        let gain = self.gain(trial);
        // Where a system had no solution there was no step that could tell that nothing is left to be done.
        let end = gain.end.filter(|_| trial.linear_iterations.is_some());
        self.conclude(trial, Gain { accepted: false, hidden: None, floor: self.floor, end, ..gain }, None)
    }

    fn conclude(&mut self, trial: Trial, gain: Gain, converged: Option<Termination>) -> Told {
        let lambda = self.damping.lambda;
        let (damping, collapsed) = self.rules.damping(self.damping, gain);
        self.damping = damping;
        self.floor = gain.floor;
        self.record(trial, lambda, Some(gain.ratio), gain.accepted, converged.or(gain.end).or(collapsed))
    }

    /// Tells an iteration, and sees whether the run ends with it.
    fn record(
        &mut self,
        trial: Trial,
        lambda: f64,
        gain_ratio: Option<f64>,
        accepted: bool,
        end: Option<Termination>,
    ) -> Told {
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
        self.phase = Phase::Stepping;
        let limit = self.options.solve.max_iterations;
        let end = end.or((iteration.iteration >= limit).then_some(Termination::MaxIterations));
        if let Some(termination) = end {
            let ending =
                Ending { options: &self.options.solve, last: &iteration, cost: self.model.cost, size: self.size };
            self.ending = Some((termination, ending.message(termination, super::Precision::Double)));
        }
        Told::Iteration(iteration)
    }

    fn finish(&mut self) -> Told {
        if let Some((termination, message)) = self.ending.take() {
            self.summary.termination = termination;
            self.summary.message = format!("{}{message}.", self.preamble);
        }
        self.summary.final_cost = self.model.cost;
        self.phase = Phase::Finished;
        Told::Finished
    }

    fn gradient_max_norm(&self) -> f64 {
        max_norm(&self.free_gradient)
    }
}

/// xᵀAx of a symmetric matrix, of which the lower half counts.
fn quadratic_form(a: &[f64], x: &[f64]) -> f64 {
    let mut form = 0.0;
    for (i, row) in a.chunks_exact(x.len().max(1)).enumerate() {
        form += x[i] * (2.0 * dot(&row[..i], &x[..i]) + row[i] * x[i]);
    }
    form
}
