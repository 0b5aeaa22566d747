//! Kernels that the host has no generated code for: matrix products, as loops of Rust over the factors where they lie, Fourier transforms, sorts, and linear
//! algebra.
//!
//! Fusion gives factors of the host that are loads with fixed strides, or loads from windows, whose places follow from one place for each row or column
//! and one along the depth; and results without an epilogue. Strides and places are those of the kernel's addresses, found by evaluating them. A product
//! is run in parts, so that the page has turns during a long one.

use residua_base::error::{Error, Result};
use residua_base::list::Listed;
use residua_tensor_loops::{
    BlockScales, Extents, MatrixFactor, Panels, ProductTarget, Quantised, Reals, Scattered, integer_product,
};

use crate::dtype::DType;
use crate::host_fourier;
use crate::host_strides::{Strides, is_linear, places, strides};
use crate::kernel::{Body, Extent, Product, TensorKernel};
use crate::quantised::{BLOCK, Form};
use crate::scalar::{Dequantized, Id, LoadAt, Type, TypedNode};
use crate::{host_linalg, host_sort};

/// Products of two numbers after which a call ends: some milliseconds. Those of integers take longer.
const CALL_WORK: u64 = 1 << 26;
const INTEGER_CALL_WORK: u64 = 1 << 24;

/// Elements of a buffer at the coordinates of a product.
struct Access {
    buffer: u32,
    dtype: DType,
    strides: Strides,
}

/// A factor: its numbers, with strides or in windows, or the words and the side of a quantised one. The strides of the depth are then those of a
/// block and of a record.
enum Operand {
    Numbers(Access),
    Windows { numbers: Access, index: Id },
    Quantised { form: Form, words: Access, side: Access },
}

/// Where the factors and the result of a product lie.
struct Layout {
    /// Extents of the axes of the batch.
    batch: Vec<u32>,
    extents: Extents,
    left: Operand,
    right: Operand,
    result: Access,
    ty: Type,
}

impl Layout {
    /// The layout of a kernel that is a product, for the words of its uniform.
    fn of(kernel: &TensorKernel, words: &[u32]) -> Result<Layout> {
        let Body::Product(product) = &kernel.body else { return Err(Error::internal("a kernel that is no product")) };
        let Product { batch, rows, columns, depth, left, right, elements, .. } = product;
        let extent = |extent: &Extent| extent.of(words);
        let [store] = elements.as_slice() else { return Err(Error::internal("a product with an epilogue")) };
        let axes = batch.len() + 3;
        let access = |(buffer, index): LoadAt, step: u32| {
            let dtype = kernel.buffers[buffer as usize].dtype;
            Ok(Access { buffer, dtype, strides: strides(&kernel.graph, index, words, axes, step)? })
        };
        let operand = |id: Id, outer: usize| match (kernel.graph.node(id), kernel.graph.as_dequantized(id)) {
            (TypedNode::Load { buffer, index }, _) => {
                let numbers = access((buffer, index), 1)?;
                // Fusion leaves windows of reals alone without strides.
                let has_strides = kernel.graph.ty(id) != Type::F32
                    || [outer, axes - 1].iter().all(|axis| is_linear(&kernel.graph, index, *axis));
                Ok(if has_strides { Operand::Numbers(numbers) } else { Operand::Windows { numbers, index } })
            }
            (_, Some(Dequantized { form, word, side, .. })) => {
                Ok(Operand::Quantised { form, words: access(word, BLOCK)?, side: access(side, form.span)? })
            }
            _ => Err(Error::internal("a factor that is not read as it is")),
        };
        let mut layout = Layout {
            batch: batch.iter().map(extent).list(),
            extents: Extents {
                rows: extent(rows) as usize,
                columns: extent(columns) as usize,
                depth: extent(depth) as usize,
            },
            left: operand(*left, axes - 3)?,
            right: operand(*right, axes - 2)?,
            result: access((store.buffer, store.index), 1)?,
            ty: kernel.graph.ty(*left),
        };
        layout.merge_rows();
        Ok(layout)
    }

    /// Makes the innermost axes of the batch rows where all share a right factor: a batch of sentences times a matrix of weights, or the heads
    /// of a group times their keys.
    fn merge_rows(&mut self) {
        // The places of windows are not those of one stride.
        while let (Some(extent), false) = (self.batch.last(), matches!(self.left, Operand::Windows { .. })) {
            let axis = self.batch.len() - 1;
            let rows = self.extents.rows as i64;
            let continues = |access: &Access| {
                let of_axes = &access.strides.of_axes;
                of_axes[axis] == rows * of_axes[axis + 1]
            };
            let is_shared = self.right.parts().iter().all(|access| access.strides.of_axes[axis] == 0);
            if !is_shared || !self.left.parts().into_iter().chain([&self.result]).all(continues) {
                break;
            }
            self.extents.rows *= *extent as usize;
            self.batch.pop();
            let accesses = self.left.parts_mut().into_iter().chain(self.right.parts_mut()).chain([&mut self.result]);
            accesses.for_each(|access| {
                access.strides.of_axes.remove(axis);
            });
        }
    }

    /// The coordinates of a point of the batch, the innermost axis fastest.
    fn point(&self, mut place: usize) -> Vec<u32> {
        let mut point = vec![0; self.batch.len()];
        for (coordinate, extent) in point.iter_mut().zip(&self.batch).rev() {
            *coordinate = (place % *extent as usize) as u32;
            place /= *extent as usize;
        }
        point
    }

    /// The axis of the rows; those of the columns and of the depth follow.
    fn row_axis(&self) -> usize {
        self.batch.len()
    }
}

/// Elements at a point of the batch, with the strides of two axes.
struct Matrix<T> {
    first: *mut T,
    length: usize,
    strides: [usize; 2],
}

impl Access {
    /// The elements from the first of a point on, along two axes of these extents.
    fn matrix<T>(&self, buffers: &[*mut u8], point: &[u32], [a, b]: [(usize, usize); 2]) -> Matrix<T> {
        let Strides { first, of_axes } = &self.strides;
        let steps = point.iter().zip(of_axes).map(|(coordinate, stride)| i64::from(*coordinate) * stride);
        let last = |(axis, extent): (usize, usize)| extent.saturating_sub(1) as i64 * of_axes[axis];
        Matrix {
            first: buffers[self.buffer as usize].cast::<T>().wrapping_add((first + steps.sum::<i64>()) as usize),
            length: (last(a) + last(b)) as usize + 1,
            strides: [of_axes[a.0] as usize, of_axes[b.0] as usize],
        }
    }
}

impl Access {
    /// The elements of windows from the first of a point on.
    ///
    /// # Safety
    /// As for [`run`].
    unsafe fn scattered<'a, T>(
        &self,
        buffers: &[*mut u8],
        point: &[u32],
        [outer, depth]: &'a [Vec<u32>; 2],
    ) -> Scattered<'a, T> {
        let first = self.matrix(buffers, point, [(0, 0), (0, 0)]).first;
        let last = |places: &[u32]| places.iter().copied().max().unwrap_or_default() as usize;
        // SAFETY: by the caller; the farthest place is one of the windows.
        let values = unsafe { std::slice::from_raw_parts(first, last(outer) + last(depth) + 1) };
        Scattered { values, outer, depth }
    }
}

impl<T> Matrix<T> {
    /// The elements, and some after the last.
    ///
    /// # Safety
    /// They are memory that nothing writes.
    unsafe fn slice<'a>(&self, after: usize) -> &'a [T] {
        // SAFETY: by the caller.
        unsafe { std::slice::from_raw_parts(self.first, self.length + after) }
    }

    /// # Safety
    /// The elements are memory that nothing writes.
    unsafe fn factor<'a>(&self) -> MatrixFactor<'a, T> {
        let [outer_stride, depth_stride] = self.strides;
        // SAFETY: by the caller.
        MatrixFactor { values: unsafe { self.slice(0) }, outer_stride, depth_stride }
    }

    /// # Safety
    /// The elements are memory that nothing else reads or writes.
    unsafe fn target<'a>(&self) -> ProductTarget<'a, T> {
        let [row_stride, column_stride] = self.strides;
        // SAFETY: by the caller.
        let values = unsafe { std::slice::from_raw_parts_mut(self.first, self.length) };
        ProductTarget { values, row_stride, column_stride }
    }
}

impl Operand {
    fn parts(&self) -> Vec<&Access> {
        match self {
            Operand::Numbers(numbers) | Operand::Windows { numbers, .. } => vec![numbers],
            Operand::Quantised { words, side, .. } => vec![words, side],
        }
    }

    fn parts_mut(&mut self) -> Vec<&mut Access> {
        match self {
            Operand::Numbers(numbers) | Operand::Windows { numbers, .. } => vec![numbers],
            Operand::Quantised { words, side, .. } => vec![words, side],
        }
    }

    /// Places of windows of rows or columns and along the depth; none of what has strides.
    fn places(&self, kernel: &TensorKernel, words: &[u32], axes: [(usize, usize); 2]) -> Result<[Vec<u32>; 2]> {
        let Operand::Windows { index, .. } = self else { return Ok([Vec::new(), Vec::new()]) };
        let count = axes[1].0 + 1;
        let along = |(axis, extent)| places(&kernel.graph, *index, words, count, axis, extent);
        Ok([along(axes[0])?, along(axes[1])?])
    }

    /// The numbers of a factor at a point of the batch.
    ///
    /// # Safety
    /// As for [`run`].
    unsafe fn reals<'a>(
        &self,
        buffers: &[*mut u8],
        point: &[u32],
        axes: [(usize, usize); 2],
        places: &'a [Vec<u32>; 2],
    ) -> Result<Reals<'a>> {
        // SAFETY: by the caller, for all.
        Ok(match self {
            Operand::Windows { numbers, .. } if numbers.dtype == DType::F16 => {
                Reals::ScatteredHalves(unsafe { numbers.scattered(buffers, point, places) })
            }
            Operand::Windows { numbers, .. } => {
                Reals::ScatteredSingles(unsafe { numbers.scattered(buffers, point, places) })
            }
            Operand::Numbers(values) if values.dtype == DType::F16 => {
                Reals::Halves(unsafe { values.matrix(buffers, point, axes).factor() })
            }
            Operand::Numbers(values) => Reals::Singles(unsafe { values.matrix(buffers, point, axes).factor() }),
            Operand::Quantised { form, words, side } => {
                let [outer, (axis, depth)] = axes;
                let block = BLOCK as usize;
                let record = form.record.max(1) as usize;
                let (blocks, records) = (depth.div_ceil(block), depth.div_ceil(form.span as usize));
                let follow = |access: &Access, elements: u32| access.strides.of_axes[axis] == i64::from(elements);
                if !follow(words, form.block_words()) || !follow(side, record as u32) {
                    return Err(Error::internal("blocks of a quantised factor that do not follow one another"));
                }
                let words: Matrix<u32> = words.matrix(buffers, point, [outer, (axis, blocks)]);
                // The last block and record are as long as the others.
                let (side, side_stride) = if form.is_single {
                    let scales: Matrix<f32> = side.matrix(buffers, point, [outer, (axis, records)]);
                    (BlockScales::Singles(unsafe { scales.slice(0) }), scales.strides[0])
                } else if form.record == 0 {
                    let halves: Matrix<u16> = side.matrix(buffers, point, [outer, (axis, records)]);
                    (BlockScales::Halves(unsafe { halves.slice(0) }), halves.strides[0])
                } else {
                    let words: Matrix<u32> = side.matrix(buffers, point, [outer, (axis, records)]);
                    (BlockScales::Records(unsafe { words.slice(record - 1) }), words.strides[0])
                };
                Reals::Quantised(Quantised {
                    format: **form,
                    words: unsafe { words.slice(form.block_words() as usize - 1) },
                    words_stride: words.strides[0],
                    side,
                    side_stride,
                })
            }
        })
    }
}

/// Memory that products share, one after another or in turns.
#[derive(Default)]
pub struct Workspace {
    panels: Panels,
    transforms: host_fourier::Transforms,
    /// The number of the product that the places are of.
    owner: Option<u32>,
    /// Places of windows of the left and of the right factor.
    places: [[Vec<u32>; 2]; 2],
}

/// What a product has for itself between its parts.
#[derive(Default)]
pub struct Own {
    /// Its number, of all of them so far, by which products know the panels that they share.
    pub number: u32,
    /// How far a sort is.
    pub sort: host_sort::Progress,
}

/// Runs a part of a product, a transform, a sort or linear algebra with the words of its uniform, on memory in binding order: from `part` on, for some milliseconds. Gives
/// where the next part begins, or 0 after the last. Parts are run in order, with the same memory and the same workspace, which other products may
/// use in between: `own` is of this product alone.
///
/// # Safety
/// The words and the memory are those of this kernel, the memory as large as its buffers.
pub unsafe fn run(
    kernel: &TensorKernel,
    words: &[u32],
    buffers: &[*mut u8],
    part: usize,
    workspace: &mut Workspace,
    Own { number: owner, sort: progress }: &mut Own,
) -> Result<usize> {
    let owner = *owner;
    if let Body::Sort(sort) = &kernel.body {
        // SAFETY: by the caller.
        return unsafe { host_sort::run(kernel, sort, words, buffers, part, progress) };
    }
    if let Body::Fourier(fourier) = &kernel.body {
        // SAFETY: by the caller.
        return unsafe { host_fourier::run(kernel, fourier, words, buffers, part, &mut workspace.transforms) };
    }
    if let Body::Linalg(linalg) = &kernel.body {
        // SAFETY: by the caller.
        return unsafe { host_linalg::run(kernel, linalg, words, buffers, part) };
    }
    let layout = Layout::of(kernel, words)?;
    let Extents { rows, columns, depth } = layout.extents;
    let points: usize = layout.batch.iter().map(|extent| *extent as usize).product();
    if points == 0 || rows == 0 || columns == 0 {
        return Ok(0);
    }
    let [row, column, along] = [0, 1, 2].map(|axis| layout.row_axis() + axis);
    let left = [(row, rows), (along, depth)];
    let right = [(column, columns), (along, depth)];
    let result = [(row, rows), (column, columns)];
    let all = rows as u64 * columns as u64 * depth.max(1) as u64;
    let mut place = part;
    if layout.ty != Type::F32 {
        // Each point of the batch is a part. Products of signed integers have the same low words.
        let end = points.min(place + (INTEGER_CALL_WORK / all).max(1) as usize);
        let (Operand::Numbers(left_numbers), Operand::Numbers(right_numbers)) = (&layout.left, &layout.right) else {
            return Err(Error::internal("a quantised factor of a product of integers"));
        };
        for place in place..end {
            let point = layout.point(place);
            // SAFETY: by the caller; the result is no factor's memory.
            unsafe {
                let left = left_numbers.matrix::<u32>(buffers, &point, left).factor();
                let right = right_numbers.matrix::<u32>(buffers, &point, right).factor();
                let mut target = layout.result.matrix::<u32>(buffers, &point, result).target();
                integer_product(layout.extents, left, right, &mut target);
            }
        }
        return Ok(if end == points { 0 } else { end });
    }
    let Workspace { panels, owner: placed, places, .. } = workspace;
    if part == 0 || *placed != Some(owner) {
        *places = [layout.left.places(kernel, words, left)?, layout.right.places(kernel, words, right)?];
        *placed = Some(owner);
    }
    // SAFETY: by the caller.
    let parts = unsafe { layout.product(buffers, &layout.point(0), left, right, places)? }.parts();
    let mut work = 0;
    while place < points * parts {
        let point = layout.point(place / parts);
        // SAFETY: by the caller; the result is no factor's memory.
        let (product, mut target) = unsafe {
            let product = layout.product(buffers, &point, left, right, places)?;
            (product, layout.result.matrix::<f32>(buffers, &point, result).target())
        };
        for part in place % parts..parts {
            product.part(part, &mut target, panels, owner);
            place += 1;
            work += all / parts as u64;
            if work >= CALL_WORK && place < points * parts {
                return Ok(place);
            }
        }
    }
    Ok(0)
}

impl Layout {
    /// # Safety
    /// As for [`run`].
    unsafe fn product<'a>(
        &self,
        buffers: &[*mut u8],
        point: &[u32],
        left: [(usize, usize); 2],
        right: [(usize, usize); 2],
        places: &'a [[Vec<u32>; 2]; 2],
    ) -> Result<residua_tensor_loops::MatrixProduct<'a>> {
        // SAFETY: by the caller.
        unsafe {
            let left = self.left.reals(buffers, point, left, &places[0])?;
            let right = self.right.reals(buffers, point, right, &places[1])?;
            Ok(residua_tensor_loops::MatrixProduct::new(self.extents, left, right))
        }
    }
}

/// The memory of a kernel's buffers and the words of its uniform, from a frame of the facade.
///
/// # Safety
/// The frame is one of this kernel.
pub unsafe fn read_frame<'a>(kernel: &TensorKernel, frame: *const u32) -> (Vec<*mut u8>, &'a [u32]) {
    let buffers = kernel.buffers.len();
    // SAFETY: by the caller.
    let frame = unsafe { std::slice::from_raw_parts(frame, buffers + kernel.sizes.len()) };
    let (addresses, words) = frame.split_at(buffers);
    (addresses.iter().map(|address| *address as usize as *mut u8).list(), words)
}
