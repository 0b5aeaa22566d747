//! Transposed incidence: for each parameter block the local gradients that belong to it.
//!
//! WGSL has no float atomics, so gradients are *gathered*: one thread sums one block over the instances that touch it, in a
//! fixed order, which makes the result bitwise repeatable. A block that very many instances touch (a shared scale, a camera)
//! is summed in segments of at most [`SEGMENT`] whose results are summed again, level by level: no thread is busy for long,
//! and the error grows with the number of levels, not of entries.

use crate::error::{Error, Result};
use crate::list::Listed;
use crate::order;

use super::model::Batch;

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

/// The passes that add the local gradients of a batch's instances `range` to the gradient. Local gradients of a range stand
/// in columns as long as the range.
pub fn gather_passes(batch: &Batch, range: std::ops::Range<usize>, num_params: u32) -> Result<Vec<Pass>> {
    let stride = range.len() as u64;
    let numbers: u64 = batch.class.block_dims.iter().map(|&dim| u64::from(dim)).sum();
    if stride * numbers > u64::from(u32::MAX) {
        return Err(Error::internal(format!(
            "local gradients of {stride} instances with {numbers} numbers each are beyond 32-bit addresses"
        )));
    }
    let of_blocks = &batch.class.block_dims;
    let mut dims: Vec<u32> =
        order::by_key(of_blocks.len(), |block| of_blocks[block]).into_iter().map(|block| of_blocks[block]).list();
    dims.dedup();
    let mut passes = Vec::new();
    for dim in dims {
        let rows = Rows::collect(batch, range.clone(), dim, false, num_params);
        if rows.targets.windows(2).all(|pair| pair[1] - pair[0] >= dim) {
            rows.into_passes(&mut passes);
        } else {
            // Blocks that overlap (a window sliding over scalars) would be written by two threads at once: take each
            // coordinate by itself.
            Rows::collect(batch, range.clone(), dim, true, num_params).into_passes(&mut passes);
        }
    }
    Ok(passes)
}

/// Entries sorted by target.
struct Rows {
    dim: u32,
    offsets: Vec<u32>,
    entries: Vec<u32>,
    targets: Vec<u32>,
}

impl Rows {
    /// All local gradients of blocks of `dim` numbers; with `apart`, each coordinate as a block of its own.
    fn collect(batch: &Batch, range: std::ops::Range<usize>, dim: u32, apart: bool, num_params: u32) -> Rows {
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
        let dim = if apart { 1 } else { dim };
        if count < num_params as usize / 8 {
            // Few entries beside the parameters: sorting them costs less than passing over all parameters.
            let mut keys = Vec::with_capacity(count);
            for (first, addresses) in &columns {
                for (instance, &address) in addresses.iter().enumerate() {
                    keys.extend((0..components).map(|component| {
                        let entry = first + component * stride + instance as u32;
                        u64::from(address + component) << 32 | u64::from(entry)
                    }));
                }
            }
            crate::order::ascending(&mut keys);
            return Rows::of_sorted(dim, keys);
        }
        // Counting sort over the parameters.
        let mut starts = vec![0u32; num_params as usize + 1];
        for (_, addresses) in &columns {
            for &address in *addresses {
                for component in 0..components {
                    starts[(address + component) as usize + 1] += 1;
                }
            }
        }
        let (mut offsets, mut targets) = (vec![0u32], Vec::new());
        let mut sum = 0;
        for parameter in 0..num_params as usize {
            let count = starts[parameter + 1];
            starts[parameter] = sum;
            sum += count;
            if count > 0 {
                targets.push(parameter as u32);
                offsets.push(sum);
            }
        }
        let mut entries = vec![0u32; sum as usize];
        for (first, addresses) in &columns {
            for (instance, &address) in addresses.iter().enumerate() {
                for component in 0..components {
                    let place = &mut starts[(address + component) as usize];
                    entries[*place as usize] = first + component * stride + instance as u32;
                    *place += 1;
                }
            }
        }
        Rows { dim, offsets, entries, targets }
    }

    /// From target and entry in the upper and lower half of ascending numbers.
    fn of_sorted(dim: u32, keys: Vec<u64>) -> Rows {
        let (mut offsets, mut entries, mut targets) = (Vec::new(), Vec::with_capacity(keys.len()), Vec::new());
        for key in keys {
            let target = (key >> 32) as u32;
            if targets.last() != Some(&target) {
                targets.push(target);
                offsets.push(entries.len() as u32);
            }
            entries.push(key as u32);
        }
        offsets.push(entries.len() as u32);
        Rows { dim, offsets, entries, targets }
    }

    fn into_passes(self, passes: &mut Vec<Pass>) {
        let Rows { dim, offsets, entries, targets } = self;
        let mut light = Pass::new(dim, Source::Local, Destination::Gradient);
        let mut heavy: Vec<(u32, &[u32])> = Vec::new();
        for (row, &target) in targets.iter().enumerate() {
            let of_row = &entries[offsets[row] as usize..offsets[row + 1] as usize];
            if of_row.len() <= SEGMENT {
                light.push(of_row.iter().copied(), target);
            } else {
                heavy.push((target, of_row));
            }
        }
        if light.rows() > 0 {
            passes.push(light);
        }
        if heavy.is_empty() {
            return;
        }
        let mut segments = Pass::new(dim, Source::Local, Destination::Scratch(0));
        // For each heavy block the segments that stand for it.
        let mut pending: Vec<(u32, std::ops::Range<u32>)> = Vec::new();
        for (target, of_row) in heavy {
            let from = segments.rows() as u32;
            for segment in of_row.chunks(SEGMENT) {
                segments.push(segment.iter().copied(), segments.rows() as u32 * dim);
            }
            pending.push((target, from..segments.rows() as u32));
        }
        passes.push(segments);
        let mut level = 0;
        while pending.iter().any(|(_, segments)| segments.len() > SEGMENT) {
            let mut pass = Pass::new(dim, Source::Scratch(level), Destination::Scratch(1 - level));
            for (_, segments) in &mut pending {
                let from = pass.rows() as u32;
                for start in segments.clone().step_by(SEGMENT) {
                    let end = (start + SEGMENT as u32).min(segments.end);
                    pass.push((start..end).map(|segment| segment * dim), pass.rows() as u32 * dim);
                }
                *segments = from..pass.rows() as u32;
            }
            passes.push(pass);
            level = 1 - level;
        }
        let mut last = Pass::new(dim, Source::Scratch(level), Destination::Gradient);
        for (target, segments) in pending {
            last.push(segments.map(|segment| segment * dim), target);
        }
        passes.push(last);
    }
}

impl Pass {
    fn new(dim: u32, source: Source, destination: Destination) -> Pass {
        Pass { dim, source, destination, offsets: vec![0], entries: Vec::new(), targets: Vec::new() }
    }

    fn push(&mut self, entries: impl Iterator<Item = u32>, target: u32) {
        self.entries.extend(entries);
        self.offsets.push(self.entries.len() as u32);
        self.targets.push(target);
    }
}
