//! Sparse products, by kernels of both engines: rows of all lengths, with and without columns.

use super::*;
use crate::grad::differentiate;
use crate::interpret;
use crate::kernel::{Body, TensorKernel};

/// Runs a kernel of ranges by its text, and others as they are.
fn run_text(kernel: &TensorKernel, words: &[u32], buffers: &mut [Vec<u8>]) -> Result<()> {
    match kernel.body {
        Body::Rows(_) => linalg::run_by_text(kernel, words, buffers),
        _ => interpret::run(kernel, words, buffers),
    }
}

/// A matrix with so many entries in each row, at columns that repeat and are in no order.
struct Pattern {
    columns: usize,
    offsets: Vec<f64>,
    indices: Vec<f64>,
    rows: Vec<f64>,
    column_offsets: Vec<f64>,
    by_column: Vec<f64>,
}

fn pattern(lengths: &[usize], columns: usize) -> Pattern {
    let mut offsets = vec![0.0];
    let (mut indices, mut rows) = (Vec::new(), Vec::new());
    for (row, length) in lengths.iter().enumerate() {
        for _ in 0..*length {
            indices.push(((indices.len() * 7919 + row * 31) % columns) as f64);
            rows.push(row as f64);
        }
        offsets.push(indices.len() as f64);
    }
    let mut by_column: Vec<usize> = (0..indices.len()).collect();
    by_column.sort_by_key(|entry| indices[*entry] as usize);
    let column_offsets =
        (0..=columns).map(|column| indices.iter().filter(|of| (**of as usize) < column).count() as f64).collect();
    let by_column = by_column.into_iter().map(|entry| entry as f64).collect();
    Pattern { columns, offsets, indices, rows, column_offsets, by_column }
}

/// The product in f64, element by element.
fn dense(pattern: &Pattern, values: &[f64], x: &[f64], width: usize) -> Vec<f64> {
    let mut sums = vec![0.0; (pattern.offsets.len() - 1) * width];
    for (entry, row) in pattern.rows.iter().enumerate() {
        for column in 0..width {
            sums[*row as usize * width + column] += values[entry] * x[pattern.indices[entry] as usize * width + column];
        }
    }
    sums
}

fn recorded(expr: &mut Expr, pattern: &Pattern, rest: &[i64]) -> [TensorId; 3] {
    let (rows, entries, columns) =
        (pattern.offsets.len() as i64 - 1, pattern.indices.len() as i64, pattern.columns as i64);
    let index = |expr: &mut Expr, slot: u32, count: i64| expr.input(slot, DType::U32, &shape(&[count]));
    let offsets = index(expr, 0, rows + 1);
    let indices = index(expr, 1, entries);
    let values = expr.input(2, DType::F32, &shape(&[entries]));
    let x = expr.input(3, DType::F32, &shape(&[&[columns], rest].concat()));
    let of_rows = index(expr, 4, entries);
    let column_offsets = index(expr, 5, columns + 1);
    let by_column = index(expr, 6, entries);
    let operands = vec![offsets, indices, values, x, of_rows, column_offsets, by_column];
    let shape = shape(&[&[rows], rest].concat());
    [values, x, expr.push(Tensor { op: TensorOp::SparseProduct, operands, dtype: DType::F32, shape })]
}

fn inputs(pattern: &Pattern, width: usize) -> Vec<Vec<f64>> {
    let Pattern { columns, offsets, indices, rows, column_offsets, by_column } = pattern;
    let [values, x] = [(indices.len(), 1), (columns * width, 2)].map(|(count, seed)| numbers(count, seed));
    vec![offsets.clone(), indices.clone(), values, x, rows.clone(), column_offsets.clone(), by_column.clone()]
}

fn widths() -> [(&'static [i64], usize); 5] {
    [(&[], 1), (&[1], 1), (&[3], 3), (&[4], 4), (&[2, 8], 16)]
}

#[test]
fn products_are_sums_over_the_entries_of_rows() {
    let many: Vec<usize> = (0..40).map(|row| [0, 1, 2, 5, 16, 33, 0, 70][row % 8]).collect();
    let patterns = [
        pattern(&many, 23),
        pattern(&[3, 700, 0, 513, 512, 2], 50),
        pattern(&[800], 7),
        pattern(&[0, 0, 0], 4),
        pattern(&[1], 1),
    ];
    for pattern in &patterns {
        for (rest, width) in widths() {
            let mut expr = Expr::default();
            let [_, _, product] = recorded(&mut expr, pattern, rest);
            let inputs = inputs(pattern, width);
            let values = evaluate(&expr, &[], &inputs);
            let expected = dense(pattern, &inputs[2], &inputs[3], width);
            for (found, expected) in values[product.0 as usize].data.iter().zip(&expected) {
                assert!((found - expected).abs() < 1e-9, "{found}, not {expected}");
            }
            // What is computed of a product is written by its kernel.
            let shifted = expr.elementwise(E::Tanh, &[product]);
            check(expr.clone(), &[product, shifted], &inputs, &[]);
            // Threads that wait for one another take long to interpret.
            if !(pattern.columns == 50 && matches!(width, 1 | 4)) {
                continue;
            }
            let recipe = Recipe { expr, dims: Vec::new(), results: vec![product], assignments: Vec::new() };
            let plan = Plan::new(&recipe, &GPU).expect("a recipe that plans");
            let mut slots: Vec<Vec<u8>> = (0..)
                .zip(&inputs)
                .map(|(slot, of)| bytes_of(if slot == 2 || slot == 3 { DType::F32 } else { DType::U32 }, of))
                .collect();
            let found = execute_by(&plan, &[], &mut slots, &run_text).expect("a plan that runs");
            for (found, expected) in elements_of(DType::F32, &found[0], expected.len()).iter().zip(&expected) {
                // Terms are rounded, and their sums are compensated.
                assert!((found - expected).abs() <= 2e-6 * (1.0 + expected.abs()) * 8.0, "{found}, not {expected}");
            }
        }
    }
}

#[test]
fn derivatives_are_products_of_the_transpose_and_of_rows() {
    for pattern in [pattern(&[2, 0, 5, 9, 1], 6), pattern(&[3, 700, 0, 513], 50)] {
        for (rest, width) in widths() {
            let mut expr = Expr::default();
            let [values, x, product] = recorded(&mut expr, &pattern, rest);
            let count = expr.shape(product).len() as u32;
            let weighted = expr.elementwise(E::Sin, &[product]);
            let scalar = expr.reduce(Reduction::Sum, weighted, &(0..count).collect::<Vec<u32>>());
            let by = [values, x].map(|by| expr.gradient(scalar, by));
            let squares = expr.elementwise(E::Mul, &[by[1], by[1]]);
            let second = expr.reduce(Reduction::Sum, squares, &(0..count).collect::<Vec<u32>>());
            let second = [values, x].map(|by| expr.gradient(second, by));
            let inputs = inputs(&pattern, width);
            let mut recipe = Recipe { expr, dims: Vec::new(), results: [by, second].concat(), assignments: Vec::new() };
            differentiate(&mut recipe).expect("a recipe with derivatives");
            let found = evaluate(&recipe.expr, &[], &inputs);
            let cost = |inputs: &[Vec<f64>]| -> f64 {
                dense(&pattern, &inputs[2], &inputs[3], width).into_iter().map(f64::sin).sum()
            };
            let slope = |inputs: &[Vec<f64>], slot: usize, place: usize, cost: &dyn Fn(&[Vec<f64>]) -> f64| -> f64 {
                let at = |step: f64| {
                    let mut moved = inputs.to_vec();
                    moved[slot][place] += step;
                    cost(&moved)
                };
                (at(1e-5) - at(-1e-5)) / 2e-5
            };
            let norm = |inputs: &[Vec<f64>]| -> f64 {
                let recorded = evaluate(&recipe.expr, &[], inputs);
                recorded[recipe.results[1].0 as usize].data.iter().map(|number| number * number).sum()
            };
            for (number, slot) in [(0, 2), (1, 3), (2, 2), (3, 3)] {
                let data = &found[recipe.results[number].0 as usize].data;
                for place in (0..data.len()).step_by(1 + data.len() / 5) {
                    let by_difference = if number < 2 {
                        slope(&inputs, slot, place, &cost)
                    } else {
                        slope(&inputs, slot, place, &norm)
                    };
                    // Differences of sums of thousands of terms keep half of the digits.
                    let close = (data[place] - by_difference).abs() <= 1e-4 * (1.0 + by_difference.abs());
                    assert!(close, "derivative {number} at {place}: {}, not {by_difference}", data[place]);
                }
            }
            if pattern.indices.len() < 100 {
                let results = recipe.results.clone();
                check(recipe.expr, &results, &inputs, &[]);
            }
        }
    }
}

#[test]
fn offsets_and_columns_of_any_kind_read_nothing_beyond_memory() {
    let mut pattern = pattern(&[3, 700, 0, 513], 50);
    pattern.offsets = vec![5.0, 4e9, 7.0, 900.0, 1e6];
    pattern.indices[10] = 4e9;
    for on_host in [true, false] {
        let mut expr = Expr::default();
        let [_, _, product] = recorded(&mut expr, &pattern, &[3]);
        let recipe = Recipe { expr, dims: Vec::new(), results: vec![product], assignments: Vec::new() };
        let plan = Plan::new(&recipe, &Target { is_host: on_host, ..GPU }).expect("a recipe that plans");
        let mut slots: Vec<Vec<u8>> = (0..)
            .zip(&inputs(&pattern, 3))
            .map(|(slot, of)| bytes_of(if slot == 2 || slot == 3 { DType::F32 } else { DType::U32 }, of))
            .collect();
        // The interpreters check every index.
        let run = if on_host { crate::wasm::run_generated } else { run_text };
        execute_by(&plan, &[], &mut slots, &run).expect("a plan that runs");
    }
}
