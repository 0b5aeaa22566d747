//! Kernels of rows: reductions, normalisations, rules of users, blocks with states.

use residua_ir::graph::Op as Real;

use crate::dtype::DType;
use crate::kernel::{Body, Combine, Extent, Fold, Rows, TensorKernel};
use crate::sample::{Lines, Sample, composition, fold, map_of, reduction, softmax, store};
use crate::scalar::{Type, TypedOp};

/// Every combination over axes and lengths.
pub fn reductions(cases: &mut Vec<TensorKernel>) {
    let shapes: [[i64; 2]; 16] = [
        [3, 0],
        [0, 3],
        [1, 1],
        [5, 3],
        [70, 8],
        [5, 31],
        [4, 32],
        [3, 100],
        [9, 101],
        [2, 1000],
        [2, 1023],
        [2, 1024],
        [3, 1025],
        [1, 5000],
        [2, 4099],
        [600, 6],
    ];
    let real = [Combine::Sum, Combine::Prod, Combine::Min, Combine::Max, Combine::Variance];
    for shape in shapes {
        for axis in [0, 1] {
            let mut push = |combine: &Combine, from, to| cases.push(reduction(shape, axis, combine.clone(), from, to));
            for combine in &real {
                push(combine, DType::F32, DType::F32);
            }
            push(&Combine::Sum, DType::F16, DType::F16);
            push(&Combine::Max, DType::Bool, DType::Bool);
            push(&Combine::PlainSum, DType::I32, DType::I32);
            push(&Combine::Min, DType::I32, DType::I32);
            push(&Combine::Max, DType::U8, DType::U8);
            push(&Combine::ArgMin, DType::F32, DType::I32);
            push(&Combine::ArgMax, DType::F32, DType::I32);
            push(&Combine::ArgMax, DType::I32, DType::I32);
        }
    }
}

/// Normalisations, rules of users, states, blocks, several axes.
pub fn rows(cases: &mut Vec<TensorKernel>) {
    for shape in [[3, 1], [70, 10], [5, 64], [4, 300], [3, 1000], [2, 1024], [2, 4096], [2, 5000], [1, 17000]] {
        for dtype in [DType::F32, DType::F16] {
            cases.push(softmax(shape, 1, dtype));
        }
        cases.push(normalised(shape));
        cases.push(softmax([shape[1], shape[0]], 0, DType::F32));
        for axis in [0, 1] {
            cases.push(composed(shape, axis));
        }
        cases.push(blocks(shape));
    }
    for shape in [[2, 3, 5], [3, 4, 8], [40, 2, 12]] {
        cases.push(two_axes(shape));
    }
}

/// Mean and variance of a row in one stage.
fn normalised(shape: [i64; 2]) -> TensorKernel {
    let mut sample = Sample::new(&[(DType::F32, false), (DType::F32, true), (DType::F32, true)]);
    let (outer, row) = (sample.word(shape[0]), sample.word(shape[1]));
    let index = sample.address(&[outer, row]);
    let (x, place) = (sample.load(0, index), sample.coordinate(0));
    let (sum, variance) = (sample.folded(0, 0, Type::F32), sample.folded(1, 0, Type::F32));
    let length = sample.extent(row);
    let length = sample.apply(TypedOp::ToF32, &[length]);
    let mean = sample.real(Real::Div, &[sum, length]);
    let difference = sample.real(Real::Sub, &[x, mean]);
    let small = sample.graph.f32(0.5);
    let variance = sample.real(Real::Add, &[variance, small]);
    let root = sample.real(Real::Sqrt, &[variance]);
    let y = sample.real(Real::Div, &[difference, root]);
    let rows = Rows {
        outer: vec![outer],
        row: vec![row],
        valid: None,
        folds: vec![fold(Combine::Sum, vec![x]), fold(Combine::Variance, vec![x])],
        elements: vec![store(1, index, y)],
        results: vec![store(2, place, mean)],
    };
    sample.kernel("normalise", Body::Rows(rows))
}

/// A rule of the user along an axis.
fn composed(shape: [i64; 2], axis: usize) -> TensorKernel {
    let mut sample = Sample::new(&[(DType::F32, false), (DType::F32, true)]);
    let Lines { outer, row, place, index, .. } = sample.lines(shape, axis);
    let x = sample.load(0, index);
    let operands = map_of(&mut sample, x);
    let (factor, summand) = (sample.folded(0, 0, Type::F32), sample.folded(0, 1, Type::F32));
    let y = sample.real(Real::Sub, &[summand, factor]);
    let rows = Rows {
        outer: vec![outer],
        row: vec![row],
        valid: None,
        folds: vec![fold(Combine::By(composition()), operands)],
        elements: vec![],
        results: vec![store(1, place, y)],
    };
    sample.kernel("composed", Body::Rows(rows))
}

/// Rows in three blocks, of which the last is shorter, whose states of sums, moments and extrema are kept and of which sums are merged.
fn blocks(shape: [i64; 2]) -> TensorKernel {
    let [count, length] = shape;
    let block = (length + 2) / 3;
    let mut sample = Sample::new(&[
        (DType::F32, false),
        (DType::F32, true),
        (DType::F32, true),
        (DType::I32, true),
        (DType::F32, false),
    ]);
    let (outer, three, row, whole) = (sample.word(count), Extent::Known(3), sample.word(block), sample.word(length));
    let [instance, part, along] = [0, 1, 2].map(|axis| sample.coordinate(axis));
    let place = sample.affine(part, row, along);
    let end = sample.extent(whole);
    let valid = sample.apply(TypedOp::Lt, &[place, end]);
    let index = sample.affine(instance, whole, place);
    let x = sample.load(0, index);
    let target = sample.affine(instance, three, part);
    let position = sample.load(4, target);
    let kept = |combine, operands| Fold { keeps_state: true, ..fold(combine, operands) };
    let merged = Fold { merges_states: true, ..fold(Combine::Sum, vec![x, position]) };
    let value = sample.folded(1, 1, Type::F32);
    let squares = sample.folded(1, 2, Type::F32);
    let total = sample.real(Real::Add, &[value, squares]);
    let first = sample.folded(2, 1, Type::U32);
    let first = sample.apply(TypedOp::ToI32, &[first]);
    let sum = sample.folded(3, 0, Type::F32);
    let difference = sample.real(Real::Sub, &[x, total]);
    let states = [sample.folded(0, 0, Type::F32), sample.folded(0, 1, Type::F32)];
    let exact = sample.real(Real::Add, &states);
    let both = sample.real(Real::Sub, &[sum, exact]);
    let rows = Rows {
        outer: vec![outer, three],
        row: vec![row],
        valid: Some(valid),
        folds: vec![
            kept(Combine::Sum, vec![x]),
            kept(Combine::Variance, vec![x]),
            kept(Combine::ArgMax, vec![x, place]),
            merged,
        ],
        elements: vec![store(1, index, difference)],
        results: vec![store(2, target, both), store(3, target, first)],
    };
    sample.kernel("blocks", Body::Rows(rows))
}

/// A sum over the first and the last axis.
fn two_axes(shape: [i64; 3]) -> TensorKernel {
    let mut sample = Sample::new(&[(DType::F32, false), (DType::F32, true), (DType::F32, true)]);
    let [a, b, c] = shape.map(|extent| sample.word(extent));
    let [middle, first, last] = [0, 1, 2].map(|axis| sample.coordinate(axis));
    let index = sample.affine(first, b, middle);
    let index = sample.affine(index, c, last);
    let x = sample.load(0, index);
    let sum = sample.folded(0, 0, Type::F32);
    let difference = sample.real(Real::Sub, &[x, sum]);
    let rows = Rows {
        outer: vec![b],
        row: vec![a, c],
        valid: None,
        folds: vec![fold(Combine::Sum, vec![x])],
        elements: vec![store(1, index, difference)],
        results: vec![store(2, middle, sum)],
    };
    sample.kernel("axes", Body::Rows(rows))
}
