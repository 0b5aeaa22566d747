//! Gradients without local gradients: for each parameter block the list of instances that touch it, computed again for each
//! block, so that nothing is written in between.
//!
//! One thread owns one block. For each of the class's slots that the block can stand in it has a list of *entries*, the
//! instances in which it does stand there; a kernel a slot computes the instance's derivatives by that slot alone, and the
//! thread sums them ([`RecomputeKernel`]). The objective itself is summed where instances are counted once: over the lists of the
//! first slot. What is computed again costs less than the traffic of local gradients where residuals are short
//! ([`pays`]); where a block has very many entries, one thread would be busy for long ([`shapes`]): then local gradients are
//! written and gathered as [`super::incidence`] has it.
//!
//! The table of entries has a column for each of the instance's other blocks, saying where they stand among the parameters, so
//! that no index table is read on the way; and one of instances, where there is data.

use residua_base::cooperative::Slices;
use residua_base::error::{Error, Result};
use residua_base::list::{Listed, PushAll};
use residua_codegen::{CheckedRecompute, Element, Epilogue, Guard, Index, Load, Output, RecomputeKernel, Space, Width};
use residua_ir::autodiff;
use residua_ir::graph::InputId;

use super::batch::{Batch, Rows};
use super::class::Class;
use super::entry_point::Entry;
use super::incidence::{Destination, Pass, Source};
use super::planner::{Planner, UNIFORM_HEAD, vectors};
use super::role::Role;

/// How many operations take as long as a byte of traffic: GPUs do some ten in the time that their memory takes for one.
const OPERATIONS_A_BYTE: u32 = 8;

/// Operations that the kernels of a block may have in all: more take too many registers.
const MOST_OPERATIONS: u32 = 1024;

/// Slots with blocks of one size, which one dispatch serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slots {
    /// Numbers a block has.
    pub dim: u32,
    /// Columns of the index table, ascending.
    pub slots: Vec<u32>,
}

/// The slots of a class by the size of their blocks, ascending; so [`super::incidence::gather_passes`] has them.
pub fn slots_by_dim(class: &Class) -> Vec<Slots> {
    let dims = &class.block_dims;
    let mut groups: Vec<Slots> = Vec::new();
    for (&dim, slot) in dims.iter().zip(0..) {
        let place = groups.partition_point(|group| group.dim < dim);
        match groups.get_mut(place) {
            Some(group) if group.dim == dim => group.slots.push(slot),
            _ => groups.insert(place, Slots { dim, slots: vec![slot] }),
        }
    }
    groups
}

/// A per-block recompute kernel with the meaning of its buffers.
#[derive(Clone, Debug)]
pub struct RecomputePlan {
    /// The kernel.
    pub kernel: CheckedRecompute,
    /// For each of its buffers what it is.
    pub roles: Vec<Role>,
}

impl RecomputePlan {
    /// The kernel that gives an objective's gradient by some slots of a class, and with those that have the first slot the objective. The
    /// entry is that of a gradient.
    pub fn new(class: &Class, entry: Entry, slots: &Slots, title: &str) -> Result<RecomputePlan> {
        RecomputePlan::in_width(class, entry, Width::Single, slots, title)
    }

    /// The same of functions that are computed in numbers of this width.
    pub fn in_width(class: &Class, entry: Entry, width: Width, slots: &Slots, title: &str) -> Result<RecomputePlan> {
        let (kernel, roles) = recompute_kernel(class, entry, entry.width(width), slots, title)?;
        Ok(RecomputePlan { kernel: kernel.check()?, roles })
    }
}

/// Columns of the table of entries.
fn columns(class: &Class) -> u32 {
    class.block_dims.len() as u32 - 1 + u32::from(class.data > 0)
}

/// The kernel of a [`RecomputePlan`], unchecked: where no residual depends on a slot, it sums nothing.
fn recompute_kernel(
    class: &Class,
    entry: Entry,
    width: Width,
    slots: &Slots,
    title: &str,
) -> Result<(RecomputeKernel, Vec<Role>)> {
    let is_sum = match entry {
        Entry::SumGradient | Entry::SumDescent => true,
        Entry::CostGradient | Entry::CostDescent => false,
        _ => return Err(Error::internal("what is not a gradient has no lists")),
    };
    let (mut lists, mut roles) = (Vec::new(), Vec::new());
    for &slot in &slots.slots {
        let mut planner = Planner::bare(class, Rows::From(0), width);
        planner.space = Space::Entries { width: slots.dim };
        planner.graph = class.graph.graph().clone();
        // Lists have the same buffers in the same order, whatever each of them reads.
        let [x, others] = [Role::Parameters, Role::Others].map(|role| planner.buffer(role));
        for local in &class.locals {
            let index = if local.column == slot {
                Index::owned(slots.dim, local.component)
            } else {
                let column = local.column - u32::from(local.column > slot);
                Index::indexed(others, column, local.component)
            };
            planner.load(Load::Read(planner.in_vector(x, index, vectors::PARAMETERS)));
        }
        for of in 0..class.data {
            let buffer = planner.buffer(Role::Data);
            let [index, low] = [of, class.data + of].map(|of| Index::column_of_other(of, others, columns(class) - 1));
            let low = (width == Width::Pair).then_some(low);
            planner.load(Load::Read(Element { buffer, index, low }));
        }
        let batch_constants = planner.buffer(Role::BatchConstants);
        for number in 0..class.batch_constants {
            let element = planner.batch_constant(batch_constants, UNIFORM_HEAD as u32 + number);
            planner.load(Load::Read(element));
        }
        let (total, seeds) = planner.objective(is_sum);
        let own: Vec<(InputId, u32)> = (0u32..)
            .zip(&class.locals)
            .filter(|(_, local)| local.column == slot)
            .map(|(input, local)| (InputId(input), local.component))
            .list();
        let inputs: Vec<InputId> = own.iter().map(|(input, _)| *input).list();
        let gradient = autodiff::gradient(&mut planner.graph, &seeds, &inputs);
        let buffer = planner.buffer(Role::Gradient);
        for ((_, component), partial) in own.into_iter().zip(gradient) {
            let Some(node) = partial else { continue };
            let element = planner.in_vector(buffer, Index::owned(slots.dim, component), vectors::PARAMETERS);
            planner.writes.push(Output { node, epilogue: Epilogue::Accumulate(element) });
        }
        planner.totals.push_all((slot == 0).then_some(total));
        let (kernel, of_list) = planner.into_kernel(entry, title)?;
        roles = of_list;
        lists.push(kernel);
    }
    let mut header = lists.first().map(|list| list.header.clone()).unwrap_or_default();
    header.push(format!("Summed by block of {} number(s): one list for each of {} slot(s).", slots.dim, lists.len()));
    for list in &mut lists {
        list.guard = Guard::None;
        for (buffer, role) in list.buffers.iter_mut().zip(&roles) {
            buffer.written = *role == Role::Gradient;
        }
    }
    let guard = if entry.is_gated() { Guard::Gate } else { Guard::None };
    let name = format!("{}ByBlockOf{}", entry.name(), slots.dim);
    Ok((RecomputeKernel { name, header, guard, lists }, roles))
}

/// An operation in pairs is so many: a sum of pairs has 18 with its guards, a product 12 or 30.
const OPERATIONS_OF_A_PAIR: u32 = 16;

/// Whether computing an instance once for each of its blocks costs less than writing and reading its local gradient, in numbers of this width.
pub fn pays(class: &Class, width: Width) -> Result<bool> {
    let numbers: u32 = class.block_dims.iter().sum();
    // Tables would be the ninth storage buffer of a kernel, and every device has eight.
    if numbers == 0 || class.tables > 0 {
        return Ok(false);
    }
    let (mut all, mut most) = (0, 0);
    for slots in slots_by_dim(class) {
        let (kernel, _) = recompute_kernel(class, Entry::CostGradient, Width::Single, &slots, "")?;
        if !kernel.lists.iter().flat_map(|list| &list.outputs).any(|output| output.element().is_some()) {
            return Ok(false);
        }
        for list in kernel.check()?.lists() {
            let work = list.work();
            all += work;
            most = most.max(work);
        }
    }
    // A local gradient is written once and read once; an entry names the other blocks, where a gather's names itself.
    let blocks = class.block_dims.len() as u32;
    // A pair takes two registers, and its operations some more.
    let (bytes, operations, registers) = match width {
        Width::Single => (8, 1, 1),
        Width::Pair => (16, OPERATIONS_OF_A_PAIR, 4),
    };
    let saved = bytes * numbers + 4 * blocks;
    let added = 4 * blocks * columns(class);
    let again = operations * (all - most);
    Ok(registers * all <= MOST_OPERATIONS && again + OPERATIONS_A_BYTE * added <= OPERATIONS_A_BYTE * saved)
}

/// The lists of a chunk's blocks of one size, without their tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListShape {
    /// Which slots they are of.
    pub slots: Slots,
    /// Where the first block stands among the parameters. The blocks follow one another without a gap.
    pub first: u32,
    /// Blocks, among them such as no instance touches.
    pub owners: u32,
    /// Entries of all lists.
    pub entries: u32,
    /// Columns of the table of entries.
    pub columns: u32,
}

impl ListShape {
    /// Numbers of the offsets: of each block's lists, and the end of the last.
    pub fn offsets(&self) -> u64 {
        u64::from(self.owners) * self.slots.slots.len() as u64 + 1
    }

    /// Numbers of the table of entries.
    pub fn others(&self) -> u64 {
        u64::from(self.columns) * u64::from(self.entries)
    }
}

/// The lists that stand for the gather passes of a batch's instances, one for each size of blocks; none where a block has very
/// many entries, where blocks overlap, or where they lie far apart.
pub async fn shapes(batch: &Batch, passes: &[Pass], slices: &Slices<'_>) -> Result<Option<Vec<ListShape>>> {
    let groups = slots_by_dim(&batch.class);
    if groups.len() != passes.len() {
        return Ok(None);
    }
    let mut shapes = Vec::new();
    for (slots, pass) in groups.into_iter().zip(passes) {
        let Some(shape) = shape(batch, slots, pass) else { return Ok(None) };
        let mut is_aligned = true;
        slices
            .for_each(pass.targets.len(), 2, &mut |range| {
                let aligned = |target: &u32| (target - shape.first).is_multiple_of(shape.slots.dim);
                is_aligned = is_aligned && pass.targets[range].iter().all(aligned);
                Ok(())
            })
            .await?;
        if !is_aligned {
            return Ok(None);
        }
        shapes.push(shape);
    }
    Ok(Some(shapes))
}

/// The lists that stand for a pass, if its targets are a multiple of the blocks' size apart.
fn shape(batch: &Batch, slots: Slots, pass: &Pass) -> Option<ListShape> {
    let dim = slots.dim;
    let (&first, &last) = (pass.targets.first()?, pass.targets.last()?);
    let owners = (last - first) / dim + 1;
    let is_light = pass.source == Source::Local && pass.destination == Destination::Gradient;
    let is_dense = owners as usize / 2 <= pass.targets.len();
    let shape = ListShape { slots, first, owners, entries: pass.entries.len() as u32, columns: columns(&batch.class) };
    let is_small = shape.offsets().max(shape.others()) <= u64::from(u32::MAX) / 4;
    (pass.dim == dim && is_light && is_dense && is_small).then_some(shape)
}

/// The tables of lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListTables {
    /// Owner after owner, for each of its lists where its entries start; last the end of all.
    pub offsets: Vec<u32>,
    /// Column after column.
    pub others: Vec<u32>,
}

/// The tables of lists of a batch's instances `range`; instances are counted from its start.
pub async fn tables(
    batch: &Batch,
    range: std::ops::Range<usize>,
    shape: &ListShape,
    slices: &Slices<'_>,
) -> Result<ListTables> {
    let (dim, count) = (shape.slots.dim, shape.slots.slots.len());
    let place = |address: u32, list: usize| ((address - shape.first) / dim) as usize * count + list;
    let blocks = batch.class.block_dims.len() as u32;
    let columns: Vec<&[u32]> = (0..blocks).map(|slot| &batch.column(slot)[range.clone()]).list();
    // A counting sort; offsets are one place ahead while entries are placed.
    let mut offsets = slices.zeros(shape.offsets() as usize + 1).await?;
    for (list, &slot) in shape.slots.slots.iter().enumerate() {
        slices
            .for_each(range.len(), 2, &mut |slice| {
                for &address in &columns[slot as usize][slice] {
                    offsets[place(address, list) + 2] += 1;
                }
                Ok(())
            })
            .await?;
    }
    let mut sum = 0;
    slices
        .for_each(offsets.len(), 1, &mut |slice| {
            for offset in &mut offsets[slice] {
                sum += *offset;
                *offset = sum;
            }
            Ok(())
        })
        .await?;
    let entries = shape.entries as usize;
    let mut others = slices.zeros(shape.others() as usize).await?;
    for (list, &slot) in shape.slots.slots.iter().enumerate() {
        slices
            .for_each(range.len(), 2 * columns.len(), &mut |slice| {
                for instance in slice {
                    let next = &mut offsets[place(columns[slot as usize][instance], list) + 1];
                    let mut column = *next as usize;
                    *next += 1;
                    for (other, addresses) in columns.iter().enumerate() {
                        if other != slot as usize {
                            others[column] = addresses[instance];
                            column += entries;
                        }
                    }
                    if batch.class.data > 0 {
                        others[column] = instance as u32;
                    }
                }
                Ok(())
            })
            .await?;
    }
    offsets.pop();
    Ok(ListTables { offsets, others })
}
