//! Kernels as WGSL.
//!
//! A text has one entry point, `main`, and binds the kernel's buffers in order and after them the uniform, `sizes`, the words of
//! [`TensorKernel::sizes`]. It keeps to the limits that every WebGPU device has: 256 threads a workgroup, 16 KB of workgroup memory, no optional
//! feature.
//!
//! A thread computes four neighbouring points at a time where buffers can be read or written in vectors of four elements; what is the same
//! for the four is computed once. The order of every sum follows from the kernel alone, so that all adapters add in one order.
//!
//! | module | what |
//! |---|---|
//! | `module` | the text under construction, its declarations and helpers |
//! | `buffers` | how buffers are declared, and elements read and written |
//! | `windows` | buffers that are longer than a binding |
//! | `code` | straight-line code of a graph, for one point or four |
//! | `operation`, `order` | each operation as an expression, and which of its operands are hidden from compilers |
//! | `points` | coordinates of a point from its number |
//! | `batch` | coordinates of a batch of matrices or heads |
//! | `combine` | states of reductions |
//! | `held` | points that a thread holds in registers |
//! | `elements`, `rows`, `scan`, `product`, `attention`, `fourier`, `sort`, `digits`, `linalg` | the bodies of kernels |
//! | `workgroups` | how many workgroups a dispatch has |
//!
//! **The guard's zero.** Functions that split roundings need a zero that compilers cannot derive (see `residua_codegen`). Texts take it from
//! the length of a storage buffer, which is never 0: a query of the device, unlike the contents of uniform buffers, which lavapipe compiles
//! into its shaders. It costs no binding. Entry points that need it make it once and keep it in a private variable.

use residua_base::error::{Error, ErrorCode, Result};

use crate::kernel::{Body, Extent, TensorKernel, Tile, WORKGROUP_BYTES};

mod attention;
mod batch;
mod buffers;
mod butterflies;
mod code;
mod combine;
mod digits;
mod elements;
mod fourier;
mod held;
mod layout;
mod linalg;
mod module;
mod operation;
mod order;
mod points;
mod product;
mod rows;
mod scan;
mod sort;
mod text;
mod turns;
mod windows;
mod workgroups;

pub use text::{KernelText, uniform_bytes};
pub use windows::Windows;
pub use workgroups::{Factor, Workgroups};

use module::Module;

/// What a device allows beyond what every device has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceLimits {
    /// Storage buffers of a kernel.
    pub storage_buffers: u32,
    /// Bytes of a binding of a storage buffer.
    pub binding_bytes: u64,
    /// Bytes of the memory of a workgroup.
    pub workgroup_bytes: u32,
    /// Whether its language has products of packed bytes, `packed_4x8_integer_dot_product`.
    pub has_packed_dot: bool,
}

impl Default for DeviceLimits {
    /// What every device has.
    fn default() -> DeviceLimits {
        DeviceLimits {
            storage_buffers: 8,
            binding_bytes: 128 << 20,
            workgroup_bytes: WORKGROUP_BYTES,
            has_packed_dot: false,
        }
    }
}

/// Writes a kernel whose buffers each fit a binding. See [`write_in_windows`].
pub fn write(kernel: &TensorKernel, limits: &DeviceLimits) -> Result<KernelText> {
    write_in_windows(kernel, limits, &Windows::default())
}

/// Writes a kernel. An error with [`ErrorCode::LimitExceeded`] if it binds more than the device allows, or has rows that no workgroup takes.
pub fn write_in_windows(kernel: &TensorKernel, limits: &DeviceLimits, windows: &Windows) -> Result<KernelText> {
    let count: u32 = (0..kernel.buffers.len()).map(|position| windows.of(position)).sum();
    if count > limits.storage_buffers {
        let most = limits.storage_buffers;
        let message = match windows.counts.is_empty() {
            true => format!("kernel '{}' has {count} buffers; the device allows {most}", kernel.name),
            false => format!(
                "kernel '{}' has tensors that are bound in {count} parts of at most {} bytes; the device binds {most}",
                kernel.name, windows.bytes
            ),
        };
        return Err(Error::new(ErrorCode::LimitExceeded, message));
    }
    let module = Module::new(kernel, windows);
    match &kernel.body {
        Body::Elements(elements) => elements::write(module, elements),
        Body::Rows(rows) => rows::write(module, rows),
        Body::Scan(scan) => scan::write(module, scan),
        Body::Product(product) => product::write(module, product, limits.workgroup_bytes, limits.has_packed_dot),
        Body::Maps(maps) => elements::write_several(module, maps),
        Body::Products(products) => product::write_siblings(module, products, false),
        Body::Sequence(products) => product::write_siblings(module, products, true),
        Body::Sort(sort) => sort::write(module, sort),
        Body::Fourier(fourier) => fourier::write(module, fourier),
        Body::DigitCounts(counts) => digits::write_counts(module, counts),
        Body::DigitSort(sort) => digits::write_sort(module, sort),
        Body::Linalg(linalg) => linalg::write(module, linalg),
        Body::Turns(turns) => turns::write(module, turns),
        Body::Attention(attention) => attention::write(module, attention),
    }
}

/// Words that describe a product: see [`words_of_product`].
pub const PRODUCT_WORDS: usize = 10;

/// What the time of a kernel's product depends on, if its tile may change, as that of a product of integers does not: the number of the kernel, that of its
/// tile in [`Tile::EXCHANGEABLE`], the number of the type of its elements, whether the left and the right factor have their vectors along the depth, the bits
/// of a number of the right factor in memory, where whole words are read of it, and for values of the dims how many matrices there are, with how many rows and
/// columns, and the depth.
///
/// `readProducts` in pkg-template/src/tensor/device/tiles.ts reads these words: its `PRODUCT_WORDS` and `DTYPES` change together with this function.
pub fn words_of_product(
    number: u32,
    kernel: &TensorKernel,
    windows: &Windows,
    dims: &[u32],
) -> Option<[u32; PRODUCT_WORDS]> {
    let Body::Product(product) = &kernel.body else { return None };
    let tile = Tile::EXCHANGEABLE.iter().position(|tile| *tile == product.tile)? as u32;
    let extent = |extent: &Extent| kernel.extent(*extent, dims);
    let [ty, left, right, bits] = product::form(&Module::new(kernel, windows), product)?;
    let matrices = product.batch.iter().map(extent).fold(1, u32::saturating_mul);
    let [rows, columns, depth] = [product.rows, product.columns, product.depth].map(|axis| extent(&axis));
    Some([number, tile, ty, left, right, bits, matrices, rows, columns, depth])
}

#[cfg(test)]
#[cfg(not(target_arch = "wasm32"))]
mod tests;
