//! How the sums over lists of [`crate::model::recompute`] lie on a device, and the buffers of gradients that stay there.
//!
//! A chunk of a large batch whose class is short, and whose blocks have few entries, has lists beside its gather passes; the tables are made
//! when a recording first needs them.

use crate::eval::pairs::{distance_to_low, table_len, vector_len};
use crate::eval::shaders::{PairCountUniforms, ReduceSumUniforms};
use crate::model::recompute::{self, ListShape, ListTables};
use crate::model::{Batch, Model};
use residua_base::cooperative::Slices;
use residua_base::error::Result;
use residua_codegen::Width;
use residua_codegen::wgsl::{PairRecomputeDispatch, RecomputeDispatch, WORKGROUP_SIZE};
use residua_gpu::Limits;

use super::{ALIGNMENT, Layout};

/// Workgroups of a dispatch, at most: they fill a large GPU, and the host adds what each of them brings.
const MOST_WORKGROUPS: u64 = 4096;

/// A batch of fewer instances has no lists: they save traffic, of which such a batch makes so little that its calls take as long either way, and drivers take
/// twice as long to compile a kernel over lists.
const LEAST_INSTANCES: u32 = 1 << 13;

/// Numbers of partial sums up to so many are added by the host: reading them takes less than one more dispatch.
const MOST_SUMS: u64 = MOST_WORKGROUPS;

/// A buffer of sums over lists, or of a gradient that stays on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ListMemory {
    /// Offsets of the lists: chunk, and position of the shape.
    Offsets(usize, usize),
    /// Their tables of entries.
    Others(usize, usize),
    /// The partial sums of all chunks' lists, each chunk's from a multiple of [`ALIGNMENT`] on.
    Sums,
    /// The same, summed to fewer.
    Totals,
    /// The current parameters, as the application reads them.
    Point,
    /// The gradient that the application can read.
    Left,
    /// For each parameter 1 where it is constant.
    FixedMask,
}

impl ListMemory {
    /// Identifies a buffer: a kind from 40 on, and two numbers.
    pub(super) fn key(self) -> (u64, usize, usize) {
        match self {
            ListMemory::Offsets(chunk, shape) => (40, chunk, shape),
            ListMemory::Others(chunk, shape) => (41, chunk, shape),
            ListMemory::Sums => (42, 0, 0),
            ListMemory::Totals => (43, 0, 0),
            ListMemory::Point => (44, 0, 0),
            ListMemory::Left => (45, 0, 0),
            ListMemory::FixedMask => (46, 0, 0),
        }
    }

    /// As messages name it: words, and which chunk's.
    pub(super) fn name(self) -> (&'static str, Option<usize>) {
        match self {
            ListMemory::Offsets(chunk, _) => ("offsets of lists", Some(chunk)),
            ListMemory::Others(chunk, _) => ("entries of lists", Some(chunk)),
            ListMemory::Sums => ("sums over lists", None),
            ListMemory::Totals => ("totals of sums over lists", None),
            ListMemory::Point => ("parameters, published", None),
            ListMemory::Left => ("gradient, published", None),
            ListMemory::FixedMask => ("fixed mask", None),
        }
    }
}

/// The lists of a chunk.
#[derive(Clone, Debug)]
pub struct ChunkLists {
    /// One for each size of blocks.
    pub shapes: Vec<ListShape>,
    /// Where its partial sums start in [`ListMemory::Sums`].
    pub first_sum: u64,
    /// Position of the uniforms of each shape, first to write over and then to add, in units of [`ALIGNMENT`].
    uniforms: u64,
}

impl ChunkLists {
    /// Position of the uniforms of a shape.
    pub fn uniforms(&self, shape: usize, add: bool) -> u64 {
        self.uniforms + 2 * shape as u64 + u64::from(add)
    }

    /// The shape whose dispatch sums the objective too, and how many partial sums it gives.
    pub fn counted(&self) -> (usize, u64) {
        let counted = self.shapes.iter().position(|shape| shape.slots.slots.contains(&0)).unwrap_or_default();
        (counted, self.workgroups(counted))
    }

    /// Workgroups of a shape's dispatch.
    pub fn workgroups(&self, shape: usize) -> u64 {
        u64::from(self.shapes[shape].owners.div_ceil(WORKGROUP_SIZE)).min(MOST_WORKGROUPS)
    }
}

/// The lists of all chunks.
#[derive(Clone, Debug, Default)]
pub struct Lists {
    /// For each chunk, its own if it has any.
    pub of_chunks: Vec<Option<ChunkLists>>,
    /// Numbers of the partial sums of all.
    pub sums: u64,
    /// Numbers that a partial sum has.
    sum_len: u64,
    /// Position of the reduction's uniforms.
    pub reduce_uniforms: u64,
    /// Position of the uniforms of the shader that sets what is constant to zero.
    pub fixed_mask_uniforms: u64,
    made: Vec<(ListMemory, Vec<u32>)>,
}

impl Lists {
    /// Lays them out, adding uniforms to the layout's.
    pub(super) async fn new(model: &Model, layout: &mut Layout, limits: &Limits, slices: &Slices<'_>) -> Result<Lists> {
        let mut lists = Lists { sum_len: table_len(layout.width, 1), ..Lists::default() };
        let most = limits.max_storage_buffer_binding_size.min(limits.max_buffer_size) / 4;
        let mut pays = None;
        for number in 0..layout.chunks.len() {
            let position = layout.chunks[number].batch;
            let batch = &model.batches[position];
            let pays = match pays {
                Some((known, pays)) if known == position => pays,
                _ => {
                    let it = recompute::pays(&batch.class, layout.width)?;
                    pays = Some((position, it));
                    it
                }
            };
            let shapes = if pays && batch.count >= LEAST_INSTANCES {
                recompute::shapes(batch, layout.passes(number), slices).await?
            } else {
                None
            };
            let fits = |shape: &ListShape| shape.offsets().max(shape.others()) <= most;
            let Some(shapes) = shapes.filter(|shapes| shapes.iter().all(fits)) else {
                lists.of_chunks.push(None);
                continue;
            };
            let width = layout.chunks[number].range.len() as u32;
            let mut uniforms = None;
            for shape in &shapes {
                let ListShape { first, owners, entries, .. } = *shape;
                for add in [0, 1] {
                    let dispatch = RecomputeDispatch::new(owners, entries, first, width, add);
                    let position = match layout.width {
                        Width::Single => layout.add_uniforms(&dispatch.words()),
                        Width::Pair => {
                            let lows = layout.distances_to_low();
                            layout.add_uniforms(&PairRecomputeDispatch::new(dispatch, lows).words())
                        }
                    };
                    uniforms.get_or_insert(position);
                }
            }
            let of_chunk = ChunkLists { shapes, first_sum: lists.sums, uniforms: uniforms.unwrap_or_default() };
            lists.sums += table_len(layout.width, of_chunk.counted().1).next_multiple_of(ALIGNMENT / 4);
            lists.of_chunks.push(Some(of_chunk));
        }
        lists.reduce_uniforms = layout.add_uniforms(&lists.reduction().words());
        let low = distance_to_low(model.num_params.into()) as u32;
        lists.fixed_mask_uniforms = layout.add_uniforms(&PairCountUniforms { count: model.num_params, low }.words());
        Ok(lists)
    }

    /// How the partial sums are summed, where they are too many for the host.
    pub fn reduction(&self) -> ReduceSumUniforms {
        let count = self.sums / self.sum_len;
        ReduceSumUniforms { count: count as u32, width: self.sum_len as u32, input_first: 0, output_first: 0 }
    }

    /// Whether the host adds the partial sums as they are.
    pub fn are_few(&self) -> bool {
        self.sums <= MOST_SUMS
    }

    fn shape(&self, chunk: usize, shape: usize) -> Option<&ListShape> {
        self.of_chunks.get(chunk)?.as_ref()?.shapes.get(shape)
    }

    /// Numbers of a buffer, of a model with so many parameters.
    pub(super) fn len(&self, memory: ListMemory, parameters: u64, width: Width) -> u64 {
        match memory {
            ListMemory::Offsets(chunk, shape) => self.shape(chunk, shape).map_or(0, ListShape::offsets),
            ListMemory::Others(chunk, shape) => self.shape(chunk, shape).map_or(0, ListShape::others),
            ListMemory::Sums => self.sums,
            ListMemory::Totals => 2 * u64::from(self.reduction().workgroups()),
            ListMemory::Point | ListMemory::Left => vector_len(width, parameters),
            ListMemory::FixedMask => parameters,
        }
    }

    /// Makes what stands in a buffer of tables from the start. The two tables of a shape are made together.
    pub(super) async fn make_content(
        &mut self,
        batch: &Batch,
        range: std::ops::Range<usize>,
        memory: ListMemory,
        slices: &Slices<'_>,
    ) -> Result<()> {
        let (ListMemory::Offsets(chunk, number) | ListMemory::Others(chunk, number)) = memory else { return Ok(()) };
        let Some(shape) = self.shape(chunk, number) else { return Ok(()) };
        if self.content(memory).is_none() {
            let ListTables { offsets, others } = recompute::tables(batch, range, shape, slices).await?;
            self.made.push((ListMemory::Offsets(chunk, number), offsets));
            self.made.push((ListMemory::Others(chunk, number), others));
        }
        Ok(())
    }

    /// What stands in a buffer from the start, once it is made.
    pub(super) fn content(&self, memory: ListMemory) -> Option<&[u32]> {
        self.made.iter().find(|(known, _)| *known == memory).map(|(_, content)| content.as_slice())
    }

    /// A buffer has its content.
    pub(super) fn forget_content(&mut self, memory: ListMemory) {
        self.made.retain(|(known, _)| *known != memory);
    }
}
