//! Where the entries of a Hessian stand.

/// The pattern of a Hessian: the same for every point.
pub struct HessianPattern {
    /// Compressed rows of the whole matrix.
    pub row_offsets: Vec<u32>,
    /// Columns, ascending within a row, each once.
    pub col_indices: Vec<u32>,
    /// For each entry its place in the lower half.
    pub(super) lower: Vec<u32>,
    /// Numbers of the lower half.
    pub(super) lower_len: usize,
    /// Where the entries of each batch go, one instance after the other, and then those of long sums.
    pub(super) places: Vec<u32>,
}
