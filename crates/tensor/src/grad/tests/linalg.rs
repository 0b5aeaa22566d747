//! The rules of factorisations and triangular systems.

use super::*;
use crate::expr::Linalg;

const WITHIN: (f64, f64) = (-1.0, 1.0);

/// x xᵀ + 1.
fn positive(expr: &mut Expr, x: TensorId) -> TensorId {
    let turned = expr.transpose(x);
    let square = expr.matmul(x, turned, DType::F32);
    let shape = expr.shape(square).to_vec();
    let shape = &shape[shape.len() - 2..];
    let [row, column] = [0, 1].map(|axis| expr.iota(axis, DType::I32, shape));
    let is_diagonal = expr.elementwise(Elementwise::Eq, &[row, column]);
    let one = expr.cast(is_diagonal, DType::F32);
    expr.elementwise(Elementwise::Add, &[square, one])
}

#[test]
fn cholesky_factors() {
    for shape in [[1, 1, 1], [2, 3, 3], [1, -1, -1]] {
        check("cholesky", &[(&shape, WITHIN)], &[], &|expr, x| {
            let a = positive(expr, x[0]);
            expr.linalg(Linalg::Cholesky, &[a])
        });
    }
}

#[test]
fn triangular_systems() {
    for [batch, size, columns] in [[1, 1, 1], [2, 3, 2], [2, -1, 1]] {
        let shapes: [&[i64]; 2] = [&[batch, size, size], &[batch, size, columns]];
        check("triangular solve", &shapes.map(|shape| (shape, WITHIN)), &[], &|expr, x| {
            let a = positive(expr, x[0]);
            expr.linalg(Linalg::TriangularSolve, &[a, x[1]])
        });
    }
}

#[test]
fn pivoted_factors() {
    for shape in [[2, 3, 3], [1, 4, 2], [1, 2, 4], [1, 1, 1]] {
        check("lu", &[(&shape, WITHIN)], &[], &|expr, x| expr.linalg(Linalg::Lu, &[x[0]]));
    }
}

#[test]
fn orthogonal_factors() {
    for shape in [[2, 3, 3], [1, 4, 2], [1, 2, 1]] {
        check("qr", &[(&shape, WITHIN)], &[], &|expr, x| expr.linalg(Linalg::Qr, &[x[0]]));
    }
}

/// The squares of factors of a matrix whose values are apart. Vectors may have the opposite sign a step further.
fn squared(expr: &mut Expr, kind: Linalg, x: TensorId) -> TensorId {
    let shape = expr.shape(x).to_vec();
    let [row, column] = [0, 1].map(|axis| expr.iota(axis, DType::I32, &shape[1..]));
    let is_diagonal = expr.elementwise(Elementwise::Eq, &[row, column]);
    let two = expr.constant(2.0, DType::I32);
    let twice = expr.elementwise(Elementwise::Mul, &[row, two]);
    let zero = expr.constant(0.0, DType::I32);
    let diagonal = expr.elementwise(Elementwise::Select, &[is_diagonal, twice, zero]);
    let apart = expr.cast(diagonal, DType::F32);
    let sum = expr.elementwise(Elementwise::Add, &[x, apart]);
    let factors = expr.linalg(kind, &[sum]);
    expr.elementwise(Elementwise::Mul, &[factors, factors])
}

#[test]
fn eigenvectors() {
    for shape in [[2, 3, 3], [1, 1, 1]] {
        check("eigh", &[(&shape, WITHIN)], &[], &|expr, x| {
            let turned = expr.transpose(x[0]);
            let sum = expr.elementwise(Elementwise::Add, &[x[0], turned]);
            squared(expr, Linalg::Eigh, sum)
        });
    }
}

#[test]
fn singular_vectors() {
    for shape in [[2, 3, 2], [1, 2, 2], [1, 3, 1]] {
        check("svd", &[(&shape, WITHIN)], &[], &|expr, x| squared(expr, Linalg::Svd, x[0]));
    }
}

#[test]
fn pseudo_inverses() {
    for shape in [[2, 3, 2], [1, 2, 3], [1, 2, 2]] {
        check("pseudo-inverse", &[(&shape, (0.5, 1.5))], &[], &|expr, x| {
            let cutoff = expr.constant(1e-6, DType::F32);
            expr.linalg(Linalg::PseudoInverse, &[x[0], cutoff])
        });
    }
}

#[test]
fn equal_values_have_derivatives() {
    // The trace of V Λ Vᵀ at the identity, whose eigenvalues are equal, and the sum of its singular values.
    for kind in [Linalg::Eigh, Linalg::Svd] {
        let mut expr = Expr::default();
        let a = expr.input(0, DType::F32, &sizes(&[2, 2]));
        let factors = expr.linalg(kind, &[a]);
        let row = if kind == Linalg::Eigh { 2 } else { 4 };
        let start = vec![Size::constant(row), Size::constant(0)];
        let values = expr.slice(factors, start, vec![1; 2], sizes(&[1, 2]));
        let sum = expr.reduce(Reduction::Sum, values, &[0, 1]);
        let gradient = expr.gradient(sum, a);
        let recipe = Recipe { expr, dims: vec![DIM], results: vec![gradient], assignments: Vec::new() };
        let found = results(&differentiated(&recipe), &[vec![1.0, 0.0, 0.0, 1.0]]);
        assert_eq!(found[0].data, [1.0, 0.0, 0.0, 1.0], "{kind:?}");
    }
}
