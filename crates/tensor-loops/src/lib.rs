//! Inner loops of tensors on the CPU: products of matrices. They are a crate of their own because a Cargo profile has one optimisation
//! level for a crate: this one is compiled for speed, the others for size.
//!
//! Factors are given with a stride for each axis, so that transposed ones need no copy. WebAssembly uses 128-bit vectors, other targets
//! arrays of four; the order of every sum is the same, and a run repeats bit for bit.

mod blocks;
mod four;
mod integers;
mod pack;
mod product;
#[cfg(test)]
#[cfg(not(target_arch = "wasm32"))]
mod tests;
mod tile;
mod vector;

pub use integers::integer_product;
pub use product::product;

/// Extents of a product, [`rows`, `depth`] times [`depth`, `columns`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extents {
    /// Rows of the result.
    pub rows: usize,
    /// Columns of the result.
    pub columns: usize,
    /// Length of the sums.
    pub depth: usize,
}

/// A factor: the number of an outer position (row of the left, column of the right factor) and a place along the depth stands at
/// `outer × outer_stride + depth × depth_stride`.
#[derive(Clone, Copy, Debug)]
pub struct Factor<'a, T> {
    /// The numbers.
    pub values: &'a [T],
    /// Distance between rows of the left, columns of the right factor; 0 repeats one.
    pub outer_stride: usize,
    /// Distance between places along the depth.
    pub depth_stride: usize,
}

/// Where a result goes: its number of a row and a column stands at `row × row_stride + column × column_stride`.
#[derive(Debug)]
pub struct Target<'a, T> {
    /// The numbers; those of the result are overwritten.
    pub values: &'a mut [T],
    /// Distance between rows.
    pub row_stride: usize,
    /// Distance between columns.
    pub column_stride: usize,
}

impl Extents {
    fn transposed(self) -> Extents {
        Extents { rows: self.columns, columns: self.rows, depth: self.depth }
    }
}

impl<T> Target<'_, T> {
    fn transposed(&mut self) -> Target<'_, T> {
        Target { values: &mut *self.values, row_stride: self.column_stride, column_stride: self.row_stride }
    }
}
