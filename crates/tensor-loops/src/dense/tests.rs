//! Factors against the matrices that they are of. Errors are in units of 2⁻⁵³ of the largest element, times the size: what backward stable
//! algorithms have (Higham: "Accuracy and Stability of Numerical Algorithms", 2nd edition, 9, 10 and 19), with a factor of 10 for their constants.

use super::*;

fn numbers(count: usize, seed: usize) -> Vec<f64> {
    (0..count).map(|k| ((k + 31 * seed) as f64 * 0.754_877_666_246_692_7).fract() * 4.0 - 2.0).collect()
}

fn product(a: &[f64], b: &[f64], depth: usize) -> Vec<f64> {
    let columns = b.len() / depth.max(1);
    let mut result = vec![0.0; a.len() / depth.max(1) * columns];
    if columns > 0 && depth > 0 {
        for (row, own) in result.chunks_exact_mut(columns).zip(a.chunks_exact(depth)) {
            own.iter().zip(b.chunks_exact(columns)).for_each(|(factor, b)| add_scaled(row, *factor, b));
        }
    }
    result
}

fn identity(size: usize) -> Vec<f64> {
    (0..size * size).map(|place| f64::from(u8::from(place % (size + 1) == 0))).collect()
}

#[track_caller]
fn near(found: &[f64], expected: &[f64], size: usize) {
    let scale = expected.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
    let error = found.iter().zip(expected).fold(0.0_f64, |most, (a, b)| most.max((a - b).abs()));
    assert_eq!(found.len(), expected.len());
    assert!(error <= 10.0 * f64::EPSILON * size as f64 * scale, "{error} of {scale} with size {size}");
}

const SIZES: [usize; 7] = [0, 1, 2, 3, 8, 17, 40];

fn symmetric(size: usize) -> Vec<f64> {
    let a = numbers(size * size, size);
    let other = transposed(&a, size, size);
    a.iter().zip(other).map(|(x, y)| x + y).collect()
}

#[test]
fn cholesky_factors_are_of_the_matrix() {
    for size in SIZES {
        let a = numbers(size * size, size);
        let mut square = product(&a, &transposed(&a, size, size), size);
        (0..size).for_each(|k| square[k * (size + 1)] += 1.0);
        let mut lower = square.clone();
        cholesky(&mut lower, size);
        near(&product(&lower, &transposed(&lower, size, size), size), &square, size);
        let b = numbers(size * 3, 7);
        let mut x = b.clone();
        triangular_solve(&lower, size, &mut x, 3);
        near(&product(&lower, &x, size), &b, size * 10);
    }
    for mut indefinite in [vec![1.0, 2.0, 2.0, 1.0], vec![f64::NAN, 0.0, 0.0, 1.0], vec![0.0; 4]] {
        cholesky(&mut indefinite, 2);
        assert!(indefinite.iter().all(|x| x.is_nan()), "{indefinite:?}");
    }
}

#[test]
fn pivoted_factors_are_of_the_rows_in_their_order() {
    for (rows, columns) in [(0, 0), (1, 1), (2, 5), (5, 2), (6, 6), (30, 30), (3, 0)] {
        let a = numbers(rows * columns, 3);
        let mut factors = a.clone();
        let (order, signs) = pivoted(&mut factors, rows, columns);
        let depth = rows.min(columns);
        let at = |row: usize, column: usize| factors[row * columns + column];
        let mut lower = vec![0.0; rows * depth];
        let mut upper = vec![0.0; depth * columns];
        for row in 0..rows {
            (0..depth.min(row)).for_each(|column| lower[row * depth + column] = at(row, column));
            if row < depth {
                lower[row * depth + row] = 1.0;
                (row..columns).for_each(|column| upper[row * columns + column] = at(row, column));
            }
        }
        let moved: Vec<f64> = order.iter().flat_map(|row| a[row * columns..][..columns].iter().copied()).collect();
        near(&product(&lower, &upper, depth), &moved, rows);
        assert!(lower.iter().all(|x| x.abs() <= 1.0) && signs.iter().all(|sign| sign.abs() == 1.0));
    }
}

#[test]
fn orthogonal_factors_are_of_the_matrix() {
    for (rows, columns) in [(0, 0), (1, 1), (5, 2), (6, 6), (40, 17), (4, 0)] {
        for a in [numbers(rows * columns, 5), vec![0.0; rows * columns], vec![1.0; rows * columns]] {
            let mut q = a.clone();
            let upper = orthogonal(&mut q, rows, columns);
            near(&product(&q, &upper, columns), &a, rows);
            near(&product(&transposed(&q, rows, columns), &q, rows.max(1)), &identity(columns), rows.max(1));
        }
    }
}

#[test]
fn eigenvectors_make_the_matrix_diagonal() {
    for size in SIZES {
        let mut second_difference = vec![0.0; size * size];
        for k in 0..size {
            second_difference[k * size + k] = 2.0;
            if k > 0 {
                second_difference[k * size + k - 1] = -1.0;
                second_difference[(k - 1) * size + k] = -1.0;
            }
        }
        for a in
            [symmetric(size), identity(size), vec![0.0; size * size], vec![1.0; size * size], second_difference.clone()]
        {
            let mut vectors = a.clone();
            let values = eigen(&mut vectors, size);
            assert!(values.is_sorted());
            let scaled: Vec<f64> = (0..size * size).map(|place| values[place / size] * vectors[place]).collect();
            near(&product(&transposed(&vectors, size, size), &scaled, size), &a, size);
            near(&product(&vectors, &transposed(&vectors, size, size), size), &identity(size), size);
        }
        // 2 − 2 cos(π k / (n + 1)).
        let expected: Vec<f64> =
            (1..=size).map(|k| 2.0 - 2.0 * (std::f64::consts::PI * k as f64 / (size + 1) as f64).cos()).collect();
        near(&eigen(&mut second_difference, size), &expected, size);
    }
}

#[test]
fn factors_of_numbers_that_are_not_finite_are_nan() {
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        for (matrix, size) in [(vec![bad], 1), (vec![1.0, 0.0, 0.0, bad], 2), (vec![1.0, bad, bad, 1.0], 2)] {
            let mut vectors = matrix.clone();
            let values = eigen(&mut vectors, size);
            assert!(values.iter().chain(&vectors).all(|x| x.is_nan()), "eigenvectors of {matrix:?}: {vectors:?}");
            let mut left = matrix.clone();
            let (values, right) = singular(&mut left, size, size);
            assert!(
                values.iter().chain(&left).chain(&right).all(|x| x.is_nan()),
                "left vectors of {matrix:?}: {left:?}"
            );
            let mut q = matrix.clone();
            let upper = orthogonal(&mut q, size, size);
            assert!(upper.iter().chain(&q).all(|x| x.is_nan()), "Q of {matrix:?}: {q:?}");
        }
    }
}

#[test]
fn singular_vectors_make_the_matrix_diagonal() {
    for (rows, columns) in [(0, 0), (1, 1), (5, 2), (6, 6), (40, 17), (4, 0)] {
        // The last has singular values far below the largest.
        let graded = (0..rows * columns).map(|k| numbers(rows * columns, 5)[k] * 10_f64.powi(-((k % columns) as i32)));
        for a in [numbers(rows * columns, 5), vec![0.0; rows * columns], vec![1.0; rows * columns], graded.collect()] {
            let mut left = a.clone();
            let (values, right) = singular(&mut left, rows, columns);
            assert!(values.iter().rev().is_sorted() && values.iter().all(|value| *value >= 0.0));
            let scaled: Vec<f64> = left.iter().enumerate().map(|(place, x)| x * values[place % columns]).collect();
            let again = product(&scaled, &transposed(&right, columns, columns), columns);
            let most = a.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
            // What the module says: 2⁻²⁶·⁵ of the norm, which is at most so many times the largest element.
            let bound = 2_f64.powf(-26.5) * most * (rows * columns) as f64;
            assert!(again.iter().zip(&a).all(|(x, y)| (x - y).abs() <= bound), "{rows} {columns}");
            near(&product(&transposed(&left, rows, columns), &left, rows.max(1)), &identity(columns), rows.max(1));
            near(&product(&transposed(&right, columns, columns), &right, columns), &identity(columns), columns);
        }
    }
}
