//! All solvers, against a reference that shares nothing with them: Gaussian elimination of the normal equations with complete pivoting.

use super::cholesky::{Analysis, Complement};
use super::pcg::cholesky;
use super::*;

/// A sparse matrix that owns its parts.
#[derive(Clone, Debug, Default)]
pub struct Owned {
    pub cols: usize,
    pub row_offsets: Vec<u32>,
    pub col_indices: Vec<u32>,
    pub values: Vec<f64>,
}

impl Owned {
    /// Of rows of pairs of column and number.
    pub fn new(cols: usize, rows: &[Vec<(usize, f64)>]) -> Owned {
        let mut matrix = Owned { cols, row_offsets: vec![0], ..Owned::default() };
        for row in rows {
            for &(column, value) in row {
                matrix.col_indices.push(column as u32);
                matrix.values.push(value);
            }
            matrix.row_offsets.push(matrix.col_indices.len() as u32);
        }
        matrix
    }

    /// Of rows of numbers, zeros left out.
    pub fn dense(rows: &[&[f64]]) -> Owned {
        let cols = rows.first().map_or(0, |row| row.len());
        let entries = |row: &&[f64]| row.iter().copied().enumerate().filter(|(_, value)| *value != 0.0).collect();
        Owned::new(cols, &rows.iter().map(entries).collect::<Vec<_>>())
    }

    pub fn view(&self) -> SparseMatrix<'_> {
        SparseMatrix {
            cols: self.cols,
            row_offsets: &self.row_offsets,
            col_indices: &self.col_indices,
            values: &self.values,
        }
    }
}

/// Numbers in [-1, 1): Lehmer's generator.
pub fn random(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed;
    move || {
        state = state * 48_271 % 0x7fff_ffff;
        state as f64 / f64::from(0x4000_0000) - 1.0
    }
}

/// A random sparse matrix: each row has up to `most` of the columns.
fn scattered(rows: usize, cols: usize, most: usize, seed: u64) -> Owned {
    let mut next = random(seed);
    let mut position = random(seed + 1);
    let rows: Vec<Vec<(usize, f64)>> = (0..rows)
        .map(|_| {
            let mut columns: Vec<usize> =
                (0..most).map(|_| ((position() + 1.0) * 0.5 * cols as f64) as usize).collect();
            columns.sort_unstable();
            columns.dedup();
            columns.into_iter().map(|column| (column, next())).collect()
        })
        .collect();
    Owned::new(cols, &rows)
}

/// δ of the normal equations, by elimination with complete pivoting. Rows of frozen coordinates are left out.
pub fn reference(system: &System) -> Vec<f64> {
    let n = system.jacobian.cols;
    let mut dense = vec![vec![0.0; n]; system.jacobian.rows()];
    for (row, target) in dense.iter_mut().enumerate() {
        for (column, value) in system.jacobian.row(row) {
            target[column] = value;
        }
    }
    let free: Vec<usize> = (0..n).filter(|&k| !system.frozen[k]).collect();
    let mut a: Vec<Vec<f64>> = free
        .iter()
        .map(|&i| {
            let product = |j: usize| dense.iter().map(|row| row[i] * row[j]).sum::<f64>();
            let mut line: Vec<f64> =
                free.iter().map(|&j| product(j) + if i == j { system.damping[i] } else { 0.0 }).collect();
            line.push(-dense.iter().zip(system.residuals).map(|(row, r)| row[i] * r).sum::<f64>());
            line
        })
        .collect();
    let size = free.len();
    let mut order: Vec<usize> = (0..size).collect();
    for k in 0..size {
        let (mut row, mut column) = (k, k);
        for i in k..size {
            for j in k..size {
                if a[i][j].abs() > a[row][column].abs() {
                    (row, column) = (i, j);
                }
            }
        }
        a.swap(k, row);
        order.swap(k, column);
        for line in &mut a {
            line.swap(k, column);
        }
        if a[k][k] == 0.0 {
            break;
        }
        for i in k + 1..size {
            let factor = a[i][k] / a[k][k];
            let (above, below) = a.split_at_mut(i);
            below[0].iter_mut().zip(&above[k]).for_each(|(entry, pivot)| *entry -= factor * pivot);
        }
    }
    let mut step = vec![0.0; n];
    let mut solved = vec![0.0; size];
    for k in (0..size).rev() {
        if a[k][k] != 0.0 {
            let known: f64 = (k + 1..size).map(|j| a[k][j] * solved[j]).sum();
            solved[k] = (a[k][size] - known) / a[k][k];
        }
        step[free[order[k]]] = solved[k];
    }
    step
}

struct Case {
    name: &'static str,
    jacobian: Owned,
    damping: f64,
    frozen: Vec<usize>,
    /// Relative error of δ that a solver may make: its own rounding, times the condition of J̃ᵀJ̃ + diag(d).
    tolerance: f64,
}

fn cases() -> Vec<Case> {
    let case = |name, jacobian, damping, frozen: &[usize], tolerance| Case {
        name,
        jacobian,
        damping,
        frozen: frozen.to_vec(),
        tolerance,
    };
    vec![
        case("one by one", Owned::dense(&[&[3.0]]), 0.0, &[], 1e-14),
        case("no rows", Owned { cols: 2, row_offsets: vec![0], ..Owned::default() }, 1.0, &[], 0.0),
        case("no columns", Owned::new(0, &[vec![], vec![]]), 1.0, &[], 0.0),
        case(
            "an empty row and an empty column",
            Owned::dense(&[&[1.0, 0.0, 2.0], &[0.0; 3], &[3.0, 0.0, 1.0]]),
            0.0,
            &[],
            1e-13,
        ),
        case("a column of explicit zeros", Owned::new(2, &[vec![(0, 2.0), (1, 0.0)], vec![(1, 0.0)]]), 0.0, &[], 1e-14),
        case("fewer rows than columns, damped", Owned::dense(&[&[1.0, 2.0, 3.0], &[0.5, 0.0, 1.0]]), 1e-3, &[], 1e-11),
        case("dependent columns, damped", Owned::dense(&[&[1.0, 2.0], &[2.0, 4.0], &[3.0, 6.0]]), 1e-4, &[], 1e-9),
        case(
            "a frozen column",
            Owned::dense(&[&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0], &[7.0, 8.0, 10.0], &[1.0, 0.0, 1.0]]),
            0.1,
            &[1],
            1e-12,
        ),
        case("all frozen", Owned::dense(&[&[1.0, 2.0], &[3.0, 4.0]]), 0.1, &[0, 1], 0.0),
        case("scattered", scattered(300, 40, 5, 17), 0.01, &[3, 39], 1e-11),
        case("scattered, more than a panel of rows", scattered(900, 70, 4, 5), 1e-3, &[], 1e-11),
        case("one row of all columns", scattered(1, 30, 60, 3), 0.5, &[], 1e-12),
        case(
            "of very different columns",
            Owned::dense(&[&[1e8, 1.0, 1e-4], &[2e8, 0.5, 3e-4], &[0.0, 2.0, 1e-4], &[1e8, 1.0, 2e-4]]),
            0.0,
            &[],
            1e-9,
        ),
    ]
}

#[test]
fn every_solver_gives_the_reference_s_step() {
    for case in cases() {
        let rows = case.jacobian.row_offsets.len() - 1;
        let residuals: Vec<f64> = std::iter::repeat_with(random(9)).take(rows).collect();
        let damping = vec![case.damping; case.jacobian.cols];
        let mut frozen = vec![false; case.jacobian.cols];
        case.frozen.iter().for_each(|&k| frozen[k] = true);
        let system =
            System { jacobian: case.jacobian.view(), residuals: &residuals, damping: &damping, frozen: &frozen };
        let expected = reference(&system);
        let scale = expected.iter().fold(0.0f64, |most, value| most.max(value.abs()));
        let Owned { cols, row_offsets, col_indices, .. } = &case.jacobian;
        for kind in
            [Kind::DenseQr, Kind::SparseCholesky, Kind::SparseSchur, Kind::DenseSchur, Kind::IterativeSchur, Kind::Pcg]
        {
            let mut solver = choice::make(kind, *cols, row_offsets, col_indices, &CoordinateBlocks::default()).unwrap();
            let is_schur = matches!(kind, Kind::SparseSchur | Kind::DenseSchur);
            assert_eq!(solver.kind(), if is_schur { Kind::SparseCholesky } else { kind });
            // Blocks of up to 3; with a tolerance of 1e-15 conjugate gradients go as far as rounding lets them.
            let ranges = (0..*cols).step_by(3).map(|first| (first, 3.min(cols - first))).collect();
            let options = PcgOptions { tolerance: 1e-15, max_iterations: 1000 };
            let mut step = vec![f64::NAN; *cols];
            for _ in 0..2 {
                solver.solve(&system, &CoordinateBlocks::of(Clone::clone(&ranges)), options, &mut step).unwrap();
                for k in 0..*cols {
                    // Small coordinates are compared beside what they do: beside the damped length of their column.
                    let error = (step[k] - expected[k]).abs();
                    assert!(
                        error <= case.tolerance * scale.min(expected[k].abs().max(1e-3 * scale)),
                        "{}, {kind:?}: coordinate {k} is {} and not {}",
                        case.name,
                        step[k],
                        expected[k]
                    );
                }
                assert!(case.frozen.iter().all(|&k| step[k] == 0.0), "{}, {kind:?}", case.name);
            }
        }
    }
}

/// The Vandermonde matrix of degree 8 on [1, 2]: condition 3·10⁸ after scaling its columns, so that its square is beyond f64.
fn vandermonde() -> Owned {
    let rows: Vec<Vec<(usize, f64)>> = (0..40)
        .map(|i| (0..9).map(|power| (power, (1.0 + f64::from(i) / 39.0).powi(power as i32))).collect())
        .collect();
    Owned::new(9, &rows)
}

#[test]
fn qr_keeps_the_digits_that_normal_equations_lose() {
    let jacobian = vandermonde();
    let exact: Vec<f64> = (0..9).map(|k| 1.0 + f64::from(k) / 8.0).collect();
    let mut residuals = vec![0.0; 40];
    jacobian.view().times(&exact, &mut residuals);
    residuals.iter_mut().for_each(|r| *r = -*r);
    let (damping, frozen) = ([0.0; 9], [false; 9]);
    let system = System { jacobian: jacobian.view(), residuals: &residuals, damping: &damping, frozen: &frozen };
    let mut step = [0.0; 9];
    let error = |step: &[f64; 9]| step.iter().zip(&exact).fold(0.0f64, |most, (a, b)| most.max((a / b - 1.0).abs()));
    DenseQr::new().solve(&system, &mut step).unwrap();
    // Condition 3e8 to 1e11 times 2⁻⁵³ is 1e-6 at worst.
    assert!(error(&step) < 1e-6, "{}", error(&step));
    let analysis =
        Analysis::new(9, &jacobian.row_offsets, &jacobian.col_indices, &CoordinateBlocks::default(), Complement::None)
            .unwrap();
    let outcome = SparseCholesky::new(analysis).unwrap().solve(&system, &mut step);
    assert!(outcome == Err(Trouble::NotPositiveDefinite) || error(&step) > 1e-4, "{}", error(&step));
}

#[test]
fn a_singular_system_is_trouble_and_more_damping_ends_it() {
    let jacobian = Owned::dense(&[&[1.0, 2.0], &[2.0, 4.0]]);
    let Owned { cols, row_offsets, col_indices, .. } = &jacobian;
    for kind in [Kind::DenseQr, Kind::SparseCholesky] {
        let mut solver = choice::make(kind, *cols, row_offsets, col_indices, &CoordinateBlocks::default()).unwrap();
        for (damping, expected) in [(0.0, Err(Trouble::NotPositiveDefinite)), (1.0, Ok(1))] {
            let damping = [damping; 2];
            let system =
                System { jacobian: jacobian.view(), residuals: &[1.0, 1.0], damping: &damping, frozen: &[false; 2] };
            let options = PcgOptions { tolerance: 0.0, max_iterations: 10 };
            assert_eq!(
                solver.solve(&system, &CoordinateBlocks::default(), options, &mut [0.0; 2]),
                expected,
                "{kind:?}"
            );
        }
    }
}

#[test]
fn rows_that_are_next_to_nothing_change_no_digit() {
    // Samples of a peak far from its centre are so small that their squares have few digits, or none, or vanish.
    for exponent in [-150, -155, -158, -160, -161, -162, -170, -300] {
        let little = 10f64.powi(exponent);
        let rows: Vec<Vec<f64>> = (0..100)
            .map(|row| {
                let of_row = [1.0, f64::from(row), (0.3 * f64::from(row)).sin()];
                of_row.map(|entry| if row < 70 { entry * little } else { entry }).to_vec()
            })
            .collect();
        let [whole, rest] =
            [&rows[..], &rows[70..]].map(|rows| Owned::dense(&rows.iter().map(Vec::as_slice).collect::<Vec<_>>()));
        let steps = [&whole, &rest].map(|jacobian| {
            let residuals = vec![1.0; jacobian.row_offsets.len() - 1];
            let system =
                System { jacobian: jacobian.view(), residuals: &residuals, damping: &[0.0; 3], frozen: &[false; 3] };
            let mut step = [0.0; 3];
            DenseQr::new().solve(&system, &mut step).unwrap();
            step
        });
        // Columns have a condition of some 100: a few thousand roundings of 1e-16.
        for (a, b) in steps[0].iter().zip(&steps[1]) {
            assert!((a - b).abs() <= 1e-12, "{exponent}: {steps:?}");
        }
    }
}

#[test]
fn conjugate_gradients_that_leave_nothing_are_done() {
    let jacobian = Owned::dense(&[&[2.0, 1.0], &[1.0, 3.0]]);
    let system = System { jacobian: jacobian.view(), residuals: &[1.0, -1.0], damping: &[0.0; 2], frozen: &[false; 2] };
    let mut step = [0.0; 2];
    let options = PcgOptions { tolerance: 0.0, max_iterations: 10_000 };
    let iterations = Pcg::new().solve(&system, &CoordinateBlocks::default(), options, &mut step).unwrap();
    assert!((2..=10_000).contains(&iterations), "{iterations}");
    // The solution of two equations, but for a few roundings.
    assert!((step[0] + 0.8).abs() < 1e-14 && (step[1] - 0.6).abs() < 1e-14, "{step:?}");
}

#[test]
fn what_is_not_finite_is_trouble_for_every_solver() {
    for bad in [f64::NAN, f64::INFINITY] {
        for of_residual in [true, false] {
            let jacobian = Owned::dense(&[&[if of_residual { 1.0 } else { bad }, 2.0], &[2.0, 1.0]]);
            let residuals = [if of_residual { bad } else { 1.0 }, 1.0];
            let Owned { cols, row_offsets, col_indices, .. } = &jacobian;
            for kind in [Kind::DenseQr, Kind::SparseCholesky, Kind::Pcg] {
                let mut solver =
                    choice::make(kind, *cols, row_offsets, col_indices, &CoordinateBlocks::default()).unwrap();
                let system = System {
                    jacobian: jacobian.view(),
                    residuals: &residuals,
                    damping: &[0.1; 2],
                    frozen: &[false; 2],
                };
                let blocks = CoordinateBlocks::of(vec![(0, 2)]);
                let options = PcgOptions { tolerance: 0.1, max_iterations: 10 };
                assert!(solver.solve(&system, &blocks, options, &mut [0.0; 2]).is_err(), "{kind:?}, {bad}");
            }
        }
    }
}

#[test]
fn conjugate_gradients_stop_where_they_are_told() {
    let jacobian = scattered(200, 60, 4, 23);
    let residuals = vec![1.0; 200];
    let (damping, frozen) = (vec![0.01; 60], vec![false; 60]);
    let system = System { jacobian: jacobian.view(), residuals: &residuals, damping: &damping, frozen: &frozen };
    let blocks = CoordinateBlocks::of((0..30).map(|block| (2 * block, 2)).collect());
    let run = |tolerance, max_iterations| {
        Pcg::new().solve(&system, &blocks, PcgOptions { tolerance, max_iterations }, &mut [0.0; 60]).unwrap()
    };
    assert_eq!(run(0.0, 7), 7);
    assert_eq!(run(1.0, 50), 1);
    let (loose, tight) = (run(1e-2, 500), run(1e-8, 500));
    assert!(1 < loose && loose < tight && tight < 120, "{loose} {tight}");
    assert_eq!(run(1e-8, 0), 0);
}

#[test]
fn the_preconditioner_of_the_whole_matrix_ends_in_one_iteration() {
    let jacobian = scattered(50, 6, 4, 29);
    let residuals = vec![1.0; 50];
    let system = System { jacobian: jacobian.view(), residuals: &residuals, damping: &[0.1; 6], frozen: &[false; 6] };
    let blocks = CoordinateBlocks::of(vec![(0, 6)]);
    let options = PcgOptions { tolerance: 1e-10, max_iterations: 100 };
    assert_eq!(Pcg::new().solve(&system, &blocks, options, &mut [0.0; 6]), Ok(1));
}

#[test]
fn small_dense_factors_say_when_there_are_none() {
    let mut indefinite = [1.0, 0.0, 2.0, 1.0];
    assert!(!cholesky(&mut indefinite, 2));
    let mut definite = [4.0, 0.0, 2.0, 5.0];
    assert!(cholesky(&mut definite, 2));
    assert_eq!(definite, [2.0, 0.0, 1.0, 2.0]);
}

/// A square grid of springs: each vertex of `dim` coordinates is joined to its right and its lower neighbour.
pub fn grid(side: usize, dim: usize) -> Owned {
    let mut next = random(31);
    let mut rows = Vec::new();
    for i in 0..side {
        for j in 0..side {
            let mut join = |a: usize, b: usize| {
                for _ in 0..dim {
                    let columns = (a * dim..a * dim + dim).chain(b * dim..b * dim + dim);
                    rows.push(columns.map(|column| (column, next())).collect::<Vec<_>>());
                }
            };
            let here = i * side + j;
            if j + 1 < side {
                join(here, here + 1);
            }
            if i + 1 < side {
                join(here, here + side);
            }
        }
    }
    Owned::new(side * side * dim, &rows)
}

#[test]
fn the_choice_goes_by_size_and_sparsity() {
    let full = |rows: usize, cols: usize| {
        Owned::new(cols, &vec![(0..cols).map(|column| (column, 1.0)).collect::<Vec<_>>(); rows])
    };
    let one_row = full(1, 20_000);
    let table = [
        (full(20, 4), Kind::DenseQr, "dense QR: 4 parameters, J 100 % filled"),
        (full(300, 150), Kind::DenseQr, "dense QR: 150 parameters, J 100 % filled"),
        (grid(10, 3), Kind::SparseCholesky, "sparse Cholesky: 300 parameters, J 2.00 % filled, the factor has "),
        (
            full(60_000, 60),
            Kind::SparseCholesky,
            "sparse Cholesky: 60 parameters, J 100 % filled, the factor has 1,830 numbers",
        ),
        (
            one_row,
            Kind::Pcg,
            "conjugate gradients: 20,000 parameters, J 100 % filled, JᵀJ would take 400,000,000 entries, and sparse Cholesky takes up to 200,000,000",
        ),
        // The factor is too costly by its longest row.
        (
            full(1, 9_000),
            Kind::Pcg,
            "conjugate gradients: 9,000 parameters, J 100 % filled, a Cholesky factor would have at least 40,504,500 numbers",
        ),
        // Neither few parameters that are sparse nor a full matrix of more parameters is dense.
        (grid(5, 3), Kind::SparseCholesky, "sparse Cholesky: 75 parameters, J 8.00 % filled"),
        (full(2, 250), Kind::SparseCholesky, "sparse Cholesky: 250 parameters, J 100 % filled"),
        (Owned::new(0, &[]), Kind::DenseQr, "dense QR: 0 parameters, J 0.00 % filled"),
    ];
    for (jacobian, kind, reason) in table {
        let SolverChoice { solver, why, .. } =
            choose(jacobian.cols, &jacobian.row_offsets, &jacobian.col_indices, &CoordinateBlocks::default()).unwrap();
        assert_eq!(solver.kind(), kind, "{why}");
        assert!(why.starts_with(reason), "{why}");
    }
}
