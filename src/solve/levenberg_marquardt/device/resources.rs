//! What a solve on the device makes and the next one finds: recordings, pipelines and buffers.

use residua_base::list::{Listed, PushAll};
use residua_base::sort::ascending;

use super::elimination::Elimination;
use super::record::{Recording, SolverBuffer};
use super::schedule::{Batch, Schedule};
use super::shape::Group;
use super::state::WORDS;
use crate::eval::Functions;
use crate::eval::declare::Owned;
use crate::eval::gpu::GpuEngine;
use crate::eval::layout::Memory;
use crate::eval::pairs::{split, table_len};
use crate::gauss_newton::device::{DeviceModel, ModelBuffer};
use crate::model::Model;
use crate::solve::findings::Finding;
use crate::solve::options::LevenbergMarquardtOptions;
use crate::solve::precision::MOST_SHIFTED;
use crate::solve::start::{Changes, Start};
use residua_base::deadline::Deadline;
use residua_base::error::{Error, Result};
use residua_codegen::wgsl::PairForm;
use residua_gpu::{Buffer, BufferRequest, CommandList, DownloadId, PreparedList, Submission};
use vecmap::VecMap;

/// Suspects that a check looks at.
const MOST_SUSPECTS: usize = 256;

/// What a solve makes on the device and the next one finds there.
pub struct SolverResources {
    /// The Gauss-Newton model, which outlives recordings.
    gauss_newton: DeviceModel,
    /// [`GpuEngine::recordings_version`] when they were recorded.
    recordings_version: u64,
    constrained: bool,
    /// What is eliminated by a Schur complement.
    pub(super) elimination: Option<Elimination>,
    /// The trial point set to the point.
    start: PreparedList,
    head: PreparedList,
    iteration: PreparedList,
    tail: PreparedList,
    /// Reads the state.
    read: PreparedList,
    pub(super) state_download: DownloadId,
    /// Where constants and bounds are written, and which of [`Functions::constraints_version`] have been.
    limits: Option<Buffer>,
    constraints_version: Option<u64>,
    pub(super) state: Buffer,
    stride: usize,
    /// Blocks whose columns stand in the block diagonal.
    groups: Vec<Group>,
    /// Whether columns of J̃ were 0 where the last solve has ended.
    pub(super) has_vanished: bool,
    /// That of the last solve.
    pub(super) schedule: Option<Schedule>,
}

/// The engine and its model.
pub(super) fn engine(functions: &mut Functions) -> Result<(&mut GpuEngine, &Model)> {
    functions.on_device().ok_or_else(|| Error::internal("a solve on the device without functions there"))
}

impl SolverResources {
    /// What an earlier solve has left, or new. `None` if the deadline passes before its pipelines are there.
    pub(super) async fn of(
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
        let mut buffers: VecMap<SolverBuffer, Buffer> = VecMap::default();
        buffers.insert(SolverBuffer::Point, engine.published().clone());
        let own = [
            SolverBuffer::State,
            SolverBuffer::Trial,
            SolverBuffer::ProjectedStep,
            SolverBuffer::Gradient,
            SolverBuffer::Product,
            SolverBuffer::Vectors,
            SolverBuffer::Sums,
            SolverBuffer::JvpSquares,
            SolverBuffer::Bounds,
            SolverBuffer::Uniforms,
        ];
        let wanted: Vec<SolverBuffer> =
            own.into_iter().filter(|place| constrained || *place != SolverBuffer::Bounds).list();
        let mut requests: Vec<BufferRequest> = wanted
            .iter()
            .map(|&place| {
                let (name, bytes) = (format!("{place:?}"), recording.bytes(place).max(16));
                match place {
                    SolverBuffer::Uniforms => BufferRequest::uniform(name, bytes),
                    _ => BufferRequest::storage(name, bytes).zeroed(),
                }
            })
            .list();
        let context = engine.context().clone();
        let segments = [&recording.head, &recording.iteration, &recording.tail];
        let form = engine.pair_form().unwrap_or(PairForm::Split);
        let request = |program| recording.request(program, form);
        let Some(pipelines) = engine.pipelines_of(&segments, request, end).await? else { return Ok(None) };
        let theirs: Vec<Memory> = segments.into_iter().flat_map(|segment| segment.of_functions()).list();
        let of_model = |place: &Owned<Memory, SolverBuffer>| match place {
            Owned::Solver(SolverBuffer::Model(buffer)) => Some(*buffer),
            _ => None,
        };
        let of_model: Vec<ModelBuffer> =
            segments.iter().flat_map(|segment| segment.buffers.keys().filter_map(of_model)).list();
        let (of_model, missing): (Vec<_>, Vec<_>) = gauss_newton.missing(&of_model).into_iter().unzip();
        requests.push_all(missing);
        let mut allocated = engine.allocate_for_solver(model, &theirs, requests).await?;
        for (buffer, allocated) in of_model.into_iter().zip(allocated.split_off(wanted.len())) {
            gauss_newton.take(engine, buffer, allocated).await?;
        }
        for (place, buffer) in wanted.into_iter().zip(allocated) {
            buffers.insert(place, buffer);
        }
        let of = |place: SolverBuffer| -> Result<Buffer> {
            buffers.get(&place).cloned().ok_or_else(|| Error::internal("a buffer of a solve was not made"))
        };
        context.write(&of(SolverBuffer::Uniforms)?, 0, bytemuck::cast_slice(&recording.uniforms))?;
        let own = |place: SolverBuffer| match place {
            SolverBuffer::Model(buffer) => gauss_newton.buffer(buffer),
            place => of(place),
        };
        let head = engine.bind_segment(model, &recording.head, own, &pipelines).await?;
        let iteration = engine.bind_segment(model, &recording.iteration, own, &pipelines).await?;
        let tail = engine.bind_segment(model, &recording.tail, own, &pipelines).await?;

        let mut list = CommandList::new();
        let (point, trial) = (
            list.buffer("point", recording.bytes(SolverBuffer::Point)),
            list.buffer("trial", recording.bytes(SolverBuffer::Trial)),
        );
        list.copy(list.whole(point), trial, 0);
        let start = context.prepare(&list, &[of(SolverBuffer::Point)?, of(SolverBuffer::Trial)?], &[]).await?;
        let mut list = CommandList::new();
        let state = list.buffer("state", 4 * u64::from(WORDS));
        let state_download = list.download(list.whole(state));
        let state = of(SolverBuffer::State)?;
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
            limits: buffers.get(&SolverBuffer::Bounds).cloned(),
            constraints_version: None,
            state,
            stride: recording.stride() as usize,
            groups: recording.shape.groups,
            has_vanished: false,
            schedule: None,
        }))
    }

    /// Where more than [`MOST_SHIFTED`] parameters are free, those whose columns of J̃ were 0 where the last solve has ended, ascending: of so many first
    /// those of residuals that are not 0.
    pub async fn suspects(&self, functions: &mut Functions, residuals: &[f64]) -> Result<Vec<u32>> {
        let free = functions.constant().iter().filter(|constant| !**constant).count();
        if !self.has_vanished || free <= MOST_SHIFTED {
            return Ok(Vec::new());
        }
        let (engine, model) = engine(functions)?;
        let buffer = self.gauss_newton.buffer(ModelBuffer::BlockDiagonal)?;
        let (results, diagonal) = engine.context().read(&buffer, buffer.size()).await?;
        let diagonal = results.reals(diagonal);
        let scale = self.gauss_newton.layout().scale;
        // 1 where the column is 0, 2 of those that are an input of a residual, 3 if it is not 0.
        let mut marks = vec![0_u8; model.num_params as usize];
        for &Group { shape, first, blocks, .. } in &self.groups {
            for first in (0..blocks).map(|block| first + block * shape.dim) {
                for k in 0..shape.tangent {
                    // Those of constants, and at bounds, are negative.
                    if (0.0..f32::MIN_POSITIVE).contains(&diagonal[(scale * first + k * (k + 3) / 2) as usize]) {
                        // Tangent coordinates are no numbers of the block.
                        let numbers = if shape.tangent == shape.dim { k..k + 1 } else { 0..shape.dim };
                        marks[(first + numbers.start) as usize..(first + numbers.end) as usize].fill(1);
                    }
                }
            }
        }
        for batch in &model.batches {
            let block = &model.blocks[batch.block as usize];
            if !block.enabled || batch.has_addends() {
                continue;
            }
            for instance in 0..batch.count as usize {
                let mut outputs = residuals.iter().skip(batch.row(instance) as usize).take(batch.class.outputs.len());
                let mark = 2 + u8::from(block.weight != 0.0 && outputs.any(|residual| *residual != 0.0));
                for local in &batch.class.locals {
                    let own = &mut marks[(batch.column(local.column)[instance] + local.component) as usize];
                    if *own != 0 {
                        *own = mark.max(*own);
                    }
                }
            }
        }
        let marks = &marks;
        let with = |mark: u8| (0..model.num_params).filter(move |&k| marks[k as usize] == mark);
        let mut suspects = with(3).chain(with(2)).take(MOST_SUSPECTS).list();
        ascending(&mut suspects);
        Ok(suspects)
    }

    /// Products of a step that are no iterations of conjugate gradients.
    pub(super) fn products_before(&self) -> u32 {
        self.elimination.is_some().into()
    }

    pub(super) fn schedule_for(&mut self, options: &LevenbergMarquardtOptions) -> Schedule {
        let most_linear = options.max_linear_iterations.saturating_add(self.products_before());
        let runs_all = options.linear_tolerance == 0.0;
        match self.schedule.take() {
            Some(schedule) => schedule.again(most_linear, runs_all),
            None => Schedule::new(most_linear, runs_all),
        }
    }

    /// Brings the start onto its manifolds and within its bounds, and these to the device; says what was moved.
    pub(super) async fn bring_in(&mut self, functions: &mut Functions) -> Result<Vec<Finding>> {
        let version = Some(functions.constraints_version());
        // What a solve has left on the device is where it may be: only what was set since has to be brought there.
        if self.constraints_version == version
            && let Some(changes) = Changes::since_solve(functions, functions.arithmetic())?
        {
            for (first, numbers) in &changes.places {
                functions.engine().publish_at(*first, numbers)?;
            }
            return Ok(changes.corrections);
        }
        functions.bring_values().await?;
        let start = Start::of(functions, functions.arithmetic())?;
        functions.engine().publish(&start.point)?;
        if let Some(limits) = &self.limits {
            self.write_constraints(functions, &start, limits)?;
        }
        self.constraints_version = version;
        Ok(start.corrections)
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

    /// Submits a batch.
    pub(super) async fn submit(&self, functions: &mut Functions, batch: Batch, first: bool) -> Result<Submission> {
        let (engine, _) = engine(functions)?;
        let context = engine.context().clone();
        let mut pieces: Vec<&PreparedList> = Vec::new();
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
