//! Splitting a batch whose tables are larger than a device binds at once.

use residua_base::list::Listed;
use std::ops::Range;

use residua_base::error::{Error, ErrorCode, Result};

use super::batch::Batch;
use super::least_squares::LocalTable;
use super::planner::Target;
use residua_codegen::Width;

/// The most that a chunk may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkLimits {
    /// Bytes that one binding may cover.
    pub binding_bytes: u64,
    /// Instances, if the user set a limit.
    pub instances: Option<u32>,
    /// In how many numbers data, residuals and gradients are held.
    pub width: Width,
}

/// The ranges of instances to which the limits split a batch of which each instance has `partials` local partials.
pub fn chunk_ranges(batch: &Batch, partials: usize, limits: ChunkLimits) -> Result<Vec<Range<usize>>> {
    let count = batch.count as usize;
    let class = &batch.class;
    let index_columns = batch.indices.len().checked_div(count).unwrap_or(0);
    let locals: usize = class.block_dims.iter().map(|&dim| dim as usize).sum();
    // Every table is columns of four bytes an instance; the widest decides. The gather's offsets have one entry more than
    // rows, so one instance is kept in reserve.
    let table = if batch.has_addends() { 0 } else { LocalTable::of(class).columns(Target::Gpu) as usize };
    // Of each pair, a low part: of the local table's, gradient and residuals are.
    let (pairs, low) = match limits.width {
        Width::Single => (1, 0),
        Width::Pair => (2, locals + class.outputs.len()),
    };
    let widths = [class.data as usize, locals, partials, class.outputs.len()].map(|columns| pairs * columns);
    let widest = widths.into_iter().chain([index_columns, table + low]).max().unwrap_or(1);
    // Residuals are bound from an aligned place before them: up to 256 bytes more.
    let binding_bytes = limits.binding_bytes.saturating_sub(256);
    let fitting = (binding_bytes / (4 * widest.max(1) as u64)).saturating_sub(1);
    let fitting = fitting.min(u64::from(limits.instances.unwrap_or(u32::MAX))) as usize;
    if fitting == 0 {
        return Err(Error::new(
            ErrorCode::LimitExceeded,
            format!(
                "one instance of a residual takes {} bytes in a table; the device's maxStorageBufferBindingSize is {}",
                4 * widest,
                limits.binding_bytes
            ),
        ));
    }
    let chunks = count.div_ceil(fitting).max(1);
    let each = count.div_ceil(chunks).max(1);
    Ok((0..count).step_by(each).map(|start| start..(start + each).min(count)).list())
}

/// The columns of a table for a range of its instances.
pub fn columns_of<T>(table: &[T], count: usize, range: Range<usize>) -> Vec<&[T]> {
    table.chunks_exact(count.max(1)).map(|column| &column[range.clone()]).list()
}

/// The same, beside each other.
pub fn slice_columns<T: Copy>(table: &[T], count: usize, range: Range<usize>) -> Vec<T> {
    let mut numbers = Vec::new();
    columns_of(table, count, range).into_iter().for_each(|column| numbers.extend_from_slice(column));
    numbers
}
