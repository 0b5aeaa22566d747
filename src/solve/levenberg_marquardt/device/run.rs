//! The host's side of a solve on the device: it submits batches of work, one ahead of what it has read, and tells what came of them.

use residua_base::list::{Listed, PushAll};
use std::collections::VecDeque;

use super::elimination::Elimination;
use super::record::{Place, Program, Recording};
use super::schedule::{Batch, Schedule};
use super::state::{Settings, State, WORDS};
use crate::eval::gpu::GpuEngine;
use crate::eval::layout::Memory;
use crate::eval::pairs::{split, table_len};
use crate::eval::{Arithmetic, Functions};
use crate::gauss_newton::device::{DeviceModel, ModelBuffer};
use crate::model::Manifold;
use crate::solve::before_start;
use crate::solve::levenberg_marquardt::ending::Ending;
use crate::solve::listener::Listener;
use crate::solve::options::LevenbergMarquardtOptions;
use crate::solve::rules::Tolerances;
use crate::solve::solution::{Details, Solution};
use crate::solve::start::{Changes, Start};
use crate::solve::summary::{IterationSummary, SolveSummary, Termination};
use crate::solve::untouched::Untouched;
use crate::solve::write_back::{Left, write_back};
use residua_base::clock::now_ms;
use residua_base::deadline::Deadline;
use residua_base::error::{Error, Result};
use residua_codegen::wgsl::PairForm;
use residua_gpu::{Buffer, BufferRequest, CommandList, DownloadId, Pipeline, PipelineRequest, Prepared, Submission};
use vecmap::VecMap;

/// Batches on their way at a time.
const IN_FLIGHT: usize = 2;

/// What a solve makes on the device and the next one finds there.
pub struct SolverResources {
    /// The Gauss-Newton model, which outlives recordings.
    gauss_newton: DeviceModel,
    /// [`GpuEngine::recordings_version`] when they were recorded.
    recordings_version: u64,
    constrained: bool,
    /// What is eliminated by a Schur complement.
    elimination: Option<Elimination>,
    /// The trial point set to the point.
    start: Prepared,
    head: Prepared,
    iteration: Prepared,
    tail: Prepared,
    /// Reads the state.
    read: Prepared,
    state_download: DownloadId,
    /// Where constants and bounds are written, and which of [`Functions::constraints_version`] have been.
    limits: Option<Buffer>,
    constraints_version: Option<u64>,
    state: Buffer,
    stride: usize,
    untouched: Option<Untouched>,
    /// That of the last solve.
    schedule: Option<Schedule>,
}

/// A solve while it runs.
struct Run<'a> {
    options: &'a LevenbergMarquardtOptions,
    arithmetic: Arithmetic,
    began: f64,
    history: Vec<IterationSummary>,
    /// The gradient's cosine, and the last step relative to the point.
    cosine: f64,
    relative_step: f64,
}

/// Minimises the least-squares cost of functions on the device by Levenberg-Marquardt from their current parameters, which become the
/// solution. `kept`: the resources of the last solve, and then of this one. Without `read_back` the parameters stay on the device, and the
/// solution's `x` is empty.
///
/// # Errors
/// `non-finite` naming the residual if the start is not finite; `invalid-argument` for a start that cannot be brought onto its manifold;
/// `device-lost`; what the device refuses.
pub async fn minimise_on_device(
    functions: &mut Functions,
    kept: &mut Option<SolverResources>,
    options: &LevenbergMarquardtOptions,
    read_back: bool,
    listener: &mut dyn Listener,
) -> Result<Solution> {
    let began = now_ms();
    let constrained = functions.is_constrained();
    let curved = functions.model().arrays.iter().any(|array| array.manifold != Manifold::Euclidean);
    let elimination = Elimination::for_solver(functions.model(), options.linear_solver)?;
    let linear_solver = elimination.as_ref().map_or_else(|| "pcg: on the device".to_owned(), Elimination::sentence);
    let end = Deadline::after(began, options.solve.max_time_ms);
    let Some(mut resources) = SolverResources::of(functions, kept, constrained, elimination, end).await? else {
        functions.bring_values().await?;
        let arithmetic = functions.arithmetic();
        let start = (Start::of(functions, arithmetic)?, arithmetic);
        let mut solution = before_start::solution(functions, &options.solve, start, listener, began).await?;
        if !read_back {
            solution.x.clear();
        }
        return Ok(solution);
    };
    // Where nothing holds the parameters, the start is where they are: on the device already.
    let preamble = if constrained || curved { resources.bring_in(functions).await? } else { String::new() };
    let setup = now_ms() - began;
    let mut run = Run {
        options,
        arithmetic: functions.arithmetic(),
        began,
        history: Vec::new(),
        cosine: f64::NAN,
        relative_step: f64::NAN,
    };
    let mut schedule = resources.schedule_for(options);
    let outcome = run.through(functions, &resources, &mut schedule, listener).await;
    resources.schedule = Some(schedule);
    let summary = outcome.map(|end| run.summary(end, &preamble));
    let untouched = resources.untouched(functions);
    if summary.is_ok() {
        *kept = Some(resources);
    }
    let (x, mut summary) = write_back(functions, run.arithmetic, summary, || Left::Device { read_back }).await?;
    summary.message = untouched.added_to(summary.message);
    let details = Details { linear_solver, times: vec![("setup", setup)], untouched, rank: String::new() };
    Ok(Solution { x, summary, arithmetic: run.arithmetic, precision: None, details })
}

/// The engine and its model.
fn engine(functions: &mut Functions) -> Result<(&mut GpuEngine, &crate::model::Model)> {
    functions.on_device().ok_or_else(|| Error::internal("a solve on the device without functions there"))
}

impl SolverResources {
    /// What an earlier solve has left, or new. `None` if the deadline passes before its pipelines are there.
    async fn of(
        functions: &mut Functions,
        kept: &mut Option<SolverResources>,
        constrained: bool,
        elimination: Option<Elimination>,
        end: Deadline,
    ) -> Result<Option<SolverResources>> {
        let (engine, model) = engine(functions)?;
        let recordings_version = engine.recordings_version();
        let mut gauss_newton = match kept.take() {
            Some(mut resources) => {
                resources.gauss_newton.refresh(engine, model).await?;
                if (resources.recordings_version, resources.constrained) == (recordings_version, constrained)
                    && resources.elimination == elimination
                {
                    return Ok(Some(resources));
                }
                resources.gauss_newton
            }
            None => {
                let mut gauss_newton = DeviceModel::new(engine, model);
                gauss_newton.refresh(engine, model).await?;
                gauss_newton
            }
        };
        let recording = Recording::new(&gauss_newton.recorder(engine, model), constrained, elimination.as_ref())?;
        let mut buffers: VecMap<Place, Buffer> = VecMap::default();
        buffers.insert(Place::Point, engine.published().clone());
        let own = [
            Place::State,
            Place::Trial,
            Place::ProjectedStep,
            Place::Gradient,
            Place::Product,
            Place::Vectors,
            Place::Sums,
            Place::JvpSquares,
            Place::Bounds,
            Place::Uniforms,
        ];
        let wanted: Vec<Place> = own.into_iter().filter(|place| constrained || *place != Place::Bounds).list();
        let mut requests: Vec<BufferRequest> = wanted
            .iter()
            .map(|&place| {
                let (name, bytes) = (format!("{place:?}"), recording.bytes(place).max(16));
                match place {
                    Place::Uniforms => BufferRequest::uniform(name, bytes),
                    _ => BufferRequest::storage(name, bytes).zeroed(),
                }
            })
            .list();
        let context = engine.context().clone();
        let Some(pipelines) = pipelines(engine, &recording, end).await? else { return Ok(None) };
        let memory = |place: &Place| match place {
            Place::Functions(memory) => Some(*memory),
            _ => None,
        };
        let segments = [&recording.head, &recording.iteration, &recording.tail];
        let theirs: Vec<Memory> = segments.iter().flat_map(|segment| segment.places.iter().filter_map(memory)).list();
        let of_model = |place: &Place| match place {
            Place::Model(buffer) => Some(*buffer),
            _ => None,
        };
        let of_model: Vec<ModelBuffer> =
            segments.iter().flat_map(|segment| segment.places.iter().filter_map(of_model)).list();
        let (of_model, missing): (Vec<_>, Vec<_>) = gauss_newton.missing(&of_model).into_iter().unzip();
        requests.push_all(missing);
        let mut allocated = engine.allocate_for_solver(model, &theirs, requests).await?;
        for (buffer, allocated) in of_model.into_iter().zip(allocated.split_off(wanted.len())) {
            gauss_newton.take(engine, buffer, allocated).await?;
        }
        for (place, buffer) in wanted.into_iter().zip(allocated) {
            buffers.insert(place, buffer);
        }
        let of = |place: Place| -> Result<Buffer> {
            buffers.get(&place).cloned().ok_or_else(|| Error::internal("a buffer of a solve was not made"))
        };
        context.write(&of(Place::Uniforms)?, 0, bytemuck::cast_slice(&recording.uniforms))?;
        let mut prepared = Vec::new();
        for segment in segments {
            let mut of_segment = Vec::new();
            for &place in &segment.places {
                of_segment.push(match place {
                    Place::Functions(memory) => engine.buffer(model, memory).await?,
                    Place::Model(buffer) => gauss_newton.buffer(buffer)?,
                    place => of(place)?,
                });
            }
            let programs: Vec<Pipeline> =
                segment.programs.iter().filter_map(|program| pipelines.get(program)).cloned().list();
            prepared.push(context.prepare(&segment.list, &of_segment, &programs).await?);
        }
        let (Some(tail), Some(iteration), Some(head)) = (prepared.pop(), prepared.pop(), prepared.pop()) else {
            return Err(Error::internal("a solve has three segments"));
        };

        let mut list = CommandList::new();
        let (point, trial) =
            (list.buffer("point", recording.bytes(Place::Point)), list.buffer("trial", recording.bytes(Place::Trial)));
        list.copy(list.whole(point), trial, 0);
        let start = context.prepare(&list, &[of(Place::Point)?, of(Place::Trial)?], &[]).await?;
        let mut list = CommandList::new();
        let state = list.buffer("state", 4 * u64::from(WORDS));
        let state_download = list.download(list.whole(state));
        let state = of(Place::State)?;
        let read = context.prepare(&list, std::slice::from_ref(&state), &[]).await?;
        Ok(Some(SolverResources {
            gauss_newton,
            recordings_version,
            constrained,
            elimination,
            start,
            head,
            iteration,
            tail,
            read,
            state_download,
            limits: buffers.get(&Place::Bounds).cloned(),
            constraints_version: None,
            state,
            stride: recording.stride() as usize,
            untouched: None,
            schedule: None,
        }))
    }

    /// Products of a step that are no iterations of conjugate gradients.
    fn products_before(&self) -> u32 {
        self.elimination.is_some().into()
    }

    fn schedule_for(&mut self, options: &LevenbergMarquardtOptions) -> Schedule {
        let most_linear = options.max_linear_iterations.saturating_add(self.products_before());
        let runs_all = options.linear_tolerance == 0.0;
        match self.schedule.take() {
            Some(schedule) => schedule.again(most_linear, runs_all),
            None => Schedule::new(most_linear, runs_all),
        }
    }

    /// Brings the start onto its manifolds and within its bounds, and these to the device; says what was moved.
    async fn bring_in(&mut self, functions: &mut Functions) -> Result<String> {
        let version = Some(functions.constraints_version());
        // What a solve has left on the device is where it may be: only what was set since has to be brought there.
        if self.constraints_version == version
            && let Some(changes) = Changes::since_solve(functions, functions.arithmetic())?
        {
            for (first, numbers) in &changes.places {
                functions.engine().publish_at(*first, numbers)?;
            }
            return Ok(changes.preamble);
        }
        functions.bring_values().await?;
        let start = Start::of(functions, functions.arithmetic())?;
        functions.engine().publish(&start.point)?;
        if let Some(limits) = &self.limits {
            self.write_constraints(functions, &start, limits)?;
        }
        self.constraints_version = version;
        Ok(start.preamble)
    }

    /// Bounds and constants, as they are now.
    fn write_constraints(&self, functions: &mut Functions, start: &Start, limits: &Buffer) -> Result<()> {
        let (engine, _) = engine(functions)?;
        let parts = table_len(engine.layout().width, 1) as usize;
        let mut numbers = vec![0.0_f32; (2 * parts + 1) * self.stride];
        for i in 0..start.point.len() {
            for (bound, infinity) in [f64::NEG_INFINITY, f64::INFINITY].into_iter().enumerate() {
                let number = split(start.feasible.project(i, infinity));
                for (part, number) in number.into_iter().take(parts).enumerate() {
                    numbers[(bound * parts + part) * self.stride + i] = number;
                }
            }
            numbers[2 * parts * self.stride + i] = f32::from(u8::from(start.feasible.is_constant(i)));
        }
        engine.context().write(limits, 0, bytemuck::cast_slice(&numbers))
    }

    /// The blocks that no residual touches. Looking for them takes a while, so they are looked for once, unless constants may change.
    fn untouched(&mut self, functions: &Functions) -> Untouched {
        if self.constrained {
            return Untouched::of(functions.model(), functions.constant());
        }
        self.untouched.get_or_insert_with(|| Untouched::of(functions.model(), functions.constant())).clone()
    }

    /// Submits a batch.
    async fn submit(&self, functions: &mut Functions, batch: Batch, first: bool) -> Result<Submission> {
        let (engine, _) = engine(functions)?;
        let context = engine.context().clone();
        let mut pieces: Vec<&Prepared> = Vec::new();
        if first {
            pieces.push_all([&self.start, &self.head]);
        }
        for unit in 0..batch.units {
            if unit > 0 && unit % batch.at_a_time == 0 {
                context.submit_in_turn(&std::mem::take(&mut pieces))?.finish().await?;
            }
            pieces.push_all(std::iter::repeat_n(&self.iteration, batch.iterations as usize));
            pieces.push_all([&self.tail, &self.head]);
        }
        pieces.push(&self.read);
        context.submit_in_turn(&pieces)
    }
}

/// The pipelines of all segments, if they are there before the deadline.
async fn pipelines(
    engine: &mut GpuEngine,
    recording: &Recording,
    end: Deadline,
) -> Result<Option<VecMap<Program, Pipeline>>> {
    let mut programs: Vec<Program> = Vec::new();
    for segment in [&recording.head, &recording.iteration, &recording.tail] {
        for &program in &segment.programs {
            if !programs.contains(&program) {
                programs.push(program);
            }
        }
    }
    let of_functions = |program: &Program| match program {
        Program::Functions(program) => Some(*program),
        Program::Model(_) | Program::Own(_) | Program::Retract(..) => None,
    };
    let theirs: Vec<_> = programs.iter().filter_map(of_functions).list();
    let form = engine.pair_form().unwrap_or(PairForm::Split);
    let (mut own, mut requests) = (Vec::new(), Vec::new());
    for &program in &programs {
        if let Some((wgsl, entry, layout)) = recording.program(program, form)? {
            own.push(program);
            requests.push(PipelineRequest { wgsl, entry, layout });
        }
    }
    let mut found: VecMap<Program, Pipeline> = VecMap::default();
    let Some((of_functions, of_solver)) = engine.pipelines_with(&theirs, &requests, end).await? else {
        return Ok(None);
    };
    for (program, pipeline) in theirs.into_iter().zip(of_functions) {
        found.insert(Program::Functions(program), pipeline);
    }
    for (program, pipeline) in own.into_iter().zip(of_solver) {
        found.insert(program, pipeline);
    }
    Ok(Some(found))
}

/// A batch on its way.
struct Underway {
    submission: Submission,
    batch: Batch,
}

impl Run<'_> {
    /// Submits and reads until the end.
    async fn through(
        &mut self,
        functions: &mut Functions,
        resources: &SolverResources,
        schedule: &mut Schedule,
        listener: &mut dyn Listener,
    ) -> Result<Termination> {
        let options = self.options;
        let solve = &options.solve;
        // A solve that is stopped before it begins takes no step; its summary has the cost at the start.
        let stopped_before = self.stop(listener);
        let max_iterations = if stopped_before.is_some() { 0 } else { solve.max_iterations };
        let settings = Settings {
            max_iterations,
            max_linear_iterations: options.max_linear_iterations,
            linear_tolerance: options.linear_tolerance,
            tolerances: Tolerances {
                cost: solve.cost_tolerance,
                gradient: solve.gradient_tolerance,
                parameter: solve.parameter_tolerance,
            },
            initial_damping: options.initial_damping,
            arithmetic: self.arithmetic,
            residuals: functions.model().num_residuals,
            reduces: resources.elimination.is_some(),
        };
        {
            let (engine, _) = engine(functions)?;
            engine.context().write(&resources.state, 0, bytemuck::cast_slice(&settings.words()))?;
        }
        let mut underway: VecDeque<Underway> = VecDeque::new();
        let mut submitted = false;
        let mut stopped = None;
        let mut last_read = now_ms();
        loop {
            while stopped.is_none() && underway.len() < IN_FLIGHT {
                let steps_underway: u32 = underway.iter().map(|one| schedule.steps_of(one.batch)).sum();
                let known = self.history.last().map_or(0, |last| last.iteration);
                let done = known + steps_underway;
                let left = max_iterations.saturating_sub(done);
                if left == 0 && submitted && !underway.is_empty() {
                    break;
                }
                let batch = schedule.next(done, left);
                let submission = resources.submit(functions, batch, !submitted).await?;
                submitted = true;
                underway.push_back(Underway { submission, batch });
            }
            let Some(Underway { submission, batch }) = underway.pop_front() else { break };
            let downloads = submission.finish().await?;
            let now = now_ms();
            let state = State::new(downloads.words(resources.state_download));
            let mut longest = 0;
            for number in self.history.len() as u32..state.recorded() {
                let iteration = state.record(number, now - self.began);
                if state.failed_at_start() {
                    return Ok(Termination::NonFinite);
                }
                let linear = iteration.linear_iterations.map(|linear| linear + resources.products_before());
                longest = longest.max(linear.unwrap_or(0));
                self.history.push(iteration);
                (self.cosine, self.relative_step) = (state.cosine(), state.relative_step());
                if listener.iteration(&iteration) {
                    stopped.get_or_insert(Termination::Aborted);
                }
            }
            schedule.observe(batch, now - last_read, longest);
            last_read = now;
            if let Some(termination) = state.termination() {
                return Ok(match termination {
                    Termination::MaxIterations => stopped_before.unwrap_or(termination),
                    _ => termination,
                });
            }
            stopped = stopped.or_else(|| self.stop(listener));
        }
        stopped.ok_or_else(|| Error::internal("a solve on the device has neither ended nor been stopped"))
    }

    /// Why the solve is to stop now, if it is: its caller wants so, or its time is over.
    fn stop(&self, listener: &mut dyn Listener) -> Option<Termination> {
        if listener.aborted() {
            return Some(Termination::Aborted);
        }
        (now_ms() - self.began >= self.options.solve.max_time_ms).then_some(Termination::MaxTime)
    }

    fn summary(&self, termination: Termination, preamble: &str) -> SolveSummary {
        let cost = self.history.last().map_or(f64::NAN, |last| last.cost);
        let message = self.history.last().map_or_else(String::new, |last| {
            let Run { options, arithmetic, cosine, relative_step, .. } = *self;
            Ending { options: &options.solve, arithmetic, last, cosine, relative_step }.message(termination)
        });
        let accepted = self.history.iter().skip(1).filter(|iteration| iteration.accepted).count() as u32;
        let iterations = self.history.len().saturating_sub(1) as u32;
        SolveSummary {
            termination,
            message: format!("{preamble}{message}."),
            iterations,
            // The model at the start and after each step taken, and the cost of each trial.
            function_evaluations: 1 + accepted + iterations,
            initial_cost: self.history.first().map_or(f64::NAN, |first| first.cost),
            final_cost: cost,
            elapsed_ms: now_ms() - self.began,
            history: self.history.clone(),
        }
    }
}
