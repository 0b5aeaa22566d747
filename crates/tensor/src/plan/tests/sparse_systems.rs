//! Sparse triangular systems, by kernels of both engines, beside dense substitution.

use super::*;
use crate::expr::Linalg;
use crate::grad::differentiate;
use crate::kernel::TensorKernel;

/// Entries of a lower triangular matrix: row, column, value. Row 4 has two on the diagonal, and row 7 depends on no other.
fn entries(rows: usize) -> Vec<(usize, usize, f64)> {
    let mut entries = Vec::new();
    for row in 0..rows {
        for before in 1..row.min(6) {
            if (row * 7 + before * 5) % 3 == 0 && row != 7 {
                entries.push((row, row - before, (row as f64 - 2.3 * before as f64).sin()));
            }
        }
        entries.push((row, row, 1.5 + (row as f64).cos()));
        if row == 4 {
            entries.push((row, row, 0.5));
        }
    }
    entries
}

/// The pattern of entries (row, column, place), rows after those that they depend on.
fn pattern(rows: usize, entries: &[(usize, usize, u32)], is_lower: bool) -> Vec<f64> {
    let mut level = vec![0; rows];
    let all: Vec<usize> = if is_lower { (0..rows).collect() } else { (0..rows).rev().collect() };
    for row in &all {
        let of_row = entries.iter().filter(|(of, column, _)| of == row && column != row);
        level[*row] = of_row.map(|(_, column, _)| level[*column] + 1).max().unwrap_or(0);
    }
    let levels = level.iter().max().map_or(0, |last| last + 1);
    let mut order: Vec<usize> = (0..rows).collect();
    order.sort_by_key(|row| level[*row]);
    let mut numbers = vec![levels, rows];
    numbers.extend((0..=levels).map(|at| level.iter().filter(|level| **level < at).count()));
    numbers.extend(&order);
    let mut pairs = Vec::new();
    numbers.push(0);
    for row in &order {
        for (_, column, place) in entries.iter().filter(|(of, ..)| of == row) {
            pairs.extend([*place as usize, *column]);
        }
        numbers.push(pairs.len() / 2);
    }
    numbers.extend(pairs);
    numbers.into_iter().map(|number| number as f64).collect()
}

struct System {
    rows: usize,
    entries: Vec<(usize, usize, f64)>,
    has_unit: bool,
}

impl System {
    /// Both patterns, and rows and columns of the values.
    fn operands(&self) -> [Vec<f64>; 4] {
        let rows = self.rows;
        let mut own: Vec<(usize, usize, u32)> = Vec::new();
        let (mut of_rows, mut of_columns) = (Vec::new(), Vec::new());
        for (place, (row, column, _)) in self.entries.iter().enumerate() {
            let is_left_out = self.has_unit && row == column;
            if !is_left_out {
                own.push((*row, *column, place as u32));
            }
            of_rows.push(if is_left_out { rows } else { *row } as f64);
            of_columns.push(if is_left_out { rows } else { *column } as f64);
        }
        if self.has_unit {
            own.extend((0..rows).map(|row| (row, row, u32::MAX)));
        }
        let turned: Vec<_> = own.iter().map(|(row, column, place)| (*column, *row, *place)).collect();
        [pattern(rows, &own, true), pattern(rows, &turned, false), of_rows, of_columns]
    }

    /// By substitution in a dense matrix.
    fn solved(&self, values: &[f64], b: &[f64], width: usize) -> Vec<f64> {
        let mut dense = vec![0.0; self.rows * self.rows];
        for ((row, column, _), value) in self.entries.iter().zip(values) {
            dense[row * self.rows + column] += value;
        }
        let mut x = b.to_vec();
        for row in 0..self.rows {
            let pivot = if self.has_unit { 1.0 } else { dense[row * self.rows + row] };
            for column in 0..width {
                let known: f64 = (0..row).map(|k| dense[row * self.rows + k] * x[k * width + column]).sum();
                x[row * width + column] = (x[row * width + column] - known) / pivot;
            }
        }
        x
    }
}

fn recorded(expr: &mut Expr, system: &System, width: usize) -> ([TensorId; 3], Vec<Vec<f64>>) {
    let count = system.entries.len() as i64;
    let b = expr.input(0, DType::F32, &shape(&[system.rows as i64, width as i64]));
    let values = expr.input(1, DType::F32, &shape(&[count]));
    let mut operands = vec![b, values];
    let mut inputs = vec![
        numbers(system.rows * width, 3),
        system.entries.iter().map(|(.., value)| f64::from(*value as f32)).collect(),
    ];
    for (slot, numbers) in (2..).zip(system.operands()) {
        operands.push(expr.input(slot, DType::U32, &shape(&[numbers.len() as i64])));
        inputs.push(numbers);
    }
    ([b, values, expr.linalg(Linalg::SparseSolve, &operands)], inputs)
}

fn systems() -> Vec<System> {
    let of = |(rows, has_unit)| System { rows, entries: entries(rows), has_unit };
    [(1, false), (9, false), (9, true), (40, false)].map(of).into()
}

/// Runs a system by its text, and other kernels as they are.
fn run_text(kernel: &TensorKernel, words: &[u32], buffers: &mut [Vec<u8>]) -> Result<()> {
    match kernel.body {
        crate::kernel::Body::Linalg(_) => linalg::run_by_text(kernel, words, buffers),
        _ => crate::interpret::run(kernel, words, buffers),
    }
}

#[test]
fn systems_are_solved_as_dense_ones_are() {
    for system in systems() {
        for width in [1, 3, 6] {
            let mut expr = Expr::default();
            let ([_, _, x], inputs) = recorded(&mut expr, &system, width);
            let expected = system.solved(&inputs[1], &inputs[0], width);
            let values = evaluate(&expr, &[], &inputs);
            for (found, expected) in values[x.0 as usize].data.iter().zip(&expected) {
                assert!((found - expected).abs() <= 1e-9 * (1.0 + expected.abs()), "{found}, not {expected}");
            }
            check(expr.clone(), &[x], &inputs, &[]);
            // Threads that wait for one another take long to interpret.
            if system.rows != 9 || system.has_unit || width == 6 {
                continue;
            }
            let recipe = Recipe { expr, dims: Vec::new(), results: vec![x], assignments: Vec::new() };
            let plan = Plan::new(&recipe, &GPU).expect("a recipe that plans");
            let dtype = |slot| if slot < 2 { DType::F32 } else { DType::U32 };
            let mut slots: Vec<Vec<u8>> =
                inputs.iter().enumerate().map(|(slot, of)| bytes_of(dtype(slot), of)).collect();
            let found = execute_by(&plan, &[], &mut slots, &run_text).expect("a plan that runs");
            for (found, expected) in elements_of(DType::F32, &found[0], expected.len()).iter().zip(&expected) {
                // Nine rows of at most five terms, each with a rounding, that grow on their way.
                assert!((found - expected).abs() <= 1e-4 * (1.0 + expected.abs()), "{found}, not {expected}");
            }
        }
    }
}

#[test]
fn derivatives_are_systems_of_the_transpose() {
    for system in systems().into_iter().filter(|system| system.rows == 9) {
        for width in [1, 3] {
            let mut expr = Expr::default();
            let ([b, values, x], inputs) = recorded(&mut expr, &system, width);
            let weighted = expr.elementwise(E::Sin, &[x]);
            let scalar = expr.reduce(Reduction::Sum, weighted, &[0, 1]);
            let by = [b, values].map(|by| expr.gradient(scalar, by));
            let squares = expr.elementwise(E::Mul, &[by[1], by[1]]);
            let second = expr.reduce(Reduction::Sum, squares, &[0]);
            let twice = expr.gradient(second, values);
            let results = vec![by[0], by[1], twice];
            let mut recipe = Recipe { expr, dims: Vec::new(), results, assignments: Vec::new() };
            differentiate(&mut recipe).expect("a recipe with derivatives");
            let found = evaluate(&recipe.expr, &[], &inputs);
            let cost = |inputs: &[Vec<f64>]| -> f64 {
                system.solved(&inputs[1], &inputs[0], width).into_iter().map(f64::sin).sum()
            };
            let norm = |inputs: &[Vec<f64>]| -> f64 {
                let all = evaluate(&recipe.expr, &[], inputs);
                all[recipe.results[1].0 as usize].data.iter().map(|number| number * number).sum()
            };
            let slope = |slot: usize, place: usize, cost: &dyn Fn(&[Vec<f64>]) -> f64| {
                let at = |step: f64| {
                    let mut moved = inputs.clone();
                    moved[slot][place] += step;
                    cost(&moved)
                };
                (at(1e-5) - at(-1e-5)) / 2e-5
            };
            for (number, slot) in [(0, 0), (1, 1), (2, 1)] {
                for (place, found) in found[recipe.results[number].0 as usize].data.iter().enumerate() {
                    let expected = if number < 2 { slope(slot, place, &cost) } else { slope(slot, place, &norm) };
                    let close = (found - expected).abs() <= 1e-5 * (1.0 + expected.abs());
                    assert!(close, "derivative {number} at {place}: {found}, not {expected}");
                }
            }
            let results = recipe.results[..2].to_vec();
            check(recipe.expr, &results, &inputs, &[]);
        }
    }
}

#[test]
fn a_pattern_of_any_numbers_ends_without_a_trap() {
    let patterns: [&[u32]; 4] = [&[], &[1], &[u32::MAX, u32::MAX, 1], &[1, 3, 0, 3, 0, 9, 2, 0, 5, 1, 2]];
    for pattern in patterns {
        residua_tensor_loops::sparse::solve(pattern, &[1.0], &mut [1.0; 3], 1);
    }
}
