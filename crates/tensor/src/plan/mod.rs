//! A plan: which kernels run in which order, on which memory. Plain data, which the facade executes.
//!
//! A plan has *places*, pieces of memory: slots that the facade binds (stored tensors, inputs), temporaries that live within a run, and
//! results. Its *steps* are dispatches of kernels and copies between places. Extents that depend on dims are words of each step's uniform;
//! [`Plan::words`] computes all of them for a run, so that other sizes change numbers alone.

use residua_base::error::Result;

use crate::expr::{Expr, TensorId};
use crate::fuse::Target;
use crate::fuse::memory_dtype;
use crate::kernel::Kernel;
use crate::lower::Memory;
use crate::size::Size;
use crate::tape::Recipe;

mod dispatches;
#[cfg(not(target_arch = "wasm32"))]
pub mod execute;
mod lists;
mod memory;
mod prepare;
mod sort;

/// What a program does at each run.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The kernels, one for each dispatch.
    pub kernels: Vec<Kernel>,
    /// The pieces of memory.
    pub places: Vec<Place>,
    /// In order.
    pub steps: Vec<Step>,
    /// The place of each result of the recipe, in order.
    pub results: Vec<u32>,
}

/// A piece of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// What the facade binds: a stored tensor or an input of the program.
    Slot(u32),
    /// Memory within a run. Steps that do not overlap in time may share it.
    Temporary {
        /// For the largest dims.
        bytes: u64,
    },
    /// A result, which lasts until the next run.
    Result {
        /// For the largest dims.
        bytes: u64,
    },
}

/// One step of a run.
#[derive(Clone, Debug)]
pub enum Step {
    /// A kernel.
    Dispatch {
        /// Position in [`Plan::kernels`].
        kernel: u32,
        /// The place of each of the kernel's buffers, in binding order.
        places: Vec<u32>,
    },
    /// Bytes from one place to another.
    Copy {
        /// Where from.
        from: u32,
        /// Where to.
        to: u32,
        /// How many bytes, before they are rounded up to whole words.
        bytes: Size,
    },
}

/// Memory of all tensors is a multiple of this.
pub const GRAIN: u64 = 16;

impl Plan {
    /// The plan of a recipe without derivatives.
    pub fn new(recipe: &Recipe, target: &Target) -> Result<Plan> {
        let prepared = prepare::prepare(recipe, target);
        let dispatches = dispatches::dispatches(&prepared, target, &recipe.dims)?;
        Ok(memory::place(&prepared, dispatches, &recipe.dims))
    }
}

impl std::fmt::Display for Plan {
    /// A line a step: the kernel and its places, and at the end the memory.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for step in &self.steps {
            match step {
                Step::Dispatch { kernel, places } => {
                    let kernel = &self.kernels[*kernel as usize];
                    write!(formatter, "{}:", kernel.name)?;
                    for (place, buffer) in places.iter().zip(&kernel.buffers) {
                        let access = if buffer.written { "writes" } else { "reads" };
                        write!(formatter, " {access} {place}")?;
                    }
                    writeln!(formatter)?;
                }
                Step::Copy { from, to, .. } => writeln!(formatter, "copy: reads {from} writes {to}")?,
            }
        }
        for (number, place) in self.places.iter().enumerate() {
            match place {
                Place::Slot(slot) => writeln!(formatter, "place {number}: slot {slot}")?,
                Place::Temporary { bytes } => writeln!(formatter, "place {number}: {bytes} bytes")?,
                Place::Result { bytes } => writeln!(formatter, "place {number}: {bytes} bytes of a result")?,
            }
        }
        Ok(())
    }
}

/// Bytes of so many elements.
pub fn padded(elements: u64, bytes: u32) -> u64 {
    (elements * u64::from(bytes)).div_ceil(GRAIN).max(1) * GRAIN
}

/// Bytes that a tensor has in memory with the largest dims.
fn most_bytes(expr: &Expr, id: TensorId, most_dims: &[u32]) -> u64 {
    padded(expr.count(id).at(most_dims).max(0) as u64, memory_dtype(expr, id).bytes())
}

/// Elements that a buffer of a kernel may have at most, from the sizes of what writes it: used for scratch memory alone.
fn is_temporary(memory: &Memory) -> bool {
    matches!(memory, Memory::Tensor(_) | Memory::Scratch(_))
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests;
