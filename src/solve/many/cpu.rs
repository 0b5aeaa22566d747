//! Many small problems in f64: a range of them at a time, all that still run in one call of each kernel, and a small
//! factorisation each.

use std::ops::Range;

use crate::codegen::{Dispatch, View};
use crate::cpu::Program;
use crate::error::Result;
use crate::list::Listed;
use crate::solve::rules::{
    Damping, INITIAL_GROWTH, MAX_DIAGONAL, MIN_DIAGONAL, NO_FLOOR, Progress, Rules, TrialFigures,
};
use crate::solve::summary::Termination;
use crate::solve::vector::dot;
use crate::turn::Turns;

use super::batch::{Batch, make_feasible};
use super::kernels::{NormalLayout, PLACES, move_kernel, normal_kernel, reduction_kernel, settings_table};
use super::layout::source_of;
use super::template::{Group, Template};
use super::{Audience, ManyOptions, ManySolutions};

/// Numbers of tables that are worked on at a time: they stay in a core's cache.
const NUMBERS_AT_A_TIME: usize = 1 << 16;

/// Solves the problems of a batch.
pub async fn solve_many(
    template: &Template,
    batch: &Batch<'_>,
    options: &ManyOptions,
    audience: &mut dyn Audience,
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
    let program = Program::compile(kernels).await?;
    let at_a_time = (NUMBERS_AT_A_TIME / numbers).clamp(1, 1024) as u32;
    let solver = Solver {
        template,
        options,
        program: &program,
        rules: Rules::new(),
        layout,
        settings,
        bounds: template.bounds(),
        epsilon: options.tolerances.epsilon(f64::EPSILON),
        residuals: template.residuals() as f64,
    };

    let mut solutions = ManySolutions::default();
    let mut turns = Turns::new();
    let mut first = 0;
    while first < batch.count {
        let problems = first..batch.count.min(first + at_a_time);
        let mut chunk = Chunk::new(&solver, batch, problems.clone());
        loop {
            turns.take().await;
            if audience.aborted() || !chunk.advance(&solver)? {
                break;
            }
        }
        chunk.finish(&mut solutions);
        first = problems.end;
        audience.progress(first);
    }
    Ok(solutions)
}

/// What all chunks share.
struct Solver<'a> {
    template: &'a Template,
    options: &'a ManyOptions,
    /// The move, then of each group normal equations and reduction.
    program: &'a Program,
    rules: Rules,
    layout: NormalLayout,
    settings: Vec<Vec<f64>>,
    bounds: Vec<f64>,
    epsilon: f64,
    residuals: f64,
}

/// A problem while it is solved.
struct Problem {
    end: Option<Termination>,
    iterations: u32,
    damping: Damping,
    floor: f64,
    noise: f64,
    cost: f64,
    /// ‖x‖
    size: f64,
    /// Which coordinates are held at a bound.
    frozen: Vec<bool>,
    /// Whether it has moved since it was linearised, and by which step: none, at the start.
    moved: Option<Option<Progress>>,
    /// Whether the normal equations gave a step.
    sound: bool,
}

/// Some problems with their tables.
struct Chunk {
    problems: Vec<Problem>,
    /// As they were given.
    starts: Vec<f64>,
    x: Vec<f64>,
    trial: Vec<f64>,
    step: Vec<f64>,
    made: Vec<f64>,
    normal: Vec<f64>,
    reduction: Vec<f64>,
    /// By group: data columns, and columns of places.
    data: Vec<Vec<f64>>,
    places: Vec<Vec<u32>>,
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
        for x in x.chunks_exact_mut(template.values.len()) {
            let finite = make_feasible(template, x);
            states.push(Problem {
                end: (!finite).then_some(Termination::NonFinite),
                iterations: 0,
                damping: Damping { lambda: solver.options.initial_damping, growth: INITIAL_GROWTH },
                floor: NO_FLOOR,
                noise: 0.0,
                cost: f64::NAN,
                size: 0.0,
                frozen: vec![false; free],
                moved: finite.then_some(None),
                sound: false,
            });
        }
        let own = batch.read_data(problems);
        let (numbers, normal) = (template.values.len(), solver.layout.numbers());
        let mut data = Vec::new();
        let mut places = Vec::new();
        for group in &template.groups {
            data.push(data_table(template, batch, group, &own, count));
            let instances = group.instances.len();
            let mut table = Vec::with_capacity(PLACES * count * instances);
            for width in [numbers, normal, 1] {
                for i in 0..count * instances {
                    table.push((i / instances * width) as u32);
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
            made: vec![0.0; count * free],
            normal: vec![0.0; count * normal],
            reduction: vec![0.0; count],
            data,
            places,
        }
    }

    /// One iteration of every problem that runs. False when none does.
    fn advance(&mut self, solver: &Solver) -> Result<bool> {
        self.linearise(solver)?;
        for position in 0..self.problems.len() {
            self.propose(solver, position);
        }
        let running: Vec<bool> = self.problems.iter().map(|problem| problem.end.is_none()).list();
        let runs = runs(&running);
        if runs.is_empty() {
            return Ok(false);
        }
        self.try_steps(solver, &runs)?;
        for position in (0..running.len()).filter(|&position| running[position]) {
            self.judge(solver, position);
        }
        Ok(true)
    }

    /// The normal equations of those that have moved, and whether they have converged there.
    fn linearise(&mut self, solver: &Solver) -> Result<()> {
        let moved: Vec<bool> = self.problems.iter().map(|problem| problem.moved.is_some()).list();
        let runs = runs(&moved);
        let width = solver.layout.numbers();
        for run in &runs {
            self.normal[run.start as usize * width..run.end as usize * width].fill(0.0);
        }
        self.run_groups(solver, &runs, false)?;
        for position in (0..moved.len()).filter(|&position| moved[position]) {
            let normal = &self.normal[position * width..(position + 1) * width];
            let numbers = solver.template.values.len();
            let x = &self.x[position * numbers..(position + 1) * numbers];
            let problem = &mut self.problems[position];
            let moved = problem.moved.take().unwrap_or_default();
            problem.cost = normal[0];
            problem.size = parameter_norm(solver.template, x);
            if !normal.iter().all(|number| number.is_finite()) {
                problem.end = Some(Termination::NonFinite);
                continue;
            }
            let (mut gradient_max_norm, mut scaled_size) = (0.0f64, 0.0);
            for (free, coordinate) in solver.template.free.iter().enumerate() {
                let slope = normal[solver.layout.gradient(free)];
                let number = x[coordinate.parameter as usize];
                let outward = |(lower, upper)| (number <= lower && slope > 0.0) || (number >= upper && slope < 0.0);
                problem.frozen[free] = coordinate.bounds.is_some_and(outward);
                if !problem.frozen[free] {
                    gradient_max_norm = gradient_max_norm.max(slope.abs());
                }
                let scale = normal[solver.layout.curvature(free, free)].clamp(MIN_DIAGONAL, MAX_DIAGONAL);
                scaled_size += scale * number.powi(2);
            }
            let tolerances = &solver.options.tolerances;
            let converged = match moved {
                None => solver.rules.convergence_at_start(gradient_max_norm, tolerances),
                Some(progress) => {
                    solver.rules.convergence(&Progress { gradient_max_norm, ..progress }, tolerances, solver.epsilon)
                }
            };
            problem.end = converged;
            problem.noise = solver.rules.noise(problem.cost, scaled_size, solver.residuals, solver.epsilon);
        }
        Ok(())
    }

    /// The step of a problem that runs, unless its iterations are used up.
    fn propose(&mut self, solver: &Solver, position: usize) {
        let problem = &mut self.problems[position];
        if problem.end.is_some() {
            return;
        }
        if problem.iterations >= solver.options.max_iterations {
            problem.end = Some(Termination::MaxIterations);
            return;
        }
        problem.iterations += 1;
        let (free, width) = (solver.layout.free, solver.layout.numbers());
        let normal = &self.normal[position * width..(position + 1) * width];
        let step = &mut self.step[position * free..(position + 1) * free];
        problem.sound = damped_step(solver.layout, normal, problem.damping.lambda, &problem.frozen, step);
        if !problem.sound {
            step.fill(0.0);
        }
    }

    /// Moves the problems of some runs, and evaluates where they come.
    fn try_steps(&mut self, solver: &Solver, runs: &[Range<u32>]) -> Result<()> {
        for run in runs {
            let dispatch = Dispatch { instances: run.clone(), stride: self.problems.len() as u32, first: 0, origin: 0 };
            let mut views = [
                View::Read(&self.x),
                View::Read(&self.step),
                View::Read(&solver.bounds),
                View::Write(&mut self.trial),
                View::Write(&mut self.made),
            ];
            solver.program.run(0, &mut views, &dispatch)?;
            self.reduction[run.start as usize..run.end as usize].fill(0.0);
        }
        self.run_groups(solver, runs, true)
    }

    /// Runs every group's kernel of normal equations, or of reductions, for the problems of some runs.
    fn run_groups(&mut self, solver: &Solver, runs: &[Range<u32>], reduction: bool) -> Result<()> {
        for (number, group) in solver.template.groups.iter().enumerate() {
            let instances = group.instances.len() as u32;
            for run in runs {
                let dispatch = Dispatch {
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

    /// Whether a problem's step is taken, and what comes of it.
    fn judge(&mut self, solver: &Solver, position: usize) {
        let (free, width, numbers) = (solver.layout.free, solver.layout.numbers(), solver.template.values.len());
        let normal = &self.normal[position * width..(position + 1) * width];
        let made = &self.made[position * free..(position + 1) * free];
        let problem = &mut self.problems[position];
        let (mut predicted, mut change, mut length) = (f64::NAN, f64::NAN, f64::NAN);
        if problem.sound {
            predicted = predicted_reduction(solver.layout, normal, made);
            length = dot(made, made).sqrt();
            change = self.reduction[position];
        }
        let figures = TrialFigures { change, predicted, step: length, size: problem.size };
        let gain = solver.rules.gain(&figures, problem.noise, problem.floor, solver.epsilon);
        let (damping, collapsed) = solver.rules.damping(problem.damping, gain);
        problem.damping = damping;
        problem.floor = gain.floor;
        if gain.accepted {
            let place = position * numbers..(position + 1) * numbers;
            self.x[place.clone()].copy_from_slice(&self.trial[place]);
            problem.moved = Some(Some(Progress {
                cost: problem.cost,
                change,
                gradient_max_norm: 0.0,
                step: length,
                size: problem.size,
                hidden: gain.hidden,
            }));
        } else {
            problem.end = gain.end.or(collapsed);
        }
    }

    fn finish(self, solutions: &mut ManySolutions) {
        let numbers = self.x.len() / self.problems.len().max(1);
        for (position, problem) in self.problems.into_iter().enumerate() {
            let place = position * numbers..(position + 1) * numbers;
            let end = problem.end.unwrap_or(Termination::Aborted);
            let x = if end == Termination::NonFinite && problem.iterations == 0 { &self.starts } else { &self.x };
            solutions.x.extend_from_slice(&x[place]);
            solutions.cost.push(problem.cost);
            solutions.iterations.push(problem.iterations);
            solutions.termination.push(end);
        }
    }
}

/// ‖x‖ of the blocks that are solved for.
fn parameter_norm(template: &Template, x: &[f64]) -> f64 {
    let mut sum = 0.0;
    for block in &template.blocks {
        for number in &x[block.first as usize..(block.first + block.dim) as usize] {
            sum += number * number;
        }
    }
    f64::sqrt(sum)
}

/// Data of a group's instances, column after column, problem after problem in each.
fn data_table(template: &Template, batch: &Batch, group: &Group, own: &[Vec<f64>], problems: usize) -> Vec<f64> {
    let of_batch = &template.model.batches[group.batch];
    let count = of_batch.count as usize;
    let mut table = Vec::with_capacity(of_batch.class.data as usize * group.instances.len() * problems);
    for column in 0..of_batch.class.data {
        let source = source_of(template, batch, group, column);
        for problem in 0..problems {
            for &instance in &group.instances {
                table.push(match source {
                    Some((entry, sources)) => {
                        own[entry][problem * batch.data[entry].length + sources[instance as usize] as usize]
                    }
                    None => of_batch.data[column as usize * count + instance as usize],
                });
            }
        }
    }
    table
}

/// −δᵀg − ½δᵀHδ
fn predicted_reduction(layout: NormalLayout, normal: &[f64], made: &[f64]) -> f64 {
    let mut sum = 0.0;
    for row in 0..layout.free {
        let mut slope = 0.0;
        for other in 0..layout.free {
            slope += normal[layout.curvature(row.min(other), row.max(other))] * made[other];
        }
        sum += made[row] * (normal[layout.gradient(row)] + 0.5 * slope);
    }
    -sum
}

/// (H + λD)δ = −g by Cholesky's factorisation, frozen coordinates left out. False, and no step, where a pivot is not positive.
fn damped_step(layout: NormalLayout, normal: &[f64], lambda: f64, frozen: &[bool], step: &mut [f64]) -> bool {
    let free = layout.free;
    let mut factor = normal[layout.curvature(0, 0)..].to_vec();
    let place = |row: usize, column: usize| column * (column + 1) / 2 + row;
    for column in 0..free {
        for row in 0..=column {
            let entry = &mut factor[place(row, column)];
            if frozen[column] || frozen[row] {
                *entry = if row == column { 1.0 } else { 0.0 };
            } else if row == column {
                *entry += lambda * entry.clamp(MIN_DIAGONAL, MAX_DIAGONAL);
            }
        }
    }
    // H = UᵀU, column after column.
    for column in 0..free {
        for row in 0..=column {
            let (a, b) = (&factor[place(0, row)..][..row], &factor[place(0, column)..][..row]);
            let rest = factor[place(row, column)] - dot(a, b);
            factor[place(row, column)] = if row < column {
                rest / factor[place(row, row)]
            } else if rest > 0.0 && rest.is_finite() {
                rest.sqrt()
            } else {
                return false;
            };
        }
    }
    for row in 0..free {
        let slope = if frozen[row] { 0.0 } else { -normal[layout.gradient(row)] };
        step[row] = (slope - dot(&factor[place(0, row)..][..row], &step[..row])) / factor[place(row, row)];
    }
    for row in (0..free).rev() {
        let mut dot = 0.0;
        for k in row + 1..free {
            dot += factor[place(row, k)] * step[k];
        }
        step[row] = (step[row] - dot) / factor[place(row, row)];
    }
    true
}
