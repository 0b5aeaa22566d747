//! Products of sparse matrices as kernels can do them: sums of the terms of each row. On a device a few threads have a row, so that a long row would keep
//! all others waiting: it is cut into pieces, whose sums are taken before, side by side. Each sum has one order;
//! its terms are those of a product, whose sums are not compensated.

use super::sort::Where;
use crate::dtype::DType;
use crate::expr::{Elementwise as E, Expr, TensorId};
use crate::size::Size;

/// Entries of a piece.
const PIECE: i64 = 256;
/// Entries of the longest row that is not cut.
const LONGEST: i64 = 512;

/// A sparse product of its operands.
pub fn product(expr: &mut Expr, operands: &[TensorId], on: Where) -> TensorId {
    let terms = expr.sparse_terms(operands);
    let offsets = operands[0];
    let rows = &expr.shape(offsets)[0] - &Size::constant(1);
    let [begin, end] =
        [0, 1].map(|first| expr.slice(offsets, vec![Size::constant(first)], vec![1], vec![rows.clone()]));
    let most = expr.shape(operands[1])[0].at(on.most_dims);
    if on.target.is_host || most <= LONGEST {
        // One thread has a row, however long it is, and compensation costs nothing beside reads of single numbers.
        let is_compensated = on.target.is_host && expr.shape(terms).len() == 1;
        return expr.range_sum(is_compensated, &[[terms, begin, end]]);
    }
    let number = |expr: &mut Expr, number: i64| expr.constant(number as f64, DType::U32);
    let (piece, longest, zero) = (number(expr, PIECE), number(expr, LONGEST), number(expr, 0));
    // The pieces of a row stand at places from its first entry divided by the length of a piece on: those of other rows begin after them.
    let cut = |expr: &mut Expr, begin: TensorId, end: TensorId| {
        let length = expr.elementwise(E::Sub, &[end, begin]);
        let is_long = expr.elementwise(E::Gt, &[length, longest]);
        let pieces = expr.elementwise(E::Div, &[length, piece]);
        let first = expr.elementwise(E::Div, &[begin, piece]);
        [first, expr.elementwise(E::Select, &[is_long, pieces, zero])]
    };
    let places = expr.iota(0, DType::U32, &[Size::constant(most / PIECE)]);
    let start = expr.elementwise(E::Mul, &[places, piece]);
    let after = expr.elementwise(E::Add, &[start, piece]);
    // The row of the last entry before the next place is the one that may have this.
    let one = number(expr, 1);
    let last = expr.elementwise(E::Sub, &[after, one]);
    let row = expr.gather(operands[4], last, 0);
    let [of_begin, of_end] = [begin, end].map(|of| expr.gather(of, row, 0));
    let [first, pieces] = cut(expr, of_begin, of_end);
    let within = expr.elementwise(E::Sub, &[places, first]);
    let is_piece = expr.elementwise(E::Lt, &[within, pieces]);
    let along = expr.elementwise(E::Mul, &[within, piece]);
    let from = expr.elementwise(E::Add, &[of_begin, along]);
    let to = expr.elementwise(E::Add, &[from, piece]);
    let to = expr.elementwise(E::Select, &[is_piece, to, from]);
    let sums = expr.range_sum(false, &[[terms, from, to]]);
    let [first, pieces] = cut(expr, begin, end);
    let last = expr.elementwise(E::Add, &[first, pieces]);
    let along = expr.elementwise(E::Mul, &[pieces, piece]);
    let rest = expr.elementwise(E::Add, &[begin, along]);
    expr.range_sum(false, &[[terms, rest, end], [sums, first, last]])
}
