//! Products with few rows, which pack nothing: the right factor comes from memory once.

use std::hint::black_box;
use std::ops::Range;

use residua_base::threads::{Divided, are_several, for_each_piece};

use super::blocks::DEPTH_BLOCK;
use super::elements::StoredNumber;
use super::four::Four;
use super::quantised::Quantised;
use super::{Cells, Extents, MatrixFactor, ProductTarget, Reals};

/// Columns whose sums stay in the first cache.
const COLUMN_BLOCK: usize = 4096;
/// Products of two numbers in a part, about; and where rows of the right factor are read, of which long pieces are to follow in memory.
const PART: usize = 1 << 21;
const LONG_PART: usize = 1 << 26;
/// Places along the depth of a block of a sum by [`dots`]: each of its 8 parts has 128 terms.
const DOT_BLOCK: usize = 1024;
/// Pieces of a part, and columns of one at least.
const PIECES: usize = 8;
const LEAST_PIECE: usize = 32;
/// Columns whose sums are made at once, so that a row is read once for all of them.
const TOGETHER: usize = 4;
/// Numbers of f32 in a line of a cache.
const LINE: usize = 16;

/// Most rows of the left factor for which packing the right one takes longer than what it saves; and most rows where the right factor is f32 whose
/// columns lie along a depth of some length.
pub const FEW: usize = 4;
const SEVERAL: usize = 16;
const LONG: usize = 128;

/// Whether a product has so few rows that the right factor is read where it lies.
pub fn suits(Extents { rows, depth, .. }: Extents, right: &Reals) -> bool {
    let is_in_order = match right {
        Reals::Singles(MatrixFactor { outer_stride, depth_stride, .. }) => *outer_stride == 1 || *depth_stride == 1,
        Reals::Halves(MatrixFactor { outer_stride, depth_stride, .. }) => *outer_stride == 1 || *depth_stride == 1,
        Reals::Quantised(_) => true,
        Reals::ScatteredSingles(_) | Reals::ScatteredHalves(_) => false,
    };
    let is_along_depth = matches!(right, Reals::Singles(MatrixFactor { depth_stride: 1, .. })) && depth >= LONG;
    (rows <= FEW && is_in_order) || (rows <= SEVERAL && is_along_depth)
}

/// Columns of a part.
pub fn part_columns(Extents { rows, depth, .. }: Extents, right: &Reals) -> usize {
    let part = match right {
        Reals::Singles(MatrixFactor { outer_stride: 1, .. }) | Reals::Halves(MatrixFactor { outer_stride: 1, .. }) => {
            LONG_PART
        }
        _ => PART,
    };
    (part / (rows * depth).max(1)).clamp(TOGETHER, COLUMN_BLOCK).next_multiple_of(TOGETHER)
}

/// The columns of a range of a product.
#[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
pub fn product(
    extents: Extents,
    columns: Range<usize>,
    left: &Reals,
    right: &Reals,
    target: &mut ProductTarget<f32>,
    memory: &mut Vec<f32>,
) {
    let Extents { rows, depth, .. } = extents;
    let numbers = match left {
        Reals::Singles(MatrixFactor { values, outer_stride, depth_stride: 1 })
            if rows == 1 || *outer_stride == depth =>
        {
            &values[..rows * depth]
        }
        _ => {
            memory.resize(rows * depth, 0.0);
            for (row, numbers) in memory.chunks_exact_mut(depth).enumerate() {
                left.write(row, numbers);
            }
            &memory[..]
        }
    };
    let ProductTarget { row_stride, column_stride, .. } = *target;
    let count = target.values.len();
    let values = Divided::new(target.values);
    let size = piece_columns(columns.len());
    for_each_piece(columns.len().div_ceil(size), |piece| {
        let first = columns.start + piece * size;
        let columns = first..columns.end.min(first + size);
        // SAFETY: each piece writes the elements of its own columns.
        let values = unsafe { values.cells(0..count) };
        let target = Cells { values, row_stride, column_stride };
        match right {
            Reals::Singles(right) => elements(columns, numbers, depth, right, target),
            Reals::Halves(right) => elements(columns, numbers, depth, right, target),
            Reals::Quantised(right) => quantised(columns, numbers, depth, right, target),
            // Of these a product of few rows has tiles.
            Reals::ScatteredSingles(_) | Reals::ScatteredHalves(_) => {}
        }
    });
}

/// Columns of a piece of a part. All but the last have whole groups of those whose sums are made at once, so that sums do not depend on pieces.
fn piece_columns(columns: usize) -> usize {
    if are_several() { (columns / PIECES).next_multiple_of(TOGETHER).max(LEAST_PIECE) } else { columns.max(1) }
}

#[inline]
#[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
fn elements<T: StoredNumber>(
    columns: Range<usize>,
    left: &[f32],
    depth: usize,
    right: &MatrixFactor<T>,
    target: Cells,
) {
    if right.outer_stride == 1 {
        along_columns(columns, left, depth, right, target);
    } else {
        along_depth(columns, left, depth, right, target);
    }
}

/// Adds multiples of rows of the right factor, four rows at a time.
#[inline]
#[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
fn along_columns<T: StoredNumber>(
    columns: Range<usize>,
    left: &[f32],
    depth: usize,
    right: &MatrixFactor<T>,
    target: Cells,
) {
    let mut sums = [0.0; COLUMN_BLOCK];
    let sums = &mut sums[..columns.len()];
    for first_depth in (0..depth).step_by(DEPTH_BLOCK) {
        let last = (first_depth + DEPTH_BLOCK).min(depth);
        for (row, left) in left.chunks_exact(depth).enumerate() {
            sums.fill(0.0);
            let numbers = |depth: usize| &right.values[depth * right.depth_stride + columns.start..][..columns.len()];
            let mut place = first_depth;
            while place + 4 <= last {
                let factors = [0, 1, 2, 3].map(|i| left[place + i]);
                add_multiples(sums, factors, [0, 1, 2, 3].map(|i| numbers(place + i)));
                place += 4;
            }
            for (factor, place) in left[place..last].iter().zip(place..) {
                for (sum, number) in sums.iter_mut().zip(numbers(place)) {
                    *sum += factor * number.number();
                }
            }
            target.put(row, columns.start, sums, first_depth == 0);
        }
    }
}

/// Adds four multiples, one after the other.
#[inline]
#[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
fn add_multiples<T: StoredNumber>(sums: &mut [f32], factors: [f32; 4], numbers: [&[T]; 4]) {
    let (fours, rest) = sums.as_chunks_mut::<4>();
    let done = 4 * fours.len();
    let chunks = numbers.map(|numbers| numbers.as_chunks::<4>().0);
    let [a, b, c, d] = [0, 1, 2, 3].map(|i| factors[i]);
    let (a4, b4, c4, d4) = (Four::all(a), Four::all(b), Four::all(c), Four::all(d));
    for ((((sum, a), b), c), d) in fours.iter_mut().zip(chunks[0]).zip(chunks[1]).zip(chunks[2]).zip(chunks[3]) {
        let mut four = Four::new(*sum).plus_product(a4, T::four(a));
        four = four.plus_product(b4, T::four(b));
        four = four.plus_product(c4, T::four(c));
        *sum = four.plus_product(d4, T::four(d)).numbers();
    }
    for (at, sum) in rest.iter_mut().enumerate() {
        for (factor, numbers) in [a, b, c, d].into_iter().zip(numbers) {
            *sum += factor * numbers[done + at].number();
        }
    }
}

/// Scalar products of rows and columns.
#[inline]
#[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
fn along_depth<T: StoredNumber>(
    columns: Range<usize>,
    left: &[f32],
    depth: usize,
    right: &MatrixFactor<T>,
    target: Cells,
) {
    let numbers = |column: usize| &right.values[column * right.outer_stride..][..depth];
    let in_pairs = if left.len() > FEW * depth { left.len() / depth / 2 * 2 } else { 0 };
    let mut column = columns.start;
    while column + TOGETHER <= columns.end {
        let numbers = [0, 1, 2, 3].map(|k| numbers(column + k));
        // The columns that follow come from memory in shares, one before each pair of rows, while sums are computed.
        let next = (column + TOGETHER) * right.outer_stride;
        let next = right.values.get(next..next + TOGETHER * depth).unwrap_or_default();
        let mut shares = next.chunks((2 * next.len() / in_pairs.max(1)).next_multiple_of(LINE).max(LINE));
        for row in (0..in_pairs).step_by(2) {
            let share = shares.next().unwrap_or_default();
            black_box(share.iter().step_by(LINE).fold(0.0, |sum, number| sum + number.number()));
            let rows = [0, 1].map(|k| &left[(row + k) * depth..][..depth]);
            for (k, dots) in dots_of_two(numbers, rows).iter().enumerate() {
                target.put(row + k, column, dots, true);
            }
        }
        for (row, left) in left.chunks_exact(depth).enumerate().skip(in_pairs) {
            target.put(row, column, &dots_of(numbers, left), true);
        }
        column += TOGETHER;
    }
    for column in column..columns.end {
        for (row, left) in left.chunks_exact(depth).enumerate() {
            target.put(row, column, &dots_of([numbers(column)], left), true);
        }
    }
}

/// Σ aᵢbᵢ of several columns b, in blocks.
#[inline]
#[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
fn dots_of<T: StoredNumber, const N: usize>(columns: [&[T]; N], row: &[f32]) -> [f32; N] {
    let mut sums = [0.0; N];
    for (block, row) in row.chunks(DOT_BLOCK).enumerate() {
        let first = block * DOT_BLOCK;
        let of_block = dots(columns.map(|column| &column[first..first + row.len()]), row);
        for (sum, of_block) in sums.iter_mut().zip(of_block) {
            *sum += of_block;
        }
    }
    sums
}

/// Σ aᵢbᵢ of four columns b and two rows, in blocks.
#[inline]
#[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
fn dots_of_two<T: StoredNumber>(columns: [&[T]; TOGETHER], rows: [&[f32]; 2]) -> [[f32; TOGETHER]; 2] {
    let mut sums = [[0.0; TOGETHER]; 2];
    for first in (0..rows[0].len()).step_by(DOT_BLOCK) {
        let last = (first + DOT_BLOCK).min(rows[0].len());
        let of_block = dots_of_block(columns.map(|column| &column[first..last]), rows.map(|row| &row[first..last]));
        for (sums, of_block) in sums.iter_mut().zip(of_block) {
            for (sum, of_block) in sums.iter_mut().zip(of_block) {
                *sum += of_block;
            }
        }
    }
    sums
}

/// Σ aᵢbᵢ of four columns b and two rows, in 4 parts each: 8 sums, the rows and a column fit the registers of x86-64. It is a function of its own
/// as the tile of long products is.
#[inline(never)]
#[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
fn dots_of_block<T: StoredNumber>(columns: [&[T]; TOGETHER], rows: [&[f32]; 2]) -> [[f32; TOGETHER]; 2] {
    let [row, other_row] = rows.map(|row| row.as_chunks::<4>().0);
    let [a, b, c, d] = columns.map(|column| column.as_chunks::<4>().0);
    let mut sums = [[Four::all(0.0); TOGETHER]; 2];
    for (((((row, other_row), a), b), c), d) in row.iter().zip(other_row).zip(a).zip(b).zip(c).zip(d) {
        let rows = [Four::new(*row), Four::new(*other_row)];
        for (column, numbers) in [a, b, c, d].into_iter().enumerate() {
            let numbers = T::four(numbers);
            for k in 0..2 {
                sums[k][column] = sums[k][column].plus_product(rows[k], numbers);
            }
        }
    }
    let done = rows[0].len() / 4 * 4;
    let mut results = [[0.0; TOGETHER]; 2];
    for k in 0..2 {
        let [x, y, z, w] = Four::transposed(sums[k]);
        results[k] = x.plus(y).plus(z.plus(w)).numbers();
        for (result, column) in results[k].iter_mut().zip(columns) {
            for (a, b) in rows[k][done..].iter().zip(&column[done..]) {
                *result += a * b.number();
            }
        }
    }
    results
}

/// Σ aᵢbᵢ of several columns b, in 8 parts each.
#[inline]
#[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
fn dots<T: StoredNumber, const N: usize>(columns: [&[T]; N], row: &[f32]) -> [f32; N] {
    let (pairs, _) = row.as_chunks::<8>();
    let of_columns = columns.map(|column| &column.as_chunks::<8>().0[..pairs.len()]);
    let mut sums = [[Four::all(0.0); 2]; N];
    for (place, pair) in pairs.iter().enumerate() {
        let pair = pair.as_chunks::<4>().0;
        let pair = [Four::new(pair[0]), Four::new(pair[1])];
        for column in 0..N {
            let numbers = of_columns[column][place].as_chunks::<4>().0;
            for half in 0..2 {
                sums[column][half] = sums[column][half].plus_product(pair[half], T::four(&numbers[half]));
            }
        }
    }
    let done = 8 * pairs.len();
    let mut results = [0.0; N];
    for column in 0..N {
        let [x, y, z, w] = sums[column][0].plus(sums[column][1]).numbers();
        results[column] = (x + y) + (z + w);
        for (a, b) in row[done..].iter().zip(&columns[column][done..]) {
            results[column] += a * b.number();
        }
    }
    results
}

/// Products with the rows of a quantised factor.
#[inline]
#[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
fn quantised(columns: Range<usize>, left: &[f32], depth: usize, right: &Quantised, target: Cells) {
    let mut sums = [0.0; COLUMN_BLOCK];
    let sums = &mut sums[..columns.len()];
    for (row, left) in left.chunks_exact(depth).enumerate() {
        right.dots(left, columns.start, sums);
        target.put(row, columns.start, sums, true);
    }
}
