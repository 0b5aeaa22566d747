//! What Program.verify runs on the CPU: the kernels of plans for the GPU, generated or interpreted.

use super::*;
use crate::interpret;

/// Runs a plan for the GPU as Program.verify does and compares the results with those of the interpreter. Gives the names of the kernels that
/// are interpreted.
fn check_verified(expr: Expr, results: &[TensorId], inputs: &[Vec<f64>], dims: (&[u32], &[u32])) -> Vec<String> {
    let recipe = Recipe { expr, dims: dims.1.to_vec(), results: results.to_vec(), assignments: Vec::new() };
    let plan = Plan::new(&recipe, &GPU).expect("a recipe that plans and runs");
    let mut slots: Vec<Vec<u8>> = inputs.iter().map(|elements| bytes_of(DType::F32, elements)).collect();
    let found = execute_by(
        &plan,
        dims.0,
        &mut slots.clone(),
        &|kernel, words, buffers| match crate::verify::generated(kernel) {
            Some(parts) => parts.iter().try_for_each(|part| crate::wasm::run_generated(part, words, buffers)),
            None => interpret::run(kernel, words, buffers),
        },
    );
    let expected = execute(&plan, dims.0, &mut slots).expect("a recipe that plans and runs");
    for ((id, found), expected) in results.iter().zip(found.expect("a recipe that plans and runs")).zip(expected) {
        let count = recipe.expr.count(*id).at(dims.0) as usize;
        let dtype = recipe.expr.tensor(*id).dtype;
        for (a, b) in elements_of(dtype, &found, count).iter().zip(elements_of(dtype, &expected, count)) {
            // Sums of a few hundred numbers below 2 in two orders.
            assert!((a - b).abs() <= 1e-4 * (1.0 + b.abs()), "{a}, not {b}, of tensor {}", id.0);
        }
    }
    for (id, result) in results.iter().zip(&plan.results) {
        for step in &plan.steps {
            let Step::Dispatch { kernel, places } = step else { continue };
            let position = *kernel as usize;
            let kernel = &plan.kernels[position];
            for (buffer, place) in places.iter().enumerate() {
                if place == result && kernel.buffers[buffer].written {
                    let count = plan.elements(position, dims.0)[buffer];
                    assert_eq!(
                        count,
                        recipe.expr.count(*id).at(dims.0) as u64,
                        "elements that '{}' writes",
                        kernel.name
                    );
                }
            }
        }
    }
    let interpreted = plan.kernels.iter().filter(|kernel| crate::verify::generated(kernel).is_none());
    interpreted.map(|kernel| kernel.name.clone()).collect()
}

#[test]
fn products_with_epilogues_and_siblings_are_generated() {
    let mut expr = Expr::default();
    let x = expr.input(0, DType::F32, &shape(&[2, 40]));
    let (first, second) = (expr.input(1, DType::F32, &shape(&[40, 5])), expr.input(2, DType::F32, &shape(&[40, 7])));
    let scaled = expr.elementwise(E::Sin, &[x]);
    let (a, b) = (expr.matmul(scaled, first, DType::F32), expr.matmul(scaled, second, DType::F32));
    let (a, b) = (expr.elementwise(E::Exp, &[a]), expr.elementwise(E::Neg, &[b]));
    let inputs = [numbers(80, 1), numbers(200, 2), numbers(280, 3)];
    assert!(check_verified(expr, &[a, b], &inputs, (&[], &[])).is_empty());
}

#[test]
fn rows_in_blocks_are_generated_for_each_size() {
    for count in [1, 3, 700] {
        let mut expr = Expr::default();
        let rows = Size::dim(0);
        let x = expr.input(0, DType::F32, &[rows, size(3)]);
        let both = {
            let most = expr.reduce(Reduction::Max, x, &[0]);
            let sum = expr.reduce(Reduction::Sum, x, &[0]);
            expr.elementwise(E::Add, &[most, sum])
        };
        let first = expr.reduce(Reduction::ArgMax, x, &[0]);
        let inputs = [numbers(3 * count as usize, 1)];
        assert!(check_verified(expr, &[both, first], &inputs, (&[count], &[5000])).is_empty());
    }
}
