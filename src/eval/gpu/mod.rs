//! The GPU engine of a model: every instance a thread.
//!
//! What lies where is [`super::layout`]'s, what is done [`super::record`]'s; this module makes the buffers and pipelines that
//! a recording declares, when it is first needed, and runs it.

use residua_base::list::Listed;
use std::ops::Range;

use wasm_bindgen::JsValue;

use crate::model::Model;
use crate::model::access_plan::Entry;
use residua_base::cooperative::Slices;
use residua_base::error::{Error, ErrorCode, Result};
use residua_codegen::wgsl::PairForm;
use residua_codegen::{OPERATIONS_OF_PAIR, Width};
use residua_gpu::{Buffer, BufferRequest, Context, Pipeline, PreparedList};
use vecmap::VecMap;

mod buffers;
mod call;
mod calls;
mod cpu_fallback;
mod data;
mod gradient;
mod memory;
mod pair_check;
mod programs;
mod segments;
mod shared_data;

use buffers::Buffers;
use call::RecordedCall;
pub use gradient::DeviceGradient;
pub use pair_check::check_pairs;
pub use shared_data::{DataPart, NewSharedData};
use shared_data::{SharedData, single};

use super::access_plan_cache::AccessPlanCache;
use super::cpu::CpuEngine;
use super::layout::{Layout, Memory};
use super::objective::Descent;
use super::pair_arithmetic::pair_form;
use super::pairs::{self, from_vector, low_parts, to_f32};
use super::record::{Kernels, Program, Recording};
use super::texts::kernel_numbers;
use super::{Arithmetic, Objective};

/// A kernel of more operations than this takes browsers too long to compile: 10,000 took 5 s on SwiftShader, 20,000 lost the
/// device.
const MOST_OPERATIONS: usize = 8_000;

/// More kernels than this in one compile are a sign that grouping found little to group.
const MOST_KERNELS: usize = 64;

/// Evaluates a model on a device.
pub struct GpuEngine {
    context: Context,
    layout: Layout,
    /// The most instances in one dispatch, if the caller says so.
    batch_size: Option<u32>,
    access_plans: AccessPlanCache,
    /// How kernels in pairs take the error of a product; none in single precision.
    pair_form: Option<PairForm>,
    /// Evaluates what is too much, or takes too long to compile, for the device, and solves in f64 where f32 does not suffice.
    fallback: Option<CpuEngine>,
    buffers: Buffers,
    pipelines: VecMap<Program, Pipeline>,
    prepared: VecMap<RecordedCall, (Recording, PreparedList)>,
    /// Batches whose data table has changed since it was last uploaded.
    stale_data: Vec<bool>,
    /// The model's tables have changed since they were last uploaded.
    tables_are_stale: bool,
    /// The constants as they were last uploaded.
    batch_constants: Option<Vec<f32>>,
    /// Which parameters are constant has changed since the mask was uploaded.
    fixed_mask_is_stale: bool,
    /// Kernels in pairs have losses since they were checked.
    has_unchecked_losses: bool,
    /// Data that the application writes on the device.
    shared_data: Vec<SharedData>,
    /// The parameters that the application can read; evaluations never write it.
    published: Buffer,
    recordings_version: u64,
}

impl GpuEngine {
    /// Lays the model out on the device. Fails with `limit-exceeded` for what cannot be split to fit.
    pub async fn new(context: Context, model: &Model, width: Width, batch_size: Option<u32>) -> Result<GpuEngine> {
        GpuEngine::new_in_slices(context, model, width, batch_size, &Slices::without_progress()).await
    }

    /// The same, in slices.
    pub async fn new_in_slices(
        context: Context,
        model: &Model,
        width: Width,
        batch_size: Option<u32>,
        slices: &Slices<'_>,
    ) -> Result<GpuEngine> {
        let pair_form = match width {
            Width::Single => None,
            Width::Pair => Some(pair_form(&context).await?),
        };
        let (numbers, kernels) = kernel_numbers(model);
        if kernels > MOST_KERNELS {
            return Err(Error::new(
                ErrorCode::LimitExceeded,
                format!("the residuals have {kernels} topologies; the GPU engine takes at most {MOST_KERNELS}"),
            ));
        }
        let mut plans = AccessPlanCache::new(model, numbers, kernels, width);
        plans.make_in_slices(model, &[Entry::CostGradient], slices).await?;
        check_sizes(model, &plans)?;
        plans.make_in_slices(model, &[Entry::Jacobian], slices).await?;
        let partials = (0..model.batches.len())
            .map(|batch| Ok(plans.plan(batch, Entry::Jacobian)?.partials.len()))
            .list_or_error()?;
        let layout = Layout::new_in_slices(model, width, &partials, context.limits(), batch_size, slices).await?;
        let published = make_published(&context, &layout).await?;
        Ok(GpuEngine {
            context,
            layout,
            batch_size,
            access_plans: plans,
            pair_form,
            fallback: None,
            buffers: Buffers::with_point(published.clone()),
            pipelines: VecMap::default(),
            prepared: VecMap::default(),
            stale_data: vec![false; model.batches.len()],
            tables_are_stale: false,
            batch_constants: None,
            fixed_mask_is_stale: true,
            has_unchecked_losses: false,
            shared_data: Vec::new(),
            published,
            recordings_version: 0,
        })
    }

    /// Follows a model that has grown: lays it out, in buffers that are made when they are next needed. The application's buffers are others from now on.
    /// Kernels and pipelines stay, if each batch has the class that it had.
    pub(super) async fn grow(&mut self, model: &Model, x: &[f64], has_same_kernels: bool) -> Result<()> {
        let (context, width, batch_size) = (self.context.clone(), self.layout.width, self.batch_size);
        let slices = Slices::without_progress();
        if !has_same_kernels {
            let mut grown = GpuEngine::new(context, model, width, batch_size).await?;
            grown.prepare(model, x, &slices, &mut |_, _| Ok(())).await?;
            grown.recordings_version = self.recordings_version + 1;
            *self = grown;
            return Ok(());
        }
        let columns = |batch| Ok(self.access_plans.plan(batch, Entry::Jacobian)?.partials.len());
        let partials = (0..model.batches.len()).map(columns).list_or_error()?;
        let layout = Layout::new_in_slices(model, width, &partials, context.limits(), batch_size, &slices).await?;
        let published = make_published(&context, &layout).await?;
        if let Some(on_cpu) = &mut self.fallback {
            on_cpu.grow(model, has_same_kernels);
        }
        (self.layout, self.buffers) = (layout, Buffers::with_point(published.clone()));
        (self.published, self.prepared) = (published, VecMap::default());
        (self.shared_data, self.batch_constants) = (Vec::new(), None);
        self.stale_data.fill(false);
        (self.tables_are_stale, self.fixed_mask_is_stale) = (false, true);
        self.recordings_version += 1;
        self.publish_at(0, x)
    }

    /// Makes ready for recordings of kernels with these entries: they are planned, tables and weights are on the device as the model has them.
    pub async fn refresh(&mut self, model: &Model, entries: &[Entry]) -> Result<()> {
        for &entry in entries {
            self.access_plans.make(model, entry)?;
        }
        self.upload_tables(model).await
    }

    async fn upload_tables(&mut self, model: &Model) -> Result<()> {
        self.upload_stale_data(model).await?;
        self.upload_batch_constants(model).await?;
        for spread in self.spread_shared_data()? {
            spread.finish().await?;
        }
        Ok(())
    }

    /// Where the model lies.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The plans of the model's kernels.
    pub fn access_plans(&self) -> &AccessPlanCache {
        &self.access_plans
    }

    /// Makes ready for recordings of [`Descent`]: kernels planned, tables and weights on the device as the model has them.
    pub async fn refresh_objective(&mut self, model: &Model, objective: Objective) -> Result<()> {
        for entry in Descent::<AccessPlanCache>::entries(objective) {
            self.access_plans.make(model, entry)?;
        }
        self.access_plans.make_lists(&self.layout, Descent::<AccessPlanCache>::entries(objective)[0])?;
        self.upload_tables(model).await
    }

    /// What records an objective, once [`GpuEngine::refresh_objective`] has been called.
    pub fn descent<'a>(&'a self, model: &'a Model, objective: Objective) -> Descent<'a, AccessPlanCache> {
        Descent { model, layout: &self.layout, kernels: &self.access_plans, limits: self.context.limits(), objective }
    }

    /// The device.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// The buffer that the application reads, for solvers to write their accepted points to.
    pub fn published(&self) -> &Buffer {
        &self.published
    }

    /// A number that changes whenever earlier recordings no longer hold.
    pub fn recordings_version(&self) -> u64 {
        self.recordings_version
    }

    /// The parameters that the application can read.
    pub(super) async fn published_values(&self) -> Result<Vec<f64>> {
        let (results, numbers) = self.context.read(&self.published, self.layout.bytes(Memory::Parameters)).await?;
        Ok(self.vector(results.reals(numbers)))
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

    /// Writes the parameters to the buffer that the application reads.
    pub fn publish_at(&self, first: usize, x: &[f64]) -> Result<()> {
        let bytes = 4 * first as u64;
        self.context.write(&self.published, bytes, bytemuck::cast_slice(&to_f32(x.iter())))?;
        if self.layout.width == Width::Pair {
            let low = bytes + 4 * pairs::distance_to_low(self.layout.num_params());
            self.context.write(&self.published, low, bytemuck::cast_slice(&low_parts(x.iter())))?;
        }
        Ok(())
    }

    /// The numbers of a vector over all parameters that came from the device.
    pub(super) fn vector(&self, parts: &[f32]) -> Vec<f64> {
        from_vector(self.layout.width, parts, self.layout.num_params() as usize)
    }

    /// How kernels in pairs take the error of a product; none where functions are in single precision.
    pub fn pair_form(&self) -> Option<PairForm> {
        self.pair_form
    }

    /// What its kernels compute in.
    pub fn arithmetic(&self) -> Arithmetic {
        match self.layout.width {
            Width::Single => Arithmetic::F32,
            Width::Pair => Arithmetic::F32x2,
        }
    }

    /// Columns of a batch's data table have changed.
    pub(super) fn data_changed(&mut self, model: &Model, batch: usize, columns: Range<u32>) -> Result<()> {
        self.stale_data[batch] = true;
        self.overwrite_shared_data(model, Some(batch), &columns)
    }

    /// Numbers of the model's tables have changed.
    pub(super) fn tables_changed(&mut self, model: &Model, numbers: Range<u32>) -> Result<()> {
        self.tables_are_stale = true;
        self.overwrite_shared_data(model, None, &numbers)
    }

    /// Which parameters are constant may have changed.
    pub(super) fn constant_changed(&mut self) {
        self.fixed_mask_is_stale = true;
    }

    /// A block's part in the whole may have changed: what is recorded depends on it.
    pub(super) fn enabled_changed(&mut self) {
        self.prepared.retain(|call, _| !matches!(call, RecordedCall::Gradient(..)));
        self.recordings_version += 1;
    }

    /// A block has another loss. Kernels that were compiled without it are compiled again at the next call.
    pub(super) fn loss_changed(&mut self, model: &Model) {
        let numbers = self.access_plans.loss_changed(model);
        if !numbers.is_empty() {
            self.pipelines.retain(|program, _| !has_losses(program, &numbers));
            self.enabled_changed();
            self.has_unchecked_losses = true;
        }
    }

    /// Whether kernels in pairs have losses since they were checked. In single precision they have them from the start.
    pub(super) fn has_unchecked_losses(&self) -> bool {
        self.has_unchecked_losses
    }

    /// Notes that they have been checked.
    pub(super) fn losses_are_checked(&mut self) {
        self.has_unchecked_losses = false;
    }
}

/// The buffer of parameters that the application can read. A binding takes 16 bytes at least.
async fn make_published(context: &Context, layout: &Layout) -> Result<Buffer> {
    let parameters =
        BufferRequest::storage("parameters, published", layout.bytes(Memory::Parameters).max(16)).exported();
    single(context.allocate(&[parameters]).await?.pop())
}

/// Whether a pipeline is of one of these kernels, and computes losses.
fn has_losses(program: &Program, numbers: &[usize]) -> bool {
    match program {
        Program::Kernel(number, entry) | Program::Lists(number, entry, _) => {
            entry.has_losses() && numbers.contains(number)
        }
        Program::Shader(_) => false,
    }
}

/// Refuses residuals that would make kernels too large to compile. The gradient's is the largest that every call needs.
fn check_sizes(model: &Model, plans: &AccessPlanCache) -> Result<()> {
    for (number, batch) in model.batches.iter().enumerate() {
        let kernel = &plans.plan(number, Entry::CostGradient)?.kernel;
        let operations = kernel.text_operations();
        if operations > MOST_OPERATIONS {
            let name = model.residual_name(batch.row(0));
            let counted = match kernel.has_pairs() {
                true => format!(", where one in f32x2 counts as {OPERATIONS_OF_PAIR}"),
                false => String::new(),
            };
            return Err(Error::new(
                ErrorCode::LimitExceeded,
                format!(
                    "the kernel of {name} would have {operations} operations{counted}; the GPU engine takes at most {MOST_OPERATIONS}"
                ),
            ));
        }
    }
    Ok(())
}
