//! What the checker refuses.

use super::{Attention, Border, Combine, Elementwise, Expr, Reduction, Tensor, TensorId, TensorOp};
use crate::dtype::DType;
use crate::size::Size;

fn sizes(shape: &[i64]) -> Vec<Size> {
    shape.iter().map(|extent| Size::constant(*extent)).collect()
}

/// An operation on x [2, 3] f32, i [4] i32 and n [n, 3] f32, whose node says this type and shape.
fn check(op: TensorOp, operands: &[u32], dtype: DType, shape: &[i64]) -> bool {
    let mut expr = Expr::default();
    expr.input(0, DType::F32, &sizes(&[2, 3]));
    expr.input(1, DType::I32, &sizes(&[4]));
    expr.input(2, DType::F32, &[Size::dim(0), Size::constant(3)]);
    expr.constant(0.0, DType::F32);
    let operands = operands.iter().map(|id| TensorId(*id)).collect();
    expr.push(Tensor { op, operands, dtype, shape: sizes(shape) });
    expr.check().is_ok()
}

/// Whether it is sound, then the operation, its operands, and the type and shape that its node says.
type Row = (bool, TensorOp, &'static [u32], DType, &'static [i64]);

#[test]
fn types_and_shapes_that_do_not_follow_from_the_operands_are_refused() {
    use DType::{Bool, F16, F32, I32};
    let add = || TensorOp::Elementwise(Elementwise::Add);
    let slice = |start: i64, step: i64| TensorOp::Slice { starts: sizes(&[0, start]), steps: vec![1, step] };
    let pad = |border: Border| TensorOp::Pad { before: sizes(&[0, 1]), border };
    let windows = |step: u32| TensorOp::Windows { axis: 1, step, dilation: 1 };
    let attention =
        |scale| Attention { causal: false, position: Size::constant(0), scale, window: None, softcap: None };
    let table: Vec<Row> = vec![
        (true, add(), &[0, 3], F32, &[2, 3]),
        (false, add(), &[0, 3], F16, &[2, 3]),
        (false, add(), &[0, 3], F32, &[3, 2]),
        (false, add(), &[0, 1], F32, &[2, 3]),
        (false, add(), &[0], F32, &[2, 3]),
        (false, add(), &[0, 2], F32, &[2, 3]),
        (false, add(), &[0, 4], F32, &[2, 3]),
        (true, TensorOp::Elementwise(Elementwise::Lt), &[0, 3], Bool, &[2, 3]),
        (false, TensorOp::Elementwise(Elementwise::Lt), &[0, 3], F32, &[2, 3]),
        (false, TensorOp::Elementwise(Elementwise::And), &[0, 0], F32, &[2, 3]),
        (false, TensorOp::Elementwise(Elementwise::Select), &[0, 0, 0], F32, &[2, 3]),
        (false, TensorOp::Elementwise(Elementwise::Bitcast), &[0], F16, &[2, 3]),
        (true, TensorOp::Reshape, &[0], F32, &[6]),
        (false, TensorOp::Reshape, &[0], F32, &[5]),
        (true, TensorOp::Expand, &[0], F32, &[4, 2, 3]),
        (false, TensorOp::Expand, &[0], F32, &[4, 3]),
        (true, TensorOp::Permute(vec![1, 0]), &[0], F32, &[3, 2]),
        (false, TensorOp::Permute(vec![0, 0]), &[0], F32, &[2, 2]),
        (false, TensorOp::Permute(vec![0, 2]), &[0], F32, &[2, 3]),
        (true, slice(2, -1), &[0], F32, &[2, 3]),
        (false, slice(1, -1), &[0], F32, &[2, 3]),
        (false, slice(0, 2), &[0], F32, &[2, 3]),
        (false, slice(0, 0), &[0], F32, &[2, 1]),
        (true, pad(Border::Clamp), &[0], F32, &[2, 9]),
        (false, pad(Border::Clamp), &[0, 3], F32, &[2, 9]),
        (true, pad(Border::Constant), &[0, 3], F32, &[2, 9]),
        (false, pad(Border::Constant), &[0, 0], F32, &[2, 9]),
        (true, TensorOp::Concat(0), &[0, 0], F32, &[4, 3]),
        (false, TensorOp::Concat(0), &[], F32, &[4, 3]),
        (false, TensorOp::Concat(2), &[0, 0], F32, &[4, 3]),
        (false, TensorOp::Concat(0), &[0, 1], F32, &[4, 3]),
        (true, windows(1), &[0], F32, &[2, 2, 2]),
        (false, windows(1), &[0], F32, &[2, 2, 3]),
        (false, windows(0), &[0], F32, &[2, 2, 2]),
        (true, TensorOp::Gather(1), &[0, 1], F32, &[2, 4]),
        (false, TensorOp::Gather(1), &[0, 0], F32, &[2, 2, 3]),
        (false, TensorOp::Gather(2), &[0, 1], F32, &[2, 4]),
        (true, TensorOp::Reduce(Reduction::Sum, vec![0, 1]), &[0], F32, &[]),
        (false, TensorOp::Reduce(Reduction::Sum, vec![1, 0]), &[0], F32, &[]),
        (false, TensorOp::Reduce(Reduction::Sum, vec![1, 1]), &[0], F32, &[2]),
        (false, TensorOp::Reduce(Reduction::ArgMax, vec![1]), &[0], F32, &[2]),
        (false, TensorOp::MatMul, &[0, 0], F32, &[2, 2]),
        (false, TensorOp::Attention(attention(1.0)), &[0, 0, 0], F32, &[2, 3]),
        (false, TensorOp::Attention(attention(1.0)), &[0, 0], F32, &[2, 3]),
        (true, TensorOp::IndexPut(0, Combine::Add), &[1, 1, 1], I32, &[4]),
        (false, TensorOp::IndexPut(0, Combine::Add), &[0, 1, 0], F32, &[2, 3]),
        (false, TensorOp::Iota(1), &[], F32, &[2]),
        (false, TensorOp::Iota(0), &[], Bool, &[2]),
        (false, TensorOp::Gradient, &[0, 0], F32, &[2, 3]),
        (true, TensorOp::Gradient, &[3, 0], F32, &[2, 3]),
        (true, TensorOp::CustomGradient, &[0, 0, 3, 3], F32, &[2, 3]),
        (false, TensorOp::CustomGradient, &[0, 3], F32, &[2, 3]),
        (false, TensorOp::CustomGradient, &[0, 0, 3], F32, &[2, 3]),
        (false, TensorOp::CustomGradient, &[0, 0, 3, 0], F32, &[2, 3]),
        (false, TensorOp::Constant(0.0), &[], F32, &[-1]),
        (false, TensorOp::Constant(0.0), &[], F32, &[65536, 65536]),
    ];
    for (is_sound, op, operands, dtype, shape) in table {
        let name = format!("{op:?} of {operands:?} as {} {shape:?}", dtype.name());
        assert_eq!(check(op, operands, dtype, shape), is_sound, "{name}");
    }
}

#[test]
fn attention_takes_heads_that_divide_and_masks_that_broadcast() {
    let attention =
        |scale| Attention { causal: false, position: Size::constant(0), scale, window: None, softcap: None };
    let is_sound = |shapes: &[&[i64]], mask: Option<(DType, &[i64])>, scale: f64, own: &[i64]| {
        let mut expr = Expr::default();
        let mut operands: Vec<TensorId> =
            shapes.iter().enumerate().map(|(slot, shape)| expr.input(slot as u32, DType::F32, &sizes(shape))).collect();
        if let Some((dtype, shape)) = mask {
            operands.push(expr.input(3, dtype, &sizes(shape)));
        }
        expr.push(Tensor { op: TensorOp::Attention(attention(scale)), operands, dtype: DType::F32, shape: sizes(own) });
        expr.check().is_ok()
    };
    let shapes: [&[i64]; 3] = [&[4, 3, 8], &[2, 5, 8], &[2, 5, 6]];
    assert!(is_sound(&shapes, None, 1.0, &[4, 3, 6]));
    assert!(is_sound(&shapes, Some((DType::Bool, &[4, 1, 5])), 1.0, &[4, 3, 6]));
    assert!(!is_sound(&shapes, None, f64::NAN, &[4, 3, 6]));
    assert!(!is_sound(&shapes, None, 1.0, &[4, 3, 8]));
    assert!(!is_sound(&shapes, Some((DType::I32, &[3, 5])), 1.0, &[4, 3, 6]));
    assert!(!is_sound(&shapes, Some((DType::F32, &[2, 3, 5])), 1.0, &[4, 3, 6]));
    assert!(!is_sound(&[&[3, 3, 8], shapes[1], shapes[2]], None, 1.0, &[3, 3, 6]));
    assert!(!is_sound(&[&[0, 3, 8], &[0, 5, 8], &[1, 5, 6]], None, 1.0, &[0, 3, 6]));
    assert!(!is_sound(&[shapes[0], shapes[1], &[2, 4, 6]], None, 1.0, &[4, 3, 6]));
}
