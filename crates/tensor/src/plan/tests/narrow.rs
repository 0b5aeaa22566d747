//! Types narrower than a word of a buffer: bytes, booleans and half precision.

use super::*;

#[test]
fn narrow_types_are_packed() {
    for dtype in [DType::U8, DType::Bool, DType::F16] {
        let mut expr = Expr::default();
        let x = expr.input(0, DType::F32, &shape(&[3, 5]));
        let y = expr.transpose(x);
        let hundred = expr.constant(60.0, DType::F32);
        let scaled = expr.elementwise(E::Mul, &[y, hundred]);
        let narrow = expr.cast(scaled, dtype);
        let most = expr.reduce(Reduction::Max, narrow, &[1]);
        check(expr, &[narrow, most], &[numbers(15, 1).iter().map(|x| (x.abs() * 2.0).floor()).collect()], &[]);
    }
}

#[test]
fn bytes_and_a_view_of_them_are_written_by_one_kernel() {
    let mut expr = Expr::default();
    let x = expr.input(0, DType::U8, &shape(&[5, 5]));
    let windows = TensorOp::Windows { axis: 1, step: 1, dilation: 1 };
    let pairs = expr.push(Tensor { op: windows, operands: vec![x], dtype: DType::U8, shape: shape(&[5, 4, 2]) });
    let same = expr.slice(pairs, shape(&[0, 0, 0]), vec![1, 1, 1], shape(&[5, 4, 2]));
    check(expr, &[same, pairs], &[(0..25).map(f64::from).collect()], &[]);
}

#[test]
fn products_and_sums_of_bytes_keep_their_low_bits() {
    let mut expr = Expr::default();
    let x = expr.input(0, DType::U8, &shape(&[3, 3]));
    let transposed = expr.transpose(x);
    let product = expr.matmul(x, transposed, DType::U8);
    let indices = expr.iota(1, DType::I32, &shape(&[3, 3]));
    let put = expr.scatter(x, indices, x, 1, Combine::Add);
    let limit = expr.constant(8.0, DType::U8);
    let results = [product, put].map(|id| expr.elementwise(E::Minimum, &[id, limit]));
    check(expr, &results, &[vec![16.0, 0.0, 0.0, 128.0, 3.0, 1.0, 255.0, 129.0, 2.0]], &[]);
}
