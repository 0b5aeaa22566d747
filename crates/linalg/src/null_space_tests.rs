//! Rank and null space by both methods, and the inverse.

use super::null_space::{TOLERANCE, null_space};
use super::tests::{Owned, grid, random};

fn jvp(matrix: &Owned, vector: &[f64]) -> f64 {
    let mut jvp = vec![0.0; matrix.row_offsets.len() - 1];
    matrix.view().times(vector, &mut jvp);
    jvp.iter().fold(0.0f64, |most, v| most.max(v.abs()))
}

/// `chains` chains of `length` numbers, of which only differences of neighbours are known: one direction a chain is free.
fn chains(chains: usize, length: usize, extra: &[Vec<(usize, f64)>]) -> Owned {
    let mut next = random(7);
    let mut rows: Vec<Vec<(usize, f64)>> = Vec::new();
    for chain in 0..chains {
        for k in 1..length {
            let (first, weight) = (chain * length + k - 1, 1.5 + next());
            rows.push(vec![(first, -weight), (first + 1, weight)]);
        }
    }
    rows.extend_from_slice(extra);
    Owned::new(chains * length, &rows)
}

#[test]
fn rank_and_free_directions_are_found_in_matrices_small_and_large() {
    // 3·40 columns are taken as dense, 3·1000 as sparse.
    for length in [40, 1000] {
        let held = |chain: usize| vec![(chain * length, 1.0)];
        let table = [
            ("nothing held", vec![], 3),
            ("one held", vec![held(1)], 2),
            ("all held", vec![held(0), held(1), held(2)], 0),
            ("held weakly, but not freely", vec![held(0), held(1), vec![(2 * length, 1e-4)]], 0),
            ("held by a number in the noise", vec![held(0), held(1), vec![(2 * length, 1e-14)]], 1),
        ];
        for (name, extra, free) in table {
            let matrix = chains(3, length, &extra);
            let (space, inverse) = null_space(&matrix.view(), &vec![false; matrix.cols], TOLERANCE, &[]).unwrap();
            assert_eq!((space.columns, space.rank), (3 * length, 3 * length - free), "{name}, {length}");
            assert_eq!(space.basis.len(), free);
            assert_eq!(inverse.is_some(), free == 0, "{name}, {length}");
            for vector in &space.basis {
                // The largest number is 1, and entries have magnitudes about 1: sums of 1000 steps of rounding.
                assert!(jvp(&matrix, vector) < 1e-11, "{name}, {length}: {}", jvp(&matrix, vector));
                assert!(vector.iter().all(|v| v.abs() <= 1.0) && vector.contains(&1.0));
            }
        }
    }
}

#[test]
fn columns_of_zeros_are_free_and_frozen_ones_do_not_count() {
    for length in [3, 500] {
        let mut matrix = chains(1, length, &[]);
        matrix.cols += 2;
        let mut frozen = vec![false; matrix.cols];
        frozen[0] = true;
        frozen[matrix.cols - 1] = true;
        let (space, inverse) = null_space(&matrix.view(), &frozen, TOLERANCE, &[]).unwrap();
        assert_eq!((space.columns, space.rank), (length, length - 1));
        assert_eq!(space.basis, [(0..matrix.cols).map(|k| f64::from(k == length)).collect::<Vec<f64>>()]);
        assert!(inverse.is_none());
    }
}

#[test]
fn units_of_measurement_play_no_part() {
    // 1e-200 squared would be 0, and 2e200 infinite.
    let matrix = Owned::dense(&[&[1e-200, 2e200, 0.0], &[3e-200, 1e200, 0.0], &[1e-200, 0.0, 1e-9]]);
    assert_eq!(null_space(&matrix.view(), &[false; 3], TOLERANCE, &[]).unwrap().0.rank, 3);
}

#[test]
fn the_inverse_is_that_of_the_normal_equations() {
    for side in [4, 20] {
        let mut matrix = grid(side, 2);
        let last = matrix.values.len() as u32;
        for column in 0..matrix.cols as u32 {
            matrix.col_indices.push(column);
            matrix.values.push(1.0);
            matrix.row_offsets.push(last + column + 1);
        }
        let mut frozen = vec![false; matrix.cols];
        frozen[3] = true;
        let (space, inverse) = null_space(&matrix.view(), &frozen, TOLERANCE, &[]).unwrap();
        assert_eq!(space.rank, matrix.cols - 1);
        let inverse = inverse.unwrap();
        for k in [0, 3, matrix.cols - 1] {
            let mut x = vec![0.0; matrix.cols];
            x[k] = 1.0;
            inverse.apply(&mut x);
            assert_eq!(x[3], 0.0);
            let mut jvp = vec![0.0; matrix.row_offsets.len() - 1];
            matrix.view().times(&x, &mut jvp);
            let mut product = vec![0.0; matrix.cols];
            matrix.view().add_transposed_times(&jvp, &mut product);
            for (j, value) in product.iter().enumerate().filter(|(j, _)| *j != 3) {
                // The condition of JᵀJ is about 10 here.
                assert!((value - f64::from(u8::from(j == k && k != 3))).abs() < 1e-12, "{side}: {k} {j} {value}");
            }
        }
    }
}

#[test]
fn a_direction_that_errors_of_columns_explain_is_free() {
    for length in [40, 1000] {
        // One chain is held by 1e-7 of a number, the other by a number.
        let matrix = chains(2, length, &[vec![(0, 1e-7)], vec![(length, 1.0)]]);
        let of_first = |error: f64| (0..2 * length).map(|k| if k < length { error } else { 0.0 }).collect::<Vec<f64>>();
        for (accuracy, free) in [(vec![], 0), (of_first(1e-12), 0), (of_first(1e-5), 1), (vec![1e-5; 2 * length], 1)] {
            let (space, inverse) = null_space(&matrix.view(), &vec![false; matrix.cols], TOLERANCE, &accuracy).unwrap();
            assert_eq!(space.rank, 2 * length - free, "{length}");
            for vector in &space.basis {
                // All numbers of the chain move alike.
                assert!(
                    vector[..length].iter().all(|entry| (entry - 1.0).abs() < 1e-6)
                        && vector[length..].iter().all(|entry| entry.abs() < 1e-6)
                );
            }
            let Some(inverse) = inverse else { continue };
            let mut x: Vec<f64> = (0..matrix.cols).map(|k| f64::from(k == 0)).collect();
            inverse.apply(&mut x);
            // The first number is known by that row alone.
            assert!((x[0] * 1e-14 - 1.0).abs() < 1e-3, "{length}: {}", x[0]);
        }
    }
}
