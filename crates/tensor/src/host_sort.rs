//! Sorts on the host: a row of keys is copied with its places and sorted by a loop of Rust. A call sorts several rows, or does a step of a long one.

use residua_base::error::{Error, Result};
use residua_base::list::Listed;
use residua_tensor_loops::Sorting;

use crate::host_strides::strides;
use crate::kernel::{Extent, Sort, TensorKernel};
use crate::scalar::TypedNode;

/// Keys that are read, moved or written, after which a call ends: some milliseconds.
const CALL_WORK: usize = if cfg!(test) { 300 } else { 1 << 19 };

/// The row that is sorted.
#[derive(Default)]
pub struct Progress {
    row: usize,
    sorting: Sorting,
    /// How many of its places were written.
    written: usize,
}

/// Goes on with a sort, and gives a number of the next part, or 0 after the last. The first is 0. `progress` holds nothing after the last.
///
/// # Safety
/// The words and the memory are those of this kernel, the memory as large as its buffers.
pub unsafe fn run(
    kernel: &TensorKernel,
    sort: &Sort,
    words: &[u32],
    buffers: &[*mut u8],
    part: usize,
    progress: &mut Progress,
) -> Result<usize> {
    let extent = |extent: &Extent| extent.of(words) as usize;
    let outer: Vec<usize> = sort.outer.iter().map(extent).list();
    let (length, kept) = (extent(&sort.length), extent(&sort.kept));
    let TypedNode::Load { buffer: from, index } = kernel.graph.node(sort.key) else {
        return Err(Error::internal("keys that are not read as they are"));
    };
    let [store] = sort.elements.as_slice() else { return Err(Error::internal("a sort with an epilogue")) };
    let axes = outer.len() + 2;
    let keys = strides(&kernel.graph, index, words, axes, 1)?;
    let places = strides(&kernel.graph, store.index, words, axes, 1)?;
    let (of_place, of_rank) = (keys.of_axes[outer.len()], places.of_axes[outer.len() + 1]);
    let rows: usize = outer.iter().product();
    if part == 0 {
        *progress = Progress::default();
        progress.sorting.begin(length, kept, sort.bits);
    }
    let Progress { row, sorting, written } = progress;
    let mut work = CALL_WORK;
    while *row < rows {
        let (mut rest, mut key, mut place) = (*row, keys.first, places.first);
        for (axis, extent) in outer.iter().enumerate().rev() {
            let coordinate = (rest % extent) as i64;
            rest /= extent;
            key += coordinate * keys.of_axes[axis];
            place += coordinate * places.of_axes[axis];
        }
        let taken = sorting.taken();
        let end = length.min(taken + work);
        let first = buffers[from as usize].cast::<u32>().wrapping_offset((key + taken as i64 * of_place) as isize);
        // SAFETY: by the caller; the kernel reads these elements.
        unsafe { sorting.take(first, of_place as isize, end - taken) };
        work -= end - taken;
        let sorted = if end < length || work == 0 { None } else { sorting.sorted(&mut work) };
        let Some(sorted) = sorted else { return Ok(part + 1) };
        let end = sorted.len().min(*written + work);
        for (rank, pair) in sorted.iter().enumerate().take(end).skip(*written) {
            let element = (place + rank as i64 * of_rank) as usize;
            // SAFETY: by the caller; the kernel writes this element, and no other has it.
            unsafe { buffers[store.buffer as usize].cast::<u32>().add(element).write(pair.1) };
        }
        // A row without keys is some work, too.
        work = (work - (end - *written)).saturating_sub(1);
        *written = end;
        if end == sorted.len() {
            (*row, *written) = (*row + 1, 0);
            sorting.begin(length, kept, sort.bits);
        }
        if work == 0 && *row < rows {
            return Ok(part + 1);
        }
    }
    *progress = Progress::default();
    Ok(0)
}
