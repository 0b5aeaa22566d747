//! Reductions of rows: rules, element types, axes and sizes.

use residua_portable::Random;

use super::compare::{check, contents};
use crate::dtype::DType;
use crate::kernel::{Body, Combine, Fold, Rows, TensorKernel};
use crate::sample::{Lines, Sample, composition, fold, map_of, reduction, softmax, store};
use crate::scalar::{Type, TypedOp};

const SIZES: [[i64; 2]; 10] = [[3, 0], [0, 3], [1, 1], [3, 4], [4, 3], [5, 5], [2, 31], [31, 2], [9, 64], [3, 1000]];

#[test]
fn every_reduction_of_every_type_along_each_axis() {
    let mut random = Random(4);
    let rules = [
        (Combine::Sum, &[DType::F32, DType::F16][..]),
        (Combine::PlainSum, &[DType::I32, DType::U32]),
        (Combine::Prod, &[DType::F32, DType::I32]),
        (Combine::Min, &DType::ALL),
        (Combine::Max, &DType::ALL),
        (Combine::ArgMin, &[DType::F32, DType::I32, DType::U32, DType::U8]),
        (Combine::ArgMax, &[DType::F32, DType::I32, DType::U32, DType::U8]),
        (Combine::Variance, &[DType::F32]),
    ];
    for (combine, dtypes) in rules {
        for dtype in dtypes {
            for shape in SIZES {
                for axis in [0, 1] {
                    let is_place = matches!(combine, Combine::ArgMin | Combine::ArgMax);
                    // The place in an empty row is no place.
                    if is_place && shape[axis] == 0 {
                        continue;
                    }
                    let result = if is_place { DType::I32 } else { *dtype };
                    let kernel = reduction(shape, axis, combine.clone(), *dtype, result);
                    let mut values = contents(&mut random, *dtype, (shape[0] * shape[1]) as usize);
                    if *dtype == DType::F32 && matches!(combine, Combine::Prod) {
                        // Products of a thousand numbers stay in range near 1.
                        values = (0..values.len() / 4)
                            .flat_map(|_| (random.between((0.9, 1.1)) as f32).to_le_bytes())
                            .collect();
                    }
                    let out = contents(&mut random, result, shape[1 - axis] as usize);
                    let about = format!("{combine:?} of {} {shape:?} along {axis}", dtype.name());
                    // The order of variances differs: some roundings of 1,000.
                    let tolerance = if matches!(combine, Combine::Variance) { 1e-5 } else { 2e-7 };
                    check(&kernel, &[values, out], &[], tolerance, 1e-30, &about);
                }
            }
        }
    }
}

#[test]
fn nans_and_infinities_are_reduced_as_they_must() {
    let special = [1.0, f32::NAN, -2.0, f32::INFINITY, 5.0, f32::NEG_INFINITY, 0.0, -0.0];
    let mut random = Random(5);
    for combine in [Combine::Sum, Combine::Min, Combine::Max, Combine::ArgMin, Combine::ArgMax] {
        for axis in [0, 1] {
            for case in 0..40 {
                let range = if case % 2 == 0 { 8 } else { 2 };
                let shape = [7, 9];
                let is_place = matches!(combine, Combine::ArgMin | Combine::ArgMax);
                let result = if is_place { DType::I32 } else { DType::F32 };
                let kernel = reduction(shape, axis, combine.clone(), DType::F32, result);
                // All of a row may be infinite.
                let values: Vec<u8> = (0..63)
                    .flat_map(|_| {
                        match case {
                            0 => f32::INFINITY,
                            1 => f32::NEG_INFINITY,
                            2 => f32::NAN,
                            _ => special[random.below(range)],
                        }
                        .to_le_bytes()
                    })
                    .collect();
                let out = vec![0; 4 * shape[1 - axis] as usize];
                check(&kernel, &[values, out], &[], 0.0, 0.0, &format!("{combine:?} along {axis}, case {case}"));
            }
        }
    }
}

#[test]
fn sums_keep_what_f32_would_lose() {
    // 1e8 and as many ones as disappear beside it.
    let mut values = vec![1f32; 1000];
    (values[0], values[999]) = (1e8, -1e8);
    let kernel = reduction([1, 1000], 1, Combine::Sum, DType::F32, DType::F32);
    let mut buffers = [super::machine::reals(&values), vec![0; 4]];
    super::machine::run(&kernel, &mut buffers, &[]);
    assert_eq!(super::machine::to_reals(&buffers[1]), [998.0]);
}

#[test]
fn a_softmax_along_each_axis_is_that_of_the_interpreter() {
    let mut random = Random(6);
    for shape in SIZES {
        for (axis, result) in [(1, DType::F32), (1, DType::F16), (0, DType::F32)] {
            let kernel = softmax(shape, axis, result);
            let count = (shape[0] * shape[1]) as usize;
            let buffers = [contents(&mut random, DType::F32, count), contents(&mut random, result, count)];
            let tolerance = if result == DType::F16 { 1e-3 } else { 5e-7 };
            check(&kernel, &buffers, &[], tolerance, 1e-7, &format!("softmax of {shape:?} along {axis}"));
        }
    }
}

#[test]
fn a_softmax_passes_what_is_no_number_and_forgets_what_is_far_below() {
    // 40 points are a body of eight vectors and two single ones.
    let row = |special: &[(usize, f32)]| {
        let mut row: Vec<f32> = (0..40).map(|place| (place % 7) as f32 - 3.0).collect();
        special.iter().for_each(|(place, value)| row[*place] = *value);
        row
    };
    let rows = [
        row(&[]),
        row(&[(5, -1e9), (39, -1e9), (0, f32::NEG_INFINITY)]),
        row(&[(17, f32::NAN)]),
        row(&[(38, f32::INFINITY)]),
        vec![f32::NEG_INFINITY; 40],
        // Quotients below the normal numbers.
        row(&[(3, 90.0)]),
        row(&[(3, 100.0)]),
    ];
    let kernel = softmax([rows.len() as i64, 40], 1, DType::F32);
    let buffers = [super::machine::reals(&rows.concat()), vec![0; 4 * 40 * rows.len()]];
    // Roundings of an exponential, a sum, a reciprocal and a product; a unit of the smallest numbers.
    check(&kernel, &buffers, &[], 5e-7, 3e-45, "softmax of special rows");
}

#[test]
fn a_softmax_is_near_that_in_f64_where_it_is_small_too() {
    // Down to e⁻⁸⁰; the last points are no whole vector.
    let row: Vec<f32> = (0..1003).map(|place| (place * 7 % 1003) as f32 * -0.08).collect();
    let kernel = softmax([1, row.len() as i64], 1, DType::F32);
    let mut buffers = [super::machine::reals(&row), vec![0; 4 * row.len()]];
    super::machine::run(&kernel, &mut buffers, &[]);
    let exact = |x: &f32| f64::from(*x).exp();
    let sum: f64 = row.iter().map(exact).sum();
    for (x, found) in row.iter().zip(super::machine::to_reals(&buffers[1])) {
        let expected = exact(x) / sum;
        let error = (f64::from(found) - expected).abs() / expected;
        // Two or five units of 2⁻²³ of the exponential; one and a half of the sum, the reciprocal and the product.
        let units = if *x > -20.0 { 3.5 } else { 6.5 };
        assert!(error <= units * f64::from(f32::EPSILON), "{x}: {found:e} for {expected:e}");
    }
}

#[test]
fn users_rules_keep_their_order() {
    let mut random = Random(7);
    for shape in SIZES {
        for axis in [0, 1] {
            let mut sample = Sample::new(&[(DType::F32, false), (DType::F32, true), (DType::F32, true)]);
            let Lines { outer, row, place, index, .. } = sample.lines(shape, axis);
            let x = sample.load(0, index);
            let operands = map_of(&mut sample, x);
            let [a, b] = [0, 1].map(|result| sample.folded(0, result, Type::F32));
            let rows = Rows {
                outer: vec![outer],
                row: vec![row],
                valid: None,
                folds: vec![fold(Combine::By(composition()), operands)],
                elements: vec![],
                results: vec![store(1, place, a), store(2, place, b)],
            };
            let kernel = sample.kernel("by", Body::Rows(rows));
            let values = contents(&mut random, DType::F32, (shape[0] * shape[1]) as usize);
            let out = vec![0; 4 * shape[1 - axis] as usize];
            // Sums of up to 1,000 terms of up to 4 that are rounded in another order.
            check(&kernel, &[values, out.clone(), out], &[], 1e-5, 1e-3, &format!("{shape:?} along {axis}"));
        }
    }
}

/// A sum or variance in two kernels: states of blocks, of which the last is shorter, and what they merge to.
fn in_blocks(combine: &Combine, rows: i64, columns: i64, block: i64) -> [TensorKernel; 2] {
    let blocks = (columns + block - 1) / block;
    let numbers = if matches!(combine, Combine::Variance) { 3u32 } else { 2 };
    let dtype = |number: u32| match combine {
        Combine::ArgMax if number == 1 => DType::U32,
        _ => DType::F32,
    };
    let mut buffers = vec![(DType::F32, false)];
    buffers.extend((0..numbers).map(|number| (dtype(number), true)));
    let mut sample = Sample::new(&buffers);
    let [count, length, outer, whole] = [blocks, block, rows, columns].map(|size| sample.word(size));
    let (own, row, within) = (sample.coordinate(0), sample.coordinate(1), sample.coordinate(2));
    let place = sample.affine(own, length, within);
    let end = sample.extent(whole);
    let valid = sample.apply(TypedOp::Lt, &[place, end]);
    let index = sample.affine(row, whole, place);
    let x = sample.load(0, index);
    let at = sample.affine(own, outer, row);
    let operands = if matches!(combine, Combine::ArgMax) { vec![x, place] } else { vec![x] };
    let results = (0..numbers)
        .map(|number| {
            let value = sample.folded(0, number, Type::of(dtype(number)));
            store(number + 1, at, value)
        })
        .collect();
    let fold = Fold { combine: combine.clone(), operands, merges_states: false, keeps_state: true };
    let first = Rows {
        outer: vec![count, outer],
        row: vec![length],
        valid: Some(valid),
        folds: vec![fold],
        elements: vec![],
        results,
    };
    let first = sample.kernel("blocks", Body::Rows(first));

    let mut buffers: Vec<_> = (0..numbers).map(|number| (dtype(number), false)).collect();
    let result = if matches!(combine, Combine::ArgMax) { DType::I32 } else { DType::F32 };
    buffers.push((result, true));
    let mut sample = Sample::new(&buffers);
    let [count, outer] = [blocks, rows].map(|size| sample.word(size));
    let (row, own) = (sample.coordinate(0), sample.coordinate(1));
    let at = sample.affine(own, outer, row);
    let operands = (0..numbers).map(|number| sample.load(number, at)).collect();
    let value = sample.folded(0, 0, Type::of(result));
    let fold = Fold { combine: combine.clone(), operands, merges_states: true, keeps_state: false };
    let second = Rows {
        outer: vec![outer],
        row: vec![count],
        valid: None,
        folds: vec![fold],
        elements: vec![],
        results: vec![store(numbers, row, value)],
    };
    [first, sample.kernel("merge", Body::Rows(second))]
}

#[test]
fn blocks_of_rows_merge_to_the_whole() {
    let mut random = Random(8);
    for combine in [Combine::Sum, Combine::Prod, Combine::Variance, Combine::ArgMax] {
        for (rows, columns, block) in [(1, 1000, 64), (1, 10, 4), (5, 37, 16), (3, 64, 16)] {
            let [first, second] = in_blocks(&combine, rows, columns, block);
            let count = (rows * columns) as usize;
            // Products of a thousand numbers stay in range near 1.
            let values = match combine {
                Combine::Prod => (0..count).flat_map(|_| (random.between((0.9, 1.1)) as f32).to_le_bytes()).collect(),
                _ => contents(&mut random, DType::F32, count),
            };
            let states = ((columns + block - 1) / block * rows) as usize;
            let mut buffers = vec![values.clone()];
            buffers.resize(first.buffers.len(), vec![0; 4 * states]);
            let about = format!("{combine:?} of [{rows}, {columns}] in blocks of {block}");
            // The numbers of a state may differ where the state is as good: its result is compared.
            super::machine::run(&first, &mut buffers, &[]);
            let mut merged: Vec<Vec<u8>> = buffers[1..].to_vec();
            merged.push(vec![0; 4 * rows as usize]);
            super::machine::run(&second, &mut merged, &[]);
            let is_place = matches!(combine, Combine::ArgMax);
            let result = if is_place { DType::I32 } else { DType::F32 };
            let whole = reduction([rows, columns], 1, combine.clone(), DType::F32, result);
            let mut expected = vec![values, vec![0; 4 * rows as usize]];
            super::machine::run(&whole, &mut expected, &[]);
            let found = merged.last().unwrap();
            if is_place {
                assert_eq!(*found, expected[1], "{about}");
                continue;
            }
            let (found, expected) = (super::machine::to_reals(found), super::machine::to_reals(&expected[1]));
            for (a, b) in found.iter().zip(&expected) {
                let tolerance = if matches!(combine, Combine::Variance) { 1e-6 } else { 2.5e-7 };
                assert!((a - b).abs() <= tolerance * b.abs(), "{about}: {a} for {b}");
            }
        }
    }
}
