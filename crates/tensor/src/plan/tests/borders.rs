//! What stands beyond the borders of views.

use super::*;

#[test]
fn what_is_beyond_an_axis_of_one_element_is_not_read() {
    let mut expr = Expr::default();
    let x = expr.input(0, DType::F32, &shape(&[1, 4]));
    let other = expr.input(1, DType::F32, &shape(&[1, 4]));
    let mut results = Vec::new();
    for [before, row] in [[1, 0], [0, 1], [1, 1]] {
        let padded = expr.pad_with_zeros(x, vec![size(before), size(0)], &shape(&[2, 4]));
        results.push(expr.slice(padded, vec![size(row), size(0)], vec![1, 1], shape(&[1, 4])));
    }
    let joined = expr.concat(&[x, other], 0);
    let replaced = expr.set_slice(joined, vec![size(1), size(0)], x);
    for row in 0..2 {
        for whole in [joined, replaced] {
            results.push(expr.slice(whole, vec![size(row), size(0)], vec![1, 1], shape(&[1, 4])));
        }
    }
    check(expr, &results, &[numbers(4, 1), numbers(4, 2)], &[]);
}

#[test]
fn a_part_without_elements_is_not_read() {
    let mut expr = Expr::default();
    let rows = [2, 0, 3].map(|rows| shape(&[rows, 50]));
    let parts: Vec<TensorId> = (0..).zip(&rows).map(|(slot, of)| expr.input(slot, DType::F32, of)).collect();
    let (whole, none) = (expr.concat(&parts, 0), expr.concat(&parts[1..2], 0));
    let recipe = Recipe { expr: expr.clone(), dims: Vec::new(), results: vec![whole], assignments: Vec::new() };
    let plan = Plan::new(&recipe, &GPU).expect("a recipe that plans");
    // Two parts and the result: the memory of the other has 16 bytes, where a row has 200.
    assert_eq!(plan.kernels.iter().map(|kernel| kernel.buffers.len()).collect::<Vec<_>>(), [3]);
    check(expr, &[whole, none], &[numbers(100, 1), Vec::new(), numbers(150, 2)], &[]);
}
