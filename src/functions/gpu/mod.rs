//! The GPU engine of a model: f32, every instance a thread.
//!
//! What lies where is [`super::layout`]'s, what is done [`super::record`]'s; this module makes the buffers and pipelines that
//! a recording declares, when it is first needed, and runs it.

use std::any::Any;
use std::ops::Range;

use rustc_hash::FxHashMap;
use wasm_bindgen::JsValue;

use crate::batch::plan::Entry;
use crate::batch::{Model, Rows};
use crate::codegen::wgsl;
use crate::error::{Error, ErrorCode, Result};
use crate::gpu::shaders;
use crate::gpu::{Buffer, BufferRequest, CommandList, Context, Pipeline, PipelineRequest, Prepared};
use crate::list::Listed;
use crate::table::Table;

mod beside;
mod data;

use data::SharedData;
pub use data::{DataPart, NewSharedData};

use super::cpu::CpuEngine;
use super::layout::{Layout, Memory, single_precision};
use super::normal::{self, Normal};
use super::objective::Descent;
use super::plans::Plans;
use super::record::{
    GATHER_LAYOUT, Kernels, Program, REDUCE_LAYOUT, Recording, kernel_layout, record_gradient, record_partials,
    record_values,
};
use super::texts::kernel_numbers;
use super::{Evaluation, Objective};

/// A kernel of more operations than this takes browsers too long to compile: 10,000 took 5 s on SwiftShader, 20,000 lost the
/// device.
const MOST_OPERATIONS: usize = 8_000;

/// More kernels than this in one compile are a sign that grouping found little to group.
const MOST_KERNELS: usize = 64;

/// Which call a recording serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Call {
    Gradient { objective: Objective, seeded: bool },
    Values,
    Partials,
}

/// Evaluates a model in f32 on a device.
pub struct GpuEngine {
    context: Context,
    layout: Layout,
    plans: Plans,
    /// Evaluates what is too much, or takes too long to compile, for the device, and solves in f64 where f32 does not suffice.
    fallback: Option<CpuEngine>,
    buffers: Buffers,
    pipelines: Table<Program, Pipeline>,
    prepared: Table<Call, (Recording, Prepared)>,
    /// Batches whose data table has changed since it was last uploaded.
    stale_data: Vec<bool>,
    /// Data that the application writes on the device.
    shared_data: Vec<SharedData>,
    /// What the application sees of the parameters; evaluations never write it.
    published: Buffer,
    kept: Option<Box<dyn Any>>,
}

/// The buffers that were made so far.
#[derive(Default)]
struct Buffers {
    all: Vec<Buffer>,
    /// Positions, by [`Memory::key`].
    positions: FxHashMap<u64, u32>,
}

impl Buffers {
    fn get(&self, memory: &Memory) -> Option<&Buffer> {
        self.positions.get(&memory.key()).map(|position| &self.all[*position as usize])
    }

    fn insert(&mut self, memory: Memory, buffer: Buffer) {
        self.positions.insert(memory.key(), self.all.len() as u32);
        self.all.push(buffer);
    }
}

impl GpuEngine {
    /// Lays the model out on the device. Fails with `limit-exceeded` for what cannot be split to fit.
    pub async fn new(context: Context, model: &Model, batch_size: Option<u32>) -> Result<GpuEngine> {
        let (numbers, kernels) = kernel_numbers(model);
        if kernels > MOST_KERNELS {
            return Err(Error::new(
                ErrorCode::LimitExceeded,
                format!("the residuals have {kernels} topologies; the GPU engine takes at most {MOST_KERNELS}"),
            ));
        }
        let mut plans = Plans::new(numbers, kernels);
        plans.make(model, Entry::CostGradient)?;
        check_sizes(model, &plans)?;
        plans.make(model, Entry::Jacobian)?;
        let partials = (0..model.batches.len())
            .map(|batch| Ok(plans.plan(batch, Entry::Jacobian)?.partials.len()))
            .collect::<Result<Vec<_>>>()?;
        let layout = Layout::new(model, &partials, context.limits(), batch_size)?;
        // A binding takes 16 bytes at least.
        let parameters =
            BufferRequest::storage("parameters, published", layout.bytes(Memory::Parameters).max(16)).exported();
        let published = data::single(context.allocate(&[parameters]).await?.pop())?;
        Ok(GpuEngine {
            context,
            layout,
            plans,
            fallback: None,
            buffers: Buffers::default(),
            pipelines: Table::default(),
            prepared: Table::default(),
            stale_data: vec![false; model.batches.len()],
            shared_data: Vec::new(),
            published,
            kept: None,
        })
    }

    /// Makes ready for recordings of [`Normal`]: kernels planned, tables and weights on the device as the model has them.
    pub async fn refresh(&mut self, model: &Model) -> Result<()> {
        for entry in [Entry::Linearise, Entry::Product, Entry::Image, Entry::Trial] {
            self.plans.make(model, entry)?;
        }
        self.upload_tables(model).await
    }

    async fn upload_tables(&mut self, model: &Model) -> Result<()> {
        self.upload_stale_data(model)?;
        let uniforms = self.table(model, Memory::Uniforms).await?;
        self.context.write(&uniforms, 0, bytemuck::cast_slice(&self.layout.uniform_tables(model)))?;
        for spread in self.spread_shared_data()? {
            spread.finish().await?;
        }
        Ok(())
    }

    /// What records the normal equations, once [`GpuEngine::refresh`] has been called.
    pub fn normal<'a>(&'a self, model: &'a Model) -> Normal<'a, Plans> {
        Normal { model, layout: &self.layout, kernels: &self.plans, limits: self.context.limits() }
    }

    /// Makes ready for recordings of [`Descent`]: kernels planned, tables and weights on the device as the model has them.
    pub async fn refresh_objective(&mut self, model: &Model, objective: Objective) -> Result<()> {
        for entry in Descent::<Plans>::entries(objective) {
            self.plans.make(model, entry)?;
        }
        self.upload_tables(model).await
    }

    /// What records an objective, once [`GpuEngine::refresh_objective`] has been called.
    pub fn descent<'a>(&'a self, model: &'a Model, objective: Objective) -> Descent<'a, Plans> {
        Descent { model, layout: &self.layout, kernels: &self.plans, limits: self.context.limits(), objective }
    }

    /// The device.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// The buffer that recordings declare as `memory`.
    pub async fn buffer(&mut self, model: &Model, memory: Memory) -> Result<Buffer> {
        self.table(model, memory).await
    }

    /// The pipelines that recordings declare as `programs`, in their order.
    pub async fn pipelines(&mut self, programs: &[Program]) -> Result<Vec<Pipeline>> {
        self.make_pipelines(programs, &mut |_, _| Ok(())).await?;
        let pipeline = |program| self.pipelines.get(program).cloned();
        let found: Option<Vec<Pipeline>> = programs.iter().map(pipeline).collect();
        found.ok_or_else(|| Error::internal("a pipeline was made and is not there"))
    }

    /// The buffer that the application sees, for solvers to write their accepted points to.
    pub fn published(&self) -> &Buffer {
        &self.published
    }

    /// What a solver has made of recordings and wants to find again; it is gone when recordings change.
    pub fn kept(&mut self) -> &mut Option<Box<dyn Any>> {
        &mut self.kept
    }

    /// The parameters that the application sees.
    pub(super) async fn published_values(&self) -> Result<Vec<f32>> {
        let mut list = CommandList::new();
        let parameters = list.buffer("parameters, published", self.layout.bytes(Memory::Parameters));
        let download = list.download(list.whole(parameters));
        let prepared = self.context.prepare(&list, std::slice::from_ref(&self.published), &[]).await?;
        Ok(prepared.run(&[]).await?.reals(download).to_vec())
    }

    /// The adapter's name, for reports.
    pub fn adapter_name(&self) -> String {
        let adapter = self.context.adapter();
        format!("{} {} {}", adapter.vendor, adapter.architecture, adapter.description).trim_ascii().to_owned()
    }

    /// The buffer that the application may bind: the parameters as last published.
    pub fn published_buffer(&self) -> JsValue {
        self.published.raw_buffer()
    }

    /// Writes the parameters where the application sees them.
    pub fn publish(&self, x: &[f64]) -> Result<()> {
        self.context.write(&self.published, 0, bytemuck::cast_slice(&single_precision(x.iter())))
    }

    /// Makes everything that calls of the common kinds need, so that the first one does not wait for it. `progress` hears how
    /// many pipelines of how many are there.
    pub async fn prepare(&mut self, model: &Model, progress: &mut dyn FnMut(usize, usize) -> Result<()>) -> Result<()> {
        let calls =
            [Objective::Sum, Objective::LeastSquares].map(|objective| Call::Gradient { objective, seeded: false });
        let mut recordings = Vec::new();
        let mut programs = Vec::new();
        for call in [calls[0], calls[1], Call::Values] {
            let recording = self.record(model, call)?;
            programs.extend(recording.programs.iter().copied());
            recordings.push((call, recording));
        }
        self.make_pipelines(&programs, progress).await?;
        for (call, recording) in recordings {
            self.bind(model, call, recording).await?;
        }
        Ok(())
    }

    /// Columns of a batch's data table have changed.
    pub(super) fn data_changed(&mut self, model: &Model, batch: usize, columns: Range<u32>) -> Result<()> {
        self.stale_data[batch] = true;
        self.overwrite_shared_data(model, batch, &columns)
    }

    /// A block's part in the whole may have changed: what is recorded depends on it.
    pub(super) fn enabled_changed(&mut self) {
        self.prepared.retain(|call| !matches!(call, Call::Gradient { .. }));
        self.kept = None;
    }

    pub(super) async fn values(&mut self, model: &Model, x: &[f64]) -> Result<Vec<f64>> {
        let downloads = self.run(model, Call::Values, x, None).await?;
        self.assemble_values(model, &downloads)
    }

    pub(super) async fn gradient(
        &mut self,
        model: &Model,
        objective: Objective,
        x: &[f64],
        seeds: Option<&[f64]>,
    ) -> Result<Evaluation> {
        let call = Call::Gradient { objective, seeded: seeds.is_some() };
        let mut downloads = self.run(model, call, x, seeds).await?.into_iter();
        let (Some(gradient), Some(sums)) = (downloads.next(), downloads.next()) else {
            return Err(Error::internal("a gradient came without its sum"));
        };
        Ok(Evaluation { cost: sums.iter().sum(), gradient })
    }

    pub(super) fn partial_columns(&mut self, model: &Model) -> Result<Vec<Vec<(u32, u32)>>> {
        (0..model.batches.len()).map(|batch| Ok(self.plans.plan(batch, Entry::Jacobian)?.partials.clone())).collect()
    }

    pub(super) async fn partials(&mut self, model: &Model, x: &[f64]) -> Result<(Vec<f64>, Vec<Vec<f64>>)> {
        if self.partials_are_too_large(model)? {
            return self.on_cpu().partials(model, x).await;
        }
        let downloads = self.run(model, Call::Partials, x, None).await?;
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
            for (column, values) in values.chunks_exact(chunk.range.len()).enumerate() {
                let start = column * count + chunk.range.start;
                of_batches[chunk.batch][start..start + values.len()].copy_from_slice(values);
            }
        }
        Ok((self.assemble_values(model, next.as_slice())?, of_batches))
    }

    /// The residuals, from themselves and the addends of long sums.
    fn assemble_values(&self, model: &Model, downloads: &[Vec<f64>]) -> Result<Vec<f64>> {
        let missing = || Error::internal("residuals did not come back");
        let mut downloads = downloads.iter();
        let mut residuals = downloads.next().ok_or_else(missing)?.clone();
        for batch in &model.batches {
            if let Rows::Addends(column) = batch.rows {
                batch.column(column).iter().for_each(|&row| residuals[row as usize] = 0.0);
            }
        }
        for chunk in &self.layout.chunks {
            let batch = &model.batches[chunk.batch];
            let Rows::Addends(column) = batch.rows else { continue };
            let addends = downloads.next().ok_or_else(missing)?;
            for (&row, addend) in batch.column(column)[chunk.range.clone()].iter().zip(addends) {
                residuals[row as usize] += addend;
            }
        }
        Ok(residuals)
    }

    async fn run(&mut self, model: &Model, call: Call, x: &[f64], seeds: Option<&[f64]>) -> Result<Vec<Vec<f64>>> {
        if !self.prepared.contains_key(&call) {
            let recording = self.record(model, call)?;
            self.make_pipelines(&recording.programs.clone(), &mut |_, _| Ok(())).await?;
            self.bind(model, call, recording).await?;
        }
        self.upload_stale_data(model)?;
        let (recording, prepared) =
            self.prepared.get(&call).ok_or_else(|| Error::internal("a call was not prepared before it ran"))?;
        let mut arguments: Vec<Vec<f32>> = vec![Vec::new(); 2 + usize::from(recording.seeds.is_some())];
        arguments[recording.x.index()] = single_precision(x.iter());
        arguments[recording.uniforms.index()] = self.layout.uniform_tables(model);
        if let Some(argument) = recording.seeds {
            arguments[argument.index()] = single_precision(seeds.unwrap_or_default().iter());
        }
        let arguments: Vec<&[u8]> = arguments.iter().map(|numbers| bytemuck::cast_slice(numbers)).list();
        let spreads = self.spread_shared_data()?;
        let results = prepared.run(&arguments).await;
        for spread in spreads {
            spread.finish().await?;
        }
        let results = results?;
        let wide = |&download| results.reals(download).iter().copied().map(f64::from).list();
        Ok(recording.downloads.iter().map(wide).list())
    }

    fn record(&mut self, model: &Model, call: Call) -> Result<Recording> {
        let entries: &[Entry] = match call {
            Call::Gradient { objective: Objective::Sum, .. } => &[Entry::SumGradient],
            Call::Gradient { objective: Objective::LeastSquares, .. } => &[Entry::CostGradient, Entry::SeededGradient],
            Call::Values => &[Entry::Values],
            Call::Partials => &[Entry::Jacobian],
        };
        for &entry in entries {
            self.plans.make(model, entry)?;
        }
        let (layout, limits) = (&self.layout, self.context.limits());
        match call {
            Call::Gradient { objective, seeded } => {
                record_gradient(model, layout, &self.plans, limits, objective, seeded)
            }
            Call::Values => record_values(model, layout, &self.plans, limits),
            Call::Partials => record_partials(model, layout, &self.plans, limits),
        }
    }

    /// Whether a kernel of partials is too long to compile, or all partials do not fit one read-back.
    fn partials_are_too_large(&self, model: &Model) -> Result<bool> {
        let mut bytes = 4 * u64::from(model.num_residuals);
        for (number, batch) in model.batches.iter().enumerate() {
            let plan = self.plans.plan(number, Entry::Jacobian)?;
            if plan.kernel.graph.graph().len() > MOST_OPERATIONS {
                return Ok(true);
            }
            bytes += 4 * plan.partials.len() as u64 * u64::from(batch.count);
        }
        Ok(bytes > self.context.limits().max_buffer_size)
    }

    async fn make_pipelines(
        &mut self,
        programs: &[Program],
        progress: &mut dyn FnMut(usize, usize) -> Result<()>,
    ) -> Result<()> {
        let mut wanted: Vec<Program> = Vec::new();
        for &program in programs {
            if !self.pipelines.contains_key(&program) && !wanted.contains(&program) {
                wanted.push(program);
            }
        }
        if wanted.is_empty() {
            return Ok(());
        }
        let requests = wanted.iter().map(|&program| self.pipeline_request(program)).collect::<Result<Vec<_>>>()?;
        let pipelines = self.context.pipelines(&requests, progress).await?;
        for (program, pipeline) in wanted.into_iter().zip(pipelines) {
            self.pipelines.insert(program, pipeline);
        }
        Ok(())
    }

    fn pipeline_request(&self, program: Program) -> Result<PipelineRequest> {
        let request =
            |wgsl: String, entry: &str, layout: Vec<_>| PipelineRequest { wgsl, entry: entry.to_owned(), layout };
        Ok(match program {
            Program::Kernel(number, entry) => {
                let plan = self.plans.of_kernel(number, entry)?;
                request(wgsl::write(&plan.kernel)?, &plan.kernel.name, kernel_layout(plan))
            }
            Program::Gather => request(shaders::gather(), "gather", GATHER_LAYOUT.to_vec()),
            Program::ReduceSum => request(shaders::reduce_sum(), "reduce_sum", REDUCE_LAYOUT.to_vec()),
            Program::GatedGather => {
                request(shaders::gated(&shaders::gather()), "gather", normal::gated_layout(&GATHER_LAYOUT))
            }
            Program::Curvature => {
                request(shaders::gated(&shaders::curvature()), "curvature", normal::CURVATURE_LAYOUT.to_vec())
            }
            Program::Assemble(dim) => {
                request(shaders::gated(&shaders::assemble(dim)), "assemble", normal::ASSEMBLE_LAYOUT.to_vec())
            }
            Program::Clear => request(shaders::gated(&shaders::clear()), "clear", normal::CLEAR_LAYOUT.to_vec()),
        })
    }

    /// Makes the buffers that a recording declares and binds it to them.
    async fn bind(&mut self, model: &Model, call: Call, recording: Recording) -> Result<()> {
        self.allocate(model, &recording.memory).await?;
        let buffers: Vec<Buffer> =
            recording.memory.iter().filter_map(|memory| self.buffers.get(memory)).cloned().list();
        let pipelines: Vec<Pipeline> =
            recording.programs.iter().filter_map(|program| self.pipelines.get(program)).cloned().list();
        let prepared = self.context.prepare(&recording.list, &buffers, &pipelines).await?;
        self.prepared.insert(call, (recording, prepared));
        Ok(())
    }

    /// Makes those buffers that are not there yet, with what stands in them from the start.
    async fn allocate(&mut self, model: &Model, memory: &[Memory]) -> Result<()> {
        let new: Vec<Memory> = memory.iter().copied().filter(|memory| self.buffers.get(memory).is_none()).list();
        if new.is_empty() {
            return Ok(());
        }
        let requests: Vec<BufferRequest> = new
            .iter()
            .map(|&memory| {
                let (name, bytes) = (memory.name(), self.layout.bytes(memory).max(16));
                if memory == Memory::Figures {
                    BufferRequest::uniform(name, bytes)
                } else {
                    BufferRequest::storage(name, bytes).zeroed()
                }
            })
            .list();
        let buffers = self.context.allocate(&requests).await?;
        for (&memory, buffer) in new.iter().zip(&buffers) {
            if let Some(content) = self.layout.take_content(model, memory) {
                self.context.write(buffer, 0, &content)?;
            }
        }
        for (memory, buffer) in new.into_iter().zip(buffers) {
            self.buffers.insert(memory, buffer);
        }
        Ok(())
    }

    /// A buffer, which is made if it is not there yet.
    async fn table(&mut self, model: &Model, memory: Memory) -> Result<Buffer> {
        self.allocate(model, &[memory]).await?;
        self.buffers.get(&memory).cloned().ok_or_else(|| Error::internal("a buffer was made and is not there"))
    }

    fn upload_stale_data(&mut self, model: &Model) -> Result<()> {
        for (number, chunk) in self.layout.chunks.iter().enumerate() {
            if !self.stale_data[chunk.batch] {
                continue;
            }
            if let Some(buffer) = self.buffers.get(&Memory::Data(number)) {
                self.context.write(buffer, 0, bytemuck::cast_slice(&self.layout.data_table(model, number)))?;
            }
        }
        self.stale_data.fill(false);
        Ok(())
    }
}

/// Refuses residuals that would make kernels too large to compile. The gradient's is the largest that every call needs.
fn check_sizes(model: &Model, plans: &Plans) -> Result<()> {
    for (number, batch) in model.batches.iter().enumerate() {
        let operations = plans.plan(number, Entry::CostGradient)?.kernel.graph.graph().len();
        if operations > MOST_OPERATIONS {
            let name = model.residual_name(batch.row(0));
            return Err(Error::new(
                ErrorCode::LimitExceeded,
                format!(
                    "the kernel of {name} would have {operations} operations; the GPU engine takes at most {MOST_OPERATIONS}"
                ),
            ));
        }
    }
    Ok(())
}
