//! The CPU engine of a model: f64, and the model's own tables as the kernels' memory.
//!
//! Kernels are made when an entry is first used, all batches in one program.

use residua_base::list::Listed;
use std::ops::Range;
use std::pin::Pin;

use crate::model::access_plan::{AccessPlan, Derivatives, Entry, Role, Target, WrittenFor};
use crate::model::pattern::Pattern;
use crate::model::plain::Wanted;
use crate::model::scatter::Scatter;
use crate::model::{Batch, Local, Model, Rows};
use residua_base::deadline::Deadline;
use residua_base::error::{Error, Result};
use residua_base::threads::are_several;
use residua_codegen::memory::{InstanceRange, View};
use residua_cpu::CompiledKernels;
use vecmap::VecMap;

use super::preparation::{Piece, Planned, Preparation};
use super::titles::title;
use super::{Arithmetic, Evaluation, Objective};

/// Evaluates a model in f64.
#[derive(Default)]
pub struct CpuEngine {
    compiled: VecMap<(Entry, Output), Compiled>,
    /// Those that a call has left unfinished.
    unfinished: VecMap<(Entry, Output), Preparation>,
    /// Those of sparse matrices of a model that has grown since: they hold if places are found in the same way.
    outgrown: VecMap<Entry, Compiled>,
}

/// Where the kernels of an entry write.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Output {
    /// Into memory in the order of the instances.
    InOrder,
    /// Into a sparse matrix.
    Scattered,
}

/// One entry's kernels, one for each batch.
struct Compiled {
    program: CompiledKernels,
    /// For each batch the roles of its kernel's buffers.
    roles: Vec<Vec<Role>>,
    /// For each batch its way into a sparse matrix, if there is one.
    scatters: Vec<Scatter>,
    /// For each batch the pieces in which that is filled, if not as a whole.
    pieces: Vec<Vec<Piece>>,
    /// For each batch what its partials are, see [`AccessPlan::partials`].
    partials: Vec<Vec<(u32, u32)>>,
    /// For each batch what its kernel was written for.
    written_for: Vec<WrittenFor>,
}

/// Entries of a piece, about: they stay in a processor's nearer caches until they are copied out.
pub(super) const PIECE: usize = 32_768;
/// The same where threads share a piece.
const SHARED_PIECE: usize = 16 * PIECE;

/// Bytes of a line of a processor's caches.
const LINE: usize = 64;

impl Compiled {
    fn new(program: CompiledKernels, model: &Model, preparation: Preparation) -> Compiled {
        let Preparation { roles, scatters, pieces, partials, .. } = preparation;
        let written_for = model.batches.iter().map(WrittenFor::of).list();
        Compiled { program, roles, scatters, pieces, partials, written_for }
    }

    /// Whether the kernels are right for a model that has grown.
    fn holds_for(&self, model: &Model) -> bool {
        model.batches.iter().map(WrittenFor::of).eq(self.written_for.iter().cloned())
    }

    /// Whether several numbers may go to one place, which begins at 0 then.
    fn accumulates(&self) -> bool {
        self.scatters.iter().any(|scatter| scatter.accumulate)
    }
}

/// The way of a batch into a matrix, and the pieces in which that is filled, if not as a whole.
type Way = (Scatter, Option<Vec<Piece>>);

/// Something that takes time, whatever it is.
pub type Work<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + 'a>>;

/// What of a linearisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Residuals.
    Residuals,
    /// Entries of the matrix, in the order of its pattern.
    Entries,
}

/// Takes some numbers of a part, which begin at a place.
pub type Give<'a> = &'a mut dyn FnMut(Part, usize, &mut [f64]);

/// For each batch pairs of an output and what it is differentiated by.
pub(crate) type Partials = Vec<Vec<(u32, Local)>>;

/// The numbers that a call reads and writes in addition to the model's tables.
#[derive(Default)]
pub(crate) struct Memory<'a> {
    pub x: &'a [f64],
    /// What a product is taken of, or a direction.
    pub vector: &'a [f64],
    pub seeds: &'a [f64],
    pub residuals: &'a mut [f64],
    pub gradient: &'a mut [f64],
    pub partials: &'a mut [f64],
    pub local: &'a mut [f64],
    pub places: &'a [u32],
    pub jtj_blocks: &'a mut [f64],
    /// Instances to run, if not all; residuals and partials are theirs alone.
    pub instances: Option<Range<u32>>,
}

impl CpuEngine {
    /// What its kernels compute in.
    pub const ARITHMETIC: Arithmetic = Arithmetic::F64;

    /// An engine that has compiled nothing yet.
    pub fn new() -> CpuEngine {
        CpuEngine::default()
    }

    /// Compiles the kernels of an entry, if that has not been done. In a box, so that the module holds its states once.
    pub fn prepare<'a>(&'a mut self, model: &'a Model, entry: Entry) -> Work<'a, ()> {
        Box::pin(async move {
            self.compile(model, entry, Deadline::NEVER).await?;
            Ok(())
        })
    }

    /// The same until a deadline, with what the browser compiles of them; whether the kernels are there.
    pub(crate) fn prepare_until<'a>(&'a mut self, model: &'a Model, entry: Entry, end: Deadline) -> Work<'a, bool> {
        let key = (entry, Output::InOrder);
        if self.is_ready(key) {
            return Box::pin(std::future::ready(Ok(true)));
        }
        Box::pin(async move { Ok(self.compile(model, entry, end).await? && self.compile_parts(key, end).await) })
    }

    /// Whether the kernels are there, and the browser has compiled them.
    fn is_ready(&self, key: (Entry, Output)) -> bool {
        self.compiled.get(&key).is_some_and(|compiled| compiled.program.has_compiled_parts())
    }

    /// Makes the browser compile kernels that are there; whether it has done so at the deadline.
    async fn compile_parts(&self, key: (Entry, Output), end: Deadline) -> bool {
        match self.compiled.get(&key) {
            Some(compiled) => compiled.program.compile_parts(end).await,
            None => true,
        }
    }

    async fn compile(&mut self, model: &Model, entry: Entry, end: Deadline) -> Result<bool> {
        let key = (entry, Output::InOrder);
        if self.compiled.get(&key).is_some() {
            return Ok(true);
        }
        let mut plan = |number: usize| {
            let batch = &model.batches[number];
            let (class, rows, title) = (&batch.class, batch.rows, title(model, batch));
            let plan = AccessPlan::new(class, rows, entry, Target::Cpu, &title)?;
            Ok(Planned { plan: plan.for_batch(batch)?, scatter: None, pieces: None })
        };
        self.advance(key, model, end, &mut plan).await
    }

    /// Goes on with kernels of which `plan` makes the plan of a batch. Whether they are there at the deadline.
    async fn advance(
        &mut self,
        key: (Entry, Output),
        model: &Model,
        end: Deadline,
        plan: &mut dyn FnMut(usize) -> Result<Planned>,
    ) -> Result<bool> {
        let mut preparation = self.unfinished.remove(&key).unwrap_or_default();
        let program = preparation.advance(model.batches.len(), end, plan).await?;
        let Some(program) = program else {
            self.unfinished.insert(key, preparation);
            return Ok(false);
        };
        self.compiled.insert(key, Compiled::new(program, model, preparation));
        Ok(true)
    }

    /// Follows a model that has grown. Kernels stay where they are right for more instances, if each batch has the class that it had.
    pub(super) fn grow(&mut self, model: &Model, has_same_kernels: bool) {
        self.unfinished = VecMap::default();
        self.outgrown.retain(|_, compiled| has_same_kernels && compiled.holds_for(model));
        for (key, compiled) in std::mem::take(&mut self.compiled) {
            if !has_same_kernels || !compiled.holds_for(model) {
                continue;
            }
            match key.1 {
                Output::InOrder => self.compiled.insert(key, compiled),
                Output::Scattered => self.outgrown.insert(key.0, compiled),
            };
        }
    }

    /// Gives kernels of a matrix, which the model had before it grew, their new ways into it; whether they hold for these.
    fn take_outgrown(&mut self, entry: Entry, ways: impl Iterator<Item = Way>) -> bool {
        let Some(mut compiled) = self.outgrown.remove(&entry) else { return false };
        let (scatters, pieces): (Vec<Scatter>, Vec<Option<Vec<Piece>>>) = ways.unzip();
        if !scatters.iter().zip(&compiled.scatters).all(|(scatter, before)| scatter.has_kernel_of(before)) {
            return false;
        }
        (compiled.scatters, compiled.pieces) = (scatters, pieces.into_iter().flatten().list());
        self.compiled.insert((entry, Output::Scattered), compiled);
        true
    }

    /// Compiles the kernels of an entry that write into the matrix of a pattern, if that has not been done: there is one pattern for
    /// each entry. Whether they are there at the deadline. `derivatives` are those of the batches, if they are known.
    pub(crate) async fn prepare_scattered(
        &mut self,
        model: &Model,
        entry: Entry,
        partials: &Partials,
        pattern: &Pattern,
        derivatives: &mut [Option<Derivatives>],
        end: Deadline,
    ) -> Result<bool> {
        let key = (entry, Output::Scattered);
        if self.compiled.get(&key).is_some() {
            return Ok(self.is_ready(key) || self.compile_parts(key, end).await);
        }
        let accumulate = pattern.places.iter().map(Vec::len).sum::<usize>() > pattern.col_indices.len();
        let in_rows = |batch: &Batch| matches!(batch.rows, Rows::From(_));
        let in_pieces = entry == Entry::Jacobian && !accumulate && model.batches.iter().all(in_rows);
        let way = |number: usize| {
            let batch = &model.batches[number];
            let first_entry = || pattern.row_offsets[batch.row(0) as usize];
            let in_turn = (in_pieces && batch.count > 0).then(first_entry);
            let (partials, places) = (&partials[number], &pattern.places[number]);
            let mut scatter = Scatter::new(partials, places, batch.count as usize, accumulate, in_turn);
            let pieces = in_pieces.then(|| cut(batch, &mut scatter));
            (scatter, pieces)
        };
        if self.take_outgrown(entry, (0..model.batches.len()).map(way)) {
            return Ok(self.is_ready(key) || self.compile_parts(key, end).await);
        }
        let mut plan = |number: usize| {
            let batch = &model.batches[number];
            let (scatter, pieces) = way(number);
            let known = (&scatter, derivatives.get_mut(number).and_then(Option::take));
            let plan = AccessPlan::scattered(&batch.class, batch.rows, entry, &title(model, batch), known)?;
            Ok(Planned { plan: plan.for_batch(batch)?, scatter: Some(scatter), pieces })
        };
        Ok(self.advance(key, model, end, &mut plan).await? && self.compile_parts(key, end).await)
    }

    /// Why generated code was refused here, if it was.
    pub fn interpreted_because(&self) -> Option<&str> {
        self.compiled.values().find_map(|compiled| compiled.program.interpreted_because())
    }

    pub(crate) async fn values(&mut self, model: &Model, x: &[f64]) -> Result<Vec<f64>> {
        let mut residuals = vec![0.0; model.num_residuals as usize];
        for batch in 0..model.batches.len() {
            let memory = Memory { x, residuals: &mut residuals, ..Memory::default() };
            self.run(model, batch, Entry::Values, memory).await?;
        }
        Ok(residuals)
    }

    pub(crate) async fn gradient(
        &mut self,
        model: &Model,
        objective: Objective,
        x: &[f64],
        seeds: Option<&[f64]>,
    ) -> Result<Evaluation> {
        let mut evaluation = Evaluation { cost: 0.0, gradient: vec![0.0; model.num_params as usize] };
        for (number, batch) in model.batches.iter().enumerate() {
            if !model.blocks[batch.block as usize].enabled {
                continue;
            }
            let seeded = seeds.filter(|_| batch.has_addends());
            let entry = match (objective, seeded) {
                (_, Some(_)) => Entry::SeededGradient,
                (Objective::Sum, None) => Entry::SumGradient,
                (Objective::LeastSquares, None) => Entry::CostGradient,
            };
            let memory = Memory {
                x,
                seeds: seeded.unwrap_or_default(),
                gradient: &mut evaluation.gradient,
                ..Memory::default()
            };
            let total = self.run(model, number, entry, memory).await?;
            if seeded.is_none() {
                evaluation.cost += total;
            }
        }
        Ok(evaluation)
    }

    /// Adds gradients of a part of each batch's instances to `gradient`, for the time that it takes.
    #[cfg(target_arch = "wasm32")]
    pub(crate) async fn try_gradient(
        &mut self,
        model: &Model,
        x: &[f64],
        gradient: &mut [f64],
        part: f64,
    ) -> Result<()> {
        for (number, batch) in model.batches.iter().enumerate() {
            let instances = Some(0..batch.count.min((part * f64::from(batch.count)).ceil() as u32));
            let memory = Memory { x, gradient: &mut *gradient, instances, ..Memory::default() };
            self.run(model, number, Entry::SumGradient, memory).await?;
        }
        Ok(())
    }

    pub(crate) fn partial_columns(&self, model: &Model) -> Result<Vec<Vec<(u32, u32)>>> {
        model
            .batches
            .iter()
            .map(|batch| Ok(AccessPlan::new(&batch.class, batch.rows, Entry::Jacobian, Target::Cpu, "")?.partials))
            .list_or_error()
    }

    /// Gives all residuals and the Jacobian in the order of its pattern, piece by piece with where it begins. `memory` is for them.
    pub(crate) async fn jacobian(
        &mut self,
        model: &Model,
        partials: &Partials,
        pattern: &Pattern,
        x: &[f64],
        memory: &mut Vec<f64>,
        give: Give<'_>,
    ) -> Result<()> {
        self.prepare_scattered(model, Entry::Jacobian, partials, pattern, &mut [], Deadline::NEVER).await?;
        let pieces =
            self.compiled.get(&(Entry::Jacobian, Output::Scattered)).map_or(&[][..], |compiled| &compiled.pieces);
        if pieces.is_empty() {
            let mut residuals = vec![0.0; model.num_residuals as usize];
            self.begin_matrix(Entry::Jacobian, pattern, memory);
            for number in 0..model.batches.len() {
                let memory = Memory { x, residuals: &mut residuals, partials: memory, ..Memory::default() };
                self.run_scattered(model, number, Entry::Jacobian, memory)?;
            }
            give(Part::Residuals, 0, &mut residuals);
            give(Part::Entries, 0, memory);
            return Ok(());
        }
        for (number, (batch, pieces)) in model.batches.iter().zip(pieces).enumerate() {
            let outputs = batch.class.outputs.len();
            for Piece { instances, entries } in pieces {
                let length = entries.len() + outputs * instances.len();
                memory.resize(memory.len().max(length + LINE / size_of::<f64>()), 0.0);
                // Entries first, on a line of the caches: of vectors that are written nearly none crosses to the next.
                let first = memory.as_ptr().align_offset(LINE);
                let (partials, residuals) = memory[first..first + length].split_at_mut(entries.len());
                let instances_alone = Some(instances.clone());
                let memory = Memory { x, residuals, partials, instances: instances_alone, ..Memory::default() };
                self.run_scattered(model, number, Entry::Jacobian, memory)?;
                give(Part::Residuals, batch.row(instances.start as usize) as usize, residuals);
                give(Part::Entries, entries.start, partials);
            }
        }
        Ok(())
    }

    /// Makes room for a matrix that the kernels of an entry are to fill: with zeros, where they add to it.
    pub(crate) fn begin_matrix(&self, entry: Entry, pattern: &Pattern, entries: &mut Vec<f64>) {
        entries.resize(pattern.col_indices.len(), 0.0);
        if self.compiled.get(&(entry, Output::Scattered)).is_some_and(Compiled::accumulates) {
            entries.fill(0.0);
        }
    }

    pub(crate) async fn run(&mut self, model: &Model, number: usize, entry: Entry, memory: Memory<'_>) -> Result<f64> {
        self.prepare(model, entry).await?;
        self.run_prepared(model, number, entry, memory)
    }

    /// Runs a kernel that [`CpuEngine::prepare`] has compiled.
    pub(crate) fn run_prepared(&self, model: &Model, number: usize, entry: Entry, memory: Memory) -> Result<f64> {
        run(self.compiled.get(&(entry, Output::InOrder)), model, number, entry, memory)
    }

    /// What the partials of a batch are whose kernels [`CpuEngine::prepare`] has compiled, see [`AccessPlan::partials`].
    pub(crate) fn partials_of(&self, entry: Entry, batch: usize) -> &[(u32, u32)] {
        self.compiled.get(&(entry, Output::InOrder)).map_or(&[], |compiled| &compiled.partials[batch])
    }

    /// Runs a kernel that [`CpuEngine::prepare_scattered`] has compiled.
    pub(crate) fn run_scattered(&self, model: &Model, number: usize, entry: Entry, memory: Memory) -> Result<f64> {
        let compiled = self.compiled.get(&(entry, Output::Scattered));
        let places = compiled.map_or(&[][..], |compiled| &compiled.scatters[number].places);
        run(compiled, model, number, entry, Memory { places, ..memory })
    }
}

/// Cuts the instances of a batch, whose entries stand in turn, into pieces, and makes their places relative.
fn cut(batch: &Batch, scatter: &mut Scatter) -> Vec<Piece> {
    let (first, width) = (scatter.in_turn.unwrap_or_default(), scatter.width());
    // An even number, so that pairs of instances stay pairs.
    let entries = if are_several() { SHARED_PIECE } else { PIECE };
    let size = (entries as u32 / width.max(1)).max(2) & !1;
    let mut pieces = Vec::new();
    for start in (0..batch.count).step_by(size as usize) {
        let end = batch.count.min(start + size);
        let [from, to] = [start, end].map(|instance| first + instance * width);
        for places in scatter.places.chunks_exact_mut(batch.count as usize) {
            places[start as usize..end as usize].iter_mut().for_each(|place| *place -= from);
        }
        pieces.push(Piece { instances: start..end, entries: from as usize..to as usize });
    }
    pieces
}

/// Runs an entry's kernel for a batch; gives its total.
fn run(compiled: Option<&Compiled>, model: &Model, number: usize, entry: Entry, memory: Memory) -> Result<f64> {
    let compiled = compiled.ok_or_else(|| Error::internal("a kernel was not compiled before it ran"))?;
    let batch = &model.batches[number];
    let batch_constants = batch_constants(model, batch);
    let needs_data = compiled.roles[number].contains(&Role::Data);
    let computed = batch.plain.as_ref().filter(|_| needs_data).map(|plain| plain.at(memory.x, wanted_by(entry)));
    let computed = computed.transpose()?;
    let data = computed.as_deref().unwrap_or(&batch.data);
    let Memory { x, vector, seeds, residuals, gradient, partials, local, places, jtj_blocks, instances } = memory;
    let (mut residuals, mut gradient, mut partials) = (Some(residuals), Some(gradient), Some(partials));
    let (mut local, mut jtj_blocks) = (Some(local), Some(jtj_blocks));
    let twice = || Error::internal("a kernel has two buffers of one role");
    let mut views = Vec::new();
    for role in &compiled.roles[number] {
        views.push(match role {
            Role::Parameters => View::Read(x),
            Role::Indices => View::Index(&batch.indices),
            Role::Data => View::Read(data),
            Role::BatchConstants => View::Read(&batch_constants),
            Role::Tables => View::Read(&model.tables),
            Role::Seeds => View::Read(seeds),
            Role::Residuals => View::Write(residuals.take().ok_or_else(twice)?),
            Role::Gradient => View::Write(gradient.take().ok_or_else(twice)?),
            Role::Partials => View::Write(partials.take().ok_or_else(twice)?),
            Role::Places => View::Index(places),
            Role::JtjBlocks => View::Write(jtj_blocks.take().ok_or_else(twice)?),
            Role::Vector => View::Read(vector),
            Role::Local => match (entry, local.take().ok_or_else(twice)?) {
                (Entry::Trial, local) => View::Read(local),
                (_, local) => View::Write(local),
            },
            Role::AddendValues | Role::LocalGradient | Role::Steps | Role::Others => {
                return Err(Error::internal("a kernel of the GPU's on the CPU"));
            }
        });
    }
    let (first, origin) = match (batch.rows, &instances) {
        (_, Some(instances)) => (0, instances.start),
        (Rows::From(first), None) => (first, 0),
        (Rows::Column(_) | Rows::Addends(_), None) => (0, 0),
    };
    let instances = instances.unwrap_or(0..batch.count);
    let dispatch = InstanceRange { instances, stride: batch.count, first, origin };
    let are_apart = match entry {
        // These write nothing but their total.
        Entry::Trial | Entry::Jvp => true,
        // Each instance writes what is its own alone, unless several have one row or one entry.
        Entry::Values | Entry::Jacobian | Entry::Linearise => !batch.has_addends() && !compiled.accumulates(),
        _ => false,
    };
    if are_apart {
        compiled.program.run_in_pieces(number, &mut views, &dispatch)
    } else {
        compiled.program.run(number, &mut views, &dispatch)
    }
}

/// What an entry reads of a plain function.
fn wanted_by(entry: Entry) -> Wanted {
    match entry {
        Entry::Values | Entry::Trial => Wanted::Residuals,
        _ => Wanted::Derivatives,
    }
}

/// The uniform table of a batch: the head, then the numbers on which all its instances agree.
pub(crate) fn batch_constants(model: &Model, batch: &Batch) -> Vec<f64> {
    let block = &model.blocks[batch.block as usize];
    let loss = &block.loss;
    let head = [block.weight, f64::from(loss.kind as u8), loss.a, loss.b, loss.factor];
    head.into_iter().chain(batch.batch_constants.iter().copied()).list()
}
