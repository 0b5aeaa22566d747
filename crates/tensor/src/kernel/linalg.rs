//! Transforms of rows, and factorisations and triangular systems of matrices.

use super::{Extent, Store};
use crate::expr::{Fourier as Of, Linalg as Kind};
use crate::scalar::Id;

/// A kernel that transforms rows. Coordinates 0 … count the outer axes, the two after them are the place of a number in its row and a place of the
/// result. The results of fold 0 at such a place are the real part and, where it is complex, the imaginary one.
#[derive(Clone, Debug, PartialEq)]
pub struct Fourier {
    /// Extents of the axes whose points each have a row; may be empty.
    pub outer: Vec<Extent>,
    /// What is transformed. Its axes are those of the tensors.
    pub of: Of,
    /// The real part at (outer, place), an f32: on the host a load.
    pub re: Id,
    /// The imaginary part; none: 0.
    pub im: Option<Id>,
    /// Whether the imaginary part stands behind the real one, at an even place.
    pub has_pairs: bool,
    /// What is written for each (outer, place of the result). The first of them are pairs, as many as `pairs` says: the second of a pair stands behind
    /// the first, at an even place.
    pub elements: Vec<Store>,
    /// How many pairs of stores there are.
    pub pairs: usize,
    /// The buffer of the roots of unity of the length, on a device. Lengths up to 2 need none.
    pub roots: Option<u32>,
    /// Whether the numbers of a row are neighbours in the tensors that are read. If not, those of different rows are.
    pub reads_rows: bool,
    /// Whether they are in what is written.
    pub writes_rows: bool,
}

/// A kernel that factors matrices, or solves triangular systems, dense or sparse. Coordinates 0 … count the axes of the batch, the two after them are the row
/// and the column of the first matrix, the next two those of the second, the last two those of the result. The result `Folded { fold: 0, result: 0 }` is an
/// element of the result, which is written where it stands in the memory of a tensor: there alone, since kernels of a device compute there.
#[derive(Clone, Debug, PartialEq)]
pub struct Linalg {
    /// What is computed.
    pub kind: Kind,
    /// Extents of the axes of the batch; may be empty.
    pub batch: Vec<Extent>,
    /// Rows of the first matrix; the second has as many.
    pub rows: Extent,
    /// Columns of the first matrix.
    pub columns: Extent,
    /// Columns of the second matrix; 1 if there is none.
    pub width: Extent,
    /// Rows of the result.
    pub height: Extent,
    /// Columns of the result.
    pub length: Extent,
    /// Most rows and columns of the first matrix.
    pub most: [u32; 2],
    /// An element of the first matrix, an f32.
    pub matrix: Id,
    /// An element of the second matrix, an f32; of a sparse system a value, at the third coordinate.
    pub second: Option<Id>,
    /// Of a sparse system a number of the pattern, a u32 at the fourth coordinate, and how many there are. The width is the number of values.
    pub pattern: Option<(Id, Extent)>,
    /// Where an element of the result is written: one store.
    pub elements: Vec<Store>,
}

/// A part of a round of Jacobi's rotations of a batch of matrices whose columns are in blocks: in a round each block meets another one, and in a sweep of
/// rounds each other one. One kernel finds the rotations of all pairs of blocks, the other applies them to all rows. Both run in the memory of a state,
/// [`Linalg::Diagonal`](Kind::Diagonal) or [`Linalg::Orthogonal`](Kind::Orthogonal), as often as rounds may be needed, and do nothing after the last one:
/// the last row of the state has the number of rounds that are over, that of the round under way or −1, for each pair whether it turned in a sweep of
/// either parity, and whether it turned in the round.
#[derive(Clone, Debug, PartialEq)]
pub struct Turns {
    /// Whether the kernel applies rotations.
    pub applies: bool,
    /// Whether the matrix is symmetric and turned on both sides.
    pub is_symmetric: bool,
    /// Extents of the axes of the batch; may be empty.
    pub batch: Vec<Extent>,
    /// Rows of the state.
    pub rows: Extent,
    /// Its columns: a multiple of [`Turns::PAIR`].
    pub columns: Extent,
    /// Most columns.
    pub most: u32,
    /// The buffer of the state.
    pub state: u32,
    /// The buffer of the rotations: for each pair of blocks a matrix that the columns of both are multiplied by.
    pub rotations: u32,
}

impl Turns {
    /// Columns of a block.
    pub const BLOCK: u32 = 16;
    /// Columns of two blocks.
    pub const PAIR: u32 = 2 * Turns::BLOCK;
    /// An eigenvalue below those of matrices of numbers below 2.
    pub const BEHIND: f64 = -1e30;

    /// Most rounds of so many columns: of as many sweeps as their logarithm and some more. Matrices of 512 columns take 9, and up to 18 where eigenvalues are
    /// equal or fall by many powers of 10.
    pub fn most_rounds(columns: u64) -> u64 {
        let blocks = columns / u64::from(Turns::BLOCK);
        blocks.saturating_sub(1) * (15 + u64::from(blocks.max(1).ilog2()))
    }
}
