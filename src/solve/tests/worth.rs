//! Covariance and rank of models whose answers are known.

use crate::batch::tests::Recorder;
use crate::batch::{ArrayInfo, BlockInfo, Manifold, Model, Recipe};
use crate::error::ErrorCode;
use crate::functions::cpu::CpuEngine;
use crate::functions::tests::{block_on, functions};
use crate::functions::{Engine, Functions};
use crate::graph::Op;
use crate::linear::null_space::TOLERANCE;
use crate::losses::LossParameters;
use crate::solve::{covariance, rank};

fn close(got: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(got.len(), expected.len());
    for (k, (got, expected)) in got.iter().zip(expected).enumerate() {
        assert!((got - expected).abs() <= tolerance, "number {k}: {got}, not {expected}");
    }
}

/// a·x + b − y at x = 0, 1, 2.
fn line() -> Functions {
    let mut r = Recorder::default();
    let (a, b) = (r.parameter(0), r.parameter(1));
    let outputs = [0.0, 1.0, 2.0]
        .map(|x| {
            let x = r.constant(x);
            let product = r.apply(Op::Mul, &[a, x]);
            r.apply(Op::Add, &[product, b])
        })
        .to_vec();
    functions(r, outputs, &[1.0, 2.0])
}

#[test]
fn the_covariance_of_a_line_is_that_of_its_normal_equations() {
    let mut f = line();
    // JᵀJ = [5 3; 3 3], and its inverse by hand.
    let expected = [0.5, -0.5, -0.5, 5.0 / 6.0];
    // Rounding of numbers near 1 in a problem of condition 10.
    close(&block_on(covariance(&mut f, None)).unwrap(), &expected, 1e-14);
    close(&block_on(covariance(&mut f, Some(&[1]))).unwrap(), &expected[3..], 1e-14);
    let turned = [expected[3], expected[2], expected[1], expected[0]];
    close(&block_on(covariance(&mut f, Some(&[1, 0]))).unwrap(), &turned, 1e-14);
    f.set_weight(0, 4.0).unwrap();
    close(&block_on(covariance(&mut f, None)).unwrap(), &expected.map(|v| v / 4.0), 1e-14);
    f.set_constant(vec![true, false]).unwrap();
    close(&block_on(covariance(&mut f, None)).unwrap(), &[0.0, 0.0, 0.0, 1.0 / 12.0], 1e-14);
}

/// Differences of neighbours in a chain of `count` params; the last one touched by nothing.
fn chain(count: u32) -> Functions {
    let mut r = Recorder::default();
    let params: Vec<u32> = (0..count).map(|number| r.parameter(number)).collect();
    let outputs = params[..count as usize - 1].windows(2).map(|pair| r.apply(Op::Sub, pair)).collect();
    functions(r, outputs, &vec![1.0; count as usize])
}

#[test]
fn a_chain_may_be_moved_as_a_whole_and_what_is_touched_by_nothing_alone() {
    // 5 parameters are taken as dense, 500 as sparse.
    for count in [5u32, 500] {
        let mut f = chain(count);
        let found = block_on(rank(&mut f, TOLERANCE)).unwrap();
        assert_eq!((found.columns, found.rank), (count as usize, count as usize - 2));
        assert_eq!(found.free[0], [(count - 1, 1.0)]);
        assert_eq!(found.free[1].len(), count as usize - 1);
        for &(_, value) in &found.free[1] {
            assert!((value - 1.0).abs() < 1e-11, "count steps of rounding: {value}");
        }
        let error = block_on(covariance(&mut f, Some(&[0]))).unwrap_err();
        assert_eq!(error.code, ErrorCode::InvalidArgument);
        let says =
            format!("rank {} of {count}, and the residuals leave free ways to move parameter {}", count - 2, count - 1);
        assert!(error.message.contains(&says), "{}", error.message);

        let mut constant = vec![false; count as usize];
        constant[0] = true;
        constant[count as usize - 1] = true;
        f.set_constant(constant).unwrap();
        let found = block_on(rank(&mut f, TOLERANCE)).unwrap();
        assert_eq!((found.columns, found.rank, found.free.len()), (count as usize - 2, count as usize - 2, 0));
        // A walk: the variance of number k is k, the covariance of two numbers that of the earlier.
        let middle = count / 2;
        let expected = [1.0, 1.0, 0.0, 1.0, f64::from(middle), 0.0, 0.0, 0.0, 0.0];
        let got = block_on(covariance(&mut f, Some(&[1, middle, count - 1]))).unwrap();
        // The condition of the walk's JᵀJ is about count²/2, times 2⁻⁵², times the variance.
        close(&got, &expected, 1e-15 * f64::from(count).powi(3).max(10.0));
    }
}

#[test]
fn what_has_no_covariance_is_said() {
    let mut f = line();
    let error = block_on(covariance(&mut f, Some(&[7]))).unwrap_err();
    assert_eq!(
        (error.code, error.message.as_str()),
        (ErrorCode::InvalidArgument, "blocks: parameter 7 is not the first of a block")
    );
    f.set_values(vec![f64::MAX, f64::MAX]).unwrap();
    assert_eq!(block_on(covariance(&mut f, None)).unwrap_err().code, ErrorCode::NonFinite);
    let mut f = chain(4_002);
    let error = block_on(covariance(&mut f, None)).unwrap_err();
    assert_eq!(error.code, ErrorCode::LimitExceeded);
    assert!(error.message.contains("4002 rows"), "{}", error.message);
}

/// Residuals q − target of a quaternion q, its numbers with the given weights.
fn quaternion(q: [f64; 4], factors: [f64; 4]) -> Functions {
    let mut r = Recorder::default();
    let outputs: Vec<u32> = (0..4)
        .map(|number| {
            let (parameter, factor) = (r.parameter(number), r.constant(factors[number as usize]));
            r.apply(Op::Mul, &[parameter, factor])
        })
        .collect();
    let arrays =
        vec![ArrayInfo { name: "turns".to_owned(), dim: 4, count: 1, offset: 0, manifold: Manifold::UnitQuaternion }];
    let recipe = Recipe {
        block: 0,
        instances: vec![0],
        rows: vec![0],
        slots: vec![0],
        indices: vec![0],
        data_columns: 0,
        data: vec![],
        tape: r.tape(outputs, 4),
    };
    let batches = vec![recipe.into_batch(&arrays).unwrap()];
    let block = BlockInfo {
        name: "prior".to_owned(),
        instances: 1,
        first_row: 0,
        rows: 4,
        weight: 1.0,
        loss: LossParameters::squared(),
        enabled: true,
    };
    let model = Model { arrays, blocks: vec![block], batches, num_params: 4, num_residuals: 4 };
    Functions::new(model, Engine::Cpu(CpuEngine::new()), q.to_vec()).unwrap()
}

#[test]
fn a_quaternion_s_covariance_is_lifted_from_its_tangent_space() {
    // B has orthonormal columns, so that J̃ = B gives the projection onto the tangent space, I − q qᵀ.
    let q = [0.5, -0.5, 0.5, 0.5];
    let expected: Vec<f64> = (0..16).map(|k| f64::from(u8::from(k / 4 == k % 4)) - q[k / 4] * q[k % 4]).collect();
    let mut f = quaternion(q, [1.0; 4]);
    close(&block_on(covariance(&mut f, None)).unwrap(), &expected, 1e-15);
    let found = block_on(rank(&mut f, TOLERANCE)).unwrap();
    assert_eq!((found.columns, found.rank), (3, 3));
}

#[test]
fn a_free_direction_of_a_quaternion_is_told_in_its_own_numbers() {
    // Only w and x are looked at, at w = 1: turning about y and z is free, which moves y and z.
    let found = block_on(rank(&mut quaternion([1.0, 0.0, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0]), TOLERANCE)).unwrap();
    assert_eq!((found.columns, found.rank), (3, 1));
    assert_eq!(found.free, [[(2, 1.0)], [(3, 1.0)]]);
}
