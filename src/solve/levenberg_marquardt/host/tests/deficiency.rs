//! Free directions are told at the end of a solve, in the message and in the report.

use super::*;
use crate::eval::Functions;
use crate::eval::tests::functions;
use crate::model::tests::Recorder;
use crate::solve::{Listener, Solution};
use residua_ir::graph::Op;

struct Silent;

impl Listener for Silent {
    fn iteration(&mut self, _: &IterationSummary) -> bool {
        false
    }

    fn aborted(&mut self) -> bool {
        false
    }
}

fn solve(functions: &mut Functions) -> Solution {
    let options = LevenbergMarquardtOptions::defaults();
    block_on(minimise_least_squares(functions, &mut SolverResources::default(), &options, &mut Silent)).unwrap()
}

/// (a + b)·t + c − t² at so many times, of parameters a, b, c and others that no residual takes.
fn curve(rows: u32, parameters: usize) -> Functions {
    let mut r = Recorder::default();
    let (a, b, c) = (r.parameter(0), r.parameter(1), r.parameter(2));
    let sum = r.apply(Op::Add, &[a, b]);
    let outputs = (0..rows)
        .map(|row| {
            let time = f64::from(row) / f64::from(rows);
            let (t, square) = (r.constant(time), r.constant(time * time));
            let product = r.apply(Op::Mul, &[sum, t]);
            let value = r.apply(Op::Add, &[product, c]);
            r.apply(Op::Sub, &[value, square])
        })
        .collect();
    functions(r, outputs, &vec![0.5; parameters])
}

const SAYS: &str = "The Jacobian has rank 2 of 3: the residuals do not determine parameter 0, parameter 1 separately; \
                    rank() returns the free directions.";

#[test]
fn parameters_that_are_not_determined_separately_are_named() {
    // Sums of many rows are refused where columns depend on each other.
    for (rows, path) in [(5, "dense QR"), (600, "dense QR")] {
        let mut functions = curve(rows, 3);
        let solution = solve(&mut functions);
        assert!(solution.details.linear_solver.starts_with(path), "{}", solution.details.linear_solver);
        assert!(solution.summary.success() && solution.summary.message.ends_with(SAYS), "{}", solution.summary.message);
        assert_eq!(solution.details.rank, SAYS);
        functions.set_constant(vec![false, true, false]).unwrap();
        let solution = solve(&mut functions);
        assert!(!solution.summary.message.contains("rank") && solution.details.rank.is_empty());
    }
}

#[test]
fn blocks_that_no_residual_touches_are_told_once() {
    let solution = solve(&mut curve(5, 4));
    let message = solution.summary.message;
    assert!(message.contains("parameter 3 is touched by no residual. The Jacobian has rank 2 of 4: "), "{message}");
    assert!(message.contains("do not determine parameter 0, parameter 1 separately"), "{message}");
}

#[test]
fn nothing_is_analysed_beyond_the_work_that_a_step_takes() {
    // 300 rows of 100 parameters, of which the first two count as one.
    let mut r = Recorder::default();
    let p: Vec<u32> = (0..100).map(|k| r.parameter(k)).collect();
    let first = r.apply(Op::Add, &[p[0], p[1]]);
    let outputs = (0..300).map(|row| if row % 99 == 0 { first } else { p[1 + row % 99] }).collect();
    let solution = solve(&mut functions(r, outputs, &[1.0; 100]));
    assert!(solution.details.rank.is_empty());
}
