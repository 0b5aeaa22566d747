//! Reductions of rows: rules, element types, axes and sizes.

use std::rc::Rc;

use residua_ir::graph::{Graph, InputId, Op as Real};

use super::compare::{check, contents};
use super::machine::Random;
use crate::dtype::DType;
use crate::expr::Rule;
use crate::kernel::{Body, Combine, Fold, Kernel, Rows};
use crate::sample::{Sample, fold, reduction, softmax, store};
use crate::scalar::{Op, Type};

const SIZES: [[i64; 2]; 10] = [[3, 0], [0, 3], [1, 1], [3, 4], [4, 3], [5, 5], [2, 31], [31, 2], [9, 64], [3, 1000]];

/// A rule that does not commute: products of matrices [[a, b], [0, 1]], as (a, b).
pub fn affine_maps() -> Rc<Rule> {
    let mut graph = Graph::new();
    let [a, b, c, d] = [0, 1, 2, 3].map(|input| graph.input(InputId(input)));
    let factor = graph.apply_raw(Real::Mul, &[a, c]);
    let moved = graph.apply_raw(Real::Mul, &[b, c]);
    let offset = graph.apply_raw(Real::Add, &[moved, d]);
    Rc::new(Rule { identity: vec![1.0, 0.0], merge: graph.check(4).unwrap(), results: vec![factor, offset] })
}

#[test]
fn every_reduction_of_every_type_along_each_axis() {
    let mut random = Random(4);
    let rules = [
        (Combine::Sum, &[DType::F32, DType::F16][..]),
        (Combine::IntSum, &[DType::I32, DType::U32]),
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
                            .flat_map(|_| (random.between(0.9, 1.1) as f32).to_le_bytes())
                            .collect();
                    }
                    let out = contents(&mut random, result, shape[1 - axis] as usize);
                    let about = format!("{combine:?} of {} {shape:?} along {axis}", dtype.name());
                    // The order of products and variances differs: some roundings of 1,000.
                    let tolerance = if matches!(combine, Combine::Prod | Combine::Variance) { 1e-5 } else { 2e-7 };
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
fn a_softmax_takes_rows_thrice() {
    let mut random = Random(6);
    for [rows, columns] in SIZES {
        for result in [DType::F32, DType::F16] {
            let kernel = softmax(rows, columns, result);
            let count = (rows * columns) as usize;
            let buffers = [contents(&mut random, DType::F32, count), contents(&mut random, result, count)];
            let tolerance = if result == DType::F16 { 1e-3 } else { 5e-7 };
            check(&kernel, &buffers, &[], tolerance, 1e-7, &format!("softmax of [{rows}, {columns}]"));
        }
    }
}

#[test]
fn a_softmax_along_columns_takes_rows_side_by_side() {
    let mut random = Random(10);
    for [rows, columns] in SIZES {
        let mut sample = Sample::new(&[(DType::F32, false), (DType::F32, true)]);
        let (outer, row) = (sample.word(columns), sample.word(rows));
        let (place, along) = (sample.coordinate(0), sample.coordinate(1));
        let index = sample.affine(along, outer, place);
        let x = sample.load(0, index);
        let [largest, sum] = [0, 1].map(|fold| sample.folded(fold, 0, Type::F32));
        let difference = sample.real(Real::Sub, &[x, largest]);
        let e = sample.real(Real::Exp, &[difference]);
        let quotient = sample.real(Real::Div, &[e, sum]);
        let rows_of = Rows {
            outer: vec![outer],
            row: vec![row],
            valid: None,
            folds: vec![fold(Combine::Max, vec![x]), fold(Combine::Sum, vec![e])],
            elements: vec![store(1, index, quotient)],
            results: vec![],
        };
        let kernel = sample.kernel("softmax", Body::Rows(rows_of));
        let count = (rows * columns) as usize;
        let buffers = [contents(&mut random, DType::F32, count), contents(&mut random, DType::F32, count)];
        check(&kernel, &buffers, &[], 5e-7, 1e-7, &format!("softmax of [{rows}, {columns}] along columns"));
    }
}

#[test]
fn users_rules_keep_their_order() {
    let mut random = Random(7);
    for shape in SIZES {
        for axis in [0, 1] {
            let mut sample = Sample::new(&[(DType::F32, false), (DType::F32, true), (DType::F32, true)]);
            let extents = shape.map(|extent| sample.word(extent));
            let (outer, row) = (extents[1 - axis], extents[axis]);
            let (place, along) = (sample.coordinate(0), sample.coordinate(1));
            let index = if axis == 1 { sample.affine(place, row, along) } else { sample.affine(along, outer, place) };
            let x = sample.load(0, index);
            // Factors near 1, so that a thousand of them stay in range.
            let (scale, one) = (sample.f32(1e-3), sample.f32(1.0));
            let part = sample.real(Real::Mul, &[x, scale]);
            let factor = sample.real(Real::Add, &[part, one]);
            let [a, b] = [0, 1].map(|result| sample.folded(0, result, Type::F32));
            let fold = Fold {
                combine: Combine::By(affine_maps()),
                operands: vec![factor, x],
                merges_states: false,
                keeps_state: false,
            };
            let rows = Rows {
                outer: vec![outer],
                row: vec![row],
                valid: None,
                folds: vec![fold],
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
fn in_blocks(combine: &Combine, rows: i64, columns: i64, block: i64) -> [Kernel; 2] {
    let blocks = (columns + block - 1) / block;
    let numbers = if matches!(combine, Combine::Sum | Combine::ArgMax) { 2u32 } else { 3 };
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
    let valid = sample.apply(Op::Lt, &[place, end]);
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
    for combine in [Combine::Sum, Combine::Variance, Combine::ArgMax] {
        for (rows, columns, block) in [(1, 1000, 64), (1, 10, 4), (5, 37, 16), (3, 64, 16)] {
            let [first, second] = in_blocks(&combine, rows, columns, block);
            let count = (rows * columns) as usize;
            let values = contents(&mut random, DType::F32, count);
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
                let tolerance = if matches!(combine, Combine::Sum) { 2.5e-7 } else { 1e-6 };
                assert!((a - b).abs() <= tolerance * b.abs(), "{about}: {a} for {b}");
            }
        }
    }
}
