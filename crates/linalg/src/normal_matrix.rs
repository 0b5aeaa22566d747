//! J̃ᵀJ̃ as a symmetric matrix of blocks: its pattern once, its numbers for every J̃ of that pattern.
//!
//! Neighbouring rows of J̃ with entries in the same blocks are a group, which is multiplied as a small dense matrix.

use crate::loops::panels::{PanelProduct, TILE, cells, subtract_product};
use residua_base::list::Listed;

use super::layout::Layout;
use super::sparse::Columns;
use super::{CoordinateBlocks, SparseMatrix};

/// The cost of a group in addition to its multiplications, in multiplications.
const GROUP_WORK: f64 = 100.0;
/// A group has so many rows at most.
const MOST_ROWS: usize = 16;

/// The lower half of J̃ᵀJ̃ by block columns, with the diagonal blocks.
#[derive(Clone, Debug)]
pub struct NormalMatrix {
    /// The blocks.
    pub layout: Layout,
    /// Where the blocks of each block column begin: the diagonal one, then those below, ascending.
    pub offsets: Vec<u32>,
    /// The block row of each.
    pub rows: Vec<u32>,
    /// Where the numbers of each begin, column after column.
    pub starts: Vec<u32>,
    /// The numbers.
    pub values: Vec<f64>,
    groups: Groups,
}

/// What groups leave for the next one.
#[derive(Default)]
struct Scratch {
    /// The rows of the group as columns of a panel, and a product of these.
    local: Vec<f64>,
    strip: Vec<f64>,
    /// Where the blocks begin in `local`.
    places: Vec<u32>,
    /// For each block column, where a block was found last.
    found: Vec<u32>,
    is_any_frozen: bool,
}

/// Groups of rows.
#[derive(Clone, Debug, Default)]
struct Groups {
    /// The first row of each group, and the number of rows.
    first_rows: Vec<u32>,
    /// Where the blocks of each group begin, and these, ascending.
    offsets: Vec<u32>,
    blocks: Vec<u32>,
}

impl Groups {
    fn new(layout: &Layout, row_offsets: &[u32], col_indices: &[u32]) -> Groups {
        let mut groups = Groups { first_rows: Vec::new(), offsets: vec![0], blocks: Vec::new() };
        let mut of_row: Vec<u32> = Vec::new();
        let mut start = 0;
        for (row, ends) in row_offsets.windows(2).enumerate() {
            of_row.clear();
            for &column in &col_indices[ends[0] as usize..ends[1] as usize] {
                let block = layout.block_of[column as usize];
                if of_row.last() != Some(&block) {
                    of_row.push(block);
                }
            }
            of_row.sort_unstable();
            of_row.dedup();
            let is_same = groups.first_rows.last().is_some_and(|&first| row - (first as usize) < MOST_ROWS)
                && groups.blocks[start..] == of_row[..];
            if !is_same {
                groups.first_rows.push(row as u32);
                start = groups.blocks.len();
                groups.blocks.extend_from_slice(&of_row);
                groups.offsets.push(groups.blocks.len() as u32);
            }
        }
        groups.first_rows.push(row_offsets.len().saturating_sub(1) as u32);
        groups
    }
}

impl NormalMatrix {
    /// The pattern, where J̃ has this one; `given` are the blocks of the parameters.
    pub fn new(cols: usize, row_offsets: &[u32], col_indices: &[u32], given: &CoordinateBlocks) -> NormalMatrix {
        let layout = Layout::new(cols, row_offsets, col_indices, given);
        let groups = Groups::new(&layout, row_offsets, col_indices);
        let columns = Columns::of(layout.len(), &groups.offsets, &groups.blocks);
        let (offsets, rows) = lower_half(layout.len(), &groups.offsets, &groups.blocks, &columns);
        let mut starts = Vec::with_capacity(rows.len());
        let mut start = 0;
        for (column, ends) in offsets.windows(2).enumerate() {
            for &row in &rows[ends[0] as usize..ends[1] as usize] {
                starts.push(start);
                start += (layout.dim(column) * layout.dim(row as usize)) as u32;
            }
        }
        NormalMatrix { layout, offsets, rows, starts, values: vec![0.0; start as usize], groups }
    }

    /// The stored blocks of a block column.
    pub fn column(&self, column: usize) -> std::ops::Range<usize> {
        self.offsets[column] as usize..self.offsets[column + 1] as usize
    }

    /// Where the number of a row and a column stands; `None` above the diagonal blocks.
    pub fn place(&self, row: usize, column: usize) -> Option<usize> {
        let [below, block] = [row, column].map(|k| self.layout.block_of[k] as usize);
        let of_column = self.column(block);
        let position = self.rows[of_column.clone()].binary_search(&(below as u32)).ok()?;
        let [row, column] = [(row, below), (column, block)].map(|(k, block)| k - self.layout.starts[block] as usize);
        Some(self.starts[of_column.start + position] as usize + column * self.layout.dim(below) + row)
    }

    /// The numbers of J̃ᵀJ̃, for about so many multiplications, from a group on: from 0 on at first. Those of frozen columns are 0. Gives the group to go
    /// on with, if some are left.
    pub fn assemble(
        &mut self,
        jacobian: &SparseMatrix,
        frozen: &[bool],
        from: usize,
        multiplications: f64,
    ) -> Option<usize> {
        if from == 0 {
            self.values.fill(0.0);
        }
        let mut scratch = Scratch { is_any_frozen: frozen.contains(&true), ..Scratch::default() };
        scratch.found.extend_from_slice(&self.offsets);
        let mut work = 0.0;
        for number in from..self.groups.first_rows.len() - 1 {
            if work >= multiplications {
                return Some(number);
            }
            work += self.add_group(number, jacobian, frozen, &mut scratch);
        }
        None
    }

    /// Adds a group; gives how many multiplications that takes.
    fn add_group(&mut self, number: usize, jacobian: &SparseMatrix, frozen: &[bool], scratch: &mut Scratch) -> f64 {
        let Scratch { local, strip, places, found, is_any_frozen } = scratch;
        let NormalMatrix { layout, offsets, rows, starts, values, groups } = self;
        let blocks = &groups.blocks[groups.offsets[number] as usize..groups.offsets[number + 1] as usize];
        let of_group = groups.first_rows[number] as usize..groups.first_rows[number + 1] as usize;
        // The rows of the group as columns of a panel, with the blocks one below the other.
        places.clear();
        let mut width = 0;
        for &block in blocks {
            places.push(width);
            width += layout.dim(block as usize) as u32;
        }
        let width = width as usize;
        let stride = width.next_multiple_of(TILE) + TILE;
        local.resize(stride * of_group.len(), 0.0);
        for (row, target) in of_group.clone().zip(local.chunks_exact_mut(stride)) {
            let of_row = jacobian.row_offsets[row] as usize..jacobian.row_offsets[row + 1] as usize;
            if of_row.len() == width && !*is_any_frozen {
                // All columns of all blocks, which ascend in both.
                target[..width].copy_from_slice(&jacobian.values[of_row]);
                continue;
            }
            target.fill(0.0);
            let mut k = 0;
            for (column, value) in jacobian.row(row) {
                if frozen[column] {
                    continue;
                }
                let block = layout.block_of[column];
                if blocks[k] != block {
                    k = blocks.partition_point(|&other| other < block);
                }
                target[places[k] as usize + column - layout.starts[block as usize] as usize] = value;
            }
        }
        for (k, &block) in blocks.iter().enumerate() {
            let (place, cols) = (places[k] as usize, layout.dim(block as usize));
            let below = (width - place).next_multiple_of(TILE);
            // The product of one row with itself is written where it belongs.
            let is_one = of_group.len() == 1;
            if !is_one {
                if strip.len() < below * cols {
                    strip.resize(below * cols, 0.0);
                }
                let (depth, a, b) = (of_group.len(), place, place);
                let (stride, panel_stride) = (below, stride);
                let product =
                    PanelProduct { rows: below, cols, depth, stride, panel_stride, a, b, starts: true, lower: false };
                subtract_product(cells(strip), local.as_slice().into(), product);
            }
            let of_column = offsets[block as usize] as usize..offsets[block as usize + 1] as usize;
            for (&other, &row) in blocks[k..].iter().zip(&places[k..]) {
                let position = if other == block {
                    of_column.start
                } else {
                    // Mostly what the previous group had or what is next to it, as where points are in order.
                    let last = found[block as usize] as usize;
                    let near = [last, last + 1].into_iter().find(|&near| near < of_column.end && rows[near] == other);
                    let search = || of_column.start + rows[of_column.clone()].partition_point(|&row| row < other);
                    let position = near.unwrap_or_else(search);
                    found[block as usize] = position as u32;
                    position
                };
                let count = layout.dim(other as usize);
                let target = &mut values[starts[position] as usize..][..count * cols];
                if is_one {
                    let numbers = &local[row as usize..][..count];
                    for (target, factor) in target.chunks_exact_mut(count).zip(&local[place..]) {
                        target.iter_mut().zip(numbers).for_each(|(target, number)| *target += number * factor);
                    }
                    continue;
                }
                let row = row as usize - place;
                for (target, column) in target.chunks_exact_mut(count).zip(strip.chunks_exact(below)) {
                    for (target, entry) in target.iter_mut().zip(&column[row..]) {
                        *target -= entry;
                    }
                }
            }
        }
        0.5 * (of_group.len() * width * width) as f64 + GROUP_WORK
    }
}

/// The lower half of the pattern of JᵀJ by columns with its diagonal, rows ascending.
fn lower_half(cols: usize, row_offsets: &[u32], col_indices: &[u32], columns: &Columns) -> (Vec<u32>, Vec<u32>) {
    let mut seen = vec![u32::MAX; cols];
    let mut offsets = Vec::with_capacity(cols + 1);
    let mut rows = Vec::new();
    offsets.push(0);
    for k in 0..cols as u32 {
        let start = rows.len();
        seen[k as usize] = k;
        rows.push(k);
        for (row, _) in columns.column(k as usize) {
            for &j in &col_indices[row_offsets[row] as usize..row_offsets[row + 1] as usize] {
                if j > k && seen[j as usize] != k {
                    seen[j as usize] = k;
                    rows.push(j);
                }
            }
        }
        rows[start..].sort_unstable();
        offsets.push(rows.len() as u32);
    }
    (offsets, rows.into_iter().list())
}
