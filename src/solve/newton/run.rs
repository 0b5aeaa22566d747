//! A run of Newton's method over compiled functions.

#[cfg(target_arch = "wasm32")]
use super::device::DeviceSystem;
#[cfg(target_arch = "wasm32")]
use super::linear_system::apart;
use super::linear_system::{LinearSystem, Question};
use crate::eval::{Arithmetic, Evaluation, Functions, Objective};
use crate::gauss_newton::host::hessian_system::{Damping, HessianSystem, Outcome};
use crate::model::energy::Coordinates;
use crate::solve::before_start;
use crate::solve::ending;
use crate::solve::feasible::FeasibleSet;
use crate::solve::listener::Listener;
use crate::solve::manifold_map::ManifoldMap;
use crate::solve::options::NewtonOptions;
use crate::solve::rules::ROUNDINGS;
use crate::solve::solution::{Details, Solution};
use crate::solve::start::Start;
use crate::solve::summary::{IterationSummary, SolveSummary, Termination};
use crate::solve::vector::{dot, max_norm, norm};
use crate::solve::write_back::{Left, write_back};
use residua_base::clock::now_ms;
use residua_base::cooperative::Yielder;
use residua_base::deadline::Deadline;
use residua_base::decimal::{scientific, shortest};
use residua_base::error::Result;

/// The factor of a step that is shortened.
const SHRINK: f64 = 0.8;
/// Trials of a line search where more damping may give a better direction. The last of these steps is a 70th of the first.
const PATIENCE: u32 = 20;
/// A step of at least this size shows that its damping suffices.
const LARGE: f64 = 0.5;
/// Ratios of promises up to which a step is that of the Hessian itself: after one of full size, as near a minimum, and otherwise.
const REFINED_NEARBY: f64 = 4.0;
const NOT_REFINED: f64 = 0.0;
/// What a step whose fall rounding hides leaves of the gradient, at most: rounding of the gradient itself is no reason to go on.
const MOST_LEFT_OF_SLOPE: f64 = 0.5;
/// Systems in one iteration, at most: after each, coordinates at bounds that the step would leave are held.
const MOST_SYSTEMS: usize = 8;

/// Milliseconds by stage.
#[derive(Default)]
struct Times {
    setup: f64,
    hessian: f64,
    linear: f64,
    trials: f64,
}

/// Minimises an objective of the functions by Newton's method from their current parameters, which become the solution. Functions that are evaluated on a
/// device which takes the problem are minimised there, others on the host.
///
/// # Errors
/// `non-finite` naming the residual if the start is not finite; `invalid-argument` for a start that cannot be brought onto its manifold; `limit-exceeded` for
/// an instance with too many numbers, or a Hessian that is too large; what evaluations fail with.
pub async fn minimise(
    functions: &mut Functions,
    options: &NewtonOptions,
    listener: &mut dyn Listener,
) -> Result<Solution> {
    let began = now_ms();
    Yielder::new();
    functions.bring_values().await?;
    let end = Deadline::after(began, options.solve.max_time_ms);
    let Some(system) = linear_system(functions, options, end).await? else {
        functions.bring_shared_data().await?;
        let start = (Start::of(functions, Arithmetic::F64)?, Arithmetic::F64);
        return before_start::solution(functions, &options.solve, start, listener, began).await;
    };
    let (arithmetic, _) = system.terms();
    let start = Start::of(functions, arithmetic)?;
    let map = ManifoldMap::of(&functions.model().arrays, start.point.len()).await?;
    let linear_solver = system.description();
    let mut run = Run::new(start, map, system, options, (began, end));
    run.times.setup = now_ms() - began;
    let outcome = run.minimise(functions, listener).await;
    let Run { point, times, system, decrement, .. } = run;
    let (x, mut summary) = write_back(functions, arithmetic, outcome, || Left::Host(point)).await?;
    let samples = functions.sample_count() as f64;
    let [_, sizes] = functions.sizes();
    let freedom = samples - sizes.effective_parameters as f64;
    if options.objective == Objective::LeastSquares && freedom > 0.0 && summary.final_cost > 0.0 {
        summary.promise = decrement.map(|decrement| decrement * freedom / (2.0 * summary.final_cost));
    }
    let Times { setup, hessian, linear, trials } = times;
    let times = vec![("setup", setup), ("Hessian", hessian), ("linear solver", linear), ("trials", trials)];
    let linear_solver = match system.indefinite() {
        0 => linear_solver,
        1 => format!("{linear_solver}; at the end 1 instance has negative curvature"),
        many => format!("{linear_solver}; at the end {many} instances have negative curvature"),
    };
    let details = Details { linear_solver, times, newton_decrement: decrement, ..Details::default() };
    Ok(Solution { x, summary, arithmetic, precision: None, details })
}

/// The system of the functions: on their device, if that takes it, or on the host. `None` if kernels are not there at the deadline.
async fn linear_system(
    functions: &mut Functions,
    &NewtonOptions { objective, negative, .. }: &NewtonOptions,
    end: Deadline,
) -> Result<Option<LinearSystem>> {
    // Where the choice is the library's, the host is as right, and f32 is not.
    #[cfg(target_arch = "wasm32")]
    if !functions.may_run_on_host()
        && let Some(system) = apart(DeviceSystem::new(functions, objective, negative, end)).await?
    {
        return Ok(Some(LinearSystem::Device(Box::new(system))));
    }
    #[cfg(not(target_arch = "wasm32"))]
    let _ = negative;
    functions.bring_shared_data().await?;
    let is_ready = functions.prepare_on_host(objective, end).await?
        && functions.prepare_hessian(objective, Coordinates::Tangent, end).await?;
    if !is_ready {
        return Ok(None);
    }
    Ok(Some(LinearSystem::Host(Box::new(HessianSystem::new(functions, objective)?))))
}

struct Run<'a> {
    options: &'a NewtonOptions,
    began: f64,
    end: Deadline,
    feasible: FeasibleSet,
    map: Option<ManifoldMap>,
    system: LinearSystem,
    point: Vec<f64>,
    /// In tangent coordinates.
    gradient: Vec<f64>,
    cost: f64,
    frozen: Vec<bool>,
    direction: Vec<f64>,
    summary: SolveSummary,
    times: Times,
    /// What evaluations are computed in, and how the damping grows and falls.
    arithmetic: Arithmetic,
    dampings: Damping,
    /// Relative to the diagonal of the Hessian. A matrix of which negative eigenvalues were replaced by 0 may have directions without curvature along which
    /// the objective has a slope, and steps along these are useless.
    damping: f64,
    /// Up to which ratio to what the matrix without negative eigenvalues promises steps are those of the Hessian itself.
    refinement: f64,
    /// Whether what steps promise counts, so that systems are to be solved well.
    promises: bool,
    /// What the last model promised, −gᵀd/2.
    decrement: Option<f64>,
    /// By how much the objective has fallen: what slopes tell where rounding hides it, so that no number that is added to it counts.
    fall: f64,
    /// The sizes of objective and point at the start: the larger one of what they were and of what the first step changes.
    first: Option<[f64; 2]>,
}

/// Why a run ends.
type Ending = (Termination, String);

impl<'a> Run<'a> {
    fn new(
        Start { point, feasible, corrections }: Start,
        map: Option<ManifoldMap>,
        system: LinearSystem,
        options: &'a NewtonOptions,
        (began, end): (f64, Deadline),
    ) -> Run<'a> {
        let n = point.len();
        let (arithmetic, dampings) = system.terms();
        Run {
            options,
            began,
            end,
            feasible,
            map,
            system,
            point,
            gradient: vec![0.0; n],
            cost: f64::NAN,
            frozen: vec![false; n],
            direction: vec![0.0; n],
            summary: SolveSummary { findings: corrections, ..SolveSummary::before_start() },
            times: Times::default(),
            arithmetic,
            dampings,
            damping: dampings.least,
            refinement: NOT_REFINED,
            promises: false,
            decrement: None,
            fall: 0.0,
            first: None,
        }
    }

    async fn minimise(&mut self, functions: &mut Functions, listener: &mut dyn Listener) -> Result<SolveSummary> {
        let Evaluation { cost, gradient } = self.evaluate(functions, &self.point.clone()).await?;
        (self.cost, self.gradient) = (cost, gradient);
        self.summary.initial_cost = cost;
        if !is_finite(cost, &self.gradient) {
            return Ok(
                self.finish((Termination::NonFinite, format!("At the start the objective is {}", shortest(cost))))
            );
        }
        self.freeze();
        let mut is_stopped = self.report(listener, 0.0, 0.0, None);
        let mut yielder = Yielder::going_on();
        loop {
            yielder.yield_if_due().await;
            let ending = if is_stopped || listener.aborted() {
                Some((Termination::Aborted, ending::STOPPED_BY_CALLER.to_owned()))
            } else if self.end.has_passed() {
                Some((Termination::MaxTime, ending::time_limit(&self.options.solve)))
            } else if self.summary.iterations >= self.options.solve.max_iterations {
                Some((Termination::MaxIterations, ending::iteration_limit(&self.options.solve)))
            } else {
                None
            };
            if let Some(ending) = ending {
                return Ok(self.finish(ending));
            }
            self.linearise(functions, &mut yielder).await?;
            let mut converged = None;
            let moved = loop {
                if let Some(ending) = self.find_direction(listener, &mut yielder).await? {
                    return Ok(self.finish(ending));
                }
                if self.damping == self.dampings.least {
                    converged = self.converged();
                }
                // The matrix with other eigenvalues is larger than the Hessian, and promises less. So does a step that is not well solved for.
                let may_end = converged.is_some() || self.is_at_rounding();
                let is_refinable = self.refinement < f64::INFINITY && self.system.is_replaced();
                let is_rough = converged.is_some() && !self.promises && self.arithmetic != Arithmetic::F64;
                if may_end && (is_refinable || is_rough) {
                    self.promises = true;
                    self.refinement = f64::INFINITY;
                    if let Some(ending) = self.find_direction(listener, &mut yielder).await? {
                        return Ok(self.finish(ending));
                    }
                    converged = self.converged();
                }
                let moved = self.search(functions, listener).await?;
                let is_over = converged.is_some() || (moved == Moved::Nowhere && self.is_at_rounding());
                let is_futile = matches!(moved, Moved::Nowhere | Moved::NotFinite) && !is_over;
                match self.dampings.raised(self.damping).filter(|_| is_futile) {
                    Some(damping) => self.damping = damping,
                    None => break moved,
                }
            };
            let is_near = matches!(moved, Moved::Step { size, .. } if size >= 1.0);
            self.refinement = if is_near { REFINED_NEARBY } else { NOT_REFINED };
            self.promises = is_near;
            if let Moved::Step { size, norm, change } = moved {
                if size >= LARGE {
                    self.damping = self.dampings.lowered(self.damping);
                }
                is_stopped = self.report(listener, norm, change, Some(size));
                functions.engine().publish(&self.point)?;
            }
            if let Some(ending) = self.unbounded().or(converged).or(self.ending_of(moved)) {
                return Ok(self.finish(ending));
            }
        }
    }

    /// Objective and gradient in tangent coordinates.
    async fn evaluate(&mut self, functions: &mut Functions, x: &[f64]) -> Result<Evaluation> {
        self.summary.function_evaluations += 1;
        let mut evaluation = match &self.system {
            LinearSystem::Host(_) => functions.evaluate_on_host(self.options.objective, x).await?,
            #[cfg(target_arch = "wasm32")]
            LinearSystem::Device(_) => apart(functions.evaluate_at(self.options.objective, x)).await?,
        };
        if let Some(map) = &self.map {
            map.convert_gradient(x, &mut evaluation.gradient)?;
        }
        Ok(evaluation)
    }

    fn freeze(&mut self) {
        self.feasible.freeze(&self.point, &self.gradient, &mut self.frozen);
    }

    /// Computes the Hessian at the point.
    async fn linearise(&mut self, functions: &mut Functions, yielder: &mut Yielder) -> Result<()> {
        let started = now_ms();
        self.system.linearise(functions, self.options, &self.point, yielder).await?;
        self.times.hessian += now_ms() - started;
        Ok(())
    }

    /// Computes d; gives an ending where there is none.
    async fn find_direction(&mut self, listener: &mut dyn Listener, yielder: &mut Yielder) -> Result<Option<Ending>> {
        let started = now_ms();
        let mut held = Vec::new();
        let mut frozen = self.frozen.clone();
        for _ in 0..MOST_SYSTEMS {
            let mut is_aborted = false;
            let end = self.end;
            let mut stops = || {
                is_aborted = listener.aborted();
                is_aborted || end.has_passed()
            };
            let Run { system, gradient, damping, direction, refinement, promises, .. } = self;
            let question = Question { gradient, frozen: &frozen, refinement: *refinement, promises: *promises };
            match system.solve(question, damping, direction, yielder, &mut stops).await? {
                Outcome::Solved => {}
                Outcome::Stopped if is_aborted => {
                    return Ok(Some((Termination::Aborted, ending::STOPPED_BY_CALLER.to_owned())));
                }
                Outcome::Stopped => return Ok(Some((Termination::MaxTime, ending::time_limit(&self.options.solve)))),
                Outcome::NotFinite => {
                    return Ok(Some((Termination::NonFinite, "A second derivative is NaN or infinite".to_owned())));
                }
                Outcome::Singular => {
                    let message = "The Hessian is not positive definite, whatever is added to its diagonal".to_owned();
                    return Ok(Some((Termination::PrecisionLimit, message)));
                }
            }
            let leaves = |i: &usize| !frozen[*i] && self.feasible.blocks(*i, self.point[*i], self.direction[*i]);
            let leaving = (0..self.point.len()).filter(leaves).collect::<Vec<_>>();
            if leaving.is_empty() {
                break;
            }
            leaving.iter().for_each(|&i| frozen[i] = true);
            held.extend(leaving);
        }
        for i in held {
            let diagonal = self.system.diagonal()[i];
            self.direction[i] = if diagonal > 0.0 { -self.gradient[i] / diagonal } else { 0.0 };
        }
        self.times.linear += now_ms() - started;
        self.decrement = Some(-0.5 * dot(&self.gradient, &self.direction));
        Ok(None)
    }

    /// Whether the model promises no more than rounding of the objective. Slopes lead on from there, and where they do not the run ends.
    fn is_at_rounding(&self) -> bool {
        let size = self.cost.abs().max(self.summary.initial_cost - self.cost);
        self.decrement.is_some_and(|decrement| decrement <= ROUNDINGS * self.arithmetic.epsilon() * size)
    }

    /// Whether the model promises no more than the tolerance.
    fn converged(&self) -> Option<Ending> {
        let tolerance = self.options.solve.cost_tolerance;
        let decrement = self.decrement.filter(|_| self.system.is_solved())?;
        if decrement == 0.0 {
            return Some((Termination::CostTolerance, "the gradient is zero".to_owned()));
        }
        // An objective has a size of its own but for a number that is added to it, which its fall does not have.
        // Nor has rounding of the point, beside which nothing is nearer to the minimum.
        let sizes = self.system.diagonal().iter().zip(&self.point).map(|(diagonal, x)| diagonal * x * x);
        let of_point = 0.5 * (ROUNDINGS * self.arithmetic.epsilon()).powi(2) * sizes.sum::<f64>();
        let of_point = if of_point.is_finite() { of_point } else { 0.0 };
        let least =
            (tolerance * self.fall.min(self.cost.abs())).max(self.arithmetic.epsilon() * self.fall).max(of_point);
        if tolerance == 0.0 || decrement > least {
            return None;
        }
        let [decrement, tolerance] = [decrement, tolerance].map(|number| scientific(number, Some(3)));
        let message = format!(
            "the fall that the quadratic model promises (half of the squared Newton decrement), {decrement}, is within costTolerance {tolerance} of the objective and its fall"
        );
        Some((Termination::CostTolerance, message))
    }

    /// Whether objective and parameters have left all that they began with behind, by more than the digits of a number: a fall that is small beside the objective
    /// says nothing then.
    fn unbounded(&mut self) -> Option<Ending> {
        let (cost, size) = (self.cost, norm(&self.point));
        let [of_cost, of_point] = *self.first.get_or_insert_with(|| {
            let promise = self.decrement.unwrap_or_default();
            [self.summary.initial_cost.abs().max(promise), size.max(norm(&self.direction))]
        });
        let epsilon = self.arithmetic.epsilon();
        let is_unbounded = -cost * epsilon > of_cost && size * epsilon > of_point;
        is_unbounded.then(|| {
            let [cost, size] = [cost, size].map(|number| scientific(number, Some(1)));
            let message = format!("The objective falls without bound: it is {cost} at a point of length {size}, and parameters without bounds have no minimum there");
            (Termination::PrecisionLimit, message)
        })
    }

    /// Shortens the step until the objective falls enough.
    async fn search(&mut self, functions: &mut Functions, listener: &mut dyn Listener) -> Result<Moved> {
        let started = now_ms();
        let moved = self.shorten(functions, listener).await;
        self.times.trials += now_ms() - started;
        moved
    }

    async fn shorten(&mut self, functions: &mut Functions, listener: &mut dyn Listener) -> Result<Moved> {
        let rounding = ROUNDINGS * self.arithmetic.epsilon() * self.cost.abs();
        let (mut size, mut is_finite_anywhere) = (1.0, false);
        let mut yielder = Yielder::going_on();
        let most = self.options.max_line_search_steps;
        let most = if self.dampings.raised(self.damping).is_some() { most.min(PATIENCE) } else { most };
        for _ in 0..most {
            if yielder.yield_if_due().await && (listener.aborted() || self.end.has_passed()) {
                // The loop over iterations tells which.
                return Ok(Moved::Stopped);
            }
            let (trial, step) = self.trial(size)?;
            let promised = dot(&self.gradient, &step);
            let Evaluation { cost, gradient } = self.evaluate(functions, &trial).await?;
            let is_trial_finite = is_finite(cost, &gradient);
            is_finite_anywhere |= is_trial_finite;
            let is_lower = cost <= self.cost + self.options.c1 * promised;
            // What rounding hides is taken where the slope has fallen by half, as it does towards a minimum.
            let is_within_rounding = (cost - self.cost).abs() <= rounding
                && -promised <= rounding.max(f64::MIN_POSITIVE) / self.options.c1
                && norm(&gradient) < MOST_LEFT_OF_SLOPE * norm(&self.gradient);
            if is_trial_finite && promised < 0.0 && (is_lower || is_within_rounding) {
                let change = self.cost - cost;
                let by_slopes = -0.5 * (promised + dot(&gradient, &step));
                self.fall += if change.abs() <= rounding { by_slopes } else { change };
                (self.point, self.cost, self.gradient) = (trial, cost, gradient);
                self.summary.iterations += 1;
                self.freeze();
                return Ok(Moved::Step { size, norm: norm(&step), change });
            }
            size *= SHRINK;
        }
        Ok(if is_finite_anywhere { Moved::Nowhere } else { Moved::NotFinite })
    }

    /// The point x ⊞ sd within the bounds, and the step that leads there in tangent coordinates.
    fn trial(&self, size: f64) -> Result<(Vec<f64>, Vec<f64>)> {
        let mut step: Vec<f64> = self.direction.iter().map(|entry| size * entry).collect();
        let mut trial = step.clone();
        let arithmetic = self.arithmetic;
        for (i, trial) in trial.iter_mut().enumerate() {
            if self.map.as_ref().is_some_and(|map| map.contains(i)) {
                continue;
            }
            // A constant stays where it is, beyond its bounds too.
            if *trial == 0.0 {
                *trial = self.point[i];
                continue;
            }
            let moved = self.feasible.project(i, arithmetic.quantise(self.point[i] + *trial));
            *trial = moved;
            if moved != self.point[i] + step[i] {
                step[i] = moved - self.point[i];
            }
        }
        if let Some(map) = &self.map {
            map.retract(&self.point, &mut trial)?;
        }
        Ok((trial, step))
    }

    fn ending_of(&self, moved: Moved) -> Option<Ending> {
        let trials = self.options.max_line_search_steps;
        match moved {
            Moved::Step { .. } | Moved::Stopped => None,
            Moved::NotFinite => {
                let message = format!("All {trials} trial steps along the Newton direction gave NaN or infinity");
                Some((Termination::NonFinite, message))
            }
            Moved::Nowhere if self.is_at_rounding() => {
                let message = format!(
                    "the fall that the quadratic model promises is within the objective's rounding error in {}",
                    self.arithmetic.name()
                );
                Some((Termination::CostTolerance, message))
            }
            Moved::Nowhere => {
                let message = format!(
                    "None of {trials} trial steps along the Newton direction, as many as maxLineSearchSteps allows, lowered the objective enough"
                );
                Some((Termination::LineSearchFailed, message))
            }
        }
    }

    /// Tells the listener of an iteration; whether it stops the run.
    fn report(
        &mut self,
        listener: &mut dyn Listener,
        step_norm: f64,
        cost_change: f64,
        step_size: Option<f64>,
    ) -> bool {
        let free = self.gradient.iter().zip(&self.frozen).map(|(entry, frozen)| if *frozen { 0.0 } else { *entry });
        let iteration = IterationSummary {
            iteration: self.summary.iterations,
            cost: self.cost,
            cost_change,
            gradient_max_norm: max_norm(&free.collect::<Vec<_>>()),
            step_norm,
            accepted: true,
            damping: None,
            gain_ratio: None,
            linear_iterations: step_size.map(|_| self.system.linear_iterations()),
            step_size,
            elapsed_ms: now_ms() - self.began,
        };
        self.summary.history.push(iteration);
        listener.iteration(&iteration)
    }

    fn finish(&mut self, (termination, why): Ending) -> SolveSummary {
        let summary = std::mem::replace(&mut self.summary, SolveSummary::before_start());
        SolveSummary { termination, why, final_cost: self.cost, elapsed_ms: now_ms() - self.began, ..summary }
    }
}

/// Where a line search ended.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Moved {
    Step {
        size: f64,
        norm: f64,
        change: f64,
    },
    /// No step lowers the objective enough.
    Nowhere,
    /// No trial was finite.
    NotFinite,
    /// The time is over, or the caller stops the run.
    Stopped,
}

fn is_finite(cost: f64, gradient: &[f64]) -> bool {
    cost.is_finite() && gradient.iter().all(|entry| entry.is_finite())
}
