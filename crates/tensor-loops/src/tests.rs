use proptest::prelude::*;

use super::blocks::DEPTH_BLOCK;
use super::elements::number_of_half;
use super::format::{CURVE, FORMATS, Field, Format, Level, Minimum};
use super::{
    BlockScales, Extents, MatrixFactor, MatrixProduct, Panels, ProductTarget, Quantised, Reals, Scattered,
    integer_product,
};

fn product(extents: Extents, left: Reals, right: Reals, target: &mut ProductTarget<f32>) {
    let (product, mut panels) = (MatrixProduct::new(extents, left, right), Panels::default());
    (0..product.parts()).for_each(|part| product.part(part, target, &mut panels, 0));
}

/// A matrix with strides: contiguous along one of its axes, or along none.
fn strides(layout: u32, outer: usize, depth: usize) -> (usize, usize, usize) {
    match layout {
        0 => (1, outer, outer * depth),
        1 => (depth, 1, outer * depth),
        2 => (2, 2 * outer + 3, (2 * outer + 3) * depth),
        // One row or column for all.
        _ => (0, 1, depth),
    }
}

fn numbers(seed: u32, count: usize) -> Vec<f32> {
    let mut state = seed;
    let number = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state as f32 / 4_294_967_296.0 - 0.5
    };
    (0..count).map(number).collect()
}

/// The documented bound of the error of a sum of products, over the sum of their sizes; the factor covers terms of second order.
fn bound_of(depth: usize) -> f64 {
    (DEPTH_BLOCK + depth.div_ceil(DEPTH_BLOCK)) as f64 * 1.001 / f64::from(1 << 24)
}

fn check(extents: Extents, layouts: [u32; 3], seed: u32) {
    let Extents { rows, columns, depth } = extents;
    let (left_outer, left_depth, left_count) = strides(layouts[0], rows, depth);
    let (right_outer, right_depth, right_count) = strides(layouts[1], columns, depth);
    let (a, b) = (numbers(seed, left_count), numbers(seed ^ 0x5555, right_count));
    let (row_stride, column_stride, count) = match layouts[2] {
        0 => (columns, 1, rows * columns),
        1 => (1, rows, rows * columns),
        _ => (2 * columns + 1, 2, rows * (2 * columns + 1)),
    };
    let left = MatrixFactor { values: &a[..], outer_stride: left_outer, depth_stride: left_depth };
    let right = MatrixFactor { values: &b[..], outer_stride: right_outer, depth_stride: right_depth };
    let mut result = vec![f32::NAN; count];
    product(
        extents,
        Reals::Singles(left),
        Reals::Singles(right),
        &mut ProductTarget { values: &mut result, row_stride, column_stride },
    );

    let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
    let (integers_a, integers_b) = (bits(&a), bits(&b));
    let mut integers = vec![7; count];
    integer_product(
        extents,
        MatrixFactor { values: &integers_a[..], outer_stride: left_outer, depth_stride: left_depth },
        MatrixFactor { values: &integers_b[..], outer_stride: right_outer, depth_stride: right_depth },
        &mut ProductTarget { values: &mut integers, row_stride, column_stride },
    );

    let bound = bound_of(depth);
    let mut written = vec![false; count];
    for row in 0..rows {
        for column in 0..columns {
            let (mut sum, mut size, mut integer) = (0.0, 0.0, 0_u32);
            for place in 0..depth {
                let at = [row * left_outer + place * left_depth, column * right_outer + place * right_depth];
                let term = f64::from(a[at[0]]) * f64::from(b[at[1]]);
                sum += term;
                size += term.abs();
                integer = integer.wrapping_add(integers_a[at[0]].wrapping_mul(integers_b[at[1]]));
            }
            let at = row * row_stride + column * column_stride;
            let error = (f64::from(result[at]) - sum).abs();
            assert!(error <= bound * size, "{extents:?} {layouts:?} at {row}, {column}: {} for {sum}", result[at]);
            assert_eq!(integers[at], integer, "{extents:?} {layouts:?} at {row}, {column}");
            written[at] = true;
        }
    }
    for (at, written) in written.into_iter().enumerate() {
        assert!(written || result[at].is_nan() && integers[at] == 7, "{extents:?} {layouts:?}: {at} is written");
    }
}

#[test]
fn products_of_all_sizes_about_tiles_and_blocks_are_within_their_bound() {
    for (rows, columns, depth) in [
        (1, 1, 1),
        (3, 5, 0),
        (4, 8, DEPTH_BLOCK),
        (5, 9, DEPTH_BLOCK + 1),
        (65, 7, 3),
        (63, 513, 5),
        (4, 1025, DEPTH_BLOCK + 5),
        (5, 5, 2049),
        (16, 6, 517),
        (17, 6, 131),
        (2, 3, 2100),
    ] {
        for layout in 0..48 {
            check(Extents { rows, columns, depth }, [layout % 4, layout / 4 % 4, layout / 16], layout);
        }
    }
}

#[test]
fn places_of_their_own_give_the_bits_of_the_same_numbers_in_order() {
    // Windows of 3 places over rows of 7 numbers, of which one begins at each of the first 5: rows of places with gaps between.
    for (rows, count) in [(1, 3), (5, 12), (70, 110), (9, 1)] {
        let extents = Extents { rows, columns: 5 * count, depth: 3 };
        let (a, b) = (numbers(1, rows * 3), numbers(2, 7 * count));
        let outer: Vec<u32> = (0..extents.columns as u32).map(|column| column / 5 * 7 + column % 5).collect();
        let depth = [0, 1, 2];
        let windows: Vec<f32> = outer.iter().flat_map(|place| depth.map(|k: u32| b[(place + k) as usize])).collect();
        let left = Reals::Singles(MatrixFactor { values: &a, outer_stride: 3, depth_stride: 1 });
        let in_order = Reals::Singles(MatrixFactor { values: &windows, outer_stride: 3, depth_stride: 1 });
        let scattered = Reals::ScatteredSingles(Scattered { values: &b, outer: &outer, depth: &depth });
        let result = |right: Reals, is_left: bool| {
            let mut values = vec![f32::NAN; rows * extents.columns];
            let (extents, row_stride, column_stride) =
                if is_left { (extents.transposed(), 1, extents.columns) } else { (extents, extents.columns, 1) };
            let (left, right) = if is_left { (right, left) } else { (left, right) };
            product(extents, left, right, &mut ProductTarget { values: &mut values, row_stride, column_stride });
            values
        };
        // Sums of three terms in one order, whatever the rows and columns.
        assert_eq!(result(scattered, false), result(in_order, false), "{extents:?}");
        assert_eq!(result(scattered, true), result(in_order, true), "{extents:?}, transposed");
    }
}

#[test]
fn products_in_turns_share_panels() {
    let extents = Extents { rows: 150, columns: 530, depth: DEPTH_BLOCK + 6 };
    let Extents { rows, columns, depth } = extents;
    let factors: Vec<[Vec<f32>; 2]> =
        (0..2).map(|seed| [numbers(seed, rows * depth), numbers(seed + 7, depth * columns)]).collect();
    let of = |k: usize| {
        let [left, right] = &factors[k];
        let left = Reals::Singles(MatrixFactor { values: left, outer_stride: depth, depth_stride: 1 });
        let right = Reals::Singles(MatrixFactor { values: right, outer_stride: 1, depth_stride: columns });
        MatrixProduct::new(extents, left, right)
    };
    let mut apart = vec![vec![0.0; rows * columns]; 2];
    for (k, values) in apart.iter_mut().enumerate() {
        let mut panels = Panels::default();
        let mut target = ProductTarget { values, row_stride: columns, column_stride: 1 };
        (0..of(k).parts()).for_each(|part| of(k).part(part, &mut target, &mut panels, 0));
    }
    let (mut in_turns, mut panels) = (vec![vec![0.0; rows * columns]; 2], Panels::default());
    assert!(of(0).parts() > 4);
    for part in 0..of(0).parts() {
        for (k, values) in in_turns.iter_mut().enumerate() {
            let mut target = ProductTarget { values, row_stride: columns, column_stride: 1 };
            of(k).part(part, &mut target, &mut panels, k as u32);
        }
    }
    assert_eq!(in_turns, apart);
}

#[test]
fn a_product_passes_infinities_and_nan() {
    let a = [f32::INFINITY, 1.0, f32::NAN, 0.0];
    let b = [1.0, 0.0, 0.0, 1.0];
    let mut result = [0.0; 4];
    let extents = Extents { rows: 2, columns: 2, depth: 2 };
    product(
        extents,
        Reals::Singles(MatrixFactor { values: &a, outer_stride: 2, depth_stride: 1 }),
        Reals::Singles(MatrixFactor { values: &b, outer_stride: 1, depth_stride: 2 }),
        &mut ProductTarget { values: &mut result, row_stride: 2, column_stride: 1 },
    );
    assert_eq!(result[0], f32::INFINITY);
    // ∞ · 0 is NaN.
    assert!(result[1].is_nan() && result[2].is_nan() && result[3].is_nan());
}

/// Numbers as the elements of a factor have them, and the factor of these elements.
enum Elements {
    Halves(Vec<u16>),
    Blocks { format: Format, words: Vec<u32>, halves: Vec<u16>, singles: Vec<f32>, records: Vec<u32> },
}

/// Elements that are halves.
const HALVES: usize = FORMATS.len();

impl Elements {
    /// Random ones; halves may be of any size up to 1, also subnormal.
    fn random(kind: usize, seed: u32, outer: usize, depth: usize) -> Elements {
        let mut state = seed | 1;
        let mut bits = move || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state >> 8
        };
        let half = |bits: u32| ((bits % 0x3c01) | ((bits >> 8) & 0x8000)) as u16;
        let Some(format) = FORMATS.get(kind).copied() else {
            return Elements::Halves((0..outer * depth).map(|_| half(bits())).collect());
        };
        let words = (0..outer * depth * format.low as usize / 32).map(|_| (bits() << 12) ^ bits()).collect();
        let count = outer * format.side(depth as u32) as usize;
        if format.record == 0 {
            let halves: Vec<u16> = (0..count).map(|_| half(bits())).collect();
            let singles = halves.iter().map(|bits| self::half(*bits) as f32 / 3.0).collect();
            return Elements::Blocks { format, words, halves, singles, records: Vec::new() };
        }
        let word = |place: u32| match place % format.record {
            0 => u32::from(half(bits())) | u32::from(half(bits())) << 16,
            _ => (bits() << 12) ^ bits(),
        };
        let records = (0..count as u32).map(word).collect();
        Elements::Blocks { format, words, halves: Vec::new(), singles: Vec::new(), records }
    }

    fn factor(&self, outer: usize, depth: usize, is_along_outer: bool) -> Reals<'_> {
        let (outer_stride, depth_stride) = if is_along_outer { (1, outer) } else { (depth, 1) };
        match self {
            Elements::Halves(values) => Reals::Halves(MatrixFactor { values, outer_stride, depth_stride }),
            Elements::Blocks { format, words, halves, singles, records } => Reals::Quantised(Quantised {
                format: *format,
                words,
                words_stride: depth * format.low as usize / 32,
                side: match format.record {
                    0 if format.is_single => BlockScales::Singles(singles),
                    0 => BlockScales::Halves(halves),
                    _ => BlockScales::Records(records),
                },
                side_stride: format.side(depth as u32) as usize,
            }),
        }
    }

    /// The parts of the number of an outer position and a place along the depth, by the definition: what is added up.
    fn number(&self, outer: usize, place: usize, extents: [usize; 2], is_along_outer: bool) -> [f64; 2] {
        let at = if is_along_outer { place * extents[0] + outer } else { outer * extents[1] + place };
        match self {
            Elements::Halves(values) => [half(values[at]), 0.0],
            Elements::Blocks { format, words, halves, singles, records } => {
                let words = &words[outer * extents[1] * format.low as usize / 32..];
                let low = bits_of(words, format.low as usize, place);
                if format.record == 0 {
                    let block = outer * extents[1] / 32 + place / 32;
                    let scale = if format.is_single { f64::from(singles[block]) } else { half(halves[block]) };
                    return [scale * level(format, low), 0.0];
                }
                let (span, count) = (format.span as usize, format.record as usize);
                let record =
                    &records[outer * format.side(extents[1] as u32) as usize + place / span * count..][..count];
                let within = place % span;
                let high = match format.high {
                    0 => 0,
                    high => bits_of(&record[format.high_at as usize..], high as usize, within),
                };
                let group = within / format.group as usize;
                let second = half((record[0] >> 16) as u16);
                // The second block of 32 of q5_0 has a half of its own.
                let first = if format.span == 64 && within >= 32 { second } else { half(record[0] as u16) };
                let scale = first * format.scales.map_or(1.0, |field| integer(field, record, group));
                let minimum = match format.minimum {
                    Minimum::None => 0.0,
                    Minimum::Opposite => -second,
                    Minimum::Times(field) => second * integer(field, record, group),
                };
                [scale * level(format, low | high << format.low), -minimum]
            }
        }
    }
}

/// The bits of integer `place` of those that follow one another in words.
fn bits_of(words: &[u32], bits: usize, place: usize) -> u32 {
    let (word, shift) = match bits {
        8 => (place / 4, 8 * (place % 4)),
        // Eight neighbours have a distance of 4.
        _ => (place * bits / 32, 4 * (place % 8) + bits * (place / 8 % (4 / bits))),
    };
    (words[word] >> shift) & ((1 << bits) - 1)
}

fn level(format: &Format, bits: u32) -> f64 {
    match format.level {
        Level::Less(zero) => f64::from(bits) - f64::from(zero),
        Level::Signed => f64::from(bits as i8),
        Level::Curve => f64::from(CURVE[bits as usize]),
    }
}

/// The integer of a group, from bits that follow one another.
fn integer(field: Field, record: &[u32], group: usize) -> f64 {
    let bit = |at: usize| (record[at / 32] >> (at % 32)) & 1;
    let number = |at: usize, count: usize| (0..count).map(|k| bit(at + k) << k).sum::<u32>();
    let low = number(32 * field.at as usize + group * field.bits as usize, field.bits as usize);
    if field.bits == 8 {
        return f64::from(low as i8);
    }
    let upper = field.upper.map_or(0, |upper| number(upper as usize + 2 * group, 2));
    f64::from(low + 16 * upper) - f64::from(field.less)
}

/// The number of a half, by the definition of the format.
fn half(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from((bits >> 10) & 31), f64::from(bits & 1023));
    let size = match exponent {
        0 => fraction * 2f64.powi(-24),
        31 => {
            if fraction == 0.0 {
                f64::INFINITY
            } else {
                f64::NAN
            }
        }
        _ => (1024.0 + fraction) * 2f64.powi(exponent - 25),
    };
    if bits >> 15 == 1 { -size } else { size }
}

/// A product with a factor of narrow elements on either side.
fn check_narrow(
    Extents { rows, columns, depth }: Extents,
    kind: usize,
    is_left: bool,
    is_along_outer: bool,
    seed: u32,
) {
    let depth = FORMATS.get(kind).map_or(depth, |format| depth.next_multiple_of(format.multiple() as usize));
    let is_along_outer = is_along_outer && kind == HALVES;
    let (outer, others) = if is_left { (rows, columns) } else { (columns, rows) };
    let elements = Elements::random(kind, seed, outer, depth);
    let other = numbers(seed ^ 0x5555, others * depth);
    let narrow = elements.factor(outer, depth, is_along_outer);
    let of = |at: usize| elements.number(at / depth, at % depth, [outer, depth], is_along_outer);
    let numbers: Vec<[f64; 2]> = (0..outer * depth).map(of).collect();
    let wide = Reals::Singles(MatrixFactor { values: &other, outer_stride: depth, depth_stride: 1 });
    let mut result = vec![f32::NAN; rows * columns];
    let (left, right) = if is_left { (narrow, wide) } else { (wide, narrow) };
    let mut target = ProductTarget { values: &mut result, row_stride: columns, column_stride: 1 };
    product(Extents { rows, columns, depth }, left, right, &mut target);
    let bound = bound_of(depth);
    for row in 0..rows {
        for column in 0..columns {
            let (narrow_at, other_at) = if is_left { (row, column) } else { (column, row) };
            let (mut sum, mut size) = (0.0, 0.0);
            for place in 0..depth {
                for part in numbers[narrow_at * depth + place] {
                    let term = part * f64::from(other[other_at * depth + place]);
                    sum += term;
                    size += term.abs();
                }
            }
            let error = (f64::from(result[row * columns + column]) - sum).abs();
            assert!(
                error <= bound * size,
                "kind {kind}, {rows} × {columns} × {depth} at {row}, {column}: {error} of {size}"
            );
        }
    }
}

#[test]
fn products_with_narrow_factors_are_within_their_bound() {
    for kind in 0..=HALVES {
        for (rows, columns, depth) in [
            (1, 1, 32),
            (1, 7, 64),
            (2, 4, 0),
            (3, 1030, 96),
            (4, 9, DEPTH_BLOCK + 1),
            (5, 13, DEPTH_BLOCK + 32),
            (70, 17, 64),
            (9, 2, 96),
            (6, 520, 1),
            (1, 3, 2100),
        ] {
            for layout in 0..if kind == HALVES { 4 } else { 2 } {
                check_narrow(Extents { rows, columns, depth }, kind, layout % 2 == 1, layout / 2 == 1, layout);
            }
        }
    }
}

/// A product of bytes with any format, which is computed in integers from five rows on.
#[test]
fn products_of_integers_are_exact_but_for_their_sums() {
    let bytes = FORMATS.iter().position(|format| format.is_single).expect("a format for left factors");
    for (kind, format) in FORMATS.iter().enumerate() {
        for (rows, columns, blocks) in [(5, 5, 1), (4, 3, 2), (70, 17, 3), (9, 600, 2), (65, 9, 13)] {
            let depth = (32 * blocks as usize).next_multiple_of(format.multiple() as usize);
            let (left, right) = (Elements::random(bytes, 5, rows, depth), Elements::random(kind, 9, columns, depth));
            let mut result = vec![f32::NAN; rows * columns];
            let mut target = ProductTarget { values: &mut result, row_stride: columns, column_stride: 1 };
            let factors = [left.factor(rows, depth, false), right.factor(columns, depth, false)];
            product(Extents { rows, columns, depth }, factors[0], factors[1], &mut target);
            for row in 0..rows {
                for column in 0..columns {
                    let (mut sum, mut size) = (0.0, 0.0);
                    for place in 0..depth {
                        let [a, _] = left.number(row, place, [rows, depth], false);
                        for part in right.number(column, place, [columns, depth], false) {
                            sum += a * part;
                            size += (a * part).abs();
                        }
                    }
                    // A group is a product of two scales and a whole number, and one sum; a minimum is as much.
                    let bound = (depth as f64 / 16.0 + 12.0) * 2f64.powi(-24);
                    let error = (f64::from(result[row * columns + column]) - sum).abs();
                    assert!(error <= bound * size, "kind {kind}, {rows} × {columns} × {depth}: {error} of {size}");
                }
            }
        }
    }
}

#[test]
fn every_half_denotes_its_number() {
    for bits in 0..=u16::MAX {
        let (number, expected) = (f64::from(number_of_half(bits)), half(bits));
        assert!(number == expected || number.is_nan() && expected.is_nan(), "{bits:#06x}: {number}");
        assert!(expected.is_nan() || number.is_sign_negative() == expected.is_sign_negative());
    }
}

proptest! {
    #[test]
    fn products_with_narrow_factors_of_any_size_are_within_their_bound(
        rows in 1..12_usize, columns in 1..40_usize, depth in 0..200_usize, kind in 0..=HALVES, is_left: bool, is_along_outer: bool, seed: u32,
    ) {
        check_narrow(Extents { rows, columns, depth }, kind, is_left, is_along_outer, seed);
    }

    #[test]
    fn products_are_within_their_bound(
        rows in 0..20_usize, columns in 0..40_usize, depth in 0..450_usize, layouts in [0..4_u32, 0..4_u32, 0..3_u32], seed: u32,
    ) {
        check(Extents { rows, columns, depth }, layouts, seed);
    }
}
