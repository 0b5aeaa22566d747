//! Elementwise kernels: functions, casts, layouts, integers and bits.

use residua_ir::graph::Op as Real;

use crate::dtype::DType;
use crate::kernel::{Extent, TensorKernel};
use crate::sample::{Sample, store};
use crate::scalar::{Id, Type, TypedOp};

/// Elementwise functions and casts over sizes.
pub fn maps(cases: &mut Vec<TensorKernel>) {
    for length in [0, 1, 3, 4, 5, 255, 1023, 1024, 1025, 4095, 4096, 4097] {
        for (from, to) in [
            (DType::F32, DType::F32),
            (DType::F16, DType::F32),
            (DType::F32, DType::F16),
            (DType::F16, DType::F16),
            (DType::U8, DType::F32),
            (DType::F32, DType::U8),
            (DType::U8, DType::U8),
            (DType::F32, DType::Bool),
            (DType::Bool, DType::F32),
            (DType::F32, DType::I32),
            (DType::I32, DType::F32),
            (DType::F32, DType::U32),
        ] {
            let mut sample = Sample::new(&[(from, false), (to, true)]);
            let extent = if length % 2 == 0 { sample.word(length) } else { Extent::Known(length as u32) };
            let index = sample.coordinate(0);
            let mut x = sample.load(0, index);
            if Type::of(from) == Type::F32 {
                let half = sample.graph.f32(1.5);
                x = sample.real(Real::Mul, &[x, half]);
            }
            let y = cast(&mut sample, x, to);
            cases.push(sample.elements("map", &[extent], vec![store(1, index, y)]));
        }
    }
    for op in Real::ALL {
        let is_excluded = matches!(
            op,
            Real::Eq | Real::Ne | Real::Lt | Real::Le | Real::Gt | Real::Ge | Real::Select | Real::StopGradient
        );
        if is_excluded {
            continue;
        }
        for width in [1, 4] {
            let mut sample = Sample::new(&[(DType::F32, false), (DType::F32, true)]);
            let extent = sample.word(320);
            let index = sample.coordinate(0);
            let factor = sample.u32(if width == 4 { 1 } else { 2 });
            let first = sample.apply(TypedOp::IntMul, &[index, factor]);
            let offset = sample.u32(640);
            let second = sample.apply(TypedOp::IntAdd, &[first, offset]);
            let operands: Vec<Id> = [first, second].map(|index| sample.load(0, index))[..op.arity()].to_vec();
            let y = sample.real(*op, &operands);
            let target = sample.apply(TypedOp::IntMul, &[index, factor]);
            cases.push(sample.elements("map", &[extent], vec![store(1, target, y)]));
        }
    }
}

/// Tests of numbers that are no numbers, of loaded and of computed values, and what compilers take for something else.
pub fn special(cases: &mut Vec<TensorKernel>) {
    for width in [1, 4] {
        for test in 0..6 {
            let mut sample = Sample::new(&[(DType::F32, false), (DType::F32, true)]);
            let extent = sample.word(320);
            let index = sample.coordinate(0);
            let factor = sample.u32(if width == 4 { 1 } else { 2 });
            let first = sample.apply(TypedOp::IntMul, &[index, factor]);
            let x = sample.load(0, first);
            let (zero, big) = (sample.f32(0.0), sample.f32(1e8));
            let sum = sample.real(Real::Add, &[x, big]);
            let is_nan = sample.graph.is_nan(sum);
            let is_finite = sample.graph.is_finite(x);
            let y = match test {
                0 => sample.apply(TypedOp::ToF32, &[is_nan]),
                1 => sample.apply(TypedOp::ToF32, &[is_finite]),
                2 => sample.real(Real::Sub, &[sum, big]),
                3 => sample.real(Real::Mul, &[x, zero]),
                4 => sample.real(Real::Div, &[x, x]),
                _ => {
                    let is_equal = sample.apply(TypedOp::Eq, &[x, x]);
                    sample.apply(TypedOp::ToF32, &[is_equal])
                }
            };
            let target = sample.apply(TypedOp::IntMul, &[index, factor]);
            cases.push(sample.elements("special", &[extent], vec![store(1, target, y)]));
        }
    }
}

/// A value as an element of a type.
fn cast(sample: &mut Sample, x: Id, to: DType) -> Id {
    match (sample.graph.ty(x), Type::of(to)) {
        (from, to) if from == to => x,
        (Type::F32, Type::Bool) => {
            let zero = sample.graph.f32(0.25);
            sample.apply(TypedOp::Lt, &[zero, x])
        }
        (_, Type::F32) => sample.apply(TypedOp::ToF32, &[x]),
        (_, Type::I32) => sample.apply(TypedOp::ToI32, &[x]),
        (_, _) => sample.apply(TypedOp::ToU32, &[x]),
    }
}

/// Broadcasts, transposes, parts of buffers, gathers and in-place updates.
pub fn layouts(cases: &mut Vec<TensorKernel>) {
    for [rows, columns] in [[1, 1], [7, 3], [3, 4], [5, 8], [9, 33], [65, 64]] {
        let mut sample = Sample::new(&[(DType::F32, false), (DType::F32, false), (DType::F32, true)]);
        let extents = [sample.word(rows), sample.word(columns)];
        let (index, column) = (sample.address(&extents), sample.coordinate(1));
        let (a, b) = (sample.load(0, index), sample.load(1, column));
        let sum = sample.real(Real::Add, &[a, b]);
        cases.push(sample.elements("broadcast", &extents, vec![store(2, index, sum)]));

        for dtype in [DType::F32, DType::U8, DType::F16] {
            let mut sample = Sample::new(&[(dtype, false), (dtype, true)]);
            let extents = [sample.word(rows), sample.word(columns)];
            let (index, row, column) = (sample.address(&extents), sample.coordinate(0), sample.coordinate(1));
            let other = sample.affine(column, extents[0], row);
            let x = sample.load(0, other);
            cases.push(sample.elements("transpose", &extents, vec![store(1, index, x)]));
        }
    }
    for dtype in [DType::F32, DType::U8, DType::F16, DType::Bool] {
        for (length, offset) in [(6, 6), (5, 0), (8, 4), (8, 3), (100, 11)] {
            let mut sample = Sample::new(&[(dtype, false), (dtype, true)]);
            let extent = sample.word(length);
            let (index, offset_id) = (sample.coordinate(0), sample.u32(offset));
            let target = sample.apply(TypedOp::IntAdd, &[index, offset_id]);
            let x = sample.load(0, index);
            cases.push(sample.elements("part", &[extent], vec![store(1, target, x)]));
        }
    }
    let mut sample = Sample::new(&[(DType::F32, false), (DType::U32, false), (DType::F32, true)]);
    let extent = sample.word(101);
    let index = sample.coordinate(0);
    let place = sample.load(1, index);
    let x = sample.load(0, place);
    let y = sample.load(0, index);
    let sum = sample.real(Real::Sub, &[x, y]);
    cases.push(sample.elements("gather", &[extent], vec![store(2, index, sum)]));

    for dtype in [DType::F32, DType::U8] {
        let mut sample = Sample::new(&[(dtype, true)]);
        let extent = sample.word(102);
        let index = sample.coordinate(0);
        let x = sample.load(0, index);
        let y =
            if dtype == DType::F32 { sample.real(Real::Add, &[x, x]) } else { sample.apply(TypedOp::IntAdd, &[x, x]) };
        cases.push(sample.elements("double", &[extent], vec![store(0, index, y)]));
    }
}

/// Operations on integers and comparisons.
pub fn integers(cases: &mut Vec<TensorKernel>) {
    let binary = [
        TypedOp::IntAdd,
        TypedOp::IntSub,
        TypedOp::IntMul,
        TypedOp::IntDiv,
        TypedOp::IntRem,
        TypedOp::IntMin,
        TypedOp::IntMax,
        TypedOp::And,
        TypedOp::Or,
        TypedOp::Xor,
        TypedOp::Eq,
        TypedOp::Lt,
        TypedOp::Le,
    ];
    for dtype in [DType::I32, DType::U32, DType::F32, DType::Bool] {
        let ops = binary.iter().filter(|op| match dtype {
            DType::F32 => matches!(op, TypedOp::Eq | TypedOp::Lt | TypedOp::Le),
            DType::Bool => matches!(op, TypedOp::And | TypedOp::Or | TypedOp::Xor | TypedOp::Eq),
            _ => true,
        });
        for op in ops {
            for by_four in [true, false] {
                let ty = Type::of(dtype);
                let result = match op.result([ty; 3]) {
                    Type::Bool => DType::Bool,
                    _ => dtype,
                };
                let mut sample = Sample::new(&[(dtype, false), (dtype, false), (result, true)]);
                let extent = sample.word(203);
                let index = sample.coordinate(0);
                let three = sample.u32(if by_four { 1 } else { 3 });
                let place = sample.apply(TypedOp::IntMul, &[index, three]);
                let (a, b) = (sample.load(0, place), sample.load(1, place));
                let y = sample.apply(*op, &[a, b]);
                cases.push(sample.elements("integers", &[extent], vec![store(2, place, y)]));
            }
        }
    }
    let mut sample = Sample::new(&[(DType::U32, false), (DType::U32, true), (DType::I32, true)]);
    let extent = sample.word(77);
    let index = sample.coordinate(0);
    let x = sample.load(0, index);
    let factor = sample.u32(0x9e37_79b9);
    let mixed = sample.apply(TypedOp::IntMul, &[x, factor]);
    let shift = sample.u32(13);
    let high = sample.apply(TypedOp::HighProduct, &[mixed, factor]);
    let left = sample.apply(TypedOp::Shl, &[mixed, x]);
    let right = sample.apply(TypedOp::Shr, &[mixed, shift]);
    let either = sample.apply(TypedOp::Or, &[left, right]);
    let not = sample.apply(TypedOp::Not, &[high]);
    let y = sample.apply(TypedOp::Xor, &[either, not]);
    let signed = sample.apply(TypedOp::ToI32, &[mixed]);
    let z = sample.apply(TypedOp::Shr, &[signed, x]);
    cases.push(sample.elements("bits", &[extent], vec![store(1, index, y), store(2, index, z)]));
}
