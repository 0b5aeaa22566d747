//! Factorisations and triangular systems of batches of matrices.

use residua_tensor_loops::dense;

use crate::size::Size;

/// What becomes of a matrix of f32, or of each one of a batch. Several factors are parts of one result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Linalg {
    /// The lower triangular L of A = L Lᵀ, where A is symmetric: [n, n] gives [n, n]. All is NaN where A is not positive definite.
    Cholesky = 0,
    /// The solution X of L X = B, where L is lower triangular: [n, n] and [n, k] give [n, k]. What stands above the diagonal is not read.
    TriangularSolve = 1,
    /// L and U of rows of A in another order, with the largest pivots: [m, n] gives [m, n + 2]. U stands in the triangle, L below its diagonal, which is 1.
    /// The column after them says which row of A each row is, the last one is −1 for each step that exchanged rows, else 1.
    Lu = 2,
    /// Q of orthonormal columns, and below it the upper triangular R of A = Q R: [m, n] with m ≥ n gives [m + n, n]. All is NaN
    /// where an element is not finite, as it is of the following factors.
    Qr = 3,
    /// Eigenvectors of a symmetric matrix as columns, below them the eigenvalues in ascending order, and then zeros, since a device computes in the
    /// result's memory: [n, n] gives [2n, n].
    Eigh = 4,
    /// Left and right singular vectors as columns, and below them the singular values in descending order: [m, n] with m ≥ n gives [m + n + 1, n].
    Svd = 5,
    /// The Moore-Penrose inverse: [m, n] gives [n, m]. Singular values of at most the second operand, a scalar, times the largest count as 0. Planning makes
    /// singular values and products of it.
    PseudoInverse = 6,
    /// The solution X of T X = B, where T is sparse and triangular: B [n, k], the values of T [m], and patterns of T and of Tᵀ
    /// ([`residua_tensor_loops::sparse`]) give [n, k]. The row and the column of each value, n where it is not in the triangle, are for derivatives.
    SparseSolve = 7,
    /// As singular values, with left vectors times the values and a power of 2. Planning makes it of these on a device; no tape has this nor the
    /// following.
    Rotations = 8,
    /// Rotations of a state, [2n + 1, n], in rounds of blocks: of its first n rows a symmetric A of numbers below 2, which becomes a diagonal of the
    /// eigenvalues, of those below them the identity, which becomes the eigenvectors, and of its last row zeros.
    Diagonal = 9,
    /// The same of a state [m + n + 1, n] with [m, n] of any matrix, whose columns become orthogonal: the left vectors times the singular values, and the
    /// right vectors.
    Orthogonal = 10,
    /// As Q and R without making Q: [m, n] gives [m + n, n]. R stands in the upper triangle, the vectors of the reflections below the diagonal without
    /// their first element, which is 1, and below these T of Q = I − V T Vᵀ.
    Reflections = 11,
}

impl Linalg {
    /// Those of tapes, by code.
    pub const ALL: [Linalg; 8] = [
        Linalg::Cholesky,
        Linalg::TriangularSolve,
        Linalg::Lu,
        Linalg::Qr,
        Linalg::Eigh,
        Linalg::Svd,
        Linalg::PseudoInverse,
        Linalg::SparseSolve,
    ];

    /// Axes of a kernel besides those of the batch: two of each matrix and of the result. Of a sparse system the second two are those of values and pattern.
    pub const AXES: usize = 6;

    /// Its name in plans.
    pub fn name(self) -> &'static str {
        match self {
            Linalg::Cholesky => "cholesky",
            Linalg::TriangularSolve => "triangular_solve",
            Linalg::Lu => "lu",
            Linalg::Qr => "qr",
            Linalg::Eigh => "eigh",
            Linalg::Svd => "svd",
            Linalg::PseudoInverse => "pseudo_inverse",
            Linalg::SparseSolve => "sparse_solve",
            Linalg::Rotations => "rotations",
            Linalg::Diagonal => "diagonal",
            Linalg::Orthogonal => "orthogonal",
            Linalg::Reflections => "reflections",
        }
    }

    /// How many operands it takes.
    pub fn arity(self) -> usize {
        match self {
            Linalg::SparseSolve => 6,
            Linalg::TriangularSolve | Linalg::PseudoInverse => 2,
            _ => 1,
        }
    }

    /// Rows and columns of the result, from those of the first matrix and the columns of the second, which are 1 if there is none.
    pub fn result(self, [rows, columns, width]: [&Size; 3]) -> [Size; 2] {
        let more = |size: &Size, number: i64| size + &Size::constant(number);
        match self {
            Linalg::Cholesky | Linalg::SparseSolve | Linalg::Diagonal | Linalg::Orthogonal => {
                [rows.clone(), columns.clone()]
            }
            Linalg::TriangularSolve => [rows.clone(), width.clone()],
            Linalg::Lu => [rows.clone(), more(columns, 2)],
            Linalg::Qr | Linalg::Reflections => [rows + columns, columns.clone()],
            Linalg::Eigh => [rows + rows, columns.clone()],
            Linalg::PseudoInverse => [columns.clone(), rows.clone()],
            Linalg::Svd | Linalg::Rotations => [more(&(rows + columns), 1), columns.clone()],
        }
    }

    /// Whether a matrix has no fewer rows than columns.
    pub fn is_of_columns(self) -> bool {
        matches!(self, Linalg::Qr | Linalg::Reflections | Linalg::Svd | Linalg::Rotations)
    }

    /// Whether the first matrix has as many rows as columns.
    pub fn is_of_squares(self) -> bool {
        matches!(self, Linalg::Cholesky | Linalg::TriangularSolve | Linalg::Eigh)
    }

    /// The result of matrices as lists of their rows: of one with so many rows and columns, and of a second one with so many columns as `width` says.
    pub fn computed(self, [rows, columns, width]: [usize; 3], mut a: Vec<f64>, mut b: Vec<f64>) -> Vec<f64> {
        match self {
            Linalg::Cholesky => {
                dense::cholesky(&mut a, rows);
                a
            }
            Linalg::TriangularSolve => {
                dense::triangular_solve(&a, rows, &mut b, width);
                b
            }
            Linalg::Lu => {
                let (order, signs) = dense::pivoted(&mut a, rows, columns);
                let mut result = Vec::with_capacity(rows * (columns + 2));
                for row in 0..rows {
                    result.extend_from_slice(&a[row * columns..][..columns]);
                    result.extend([order[row] as f64, signs[row]]);
                }
                result
            }
            Linalg::Qr => {
                let upper = dense::orthogonal(&mut a, rows, columns);
                a.extend(upper);
                a
            }
            Linalg::Eigh => {
                let values = dense::eigen(&mut a, rows);
                let mut result = dense::transposed(&a, rows, rows);
                result.extend(values);
                result.resize(2 * rows * rows, 0.0);
                result
            }
            Linalg::Reflections => reflections(a, rows, columns),
            // Rotations are kernels of their own. A sparse system has a pattern besides, and is solved where that is at hand.
            Linalg::SparseSolve | Linalg::Diagonal | Linalg::Orthogonal => a,
            Linalg::Svd | Linalg::Rotations | Linalg::PseudoInverse => {
                let (values, right) = dense::singular(&mut a, rows, columns);
                a.extend(right);
                a.extend(values);
                a
            }
        }
    }
}

/// R, the vectors of its reflections and T.
fn reflections(mut a: Vec<f64>, rows: usize, columns: usize) -> Vec<f64> {
    let factors = dense::reflections(&mut a, rows, columns, &mut vec![0.0; columns]);
    let vector = |row: usize, k: usize| match row.cmp(&k) {
        std::cmp::Ordering::Less => 0.0,
        std::cmp::Ordering::Equal => 1.0,
        std::cmp::Ordering::Greater => a[row * columns + k],
    };
    let mut upper = vec![0.0; columns * columns];
    for k in 0..columns {
        let products: Vec<f64> = (0..k).map(|j| (0..rows).map(|row| vector(row, j) * vector(row, k)).sum()).collect();
        for j in 0..k {
            let sum: f64 = (j..k).map(|i| upper[j * columns + i] * products[i]).sum();
            upper[j * columns + k] = -factors[k] * sum;
        }
        upper[k * columns + k] = factors[k];
    }
    a.extend(upper);
    a
}

/// The Moore-Penrose inverse of a matrix with so many rows and columns: what planning makes of singular values, for the reference.
#[cfg(not(target_arch = "wasm32"))]
pub fn pseudo_inverse(a: Vec<f64>, [rows, columns, _]: [usize; 3], cutoff: f64) -> Vec<f64> {
    if rows < columns {
        let turned = pseudo_inverse(dense::transposed(&a, rows, columns), [columns, rows, 1], cutoff);
        return dense::transposed(&turned, rows, columns);
    }
    let mut left = a;
    let (values, right) = dense::singular(&mut left, rows, columns);
    let least = cutoff * values.first().copied().unwrap_or_default();
    let element = |place: usize| -> f64 {
        let (row, column) = (place / rows, place % rows);
        let terms = (0..columns).filter(|k| values[*k] > least || values[*k].is_nan());
        terms.map(|k| right[row * columns + k] * left[column * columns + k] / values[k]).sum()
    };
    (0..columns * rows).map(element).collect()
}
