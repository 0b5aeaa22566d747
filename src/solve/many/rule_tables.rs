//! The rules of [`crate::solve::rules`] for many problems at a time: by generated code, two problems in a vector, or by interpretation.

use std::rc::Rc;

use crate::solve::rules::Rules;
use residua_base::error::Result;
use residua_base::list::Listed;
use residua_codegen::{
    CheckedKernel, ElementType, Function, Index, InstanceRange, Instances, Kernel, KernelBuffer, Load, Output, View,
};
use residua_cpu::CompiledKernels;
use residua_linalg::loops::small;

/// A rule, by its position among [`Rules::of_many`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    Noise,
    Cosine,
    Gain,
    Radius,
    Convergence,
}

/// The most parameters that one has, and the most results.
const MOST_ARGUMENTS: usize = 13;
const MOST_RESULTS: usize = 4;

/// The kernels of all rules, in their order. A kernel has a column of arguments for each parameter, and a column for each result.
pub(super) fn rule_kernels() -> Result<Vec<CheckedKernel>> {
    Rules::shared().of_many().into_iter().map(kernel).list_or_error()
}

fn kernel(rule: &Function) -> Result<CheckedKernel> {
    let case = &rule.cases[0];
    let buffer = |name, written| KernelBuffer { name, dtype: ElementType::Real, written };
    let parameters = 0..rule.parameters.len() as u32;
    let results = (0..).zip(&case.results);
    let kernel = Kernel {
        buffers: vec![buffer("arguments", false), buffer("results", true)],
        loads: parameters.map(|column| Load::read(0, Index::column(column))).list(),
        outputs: results.map(|(column, &node)| Output::store(node, 1, Index::column(column))).list(),
        instances: Instances::Few,
        ..Kernel::new(rule.name, case.graph.clone())
    };
    kernel.check()
}

/// Arguments of one rule for some problems, a row each, and its results.
pub(super) struct RuleTable {
    rules: Rc<Rules>,
    stride: usize,
    rows: usize,
    arguments: Vec<f64>,
    results: Vec<f64>,
}

impl RuleTable {
    /// A table for so many rows at most.
    pub fn new(stride: usize) -> RuleTable {
        let table = |columns: usize| vec![0.0; columns * stride];
        let (arguments, results) = (table(MOST_ARGUMENTS), table(MOST_RESULTS));
        RuleTable { rules: Rules::shared(), stride, rows: 0, arguments, results }
    }

    /// Adds a row.
    pub fn push(&mut self, arguments: &[f64]) {
        small::write_row(arguments, self.stride, self.rows, &mut self.arguments);
        self.rows += 1;
    }

    /// Removes all rows.
    pub fn clear(&mut self) {
        self.rows = 0;
    }

    /// Computes the results of all rows, by a kernel of the program where the position of the first is given.
    pub fn run(&mut self, rule: Rule, program: &CompiledKernels, first: Option<usize>) -> Result<()> {
        let RuleTable { rules, stride, rows, arguments, results } = self;
        if *rows == 0 {
            return Ok(());
        }
        if let Some(first) = first {
            let range = InstanceRange { instances: 0..*rows as u32, stride: *stride as u32, first: 0, origin: 0 };
            return program
                .run(first + rule as usize, &mut [View::Read(arguments), View::Write(results)], &range)
                .map(drop);
        }
        let function = rules.of_many()[rule as usize];
        let (mut row_arguments, mut row_results) = ([0.0; MOST_ARGUMENTS], [0.0; MOST_RESULTS]);
        for row in 0..*rows {
            small::read_row(arguments, *stride, row, &mut row_arguments);
            function.evaluate_into(&row_arguments, &mut row_results);
            small::write_row(&row_results, *stride, row, results);
        }
        Ok(())
    }

    /// The first results of a row.
    pub fn result<const N: usize>(&self, row: usize) -> [f64; N] {
        let mut numbers = [0.0; N];
        small::read_row(&self.results, self.stride, row, &mut numbers);
        numbers
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use residua_base::cooperative::run_synchronously;

    #[test]
    fn kernels_of_rules_compute_what_their_evaluation_does() {
        let program = run_synchronously(CompiledKernels::compile(rule_kernels().unwrap())).unwrap();
        let rules = [Rule::Noise, Rule::Cosine, Rule::Gain, Rule::Radius, Rule::Convergence];
        for (rule, function) in rules.into_iter().zip(Rules::shared().of_many()) {
            let mut table = RuleTable::new(7);
            let argument = |row: usize, column: usize| [1e-3, 2.0, 0.0, f64::NAN, 1e-9, 0.5][(3 * row + column) % 6];
            let rows: Vec<Vec<f64>> =
                (0..5).map(|row| (0..function.parameters.len()).map(|k| argument(row, k)).collect()).collect();
            rows.iter().for_each(|row| table.push(row));
            table.run(rule, &program, Some(0)).unwrap();
            let compiled: Vec<[f64; 4]> = (0..5).map(|row| table.result(row)).collect();
            table.run(rule, &program, None).unwrap();
            for (row, compiled) in compiled.into_iter().enumerate() {
                let expected = function.evaluate(0, &rows[row]);
                let interpreted = table.result::<4>(row);
                for (k, expected) in expected.iter().enumerate() {
                    assert_eq!(compiled[k].to_bits(), expected.to_bits(), "{rule:?}, row {row}, result {k}");
                    assert_eq!(interpreted[k].to_bits(), expected.to_bits(), "{rule:?}, row {row}, result {k}");
                }
            }
        }
    }
}
