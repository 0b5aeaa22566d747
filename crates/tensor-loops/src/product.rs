//! Products of matrices in f32, in parts: a caller can do other work between two parts.

use super::blocks::{DEPTH_BLOCK, clear};
use super::pack::pack;
use super::tile::{COLUMNS, ROWS, tile};
use super::{Extents, Reals, Target, vector};

/// Rows and columns of the packed parts of the factors: 98 kB and 786 kB with blocks of 384 places. Both fit a second cache of 1 MiB or more,
/// not a smaller one.
const ROW_BLOCK: usize = 64;
const COLUMN_BLOCK: usize = 512;

/// Memory that the parts of a product share. Several products may use it in turns: each has a number of its own, by which a part finds whether
/// the panels are of its product.
#[derive(Debug, Default)]
pub struct Panels {
    left: Vec<[f32; ROWS]>,
    right: Vec<[f32; COLUMNS]>,
    /// The number of the product that the right panels are of.
    owner: Option<u32>,
    rows: Vec<f32>,
}

/// A product of two matrices.
///
/// Products and sums are rounded to f32. Sums of at most 384 terms are added up, so the error of an element is at most
/// (384 + ⌈depth / 384⌉) · 2⁻²⁴ · Σ|aᵢbᵢ| to first order. With few rows and a quantised factor it is at most
/// (12 + depth / 32) · 2⁻²⁴ · Σ|aᵢbᵢ|.
#[derive(Clone, Copy, Debug)]
pub struct Product<'a> {
    extents: Extents,
    left: Reals<'a>,
    right: Reals<'a>,
    is_transposed: bool,
    has_few_rows: bool,
}

impl<'a> Product<'a> {
    /// The product of two factors.
    pub fn new(extents: Extents, left: Reals<'a>, right: Reals<'a>) -> Product<'a> {
        let Extents { rows, columns, .. } = extents;
        if columns <= vector::FEW && columns < rows {
            let transposed = Product::new(extents.transposed(), right, left);
            return Product { is_transposed: true, ..transposed };
        }
        let has_few_rows = vector::suits(extents, &right);
        Product { extents, left, right, is_transposed: false, has_few_rows }
    }

    /// How many parts it has.
    pub fn parts(&self) -> usize {
        let Extents { rows, columns, depth } = self.extents;
        if rows == 0 || columns == 0 {
            0
        } else if depth == 0 {
            1
        } else if self.has_few_rows {
            columns.div_ceil(vector::part_columns(self.extents, &self.right))
        } else {
            columns.div_ceil(COLUMN_BLOCK) * depth.div_ceil(DEPTH_BLOCK) * rows.div_ceil(ROW_BLOCK)
        }
    }

    /// Computes a part. Parts are computed in order, all with the same panels, the same number and the same target.
    ///
    /// # Panics
    /// If an element of a factor or of the target is not within its slice.
    #[inline(never)]
    #[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
    pub fn part(&self, part: usize, target: &mut Target<f32>, panels: &mut Panels, owner: u32) {
        let mut target = target.reborrowed(self.is_transposed);
        let target = &mut target;
        if self.extents.depth == 0 {
            clear(self.extents, target);
        } else if self.has_few_rows {
            let columns = vector::part_columns(self.extents, &self.right);
            let first = part * columns;
            let range = first..(first + columns).min(self.extents.columns);
            vector::product(self.extents, range, &self.left, &self.right, target, &mut panels.rows);
        } else {
            self.tiles(part, target, panels, owner);
        }
    }

    /// A part in tiles: parts count blocks of rows, after them blocks of the depth, after them blocks of columns.
    #[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
    fn tiles(&self, part: usize, target: &mut Target<f32>, panels: &mut Panels, owner: u32) {
        let Extents { rows, columns, depth } = self.extents;
        let (row_blocks, depth_blocks) = (rows.div_ceil(ROW_BLOCK), depth.div_ceil(DEPTH_BLOCK));
        let first_row = part % row_blocks * ROW_BLOCK;
        let first_depth = part / row_blocks % depth_blocks * DEPTH_BLOCK;
        let first_column = part / row_blocks / depth_blocks * COLUMN_BLOCK;
        let height = ROW_BLOCK.min(rows - first_row);
        let length = DEPTH_BLOCK.min(depth - first_depth);
        let width = COLUMN_BLOCK.min(columns - first_column);
        if first_row == 0 || panels.owner != Some(owner) {
            panels.owner = Some(owner);
            pack(&mut panels.right, &self.right, (first_column, width), (first_depth, length));
        }
        pack(&mut panels.left, &self.left, (first_row, height), (first_depth, length));
        let is_first = first_depth == 0;
        for (right_panel, column) in panels.right.chunks_exact(length).zip((0..).step_by(COLUMNS)) {
            for (left_panel, row) in panels.left.chunks_exact(length).zip((0..).step_by(ROWS)) {
                let sums = tile(left_panel, right_panel);
                let place = [first_row + row, first_column + column];
                let extent = [ROWS.min(height - row), COLUMNS.min(width - column)];
                put(target, &sums, place, extent, is_first);
            }
        }
    }
}

/// Writes the part of a tile that lies within the result, or adds it to what is there.
#[inline]
fn put(target: &mut Target<f32>, sums: &[[f32; COLUMNS]; ROWS], place: [usize; 2], extent: [usize; 2], is_first: bool) {
    let start = place[0] * target.row_stride + place[1] * target.column_stride;
    for (row, sums) in sums.iter().enumerate().take(extent[0]) {
        let start = start + row * target.row_stride;
        if target.column_stride == 1 && extent[1] == COLUMNS {
            if let Some(numbers) = target.values[start..].first_chunk_mut::<COLUMNS>() {
                if is_first {
                    *numbers = *sums;
                } else {
                    for (number, sum) in numbers.iter_mut().zip(sums) {
                        *number += sum;
                    }
                }
            }
        } else {
            for (column, sum) in sums.iter().enumerate().take(extent[1]) {
                let number = &mut target.values[start + column * target.column_stride];
                *number = if is_first { *sum } else { *number + sum };
            }
        }
    }
}
