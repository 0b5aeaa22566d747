//! Large matrices: blocks, panels, and what pads them.

use super::*;

#[test]
fn blocks_of_large_matrices_have_their_factors() {
    // A whole block and the rest.
    let size = 70;
    let a = Matrix::of(size, positive(1, size));
    let b = numbers(size * 2, 8);
    let mut expr = Expr::default();
    let left = input(&mut expr, 0, &[1, size, size]);
    let right = input(&mut expr, 1, &[1, size, 2]);
    let minus = expr.elementwise(E::Neg, &[left]);
    let lower = crate::plan::linalg::cholesky(&mut expr, left, 3);
    let factors = crate::plan::linalg::pivoted(&mut expr, left, 3);
    let solution = crate::plan::linalg::triangular_solve(&mut expr, &[lower, right], 3);
    let none = crate::plan::linalg::cholesky(&mut expr, minus, 3);
    let all = [lower, factors, solution, none];
    let found = &results(&expr, &all, &[a.data.clone(), b.clone()], &[], false)[0];
    let lower = rows_of(&found[0], 0, 0, size);
    lower.times(&lower.turned()).is_near(&a, "L Lᵀ in blocks");
    is_pivoted(&rows_of(&found[1], 0, 0, size), &a, "L U in blocks");
    let solution = rows_of(&found[2], 0, 0, size);
    let product = lower.times(&solution);
    let bound = ERROR * size as f64 * (2.0 + lower.most() * solution.most());
    assert!(product.data.iter().zip(&b).all(|(a, b)| (a - b).abs() <= bound));
    assert!(found[3].data.iter().all(|x| x.is_nan()));
}

#[test]
fn panels_of_rectangles_make_the_rows_in_their_order() {
    for [rows, columns] in [[70, 80], [80, 70], [40, 100], [33, 33], [64, 64]] {
        let data = numbers(rows * columns, 6);
        let mut expr = Expr::default();
        let a = input(&mut expr, 0, &[1, rows, columns]);
        let factors = crate::plan::linalg::pivoted(&mut expr, a, 3);
        expr.check().expect("a recipe that plans");
        let found = &evaluate(&expr, &[], std::slice::from_ref(&data))[factors.0 as usize];
        is_pivoted(&rows_of(found, 0, 0, rows), &Matrix::of(columns, data), "L U in panels");
    }
}

/// Symmetric matrices: of random numbers, of eigenvalues that fall by 14 powers of 10, of few different ones, and with blocks that have nothing to do with
/// each other.
fn symmetric(size: usize) -> Vec<(&'static str, Matrix)> {
    let x = Matrix::of(size, numbers(size * size, 7));
    let sum = Matrix::made(size, size, |row, column| x.at(row, column) + x.at(column, row));
    let mut basis = x.data.clone();
    residua_tensor_loops::dense::orthogonal(&mut basis, size, size);
    let basis = Matrix::of(size, basis);
    let of_values = |value: &dyn Fn(usize) -> f64| {
        let scaled = Matrix::made(size, size, |row, column| basis.at(row, column) * value(column));
        scaled.times(&basis.turned())
    };
    let falling = |k: usize| 10_f64.powf(-14.0 * k as f64 / size as f64);
    let few = |k: usize| [1.0, 1.0, -2.0, 0.0][k % 4];
    let apart = Matrix::made(size, size, |row, column| if row % 3 == column % 3 { sum.at(row, column) } else { 0.0 });
    let all = [("random", sum), ("falling", of_values(&falling)), ("few", of_values(&few)), ("apart", apart)];
    all.map(|(name, of)| (name, Matrix::of(size, of.data.iter().map(|x| f64::from(*x as f32)).collect()))).to_vec()
}

#[test]
fn large_symmetric_matrices_are_padded_and_their_values_ordered() {
    // Two pairs of blocks, of which the second is not whole.
    let size = 50;
    let values_of = |a: &Matrix| {
        let mut data = a.data.clone();
        residua_tensor_loops::dense::eigen(&mut data, size)
    };
    for (name, a) in symmetric(size) {
        let mut expr = Expr::default();
        let x = input(&mut expr, 0, &[1, size, size]);
        let result = expr.linalg(Linalg::Eigh, &[x]);
        let found = &results(&expr, &[result], std::slice::from_ref(&a.data), &[], true)[1][0];
        let vectors = rows_of(found, 0, 0, size);
        let values = rows_of(found, 0, size, 1).data;
        assert!(values.is_sorted(), "{name}: {values:?}");
        Matrix::of(size, values.clone()).is_near(&Matrix::of(size, values_of(&a)), name);
        vectors.is_orthonormal(name);
        let scaled = Matrix::made(size, size, |row, column| vectors.at(row, column) * values[column]);
        scaled.times(&vectors.turned()).is_near(&a, name);
    }
}

#[test]
fn large_matrices_are_padded_and_their_singular_values_ordered() {
    let columns = 50;
    for (name, square) in symmetric(columns) {
        for rows in [50, 70] {
            let a = Matrix::made(rows, columns, |row, column| square.at(row % columns, column) * (1 + row / 50) as f64);
            let mut expr = Expr::default();
            let x = input(&mut expr, 0, &[1, rows, columns]);
            let result = expr.linalg(Linalg::Svd, &[x]);
            let found = &results(&expr, &[result], std::slice::from_ref(&a.data), &[], true)[1][0];
            let left = rows_of(found, 0, 0, rows);
            let right = rows_of(found, 0, rows, columns);
            let values = rows_of(found, 0, rows + columns, 1).data;
            assert!(values.iter().rev().is_sorted() && values[columns - 1] >= 0.0, "{name}: {values:?}");
            left.is_orthonormal(name);
            right.is_orthonormal(name);
            let scaled = Matrix::made(rows, columns, |row, column| left.at(row, column) * values[column]);
            scaled.times(&right.turned()).is_near(&a, name);
        }
    }
}

#[test]
fn reflections_of_panels_make_the_matrix() {
    // Two panels, of which the second is not whole.
    for [rows, columns] in [[50, 40], [33, 33]] {
        for (name, square) in symmetric(columns).into_iter().take(2) {
            let a = Matrix::made(rows, columns, |row, column| square.at(row % columns, column));
            let mut expr = Expr::default();
            let x = input(&mut expr, 0, &[1, rows, columns]);
            let result = expr.linalg(Linalg::Qr, &[x]);
            let found = &results(&expr, &[result], std::slice::from_ref(&a.data), &[], true)[1][0];
            let (q, upper) = (rows_of(found, 0, 0, rows), rows_of(found, 0, rows, columns));
            q.is_orthonormal(name);
            q.times(&upper).is_near(&a, name);
            (0..columns).for_each(|row| (0..row).for_each(|column| assert_eq!(upper.at(row, column), 0.0, "{name}")));
        }
    }
}

#[test]
fn a_number_that_is_not_finite_makes_a_large_matrix_nan() {
    for kind in [Linalg::Qr, Linalg::Eigh, Linalg::Svd] {
        for bad in [f64::NAN, f64::INFINITY] {
            let mut data = symmetric(50)[0].1.data.clone();
            (data[7 * 50 + 3], data[3 * 50 + 7]) = (bad, bad);
            let mut expr = Expr::default();
            let x = input(&mut expr, 0, &[1, 50, 50]);
            let result = expr.linalg(kind, &[x]);
            let found = &results(&expr, &[result], &[data], &[], true)[1][0];
            let height = match kind {
                Linalg::Eigh => 51,
                Linalg::Qr => 50,
                _ => 101,
            };
            assert!(rows_of(found, 0, 0, height).data.iter().all(|x| x.is_nan()), "{kind:?} with {bad}");
        }
    }
}
