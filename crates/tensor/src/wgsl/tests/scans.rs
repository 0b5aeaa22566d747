//! Kernels of scans.

use residua_ir::graph::Op as Real;

use crate::dtype::DType;
use crate::kernel::{Body, Combine, Scan, TensorKernel};
use crate::sample::{Sample, composition, fold, map_of, scan, store};
use crate::scalar::{Type, TypedOp};

/// Scans along both axes: sums, extrema, rules of users.
pub fn scans(cases: &mut Vec<TensorKernel>) {
    for shape in [[3, 0], [2, 1], [5, 7], [70, 32], [3, 33], [2, 100], [3, 255], [1, 4095], [2, 4096], [1, 4097]] {
        for (exclusive, reverse) in [(false, false), (true, false), (false, true), (true, true)] {
            for combine in [Combine::Sum, Combine::Max, Combine::Min] {
                cases.push(scan(shape[0], shape[1], combine, exclusive, reverse));
            }
            cases.push(composed_scan(shape, exclusive, reverse));
            cases.push(column_scan(shape, exclusive, reverse));
        }
    }
}

/// A scan by a rule with an initial state of each row, of points up to a place.
fn composed_scan(shape: [i64; 2], exclusive: bool, reverse: bool) -> TensorKernel {
    let mut sample = Sample::new(&[(DType::F32, false), (DType::F32, false), (DType::F32, true)]);
    let (outer, length) = (sample.word(shape[0]), sample.word(shape[1]));
    let (index, row, along) = (sample.address(&[outer, length]), sample.coordinate(0), sample.coordinate(1));
    let x = sample.load(0, index);
    let end = sample.u32(shape[1] as u32 * 3 / 4 + 1);
    let valid = sample.apply(TypedOp::Lt, &[along, end]);
    let initial = vec![sample.load(1, row), sample.graph.f32(0.5)];
    let operands = map_of(&mut sample, x);
    let (factor, summand) = (sample.folded(0, 0, Type::F32), sample.folded(0, 1, Type::F32));
    let difference = sample.real(Real::Sub, &[summand, factor]);
    let y = sample.real(Real::Sub, &[difference, x]);
    let scan = Scan {
        outer: vec![outer],
        length,
        valid: Some(valid),
        fold: fold(Combine::By(composition()), operands),
        initial: Some(initial),
        exclusive,
        reverse,
        elements: vec![store(2, index, y)],
    };
    sample.kernel("composed_scan", Body::Scan(scan))
}

/// A scan along the outer axis.
fn column_scan(shape: [i64; 2], exclusive: bool, reverse: bool) -> TensorKernel {
    let mut sample = Sample::new(&[(DType::I32, false), (DType::I32, true)]);
    let (outer, length) = (sample.word(shape[0]), sample.word(shape[1]));
    let (place, along) = (sample.coordinate(0), sample.coordinate(1));
    let index = sample.affine(along, outer, place);
    let x = sample.load(0, index);
    let y = sample.folded(0, 0, Type::I32);
    let fold = fold(Combine::PlainSum, vec![x]);
    let elements = vec![store(1, index, y)];
    let scan = Scan { outer: vec![outer], length, valid: None, fold, initial: None, exclusive, reverse, elements };
    sample.kernel("column_scan", Body::Scan(scan))
}
