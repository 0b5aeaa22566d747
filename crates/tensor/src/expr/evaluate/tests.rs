//! The meaning of operations at their corners.

use super::*;
use crate::expr::{Combine, Elementwise, Reduction};

const NAN: f64 = f64::NAN;
const INF: f64 = f64::INFINITY;

fn sizes(shape: &[i64]) -> Vec<Size> {
    shape.iter().map(|extent| Size::constant(*extent)).collect()
}

/// A graph over inputs, one of each given type and shape; the values of what `build` gives.
fn value(inputs: &[(DType, &[i64], &[f64])], build: impl FnOnce(&mut Expr, &[TensorId]) -> TensorId) -> Array {
    let mut expr = Expr::default();
    let ids: Vec<TensorId> = inputs
        .iter()
        .enumerate()
        .map(|(slot, (dtype, shape, _))| expr.input(slot as u32, *dtype, &sizes(shape)))
        .collect();
    let result = build(&mut expr, &ids);
    expr.check().unwrap();
    let contents: Vec<Vec<f64>> = inputs.iter().map(|(.., data)| data.to_vec()).collect();
    evaluate(&expr, &[], &contents)[result.0 as usize].clone()
}

/// Equal, NaN to NaN included and signs of zero kept.
fn assert_same(found: &[f64], expected: &[f64], what: &str) {
    let same = |(a, b): (&f64, &f64)| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
    assert!(
        found.len() == expected.len() && found.iter().zip(expected).all(same),
        "{what}: {found:?}, not {expected:?}"
    );
}

#[test]
fn elementwise_operations_have_their_values_at_the_corners() {
    use DType::*;
    use Elementwise::*;
    let (low, high, top) = (f64::from(i32::MIN), f64::from(i32::MAX), f64::from(u32::MAX));
    let table: &[(Elementwise, DType, &[f64], f64)] = &[
        (Neg, I32, &[low], low),
        (Neg, U32, &[1.0], top),
        (Neg, U8, &[1.0], 255.0),
        (Abs, I32, &[low], low),
        (Sign, I32, &[-7.0], -1.0),
        (Sign, U8, &[7.0], 1.0),
        (Sqrt, F32, &[-1.0], NAN),
        (Round, F32, &[2.5], 3.0),
        (Round, F32, &[-2.5], -2.0),
        (Round, F32, &[-0.5], -0.0),
        (Trunc, F32, &[-1.5], -1.0),
        (Expm1, F32, &[1e-20], 1e-20),
        (Log1p, F32, &[1e-20], 1e-20),
        (IsNan, F32, &[NAN], 1.0),
        (IsFinite, F32, &[INF], 0.0),
        (Not, Bool, &[1.0], 0.0),
        (Not, U8, &[1.0], 254.0),
        (Not, I32, &[0.0], -1.0),
        (VectorNorm, F32, &[9.0], 3.0),
        (InverseNorm, F32, &[0.0], 0.0),
        (Add, I32, &[high, 1.0], low),
        (Add, U8, &[255.0, 2.0], 1.0),
        (Sub, U32, &[0.0, 1.0], top),
        (Mul, U32, &[top, top], 1.0),
        (Mul, I32, &[65536.0, 32768.0], low),
        (Div, I32, &[-7.0, 2.0], -3.0),
        (Div, I32, &[7.0, 0.0], 0.0),
        (Div, I32, &[low, -1.0], low),
        (Div, F32, &[1.0, 0.0], INF),
        (Mod, I32, &[-7.0, 3.0], -1.0),
        (Mod, I32, &[7.0, 0.0], 0.0),
        (Mod, I32, &[low, -1.0], 0.0),
        (Mod, F32, &[-5.5, 2.0], -1.5),
        (FloorMod, I32, &[-7.0, 3.0], 2.0),
        (FloorMod, I32, &[7.0, -3.0], -2.0),
        (FloorMod, I32, &[7.0, 0.0], 0.0),
        (FloorMod, F32, &[-5.5, 2.0], 0.5),
        (Pow, I32, &[-3.0, 3.0], -27.0),
        (Pow, I32, &[-1.0, -3.0], -1.0),
        (Pow, I32, &[2.0, -1.0], 0.0),
        (Pow, I32, &[0.0, -1.0], 0.0),
        (Pow, U32, &[3.0, 21.0], 1_870_418_611.0), // 3²¹ − 2·2³²
        (Pow, F32, &[-2.0, 0.5], NAN),
        (Minimum, F32, &[NAN, 1.0], NAN),
        (Maximum, F32, &[1.0, NAN], NAN),
        (Maximum, I32, &[-1.0, 1.0], 1.0),
        (Eq, F32, &[NAN, NAN], 0.0),
        (Ne, F32, &[NAN, NAN], 1.0),
        (Le, F32, &[NAN, 1.0], 0.0),
        (Lt, Bool, &[0.0, 1.0], 1.0),
        (Gt, U32, &[top, 1.0], 1.0),
        (Xor, Bool, &[1.0, 1.0], 0.0),
        (And, I32, &[-1.0, 12.0], 12.0),
        (Or, U8, &[12.0, 3.0], 15.0),
        (Shl, U32, &[1.0, 33.0], 2.0),
        (Shl, I32, &[1.0, 31.0], low),
        (Shl, U8, &[129.0, 1.0], 2.0),
        (Shr, I32, &[-8.0, 1.0], -4.0),
        (Shr, U32, &[top, 31.0], 1.0),
        (GuardedMul, F32, &[0.0, NAN], 0.0),
    ];
    for (op, dtype, operands, expected) in table {
        let inputs: Vec<(DType, &[i64], &[f64])> =
            operands.chunks(1).map(|operand| (*dtype, &[][..], operand)).collect();
        let found = value(&inputs, |expr, ids| expr.elementwise(*op, ids));
        assert_same(&found.data, &[*expected], &format!("{}{operands:?} of {}", op.name(), dtype.name()));
    }
}

#[test]
fn casts_clamp_reals_and_keep_the_low_bits_of_integers() {
    use DType::*;
    let table: &[(DType, DType, f64, f64)] = &[
        (F32, I32, 3e9, f64::from(i32::MAX)),
        (F32, I32, -1.9, -1.0),
        (F32, I32, NAN, 0.0),
        (F32, U32, -1.0, 0.0),
        (F32, U32, 1e10, f64::from(u32::MAX)),
        (F32, U8, 300.0, 255.0),
        (F32, Bool, NAN, 1.0),
        (F32, Bool, -0.0, 0.0),
        (I32, U32, -1.0, f64::from(u32::MAX)),
        (U32, I32, f64::from(u32::MAX), -1.0),
        (I32, U8, 257.0, 1.0),
        (I32, Bool, -2.0, 1.0),
        (Bool, F32, 1.0, 1.0),
        (U8, F16, 200.0, 200.0),
    ];
    for (from, to, number, expected) in table {
        let found = value(&[(*from, &[], &[*number])], |expr, ids| expr.cast(ids[0], *to));
        assert_same(&found.data, &[*expected], &format!("{number} of {} as {}", from.name(), to.name()));
    }
    let bits = value(&[(F32, &[], &[1.0])], |expr, ids| {
        let op = TensorOp::Elementwise(Elementwise::Bitcast);
        expr.push(Tensor { op, operands: ids.to_vec(), dtype: DType::U32, shape: Vec::new() })
    });
    assert_same(&bits.data, &[f64::from(0x3f80_0000)], "the bits of 1");
}

#[test]
fn reductions_of_nothing_have_their_identities_and_a_nan_is_extreme() {
    use DType::*;
    use Reduction::*;
    let empty: &[(DType, Reduction, f64)] = &[
        (F32, Sum, 0.0),
        (F32, Prod, 1.0),
        (F32, Min, INF),
        (F32, Max, -INF),
        (I32, Min, f64::from(i32::MAX)),
        (U8, Max, 0.0),
        (U8, Min, 255.0),
        (Bool, Min, 1.0),
        (F32, Variance, NAN),
    ];
    for (dtype, reduction, expected) in empty {
        let found = value(&[(*dtype, &[0], &[])], |expr, ids| expr.reduce(*reduction, ids[0], &[0]));
        assert_same(&found.data, &[*expected], &format!("{reduction:?} of nothing of {}", dtype.name()));
    }
    let row: &[f64] = &[1.0, 3.0, NAN, 3.0, NAN];
    let table = [(ArgMin, 2.0), (ArgMax, 2.0), (Min, NAN), (Max, NAN)];
    for (reduction, expected) in table {
        let found = value(&[(F32, &[5], row)], |expr, ids| expr.reduce(reduction, ids[0], &[0]));
        assert_same(&found.data, &[expected], &format!("{reduction:?}"));
    }
    let matrix = value(&[(F32, &[2, 2, 2], &[0.0, 7.0, 1.0, 2.0, 7.0, 5.0, 7.0, 4.0])], |expr, ids| {
        expr.reduce(ArgMax, ids[0], &[0, 2])
    });
    assert_same(&matrix.data, &[1.0, 2.0], "positions within the reduced axes");
    let wrapped = value(&[(U8, &[3], &[200.0, 100.0, 2.0])], |expr, ids| expr.reduce(Sum, ids[0], &[0]));
    assert_same(&wrapped.data, &[46.0], "a sum of bytes");
}

#[test]
fn scans_go_both_ways_with_and_without_the_element() {
    let row: &[f64] = &[1.0, 2.0, 3.0];
    let table: [(bool, bool, &[f64]); 4] = [
        (false, false, &[1.0, 3.0, 6.0]),
        (true, false, &[0.0, 1.0, 3.0]),
        (false, true, &[6.0, 5.0, 3.0]),
        (true, true, &[5.0, 3.0, 0.0]),
    ];
    for (exclusive, reverse, expected) in table {
        let found =
            value(&[(DType::F32, &[3], row)], |expr, ids| expr.scan(ids[0], Reduction::Sum, 0, exclusive, reverse));
        assert_same(&found.data, expected, "a scan");
    }
}

#[test]
fn indices_count_from_the_end_where_negative_and_do_nothing_out_of_range() {
    let (x, indices): (&[f64], &[f64]) = (&[10.0, 20.0, 30.0], &[0.0, -1.0, 3.0, -4.0]);
    let inputs: [(DType, &[i64], &[f64]); 3] =
        [(DType::F32, &[3], x), (DType::I32, &[4], indices), (DType::F32, &[4], &[1.0, 2.0, 3.0, 4.0])];
    let found = value(&inputs, |expr, ids| expr.gather(ids[0], ids[1], 0));
    assert_same(&found.data, &[10.0, 30.0, 0.0, 0.0], "gather");
    let found = value(&inputs, |expr, ids| expr.gather_elements(ids[0], ids[1], 0));
    assert_same(&found.data, &[10.0, 30.0, 0.0, 0.0], "gather elements");
    let found = value(&inputs, |expr, ids| expr.scatter(ids[0], ids[1], ids[2], 0, Combine::Add));
    assert_same(&found.data, &[11.0, 20.0, 32.0], "scatter");
    let twice: [(DType, &[i64], &[f64]); 3] =
        [(DType::F32, &[3], x), (DType::U32, &[3], &[1.0, 1.0, 1.0]), (DType::F32, &[3], &[5.0, 7.0, 6.0])];
    let table =
        [(Combine::Set, 6.0), (Combine::Add, 38.0), (Combine::Mul, 4200.0), (Combine::Min, 5.0), (Combine::Max, 20.0)];
    for (how, expected) in table {
        let found = value(&twice, |expr, ids| expr.index_put(ids[0], ids[1], ids[2], 0, how));
        assert_same(&found.data, &[10.0, expected, 30.0], &format!("{how:?}"));
    }
}

#[test]
fn borders_repeat_what_they_say() {
    let table: [(Border, &[f64]); 3] = [
        (Border::Clamp, &[1.0, 1.0, 1.0, 1.0, 2.0, 3.0, 3.0, 3.0, 3.0]),
        (Border::Wrap, &[1.0, 2.0, 3.0, 1.0, 2.0, 3.0, 1.0, 2.0, 3.0]),
        (Border::Mirror, &[2.0, 3.0, 2.0, 1.0, 2.0, 3.0, 2.0, 1.0, 2.0]),
    ];
    for (border, expected) in table {
        let found = value(&[(DType::F32, &[3], &[1.0, 2.0, 3.0])], |expr, ids| {
            let op = TensorOp::Pad { before: sizes(&[3]), border };
            expr.push(Tensor { op, operands: ids.to_vec(), dtype: DType::F32, shape: sizes(&[9]) })
        });
        assert_same(&found.data, expected, &format!("{border:?}"));
    }
}

#[test]
fn windows_slices_and_products_follow_their_coordinates() {
    let row: &[f64] = &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0];
    let windows = value(&[(DType::F32, &[6], row)], |expr, ids| {
        let op = TensorOp::Windows { axis: 0, step: 2, dilation: 3 };
        expr.push(Tensor { op, operands: ids.to_vec(), dtype: DType::F32, shape: sizes(&[2, 2]) })
    });
    assert_same(&windows.data, &[0.0, 3.0, 2.0, 5.0], "windows");
    let sliced = value(&[(DType::F32, &[2, 3], row)], |expr, ids| {
        expr.slice(ids[0], sizes(&[1, 2]), vec![1, -2], sizes(&[1, 2]))
    });
    assert_same(&sliced.data, &[5.0, 3.0], "a slice backwards");
    let product = value(&[(DType::F32, &[2, 1, 3], row), (DType::F32, &[3, 1], &[1.0, 10.0, 100.0])], |expr, ids| {
        expr.matmul(ids[0], ids[1], DType::F32)
    });
    assert_same(&product.data, &[210.0, 543.0], "a batch of products");
    assert_eq!(product.shape, [2, 1, 1]);
    let sizes_told = {
        let mut expr = Expr::default();
        let shape = [Size::dim(0), Size::dim(1)];
        let count = expr.extent(&Size::product(&shape), DType::F32);
        let places = expr.iota(0, DType::F32, &shape);
        let sum = expr.elementwise(Elementwise::Add, &[count, places]);
        evaluate(&expr, &[2, 1], &[])[sum.0 as usize].clone()
    };
    assert_same(&sizes_told.data, &[2.0, 3.0], "extents that are told");
}
