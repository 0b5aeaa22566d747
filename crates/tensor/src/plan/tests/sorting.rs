//! Sorts of rows, whole and of the smallest keys, short and long.

use super::*;

/// Keys in the order of reals, as the facade makes them but for NaN.
fn keys_of(expr: &mut Expr, x: TensorId) -> TensorId {
    let shape = expr.shape(x).to_vec();
    let op = TensorOp::Elementwise(E::Bitcast);
    let bits = expr.push(Tensor { op, operands: vec![x], dtype: DType::U32, shape });
    let sign = expr.constant(f64::from(1u32 << 31), DType::U32);
    let falling = expr.elementwise(E::Not, &[bits]);
    let rising = expr.elementwise(E::Or, &[bits, sign]);
    let is_negative = expr.elementwise(E::Gt, &[bits, sign]);
    expr.elementwise(E::Select, &[is_negative, falling, rising])
}

/// The places of the smallest keys of rows, and the numbers that stand there.
fn smallest(expr: &mut Expr, x: TensorId, kept: Size) -> [TensorId; 2] {
    let keys = keys_of(expr, x);
    let mut shape = expr.shape(x).to_vec();
    let axis = shape.len() - 1;
    shape[axis] = kept;
    let places =
        expr.push(Tensor { op: TensorOp::Argsort { bits: 32 }, operands: vec![keys], dtype: DType::I32, shape });
    [places, expr.gather_elements(x, places, axis as u32)]
}

/// Numbers of which many are equal, with zeros of both signs and infinities.
fn with_equals(count: usize) -> Vec<f64> {
    let special = [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, 1.5];
    (0..count as u64)
        .map(|k| match k.wrapping_mul(2_654_435_761) >> 7 {
            mixed if mixed % 11 == 0 => special[(mixed / 11 % 5) as usize],
            mixed => (mixed % 301) as f64 / 16.0 - 9.0,
        })
        .collect()
}

fn sorted_rows(rows: i64, length: i64, kept: i64) -> Plan {
    let mut expr = Expr::default();
    let x = expr.input(0, DType::F32, &shape(&[rows, length]));
    let results = smallest(&mut expr, x, size(kept));
    check(expr, &results, &[with_equals((rows * length) as usize)], &[])
}

#[test]
fn short_rows_are_sorted_with_their_numbers_by_one_kernel() {
    for length in [0, 1, 2, 3, 64, 65, 300, 2047, 2048] {
        for kept in [length, length.min(7)] {
            let plan = sorted_rows(3, length, kept);
            assert_eq!(plan.steps.len(), 1, "{kept} of {length}: {plan}");
        }
    }
}

#[test]
fn few_of_long_rows_take_a_kernel_for_each_cut() {
    for (length, kept, kernels) in [(2049, 40, 2), (5000, 1, 2), (5000, 700, 3)] {
        let plan = sorted_rows(2, length, kept);
        assert_eq!(plan.steps.len(), kernels, "{plan}");
    }
}

#[test]
fn long_rows_take_three_kernels_for_each_digit() {
    for (rows, length) in [(1, 2049), (2, 5000)] {
        let plan = sorted_rows(rows, length, length);
        assert_eq!(plan.steps.len(), 12, "{plan}");
    }
}

#[test]
fn narrow_keys_take_few_passes() {
    let mut expr = Expr::default();
    let keys = expr.input(0, DType::U8, &shape(&[6000]));
    let words = expr.cast(keys, DType::U32);
    let op = TensorOp::Argsort { bits: 8 };
    let places = expr.push(Tensor { op, operands: vec![words], dtype: DType::I32, shape: shape(&[6000]) });
    let plan = check(expr, &[places], &[(0..6000).map(|k| f64::from(k * 37 % 251)).collect()], &[]);
    assert_eq!(plan.steps.len(), 3, "{plan}");
}

#[test]
fn rows_may_have_other_lengths_at_each_run() {
    for length in [0, 1, 5, 2044, 2047, 3000] {
        let mut expr = Expr::default();
        let x = expr.input(0, DType::F32, &[size(2), Size::dim(0)]);
        let mut results = smallest(&mut expr, x, Size::dim(0)).to_vec();
        if length > 2 {
            results.extend(smallest(&mut expr, x, size(3)));
        }
        check(expr, &results, &[with_equals(2 * length as usize)], &[length]);
    }
}

#[test]
fn rows_of_two_axes_are_read_where_they_are() {
    let mut expr = Expr::default();
    let x = expr.input(0, DType::F32, &shape(&[3, 50, 4]));
    let moved = expr.permute(x, &[0, 2, 1]);
    let [places, values] = smallest(&mut expr, moved, size(5));
    let back = expr.permute(values, &[0, 2, 1]);
    check(expr, &[places, back], &[with_equals(600)], &[]);
}

#[test]
fn packed_numbers_are_taken_from_their_places() {
    let mut expr = Expr::default();
    let x = expr.input(0, DType::F16, &shape(&[2, 90]));
    let wide = expr.cast(x, DType::F32);
    let [places, _] = smallest(&mut expr, wide, size(9));
    let values = expr.gather_elements(x, places, 1);
    check(expr, &[values, places], &[(0..180).map(|k| f64::from(k * 29 % 64)).collect()], &[]);
}

#[test]
fn large_scatters_sort_the_places() {
    const COUNT: i64 = 11_000;
    let mut expr = Expr::default();
    let base = expr.input(0, DType::F32, &shape(&[COUNT]));
    let indices = expr.input(1, DType::I32, &shape(&[COUNT]));
    let source = expr.input(2, DType::F32, &shape(&[COUNT]));
    let put = expr.index_put(base, indices, source, 0, Combine::Add);
    let places = (0..COUNT).map(|k| (k * 77 % (COUNT + 9)) as f64).collect();
    // Sums of integers are exact in any order.
    let source = (0..COUNT).map(|k| (k % 9) as f64).collect();
    let plan = check(expr, &[put], &[vec![1.0; COUNT as usize], places, source], &[]);
    let digits = names(&plan).iter().filter(|name| name.starts_with("digits")).count();
    assert_eq!(digits, 2, "places of 14 bits have two digits: {plan}");
}
