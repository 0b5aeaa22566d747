//! Products of matrices in f32.

use super::blocks::{DEPTH_BLOCK, clear};
use super::pack::pack;
use super::tile::{COLUMNS, ROWS, tile};
use super::{Extents, Factor, Target, vector};

/// Rows and columns of the packed parts of the factors, which fit the second cache together.
const ROW_BLOCK: usize = 64;
const COLUMN_BLOCK: usize = 512;

/// Most rows of the left factor for which packing the right one takes longer than what it saves.
const FEW: usize = 4;

/// The product of two matrices.
///
/// Products and sums are rounded to f32. Sums of at most 256 terms are added up, so the error of an element is at most
/// (256 + ⌈depth / 256⌉) · 2⁻²⁴ · Σ|aᵢbᵢ| to first order.
///
/// # Panics
/// If an element of a factor or of the target is not within its slice.
#[inline(never)]
#[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
pub fn product(extents: Extents, left: Factor<f32>, right: Factor<f32>, target: &mut Target<f32>) {
    let Extents { rows, columns, depth } = extents;
    if rows == 0 || columns == 0 {
        return;
    }
    if columns <= FEW && columns < rows {
        return product(extents.transposed(), right, left, &mut target.transposed());
    }
    if rows <= FEW && vector::product(extents, left, right, target) {
        return;
    }
    let (mut left_panels, mut right_panels) = (Vec::new(), Vec::new());
    clear(extents, target);
    for first_column in (0..columns).step_by(COLUMN_BLOCK) {
        let width = COLUMN_BLOCK.min(columns - first_column);
        for first_depth in (0..depth).step_by(DEPTH_BLOCK) {
            let length = DEPTH_BLOCK.min(depth - first_depth);
            pack::<COLUMNS>(&mut right_panels, &right, (first_column, width), (first_depth, length));
            for first_row in (0..rows).step_by(ROW_BLOCK) {
                let height = ROW_BLOCK.min(rows - first_row);
                pack::<ROWS>(&mut left_panels, &left, (first_row, height), (first_depth, length));
                for (right_panel, column) in right_panels.chunks_exact(length).zip((0..).step_by(COLUMNS)) {
                    for (left_panel, row) in left_panels.chunks_exact(length).zip((0..).step_by(ROWS)) {
                        let sums = tile(left_panel, right_panel);
                        let place = [first_row + row, first_column + column];
                        let extent = [ROWS.min(height - row), COLUMNS.min(width - column)];
                        add(target, &sums, place, extent);
                    }
                }
            }
        }
    }
}

/// Adds the part of a tile that lies within the result.
#[inline]
fn add(target: &mut Target<f32>, sums: &[[f32; COLUMNS]; ROWS], place: [usize; 2], extent: [usize; 2]) {
    let start = place[0] * target.row_stride + place[1] * target.column_stride;
    for (row, sums) in sums.iter().enumerate().take(extent[0]) {
        let start = start + row * target.row_stride;
        if target.column_stride == 1 && extent[1] == COLUMNS {
            if let Some(numbers) = target.values[start..].first_chunk_mut::<COLUMNS>() {
                for (number, sum) in numbers.iter_mut().zip(sums) {
                    *number += sum;
                }
            }
        } else {
            for (column, sum) in sums.iter().enumerate().take(extent[1]) {
                target.values[start + column * target.column_stride] += sum;
            }
        }
    }
}
