//! What a plan is made of: places, steps, and kernels.

use crate::kernel::{SizeBounds, TensorKernel};
use crate::roots;
use crate::size::Size;

/// What a program does at each run.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The kernels, each once: layers of a network are dispatches of the same ones.
    pub kernels: Vec<TensorKernel>,
    /// The pieces of memory.
    pub places: Vec<Place>,
    /// In order.
    pub steps: Vec<Step>,
    /// The place of each result of the recipe, in order.
    pub results: Vec<u32>,
    /// For each kernel the number of elements of each of its buffers; of scratch memory for the largest dims.
    pub counts: Vec<Vec<Size>>,
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
    /// The table of the roots of unity of a length, [`crate::roots::table`], which nothing writes.
    Roots(u32),
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
                    if let Some(SizeBounds { least, most, .. }) = kernel.guard {
                        write!(formatter, " for sizes {least} to {most}")?;
                    }
                    writeln!(formatter)?;
                }
                Step::Copy { from, to, .. } => writeln!(formatter, "copy: reads {from} writes {to}")?,
            }
        }
        for (number, place) in self.places.iter().enumerate() {
            match place {
                Place::Slot(slot) => writeln!(formatter, "place {number}: slot {slot}")?,
                Place::Roots(length) => writeln!(formatter, "place {number}: roots of unity of {length}")?,
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

/// The bytes of the table of the roots of unity of a length, as memory has them.
pub fn bytes_of_roots(length: u32) -> Vec<u8> {
    let mut bytes: Vec<u8> = roots::table(length).iter().flat_map(|part| part.to_le_bytes()).collect();
    bytes.resize(padded(2 * u64::from(roots::count(length)), 4) as usize, 0);
    bytes
}
