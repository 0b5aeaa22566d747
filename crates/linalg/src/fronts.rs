//! The numbers of a front of a multifrontal factorisation: a supernode's panel, and the update matrix of the rows below it.
//!
//! Long products are in pieces that threads may share. What a piece computes does not depend on the others, and neither does the order of any sum.

use std::cell::Cell;
use std::ops::Range;

use crate::loops::panels::{
    Diagonal, Panel, PanelProduct, Pivots, TILE, add_scattered, cells, factorise_diagonal, factorise_strip,
    finish_rows, subtract_product,
};
use residua_base::threads::{Divided, are_several, for_each_piece_if};

use super::normal_matrix::NormalMatrix;
use super::supernodes::{Supernode, Supernodes};

/// Columns of a panel that earlier ones are subtracted from together: as many as a pass of products takes.
pub(super) const BLOCK: usize = 64;
/// Columns and rows of a piece of an update matrix.
const COLUMNS: usize = 32;
const ROWS: usize = 128;
/// Pieces of a front that update matrices are added to: each looks at all of these.
const PARENT_PIECES: usize = 4;
/// The cost of adding a number of an update matrix, in multiplications.
const UPDATE_WORK: usize = 6;
/// Multiplications for which several threads are worth while: some twenty microseconds.
const SHARED: usize = 1 << 17;

/// J̃ᵀJ̃ + diag(d), and the supernodes of its factor.
pub(super) struct Matrix<'a> {
    pub symbolic: &'a Supernodes,
    pub matrix: &'a NormalMatrix,
    pub damping: &'a [f64],
    pub frozen: &'a [bool],
}

impl Matrix<'_> {
    /// Adds its entries to the panel of a supernode.
    pub fn load(&self, number: usize, panel: &mut [f64]) {
        let Matrix { symbolic, matrix, damping, frozen } = self;
        let node = &symbolic.nodes[number];
        let stride = node.stride();
        let end = symbolic.nodes.get(number + 1).map_or(symbolic.loads.len(), |next| next.loads);
        for load in &symbolic.loads[node.loads..end] {
            let (rows, cols) = (load.rows as usize, load.cols as usize);
            let start = matrix.starts[load.block as usize] as usize;
            let values = &matrix.values[start..start + rows * cols];
            let panel = &mut panel[load.column as usize * stride + load.row as usize..];
            for column in 0..cols {
                let target = &mut panel[column * stride..][..rows];
                if load.is_transposed {
                    target
                        .iter_mut()
                        .zip(values[column..].iter().step_by(cols))
                        .for_each(|(target, value)| *target += value);
                } else {
                    target.iter_mut().zip(&values[column * rows..]).for_each(|(target, value)| *target += value);
                }
            }
            if load.row == load.column {
                for (column, value) in values.iter().step_by(rows + 1).enumerate() {
                    let k = symbolic.order[node.first + load.column as usize + column] as usize;
                    let unit = frozen[k] || value + damping[k] == 0.0;
                    panel[column * stride + column] += if unit { 1.0 } else { damping[k] };
                }
            }
        }
    }
}

/// Factorises the next columns of a panel: up to four, and on several threads those of a block. Columns whose pivot is not above `least` are told. Gives the
/// column after them, and the work in multiplications.
pub(super) fn factorise_columns(
    panel: &mut [f64],
    node: &Supernode,
    column: usize,
    least: f64,
    leave_out: &mut dyn FnMut(usize),
) -> (usize, f64) {
    if are_several() {
        return factorise_block(panel, node, column, least, leave_out);
    }
    let (width, stride) = (node.width, node.stride());
    let count = TILE.min(width - column);
    let (before, strip) = panel.split_at_mut(column * stride);
    let strip = &mut strip[..count * stride];
    let rows = whole_tiles(column, stride);
    subtract_rows(cells(strip), (&*before).into(), stride, (column, count), column, rows);
    tell(factorise_strip(strip, stride, column, count, least), column, leave_out);
    (column + count, ((stride - column) * count * (column + 1)) as f64)
}

/// The same for the columns of a block. The rows of its diagonal block come first; the others are then independent.
fn factorise_block(
    panel: &mut [f64],
    node: &Supernode,
    block: usize,
    least: f64,
    leave_out: &mut dyn FnMut(usize),
) -> (usize, f64) {
    let stride = node.stride();
    let cols = BLOCK.min(node.width - block);
    let work = (stride - block) * cols * (block + cols / 2);
    subtract_earlier(panel, node, block);
    // The others are whole tiles.
    let end = block + cols;
    let head = end + (stride - end) % TILE;
    let mut diagonals = [Diagonal::default(); BLOCK / TILE];
    for (diagonal, column) in diagonals.iter_mut().zip((block..end).step_by(TILE)) {
        let count = TILE.min(end - column);
        let (before, strip) = panel.split_at_mut(column * stride);
        let rows = whole_tiles(column, head);
        let before = Panel::from(&before[block * stride..]);
        subtract_rows(cells(strip), before, stride, (column, count), column - block, rows);
        let pivots;
        (*diagonal, pivots) = factorise_diagonal(strip, stride, column, count, least);
        finish_rows(cells(&mut strip[..count * stride]), stride, column + count..head, diagonal);
        tell(pivots, column, leave_out);
    }
    let length = cols * stride;
    let of_block = Divided::new(&mut panel[block * stride..][..length]);
    for_each_piece_if(work >= SHARED, (stride - head).div_ceil(ROWS), |piece| {
        let first = head + piece * ROWS;
        let rows = first..stride.min(first + ROWS);
        // SAFETY: each piece writes rows of its own, and reads those of the diagonal block.
        let panel = unsafe { of_block.cells(0..length) };
        for (diagonal, column) in diagonals.iter().zip((0..cols).step_by(TILE)) {
            let count = TILE.min(cols - column);
            let (before, strip) = panel.split_at(column * stride);
            subtract_rows(strip, before.into(), stride, (block + column, count), column, rows.clone());
            finish_rows(&strip[..count * stride], stride, rows.clone(), diagonal);
        }
    });
    (end, work as f64)
}

/// Subtracts the products of all columns before a block from those of the block.
fn subtract_earlier(panel: &mut [f64], node: &Supernode, block: usize) {
    let stride = node.stride();
    let cols = BLOCK.min(node.width - block);
    let (before, of_block) = panel.split_at_mut(block * stride);
    let of_block = &mut of_block[..cols * stride];
    let rows = whole_tiles(block, stride);
    let divided = Divided::new(of_block);
    for_each_piece_if(rows.len() * cols * block >= SHARED, rows.len().div_ceil(ROWS), |piece| {
        let first = rows.start + piece * ROWS;
        // SAFETY: each piece writes rows of its own.
        let of_block = unsafe { divided.cells(0..cols * stride) };
        subtract_rows(of_block, (&*before).into(), stride, (block, cols), block, first..stride.min(first + ROWS));
    });
}

/// Rows from a diagonal on, in whole tiles up to an end: numbers above the diagonal do not count. The first diagonal has none above it, and no products either.
fn whole_tiles(diagonal: usize, end: usize) -> Range<usize> {
    end.saturating_sub((end - diagonal).next_multiple_of(TILE))..end
}

/// Subtracts from rows of a strip, of so many columns from one on, the products of the `depth` columns of `before`.
fn subtract_rows(
    strip: &[Cell<f64>],
    before: Panel,
    stride: usize,
    (column, count): (usize, usize),
    depth: usize,
    rows: Range<usize>,
) {
    if depth > 0 {
        let product = PanelProduct {
            rows: rows.len(),
            cols: count,
            depth,
            stride,
            panel_stride: stride,
            a: rows.start,
            b: column,
            starts: false,
            lower: false,
        };
        subtract_product(&strip[rows.start..], before, product);
    }
}

fn tell(pivots: Pivots, column: usize, leave_out: &mut dyn FnMut(usize)) {
    if let Pivots::Without(missing) = pivots {
        (0..TILE).filter(|&k| missing[k]).for_each(|k| leave_out(column + k));
    }
}

/// Subtracts the products of the rows below a supernode from columns of its update matrix, or begins it with them; gives the multiplications.
pub(super) fn subtract_from_update(
    panel: &[f64],
    update: &mut [f64],
    node: &Supernode,
    (first, count): (usize, usize),
    starts: bool,
) -> f64 {
    let (width, stride, update_stride) = (node.width, node.stride(), node.update_stride());
    let work = (node.below - first) * count * width;
    let length = update.len();
    let divided = Divided::new(update);
    let row_pieces = (update_stride - first).div_ceil(ROWS);
    for_each_piece_if(work >= SHARED, count.div_ceil(COLUMNS) * row_pieces, |piece| {
        let column = first + piece / row_pieces * COLUMNS;
        let row = column + piece % row_pieces * ROWS;
        if row >= update_stride {
            return;
        }
        let product = PanelProduct {
            rows: ROWS.min(update_stride - row),
            cols: COLUMNS.min(first + count - column),
            depth: width,
            stride: update_stride,
            panel_stride: stride,
            a: width + row,
            b: width + column,
            starts,
            lower: row == column,
        };
        // SAFETY: each piece writes rows and columns of its own.
        subtract_product(unsafe { divided.cells(column * update_stride + row..length) }, panel.into(), product);
    });
    work as f64
}

/// Whether what a supernode leaves goes beyond the panel of its parent.
pub(super) fn reaches_update(symbolic: &Supernodes, child: usize) -> bool {
    let node = &symbolic.nodes[child];
    let Some(parent) = symbolic.nodes.get(node.parent as usize) else { return false };
    // The rows ascend.
    symbolic.relative[node.rows..node.rows + node.below].last().is_some_and(|&place| place as usize >= parent.width)
}

/// Adds update matrices of supernodes of one parent, one after another, to its panel and to its update matrix, if one [`reaches_update`].
pub(super) fn add_to_parent(
    symbolic: &Supernodes,
    children: &[(usize, &[f64])],
    panel: &mut [f64],
    of_update: &mut [f64],
) {
    let node = |child: usize| &symbolic.nodes[child];
    let parent = children.first().and_then(|&(child, _)| symbolic.nodes.get(node(child).parent as usize));
    let Some(parent) = parent else { return };
    let relative = |child: usize| &symbolic.relative[node(child).rows..node(child).rows + node(child).below];
    let (panel_len, update_len) = (panel.len(), of_update.len());
    let (panel, of_update) = (Divided::new(panel), Divided::new(of_update));
    let work: usize = children.iter().map(|&(child, _)| UPDATE_WORK * node(child).below.pow(2) / 2).sum();
    // A piece has some columns of the parent, to which it adds in the order of the children.
    let columns = parent.width + parent.below;
    let size = if work >= SHARED { columns.div_ceil(PARENT_PIECES) } else { columns.max(1) };
    for_each_piece_if(work >= SHARED, columns.div_ceil(size), |piece| {
        let first_place = (piece * size) as u32;
        for &(child, update) in children {
            let (node, relative) = (node(child), relative(child));
            let [from, to] =
                [first_place, first_place + size as u32].map(|end| relative.partition_point(|&place| place < end));
            for column in from..to {
                let numbers = &update[column * node.update_stride() + column..][..node.below - column];
                let place = relative[column] as usize;
                // SAFETY: each column of the parent is one piece's.
                let (target, first) = unsafe {
                    if place < parent.width {
                        let start = place * parent.stride();
                        (panel.part(start..panel_len.min(start + parent.stride())), 0)
                    } else {
                        let start = (place - parent.width) * parent.update_stride();
                        (of_update.part(start..update_len.min(start + parent.update_stride())), parent.width as u32)
                    }
                };
                add_scattered(&relative[column..], first, numbers, target);
            }
        }
    });
}
