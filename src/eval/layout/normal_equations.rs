//! Layout of the normal equations on a device: the block diagonal, the passes that gather it, and the partial sums of costs.

use crate::eval::shaders::{AssembleUniforms, BlockDiagonalUniforms};
use crate::model::incidence::{Destination, Source};
use crate::model::least_squares::LocalTable;
use crate::model::{ArrayInfo, Model};
use residua_codegen::wgsl::WORKGROUP_SIZE;

use super::{ALIGNMENT, Chunk, Layout};

/// Blocks of more numbers have only their diagonal in the block diagonal.
pub(crate) const MOST_NUMBERS: u32 = 10;

/// Arrays of fewer blocks have the block diagonal in pairs of a number and its error: many residuals meet in such a block, and its
/// conditioning is that of the problem.
pub const FEW_BLOCKS: u32 = 1024;

/// Blocks of more numbers have their gradient and their block diagonal gathered apart: a thread's registers are few.
pub(crate) const MOST_TOGETHER: u32 = 4;

/// Workgroups of a kernel, at most: they fill a large GPU, and the partial sums of all kernels are left to the kernel that needs them.
const MOST_WORKGROUPS: u64 = 4096;

/// Partial sums of all kernels, about: with more chunks each kernel has fewer, but [`LEAST_WORKGROUPS`].
const MOST_SUMS: u64 = 2 * MOST_WORKGROUPS;

/// See [`MOST_SUMS`].
const LEAST_WORKGROUPS: u64 = 256;

/// Layout of the block diagonal: `scale` numbers for each parameter. A block of n numbers, of which the first is parameter `a`, has
/// the n(n+1)/2 numbers of its lower triangle, row by row, from `scale · a` on.
#[derive(Clone, Debug, Default)]
pub struct NormalLayout {
    /// Numbers for each parameter.
    pub scale: u32,
    /// Whether any array has its block diagonal in pairs; the errors then stand in [`Memory::BlockDiagonalLow`] as the numbers do in
    /// [`Memory::BlockDiagonal`].
    pub pairs: bool,
    /// No two passes write one row, so that each may write over what stands there.
    pub(crate) disjoint: bool,
    /// For each chunk its passes.
    pub(crate) passes: Vec<Vec<PassShape>>,
    scratch: [u64; 2],
    pub(crate) clear_uniforms: u64,
    /// For each chunk its first partial sum, and how many it has.
    pub(crate) sums: Vec<(u64, u64)>,
}

/// Uniforms of a gather pass that writes over, and of its block diagonal's, adding and not; in units of [`ALIGNMENT`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct PassShape {
    pub gather: u64,
    pub block_diagonal: [u64; 2],
    pub block_diagonal_workgroups: u32,
    /// Uniforms of both in one, where that serves.
    pub assemble: Option<u64>,
}

/// Numbers of an array's blocks for the preconditioner: those of the array's own, or 1 where they are too many.
pub fn block_numbers(array: &ArrayInfo) -> u32 {
    if array.dim <= MOST_NUMBERS { array.dim } else { 1 }
}

/// Numbers of the lower triangle of a block.
pub(crate) fn triangle(numbers: u32) -> u32 {
    numbers * (numbers + 1) / 2
}

impl NormalLayout {
    /// Lays the normal equations out, adding uniforms to the layout's.
    pub(crate) fn new(model: &Model, layout: &mut Layout) -> NormalLayout {
        let blocks = model.arrays.iter().map(block_numbers);
        let mut shape = NormalLayout {
            scale: blocks.map(|numbers| triangle(numbers).div_ceil(numbers.max(1))).max().unwrap_or(1),
            pairs: model.arrays.iter().any(|array| array.count < FEW_BLOCKS),
            ..NormalLayout::default()
        };
        let most = (MOST_SUMS / layout.chunks.len().max(1) as u64).clamp(LEAST_WORKGROUPS, MOST_WORKGROUPS);
        for chunk in &layout.chunks {
            // What stands between the sums of two chunks is zero.
            let (first, count) = shape.sums.last().copied().unwrap_or_default();
            let groups = (chunk.range.len() as u64).div_ceil(WORKGROUP_SIZE.into()).min(most);
            shape.sums.push(((first + count).next_multiple_of(ALIGNMENT / 4), groups));
        }
        shape.disjoint = layout.chunks.len() == 1;
        // Blocks of one dimension have no number in common, or they would have been taken apart.
        let alike = layout.chunks.iter().all(|chunk| chunk.passes.windows(2).all(|pair| pair[0].dim == pair[1].dim));
        let mut written = vec![false; if shape.disjoint && !alike { model.num_params as usize } else { 0 }];
        for number in 0..layout.chunks.len() {
            let Chunk { batch, range, passes, .. } = layout.chunks[number].clone();
            let table = LocalTable::of(&model.batches[batch].class);
            let stride = range.len() as u32;
            let mut shapes = Vec::new();
            for (position, pass) in passes.iter().enumerate() {
                let dim = pass.dim;
                let is_array = |array: &&ArrayInfo| array.dim == dim && block_numbers(array) == dim;
                let whole = model.arrays.iter().any(|array| is_array(&array));
                let numbers = if whole { triangle(dim) } else { dim };
                let few = model.arrays.iter().any(|array| array.count < FEW_BLOCKS && (array.dim == dim || !whole));
                let to_result = pass.destination == Destination::Gradient;
                if let Destination::Scratch(which) = pass.destination {
                    let length = &mut shape.scratch[which as usize];
                    *length = (*length).max(2 * u64::from(numbers) * u64::from(pass.rows));
                }
                let block_diagonal = BlockDiagonalUniforms {
                    rows: pass.rows,
                    dim,
                    numbers,
                    outputs: if pass.source == Source::Local { table.outputs } else { 0 },
                    first_partial: table.partial(0, 0) * stride,
                    row_stride: table.width * stride,
                    stride,
                    scale: if to_result { shape.scale } else { 0 },
                    add: 0,
                    pairs: u32::from(few),
                };
                // Few entries a row, which one thread sums without pairs.
                let together = pass.source == Source::Local && to_result && whole && !few && dim <= MOST_TOGETHER;
                let assemble = AssembleUniforms {
                    rows: pass.rows,
                    stride,
                    outputs: table.outputs,
                    first_partial: block_diagonal.first_partial,
                    row_stride: block_diagonal.row_stride,
                    scale: shape.scale,
                };
                shapes.push(PassShape {
                    assemble: together.then(|| layout.add_uniforms(&assemble.words())),
                    gather: layout.add_uniforms(&pass.uniforms(stride, false).words()),
                    block_diagonal: [
                        layout.add_uniforms(&block_diagonal.words()),
                        layout.add_uniforms(&BlockDiagonalUniforms { add: 1, ..block_diagonal }.words()),
                    ],
                    block_diagonal_workgroups: block_diagonal.workgroups(),
                });
                if to_result && shape.disjoint && !alike {
                    for &target in layout.targets(number, position) {
                        let places = &mut written[target as usize..(target + dim) as usize];
                        shape.disjoint &= !places.contains(&true);
                        places.fill(true);
                    }
                }
            }
            shape.passes.push(shapes);
        }
        let lengths = [model.num_params.into(), shape.block_diagonal_len(model.num_params.into())];
        let uniforms = lengths.map(|length| layout.add_uniforms(&[length as u32]));
        shape.clear_uniforms = uniforms[0];
        shape
    }

    /// Numbers of the block diagonal.
    pub(crate) fn block_diagonal_len(&self, parameters: u64) -> u64 {
        u64::from(self.scale) * parameters
    }

    /// How many partial sums there are, those of all chunks.
    pub(crate) fn num_sums(&self) -> u64 {
        self.sums.last().map_or(0, |(first, count)| first + count)
    }

    /// Numbers of a scratch memory.
    pub(crate) fn scratch_len(&self, which: u32) -> u64 {
        self.scratch[which as usize]
    }
}
