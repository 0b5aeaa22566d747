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
