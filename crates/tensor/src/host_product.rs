//! Matrix products on the host: loops of Rust over the factors where they lie.
//!
//! Fusion gives factors of the host that are loads with fixed strides, and results without an epilogue. The strides are those of the kernel's
//! addresses, found by evaluating them one step along each axis.

use residua_base::error::{Error, Result};
use residua_tensor_loops::{Extents, Factor, Target, integer_product, product};

use crate::kernel::{Body, Extent, Kernel, Product};
use crate::scalar::{Graph, Id, Node, Type, fold};

/// An address as a sum: the first element and the stride of each axis.
struct Strides {
    first: i64,
    of_axes: Vec<i64>,
}

/// Where the factors and the result of a product lie.
pub struct Layout {
    /// Extents of the axes of the batch.
    batch: Vec<u32>,
    extents: Extents,
    /// Buffers of the left factor, the right factor and the result.
    buffers: [u32; 3],
    strides: [Strides; 3],
    ty: Type,
}

impl Layout {
    /// The layout of a kernel that is a product, for the words of its uniform.
    pub fn of(kernel: &Kernel, words: &[u32]) -> Result<Layout> {
        let Body::Product(product) = &kernel.body else { return Err(Error::internal("a kernel that is no product")) };
        let Product { batch, rows, columns, depth, left, right, elements, .. } = product;
        let extent = |extent: &Extent| match extent {
            Extent::Known(number) => *number,
            Extent::Word(word) => words[*word as usize],
        };
        let [store] = elements.as_slice() else { return Err(Error::internal("a product with an epilogue")) };
        let load = |id: &Id| match kernel.graph.node(*id) {
            Node::Load { buffer, index } => Ok((buffer, index)),
            _ => Err(Error::internal("a factor that is not read as it is")),
        };
        let ((left_buffer, left_index), (right_buffer, right_index)) = (load(left)?, load(right)?);
        let axes = batch.len() + 3;
        let strides = |index: Id| strides(&kernel.graph, index, words, axes);
        Ok(Layout {
            batch: batch.iter().map(extent).collect(),
            extents: Extents {
                rows: extent(rows) as usize,
                columns: extent(columns) as usize,
                depth: extent(depth) as usize,
            },
            buffers: [left_buffer, right_buffer, store.buffer],
            strides: [strides(left_index)?, strides(right_index)?, strides(store.index)?],
            ty: kernel.graph.ty(*left),
        })
    }

    /// Every point of the batch.
    fn points(&self) -> Vec<Vec<u32>> {
        let mut points = vec![Vec::new()];
        for extent in &self.batch {
            points = points
                .into_iter()
                .flat_map(|point: Vec<u32>| {
                    (0..*extent).map(move |coordinate| {
                        let mut point = point.clone();
                        point.push(coordinate);
                        point
                    })
                })
                .collect();
        }
        points
    }
}

/// The strides of an address that is a sum of multiples of coordinates.
fn strides(graph: &Graph, index: Id, words: &[u32], axes: usize) -> Result<Strides> {
    let mut at = vec![0u32; axes];
    let origin = evaluate(graph, index, words, &at)?;
    let mut of_axes = Vec::with_capacity(axes);
    for axis in 0..axes {
        at[axis] = 1;
        of_axes.push(i64::from(evaluate(graph, index, words, &at)?.wrapping_sub(origin) as i32));
        at[axis] = 0;
    }
    Ok(Strides { first: i64::from(origin), of_axes })
}

/// The value of an address at a point.
fn evaluate(graph: &Graph, root: Id, words: &[u32], at: &[u32]) -> Result<u32> {
    let mut values: Vec<u32> = Vec::with_capacity(root.index() + 1);
    for id in graph.ids().take(root.index() + 1) {
        values.push(match graph.node(id) {
            Node::Literal(_, bits) => bits,
            Node::Coordinate(axis) => at.get(axis as usize).copied().unwrap_or_default(),
            Node::Size(word) => words[word as usize],
            // What an address does not need has any value.
            Node::Load { .. } | Node::Folded { .. } => 0,
            Node::Apply(op, operands) => {
                let types = operands.map(|operand| graph.ty(operand));
                fold(op, types, operands.map(|operand| values[operand.index()])).unwrap_or_default()
            }
        });
    }
    Ok(values[root.index()])
}

/// Runs a product with a frame: the addresses of the kernel's buffers, then the words of its uniform.
///
/// # Safety
/// The frame is one of this kernel: it has as many words, and its addresses are those of memory as large as the kernel's buffers.
pub unsafe fn run(kernel: &Kernel, frame: *const u32) -> Result<()> {
    let buffers = kernel.buffers.len();
    // SAFETY: by the caller.
    let frame = unsafe { std::slice::from_raw_parts(frame, buffers + kernel.sizes.len()) };
    let (addresses, words) = frame.split_at(buffers);
    let layout = Layout::of(kernel, words)?;
    match layout.ty {
        // SAFETY: by the caller.
        Type::F32 => unsafe { each::<f32>(&layout, addresses, product) },
        // SAFETY: by the caller. Products of signed integers have the same low words.
        Type::I32 | Type::U32 | Type::Bool => unsafe { each::<u32>(&layout, addresses, integer_product) },
    }
    Ok(())
}

type Loop<T> = fn(Extents, Factor<T>, Factor<T>, &mut Target<T>);

unsafe fn each<T>(layout: &Layout, addresses: &[u32], run: Loop<T>) {
    let Extents { rows, columns, depth } = layout.extents;
    if rows == 0 || columns == 0 {
        return;
    }
    let [left, right, target] = &layout.strides;
    let axes = layout.batch.len();
    let [row, column, along] = [axes, axes + 1, axes + 2];
    let first = |strides: &Strides, point: &[u32]| {
        let steps = point.iter().zip(&strides.of_axes).map(|(coordinate, stride)| i64::from(*coordinate) * stride);
        (strides.first + steps.sum::<i64>()) as usize
    };
    let length = |strides: [i64; 2], extents: [usize; 2]| {
        let last = |place: usize| extents[place].saturating_sub(1) as i64 * strides[place];
        (last(0) + last(1)) as usize + 1
    };
    for point in layout.points() {
        let start = |which: usize, strides: &Strides| {
            (addresses[layout.buffers[which] as usize] as usize as *mut T).wrapping_add(first(strides, &point))
        };
        let of_left = [left.of_axes[row], left.of_axes[along]];
        let of_right = [right.of_axes[column], right.of_axes[along]];
        let of_target = [target.of_axes[row], target.of_axes[column]];
        // SAFETY: the addresses are those of the kernel's buffers, in which its indices are; the result is no factor's memory.
        let (left, right, target) = unsafe {
            (
                std::slice::from_raw_parts(start(0, left), length(of_left, [rows, depth])),
                std::slice::from_raw_parts(start(1, right), length(of_right, [columns, depth])),
                std::slice::from_raw_parts_mut(start(2, target), length(of_target, [rows, columns])),
            )
        };
        let factor = |values, [outer, along]: [i64; 2]| Factor {
            values,
            outer_stride: outer as usize,
            depth_stride: along as usize,
        };
        let mut target =
            Target { values: target, row_stride: of_target[0] as usize, column_stride: of_target[1] as usize };
        run(layout.extents, factor(left, of_left), factor(right, of_right), &mut target);
    }
}
