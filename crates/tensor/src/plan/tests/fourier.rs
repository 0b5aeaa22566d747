//! Fourier transforms of one kernel and of several, along any axis, of views, and with what is computed before and after.

use super::*;
use crate::expr::{Fourier, FourierKind};
use FourierKind::{Forward, Half, Inverse, Real};

fn along(axis: u32, length: u32, kind: FourierKind) -> Fourier {
    Fourier { axis, to: axis, length, kind, scale: 1.0 / f64::from(length).sqrt() }
}

/// All kinds of transforms of a length, along an axis of inputs that hold parts and of one that holds pairs.
fn all(before: i64, length: u32, after: i64) -> Vec<Plan> {
    let kinds = [(Forward, 2), (Inverse, 2), (Forward, 1), (Half, 1), (Real, 2)];
    let mut plans = Vec::new();
    for (kind, parts) in kinds {
        let of = along(1, length, kind);
        let extents = [before, of.taken().into(), after];
        let count = extents.iter().product::<i64>() as usize;
        let mut expr = Expr::default();
        let operands: Vec<TensorId> = (0..parts).map(|slot| expr.input(slot, DType::F32, &shape(&extents))).collect();
        let found = expr.fourier(of, &operands);
        let inputs: Vec<Vec<f64>> = (0..parts as usize).map(|seed| numbers(count, seed)).collect();
        plans.push(check(expr, &[found], &inputs, &[]));
        if parts == 2 {
            let mut expr = Expr::default();
            let pairs = expr.input(0, DType::F32, &shape(&[before, of.taken().into(), after, 2]));
            let operands = [0, 1].map(|part| expr.part(pairs, part));
            let found = expr.fourier(of, &operands);
            plans.push(check(expr, &[found], &[numbers(2 * count, 3)], &[]));
        }
    }
    plans
}

#[test]
fn short_transforms_are_one_kernel() {
    for length in [1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 15, 16, 22, 26, 32, 35, 48, 49, 64, 91] {
        for (before, after) in [(3, 1), (2, 3)] {
            for plan in all(before, length, after) {
                assert_eq!(plan.steps.len(), 1, "{length}: {plan}");
            }
        }
    }
    for length in [210, 243, 256, 512] {
        all(1, length, 1);
    }
    all(1, 600, 2);
}

#[test]
fn long_transforms_take_passes() {
    for plan in all(1, 1155, 2) {
        assert!((2..=4).contains(&plan.steps.len()), "{plan}");
    }
    all(1, 2048, 2);
}

#[test]
fn other_axes_may_have_any_size() {
    let mut expr = Expr::default();
    let rows = Size::dim(0);
    let pairs = expr.input(0, DType::F32, &[rows, size(12), size(2)]);
    let operands = [0, 1].map(|part| expr.part(pairs, part));
    let found = expr.fourier(along(1, 12, Forward), &operands);
    check(expr, &[found], &[numbers(5 * 24, 1)], &[5]);
    let mut expr = Expr::default();
    let x = expr.input(0, DType::F32, &shape(&[0, 8]));
    let found = expr.fourier(along(1, 8, Half), &[x]);
    check(expr, &[found], &[Vec::new()], &[]);
}

#[test]
fn maps_before_and_after_are_part_of_the_kernel() {
    let mut expr = Expr::default();
    let [re, im] = [0, 1].map(|slot| expr.input(slot, DType::F32, &shape(&[3, 40])));
    let window = expr.input(2, DType::F32, &shape(&[40]));
    let parts = [re, im].map(|part| expr.elementwise(E::Mul, &[part, window]));
    let found = expr.fourier(along(1, 40, Forward), &parts);
    let parts = [0, 1].map(|part| expr.part(found, part));
    let squares = parts.map(|part| expr.elementwise(E::Mul, &[part, part]));
    let power = expr.elementwise(E::Add, &squares);
    let size = expr.elementwise(E::Sqrt, &[power]);
    let plan = check(expr, &[size], &[numbers(120, 1), numbers(120, 2), numbers(40, 3)], &[]);
    assert_eq!(plan.steps.len(), 1, "{plan}");
    assert_eq!(plan.kernels[0].buffers.iter().filter(|buffer| buffer.written).count(), 1, "{plan}");
}

#[test]
fn spectra_of_other_types_are_written_by_the_transform() {
    for (op, dtype) in
        [(E::Cast, DType::I32), (E::Cast, DType::U32), (E::Bitcast, DType::I32), (E::Bitcast, DType::U32)]
    {
        let mut expr = Expr::default();
        let parts = [0, 1].map(|slot| expr.input(slot, DType::F32, &shape(&[3, 2])));
        let found = expr.fourier(Fourier { scale: 1.0, ..along(1, 2, Forward) }, &parts);
        let shape = expr.shape(found).to_vec();
        let result = expr.push(Tensor { op: TensorOp::Elementwise(op), operands: vec![found], dtype, shape });
        // Sums and differences are whole numbers and a half, so that roundings before the cast do not matter.
        let inputs = [vec![5.5, 2.0, 4.5, 4.0, 1.5, 0.0], vec![7.5, 2.0, 3.5, 1.0, 0.5, 0.0]];
        let plan = check(expr, &[result], &inputs, &[]);
        assert_eq!(plan.steps.len(), 1, "{op:?} to {dtype:?}: {plan}");
    }
}

#[test]
fn views_and_axes_after_one_another() {
    let mut expr = Expr::default();
    let pairs = expr.input(0, DType::F32, &shape(&[6, 10, 2]));
    let parts = [0, 1].map(|part| expr.part(pairs, part));
    let turned = parts.map(|part| expr.permute(part, &[1, 0]));
    let even = turned.map(|part| expr.slice(part, shape(&[1, 0]), vec![2, 1], shape(&[5, 6])));
    let first = expr.fourier(along(0, 5, Forward), &even);
    let parts = [0, 1].map(|part| expr.part(first, part));
    let second = expr.fourier(along(1, 6, Inverse), &parts);
    let plan = check(expr, &[first, second], &[numbers(120, 1)], &[]);
    assert_eq!(plan.steps.len(), 2, "{plan}");
}

#[test]
fn a_transform_is_assigned_to_what_it_reads() {
    let mut expr = Expr::default();
    let pairs = expr.input(0, DType::F32, &shape(&[4, 9, 2]));
    let parts = [0, 1].map(|part| expr.part(pairs, part));
    let found = expr.fourier(along(1, 9, Forward), &parts);
    check_assigned(expr, &[found], &[(0, found)], &[numbers(72, 1)], &[]);
}
