//! Properties of the loops: exactly their formulas at small integers, and norms of numbers of any size.

use std::collections::BTreeMap;

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

use super::*;

/// Small integers, of which sums and products are exact.
fn whole() -> impl Strategy<Value = f64> {
    (-8..=8).prop_map(f64::from)
}

/// A matrix in compressed rows.
#[derive(Default)]
struct Rows {
    row_offsets: Vec<u32>,
    col_indices: Vec<u32>,
    values: Vec<f64>,
}

impl Rows {
    fn of(matrix: &[BTreeMap<usize, f64>]) -> Rows {
        let mut rows = Rows { row_offsets: vec![0], ..Rows::default() };
        for row in matrix {
            rows.col_indices.extend(row.keys().map(|&column| column as u32));
            rows.values.extend(row.values());
            rows.row_offsets.push(rows.values.len() as u32);
        }
        rows
    }
}

proptest! {
    #[test]
    fn loops_over_vectors_are_their_formulas(
        (d, x, y, z) in (0..=21usize).prop_flat_map(|n| (vec(whole(), n), vec(whole(), n), vec(whole(), n), vec(whole(), n))),
        [alpha, beta] in [whole(), whole()],
    ) {
        let n = x.len();
        let sum = |term: &dyn Fn(usize) -> f64| (0..n).map(term).sum::<f64>();
        prop_assert_eq!(dot(&x, &y), sum(&|k| x[k] * y[k]));
        prop_assert_eq!(max_norm(&x), x.iter().fold(0.0, |most: f64, x| most.max(x.abs())));
        prop_assert!((norm(&x) - sum(&|k| x[k] * x[k]).sqrt()).abs() <= 1e-14);

        let mut difference = x.clone();
        subtract(alpha, &y, &mut difference);
        prop_assert_eq!(&difference, &(0..n).map(|k| x[k] - alpha * y[k]).collect::<Vec<_>>());

        let (mut product, mut direction, mut step) = (z.clone(), x.clone(), y.clone());
        let square = redirect(alpha, beta, &d, &mut product, &mut direction, &mut step);
        prop_assert_eq!(&step, &(0..n).map(|k| y[k] + alpha * x[k]).collect::<Vec<_>>());
        prop_assert_eq!(&direction, &(0..n).map(|k| z[k] + beta * x[k]).collect::<Vec<_>>());
        prop_assert_eq!(&product, &(0..n).map(|k| d[k] * direction[k]).collect::<Vec<_>>());
        prop_assert_eq!(square, sum(&|k| d[k] * direction[k] * direction[k]));
    }

    #[test]
    fn norms_are_those_of_numbers_brought_to_ordinary_size(x in vec(-1.0..1.0, 1..=9), exponent in -1000..=1000) {
        let scaled: Vec<f64> = x.iter().map(|x| x * 2f64.powi(exponent)).collect();
        let expected = x.iter().map(|x| x * x).sum::<f64>().sqrt() * 2f64.powi(exponent);
        prop_assert!((norm(&scaled) - expected).abs() <= 1e-14 * expected);
        prop_assert!(all_finite(&scaled));
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            for place in 0..scaled.len() {
                let mut scaled = scaled.clone();
                scaled[place] = bad;
                prop_assert!(!all_finite(&scaled), "{bad} at {place}");
                prop_assert!(!norm(&scaled).is_finite(), "{bad} at {place}: {}", norm(&scaled));
            }
        }
    }

    #[test]
    fn loops_over_compressed_rows_are_products_with_the_matrix(
        (matrix, x, w, y) in (0..=9usize, 1..=9usize).prop_flat_map(|(rows, cols)| {
            (vec(btree_map(0..cols, whole(), 0..=cols), rows), vec(whole(), cols), vec(whole(), rows), vec(whole(), cols))
        }),
    ) {
        let Rows { row_offsets, col_indices, values } = &Rows::of(&matrix);
        let (rows, cols) = (matrix.len(), x.len());
        let dense: Vec<Vec<f64>> =
            matrix.iter().map(|row| (0..cols).map(|column| row.get(&column).copied().unwrap_or(0.0)).collect()).collect();
        let along: Vec<f64> = dense.iter().map(|row| row.iter().zip(&x).map(|(a, x)| a * x).sum()).collect();
        let transposed = |w: &[f64]| -> Vec<f64> {
            (0..cols).map(|k| y[k] + dense.iter().zip(w).map(|(row, w)| row[k] * w).sum::<f64>()).collect()
        };
        let mut found = vec![f64::NAN; rows];
        rows_product(row_offsets, col_indices, values, &x, &mut found);
        prop_assert_eq!(&found, &along);
        let mut found = y.clone();
        transposed_product(row_offsets, col_indices, values, &w, &mut found);
        prop_assert_eq!(&found, &transposed(&w));
        let mut found = y.clone();
        let square = normal_product(row_offsets, col_indices, values, &x, &mut found);
        prop_assert_eq!(&found, &transposed(&along));
        prop_assert_eq!(square, along.iter().map(|a| a * a).sum::<f64>());
        let mut found = y.clone();
        add_squares(col_indices, values, &mut found);
        prop_assert_eq!(&found, &(0..cols).map(|k| y[k] + dense.iter().map(|row| row[k] * row[k]).sum::<f64>()).collect::<Vec<_>>());
    }

    #[test]
    fn preconditioned_steps_multiply_by_each_block_and_leave_the_rest(
        (blocks, numbers) in vec((0..=2usize, 1..=4usize), 0..=5).prop_flat_map(|widths| {
            let mut ranges = Vec::new();
            let mut end = 0;
            for (gap, width) in widths {
                ranges.push((end + gap, width));
                end += gap + width;
            }
            (Just(ranges), vec(whole(), 2 * (end + 2)), vec(whole(), 16 * 5)).prop_map(|(ranges, vectors, inverses)| (ranges, (vectors, inverses)))
        }),
        alpha in whole(),
    ) {
        let (vectors, entries) = numbers;
        let (product, residual) = vectors.split_at(vectors.len() / 2);
        // Symmetric blocks: of three coordinates their lower half is stored, else all.
        let entry = |block: usize, i: usize, j: usize| entries[16 * block + 4 * i.max(j) + i.min(j)];
        let mut inverses = Vec::new();
        for (block, &(_, width)) in blocks.iter().enumerate() {
            for i in 0..width {
                let end = if inverse_len(width) < width * width { i + 1 } else { width };
                inverses.extend((0..end).map(|j| entry(block, i, j)));
            }
            prop_assert_eq!(inverses.len(), blocks[..=block].iter().map(|(_, width)| inverse_len(*width)).sum::<usize>());
        }
        let r: Vec<f64> = residual.iter().zip(product).map(|(r, product)| r - alpha * product).collect();
        let mut z = r.clone();
        for (block, &(first, width)) in blocks.iter().enumerate() {
            for i in 0..width {
                z[first + i] = (0..width).map(|j| entry(block, i, j) * r[first + j]).sum();
            }
        }
        let (mut found, mut moved) = (product.to_vec(), residual.to_vec());
        let product = advance(alpha, &blocks, &inverses, &mut found, &mut moved);
        prop_assert_eq!(&moved, &r);
        prop_assert_eq!(&found, &z);
        prop_assert_eq!(product, r.iter().zip(&z).map(|(r, z)| r * z).sum::<f64>());
    }
}
