//! Code generation: from a graph over instances to program text.
//!
//! A [`Kernel`] is the IR: a graph with the elements of buffers that it reads and writes ([`Index`]), and what becomes of its results ([`Epilogue`]).
//! [`Kernel::check`] makes a [`CheckedKernel`] of it, the only form that back ends take. A [`RecomputeKernel`] sums kernels over the
//! lists of entries of parameter blocks.
//!
//! There are two back ends: [`wgsl`] writes a compute shader in f32, one thread an instance; [`wasm`] writes a WebAssembly module in
//! f64, two instances at a time. [`interpret`] runs a kernel by the reference evaluation, for machines that refuse generated code and
//! for tests. The crate is independent of what is computed: the callers make the kernels.

mod check;
mod index;
pub mod interpret;
mod kernel;
pub mod memory;
mod recompute;
mod schedule;
mod uses;
pub mod wasm;
pub mod wgsl;
mod width;

pub use check::CheckedKernel;
pub use index::{Constant, Index, Term, Variable};
pub use kernel::{
    Call, Case, Element, ElementType, Epilogue, Function, Guard, Instances, Kernel, KernelBuffer, Load, Output, Space,
    TableBuffer, Width,
};
pub use memory::{InstanceRange, View};
pub use recompute::{CheckedRecompute, RecomputeKernel};
pub use schedule::Step;
pub use width::OPERATIONS_OF_PAIR;
