//! Variances of numbers that are far from 0, beside how much they vary.

use super::*;
use crate::grad::differentiate;
use crate::kernel::Body;

/// Numbers around an offset, as f32 has them.
fn around(offset: f64, spread: f64, count: usize) -> Vec<f64> {
    numbers(count, 3).into_iter().map(|x| f64::from((offset + spread * x) as f32)).collect()
}

/// The results of a recipe on a device and on the host, each beside the reference.
fn runs(recipe: &mut Recipe, input: &[f64]) -> Vec<(Vec<f64>, Vec<f64>)> {
    differentiate(recipe).unwrap();
    let inputs = [input.to_vec()];
    let expected = evaluate(&recipe.expr, &[], &inputs);
    let mut pairs = Vec::new();
    for is_host in [false, true] {
        let plan = Plan::new(recipe, &Target { is_host, ..GPU }).unwrap();
        let mut slots = vec![bytes_of(DType::F32, input)];
        let found = match is_host {
            false => execute(&plan, &[], &mut slots).unwrap(),
            true => execute_by(&plan, &[], &mut slots, &crate::wasm::run_generated).unwrap(),
        };
        for (id, bytes) in recipe.results.iter().zip(&found) {
            let expected = expected[id.0 as usize].data.clone();
            pairs.push((elements_of(DType::F32, bytes, expected.len()), expected));
        }
    }
    pairs
}

#[test]
fn variances_of_numbers_with_an_offset_are_those_of_two_passes() {
    for (offset, spread) in [(1e4, 0.01), (1e8, 16.0), (-3e5, 0.5), (0.0, 1.0)] {
        for (extents, axes) in [
            (&[3, 40][..], &[1u32][..]),
            (&[40, 3], &[0]),
            (&[4, 5, 6], &[0, 2]),
            (&[7, 300], &[0, 1]),
            (&[20_000], &[0]),
        ] {
            let mut expr = Expr::default();
            let x = expr.input(0, DType::F32, &shape(extents));
            let half = expr.constant(0.5, DType::F32);
            let map = expr.elementwise(E::Mul, &[x, half]);
            let results = [x, map].map(|x| expr.reduce(Reduction::Variance, x, axes)).to_vec();
            let mut recipe = Recipe { expr, dims: vec![], results, assignments: vec![] };
            let count = extents.iter().product::<i64>() as usize;
            for (found, expected) in runs(&mut recipe, &around(offset, spread, count)) {
                for (found, expected) in found.iter().zip(&expected) {
                    // Differences to the first element are exact or rounded once; then some roundings of sums of squares.
                    let error = (found - expected).abs() / expected;
                    assert!(error < 1e-5, "{offset} ± {spread} of {extents:?}: {found}, not {expected}");
                }
            }
        }
    }
}

#[test]
fn an_outlier_in_the_first_place_costs_no_digits() {
    let mut input = around(1.0, 0.5, 20_000);
    input[0] = 1e6;
    let mut expr = Expr::default();
    let x = expr.input(0, DType::F32, &shape(&[20_000]));
    let results = vec![expr.reduce(Reduction::Variance, x, &[0])];
    let mut recipe = Recipe { expr, dims: vec![], results, assignments: vec![] };
    for (found, expected) in runs(&mut recipe, &input) {
        assert!((found[0] - expected[0]).abs() < 1e-5 * expected[0], "{found:?}, not {expected:?}");
    }
}

#[test]
fn slopes_of_variances_of_numbers_with_an_offset_keep_their_digits() {
    for (offset, spread) in [(1e4, 0.01), (1e8, 16.0)] {
        for (extents, axes) in [(&[3, 40][..], &[1u32][..]), (&[4, 5, 6], &[0, 2])] {
            let mut expr = Expr::default();
            let x = expr.input(0, DType::F32, &shape(extents));
            let variance = expr.reduce(Reduction::Variance, x, axes);
            let rest: Vec<u32> = (0..expr.shape(variance).len() as u32).collect();
            let sum = expr.reduce(Reduction::Sum, variance, &rest);
            let results = vec![expr.gradient(sum, x)];
            let mut recipe = Recipe { expr, dims: vec![], results, assignments: vec![] };
            for (found, expected) in runs(&mut recipe, &around(offset, spread, 120)) {
                let largest = expected.iter().fold(0.0f64, |most, x| most.max(x.abs()));
                for (found, expected) in found.iter().zip(&expected) {
                    assert!((found - expected).abs() < 1e-5 * largest, "{offset} ± {spread}: {found}, not {expected}");
                }
            }
        }
    }
}

/// A layer norm of the last axis, as the recorder writes it.
fn layer_norm(expr: &mut Expr, x: TensorId) -> TensorId {
    let (extents, axes) = (expr.shape(x).to_vec(), [expr.shape(x).len() as u32 - 1]);
    let first = expr.first(x, &axes);
    let first = expr.elementwise(E::StopGradient, &[first]);
    let shifted = expr.elementwise(E::Sub, &[x, first]);
    let sum = expr.reduce_keeping(Reduction::Sum, shifted, &axes);
    let count = expr.extent(&Size::product(&extents[axes[0] as usize..]), DType::F32);
    let mean = expr.elementwise(E::Div, &[sum, count]);
    let difference = expr.elementwise(E::Sub, &[shifted, mean]);
    let variance = expr.reduce_keeping(Reduction::Variance, x, &axes);
    let epsilon = expr.constant(1e-5, DType::F32);
    let sum = expr.elementwise(E::Add, &[variance, epsilon]);
    let root = expr.elementwise(E::Sqrt, &[sum]);
    expr.elementwise(E::Div, &[difference, root])
}

#[test]
fn a_layer_norm_is_part_of_the_product_after_it_as_far_as_the_memory_of_a_workgroup_goes() {
    // For each of 256 threads two words of the sum, four of the moments, four of the product: 10 of 16 KiB.
    for (columns, expected) in [(1536, 1), (1540, 2)] {
        let mut expr = Expr::default();
        let x = expr.input(0, DType::F32, &shape(&[1, columns]));
        let y = layer_norm(&mut expr, x);
        let weight = expr.input(1, DType::F32, &shape(&[8, columns]));
        let transposed = expr.transpose(weight);
        let product = expr.matmul(y, transposed, DType::F32);
        let recipe = Recipe { expr, dims: vec![], results: vec![product], assignments: vec![] };
        let plan = Plan::new(&recipe, &GPU).unwrap();
        assert_eq!(plan.kernels.len(), expected, "{columns}: {:?}", names(&plan));
    }
}

#[test]
fn a_layer_norm_of_a_map_is_one_kernel_without_memory_for_the_map() {
    // With more inputs the states of two reductions would not fit the bindings of kernels.
    for inputs in 1..4 {
        let mut expr = Expr::default();
        let terms: Vec<TensorId> = (0..inputs).map(|slot| expr.input(slot, DType::F32, &shape(&[64, 4096]))).collect();
        let mut x = terms[0];
        for term in &terms {
            let scaled = expr.elementwise(E::Tanh, &[*term]);
            x = expr.elementwise(E::Add, &[x, scaled]);
        }
        let y = layer_norm(&mut expr, x);
        let recipe = Recipe { expr, dims: vec![], results: vec![y], assignments: vec![] };
        let plan = Plan::new(&recipe, &GPU).unwrap();
        assert_eq!(plan.kernels.len(), 1, "{inputs} inputs: {:?}", names(&plan));
        // The mean and the variance take the same differences.
        let Body::Rows(rows) = &plan.kernels[0].body else { panic!("no kernel of rows") };
        assert_eq!(rows.folds[0].operands, rows.folds[1].operands);
    }
}
