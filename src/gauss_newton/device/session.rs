//! The Gauss-Newton model of compiled functions on a device, with what it keeps there from one solve to the next.

use residua_base::cooperative::Slices;
use residua_base::error::{Error, Result};
use residua_base::list::Listed;
use residua_gpu::{Buffer, BufferRequest};
use vecmap::VecMap;

use super::blocks::numbers_of_blocks;
use super::buffers::ModelBuffer;
use super::fused_lists::{FusedLists, Tables, is_wanted};
use super::layout::ModelLayout;
use super::model::{ENTRIES, ModelRecorder};
use crate::eval::access_plan_cache::AccessPlanCache;
use crate::eval::gpu::GpuEngine;
use crate::eval::layout::Content;
use crate::eval::record::Kernels;
use crate::model::Model;
use crate::model::access_plan::Entry;
use crate::model::incidence::fused::fused_incidence;

/// The model: where it lies, and its buffers. A solver's session owns it; it is always used with the same engine and problem.
pub struct DeviceModel {
    layout: ModelLayout,
    buffers: VecMap<ModelBuffer, Buffer>,
    /// [`GpuEngine::recordings_version`] of which the lists and uniforms are.
    version: Option<u64>,
}

impl DeviceModel {
    /// The model of a problem that an engine evaluates.
    pub fn new(engine: &GpuEngine, model: &Model) -> DeviceModel {
        let layout = ModelLayout::new(model, engine.layout());
        DeviceModel { layout, buffers: VecMap::default(), version: None }
    }

    /// Makes ready for recordings: kernels are planned, tables and weights are on the device as the problem has them, and lists and uniforms
    /// are those of the blocks that take part.
    pub async fn refresh(&mut self, engine: &mut GpuEngine, model: &Model) -> Result<()> {
        engine.refresh(model, &ENTRIES).await?;
        let version = Some(engine.recordings_version());
        if self.version == version {
            return Ok(());
        }
        let (plans, evaluation) = (engine.access_plans(), engine.layout());
        let kernel = |batch: usize| Some((plans.number(batch), &plans.plan(batch, Entry::Product).ok()?.kernel));
        match &mut self.layout.fused {
            Some(fused) => {
                fused.refresh(model, Tables { evaluation, local: &self.layout.local }, &kernel);
                let words =
                    [(ModelBuffer::FusedLists, fused.lists()[0]), (ModelBuffer::FusedUniforms, fused.uniforms())];
                for (buffer, words) in words {
                    if let Some(buffer) = self.buffers.get(&buffer) {
                        engine.context().write(buffer, 0, bytemuck::cast_slice(words))?;
                    }
                }
            }
            None if is_wanted(model, evaluation, &self.layout.local) => {
                let chunks: Vec<_> = evaluation.chunks.iter().map(|chunk| (chunk.batch, chunk.range.clone())).list();
                let numbers = numbers_of_blocks(model);
                let slices = Slices::without_progress();
                if let Some(lists) = fused_incidence(model, &chunks, &numbers, &slices).await? {
                    let tables = Tables { evaluation, local: &self.layout.local };
                    self.layout.fused = FusedLists::new(model, tables, self.layout.scale, lists, &kernel);
                }
            }
            None => {}
        }
        // Kernels of blocks that take no part leave their partial sums as they were.
        for sums in [ModelBuffer::CostSums, ModelBuffer::ProductSums] {
            if let Some(buffer) = self.buffers.get(&sums) {
                engine.context().write(buffer, 0, &vec![0; self.layout.bytes(sums) as usize])?;
            }
        }
        self.version = version;
        Ok(())
    }

    /// Where it lies.
    pub fn layout(&self) -> &ModelLayout {
        &self.layout
    }

    /// What records the model, once it is refreshed.
    pub fn recorder<'a>(&'a self, engine: &'a GpuEngine, model: &'a Model) -> ModelRecorder<'a, AccessPlanCache> {
        let (kernels, limits) = (engine.access_plans(), engine.context().limits());
        ModelRecorder { model, evaluation: engine.layout(), layout: &self.layout, kernels, limits }
    }

    /// Those of these buffers that are not there yet, each once, with what to allocate for it.
    pub fn missing(&self, buffers: &[ModelBuffer]) -> Vec<(ModelBuffer, BufferRequest)> {
        let mut missing: Vec<(ModelBuffer, BufferRequest)> = Vec::new();
        for &buffer in buffers {
            if self.buffers.contains_key(&buffer) || missing.iter().any(|(known, _)| *known == buffer) {
                continue;
            }
            let (name, bytes) = (buffer.name(), self.layout.bytes(buffer).max(16));
            let request = match buffer {
                ModelBuffer::Uniforms | ModelBuffer::FusedUniforms => BufferRequest::uniform(name, bytes),
                _ => BufferRequest::storage(name, bytes).zeroed(),
            };
            missing.push((buffer, request));
        }
        missing
    }

    /// Takes a buffer that was missing, and writes what stands in it from the start.
    pub async fn take(&mut self, engine: &GpuEngine, buffer: ModelBuffer, allocated: Buffer) -> Result<()> {
        if let Some(parts) = self.layout.content(buffer) {
            engine.write_content(&allocated, &Content::Words(parts)).await?;
        }
        if let (ModelBuffer::FusedLists, Some(fused)) = (buffer, &mut self.layout.fused) {
            fused.forget_tables();
        }
        self.buffers.insert(buffer, allocated);
        Ok(())
    }

    /// A buffer that was taken.
    pub fn buffer(&self, buffer: ModelBuffer) -> Result<Buffer> {
        let absent = || Error::internal("a buffer of the Gauss-Newton model was not made");
        self.buffers.get(&buffer).cloned().ok_or_else(absent)
    }
}
