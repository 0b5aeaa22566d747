//! What goes to the device and comes back, as plain words: the tables of some problems, and their solutions. What runs the kernel
//! is no matter here, so that it is tested without a device.

use residua_base::list::{Listed, PushAll};
use std::ops::Range;

use crate::eval::Arithmetic;
use crate::eval::pairs::split;
use crate::solve::options::SolveOptions;
use crate::solve::rules::NO_FLOOR;
use crate::solve::summary::Termination;
use residua_base::error::Result;
use residua_codegen::Width;
use residua_codegen::wgsl::PairForm;

use super::batch::{Batch, make_feasible};
use super::layout::Layout;
use super::program::{Program, SolveManyUniforms, program};
use super::template::SharedProblem;
use super::{ManyOptions, ManySolutions};

/// Columns of the state table: end, iterations, cost, radius, ‖Dδ‖ of the last step, floor, cost by influence, and whether the arithmetic tells a minimum. Then
/// in pairs the low part of the cost, and D² of each free coordinate.
const STATE_COLUMNS: u32 = 8;

/// A template with a batch, laid out for the device.
pub struct DeviceBatch<'a> {
    template: &'a SharedProblem,
    batch: &'a Batch<'a>,
    options: &'a ManyOptions,
    layout: Layout,
    /// What the kernel computes in.
    arithmetic: Arithmetic,
    /// The kernel.
    pub program: Program,
}

/// The words of some problems.
pub struct Tables {
    /// Distance between columns: the number of problems, padded.
    pub stride: u32,
    /// f32; written by the kernel.
    pub parameters: Vec<f32>,
    /// f32.
    pub problem_numbers: Vec<f32>,
    /// u32; written by the kernel.
    pub state: Vec<u32>,
    /// As they were given, problem after problem.
    starts: Vec<f64>,
    problems: Range<u32>,
}

impl Tables {
    /// How many problems there are.
    pub fn count(&self) -> usize {
        self.problems.len()
    }
}

impl<'a> DeviceBatch<'a> {
    /// Lays out and writes the kernel: in f32, or in pairs with products of this form.
    ///
    /// # Errors
    /// `limit-exceeded` for problems that are too large for a thread.
    pub fn new(
        template: &'a SharedProblem,
        batch: &'a Batch<'a>,
        options: &'a ManyOptions,
        pairs: Option<PairForm>,
    ) -> Result<DeviceBatch<'a>> {
        batch.check(template)?;
        let layout = Layout::new(template, batch);
        let program = program(template, &layout, pairs)?;
        let arithmetic = if pairs.is_some() { Arithmetic::F32x2 } else { Arithmetic::F32 };
        Ok(DeviceBatch { template, batch, options, layout, arithmetic, program })
    }

    fn is_in_pairs(&self) -> bool {
        self.arithmetic == Arithmetic::F32x2
    }

    /// Columns of a table of so many numbers.
    fn columns(&self, numbers: usize) -> usize {
        if self.is_in_pairs() { 2 * numbers } else { numbers }
    }

    fn state_columns(&self) -> u32 {
        STATE_COLUMNS + u32::from(self.is_in_pairs()) + self.template.free.len() as u32
    }

    /// The largest table's bytes for a problem.
    pub fn largest_column_bytes(&self) -> u64 {
        let tables = (self.layout.varying as usize).max(self.template.values.len());
        4 * (self.columns(tables) as u64).max(u64::from(self.state_columns()))
    }

    /// The numbers that are the same for all problems, and the zero of the guard.
    pub fn template_numbers(&self) -> Vec<f32> {
        let numbers = self.layout.shared_table(self.template);
        let mut table: Vec<f32> = numbers.iter().map(|&number| number as f32).list();
        if self.is_in_pairs() {
            table.push_all(numbers.iter().map(|&number| split(number)[1]));
        }
        table.push(0.0);
        table
    }

    /// The tables of some problems at their starts.
    pub fn tables(&self, problems: Range<u32>) -> Tables {
        let count = problems.len();
        let stride = (count as u32).next_multiple_of(64);
        let numbers = self.template.values.len();
        let starts = self.batch.starts(self.template, problems.clone());
        let mut parameters = vec![0.0f32; self.columns(numbers) * stride as usize];
        let mut state = vec![0u32; (self.state_columns() * stride) as usize];
        let mut x = vec![0.0; numbers];
        for (problem, start) in starts.chunks_exact(numbers).enumerate() {
            x.copy_from_slice(start);
            if !make_feasible(self.template, &mut x) {
                state[problem] = Termination::NonFinite.code() as u32;
            }
            for (number, value) in x.iter().enumerate() {
                let [high, low] = split(*value);
                parameters[number * stride as usize + problem] = high;
                if self.is_in_pairs() {
                    parameters[(numbers + number) * stride as usize + problem] = low;
                }
            }
            let mut set =
                |column: usize, number: f64| state[column * stride as usize + problem] = (number as f32).to_bits();
            set(2, f64::NAN);
            set(5, NO_FLOOR.min(f32::MAX.into()));
        }
        let width = if self.is_in_pairs() { Width::Pair } else { Width::Single };
        let mut problem_numbers = self.layout.varying_table(self.template, self.batch, problems.clone(), stride, width);
        if problem_numbers.is_empty() {
            problem_numbers.push(0.0);
        }
        Tables { stride, parameters, problem_numbers, state, starts, problems }
    }

    /// The uniform for some problems, of which each makes so many iterations at most.
    pub fn uniform(&self, tables: &Tables, turn: u32) -> SolveManyUniforms {
        let [cost_tolerance, gradient_tolerance, parameter_tolerance] = self.options.tolerances.in_single_precision();
        SolveManyUniforms {
            count: tables.problems.len() as u32,
            stride: tables.stride,
            turn,
            max_iterations: self.options.max_iterations.unwrap_or(SolveOptions::defaults().max_iterations),
            nan: residua_codegen::wgsl::Dispatch::NAN,
            epsilon: self.options.tolerances.epsilon(self.arithmetic.epsilon()) as f32,
            cost_tolerance,
            gradient_tolerance,
            parameter_tolerance,
            initial_damping: self.options.initial_damping.unwrap_or_default() as f32,
        }
    }

    /// A number that the kernel has at a bound is the bound.
    fn restore_bounds(&self, x: &mut [f64]) {
        for coordinate in &self.template.free {
            let number = &mut x[coordinate.parameter as usize];
            let (lower, upper) = coordinate.bounds.unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
            for bound in [lower, upper].into_iter().filter(|bound| bound.is_finite()) {
                if *number == self.arithmetic.quantise(bound) {
                    *number = bound;
                }
            }
        }
    }

    /// Appends what the kernel has left of some problems. A number that has not moved is as it was given, to the last bit.
    pub fn finish(&self, tables: &Tables, x: &[f32], state: &[u32], solutions: &mut ManySolutions) {
        let stride = tables.stride as usize;
        let numbers = self.template.values.len();
        for (problem, start) in tables.starts.chunks_exact(numbers).enumerate() {
            let word = |column: usize| state[column * stride + problem];
            let end = Termination::from_code(f64::from(word(0))).unwrap_or(Termination::Aborted);
            let iterations = word(1);
            let first = solutions.x.len();
            solutions.x.extend_from_slice(start);
            let own = &mut solutions.x[first..];
            if end != Termination::NonFinite || iterations > 0 {
                make_feasible(self.template, own);
                for (number, value) in own.iter_mut().enumerate() {
                    let mut found = f64::from(x[number * stride + problem]);
                    if self.is_in_pairs() {
                        found += f64::from(x[(numbers + number) * stride + problem]);
                    }
                    if found != self.arithmetic.quantise(*value) {
                        *value = found;
                    }
                }
                self.restore_bounds(own);
                // What was rounded beyond a bound.
                self.template.project(own);
            }
            let number = |column: usize| f64::from(f32::from_bits(word(column)));
            let low = if self.is_in_pairs() { number(STATE_COLUMNS as usize) } else { 0.0 };
            solutions.cost.push(number(2) + low);
            solutions.iterations.push(iterations);
            solutions.termination.push(end);
            solutions.deficient.push(false);
            solutions.unproven.push(word(7) == 0);
        }
    }
}
