//! The transposed incidence of all chunks of a model at once: for each block that is solved for, the entries of all their local tables that
//! belong to it, so that one thread can sum a block whatever residuals touch it.
//!
//! Takes a model, its chunks, and of how many numbers the blocks of each array are; gives lists by block. An entry is a *slot* (a block
//! slot of a chunk, or one number of one where blocks are single numbers) and, in its low bits, an instance. Blocks with more than
//! [`MOST_LIGHT`] entries have empty lists and are summed by passes of their own, as those of one batch are.

use std::ops::Range;

use crate::model::Model;
use residua_base::cooperative::Slices;
use residua_base::error::Result;

use super::{Pass, Rows};

/// The most entries of a list: so many are sooner summed by one thread than by two dispatches more.
pub const MOST_LIGHT: u32 = 64;

/// Neighbouring columns of a chunk's local table, as many as a block has numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Position of the chunk.
    pub chunk: usize,
    /// The first of the columns.
    pub column: u32,
}

/// Lists of entries by block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FusedIncidence {
    /// How many low bits of an entry are its instance; those above are its slot.
    pub instance_bits: u32,
    /// The slots of all chunks.
    pub slots: Vec<Slot>,
    /// Where each block's entries start, block after block in the order of the parameters, and the end of the last's.
    pub offsets: Vec<u32>,
    /// What offsets point to: ascending for each block.
    pub entries: Vec<u32>,
    /// How blocks with too many entries are summed; sources in local tables are entries of this kind.
    pub heavy: Vec<Pass>,
}

/// A batch and which of its instances, for each chunk.
pub type Chunks<'a> = &'a [(usize, Range<usize>)];

/// Makes the lists of a model whose arrays have blocks of so many numbers; none if 32 bits don't suffice for an entry, or residuals take
/// parts of blocks.
pub async fn fused_incidence(
    model: &Model,
    chunks: Chunks<'_>,
    numbers: &[u32],
    slices: &Slices<'_>,
) -> Result<Option<FusedIncidence>> {
    let Some((slots, sources)) = slots_of(model, chunks, numbers) else { return Ok(None) };
    let longest = chunks.iter().map(|(_, range)| range.len()).max().unwrap_or(0) as u64;
    let instance_bits = u64::BITS - longest.saturating_sub(1).leading_zeros();
    if instance_bits > 31 || (slots.len() as u64) << instance_bits > u64::from(u32::MAX) {
        return Ok(None);
    }
    let mut starts = vec![0; model.num_params as usize];
    let mut all = 0;
    for (addresses, component) in &sources {
        all += addresses.len();
        addresses.iter().for_each(|&address| starts[(address + component) as usize] += 1);
        slices.checkpoint(0.0).await?;
    }

    // Where each block's entries go: first those of the light ones, which are counted on the way.
    let (mut offsets, mut sum) = (vec![0], 0);
    let mut heavy: Vec<(u32, u32, u32)> = Vec::new();
    for (array, &dim) in model.arrays.iter().zip(numbers).filter(|(array, _)| array.dim > 0) {
        for first in (array.offset..array.offset + array.count * array.dim).step_by(dim as usize) {
            let count = std::mem::replace(&mut starts[first as usize], sum);
            if count > MOST_LIGHT {
                heavy.push((first, count, dim));
            } else {
                sum += count;
            }
            offsets.push(sum);
        }
        slices.checkpoint(0.0).await?;
    }
    let light = sum as usize;
    for &(first, count, _) in &heavy {
        starts[first as usize] = sum;
        sum += count;
    }
    if sum as usize != all {
        return Ok(None);
    }
    let mut entries = vec![0; all];
    for (slot, (addresses, component)) in (0u32..).zip(&sources) {
        for (instance, &address) in (0u32..).zip(*addresses) {
            let place = &mut starts[(address + component) as usize];
            entries[*place as usize] = slot << instance_bits | instance;
            *place += 1;
        }
        slices.checkpoint(0.0).await?;
    }
    let passes = heavy_passes(&heavy, &entries[light..], slices).await?;
    entries.truncate(light);
    Ok(Some(FusedIncidence { instance_bits, slots, offsets, entries, heavy: passes }))
}

/// Addresses of blocks, and which number of the block is meant.
type Source<'a> = (&'a [u32], u32);

/// All slots, and for each where its numbers belong.
fn slots_of<'a>(model: &'a Model, chunks: Chunks<'_>, numbers: &[u32]) -> Option<(Vec<Slot>, Vec<Source<'a>>)> {
    let (mut slots, mut sources) = (Vec::new(), Vec::new());
    for (chunk, (batch, range)) in chunks.iter().enumerate() {
        let batch = &model.batches[*batch];
        let mut column = 0;
        for (position, &dim) in (0u32..).zip(&batch.class.block_dims) {
            let addresses = &batch.column(position)[range.clone()];
            // The blocks of a slot are all of one array.
            if let Some(&first) = addresses.first() {
                let array = model.arrays.iter().position(|array| {
                    first >= array.offset && first - array.offset < array.count.saturating_mul(array.dim)
                })?;
                let numbers = numbers[array];
                if numbers != dim && numbers != 1 {
                    return None;
                }
                for component in (0..dim).step_by(numbers as usize) {
                    slots.push(Slot { chunk, column: column + component });
                    sources.push((addresses, component));
                }
            }
            column += dim;
        }
    }
    Some((slots, sources))
}

/// Passes over entries that stand one block after another, for blocks (first parameter, entries, numbers), all blocks of one size together.
async fn heavy_passes(heavy: &[(u32, u32, u32)], entries: &[u32], slices: &Slices<'_>) -> Result<Vec<Pass>> {
    let mut dims: Vec<u32> = Vec::new();
    for &(.., dim) in heavy {
        if !dims.contains(&dim) {
            dims.push(dim);
        }
    }
    let mut passes = Vec::new();
    for dim in dims {
        let mut rows =
            Rows { dim, offsets: vec![0], entries: Vec::new(), targets: Vec::new(), overlap: false, heavy: true };
        let mut start = 0;
        for &(target, count, of) in heavy {
            let end = start + count as usize;
            if of == dim {
                rows.entries.extend_from_slice(&entries[start..end]);
                rows.targets.push(target);
                rows.offsets.push(rows.entries.len() as u32);
            }
            start = end;
        }
        rows.into_passes(&mut passes, slices).await?;
    }
    Ok(passes)
}
