//! The Gauss-Newton model on the device: recordings of its linearisation, of products with its matrix and of trial points, to
//! be built into a solver's own lists.
//!
//! A solver brings vectors in the layout of the parameters; what stays here are the local tables, gathered to the gradient
//! g = J̃ᵀr̃, to the product q = J̃ᵀJ̃p, and to the *block diagonal*: the diagonal blocks of J̃ᵀJ̃, one for each parameter block, from
//! which a preconditioner is made. Every kernel has a gate, so that the device decides what runs. Nothing here touches a device.
//!
//! Where the layout has a [`super::fused::FusedLayout`], all local tables are gathered at once (`fused`): gradient and the block diagonal by one dispatch for each
//! kind of blocks, products by whoever takes the parts. Where it has none, each chunk's are gathered one after the other and added to what
//! stands there, which is cleared first; a model of a single chunk writes over it.

use crate::eval::shaders::{AssembleUniforms, BlockDiagonalUniforms, Parts, Shader};
use crate::model::access_plan::{Entry, Role};
use crate::model::incidence::{Destination, Source};
use crate::model::least_squares::{LocalTable, is_mirrored};
use crate::model::{ArrayInfo, Model};
use residua_base::error::{Error, Result};
use residua_codegen::wgsl::WORKGROUP_SIZE;
use residua_gpu::{Limits, Slice};

use crate::eval::declare::{Declare, Sums};
use crate::eval::layout::{ALIGNMENT, Chunk, GatherShape, Layout, Memory};
use crate::eval::record::{Kernels, Program, kernel_layout};
use crate::eval::titles::kernel_name;

mod fused;

/// A larger block's block diagonal is its diagonal alone.
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

/// How the block diagonal lies: `scale` numbers for each parameter. A block of n numbers, of which the first is parameter `a`, has
/// the n(n+1)/2 numbers of its lower triangle, row by row, from `scale · a` on.
#[derive(Clone, Debug, Default)]
pub struct Shape {
    /// Numbers for each parameter.
    pub scale: u32,
    /// Whether any array has its block diagonal in pairs; the errors then stand in [`Memory::BlockDiagonalLow`] as the numbers do in
    /// [`Memory::BlockDiagonal`].
    pub pairs: bool,
    /// No two passes write one row, so that each may write over what stands there.
    disjoint: bool,
    /// For each chunk its passes.
    passes: Vec<Vec<PassShape>>,
    scratch: [u64; 2],
    clear_uniforms: u64,
    /// For each chunk its first partial sum, and how many it has.
    sums: Vec<(u64, u64)>,
}

/// Uniforms of a gather pass that writes over, and of its block diagonal's, adding and not; in units of [`ALIGNMENT`].
#[derive(Clone, Copy, Debug)]
struct PassShape {
    gather: u64,
    block_diagonal: [u64; 2],
    block_diagonal_workgroups: u32,
    /// Uniforms of both in one, where that serves.
    assemble: Option<u64>,
}

/// Numbers of an array's blocks for the preconditioner: those of the array's own, or 1 where they are too many.
pub fn block_numbers(array: &ArrayInfo) -> u32 {
    if array.dim <= MOST_NUMBERS { array.dim } else { 1 }
}

/// Numbers of the lower triangle of a block.
pub(crate) fn triangle(numbers: u32) -> u32 {
    numbers * (numbers + 1) / 2
}

impl Shape {
    /// Lays the normal equations out, adding uniforms to the layout's.
    pub(crate) fn new(model: &Model, layout: &mut Layout) -> Shape {
        let blocks = model.arrays.iter().map(block_numbers);
        let mut shape = Shape {
            scale: blocks.map(|numbers| triangle(numbers).div_ceil(numbers.max(1))).max().unwrap_or(1),
            pairs: model.arrays.iter().any(|array| array.count < FEW_BLOCKS),
            ..Shape::default()
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

/// Which of the buffers that recordings clear; their order is that of their uniforms.
#[derive(Clone, Copy)]
enum Cleared {
    Vector,
    BlockDiagonal,
}

/// Records the normal equations of a model.
pub struct Normal<'a, K> {
    /// What is evaluated.
    pub model: &'a Model,
    /// Where it lies.
    pub layout: &'a Layout,
    /// Its kernels, those of [`Entry::Linearise`], [`Entry::Product`], [`Entry::Jvp`] and [`Entry::Trial`].
    pub kernels: &'a K,
    /// The device's limits.
    pub limits: &'a Limits,
}

impl<K: Kernels> Normal<'_, K> {
    /// Linearises at a point. The gradient goes to `gradient`, the block diagonal to [`Memory::BlockDiagonal`]; gives the sums of the
    /// cost.
    pub fn linearise(&self, d: &mut dyn Declare, at: Slice, gradient: Slice, gate: Slice) -> Result<Sums> {
        if let Some(fused) = &self.layout.fused {
            self.run(d, Entry::Linearise, Memory::CostSums, at, gate)?;
            self.assemble_all(d, fused, gradient, gate)?;
            return Ok(self.sums(d, Memory::CostSums));
        }
        let block_diagonal = self.memory(d, Memory::BlockDiagonal);
        if !self.overwrites() {
            self.clear(d, Cleared::Vector, gradient, gate)?;
            self.clear(d, Cleared::BlockDiagonal, block_diagonal, gate)?;
            if self.layout.normal.pairs {
                let low = self.memory(d, Memory::BlockDiagonalLow);
                self.clear(d, Cleared::BlockDiagonal, low, gate)?;
            }
        }
        let rows_alone =
            self.chunks().any(|number| self.assembles(number).is_some() && self.parts(number) != Parts::Whole);
        let entry = if rows_alone { Entry::LineariseRows } else { Entry::Linearise };
        self.run(d, entry, Memory::CostSums, at, gate)?;
        for number in self.chunks() {
            if !self.assemble(d, number, gradient, gate)? {
                self.gather(d, number, gradient, gate)?;
                self.gather_curvature(d, number, gate)?;
            }
        }
        Ok(self.sums(d, Memory::CostSums))
    }

    /// J̃ᵀJ̃p to `q`, without the damping; gives the sums of ‖J̃p‖².
    pub fn product(&self, d: &mut dyn Declare, p: Slice, q: Slice, gate: Slice) -> Result<Sums> {
        if !self.overwrites() {
            self.clear(d, Cleared::Vector, q, gate)?;
        }
        self.run(d, Entry::Product, Memory::ProductSums, p, gate)?;
        for number in self.chunks() {
            self.gather(d, number, q, gate)?;
        }
        Ok(self.sums(d, Memory::ProductSums))
    }

    /// J̃p, left in the first columns of the local tables; gives the sums of ‖J̃p‖².
    pub fn jvp(&self, d: &mut dyn Declare, p: Slice, gate: Slice) -> Result<Sums> {
        self.run(d, Entry::Jvp, Memory::ProductSums, p, gate)?;
        Ok(self.sums(d, Memory::ProductSums))
    }

    /// The parts of the product J̃ᵀJ̃p, left in the local tables; gives the sums of ‖J̃p‖².
    pub fn product_parts(&self, d: &mut dyn Declare, p: Slice, gate: Slice) -> Result<Sums> {
        self.run(d, Entry::Product, Memory::ProductSums, p, gate)?;
        Ok(self.sums(d, Memory::ProductSums))
    }

    /// The sums of the reduction: the cost at the linearised point minus that at another.
    pub fn trial(&self, d: &mut dyn Declare, at: Slice, gate: Slice) -> Result<Sums> {
        self.run(d, Entry::Trial, Memory::CostSums, at, gate)?;
        Ok(self.sums(d, Memory::CostSums))
    }

    fn memory(&self, d: &mut dyn Declare, memory: Memory) -> Slice {
        d.table(self.layout, memory)
    }

    fn uniforms(&self, d: &mut dyn Declare, position: u64) -> Slice {
        self.memory(d, Memory::Uniforms).part(position * ALIGNMENT, ALIGNMENT)
    }

    /// The chunks of blocks that take part.
    fn chunks(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.layout.chunks.len()).filter(|&number| self.takes_part(&self.layout.chunks[number]))
    }

    fn takes_part(&self, chunk: &Chunk) -> bool {
        self.model.blocks[self.model.batches[chunk.batch].block as usize].enabled
    }

    /// Whether every run writes all that an earlier one wrote.
    fn overwrites(&self) -> bool {
        self.layout.normal.disjoint && self.layout.chunks.iter().all(|chunk| self.takes_part(chunk))
    }

    /// What the kernel of a chunk is bound to.
    fn bindings(&self, d: &mut dyn Declare, number: usize, entry: Entry, vector: Slice) -> Result<Vec<Slice>> {
        let chunk = &self.layout.chunks[number];
        let plan = self.kernels.plan(chunk.batch, entry)?;
        let mut bindings = Vec::new();
        for role in &plan.roles {
            bindings.push(match role {
                Role::Parameters | Role::Vector => vector,
                Role::Indices => self.memory(d, Memory::Indices(number)),
                Role::Data => self.memory(d, Memory::Data(number)),
                Role::BatchConstants => {
                    let (start, length) = self.layout.batch_constants[chunk.batch];
                    self.memory(d, Memory::BatchConstants).part(start, 4 * length)
                }
                Role::Local => self.memory(d, Memory::Local(number)),
                Role::Others
                | Role::Seeds
                | Role::Residuals
                | Role::AddendValues
                | Role::LocalGradient
                | Role::Gradient
                | Role::Partials
                | Role::Places
                | Role::JtjBlocks
                | Role::Steps => return Err(Error::internal("a kernel of the normal equations evaluates")),
            });
        }
        Ok(bindings)
    }

    fn run(&self, d: &mut dyn Declare, entry: Entry, sums: Memory, vector: Slice, gate: Slice) -> Result<()> {
        let sums = self.memory(d, sums);
        for number in self.chunks() {
            let chunk = &self.layout.chunks[number];
            let mut bindings = self.bindings(d, number, entry, vector)?;
            let (first, groups) = self.layout.normal.sums[number];
            bindings.push(sums.part(4 * first, 4 * groups));
            bindings.push(gate);
            bindings.push(self.uniforms(d, chunk.uniforms));
            let program = Program::Kernel(self.kernels.number(chunk.batch), entry);
            let name = kernel_name(self.model, chunk.batch, entry);
            let pipeline = d.program(program, &name, &kernel_layout(self.kernels.plan(chunk.batch, entry)?));
            d.list().dispatch(pipeline, &bindings, self.limits.split_workgroups(groups)?);
        }
        Ok(())
    }

    fn gather(&self, d: &mut dyn Declare, number: usize, to: Slice, gate: Slice) -> Result<()> {
        let chunk = &self.layout.chunks[number];
        let shapes = &self.layout.normal.passes[number];
        for (position, (pass, shape)) in chunk.passes.iter().zip(shapes).enumerate() {
            let source = match pass.source {
                Source::Local => Memory::Local(number),
                Source::Scratch(which) => Memory::Scratch(which),
            };
            let destination = match pass.destination {
                Destination::Gradient => to,
                Destination::Scratch(which) => self.memory(d, Memory::Scratch(which)),
            };
            let adding = chunk.uniforms + 1 + position as u64;
            let uniforms = if self.overwrites() { shape.gather } else { adding };
            let mut bindings = self.tables(d, number, position).to_vec();
            bindings.extend([self.memory(d, source), destination, gate, self.uniforms(d, uniforms)]);
            let pipeline = d.shader(Shader::Gather { fused: false, gated: true });
            d.list().dispatch(pipeline, &bindings, self.limits.split_workgroups(pass.workgroups.into())?);
        }
        Ok(())
    }

    /// What the local table of a chunk with a single pass holds of a product J̃p, or of r̃ where gradient and block diagonal are gathered in one:
    /// with one residual an instance, a number each is less to write and to read than one for each of its parameters.
    pub fn parts(&self, number: usize) -> Parts {
        let Chunk { batch, passes, .. } = &self.layout.chunks[number];
        let class = &self.model.batches[*batch].class;
        match (class.outputs.len(), &class.block_dims[..], &passes[..]) {
            (1, &[first, _], [pass]) if first == pass.dim && is_mirrored(class) => Parts::Mirrored,
            (1, _, [_]) => Parts::Weighted,
            _ => Parts::Whole,
        }
    }

    /// The uniforms of a gather of both gradient and block diagonal of a chunk, if its only pass allows that. There is only one chunk then.
    fn assembles(&self, number: usize) -> Option<u64> {
        let [shape] = &self.layout.normal.passes[number][..] else { return None };
        shape.assemble.filter(|_| self.overwrites())
    }

    /// Gathers gradient and block diagonal of a chunk in one, if that goes.
    fn assemble(&self, d: &mut dyn Declare, number: usize, gradient: Slice, gate: Slice) -> Result<bool> {
        let (Some(uniforms), [pass]) = (self.assembles(number), &self.layout.chunks[number].passes[..]) else {
            return Ok(false);
        };
        let mut bindings = self.tables(d, number, 0).to_vec();
        let memory = [Memory::Local(number), Memory::BlockDiagonal].map(|memory| self.memory(d, memory));
        bindings.extend([memory[0], gradient, memory[1], gate, self.uniforms(d, uniforms)]);
        let pipeline = d.shader(Shader::Assemble { dim: pass.dim, parts: self.parts(number) });
        let groups = u64::from(pass.rows.div_ceil(WORKGROUP_SIZE));
        d.list().dispatch(pipeline, &bindings, self.limits.split_workgroups(groups)?);
        Ok(true)
    }

    fn gather_curvature(&self, d: &mut dyn Declare, number: usize, gate: Slice) -> Result<()> {
        let chunk = &self.layout.chunks[number];
        let shapes = &self.layout.normal.passes[number];
        let scratch = |which: u32| Memory::BlockDiagonalScratch(which);
        for (position, (pass, shape)) in chunk.passes.iter().zip(shapes).enumerate() {
            let GatherShape { source, destination, .. } = *pass;
            let source = match source {
                Source::Local => Memory::Local(number),
                Source::Scratch(which) => scratch(which),
            };
            let destination = match destination {
                Destination::Gradient => Memory::BlockDiagonal,
                Destination::Scratch(which) => scratch(which),
            };
            let uniforms = shape.block_diagonal[usize::from(!self.overwrites())];
            let mut bindings = self.tables(d, number, position).to_vec();
            bindings.extend([
                self.memory(d, source),
                self.memory(d, destination),
                self.memory(d, Memory::BlockDiagonalLow),
                gate,
                self.uniforms(d, uniforms),
            ]);
            let pipeline = d.shader(Shader::BlockDiagonal { fused: false });
            let groups = self.limits.split_workgroups(shape.block_diagonal_workgroups.into())?;
            d.list().dispatch(pipeline, &bindings, groups);
        }
        Ok(())
    }

    fn tables(&self, d: &mut dyn Declare, number: usize, pass: usize) -> [Slice; 3] {
        [Memory::GatherOffsets(number, pass), Memory::GatherEntries(number, pass), Memory::GatherTargets(number, pass)]
            .map(|memory| self.memory(d, memory))
    }

    fn clear(&self, d: &mut dyn Declare, what: Cleared, slice: Slice, gate: Slice) -> Result<()> {
        let uniforms = self.uniforms(d, self.layout.normal.clear_uniforms + what as u64);
        let pipeline = d.shader(Shader::Clear);
        let groups = (slice.size / 4).div_ceil(64);
        d.list().dispatch(pipeline, &[slice, gate, uniforms], self.limits.split_workgroups(groups)?);
        Ok(())
    }

    /// Sums that the next kernel finishes.
    fn sums(&self, d: &mut dyn Declare, sums: Memory) -> Sums {
        Sums { slice: self.memory(d, sums), count: self.layout.normal.num_sums() as u32, width: 1 }
    }
}
