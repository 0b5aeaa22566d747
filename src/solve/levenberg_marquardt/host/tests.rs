//! Levenberg-Marquardt over small fakes that check one decision each, and over compiled functions.

mod compiled;
mod dogleg;
mod dual;
mod fakes;
mod held_columns;
mod lost_columns;
mod more_garbow_hillstrom;
mod parallel_columns;
mod second_order;
mod sums;
mod units;

use super::minimizer::LevenbergMarquardt;
use super::phase::{Answer, Request};
use super::retraction::Retraction;
use super::second_order::Curved;
use super::*;
use crate::eval::Arithmetic;
use crate::eval::tests::block_on;
use crate::gauss_newton::host::{HostModel, LeastSquares};
use crate::model::{ArrayInfo, Manifold};
use crate::solve::findings::Finding;
use crate::solve::start::Start;
use crate::solve::vector::dot;
use crate::solve::{FeasibleSet, IterationSummary, LevenbergMarquardtOptions, SolveSummary, Termination};
use residua_base::error::Result;
use residua_linalg::{CoordinateBlocks, DenseQr, JtjOperator, LinearSolver, Pcg};

/// Residuals and the dense rows of their Jacobian at a point.
type Residuals<'a> = &'a dyn Fn(&[f64]) -> (Vec<f64>, Vec<Vec<f64>>);

/// A problem over a fake.
#[derive(Clone)]
struct Fake<'a> {
    residuals: Residuals<'a>,
    start: Vec<f64>,
    constant: Vec<u8>,
    bounds: (Vec<f64>, Vec<f64>),
    manifold: Manifold,
    options: LevenbergMarquardtOptions,
    /// Conjugate gradients with a block-Jacobi preconditioner, and the coordinates of its blocks; dense QR without.
    pcg_blocks: Option<usize>,
    /// Whether there are second derivatives, by differences.
    has_second_derivatives: bool,
}

impl<'a> Fake<'a> {
    fn new(residuals: Residuals<'a>, start: &[f64]) -> Fake<'a> {
        Fake {
            residuals,
            start: start.to_vec(),
            constant: Vec::new(),
            bounds: (vec![f64::NEG_INFINITY; start.len()], vec![f64::INFINITY; start.len()]),
            manifold: Manifold::Euclidean,
            options: LevenbergMarquardtOptions::defaults(),
            pcg_blocks: None,
            has_second_derivatives: false,
        }
    }
}

/// A finished run.
struct Run {
    summary: SolveSummary,
    point: Vec<f64>,
    /// The points that were linearised, and the trial points.
    linearised: Vec<Vec<f64>>,
    tried: Vec<Vec<f64>>,
}

fn cost(residuals: &[f64]) -> f64 {
    0.5 * residuals.iter().map(|r| r * r).sum::<f64>()
}

/// Runs a fake; `on_iteration` may stop the run.
fn run_with(fake: &Fake, mut on_iteration: impl FnMut(&IterationSummary, &mut bool)) -> Run {
    let n = fake.start.len();
    let (first, _) = (fake.residuals)(&fake.start);
    let rows = first.len() as u32;
    let array = ArrayInfo { name: String::new(), dim: n as u32, count: 1, offset: 0, manifold: fake.manifold };
    let tangents = fake.manifold.tangent_dim(n as u32);
    let tangents_per_block = fake.pcg_blocks.unwrap_or(tangents as usize);
    let solver = match fake.pcg_blocks {
        Some(_) => LinearSolver::Pcg(Pcg::new()),
        None => LinearSolver::DenseQr(DenseQr::new()),
    };
    let systems = LinearSystems {
        row_offsets: (0..=rows).map(|row| row * tangents).collect(),
        col_indices: (0..rows).flat_map(|_| 0..tangents).collect(),
        blocks: CoordinateBlocks::of(
            (0..tangents as usize).step_by(tangents_per_block).map(|first| (first, tangents_per_block)).collect(),
        ),
        solver,
        trial: None,
    };
    let (lower, upper) = fake.bounds.clone();
    let feasible = FeasibleSet::new(n, &fake.constant, &lower, &upper, Arithmetic::F64).unwrap();
    let retraction = block_on(Retraction::new(&[array], lower, upper)).unwrap();
    let start = Start { point: fake.start.clone(), feasible, corrections: Vec::new() };
    let mut solver = LevenbergMarquardt::new(first.len(), start, systems, retraction, &fake.options);
    let (mut linearised, mut tried, mut answer, mut clock) = (Vec::new(), Vec::new(), None, 0.0);
    let summary = loop {
        clock += 1.0;
        let mut stop = false;
        match solver.next(clock, answer.take()).unwrap() {
            Request::Linearise(x) => {
                let (residuals, rows) = (fake.residuals)(x);
                linearised.push(x.to_vec());
                let constant = |column: usize| fake.constant.get(column).is_some_and(|&flag| flag != 0);
                let entries = rows.iter().flat_map(|row| {
                    row.iter().enumerate().map(|(column, &entry)| if constant(column) { 0.0 } else { entry })
                });
                let entries = entries.collect();
                answer = Some(Answer::Model(LeastSquares {
                    cost: cost(&residuals),
                    influence: cost(&residuals),
                    residuals,
                    entries,
                    ..LeastSquares::nothing()
                }));
            }
            Request::Solve => answer = solver.solve(&mut NoProducts).unwrap(),
            Request::SecondOrder(_) => answer = Some(Answer::SecondOrder(Curved::Absent)),
            Request::QuadraticForm(..) => unreachable!("there are no second derivatives"),
            Request::SquaredJvp(_) => unreachable!("the model has a matrix"),
            Request::Curvature(_) if !fake.has_second_derivatives => answer = Some(Answer::Curvature(None)),
            Request::Curvature(x) => {
                let (residuals, _) = (fake.residuals)(x);
                let of_column = |column: usize| {
                    let mut direction = vec![0.0; n];
                    direction[column] = 1.0;
                    (0..n).map(move |row| (row, direction.clone()))
                };
                let matrix = (0..n * n).map(|place| {
                    let (row, direction) = of_column(place % n).nth(place / n).unwrap();
                    dot(&bend(fake, x, &direction, row), &residuals)
                });
                answer = Some(Answer::Curvature(Some(matrix.collect())));
            }
            Request::Bend(x, step) => {
                let (_, rows) = (fake.residuals)(x);
                let mut second = vec![0.0; rows.len()];
                for row in 0..n {
                    let share = bend(fake, x, step, row);
                    second.iter_mut().zip(share).for_each(|(sum, share)| *sum += share * step[row]);
                }
                let sum = |column: usize| rows.iter().zip(&second).map(|(row, second)| row[column] * second).sum();
                answer = Some(Answer::Bend((0..n).map(sum).collect()));
            }
            Request::EvaluateTrial(x) => {
                tried.push(x.to_vec());
                let before = cost(&(fake.residuals)(linearised.last().unwrap()).0);
                answer = Some(Answer::Reduction(before - cost(&(fake.residuals)(x).0)));
            }
            // A fake has no operations whose rounding counts.
            Request::Rounding(_) => answer = Some(Answer::Rounding(0.0)),
            Request::Iteration(iteration) => on_iteration(&iteration, &mut stop),
            Request::Finished(summary) => break summary.clone(),
        }
        if stop {
            solver.stop(Termination::Aborted);
        }
    };
    assert_eq!(summary.function_evaluations as usize, 1 + tried.len());
    assert_eq!(summary.history.len().saturating_sub(1), summary.iterations as usize, "rejected steps count");
    Run { summary, point: solver.point().to_vec(), linearised, tried }
}

/// The derivatives along a direction of column `row` of a fake's Jacobian, one a residual, by central differences; 0 where they are not finite, or for
/// constants.
fn bend(fake: &Fake, x: &[f64], direction: &[f64], row: usize) -> Vec<f64> {
    let longest = direction.iter().fold(0.0_f64, |longest, entry| longest.max(entry.abs()));
    let size = x.iter().fold(1e-3_f64, |size, entry| size.max(entry.abs()));
    let h = 1e-5 * size / longest;
    let at = |sign: f64| {
        let moved: Vec<f64> = x.iter().zip(direction).map(|(x, entry)| x + sign * h * entry).collect();
        (fake.residuals)(&moved).1
    };
    let (above, below) = (at(1.0), at(-1.0));
    let is_constant = |column: usize| fake.constant.get(column).is_some_and(|&flag| flag != 0);
    let slope = |(above, below): (&Vec<f64>, &Vec<f64>)| (above[row] - below[row]) / (2.0 * h);
    let slope = |rows| if is_constant(row) { 0.0 } else { slope(rows) };
    above.iter().zip(&below).map(slope).map(|slope| if slope.is_finite() { slope } else { 0.0 }).collect()
}

/// No products: models of fakes have their matrix.
struct NoProducts;

impl JtjOperator for NoProducts {
    fn product(&mut self, _: &[f64], _: &mut [f64]) -> Result<f64> {
        unreachable!("the model has a matrix")
    }
}

fn run(fake: &Fake) -> Run {
    run_with(fake, |_, _| {})
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

/// Moré, Garbow and Hillstrom, "Testing unconstrained optimization software" (ACM TOMS 7, 1981), problem 1.
fn rosenbrock(x: &[f64]) -> (Vec<f64>, Vec<Vec<f64>>) {
    let residuals = vec![10.0 * (x[1] - x[0] * x[0]), 1.0 - x[0]];
    (residuals, vec![vec![-20.0 * x[0], 10.0], vec![-1.0, 0.0]])
}
