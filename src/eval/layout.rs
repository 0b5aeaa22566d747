//! Where everything of a model lies on a device: which buffers, how long, and what stands in them from the start.
//!
//! Plain arithmetic over the model and the device's limits, so it is tested without one. A batch whose tables are larger than a
//! binding is split into chunks, each with tables of its own; all chunks share the memory for local gradients and for
//! partials, since they run one after another.

use residua_base::list::{Listed, PushAll};
use std::ops::Range;

use crate::eval::pairs::{distance_to_low, table_len, to_table, vector_len};
use crate::eval::shaders::{GatherUniforms, PairGatherUniforms, ReduceSumUniforms};
use crate::model::chunks::{ChunkLimits, chunk_ranges, slice_columns};
use crate::model::incidence::{Destination, Pass, Source, gather_passes_in_slices};
use crate::model::line::STEPS;
use crate::model::{Batch, Model, Rows};
use residua_base::cooperative::{Slices, run_synchronously};
use residua_base::error::{Error, ErrorCode, Result};
use residua_codegen::Width;
use residua_codegen::wgsl::{Dispatch, PairDispatch, WORKGROUP_SIZE};
use residua_gpu::Limits;

mod content;
pub mod lists;
mod memory;

pub use content::Content;
pub use memory::Memory;

use super::cpu::batch_constants;
use lists::Lists;

/// Bytes between the uniforms of one buffer: every WebGPU device takes offsets of this alignment.
pub const ALIGNMENT: u64 = 256;

/// Instances of a batch that run in one dispatch.
#[derive(Clone, Debug)]
pub struct Chunk {
    /// Position of the batch.
    pub batch: usize,
    /// Which of its instances.
    pub range: Range<usize>,
    /// How their local gradients are gathered.
    pub passes: Vec<GatherShape>,
    /// First partial sum, as a position in [`Memory::PartialSums`] in numbers, of which a pair has two.
    pub first_sum: u64,
    /// Part of the residuals that the kernel binds, in numbers: from here to the end of the chunk's.
    pub residuals: Range<u64>,
    /// Position of its uniforms, and of those of its passes after it, in units of [`ALIGNMENT`].
    pub uniforms: u64,
}

/// Workgroups a layer of a line kernel has at most: one workgroup sums what all of them bring.
const MOST_LINE_WORKGROUPS: u64 = 512;

impl Chunk {
    /// Workgroups of the line kernels, in each layer.
    pub fn line_workgroups(&self) -> u64 {
        (self.range.len() as u64).div_ceil(WORKGROUP_SIZE.into()).min(MOST_LINE_WORKGROUPS)
    }

    /// Numbers of their partial sums in [`Memory::LineSums`]: a pair for each step of each workgroup, and the step of a pair follows from
    /// its place.
    pub fn line_sums(&self) -> u64 {
        2 * u64::from(STEPS) * self.line_workgroups().next_multiple_of(ALIGNMENT / 8)
    }
}

/// A gather pass without its tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GatherShape {
    /// Numbers of a block.
    pub dim: u32,
    /// Where it reads.
    pub source: Source,
    /// Where it writes.
    pub destination: Destination,
    /// Sums.
    pub rows: u32,
    /// What is summed.
    pub entries: u32,
    /// Workgroups it takes.
    pub workgroups: u32,
}

impl GatherShape {
    pub(crate) fn of(pass: &Pass) -> GatherShape {
        let (rows, dim) = (pass.rows() as u32, pass.dim);
        GatherShape {
            dim,
            source: pass.source,
            destination: pass.destination,
            rows,
            entries: pass.entries.len() as u32,
            workgroups: (rows * dim).div_ceil(WORKGROUP_SIZE),
        }
    }

    /// Its uniforms over local tables with columns of `stride` numbers; with `add`, what stands at the destination stays.
    pub(crate) fn uniforms(&self, stride: u32, add: bool) -> GatherUniforms {
        let component_stride = match self.source {
            Source::Local => stride,
            Source::Scratch(_) => 1,
        };
        GatherUniforms { rows: self.rows, dim: self.dim, component_stride, add: u32::from(add) }
    }

    /// The same for pairs, of which the low parts stand at these distances in the source and in the destination.
    pub(crate) fn pair_uniforms(
        &self,
        stride: u32,
        add: bool,
        [local_low, result_low]: [u64; 2],
    ) -> PairGatherUniforms {
        let GatherUniforms { rows, dim, component_stride, add } = self.uniforms(stride, add);
        let [local_low, result_low] = [local_low as u32, result_low as u32];
        PairGatherUniforms { rows, dim, component_stride, add, local_low, result_low }
    }

    /// Numbers that it writes into scratch memory, if it does.
    fn scratch_len(&self) -> u64 {
        u64::from(self.rows) * u64::from(self.dim)
    }
}

/// For passes that follow one another the distances to low parts in what each of them reads and writes, where those in local tables and in
/// the gradient are given.
pub(crate) fn distances_of_passes(passes: &[GatherShape], local: u64, gradient: u64) -> Vec<[u64; 2]> {
    let mut scratch = [0; 2];
    let distances = |pass: &GatherShape| {
        let source = match pass.source {
            Source::Local => local,
            Source::Scratch(which) => scratch[which as usize],
        };
        let destination = match pass.destination {
            Destination::Gradient => gradient,
            Destination::Scratch(which) => {
                scratch[which as usize] = distance_to_low(pass.scratch_len());
                scratch[which as usize]
            }
        };
        [source, destination]
    };
    passes.iter().map(distances).list()
}

/// Where everything lies.
#[derive(Clone, Debug)]
pub struct Layout {
    /// In how many numbers parameters, data, residuals and gradients are held.
    pub width: Width,
    /// The chunks of all batches, in order.
    pub chunks: Vec<Chunk>,
    /// For each batch where its constants start, in bytes, and its length in numbers.
    pub batch_constants: Vec<(u64, u64)>,
    /// Position of the reduction's uniforms, in units of [`ALIGNMENT`].
    pub reduce_uniforms: u64,
    num_sums: u64,
    num_params: u64,
    num_residuals: u64,
    local_gradient: u64,
    scratch: [u64; 2],
    partials: u64,
    ignored_sums: u64,
    uniforms: Vec<u32>,
    uniform_words: u64,
    batch_constant_bytes: u64,
    tables: Vec<Vec<Pass>>,
    /// Numbers of the model's tables.
    tables_len: u64,
    index_columns: Vec<u64>,
    data_columns: Vec<u64>,
    outputs: Vec<u64>,
    /// See [`starts_of_tables`].
    index_starts: Option<Vec<u64>>,
    /// No two gather passes write one row, so that each may write over what stands there.
    pub(crate) rows_are_disjoint: bool,
    /// Bytes that a binding may cover.
    pub(crate) most_bound: u64,
    /// How sums over lists lie.
    pub lists: Lists,
}

impl Layout {
    /// Lays a model out, all at once. See [`Layout::new_in_slices`].
    pub fn new(
        model: &Model,
        width: Width,
        partials: &[usize],
        limits: &Limits,
        batch_size: Option<u32>,
    ) -> Result<Layout> {
        run_synchronously(Layout::new_in_slices(model, width, partials, limits, batch_size, &Slices::unlimited()))
    }

    /// Lays a model out. `partials` are the columns of local partials that each batch has.
    pub async fn new_in_slices(
        model: &Model,
        width: Width,
        partials: &[usize],
        limits: &Limits,
        batch_size: Option<u32>,
        slices: &Slices<'_>,
    ) -> Result<Layout> {
        let binding_bytes = limits.max_storage_buffer_binding_size.min(limits.max_buffer_size);
        for (what, numbers) in [("parameters", model.num_params), ("residuals", model.num_residuals)] {
            let bytes = 4 * vector_len(width, numbers.into());
            // The low parts of a chunk's residuals are bound with the others.
            let is_bound = what == "parameters" || width == Width::Pair;
            let most = if is_bound { binding_bytes } else { limits.max_buffer_size };
            if bytes > most {
                let name = if is_bound { "maxStorageBufferBindingSize" } else { "maxBufferSize" };
                return Err(Error::new(
                    ErrorCode::LimitExceeded,
                    format!("{numbers} {what} take {bytes} bytes; the device's {name} is {most}"),
                ));
            }
        }
        let bytes = 4 * table_len(width, model.tables.len() as u64);
        if bytes > binding_bytes {
            let message =
                format!("the grids take {bytes} bytes; the device's maxStorageBufferBindingSize is {binding_bytes}");
            return Err(Error::new(ErrorCode::LimitExceeded, message));
        }
        let mut layout = Layout {
            width,
            chunks: Vec::new(),
            batch_constants: Vec::new(),
            reduce_uniforms: 0,
            num_sums: 0,
            num_params: model.num_params.into(),
            num_residuals: model.num_residuals.into(),
            local_gradient: 0,
            scratch: [0; 2],
            partials: 0,
            ignored_sums: 0,
            uniforms: Vec::new(),
            uniform_words: 0,
            batch_constant_bytes: 0,
            tables: Vec::new(),
            tables_len: model.tables.len() as u64,
            index_columns: Vec::new(),
            data_columns: Vec::new(),
            outputs: Vec::new(),
            index_starts: None,
            rows_are_disjoint: false,
            most_bound: binding_bytes,
            lists: Lists::default(),
        };
        let chunk_limits = ChunkLimits { binding_bytes, instances: batch_size, width };
        for (number, batch) in model.batches.iter().enumerate() {
            let length = table_len(width, batch_constants(model, batch).len() as u64);
            layout.batch_constants.push((layout.batch_constant_bytes, length));
            layout.batch_constant_bytes += (4 * length).next_multiple_of(ALIGNMENT);
            layout.index_columns.push((batch.indices.len() / (batch.count as usize).max(1)) as u64);
            layout.data_columns.push(batch.class.data.into());
            layout.outputs.push(batch.class.outputs.len() as u64);
            let ranges = chunk_ranges(batch, partials[number], chunk_limits)?;
            let (batches, chunks) = (model.batches.len() as f64, ranges.len() as f64);
            for (chunk, range) in ranges.into_iter().enumerate() {
                let done = |chunk: usize| (number as f64 + chunk as f64 / chunks) / batches;
                slices.set_part(done(chunk), done(chunk + 1));
                layout.add_chunk(model, number, range, partials[number], slices).await?;
            }
        }
        let lengths = (0..layout.chunks.len()).map(|chunk| layout.bytes(Memory::Indices(chunk)) / 4).list();
        layout.index_starts = starts_of_tables(0, &lengths, layout.most_bound);
        layout.rows_are_disjoint = layout.are_rows_disjoint();
        let reduction = layout.reduction().words();
        layout.reduce_uniforms = layout.add_uniforms(&reduction);
        layout.lists = Lists::new(model, &mut layout, limits, slices).await?;
        layout.uniform_words = layout.uniforms.len() as u64;
        Ok(layout)
    }

    /// How the partial sums of all chunks are summed: to pairs of a number and its error.
    pub fn reduction(&self) -> ReduceSumUniforms {
        let numbers = table_len(self.width, 1);
        let count = self.num_sums / numbers;
        ReduceSumUniforms { count: count as u32, width: numbers as u32, input_first: 0, output_first: 0 }
    }

    async fn add_chunk(
        &mut self,
        model: &Model,
        number: usize,
        range: Range<usize>,
        partials: usize,
        slices: &Slices<'_>,
    ) -> Result<()> {
        let batch = &model.batches[number];
        let count = range.len() as u64;
        let numbers: u64 = batch.class.block_dims.iter().map(|&dim| u64::from(dim)).sum();
        self.local_gradient = self.local_gradient.max(numbers * count);
        self.partials = self.partials.max(partials as u64 * count);
        let groups = count.div_ceil(WORKGROUP_SIZE.into());
        self.ignored_sums = self.ignored_sums.max(groups);
        let first_sum = self.num_sums;
        self.num_sums += table_len(self.width, groups).next_multiple_of(ALIGNMENT / 4);

        // Residuals that stand together are bound from the last aligned place before them, so that there may be more of them
        // than one binding covers.
        let all = 0..vector_len(self.width, self.num_residuals);
        let (residuals, first) = match batch.rows {
            // Of pairs, the low parts are far from the others.
            Rows::From(first) if self.width == Width::Pair => {
                (all, first + (range.start * batch.class.outputs.len()) as u32)
            }
            Rows::From(first) => {
                let outputs = batch.class.outputs.len() as u64;
                let start = u64::from(first) + range.start as u64 * outputs;
                let bound = start / (ALIGNMENT / 4) * (ALIGNMENT / 4);
                (bound..start + count * outputs, (start - bound) as u32)
            }
            Rows::Column(_) | Rows::Addends(_) => (all, 0),
        };
        let stride = range.len() as u32;
        let dispatch = Dispatch::new(stride, stride, first);
        let uniforms = match self.width {
            Width::Single => self.add_uniforms(&dispatch.words()),
            // Kernels without pairs take the words at its head.
            Width::Pair => self.add_uniforms(&PairDispatch::new(dispatch, self.distances_to_low()).words()),
        };

        let passes = gather_passes_in_slices(batch, range.clone(), model.num_params, slices).await?;
        let shapes: Vec<GatherShape> = passes.iter().map(GatherShape::of).list();
        let of_passes = distances_of_passes(&shapes, numbers * count, distance_to_low(self.num_params));
        for (shape, distances) in shapes.iter().zip(of_passes) {
            if let Destination::Scratch(which) = shape.destination {
                let length = &mut self.scratch[which as usize];
                *length = (*length).max(vector_len(self.width, shape.scratch_len()));
            }
            let add = shape.destination == Destination::Gradient;
            match self.width {
                Width::Single => self.add_uniforms(&shape.uniforms(stride, add).words()),
                Width::Pair => self.add_uniforms(&shape.pair_uniforms(stride, add, distances).words()),
            };
        }
        self.tables.push(passes);
        self.chunks.push(Chunk { batch: number, range, passes: shapes, first_sum, residuals, uniforms });
        Ok(())
    }

    /// Adds the uniforms of a dispatch; gives their position in units of [`ALIGNMENT`].
    pub(crate) fn add_uniforms(&mut self, words: &[u32]) -> u64 {
        let position = 4 * self.uniforms.len() as u64 / ALIGNMENT;
        self.uniforms.extend_from_slice(words);
        self.uniforms.resize(self.uniforms.len().next_multiple_of(ALIGNMENT as usize / 4), 0);
        position
    }

    /// For each of [`vectors`](crate::model::access_plan::vectors) the distance from a number to its low part.
    pub(crate) fn distances_to_low(&self) -> [u32; 2] {
        [self.num_params, self.num_residuals].map(|numbers| distance_to_low(numbers) as u32)
    }

    /// Numbers that are solved for.
    pub fn num_params(&self) -> u64 {
        self.num_params
    }

    /// The gather passes of a chunk, before their tables are given away.
    pub(crate) fn passes(&self, chunk: usize) -> &[Pass] {
        &self.tables[chunk]
    }

    /// Whether no two gather passes write one row, before their tables are given away. It is so of one chunk at most.
    fn are_rows_disjoint(&self) -> bool {
        let [passes] = &self.tables[..] else { return false };
        // Blocks of one dimension have no number in common, or they would have been taken apart.
        if passes.windows(2).all(|pair| pair[0].dim == pair[1].dim) {
            return true;
        }
        let mut written = vec![false; self.num_params as usize];
        for pass in passes.iter().filter(|pass| pass.destination == Destination::Gradient) {
            for &target in &pass.targets {
                let places = &mut written[target as usize..(target + pass.dim) as usize];
                if places.contains(&true) {
                    return false;
                }
                places.fill(true);
            }
        }
        true
    }

    /// Bytes of a buffer.
    pub fn bytes(&self, memory: Memory) -> u64 {
        let of_chunk = |chunk: usize, columns: &[u64]| {
            let chunk = &self.chunks[chunk];
            columns[chunk.batch] * chunk.range.len() as u64
        };
        let pass = |chunk: usize, pass: usize| self.chunks[chunk].passes[pass];
        let vector = |numbers| vector_len(self.width, numbers);
        let table = |numbers| table_len(self.width, numbers);
        4 * match memory {
            Memory::Parameters | Memory::Gradient => vector(self.num_params),
            Memory::Residuals | Memory::Seeds => vector(self.num_residuals),
            Memory::Indices(chunk) => of_chunk(chunk, &self.index_columns),
            Memory::Tables => table(self.tables_len),
            Memory::Data(chunk) => table(of_chunk(chunk, &self.data_columns)),
            Memory::Addends(chunk) => table(of_chunk(chunk, &self.outputs)),
            Memory::BatchConstants => self.batch_constant_bytes / 4,
            Memory::Uniforms => self.uniform_words,
            Memory::PartialSums => self.num_sums,
            Memory::AllIndices => self.index_starts.as_ref().map_or(0, |starts| starts[self.chunks.len()]),
            Memory::IgnoredSums => table(self.ignored_sums),
            Memory::Sums => 2 * u64::from(self.reduction().workgroups()),
            Memory::LineSums => self.chunks.iter().map(Chunk::line_sums).sum(),
            Memory::LocalGradient => table(self.local_gradient),
            Memory::Scratch(which) => self.scratch[which as usize],
            Memory::Partials => table(self.partials),
            Memory::GuardZero => 1,
            Memory::GatherOffsets(chunk, number) => u64::from(pass(chunk, number).rows) + 1,
            Memory::GatherEntries(chunk, number) => pass(chunk, number).entries.into(),
            Memory::GatherTargets(chunk, number) => pass(chunk, number).rows.into(),
            Memory::Lists(memory) => self.lists.len(memory, self.num_params, self.width),
        }
    }

    /// Where the index table of a chunk starts among all, in numbers, if one binding covers them all.
    pub(crate) fn index_start(&self, chunk: usize) -> Option<u64> {
        Some(self.index_starts.as_ref()?[chunk])
    }

    /// The buffer in which a table stands, and where in it, in bytes: index tables stand in one buffer where one binding covers them all.
    pub fn home(&self, memory: Memory) -> (Memory, u64) {
        match (memory, &self.index_starts) {
            (Memory::Indices(chunk), Some(starts)) => (Memory::AllIndices, 4 * starts[chunk]),
            _ => (memory, 0),
        }
    }

    /// The batch of a chunk, and which of its instances.
    fn of_chunk<'a>(&self, model: &'a Model, chunk: usize) -> (&'a Batch, Range<usize>) {
        let Chunk { batch, range, .. } = &self.chunks[chunk];
        (&model.batches[*batch], range.clone())
    }

    /// A chunk's data table.
    pub fn data_table(&self, model: &Model, chunk: usize) -> Vec<f32> {
        let (batch, range) = self.of_chunk(model, chunk);
        to_table(self.width, &slice_columns(&batch.data, batch.count as usize, range))
    }

    /// The constants of all batches, each from a multiple of [`ALIGNMENT`] on.
    pub fn batch_constants(&self, model: &Model) -> Vec<f32> {
        let mut tables = Vec::with_capacity(self.batch_constant_bytes as usize / 4);
        for batch in &model.batches {
            tables.push_all(to_table(self.width, &batch_constants(model, batch)));
            tables.resize(tables.len().next_multiple_of(ALIGNMENT as usize / 4), 0.0);
        }
        tables
    }
}

/// Where tables start that stand one after another in one buffer, each from a multiple of [`ALIGNMENT`] on and the first at `first`, in numbers,
/// and the end of the last; none where one binding cannot cover them all.
pub(crate) fn starts_of_tables(first: u64, lengths: &[u64], most_bound: u64) -> Option<Vec<u64>> {
    let mut starts = vec![first];
    let mut end = first;
    for length in lengths {
        end += length.next_multiple_of(ALIGNMENT / 4);
        starts.push(end);
    }
    (4 * end <= most_bound).then_some(starts)
}
