//! How the blocks of parameters are gathered from the local tables of all chunks at once, where one binding covers these: tables and
//! uniforms for the device.
//!
//! A step of conjugate gradients costs little more than its dispatches where problems are small, so each kernel sums
//! a block's entries itself, over all residuals, in place of a gather for each chunk. Takes the layout of a model, and makes its *lists* at
//! the first solve that reads them:
//!
//! | words | what |
//! |---|---|
//! | 8 | how many low bits of an entry are its instance |
//! | 8 for each slot | where its first column starts among the local tables, the columns' distance, the mask of an instance, where its first column of J̃ starts, the distance of J̃'s rows, how many, where its instances' addresses of blocks start among all index tables, the distance to low parts |
//! | blocks + 1 | where in these words each block's entries start |
//! | | entries |
//! | | tables of passes for blocks with very many entries, each from a multiple of [`ALIGNMENT`] on |
//!
//! The slots of residuals that take no part lead to zeros, which stand before all local tables. So what is enabled changes slots and
//! uniforms, and nothing else.

use crate::model::Model;
use crate::model::access_plan::Role;
use crate::model::incidence::fused::{FusedIncidence, Slot};
use crate::model::incidence::{Destination, Pass, Source};
use crate::model::least_squares::LocalTable;
use residua_base::list::{Listed, PushAll};
use residua_codegen::wgsl::{FUSED_WORKGROUP_SIZE, FusedKernel, FusedPart};
use residua_codegen::{CheckedKernel, Width};

use super::blocks::{BlockGroup, block_groups, triangle};
use super::local_tables::LocalTables;
use super::shaders::{AssembleFusedUniforms, BlockDiagonalUniforms};
use crate::eval::layout::{ALIGNMENT, Chunk, GatherShape, Layout, distances_of_passes};
use crate::eval::pairs::{distance_to_low, vector_len};

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

/// The blocks of a group and their lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupLists {
    /// The blocks.
    pub blocks: BlockGroup,
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

/// Where the tables stand that lists lead through.
#[derive(Clone, Copy)]
pub struct Tables<'a> {
    /// The index tables, and the chunks.
    pub evaluation: &'a Layout,
    /// The local tables.
    pub local: &'a LocalTables,
}

/// Lists of entries over all local tables, and who goes through them.
#[derive(Clone, Debug)]
pub struct FusedLists {
    slots: Vec<Slot>,
    instance_bits: u32,
    scale: u32,
    /// All blocks, in the order of the parameters.
    pub groups: Vec<GroupLists>,
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

impl FusedLists {
    /// Takes lists for the device, if their tables fit a binding. The block diagonal has `scale` numbers for each parameter. `kernel` gives the
    /// number of a batch's kernel, and the kernel of its products.
    pub fn new<'a>(
        model: &Model,
        tables: Tables<'_>,
        scale: u32,
        incidence: FusedIncidence,
        kernel: &dyn Fn(usize) -> Option<(usize, &'a CheckedKernel)>,
    ) -> Option<FusedLists> {
        let FusedIncidence { instance_bits, slots, offsets, entries, heavy } = incidence;
        let head = SLOT * (1 + slots.len());
        let first_entry = (head + offsets.len()) as u32;
        let mut words = offsets;
        words.iter_mut().for_each(|offset| *offset += first_entry);
        words.push_all(entries);
        let mut groups = Vec::new();
        let mut offsets = head as u32;
        for blocks in block_groups(&model.arrays) {
            groups.push(GroupLists { blocks, offsets });
            offsets += blocks.count;
        }
        let mut fused = FusedLists {
            slots,
            instance_bits,
            scale,
            groups,
            heavy: Vec::new(),
            together: None,
            head: Vec::new(),
            tables: words,
            words: 0,
            uniforms: Vec::new(),
            scratch: [0; 2],
        };
        for pass in heavy {
            fused.add_heavy(pass, head);
        }
        fused.words = (head + fused.tables.len()) as u64;
        fused.refresh(model, tables, kernel);
        (4 * fused.words <= tables.evaluation.most_bound).then_some(fused)
    }

    fn add_heavy(&mut self, pass: Pass, head: usize) {
        let shape = GatherShape::of(&pass);
        let mut starts = [(0, 0); 3];
        for (start, words) in starts.iter_mut().zip([&pass.offsets, &pass.entries, &pass.targets]) {
            let place = (head + self.tables.len()).next_multiple_of(STEP);
            self.tables.resize(place - head, 0);
            self.tables.extend_from_slice(words);
            *start = (place as u64, words.len() as u64);
        }
        if let Destination::Scratch(which) = shape.destination {
            let rows = u64::from(shape.rows);
            let numbers =
                (2 * u64::from(triangle(shape.dim)) * rows).max(vector_len(Width::Pair, u64::from(shape.dim) * rows));
            let length = &mut self.scratch[which as usize];
            *length = (*length).max(numbers);
        }
        self.heavy.push(HeavyPass { shape, tables: starts, uniforms: [0; 2], block_diagonal_workgroups: 0 });
    }

    /// Makes slots and uniforms for what is enabled now.
    pub fn refresh<'a>(
        &mut self,
        model: &Model,
        tables: Tables<'_>,
        kernel: &dyn Fn(usize) -> Option<(usize, &'a CheckedKernel)>,
    ) {
        let chunks = &tables.evaluation.chunks;
        let enabled = |chunk: usize| model.blocks[model.batches[chunks[chunk].batch].block as usize].enabled;
        self.head = vec![self.instance_bits];
        self.head.resize(SLOT, 0);
        for &Slot { chunk, column } in &self.slots {
            let end = self.head.len() + SLOT;
            if enabled(chunk)
                && let Some(first) = tables.local.start(chunk)
            {
                let table = LocalTable::of(&model.batches[chunks[chunk].batch].class);
                let (stride, first) = (chunks[chunk].range.len() as u32, first as u32);
                let mask = (1 << self.instance_bits) - 1;
                let partial = first + table.partial(0, column) * stride;
                let indices = tables.evaluation.index_start(chunk).unwrap_or_default() as u32;
                let rows = [table.width * stride, table.outputs];
                let low = table.low(0) * stride;
                self.head.extend_from_slice(&[
                    first + column * stride,
                    stride,
                    mask,
                    partial,
                    rows[0],
                    rows[1],
                    indices,
                    low,
                ]);
            }
            self.head.resize(end, 0);
        }

        self.uniforms.clear();
        let scale = self.scale;
        for position in 0..self.groups.len() {
            let GroupLists { blocks: BlockGroup { count: rows, first, .. }, offsets } = self.groups[position];
            self.add_uniforms(&AssembleFusedUniforms { rows, offsets, first, scale }.words());
        }
        let shapes = self.heavy.iter().map(|pass| pass.shape).list();
        // Those in local tables are in the slots.
        let distances = distances_of_passes(&shapes, 0, distance_to_low(model.num_params.into()));
        for (position, distances) in distances.into_iter().enumerate() {
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
                pairs: u32::from(self.has_pairs(shape.dim)),
            };
            // Those of pairs begin with those of numbers.
            let gather = shape.pair_uniforms(0, false, distances);
            let uniforms = [self.add_uniforms(&gather.words()), self.add_uniforms(&block_diagonal.words())];
            let pass = &mut self.heavy[position];
            (pass.uniforms, pass.block_diagonal_workgroups) = (uniforms, block_diagonal.workgroups());
        }
        self.put_together(tables, &enabled, kernel);
    }

    /// Whether any blocks of so many numbers have errors.
    fn has_pairs(&self, dim: u32) -> bool {
        self.groups.iter().any(|group| group.blocks.kind.dim == dim && group.blocks.kind.pairs)
    }

    /// The parts of a dispatch over all chunks: each gets workgroups by its share of all instances. Its uniforms are the last ones.
    fn put_together<'a>(
        &mut self,
        tables: Tables<'_>,
        enabled: &dyn Fn(usize) -> bool,
        kernel: &dyn Fn(usize) -> Option<(usize, &'a CheckedKernel)>,
    ) {
        self.together = None;
        let layout = tables.evaluation;
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
            let start = if is_local { tables.local.start(part) } else { layout.index_start(part) };
            start.unwrap_or_default() as u32
        };
        let words = fused.words(&parts, &first);
        self.together = Some(Together { batches, groups: parts.iter().map(|part| u64::from(part.groups)).sum() });
        self.add_uniforms(&words);
    }

    fn add_uniforms(&mut self, words: &[u32]) -> u64 {
        let position = self.uniforms.len() / STEP;
        self.uniforms.extend_from_slice(words);
        self.uniforms.resize(self.uniforms.len().next_multiple_of(STEP), 0);
        position as u64
    }

    /// Where the uniforms of the dispatch over all chunks stand, and their length, in bytes.
    pub fn product_uniforms(&self) -> (u64, u64) {
        let start = self.groups.len() + 2 * self.heavy.len();
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
pub fn is_wanted(model: &Model, evaluation: &Layout, local: &LocalTables) -> bool {
    let large = |chunk: &Chunk| chunk.range.len() >= FUSED_BELOW && has_row_for_each_block(model, chunk);
    let covered = local.start(0).is_some() && evaluation.index_start(0).is_some();
    covered && !matches!(&evaluation.chunks[..], [chunk] if large(chunk))
}

/// Whether the only gather pass of a chunk has a row for each block of the model, in the order of the blocks, which are all of one kind.
pub fn has_row_for_each_block(model: &Model, chunk: &Chunk) -> bool {
    match (&chunk.passes[..], &block_groups(&model.arrays)[..]) {
        ([pass], [group]) => {
            let light = pass.source == Source::Local && pass.destination == Destination::Gradient;
            light && (pass.dim, pass.rows) == (group.kind.dim, group.count)
        }
        _ => false,
    }
}
