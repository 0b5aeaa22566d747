//! Kernels of sorts: of rows in workgroup memory, and of long rows by digits.

use crate::dtype::DType;
use crate::expr::Digit;
use crate::kernel::{Body, DigitCounts, DigitSort, Extent, Sort, TensorKernel};
use crate::sample::{Sample, store};
use crate::scalar::Type;

/// Rows of all lengths that have a text of their own, with known extents and words; digits of one row and of several.
pub fn all() -> Vec<TensorKernel> {
    let mut cases = Vec::new();
    for length in [1, 64, 65, 200, 512, 1000, 2048] {
        cases.extend([sort(3, length, length, true), sort(1, length, 1, false)]);
    }
    for (rows, length) in [(1, 2049), (3, 5000)] {
        cases.extend([digit_counts(rows, length), digit_sort(rows, length)]);
    }
    cases
}

/// Those whose texts are kept, by the names of files.
pub fn golden() -> Vec<(&'static str, TensorKernel)> {
    vec![
        ("sort", sort(30, 1000, 40, true)),
        ("digit_counts", digit_counts(2, 5000)),
        ("digit_sort", digit_sort(2, 5000)),
    ]
}

/// The smallest keys of rows: their places, and numbers from these places.
fn sort(rows: u32, length: u32, kept: u32, has_words: bool) -> TensorKernel {
    let mut sample = Sample::new(&[(DType::U32, false), (DType::F32, false), (DType::U32, true), (DType::F32, true)]);
    let [outer, length_of, kept] =
        [rows, length, kept].map(|extent| if has_words { sample.word(extent.into()) } else { Extent::Known(extent) });
    let [row, place, rank] = [0, 1, 2].map(|axis| sample.coordinate(axis));
    let from = sample.affine(row, length_of, place);
    let key = sample.load(0, from);
    let found = sample.folded(0, 0, Type::U32);
    let there = sample.affine(row, length_of, found);
    let number = sample.load(1, there);
    let to = sample.affine(row, kept, rank);
    let elements = vec![store(2, to, found), store(3, to, number)];
    let body = Sort { outer: vec![outer], length: length_of, kept, most: length, bits: 32, key, elements };
    sample.kernel("sort", Body::Sort(body))
}

/// Counts of the second digit.
fn digit_counts(rows: u32, length: u32) -> TensorKernel {
    let mut sample = Sample::new(&[(DType::U32, false), (DType::U32, true)]);
    let (outer, length_of) = (sample.word(rows.into()), sample.word(length.into()));
    let blocks = length.div_ceil(Digit::BLOCK);
    let [row, place, digit, block] = [0, 1, 2, 3].map(|axis| sample.coordinate(axis));
    let from = sample.affine(row, length_of, place);
    let key = sample.load(0, from);
    let of_row = sample.affine(row, Extent::Known(Digit::VALUES), digit);
    let to = sample.affine(of_row, Extent::Known(blocks), block);
    let count = sample.folded(0, 0, Type::U32);
    let body = DigitCounts {
        outer: vec![outer],
        length: length_of,
        blocks,
        digit: Digit { shift: 8 },
        key,
        elements: vec![store(1, to, count)],
    };
    sample.kernel("digit_counts", Body::DigitCounts(body))
}

/// The order by the second digit, of totals and of sums before blocks.
fn digit_sort(rows: u32, length: u32) -> TensorKernel {
    let buffers = [(DType::U32, false), (DType::U32, false), (DType::U32, false), (DType::U32, true)];
    let mut sample = Sample::new(&buffers);
    let (outer, length_of) = (sample.word(rows.into()), sample.word(length.into()));
    let blocks = length.div_ceil(Digit::BLOCK);
    let [row, place, rank, digit, block] = [0, 1, 2, 3, 4].map(|axis| sample.coordinate(axis));
    let from = sample.affine(row, length_of, place);
    let key = sample.load(0, from);
    let of_row = sample.affine(row, Extent::Known(Digit::VALUES), digit);
    let total = sample.load(1, of_row);
    let of_block = sample.affine(of_row, Extent::Known(blocks), block);
    let before = sample.load(2, of_block);
    let found = sample.folded(0, 0, Type::U32);
    let to = sample.affine(row, length_of, rank);
    let body = DigitSort {
        outer: vec![outer],
        length: length_of,
        blocks,
        digit: Digit { shift: 8 },
        key,
        total,
        before,
        elements: vec![store(3, to, found)],
    };
    sample.kernel("digit_sort", Body::DigitSort(body))
}
