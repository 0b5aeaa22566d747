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
