//! A plan: which kernels run in which order, on which memory. Plain data, which the facade executes.
//!
//! A plan has *places*, pieces of memory: slots that the facade binds (stored tensors, inputs), temporaries that live within a run, and
//! results. Its *steps* are dispatches of kernels and copies between places. Extents that depend on dims are words of each step's uniform;
//! [`Plan::words`] computes all of them for a run, so that other sizes change numbers alone.

use crate::kernel::Kernel;
use crate::size::Size;

/// What a program does at each run.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The distinct kernels.
    pub kernels: Vec<Kernel>,
    /// The pieces of memory.
    pub places: Vec<Place>,
    /// In order.
    pub steps: Vec<Step>,
    /// The place of each result of the recipe, in order.
    pub results: Vec<u32>,
}

/// A piece of memory.
#[derive(Clone, Debug, PartialEq, Eq)]
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
        /// The words of its uniform.
        sizes: Vec<Size>,
    },
    /// Bytes from one place to another.
    Copy {
        /// Where from.
        from: u32,
        /// Where to.
        to: u32,
        /// How many bytes; rounded up to a multiple of 4 by whoever copies.
        bytes: Size,
    },
}
