//! The columns of J̃ in blocks, which the symbolic part of a factorisation takes for single columns.
//!
//! Blocks are those of the parameters where these are small. Elsewhere neighbouring columns are a block if they stand in the same rows. Any
//! partition is a right one; what is joined without need costs zeros.

use residua_base::list::Listed;

use super::CoordinateBlocks;

/// Parameter blocks of so many coordinates are taken as they are.
const MOST_GIVEN: usize = 9;
/// So many neighbouring columns are joined.
const MOST_JOINED: usize = 16;

/// A partition of columns into blocks of neighbours.
#[derive(Clone, Debug)]
pub struct Layout {
    /// The first column of each block, and the number of columns.
    pub starts: Vec<u32>,
    /// The block of each column.
    pub block_of: Vec<u32>,
}

impl Layout {
    /// The blocks of a pattern, given those of the parameters.
    pub fn new(cols: usize, row_offsets: &[u32], col_indices: &[u32], given: &CoordinateBlocks) -> Layout {
        // Columns of the same rows have the same sum of numbers that stand for the rows.
        let mut sums = vec![0u64; cols];
        for (row, ends) in (1u64..).zip(row_offsets.windows(2)) {
            let number = (row ^ row << 23).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            for &column in &col_indices[ends[0] as usize..ends[1] as usize] {
                let sum = &mut sums[column as usize];
                *sum = sum.wrapping_add(number ^ number >> 29);
            }
        }
        const NONE: u32 = u32::MAX;
        let mut of_given = vec![NONE; cols];
        for (number, &(first, count)) in (0u32..).zip(&given.ranges) {
            if count <= MOST_GIVEN {
                of_given[first..first + count].fill(number);
            }
        }
        let (mut starts, mut block_of) = (Vec::new(), Vec::with_capacity(cols));
        let mut length = 0;
        for column in 0..cols {
            let is_given = column > 0 && of_given[column] != NONE && of_given[column] == of_given[column - 1];
            let has_same_rows =
                column > 0 && length < MOST_JOINED && sums[column] != 0 && sums[column] == sums[column - 1];
            let joins = is_given || has_same_rows;
            if !joins {
                starts.push(column as u32);
                length = 0;
            }
            length += 1;
            block_of.push(starts.len() as u32 - 1);
        }
        starts.push(cols as u32);
        Layout { starts, block_of }
    }

    /// How many blocks there are.
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// The columns of a block.
    pub fn columns(&self, block: usize) -> std::ops::Range<usize> {
        self.starts[block] as usize..self.starts[block + 1] as usize
    }

    /// How many columns a block has.
    pub fn dim(&self, block: usize) -> usize {
        (self.starts[block + 1] - self.starts[block]) as usize
    }

    /// How many columns each block has.
    pub fn dims(&self) -> Vec<u32> {
        self.starts.windows(2).map(|ends| ends[1] - ends[0]).list()
    }
}
