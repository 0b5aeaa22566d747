//! Kernels as WGSL.
//!
//! A text has one entry point, `main`, and binds the kernel's buffers in order and after them the uniform, `sizes`, the words of
//! [`Kernel::sizes`]. It keeps to the limits that every WebGPU device has: 256 threads a workgroup, 16 KB of workgroup memory, no optional
//! feature.
//!
//! A thread computes four neighbouring points at a time where buffers can be read or written in vectors of four elements; what is the same
//! for the four is computed once. The order of every sum follows from the kernel alone, so that all adapters add in one order.
//!
//! | module | what |
//! |---|---|
//! | `module` | the text under construction, its declarations and helpers |
//! | `buffers` | how buffers are declared, and elements read and written |
//! | `code` | straight-line code of a graph, for one point or four |
//! | `operation` | each operation as an expression |
//! | `points` | coordinates of a point from its number |
//! | `batch` | coordinates of a batch of matrices or heads |
//! | `combine` | states of reductions |
//! | `held` | points that a thread holds in registers |
//! | `elements`, `rows`, `scan`, `product`, `attention`, `sort`, `digits` | the bodies of kernels |
//! | `workgroups` | how many workgroups a dispatch has |
//!
//! **The guard's zero.** Functions that split roundings need a zero that compilers cannot derive (see `residua_codegen`). Texts take it from
//! the length of a storage buffer, which is never 0: a query of the device, unlike the contents of uniform buffers, which lavapipe compiles
//! into its shaders. It costs no binding. Entry points that need it make it once and keep it in a private variable.

use residua_base::error::{Error, ErrorCode, Result};

use crate::kernel::{Body, Kernel};

mod attention;
mod batch;
mod buffers;
mod code;
mod combine;
mod digits;
mod elements;
mod held;
mod layout;
mod module;
mod operation;
mod points;
mod product;
mod rows;
mod scan;
mod sort;
mod text;
mod workgroups;

pub use text::{KernelText, uniform_bytes};
pub use workgroups::{Factor, Workgroups};

use module::Module;

/// What a device allows beyond what every device has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Storage buffers of a kernel.
    pub storage_buffers: u32,
}

impl Default for Limits {
    /// What every device has.
    fn default() -> Limits {
        Limits { storage_buffers: 8 }
    }
}

/// Writes a kernel. An error with [`ErrorCode::LimitExceeded`] if it has more buffers than the device allows, or rows that no workgroup takes.
pub fn write(kernel: &Kernel, limits: &Limits) -> Result<KernelText> {
    if kernel.buffers.len() > limits.storage_buffers as usize {
        let message = format!(
            "kernel '{}' has {} buffers; the device allows {}",
            kernel.name,
            kernel.buffers.len(),
            limits.storage_buffers
        );
        return Err(Error::new(ErrorCode::LimitExceeded, message));
    }
    match &kernel.body {
        Body::Elements(elements) => elements::write(Module::new(kernel), elements),
        Body::Rows(rows) => rows::write(Module::new(kernel), rows),
        Body::Scan(scan) => scan::write(Module::new(kernel), scan),
        Body::Product(product) => product::write(Module::new(kernel), product),
        Body::Maps(maps) => elements::write_several(Module::new(kernel), maps),
        Body::Products(products) => product::write_siblings(Module::new(kernel), products, false),
        Body::Sequence(products) => product::write_siblings(Module::new(kernel), products, true),
        Body::Sort(sort) => sort::write(Module::new(kernel), sort),
        Body::DigitCounts(counts) => digits::write_counts(Module::new(kernel), counts),
        Body::DigitSort(sort) => digits::write_sort(Module::new(kernel), sort),
        Body::Attention(attention) => attention::write(Module::new(kernel), attention),
    }
}

#[cfg(test)]
#[cfg(not(target_arch = "wasm32"))]
mod tests;
