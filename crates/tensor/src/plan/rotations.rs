//! Eigenvalues and singular values of large matrices on a device: rotations in rounds over blocks of columns ([`crate::kernel::Turns`]), and what stands
//! around them.
//!
//! A matrix is divided by a power of 2, so that its elements are below 2, and has columns of zeros after its own, or of an eigenvalue below all others, so that
//! blocks are whole: these are turned with no other column.

use super::matrices::{block, identity, size_of};
use super::sort::{self, Where};
use crate::dtype::DType;
use crate::expr::{Elementwise as E, Expr, Linalg, Reduction, TensorId};
use crate::kernel::Turns;
use crate::size::Size;

/// A matrix as rotations take it.
struct State {
    /// Whether all elements are finite and rounds have ended.
    is_whole: TensorId,
    /// What eigenvalues and singular values are multiplied by.
    scale: TensorId,
    /// After the last round.
    turned: TensorId,
    rows: i64,
    columns: i64,
    /// Columns of the state.
    width: i64,
}

/// Eigenvectors and below them eigenvalues in ascending order, as [`Linalg::Eigh`] has them.
pub fn eigen(expr: &mut Expr, a: TensorId, on: Where) -> TensorId {
    let state = rotated(expr, a, Linalg::Diagonal);
    let State { rows, columns, width, turned, .. } = state;
    let square = block(expr, turned, [0, 0], [rows, columns]);
    let values = expr.diagonal(square);
    let vectors = block(expr, turned, [width, 0], [columns, columns]);
    // The bits of negative numbers fall where these rise.
    let bits = expr.bitcast(values, DType::U32);
    let (sign, zero) = (expr.constant(f64::from(1_u32 << 31), DType::U32), expr.constant(0.0, DType::F32));
    let is_negative = expr.elementwise(E::Lt, &[values, zero]);
    let (fallen, risen) = (expr.elementwise(E::Not, &[bits]), expr.elementwise(E::Or, &[bits, sign]));
    let keys = expr.elementwise(E::Select, &[is_negative, fallen, risen]);
    let values = expr.elementwise(E::Mul, &[values, state.scale]);
    let [vectors, values] = ordered(expr, keys, [vectors, values], on);
    let axis = expr.shape(a).len() - 2;
    let whole = [&expr.shape(a)[..axis], &[2 * rows, columns].map(Size::constant)].concat();
    let result = expr.concat(&[vectors, values], axis as u32);
    let result = expr.pad_with_zeros(result, vec![Size::constant(0); axis + 2], &whole);
    where_whole(expr, state.is_whole, result)
}

/// Left vectors times singular values, below them right vectors, and the values in descending order, as [`Linalg::Rotations`] has them.
pub fn orthogonal(expr: &mut Expr, a: TensorId, on: Where) -> TensorId {
    let state = rotated(expr, a, Linalg::Orthogonal);
    let State { rows, columns, turned, .. } = state;
    let left = block(expr, turned, [0, 0], [rows, columns]);
    let right = block(expr, turned, [rows, 0], [columns, columns]);
    let axis = expr.shape(a).len() as u32 - 2;
    let squares = expr.elementwise(E::Mul, &[left, left]);
    let squares = expr.reduce_keeping(Reduction::Sum, squares, &[axis]);
    let values = expr.elementwise(E::Sqrt, &[squares]);
    let bits = expr.bitcast(values, DType::U32);
    let keys = expr.elementwise(E::Not, &[bits]);
    let values = expr.elementwise(E::Mul, &[values, state.scale]);
    let both = expr.concat(&[left, right], axis);
    let [vectors, values] = ordered(expr, keys, [both, values], on);
    let result = expr.concat(&[vectors, values], axis);
    where_whole(expr, state.is_whole, result)
}

/// A matrix turned until rotations of it change nothing.
fn rotated(expr: &mut Expr, a: TensorId, kind: Linalg) -> State {
    let shape = expr.shape(a).to_vec();
    let axis = shape.len() - 2;
    let (rows, columns) = (shape[axis].known().unwrap_or_default(), size_of(expr, a));
    let pair = i64::from(Turns::PAIR);
    let width = (columns + pair - 1).div_euclid(pair) * pair;
    let height = if kind == Linalg::Diagonal { width } else { rows };
    let sizes = expr.elementwise(E::Abs, &[a]);
    let largest = expr.reduce_keeping(Reduction::Max, sizes, &[axis as u32, axis as u32 + 1]);
    let is_whole = expr.elementwise(E::IsFinite, &[largest]);
    // The power of 2 below it, so that products by it and by its inverse are exact.
    let bits = expr.bitcast(largest, DType::U32);
    let [exponent, least, most, twice] =
        [0xff, 1, 253, 254].map(|of: u32| expr.constant(f64::from(of << 23), DType::U32));
    let bits = expr.elementwise(E::And, &[bits, exponent]);
    let bits = expr.elementwise(E::Maximum, &[bits, least]);
    let bits = expr.elementwise(E::Minimum, &[bits, most]);
    let scale = expr.bitcast(bits, DType::F32);
    let inverse = expr.elementwise(E::Sub, &[twice, bits]);
    let inverse = expr.bitcast(inverse, DType::F32);
    let matrix = expr.elementwise(E::Mul, &[a, inverse]);
    let of = |rows: i64| [&shape[..axis], &[rows, width].map(Size::constant)].concat();
    let matrix = expr.pad_with_zeros(matrix, vec![Size::constant(0); axis + 2], &of(height));
    let right = identity(expr, &of(width));
    let matrix = match kind {
        // Columns behind those of A stay there, since eigenvalues are put in descending order.
        Linalg::Diagonal if columns < width => {
            let column = expr.iota(1, DType::I32, &[width, width].map(Size::constant));
            let own = expr.constant(columns as f64, DType::I32);
            let is_own = expr.elementwise(E::Lt, &[column, own]);
            let behind = expr.constant(Turns::BEHIND, DType::F32);
            let diagonal = expr.elementwise(E::Mul, &[right, behind]);
            expr.elementwise(E::Select, &[is_own, matrix, diagonal])
        }
        _ => matrix,
    };
    let rounds = expr.full(0.0, DType::F32, &of(1));
    let start = expr.concat(&[matrix, right, rounds], axis as u32);
    let turned = expr.linalg(kind, &[start]);
    // Where the last round turned, too, more are needed.
    let over = block(expr, turned, [height + width, 0], [1, 1]);
    let most = expr.constant(Turns::most_rounds(width as u64) as f64, DType::F32);
    let has_ended = expr.elementwise(E::Lt, &[over, most]);
    let is_whole = expr.elementwise(E::And, &[is_whole, has_ended]);
    State { is_whole, scale, turned, rows, columns, width }
}

/// Columns of matrices and of a row in the order of keys, [..., 1, n].
fn ordered(expr: &mut Expr, keys: TensorId, of: [TensorId; 2], on: Where) -> [TensorId; 2] {
    let shape = expr.shape(keys).to_vec();
    let places = sort::argsort(expr, keys, 32, &shape, on);
    of.map(|x| {
        let shape = expr.shape(x).to_vec();
        let places = expr.expand(places, &shape);
        expr.gather_elements(x, places, shape.len() as u32 - 1)
    })
}

/// A result where something holds, else NaN everywhere.
fn where_whole(expr: &mut Expr, is_whole: TensorId, x: TensorId) -> TensorId {
    let nan = expr.constant(f64::NAN, DType::F32);
    expr.elementwise(E::Select, &[is_whole, x, nan])
}
