//! Many small problems on the host, in f64: a chunk of them at a time, all that still run in one call of each kernel, and a small
//! factorisation each. The loop is that of [`crate::solve::levenberg_marquardt`], with a radius; every step runs over all problems of the chunk. Normal
//! equations are all that is known of J̃ here, and there are no second derivatives. A problem is solved where that suffices for a minimum by its promise. All
//! others are handed over: single solves begin at their starts.

mod data_table;
mod handover;
mod pass;
mod steps;

use residua_base::list::{Listed, PushAll};
use std::ops::Range;

use crate::eval::cpu::CpuEngine;
use crate::solve::levenberg_marquardt::point::{Linearised, follow};
use crate::solve::options::affordable_iterations;
use crate::solve::rules::{AcceptedStep, NO_FLOOR};
use crate::solve::summary::Termination;
use residua_base::error::Result;
use residua_codegen::{InstanceRange, View};
use residua_cpu::CompiledKernels;
use residua_linalg::loops::{all_finite, small};
use residua_linalg::normal_equations::most_trace_of_sums;

use super::batch::{Batch, make_feasible};
use super::kernels::{NormalLayout, PLACES, move_kernel, normal_kernel, reduction_kernel, settings_table};
use super::rule_tables::{Rule, RuleTable, rule_kernels};
use super::template::SharedProblem;
use super::{ManyListener, ManyOptions, ManySolutions};
use data_table::data_table;
use steps::Ball;

/// Numbers of tables that are worked on at a time: they stay in a core's cache.
const NUMBERS_AT_A_TIME: usize = 1 << 16;

/// With fewer problems it takes longer to compile the rules than to interpret them.
const MANY_PROBLEMS: u32 = 512;

/// Iterations of the pass over all problems: one that takes more is in a valley where second derivatives shorten the way.
const MOST_ITERATIONS: u32 = 30;

/// Solves the problems of a batch.
pub async fn solve_many(
    template: &SharedProblem,
    batch: &Batch<'_>,
    options: &ManyOptions,
    audience: &mut dyn ManyListener,
) -> Result<ManySolutions> {
    batch.check(template)?;
    let layout = NormalLayout::new(template);
    let mut numbers = 2 * template.values.len() + layout.numbers();
    let mut kernels = vec![move_kernel(template)?];
    let mut settings = Vec::new();
    for group in &template.groups {
        kernels.push(normal_kernel(template, group)?);
        kernels.push(reduction_kernel(template, group)?);
        settings.push(settings_table(template, group));
        let columns = template.model.batches[group.batch].class.data as usize + PLACES;
        numbers += group.instances.len() * columns;
    }
    let first_rule = (batch.count >= MANY_PROBLEMS).then_some(kernels.len());
    if first_rule.is_some() {
        kernels.push_all(rule_kernels()?);
    }
    let program = CompiledKernels::compile(kernels).await?;
    let at_a_time = (NUMBERS_AT_A_TIME / numbers).clamp(1, 1024) as u32;
    let max_iterations = options
        .max_iterations
        .unwrap_or_else(|| affordable_iterations(template.free.len(), template.model.num_residuals as usize));
    let epsilon = options.tolerances.epsilon(CpuEngine::ARITHMETIC.epsilon());
    let solver = Solver {
        template,
        options,
        program: &program,
        first_rule,
        layout,
        settings,
        bounds: template.bounds(),
        epsilon,
        most_trace: most_trace_of_sums(template.free.len(), template.model.num_residuals as usize),
        max_iterations,
        // Without tolerances all iterations are made.
        most_iterations: if epsilon > 0.0 { max_iterations.min(MOST_ITERATIONS) } else { max_iterations },
        at_a_time,
    };
    let mut solutions = ManySolutions::default();
    let handed = solver.pass(batch, &mut solutions, audience).await?;
    handover::solve(template, batch, (options, max_iterations), &handed, &mut solutions, audience).await?;
    Ok(solutions)
}

/// What all chunks share.
struct Solver<'a> {
    template: &'a SharedProblem,
    options: &'a ManyOptions,
    /// The move, then of each group normal equations and reduction.
    program: &'a CompiledKernels,
    /// Position of the first kernel of a rule, if rules are compiled.
    first_rule: Option<usize>,
    layout: NormalLayout,
    settings: Vec<Vec<f64>>,
    bounds: Vec<f64>,
    epsilon: f64,
    /// See [`most_trace_of_sums`].
    most_trace: f64,
    /// Iterations of a problem at most, and those of this pass.
    max_iterations: u32,
    most_iterations: u32,
    /// Problems of a chunk.
    at_a_time: u32,
}

/// A problem while it is solved.
struct Problem {
    end: Option<End>,
    iterations: u32,
    /// The radius of steps, and the length of the last one in units of D.
    radius: f64,
    length: f64,
    /// Whether the last step was rejected.
    has_rejected: bool,
    floor: f64,
    /// The numbers of the point.
    point: Linearised,
    /// Rounding noise of the cost.
    noise: f64,
    /// ‖√D x‖ of the coordinates that are not frozen, with D the diagonal of J̃ᵀJ̃.
    size: f64,
    /// What the model without a radius takes from the cost.
    promise: f64,
    /// Which free coordinates are at a bound with the descent pointing outward.
    frozen: Vec<bool>,
    arrival: Arrival,
    /// The tolerance that the last step met, or the start.
    stop: Option<Termination>,
}

/// How the pass over all problems ends for one.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    At(Termination),
    HandedOver,
}

/// How a problem came to its point, if it has not been linearised there.
#[derive(Clone, Copy)]
enum Arrival {
    AtStart,
    ByStep(AcceptedStep),
    /// It has been linearised here.
    None,
}

impl Arrival {
    fn is_new(self) -> bool {
        !matches!(self, Arrival::None)
    }
}

/// Some problems with their tables.
struct Chunk {
    problems: Vec<Problem>,
    /// As they were given.
    starts: Vec<f64>,
    x: Vec<f64>,
    trial: Vec<f64>,
    /// δ
    step: Vec<f64>,
    /// δ̄
    projected_step: Vec<f64>,
    normal: Vec<f64>,
    reduction: Vec<f64>,
    /// By group: data columns, and columns of places.
    data: Vec<Vec<f64>>,
    places: Vec<Vec<u32>>,
    rules: RuleTable,
    /// D² of each problem.
    scale: Vec<f64>,
    /// Memory: squared sizes of a point, a factor, and the model of a problem with a radius.
    squares: Vec<f64>,
    factor: Vec<f64>,
    ball: Ball,
}

/// The runs of positions that are marked.
fn runs(marks: &[bool]) -> Vec<Range<u32>> {
    let mut runs: Vec<Range<u32>> = Vec::new();
    for (position, marked) in (0..).zip(marks) {
        match runs.last_mut() {
            _ if !marked => {}
            Some(run) if run.end == position => run.end += 1,
            _ => runs.push(position..position + 1),
        }
    }
    runs
}

impl Chunk {
    fn new(solver: &Solver, batch: &Batch, problems: Range<u32>) -> Chunk {
        let template = solver.template;
        let count = problems.len();
        let starts = batch.starts(template, problems.clone());
        let mut x = starts.clone();
        let free = template.free.len();
        let mut states = Vec::with_capacity(count);
        let own = batch.read_data(problems);
        let samples = batch.sample_counts(template, &own, count);
        for (x, samples) in x.chunks_exact_mut(template.values.len()).zip(samples) {
            let finite = make_feasible(template, x);
            states.push(Problem {
                end: (!finite).then_some(End::At(Termination::NonFinite)),
                iterations: 0,
                radius: f64::INFINITY,
                length: 0.0,
                has_rejected: false,
                floor: NO_FLOOR,
                point: Linearised {
                    cost: f64::NAN,
                    influence: f64::INFINITY,
                    residuals: samples as f64,
                    coordinates: 0.0,
                    scaled_size: 0.0,
                    cosine: 0.0,
                },
                noise: 0.0,
                size: 0.0,
                promise: f64::NAN,
                frozen: vec![false; free],
                arrival: if finite { Arrival::AtStart } else { Arrival::None },
                stop: None,
            });
        }
        let (numbers, normal) = (template.values.len(), solver.layout.numbers());
        let mut data = Vec::new();
        let mut places = Vec::new();
        for group in &template.groups {
            data.push(data_table(template, batch, group, &own, count));
            let instances = group.instances.len();
            let mut table = Vec::with_capacity(PLACES * count * instances);
            for width in [numbers, normal, 1] {
                for problem in 0..count {
                    table.resize(table.len() + instances, (problem * width) as u32);
                }
            }
            places.push(table);
        }
        Chunk {
            problems: states,
            trial: x.clone(),
            starts,
            x,
            step: vec![0.0; count * free],
            projected_step: vec![0.0; count * free],
            normal: vec![0.0; count * normal],
            reduction: vec![0.0; count],
            data,
            places,
            rules: RuleTable::new(count),
            scale: vec![0.0; count * free],
            squares: Vec::new(),
            factor: Vec::new(),
            ball: Ball::default(),
        }
    }

    /// One iteration of every problem that runs. `false` when none does.
    fn iterate(&mut self, solver: &Solver) -> Result<bool> {
        self.linearise(solver)?;
        self.converge(solver)?;
        self.solve(solver);
        let running: Vec<bool> = self.problems.iter().map(|problem| problem.end.is_none()).list();
        let runs = runs(&running);
        if runs.is_empty() {
            return Ok(false);
        }
        self.project(solver, &runs)?;
        self.evaluate_trial(solver, &runs)?;
        self.judge(solver, &running)?;
        Ok(true)
    }

    /// The normal equations of the problems at new points, and what follows from them there.
    fn linearise(&mut self, solver: &Solver) -> Result<()> {
        let is_new: Vec<bool> = self.problems.iter().map(|problem| problem.arrival.is_new()).list();
        let runs = runs(&is_new);
        let width = solver.layout.numbers();
        for run in &runs {
            self.normal[run.start as usize * width..run.end as usize * width].fill(0.0);
        }
        self.run_groups(solver, &runs, false)?;
        let mut measured = Vec::with_capacity(is_new.len());
        for position in (0..is_new.len()).filter(|&position| is_new[position]) {
            let normal = &self.normal[position * width..(position + 1) * width];
            let numbers = solver.template.values.len();
            let x = &self.x[position * numbers..(position + 1) * numbers];
            let problem = &mut self.problems[position];
            let is_start = matches!(problem.arrival, Arrival::AtStart);
            problem.point.cost = normal[0];
            if !all_finite(normal) {
                problem.end = Some(if is_start { End::At(Termination::NonFinite) } else { End::HandedOver });
                continue;
            }
            let (gradient, triangle) = solver.layout.parts(normal);
            self.squares.clear();
            for ((coordinate, &slope), frozen) in solver.template.free.iter().zip(gradient).zip(&mut problem.frozen) {
                let number = x[coordinate.parameter as usize];
                let outward = |(lower, upper)| (number <= lower && slope > 0.0) || (number >= upper && slope < 0.0);
                *frozen = coordinate.bounds.is_some_and(outward);
                self.squares.push(coordinate.size.squared(x));
            }
            let [largest, slopes, scaled_size, free_size, coordinates] =
                small::slopes_and_sizes(gradient, triangle, &self.squares, &problem.frozen);
            let influence = solver.layout.influence(normal);
            let free = solver.layout.free;
            let scale = &mut self.scale[position * free..(position + 1) * free];
            let diagonal = (0..free).map(|k| normal[solver.layout.jtj(k, k)]);
            follow(scale, diagonal, influence / problem.point.influence);
            problem.point = Linearised { influence, coordinates, scaled_size, ..problem.point };
            problem.size = free_size;
            if is_start {
                let first = solver.options.initial_damping.map_or(free_size, |damping| slopes / damping);
                problem.radius = if first > 0.0 { first } else { f64::INFINITY };
            }
            self.rules.push(&[largest, influence]);
            measured.push(position);
        }
        self.rules.run(Rule::Cosine, solver.program, solver.first_rule)?;
        for (row, &position) in measured.iter().enumerate() {
            [self.problems[position].point.cosine] = self.rules.result(row);
        }
        self.rules.clear();
        for &position in &measured {
            let Linearised { cost, scaled_size, residuals, .. } = self.problems[position].point;
            self.rules.push(&[cost, scaled_size, residuals.max(1.0), solver.epsilon]);
        }
        self.rules.run(Rule::Noise, solver.program, solver.first_rule)?;
        for (row, &position) in measured.iter().enumerate() {
            [self.problems[position].noise] = self.rules.result(row);
        }
        self.rules.clear();
        Ok(())
    }

    /// Which tolerances problems meet at new points.
    fn converge(&mut self, solver: &Solver) -> Result<()> {
        let mut judged = Vec::with_capacity(self.problems.len());
        for (position, problem) in self.problems.iter_mut().enumerate() {
            let step = match std::mem::replace(&mut problem.arrival, Arrival::None) {
                _ if problem.end.is_some() => continue,
                Arrival::None => continue,
                Arrival::AtStart => AcceptedStep::at_start(problem.point.cosine),
                Arrival::ByStep(step) => AcceptedStep { cosine: problem.point.cosine, ..step },
            };
            self.rules.push(&step.arguments(&solver.options.tolerances, solver.epsilon));
            judged.push(position);
        }
        self.rules.run(Rule::Convergence, solver.program, solver.first_rule)?;
        for (row, &position) in judged.iter().enumerate() {
            let [end] = self.rules.result(row);
            self.problems[position].stop = Termination::from_code(end);
        }
        self.rules.clear();
        Ok(())
    }

    /// Applies the steps of the problems of some runs: trial points, and the projected steps that lead there.
    fn project(&mut self, solver: &Solver, runs: &[Range<u32>]) -> Result<()> {
        for run in runs {
            let dispatch =
                InstanceRange { instances: run.clone(), stride: self.problems.len() as u32, first: 0, origin: 0 };
            let mut views = [
                View::Read(&self.x),
                View::Read(&self.step),
                View::Read(&solver.bounds),
                View::Write(&mut self.trial),
                View::Write(&mut self.projected_step),
            ];
            solver.program.run(0, &mut views, &dispatch)?;
        }
        Ok(())
    }

    /// The reductions at the trial points of some runs.
    fn evaluate_trial(&mut self, solver: &Solver, runs: &[Range<u32>]) -> Result<()> {
        for run in runs {
            self.reduction[run.start as usize..run.end as usize].fill(0.0);
        }
        self.run_groups(solver, runs, true)
    }

    /// Runs every group's kernel of normal equations, or of reductions, for the problems of some runs.
    fn run_groups(&mut self, solver: &Solver, runs: &[Range<u32>], reduction: bool) -> Result<()> {
        for (number, group) in solver.template.groups.iter().enumerate() {
            let instances = group.instances.len() as u32;
            for run in runs {
                let dispatch = InstanceRange {
                    instances: run.start * instances..run.end * instances,
                    stride: self.problems.len() as u32 * instances,
                    first: 0,
                    origin: 0,
                };
                let sums = if reduction { &mut self.reduction } else { &mut self.normal };
                let mut views = [
                    View::Read(&self.x),
                    View::Read(&self.trial),
                    View::Read(&self.data[number]),
                    View::Read(&solver.settings[number]),
                    View::Index(&self.places[number]),
                    View::Write(sums),
                    View::Read(&solver.template.model.tables),
                ];
                solver.program.run(1 + 2 * number + usize::from(reduction), &mut views, &dispatch)?;
            }
        }
        Ok(())
    }
}
