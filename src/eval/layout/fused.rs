//! How the blocks of parameters are gathered from the local tables of all chunks at once, where one binding covers these: tables and
//! uniforms for the device.
//!
//! A step of conjugate gradients costs little more than its dispatches where problems are small, so what belongs to a block is summed by
//! the kernel that needs it, over all residuals, in place of a gather for each chunk. Takes the layout of a model, and makes its *lists* when the
//! first solve needs them:
//!
//! | words | what |
//! |---|---|
//! | 8 | how many low bits of an entry are its instance |
//! | 8 for each slot | where its first column starts among the local tables, the columns' distance, the mask of an instance, where its first column of J̃ starts, the distance of J̃'s rows, how many |
//! | blocks + 1 | where in these words each block's entries start |
//! | | entries |
//! | | tables of passes for blocks with very many entries, each from a multiple of [`ALIGNMENT`] on |
//!
//! The slots of residuals that take no part lead to zeros, which stand before all local tables. So what is enabled changes slots and
//! uniforms, and nothing else.

use crate::eval::shaders::{AssembleFusedUniforms, BlockDiagonalUniforms};
use crate::model::Model;
use crate::model::access_plan::Role;
use crate::model::incidence::fused::{FusedIncidence, Slot};
use crate::model::incidence::{Destination, Pass, Source};
use crate::model::least_squares::LocalTable;
use residua_base::list::Listed;
use residua_codegen::CheckedKernel;
use residua_codegen::wgsl::{FUSED_WORKGROUP_SIZE, FusedKernel, FusedPart};

use super::normal_equations::{FEW_BLOCKS, block_numbers, triangle};
use super::{ALIGNMENT, Chunk, GatherShape, Layout, Memory};

/// A model of a single chunk is fused if it has fewer instances. Measured on an NVIDIA H100, time of a solve with fused lists against one without:
/// 0.99 at 15,000 springs, 0.91 at 10,000 bending residuals, 0.93 at 15,000 differences; but 1.07 at 750,000 differences, 1.27 at 1,000,000 bending
/// residuals, 1.36 at 3,000,000 springs. Dispatches take most of the time of small solves, the bytes of entries that of large ones.
pub const FUSED_BELOW: usize = 100_000;

/// Words of a slot, and of the head.
const SLOT: usize = 8;

/// Words between uniforms.
const STEP: usize = ALIGNMENT as usize / 4;

/// More chunks than these are multiplied by a dispatch each.
const MOST_PARTS: usize = 64;

/// So are kernels with more operations than this in all: compiling them one after the other would take long.
const MOST_OPERATIONS: usize = 4000;

/// Workgroups of a dispatch over all chunks: they fill a large GPU, and the next kernel adds their sums.
const MOST_WORKGROUPS: u64 = 1024;

/// Partial sums of such a dispatch, at most.
pub const MOST_SUMS: u64 = MOST_WORKGROUPS + MOST_PARTS as u64;

/// Neighbouring arrays whose blocks have as many numbers, and keep the errors of their block diagonal or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockRows {
    /// Numbers of a block.
    pub dim: u32,
    /// Whether the block diagonal has errors.
    pub pairs: bool,
    /// Blocks.
    pub rows: u32,
    /// The first block's first parameter.
    pub first: u32,
    /// Where the first block's offset stands in the lists.
    pub offsets: u32,
}

/// A pass for blocks with very many entries.
#[derive(Clone, Copy, Debug)]
pub struct HeavyPass {
    /// Its sizes.
    pub shape: GatherShape,
    /// Where its offsets, entries and targets stand among the lists, and their length, in words.
    pub tables: [(u64, u64); 3],
    /// Position of its uniforms and of its block diagonal's, in units of [`ALIGNMENT`].
    pub uniforms: [u64; 2],
    /// Workgroups of its block diagonal.
    pub block_diagonal_workgroups: u32,
}

/// Kernels for all chunks in one dispatch.
#[derive(Clone, Debug)]
pub struct Together {
    /// A batch for each kernel.
    pub batches: Vec<usize>,
    /// Workgroups of all.
    pub groups: u64,
}

/// Lists of entries over all local tables, and who goes through them.
#[derive(Clone, Debug)]
pub struct FusedLayout {
    slots: Vec<Slot>,
    instance_bits: u32,
    /// Arrays, neighbours together.
    pub arrays: Vec<BlockRows>,
    /// Passes for blocks with very many entries, in order.
    pub heavy: Vec<HeavyPass>,
    /// How kernels of products run, if in one dispatch.
    pub together: Option<Together>,
    head: Vec<u32>,
    /// What follows the head, until it is on the device.
    tables: Vec<u32>,
    words: u64,
    uniforms: Vec<u32>,
    scratch: [u64; 2],
}

impl FusedLayout {
    /// Takes lists for the device, if their tables fit a binding. `kernel` gives the number of a batch's kernel, and the kernel of its
    /// products.
    pub fn new<'a>(
        model: &Model,
        layout: &Layout,
        incidence: FusedIncidence,
        kernel: &dyn Fn(usize) -> Option<(usize, &'a CheckedKernel)>,
    ) -> Option<FusedLayout> {
        let FusedIncidence { instance_bits, slots, offsets, entries, heavy } = incidence;
        let head = SLOT * (1 + slots.len());
        let first_entry = (head + offsets.len()) as u32;
        let mut tables = offsets;
        tables.iter_mut().for_each(|offset| *offset += first_entry);
        tables.extend(entries);
        let mut fused = FusedLayout {
            slots,
            instance_bits,
            arrays: arrays(model, head as u32),
            heavy: Vec::new(),
            together: None,
            head: Vec::new(),
            tables,
            words: 0,
            uniforms: Vec::new(),
            scratch: [0; 2],
        };
        for pass in heavy {
            fused.add_heavy(pass, head);
        }
        fused.words = (head + fused.tables.len()) as u64;
        fused.refresh(model, layout, kernel);
        (4 * fused.words <= layout.most_bound).then_some(fused)
    }

    fn add_heavy(&mut self, pass: Pass, head: usize) {
        let shape = GatherShape::of(&pass);
        let mut starts = [(0, 0); 3];
        for (start, words) in starts.iter_mut().zip([&pass.offsets, &pass.entries, &pass.targets]) {
            let place = (head + self.tables.len()).next_multiple_of(STEP);
            self.tables.resize(place - head, 0);
            self.tables.extend(words);
            *start = (place as u64, words.len() as u64);
        }
        if let Destination::Scratch(which) = shape.destination {
            let numbers = 2 * u64::from(triangle(shape.dim)) * u64::from(shape.rows);
            let length = &mut self.scratch[which as usize];
            *length = (*length).max(numbers);
        }
        self.heavy.push(HeavyPass { shape, tables: starts, uniforms: [0; 2], block_diagonal_workgroups: 0 });
    }

    /// Makes slots and uniforms for what is enabled now.
    pub fn refresh<'a>(
        &mut self,
        model: &Model,
        layout: &Layout,
        kernel: &dyn Fn(usize) -> Option<(usize, &'a CheckedKernel)>,
    ) {
        let enabled = |chunk: usize| model.blocks[model.batches[layout.chunks[chunk].batch].block as usize].enabled;
        self.head = vec![self.instance_bits];
        self.head.resize(SLOT, 0);
        for &Slot { chunk, column } in &self.slots {
            let end = self.head.len() + SLOT;
            if enabled(chunk) {
                let table = LocalTable::of(&model.batches[layout.chunks[chunk].batch].class);
                let stride = layout.chunks[chunk].range.len() as u32;
                let first = (layout.home(Memory::Local(chunk)).1 / 4) as u32;
                let mask = (1 << self.instance_bits) - 1;
                let partial = first + table.partial(0, column) * stride;
                self.head.extend([first + column * stride, stride, mask, partial, table.width * stride, table.outputs]);
            }
            self.head.resize(end, 0);
        }

        self.uniforms.clear();
        let scale = layout.normal.scale;
        for position in 0..self.arrays.len() {
            let BlockRows { rows, first, offsets, .. } = self.arrays[position];
            self.add_uniforms(&AssembleFusedUniforms { rows, offsets, first, scale }.words());
        }
        for position in 0..self.heavy.len() {
            let HeavyPass { shape, .. } = self.heavy[position];
            let to_result = shape.destination == Destination::Gradient;
            let block_diagonal = BlockDiagonalUniforms {
                rows: shape.rows,
                dim: shape.dim,
                numbers: triangle(shape.dim),
                // Any number but 0 says that entries lead to slots.
                outputs: u32::from(shape.source == Source::Local),
                first_partial: 0,
                row_stride: 0,
                stride: 0,
                scale: if to_result { scale } else { 0 },
                add: 0,
                pairs: u32::from(self.arrays.iter().any(|array| array.dim == shape.dim && array.pairs)),
            };
            let uniforms =
                [self.add_uniforms(&shape.uniforms(0, false).words()), self.add_uniforms(&block_diagonal.words())];
            let pass = &mut self.heavy[position];
            (pass.uniforms, pass.block_diagonal_workgroups) = (uniforms, block_diagonal.workgroups());
        }
        self.put_together(layout, &enabled, kernel);
    }

    /// The parts of a dispatch over all chunks: each gets workgroups by its share of all instances. Its uniforms are the last ones.
    fn put_together<'a>(
        &mut self,
        layout: &Layout,
        enabled: &dyn Fn(usize) -> bool,
        kernel: &dyn Fn(usize) -> Option<(usize, &'a CheckedKernel)>,
    ) {
        self.together = None;
        if layout.chunks.len() > MOST_PARTS {
            return;
        }
        let (mut numbers, mut batches, mut kernels) = (Vec::new(), Vec::new(), Vec::new());
        let mut parts = Vec::new();
        let instances = |chunk: usize| layout.chunks[chunk].range.len() as u64;
        let all: u64 = (0..layout.chunks.len()).map(instances).sum();
        for (position, chunk) in layout.chunks.iter().enumerate() {
            let Some((number, kernel)) = kernel(chunk.batch) else { return };
            let known = numbers.iter().position(|known| *known == number).unwrap_or_else(|| {
                numbers.push(number);
                batches.push(chunk.batch);
                kernels.push(kernel);
                numbers.len() - 1
            });
            let takes_part = enabled(position);
            let share = 1 + MOST_WORKGROUPS * instances(position) / all.max(1);
            let groups = instances(position).div_ceil(FUSED_WORKGROUP_SIZE.into()).min(share);
            let (count, stride) = (if takes_part { chunk.range.len() as u32 } else { 0 }, chunk.range.len() as u32);
            parts.push(FusedPart { kernel: known as u32, count, stride, groups: groups as u32 });
        }
        let Some(fused) = FusedKernel::of(kernels).filter(|fused| fused.operations() <= MOST_OPERATIONS) else {
            return;
        };
        let first = |part: usize, name: &str| {
            let is_local = name == Role::Local.declaration().0;
            let memory = if is_local { Memory::Local(part) } else { Memory::Indices(part) };
            (layout.home(memory).1 / 4) as u32
        };
        let words = fused.words(&parts, &first);
        self.together = Some(Together { batches, groups: parts.iter().map(|part| u64::from(part.groups)).sum() });
        self.add_uniforms(&words);
    }

    fn add_uniforms(&mut self, words: &[u32]) -> u64 {
        let position = self.uniforms.len() / STEP;
        self.uniforms.extend(words);
        self.uniforms.resize(self.uniforms.len().next_multiple_of(STEP), 0);
        position as u64
    }

    /// Where the uniforms of the dispatch over all chunks stand, and their length, in bytes.
    pub fn product_uniforms(&self) -> (u64, u64) {
        let start = self.arrays.len() + 2 * self.heavy.len();
        (ALIGNMENT * start as u64, 4 * (self.uniforms.len() - start * STEP) as u64)
    }

    /// Where the first block's offset stands in the lists.
    pub fn first_row(&self) -> u32 {
        self.head.len() as u32
    }

    /// Words of the lists.
    pub fn list_words(&self) -> u64 {
        self.words
    }

    /// Words of the uniforms.
    pub fn uniform_words(&self) -> u64 {
        self.uniforms.len() as u64
    }

    /// Numbers of a scratch memory.
    pub fn scratch(&self, which: u32) -> u64 {
        self.scratch[which as usize]
    }

    /// The lists, of which all but the head may be gone.
    pub fn lists(&self) -> [&[u32]; 2] {
        [&self.head, &self.tables]
    }

    /// The uniforms.
    pub fn uniforms(&self) -> &[u32] {
        &self.uniforms
    }

    /// The lists are on the device.
    pub fn forget_tables(&mut self) {
        self.tables = Vec::new();
    }
}

/// Whether a model is solved with lists over all local tables: not where there is one chunk of [`FUSED_BELOW`] instances or more whose own lists have
/// a row for each block, and few entries in each.
pub fn is_wanted(model: &Model, layout: &Layout) -> bool {
    let alone = |chunk: &Chunk| match (&chunk.passes[..], &arrays(model, 0)[..]) {
        ([pass], [array]) => pass.source == Source::Local && (pass.dim, pass.rows) == (array.dim, array.rows),
        _ => false,
    };
    layout.are_together() && !matches!(&layout.chunks[..], [chunk] if chunk.range.len() >= FUSED_BELOW && alone(chunk))
}

/// Arrays in the order of the parameters, whose offsets follow a head of so many words.
fn arrays(model: &Model, head: u32) -> Vec<BlockRows> {
    let mut arrays: Vec<BlockRows> = Vec::new();
    let mut offsets = head;
    for array in model.arrays.iter().filter(|array| array.dim > 0 && array.count > 0) {
        let (dim, pairs) = (block_numbers(array), array.count < FEW_BLOCKS);
        let rows = array.count * (array.dim / dim);
        match arrays.last_mut() {
            Some(last) if (last.dim, last.pairs, last.first + last.rows * dim) == (dim, pairs, array.offset) => {
                last.rows += rows;
            }
            _ => arrays.push(BlockRows { dim, pairs, rows, first: array.offset, offsets }),
        }
        offsets += rows;
    }
    arrays
}

/// Of how many numbers the blocks of each array are, for [`crate::model::incidence::fused::fused_incidence`].
pub fn numbers_of_blocks(model: &Model) -> Vec<u32> {
    model.arrays.iter().map(block_numbers).list()
}
