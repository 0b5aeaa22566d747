//! What stands beyond the borders of views.

use super::*;
use crate::kernel::Body;

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

/// The sums of windows of 3 × 3 elements of each channel, and what follows.
fn windows_of_channels(expr: &mut Expr, [channels, rows, columns]: [i64; 3]) -> TensorId {
    let x = expr.input(0, DType::F32, &shape(&[channels, rows, columns]));
    let weights = expr.input(1, DType::F32, &shape(&[channels, 3, 3]));
    let padded = shape(&[channels, rows + 2, columns + 2]);
    let padded = expr.pad_with_zeros(x, vec![size(0), size(1), size(1)], &padded);
    let mut sum = None;
    for (row, column) in (0..9).map(|k| (k / 3, k % 3)) {
        let at = vec![size(0), size(row), size(column)];
        let part = expr.slice(padded, at.clone(), vec![1; 3], shape(&[channels, rows, columns]));
        let weight = expr.slice(weights, at, vec![1; 3], shape(&[channels, 1, 1]));
        let term = expr.elementwise(E::Mul, &[part, weight]);
        sum = Some(sum.map_or(term, |sum| expr.elementwise(E::Add, &[sum, term])));
    }
    let sum = sum.expect("nine terms");
    expr.elementwise(E::Sub, &[sum, x])
}

#[test]
fn a_thread_has_four_rows_of_windows_that_share_loads() {
    for (extents, rows) in [([2, 16, 40], 4), ([2, 18, 40], 1), ([2, 8, 20], 1)] {
        let mut expr = Expr::default();
        let first = windows_of_channels(&mut expr, extents);
        let second = expr.elementwise(E::Mul, &[first, first]);
        // Of another rank, which is computed from what the same kernel writes.
        let flat = expr.reshape(first, &shape(&[1, extents[0], extents[1], extents[2]]));
        let third = expr.elementwise(E::Mul, &[flat, flat]);
        for results in [&[first][..], &[first, second], &[first, third]] {
            let inputs = [numbers(extents.iter().product::<i64>() as usize, 1), numbers(18, 2)];
            let plan = check(expr.clone(), results, &inputs, &[]);
            let [kernel] = plan.kernels.as_slice() else { panic!("{plan}") };
            let Body::Elements(elements) = &kernel.body else { panic!("{plan}") };
            assert_eq!(elements.stores.len(), rows * results.len(), "{extents:?}");
            // Of four elements six rows of three, nine weights and the elements themselves; of one nine of each and itself.
            let read = kernel.graph.loads(elements.stores.iter().map(|store| store.value)).into_iter();
            let loads = read.filter(|(buffer, _)| !kernel.buffers[*buffer as usize].written).count();
            assert_eq!(loads, if rows == 4 { 18 + 9 + 4 } else { 9 + 9 + 1 }, "{extents:?}");
        }
    }
}

#[test]
fn rows_of_a_thread_are_written_where_they_are_read() {
    let mut expr = Expr::default();
    let added = windows_of_channels(&mut expr, [2, 16, 40]);
    let speed = expr.input(2, DType::F32, &shape(&[2, 16, 40]));
    let next = expr.elementwise(E::Add, &[speed, added]);
    let plan = check_assigned(expr, &[], &[(2, next)], &[numbers(1280, 1), numbers(18, 2), numbers(1280, 3)], &[]);
    let Body::Elements(elements) = &plan.kernels[0].body else { panic!("{plan}") };
    assert_eq!((plan.steps.len(), elements.stores.len()), (1, 4), "{plan}");
}
