use proptest::prelude::*;

use super::{Extents, Factor, Target, integer_product, product};

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
    let left = Factor { values: &a[..], outer_stride: left_outer, depth_stride: left_depth };
    let right = Factor { values: &b[..], outer_stride: right_outer, depth_stride: right_depth };
    let mut result = vec![f32::NAN; count];
    product(extents, left, right, &mut Target { values: &mut result, row_stride, column_stride });

    let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
    let (integers_a, integers_b) = (bits(&a), bits(&b));
    let mut integers = vec![7; count];
    integer_product(
        extents,
        Factor { values: &integers_a[..], outer_stride: left_outer, depth_stride: left_depth },
        Factor { values: &integers_b[..], outer_stride: right_outer, depth_stride: right_depth },
        &mut Target { values: &mut integers, row_stride, column_stride },
    );

    // The documented bound; the factor covers terms of second order.
    let bound = (256.0 + depth.div_ceil(256) as f64) * 1.001 / f64::from(1 << 24);
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
        (4, 8, 256),
        (5, 9, 257),
        (65, 7, 3),
        (63, 513, 5),
        (4, 1025, 259),
        (5, 5, 2049),
        (2, 3, 2100),
    ] {
        for layout in 0..48 {
            check(Extents { rows, columns, depth }, [layout % 4, layout / 4 % 4, layout / 16], layout);
        }
    }
}

#[test]
fn a_product_passes_infinities_and_nan() {
    let a = [f32::INFINITY, 1.0, f32::NAN, 0.0];
    let b = [1.0, 0.0, 0.0, 1.0];
    let mut result = [0.0; 4];
    let extents = Extents { rows: 2, columns: 2, depth: 2 };
    product(
        extents,
        Factor { values: &a, outer_stride: 2, depth_stride: 1 },
        Factor { values: &b, outer_stride: 1, depth_stride: 2 },
        &mut Target { values: &mut result, row_stride: 2, column_stride: 1 },
    );
    assert_eq!(result[0], f32::INFINITY);
    // ∞ · 0 is NaN.
    assert!(result[1].is_nan() && result[2].is_nan() && result[3].is_nan());
}

proptest! {
    #[test]
    fn products_are_within_their_bound(
        rows in 0..20_usize, columns in 0..40_usize, depth in 0..300_usize, layouts in [0..4_u32, 0..4_u32, 0..3_u32], seed: u32,
    ) {
        check(Extents { rows, columns, depth }, layouts, seed);
    }
}
