//! The host's part of a run on the device: it submits rounds in batches, and reads the state of each batch while the next one runs.

use std::collections::VecDeque;

use super::pending_report::PendingReport;
use super::record::{LbfgsBuffer, Shape};
use super::resources::SolverResources;
use super::schedule::Schedule;
use crate::eval::gpu::GpuEngine;
use crate::eval::{Functions, Objective};
use crate::model::Batch;
use crate::solve::before_start;
use crate::solve::listener::Listener;
use crate::solve::manifold_map::{ManifoldMap, arrays_on_manifolds};
use crate::solve::options::LbfgsOptions;
use crate::solve::start::Start;
use crate::solve::summary::SolveSummary;
use residua_base::clock::now_ms;
use residua_base::deadline::Deadline;
use residua_base::error::{Error, ErrorCode, Result};
use residua_codegen::Width;
use residua_gpu::Submission;

/// The recursion has one thread for each vector of the history.
const MOST_PAIRS: u32 = 128;

/// Batches in flight at most: one runs while the previous one is read.
const IN_FLIGHT: usize = 2;

/// A run on the device.
pub struct Run<'a> {
    shape: Shape,
    start: &'a Start,
    manifolds: Option<&'a ManifoldMap>,
    options: &'a LbfgsOptions,
    began: f64,
}

impl<'a> Run<'a> {
    /// A run from `start`, with some blocks on `manifolds`; `began`: a time of [`now_ms`]. `None` where the device does not take the problem:
    /// the cost of long sums needs the host, so does a history that is too long, and so do points in pairs, which the kernels of a run have not.
    pub fn new(
        functions: &mut Functions,
        start: &'a Start,
        manifolds: Option<&'a ManifoldMap>,
        options: &'a LbfgsOptions,
        began: f64,
    ) -> Option<Run<'a>> {
        let (engine, model) = functions.on_device()?;
        let is_wide = engine.layout().width == Width::Pair;
        let needs_host =
            is_wide || options.objective == Objective::LeastSquares && model.batches.iter().any(Batch::has_addends);
        let shape = Shape {
            count: model.num_params,
            capacity: options.history_size.min(options.solve.max_iterations.max(1)),
            constrained: start.feasible.is_constrained(),
            manifold_arrays: arrays_on_manifolds(&model.arrays).count() as u32,
        };
        let limits = engine.context().limits();
        let most = limits.max_storage_buffer_binding_size.min(limits.max_buffer_size);
        let buffers = [LbfgsBuffer::Vectors, LbfgsBuffer::Bounds, LbfgsBuffer::History];
        let fits = shape.capacity <= MOST_PAIRS && buffers.into_iter().all(|kind| shape.bytes(kind) <= most);
        (fits && !needs_host).then_some(Run { shape, start, manifolds, options, began })
    }

    /// Minimises the objective, and leaves the solution in the buffer that the application sees. `kept`: the resources of the last run, and
    /// then of this one. `None` where the device has no memory for the resources.
    ///
    /// # Errors
    /// What the device fails with.
    pub async fn minimise(
        &self,
        functions: &mut Functions,
        kept: &mut Option<SolverResources>,
        listener: &mut dyn Listener,
    ) -> Result<Option<SolveSummary>> {
        let Run { shape, start, manifolds, options, began } = *self;
        let (engine, model) =
            functions.on_device().ok_or_else(|| Error::internal("a run on the device without functions there"))?;
        engine.refresh_objective(model, options.objective).await?;
        let end = Deadline::after(began, options.solve.max_time_ms);
        let resources = match kept.take().filter(|resources| resources.fit(engine, shape, options.objective)) {
            Some(resources) => Ok(Some(resources)),
            None => SolverResources::new(engine, model, shape, options.objective, end).await,
        };
        let resources = match resources {
            Err(error) if error.code == ErrorCode::OutOfMemory => return Ok(None),
            other => other?,
        };
        let Some(resources) = resources else {
            engine.publish_at(0, &start.point)?;
            return Ok(Some(before_start::summary(&options.solve, start.corrections.clone(), listener, began)));
        };
        resources.upload(engine, start, manifolds, options)?;
        let mut report = PendingReport::new(options, engine.arithmetic(), &start.corrections, began);
        run_batches(engine, &resources, options.solve.max_iterations, &mut report, listener).await?;
        if report.ends_at_lowest() {
            resources.restore_lowest(engine).await?;
        }
        *kept = Some(resources);
        Ok(Some(report.summary()))
    }
}

/// A batch in flight.
struct InFlight {
    submission: Submission,
    rounds: u32,
    submitted_at: f64,
}

/// Submits batches and reads them until the run is over.
async fn run_batches(
    engine: &GpuEngine,
    resources: &SolverResources,
    max_iterations: u32,
    report: &mut PendingReport<'_>,
    listener: &mut dyn Listener,
) -> Result<()> {
    let mut schedule = Schedule::default();
    let mut in_flight: VecDeque<InFlight> = VecDeque::new();
    let (mut submitted, mut last_done) = (0_u32, 0.0_f64);
    loop {
        report.check_limits(listener);
        // The start takes one round, and about one iteration in four takes a second one. Once that many rounds are submitted, the next
        // batch waits until all others are read.
        let left = max_iterations.saturating_add(max_iterations / 4 + 1).saturating_sub(submitted);
        // The cost at the start is part of every summary, even of a run that is stopped before it begins.
        let first = !report.has_start() && in_flight.is_empty() && submitted == 0;
        let wanted = first || !report.is_over() && (left > 0 || in_flight.is_empty());
        if wanted && in_flight.len() < IN_FLIGHT {
            // One round is the start alone.
            let rounds = if report.is_over() { 1 } else { schedule.next(left) };
            let submission = resources.submit(engine, rounds)?;
            in_flight.push_back(InFlight { submission, rounds, submitted_at: now_ms() });
            submitted = submitted.saturating_add(rounds);
            if in_flight.len() < IN_FLIGHT {
                continue;
            }
        }
        let Some(InFlight { submission, rounds, submitted_at }) = in_flight.pop_front() else { return Ok(()) };
        let state = resources.finish(submission).await?;
        let now = now_ms();
        schedule.observe(rounds, now - submitted_at.max(last_done));
        last_done = now;
        report.read(&state, listener);
    }
}
