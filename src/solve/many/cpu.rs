//! Many small problems on the host, in f64: a chunk of them at a time, all that still run in one call of each kernel, and a small
//! factorisation each. The loop is that of [`crate::solve::levenberg_marquardt`]; every step runs over all problems of the chunk.

mod careful;
mod data_table;
mod finish;
mod pass;
mod review;

use residua_base::list::{Listed, PushAll};
use std::ops::Range;

use crate::eval::cpu::CpuEngine;
use crate::solve::rules::{AcceptedStep, Damping, Gain, INITIAL_GROWTH, NO_FLOOR, PointBefore, TrialStep};
use crate::solve::summary::Termination;
use residua_base::error::Result;
use residua_codegen::{InstanceRange, View};
use residua_cpu::Program;
use residua_linalg::loops::{all_finite, small};

use super::batch::{Batch, make_feasible};
use super::kernels::{NormalLayout, PLACES, move_kernel, normal_kernel, reduction_kernel, settings_table};
use super::rule_tables::{Rule, RuleTable, rule_kernels};
use super::template::Template;
use super::{ManyListener, ManyOptions, ManySolutions, Which};
use careful::Careful;
use data_table::data_table;

/// Numbers of tables that are worked on at a time: they stay in a core's cache.
const NUMBERS_AT_A_TIME: usize = 1 << 16;

/// With fewer problems it takes longer to compile the rules than to interpret them.
const MANY_PROBLEMS: u32 = 512;

/// Solves the problems of a batch.
pub async fn solve_many(
    template: &Template,
    batch: &Batch<'_>,
    options: &ManyOptions,
    audience: &mut dyn ManyListener,
) -> Result<ManySolutions> {
    batch.check(template)?;
    let layout = NormalLayout { free: template.free.len() };
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
    let program = Program::compile(kernels).await?;
    let at_a_time = (NUMBERS_AT_A_TIME / numbers).clamp(1, 1024) as u32;
    let mut solver = Solver {
        template,
        options,
        program: &program,
        first_rule,
        layout,
        settings,
        bounds: template.bounds(),
        epsilon: options.tolerances.epsilon(CpuEngine::ARITHMETIC.epsilon()),
        is_careful: false,
        at_a_time,
    };

    let mut solutions = ManySolutions::default();
    let again = solver.pass(batch, &mut solutions, audience).await?;
    let mut doubted = again.doubted;
    // Those that have lost a parameter.
    if !again.lost.is_empty() {
        solver.is_careful = true;
        let mut found = ManySolutions::default();
        let own = batch.extract(template, &again.lost, None);
        let doubted_again = solver.pass(&own, &mut found, audience).await?.doubted;
        solutions.replace(&again.lost, template.values.len(), &found, Which::Better);
        doubted.push_all(doubted_again.iter().map(|&position| again.lost[position as usize]));
    }
    review::review(template, batch, options, &doubted, &mut solutions, audience).await?;
    Ok(solutions)
}

/// What all chunks share.
struct Solver<'a> {
    template: &'a Template,
    options: &'a ManyOptions,
    /// The move, then of each group normal equations and reduction.
    program: &'a Program,
    /// Position of the first kernel of a rule, if rules are compiled.
    first_rule: Option<usize>,
    layout: NormalLayout,
    settings: Vec<Vec<f64>>,
    bounds: Vec<f64>,
    epsilon: f64,
    /// Whether problems are solved a second time ([`Careful`]).
    is_careful: bool,
    /// Problems of a chunk.
    at_a_time: u32,
}

/// A problem while it is solved.
struct Problem {
    end: Option<Termination>,
    /// Its number of samples.
    samples: f64,
    iterations: u32,
    damping: Damping,
    floor: f64,
    /// Rounding noise of the cost.
    noise: f64,
    cost: f64,
    /// ‖√D x‖ of the coordinates that are not frozen, with D the diagonal of J̃ᵀJ̃.
    size: f64,
    /// Which free coordinates are at a bound with the descent pointing outward.
    frozen: Vec<bool>,
    /// The gradient's cosine.
    cosine: f64,
    arrival: Arrival,
    /// Whether the normal equations gave a step.
    has_step: bool,
    /// Whether all columns of J̃ had an effect at the start.
    begins_whole: bool,
    /// What a second solve takes care of.
    careful: Option<Careful>,
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
    /// Memory of a factor, and of squared sizes of a point.
    factor: Vec<f64>,
    squares: Vec<f64>,
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
                end: (!finite).then_some(Termination::NonFinite),
                samples: samples as f64,
                iterations: 0,
                damping: Damping { lambda: solver.options.initial_damping, growth: INITIAL_GROWTH },
                floor: NO_FLOOR,
                noise: 0.0,
                cost: f64::NAN,
                size: 0.0,
                frozen: vec![false; free],
                cosine: 0.0,
                arrival: if finite { Arrival::AtStart } else { Arrival::None },
                has_step: false,
                begins_whole: false,
                careful: solver.is_careful.then(|| Careful::new(free)),
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
            factor: Vec::new(),
            squares: Vec::new(),
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

    /// Accepts or rejects the trial steps of the problems that run.
    fn judge(&mut self, solver: &Solver, running: &[bool]) -> Result<()> {
        let mut trials = Vec::with_capacity(running.len());
        for position in (0..running.len()).filter(|&position| running[position]) {
            let trial = self.predict(solver, position);
            let Problem { cost, noise, cosine, floor, .. } = self.problems[position];
            let point = PointBefore { cost, noise, cosine, floor };
            self.rules.push(&Gain::arguments(&point, &trial, solver.epsilon));
            trials.push((position, trial));
        }
        self.rules.run(Rule::Gain, solver.program, solver.first_rule)?;
        let gains = (0..trials.len()).map(|row| Gain::of(self.rules.result(row))).list();
        self.rules.clear();
        for ((position, _), gain) in trials.iter().zip(&gains) {
            self.rules.push(&self.problems[*position].damping.arguments(*gain));
        }
        self.rules.run(Rule::Damping, solver.program, solver.first_rule)?;
        for (row, ((position, trial), gain)) in trials.iter().zip(&gains).enumerate() {
            let (damping, collapsed) = Damping::of(self.rules.result(row));
            let problem = &mut self.problems[*position];
            if let Some(careful) = &mut problem.careful {
                careful.damping = problem.damping;
            }
            (problem.damping, problem.floor) = (damping, gain.floor);
            if gain.accepted {
                self.accept(solver, *position, trial, gain.hidden);
            } else {
                problem.end = gain.end.or(collapsed);
            }
        }
        self.rules.clear();
        Ok(())
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
            self.go_back_if_lost(solver, position);
            let normal = &self.normal[position * width..(position + 1) * width];
            let numbers = solver.template.values.len();
            let x = &self.x[position * numbers..(position + 1) * numbers];
            let problem = &mut self.problems[position];
            problem.cost = normal[0];
            if matches!(problem.arrival, Arrival::AtStart) {
                problem.begins_whole = !solver.layout.has_column_without_effect(normal, x, problem.cost);
            }
            if !all_finite(normal) {
                problem.end = Some(Termination::NonFinite);
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
            let [largest, scaled_size, free_size] =
                small::slope_and_sizes(gradient, triangle, &self.squares, &problem.frozen);
            problem.size = free_size;
            self.rules.push(&[largest, problem.cost]);
            measured.push((position, scaled_size));
        }
        self.rules.run(Rule::Cosine, solver.program, solver.first_rule)?;
        for (row, &(position, _)) in measured.iter().enumerate() {
            [self.problems[position].cosine] = self.rules.result(row);
        }
        self.rules.clear();
        for &(position, scaled_size) in &measured {
            let Problem { cost, samples, .. } = self.problems[position];
            self.rules.push(&[cost, scaled_size, samples.max(1.0), solver.epsilon]);
        }
        self.rules.run(Rule::Noise, solver.program, solver.first_rule)?;
        for (row, &(position, _)) in measured.iter().enumerate() {
            [self.problems[position].noise] = self.rules.result(row);
        }
        self.rules.clear();
        Ok(())
    }

    /// Ends the problems that have converged at new points.
    fn converge(&mut self, solver: &Solver) -> Result<()> {
        let mut judged = Vec::with_capacity(self.problems.len());
        for (position, problem) in self.problems.iter_mut().enumerate() {
            let step = match std::mem::replace(&mut problem.arrival, Arrival::None) {
                _ if problem.end.is_some() => continue,
                Arrival::None => continue,
                Arrival::AtStart => AcceptedStep::at_start(problem.cosine),
                Arrival::ByStep(step) => AcceptedStep { cosine: problem.cosine, ..step },
            };
            self.rules.push(&step.arguments(&solver.options.tolerances, solver.epsilon));
            judged.push(position);
        }
        self.rules.run(Rule::Convergence, solver.program, solver.first_rule)?;
        for (row, &position) in judged.iter().enumerate() {
            let [end] = self.rules.result(row);
            self.problems[position].end = Termination::from_code(end);
        }
        self.rules.clear();
        Ok(())
    }

    /// Scales the damping and solves for the step of every problem that runs, unless its iterations are used up.
    fn solve(&mut self, solver: &Solver) {
        let (free, width) = (solver.layout.free, solver.layout.numbers());
        for (position, problem) in self.problems.iter_mut().enumerate() {
            if problem.end.is_some() {
                continue;
            }
            if problem.iterations >= solver.options.max_iterations {
                problem.end = Some(Termination::MaxIterations);
                continue;
            }
            problem.iterations += 1;
            let normal = &self.normal[position * width..(position + 1) * width];
            let (lambda, frozen) = (problem.damping.lambda, &problem.frozen);
            let damped = problem.careful.as_mut().map(|careful| careful.damped(solver, lambda, normal));
            let normal = damped.as_deref().unwrap_or(normal);
            let step = &mut self.step[position * free..(position + 1) * free];
            let (gradient, triangle) = solver.layout.parts(normal);
            problem.has_step = small::damped_step(gradient, triangle, lambda, frozen, &mut self.factor, step);
            if !problem.has_step {
                step.fill(0.0);
            }
        }
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
                ];
                solver.program.run(1 + 2 * number + usize::from(reduction), &mut views, &dispatch)?;
            }
        }
        Ok(())
    }

    /// The numbers of a problem's trial step; NaN where there is no step.
    fn predict(&self, solver: &Solver, position: usize) -> TrialStep {
        let (free, width) = (solver.layout.free, solver.layout.numbers());
        let problem = &self.problems[position];
        let size = problem.size;
        let trial = TrialStep {
            change: f64::NAN,
            predicted: f64::NAN,
            descent: f64::NAN,
            step: f64::NAN,
            size,
            is_complete: true,
        };
        if !problem.has_step {
            return trial;
        }
        let normal = &self.normal[position * width..(position + 1) * width];
        let projected = &self.projected_step[position * free..(position + 1) * free];
        let (gradient, triangle) = solver.layout.parts(normal);
        let [descent, square, step] = small::descent_square_and_length(gradient, triangle, projected);
        TrialStep { change: self.reduction[position], predicted: descent - 0.5 * square, descent, step, ..trial }
    }

    /// Moves a problem to its trial point.
    fn accept(&mut self, solver: &Solver, position: usize, trial: &TrialStep, is_hidden: bool) {
        let numbers = solver.template.values.len();
        let place = position * numbers..(position + 1) * numbers;
        self.x[place.clone()].swap_with_slice(&mut self.trial[place]);
        let problem = &mut self.problems[position];
        let cost = problem.cost;
        problem.arrival = Arrival::ByStep(AcceptedStep { cost, cosine: f64::NAN, trial: *trial, is_hidden });
    }
}
