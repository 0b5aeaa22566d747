//! A sparse matrix as compressed rows, and its products with vectors.

use residua_base::list::Listed;

/// Compressed rows, borrowed: row `i` has the entries `row_offsets[i]..row_offsets[i + 1]`, each column once.
#[derive(Clone, Copy, Debug)]
pub struct SparseMatrix<'a> {
    /// The number of columns.
    pub cols: usize,
    /// One more than there are rows.
    pub row_offsets: &'a [u32],
    /// The column of each entry.
    pub col_indices: &'a [u32],
    /// The number of each entry.
    pub values: &'a [f64],
}

impl<'a> SparseMatrix<'a> {
    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.row_offsets.len().saturating_sub(1)
    }

    /// Where the entries of a row stand.
    pub fn range(&self, row: usize) -> std::ops::Range<usize> {
        self.row_offsets[row] as usize..self.row_offsets[row + 1] as usize
    }

    /// Columns and numbers of a row.
    pub fn row(&self, row: usize) -> impl Iterator<Item = (usize, f64)> + use<'a> {
        let range = self.range(row);
        self.col_indices[range.clone()]
            .iter()
            .zip(&self.values[range])
            .map(|(&column, &value)| (column as usize, value))
    }

    /// `y = A x`.
    pub fn times(&self, x: &[f64], y: &mut [f64]) {
        crate::loops::rows_product(self.row_offsets, self.col_indices, self.values, x, y);
    }

    /// `y += Aᵀ w`.
    pub fn add_transposed_times(&self, w: &[f64], y: &mut [f64]) {
        crate::loops::transposed_product(self.row_offsets, self.col_indices, self.values, w, y);
    }
}

/// The Euclidean lengths of the columns of A with a row of one number for each column below it. Entries are divided by the largest of
/// their column before they are squared, which would overflow or vanish.
pub(super) fn column_lengths(matrix: &SparseMatrix, below: impl Fn(usize) -> f64) -> Vec<f64> {
    let entries = || matrix.col_indices.iter().map(|&column| column as usize).zip(matrix.values.iter().copied());
    let mut largest: Vec<f64> = (0..matrix.cols).map(|column| below(column).abs()).list();
    for (column, value) in entries() {
        // Not `max`, which passes over a NaN.
        if value.abs() > largest[column] || value.is_nan() {
            largest[column] = value.abs();
        }
    }
    let mut squares = vec![0.0f64; matrix.cols];
    for (column, value) in entries().chain((0..matrix.cols).map(|column| (column, below(column)))) {
        if largest[column] != 0.0 {
            squares[column] += (value / largest[column]).powi(2);
        }
    }
    largest.iter().zip(squares).map(|(largest, squares)| largest * squares.sqrt()).list()
}

/// The same pattern by columns: who stands in column `k` is `entries[offsets[k]..offsets[k + 1]]`, in ascending rows.
#[derive(Clone, Debug)]
pub struct Columns {
    offsets: Vec<u32>,
    rows: Vec<u32>,
    positions: Vec<u32>,
}

impl Columns {
    /// The columns of a pattern of compressed rows.
    pub fn of(cols: usize, row_offsets: &[u32], col_indices: &[u32]) -> Columns {
        let mut offsets = vec![0u32; cols + 1];
        for &column in col_indices {
            offsets[column as usize + 1] += 1;
        }
        for column in 0..cols {
            offsets[column + 1] += offsets[column];
        }
        let mut next = offsets.clone();
        let mut rows = vec![0; col_indices.len()];
        let mut positions = vec![0; col_indices.len()];
        for (row, ends) in row_offsets.windows(2).enumerate() {
            for position in ends[0]..ends[1] {
                let place = &mut next[col_indices[position as usize] as usize];
                rows[*place as usize] = row as u32;
                positions[*place as usize] = position;
                *place += 1;
            }
        }
        Columns { offsets, rows, positions }
    }

    /// Rows of the entries of a column, and where among the compressed rows each stands.
    pub fn column(&self, column: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
        let range = self.offsets[column] as usize..self.offsets[column + 1] as usize;
        self.rows[range.clone()]
            .iter()
            .zip(&self.positions[range])
            .map(|(&row, &position)| (row as usize, position as usize))
    }
}
