//! Axes without elements, known or of a dim that is 0: nothing is read of them, on both engines.

use super::*;

/// A recipe over three columns of an axis that is empty, and of two rows beside it.
type Record = fn(&mut Expr, &Size, TensorId, TensorId) -> TensorId;

fn three(extent: &Size) -> Vec<Size> {
    vec![extent.clone(), size(3)]
}

fn padded(expr: &mut Expr, x: TensorId, extent: &Size, border: Border) -> TensorId {
    let one = expr.constant(1.5, DType::F32);
    let operands = if border == Border::Constant { vec![x, one] } else { vec![x] };
    let shape = three(&(extent + &size(3)));
    expr.push(Tensor {
        op: TensorOp::Pad { before: vec![size(1), size(0)], border },
        operands,
        dtype: DType::F32,
        shape,
    })
}

/// The axis from its end on: what an index of 0 reads lies beyond the memory.
fn from_end(expr: &mut Expr, x: TensorId, extent: &Size) -> TensorId {
    expr.slice(x, vec![extent.clone(), size(0)], vec![1, 1], three(extent))
}

const RECORDS: &[(&str, Record)] = &[
    ("concat first", |expr, _, x, rows| expr.concat(&[x, rows], 0)),
    ("concat last", |expr, _, x, rows| expr.concat(&[rows, x], 0)),
    ("concat turned", |expr, n, x, rows| {
        let turned = expr.slice(x, vec![n - &size(1), size(0)], vec![-1, 1], three(n));
        expr.concat(&[rows, turned, rows], 0)
    }),
    ("concat columns", |expr, n, x, rows| {
        let (x, rows) = (expr.transpose(x), expr.transpose(rows));
        let x = expr.slice(x, vec![size(0), n.clone()], vec![1, 1], vec![size(3), n.clone()]);
        expr.concat(&[x, rows, x], 1)
    }),
    ("gather", |expr, n, x, rows| {
        let indices = expr.cast(rows, DType::I32);
        let x = from_end(expr, x, n);
        expr.gather(x, indices, 0)
    }),
    ("gather elements", |expr, _, x, rows| {
        let indices = expr.cast(rows, DType::I32);
        expr.gather_elements(x, indices, 0)
    }),
    ("pad with a number", |expr, n, x, _| padded(expr, x, n, Border::Constant)),
    ("pad with the nearest", |expr, n, x, _| padded(expr, x, n, Border::Clamp)),
    ("pad around", |expr, n, x, _| padded(expr, x, n, Border::Wrap)),
    ("pad mirrored", |expr, n, x, _| padded(expr, x, n, Border::Mirror)),
    ("pad of a part", |expr, n, x, _| {
        let x = from_end(expr, x, n);
        padded(expr, x, n, Border::Constant)
    }),
    ("put a part", |expr, n, x, rows| {
        let x = from_end(expr, x, n);
        expr.set_slice(rows, vec![size(1), size(0)], x)
    }),
    ("reshape", |expr, n, x, rows| {
        let flat = expr.reshape(x, &[n * &size(3)]);
        let rows = expr.reshape(rows, &[size(6)]);
        expr.concat(&[flat, rows], 0)
    }),
    ("sum", |expr, _, x, _| expr.reduce(Reduction::Sum, x, &[0])),
    ("sum of all", |expr, _, x, _| expr.reduce(Reduction::Sum, x, &[0, 1])),
    ("product", |expr, _, x, _| expr.reduce(Reduction::Prod, x, &[0])),
    ("largest", |expr, _, x, _| expr.reduce(Reduction::Max, x, &[0])),
    ("first smallest", |expr, _, x, _| expr.reduce(Reduction::ArgMin, x, &[0])),
    ("variance", |expr, _, x, _| expr.reduce(Reduction::Variance, x, &[0])),
    ("sums along rows of no elements", |expr, _, x, _| {
        let x = expr.transpose(x);
        expr.reduce(Reduction::Sum, x, &[1])
    }),
    ("product of matrices without a depth", |expr, _, x, _| {
        let left = expr.transpose(x);
        expr.matmul(left, x, DType::F32)
    }),
    ("product of no rows", |expr, _, x, rows| {
        let right = expr.transpose(rows);
        let none = expr.matmul(x, right, DType::F32);
        expr.reduce(Reduction::Sum, none, &[0])
    }),
    ("running sum", |expr, _, x, rows| {
        let sums = expr.scan(x, Reduction::Sum, 0, false, false);
        expr.concat(&[sums, rows], 0)
    }),
    ("scatter nothing", |expr, _, x, rows| {
        let places = expr.cast(x, DType::I32);
        expr.scatter(rows, places, x, 0, Combine::Add)
    }),
    ("scatter into nothing", |expr, _, x, rows| {
        let places = expr.cast(rows, DType::I32);
        let none = expr.scatter(x, places, rows, 0, Combine::Add);
        expr.concat(&[none, rows], 0)
    }),
    ("put rows nowhere", |expr, _, x, rows| {
        let places = expr.iota(0, DType::I32, &shape(&[2]));
        let none = expr.index_put(x, places, rows, 0, Combine::Set);
        expr.concat(&[none, rows], 0)
    }),
    ("softmax", |expr, _, x, rows| {
        let none = softmax(expr, x);
        expr.concat(&[rows, none], 0)
    }),
];

#[test]
fn axes_without_elements_are_not_read() {
    for (name, record) in RECORDS {
        for (extent, dims) in [(Size::dim(0), vec![0]), (size(0), vec![])] {
            // A recipe that repeats what is known to be nothing is refused.
            if dims.is_empty() && ["pad with the nearest", "pad around", "pad mirrored"].contains(name) {
                continue;
            }
            println!("{name}, {extent:?}");
            let mut expr = Expr::default();
            let x = expr.input(0, DType::F32, &three(&extent));
            let rows = expr.input(1, DType::F32, &shape(&[2, 3]));
            let result = record(&mut expr, &extent, x, rows);
            check(expr, &[result], &[vec![], numbers(6, 1)], &dims);
        }
    }
}
