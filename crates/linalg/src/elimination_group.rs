//! Blocks that a Schur complement eliminates first: small ones, no two of which share a residual.
//!
//! With C the block-diagonal part of J̃ᵀJ̃ + diag(d) of these, the complement of the others is S = B − E C⁻¹ Eᵀ. It is what a factorisation that
//! begins with the group leaves to be factorised, so that the factorisation of [`super::cholesky`] computes it.

use super::normal_matrix::NormalMatrix;

/// Larger blocks are not eliminated.
const MOST_COLUMNS: usize = 6;

/// A maximal set of independent blocks with entries, ascending: blocks with fewest neighbours are taken first (as in Ceres Solver,
/// parameter_block_ordering.cc). `named` are the columns that they are taken from, as ascending ranges; if there are none, all small blocks are.
pub fn elimination_group(matrix: &NormalMatrix, named: &[(usize, usize)]) -> Vec<u32> {
    let count = matrix.layout.len();
    let mut neighbours: Vec<Vec<u32>> = vec![Vec::new(); count];
    for column in 0..count {
        for &row in &matrix.rows[matrix.column(column)][1..] {
            neighbours[column].push(row);
            neighbours[row as usize].push(column as u32);
        }
    }
    // The number of neighbours in the upper half, the block in the lower.
    let mut order = Vec::with_capacity(count);
    for (block, neighbours) in neighbours.iter().enumerate() {
        if is_candidate(matrix, named, block) && !neighbours.is_empty() {
            order.push((neighbours.len() as u64) << 32 | block as u64);
        }
    }
    order.sort_unstable();
    let mut is_taken = vec![false; count];
    let mut group = Vec::new();
    for block in order.into_iter().map(|key| key as u32) {
        if neighbours[block as usize].iter().all(|&other| !is_taken[other as usize]) {
            is_taken[block as usize] = true;
            group.push(block);
        }
    }
    group.sort_unstable();
    group
}

/// Whether all columns of a block are named, or it is small where none are.
fn is_candidate(matrix: &NormalMatrix, named: &[(usize, usize)], block: usize) -> bool {
    let is_named = |column: usize| {
        let after = named.partition_point(|(first, _)| *first <= column);
        after > 0 && column < named[after - 1].0 + named[after - 1].1
    };
    if named.is_empty() { matrix.layout.dim(block) <= MOST_COLUMNS } else { matrix.layout.columns(block).all(is_named) }
}
