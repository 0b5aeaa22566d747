use super::*;
use crate::dtype::DType;
use crate::kernel::{Combine, Tile};
use crate::sample::{self, Sample, reduction, scan, softmax, store};
use residua_ir::graph::Op as Real;

fn bytes(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

fn words(kernel: &TensorKernel, dims: &[u32]) -> Vec<u32> {
    kernel.sizes.iter().map(|size| size.word(dims)).collect()
}

fn run_on(kernel: &TensorKernel, buffers: &[&[u8]]) -> Vec<Vec<u8>> {
    let mut buffers: Vec<Vec<u8>> = buffers.iter().map(|bytes| bytes.to_vec()).collect();
    run(kernel, &words(kernel, &[]), &mut buffers).unwrap();
    buffers
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks::<4>().0.iter().map(|word| f32::from_le_bytes(*word)).collect()
}

#[test]
fn a_softmax_is_one_kernel() {
    let x = [1.0, 2.0, 3.0, -1.0, -1.0, -1.0];
    let y = floats(&run_on(&softmax([2, 3], 1, DType::F32), &[&bytes(&x), &[0; 24]])[1]);
    for (value, expected) in y.iter().zip([0.09003057, 0.24472848, 0.66524094, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0]) {
        assert!((value - expected).abs() < 1e-7, "{value} for {expected}");
    }
}

#[test]
fn sums_are_compensated_and_extrema_pass_nan() {
    let x = bytes(&[1e8, 1.0, 1.0, -1e8, 5.0, f32::NAN, 7.0, 7.0]);
    let of =
        |combine, result: DType| run_on(&reduction([2, 4], 1, combine, DType::F32, result), &[&x, &[0; 8]])[1].clone();
    assert_eq!(floats(&of(Combine::Sum, DType::F32))[0], 2.0);
    assert!(floats(&of(Combine::Max, DType::F32))[1].is_nan());
    assert_eq!(of(Combine::ArgMax, DType::I32), [0, 0, 0, 0, 1, 0, 0, 0]);
    assert_eq!(of(Combine::ArgMin, DType::I32), [3, 0, 0, 0, 1, 0, 0, 0]);
    let variance = floats(
        &run_on(
            &reduction([4, 1], 0, Combine::Variance, DType::F32, DType::F32),
            &[&bytes(&[1.0, 2.0, 3.0, 6.0]), &[0; 4]],
        )[1],
    );
    assert_eq!(variance, [3.5]);
}

#[test]
fn scans_go_both_ways() {
    for (exclusive, reverse, expected) in [
        (false, false, [1.0, 3.0, 6.0]),
        (true, false, [0.0, 1.0, 3.0]),
        (false, true, [6.0, 5.0, 3.0]),
        (true, true, [5.0, 3.0, 0.0]),
    ] {
        let y = run_on(&scan(1, 3, Combine::Sum, exclusive, reverse), &[&bytes(&[1.0, 2.0, 3.0]), &[0; 12]]);
        assert_eq!(floats(&y[1]), expected);
    }
}

#[test]
fn products_are_those_of_matrices() {
    let mut sample = Sample::new(&[(DType::F32, false), (DType::F32, false), (DType::F32, true)]);
    let (rows, columns, depth) = (sample.word(2), sample.word(1), sample.word(3));
    let [row, column, place] = [0, 1, 2].map(|axis| sample.coordinate(axis));
    let left = sample.affine(row, depth, place);
    let right = sample.affine(place, columns, column);
    let result = sample.affine(row, columns, column);
    let (left, right) = (sample.load(0, left), sample.load(1, right));
    let folded = sample.folded(0, 0, Type::F32);
    let negative = sample.real(Real::Neg, &[folded]);
    let elements = vec![store(2, result, negative)];
    let product =
        Product { batch: vec![], rows, columns, depth, folds: vec![], left, right, elements, tile: Tile::Small };
    let kernel = sample.kernel("product", Body::Product(product));
    let y = run_on(&kernel, &[&bytes(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), &bytes(&[1.0, 0.0, 2.0]), &[0; 8]]);
    assert_eq!(floats(&y[2]), [-7.0, -16.0]);
}

#[test]
fn narrow_elements_are_packed_and_every_index_is_checked() {
    let mut sample = Sample::new(&[(DType::U8, false), (DType::F16, true)]);
    let length = sample.word(3);
    let index = sample.coordinate(0);
    let x = sample.load(0, index);
    let y = sample.apply(crate::scalar::TypedOp::ToF32, &[x]);
    let kernel = sample.elements("map", &[length], vec![sample::store(1, index, y)]);
    let y = run_on(&kernel, &[&[0, 1, 255], &[7; 8]]);
    assert_eq!(y[1], [0, 0, 0, 0x3c, 0xf8, 0x5b, 7, 7]);
    let error = run(&kernel, &[3], &mut [vec![0; 2], vec![0; 8]]).unwrap_err();
    assert_eq!(error.message, "kernel 'map', buffer 0, at [2]: element 2 of a buffer of 2 bytes of u8");
}
