//! How the parameters' blocks lie, as the vector kernels need to know it: groups of blocks of one shape, and how many workgroups each
//! gets, so that the partial sums of all are few enough for every workgroup of the next kernel to finish them.

use super::elimination::Elimination;
use crate::gauss_newton::device::blocks::{BlockKind, block_groups};
use crate::model::ArrayInfo;
use crate::model::manifolds::{CoordinateSize, Manifold};

/// Threads of a workgroup of these kernels.
pub const THREADS: u32 = 256;

/// Workgroups of a kernel over all groups, at most: enough to fill a large GPU, and few enough to be summed by each other's threads.
pub const MOST_WORKGROUPS: u32 = 512;

/// How the blocks of a group are solved for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Preconditioner {
    /// In f32, by a factorisation made where it is used.
    Single,
    /// In pairs of f32, by a factorisation made when a step begins.
    Pairs,
}

/// What becomes of the blocks of a group in conjugate gradients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// All blocks are alike: there is no Schur complement.
    Whole,
    /// They are in the Schur complement.
    Kept,
    /// They are eliminated.
    Eliminated,
}

/// What the text of a kernel over a group depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BlockShape {
    /// Numbers of a block.
    pub dim: u32,
    /// Tangent coordinates of a block.
    pub tangent: u32,
    /// See [`BlockKind::manifold`].
    pub manifold: Manifold,
    /// How it is solved for.
    pub preconditioner: Preconditioner,
    /// What becomes of it.
    pub part: Part,
}

/// Neighbouring arrays of one shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    /// Of each block.
    pub shape: BlockShape,
    /// Where the first number stands among all parameters.
    pub first: u32,
    /// Blocks.
    pub blocks: u32,
    /// Where the first block's factors stand among all factors, in pairs.
    pub factors: u32,
    /// Number of its first workgroup.
    pub first_workgroup: u32,
    /// How many workgroups it has.
    pub workgroups: u32,
}

/// All parameters of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// In the order of the parameters.
    pub groups: Vec<Group>,
    /// Numbers of a vector.
    pub numbers: u32,
    /// Workgroups of all groups together.
    pub workgroups: u32,
    /// Pairs that factors take.
    pub factors: u32,
}

impl BlockShape {
    /// The shape of blocks of a kind.
    fn of(BlockKind { dim, tangent, pairs, manifold }: BlockKind, part: Part) -> BlockShape {
        let preconditioner = if pairs { Preconditioner::Pairs } else { Preconditioner::Single };
        BlockShape { dim, tangent, manifold, preconditioner, part }
    }

    /// The size of a point in each tangent coordinate. `None` for a number of a larger block on a manifold: it stands for no coordinate.
    pub fn coordinate_sizes(self) -> Option<Vec<CoordinateSize>> {
        let is_whole = self.manifold == Manifold::Euclidean || self.manifold.tangent_dim(self.dim) == self.tangent;
        (is_whole && self.manifold.takes(self.dim)).then(|| self.manifold.coordinate_sizes(self.dim))
    }

    /// Numbers of the lower triangle of a block.
    pub fn triangle(self) -> u32 {
        self.tangent * (self.tangent + 1) / 2
    }

    /// Pairs of a block's factors: the lower triangle with the pivots on its diagonal.
    fn factor_pairs(self) -> u32 {
        match self.preconditioner {
            Preconditioner::Pairs => self.triangle(),
            Preconditioner::Single => 0,
        }
    }
}

impl Shape {
    /// The groups of a model's arrays, some of which may be eliminated.
    pub fn new(arrays: &[ArrayInfo], numbers: u32, elimination: Option<&Elimination>) -> Shape {
        let mut groups: Vec<Group> = Vec::new();
        let (mut factors, mut start) = (0, 0);
        let part = |array: usize| match elimination {
            None => Part::Whole,
            Some(elimination) if elimination.is_eliminated[array] => Part::Eliminated,
            Some(_) => Part::Kept,
        };
        while start < arrays.len() {
            let same = (start..arrays.len()).take_while(|&array| part(array) == part(start)).count();
            for blocks in block_groups(&arrays[start..start + same]) {
                let shape = BlockShape::of(blocks.kind, part(start));
                let (first, blocks) = (blocks.first, blocks.count);
                groups.push(Group { shape, first, blocks, factors, first_workgroup: 0, workgroups: 0 });
                factors += blocks * shape.factor_pairs();
            }
            start += same;
        }
        let mut workgroups = 0;
        let all_blocks: u64 = groups.iter().map(|group| u64::from(group.blocks)).sum();
        // Each group gets one, and of the others its share by blocks.
        let shared = u64::from(MOST_WORKGROUPS.saturating_sub(groups.len() as u32));
        for group in &mut groups {
            let share = 1 + shared * u64::from(group.blocks) / all_blocks;
            group.first_workgroup = workgroups;
            group.workgroups = group.blocks.div_ceil(THREADS).min(share as u32);
            workgroups += group.workgroups;
        }
        Shape { groups, numbers, workgroups, factors }
    }

    /// Distance of the vectors that share a buffer, in numbers: each can be bound by itself.
    pub fn stride(&self) -> u32 {
        self.numbers.next_multiple_of(64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::manifolds::Manifold;

    fn arrays(of: &[(u32, u32, Manifold)]) -> (Vec<ArrayInfo>, u32) {
        let mut offset = 0;
        let arrays = of
            .iter()
            .map(|&(dim, count, manifold)| {
                offset += dim * count;
                ArrayInfo { name: String::new(), dim, count, offset: offset - dim * count, manifold }
            })
            .collect();
        (arrays, offset)
    }

    #[test]
    fn neighbours_of_one_shape_are_one_group() {
        use Manifold::{Euclidean, UnitQuaternion};
        let (arrays, numbers) = arrays(&[
            (3, 2000, Euclidean),
            (3, 1500, Euclidean),
            (4, 2000, UnitQuaternion),
            (7, 1, Euclidean),
            (40, 2, Euclidean),
        ]);
        let shape = Shape::new(&arrays, numbers, None);
        let found: Vec<_> = shape
            .groups
            .iter()
            .map(|group| (group.shape.tangent, group.blocks, group.first, group.shape.preconditioner))
            .collect();
        let expected = [
            (3, 3500, 0, Preconditioner::Single),
            (3, 2000, 10_500, Preconditioner::Single),
            (7, 1, 18_500, Preconditioner::Pairs),
            (1, 80, 18_507, Preconditioner::Pairs),
        ];
        assert_eq!(found, expected);
        assert_eq!((shape.factors, shape.stride()), (28 + 80, 18_624));
    }

    #[test]
    fn workgroups_stay_few_and_every_group_has_one() {
        for of in [
            vec![(3, 1_000_000, Manifold::Euclidean)],
            vec![(1, 1, Manifold::Euclidean)],
            vec![(3, 2_000_000, Manifold::Euclidean), (9, 1, Manifold::Euclidean), (2, 500_000, Manifold::Euclidean)],
        ] {
            let (arrays, numbers) = arrays(&of);
            let shape = Shape::new(&arrays, numbers, None);
            assert!(shape.workgroups <= MOST_WORKGROUPS, "{}", shape.workgroups);
            let mut next = 0;
            for group in &shape.groups {
                assert!(group.workgroups > 0 && group.first_workgroup == next);
                next += group.workgroups;
            }
            assert_eq!(next, shape.workgroups);
        }
    }
}
