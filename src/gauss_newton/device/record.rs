//! The Gauss-Newton model on the device: recordings of its linearisation, of products with its matrix and of trial points, to
//! be built into a solver's own lists.
//!
//! A solver brings vectors in the layout of the parameters; what stays here are the local tables, gathered to the gradient
//! g = J̃ᵀr̃, to the product q = J̃ᵀJ̃p, and to the *block diagonal*: the diagonal blocks of J̃ᵀJ̃, one for each parameter block, from
//! which a preconditioner is made. Every kernel has a gate, so that the device decides what runs. Nothing here touches a device.
//!
//! Where the layout has a [`crate::eval::layout::fused::FusedLayout`], all local tables are gathered at once (`fused`): gradient and the block diagonal by one dispatch for each
//! kind of blocks, products by the kernel that reads the parts. Where it has none, each chunk's are gathered one after the other and added to what
//! stands there, which is cleared first; a model of a single chunk writes over it.

use crate::eval::shaders::{Parts, Shader};
use crate::model::Model;
use crate::model::access_plan::{Entry, Role};
use crate::model::incidence::{Destination, Source};
use crate::model::least_squares::is_mirrored;
use residua_base::error::{Error, Result};
use residua_codegen::wgsl::WORKGROUP_SIZE;
use residua_gpu::{Limits, Slice};

#[cfg(target_arch = "wasm32")]
use crate::eval::access_plan_cache::AccessPlanCache;
use crate::eval::declare::{Declare, Sums};
#[cfg(target_arch = "wasm32")]
use crate::eval::gpu::GpuEngine;
use crate::eval::layout::{ALIGNMENT, Chunk, GatherShape, Layout, Memory};
use crate::eval::record::{Kernels, Program, kernel_layout};
use crate::eval::titles::kernel_name;

mod fused;

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

#[cfg(target_arch = "wasm32")]
impl<'a> Normal<'a, AccessPlanCache> {
    /// The recorder of an engine's normal equations, once [`GpuEngine::refresh`] has been called.
    pub fn of(engine: &'a GpuEngine, model: &'a Model) -> Normal<'a, AccessPlanCache> {
        let (kernels, limits) = (engine.access_plans(), engine.context().limits());
        Normal { model, layout: engine.layout(), kernels, limits }
    }
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
