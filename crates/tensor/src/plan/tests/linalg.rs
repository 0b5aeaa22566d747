//! Linear algebra: the factors that kernels of both engines give against the matrices that they are of. Texts for the GPU are interpreted.
//!
//! Errors are in units of 2⁻²⁴ of the largest element times the size, as LAPACK states those of its routines (Anderson and others: "LAPACK Users' Guide",
//! 3rd edition, 4). The constants of Jacobi's rotations and of sums in single precision are below 10.

use super::*;
use crate::expr::{Array, Linalg};
use crate::interpret;
use crate::kernel::{Body, TensorKernel};
use crate::wgsl;

#[path = "../../../../../tests/native/interpreter/mod.rs"]
mod interpreter;
mod large;

const ERROR: f64 = 10.0 / (1 << 24) as f64;

/// Runs a kernel of linear algebra by its text, and others as they are: workgroups of large matrices meet too often for the machine, and are run on devices.
fn run_text(kernel: &TensorKernel, words: &[u32], buffers: &mut [Vec<u8>]) -> Result<()> {
    if !matches!(&kernel.body, Body::Linalg(linalg) if linalg.kind != Linalg::Reflections) {
        return interpret::run(kernel, words, buffers);
    }
    run_by_text(kernel, words, buffers)
}

/// Runs a kernel by its text.
pub(super) fn run_by_text(kernel: &TensorKernel, words: &[u32], buffers: &mut [Vec<u8>]) -> Result<()> {
    let text = wgsl::write(kernel, &wgsl::DeviceLimits::default())?;
    let [x, y, _] = text.workgroups.count(words)?;
    let word = |chunk: &[u8]| u32::from_le_bytes(chunk.try_into().expect("four bytes"));
    let mut memory: Vec<Vec<u32>> = buffers.iter().map(|bytes| bytes.chunks_exact(4).map(word).collect()).collect();
    let mut uniform = words.to_vec();
    uniform.resize(wgsl::uniform_bytes(kernel) as usize / 4, 0);
    memory.push(uniform);
    interpreter::run(&text.text, [x, y], &mut memory);
    for (bytes, words) in buffers.iter_mut().zip(memory) {
        *bytes = words.into_iter().flat_map(u32::to_le_bytes).collect();
    }
    Ok(())
}

/// The results of a recipe on the host, and on the GPU where asked.
fn results(expr: &Expr, results: &[TensorId], inputs: &[Vec<f64>], dims: &[u32], on_gpu: bool) -> Vec<Vec<Array>> {
    expr.check().expect("a recipe that plans");
    let recipe = Recipe { expr: expr.clone(), dims: dims.to_vec(), results: results.to_vec(), assignments: Vec::new() };
    let run = |is_host: bool| {
        let plan = Plan::new(&recipe, &Target { is_host, ..GPU }).expect("a recipe that plans");
        let mut slots: Vec<Vec<u8>> = inputs.iter().map(|numbers| bytes_of(DType::F32, numbers)).collect();
        let found = match is_host {
            true => execute_by(&plan, dims, &mut slots, &crate::wasm::run_generated),
            false => execute_by(&plan, dims, &mut slots, &run_text),
        };
        let found = found.expect("a plan that runs");
        let array = |(id, bytes): (&TensorId, &Vec<u8>)| {
            let shape: Vec<usize> = expr.shape(*id).iter().map(|size| size.at(dims) as usize).collect();
            Array { data: elements_of(DType::F32, bytes, shape.iter().product()), shape }
        };
        results.iter().zip(&found).map(array).collect()
    };
    [true, false].into_iter().filter(|is_host| *is_host || on_gpu).map(run).collect()
}

/// A matrix of a batch, of some rows of its array.
fn rows_of(array: &Array, place: usize, from: usize, count: usize) -> Matrix {
    let [.., height, columns] = array.shape[..] else { panic!("a matrix") };
    let first = (place * height + from) * columns;
    Matrix { data: array.data[first..first + count * columns].to_vec(), columns }
}

#[derive(Clone)]
struct Matrix {
    data: Vec<f64>,
    columns: usize,
}

impl Matrix {
    fn of(columns: usize, data: Vec<f64>) -> Matrix {
        Matrix { data, columns }
    }

    fn rows(&self) -> usize {
        self.data.len() / self.columns.max(1)
    }

    fn at(&self, row: usize, column: usize) -> f64 {
        self.data[row * self.columns + column]
    }

    fn made(rows: usize, columns: usize, at: impl Fn(usize, usize) -> f64) -> Matrix {
        Matrix { data: (0..rows * columns).map(|k| at(k / columns, k % columns)).collect(), columns }
    }

    fn turned(&self) -> Matrix {
        Matrix::made(self.columns, self.rows(), |row, column| self.at(column, row))
    }

    fn times(&self, other: &Matrix) -> Matrix {
        Matrix::made(self.rows(), other.columns, |row, column| {
            (0..self.columns).map(|k| self.at(row, k) * other.at(k, column)).sum()
        })
    }

    fn most(&self) -> f64 {
        self.data.iter().fold(0.0, |most, x| most.max(x.abs()))
    }

    #[track_caller]
    fn is_near(&self, expected: &Matrix, name: &str) {
        assert_eq!(self.data.len(), expected.data.len(), "{name}");
        let error = self.data.iter().zip(&expected.data).fold(0.0_f64, |most, (a, b)| most.max((a - b).abs()));
        let size = expected.rows().max(expected.columns) as f64;
        let bound = ERROR * size * expected.most();
        assert!(error <= bound, "{name}: {error}, at most {bound}\n{:?}\n{:?}", self.data, expected.data);
    }

    #[track_caller]
    fn is_orthonormal(&self, name: &str) {
        let one = Matrix::made(self.columns, self.columns, |row, column| f64::from(u8::from(row == column)));
        let error = Matrix { data: self.data.clone(), columns: self.columns };
        let size = self.rows().max(1) as f64;
        let product = error.turned().times(&error);
        let most = product.data.iter().zip(&one.data).fold(0.0_f64, |most, (a, b)| most.max((a - b).abs()));
        assert!(most <= ERROR * size, "{name}: columns are orthonormal up to {most}");
    }
}

/// Batches of matrices, [batch, rows, columns], for each schedule of the kernels: a thread, a small team, a workgroup, and the memory of the result.
const SHAPES: [[usize; 3]; 12] = [
    [1, 0, 0],
    [0, 2, 2],
    [1, 1, 1],
    [70, 2, 2],
    [3, 6, 6],
    [2, 8, 3],
    [5, 10, 10],
    [1, 13, 13],
    [2, 20, 7],
    [1, 25, 25],
    [1, 34, 3],
    [1, 4200, 1],
];

fn input(expr: &mut Expr, slot: u32, shape: &[usize]) -> TensorId {
    let shape: Vec<Size> = shape.iter().map(|extent| size(*extent as i64)).collect();
    expr.input(slot, DType::F32, &shape)
}

/// Calls with the factors of each matrix.
fn each(kind: Linalg, shape: [usize; 3], data: &[f64], run: impl Fn(&str, Matrix, &Array, usize)) {
    // Threads of the machine take seconds for a workgroup of 256 that meets often.
    let most = if kind == Linalg::Svd { 20 } else { 50 };
    let on_gpu = shape[1].min(shape[2]) < most;
    let [batch, rows, columns] = shape;
    let mut expr = Expr::default();
    let a = input(&mut expr, 0, &shape);
    let result = expr.linalg(kind, &[a]);
    for (engine, found) in results(&expr, &[result], &[data.to_vec()], &[], on_gpu).iter().enumerate() {
        for place in 0..batch {
            let a = Matrix::of(columns, data[place * rows * columns..][..rows * columns].to_vec());
            let name = format!("{kind:?} of matrix {place} of {shape:?}, {}", ["host", "GPU"][engine]);
            run(&name, a, &found[0], place);
        }
    }
}

/// Batches of x xᵀ + 1, of numbers that are f32.
fn positive(batch: usize, size: usize) -> Vec<f64> {
    let x = numbers(batch * size * size, 5);
    let of = |place: usize| {
        let x = Matrix::of(size, x[place * size * size..][..size * size].to_vec());
        let square = x.times(&x.turned());
        Matrix::made(size, size, |row, column| {
            f64::from((square.at(row, column) + f64::from(u8::from(row == column))) as f32)
        })
        .data
    };
    (0..batch).flat_map(of).collect()
}

#[test]
fn cholesky_factors_make_the_matrix() {
    for shape in SHAPES.into_iter().filter(|[_, rows, columns]| rows == columns) {
        each(Linalg::Cholesky, shape, &positive(shape[0], shape[1]), |name, a, found, place| {
            let lower = rows_of(found, place, 0, a.columns);
            lower.times(&lower.turned()).is_near(&a, name);
            (0..a.columns)
                .for_each(|row| (row + 1..a.columns).for_each(|column| assert_eq!(lower.at(row, column), 0.0)));
        });
    }
}

#[test]
fn a_matrix_without_a_factor_alone_is_nan() {
    let one = [2.0, 1.0, 1.0, 2.0];
    for bad in [
        [1.0, 2.0, 2.0, 1.0],
        [0.0; 4],
        [f64::NAN, 0.0, 0.0, 1.0],
        [1.0, 0.0, 0.0, -1.0],
        [f64::INFINITY, 0.0, 0.0, 1.0],
    ] {
        each(Linalg::Cholesky, [3, 2, 2], &[one, bad, one].concat(), |name, _, found, place| {
            let lower = rows_of(found, place, 0, 2);
            assert!(lower.data.iter().all(|x| x.is_nan() == (place == 1)), "{name}: {:?}", lower.data);
        });
    }
}

#[test]
fn triangular_systems_are_solved() {
    for [batch, size, columns] in [[1, 0, 2], [1, 1, 1], [70, 3, 1], [2, 6, 40], [1, 33, 3], [2, 5, 0]] {
        let a = positive(batch, size);
        let b = numbers(batch * size * columns, 9);
        let mut expr = Expr::default();
        let left = input(&mut expr, 0, &[batch, size, size]);
        let right = input(&mut expr, 1, &[batch, size, columns]);
        let result = expr.linalg(Linalg::TriangularSolve, &[left, right]);
        for found in results(&expr, &[result], &[a.clone(), b.clone()], &[], true) {
            for place in 0..batch {
                let whole = Matrix::of(size, a[place * size * size..][..size * size].to_vec());
                let lower =
                    Matrix::made(size, size, |row, column| if column <= row { whole.at(row, column) } else { 0.0 });
                let b = Matrix::of(columns, b[place * size * columns..][..size * columns].to_vec());
                let x = rows_of(&found[0], place, 0, size);
                // A residual is beside the products of the elements (Higham: "Accuracy and Stability of Numerical Algorithms", 8.1).
                let bound = ERROR * size as f64 * (b.most() + lower.most() * x.most());
                let product = lower.times(&x);
                assert!(
                    product.data.iter().zip(&b.data).all(|(a, b)| (a - b).abs() <= bound),
                    "{batch} {size} {columns}"
                );
            }
        }
    }
}

/// Whether factors are of the rows of a matrix in their order.
#[track_caller]
fn is_pivoted(factors: &Matrix, a: &Matrix, name: &str) {
    let (rows, columns) = (factors.rows(), a.columns);
    let depth = rows.min(columns);
    let lower = Matrix::made(rows, depth, |row, column| match row.cmp(&column) {
        std::cmp::Ordering::Less => 0.0,
        std::cmp::Ordering::Equal => 1.0,
        std::cmp::Ordering::Greater => factors.at(row, column),
    });
    let upper = Matrix::made(depth, columns, |row, column| if column >= row { factors.at(row, column) } else { 0.0 });
    let moved = Matrix::made(rows, columns, |row, column| a.at(factors.at(row, columns) as usize, column));
    lower.times(&upper).is_near(&moved, name);
    assert!(lower.most() <= 1.0, "{name}: pivots are the largest");
}

#[test]
fn pivoted_factors_make_the_rows_in_their_order() {
    for shape in SHAPES.into_iter().chain([[3, 3, 7], [1, 12, 40], [1, 2, 2100]]) {
        each(Linalg::Lu, shape, &numbers(shape.iter().product(), 3), |name, a, found, place| {
            is_pivoted(&rows_of(found, place, 0, shape[1]), &a, name);
        });
    }
}

#[test]
fn signs_of_exchanges_make_the_sign_of_the_determinant() {
    // Permutations of two and of three rows.
    for (matrix, sign) in
        [([0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0], -1.0), ([0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0], 1.0)]
    {
        each(Linalg::Lu, [1, 3, 3], &matrix, |name, _, found, _| {
            let factors = rows_of(found, 0, 0, 3);
            let product: f64 = (0..3).map(|row| factors.at(row, 4) * factors.at(row, row)).product();
            assert_eq!(product, sign, "{name}");
        });
    }
}

/// Numbers; of small matrices also all ones, zeros, and columns of which the later ones are smaller by powers of 10.
fn matrices(shape: [usize; 3]) -> Vec<Vec<f64>> {
    let count = shape.iter().product();
    let graded = |k: usize| f64::from((numbers(count, 4)[k] * 10_f64.powi(-((k % shape[2]) as i32))) as f32);
    let mut found = vec![numbers(count, 3)];
    if count < 100 {
        found.extend([vec![1.0; count], vec![0.0; count], (0..count).map(graded).collect()]);
    }
    found
}

#[test]
fn orthogonal_factors_make_the_matrix() {
    for shape in SHAPES {
        for data in matrices(shape) {
            each(Linalg::Qr, shape, &data, |name, a, found, place| {
                let q = rows_of(found, place, 0, shape[1]);
                let upper = rows_of(found, place, shape[1], shape[2]);
                q.times(&upper).is_near(&a, name);
                q.is_orthonormal(name);
                (0..shape[2])
                    .for_each(|row| (0..row).for_each(|column| assert_eq!(upper.at(row, column), 0.0, "{name}")));
            });
        }
    }
}

#[test]
fn eigenvectors_make_the_matrix() {
    for shape in SHAPES.into_iter().filter(|[_, rows, columns]| rows == columns) {
        for data in matrices(shape) {
            let (batch, size) = (shape[0], shape[1]);
            let symmetric: Vec<f64> = (0..batch * size * size)
                .map(|k| {
                    let (place, row, column) = (k / (size * size), k / size % size, k % size);
                    let at = |row: usize, column: usize| data[(place * size + row) * size + column];
                    f64::from((at(row, column) + at(column, row)) as f32)
                })
                .collect();
            each(Linalg::Eigh, shape, &symmetric, |name, a, found, place| {
                let vectors = rows_of(found, place, 0, size);
                let values = rows_of(found, place, size, size.min(1)).data;
                assert!(values.is_sorted(), "{name}: {values:?}");
                vectors.is_orthonormal(name);
                let scaled = Matrix::made(size, size, |row, column| vectors.at(row, column) * values[column]);
                scaled.times(&vectors.turned()).is_near(&a, name);
            });
        }
    }
}

#[test]
fn singular_vectors_make_the_matrix() {
    for shape in SHAPES {
        for data in matrices(shape) {
            each(Linalg::Svd, shape, &data, |name, a, found, place| {
                let [_, rows, columns] = shape;
                let left = rows_of(found, place, 0, rows);
                let right = rows_of(found, place, rows, columns);
                let values = rows_of(found, place, rows + columns, columns.min(1)).data;
                assert!(
                    values.iter().rev().is_sorted() && values.iter().all(|value| *value >= 0.0),
                    "{name}: {values:?}"
                );
                left.is_orthonormal(name);
                right.is_orthonormal(name);
                let scaled = Matrix::made(rows, columns, |row, column| left.at(row, column) * values[column]);
                scaled.times(&right.turned()).is_near(&a, name);
            });
        }
    }
}

#[test]
fn numbers_that_are_not_finite_end_in_nan() {
    for kind in [Linalg::Eigh, Linalg::Svd] {
        for bad in [f64::NAN, f64::INFINITY] {
            each(kind, [2, 2, 2], &[1.0, 2.0, 2.0, 1.0, 1.0, bad, bad, 1.0], |name, _, found, place| {
                let vectors = rows_of(found, place, 0, if kind == Linalg::Eigh { 3 } else { 5 });
                assert!(vectors.data.iter().all(|x| x.is_nan() == (place == 1)), "{name}: {:?}", vectors.data);
            });
        }
    }
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        for kind in [Linalg::Qr, Linalg::Eigh, Linalg::Svd] {
            // Vectors and what is below them: R, a value, or right vectors and a value.
            let height = |size: usize| match kind {
                Linalg::Qr => 2 * size,
                Linalg::Eigh => size + 1,
                _ => 2 * size + 1,
            };
            let wide = [2.0, 1.0, 1.0, 2.0, 1.0, 0.0, 0.0, bad, 1.0, 3.0, 3.0, 1.0];
            for (size, data) in [(1, [2.0, bad, 3.0].as_slice()), (2, &wide)] {
                each(kind, [3, size, size], data, |name, _, found, place| {
                    let all = rows_of(found, place, 0, height(size));
                    assert!(all.data.iter().all(|x| x.is_nan() == (place == 1)), "{name} with {bad}: {:?}", all.data);
                });
            }
        }
    }
}

#[test]
fn matrices_are_read_and_written_through_views_and_sizes_of_a_run() {
    let mut expr = Expr::default();
    let n = Size::dim(0);
    let x = expr.input(0, DType::F32, &[size(3), n.clone(), n.clone()]);
    let turned = expr.transpose(x);
    let square = expr.matmul(x, turned, DType::F32);
    let numbers_of = [0, 1].map(|axis| expr.iota(axis, DType::I32, &[n.clone(), n.clone()]));
    let is_diagonal = expr.elementwise(E::Eq, &numbers_of);
    let one = expr.cast(is_diagonal, DType::F32);
    let positive = expr.elementwise(E::Add, &[square, one]);
    let lower = expr.linalg(Linalg::Cholesky, &[positive]);
    let upper = expr.transpose(lower);
    let again = expr.matmul(lower, upper, DType::F32);
    check(expr, &[again, lower], &[numbers(48, 1)], &[4]);
}

#[test]
fn a_factor_of_more_columns_than_a_workgroup_has_memory_for_is_made_in_the_result() {
    const N: usize = 66;
    let a = positive(1, N);
    let mut expr = Expr::default();
    let x = expr.input(0, DType::F32, &[Size::dim(0), Size::dim(0)]);
    let lower = expr.linalg(Linalg::Cholesky, &[x]);
    for found in results(&expr, &[lower], std::slice::from_ref(&a), &[N as u32], true) {
        let lower = Matrix::of(N, found[0].data.clone());
        lower.times(&lower.turned()).is_near(&Matrix::of(N, a.clone()), "a matrix whose size a run tells");
    }
}

#[test]
fn what_takes_a_workgroup_too_long_is_refused() {
    // Of a size that a run tells there are no blocks.
    for (kind, n, size) in
        [(Linalg::Eigh, Size::dim(0), 1100), (Linalg::Qr, Size::dim(0), 2100), (Linalg::Eigh, Size::constant(2100), 1)]
    {
        let mut expr = Expr::default();
        let a = expr.input(0, DType::F32, &[n.clone(), n]);
        let result = expr.linalg(kind, &[a]);
        let recipe = Recipe { expr, dims: vec![size], results: vec![result], assignments: Vec::new() };
        let plan = Plan::new(&recipe, &GPU).expect("a recipe that plans");
        let written = plan.kernels.iter().map(|kernel| wgsl::write(kernel, &wgsl::DeviceLimits::default()));
        let error = written.filter_map(|text| text.err()).next().expect("a long kernel");
        assert_eq!(error.code, residua_base::error::ErrorCode::LimitExceeded, "{error}");
    }
}

#[test]
fn kernels_of_large_matrices_have_no_more_buffers_than_a_device() {
    let mut expr = Expr::default();
    let (a, b) = (input(&mut expr, 0, &[1024, 1024]), input(&mut expr, 1, &[1024, 2]));
    let lower = expr.linalg(Linalg::Cholesky, &[a]);
    let factors = expr.linalg(Linalg::Lu, &[a]);
    let solution = expr.linalg(Linalg::TriangularSolve, &[lower, b]);
    let all = [Linalg::Qr, Linalg::Eigh, Linalg::Svd].map(|kind| expr.linalg(kind, &[a]));
    let all = [&[lower, factors, solution], &all[..]].concat();
    let recipe = Recipe { expr, dims: Vec::new(), results: all, assignments: Vec::new() };
    let plan = Plan::new(&recipe, &GPU).expect("a recipe that plans");
    let limits = wgsl::DeviceLimits { storage_buffers: GPU.most_buffers, ..wgsl::DeviceLimits::default() };
    for kernel in &plan.kernels {
        let text = wgsl::write(kernel, &limits).expect("no more buffers than the device has");
        residua_portable::validated(&text.text);
    }
}
