//! The numbers of a front of a multifrontal factorisation: a supernode's panel, and the update matrix of the rows below it.
//!
//! Long products are in pieces that threads may share. What a piece computes does not depend on the others, and neither does the order of any sum.

use crate::loops::panels::{Pivots, Product, TILE, add_scattered, factorise_strip, subtract_product};
use residua_base::threads::{Divided, for_each_piece_if};

use super::normal_matrix::NormalMatrix;
use super::supernodes::{Supernode, Supernodes};

/// Columns of a panel that earlier ones are subtracted from together: as many as a pass of products takes.
pub(super) const BLOCK: usize = 64;
/// Columns and rows of a piece of an update matrix.
const COLUMNS: usize = 32;
const ROWS: usize = 128;
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

/// Factorises up to four columns of a panel. With the first of a block, earlier columns are subtracted from all of the block. Gives how many columns, which
/// of them have a pivot above `least`, and the work in multiplications.
pub(super) fn factorise_columns(
    panel: &mut [f64],
    node: &Supernode,
    column: usize,
    least: f64,
) -> (usize, Pivots, f64) {
    let (width, stride) = (node.width, node.stride());
    let block = column / BLOCK * BLOCK;
    let mut work = 0;
    if column == block && column > 0 {
        work += subtract_earlier(panel, node, block);
    }
    let count = TILE.min(width - column);
    let (before, strip) = panel.split_at_mut(column * stride);
    let strip = &mut strip[..count * stride];
    if column > block {
        // Rows in whole tiles up to the last one; those above the diagonal do not count.
        let rows = (stride - column).next_multiple_of(TILE);
        let product = Product {
            rows,
            cols: count,
            depth: column - block,
            stride,
            panel_stride: stride,
            a: stride - rows,
            b: column,
            starts: false,
            lower: false,
        };
        subtract_product(&mut strip[stride - rows..], &before[block * stride..], product);
    }
    work += (stride - column) * count * (column - block + 1);
    (count, factorise_strip(strip, stride, column, count, least), work as f64)
}

/// Subtracts the products of all columns before a block from those of the block; gives the multiplications.
fn subtract_earlier(panel: &mut [f64], node: &Supernode, block: usize) -> usize {
    let stride = node.stride();
    let cols = BLOCK.min(node.width - block);
    let (before, of_block) = panel.split_at_mut(block * stride);
    let length = cols * stride;
    // Rows in whole tiles up to the last one.
    let rows = (stride - block).next_multiple_of(TILE);
    let work = rows * cols * block;
    let divided = Divided::new(&mut of_block[..length]);
    for_each_piece_if(work >= SHARED, rows.div_ceil(ROWS), |piece| {
        let first = stride - rows + piece * ROWS;
        let product = Product {
            rows: ROWS.min(stride - first),
            cols,
            depth: block,
            stride,
            panel_stride: stride,
            a: first,
            b: block,
            starts: false,
            lower: false,
        };
        // SAFETY: each piece writes rows of its own.
        subtract_product(unsafe { divided.part(first..length) }, before, product);
    });
    work
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
        let product = Product {
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
        subtract_product(unsafe { divided.part(column * update_stride + row..length) }, panel, product);
    });
    work as f64
}

/// Adds the update matrix of a supernode to the panel of its parent, and to what `of_update` gives as the update matrix of that.
pub(super) fn add_to_parent<'a>(
    symbolic: &Supernodes,
    node: &Supernode,
    update: &[f64],
    panel: &mut [f64],
    of_update: impl FnOnce() -> &'a mut [f64],
) {
    let Some(parent) = symbolic.nodes.get(node.parent as usize) else { return };
    let relative = &symbolic.relative[node.rows..node.rows + node.below];
    let (stride, update_stride) = (parent.stride(), parent.update_stride());
    let numbers = |column: usize| &update[column * node.update_stride() + column..][..node.below - column];
    // The rows ascend, so that columns of the panel come first.
    let of_panel = relative.iter().take_while(|&&place| (place as usize) < parent.width).count();
    for column in 0..of_panel {
        let target = &mut panel[relative[column] as usize * stride..][..stride];
        add_scattered(&relative[column..], 0, numbers(column), target);
    }
    if of_panel == relative.len() {
        return;
    }
    let of_parent = of_update();
    for column in of_panel..relative.len() {
        let place = relative[column] as usize - parent.width;
        let target = &mut of_parent[place * update_stride..][..update_stride];
        add_scattered(&relative[column..], parent.width as u32, numbers(column), target);
    }
}
