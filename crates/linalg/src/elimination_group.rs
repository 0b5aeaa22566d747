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
    let mut order: Vec<u32> = Vec::with_capacity(count);
    order.extend(
        (0..count as u32)
            .filter(|&block| is_candidate(matrix, named, block as usize) && !neighbours[block as usize].is_empty()),
    );
    order.sort_by_key(|&block| neighbours[block as usize].len());
    let mut is_taken = vec![false; count];
    let mut group = Vec::new();
    for block in order {
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
