//! Inner loops of tensors on the CPU: products of matrices, Fourier transforms, sorts, factorisations. They are a crate of their own because a Cargo profile has one optimisation
//! level for a crate: this one is compiled for speed, the others for size.
//!
//! Factors are given with a stride for each axis, so that transposed ones need no copy, and as the elements that stand in memory: halves and
//! quantised numbers are widened in registers or in panels, where they are used. WebAssembly uses 128-bit vectors, other targets
//! arrays of four; the order of every sum is the same, and a run repeats bit for bit.

mod blocks;
pub mod dense;
mod elements;
pub mod format;
mod four;
pub mod fourier;
mod integers;
mod integers_tile;
mod pack;
mod product;
mod quantised;
mod sort;
pub mod sparse;
#[cfg(test)]
#[cfg(not(target_arch = "wasm32"))]
mod tests;
mod tile;
mod vector;
mod whole;

use std::cell::Cell;

use elements::StoredNumber;
pub use elements::{Half, number_of_half};
pub use integers::integer_product;
pub use product::{MatrixProduct, Panels};
pub use quantised::{BlockScales, Quantised};
pub use sort::Sorting;

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
pub struct MatrixFactor<'a, T> {
    /// The numbers.
    pub values: &'a [T],
    /// Distance between rows of the left, columns of the right factor; 0 repeats one.
    pub outer_stride: usize,
    /// Distance between places along the depth.
    pub depth_stride: usize,
}

/// A factor with places instead of strides, as windows have that overlap: the number of an outer position and a place along the depth stands at
/// `outer[position] + depth[place]`.
#[derive(Clone, Copy, Debug)]
pub struct Scattered<'a, T> {
    /// The numbers.
    pub values: &'a [T],
    /// Where each row of the left, column of the right factor begins.
    pub outer: &'a [u32],
    /// How much further each place along the depth is.
    pub depth: &'a [u32],
}

/// A factor of real numbers.
#[derive(Clone, Copy, Debug)]
pub enum Reals<'a> {
    /// f32.
    Singles(MatrixFactor<'a, f32>),
    /// f16.
    Halves(MatrixFactor<'a, Half>),
    /// f32 at places of their own.
    ScatteredSingles(Scattered<'a, f32>),
    /// f16 at places of their own.
    ScatteredHalves(Scattered<'a, Half>),
    /// In blocks.
    Quantised(Quantised<'a>),
}

/// Where a result goes: its number of a row and a column stands at `row × row_stride + column × column_stride`.
#[derive(Debug)]
pub struct ProductTarget<'a, T> {
    /// The numbers; those of the result are overwritten.
    pub values: &'a mut [T],
    /// Distance between rows.
    pub row_stride: usize,
    /// Distance between columns.
    pub column_stride: usize,
}

/// What a piece of work writes of a target, in cells: rows and columns of other pieces lie between its own.
#[derive(Clone, Copy)]
struct Cells<'a> {
    values: &'a [Cell<f32>],
    row_stride: usize,
    column_stride: usize,
}

impl Cells<'_> {
    /// Writes numbers of a row from a column on, or adds them to what is there.
    #[inline(always)]
    fn put(self, row: usize, column: usize, numbers: &[f32], is_first: bool) {
        let start = row * self.row_stride + column * self.column_stride;
        let put = |(cell, number): (&Cell<f32>, &f32)| cell.set(if is_first { *number } else { cell.get() + number });
        if self.column_stride == 1 {
            self.values[start..start + numbers.len()].iter().zip(numbers).for_each(put);
        } else {
            let place = |(k, number)| put((&self.values[start + k * self.column_stride], number));
            numbers.iter().enumerate().for_each(place);
        }
    }
}

impl Extents {
    fn transposed(self) -> Extents {
        Extents { rows: self.columns, columns: self.rows, depth: self.depth }
    }
}

impl Reals<'_> {
    /// Writes the numbers of an outer position from the first on.
    #[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
    fn write(&self, outer: usize, to: &mut [f32]) {
        match self {
            Reals::Singles(factor) => factor.write(outer, to),
            Reals::Halves(factor) => factor.write(outer, to),
            Reals::ScatteredSingles(factor) => factor.write(outer, to),
            Reals::ScatteredHalves(factor) => factor.write(outer, to),
            Reals::Quantised(factor) => factor.write(outer, 0, to),
        }
    }
}

impl<T: StoredNumber> MatrixFactor<'_, T> {
    #[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
    fn write(&self, outer: usize, to: &mut [f32]) {
        for (depth, number) in to.iter_mut().enumerate() {
            *number = self.values[outer * self.outer_stride + depth * self.depth_stride].number();
        }
    }
}

impl<T: StoredNumber> Scattered<'_, T> {
    #[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
    fn write(&self, outer: usize, to: &mut [f32]) {
        let first = self.outer[outer];
        for (place, number) in self.depth.iter().zip(to) {
            *number = self.values[(first + place) as usize].number();
        }
    }
}

impl<T> ProductTarget<'_, T> {
    /// The same target, or that of the transposed result.
    fn reborrowed(&mut self, is_transposed: bool) -> ProductTarget<'_, T> {
        let ProductTarget { row_stride, column_stride, .. } = *self;
        let (row_stride, column_stride) =
            if is_transposed { (column_stride, row_stride) } else { (row_stride, column_stride) };
        ProductTarget { values: &mut *self.values, row_stride, column_stride }
    }
}
