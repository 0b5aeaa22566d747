//! Operations on pairs, interpreted in f32 and compared with the reference evaluation in f64.

use crate::interpreter::run;
use crate::pair_operations::{agrees, bound, joined, kernel, operands, rounded, singular, words, worst};
use residua::eval::pair_arithmetic::{self, TestUniforms};
use residua_base::error::ErrorCode;
use residua_codegen::wgsl::{Dispatch, PairForm};
use residua_gpu::Rounding;
use residua_ir::graph::{Op, evaluate};

/// The words of an op's results.
fn results_of(op: Op, form: PairForm, operands: &[[f64; 3]]) -> Vec<u32> {
    let count = operands.len();
    let uniform = Dispatch::new(count as u32, 0, 0).words().to_vec();
    let mut buffers = [words(operands), vec![0; 2 * count], vec![0], uniform];
    run(&kernel(op, form, "zero[0]"), [count.div_ceil(64) as u32, 1], &mut buffers);
    buffers[1].clone()
}

#[test]
fn every_op_on_pairs_is_within_its_bound_over_its_domain() {
    for form in [PairForm::Split, PairForm::Fused] {
        for op in Op::ALL {
            let operands = operands(*op, 1024);
            let (error, at) = worst(*op, &operands, &results_of(*op, form, &operands));
            println!("{form:?} {:13} {error:.1e} at {at:?}", op.name());
            assert!(error <= bound(*op).1, "{}: {error:e} at {at:?}", op.name());
        }
    }
}

/// What of an op's results at singular operands is not what the reference gives. `given` are the operands that the kernel takes.
fn disagreements(op: Op, operands: &[[f64; 3]], given: &[[f64; 3]]) -> Vec<String> {
    let results = results_of(op, PairForm::Split, given);
    let mut wrong = Vec::new();
    for (operands, result) in operands.iter().zip(results.chunks_exact(2)) {
        let result = [f32::from_bits(result[0]), f32::from_bits(result[1])];
        if !agrees(op, operands, result) {
            let operands = &operands[..op.arity()];
            wrong.push(format!("{}({operands:?}) is {}, got {}", op.name(), evaluate(op, operands), joined(result)));
        }
    }
    wrong
}

#[test]
fn singular_operands_give_what_the_reference_gives() {
    let wrong: Vec<String> = Op::ALL.iter().flat_map(|op| disagreements(*op, &singular(*op), &singular(*op))).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn errors_of_operands_decide_where_functions_jump() {
    for op in [Op::Floor, Op::Ceil, Op::Round, Op::Asin, Op::Acos, Op::Eq, Op::Ne, Op::Lt, Op::Le, Op::Gt, Op::Ge] {
        let operands = singular(op);
        assert!(!disagreements(op, &operands, &rounded(&operands)).is_empty(), "{} of f32", op.name());
    }
}

/// The results of the test of a device's arithmetic in f32 as IEEE 754 rounds it.
fn test_results(form: PairForm) -> Vec<f32> {
    let operands = pair_arithmetic::operands().concat().into_iter().map(f32::to_bits).collect();
    let results = vec![0; 10 * pair_arithmetic::THREADS as usize];
    let mut buffers = [operands, results, vec![0], TestUniforms::new().words().to_vec()];
    run(&pair_arithmetic::wgsl(form), [1, 1], &mut buffers);
    buffers[1].iter().map(|word| f32::from_bits(*word)).collect()
}

#[test]
fn the_test_of_a_device_takes_the_first_form_that_holds_and_names_what_does_not() {
    let [fused, split] = [PairForm::Fused, PairForm::Split].map(|form| (form, test_results(form)));
    assert_eq!(pair_arithmetic::rounding(&[fused.clone(), split.clone()]), Rounding::Fused);
    // One thread's word in error by the last bit, of each kind: a sum, its error, a product, its error; and digits of pairs.
    let with = |place: usize, change: fn(f32) -> f32| {
        let mut results = fused.1.clone();
        results[10 * 77 + place] = change(results[10 * 77 + place]);
        (PairForm::Fused, results)
    };
    let last_bit = |x: f32| f32::from_bits(x.to_bits() ^ 1);
    for place in 0..4 {
        let broken = with(place, last_bit);
        assert_eq!(pair_arithmetic::rounding(&[broken.clone(), split.clone()]), Rounding::Separate, "{place}");
        let words = if place < 2 { "additions" } else { "products" };
        let Rounding::Unfit(reason) = pair_arithmetic::rounding(&[broken]) else { panic!("{place}") };
        assert!(reason.starts_with(words), "{reason}");
    }
    for place in [4, 6, 8] {
        let Rounding::Unfit(reason) = pair_arithmetic::rounding(&[with(place, last_bit)]) else { panic!("{place}") };
        assert!(reason.contains("pairs"), "{reason}");
    }
    let Rounding::Unfit(_) = pair_arithmetic::rounding(&[with(5, |_| f32::NAN)]) else { panic!("a NaN passes") };
    let error = pair_arithmetic::form_of(Rounding::Unfit("products are wrong")).unwrap_err();
    assert_eq!(error.code, ErrorCode::GpuUnavailable);
    assert!(error.message.ends_with("on this device: products are wrong"));
}
