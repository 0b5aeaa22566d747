//! A softmax is one kernel, also as recipes record it.

use super::*;

#[test]
fn a_softmax_is_one_kernel() {
    let mut expr = Expr::default();
    let x = expr.input(0, DType::F32, &shape(&[3, 4, 37]));
    let y = softmax(&mut expr, x);
    let plan = check(expr, &[y], &[numbers(3 * 4 * 37, 1)], &[]);
    assert_eq!(plan.kernels.len(), 1, "{:?}", names(&plan));
}

#[test]
fn a_softmax_whose_largest_stops_derivatives_is_one_kernel() {
    let mut expr = Expr::default();
    let x = expr.input(0, DType::F32, &shape(&[1024, 1024]));
    let rows = shape(&[1024, 1]);
    let largest = expr.reduce(Reduction::Max, x, &[1]);
    let largest = expr.reshape(largest, &rows);
    let largest = expr.elementwise(E::StopGradient, &[largest]);
    let shifted = expr.elementwise(E::Sub, &[x, largest]);
    let exponential = expr.elementwise(E::Exp, &[shifted]);
    let sum = expr.reduce(Reduction::Sum, exponential, &[1]);
    let sum = expr.reshape(sum, &rows);
    let results = vec![expr.elementwise(E::Div, &[exponential, sum])];
    let recipe = Recipe { expr, dims: Vec::new(), results, assignments: Vec::new() };
    for is_host in [false, true] {
        let plan = Plan::new(&recipe, &Target { is_host, ..GPU }).expect("a recipe that plans");
        assert_eq!(plan.steps.len(), 1, "{plan}");
    }
}
