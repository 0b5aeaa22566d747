//! Sorts on the host: a row of keys is copied with its places and sorted by a loop of Rust.

use residua_base::error::{Error, Result};
use residua_base::list::Listed;
use residua_tensor_loops::smallest;

use crate::host_strides::strides;
use crate::kernel::{Extent, Kernel, Sort};
use crate::scalar::Node;

/// Keys after which a call ends: some milliseconds.
const CALL_KEYS: usize = 1 << 17;

/// Runs a sort from a row on, and gives the row where the next part begins, or 0 after the last.
///
/// # Safety
/// The words and the memory are those of this kernel, the memory as large as its buffers.
pub unsafe fn run(kernel: &Kernel, sort: &Sort, words: &[u32], buffers: &[*mut u8], part: usize) -> Result<usize> {
    let extent = |extent: &Extent| extent.of(words) as usize;
    let outer: Vec<usize> = sort.outer.iter().map(extent).list();
    let (length, kept) = (extent(&sort.length), extent(&sort.kept));
    let Node::Load { buffer: from, index } = kernel.graph.node(sort.key) else {
        return Err(Error::internal("keys that are not read as they are"));
    };
    let [store] = sort.elements.as_slice() else { return Err(Error::internal("a sort with an epilogue")) };
    let axes = outer.len() + 2;
    let keys = strides(&kernel.graph, index, words, axes, 1)?;
    let places = strides(&kernel.graph, store.index, words, axes, 1)?;
    let (of_place, of_rank) = (keys.of_axes[outer.len()], places.of_axes[outer.len() + 1]);
    let rows: usize = outer.iter().product();
    let end = rows.min(part + (CALL_KEYS / length.max(1)).max(1));
    let mut pairs: Vec<(u32, u32)> = Vec::with_capacity(length);
    let mut spare: Vec<(u32, u32)> = Vec::new();
    for row in part..end {
        let (mut rest, mut key, mut place) = (row, keys.first, places.first);
        for (axis, extent) in outer.iter().enumerate().rev() {
            let coordinate = (rest % extent) as i64;
            rest /= extent;
            key += coordinate * keys.of_axes[axis];
            place += coordinate * places.of_axes[axis];
        }
        pairs.clear();
        for at in 0..length {
            let element = (key + at as i64 * of_place) as usize;
            // SAFETY: by the caller; the kernel reads this element.
            let key = unsafe { buffers[from as usize].cast::<u32>().add(element).read() };
            pairs.push((key, at as u32));
        }
        smallest(&mut pairs, kept, sort.bits, &mut spare);
        for (rank, pair) in pairs[..kept.min(length)].iter().enumerate() {
            let element = (place + rank as i64 * of_rank) as usize;
            // SAFETY: by the caller; the kernel writes this element, and no other has it.
            unsafe { buffers[store.buffer as usize].cast::<u32>().add(element).write(pair.1) };
        }
    }
    Ok(if end == rows { 0 } else { end })
}
