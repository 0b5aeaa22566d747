//! Derivatives at ties, at zeros, and of what is not there.

use super::*;
use crate::expr::Combine;

/// The gradients of a sum of a tensor over inputs with given contents.
fn gradients(
    inputs: &[(DType, &[i64], &[f64])],
    build: impl FnOnce(&mut Expr, &[TensorId]) -> TensorId,
) -> Vec<Vec<f64>> {
    let mut expr = Expr::default();
    let ids: Vec<TensorId> = inputs
        .iter()
        .enumerate()
        .map(|(slot, (dtype, shape, _))| expr.input(slot as u32, *dtype, &sizes(shape)))
        .collect();
    let y = build(&mut expr, &ids);
    let axes: Vec<u32> = (0..expr.shape(y).len() as u32).collect();
    let scalar = expr.reduce(Reduction::Sum, y, &axes);
    let reals = ids.iter().filter(|id| expr.dtype(**id).is_real()).copied().collect::<Vec<_>>();
    let asked = reals.iter().map(|id| expr.gradient(scalar, *id)).collect();
    let recipe = Recipe { expr, dims: vec![DIM], results: asked, assignments: Vec::new() };
    let contents: Vec<Vec<f64>> = inputs.iter().map(|(.., data)| data.to_vec()).collect();
    results(&differentiated(&recipe), &contents).into_iter().map(|array| array.data).collect()
}

#[test]
fn equal_extremes_share_a_derivative() {
    use Reduction::{Max, Min};
    let row: &[f64] = &[2.0, 1.0, 2.0, 1.0];
    let of = |reduction: Reduction| {
        gradients(&[(DType::F32, &[4], row)], |expr, x| expr.reduce(reduction, x[0], &[0])).remove(0)
    };
    assert_eq!(of(Max), [0.5, 0.0, 0.5, 0.0]);
    assert_eq!(of(Min), [0.0, 0.5, 0.0, 0.5]);
    let pair: [(DType, &[i64], &[f64]); 2] = [(DType::F32, &[2], &[1.0, 3.0]), (DType::F32, &[2], &[1.0, 2.0])];
    let found = gradients(&pair, |expr, x| expr.elementwise(Elementwise::Maximum, x));
    assert_eq!(found, [[0.5, 1.0], [0.5, 0.0]]);
    let itself = gradients(&pair[..1], |expr, x| expr.elementwise(Elementwise::Minimum, &[x[0], x[0]]));
    assert_eq!(itself, [[1.0, 1.0]]);
    // The last of equals in the order of the scan.
    let scan = |reverse: bool| {
        gradients(&[(DType::F32, &[4], row)], |expr, x| expr.scan(x[0], Max, 0, false, reverse)).remove(0)
    };
    assert_eq!(scan(false), [2.0, 0.0, 2.0, 0.0]);
    assert_eq!(scan(true), [1.0, 0.0, 2.0, 1.0]);
    let scatter: [(DType, &[i64], &[f64]); 3] =
        [(DType::F32, &[2], &[4.0, 0.0]), (DType::F32, &[2], &[4.0, 3.0]), (DType::I32, &[2], &[0.0, 0.0])];
    let found = gradients(&scatter, |expr, x| expr.scatter(x[0], x[2], x[1], 0, Combine::Max));
    assert_eq!(found, [[0.5, 1.0], [0.5, 0.0]]);
}

#[test]
fn products_with_zeros_are_not_divided() {
    let rows: &[f64] = &[2.0, 0.0, 3.0, 0.0, 5.0, 0.0];
    let found = gradients(&[(DType::F32, &[2, 3], rows)], |expr, x| expr.reduce(Reduction::Prod, x[0], &[1]));
    assert_eq!(found, [[0.0, 6.0, 0.0, 0.0, 0.0, 0.0]]);
    // 2, 2·0 and 2·0·3
    let found =
        gradients(&[(DType::F32, &[3], &rows[..3])], |expr, x| expr.scan(x[0], Reduction::Prod, 0, false, false));
    assert_eq!(found, [[1.0, 8.0, 0.0]]);
    let scatter: [(DType, &[i64], &[f64]); 3] = [
        (DType::F32, &[2], &[4.0, 0.0]),
        (DType::F32, &[4], &[0.0, 3.0, 0.0, 7.0]),
        (DType::I32, &[4], &[0.0, 0.0, 1.0, 5.0]),
    ];
    let found = gradients(&scatter, |expr, x| expr.scatter(x[0], x[2], x[1], 0, Combine::Mul));
    assert_eq!(found, [vec![0.0, 0.0], vec![12.0, 0.0, 0.0, 0.0]]);
}

#[test]
fn what_is_left_out_makes_no_nan() {
    let row: &[f64] = &[0.0, 4.0];
    // where(x > 0, √x, 0) at 0
    let selected = gradients(&[(DType::F32, &[2], row)], |expr, x| {
        let zero = expr.constant(0.0, DType::F32);
        let root = expr.elementwise(Elementwise::Sqrt, x);
        let condition = expr.elementwise(Elementwise::Gt, &[x[0], zero]);
        expr.elementwise(Elementwise::Select, &[condition, root, zero])
    });
    assert_eq!(selected, [[0.0, 0.25]]);
    // The second element of √x.
    let sliced = gradients(&[(DType::F32, &[2], row)], |expr, x| {
        let root = expr.elementwise(Elementwise::Sqrt, x);
        expr.slice(root, sizes(&[1]), vec![1], sizes(&[1]))
    });
    assert_eq!(sliced, [[0.0, 0.25]]);
    let gathered = gradients(&[(DType::F32, &[2], row), (DType::I32, &[1], &[-1.0])], |expr, x| {
        let root = expr.elementwise(Elementwise::Sqrt, &x[..1]);
        expr.gather(root, x[1], 0)
    });
    assert_eq!(gathered, [[0.0, 0.25]]);
    let root = gradients(&[(DType::F32, &[2], row)], |expr, x| expr.elementwise(Elementwise::Sqrt, x));
    assert_eq!(root, [[f64::INFINITY, 0.25]]);
    let norm = gradients(&[(DType::F32, &[2], row)], |expr, x| expr.elementwise(Elementwise::VectorNorm, x));
    assert_eq!(norm, [[0.0, 0.25]]);
}

#[test]
fn a_scalar_has_no_derivative_by_what_it_does_not_depend_on() {
    let pair: [(DType, &[i64], &[f64]); 2] = [(DType::F32, &[2], &[1.5, 3.0]), (DType::F32, &[3], &[1.0, 2.0, 4.0])];
    let found = gradients(&pair, |expr, x| {
        let constant = expr.elementwise(Elementwise::StopGradient, &x[1..]);
        let rounded = expr.elementwise(Elementwise::Floor, &x[1..]);
        let integers = expr.cast(x[1], DType::I32);
        let integers = expr.cast(integers, DType::F32);
        let sum = expr.elementwise(Elementwise::Add, &[constant, rounded]);
        let sum = expr.elementwise(Elementwise::Add, &[sum, integers]);
        let sum = expr.reduce(Reduction::Sum, sum, &[0]);
        expr.elementwise(Elementwise::Mul, &[x[0], sum])
    });
    assert_eq!(found, [vec![21.0, 21.0], vec![0.0, 0.0, 0.0]]);
}

#[test]
fn gradients_by_what_is_computed_and_by_later_tensors() {
    let mut expr = Expr::default();
    let x = expr.input(0, DType::F32, &[]);
    let y = expr.elementwise(Elementwise::Mul, &[x, x]);
    let z = expr.elementwise(Elementwise::Mul, &[y, x]);
    let later = expr.elementwise(Elementwise::Exp, &[z]);
    let results = [x, y, z, later].map(|by| expr.gradient(z, by)).to_vec();
    let mut recipe = Recipe { expr, dims: Vec::new(), results, assignments: vec![(0, y)] };
    // A gradient may be assigned, and slots keep what is assigned.
    recipe.assignments.push((1, recipe.results[0]));
    differentiate(&mut recipe).unwrap();
    let values = evaluate(&recipe.expr, &[], &[vec![3.0]]);
    let at = |id: TensorId| values[id.0 as usize].data[0];
    // x³ by x, x·y by y, z by itself, and by what is made of it.
    assert_eq!(recipe.results.iter().map(|id| at(*id)).collect::<Vec<_>>(), [27.0, 3.0, 1.0, 0.0]);
    assert_eq!(recipe.assignments.iter().map(|(slot, id)| (*slot, at(*id))).collect::<Vec<_>>(), [(0, 9.0), (1, 27.0)]);
}
