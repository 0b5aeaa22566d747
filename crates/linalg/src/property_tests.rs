//! Properties of the solvers on random systems: against dense references, under a change of units, and exactly for matrices of integers.
// What fails here fails the test, which is what unwrap() says.
#![allow(clippy::unwrap_used)]

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use residua_base::ErrorCode;

use super::cholesky::{Analysis, Complement};
use super::null_space::TOLERANCE;
use super::ordering_tests::Below;
use super::tests::{Owned, reference};
use super::*;

/// A damped system: a random sparse J̃ of up to 24 rows and 12 columns, with blocks that cover all columns. The condition of J̃ᵀJ̃ + diag(d)
/// is below 24 · 4 · 4/0.1 = 4,000.
#[derive(Clone, Debug)]
struct Problem {
    jacobian: Owned,
    residuals: Vec<f64>,
    damping: Vec<f64>,
    frozen: Vec<bool>,
    blocks: CoordinateBlocks,
}

impl Problem {
    fn system(&self) -> System<'_> {
        System {
            jacobian: self.jacobian.view(),
            residuals: &self.residuals,
            damping: &self.damping,
            frozen: &self.frozen,
        }
    }

    fn solver(&self, kind: Kind) -> LinearSolver {
        let Owned { cols, row_offsets, col_indices, .. } = &self.jacobian;
        choice::make(kind, *cols, row_offsets, col_indices, &self.blocks).expect("a small pattern has every solver")
    }

    fn step(&self, kind: Kind, options: PcgOptions) -> Vec<f64> {
        let mut step = vec![f64::NAN; self.jacobian.cols];
        let solved = self.solver(kind).solve(&self.system(), &self.blocks, options, &mut step);
        solved.expect("a damped system has a step");
        step
    }
}

/// As far as rounding allows.
const CONVERGED: PcgOptions = PcgOptions { tolerance: 1e-15, max_iterations: 1000 };

/// Blocks of these widths, side by side, as far as the columns go.
fn blocks(cols: usize, widths: &[usize]) -> CoordinateBlocks {
    let mut ranges = Vec::new();
    let mut first = 0;
    for &width in widths.iter().cycle() {
        if first >= cols {
            break;
        }
        ranges.push((first, width.min(cols - first)));
        first += width;
    }
    CoordinateBlocks::of(ranges)
}

fn sparse(rows: usize, cols: usize) -> impl Strategy<Value = Owned> {
    let entry = prop_oneof![8 => -2.0..2.0, 1 => Just(0.0)];
    vec(btree_map(0..cols, entry, 0..=cols.min(4)), rows).prop_map(move |rows| {
        Owned::new(cols, &rows.into_iter().map(|row| row.into_iter().collect()).collect::<Vec<_>>())
    })
}

fn problem() -> impl Strategy<Value = Problem> {
    (0..=24usize, 1..=12usize).prop_flat_map(|(rows, cols)| {
        (
            sparse(rows, cols),
            vec(-2.0..2.0, rows),
            vec(0.1..3.0, cols),
            vec(prop::bool::weighted(0.2), cols),
            vec(1..=4usize, 3),
        )
            .prop_map(move |(jacobian, residuals, damping, frozen, widths)| Problem {
                jacobian,
                residuals,
                damping,
                frozen,
                blocks: blocks(cols, &widths),
            })
    })
}

const KINDS: [Kind; 6] =
    [Kind::DenseQr, Kind::SparseCholesky, Kind::SparseSchur, Kind::DenseSchur, Kind::IterativeSchur, Kind::Pcg];

/// ½‖J̃δ + r̃‖² + ½ Σ dⱼδⱼ².
fn model(problem: &Problem, step: &[f64]) -> f64 {
    let mut jvp = problem.residuals.clone();
    let mut product = vec![0.0; jvp.len()];
    problem.jacobian.view().times(step, &mut product);
    jvp.iter_mut().zip(product).for_each(|(jvp, product)| *jvp += product);
    let damped = problem.damping.iter().zip(step).map(|(d, step)| d * step * step);
    0.5 * (jvp.iter().map(|r| r * r).sum::<f64>() + damped.sum::<f64>())
}

/// So many cases, the same in every run.
fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn every_solver_gives_the_step_of_dense_elimination(problem in problem()) {
        let expected = reference(&problem.system());
        let scale = expected.iter().fold(0.0f64, |most, value| most.max(value.abs()));
        for kind in KINDS {
            let step = problem.step(kind, CONVERGED);
            for (k, (found, expected)) in step.iter().zip(&expected).enumerate() {
                // The condition of 4,000 times some hundred roundings.
                prop_assert!((found - expected).abs() <= 1e-10 * scale, "{kind:?}, coordinate {k}: {found} and not {expected}");
                prop_assert!(!problem.frozen[k] || *found == 0.0, "{kind:?}: frozen coordinate {k} is {found}");
            }
        }
    }

    /// Units are powers of two, and blocks cover all columns, so that every operation is the same but for exponents.
    #[test]
    fn units_of_parameters_change_no_bit_of_a_step(problem in problem(), exponents in vec(-60..=60, 12)) {
        let unit = |column: usize| 2f64.powi(exponents[column]);
        let mut scaled = problem.clone();
        for (value, &column) in scaled.jacobian.values.iter_mut().zip(&problem.jacobian.col_indices) {
            *value *= unit(column as usize);
        }
        scaled.damping.iter_mut().enumerate().for_each(|(k, d)| *d *= unit(k).powi(2));
        for kind in KINDS {
            let (step, of_scaled) = (problem.step(kind, CONVERGED), scaled.step(kind, CONVERGED));
            for (k, (step, of_scaled)) in step.iter().zip(of_scaled).enumerate() {
                prop_assert_eq!(of_scaled * unit(k), *step, "{:?}, coordinate {}", kind, k);
            }
        }
    }

    #[test]
    fn a_solver_that_solves_again_gives_the_same_step(problem in problem(), other in problem()) {
        for kind in KINDS {
            let mut solver = problem.solver(kind);
            let mut steps = [vec![0.0; problem.jacobian.cols], vec![0.0; problem.jacobian.cols]];
            let [first, second] = &mut steps;
            solver.solve(&problem.system(), &problem.blocks, CONVERGED, first).unwrap();
            // Another system of the same pattern in between: other residuals, damping and frozen coordinates.
            let mut between = problem.clone();
            between.residuals.reverse();
            between.damping.iter_mut().zip(&other.damping).for_each(|(d, other)| *d += other);
            between.frozen.iter_mut().zip(&other.frozen).for_each(|(frozen, other)| *frozen = *other);
            solver.solve(&between.system(), &between.blocks, CONVERGED, second).unwrap();
            solver.solve(&problem.system(), &problem.blocks, CONVERGED, second).unwrap();
            prop_assert_eq!(&steps[0], &steps[1], "{:?}", kind);
        }
    }

    #[test]
    fn each_iteration_of_conjugate_gradients_lowers_the_model(problem in problem()) {
        let cols = problem.jacobian.cols;
        let after = |max_iterations| {
            let step = problem.step(Kind::Pcg, PcgOptions { tolerance: 0.0, max_iterations });
            model(&problem, &step)
        };
        let least = model(&problem, &reference(&problem.system()));
        let mut last = after(0);
        prop_assert_eq!(last, 0.5 * problem.residuals.iter().map(|r| r * r).sum::<f64>());
        for iterations in 1..=cols {
            let now = after(iterations);
            prop_assert!(now <= last * (1.0 + 1e-13), "{iterations} iterations: {last} to {now}");
            last = now;
        }
        // In exact arithmetic as many iterations as coordinates suffice.
        prop_assert!(last <= least + 1e-8 * (1.0 + least), "{last}, and the least is {least}");
    }

    #[test]
    fn a_factorisation_in_slices_is_that_in_one_go(problem in problem(), slice in 1..40u32) {
        let Problem { jacobian, damping, frozen, .. } = &problem;
        let analysis = || Analysis::new(jacobian.cols, &jacobian.row_offsets, &jacobian.col_indices, &problem.blocks, Complement::None).unwrap();
        let mut x = [vec![1.0; jacobian.cols], vec![1.0; jacobian.cols]];
        let mut at_once = SparseCholesky::new(analysis()).unwrap();
        at_once.factorise(&jacobian.view(), damping, frozen).unwrap().solve(&mut x[0]);
        let mut sliced = SparseCholesky::new(analysis()).unwrap();
        sliced.begin(damping, frozen);
        let mut slices = 0;
        let outcome = loop {
            slices += 1;
            let most = jacobian.view().rows() + 6 * jacobian.cols + 2;
            prop_assert!(slices <= most, "every slice does a group of rows or a part of a supernode at least, and one clears");
            if let Some(outcome) = sliced.advance(&jacobian.view(), f64::from(slice)) {
                break outcome;
            }
        };
        prop_assert_eq!(outcome, Ok(()));
        sliced.factorisation().solve(&mut x[1]);
        prop_assert_eq!(&x[0], &x[1]);
    }

    #[test]
    fn the_normal_equations_of_few_parameters_give_the_step_or_refuse(
        (rows, damping, frozen) in (1..=6usize).prop_flat_map(|cols| {
            (vec(vec(-2.0..2.0, cols + 1), 1..=12), vec(prop_oneof![Just(0.0), 1e-6..1.0], cols), vec(prop::bool::weighted(0.2), cols))
        }),
    ) {
        let cols = damping.len();
        let residuals: Vec<f64> = rows.iter().map(|row: &Vec<f64>| row[cols]).collect();
        let jacobian = Owned::dense(&rows.iter().map(|row| &row[..cols]).collect::<Vec<_>>());
        let sum = |i: usize, j: usize| rows.iter().map(|row| row[i] * row[j]).sum::<f64>();
        // Numbers above the diagonal do not count.
        let jtj_blocks: Vec<f64> = (0..cols * cols).map(|k| if k / cols >= k % cols { sum(k / cols, k % cols) } else { f64::NAN }).collect();
        let gradient: Vec<f64> = (0..cols).map(|i| sum(i, cols)).collect();
        let normal = NormalProducts { gradient: &gradient, jtj_blocks: &jtj_blocks, damping: &damping, frozen: &frozen };
        let mut step = vec![f64::NAN; cols];
        let solved = normal_equations::solve(&normal, 512, &mut step);
        let system = System { jacobian: jacobian.view(), residuals: &residuals, damping: &damping, frozen: &frozen };
        let mut by_rows = vec![0.0; cols];
        match (solved, DenseQr::new().solve(&system, &mut by_rows)) {
            (Ok(()), Ok(())) => {
                let length = |k: usize| (jtj_blocks[k * cols + k] + damping[k]).sqrt();
                let size = |x: &dyn Fn(usize) -> f64| (0..cols).map(|k| (length(k) * x(k)).powi(2)).sum::<f64>().sqrt();
                let (error, expected) = (size(&|k| step[k] - by_rows[k]), size(&|k| by_rows[k]));
                prop_assert!(error <= 1e-6 * expected, "{step:?}, by rows {by_rows:?}");
            }
            (Ok(()), Err(trouble)) => prop_assert!(false, "a step by normal equations where rows have {trouble:?}"),
            (Err(trouble), _) => prop_assert_eq!(trouble, Trouble::IllConditioned),
        }
    }
}

/// A symmetric pattern: up to 60 columns with few edges, or 150 and more of which some touch nearly all others.
fn pattern() -> impl Strategy<Value = (usize, Vec<(usize, usize)>)> {
    let few = (1..=60usize).prop_flat_map(|count| (Just(count), vec((0..count, 0..count), 0..=3 * count)));
    let hubs = (150..=180usize, 1..=3usize).prop_flat_map(|(count, hubs)| {
        vec((0..count, 0..count), 0..=2 * count).prop_map(move |mut edges| {
            edges.extend((0..hubs).flat_map(|hub| (0..count).map(move |column| (hub, column))));
            (count, edges)
        })
    });
    prop_oneof![4 => few, 1 => hubs]
}

proptest! {
    #![proptest_config(cases(64))]

    #[test]
    fn an_ordering_has_every_column_once_and_the_factor_has_the_entries_that_elimination_makes(
        (count, edges) in pattern(),
    ) {
        let below = Below::of(count, &edges);
        let order = ordering::order(&below.offsets, &below.rows, &vec![1; count], &[]);
        let mut sorted = order.clone();
        sorted.sort_unstable();
        prop_assert_eq!(sorted, (0..count as u32).collect::<Vec<u32>>());
        // A row for each edge, so that JᵀJ has the pattern.
        let rows: Vec<Vec<(usize, f64)>> = edges
            .iter()
            .map(|&(a, b)| if a == b { vec![(a, 1.0)] } else { vec![(a.min(b), 1.0), (a.max(b), 1.0)] })
            .collect();
        let matrix = Owned::new(count, &rows);
        let analysis = Analysis::new(count, &matrix.row_offsets, &matrix.col_indices, &CoordinateBlocks::default(), Complement::None).unwrap();
        // Columns of the same rows are a block, so that the order is another one.
        prop_assert_eq!(analysis.factor_len(), (below.fill(analysis.order()) + count) as u64);
    }
}

/// A matrix of small integers, often of dependent columns, as rows; and its frozen columns.
fn integers() -> impl Strategy<Value = (Vec<Vec<i64>>, Vec<bool>)> {
    (0..=5usize, 1..=5usize, 1..=3usize).prop_flat_map(|(rows, cols, rank)| {
        let any = vec(vec(-3..=3i64, cols), rows);
        let product =
            (vec(vec(-1..=1i64, rank), rows), vec(vec(-1..=1i64, cols), rank)).prop_map(move |(left, right)| {
                let entry = |row: &Vec<i64>, column: usize| (0..rank).map(|k| row[k] * right[k][column]).sum();
                left.iter().map(|row| (0..cols).map(|column| entry(row, column)).collect()).collect()
            });
        (prop_oneof![any, product], vec(prop::bool::weighted(0.15), cols))
    })
}

/// The rank of some columns, by elimination without fractions (E. H. Bareiss, 1968).
fn exact_rank(rows: &[Vec<i64>], columns: &[usize]) -> usize {
    let mut a: Vec<Vec<i128>> =
        rows.iter().map(|row| columns.iter().map(|&column| i128::from(row[column])).collect()).collect();
    let (mut rank, mut divisor) = (0, 1);
    for column in 0..columns.len() {
        let Some(pivot) = (rank..a.len()).find(|&row| a[row][column] != 0) else { continue };
        a.swap(rank, pivot);
        for row in rank + 1..a.len() {
            for k in (column..columns.len()).rev() {
                a[row][k] = (a[rank][column] * a[row][k] - a[row][column] * a[rank][k]) / divisor;
            }
        }
        divisor = a[rank][column];
        rank += 1;
    }
    rank
}

/// So many copies of a matrix along the diagonal.
fn copies(rows: &[Vec<i64>], cols: usize, count: usize) -> Owned {
    let row = |copy: usize, row: &Vec<i64>| {
        let entries = row.iter().enumerate().filter(|(_, entry)| **entry != 0);
        entries.map(|(column, &entry)| (copy * cols + column, entry as f64)).collect::<Vec<_>>()
    };
    let rows: Vec<_> = (0..count).flat_map(|copy| rows.iter().map(move |entries| row(copy, entries))).collect();
    Owned::new(cols * count, &rows)
}

fn check_null_space(rows: &[Vec<i64>], frozen: &[bool], count: usize) -> Result<(), TestCaseError> {
    let cols = frozen.len();
    let free: Vec<usize> = (0..cols).filter(|&k| !frozen[k]).collect();
    let rank = count * exact_rank(rows, &free);
    let matrix = copies(rows, cols, count);
    let all_frozen: Vec<bool> = frozen.iter().copied().cycle().take(cols * count).collect();
    let (space, inverse) =
        null_space(&matrix.view(), &all_frozen, TOLERANCE, &[]).expect("a small matrix has a null space");
    prop_assert_eq!((space.columns, space.rank), (count * free.len(), rank));
    prop_assert_eq!(space.basis.len(), space.columns - rank);
    prop_assert_eq!(inverse.is_some(), space.basis.is_empty());

    let mut jvp = vec![0.0; matrix.view().rows()];
    for vector in &space.basis {
        matrix.view().times(vector, &mut jvp);
        prop_assert!(jvp.iter().all(|jvp| jvp.abs() < 1e-9), "{vector:?} goes to {jvp:?}");
        prop_assert!(vector.contains(&1.0) && vector.iter().all(|v| v.abs() <= 1.0), "{vector:?}");
        prop_assert!(vector.iter().zip(&all_frozen).all(|(v, &frozen)| !frozen || *v == 0.0), "{vector:?}");
    }
    // The vectors are independent: what elimination leaves of each is no rounding error.
    let mut rest = space.basis.clone();
    for k in 0..rest.len() {
        let (place, pivot) = rest[k]
            .iter()
            .copied()
            .enumerate()
            .max_by(|(_, a), (_, b)| a.abs().total_cmp(&b.abs()))
            .expect("a vector has a number for each column");
        prop_assert!(pivot.abs() > 1e-6, "vector {k} depends on those before it");
        let (before, after) = rest.split_at_mut(k + 1);
        for vector in after {
            let factor = vector[place] / pivot;
            vector.iter_mut().zip(&before[k]).for_each(|(v, other)| *v -= factor * other);
        }
    }

    let Some(inverse) = inverse else { return Ok(()) };
    for k in 0..cols {
        let mut x = vec![0.0; matrix.cols];
        x[k] = 1.0;
        inverse.apply(&mut x);
        matrix.view().times(&x, &mut jvp);
        let mut product = vec![0.0; matrix.cols];
        matrix.view().add_transposed_times(&jvp, &mut product);
        let largest = x.iter().fold(0.0f64, |largest, x| largest.max(x.abs()));
        for (j, product) in product.iter().enumerate() {
            if all_frozen[j] {
                prop_assert_eq!(x[j], 0.0);
                continue;
            }
            let expected = f64::from(u8::from(j == k));
            // JᵀJ has numbers up to 45, times five, and some ten roundings of 1e-16.
            prop_assert!((product - expected).abs() <= 1e-12 * (1.0 + largest), "{j}, {k}: {product}");
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn dense_null_spaces_have_the_exact_rank_of_integer_matrices((rows, frozen) in integers()) {
        check_null_space(&rows, &frozen, 1)?;
    }
}

proptest! {
    #![proptest_config(cases(16))]

    /// More than 400 columns are taken as sparse.
    #[test]
    fn sparse_null_spaces_have_the_exact_rank_of_integer_matrices((rows, frozen) in integers()) {
        check_null_space(&rows, &frozen, 401usize.div_ceil(frozen.len()))?;
    }
}

proptest! {
    #![proptest_config(cases(256))]

    /// A solver that was not asked for is chosen by the pattern, and solves.
    #[test]
    fn the_chosen_solver_solves(problem in problem()) {
        let Owned { cols, row_offsets, col_indices, .. } = &problem.jacobian;
        let SolverChoice { mut solver, why, trial } = choose(*cols, row_offsets, col_indices, &problem.blocks).unwrap();
        prop_assert!(trial.is_none() && why.starts_with("dense QR"), "{why}");
        let mut step = vec![0.0; *cols];
        prop_assert_eq!(solver.solve(&problem.system(), &problem.blocks, CONVERGED, &mut step), Ok(1));
    }

    #[test]
    fn a_pattern_whose_square_is_too_large_is_refused_with_both_figures(length in 31_623..40_000u32) {
        // One row: its square is above 10⁹ products, and as many entries.
        let offsets = [0, length];
        let columns: Vec<u32> = (0..length).collect();
        let error = Analysis::new(length as usize, &offsets, &columns, &CoordinateBlocks::default(), Complement::None).map(drop).unwrap_err();
        prop_assert_eq!(error.code, ErrorCode::LimitExceeded);
        let (count, most) = (choice::grouped(u64::from(length).pow(2)), choice::grouped(1_000_000_000));
        prop_assert!(error.message.contains(&count) && error.message.contains(&most), "{}", error.message);
    }
}
