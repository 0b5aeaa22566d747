//! What a device does for one call, as a command list. Pure: tested without a device.
//!
//! Every batch's kernels run chunk after chunk in one compute pass; the order in which gradients are gathered and sums are
//! added is fixed, which makes results repeatable to the bit.

use residua_base::list::{Listed, PushAll};
use rustc_hash::FxHashMap;
use vecmap::VecMap;

use crate::eval::shaders::Shader;
use crate::model::access_plan::{AccessPlan, Entry, Role};
use crate::model::incidence::{Destination, Source};
use crate::model::recompute::RecomputePlan;
use crate::model::{Losses, Model, Rows};
use crate::shader_source::binding_kinds;
use residua_base::error::{Error, Result};
use residua_codegen::wgsl::{FusedKernel, WORKGROUP_SIZE, kernel_resources, reads_zero, recompute_resources};
use residua_codegen::{CheckedKernel, Width};
use residua_gpu::{ArgumentId, BindingKind, BufferId, CommandList, DownloadId, Limits, PipelineId, Slice};

use super::layout::{ALIGNMENT, Chunk, Layout, Memory};
use super::pairs::table_len;
use super::titles::kernel_name;

/// A pipeline, by what it computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Program {
    /// A kernel, by its number.
    Kernel(usize, Entry),
    /// A hand-written one.
    Shader(Shader),
    /// A sum over lists: of a kernel by its number, for blocks of one size.
    Lists(usize, Entry, usize),
}

/// A command list, the buffers and pipelines it declares in the order of declaration, and what goes in and out.
#[derive(Debug)]
pub struct Recording {
    /// What is to be done.
    pub list: CommandList,
    /// The buffers it declares.
    pub memory: Vec<Memory>,
    /// The pipelines it declares.
    pub programs: Vec<Program>,
    /// The parameters, as the layout holds vectors, where a run brings them.
    pub x: Option<ArgumentId>,
    /// A number for each residual, likewise.
    pub seeds: Option<ArgumentId>,
    /// The results, in the order of the requests.
    pub downloads: Vec<DownloadId>,
}

/// The kernels that a recording runs.
pub trait Kernels {
    /// The number of a batch's kernel.
    fn number(&self, batch: usize) -> usize;
    /// The plan of a batch's kernel.
    fn plan(&self, batch: usize, entry: Entry) -> Result<&AccessPlan>;
    /// The losses that a batch's kernel is compiled with.
    fn losses(&self, batch: usize) -> Losses;
    /// The sum over lists of a batch's kernel, for blocks of one size.
    fn lists(&self, batch: usize, entry: Entry, size: usize) -> Result<&RecomputePlan>;
    /// The kernels of batches in one.
    fn fused(&self, batches: &[usize], entry: Entry) -> Result<FusedKernel<'_>> {
        let kernels = batches.iter().map(|&batch| Ok(&self.plan(batch, entry)?.kernel)).list_or_error()?;
        FusedKernel::of(kernels).ok_or_else(|| Error::internal("kernels that cannot be together are"))
    }
}

pub(super) struct Recorder<'a, K> {
    pub(super) model: &'a Model,
    pub(super) layout: &'a Layout,
    pub(super) kernels: &'a K,
    pub(super) limits: &'a Limits,
    pub(super) list: CommandList,
    /// Where the parameters stand.
    pub(super) point: Memory,
    /// Where the gradient goes.
    pub(super) gradient: Memory,
    memory: Vec<Memory>,
    buffers: Vec<BufferId>,
    /// Positions in both, by [`Memory::key`].
    positions: FxHashMap<u64, u32>,
    programs: Vec<Program>,
    pipelines: VecMap<Program, PipelineId>,
}

/// All residuals. Downloads: the residuals, then the addends of each chunk that has them.
pub fn record_values(model: &Model, layout: &Layout, kernels: &impl Kernels, limits: &Limits) -> Result<Recording> {
    let mut recorder = Recorder::new(model, layout, kernels, limits);
    let x = recorder.upload_point();
    for number in 0..layout.chunks.len() {
        recorder.run_kernel(number, Entry::Values)?;
    }
    let downloads = recorder.download_values();
    Ok(recorder.finish(x, None, downloads))
}

/// All residuals and local partials. Downloads: the partials of each chunk that has any, then what [`record_values`] has.
pub fn record_partials(model: &Model, layout: &Layout, kernels: &impl Kernels, limits: &Limits) -> Result<Recording> {
    let mut recorder = Recorder::new(model, layout, kernels, limits);
    let x = recorder.upload_point();
    let mut downloads = Vec::new();
    for (number, chunk) in layout.chunks.iter().enumerate() {
        recorder.run_kernel(number, Entry::Jacobian)?;
        let columns = kernels.plan(chunk.batch, Entry::Jacobian)?.partials.len();
        if columns > 0 {
            let numbers = table_len(layout.width, (columns * chunk.range.len()) as u64);
            let part = recorder.whole(Memory::Partials).part(0, 4 * numbers);
            downloads.push(recorder.list.download(part));
        }
    }
    downloads.push_all(recorder.download_values());
    Ok(recorder.finish(x, None, downloads))
}

impl<'a, K: Kernels> Recorder<'a, K> {
    pub(super) fn new(model: &'a Model, layout: &'a Layout, kernels: &'a K, limits: &'a Limits) -> Recorder<'a, K> {
        Recorder {
            model,
            layout,
            kernels,
            limits,
            list: CommandList::new(),
            point: Memory::Parameters,
            gradient: Memory::Gradient,
            memory: Vec::new(),
            buffers: Vec::new(),
            positions: FxHashMap::default(),
            programs: Vec::new(),
            pipelines: VecMap::new(),
        }
    }

    pub(super) fn whole(&mut self, memory: Memory) -> Slice {
        let (home, offset) = self.layout.home(memory);
        if home != memory {
            return self.whole(home).part(offset, self.layout.bytes(memory));
        }
        let position = match self.positions.get(&memory.key()) {
            Some(position) => *position as usize,
            None => {
                let position = self.memory.len();
                self.memory.push(memory);
                self.buffers.push(self.list.buffer(memory.name(), self.layout.bytes(memory)));
                self.positions.insert(memory.key(), position as u32);
                position
            }
        };
        self.list.whole(self.buffers[position])
    }

    pub(super) fn pipeline(&mut self, program: Program, name: &str, bindings: &[BindingKind]) -> PipelineId {
        if let Some(pipeline) = self.pipelines.get(&program) {
            return *pipeline;
        }
        let pipeline = self.list.pipeline(name, bindings);
        self.programs.push(program);
        self.pipelines.insert(program, pipeline);
        pipeline
    }

    pub(super) fn shader(&mut self, shader: Shader) -> PipelineId {
        self.pipeline(Program::Shader(shader), shader.entry(), &shader.layout())
    }

    /// The parameters are such as each run brings.
    pub(super) fn upload_point(&mut self) -> Option<ArgumentId> {
        let x = self.whole(Memory::Parameters);
        Some(self.list.upload_argument(x))
    }

    pub(super) fn uniforms(&mut self, position: u64) -> Slice {
        self.whole(Memory::Uniforms).part(position * ALIGNMENT, ALIGNMENT)
    }

    pub(super) fn run_kernel(&mut self, number: usize, entry: Entry) -> Result<()> {
        let kernels = self.kernels;
        let chunk = &self.layout.chunks[number];
        let plan = kernels.plan(chunk.batch, entry)?;
        let mut bindings = Vec::new();
        for role in &plan.roles {
            bindings.push(self.bind(*role, number, chunk)?);
        }
        let groups = (chunk.range.len() as u64).div_ceil(WORKGROUP_SIZE.into());
        if plan.kernel.has_total() {
            let ignored = entry == Entry::SeededGradient;
            let memory = if ignored { Memory::IgnoredSums } else { Memory::PartialSums };
            let first = if ignored { 0 } else { chunk.first_sum };
            bindings.push(self.whole(memory).part(4 * first, 4 * sums_of(&plan.kernel, groups)));
        }
        if reads_zero(&plan.kernel) {
            bindings.push(self.whole(Memory::GuardZero));
        }
        bindings.push(self.uniforms(chunk.uniforms));
        let layout = kernel_layout(plan);
        let name = kernel_name(self.model, chunk.batch, entry);
        let pipeline = self.pipeline(Program::Kernel(kernels.number(chunk.batch), entry), &name, &layout);
        self.list.dispatch(pipeline, &bindings, self.limits.split_workgroups(groups)?);
        Ok(())
    }

    pub(super) fn bind(&mut self, role: Role, number: usize, chunk: &Chunk) -> Result<Slice> {
        Ok(match role {
            Role::Parameters => self.whole(self.point),
            Role::Indices => self.whole(Memory::Indices(number)),
            Role::Data => self.whole(Memory::Data(number)),
            Role::Tables => self.whole(Memory::Tables),
            Role::BatchConstants => {
                let (start, length) = self.layout.batch_constants[chunk.batch];
                self.whole(Memory::BatchConstants).part(start, 4 * length)
            }
            Role::Seeds => self.whole(Memory::Seeds),
            Role::Residuals => {
                let Chunk { residuals, .. } = chunk;
                self.whole(Memory::Residuals).part(4 * residuals.start, 4 * (residuals.end - residuals.start))
            }
            Role::AddendValues => self.whole(Memory::Addends(number)),
            Role::LocalGradient => self.whole(Memory::LocalGradient),
            Role::Gradient => self.whole(self.gradient),
            Role::Partials => self.whole(Memory::Partials),
            Role::Others | Role::Local | Role::Vector | Role::Steps | Role::Places | Role::JtjBlocks => {
                return Err(Error::internal("a solver's kernel is evaluated"));
            }
        })
    }

    pub(super) fn gather(&mut self, number: usize) -> Result<()> {
        let layout = self.layout;
        let chunk = &layout.chunks[number];
        let pairs = layout.width == Width::Pair;
        let pipeline = self.shader(Shader::Gather { fused: false, gated: false, pairs });
        for (position, pass) in chunk.passes.iter().enumerate() {
            let bindings = [
                self.whole(Memory::GatherOffsets(number, position)),
                self.whole(Memory::GatherEntries(number, position)),
                self.whole(Memory::GatherTargets(number, position)),
                match pass.source {
                    Source::Local => self.whole(Memory::LocalGradient),
                    Source::Scratch(which) => self.whole(Memory::Scratch(which)),
                },
                match pass.destination {
                    Destination::Gradient => self.whole(self.gradient),
                    Destination::Scratch(which) => self.whole(Memory::Scratch(which)),
                },
                self.uniforms(chunk.uniforms + 1 + position as u64),
            ];
            let groups = u64::from(pass.workgroups);
            self.list.dispatch(pipeline, &bindings, self.limits.split_workgroups(groups)?);
        }
        Ok(())
    }

    pub(super) fn reduce(&mut self) -> Result<()> {
        let uniforms = self.uniforms(self.layout.reduce_uniforms);
        let bindings =
            [self.whole(Memory::PartialSums), self.whole(Memory::Sums), self.whole(Memory::GuardZero), uniforms];
        let groups = u64::from(self.layout.reduction().workgroups());
        let pipeline = self.shader(Shader::ReduceSum);
        self.list.dispatch(pipeline, &bindings, self.limits.split_workgroups(groups)?);
        Ok(())
    }

    fn download_values(&mut self) -> Vec<DownloadId> {
        let residuals = self.whole(Memory::Residuals);
        let mut downloads = vec![self.list.download(residuals)];
        for (number, chunk) in self.layout.chunks.iter().enumerate() {
            if matches!(self.model.batches[chunk.batch].rows, Rows::Addends(_)) {
                let addends = self.whole(Memory::Addends(number));
                downloads.push(self.list.download(addends));
            }
        }
        downloads
    }

    pub(super) fn finish(
        self,
        x: Option<ArgumentId>,
        seeds: Option<ArgumentId>,
        downloads: Vec<DownloadId>,
    ) -> Recording {
        Recording { list: self.list, memory: self.memory, programs: self.programs, x, seeds, downloads }
    }
}

/// Numbers that the partial sums of so many workgroups of a kernel take.
pub(super) fn sums_of(kernel: &CheckedKernel, groups: u64) -> u64 {
    kernel.totals().map(|total| table_len(total.width(), groups)).sum()
}

/// The same of a kernel of sums over lists.
pub(super) fn sums_of_lists(plan: &RecomputePlan, groups: u64) -> u64 {
    plan.kernel.lists().iter().map(|list| sums_of(list, groups)).max().unwrap_or_default()
}

/// Bindings of a generated kernel.
pub fn kernel_layout(plan: &AccessPlan) -> Vec<BindingKind> {
    binding_kinds(&kernel_resources(&plan.kernel))
}

/// Bindings of a per-block recompute kernel.
pub fn list_layout(plan: &RecomputePlan) -> Vec<BindingKind> {
    binding_kinds(&recompute_resources(&plan.kernel))
}
