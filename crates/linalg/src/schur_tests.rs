//! Schur complements: which blocks are eliminated, and that all forms give the step of the whole system.

use super::cholesky::{Analysis, Complement};
use super::tests::{Owned, random};
use super::*;

/// Cameras of 6 coordinates that see points of 3, each in a row of two residuals.
fn observations(cameras: usize, points: usize) -> (Owned, CoordinateBlocks) {
    let (mut next, mut place) = (random(41), random(43));
    let mut rows = Vec::new();
    for point in 0..points {
        let first = ((0.5 * place() + 0.5) * cameras as f64) as usize % cameras;
        for camera in [first, (first + 1) % cameras, (first + 3) % cameras] {
            for _ in 0..2 {
                let columns = (6 * camera..6 * camera + 6).chain(6 * cameras + 3 * point..6 * cameras + 3 * point + 3);
                rows.push(columns.map(|column| (column, next())).collect::<Vec<_>>());
            }
        }
    }
    let cameras_first = (0..cameras).map(|camera| (6 * camera, 6));
    let ranges = cameras_first.chain((0..points).map(|point| (6 * cameras + 3 * point, 3))).collect();
    (Owned::new(6 * cameras + 3 * points, &rows), CoordinateBlocks::of(ranges))
}

#[test]
fn a_schur_complement_eliminates_the_points_and_gives_the_same_step() {
    let (jacobian, blocks) = observations(6, 60);
    let Owned { cols, row_offsets, col_indices, .. } = &jacobian;
    for complement in [Complement::Sparse, Complement::Dense, Complement::DenseIfSmall] {
        let analysis = Analysis::new(*cols, row_offsets, col_indices, &blocks, complement).unwrap();
        let eliminated = analysis.eliminated().unwrap();
        assert_eq!((eliminated.blocks, eliminated.columns), (60, 180));
        assert!(analysis.order()[..180].iter().all(|&column| column >= 36), "points come before cameras");
    }
    let why = choose(*cols, row_offsets, col_indices, &blocks).unwrap().why;
    assert!(
        why.starts_with("dense Schur complement: 216 parameters") && why.contains("eliminated and leave 36"),
        "{why}"
    );
    let (damping, mut frozen) = (vec![0.1; *cols], vec![false; *cols]);
    (frozen[3], frozen[100]) = (true, true);
    let residuals: Vec<f64> = std::iter::repeat_with(random(9)).take(row_offsets.len() - 1).collect();
    let system = System { jacobian: jacobian.view(), residuals: &residuals, damping: &damping, frozen: &frozen };
    let kinds = [Kind::DenseQr, Kind::SparseSchur, Kind::DenseSchur, Kind::IterativeSchur];
    let [expected, others @ ..] = kinds.map(|kind| {
        let mut step = vec![0.0; *cols];
        let options = PcgOptions { tolerance: 1e-15, max_iterations: 100 };
        let mut solver = choice::make(kind, *cols, row_offsets, col_indices, &blocks).unwrap();
        solver.solve(&system, &blocks, options, &mut step).unwrap();
        step
    });
    for (k, expected) in expected.iter().enumerate() {
        for (kind, step) in kinds[1..].iter().zip(&others) {
            // The condition of J̃ᵀJ̃ + diag(d) is some 10³: its rows have sums of some hundred squares, and the damping is 0.1.
            let error = (step[k] - expected).abs();
            assert!(error <= 1e-11, "{kind:?}, coordinate {k}: {expected}, {}", step[k]);
        }
    }
}

#[test]
fn iterations_on_a_schur_complement_are_fewer_than_on_the_whole_matrix() {
    let (jacobian, blocks) = observations(8, 200);
    let Owned { cols, row_offsets, col_indices, .. } = &jacobian;
    let residuals: Vec<f64> = std::iter::repeat_with(random(9)).take(row_offsets.len() - 1).collect();
    let (damping, frozen) = (vec![1e-3; *cols], vec![false; *cols]);
    let system = System { jacobian: jacobian.view(), residuals: &residuals, damping: &damping, frozen: &frozen };
    let [schur, whole] = [Kind::IterativeSchur, Kind::Pcg].map(|kind| {
        let mut solver = choice::make(kind, *cols, row_offsets, col_indices, &blocks).unwrap();
        assert_eq!((solver.kind(), solver.is_iterative()), (kind, true));
        let mut step = vec![0.0; *cols];
        solver.solve(&system, &blocks, PcgOptions { tolerance: 1e-6, max_iterations: 500 }, &mut step).unwrap()
    });
    // The reduced system of a matrix of two colours has the squares of its eigenvalues.
    assert!(
        schur < 48 && 2 * schur <= whole + 2,
        "{schur} iterations on the complement of 48, {whole} on the whole matrix"
    );
}

#[test]
fn named_blocks_are_eliminated_in_place_of_those_that_would_be_found() {
    let (jacobian, mut blocks) = observations(6, 60);
    let Owned { cols, row_offsets, col_indices, .. } = &jacobian;
    // Cameras, which are independent of one another, too; of a range of points the independent ones; and columns of no whole block.
    for (named, columns) in [(vec![(0, 36)], 36), (vec![(36, 30), (90, 6)], 36), (vec![(0, 5), (36, 7)], 6)] {
        blocks.named = named;
        let analysis = Analysis::new(*cols, row_offsets, col_indices, &blocks, Complement::Sparse).unwrap();
        assert_eq!(analysis.eliminated().unwrap().columns, columns, "{:?}", blocks.named);
        let schur = IterativeSchur::new(*cols, row_offsets, col_indices, &blocks).unwrap();
        assert_eq!(Some(schur.eliminated()), analysis.eliminated());
    }
}
