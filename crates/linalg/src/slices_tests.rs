//! Systems that are solved in slices have the steps of those that are solved at once.

use super::choice::make;
use super::tests::{Owned, random};
use super::*;
use residua_base::error::ErrorCode;

/// Rows of `cols` numbers, of which some are zeros.
fn rows(rows: usize, cols: usize) -> Owned {
    let mut next = random(7);
    let row = |_| (0..cols).map(|_| next()).map(|number| if number > 0.5 { 0.0 } else { number }).collect::<Vec<f64>>();
    let rows: Vec<Vec<f64>> = (0..rows).map(row).collect();
    Owned::dense(&rows.iter().map(Vec::as_slice).collect::<Vec<_>>())
}

#[test]
fn dense_qr_in_slices_gives_the_same_bits() {
    // Panels that are not full, full, and several.
    for (count, cols) in [(0, 3), (5, 3), (61, 3), (64, 3), (200, 40), (500, 12)] {
        let jacobian = rows(count, cols);
        let residuals: Vec<f64> = (0..count).map(|row| (row as f64).sin()).collect();
        let (damping, mut frozen) = (vec![0.01; cols], vec![false; cols]);
        frozen[1] = true;
        let jacobian = SparseMatrix { cols, ..jacobian.view() };
        let system = System { jacobian, residuals: &residuals, damping: &damping, frozen: &frozen };
        let (mut at_once, mut in_slices) = (vec![0.0; cols], vec![0.0; cols]);
        let whole = DenseQr::new().solve(&system, &mut at_once);
        let mut qr = DenseQr::new();
        let mut slices = 0;
        // The second system of a solver, begun while the first is not done.
        for most in [1, usize::MAX] {
            qr.begin(&system);
            slices = (1..=most).find(|_| qr.advance(&system, 1.0)).unwrap_or(most);
        }
        assert_eq!((qr.substitute(cols, &mut in_slices), in_slices), (whole, at_once), "{count} rows");
        assert!(count == 0 || slices >= cols, "{slices} slices");
    }
}

#[test]
fn a_slice_of_dense_qr_takes_about_as_many_multiplications_as_it_may() {
    let (count, cols) = (200, 40);
    let jacobian = rows(count, cols);
    let (residuals, damping, frozen) = (vec![1.0; count], vec![0.01; cols], vec![false; cols]);
    let system = System { jacobian: jacobian.view(), residuals: &residuals, damping: &damping, frozen: &frozen };
    // A reflection of each column takes two for each row, those of the damping too, and for each column that is left.
    let all = (2 * (count + cols) * (cols * (cols + 1) / 2)) as f64;
    for expected in [5, 20] {
        let mut qr = DenseQr::new();
        qr.begin(&system);
        let slices = (1..=1000).find(|_| qr.advance(&system, all / f64::from(expected))).unwrap();
        // A slice ends after the reflection that reaches its limit.
        assert!(2 * slices > expected && slices <= expected + 1, "{slices} slices, not {expected}");
    }
}

#[test]
fn conjugate_gradients_in_slices_give_the_same_bits() {
    let jacobian = rows(60, 30);
    let residuals: Vec<f64> = (0..60).map(|row| f64::from(row).cos()).collect();
    let (damping, frozen) = (vec![0.01; 30], vec![false; 30]);
    let system = System { jacobian: jacobian.view(), residuals: &residuals, damping: &damping, frozen: &frozen };
    let blocks = CoordinateBlocks { ranges: vec![(0, 3), (3, 7), (12, 18)], ..CoordinateBlocks::default() };
    let options = PcgOptions { tolerance: 1e-10, max_iterations: 100 };
    let (mut at_once, mut in_slices) = (vec![0.0; 30], vec![0.0; 30]);
    let whole = Pcg::new().solve(&system, &blocks, options, &mut at_once);
    let mut pcg = Pcg::new();
    pcg.begin_rows(30, &blocks);
    let mut slices = 0;
    let solved = loop {
        slices += 1;
        if let Some(solved) = pcg.advance_rows(&system, &blocks, options, 1.0, &mut in_slices) {
            break solved;
        }
    };
    assert_eq!((&solved, in_slices), (&whole, at_once));
    assert_eq!(solved, Ok(slices - 60), "a row a slice, and then an iteration a slice");
}

#[test]
fn a_slice_of_a_matrix_takes_about_as_many_multiplications_as_it_may() {
    let (count, cols) = (400, 30);
    let row = |row: usize| (0..cols).map(|col| 2.0 + ((row * cols + col) as f64).sin()).collect::<Vec<f64>>();
    let rows: Vec<Vec<f64>> = (0..count).map(row).collect();
    let jacobian = Owned::dense(&rows.iter().map(Vec::as_slice).collect::<Vec<_>>());
    let (residuals, damping, frozen) = (vec![1.0; count], vec![0.01; cols], vec![false; cols]);
    let system = System { jacobian: jacobian.view(), residuals: &residuals, damping: &damping, frozen: &frozen };
    let options = PcgOptions { tolerance: 1e-10, max_iterations: 100 };
    let blocks = CoordinateBlocks::of(vec![(0, cols)]);
    // The products of all pairs of columns, for conjugate gradients in both orders.
    let all = (count * cols * cols) as f64;
    for expected in [5, 20] {
        let slice = all / f64::from(expected);
        let make = |kind| make(kind, cols, &jacobian.row_offsets, &jacobian.col_indices, &blocks).unwrap();
        let mut step = vec![0.0; cols];
        let LinearSolver::SparseCholesky(mut cholesky) = make(Kind::SparseCholesky) else { unreachable!() };
        cholesky.begin(&damping, &frozen);
        let slices = (1..=1000).find(|_| cholesky.advance(&system.jacobian, 0.5 * slice).is_some()).unwrap();
        // A slice ends after the group of 16 rows that reaches its limit, and the last ones have the factor.
        assert!(2 * slices > expected && slices <= expected + 2, "{slices} slices of a factorisation, not {expected}");
        let LinearSolver::IterativeSchur(mut schur) = make(Kind::IterativeSchur) else { unreachable!() };
        schur.begin();
        let mut advance = || schur.advance(&system, options, 0.5 * slice, &mut step).unwrap();
        let (slices, solved) = (1..=1000).find_map(|slices| advance().map(|solved| (slices, solved))).unwrap();
        let slices = slices - solved.unwrap() as i32;
        assert!(2 * slices > expected && slices <= expected + 2, "{slices} slices of a complement, not {expected}");
        let mut pcg = Pcg::new();
        pcg.begin_rows(cols, &blocks);
        let mut advance = || pcg.advance_rows(&system, &blocks, options, slice, &mut step).is_some();
        let slices = (1..=1000).find(|_| advance()).unwrap();
        assert!(2 * slices > expected && slices <= expected + 5, "{slices} slices of iterations, not {expected}");
    }
}

#[test]
fn dense_qr_that_does_not_fit_is_refused_with_both_figures() {
    let refused = |cols| make(Kind::DenseQr, cols, &[0], &[], &CoordinateBlocks::default()).map(drop);
    assert!(refused(6_000).is_ok());
    // (6,500 + 2,048 rows of R and the panel) × 6,501 columns.
    let error = refused(6_500).unwrap_err();
    assert_eq!(error.code, ErrorCode::LimitExceeded);
    assert_eq!(error.message, "dense QR would store 55,570,548 numbers, and at most 50,000,000 are stored");
}
