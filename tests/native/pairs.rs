//! Operations on pairs, interpreted in f32 and compared with the reference evaluation in f64.

use crate::interpreter::run;
use crate::pair_operations::{agrees, bound, joined, kernel, operands, rounded, singular, words, worst};
use residua_codegen::wgsl::{Dispatch, PairForm};
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
