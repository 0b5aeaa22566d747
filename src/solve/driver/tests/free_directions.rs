//! Free directions are told at the end of a solve, in the message and in the report.

use super::*;

fn solve(session: &mut Session) -> Solution {
    let options = LevenbergMarquardtOptions::defaults();
    run_synchronously(levenberg_marquardt(session, &options, GPU, &mut Recording::default())).unwrap()
}

/// (a + b)·t + c − t² at so many times, of parameters a, b, c and others that no residual takes.
fn curve(rows: u32, parameters: usize) -> Session {
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
    Session::new(functions(r, outputs, &vec![0.5; parameters]))
}

const SAYS: &str = "The Jacobian has rank 2 of 3: the residuals do not determine parameter 0, parameter 1 separately; \
                    rank() returns the free directions.";

#[test]
fn parameters_that_are_not_determined_separately_are_named() {
    // Sums of many rows are refused where columns depend on each other.
    for (rows, path) in [(5, "dense QR"), (600, "dense QR")] {
        let mut session = curve(rows, 3);
        let solution = solve(&mut session);
        assert!(solution.details.linear_solver.starts_with(path), "{}", solution.details.linear_solver);
        assert!(
            solution.summary.success() && solution.summary.message().ends_with(SAYS),
            "{}",
            solution.summary.message()
        );
        let names = ["parameter 0", "parameter 1"].map(str::to_owned).to_vec();
        assert_eq!(solution.summary.findings, [Finding::Rank { rank: 2, columns: 3, names }]);
        session.functions.set_constant(vec![false, true, false]).unwrap();
        assert_eq!(solve(&mut session).summary.findings, []);
    }
}

#[test]
fn blocks_that_no_residual_touches_are_told_once() {
    let solution = solve(&mut curve(5, 4));
    let message = solution.summary.message();
    assert!(message.contains("parameter 3 is touched by no residual. The Jacobian has rank 2 of 4: "), "{message}");
    assert!(message.contains("do not determine parameter 0, parameter 1 separately"), "{message}");
}

#[test]
fn parameters_that_no_residual_touches_are_named_unless_they_are_constant() {
    let mut session = curve(5, 7);
    session.functions.set_constant(vec![false, true, false, false, false, false, false]).unwrap();
    let message = solve(&mut session).summary.message();
    let words = "parameter 3, parameter 4, parameter 5 and 1 more are touched by no residual.";
    assert!(message.ends_with(words), "{message}");
    session.functions.set_constant(vec![false, true, false, true, true, true, false]).unwrap();
    let message = solve(&mut session).summary.message();
    assert!(message.ends_with(". parameter 6 is touched by no residual."), "{message}");
}

#[test]
fn nothing_is_analysed_beyond_the_work_that_a_step_takes() {
    // 300 rows of 100 parameters, of which the first two count as one.
    let mut r = Recorder::default();
    let p: Vec<u32> = (0..100).map(|k| r.parameter(k)).collect();
    let first = r.apply(Op::Add, &[p[0], p[1]]);
    let outputs = (0..300).map(|row| if row % 99 == 0 { first } else { p[1 + row % 99] }).collect();
    let solution = solve(&mut Session::new(functions(r, outputs, &[1.0; 100])));
    assert!(!solution.summary.findings.iter().any(|finding| matches!(finding, Finding::Rank { .. })));
}
