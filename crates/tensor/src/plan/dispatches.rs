//! The kernels of each group, and the order in which they run.
//!
//! An assignment writes its slot where it is computed, if every kernel that reads the old contents runs before or reads each element where it
//! is written. Otherwise it is written to memory of its own and copied at the end of the run.

use residua_base::error::Result;
use residua_base::list::Listed;

use super::prepare::Prepared;
use crate::expr::{TensorId, TensorOp};
use crate::fuse::attention;
use crate::fuse::build::Built;
use crate::fuse::elements;
use crate::fuse::fourier;
use crate::fuse::group::{Group, RowGroup};
use crate::fuse::groups::{Groups, groups, waits_for};
use crate::fuse::norms::join_norms;
use crate::fuse::rows;
use crate::fuse::scan;
use crate::fuse::siblings::join_siblings;
use crate::fuse::states::Blocks;
use crate::fuse::storage::{Target, stored};
use crate::fuse::{linalg, product, scatter, sort, tile};
use crate::kernel::{Body, TensorBuffer, TensorKernel};
use crate::lower::Memory;
use crate::scalar::{Id, LoadAt};
use crate::size::Size;
use crate::turns;

/// The kernels of a run in order, and what is copied after them.
pub struct Dispatches {
    /// In order.
    pub built: Vec<Built>,
    /// From the memory of a tensor into a slot.
    pub copies: Vec<(TensorId, u32)>,
}

/// Kernels in order, or why there is no order.
pub enum Ordered {
    /// They are in order.
    Dispatches(Dispatches),
    /// Parts of a slot are written, and a kernel needs both what it held before and what is computed from it afterwards.
    Conflict {
        /// Which.
        slot: u32,
    },
}

/// Threads that keep a device busy.
const BUSY_THREADS: i64 = 32_768;
/// Points of a block of a row that is the innermost axis.
const BLOCK: i64 = 4096;
/// Blocks of a row at most, so long as each has the least length.
const MOST_BLOCKS: i64 = 1024;
/// Points of a block of a row whose neighbours are other rows.
const SHORT_BLOCK: i64 = 256;

/// Fuses a recipe and puts its kernels in order.
pub async fn dispatches(prepared: &Prepared, target: &Target, most_dims: &[u32]) -> Result<Ordered> {
    let Prepared { expr, results, assignments } = prepared;
    let roots: Vec<TensorId> = results.iter().copied().chain(assignments.iter().map(|(_, value)| *value)).list();
    let stored = stored(expr, &roots, target, most_dims);
    turns::checkpoint().await;
    let groups = groups(expr, &stored, *target, most_dims).await?;
    let read_elsewhere = groups.read_elsewhere();
    let mut work = Work {
        prepared,
        target,
        most_dims,
        stored: &stored,
        groups: &groups,
        read_elsewhere,
        in_place: Vec::new(),
        scratch: 0,
    };
    // The groups that read the old contents of each slot that is written.
    let mut before = groups.before.clone();
    let mut copies = Vec::new();
    for (slot, value) in assignments {
        turns::checkpoint().await;
        if matches!(expr.tensor(*value).op, TensorOp::SetSlice { slot: Some(_), .. }) {
            if !work.writes_parts_after_reads(*slot, *value, &mut before)? {
                return Ok(Ordered::Conflict { slot: *slot });
            }
            continue;
        }
        let writer = groups.of[value.0 as usize];
        let input = expr
            .nodes
            .iter()
            .position(|tensor| tensor.op == TensorOp::Input(*slot))
            .map(|place| TensorId(place as u32));
        let readers: Vec<usize> = match input {
            None => Vec::new(),
            Some(input) => groups.readers(input).list(),
        };
        let Some(writer) = writer else {
            copies.push((*value, *slot));
            continue;
        };
        // Loops of the host write one place, as does what computes in the memory of its result.
        let is_elsewhere = results.contains(value)
            || work.read_elsewhere[value.0 as usize]
            || assignments.iter().any(|(other, same)| same == value && other != slot);
        let is_loop = match groups.groups[writer] {
            Group::Product { .. } | Group::Sort { .. } | Group::Fourier { .. } => target.is_host,
            Group::Linalg { .. } => true,
            _ => false,
        };
        if is_loop && is_elsewhere {
            copies.push((*value, *slot));
            continue;
        }
        work.in_place.push((*slot, *value));
        let others = readers.iter().copied().filter(|reader| *reader != writer);
        let waits = others.clone().any(|reader| waits_for(&before, reader, writer));
        let fits = !waits && (!readers.contains(&writer) || work.reads_where_it_writes(writer, *slot)?);
        if fits {
            before[writer].extend(others);
        } else {
            work.in_place.pop();
            copies.push((*value, *slot));
        }
    }
    let mut built = Vec::new();
    for group in order(&before) {
        built.extend(work.kernels(group, &copies)?);
        turns::checkpoint().await;
    }
    if !target.is_host {
        built = join_siblings(built, target.most_buffers);
        let is_kept = |id: TensorId| results.contains(&id) || copies.iter().any(|(value, _)| *value == id);
        built = join_norms(built, target.most_buffers, &is_kept, &mut work.scratch);
    }
    Ok(Ordered::Dispatches(Dispatches { built, copies }))
}

/// Groups after all that they wait for, otherwise in their own order.
fn order(before: &[Vec<usize>]) -> Vec<usize> {
    let mut done = vec![false; before.len()];
    let mut order = Vec::with_capacity(before.len());
    for first in 0..before.len() {
        let mut pending = vec![(first, false)];
        while let Some((group, is_ready)) = pending.pop() {
            if done[group] {
                continue;
            }
            if is_ready {
                done[group] = true;
                order.push(group);
            } else {
                pending.push((group, true));
                pending.extend(before[group].iter().rev().filter(|other| !done[**other]).map(|other| (*other, false)));
            }
        }
    }
    order
}

struct Work<'a> {
    prepared: &'a Prepared,
    target: &'a Target,
    most_dims: &'a [u32],
    stored: &'a [bool],
    groups: &'a Groups<'a>,
    /// For each tensor whether a group reads it that does not write it.
    read_elsewhere: Vec<bool>,
    /// Assignments that are written where they are computed.
    in_place: Vec<(u32, TensorId)>,
    /// Pieces of scratch memory so far.
    scratch: u32,
}

impl Work<'_> {
    /// Where a tensor is written.
    fn destinations(&self, id: TensorId, copies: &[(TensorId, u32)]) -> Vec<Memory> {
        if let TensorOp::SetSlice { slot: Some(slot), .. } = self.prepared.expr.tensor(id).op {
            return vec![Memory::Slot(slot)];
        }
        let slots = self.in_place.iter().filter(|(_, value)| *value == id).map(|(slot, _)| Memory::Slot(*slot));
        let mut destinations: Vec<Memory> = slots.list();
        let has_own = self.prepared.results.contains(&id)
            || copies.iter().any(|(value, _)| *value == id)
            || self.read_elsewhere[id.0 as usize];
        if has_own {
            destinations.push(Memory::Tensor(id));
        }
        destinations
    }

    /// Lets each kernel that writes a part of a slot wait for those that read what the slot held before it. Returns false if one of these waits
    /// for it, or if the kernel itself reads other elements of the slot than it writes.
    fn writes_parts_after_reads(&mut self, slot: u32, last: TensorId, before: &mut [Vec<usize>]) -> Result<bool> {
        let expr = &self.prepared.expr;
        let mut part = last;
        while let TensorOp::SetSlice { slot: Some(_), .. } = expr.tensor(part).op {
            let held = expr.tensor(part).operands[0];
            if let Some(writer) = self.groups.of[part.0 as usize] {
                let readers: Vec<usize> = self.groups.readers(held).filter(|group| *group != writer).list();
                if readers.iter().any(|reader| waits_for(before, *reader, writer))
                    || !self.reads_where_it_writes(writer, slot)?
                {
                    return Ok(false);
                }
                before[writer].extend(readers);
            }
            part = held;
        }
        Ok(true)
    }

    /// Whether a group that writes a slot reads it at the same elements alone.
    fn reads_where_it_writes(&mut self, group: usize, slot: u32) -> Result<bool> {
        let scratch = self.scratch;
        let built = self.kernels(group, &[])?;
        self.scratch = scratch;
        Ok(built.iter().all(|built| !writes(built, slot) || reads_in_place(built, slot, self.target.is_host)))
    }

    /// The kernels of a group.
    fn kernels(&mut self, group: usize, copies: &[(TensorId, u32)]) -> Result<Vec<Built>> {
        let expr = &self.prepared.expr;
        let mut scratch = self.scratch;
        let to = |id: TensorId| self.destinations(id, copies);
        let built = match &self.groups.groups[group] {
            Group::Elements { roots } => {
                let block = self.groups.block_axes(roots[0]);
                vec![elements::elements(expr, self.stored, roots, &to, &block, self.target.is_host)?]
            }
            Group::Rows(rows) => match self.blocks_of_rows(group, rows)? {
                None => vec![rows::rows(expr, self.stored, rows, &to, None)?],
                Some(blocks) => {
                    let parts = [rows::Part::Blocks(blocks, scratch), rows::Part::Merge(blocks, scratch)];
                    scratch += rows::state_numbers(expr, &rows.folds)?;
                    let [blocks, merge] = parts.map(|part| rows::rows(expr, self.stored, rows, &to, Some(part)));
                    vec![blocks?, merge?]
                }
            },
            Group::Scan { scans } => match self.blocks_of_scan(scans[0]) {
                None => vec![scan::scan(expr, self.stored, scans, &to, None)?],
                Some(blocks) => {
                    let numbers = rows::state_numbers(expr, &scans[..1])?;
                    let second = scratch + numbers;
                    let parts = [
                        scan::Part::States(blocks, scratch),
                        scan::Part::Before(blocks, scratch, second),
                        scan::Part::Within(blocks, second),
                    ];
                    scratch = second + numbers;
                    let [states, before, within] =
                        parts.map(|part| scan::scan(expr, self.stored, scans, &to, Some(part)));
                    vec![states?, before?, within?]
                }
            },
            Group::Product { product, elements } => {
                let built = product::product(expr, self.stored, *product, elements, &to)?;
                if self.target.is_host { vec![built] } else { tile::tiled(built, self.most_dims, &mut scratch) }
            }
            Group::Sort { sort, elements } => {
                vec![sort::sort(expr, self.stored, *sort, elements, &to, self.most_dims)?]
            }
            Group::Fourier { fourier, elements } => {
                vec![fourier::fourier(expr, self.stored, *fourier, elements, &to, self.target.is_host)?]
            }
            Group::DigitCounts { counts } => vec![sort::counts(expr, self.stored, *counts, &to)?],
            Group::Linalg { linalg } => linalg::linalg(expr, self.stored, *linalg, &to, self.most_dims, &mut scratch)?,
            Group::Attention { attention } => {
                attention::attention(expr, self.stored, *attention, &to, self.most_dims, &mut scratch)?
            }
            Group::Scatter { scatter } => vec![scatter::scatter(expr, self.stored, *scatter, &to)?],
        };
        self.scratch = scratch;
        Ok(built)
    }

    /// How a group of reductions is cut, if it has too few rows to keep a device busy and they are long. Reductions that need others' results
    /// are not cut: their rows are short. Neither are those whose states need more buffers than a kernel has.
    fn blocks_of_rows(&self, group: usize, rows: &RowGroup) -> Result<Option<Blocks>> {
        if self.target.is_host || !rows.elements.is_empty() || rows.is_of_ranges(&self.prepared.expr) {
            return Ok(None);
        }
        let row = Size::product(&rows.row()).at(self.most_dims);
        let outer = Size::product(&rows.outer()).at(self.most_dims).max(1);
        let (length, threads) = if rows.is_innermost() { (BLOCK, 256 * outer) } else { (SHORT_BLOCK, outer) };
        let is_dependent = rows.folds.len() > 1 && self.has_dependent_folds(rows);
        if threads >= BUSY_THREADS || row < 2 * length || is_dependent || !self.groups.states_fit(group)? {
            return Ok(None);
        }
        // At most as many blocks as run at once on a large device: longer ones keep more reads under way.
        let length = length.max(row.div_euclid(MOST_BLOCKS * length) * length);
        Ok(Some(Blocks { count: (row + length - 1).div_euclid(length) as u32, length: length as u32 }))
    }

    fn has_dependent_folds(&self, rows: &RowGroup) -> bool {
        let expr = &self.prepared.expr;
        let mut pending: Vec<TensorId> =
            rows.folds.iter().flat_map(|fold| expr.tensor(*fold).operands.iter().copied()).list();
        let mut seen = vec![false; expr.nodes.len()];
        while let Some(id) = pending.pop() {
            if rows.folds.contains(&id) {
                return true;
            }
            if !std::mem::replace(&mut seen[id.0 as usize], true) && !self.stored[id.0 as usize] {
                pending.extend(&expr.tensor(id).operands);
            }
        }
        false
    }

    /// How a scan is cut: a device takes so many points in a workgroup.
    fn blocks_of_scan(&self, id: TensorId) -> Option<Blocks> {
        let tensor = self.prepared.expr.tensor(id);
        let (TensorOp::Scan { axis, .. } | TensorOp::ScanBy { axis, .. }) = tensor.op else { return None };
        let length = tensor.shape[axis as usize].at(self.most_dims);
        if self.target.is_host || length <= BLOCK {
            return None;
        }
        Some(Blocks { count: (length + BLOCK - 1).div_euclid(BLOCK) as u32, length: BLOCK as u32 })
    }
}

/// Whether a kernel writes a slot.
fn writes(built: &Built, slot: u32) -> bool {
    let of_slot = |(memory, buffer): (&Memory, &TensorBuffer)| *memory == Memory::Slot(slot) && buffer.written;
    built.memories.iter().zip(&built.kernel.buffers).any(of_slot)
}

/// Whether a kernel reads a slot that it writes only at the elements that the same point writes.
fn reads_in_place(built: &Built, slot: u32, is_host: bool) -> bool {
    let Some(buffer) = built.memories.iter().position(|memory| *memory == Memory::Slot(slot)) else { return true };
    let buffer = buffer as u32;
    let TensorKernel { graph, body, .. } = &built.kernel;
    let stores = match body {
        Body::Elements(body) => &body.stores,
        // Results are written after all reads of their row, but for those of elements.
        Body::Rows(rows) if rows.elements.is_empty() => &rows.results,
        Body::Rows(rows) => &rows.elements,
        Body::Scan(scan) => &scan.elements,
        Body::Product(product) => &product.elements,
        // They are joined after this is asked.
        Body::Products(_) | Body::Sequence(_) | Body::Maps(_) => return false,
        Body::Sort(sort) => &sort.elements,
        Body::DigitCounts(counts) => &counts.elements,
        Body::DigitSort(sort) => &sort.elements,
        // Many threads read what gives an element of the result, and all of a row before its transform is written.
        Body::Attention(_) | Body::Fourier(_) | Body::Linalg(_) | Body::Turns(_) => return false,
    };
    let indices: Vec<Id> = stores.iter().filter(|store| store.buffer == buffer).map(|store| store.index).list();
    // A thread of a device computes all elements of its block before it writes them.
    let is_one = (!is_host && matches!(body, Body::Elements(_))) || indices.windows(2).all(|pair| pair[0] == pair[1]);
    let is_in_place = |(of, read): LoadAt| of != buffer || indices.contains(&read);
    !indices.is_empty() && is_one && graph.loads(graph.ids()).into_iter().all(is_in_place)
}
