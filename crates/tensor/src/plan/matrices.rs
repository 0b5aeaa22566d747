//! Parts of matrices of batches, the last two axes of tensors.

use crate::dtype::DType;
use crate::expr::{Elementwise as E, Expr, TensorId};
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
