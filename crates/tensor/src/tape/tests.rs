//! Round trips, and tapes that are wrong.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use residua_base::error::ErrorCode;

use super::*;
use crate::expr::{Border, Combine, Reduction};

fn size(extent: i64) -> Size {
    Size::constant(extent)
}

/// The sum rule on states of one number.
fn addition() -> Rc<Rule> {
    let mut graph = Graph::new();
    let (a, b) = (graph.input(InputId(0)), graph.input(InputId(1)));
    let sum = graph.add(a, b);
    Rc::new(Rule { identity: vec![0.0], merge: graph.check(2).unwrap(), results: vec![sum] })
}

/// A recipe with every operation of the tape.
fn everything() -> Recipe {
    let mut expr = Expr::default();
    let rows = Size::dim(0);
    let x = expr.input(0, DType::F32, &[rows.clone(), size(4)]);
    let seed = expr.input(1, DType::U32, &[size(3)]);
    let half = expr.input(2, DType::F16, &[size(4), size(2)]);
    let bits =
        Tensor { op: TensorOp::RandomBits(7), operands: vec![seed], dtype: DType::U32, shape: vec![rows.clone()] };
    let bits = expr.push(bits);
    let indices = expr.cast(bits, DType::I32);
    let constant = expr.constant(0.5, DType::F32);
    let product = expr.elementwise(Elementwise::Mul, &[x, constant]);
    let extent = expr.extent(&rows, DType::F32);
    let expanded = expr.expand(extent, &[rows.clone(), size(4)]);
    let iota = expr.iota(1, DType::F32, &[rows.clone(), size(4)]);
    let sum = expr.elementwise(Elementwise::Add, &[expanded, iota]);
    let flat = expr.reshape(sum, &[&rows * &size(4)]);
    let transposed = expr.transpose(product);
    let starts = vec![size(3), size(0)];
    let sliced = expr.slice(transposed, starts, vec![-1, 1], vec![size(4), rows.clone()]);
    let padded = expr.pad_with_zeros(sliced, vec![size(1), size(-1)], &[size(6), rows.clone()]);
    let border = TensorOp::Pad { before: vec![size(0), size(2)], border: Border::Mirror };
    let shape = expr.shape(padded).to_vec();
    let padded = expr.push(Tensor { op: border, operands: vec![padded], dtype: DType::F32, shape });
    let both = expr.concat(&[padded, padded], 0);
    let windows = TensorOp::Windows { axis: 0, step: 2, dilation: 3 };
    let shape = vec![size(4), rows.clone(), size(2)];
    let windows = expr.push(Tensor { op: windows, operands: vec![both], dtype: DType::F32, shape });
    let gathered = expr.gather(x, indices, 0);
    let place = expr.reduce(Reduction::ArgMax, x, &[0]);
    let places = expr.reshape(place, &[size(1), size(4)]);
    let row = expr.gather_elements(x, places, 0);
    let scattered = expr.scatter(gathered, places, row, 0, Combine::Max);
    let put = expr.index_put(scattered, indices, x, 0, Combine::Add);
    let scanned = expr.scan(put, Reduction::Sum, 1, true, true);
    let rule = addition();
    let fold = TensorOp::Fold { rule: rule.clone(), axes: vec![0, 1], result: 0 };
    let total = expr.push(Tensor { op: fold, operands: vec![scanned], dtype: DType::F32, shape: Vec::new() });
    let by_rule = TensorOp::ScanBy { rule, axis: 0, exclusive: false, reverse: true, result: 0 };
    let shape = vec![&rows * &size(4)];
    let by_rule = expr.push(Tensor { op: by_rule, operands: vec![flat], dtype: DType::F32, shape });
    let matrix = expr.matmul(x, half, DType::F32);
    let heads = [&rows * &size(2), size(2)];
    let batch = expr.reshape(half, &[size(1), size(4), size(2)]);
    let queries = expr.reshape(x, &[vec![size(1)], heads.to_vec()].concat());
    let of = Attention { causal: true, position: rows, scale: 0.5, window: Some(0), softcap: Some(2.0) };
    let seen = expr.attention(of, &[queries, batch, batch]);
    let gradient = expr.gradient(total, x);
    let results = vec![windows, by_rule, matrix, seen, gradient];
    Recipe { expr, dims: vec![9], results, assignments: vec![(0, gathered), (9, gradient)] }
}

#[test]
fn a_tape_of_every_operation_is_read_as_it_was_written() {
    let tape = write(&everything());
    let recipe = Recipe::decode(&tape).unwrap();
    // Rules are equal where they are one object, so that recipes are compared by their tapes.
    assert_eq!(write(&recipe), tape);
    assert_eq!(recipe.expr.nodes.len(), everything().expr.nodes.len());
    assert_eq!(recipe.assignments, everything().assignments);
}

/// What decoding refuses, and nothing else happens.
fn assert_refused(tape: &[f64], why: &str) {
    match Recipe::decode(tape) {
        Ok(_) => panic!("decoded a tape with {why}"),
        Err(error) => assert_eq!(error.code, ErrorCode::InvalidGraph, "{why}: {error}"),
    }
}

#[test]
fn every_shorter_and_longer_tape_is_refused() {
    let tape = write(&everything());
    for end in 0..tape.len() {
        assert_refused(&tape[..end], "numbers missing at the end");
    }
    assert_refused(&[tape.as_slice(), &[0.0]].concat(), "a number too many");
}

#[test]
fn counts_larger_than_the_tape_take_no_memory() {
    let huge = f64::from(u32::MAX - 1);
    for tape in [&[1.0, 0.0, huge][..], &[1.0, 0.0, 0.0, huge], &[1.0, 0.0, 0.0, 0.0, huge], &[1.0, huge, 1.0, huge]] {
        assert_refused(tape, "a count beyond its end");
    }
}

#[test]
fn shapes_whose_products_have_too_many_terms_are_refused() {
    let sum = |k: u32| (0..16).fold(Size::constant(1), |sum, dim| &sum + &Size::dim(16 * k + dim));
    let mut expr = Expr::default();
    let shape: Vec<Size> = (0..30).map(sum).collect();
    expr.input(0, DType::F32, &shape);
    assert_eq!(expr.check().unwrap_err().code, ErrorCode::InvalidGraph);
}

/// Numbers that a tape may have at any place, most of them small.
fn numbers() -> impl Strategy<Value = f64> {
    prop_oneof![
        8 => (0u32..32).prop_map(f64::from),
        1 => any::<f64>(),
        1 => proptest::sample::select(vec![-1.0, 0.5, f64::NAN, f64::INFINITY, 4294967295.0, 9007199254740992.0, 1e300]),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn random_tapes_are_read_or_refused(mut tape in vec(numbers(), 0..80)) {
        if let Some(version) = tape.first_mut() {
            *version = 1.0;
        }
        if let Err(error) = Recipe::decode(&tape) {
            prop_assert_eq!(error.code, ErrorCode::InvalidGraph);
        }
    }

    #[test]
    fn changed_tapes_are_read_or_refused(changes in vec((any::<Index>(), numbers()), 1..6)) {
        let mut tape = write(&everything());
        for (place, number) in changes {
            let place = place.index(tape.len());
            tape[place] = number;
        }
        match Recipe::decode(&tape) {
            Ok(recipe) => prop_assert!(recipe.expr.check().is_ok()),
            Err(error) => prop_assert_eq!(error.code, ErrorCode::InvalidGraph),
        }
    }
}
