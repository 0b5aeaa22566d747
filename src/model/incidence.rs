//! Transposed incidence: for each parameter block the local gradients that belong to it.
//!
//! WGSL has no float atomics, so gradients are *gathered*: one thread sums one block over the instances that touch it, in a
//! fixed order, which makes the result bitwise repeatable. A block that very many instances touch (a shared scale, a camera)
//! is summed in segments of at most [`SEGMENT`] whose results are summed again, level by level: no thread is busy for long,
//! and the error grows with the number of levels, not of entries.

use residua_base::list::{Listed, PushAll};
use std::ops::Range;

use residua_base::cooperative::{Slices, run_synchronously};
use residua_base::error::{Error, Result};

use super::batch::Batch;

pub mod fused;

/// The most entries that one thread sums.
pub const SEGMENT: usize = 32;

/// Where a pass reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The local gradients of the batch; components of a block stand a stride apart.
    Local,
    /// Scratch memory 0 or 1; components stand side by side.
    Scratch(u32),
}

/// Where a pass writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination {
    /// The gradient, to which it adds.
    Gradient,
    /// Scratch memory 0 or 1, which it overwrites.
    Scratch(u32),
}

/// One dispatch: row `k` sums the entries `entries[offsets[k]..offsets[k + 1]]` into `targets[k]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pass {
    /// Numbers a block has.
    pub dim: u32,
    /// Where it reads.
    pub source: Source,
    /// Where it writes.
    pub destination: Destination,
    /// One more than rows.
    pub offsets: Vec<u32>,
    /// Addresses of first components in the source.
    pub entries: Vec<u32>,
    /// Addresses of first components in the destination.
    pub targets: Vec<u32>,
}

impl Pass {
    /// Threads that have something to do.
    pub fn rows(&self) -> usize {
        self.targets.len()
    }

    /// Numbers it writes into scratch memory.
    pub fn scratch_len(&self) -> usize {
        match self.destination {
            Destination::Gradient => 0,
            Destination::Scratch(_) => self.rows() * self.dim as usize,
        }
    }
}

/// The passes of [`gather_passes_in_slices`], made at once.
pub fn gather_passes(batch: &Batch, range: Range<usize>, num_params: u32) -> Result<Vec<Pass>> {
    run_synchronously(gather_passes_in_slices(batch, range, num_params, &Slices::unlimited()))
}

/// The passes that add the local gradients of a batch's instances `range` to the gradient. Local gradients of a range stand
/// in columns as long as the range.
pub async fn gather_passes_in_slices(
    batch: &Batch,
    range: Range<usize>,
    num_params: u32,
    slices: &Slices<'_>,
) -> Result<Vec<Pass>> {
    let stride = range.len() as u64;
    let numbers: u64 = batch.class.block_dims.iter().map(|&dim| u64::from(dim)).sum();
    if stride * numbers > u64::from(u32::MAX) {
        return Err(Error::internal(format!(
            "local gradients of {stride} instances with {numbers} numbers each are beyond 32-bit addresses"
        )));
    }
    let of_blocks = &batch.class.block_dims;
    let mut dims = Vec::new();
    for &dim in of_blocks {
        if let Err(place) = dims.binary_search(&dim) {
            dims.insert(place, dim);
        }
    }
    let mut passes = Vec::new();
    for dim in dims {
        let mut rows = Rows::collect(batch, &range, dim, false, num_params, slices).await?;
        if rows.overlap {
            // Blocks that overlap (a window sliding over scalars) would be written by two threads at once: take each
            // coordinate by itself.
            rows = Rows::collect(batch, &range, dim, true, num_params, slices).await?;
        }
        rows.into_passes(&mut passes, slices).await?;
    }
    Ok(passes)
}

/// Entries sorted by target.
struct Rows {
    dim: u32,
    offsets: Vec<u32>,
    entries: Vec<u32>,
    targets: Vec<u32>,
    /// Whether blocks of two targets have numbers in common.
    overlap: bool,
    /// Whether a target has more entries than a thread sums.
    heavy: bool,
}

impl Rows {
    /// All local gradients of blocks of `dim` numbers; with `apart`, each coordinate as a block of its own.
    async fn collect(
        batch: &Batch,
        range: &Range<usize>,
        dim: u32,
        apart: bool,
        num_params: u32,
        slices: &Slices<'_>,
    ) -> Result<Rows> {
        let stride = range.len() as u32;
        let components = if apart { dim } else { 1 };
        let mut first_column = 0;
        let mut columns = Vec::new();
        for (column, &block_dim) in batch.class.block_dims.iter().enumerate() {
            if block_dim == dim {
                columns.push((first_column * stride, &batch.column(column as u32)[range.clone()]));
            }
            first_column += block_dim;
        }
        let count = columns.len() * range.len() * components as usize;
        let mut rows = Rows {
            dim: if apart { 1 } else { dim },
            offsets: vec![0],
            entries: Vec::new(),
            targets: Vec::new(),
            overlap: false,
            heavy: false,
        };
        if count < num_params as usize / 8 {
            // Few entries beside the parameters: sorting them costs less than passing over all parameters.
            let mut keys = Vec::with_capacity(count);
            for (first, addresses) in &columns {
                for (instance, &address) in addresses.iter().enumerate() {
                    keys.push_all((0..components).map(|component| {
                        let entry = first + component * stride + instance as u32;
                        u64::from(address + component) << 32 | u64::from(entry)
                    }));
                }
            }
            keys.sort_unstable();
            rows.fill_from_sorted(&keys);
            return Ok(rows);
        }
        // Counting sort over the parameters.
        let mut starts = slices.zeros(num_params as usize).await?;
        for (_, addresses) in &columns {
            slices
                .for_each(addresses.len(), components as usize, &mut |slice| {
                    let starts = starts.as_mut_slice();
                    for &address in &addresses[slice] {
                        for component in 0..components {
                            starts[(address + component) as usize] += 1;
                        }
                    }
                    Ok(())
                })
                .await?;
        }
        let mut sum = 0;
        slices
            .for_each(starts.len(), 1, &mut |slice| {
                for parameter in slice {
                    let count = std::mem::replace(&mut starts.as_mut_slice()[parameter], sum);
                    if count > 0 {
                        sum += count;
                        rows.add(parameter as u32, sum);
                    }
                }
                Ok(())
            })
            .await?;
        rows.entries = slices.zeros(sum as usize).await?;
        for (first, addresses) in &columns {
            slices
                .for_each(addresses.len(), 2 * components as usize, &mut |slice| {
                    let (starts, entries) = (starts.as_mut_slice(), rows.entries.as_mut_slice());
                    for instance in slice {
                        let address = addresses[instance];
                        for component in 0..components {
                            let place = &mut starts[(address + component) as usize];
                            entries[*place as usize] = first + component * stride + instance as u32;
                            *place += 1;
                        }
                    }
                    Ok(())
                })
                .await?;
        }
        Ok(rows)
    }

    /// Takes target and entry from the upper and lower half of ascending numbers.
    fn fill_from_sorted(&mut self, keys: &[u64]) {
        self.entries = keys.iter().map(|&key| key as u32).list();
        for (position, &key) in keys.iter().enumerate() {
            let target = (key >> 32) as u32;
            let is_last = keys.get(position + 1).is_none_or(|&next| (next >> 32) as u32 != target);
            if is_last {
                self.add(target, position as u32 + 1);
            }
        }
    }

    /// Adds a target, larger than those before, whose entries end at a position.
    #[inline(always)]
    fn add(&mut self, target: u32, end: u32) {
        let (last, start) = (self.targets.last(), self.offsets.last());
        self.overlap |= last.is_some_and(|&last| target - last < self.dim);
        self.heavy |= start.is_some_and(|&start| end - start > SEGMENT as u32);
        self.targets.push(target);
        self.offsets.push(end);
    }

    async fn into_passes(self, passes: &mut Vec<Pass>, slices: &Slices<'_>) -> Result<()> {
        let Rows { dim, offsets, entries, targets, heavy, .. } = self;
        let mut light = Pass::new(dim, Source::Local, Destination::Gradient);
        if !heavy {
            if !targets.is_empty() {
                passes.push(Pass { offsets, entries, targets, ..light });
            }
            return Ok(());
        }
        let of_row = |row: usize| offsets[row] as usize..offsets[row + 1] as usize;
        let mut heavy: Vec<usize> = Vec::new();
        slices
            .for_each(targets.len(), SEGMENT, &mut |slice| {
                for row in slice {
                    let of_row = of_row(row);
                    if of_row.len() <= SEGMENT {
                        light.push(&entries[of_row], targets[row]);
                    } else {
                        heavy.push(row);
                    }
                }
                Ok(())
            })
            .await?;
        if light.rows() > 0 {
            passes.push(light);
        }
        let mut segments = Pass::new(dim, Source::Local, Destination::Scratch(0));
        // For each heavy block the segments that stand for it.
        let mut pending: Vec<(u32, Range<u32>)> = Vec::new();
        for row in heavy {
            let (from, of_row) = (segments.rows() as u32, &entries[of_row(row)]);
            slices
                .for_each(of_row.len().div_ceil(SEGMENT), SEGMENT, &mut |slice| {
                    for segment in slice {
                        let end = of_row.len().min((segment + 1) * SEGMENT);
                        segments.push(&of_row[segment * SEGMENT..end], segments.rows() as u32 * dim);
                    }
                    Ok(())
                })
                .await?;
            pending.push((targets[row], from..segments.rows() as u32));
        }
        passes.push(segments);
        let mut level = 0;
        let addresses = |segments: Range<u32>| segments.map(|segment| segment * dim).list();
        while pending.iter().any(|(_, segments)| segments.len() > SEGMENT) {
            let mut pass = Pass::new(dim, Source::Scratch(level), Destination::Scratch(1 - level));
            for (_, segments) in &mut pending {
                let from = pass.rows() as u32;
                for start in segments.clone().step_by(SEGMENT) {
                    let end = (start + SEGMENT as u32).min(segments.end);
                    pass.push(&addresses(start..end), pass.rows() as u32 * dim);
                }
                *segments = from..pass.rows() as u32;
            }
            passes.push(pass);
            level = 1 - level;
        }
        let mut last = Pass::new(dim, Source::Scratch(level), Destination::Gradient);
        for (target, segments) in pending {
            last.push(&addresses(segments), target);
        }
        passes.push(last);
        Ok(())
    }
}

impl Pass {
    fn new(dim: u32, source: Source, destination: Destination) -> Pass {
        Pass { dim, source, destination, offsets: vec![0], entries: Vec::new(), targets: Vec::new() }
    }

    fn push(&mut self, entries: &[u32], target: u32) {
        self.entries.extend_from_slice(entries);
        self.offsets.push(self.entries.len() as u32);
        self.targets.push(target);
    }
}
