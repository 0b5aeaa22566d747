//! Whole solves by normal equations against solves by rows. A problem is solved by rows where it has more parameters than sums are for, of which
//! the additional ones are constant and in no residual.

use super::*;
use crate::eval::Functions;
use crate::eval::tests::{functions, functions_with_losses};
use crate::gauss_newton::host::normal_equations_tests::shared_by_blocks;
use crate::model::losses::LossParameters;
use crate::model::tests::Recorder;
use crate::solve::{Listener, Solution};
use residua_base::error::ErrorCode;
use residua_ir::graph::Op;
use residua_linalg::Kind;
use residua_linalg::normal_equations::MOST_COLUMNS;

/// Writes an expression of parameters and a sample's t.
type Curve = fn(&mut Recorder, &[u32], u32) -> u32;

/// Hears nothing.
struct Deaf;

impl Listener for Deaf {
    fn iteration(&mut self, _: &IterationSummary) -> bool {
        false
    }

    fn aborted(&mut self) -> bool {
        false
    }
}

/// Tests so sharp that only convergence ends a run.
fn options() -> LevenbergMarquardtOptions {
    let mut options = LevenbergMarquardtOptions::defaults();
    options.solve.cost_tolerance = 1e-13;
    options.solve.gradient_tolerance = 1e-9;
    options.solve.parameter_tolerance = 1e-12;
    options
}

fn solve(functions: &mut Functions, options: &LevenbergMarquardtOptions) -> Solution {
    outcome(functions, options).unwrap()
}

fn outcome(functions: &mut Functions, options: &LevenbergMarquardtOptions) -> Result<Solution> {
    block_on(minimise_least_squares(functions, &mut SolverResources::default(), options, &mut Deaf))
}

/// Samples of a curve at t from 0 to 1, with a wave on them that the curve does not follow; by sums, or by rows.
struct Fit {
    curve: Curve,
    truth: Vec<f64>,
    start: Vec<f64>,
    rows: u32,
}

impl Fit {
    fn functions(&self, by_rows: bool) -> Functions {
        let mut start = self.start.clone();
        let free = start.len();
        if by_rows {
            start.resize(MOST_COLUMNS + 1, 0.0);
        }
        let mut r = Recorder::default();
        let outputs = (0..self.rows)
            .map(|row| {
                let at = f64::from(row) / f64::from(self.rows - 1);
                let t = r.constant(at);
                let parameters: Vec<u32> = (0..free as u32).map(|k| r.parameter(k)).collect();
                let value = (self.curve)(&mut r, &parameters, t);
                let sample = r.constant(self.value(at) + 0.01 * (40.0 * at).sin());
                r.apply(Op::Sub, &[value, sample])
            })
            .collect();
        let count = start.len();
        let mut functions = functions_with_losses(r, outputs, &start);
        functions.set_constant((0..count).map(|k| k >= free).collect()).unwrap();
        functions
    }

    /// The curve at its true parameters.
    fn value(&self, t: f64) -> f64 {
        let mut r = Recorder::default();
        let node = r.constant(t);
        let parameters: Vec<u32> = (0..self.truth.len() as u32).map(|k| r.parameter(k)).collect();
        let value = (self.curve)(&mut r, &parameters, node);
        let mut functions = functions(r, vec![value], &self.truth);
        block_on(functions.evaluate(None)).unwrap()[0]
    }
}

/// Decays of which every pair of parameters is a height and a rate; a last one without a rate is an offset.
fn decays(r: &mut Recorder, x: &[u32], t: u32) -> u32 {
    let terms: Vec<u32> = x
        .chunks(2)
        .map(|pair| match *pair {
            [height, rate] => {
                let along = r.apply(Op::Mul, &[rate, t]);
                let along = r.apply(Op::Neg, &[along]);
                let decay = r.apply(Op::Exp, &[along]);
                r.apply(Op::Mul, &[height, decay])
            }
            _ => pair[0],
        })
        .collect();
    terms.into_iter().reduce(|a, b| r.apply(Op::Add, &[a, b])).unwrap()
}

/// Waves of 1, 2, 3 … whole turns, each with its height.
fn waves(r: &mut Recorder, x: &[u32], t: u32) -> u32 {
    let terms: Vec<u32> = (1..)
        .zip(x)
        .map(|(turns, &height)| {
            let turns = r.constant(f64::from(turns) * std::f64::consts::PI);
            let angle = r.apply(Op::Mul, &[turns, t]);
            let wave = r.apply(Op::Sin, &[angle]);
            // Not linear: eʰ − 1 stands for h.
            let height = r.apply(Op::Exp, &[height]);
            r.apply(Op::Mul, &[height, wave])
        })
        .collect();
    terms.into_iter().reduce(|a, b| r.apply(Op::Add, &[a, b])).unwrap()
}

/// c₀ + c₁ t + c₂ t² + …
fn powers(r: &mut Recorder, x: &[u32], t: u32) -> u32 {
    let (&last, rest) = x.split_last().unwrap();
    rest.iter().rev().fold(last, |sum, &coefficient| {
        let product = r.apply(Op::Mul, &[sum, t]);
        r.apply(Op::Add, &[product, coefficient])
    })
}

fn is_by_sums(solution: &Solution) -> bool {
    solution.details.linear_solver.starts_with("normal equations: ")
}

fn had_to_take_rows(solution: &Solution) -> bool {
    solution.details.linear_solver.ends_with(", since normal equations were ill-conditioned")
}

fn assert_same(sums: &Solution, rows: &Solution, tolerance: f64, about: &str) {
    assert_eq!(sums.summary.termination, rows.summary.termination, "{about}");
    assert_eq!(sums.summary.iterations, rows.summary.iterations, "{about}");
    let (a, b) = (sums.summary.final_cost, rows.summary.final_cost);
    assert!((a - b).abs() <= 1e-10 * b, "{about}: {a} {b}");
    for (k, (a, b)) in sums.x.iter().zip(&rows.x).enumerate() {
        assert!((a - b).abs() <= tolerance * b.abs().max(1.0), "{about}: parameter {k} {a} {b}");
    }
}

#[test]
fn fits_of_one_to_sixteen_parameters_have_the_same_answers_in_as_many_steps() {
    for n in [1, 2, 3, 5, 8, 11, MOST_COLUMNS] {
        let fit = Fit {
            curve: waves,
            truth: (0..n).map(|k| 0.3 * (k as f64).cos()).collect(),
            start: vec![0.0; n],
            rows: 555,
        };
        let (sums, rows) = (solve(&mut fit.functions(false), &options()), solve(&mut fit.functions(true), &options()));
        assert!(is_by_sums(&sums) && !is_by_sums(&rows), "{}", sums.details.linear_solver);
        assert!(sums.summary.success() && sums.summary.iterations > 2, "{}", sums.summary.message());
        // Waves are orthogonal: where a run ends is well-conditioned, and parameterTolerance is 1e-12.
        assert_same(&sums, &rows, 1e-10, &format!("{n} parameters"));
    }
}

#[test]
fn losses_bounds_and_constants_make_no_difference() {
    let fit = || Fit { curve: decays, truth: vec![2.0, 3.0, 0.5], start: vec![1.0, 1.0, 0.0], rows: 600 };
    let prepare = |f: &mut Functions, case: usize| match case {
        0 => f.set_loss(0, LossParameters::new("huber", 0.005, 1.0, 2.0).unwrap()),
        1 => f.set_loss(0, LossParameters::new("cauchy", 0.01, 1.0, 1.0).unwrap()),
        2 => f.set_loss(0, LossParameters::new("tolerant", 1e-5, 1e-4, 1.0).unwrap()),
        3 => {
            let n = f.values().len();
            let (mut lower, mut upper) = (vec![f64::NEG_INFINITY; n], vec![f64::INFINITY; n]);
            (lower[2], upper[1]) = (0.55, 2.5);
            f.set_bounds(lower, upper)
        }
        4 => {
            let mut constant = f.constant().to_vec();
            constant[0] = true;
            f.set_constant(constant)
        }
        _ => f.set_weight(0, 1e4),
    };
    for case in 0..6 {
        let (mut by_sums, mut by_rows) = (fit().functions(false), fit().functions(true));
        prepare(&mut by_sums, case).unwrap();
        prepare(&mut by_rows, case).unwrap();
        let (sums, rows) = (solve(&mut by_sums, &options()), solve(&mut by_rows, &options()));
        assert!(is_by_sums(&sums) && sums.summary.success(), "case {case}: {}", sums.summary.message());
        // The gradient's tolerance of 1e-9 over the least eigenvalue of JᵀJ, some 0.1 here.
        assert_same(&sums, &rows, 1e-8, &format!("case {case}"));
        if case == 3 {
            assert_eq!((sums.x[2], sums.x[1]), (0.55, 2.5), "both bounds hold");
        }
    }
}

#[test]
fn blocks_on_manifolds_and_blocks_that_are_there_twice_are_solved() {
    let sums = solve(&mut shared_by_blocks(), &options());
    assert!(sums.summary.success(), "{}", sums.summary.message());
    let length = sums.x[..4].iter().map(|q| q * q).sum::<f64>();
    assert!((length - 1.0).abs() < 1e-14, "{length}");
}

#[test]
fn what_is_ill_conditioned_goes_on_with_rows_and_ends_as_rows_do() {
    // Nine powers on the unit interval have a condition of 1e6; damping starts at next to nothing.
    let fit = Fit { curve: powers, truth: vec![1.0; 9], start: vec![0.0; 9], rows: 700 };
    let options = LevenbergMarquardtOptions { initial_damping: Some(1e-14), ..options() };
    let (sums, rows) = (solve(&mut fit.functions(false), &options), solve(&mut fit.functions(true), &options));
    assert!(had_to_take_rows(&sums), "{}", sums.details.linear_solver);
    assert!(sums.summary.success(), "{}", sums.summary.message());
    // A condition of 1e6 and residuals of 0.01: 1e12 · 1e-2 · 1e-16 · √700.
    assert_same(&sums, &rows, 1e-4, "powers");
    // With more damping than that, sums are enough for a while, and then the rest is done by rows.
    let damped = LevenbergMarquardtOptions { initial_damping: Some(1e-3), ..options };
    let (sums, rows) = (solve(&mut fit.functions(false), &damped), solve(&mut fit.functions(true), &damped));
    assert!(had_to_take_rows(&sums), "{}", sums.details.linear_solver);
    assert_same(&sums, &rows, 1e-4, "damped powers");
}

#[test]
fn a_start_at_which_squares_of_derivatives_overflow_is_refused_and_they_are_named() {
    let steep: Curve = |r, x, _| {
        let scale = r.constant(1e160);
        r.apply(Op::Mul, &[x[0], scale])
    };
    let fit = Fit { curve: steep, truth: vec![0.0], start: vec![1e-15], rows: 600 };
    for by_rows in [false, true] {
        let error = outcome(&mut fit.functions(by_rows), &options()).unwrap_err();
        assert_eq!(error.code, ErrorCode::NonFinite);
        let says = "the derivative of residual 0 with respect to parameter 0 is 1.0e160 at the start, too large for sums of squares";
        assert!(error.message.contains(says), "{by_rows}: {}", error.message);
    }
}

#[test]
fn a_step_to_where_nothing_is_defined_is_refused_and_the_next_is_shorter() {
    // √x t, of which the first step from 4 goes below 0.
    let root: Curve = |r, x, t| {
        let root = r.apply(Op::Sqrt, &[x[0]]);
        r.apply(Op::Mul, &[root, t])
    };
    let fit = Fit { curve: root, truth: vec![0.01], start: vec![4.0], rows: 600 };
    let (sums, rows) = (solve(&mut fit.functions(false), &options()), solve(&mut fit.functions(true), &options()));
    assert!(is_by_sums(&sums) && sums.summary.success(), "{}", sums.summary.message());
    assert_same(&sums, &rows, 1e-10, "a root");
}

#[test]
fn a_start_that_is_not_finite_is_told_as_ever() {
    let root: Curve = |r, x, t| {
        let root = r.apply(Op::Sqrt, &[x[0]]);
        r.apply(Op::Mul, &[root, t])
    };
    let fit = Fit { curve: root, truth: vec![1.0], start: vec![-1.0], rows: 600 };
    let error = block_on(minimise_least_squares(
        &mut fit.functions(false),
        &mut SolverResources::default(),
        &options(),
        &mut Deaf,
    ))
    .unwrap_err();
    assert!(error.message.contains("residual 0 is NaN at the start"), "{}", error.message);
}

#[test]
fn few_residuals_and_another_linear_solver_keep_their_rows() {
    let fit = |rows| Fit { curve: decays, truth: vec![2.0, 3.0], start: vec![1.0, 1.0], rows };
    assert!(!is_by_sums(&solve(&mut fit(511).functions(false), &options())));
    for (kind, words) in [
        (Kind::DenseQr, "dense-qr: as linearSolver says, by normal equations"),
        (Kind::SparseCholesky, "sparse-cholesky: as linearSolver says"),
        (Kind::Pcg, "pcg: as linearSolver says"),
    ] {
        let options = LevenbergMarquardtOptions { linear_solver: Some(kind), ..options() };
        assert_eq!(solve(&mut fit(512).functions(false), &options).details.linear_solver, words);
    }
}

#[test]
fn a_solve_by_sums_repeats_bit_for_bit() {
    let fit = Fit { curve: decays, truth: vec![2.0, 3.0, 0.5], start: vec![1.0, 1.0, 0.0], rows: 700 };
    let mut functions = fit.functions(false);
    let timeless = |solution: Solution| {
        let of = |iteration: &IterationSummary| IterationSummary { elapsed_ms: 0.0, ..*iteration };
        (solution.x, solution.summary.history.iter().map(of).collect::<Vec<_>>())
    };
    let first = timeless(solve(&mut functions, &options()));
    functions.set_values(fit.start.clone()).unwrap();
    assert_eq!(timeless(solve(&mut functions, &options())), first, "no figure of this run is NaN");
}
