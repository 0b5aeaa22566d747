//! Derivatives that the caller gives.

use super::*;

/// The square root of x², whose derivatives are given as those of the magnitude, in two roundabout ways.
#[test]
fn given_derivatives_take_the_place_of_those_of_the_value() {
    check("custom", &[(&[2, 3], (0.5, 2.0)), (&[3], (0.5, 2.0))], &[], &|expr, x| {
        // x₀³ x₁, whose value no derivative passes through.
        let square = expr.elementwise(Elementwise::Mul, &[x[0], x[0]]);
        let cube = expr.elementwise(Elementwise::Mul, &[square, x[0]]);
        let value = expr.elementwise(Elementwise::Mul, &[cube, x[1]]);
        let hidden = expr.elementwise(Elementwise::StopGradient, &[value]);
        let adjoint = expr.full(0.0, DType::F32, &sizes(&[2, 3]));
        let three = expr.constant(3.0, DType::F32);
        let slope = expr.elementwise(Elementwise::Mul, &[square, x[1]]);
        let slope = expr.elementwise(Elementwise::Mul, &[slope, three]);
        let first = expr.elementwise(Elementwise::Mul, &[adjoint, slope]);
        let products = expr.elementwise(Elementwise::Mul, &[cube, adjoint]);
        let second = expr.reduce(Reduction::Sum, products, &[0]);
        of(expr, TensorOp::CustomGradient, &[hidden, adjoint, x[0], first, x[1], second], &[2, 3])
    });
}

/// The adjoint that stands for that of the result is replaced, and nothing else: constants stay, and one share may have nothing of it.
#[test]
fn a_given_derivative_may_be_anything() {
    let mut expr = Expr::default();
    let x = expr.input(0, DType::F32, &sizes(&[3]));
    let adjoint = expr.full(7.0, DType::F32, &sizes(&[3]));
    let ones = expr.full(1.0, DType::F32, &sizes(&[3]));
    // Cut at 1, which is not linear.
    let cut = expr.elementwise(Elementwise::Minimum, &[adjoint, ones]);
    let y = of(&mut expr, TensorOp::CustomGradient, &[x, adjoint, x, cut], &[3]);
    let weights = expr.input(1, DType::F32, &sizes(&[3]));
    let products = expr.elementwise(Elementwise::Mul, &[y, weights]);
    let scalar = expr.reduce(Reduction::Sum, products, &[0]);
    let z = of(&mut expr, TensorOp::CustomGradient, &[x, adjoint, x, ones], &[3]);
    let other = expr.reduce(Reduction::Sum, z, &[0]);
    let found = [expr.gradient(scalar, x), expr.gradient(other, x), y];
    let recipe = differentiated(&Recipe { expr, dims: vec![DIM], results: found.to_vec(), assignments: Vec::new() });
    let contents = [vec![5.0, 6.0, 7.0], vec![0.5, 2.0, -3.0]];
    let data: Vec<Vec<f64>> = results(&recipe, &contents).into_iter().map(|array| array.data).collect();
    assert_eq!(data, [[0.5, 1.0, -3.0], [1.0, 1.0, 1.0], [5.0, 6.0, 7.0]]);
    assert_kernels("anything", &recipe, &contents);
}
