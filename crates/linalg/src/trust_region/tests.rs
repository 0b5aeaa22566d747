use super::spectrum::SURFACE;
use super::*;
use crate::loops::dot;
use crate::{DenseQr, Trouble};
use crate::{SparseMatrix, System};
use proptest::prelude::*;

/// The model of dense rows with these residuals, with D = 1.
fn region(rows: &[f64], residuals: &[f64], n: usize) -> TrustRegionModel {
    scaled(rows, residuals, &vec![1.0; n])
}

fn scaled(rows: &[f64], residuals: &[f64], scale: &[f64]) -> TrustRegionModel {
    let n = scale.len();
    let offsets: Vec<u32> = (0..=residuals.len()).map(|row| (row * n) as u32).collect();
    let columns: Vec<u32> = residuals.iter().flat_map(|_| 0..n as u32).collect();
    let jacobian = SparseMatrix { cols: n, row_offsets: &offsets, col_indices: &columns, values: rows };
    let (damping, frozen) = (vec![0.0; n], vec![false; n]);
    let mut qr = DenseQr::new();
    qr.begin(&System { jacobian, residuals, damping: &damping, frozen: &frozen });
    assert!(qr.advance(&System { jacobian, residuals, damping: &damping, frozen: &frozen }, f64::INFINITY));
    TrustRegionModel::of_rows(&qr, scale, &frozen)
}

/// (J̃ᵀJ̃ + S + λ)δ + J̃ᵀr̃, which is 0 at the step of a λ.
fn rest(rows: &[f64], residuals: &[f64], curvature: &[f64], lambda: f64, step: &[f64]) -> f64 {
    let n = step.len();
    let mut rest: Vec<f64> = step.iter().map(|step| lambda * step).collect();
    for (row, r) in rows.chunks_exact(n).zip(residuals) {
        let share = dot(row, step) + r;
        rest.iter_mut().zip(row).for_each(|(rest, entry)| *rest += share * entry);
    }
    for i in 0..n {
        for j in 0..n {
            rest[i] += curvature[i.max(j) * n + i.min(j)] * step[j];
        }
    }
    dot(&rest, &rest).sqrt()
}

proptest! {
    #[test]
    fn steps_meet_the_conditions_of_a_minimum_in_the_ball(
        numbers in prop::collection::vec(-1.0..1.0_f64, 6 * 4 + 6 + 16), radius in 0.01..10.0_f64, bend in 0.0..3.0_f64,
    ) {
        let (rows, others) = numbers.split_at(24);
        let (residuals, curvature) = others.split_at(6);
        let curvature: Vec<f64> = curvature.iter().map(|entry| bend * entry).collect();
        let mut region = region(rows, residuals, 4);
        let mut step = [0.0; 4];
        for (is_second, curvature) in [(false, &vec![0.0; 16]), (true, &curvature)] {
            let bounded = match is_second {
                false => region.step(radius, &mut step),
                true => region.second_order_step(curvature, radius, &mut step),
            };
            let length = dot(&step, &step).sqrt();
            prop_assert!((length - bounded.length).abs() <= 1e-12 * length);
            // Digits of six numbers of size 1 whose matrix has a condition of 10⁴ at times.
            prop_assert!(rest(rows, residuals, curvature, bounded.lambda, &step) <= 1e-9 * (1.0 + bounded.lambda) * (1.0 + length));
            let is_inside = bounded.lambda == 0.0 && length <= radius;
            prop_assert!(is_inside || (length - radius).abs() <= SURFACE * radius * (1.0 + 1e-9), "{length} in {radius}");
        }
    }
}

#[test]
fn columns_that_nearly_depend_on_each_other_keep_their_digits() {
    // y = a + b t at ten times near 1.7e9: the columns differ by an angle of 1.7e-8.
    let times: Vec<f64> = (0..10).map(|k| 1.7e9 + 10.0 * f64::from(k)).collect();
    let rows: Vec<f64> = times.iter().flat_map(|&t| [1.0, t]).collect();
    let residuals: Vec<f64> = times.iter().map(|t| -(0.01 * (t - 1.7e9))).collect();
    let lengths = [0, 1].map(|k| rows.iter().skip(k).step_by(2).map(|entry| entry * entry).sum::<f64>().sqrt());
    let mut region = scaled(&rows, &residuals, &lengths);
    let mut step = [0.0; 2];
    region.step(f64::INFINITY, &mut step);
    // The angle costs eight of sixteen digits.
    assert!((step[1] - 0.01).abs() < 1e-8 && region.deficiency() == 0, "{step:?}");
}

#[test]
fn a_direction_without_effect_takes_no_part() {
    let mut region = region(&[1.0, 1.0, 2.0, 2.0, -1.0, -1.0], &[1.0, 2.0, 3.0], 2);
    let mut step = [0.0; 2];
    let bounded = region.step(f64::INFINITY, &mut step);
    // The shortest of all minima: (1 + 4 − 3)/(6·2) each, with the sign of descent.
    assert!((step[0] + 1.0 / 6.0).abs() < 1e-14 && (step[1] - step[0]).abs() < 1e-14, "{step:?}");
    assert!(bounded.lambda == 0.0 && region.deficiency() == 1);
    assert!((region.promise() - 0.5 * 4.0 / 6.0).abs() < 1e-14);
}

#[test]
fn a_point_without_slope_on_a_ridge_is_left_along_it() {
    // r = (x, 1 + …) with a curvature of −2 in y alone: no gradient, and the cost falls along y.
    let region = region(&[1.0, 0.0, 0.0, 0.0], &[0.0, 1.0], 2);
    let curvature = [0.0, 0.0, 0.0, -2.0];
    let mut step = [0.0; 2];
    assert!(region.bends_down(&curvature) && !region.bends_down(&[0.0; 4]));
    let bounded = region.second_order_step(&curvature, 0.5, &mut step);
    assert!((step[1].abs() - 0.5).abs() < 1e-9 && step[0].abs() < 1e-9 && bounded.lambda > 1.9, "{step:?}");
}

#[test]
fn sums_give_the_step_of_rows_or_are_refused() {
    let rows = [1.0, 0.2, -0.3, 2.0, 0.5, 0.7];
    let residuals = [1.0, -2.0, 0.5];
    let sums = |rows: &[f64]| {
        let product = |i: usize, j: usize| rows.chunks_exact(2).map(|row| row[i] * row[j]).sum::<f64>();
        let slope = |i: usize| rows.chunks_exact(2).zip(&residuals).map(|(row, r)| row[i] * r).sum::<f64>();
        let jtj = [product(0, 0), 0.0, product(1, 0), product(1, 1)];
        TrustRegionModel::of_sums(&jtj, &[slope(0), slope(1)], 3, &[1.0, 1.0], &[false; 2])
    };
    let (mut a, mut b) = ([0.0; 2], [0.0; 2]);
    for radius in [0.1, 10.0] {
        region(&rows, &residuals, 2).step(radius, &mut a);
        sums(&rows).unwrap().step(radius, &mut b);
        assert!((a[0] - b[0]).abs() + (a[1] - b[1]).abs() < 1e-13, "{a:?} {b:?}");
    }
    let parallel = [1.0, 1.0, 2.0, 2.0 + 1e-7, 3.0, 3.0];
    assert_eq!(sums(&parallel).err(), Some(Trouble::IllConditioned));
}

/// Columns a, a + 1e-9 b and c, c + 1e-9 d with a … d orthogonal, each pair of which has one direction that is determined to nine digits.
const NEAR: f64 = 1e-9;
#[rustfmt::skip]
const PAIRS: [f64; 16] = [
    1.0, 1.0, 0.0, 0.0,
    0.0, NEAR, 0.0, 0.0,
    0.0, 0.0, 1.0, 1.0,
    0.0, 0.0, 0.0, NEAR,
];

#[test]
fn what_errors_of_columns_explain_determines_nothing() {
    let residuals = [2.0, 1e-3, 4.0, 1e-3];
    // The error of each column, how many directions are free, and the promise: half the squares of the residuals that a determined direction takes.
    for (accuracy, deficiency, promise) in [
        (vec![], 0, 0.5 * (4.0 + 16.0 + 2e-6)),
        (vec![1e-11; 4], 0, 0.5 * (4.0 + 16.0 + 2e-6)),
        (vec![1e-8; 4], 2, 0.5 * (4.0 + 16.0)),
        // One inexact column of a pair is enough, and leaves the other pair as it is.
        (vec![0.0, 1e-8, 0.0, 0.0], 1, 0.5 * (4.0 + 16.0 + 1e-6)),
    ] {
        for unit in [1.0, 1e3] {
            let scale = [1.0, unit, 1.0, 1.0];
            let mut region = scaled(&PAIRS, &residuals, &scale);
            region.set_accuracy(&accuracy);
            assert_eq!(region.deficiency(), deficiency, "{accuracy:?}");
            assert!((region.promise() - promise).abs() < 1e-8, "{accuracy:?}: {}", region.promise());
            let mut step = [0.0; 4];
            region.step(1e12, &mut step);
            // Along a free direction the step is as short as can be: both numbers share it.
            assert_eq!(step[0].abs() < 3.0, deficiency > 0, "{accuracy:?}: {step:?}");
            assert_eq!(step[2].abs() < 5.0, deficiency > 1, "{accuracy:?}: {step:?}");
        }
    }
}

#[test]
fn errors_are_relative_to_columns_whose_lengths_play_no_part() {
    for length in [1.0, 1e-6] {
        let rows = [1.0, 0.0, 0.0, length];
        let mut region = region(&rows, &[1.0, 1.0], 2);
        region.set_accuracy(&[1e-12, 1e-2]);
        assert_eq!(region.deficiency(), 0);
    }
}
