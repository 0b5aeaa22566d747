//! The command lists of a system on a device, with the buffers and pipelines that they need. Nothing here touches a device.

use std::rc::Rc;

use super::aggregates::Aggregates;
use super::shaders::{SystemKernel, SystemUniforms};
use super::state;
use crate::eval::Objective;
use crate::eval::declare::{self, Declare};
use crate::eval::hessian::energy;
use crate::eval::layout::{ALIGNMENT, Chunk, Memory};
use crate::eval::objective::Descent;
use crate::eval::record::{self, Kernels, kernel_layout};
use crate::eval::titles::kernel_name;
use crate::model::access_plan::{Entry, Role};
use crate::model::energy::Coordinates;
use crate::model::{ArrayInfo, Batch, Class, Manifold, Model, instance_matrices};
use crate::solve::words::words;
use residua_base::error::{Error, Result};
use residua_base::list::Listed;
use residua_codegen::Guard;
use residua_codegen::wgsl::{WORKGROUP_SIZE, reads_zero};
use residua_gpu::{BindingKind, CommandList, DownloadId, PipelineId, Slice};

/// Rows of an instance's matrix, at most: each thread of `project` has two such matrices.
pub const MOST_ROWS: u32 = 16;
/// Numbers of a block, at most: a thread solves for all of them.
pub const MOST_NUMBERS: u32 = 10;
/// For messages.
pub const NAME: &str = "the linear system of Newton's method";

words! { pub usize, distinct BUFFERS:
    /// [`state::STATE`]
    STATE = 0,
    /// [`state::VECTORS`]
    VECTORS = 1,
    /// [`state::SECTIONS`]
    SUMS = 2,
    /// [`Aggregates::table`]
    BLOCKS = 3,
    /// 1 where a coordinate is held, as constants are.
    HELD = 4,
    /// First coordinate of each unit, distance to the next, and how many.
    UNITS = 5,
    /// Uniforms of the system's kernels.
    UNIFORMS = 6,
    /// 1 where a parameter is constant.
    CONSTANT = 7,
    /// Instances with negative eigenvalues, by workgroups.
    COUNTS = 8,
    /// Of the coarse part of the preconditioner: what parts have along the basis, corrections, the inverse, what probes find.
    COARSE = 9,
}

/// The buffer of the Hessians of a chunk's instances, and that of the same with other eigenvalues in the place of negative ones.
pub fn tables(chunk: usize) -> [usize; 2] {
    [0, 1].map(|table| BUFFERS.len() + 2 * chunk + table)
}

const HESSIANS: usize = 0;
const PROJECTED: usize = 1;

/// A command list of a system: its buffers by their numbers, its pipelines by their kernels.
pub type Segment = declare::Segment<usize, SystemKernel>;

/// What the lists and buffers of a model depend on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    count: u32,
    /// Numbers of the largest block.
    pub numbers: u32,
    /// Blocks in an order of aggregates.
    pub aggregates: Aggregates,
    /// What stands in [`UNITS`].
    pub units: Vec<u32>,
}

impl Shape {
    /// The shape of a model. `None` where a device does not take it.
    pub fn of(model: &Model, objective: Objective) -> Option<Shape> {
        let takes_array = |array: &ArrayInfo| array.manifold == Manifold::Euclidean && array.dim <= MOST_NUMBERS;
        let takes_batch = |batch: &Batch| {
            let is_long_sum = objective == Objective::LeastSquares && batch.has_addends();
            !is_long_sum && batch.plain.is_none() && instance_matrices::rows(&batch.class) <= MOST_ROWS
        };
        if !model.arrays.iter().all(takes_array) || !model.batches.iter().all(takes_batch) {
            return None;
        }
        let (mut blocks, mut units) = (vec![0], Vec::new());
        for &ArrayInfo { dim, count, offset, .. } in &model.arrays {
            for block in 1..=count {
                blocks.push(offset + block * dim);
            }
            for component in 0..dim {
                units.extend_from_slice(&[offset + component, dim, count]);
            }
        }
        let numbers = model.arrays.iter().map(|array| array.dim).max().unwrap_or(1).max(1);
        if numbers > 1 && !has_slots_of_blocks(model, &blocks) {
            return None;
        }
        let aggregates = Aggregates::new(model, &blocks, numbers);
        Some(Shape { count: model.num_params, numbers, aggregates, units })
    }

    /// Distance of vectors that share a buffer.
    pub fn stride(&self) -> u64 {
        u64::from(self.count.next_multiple_of(64))
    }

    /// Words of [`COARSE`] in front of corrections, the inverse, and what probes find.
    pub fn coarse_places(&self) -> [u32; 3] {
        let (parts, rows) = (self.aggregates.parts() * self.numbers, self.aggregates.row_count());
        let inverse = (parts + rows).next_multiple_of(64);
        [parts, inverse, (inverse + rows * rows).next_multiple_of(64)]
    }

    /// Words that a probe finds.
    fn probed_len(&self) -> u32 {
        self.aggregates.parts() * self.numbers
    }
}

/// Everything that a system submits.
#[derive(Debug)]
pub struct Recording {
    /// Hessians at the point of [`Memory::Parameters`], and what is made of them.
    pub linearise: Segment,
    /// Products of the projected Hessians with the basis.
    pub probe: Segment,
    /// The begin of conjugate gradients.
    pub begin: Segment,
    /// An iteration with projected Hessians, and one with Hessians as they are.
    pub iterations: [Segment; 2],
    /// Reads the state.
    pub read: Segment,
    /// Products of the projected Hessians with the step.
    pub measure: Segment,
    /// Of [`Recording::linearise`]: the diagonal, then the counts.
    pub linearised: [DownloadId; 2],
    /// Of [`Recording::probe`], as [`Aggregates::matrix`] takes it.
    pub probed: DownloadId,
    /// Of [`Recording::read`].
    pub state: DownloadId,
    /// Of [`Recording::measure`]: partial sums of dᵀPd.
    pub measured: DownloadId,
    /// Bytes of the system's buffers.
    pub sizes: Vec<u64>,
    /// What stands in [`UNIFORMS`].
    pub uniforms: Vec<u32>,
    /// The classes of projected instances, by the numbers of their kernels.
    pub classes: Vec<(usize, Rc<Class>)>,
}

/// The entries of a model's kernels that recordings need, where blocks have so many numbers.
pub fn entries(numbers: u32) -> Vec<Entry> {
    let mut entries = vec![Entry::MatrixProduct, Entry::MatrixMagnitudes];
    for column in 0..numbers {
        entries.push(entry_of_column(numbers, column));
    }
    entries
}

/// What gives a column of the diagonal blocks. Where all blocks are single numbers, slots of instances may have several.
fn entry_of_column(numbers: u32, column: u32) -> Entry {
    if numbers == 1 { Entry::MatrixMagnitudes } else { Entry::MatrixColumn(column) }
}

/// Whether each slot of each instance is a block.
fn has_slots_of_blocks(model: &Model, blocks: &[u32]) -> bool {
    let mut dims = vec![0; model.num_params as usize];
    for ends in blocks.windows(2).filter(|ends| ends[0] < ends[1]) {
        dims[ends[0] as usize] = ends[1] - ends[0];
    }
    model.batches.iter().all(|batch| {
        let slots = (0..).zip(&batch.class.block_dims);
        slots.into_iter().all(|(slot, dim)| batch.column(slot).iter().all(|&first| dims[first as usize] == *dim))
    })
}

/// The entry of the Hessians of a batch.
pub fn hessian(batch: &Batch, objective: Objective) -> Entry {
    Entry::Hessian(energy(batch, objective), Coordinates::Numbers)
}

/// Records a system. `factor`: how often the magnitude of a negative eigenvalue is added to it.
pub fn record<K: Kernels>(descent: &Descent<K>, shape: &Shape, factor: f32) -> Result<Recording> {
    let chunks = &descent.layout.chunks;
    let (mut products, mut counts, mut first_products) = (0, 0, Vec::new());
    let mut of_chunks = Vec::new();
    for chunk in chunks {
        let (count, groups) = (chunk.range.len() as u32, chunk_groups(chunk));
        first_products.push(state::CURVATURES + products);
        let uniforms =
            SystemUniforms { count, stride: count, groups, first: counts, factor, ..SystemUniforms::default() };
        of_chunks.push(uniforms);
        products += groups.next_multiple_of(64);
        counts += groups;
    }
    let aggregates = &shape.aggregates;
    let [corrections, inverse, probed] = shape.coarse_places();
    let common = SystemUniforms {
        count: shape.count,
        stride: shape.stride() as u32,
        parts: aggregates.parts(),
        each: aggregates.each,
        aggregates: aggregates.count,
        rows: aggregates.row_count(),
        colours: aggregates.parts() + 1,
        places: aggregates.parts() + 1 + aggregates.count,
        corrections,
        inverse,
        products,
        ..SystemUniforms::default()
    };
    let of_probes = aggregates.probes().enumerate().map(|(number, (colour, component))| SystemUniforms {
        colour,
        component,
        probed: probed + number as u32 * shape.probed_len(),
        ..common
    });
    let of_probes = of_probes.list();
    let mut uniforms = Vec::new();
    for of_dispatch in [common].iter().chain(&of_chunks).chain(&of_probes) {
        uniforms.extend_from_slice(&of_dispatch.words());
        uniforms.resize(uniforms.len().next_multiple_of(ALIGNMENT as usize / 4), 0);
    }
    let count = u64::from(shape.count);
    let vectors = u64::from(state::COLUMNS + 2 * shape.numbers) * shape.stride();
    let sums = u64::from(state::CURVATURES + products);
    let (blocks, units) = (aggregates.table.len() as u64, shape.units.len() as u64);
    let coarse = u64::from(probed) + of_probes.len() as u64 * u64::from(shape.probed_len());
    let words =
        [state::WORDS as u64, vectors, sums, blocks, count, units, uniforms.len() as u64, count, counts.into(), coarse];
    let mut sizes = words.map(|words| 4 * words).to_vec();
    for chunk in chunks {
        sizes.extend_from_slice(&[bytes_of_table(descent.model, chunk); 2]);
    }
    let mut writer = Writer { descent, shape, first_products, sizes, classes: Vec::new(), segment: Segment::default() };
    let chunks = chunks.len();
    let linearised = writer.linearise(chunks)?;
    let linearise = writer.finish();
    let probed = writer.probe(chunks, of_probes.len())?;
    let probe = writer.finish();
    writer.own(SystemKernel::Begin, aggregates.parts());
    let begin = writer.finish();
    let mut iteration = |table| {
        writer.iterate(chunks, table)?;
        Ok(writer.finish())
    };
    let iterations = [iteration(PROJECTED)?, iteration(HESSIANS)?];
    let of_state = writer.buffer(STATE);
    let state = writer.segment.list.download(of_state);
    let read = writer.finish();
    let measured = writer.measure(chunks)?;
    let measure = writer.finish();
    let Writer { classes, sizes, .. } = writer;
    Ok(Recording {
        linearise,
        probe,
        begin,
        iterations,
        read,
        measure,
        linearised,
        probed,
        state,
        measured,
        sizes,
        uniforms,
        classes,
    })
}

/// Workgroups of a chunk's kernels.
fn chunk_groups(chunk: &Chunk) -> u32 {
    (chunk.range.len() as u32).div_ceil(WORKGROUP_SIZE)
}

struct Writer<'a, K> {
    descent: &'a Descent<'a, K>,
    shape: &'a Shape,
    /// Of each chunk where the partial sums of its products stand.
    first_products: Vec<u32>,
    /// Bytes of the system's buffers.
    sizes: Vec<u64>,
    classes: Vec<(usize, Rc<Class>)>,
    segment: Segment,
}

impl<K: Kernels> Declare for Writer<'_, K> {
    fn list(&mut self) -> &mut CommandList {
        &mut self.segment.list
    }

    fn memory(&mut self, memory: Memory, bytes: u64) -> Slice {
        self.segment.memory(memory, bytes)
    }

    fn program(&mut self, program: record::Program, name: &str, layout: &[BindingKind]) -> PipelineId {
        self.segment.program(program, name, layout)
    }
}

impl<K: Kernels> Writer<'_, K> {
    fn linearise(&mut self, chunks: usize) -> Result<[DownloadId; 2]> {
        let chunks = (0..chunks).filter(|&number| self.takes_part(number)).list();
        for &number in &chunks {
            let batch = &self.descent.model.batches[self.descent.layout.chunks[number].batch];
            self.run(number, hessian(batch, self.descent.objective), HESSIANS, None)?;
        }
        self.gathered(&chunks, Entry::MatrixMagnitudes, HESSIANS, state::PRODUCT)?;
        let units = self.shape.units.len() as u32 / 3;
        self.own(SystemKernel::Units, units);
        let counts = self.buffer(COUNTS);
        self.segment.list.clear(counts);
        for &number in &chunks {
            self.project(number)?;
        }
        self.gathered(&chunks, Entry::MatrixMagnitudes, PROJECTED, state::DIAGONAL)?;
        for column in 0..self.shape.numbers {
            let entry = entry_of_column(self.shape.numbers, column);
            self.gathered(&chunks, entry, PROJECTED, state::COLUMNS + column)?;
        }
        let diagonal = self.vector(state::DIAGONAL);
        let list = &mut self.segment.list;
        Ok([list.download(diagonal), list.download(counts)])
    }

    fn iterate(&mut self, chunks: usize, table: usize) -> Result<()> {
        self.own(SystemKernel::Coarse, self.shape.aggregates.count);
        self.own(SystemKernel::Direction, self.shape.aggregates.parts());
        self.multiply(chunks, table, state::GATE)?;
        self.own(SystemKernel::Update, self.shape.aggregates.parts());
        Ok(())
    }

    /// Adds the product of the matrices with the direction to what stands in its place.
    fn multiply(&mut self, chunks: usize, table: usize, gate: usize) -> Result<()> {
        let product = self.vector(state::PRODUCT);
        for number in 0..chunks {
            if self.takes_part(number) {
                self.run(number, Entry::MatrixProduct, table, Some((state::DIRECTION, gate)))?;
                let gate = self.gate(gate);
                self.descent.gather(self, number, product, gate)?;
            }
        }
        Ok(())
    }

    /// Multiplies the projected Hessians by the basis.
    fn probe(&mut self, chunks: usize, probes: usize) -> Result<DownloadId> {
        let parts = self.shape.aggregates.parts();
        for number in 0..probes {
            let uniforms = 1 + self.descent.layout.chunks.len() + number;
            self.own_with(SystemKernel::Probe, parts, uniforms);
            self.multiply(chunks, PROJECTED, state::OPEN)?;
            self.own_with(SystemKernel::Restrict, parts, uniforms);
        }
        let first = 4 * u64::from(self.shape.coarse_places()[2]);
        let found = self.buffer(COARSE).part(first, self.sizes[COARSE] - first);
        Ok(self.segment.list.download(found))
    }

    /// Multiplies the projected Hessians by the step.
    fn measure(&mut self, chunks: usize) -> Result<DownloadId> {
        let products = self.sizes[SUMS] - 4 * u64::from(state::CURVATURES);
        let sums = self.buffer(SUMS).part(4 * u64::from(state::CURVATURES), products);
        self.segment.list.clear(sums);
        for number in (0..chunks).filter(|&number| self.takes_part(number)).list() {
            self.run(number, Entry::MatrixProduct, PROJECTED, Some((state::STEP, state::OPEN)))?;
        }
        Ok(self.segment.list.download(sums))
    }

    fn takes_part(&self, number: usize) -> bool {
        self.descent.takes_part(&self.descent.layout.chunks[number])
    }

    /// Adds up what an entry gives of matrices over all instances, into a vector.
    fn gathered(&mut self, chunks: &[usize], entry: Entry, table: usize, vector: u32) -> Result<()> {
        let vector = self.vector(vector);
        self.segment.list.clear(vector);
        for &number in chunks {
            self.run(number, entry, table, None)?;
            let gate = self.gate(state::OPEN);
            self.descent.gather(self, number, vector, gate)?;
        }
        Ok(())
    }

    /// Runs a kernel of the functions over a chunk and a table of its matrices, a product with that vector behind that gate.
    fn run(&mut self, number: usize, entry: Entry, table: usize, product: Option<(u32, usize)>) -> Result<()> {
        let (vector, gate) = product.unwrap_or((state::DIRECTION, state::OPEN));
        let descent = self.descent;
        let chunk = &descent.layout.chunks[number];
        let plan = descent.kernels.plan(chunk.batch, entry)?;
        let mut bindings = Vec::new();
        for role in &plan.roles {
            if let Some(slice) = self.of_model(descent.layout, *role, number) {
                bindings.push(slice);
                continue;
            }
            bindings.push(match role {
                Role::Parameters => self.table(descent.layout, Memory::Parameters),
                Role::LocalGradient => self.table(descent.layout, Memory::LocalGradient),
                Role::Partials => self.buffer(tables(number)[table]),
                Role::Vector => self.vector(vector),
                _ => return Err(Error::internal("a kernel of matrices does something else")),
            });
        }
        let groups = chunk_groups(chunk);
        if plan.kernel.has_total() {
            let first = self.first_products[number];
            bindings.push(self.buffer(SUMS).part(4 * u64::from(first), 4 * u64::from(groups)));
        }
        if plan.kernel.guard == Guard::Gate {
            bindings.push(self.gate(gate));
        }
        if reads_zero(&plan.kernel) {
            bindings.push(self.table(descent.layout, Memory::GuardZero));
        }
        bindings.push(descent.uniforms(self, chunk.uniforms));
        let program = record::Program::Kernel(descent.kernels.number(chunk.batch), entry);
        let name = kernel_name(descent.model, chunk.batch, entry);
        let pipeline = self.program(program, &name, &kernel_layout(plan));
        self.segment.list.dispatch(pipeline, &bindings, descent.limits.split_workgroups(groups.into())?);
        Ok(())
    }

    fn project(&mut self, number: usize) -> Result<()> {
        let descent = self.descent;
        let chunk = &descent.layout.chunks[number];
        let kernel = descent.kernels.number(chunk.batch);
        if !self.classes.iter().any(|(known, _)| *known == kernel) {
            self.classes.push((kernel, descent.model.batches[chunk.batch].class.clone()));
        }
        let [matrices, projected] = tables(number);
        let bindings = [
            self.table(descent.layout, Memory::Indices(number)),
            self.buffer(matrices),
            self.vector(state::SCALES),
            self.buffer(CONSTANT),
            self.buffer(projected),
            self.buffer(COUNTS),
            self.buffer(UNIFORMS).part((1 + number as u64) * ALIGNMENT, ALIGNMENT),
        ];
        let kernel = SystemKernel::Project(kernel);
        let pipeline = self.segment.pipeline(kernel, kernel.name(), &kernel.layout());
        let groups = descent.limits.split_workgroups(chunk_groups(chunk).into())?;
        self.segment.list.dispatch(pipeline, &bindings, groups);
        Ok(())
    }

    /// Runs a kernel of the system.
    fn own(&mut self, kernel: SystemKernel, workgroups: u32) {
        self.own_with(kernel, workgroups, 0);
    }

    /// Runs a kernel of the system with uniforms by their number.
    fn own_with(&mut self, kernel: SystemKernel, workgroups: u32, uniforms: usize) {
        let mut bindings = Vec::new();
        for number in [STATE, VECTORS, SUMS, BLOCKS, HELD, UNITS, COARSE] {
            bindings.push(self.buffer(number));
        }
        bindings.push(self.buffer(UNIFORMS).part(uniforms as u64 * ALIGNMENT, ALIGNMENT));
        let pipeline = self.segment.pipeline(kernel, kernel.name(), &kernel.layout());
        self.segment.list.dispatch(pipeline, &bindings, [workgroups, 1]);
    }

    fn gate(&mut self, word: usize) -> Slice {
        self.buffer(STATE).part(4 * word as u64, 8)
    }

    fn vector(&mut self, number: u32) -> Slice {
        let stride = 4 * self.shape.stride();
        self.buffer(VECTORS).part(u64::from(number) * stride, 4 * u64::from(self.shape.count))
    }

    fn buffer(&mut self, number: usize) -> Slice {
        self.segment.buffer(number, self.sizes[number])
    }

    fn finish(&mut self) -> Segment {
        std::mem::take(&mut self.segment)
    }
}

/// Bytes of a table of a chunk's matrices.
fn bytes_of_table(model: &Model, chunk: &Chunk) -> u64 {
    4 * u64::from(instance_matrices::columns(&model.batches[chunk.batch].class)) * chunk.range.len() as u64
}
