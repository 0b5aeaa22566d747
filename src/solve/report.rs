//! The report of a solve, in the layout of Ceres Solver: solver and problem, one line per iteration, times, and the termination. The lines of
//! iterations are written by the facade, when the report is read: they take longer to write than a small solve.

use residua_base::list::Listed;
use std::fmt::{Result, Write};

use crate::eval::texts::kernel_numbers;
use crate::eval::{Functions, Sizes};
use residua_base::decimal::{fixed, scientific};

use super::options::SolveOptions;
use super::solution::Solution;
use super::summary::SolveSummary;
use super::untouched::Untouched;

/// The content of a report.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    /// The solver with its main options: "L-BFGS, history 10".
    pub solver: &'a str,
    /// The engine and the name of the adapter.
    pub backend: &'a str,
    /// Sizes of the problem, whole and reduced to free parameters and enabled residuals.
    pub sizes: [Sizes; 2],
    /// Number of kernels that the residuals share.
    pub kernels: usize,
    /// The linear solver and the reason for its choice; empty for none.
    pub linear_solver: &'a str,
    /// Free blocks that are an input of no residual.
    pub untouched: &'a Untouched,
    /// The rank of the Jacobian in a sentence; empty where nothing is to be said.
    pub rank: &'a str,
    /// The options of the solver.
    pub options: &'a SolveOptions,
    /// Stages with their duration in milliseconds, those of compiling first. The report adds the solve as a whole.
    pub times: &'a [(&'a str, f64)],
    /// The summary of the run.
    pub summary: &'a SolveSummary,
}

/// The report of a solve of compiled functions, before and after the iterations. `solver`: its name with its main options; `compile_times`: the stages of compiling with their
/// duration in milliseconds.
pub fn report(
    functions: &mut Functions,
    solver: &str,
    options: &SolveOptions,
    compile_times: &[(&'static str, f64)],
    solution: &Solution,
) -> [String; 2] {
    let engine = functions.engine().description();
    let backend = match functions.choice() {
        None => engine,
        Some(choice) => format!("{engine} ({})", choice.sentence()),
    };
    let sizes = functions.sizes();
    let times: Vec<(&str, f64)> = compile_times.iter().chain(&solution.details.times).copied().list();
    Report {
        solver,
        backend: &backend,
        sizes,
        kernels: kernel_numbers(functions.model()).1,
        linear_solver: &solution.details.linear_solver,
        untouched: &solution.details.untouched,
        rank: &solution.details.rank,
        options,
        times: &times,
        summary: &solution.summary,
    }
    .parts()
}

impl Report<'_> {
    /// The text before and after the iterations.
    fn parts(&self) -> [String; 2] {
        let [mut before, mut after] = [const { String::new() }; 2];
        // A string takes whatever is written.
        _ = self.before_iterations(&mut before);
        _ = self.after_iterations(&mut after);
        [before, after]
    }

    fn before_iterations(&self, f: &mut String) -> Result {
        writeln!(f, "residua solver report\n")?;
        line(f, "Solver", self.solver)?;
        line(f, "Backend", self.backend)?;
        if !self.linear_solver.is_empty() {
            line(f, "Linear solver", self.linear_solver)?;
        }
        self.tolerances(f)?;
        self.problem(f)
    }

    fn after_iterations(&self, f: &mut String) -> Result {
        self.costs(f)?;
        self.timing(f)?;
        line(f, "Termination", &format!("{} ({})", self.verdict(), self.summary.termination.as_str()))?;
        writeln!(f, "{}", self.summary.message)
    }

    fn verdict(&self) -> &'static str {
        if self.summary.success() { "CONVERGENCE" } else { "NO CONVERGENCE" }
    }

    fn problem(&self, f: &mut String) -> Result {
        writeln!(f, "\n  {:<20} {:>11} {:>11}", "", "Original", "Reduced")?;
        let [whole, reduced] = self.sizes;
        let on_manifolds = whole.effective_parameters != whole.parameters;
        let rows = [
            ("Parameter blocks", true, whole.parameter_blocks, reduced.parameter_blocks),
            ("Parameters", true, whole.parameters, reduced.parameters),
            ("Effective parameters", on_manifolds, whole.effective_parameters, reduced.effective_parameters),
            ("Residual blocks", true, whole.residual_blocks, reduced.residual_blocks),
            ("Residuals", true, whole.residuals, reduced.residuals),
        ];
        for (title, _, whole, reduced) in rows.into_iter().filter(|row| row.1) {
            writeln!(f, "  {title:<20} {whole:>11} {reduced:>11}")?;
        }
        if self.untouched.count > 0 {
            writeln!(f, "  Under-determined: {}", self.untouched.sentence())?;
        }
        if !self.rank.is_empty() {
            writeln!(f, "  Rank-deficient: {}", self.rank)?;
        }
        let shared = whole.residual_blocks as f64 / self.kernels.max(1) as f64;
        writeln!(f, "\n  {:<20} {:>11}", "Kernels", self.kernels)?;
        writeln!(f, "  {:<20} {:>11}\n", "Blocks a kernel", fixed(shared, 1))
    }

    fn tolerances(&self, f: &mut String) -> Result {
        let shown = |tolerance: f64| if tolerance == 0.0 { "off".to_owned() } else { scientific(tolerance, None) };
        let SolveOptions { cost_tolerance, gradient_tolerance, parameter_tolerance, .. } = *self.options;
        let (cost, gradient) = (shown(cost_tolerance), shown(gradient_tolerance));
        let parameter = shown(parameter_tolerance);
        line(f, "Tolerances", &format!("cost {cost}, gradient {gradient}, parameter {parameter}"))
    }

    fn costs(&self, f: &mut String) -> Result {
        let SolveSummary { initial_cost, final_cost, iterations, function_evaluations, .. } = *self.summary;
        line(f, "Initial cost", &scientific(initial_cost, Some(6)))?;
        line(f, "Final cost", &scientific(final_cost, Some(6)))?;
        line(f, "Change", &scientific(initial_cost - final_cost, Some(6)))?;
        line(f, "Iterations", &iterations.to_string())?;
        line(f, "Evaluations", &function_evaluations.to_string())?;
        writeln!(f)
    }

    fn timing(&self, f: &mut String) -> Result {
        writeln!(f, "Time in milliseconds")?;
        for (stage, milliseconds) in self.times {
            line(f, stage, &fixed(*milliseconds, 3))?;
        }
        line(f, "solve", &fixed(self.summary.elapsed_ms, 3))?;
        if self.summary.function_evaluations > 0 {
            let each = self.summary.elapsed_ms / f64::from(self.summary.function_evaluations);
            line(f, "per evaluation", &fixed(each, 3))?;
        }
        writeln!(f)
    }
}

fn line(f: &mut String, title: &str, words: &str) -> Result {
    writeln!(f, "  {title:<16} {words}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solve::summary::Termination;

    #[test]
    fn a_report_has_solver_sizes_times_and_termination() {
        let summary = SolveSummary {
            termination: Termination::MaxIterations,
            message: "Stopped after maxIterations, 1.".to_owned(),
            iterations: 1,
            function_evaluations: 2,
            initial_cost: 3.0,
            final_cost: 2.0,
            elapsed_ms: 5.0,
            history: Vec::new(),
        };
        let options = SolveOptions { cost_tolerance: 0.0, ..SolveOptions::defaults() };
        let whole =
            Sizes { parameter_blocks: 4, parameters: 9, effective_parameters: 8, residual_blocks: 6, residuals: 12 };
        let report = Report {
            solver: "L-BFGS, history 10",
            backend: "cpu",
            sizes: [whole, Sizes { parameters: 7, effective_parameters: 6, parameter_blocks: 3, ..whole }],
            kernels: 2,
            linear_solver: "dense QR: it is small",
            untouched: &Untouched { names: vec!["p[4]".to_owned()], count: 1 },
            rank: "The Jacobian has rank 5 of 6.",
            options: &options,
            times: &[("codegen", 1.5)],
            summary: &summary,
        };
        let expected = "\
residua solver report

  Solver           L-BFGS, history 10
  Backend          cpu
  Linear solver    dense QR: it is small
  Tolerances       cost off, gradient 1e-8, parameter 1e-8

                          Original     Reduced
  Parameter blocks               4           3
  Parameters                     9           7
  Effective parameters           8           6
  Residual blocks                6           6
  Residuals                     12          12
  Under-determined: p[4] is touched by no residual.
  Rank-deficient: The Jacobian has rank 5 of 6.

  Kernels                        2
  Blocks a kernel              3.0

  Initial cost     3.000000e0
  Final cost       2.000000e0
  Change           1.000000e0
  Iterations       1
  Evaluations      2

Time in milliseconds
  codegen          1.500
  solve            5.000
  per evaluation   2.500

  Termination      NO CONVERGENCE (max-iterations)
Stopped after maxIterations, 1.
";
        let text = report.parts().concat();
        assert_eq!(text, expected);
    }
}
