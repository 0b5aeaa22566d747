//! Factors of sparse matrices: what they store, what they solve, and what is refused.

use super::cholesky::{Analysis, Complement, too_large};
use super::tests::{Owned, grid, random};
use super::*;
use residua_base::ErrorCode;

#[test]
fn the_ordering_keeps_the_factor_of_a_grid_sparse() {
    let jacobian = grid(30, 3);
    let analysis = Analysis::new(
        jacobian.cols,
        &jacobian.row_offsets,
        &jacobian.col_indices,
        &CoordinateBlocks::default(),
        Complement::None,
    )
    .unwrap();
    let n = jacobian.cols as u64;
    // The natural order fills a band of 31 · 3 columns, 2700 · 93 numbers; nested dissection needs about 31/4 n log₂ n · 3 / …: less
    // than half of the band is what tells an ordering from none.
    assert!(analysis.factor_len() < n * 93 / 2, "{}", analysis.factor_len());
    // Panels have some zeros, which merging stores, and numbers above their diagonals.
    let length = analysis.factor_len();
    let stored = SparseCholesky::new(analysis).unwrap().stored_len() as u64;
    assert!(stored >= length && stored < 2 * length, "{stored} numbers are stored for {length}");
}

#[test]
fn a_sparse_factorisation_solves_to_rounding() {
    for (side, dim, blocks) in [(3, 1, 1), (12, 3, 3), (9, 6, 6), (20, 2, 1), (7, 4, 9), (5, 12, 12)] {
        let jacobian = grid(side, dim);
        let cols = jacobian.cols;
        let ranges = (0..cols).step_by(blocks).map(|first| (first, blocks.min(cols - first))).collect();
        let analysis = Analysis::new(
            cols,
            &jacobian.row_offsets,
            &jacobian.col_indices,
            &CoordinateBlocks::of(ranges),
            Complement::None,
        )
        .unwrap();
        let (damping, frozen) = (vec![1e-3; cols], vec![false; cols]);
        let mut cholesky = SparseCholesky::new(analysis).unwrap();
        let b: Vec<f64> = std::iter::repeat_with(random(5)).take(cols).collect();
        let mut x = b.clone();
        cholesky.factorise(&jacobian.view(), &damping, &frozen).unwrap().solve(&mut x);
        let (mut image, mut product) = (vec![0.0; jacobian.view().rows()], vec![0.0; cols]);
        jacobian.view().times(&x, &mut image);
        jacobian.view().add_transposed_times(&image, &mut product);
        let norm = |x: &[f64]| x.iter().fold(0.0f64, |most, x| most.max(x.abs()));
        let residual: Vec<f64> = (0..cols).map(|k| product[k] + damping[k] * x[k] - b[k]).collect();
        // Rows of J have 2 · dim numbers up to 1, and a column is in 4 · dim rows: ‖A‖∞ ≤ 8 dim². The backward error of a Cholesky
        // factorisation is below 4 n (3 n + 1) roundings of the longest column n of L (Higham, theorem 10.4), and mostly some of them.
        let size = 8.0 * (dim * dim) as f64 * norm(&x) + norm(&b);
        assert!(norm(&residual) <= 30.0 * f64::EPSILON * size, "{side}, {dim}, {blocks}: {}", norm(&residual) / size);
    }
}

#[test]
fn a_pattern_at_the_limits_is_factorised() {
    // Rows of 10,000 entries: 10⁸ products each, and as many entries of JᵀJ as products, or as 10,000 columns have.
    let rows = |count: u32| (0..=count).map(|row| row * 10_000).collect::<Vec<_>>();
    assert_eq!(too_large(20_000, &rows(2)), None);
    assert_eq!(too_large(10_000, &rows(10)), None);
    assert!(too_large(20_000, &rows(3)).is_some_and(|why| why.contains("300,000,000 entries")));
    assert!(too_large(10_000, &rows(11)).is_some_and(|why| why.contains("1,100,000,000 products")));
}

#[test]
fn what_cannot_be_factorised_says_so_when_it_is_asked_for() {
    let jacobian = Owned::new(20_000, &[(0..20_000).map(|column| (column, 1.0)).collect()]);
    let Owned { cols, row_offsets, col_indices, .. } = &jacobian;
    let error = choice::make(Kind::SparseCholesky, *cols, row_offsets, col_indices, &CoordinateBlocks::default())
        .map(|_| ())
        .unwrap_err();
    assert_eq!(error.code, ErrorCode::LimitExceeded);
    assert_eq!(error.message, "JᵀJ would take 400,000,000 entries, and sparse Cholesky takes up to 200,000,000");
}

/// Three threads that take pieces in turns, the last pieces first.
fn on_three_threads(task: usize, data: usize, pieces: usize) {
    std::thread::scope(|scope| {
        for first in 0..3 {
            let own = (first..pieces).step_by(3).rev();
            // SAFETY: each piece is run once, and the scope ends after the last.
            scope.spawn(move || own.for_each(|piece| unsafe { residua_base::threads::run_piece(task, data, piece) }));
        }
    });
}

#[test]
fn a_factor_has_the_same_bits_on_several_threads() {
    // Fronts of all sizes up to more than a block of columns; many children of one front.
    for (side, complement) in [(48, Complement::None), (20, Complement::Dense)] {
        check_bits(side, complement);
    }
}

/// Compares factors of differences of neighbours in a grid of blocks of two.
fn check_bits(side: usize, complement: Complement) {
    let (mut rows, mut values) = (Vec::new(), Vec::new());
    for at in 0..side * side {
        for other in [at + 1, at + side] {
            let is_neighbour = other < side * side && (other == at + side || other % side != 0);
            for component in (0..2).filter(|_| is_neighbour) {
                rows.push([2 * at as u32, 2 * at as u32 + 1, 2 * other as u32 + component]);
                let number = |k: usize| 1.0 + ((at * 31 + other * 7 + k) % 17) as f64 / 19.0;
                values.extend([number(0), number(1) - 1.0, -number(2)]);
            }
        }
    }
    let cols = 2 * side * side;
    let row_offsets = (0..=rows.len() as u32).map(|row| 3 * row).collect();
    let jacobian = Owned { cols, row_offsets, col_indices: rows.concat(), values };
    let blocks = CoordinateBlocks::of((0..cols).step_by(2).map(|first| (first, 2)).collect());
    let (damping, frozen) = (vec![0.1; cols], vec![false; cols]);
    let solution = |share| {
        residua_base::threads::set_share(share);
        let analysis = Analysis::new(cols, &jacobian.row_offsets, &jacobian.col_indices, &blocks, complement).unwrap();
        let mut cholesky = SparseCholesky::new(analysis).unwrap();
        let mut x = (0..cols).map(|k| (k % 13) as f64 - 6.0).collect::<Vec<_>>();
        cholesky.factorise(&jacobian.view(), &damping, &frozen).unwrap().solve(&mut x);
        let dependent = cholesky.factorise_independent(&jacobian.view(), &frozen, 0.5);
        residua_base::threads::set_share(None);
        (x, dependent)
    };
    let (alone, shared) = (solution(None), solution(Some(on_three_threads as residua_base::threads::Share)));
    assert!(alone.0.iter().all(|x| x.is_finite()) && !alone.1.is_empty());
    assert!(alone == shared);
}
