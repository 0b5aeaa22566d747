//! The table of kernels: operations, layouts and sizes.

use residua_ir::graph::Op as Real;

use super::{elements, products, rows, scans, sorts};
use crate::dtype::DType;
use crate::kernel::{Combine, TensorKernel};
use crate::sample::{Sample, reduction, scan, softmax, store};
use crate::scalar::TypedOp;

/// All kernels of the table.
pub fn all() -> Vec<TensorKernel> {
    let mut cases = Vec::new();
    elements::maps(&mut cases);
    elements::special(&mut cases);
    elements::layouts(&mut cases);
    elements::integers(&mut cases);
    rows::reductions(&mut cases);
    rows::rows(&mut cases);
    scans::scans(&mut cases);
    cases.extend(products::all());
    cases.extend(sorts::all());
    cases
}

/// Some kernels whose texts are kept, by the names of files.
pub fn golden() -> Vec<(&'static str, TensorKernel)> {
    let mut sample = Sample::new(&[(DType::U8, false), (DType::U8, true)]);
    let extent = sample.word(1000);
    let index = sample.coordinate(0);
    let x = sample.load(0, index);
    let all = sample.u32(255);
    let y = sample.apply(TypedOp::IntSub, &[all, x]);
    let inverted = sample.elements("inverted", &[extent], vec![store(1, index, y)]);

    let mut sample = Sample::new(&[(DType::F32, false), (DType::F32, false), (DType::F32, true)]);
    let extents = [sample.word(30), sample.word(40)];
    let (index, column) = (sample.address(&extents), sample.coordinate(1));
    let row = sample.coordinate(0);
    let (a, b, c) = (sample.load(0, index), sample.load(1, column), sample.load(1, row));
    let sum = sample.real(Real::Add, &[a, b]);
    let scaled = sample.real(Real::Mul, &[sum, c]);
    let y = sample.real(Real::Tanh, &[scaled]);
    let broadcast = sample.elements("broadcast", &extents, vec![store(2, index, y)]);
    vec![
        ("inverted", inverted),
        ("broadcast", broadcast),
        ("softmax", softmax([4096, 4096], 1, DType::F32)),
        ("column_sums", reduction([1000, 4096], 0, Combine::Sum, DType::F32, DType::F32)),
        ("argmax", reduction([1000, 100], 1, Combine::ArgMax, DType::F32, DType::I32)),
        ("scan", scan(10, 4096, Combine::Sum, false, false)),
    ]
}
