//! Quantised numbers within kernels.

use super::super::Plan;
use super::{GPU, check, names, numbers, shape};
use crate::dtype::DType;
use crate::expr::{Elementwise as E, Expr, TensorId};
use crate::fuse::Target;
use crate::kernel::{Body, TensorBuffer};
use crate::quantised::Form;
use crate::size::Size;
use crate::tape::Recipe;

/// Words and sides that repeat nothing: slots `first` and the one after it hold them.
fn weights(expr: &mut Expr, first: u32, form: Form, leading: &[i64], columns: u32) -> (TensorId, [Vec<f64>; 2]) {
    let of = |last: u32| [leading, &[i64::from(last)]].concat();
    let shapes = [columns / form.a_word(), form.side(columns)].map(of);
    let ids = [(0, DType::U32), (1, form.side_dtype())]
        .map(|(k, dtype)| expr.input(first + k as u32, dtype, &shape(&shapes[k])));
    let [words, side] = shapes.map(|shape| shape.iter().product::<i64>() as u32);
    let contents = [(0..words).map(word).collect(), (0..side).map(|place| element(form, place)).collect()];
    (expr.dequantize(form, ids[0], ids[1]), contents)
}

/// A row of several blocks of 32.
fn depth_of(form: Form) -> u32 {
    form.multiple().max(64)
}

fn word(place: u32) -> f64 {
    f64::from((place + 1).wrapping_mul(0x9e37_79b9).rotate_left(place % 31))
}

/// Multiples of 2⁻¹⁰ that are halves, or records that begin with two halves: below 2⁻³, or 2⁻¹² where integers of up to 8 bits multiply them, so that
/// sums are about 1.
fn element(form: Form, place: u32) -> f64 {
    match form.record {
        0 => f64::from(place * 37 % 101 + 1) / 1024.0,
        record if place.is_multiple_of(record) => {
            let first = if form.scales.is_some() { 0x0800 } else { 0x2c00 };
            f64::from(first + place * 37 % 1000 + ((first + place * 91 % 1000) << 16))
        }
        _ => word(place),
    }
}

#[test]
fn quantised_numbers_are_a_map() {
    for form in Form::all() {
        let mut expr = Expr::default();
        let (w, [words, side]) = weights(&mut expr, 0, form, &[3], 3 * form.multiple());
        let plan = check(expr, &[w], &[words, side], &[]);
        assert_eq!(plan.kernels.len(), 1, "{:?}", names(&plan));
    }
}

#[test]
fn a_product_reads_words_of_its_quantised_factor() {
    for form in Form::all() {
        let depth = depth_of(form);
        for rows in [1, 8, 9] {
            let mut expr = Expr::default();
            let (w, [words, side]) = weights(&mut expr, 0, form, &[10], depth);
            let (x, bias) = (
                expr.input(2, DType::F32, &shape(&[rows, i64::from(depth)])),
                expr.input(3, DType::F32, &shape(&[10])),
            );
            let right = expr.transpose(w);
            let product = expr.matmul(x, right, DType::F32);
            let sum = expr.elementwise(E::Add, &[product, bias]);
            let y = expr.elementwise(E::Sigmoid, &[sum]);
            let inputs = [words, side, numbers(rows as usize * depth as usize, 3), numbers(10, 4)];
            let plan = check(expr, &[y], &inputs, &[]);
            assert_eq!(plan.kernels.len(), 1, "{:?}", names(&plan));
            let Body::Product(body) = &plan.kernels[0].body else { panic!("a product") };
            let factor = plan.kernels[0].graph.as_dequantized(body.right).expect("the product reads words");
            assert_eq!(factor.form, form);
        }
    }
}

#[test]
fn rows_of_a_quantised_table_are_gathered_before_they_are_numbers() {
    for form in Form::all() {
        let mut expr = Expr::default();
        let columns = depth_of(form);
        let [words, side] = [columns / form.a_word(), form.side(columns)];
        let (stored_words, stored_side) = (
            expr.input(0, DType::U32, &shape(&[5, i64::from(words)])),
            expr.input(1, form.side_dtype(), &shape(&[5, i64::from(side)])),
        );
        let n = Size::dim(0);
        let ids = expr.input(2, DType::I32, &[n]);
        let rows = [stored_words, stored_side].map(|plane| expr.gather(plane, ids, 0));
        let rows = expr.dequantize(form, rows[0], rows[1]);
        let words = (0..5 * words).map(word).collect();
        let side = (0..5 * side).map(|place| element(form, place)).collect();
        let plan = check(expr, &[rows], &[words, side, vec![4.0, 0.0, -2.0, 7.0]], &[4]);
        assert_eq!(plan.kernels.len(), 1, "{:?}", names(&plan));
    }
}

#[test]
fn a_product_reads_bytes_on_its_left_side() {
    let host = Target { is_host: true, ..GPU };
    for form in Form::all() {
        let depth = depth_of(form);
        let mut expr = Expr::default();
        let (w, [words, side]) = weights(&mut expr, 0, form, &[7], depth);
        let (x, [left_words, left_side]) = weights(&mut expr, 2, Form::BYTES, &[9], depth);
        let right = expr.transpose(w);
        let product = expr.matmul(x, right, DType::F32);
        let plan = check(expr.clone(), &[product], &[words, side, left_words, left_side], &[]);
        assert_eq!(plan.kernels.len(), 1, "{:?}", names(&plan));
        let recipe = Recipe { expr, results: vec![product], ..Recipe::default() };
        assert_eq!(Plan::new(&recipe, &host).expect("a recipe that plans").kernels.len(), 1);
    }
}

#[test]
fn matrices_of_a_batch_are_read_as_they_are() {
    let host = Target { is_host: true, ..GPU };
    for form in Form::all() {
        for rows in [1, 5] {
            let depth = depth_of(form);
            let mut expr = Expr::default();
            let (w, [words, side]) = weights(&mut expr, 0, form, &[3, 7], depth);
            let x = expr.input(2, DType::F32, &shape(&[3, rows, i64::from(depth)]));
            let right = expr.transpose(w);
            let product = expr.matmul(x, right, DType::F32);
            let plan =
                check(expr.clone(), &[product], &[words, side, numbers(3 * rows as usize * depth as usize, 3)], &[]);
            assert_eq!(plan.kernels.len(), 1, "{:?}", names(&plan));
            let recipe = Recipe { expr, results: vec![product], ..Recipe::default() };
            assert_eq!(Plan::new(&recipe, &host).expect("a recipe that plans").kernels.len(), 1);
        }
    }
}

#[test]
fn chosen_matrices_are_gathered_as_blocks() {
    // Scales of the others are no f32, so numbers are told from them by their type.
    for form in Form::all().filter(|form| !form.is_single) {
        let depth = depth_of(form);
        let mut expr = Expr::default();
        let (all, [words, side]) = weights(&mut expr, 0, form, &[4, 7], depth);
        let planes = expr.tensor(all).operands.clone();
        let ids = expr.input(2, DType::I32, &shape(&[3]));
        let x = expr.input(3, DType::F32, &shape(&[3, 2, i64::from(depth)]));
        let planes: Vec<TensorId> = planes.iter().map(|plane| expr.gather(*plane, ids, 0)).collect();
        let w = expr.dequantize(form, planes[0], planes[1]);
        let right = expr.transpose(w);
        let product = expr.matmul(x, right, DType::F32);
        // The second is counted from the end, the last is not there.
        let inputs = [words, side, vec![2.0, -1.0, 9.0], numbers(3 * 2 * depth as usize, 3)];
        let plan = check(expr, &[product], &inputs, &[]);
        let has_numbers = |buffer: &TensorBuffer| buffer.written && buffer.dtype == DType::F32;
        let written = plan.kernels.iter().filter(|kernel| kernel.buffers.iter().any(has_numbers)).count();
        assert_eq!(written, 1, "{:?}", names(&plan));
    }
}

#[test]
fn a_derivative_passes_quantised_weights() {
    let mut expr = Expr::default();
    let (w, [words, side]) = weights(&mut expr, 0, Form::Q4_0, &[6], 32);
    let x = expr.input(2, DType::F32, &shape(&[2, 32]));
    let right = expr.transpose(w);
    let product = expr.matmul(x, right, DType::F32);
    let square = expr.elementwise(E::Mul, &[product, product]);
    let sum = expr.reduce(crate::expr::Reduction::Sum, square, &[0, 1]);
    let gradient = expr.gradient(sum, x);
    let recipe = Recipe { expr, results: vec![gradient], ..Recipe::default() };
    let mut recipe = Recipe::decode(&crate::tape::write(&recipe)).expect("a tape that this crate wrote");
    crate::grad::differentiate(&mut recipe).expect("a recipe with rules");
    let x = numbers(64, 2);
    check(recipe.expr, &recipe.results, &[words, side, x], &[]);
}

#[test]
fn the_host_reads_words_and_halves_of_factors_and_views_of_them() {
    let host = Target { is_host: true, ..GPU };
    let kernels = |expr: Expr, root: TensorId| {
        let recipe = Recipe { expr, results: vec![root], ..Recipe::default() };
        let plan = Plan::new(&recipe, &host).expect("a recipe that plans");
        plan.kernels.len()
    };
    for form in Form::all() {
        let depth = depth_of(form);
        let long = i64::from(depth);
        for batch in [vec![2, 3], vec![1]] {
            let mut expr = Expr::default();
            let (w, [words, side]) = weights(&mut expr, 0, form, &[10], depth);
            let x = expr.input(2, DType::F32, &shape(&[&batch[..], &[long]].concat()));
            let x = if batch.len() == 1 { expr.reshape(x, &shape(&[1, 1, long])) } else { x };
            let right = expr.transpose(w);
            let product = expr.matmul(x, right, DType::F32);
            let count: i64 = batch.iter().product();
            check(expr.clone(), &[product], &[words, side, numbers(count as usize * depth as usize, 3)], &[]);
            assert_eq!(kernels(expr, product), 1);
        }
        // A quantised factor on the left, whose rows are the result's.
        let mut expr = Expr::default();
        let (w, [words, side]) = weights(&mut expr, 0, form, &[10], depth);
        let x = expr.input(2, DType::F32, &shape(&[long, 3]));
        let product = expr.matmul(w, x, DType::F32);
        check(expr.clone(), &[product], &[words, side, numbers(3 * depth as usize, 3)], &[]);
        assert_eq!(kernels(expr, product), 1);
        // One whose blocks are not along the depth becomes numbers first.
        let mut expr = Expr::default();
        let (w, [words, side]) = weights(&mut expr, 0, form, &[10], depth);
        let x = expr.input(2, DType::F32, &shape(&[2, 10]));
        let product = expr.matmul(x, w, DType::F32);
        check(expr.clone(), &[product], &[words, side, numbers(2 * 10, 3)], &[]);
        assert_eq!(kernels(expr, product), 2);
    }
    // Two heads of queries share the keys of one.
    let mut expr = Expr::default();
    let keys = expr.input(0, DType::F16, &shape(&[2, 7, 8]));
    let queries = expr.input(1, DType::F32, &shape(&[4, 3, 8]));
    let in_groups = expr.reshape(queries, &shape(&[2, 2, 3, 8]));
    let shared = expr.reshape(keys, &shape(&[2, 1, 7, 8]));
    let turned = expr.transpose(shared);
    let product = expr.matmul(in_groups, turned, DType::F32);
    // Multiples of 2⁻⁴ are halves.
    let halves = numbers(2 * 7 * 8, 5).into_iter().map(|number| (number * 16.0).round() / 16.0).collect();
    check(expr.clone(), &[product], &[halves, numbers(4 * 3 * 8, 6)], &[]);
    assert_eq!(kernels(expr, product), 1);
}
