//! The device resources of L-BFGS: buffers, and command lists bound to them. Later solves of the same shape use them again.

use super::record::{self, LbfgsBuffer, LbfgsProgram, Recording, Shape};
use super::state::initial;
use crate::eval::Objective;
use crate::eval::gpu::GpuEngine;
use crate::eval::layout::Memory;
use crate::eval::pairs::to_f32;
use crate::model::Model;
use crate::solve::manifold_map::ManifoldMap;
use crate::solve::options::LbfgsOptions;
use crate::solve::start::Start;
use residua_base::deadline::Deadline;
use residua_base::error::{Error, Result};
use residua_base::list::{Listed, PushAll};
use residua_gpu::{Buffer, BufferRequest, CommandList, DownloadId, PreparedList, Submission};

/// Buffers and bound command lists for runs of one shape and objective.
pub struct SolverResources {
    /// [`GpuEngine::recordings_version`] when the lists were recorded.
    recordings_version: u64,
    shape: Shape,
    objective: Objective,
    buffers: Vec<(LbfgsBuffer, Buffer)>,
    begin: PreparedList,
    round: PreparedList,
    read: PreparedList,
    state: DownloadId,
    uniforms: Vec<u32>,
}

impl SolverResources {
    /// Resources for an objective of a model. `None` if the deadline passes before their pipelines are there.
    ///
    /// # Errors
    /// `out-of-memory` where the buffers do not fit; what compiling pipelines fails with.
    pub async fn new(
        engine: &mut GpuEngine,
        model: &Model,
        shape: Shape,
        objective: Objective,
        end: Deadline,
    ) -> Result<Option<SolverResources>> {
        let recording = record::record(&engine.descent(model, objective), shape)?;
        let own = [
            LbfgsBuffer::State,
            LbfgsBuffer::Vectors,
            LbfgsBuffer::Bounds,
            LbfgsBuffer::History,
            LbfgsBuffer::Partials,
            LbfgsBuffer::Uniforms,
        ];
        let requests: Vec<BufferRequest> = own
            .iter()
            .map(|&kind| {
                let (name, bytes) = (format!("L-BFGS: {kind:?}"), shape.bytes(kind).max(16));
                match kind {
                    LbfgsBuffer::Uniforms => BufferRequest::uniform(name, bytes),
                    _ => BufferRequest::storage(name, bytes),
                }
            })
            .list();
        let Recording { begin, round, read, state, uniforms } = recording;
        let segments = [&begin, &round, &read];
        let of_functions: Vec<Memory> = segments.into_iter().flat_map(|segment| segment.of_functions()).list();
        let allocated = engine.allocate_for_solver(model, &of_functions, requests).await?;
        let mut buffers: Vec<(LbfgsBuffer, Buffer)> = own.into_iter().zip(allocated).list();
        buffers.push((LbfgsBuffer::Point, engine.published().clone()));
        let request = |program: LbfgsProgram| program.request(shape);
        let Some(pipelines) = engine.pipelines_of(&segments, request, end).await? else { return Ok(None) };
        let [begin, round, read] = {
            let of = |kind| find(&buffers, kind).cloned();
            [
                engine.bind_segment(model, &begin, of, &pipelines).await?,
                engine.bind_segment(model, &round, of, &pipelines).await?,
                engine.bind_segment(model, &read, of, &pipelines).await?,
            ]
        };
        let recordings_version = engine.recordings_version();
        Ok(Some(SolverResources { recordings_version, shape, objective, buffers, begin, round, read, state, uniforms }))
    }

    /// Whether the resources are for runs of this shape and objective on the present recordings.
    pub fn fit(&self, engine: &GpuEngine, shape: Shape, objective: Objective) -> bool {
        (self.recordings_version, self.shape, self.objective) == (engine.recordings_version(), shape, objective)
    }

    /// Writes the start, the initial state, uniforms and bounds.
    pub fn upload(
        &self,
        engine: &GpuEngine,
        start: &Start,
        manifolds: Option<&ManifoldMap>,
        options: &LbfgsOptions,
    ) -> Result<()> {
        let Start { point, feasible, .. } = start;
        let context = engine.context();
        let write = |kind, numbers: &[f32]| context.write(self.buffer(kind)?, 0, bytemuck::cast_slice(numbers));
        write(LbfgsBuffer::Point, &to_f32(point.iter()))?;
        write(LbfgsBuffer::State, &initial(options, engine.arithmetic(), self.shape.places()))?;
        context.write(self.buffer(LbfgsBuffer::Uniforms)?, 0, bytemuck::cast_slice(&self.uniforms))?;
        if self.shape.constrained || manifolds.is_some() {
            // No bound is the largest number, and a lower bound above the upper one marks a constant.
            let finite = |bound: f64| (bound as f32).clamp(-f32::MAX, f32::MAX);
            let mut bounds = Vec::new();
            for i in 0..point.len() {
                let (lower, upper) = feasible.bounds_of(i);
                bounds.push_all(if feasible.is_constant(i) { [1.0, -1.0] } else { [finite(lower), finite(upper)] });
            }
            if let Some(manifolds) = manifolds {
                for i in 0..point.len() {
                    bounds.extend_from_slice(&[if manifolds.contains(i) { 1.0 } else { 0.0 }, 0.0]);
                }
            }
            write(LbfgsBuffer::Bounds, &bounds)?;
        }
        Ok(())
    }

    /// Submits a batch of so many rounds, and the read-back of the state after it.
    pub fn submit(&self, engine: &GpuEngine, rounds: u32) -> Result<Submission> {
        let mut lists = vec![&self.begin];
        lists.push_all(std::iter::repeat_n(&self.round, rounds as usize));
        lists.push(&self.read);
        engine.context().submit_in_turn(&lists)
    }

    /// The state block after a batch.
    pub async fn finish(&self, submission: Submission) -> Result<Vec<f32>> {
        Ok(submission.finish().await?.reals(self.state).to_vec())
    }

    /// Copies the lowest point to the point that the application sees.
    pub async fn restore_lowest(&self, engine: &GpuEngine) -> Result<()> {
        let mut list = CommandList::new();
        let [vectors, point] =
            [LbfgsBuffer::Vectors, LbfgsBuffer::Point].map(|kind| list.buffer("", self.shape.bytes(kind)));
        let from = list.whole(vectors).part(self.shape.lowest(), self.shape.bytes(LbfgsBuffer::Point));
        list.copy(from, point, 0);
        let buffers = [self.buffer(LbfgsBuffer::Vectors)?.clone(), self.buffer(LbfgsBuffer::Point)?.clone()];
        engine.context().prepare(&list, &buffers, &[]).await?.run(&[]).await?;
        Ok(())
    }

    fn buffer(&self, kind: LbfgsBuffer) -> Result<&Buffer> {
        find(&self.buffers, kind)
    }
}

fn find(buffers: &[(LbfgsBuffer, Buffer)], kind: LbfgsBuffer) -> Result<&Buffer> {
    let found = buffers.iter().find(|(known, _)| *known == kind);
    found.map(|(_, buffer)| buffer).ok_or_else(|| Error::internal("a buffer of L-BFGS is missing"))
}
