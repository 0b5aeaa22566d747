//! Sorting as scans and permutations: a radix sort of one bit a pass, which is stable and needs no atomic operations.
//!
//! A pass puts the keys whose bit is 0 before those whose bit is 1. The place of a key is the number of zeros before it, or, after all zeros,
//! the number of ones before it.

use crate::dtype::DType;
use crate::expr::{Elementwise, Expr, Op, Reduction, Tensor, TensorId};
use crate::size::Size;

/// The places of the smallest keys of each row in ascending order, in a shape whose last axis says how many.
pub fn argsort(expr: &mut Expr, keys: TensorId, bits: u32, shape: &[Size], most_dims: &[u32]) -> TensorId {
    let of = expr.shape(keys).to_vec();
    let (length, kept) = (of[of.len() - 1].clone(), shape[shape.len() - 1].clone());
    let rows = Size::product(&of[..of.len() - 1]);
    let flat = expr.reshape(keys, &[Size::product(&of)]);
    let (_, mut places) = sorted(expr, flat, bits);
    let row_length = expr.extent(&length, DType::U32);
    if !rows.is(1) {
        // Rows are sorted by their numbers, and the keys of a row keep their order.
        let row = expr.elementwise(Elementwise::Div, &[places, row_length]);
        let most = rows.at(most_dims).max(1) as u64 - 1;
        let (_, of_rows) = sorted(expr, row, 64 - most.leading_zeros());
        places = expr.gather(places, of_rows, 0);
        places = expr.elementwise(Elementwise::Mod, &[places, row_length]);
    }
    let places = expr.cast(places, DType::I32);
    let places = expr.reshape(places, &[rows.clone(), length]);
    let first = expr.slice(places, vec![Size::constant(0); 2], vec![1; 2], vec![rows, kept]);
    expr.reshape(first, shape)
}

/// The vector in ascending order of its low bits, and the places where its elements were, as u32.
pub fn sorted(expr: &mut Expr, keys: TensorId, bits: u32) -> (TensorId, TensorId) {
    let shape = expr.shape(keys).to_vec();
    let one = expr.constant(1.0, DType::U32);
    let own = expr.iota(0, DType::U32, &shape);
    let count = expr.extent(&shape[0], DType::U32);
    let (mut keys, mut places) = (keys, own);
    for bit in 0..bits {
        let shift = expr.constant(f64::from(bit), DType::U32);
        let shifted = expr.elementwise(Elementwise::Shr, &[keys, shift]);
        let bit = expr.elementwise(Elementwise::And, &[shifted, one]);
        let ones = expr.scan(bit, Reduction::Sum, 0, true, false);
        // All ones: those before the last element and its own.
        let all = expr.reduce(Reduction::Sum, bit, &[0]);
        let zeros = expr.elementwise(Elementwise::Sub, &[count, all]);
        let of_one = expr.elementwise(Elementwise::Add, &[ones, zeros]);
        let of_zero = expr.elementwise(Elementwise::Sub, &[own, ones]);
        let is_one = expr.elementwise(Elementwise::Eq, &[bit, one]);
        let to = expr.elementwise(Elementwise::Select, &[is_one, of_one, of_zero]);
        let mut moved = |x: TensorId| {
            let dtype = expr.dtype(x);
            expr.push(Tensor { op: Op::Place, operands: vec![x, to], dtype, shape: shape.clone() })
        };
        (keys, places) = (moved(keys), moved(places));
    }
    (keys, places)
}

#[cfg(test)]
#[cfg(not(target_arch = "wasm32"))]
mod tests {
    use super::*;
    use crate::expr::evaluate;

    #[test]
    fn equal_keys_keep_their_order() {
        let mut expr = Expr::default();
        let keys = expr.input(0, DType::U32, &[Size::constant(9)]);
        let places = argsort(&mut expr, keys, 3, &[Size::constant(9)], &[]);
        expr.check().unwrap();
        let values = evaluate(&expr, &[], &[vec![5.0, 1.0, 7.0, 1.0, 0.0, 5.0, 5.0, 2.0, 7.0]]);
        assert_eq!(values[places.0 as usize].data, [4.0, 1.0, 3.0, 7.0, 0.0, 5.0, 6.0, 2.0, 8.0]);
    }
}
