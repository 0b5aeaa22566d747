//! Parts of matrices of batches, the last two axes of tensors.

use crate::dtype::DType;
use crate::expr::{Elementwise as E, Expr, Reduction, Tensor, TensorId};
use crate::size::Size;

/// Columns of matrices; 0 where only a run tells.
pub fn size_of(expr: &Expr, a: TensorId) -> i64 {
    expr.shape(a).last().and_then(|size| size.known()).unwrap_or_default()
}

/// Some rows and columns of each matrix of a batch.
pub fn block(expr: &mut Expr, x: TensorId, [row, column]: [i64; 2], [rows, columns]: [i64; 2]) -> TensorId {
    let mut shape = expr.shape(x).to_vec();
    let axis = shape.len() - 2;
    let mut starts = vec![Size::constant(0); shape.len()];
    (starts[axis], starts[axis + 1]) = (Size::constant(row), Size::constant(column));
    (shape[axis], shape[axis + 1]) = (Size::constant(rows), Size::constant(columns));
    let steps = vec![1; shape.len()];
    expr.slice(x, starts, steps, shape)
}

/// Some rows of each matrix of a batch.
pub fn part(expr: &mut Expr, x: TensorId, from: &Size, count: &Size) -> TensorId {
    let mut shape = expr.shape(x).to_vec();
    let axis = shape.len() - 2;
    let mut starts = vec![Size::constant(0); shape.len()];
    starts[axis] = from.clone();
    shape[axis] = count.clone();
    let steps = vec![1; shape.len()];
    expr.slice(x, starts, steps, shape)
}

/// The rows and the columns of the elements of matrices of a shape.
pub fn places(expr: &mut Expr, shape: &[Size]) -> [TensorId; 2] {
    let matrix = &shape[shape.len() - 2..];
    [0, 1].map(|axis| expr.iota(axis, DType::I32, matrix))
}

/// Columns of an identity: the first ones of as many rows as there are.
pub fn identity(expr: &mut Expr, shape: &[Size]) -> TensorId {
    let places = places(expr, shape);
    let is_diagonal = expr.elementwise(E::Eq, &places);
    let (zero, one) = (expr.constant(0.0, DType::F32), expr.constant(1.0, DType::F32));
    let identity = expr.elementwise(E::Select, &[is_diagonal, one, zero]);
    expr.expand(identity, shape)
}

/// A product has a thread for each element where it has few rows or columns of few terms, or both are few and so are its multiplications: a workgroup for
/// each matrix, or for some of its rows, would have few threads at work.
const FEW_ROWS: i64 = 8;
const FEW_TERMS: i64 = 16;
const SMALL: i64 = 16;
const FEW_MULTIPLICATIONS: i64 = 4096;
/// Elements from which on it pays.
const MANY: i64 = 1024;

/// A product as sums of products, where it has many elements of so small matrices; else none.
pub fn small_product(expr: &mut Expr, tensor: &Tensor, operands: &[TensorId], most_dims: &[u32]) -> Option<TensorId> {
    let [left, right] = operands[..] else { return None };
    let rank = tensor.shape.len();
    let most = |size: &Size| size.at(most_dims);
    let [rows, columns] = [2, 1].map(|behind| most(&tensor.shape[rank - behind]));
    let depth = size_of(expr, left);
    let has_few_terms = rows.min(columns) <= FEW_ROWS && depth <= FEW_TERMS;
    let is_small = rows.max(columns) <= SMALL && rows * columns * depth <= FEW_MULTIPLICATIONS;
    let is_same = operands.iter().all(|operand| expr.tensor(*operand).dtype == tensor.dtype);
    let is_many = tensor.shape.iter().map(most).fold(1, i64::saturating_mul) >= MANY;
    if depth == 0 || !(has_few_terms || is_small) || !is_same || !is_many {
        return None;
    }
    let right = expr.transpose(right);
    let mut spread = |x: TensorId, behind: usize| {
        let mut shape = expr.shape(x).to_vec();
        shape.insert(shape.len() - behind, Size::constant(1));
        expr.reshape(x, &shape)
    };
    let [left, right] = [spread(left, 1), spread(right, 2)];
    let products = expr.elementwise(E::Mul, &[left, right]);
    Some(expr.reduce(Reduction::Sum, products, &[rank as u32]))
}
