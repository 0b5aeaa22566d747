//! The order of rows of keys as kernels can find it.
//!
//! On the host a loop sorts rows of any length. On a device a workgroup sorts a row of at most [`Sort::LONGEST`] keys. Of a longer row few of the
//! smallest keys are those of its blocks, again sorted; a whole one is sorted digit by digit, the lowest first: each pass counts the digits of
//! blocks, sums the counts, and moves keys and their places. All of it is stable, so that results do not depend on how rows are cut.

use crate::dtype::DType;
use crate::expr::{Border, Digit, Elementwise, Expr, Reduction, Tensor, TensorId, TensorOp};
use crate::fuse::Target;
use crate::kernel::Sort;
use crate::size::Size;
use residua_base::list::Listed;

/// Most of the smallest keys that are found by way of blocks.
const MOST_OF_BLOCKS: i64 = 1024;
/// How many keys a block has, and how many are sorted by one kernel at last, for so many kept ones. Kernels that sort blocks take as long as one
/// block however many there are: 10 µs for 512 keys on an NVIDIA H200, 24 µs for 2,048.
const fn block_of(kept: i64) -> (u32, i64) {
    if kept <= 128 { (512, 1024) } else { (Sort::LONGEST, Sort::LONGEST as i64) }
}
/// Kernels of a pass over a digit.
const KERNELS_OF_A_PASS: u32 = 3;

/// Where a sort runs.
#[derive(Clone, Copy)]
pub struct Where<'a> {
    /// On what.
    pub target: &'a Target,
    /// The largest value of each dim.
    pub most_dims: &'a [u32],
}

/// The places of the smallest keys of each row in ascending order, as i32, in a shape whose last axis says how many. Keys differ in their low
/// `bits` alone.
pub fn argsort(expr: &mut Expr, keys: TensorId, bits: u32, shape: &[Size], on: Where) -> TensorId {
    let of = expr.shape(keys).to_vec();
    let (length, kept) = (&of[of.len() - 1], &shape[shape.len() - 1]);
    let most = length.at(on.most_dims);
    if on.target.is_host || most <= i64::from(Sort::LONGEST) {
        return rows(expr, keys, bits, kept);
    }
    let kernels = KERNELS_OF_A_PASS * bits.div_ceil(Digit::BITS);
    if let Some(kept) = kept.known().filter(|kept| *kept <= MOST_OF_BLOCKS)
        && levels(most, kept) <= kernels
    {
        return of_blocks(expr, keys, most, kept);
    }
    let flat = [Size::product(&of[..of.len() - 1]), length.clone()];
    let keys = expr.reshape(keys, &flat);
    let (_, places) = by_digits(expr, keys, bits, most);
    let places = expr.cast(places, DType::I32);
    let first = vec![flat[0].clone(), kept.clone()];
    let places =
        if *kept == flat[1] { places } else { expr.slice(places, vec![Size::constant(0); 2], vec![1; 2], first) };
    expr.reshape(places, shape)
}

/// A vector of keys in ascending order, and the places where they were, as u32. Keys differ in their low `bits` alone.
pub fn sorted(expr: &mut Expr, keys: TensorId, bits: u32, on: Where) -> (TensorId, TensorId) {
    let shape = expr.shape(keys).to_vec();
    let most = shape[0].at(on.most_dims);
    if on.target.is_host || most <= i64::from(Sort::LONGEST) {
        let places = rows(expr, keys, bits, &shape[0]);
        let places = expr.cast(places, DType::U32);
        return (expr.gather_elements(keys, places, 0), places);
    }
    let row = expr.reshape(keys, &[Size::constant(1), shape[0].clone()]);
    let (keys, places) = by_digits(expr, row, bits, most);
    (expr.reshape(keys, &shape), expr.reshape(places, &shape))
}

/// The order of rows that one kernel sorts.
fn rows(expr: &mut Expr, keys: TensorId, bits: u32, kept: &Size) -> TensorId {
    let mut shape = expr.shape(keys).to_vec();
    let last = shape.len() - 1;
    shape[last] = kept.clone();
    expr.push(Tensor { op: TensorOp::Argsort { bits }, operands: vec![keys], dtype: DType::I32, shape })
}

/// How often rows are cut into blocks until the smallest of all blocks are a row that one kernel sorts; at least 1,000 if they never are.
fn levels(mut length: i64, kept: i64) -> u32 {
    let (block, last) = block_of(kept);
    let block = i64::from(block);
    let mut levels = 1;
    while length > last && levels < 1000 {
        length = (length + block - 1).div_euclid(block) * kept;
        levels += 1;
    }
    levels
}

/// The places of the smallest keys: the smallest of the smallest of blocks. Keys of one block stand before those of the next, so that equal ones
/// keep their order.
fn of_blocks(expr: &mut Expr, mut keys: TensorId, mut most: i64, kept: i64) -> TensorId {
    let (step, last_length) = block_of(kept);
    let size = i64::from(step);
    let axis = expr.shape(keys).len() - 1;
    let outer = expr.shape(keys)[..axis].to_vec();
    let row = |last: &[i64]| -> Vec<Size> {
        outer.iter().cloned().chain(last.iter().map(|extent| Size::constant(*extent))).list()
    };
    // Where the keys were before they were cut.
    let mut origin: Option<TensorId> = None;
    while most > last_length {
        let blocks = (most + size - 1).div_euclid(size);
        let mut cut = |x: TensorId, number: f64| {
            let dtype = expr.dtype(x);
            let padded = row(&[blocks * size]);
            let mut whole = x;
            if expr.shape(x) != padded {
                // What is added is not smaller than any key and stands behind it.
                let number = expr.constant(number, dtype);
                let op = TensorOp::Pad { before: vec![Size::constant(0); axis + 1], border: Border::Constant };
                whole = expr.push(Tensor { op, operands: vec![x, number], dtype, shape: padded });
            }
            let op = TensorOp::Windows { axis: axis as u32, step, dilation: 1 };
            expr.push(Tensor { op, operands: vec![whole], dtype, shape: row(&[blocks, size]) })
        };
        let of_keys = cut(keys, f64::from(u32::MAX));
        let of_origin = origin.map(|origin| cut(origin, 0.0));
        let own = rows(expr, of_keys, 32, &Size::constant(kept));
        let last = axis as u32 + 1;
        let chosen = expr.gather_elements(of_keys, own, last);
        let places = match of_origin {
            Some(of_origin) => expr.gather_elements(of_origin, own, last),
            None => {
                let block = expr.iota(axis as u32, DType::I32, &row(&[blocks, kept]));
                let length = expr.constant(size as f64, DType::I32);
                let start = expr.elementwise(Elementwise::Mul, &[block, length]);
                expr.elementwise(Elementwise::Add, &[start, own])
            }
        };
        most = blocks * kept;
        keys = expr.reshape(chosen, &row(&[most]));
        origin = Some(expr.reshape(places, &row(&[most])));
    }
    let places = rows(expr, keys, 32, &Size::constant(kept));
    match origin {
        Some(origin) => expr.gather_elements(origin, places, axis as u32),
        None => places,
    }
}

/// Rows of keys in ascending order, and the places where they were, as u32: a pass for each digit.
fn by_digits(expr: &mut Expr, mut keys: TensorId, bits: u32, most: i64) -> (TensorId, TensorId) {
    let shape = expr.shape(keys).to_vec();
    let blocks = (most + i64::from(Digit::BLOCK) - 1).div_euclid(i64::from(Digit::BLOCK)).max(1);
    let of_counts = vec![shape[0].clone(), Size::constant(Digit::VALUES.into()), Size::constant(blocks)];
    let mut places = None;
    for shift in (0..bits.max(1)).step_by(Digit::BITS as usize) {
        let digit = Digit { shift };
        let counts = expr.push(Tensor {
            op: TensorOp::DigitCounts(digit),
            operands: vec![keys],
            dtype: DType::U32,
            shape: of_counts.clone(),
        });
        let sums = expr.scan(counts, Reduction::Sum, 2, false, false);
        let moved = expr.push(Tensor {
            op: TensorOp::DigitSort(digit),
            operands: vec![keys, sums],
            dtype: DType::U32,
            shape: shape.clone(),
        });
        keys = expr.gather_elements(keys, moved, 1);
        places = Some(match places {
            None => moved,
            Some(places) => expr.gather_elements(places, moved, 1),
        });
    }
    (keys, places.unwrap_or(keys))
}

#[cfg(test)]
#[cfg(not(target_arch = "wasm32"))]
mod tests {
    use super::*;
    use crate::expr::evaluate;

    fn plans(length: usize) -> Vec<(Expr, TensorId, TensorId)> {
        let size = |extents: &[i64]| -> Vec<Size> { extents.iter().map(|extent| Size::constant(*extent)).collect() };
        let mut found = Vec::new();
        for kept in [1, 40, length as i64] {
            for is_host in [false, true] {
                let mut expr = Expr::default();
                let keys = expr.input(0, DType::U32, &size(&[3, length as i64]));
                let op = TensorOp::Argsort { bits: 12 };
                let shape = size(&[3, kept]);
                let whole = expr.push(Tensor { op, operands: vec![keys], dtype: DType::I32, shape: shape.clone() });
                let target = Target { is_host, most_buffers: 8 };
                let places = argsort(&mut expr, keys, 12, &shape, Where { target: &target, most_dims: &[] });
                expr.check().unwrap();
                found.push((expr, whole, places));
            }
        }
        found
    }

    #[test]
    fn rows_that_are_cut_are_sorted_as_whole_ones() {
        for length in [2049, 5000] {
            // Few different keys, so that many are equal.
            let keys: Vec<f64> = (0..3 * length as u64).map(|k| (k * 2_654_435_761 % 4096 / 7) as f64).collect();
            for (expr, whole, places) in plans(length) {
                let values = evaluate(&expr, &[], std::slice::from_ref(&keys));
                assert_eq!(values[places.0 as usize], values[whole.0 as usize]);
            }
        }
    }

    #[test]
    fn few_of_a_long_row_take_few_cuts() {
        assert_eq!([levels(32_000, 40), levels(131_072, 40), levels(131_072, 1024)], [3, 3, 7]);
        assert_eq!(levels(100_000, 2048), 1000);
    }
}
