//! Where the Gauss-Newton model of a problem lies on a device: its buffers, how long they are, and what stands in them from the start.
//!
//! Plain arithmetic over the model and the layout of its evaluation, whose chunks and gather passes it shares. The gather passes of a chunk
//! serve its local table; where there are [`FusedLists`], these serve all local tables at once.

use crate::eval::layout::{ALIGNMENT, Chunk, Layout, distances_of_passes};
use crate::eval::pairs::{distance_to_low, table_len, vector_len};
use crate::model::incidence::{Destination, Source};
use crate::model::least_squares::LocalTable;
use crate::model::{ArrayInfo, Model};
use residua_codegen::Width;
use residua_codegen::wgsl::WORKGROUP_SIZE;

use super::blocks::{FEW_BLOCKS, MOST_TOGETHER, block_numbers, triangle};
use super::buffers::ModelBuffer;
use super::fused_lists::FusedLists;
use super::local_tables::LocalTables;
use super::shaders::{AssembleUniforms, BlockDiagonalUniforms};

/// Workgroups of a kernel, at most: they fill a large GPU, and the partial sums of all kernels are left to the kernel that needs them.
const MOST_WORKGROUPS: u64 = 4096;

/// Partial sums of all kernels, about: with more chunks each kernel has fewer, but [`LEAST_WORKGROUPS`].
const MOST_SUMS: u64 = 2 * MOST_WORKGROUPS;

/// See [`MOST_SUMS`].
const LEAST_WORKGROUPS: u64 = 256;

/// Where everything lies.
#[derive(Clone, Debug)]
pub struct ModelLayout {
    /// In what points, costs and gradients are held. J̃ is f32 whatever it is.
    pub width: Width,
    /// Numbers of the block diagonal for each parameter. A block of n numbers, of which the first is parameter `a`, has the n(n+1)/2 numbers of
    /// its lower triangle, row by row, from `scale · a` on.
    pub scale: u32,
    /// Whether any array has its block diagonal in pairs; the errors then stand in [`ModelBuffer::BlockDiagonalLow`] as the numbers do in
    /// [`ModelBuffer::BlockDiagonal`].
    pub pairs: bool,
    /// The local tables.
    pub local: LocalTables,
    /// How all chunks are gathered at once, if they are.
    pub fused: Option<FusedLists>,
    /// For each chunk its passes.
    pub passes: Vec<Vec<PassUniforms>>,
    /// For each chunk its first partial sum, and how many it has.
    pub sums: Vec<(u64, u64)>,
    clear_uniforms: u64,
    scratch: [u64; 2],
    parameters: u64,
    uniforms: Vec<u32>,
}

/// Positions of uniforms in [`ModelBuffer::Uniforms`], in units of [`ALIGNMENT`].
#[derive(Clone, Copy, Debug)]
pub struct PassUniforms {
    /// Of the gather pass: writing over what stands there, and adding to it.
    pub gather: [u64; 2],
    /// Of the pass of the block diagonal, likewise.
    pub block_diagonal: [u64; 2],
    /// Its workgroups.
    pub block_diagonal_workgroups: u32,
    /// Of gradient and block diagonal in one, where that serves.
    pub assemble: Option<u64>,
}

/// Which of the buffers that recordings clear; their order is that of their uniforms.
#[derive(Clone, Copy)]
pub enum Cleared {
    /// A vector of all parameters.
    Vector,
    /// The block diagonal, or its errors.
    BlockDiagonal,
    /// The gradient, with its low parts if it has them.
    Gradient,
}

impl ModelLayout {
    /// Lays a model out, without fused lists.
    pub fn new(model: &Model, evaluation: &Layout) -> ModelLayout {
        let scale = |array: &ArrayInfo| {
            let numbers = block_numbers(array);
            triangle(numbers).div_ceil(numbers.max(1))
        };
        let mut layout = ModelLayout {
            width: evaluation.width,
            scale: model.arrays.iter().map(scale).max().unwrap_or(1),
            pairs: model.arrays.iter().any(|array| array.count < FEW_BLOCKS),
            local: LocalTables::new(model, evaluation),
            fused: None,
            passes: Vec::new(),
            sums: Vec::new(),
            clear_uniforms: 0,
            scratch: [0; 2],
            parameters: model.num_params.into(),
            uniforms: Vec::new(),
        };
        let most = (MOST_SUMS / evaluation.chunks.len().max(1) as u64).clamp(LEAST_WORKGROUPS, MOST_WORKGROUPS);
        for chunk in &evaluation.chunks {
            // What stands between the sums of two chunks is zero.
            let (first, count) = layout.sums.last().copied().unwrap_or_default();
            let groups = (chunk.range.len() as u64).div_ceil(WORKGROUP_SIZE.into()).min(most);
            layout.sums.push(((first + count).next_multiple_of(ALIGNMENT / 4), groups));
            layout.add_passes(model, chunk);
        }
        let gradient = vector_len(layout.width, layout.parameters);
        let lengths = [layout.parameters, u64::from(layout.scale) * layout.parameters, gradient];
        layout.clear_uniforms = lengths.map(|length| layout.add_uniforms(&[length as u32]))[0];
        layout
    }

    fn add_passes(&mut self, model: &Model, chunk: &Chunk) {
        let table = LocalTable::of(&model.batches[chunk.batch].class);
        let stride = chunk.range.len() as u32;
        let mut uniforms = Vec::new();
        let distances = distances_of_passes(
            &chunk.passes,
            u64::from(table.low(0)) * u64::from(stride),
            distance_to_low(self.parameters),
        );
        for (pass, distances) in chunk.passes.iter().zip(distances) {
            let dim = pass.dim;
            let whole = model.arrays.iter().any(|array| array.dim == dim && block_numbers(array) == dim);
            let numbers = if whole { triangle(dim) } else { dim };
            let few = model.arrays.iter().any(|array| array.count < FEW_BLOCKS && (array.dim == dim || !whole));
            let to_result = pass.destination == Destination::Gradient;
            if let Destination::Scratch(which) = pass.destination {
                let length = &mut self.scratch[which as usize];
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
                scale: if to_result { self.scale } else { 0 },
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
                scale: self.scale,
            };
            uniforms.push(PassUniforms {
                assemble: together.then(|| self.add_uniforms(&assemble.words())),
                // Those of pairs begin with those of numbers.
                gather: [false, to_result]
                    .map(|add| self.add_uniforms(&pass.pair_uniforms(stride, add, distances).words())),
                block_diagonal: [0, 1]
                    .map(|add| self.add_uniforms(&BlockDiagonalUniforms { add, ..block_diagonal }.words())),
                block_diagonal_workgroups: block_diagonal.workgroups(),
            });
        }
        self.passes.push(uniforms);
    }

    /// Adds the uniforms of a dispatch; gives their position in units of [`ALIGNMENT`].
    fn add_uniforms(&mut self, words: &[u32]) -> u64 {
        let position = 4 * self.uniforms.len() as u64 / ALIGNMENT;
        self.uniforms.extend_from_slice(words);
        self.uniforms.resize(self.uniforms.len().next_multiple_of(ALIGNMENT as usize / 4), 0);
        position
    }

    /// Position of the uniforms that clear a buffer.
    pub fn clear_uniforms(&self, what: Cleared) -> u64 {
        self.clear_uniforms + what as u64
    }

    /// Numbers of a partial sum: 2 of pairs.
    pub fn sum_width(&self, buffer: ModelBuffer) -> u32 {
        if buffer == ModelBuffer::CostSums { table_len(self.width, 1) as u32 } else { 1 }
    }

    /// How many partial sums there are, those of all chunks.
    pub fn num_sums(&self) -> u64 {
        self.sums.last().map_or(0, |(first, count)| first + count)
    }

    /// Bytes of a buffer.
    pub fn bytes(&self, buffer: ModelBuffer) -> u64 {
        let fused = self.fused.as_ref();
        let block_diagonal = u64::from(self.scale) * self.parameters;
        4 * match buffer {
            ModelBuffer::Local(chunk) => self.local.len(chunk),
            ModelBuffer::AllLocal => self.local.total(),
            ModelBuffer::Uniforms => self.uniforms.len() as u64,
            ModelBuffer::FusedLists => fused.map_or(0, FusedLists::list_words),
            ModelBuffer::FusedUniforms => fused.map_or(0, FusedLists::uniform_words),
            ModelBuffer::FusedScratch(which) => fused.map_or(0, |fused| fused.scratch(which)),
            ModelBuffer::CostSums | ModelBuffer::ProductSums => u64::from(self.sum_width(buffer)) * self.num_sums(),
            ModelBuffer::BlockDiagonal => block_diagonal,
            ModelBuffer::BlockDiagonalLow => {
                if self.pairs {
                    block_diagonal
                } else {
                    0
                }
            }
            ModelBuffer::BlockDiagonalScratch(which) => self.scratch[which as usize],
        }
    }

    /// The buffer in which a table stands, and where in it, in bytes: local tables stand in one buffer where one binding covers them all.
    pub fn home(&self, buffer: ModelBuffer) -> (ModelBuffer, u64) {
        match buffer {
            ModelBuffer::Local(chunk) => self.local.home(chunk),
            _ => (buffer, 0),
        }
    }

    /// What stands in a buffer from the start, if anything does: parts that follow one another.
    pub fn content(&self, buffer: ModelBuffer) -> Option<Vec<&[u32]>> {
        match buffer {
            ModelBuffer::Uniforms => Some(vec![&self.uniforms]),
            ModelBuffer::FusedLists => Some(self.fused.as_ref()?.lists().to_vec()),
            ModelBuffer::FusedUniforms => Some(vec![self.fused.as_ref()?.uniforms()]),
            ModelBuffer::Local(_)
            | ModelBuffer::AllLocal
            | ModelBuffer::FusedScratch(_)
            | ModelBuffer::CostSums
            | ModelBuffer::ProductSums
            | ModelBuffer::BlockDiagonal
            | ModelBuffer::BlockDiagonalLow
            | ModelBuffer::BlockDiagonalScratch(_) => None,
        }
    }
}
