//! The calls of the GPU engine: each a recording, made and bound once, and run at every call.

use residua_base::list::{Listed, PushAll};
use std::pin::pin;

use crate::model::access_plan::Entry;
use crate::model::pattern::Pattern;
use crate::model::{Model, Rows};
use residua_base::cooperative::{Slices, join};
use residua_base::error::{Error, Result};
use residua_codegen::Width;
use residua_gpu::{Binding, Buffer, DownloadId, Pipeline, PreparedList, Submission};

use super::super::cpu::{Give, Part, Partials};
use super::super::layout::Content;
use super::super::pairs::{from_table, from_vector, table_len, to_vector, vector_len};
use super::super::record::{Kernels, Recording, record_partials, record_values};
use super::super::record_gradient::{GradientCall, Point, record_gradient};
use super::super::{Evaluation, Objective};
use super::call::RecordedCall;
use super::pair_check::PairCheck;
use super::{GpuEngine, MOST_OPERATIONS};

/// A call on its way.
pub(super) struct Launched {
    pub(super) submission: Submission,
    /// The application's data on its way into our tables.
    pub(super) spreads: Vec<Submission>,
    pub(super) downloads: Vec<DownloadId>,
}

impl GpuEngine {
    /// Makes everything that calls of the common kinds need, so that the first one does not wait for it, and publishes the parameters.
    /// `progress` is called with the number of pipelines that are ready and the number of all. Tables are uploaded while the browser compiles.
    /// Kernels in pairs are then checked, see [`PairCheck`].
    ///
    /// # Errors
    /// Those of the device and of the listener; `gpu-unavailable` where the device does not compute pairs.
    pub async fn prepare(
        &mut self,
        model: &Model,
        x: &[f64],
        slices: &Slices<'_>,
        progress: &mut dyn FnMut(usize, usize) -> Result<()>,
    ) -> Result<()> {
        let calls = [Objective::Sum, Objective::LeastSquares].map(|objective| {
            RecordedCall::Gradient(GradientCall {
                objective,
                seeded: false,
                at: Point::Current,
                stays: false,
                fixed: false,
            })
        });
        // How far it is, the pipelines tell.
        slices.set_part(0.0, 0.0);
        self.access_plans.make_in_slices(model, &[Entry::SumGradient, Entry::Values], slices).await?;
        let mut recordings = Vec::new();
        let (mut programs, mut memory) = (Vec::new(), Vec::new());
        // The longest first: texts are read one after the other, and compiled at the same time.
        for call in [calls[1], calls[0], RecordedCall::Values] {
            let recording = self.record(model, call)?;
            programs.push_all(recording.programs.iter().copied());
            memory.push_all(recording.memory.iter().copied());
            recordings.push((call, recording));
        }
        let (wanted, mut requests) = self.pipeline_requests(&programs, slices).await?;
        let context = self.context.clone();
        let mut check = match self.layout.width {
            Width::Single => None,
            Width::Pair => Some(PairCheck::new(context.clone(), model, x).await?),
        };
        if let Some(check) = &mut check {
            requests.push_all(check.requests().await?);
        }
        let (compiled, uploaded) = {
            let compiling = pin!(context.pipelines(&requests, progress));
            let uploading = pin!(async {
                self.allocate(model, &memory, slices).await?;
                match self.layout.width {
                    Width::Single => self.write_in_slices(&self.published, &Content::Numbers(vec![x]), slices).await,
                    Width::Pair => self.publish_at(0, x),
                }
            });
            join(compiling, uploading).await
        };
        uploaded?;
        self.enter_pipelines(wanted, compiled?);
        let mut bound = Vec::new();
        for (call, recording) in recordings {
            let (prepared, binding) = self.bind(&recording)?;
            bound.push((binding, call, (recording, prepared)));
        }
        for (binding, call, prepared) in bound {
            self.context.bound(binding).await?;
            self.prepared.insert(call, prepared);
        }
        match check {
            Some(check) => check.run(model).await,
            None => Ok(()),
        }
    }

    pub(in crate::eval) async fn values(&mut self, model: &Model, x: &[f64]) -> Result<Vec<f64>> {
        let downloads = self.run(model, RecordedCall::Values, Some(x), None).await?;
        self.assemble_values(model, &downloads)
    }

    pub(in crate::eval) async fn gradient(
        &mut self,
        model: &Model,
        objective: Objective,
        x: &[f64],
        seeds: Option<&[f64]>,
    ) -> Result<Evaluation> {
        let seeded = seeds.is_some();
        let call =
            RecordedCall::Gradient(GradientCall { objective, seeded, at: Point::Brought, stays: false, fixed: false });
        let mut downloads = self.run(model, call, Some(x), seeds).await?;
        let gradient = downloads.pop().ok_or_else(|| Error::internal("a gradient did not come back"))?;
        let cost = downloads.iter().flatten().copied().map(f64::from).sum();
        Ok(Evaluation { cost, gradient: self.vector(&gradient) })
    }

    pub(in crate::eval) fn partial_columns(&mut self, model: &Model) -> Result<Vec<Vec<(u32, u32)>>> {
        (0..model.batches.len())
            .map(|batch| Ok(self.access_plans.plan(batch, Entry::Jacobian)?.partials.clone()))
            .list_or_error()
    }

    /// See [`super::super::Engine::jacobian`].
    pub(in crate::eval) async fn jacobian(
        &mut self,
        model: &Model,
        partials: &Partials,
        pattern: &Pattern,
        x: &[f64],
        entries: &mut Vec<f64>,
        give: Give<'_>,
    ) -> Result<()> {
        if self.partials_are_too_large(model)? {
            return self.on_cpu().jacobian(model, partials, pattern, x, entries, give).await;
        }
        let (mut residuals, of_batches) = self.partials(model, x).await?;
        entries.clear();
        entries.resize(pattern.col_indices.len(), 0.0);
        for (values, places) in of_batches.iter().zip(&pattern.places) {
            for (value, &place) in values.iter().zip(places) {
                entries[place as usize] += value;
            }
        }
        give(Part::Residuals, 0, &mut residuals);
        give(Part::Entries, 0, entries);
        Ok(())
    }

    /// All residuals, and for each batch the values of its local partials, column after column.
    async fn partials(&mut self, model: &Model, x: &[f64]) -> Result<(Vec<f64>, Vec<Vec<f64>>)> {
        let downloads = self.run(model, RecordedCall::Partials, Some(x), None).await?;
        let mut next = downloads.iter();
        let columns = self.partial_columns(model)?;
        let mut of_batches: Vec<Vec<f64>> = model
            .batches
            .iter()
            .zip(&columns)
            .map(|(batch, columns)| vec![0.0; columns.len() * batch.count as usize])
            .list();
        for chunk in &self.layout.chunks {
            let columns = columns[chunk.batch].len();
            if columns == 0 {
                continue;
            }
            let values = next.next().ok_or_else(|| Error::internal("a chunk's partials did not come back"))?;
            let count = model.batches[chunk.batch].count as usize;
            let values = from_table(self.layout.width, values);
            for (column, values) in values.chunks_exact(chunk.range.len()).enumerate() {
                let start = column * count + chunk.range.start;
                of_batches[chunk.batch][start..start + values.len()].copy_from_slice(values);
            }
        }
        Ok((self.assemble_values(model, next.as_slice())?, of_batches))
    }

    /// The residuals, from themselves and the addends of long sums.
    fn assemble_values(&self, model: &Model, downloads: &[Vec<f32>]) -> Result<Vec<f64>> {
        let width = self.layout.width;
        let missing = || Error::internal("residuals did not come back");
        let mut downloads = downloads.iter();
        let mut residuals = from_vector(width, downloads.next().ok_or_else(missing)?, model.num_residuals as usize);
        for batch in &model.batches {
            if let Rows::Addends(column) = batch.rows {
                batch.column(column).iter().for_each(|&row| residuals[row as usize] = 0.0);
            }
        }
        for chunk in &self.layout.chunks {
            let batch = &model.batches[chunk.batch];
            let Rows::Addends(column) = batch.rows else { continue };
            let addends = from_table(width, downloads.next().ok_or_else(missing)?);
            for (&row, addend) in batch.column(column)[chunk.range.clone()].iter().zip(addends) {
                residuals[row as usize] += addend;
            }
        }
        Ok(residuals)
    }

    async fn run(
        &mut self,
        model: &Model,
        call: RecordedCall,
        x: Option<&[f64]>,
        seeds: Option<&[f64]>,
    ) -> Result<Vec<Vec<f32>>> {
        let Launched { submission, spreads, downloads } = self.launch(model, call, x, seeds).await?;
        let results = submission.finish().await;
        for spread in spreads {
            spread.finish().await?;
        }
        let results = results?;
        Ok(downloads.iter().map(|&download| results.reals(download).to_vec()).list())
    }

    /// Submits a call. Arguments are those that its recording declares.
    pub(super) async fn launch(
        &mut self,
        model: &Model,
        call: RecordedCall,
        x: Option<&[f64]>,
        seeds: Option<&[f64]>,
    ) -> Result<Launched> {
        if !self.prepared.contains_key(&call) {
            let recording = self.record(model, call)?;
            self.make_pipelines(&recording.programs).await?;
            self.allocate(model, &recording.memory, &Slices::without_progress()).await?;
            let (prepared, binding) = self.bind(&recording)?;
            self.context.bound(binding).await?;
            self.prepared.insert(call, (recording, prepared));
        }
        self.upload_stale_data(model).await?;
        self.upload_batch_constants(model).await?;
        let (recording, prepared) =
            self.prepared.get(&call).ok_or_else(|| Error::internal("a call was not prepared before it ran"))?;
        let mut arguments: Vec<Vec<f32>> = Vec::new();
        for (argument, numbers) in [(recording.x, x), (recording.seeds, seeds)] {
            if argument.is_some() {
                arguments.push(to_vector(self.layout.width, numbers.unwrap_or_default()));
            }
        }
        let arguments: Vec<&[u8]> = arguments.iter().map(|numbers| bytemuck::cast_slice(numbers)).list();
        let spreads = self.spread_shared_data()?;
        let submission = prepared.submit(&arguments)?;
        Ok(Launched { submission, spreads, downloads: recording.downloads.clone() })
    }

    pub(super) fn record(&mut self, model: &Model, call: RecordedCall) -> Result<Recording> {
        let entries: Vec<Entry> = match call {
            RecordedCall::Gradient(call) => call.entries(),
            RecordedCall::Values => vec![Entry::Values],
            RecordedCall::Partials => vec![Entry::Jacobian],
        };
        for entry in entries {
            self.access_plans.make(model, entry)?;
            if matches!(entry, Entry::SumGradient | Entry::CostGradient) {
                self.access_plans.make_lists(&self.layout, entry)?;
            }
        }
        let (layout, limits) = (&self.layout, self.context.limits());
        match call {
            RecordedCall::Gradient(call) => record_gradient(model, layout, &self.access_plans, limits, call),
            RecordedCall::Values => record_values(model, layout, &self.access_plans, limits),
            RecordedCall::Partials => record_partials(model, layout, &self.access_plans, limits),
        }
    }

    /// Whether a kernel of partials is too long to compile, or all partials do not fit one read-back.
    fn partials_are_too_large(&self, model: &Model) -> Result<bool> {
        let width = self.layout.width;
        let mut bytes = 4 * vector_len(width, model.num_residuals.into());
        for (number, batch) in model.batches.iter().enumerate() {
            let plan = self.access_plans.plan(number, Entry::Jacobian)?;
            if plan.kernel.text_operations() > MOST_OPERATIONS {
                return Ok(true);
            }
            bytes += 4 * table_len(width, plan.partials.len() as u64 * u64::from(batch.count));
        }
        Ok(bytes > self.context.limits().max_buffer_size)
    }

    /// Binds a recording to its buffers and pipelines, which are there.
    fn bind(&self, recording: &Recording) -> Result<(PreparedList, Binding)> {
        let buffers: Vec<Buffer> =
            recording.memory.iter().filter_map(|memory| self.buffers.get(memory)).cloned().list();
        let pipelines: Vec<Pipeline> =
            recording.programs.iter().filter_map(|program| self.pipelines.get(program)).cloned().list();
        self.context.bind(&recording.list, &buffers, &pipelines)
    }
}
