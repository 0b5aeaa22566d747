//! The record of a solve for the facade: numbers in one list and texts in one string, since passing a single value to JavaScript takes longer
//! than many numbers in one list. `pkg-template/src/module/solve-record.ts` reads it; the facade writes the report from it, when the report is read.

use crate::eval::{Functions, Sizes};
use residua_base::list::PushAll;

use super::findings::packed;
use super::options::SolveOptions;
use super::solution::Solution;
use super::summary::IterationSummary;

/// Numbers, and texts one after the other; the numbers have their lengths.
pub type Record = (Vec<f64>, String);

/// The record of a solve of compiled functions. `solver`: its name with its main options. `check_is_due`: whether `checkDigits` is to be called when the
/// result has been given.
pub fn record(
    functions: &mut Functions,
    solver: &str,
    options: &SolveOptions,
    solution: &Solution,
    check_is_due: bool,
) -> Record {
    let description = functions.engine().description();
    let engine = match functions.choice() {
        None => description,
        Some(choice) => format!("{description} ({})", choice.sentence()),
    };
    pack(solver, &engine, functions.sizes(), options, solution, check_is_due)
}

fn pack(
    solver: &str,
    engine: &str,
    sizes: [Sizes; 2],
    options: &SolveOptions,
    solution: &Solution,
    check_is_due: bool,
) -> Record {
    let Solution { x, summary, arithmetic, precision, details } = solution;
    let loss = precision.as_ref().map_or(0.0, |checked| checked.estimate.loss);
    let (message, findings) = (summary.message(), packed(&summary.findings));
    let fixed = [
        summary.termination.as_str(),
        arithmetic.as_str(),
        &message,
        solver,
        engine,
        &details.linear_solver,
        &findings,
    ];
    let count = fixed.len() + details.times.len();
    let mut numbers = Vec::with_capacity(64 + x.len() + COLUMNS * summary.history.len());
    numbers.extend_from_slice(&[
        u8::from(summary.success()).into(),
        summary.iterations.into(),
        summary.function_evaluations.into(),
        loss,
        summary.initial_cost,
        summary.final_cost,
        summary.elapsed_ms,
        u8::from(check_is_due).into(),
        options.cost_tolerance,
        options.gradient_tolerance,
        options.parameter_tolerance,
        summary.promise.unwrap_or(f64::NAN),
    ]);
    for Sizes { parameter_blocks, parameters, effective_parameters, residual_blocks, residuals } in sizes {
        let counts = [parameter_blocks, parameters, effective_parameters, residual_blocks, residuals];
        numbers.push_all(counts.map(|count| count as f64));
    }
    numbers.extend_from_slice(&[
        x.len() as f64,
        count as f64,
        details.newton_decrement.unwrap_or(f64::NAN),
        details.radius.unwrap_or(f64::NAN),
    ]);
    let mut texts = String::with_capacity(512);
    for text in fixed.into_iter().chain(details.times.iter().map(|(stage, _)| *stage)) {
        texts.push_str(text);
        // As JavaScript counts.
        numbers.push(text.encode_utf16().count() as f64);
    }
    numbers.push_all(details.times.iter().map(|(_, ms)| *ms));
    numbers.extend_from_slice(x);
    for iteration in &summary.history {
        numbers.push_all(row(iteration));
    }
    (numbers, texts)
}

/// Numbers of an iteration.
const COLUMNS: usize = 11;

/// An iteration as numbers, of which the facade makes an object.
fn row(summary: &IterationSummary) -> [f64; COLUMNS] {
    let IterationSummary { iteration, cost, cost_change, gradient_max_norm, step_norm, accepted, .. } = *summary;
    let IterationSummary { damping, gain_ratio, linear_iterations, step_size, elapsed_ms, .. } = *summary;
    let figures = [damping, gain_ratio, linear_iterations.map(f64::from), step_size];
    // Whether it was accepted, and which of the figures are there.
    let mut flags = u8::from(accepted);
    for (bit, figure) in (1..).zip(&figures) {
        flags |= u8::from(figure.is_some()) << bit;
    }
    let [damping, gain_ratio, linear_iterations, step_size] = figures.map(|figure| figure.unwrap_or(0.0));
    let before = [iteration.into(), cost, cost_change, gradient_max_norm, step_norm, flags.into()];
    let [a, b, c, d, e, f] = before;
    [a, b, c, d, e, f, damping, gain_ratio, linear_iterations, step_size, elapsed_ms]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::Arithmetic;
    use crate::solve::findings::Finding;
    use crate::solve::solution::Details;
    use crate::solve::summary::{SolveSummary, Termination};
    use crate::solve::untouched::Untouched;

    /// tests/facade/history.test.mjs reads the same file.
    #[test]
    fn a_record_has_all_numbers_and_texts_in_their_places() {
        let iteration = IterationSummary {
            iteration: 1,
            cost: 2.0,
            cost_change: 1.0,
            gradient_max_norm: 0.5,
            step_norm: 0.25,
            accepted: true,
            damping: Some(1e-4),
            gain_ratio: None,
            linear_iterations: Some(7),
            step_size: None,
            elapsed_ms: 4.0,
        };
        let untouched = Untouched { names: vec!["p[4]".to_owned()], count: 1 };
        let rank = Finding::Rank { rank: 8, columns: 9, names: vec!["p[1]".to_owned(), "p[2]".to_owned()] };
        let summary = SolveSummary {
            termination: Termination::MaxIterations,
            why: "Stopped: ½".to_owned(),
            findings: vec![Finding::Untouched(untouched), rank],
            promise: Some(0.125),
            iterations: 1,
            function_evaluations: 2,
            initial_cost: 3.0,
            final_cost: 2.0,
            elapsed_ms: 5.0,
            history: vec![iteration],
        };
        let details = Details {
            linear_solver: "dense QR".to_owned(),
            times: vec![("setup", 0.5), ("trials", 1.5)],
            may_lack_rank: true,
            radius: Some(0.5),
            newton_decrement: Some(0.0625),
        };
        let solution = Solution { x: vec![8.0, 9.0], summary, arithmetic: Arithmetic::F64, precision: None, details };
        let options = SolveOptions { cost_tolerance: 0.0, ..SolveOptions::defaults() };
        let whole =
            Sizes { parameter_blocks: 4, parameters: 9, effective_parameters: 8, residual_blocks: 6, residuals: 12 };
        let reduced = Sizes { parameter_blocks: 3, ..whole };
        let (numbers, texts) = pack("L-BFGS", "cpu", [whole, reduced], &options, &solution, true);
        let mut expected = include_str!("../../tests/facade/solve-record.txt").lines();
        assert_eq!(Some(&*texts), expected.next());
        let expected = expected.flat_map(str::split_whitespace).map(|number| number.parse::<f64>().unwrap());
        assert!(numbers.iter().copied().eq(expected), "{numbers:?}");
    }
}
