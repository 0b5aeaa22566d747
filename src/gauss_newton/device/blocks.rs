//! The blocks of the block diagonal of J̃ᵀJ̃: those of the parameters, or single numbers where a block is very large.

use residua_base::list::Listed;

use crate::model::manifolds::Manifold;
use crate::model::{ArrayInfo, Model};

/// A larger block is as many blocks of one number: only the diagonal of its block of J̃ᵀJ̃ is kept.
pub const MOST_NUMBERS: u32 = 10;

/// Arrays of fewer blocks have their block diagonal in pairs of a number and its error: many residuals meet in such a block, and its
/// conditioning is that of the problem.
pub const FEW_BLOCKS: u32 = 1024;

/// Blocks of more numbers have their gradient and their block of J̃ᵀJ̃ gathered apart: a thread's registers are few.
pub const MOST_TOGETHER: u32 = 4;

/// Numbers of an array's blocks: those of the array's own, or 1 where they are too many.
pub fn block_numbers(array: &ArrayInfo) -> u32 {
    if array.dim <= MOST_NUMBERS { array.dim } else { 1 }
}

/// The same for each array of a model.
pub fn numbers_of_blocks(model: &Model) -> Vec<u32> {
    model.arrays.iter().map(block_numbers).list()
}

/// Numbers of the lower triangle of a block.
pub fn triangle(numbers: u32) -> u32 {
    numbers * (numbers + 1) / 2
}

/// What all blocks of a group have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockKind {
    /// Numbers of a block.
    pub dim: u32,
    /// Tangent coordinates of a block.
    pub tangent: u32,
    /// Whether its block of J̃ᵀJ̃ has errors.
    pub pairs: bool,
    /// The space of a block, or of the larger block that a number is one of.
    pub manifold: Manifold,
}

impl BlockKind {
    /// The kind of an array's blocks.
    pub fn of(array: &ArrayInfo) -> BlockKind {
        let dim = block_numbers(array);
        let tangent = if dim == array.dim { array.manifold.tangent_dim(dim) } else { dim };
        let manifold = match array.manifold {
            Manifold::Angle => Manifold::Euclidean,
            // All its numbers have one unit.
            Manifold::UnitVector if dim < array.dim => Manifold::Euclidean,
            manifold => manifold,
        };
        BlockKind { dim, tangent, pairs: array.count < FEW_BLOCKS, manifold }
    }
}

/// Blocks of one kind, of arrays that are neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockGroup {
    /// Of each block.
    pub kind: BlockKind,
    /// Blocks.
    pub count: u32,
    /// The first block's first parameter.
    pub first: u32,
}

/// All blocks, in the order of the parameters.
pub fn block_groups(arrays: &[ArrayInfo]) -> Vec<BlockGroup> {
    let mut groups: Vec<BlockGroup> = Vec::new();
    for array in arrays.iter().filter(|array| array.dim > 0 && array.count > 0) {
        let kind = BlockKind::of(array);
        let count = array.count * (array.dim / kind.dim);
        match groups.last_mut() {
            Some(last) if last.kind == kind && last.first + last.count * kind.dim == array.offset => {
                last.count += count
            }
            _ => groups.push(BlockGroup { kind, count, first: array.offset }),
        }
    }
    groups
}
