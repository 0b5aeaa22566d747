//! Hessians against differences of gradients, over the op table, in the forms of problems, and what they refuse.

use super::*;
use crate::eval::tests::{block_on, functions, functions_with_losses, on_cpu};
use crate::model::CompileInput;
use crate::model::losses::LossParameters;
use crate::model::tests::{Recorder, compiled};
use residua_base::error::ErrorCode;
use residua_ir::graph::Op;

/// The central difference of tenth order: f(h) − f(−h), f(2h) − f(−2h), … times these, over h.
const TENTH_ORDER: [f64; 5] = [5.0 / 6.0, -5.0 / 21.0, 5.0 / 84.0, -5.0 / 504.0, 1.0 / 1260.0];

/// Differences of gradients by each parameter, where `scale` is the distance in which the function changes by itself. The formula is wrong by
/// (h/scale)¹⁰ 11!/2772, 1e-17 of the result, where a simple pole is so far away, and some hundred times as much of a pole of the fourth order; rounding is two
/// roundings of the gradient by h/scale, 6e-14. Points and scales are to have few digits, so that the points of a difference have no rounding of their own.
fn differences(f: &mut Functions, objective: Objective, x: &[f64], scale: &[f64]) -> Vec<f64> {
    let n = x.len();
    let mut hessian = vec![0.0; n * n];
    for column in 0..n {
        let h = scale[column] / 128.0;
        for (k, factor) in TENTH_ORDER.iter().enumerate() {
            for sign in [1.0, -1.0] {
                let mut at = x.to_vec();
                at[column] += sign * (k + 1) as f64 * h;
                let gradient = block_on(f.evaluate_at(objective, &at)).unwrap().gradient;
                (0..n).for_each(|row| hessian[row * n + column] += sign * factor * gradient[row] / h);
            }
        }
    }
    hessian
}

fn dense(f: &mut Functions, objective: Objective, x: &[f64]) -> Vec<f64> {
    let entries = block_on(f.evaluate_hessian(objective, Some(x))).unwrap();
    let pattern = f.hessian_pattern(objective).unwrap();
    let mut dense = vec![0.0; x.len() * x.len()];
    for (row, ends) in pattern.row_offsets.windows(2).enumerate() {
        let columns = &pattern.col_indices[ends[0] as usize..ends[1] as usize];
        assert!(columns.windows(2).all(|pair| pair[0] < pair[1]), "{columns:?} ascend");
        for (column, entry) in columns.iter().zip(&entries[ends[0] as usize..]) {
            dense[row * x.len() + *column as usize] = *entry;
        }
    }
    dense
}

/// Compares the Hessian with differences, relative to its largest entry and what the gradient's rounding is of it, and products with its own.
fn assert_hessian(f: &mut Functions, objective: Objective, x: &[f64], scale: &[f64], tolerance: f64, name: &str) {
    let n = x.len();
    let expected = differences(f, objective, x, scale);
    let found = dense(f, objective, x);
    let gradient = block_on(f.evaluate_at(objective, x)).unwrap().gradient;
    let of_gradient = gradient.iter().zip(scale).fold(0.0_f64, |most, (entry, scale)| most.max((entry / scale).abs()));
    let size = expected.iter().fold(of_gradient, |most, entry| most.max(entry.abs()));
    for (k, (found, expected)) in found.iter().zip(&expected).enumerate() {
        let (row, column) = (k / n, k % n);
        assert!(
            (found - expected).abs() <= tolerance * size,
            "{name} [{row}, {column}]: {found}, not {expected} of {size}"
        );
    }
    let vector: Vec<f64> = (0..n).map(|k| (1.3 * k as f64 + 0.4).sin()).collect();
    let product = block_on(f.evaluate_hessian_product(objective, Some(x), &vector)).unwrap();
    for (row, product) in product.iter().enumerate() {
        let expected: f64 = found[row * n..][..n].iter().zip(&vector).map(|(entry, v)| entry * v).sum();
        assert!((product - expected).abs() <= 1e-13 * n as f64 * size, "{name} [{row}]: {product}, not {expected}");
    }
}

/// How far an op stays itself from an operand: to where it is not smooth, or for entire functions as far as they change.
fn reach(op: Op, operands: &[f64], place: usize) -> f64 {
    let a = operands[0];
    let to_whole = |value: f64| (value - value.floor()).min(value.ceil() - value);
    match op {
        Op::Lookup => unreachable!("it is no function of its operands"),
        Op::Abs | Op::Sign | Op::GuardedMul | Op::Select | Op::Sqrt | Op::Norm | Op::InverseNorm | Op::Log => {
            if place == 0 { a.abs().min(1.0) } else { 1.0 }
        }
        Op::Asin | Op::Acos => 1.0 - a.abs(),
        Op::Tan => std::f64::consts::FRAC_PI_2 - a.abs(),
        Op::Floor | Op::Ceil => to_whole(a),
        Op::Round => to_whole(a - 0.5),
        Op::Mod => 0.1,
        Op::Min | Op::Max | Op::Eq | Op::Ne | Op::Lt | Op::Le | Op::Gt | Op::Ge => (a - operands[1]).abs().min(1.0),
        Op::Div | Op::Pow => {
            [1.0_f64, a.abs(), operands[1].abs()][[0, 2][place]].min(if op == Op::Pow { a } else { 1.0 })
        }
        Op::Atan2 => a.hypot(operands[1]) / 2.0,
        Op::Neg | Op::Exp | Op::Sin | Op::Cos | Op::Atan | Op::Sinh | Op::Cosh | Op::Tanh | Op::Sigmoid => 1.0,
        Op::Softplus | Op::Erf | Op::StopGradient | Op::Add | Op::Sub | Op::Mul => 1.0,
    }
}

#[test]
fn every_op_has_the_second_derivatives_of_differences() {
    // Shares of an op's domain, for each operand.
    for shares in [[0.3013, 0.6217, 0.4071], [0.5519, 0.2431, 0.9043], [0.8317, 0.7129, 0.2057]] {
        for &op in Op::ALL {
            let domain = op.domain().iter().zip(shares);
            let within: Vec<f64> = domain.map(|(&(low, high), share)| low + share * (high - low)).collect();
            // Powers of two, and multiples of small ones.
            let scale: Vec<f64> =
                (0..op.arity()).map(|place| reach(op, &within, place).log2().floor().exp2()).collect();
            let point: Vec<f64> =
                within.iter().zip(&scale).map(|(x, unit)| (x / unit * 64.0).round() / 64.0 * unit).collect();
            // Each operand in units of its scale, so that all second derivatives count alike; the last parameter multiplies, so that first ones enter.
            let mut r = Recorder::default();
            let operands: Vec<u32> = (0..op.arity())
                .map(|place| {
                    let (number, unit, origin) =
                        (r.parameter(place as u32), r.constant(scale[place]), r.constant(point[place]));
                    let moved = r.apply(Op::Mul, &[number, unit]);
                    r.apply(Op::Add, &[moved, origin])
                })
                .collect();
            let result = r.apply(op, &operands);
            let factor = r.parameter(op.arity() as u32);
            let output = r.apply(Op::Mul, &[result, factor]);
            let mut x = vec![0.0; op.arity()];
            x.push(0.7);
            let ones = vec![1.0; x.len()];
            let mut f = functions(r, vec![output], &x);
            if op == Op::StopGradient {
                assert_eq!(
                    dense(&mut f, Objective::Sum, &x),
                    [0.0; 4].map(|zero: f64| zero),
                    "a constant times a number"
                );
                continue;
            }
            for objective in [Objective::Sum, Objective::LeastSquares] {
                assert_hessian(
                    &mut f,
                    objective,
                    &x,
                    &ones,
                    1e-12,
                    &format!("{} {objective:?} at {point:?}", op.name()),
                );
            }
        }
    }
}

/// Two blocks of two numbers, in both orders, and one of them in both slots; two residuals an instance.
fn pairs() -> (Functions, Vec<f64>) {
    let mut input = CompileInput::problem();
    input.add_array("pair", 2, 3, "euclidean").unwrap();
    let mut r = Recorder::default();
    let p: Vec<u32> = (0..4).map(|number| r.parameter(number)).collect();
    let t = r.data(0);
    let product = r.apply(Op::Mul, &[p[0], p[3]]);
    let shifted = r.apply(Op::Add, &[product, t]);
    let wave = r.apply(Op::Sin, &[shifted]);
    let square = r.square(p[1]);
    let second = r.apply(Op::Mul, &[square, p[2]]);
    let parameters = input.parameter_count(&[0, 0]).unwrap();
    let tape = r.tape_with_data(vec![wave, second], parameters, 2);
    let block = input
        .add_residuals(
            "pairs",
            vec![0, 0],
            vec![0, 1, 1, 2, 1, 0, 1, 2],
            vec![0.1, 0.2, 0.3, 0.4, 1.0, 2.0, 0.5, 0.0],
            tape,
        )
        .unwrap();
    input.set_instance_weights(block, 1).unwrap();
    let x = vec![0.4, -0.9, 1.2, 0.8, -0.3, 0.6];
    (on_cpu(compiled(input), &x), x)
}

#[test]
fn blocks_that_instances_share_or_have_twice_add_up() {
    let (mut f, x) = pairs();
    f.set_weight(0, 1.7).unwrap();
    for objective in [Objective::Sum, Objective::LeastSquares] {
        assert_hessian(&mut f, objective, &x, &[1.0; 6], 1e-12, &format!("{objective:?}"));
    }
    let pattern = f.hessian_pattern(Objective::LeastSquares).unwrap();
    let row_of =
        |row: usize| &pattern.col_indices[pattern.row_offsets[row] as usize..pattern.row_offsets[row + 1] as usize];
    assert_eq!(row_of(0), [0, 1, 2, 3]);
    assert_eq!(row_of(4), [4, 5], "no instance has block 2 and another");
}

#[test]
fn losses_bend_the_cost() {
    let kinds = [
        ("huber", 0.4, 1.0),
        ("softL1", 0.5, 1.0),
        ("cauchy", 0.7, 1.0),
        ("arctan", 1.5, 1.0),
        ("tukey", 2.5, 1.0),
        ("tolerant", 0.5, 0.3),
    ];
    for (kind, a, b) in kinds {
        let mut r = Recorder::default();
        let p: Vec<u32> = (0..3).map(|number| r.parameter(number)).collect();
        let product = r.apply(Op::Mul, &[p[0], p[1]]);
        let wave = r.apply(Op::Sin, &[p[2]]);
        let first = r.apply(Op::Add, &[product, wave]);
        let second = r.square(p[1]);
        let x = [0.9, 0.7, 0.4];
        let mut f = functions_with_losses(r, vec![first, second], &x);
        f.set_loss(0, LossParameters::new(kind, a, b, 1.3).unwrap()).unwrap();
        // Roots and quotients of losses are singular within half a unit of these points.
        assert_hessian(&mut f, Objective::LeastSquares, &x, &[0.3; 3], 1e-12, kind);
    }
}

#[test]
fn a_long_sum_has_the_product_of_its_slopes() {
    let mut r = Recorder::default();
    let p: Vec<u32> = (0..70).map(|number| r.parameter(number)).collect();
    let mut sum = r.constant(0.25);
    for pair in p.windows(2) {
        let product = r.apply(Op::Mul, &[pair[0], pair[1]]);
        let wave = r.apply(Op::Sin, &[product]);
        sum = r.apply(Op::Add, &[sum, wave]);
    }
    let square = r.square(p[3]);
    let x: Vec<f64> = (0..70).map(|k| 0.5 + 0.3 * f64::from(k).sin()).collect();
    let mut f = functions(r, vec![sum, square], &x);
    assert!(f.model().batches.iter().any(Batch::has_addends), "the sum is long");
    for objective in [Objective::Sum, Objective::LeastSquares] {
        assert_hessian(&mut f, objective, &x, &[1.0; 70], 1e-12, &format!("{objective:?}"));
    }
    let entries = |f: &Functions, objective| f.hessian_pattern(objective).unwrap().col_indices.len();
    assert_eq!(entries(&f, Objective::Sum), 3 * 70 - 2, "a band");
    assert_eq!(entries(&f, Objective::LeastSquares), 70 * 70, "all with all");
}

#[test]
fn constants_have_zeros_and_disabled_blocks_none() {
    let (mut f, x) = pairs();
    let all = dense(&mut f, Objective::Sum, &x);
    f.set_constant(vec![false, false, true, false, false, false]).unwrap();
    let masked = dense(&mut f, Objective::Sum, &x);
    for (k, (masked, all)) in masked.iter().zip(&all).enumerate() {
        let expected = if k / 6 == 2 || k % 6 == 2 { 0.0 } else { *all };
        assert_eq!(*masked, expected, "[{}, {}]", k / 6, k % 6);
    }
    let product =
        block_on(f.evaluate_hessian_product(Objective::Sum, Some(&x), &[0.0, 0.0, 1.0, 0.0, 0.0, 0.0])).unwrap();
    assert_eq!(product, [0.0; 6]);
    f.set_enabled(0, false).unwrap();
    assert_eq!(dense(&mut f, Objective::Sum, &x), [0.0; 36]);
}

#[test]
fn derivatives_by_constants_may_be_infinite() {
    // x²·y + x·√c at c = 0, where the derivatives by c are infinite.
    let mut r = Recorder::default();
    let (x, y, c) = (r.parameter(0), r.parameter(1), r.parameter(2));
    let square = r.square(x);
    let (bent, root) = (r.apply(Op::Mul, &[square, y]), r.apply(Op::Sqrt, &[c]));
    let root = r.apply(Op::Mul, &[x, root]);
    let sum = r.apply(Op::Add, &[bent, root]);
    let mut f = functions(r, vec![sum], &[3.0, 5.0, 0.0]);
    f.set_constant(vec![false, false, true]).unwrap();
    let at = [3.0, 5.0, 0.0];
    // ∂² of s = x²y: [2y, 2x; 2x, 0]; of ½s²: ∇s ∇sᵀ + s ∂²s with ∇s = (30, 9) and s = 45.
    for (objective, expected) in
        [(Objective::Sum, [10.0 * 2.0 + 6.0 * 4.0, 6.0 * 2.0]), (Objective::LeastSquares, [4860.0, 1404.0])]
    {
        let product = block_on(f.evaluate_hessian_product(objective, Some(&at), &[2.0, 4.0, 7.0])).unwrap();
        assert_eq!(product, [expected[0], expected[1], 0.0], "{objective:?}");
    }
    // Without constants the product is that of an infinite number, unless what multiplies it is 0.
    f.set_constant(vec![false; 3]).unwrap();
    let along = |f: &mut Functions, c: f64| {
        block_on(f.evaluate_hessian_product(Objective::Sum, Some(&at), &[2.0, 4.0, c])).unwrap()
    };
    assert_eq!(along(&mut f, 0.0)[..2], [44.0, 12.0]);
    assert!(!along(&mut f, 1.0)[0].is_finite());
}

#[test]
fn an_instance_with_too_many_numbers_is_refused_with_its_block() {
    let mut input = CompileInput::problem();
    input.add_array("many", 65, 1, "euclidean").unwrap();
    let mut r = Recorder::default();
    let p: Vec<u32> = (0..65).map(|number| r.parameter(number)).collect();
    let mut product = p[0];
    for &factor in &p[1..] {
        product = r.apply(Op::Mul, &[product, factor]);
    }
    let parameters = input.parameter_count(&[0]).unwrap();
    let tape = r.tape_with_data(vec![product], parameters, 0);
    input.add_residuals("whole", vec![0], vec![0], Vec::new(), tape).unwrap();
    let x = vec![1.0; 65];
    let mut f = on_cpu(compiled(input), &x);
    let error = block_on(f.evaluate_hessian(Objective::Sum, None)).unwrap_err();
    assert_eq!(error.code, ErrorCode::LimitExceeded);
    assert!(error.message.contains("block 'whole' depends on 65 numbers"), "{}", error.message);
    let product = block_on(f.evaluate_hessian_product(Objective::Sum, None, &x)).unwrap();
    assert_eq!(product, [64.0; 65], "each of 64 others, of a product of ones");
    // A block that is out has no entries, as that of constraints in a problem of least squares.
    f.set_enabled(0, false).unwrap();
    assert_eq!(dense(&mut f, Objective::Sum, &x), vec![0.0; 65 * 65]);
    assert_eq!(block_on(f.evaluate_hessian_product(Objective::Sum, None, &x)).unwrap(), [0.0; 65]);
    f.set_enabled(0, true).unwrap();
    assert_eq!(block_on(f.evaluate_hessian(Objective::Sum, None)).unwrap_err().code, ErrorCode::LimitExceeded);
    let error = block_on(f.evaluate_hessian_product(Objective::Sum, None, &x[1..])).unwrap_err();
    assert_eq!(error.code, ErrorCode::InvalidArgument);
}
