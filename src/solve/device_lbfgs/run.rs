//! The host's part of a run on the device: buffers, batches of rounds, and what is told of them.

use std::any::Any;
use std::collections::VecDeque;

use super::record::{self, Place, Program, Segment, Shape};
use super::schedule::Schedule;
use super::state::{self, initial};
use crate::batch::{Batch, Model};
use crate::clock::now_ms;
use crate::error::{Error, ErrorCode, Result};
use crate::functions::gpu::GpuEngine;
use crate::functions::layout::single_precision;
use crate::functions::{Functions, Objective};
use crate::gpu::{Buffer, BufferRequest, CommandList, PipelineRequest, Prepared, Submission};
use crate::list::Listed;
use crate::solve::arithmetic::Precision;
use crate::solve::convergence::{self, stopped, too_small_to_square};
use crate::solve::curved::{Curved, on_manifolds};
use crate::solve::drive::Listener;
use crate::solve::levenberg_marquardt::start::Start;
use crate::solve::line_search::Failure;
use crate::solve::options::LbfgsOptions;
use crate::solve::summary::{IterationSummary, SolveSummary, Termination};

/// The recursion has a thread for each vector of the history.
const MOST_PAIRS: u32 = 128;

/// Batches on their way at most: one runs while the one before it is read.
const IN_FLIGHT: usize = 2;

/// Minimises an objective on the device from `start`, with some blocks on manifolds. The solution is left where the
/// application sees the parameters. `None` where the device does not take the problem: the cost of long sums needs the host, and so
/// does a history that is too long.
///
/// # Errors
/// What the device fails with.
pub async fn minimise(
    functions: &mut Functions,
    start: &Start,
    curved: Option<&Curved>,
    options: &LbfgsOptions,
    listener: &mut dyn Listener,
    began: f64,
) -> Result<Option<SolveSummary>> {
    let Some((engine, model)) = functions.on_device() else { return Ok(None) };
    let needs_host = options.objective == Objective::LeastSquares && model.batches.iter().any(Batch::has_addends);
    let shape = Shape {
        count: model.num_params,
        capacity: options.history_size.min(options.solve.max_iterations.max(1)),
        limited: start.feasible.is_limited(),
        curved: on_manifolds(&model.arrays).count() as u32,
    };
    if needs_host || shape.capacity > MOST_PAIRS {
        return Ok(None);
    }
    let limits = engine.context().limits();
    let most = limits.max_storage_buffer_binding_size.min(limits.max_buffer_size);
    if [Place::Vectors, Place::Limits, Place::History].into_iter().any(|place| shape.bytes(place) > most) {
        return Ok(None);
    }
    engine.refresh_objective(model, options.objective).await?;
    let kept = engine.kept().take().and_then(|kept| kept.downcast::<Run>().ok());
    let run = match kept.filter(|run| (run.shape, run.objective) == (shape, options.objective)) {
        Some(run) => Ok(run),
        None => Run::prepare(engine, model, shape, options.objective).await.map(Box::new),
    };
    let run = match run {
        Err(error) if error.code == ErrorCode::OutOfMemory => return Ok(None),
        other => other?,
    };
    run.upload(engine, start, curved, options)?;
    let mut told =
        Told { options, preamble: &start.preamble, history: Vec::new(), state: Vec::new(), stop: None, began };
    run.go(engine, &mut told, listener).await?;
    if told.has_lowest() && !told.stays() {
        run.return_to_lowest(engine).await?;
    }
    let run: Box<dyn Any> = run;
    *engine.kept() = Some(run);
    Ok(Some(told.summary()))
}

/// The buffers and bound lists of a run. They stay for the next one of the same shape.
struct Run {
    shape: Shape,
    objective: Objective,
    buffers: Vec<(Place, Buffer)>,
    begin: Prepared,
    round: Prepared,
    read: (Prepared, crate::gpu::DownloadId),
    figures: Vec<u32>,
}

impl Run {
    async fn prepare(engine: &mut GpuEngine, model: &Model, shape: Shape, objective: Objective) -> Result<Run> {
        let recording = record::record(&engine.descent(model, objective), shape)?;
        let own = [Place::State, Place::Vectors, Place::Limits, Place::History, Place::Partials, Place::Figures];
        let requests: Vec<BufferRequest> = own
            .iter()
            .map(|&place| {
                let (name, bytes) = (format!("L-BFGS: {place:?}"), shape.bytes(place).max(16));
                match place {
                    Place::Figures => BufferRequest::uniform(name, bytes),
                    _ => BufferRequest::storage(name, bytes),
                }
            })
            .list();
        let record::Recording { begin, round, read, state, figures } = recording;
        let mut theirs = Vec::new();
        for place in begin.places.iter().chain(&round.places).chain(&read.places) {
            if let Place::Functions(memory) = *place {
                theirs.push(memory);
            }
        }
        let made = engine.allocate_beside(model, &theirs, requests).await?;
        let mut buffers: Vec<(Place, Buffer)> = own.into_iter().zip(made).list();
        buffers.push((Place::Point, engine.published().clone()));
        make_at_once(engine, shape, [&begin, &round, &read]).await?;
        let begin = bind(engine, model, shape, &buffers, &begin).await?;
        let round = bind(engine, model, shape, &buffers, &round).await?;
        let read = (bind(engine, model, shape, &buffers, &read).await?, state);
        Ok(Run { shape, objective, buffers, begin, round, read, figures })
    }

    fn buffer(&self, place: Place) -> Result<&Buffer> {
        let found = self.buffers.iter().find(|(known, _)| *known == place);
        found.map(|(_, buffer)| buffer).ok_or_else(|| Error::internal("a buffer of L-BFGS is not there"))
    }

    fn upload(&self, engine: &GpuEngine, start: &Start, curved: Option<&Curved>, options: &LbfgsOptions) -> Result<()> {
        let Start { point, feasible, .. } = start;
        let context = engine.context();
        let write = |place, numbers: &[f32]| context.write(self.buffer(place)?, 0, bytemuck::cast_slice(numbers));
        write(Place::Point, &single_precision(point.iter()))?;
        write(Place::State, &initial(options, self.shape.places()))?;
        context.write(self.buffer(Place::Figures)?, 0, bytemuck::cast_slice(&self.figures))?;
        if self.shape.limited || curved.is_some() {
            // Infinity is the largest number here, and a lower limit above the upper one says constant.
            let within = |bound: f64| (bound as f32).clamp(-f32::MAX, f32::MAX);
            let mut limits = Vec::new();
            for i in 0..point.len() {
                let (lower, upper) = feasible.bounds_of(i);
                limits.extend(if feasible.is_constant(i) { [1.0, -1.0] } else { [within(lower), within(upper)] });
            }
            if let Some(curved) = curved {
                for i in 0..point.len() {
                    limits.extend([if curved.has(i) { 1.0 } else { 0.0 }, 0.0]);
                }
            }
            write(Place::Limits, &limits)?;
        }
        Ok(())
    }

    async fn go(&self, engine: &GpuEngine, told: &mut Told<'_>, listener: &mut dyn Listener) -> Result<()> {
        let mut schedule = Schedule::default();
        let mut waiting: VecDeque<(Submission, u32, f64)> = VecDeque::new();
        let (mut submitted, mut last_done) = (0_u32, 0.0_f64);
        loop {
            if told.stop.is_none() && listener.aborted() {
                told.stop = Some(Termination::Aborted);
            }
            if now_ms() - told.began >= told.options.solve.max_time_ms {
                told.stop.get_or_insert(Termination::MaxTime);
            }
            // The start takes a round, too, and some iterations take two. What may be over is not added to before it is known.
            let most = told.options.solve.max_iterations;
            let left = most.saturating_add(most / 4 + 1).saturating_sub(submitted);
            // Whoever stops it beforehand still learns what the start costs.
            let unknown = told.history.is_empty() && waiting.is_empty() && submitted == 0;
            let wanted = unknown || !told.is_over() && (left > 0 || waiting.is_empty());
            if wanted && waiting.len() < IN_FLIGHT {
                let rounds = schedule.next(left);
                let mut pieces = vec![&self.begin];
                pieces.extend(std::iter::repeat_n(&self.round, rounds as usize));
                pieces.push(&self.read.0);
                waiting.push_back((engine.context().submit_in_turn(&pieces)?, rounds, now_ms()));
                submitted = submitted.saturating_add(rounds);
                if waiting.len() < IN_FLIGHT {
                    continue;
                }
            }
            let Some((submission, rounds, since)) = waiting.pop_front() else { return Ok(()) };
            let downloads = submission.finish().await?;
            let now = now_ms();
            schedule.observe(rounds, now - since.max(last_done));
            last_done = now;
            told.read(downloads.reals(self.read.1), listener);
        }
    }

    /// Puts the lowest point seen where the application sees it.
    async fn return_to_lowest(&self, engine: &GpuEngine) -> Result<()> {
        let mut list = CommandList::new();
        let [vectors, point] = [Place::Vectors, Place::Point].map(|place| list.buffer("", self.shape.bytes(place)));
        let from = list.whole(vectors).part(self.shape.lowest(), self.shape.bytes(Place::Point));
        list.copy(from, point, 0);
        let buffers = [self.buffer(Place::Vectors)?.clone(), self.buffer(Place::Point)?.clone()];
        engine.context().prepare(&list, &buffers, &[]).await?.run(&[]).await?;
        Ok(())
    }
}

/// Makes all pipelines of the segments at the same time: binding then finds them.
async fn make_at_once(engine: &mut GpuEngine, shape: Shape, segments: [&Segment; 3]) -> Result<()> {
    let (mut programs, mut requests) = (Vec::new(), Vec::new());
    for segment in segments {
        for &program in &segment.programs {
            match (program, program.request(shape)?) {
                (_, Some((wgsl, entry, layout))) => requests.push(PipelineRequest { wgsl, entry, layout }),
                (Program::Functions(program), None) => programs.push(program),
                (Program::Own(_) | Program::InPlace(..), None) => {}
            }
        }
    }
    engine.pipelines_with(&programs, &requests).await?;
    Ok(())
}

/// Binds a list to its buffers and pipelines, making what is not there.
async fn bind(
    engine: &mut GpuEngine,
    model: &Model,
    shape: Shape,
    buffers: &[(Place, Buffer)],
    segment: &Segment,
) -> Result<Prepared> {
    let mut bound = Vec::new();
    for &place in &segment.places {
        let known = buffers.iter().find(|(known, _)| *known == place).map(|(_, buffer)| buffer.clone());
        bound.push(match (known, place) {
            (Some(buffer), _) => buffer,
            (None, Place::Functions(memory)) => engine.buffer(model, memory).await?,
            (None, _) => return Err(Error::internal("a buffer of L-BFGS was not made")),
        });
    }
    let mut of_functions = Vec::new();
    let mut own = Vec::new();
    for &program in &segment.programs {
        match program.request(shape)? {
            Some((wgsl, entry, layout)) => own.push(PipelineRequest { wgsl, entry, layout }),
            None => of_functions.extend(match program {
                Program::Functions(program) => Some(program),
                Program::Own(_) | Program::InPlace(..) => None,
            }),
        }
    }
    let mut of_functions = engine.pipelines(&of_functions).await?.into_iter();
    let mut own = engine.context().pipelines(&own, &mut |_, _| Ok(())).await?.into_iter();
    let absent = || Error::internal("a pipeline of L-BFGS was not made");
    let pipelines = segment
        .programs
        .iter()
        .map(|program| {
            let pipeline = match program {
                Program::Functions(_) => of_functions.next(),
                Program::Own(_) | Program::InPlace(..) => own.next(),
            };
            pipeline.ok_or_else(absent)
        })
        .list_or_error()?;
    engine.context().prepare(&segment.list, &bound, &pipelines).await
}

/// What the host knows of the run.
struct Told<'a> {
    options: &'a LbfgsOptions,
    preamble: &'a str,
    history: Vec<IterationSummary>,
    /// The state as it was read last.
    state: Vec<f32>,
    /// Why it is to end, if not by itself.
    stop: Option<Termination>,
    began: f64,
}

impl Told<'_> {
    fn is_over(&self) -> bool {
        self.stop.is_some() || self.state.get(state::PHASE) == Some(&state::DONE)
    }

    fn number(&self, word: usize) -> f64 {
        self.state.get(word).copied().map_or(0.0, f64::from)
    }

    /// A number that is given with its error.
    fn pair(&self, word: usize) -> f64 {
        self.number(word) + self.number(word + 1)
    }

    /// Takes the state over and tells of the iterations that are new in it.
    fn read(&mut self, state: &[f32], listener: &mut dyn Listener) {
        self.state = state.to_vec();
        let iterations = self.number(state::ITERATION);
        while (self.history.len() as f64) <= iterations {
            let summary = self.iteration(self.history.len());
            self.history.push(summary);
            if listener.iteration(&summary) {
                self.stop.get_or_insert(Termination::Aborted);
            }
        }
    }

    fn record(&self, iteration: usize) -> usize {
        state::RECORDS + state::RECORD_WORDS * (iteration % state::MOST_RECORDS)
    }

    fn iteration(&self, iteration: usize) -> IterationSummary {
        let record = self.record(iteration);
        IterationSummary {
            iteration: iteration as u32,
            cost: self.pair(record),
            cost_change: self.number(record + 2),
            gradient_max_norm: self.number(record + 3),
            step_norm: self.number(record + 4),
            accepted: true,
            damping: None,
            gain_ratio: None,
            linear_iterations: None,
            step_size: (iteration > 0).then(|| self.number(record + 5)),
            elapsed_ms: now_ms() - self.began,
        }
    }

    fn has_lowest(&self) -> bool {
        self.number(state::HAS_LOWEST) != 0.0
    }

    /// What met the gradient's tolerance is the current point, be another one's cost lower within rounding.
    fn stays(&self) -> bool {
        self.ending().0 == Termination::GradientTolerance
    }

    fn ending(&self) -> (Termination, String) {
        let precision = Precision::Single.name();
        let ending = self.number(state::ENDING) as f32;
        let by_itself = match (ending, self.history.last()) {
            (state::END_START, _) | (_, None) => Some((Termination::NonFinite, String::new())),
            (state::END_SMALL, _) => Some((Termination::PrecisionLimit, too_small_to_square(precision))),
            (ending, _) if ending >= state::END_SEARCH => {
                let failure = Failure::of(f64::from(ending - state::END_SEARCH));
                Some(failure.explain(self.options.max_line_search_steps, precision))
            }
            (ending, Some(last)) => {
                let size = self.number(self.record(last.iteration as usize) + 6);
                convergence::explain(ending.into(), &self.options.solve, Precision::Single, last, size)
            }
        };
        by_itself.unwrap_or_else(|| {
            let termination = self.stop.unwrap_or(Termination::Aborted);
            (termination, stopped(termination, &self.options.solve))
        })
    }

    fn summary(&self) -> SolveSummary {
        let (termination, message) = self.ending();
        let lowest = self.has_lowest() && !self.stays();
        SolveSummary {
            termination,
            message: format!("{}{message}.", self.preamble),
            iterations: (self.history.len() as u32).saturating_sub(1),
            function_evaluations: self.number(state::EVALUATIONS) as u32,
            initial_cost: self.history.first().map_or(f64::NAN, |start| start.cost),
            final_cost: if lowest { self.pair(state::LOWEST_COST) } else { self.pair(state::COST) },
            elapsed_ms: now_ms() - self.began,
            history: self.history.clone(),
        }
    }
}
