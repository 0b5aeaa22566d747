//! Linear algebra on the host: matrices are read, factored in double precision by a loop of Rust, and rounded where they are written.

use residua_base::error::{Error, Result};
use residua_base::list::Listed;
use residua_tensor_loops::sparse;

use crate::expr::Linalg as Kind;
use crate::host_strides::{Strides, strides};
use crate::kernel::{Extent, Linalg, TensorKernel};
use crate::scalar::{Id, TypedNode};

/// Products of two numbers after which a call ends: some milliseconds.
const CALL_WORK: usize = 1 << 23;

/// Elements of a buffer at coordinates of the batch and of a matrix.
struct Access {
    buffer: usize,
    strides: Strides,
    /// The axis of the rows; the next one is that of the columns.
    axis: usize,
}

impl Access {
    /// The address of an element of the matrix that is at a place of the batch.
    fn address(&self, batch: i64, row: usize, column: usize) -> usize {
        let Strides { first, of_axes } = &self.strides;
        (first + batch + row as i64 * of_axes[self.axis] + column as i64 * of_axes[self.axis + 1]) as usize
    }

    fn of_batch(&self, point: &[usize]) -> i64 {
        point.iter().zip(&self.strides.of_axes).map(|(at, stride)| *at as i64 * stride).sum()
    }
}

/// Runs a kernel from a matrix of the batch on, and gives that where the next part begins, or 0 after the last.
///
/// # Safety
/// The words and the memory are those of this kernel, the memory as large as its buffers.
pub unsafe fn run(
    kernel: &TensorKernel,
    linalg: &Linalg,
    words: &[u32],
    buffers: &[*mut u8],
    part: usize,
) -> Result<usize> {
    let extent = |extent: &Extent| extent.of(words) as usize;
    let batch: Vec<usize> = linalg.batch.iter().map(extent).list();
    let [rows, columns, width] = [linalg.rows, linalg.columns, linalg.width].map(|of| extent(&of));
    let [height, length] = [linalg.height, linalg.length].map(|of| extent(&of));
    let first = batch.len();
    let axes = first + Kind::AXES;
    let access = |buffer: u32, index: Id, axis: usize| -> Result<Access> {
        let strides = strides(&kernel.graph, index, words, axes, 1)?;
        Ok(Access { buffer: buffer as usize, strides, axis })
    };
    let read = |id: Id, axis: usize| match kernel.graph.node(id) {
        TypedNode::Load { buffer, index } => access(buffer, index, axis),
        _ => Err(Error::internal("a matrix that is not read as it is")),
    };
    let a = read(linalg.matrix, first)?;
    if let (Some(values), Some((pattern, length))) = (linalg.second, linalg.pattern) {
        let (values, pattern) = (read(values, first + 2)?, read(pattern, first + 2)?);
        let [store] = linalg.elements.as_slice() else { return Err(Error::internal("a system with an epilogue")) };
        let to = access(store.buffer, store.index, first + 4)?;
        // SAFETY: by the caller; the kernel reads and writes these elements.
        let number = |of: &Access, row: usize, column: usize| unsafe {
            f64::from(buffers[of.buffer].cast::<f32>().add(of.address(0, row, column)).read())
        };
        let values = (0..width).map(|place| number(&values, place, 0)).list();
        // SAFETY: likewise.
        let word = |place| unsafe { buffers[pattern.buffer].cast::<u32>().add(pattern.address(0, 0, place)).read() };
        let pattern = (0..extent(&length)).map(word).list();
        let mut x: Vec<f64> = (0..rows * columns).map(|place| number(&a, place / columns, place % columns)).list();
        sparse::solve(&pattern, &values, &mut x, columns);
        for (place, x) in x.iter().enumerate() {
            // SAFETY: likewise.
            unsafe {
                buffers[to.buffer].cast::<f32>().add(to.address(0, place / columns, place % columns)).write(*x as f32)
            };
        }
        return Ok(0);
    }
    let b = linalg.second.map(|second| read(second, first + 2)).transpose()?;
    let [store] = linalg.elements.as_slice() else { return Err(Error::internal("linear algebra with an epilogue")) };
    let to = access(store.buffer, store.index, first + 4)?;
    let count: usize = batch.iter().product();
    let work = rows.max(1) * columns.max(1) * rows.max(columns).max(width).max(1);
    let end = count.min(part + (CALL_WORK / work).max(1));
    for matrix in part..end {
        let mut point = vec![0; first];
        let mut rest = matrix;
        for (coordinate, extent) in point.iter_mut().zip(&batch).rev() {
            (*coordinate, rest) = (rest % extent, rest / extent);
        }
        let elements = |access: &Access, rows: usize, columns: usize| -> Vec<f64> {
            let (memory, batch) = (buffers[access.buffer].cast::<f32>(), access.of_batch(&point));
            let mut numbers = Vec::with_capacity(rows * columns);
            for row in 0..rows {
                for column in 0..columns {
                    // SAFETY: by the caller; the kernel reads this element.
                    numbers.push(f64::from(unsafe { memory.add(access.address(batch, row, column)).read() }));
                }
            }
            numbers
        };
        let of_a = elements(&a, rows, columns);
        let of_b = b.as_ref().map(|b| elements(b, rows, width)).unwrap_or_default();
        let result = linalg.kind.computed([rows, columns, width], of_a, of_b);
        let (memory, batch) = (buffers[to.buffer].cast::<f32>(), to.of_batch(&point));
        for row in 0..height {
            for column in 0..length {
                let number = result[row * length + column] as f32;
                // SAFETY: by the caller; the kernel writes this element, and no other has it.
                unsafe { memory.add(to.address(batch, row, column)).write(number) };
            }
        }
    }
    Ok(if end >= count { 0 } else { end })
}
