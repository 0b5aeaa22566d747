//! Quantised numbers within kernels.

use super::super::Plan;
use super::{GPU, check, names, numbers, shape};
use crate::dtype::DType;
use crate::expr::{Elementwise as E, Expr, TensorId};
use crate::fuse::Target;
use crate::kernel::Body;
use crate::quantised::{BLOCK, QuantBits};
use crate::size::Size;
use crate::tape::Recipe;

/// Words and scales that repeat nothing: slots `first` and the one after it hold them.
fn weights(expr: &mut Expr, first: u32, bits: QuantBits, [rows, columns]: [i64; 2]) -> (TensorId, [Vec<f64>; 2]) {
    let of = |numbers: u32| [rows, columns / i64::from(numbers)];
    let [words, scales] = [of(bits.a_word()), of(BLOCK)];
    let ids = [expr.input(first, DType::U32, &shape(&words)), expr.input(first + 1, DType::F16, &shape(&scales))];
    let count = |[rows, columns]: [i64; 2]| (rows * columns) as u32;
    let word = |place: u32| f64::from((place + 1).wrapping_mul(0x9e37_79b9).rotate_left(place % 31));
    // Multiples of 2⁻¹⁰ that are halves.
    let scale = |place: u32| f64::from(place * 37 % 101 + 1) / 1024.0;
    let contents = [(0..count(words)).map(word).collect(), (0..count(scales)).map(scale).collect()];
    (expr.dequantize(bits, ids[0], ids[1]), contents)
}

const BITS: [QuantBits; 2] = [QuantBits::Four, QuantBits::Eight];

#[test]
fn quantised_numbers_are_a_map() {
    for bits in BITS {
        let mut expr = Expr::default();
        let (w, [words, scales]) = weights(&mut expr, 0, bits, [3, 96]);
        let plan = check(expr, &[w], &[words, scales], &[]);
        assert_eq!(plan.kernels.len(), 1, "{:?}", names(&plan));
    }
}

#[test]
fn a_product_reads_words_of_its_quantised_factor() {
    for bits in BITS {
        for rows in [1, 8, 9] {
            let mut expr = Expr::default();
            let (w, [words, scales]) = weights(&mut expr, 0, bits, [38, 64]);
            let (x, bias) = (expr.input(2, DType::F32, &shape(&[rows, 64])), expr.input(3, DType::F32, &shape(&[38])));
            let right = expr.transpose(w);
            let product = expr.matmul(x, right, DType::F32);
            let sum = expr.elementwise(E::Add, &[product, bias]);
            let y = expr.elementwise(E::Sigmoid, &[sum]);
            let inputs = [words, scales, numbers(rows as usize * 64, 3), numbers(38, 4)];
            let plan = check(expr, &[y], &inputs, &[]);
            assert_eq!(plan.kernels.len(), 1, "{:?}", names(&plan));
            let Body::Product(body) = &plan.kernels[0].body else { panic!("a product") };
            let factor = plan.kernels[0].graph.as_dequantized(body.right).expect("the product reads words");
            assert_eq!(factor.bits, bits);
        }
    }
}

#[test]
fn rows_of_a_quantised_table_are_gathered_before_they_are_numbers() {
    for bits in BITS {
        let mut expr = Expr::default();
        let of = |numbers: u32| [5, 64 / i64::from(numbers)];
        let (words, scales) =
            (expr.input(0, DType::U32, &shape(&of(bits.a_word()))), expr.input(1, DType::F16, &shape(&of(BLOCK))));
        let n = Size::dim(0);
        let ids = expr.input(2, DType::I32, &[n]);
        let (words, scales) = (expr.gather(words, ids, 0), expr.gather(scales, ids, 0));
        let rows = expr.dequantize(bits, words, scales);
        let count = 5 * 64 / bits.a_word();
        let words = (0..count).map(|place| f64::from(place.wrapping_mul(0x9e37_79b9))).collect();
        let scales = (1..=10).map(|place| f64::from(place) / 64.0).collect();
        let plan = check(expr, &[rows], &[words, scales, vec![4.0, 0.0, -2.0, 7.0]], &[4]);
        assert_eq!(plan.kernels.len(), 1, "{:?}", names(&plan));
    }
}

#[test]
fn a_derivative_passes_quantised_weights() {
    let mut expr = Expr::default();
    let (w, [words, scales]) = weights(&mut expr, 0, QuantBits::Four, [6, 32]);
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
    check(recipe.expr, &recipe.results, &[words, scales, x], &[]);
}

#[test]
fn the_host_reads_words_and_halves_of_factors_and_views_of_them() {
    let host = Target { is_host: true, ..GPU };
    let kernels = |expr: Expr, root: TensorId| {
        let recipe = Recipe { expr, results: vec![root], ..Recipe::default() };
        let plan = Plan::new(&recipe, &host).expect("a recipe that plans");
        plan.kernels.len()
    };
    for bits in BITS {
        for batch in [vec![2, 3], vec![1]] {
            let mut expr = Expr::default();
            let (w, [words, scales]) = weights(&mut expr, 0, bits, [38, 64]);
            let x = expr.input(2, DType::F32, &shape(&[&batch[..], &[64]].concat()));
            let x = if batch.len() == 1 { expr.reshape(x, &shape(&[1, 1, 64])) } else { x };
            let right = expr.transpose(w);
            let product = expr.matmul(x, right, DType::F32);
            let count: i64 = batch.iter().product();
            check(expr.clone(), &[product], &[words, scales, numbers(count as usize * 64, 3)], &[]);
            assert_eq!(kernels(expr, product), 1);
        }
        // A quantised factor on the left, whose rows are the result's.
        let mut expr = Expr::default();
        let (w, [words, scales]) = weights(&mut expr, 0, bits, [38, 64]);
        let x = expr.input(2, DType::F32, &shape(&[64, 3]));
        let product = expr.matmul(w, x, DType::F32);
        check(expr.clone(), &[product], &[words, scales, numbers(64 * 3, 3)], &[]);
        assert_eq!(kernels(expr, product), 1);
        // One whose blocks are not along the depth becomes numbers first.
        let mut expr = Expr::default();
        let (w, [words, scales]) = weights(&mut expr, 0, bits, [38, 64]);
        let x = expr.input(2, DType::F32, &shape(&[2, 38]));
        let product = expr.matmul(x, w, DType::F32);
        check(expr.clone(), &[product], &[words, scales, numbers(2 * 38, 3)], &[]);
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
