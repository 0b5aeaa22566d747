//! Covariance and rank of models whose answers are known.

use crate::eval::Functions;
use crate::eval::tests::{block_on, functions, on_cpu};
use crate::gauss_newton::host::HostModel;
use crate::model::CompileInput;
use crate::model::tests::{Recorder, compiled};
use crate::solve::{CovarianceOptions, covariance, rank};
use residua_base::error::{ErrorCode, Result};
use residua_ir::graph::Op;
use residua_linalg::null_space::TOLERANCE;

fn close(got: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(got.len(), expected.len());
    for (k, (got, expected)) in got.iter().zip(expected).enumerate() {
        assert!((got - expected).abs() <= tolerance, "number {k}: {got}, not {expected}");
    }
}

/// The covariance for residuals of variance 1.
async fn absolute(f: &mut Functions, blocks: Option<&[u32]>) -> Result<Vec<f64>> {
    let options = CovarianceOptions { absolute_sigma: true, robust: None };
    covariance(f, &mut HostModel::default(), blocks, options).await
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
fn the_covariance_of_a_line_is_the_inverse_of_its_normal_matrix() {
    let mut f = line();
    // JᵀJ = [5 3; 3 3], and its inverse by hand.
    let expected = [0.5, -0.5, -0.5, 5.0 / 6.0];
    // Rounding of numbers near 1 in a problem of condition 10.
    close(&block_on(absolute(&mut f, None)).unwrap(), &expected, 1e-14);
    close(&block_on(absolute(&mut f, Some(&[1]))).unwrap(), &expected[3..], 1e-14);
    let turned = [expected[3], expected[2], expected[1], expected[0]];
    close(&block_on(absolute(&mut f, Some(&[1, 0]))).unwrap(), &turned, 1e-14);
    f.set_weight(0, 4.0).unwrap();
    close(&block_on(absolute(&mut f, None)).unwrap(), &expected.map(|v| v / 4.0), 1e-14);
    f.set_constant(vec![true, false]).unwrap();
    close(&block_on(absolute(&mut f, None)).unwrap(), &[0.0, 0.0, 0.0, 1.0 / 12.0], 1e-14);
}

#[test]
fn the_covariance_is_scaled_by_the_reduced_chi_squared_unless_sigma_is_absolute() {
    let mut f = line();
    // Residuals 2, 3, 4 at a = 1, b = 2: 29 for one degree of freedom.
    let scaled = CovarianceOptions::default();
    let got = block_on(covariance(&mut f, &mut HostModel::default(), None, scaled)).unwrap();
    close(&got, &[29.0 * 0.5, 29.0 * -0.5, 29.0 * -0.5, 29.0 * 5.0 / 6.0], 1e-12);
    f.set_weight(0, 4.0).unwrap();
    let weighted = block_on(covariance(&mut f, &mut HostModel::default(), None, scaled)).unwrap();
    close(&weighted, &got, 1e-12);
    f.set_constant(vec![true, false]).unwrap();
    let got = block_on(covariance(&mut f, &mut HostModel::default(), None, scaled)).unwrap();
    close(&got, &[0.0, 0.0, 0.0, 29.0 / 2.0 / 3.0], 1e-12);
}

#[test]
fn a_variance_is_not_estimated_from_as_many_residuals_as_parameters() {
    for robust in [None, Some(true)] {
        let mut f = functions_of_differences();
        let options = CovarianceOptions { absolute_sigma: false, robust };
        let error = block_on(covariance(&mut f, &mut HostModel::default(), None, options)).unwrap_err();
        assert_eq!(error.code, ErrorCode::InvalidArgument);
        assert!(error.message.contains("2 residuals for 2 degrees of freedom"), "{}", error.message);
        assert!(block_on(absolute(&mut f, None)).is_ok());
    }
}

/// Two parameters and their sum and difference.
fn functions_of_differences() -> Functions {
    let mut r = Recorder::default();
    let (a, b) = (r.parameter(0), r.parameter(1));
    let outputs = [Op::Add, Op::Sub].map(|op| r.apply(op, &[a, b])).to_vec();
    functions(r, outputs, &[1.0, 2.0])
}

/// Differences of neighbours in a chain of `count` parameters, of which no residual takes the last.
fn chain(count: u32) -> Functions {
    let mut r = Recorder::default();
    let params: Vec<u32> = (0..count).map(|number| r.parameter(number)).collect();
    let outputs = params[..count as usize - 1].windows(2).map(|pair| r.apply(Op::Sub, pair)).collect();
    functions(r, outputs, &vec![1.0; count as usize])
}

#[test]
fn a_chain_of_differences_leaves_its_translation_and_an_unused_parameter_undetermined() {
    // 5 parameters are taken as dense, 500 as sparse.
    for count in [5u32, 500] {
        let mut f = chain(count);
        let found = block_on(rank(&mut f, &mut HostModel::default(), TOLERANCE)).unwrap();
        assert_eq!((found.columns, found.rank), (count as usize, count as usize - 2));
        assert_eq!(found.free[0], [(count - 1, 1.0)]);
        assert_eq!(found.free[1].len(), count as usize - 1);
        for &(_, value) in &found.free[1] {
            assert!((value - 1.0).abs() < 1e-11, "count steps of rounding: {value}");
        }
        let error = block_on(absolute(&mut f, Some(&[0]))).unwrap_err();
        assert_eq!(error.code, ErrorCode::InvalidArgument);
        let says = format!("rank {} of {count}, and the residuals do not determine parameter {}", count - 2, count - 1);
        assert!(error.message.contains(&says), "{}", error.message);

        let mut constant = vec![false; count as usize];
        constant[0] = true;
        constant[count as usize - 1] = true;
        f.set_constant(constant).unwrap();
        let found = block_on(rank(&mut f, &mut HostModel::default(), TOLERANCE)).unwrap();
        assert_eq!((found.columns, found.rank, found.free.len()), (count as usize - 2, count as usize - 2, 0));
        // A random walk: parameter k has variance k, and the covariance of two parameters is the variance of the earlier one.
        let middle = count / 2;
        let expected = [1.0, 1.0, 0.0, 1.0, f64::from(middle), 0.0, 0.0, 0.0, 0.0];
        let got = block_on(absolute(&mut f, Some(&[1, middle, count - 1]))).unwrap();
        // The condition of the walk's JᵀJ is about count²/2, times 2⁻⁵², times the variance.
        close(&got, &expected, 1e-15 * f64::from(count).powi(3).max(10.0));
    }
}

#[test]
fn blocks_without_a_covariance_are_refused() {
    let mut f = line();
    let error = block_on(absolute(&mut f, Some(&[7]))).unwrap_err();
    assert_eq!(
        (error.code, error.message.as_str()),
        (ErrorCode::InvalidArgument, "blocks: parameter 7 is not the first of a block")
    );
    f.set_values(vec![f64::MAX, f64::MAX]).unwrap();
    assert_eq!(block_on(absolute(&mut f, None)).unwrap_err().code, ErrorCode::NonFinite);
    let mut f = chain(4_002);
    let error = block_on(absolute(&mut f, None)).unwrap_err();
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
    let mut input = CompileInput::problem();
    input.add_array("turns", 4, 1, "unit-quaternion").unwrap();
    input.add_residuals("prior", vec![0], vec![0], Vec::new(), r.tape(outputs, 4)).unwrap();
    on_cpu(compiled(input), &q)
}

#[test]
fn the_covariance_of_a_quaternion_is_lifted_from_its_tangent_space() {
    // B has orthonormal columns, so that J̃ = B gives the projection onto the tangent space, I − q qᵀ.
    let q = [0.5, -0.5, 0.5, 0.5];
    let expected: Vec<f64> = (0..16).map(|k| f64::from(u8::from(k / 4 == k % 4)) - q[k / 4] * q[k % 4]).collect();
    let mut f = quaternion(q, [1.0; 4]);
    close(&block_on(absolute(&mut f, None)).unwrap(), &expected, 1e-15);
    let found = block_on(rank(&mut f, &mut HostModel::default(), TOLERANCE)).unwrap();
    assert_eq!((found.columns, found.rank), (3, 3));
}

#[test]
fn an_undetermined_direction_of_a_quaternion_is_given_in_its_own_numbers() {
    // The residuals take w and x alone, at w = 1. Rotations about y and z are undetermined and change y and z.
    let found = block_on(rank(
        &mut quaternion([1.0, 0.0, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0]),
        &mut HostModel::default(),
        TOLERANCE,
    ))
    .unwrap();
    assert_eq!((found.columns, found.rank), (3, 1));
    assert_eq!(found.free, [[(2, 1.0)], [(3, 1.0)]]);
}

/// Two points seen from a frame that is turned by the unit vector (c, s), and their squared sizes and product: a turn of everything changes none. The first coordinate is
/// written with 1 − s²/(1 + c) for c, as formulas of rotations are that hold for unit quaternions alone.
fn points_seen_from_a_turned_frame(c: f64, s: f64) -> Functions {
    let mut r = Recorder::default();
    let (cosine, sine) = (r.parameter(0), r.parameter(1));
    let one = r.constant(1.0);
    let squared_sine = r.square(sine);
    let more = r.apply(Op::Add, &[one, cosine]);
    let share = r.apply(Op::Div, &[squared_sine, more]);
    let rewritten = r.apply(Op::Sub, &[one, share]);
    let points = [[r.parameter(2), r.parameter(3)], [r.parameter(4), r.parameter(5)]];
    fn dot(r: &mut Recorder, a: [u32; 2], b: [u32; 2]) -> u32 {
        let terms = [r.apply(Op::Mul, &[a[0], b[0]]), r.apply(Op::Mul, &[a[1], b[1]])];
        r.apply(Op::Add, &terms)
    }
    let mut outputs = Vec::new();
    for point in points {
        let [x, y] = point;
        let minus_x = r.apply(Op::Neg, &[x]);
        outputs.push(dot(&mut r, [rewritten, sine], point));
        outputs.push(dot(&mut r, [cosine, sine], [y, minus_x]));
        outputs.push(dot(&mut r, point, point));
    }
    outputs.push(dot(&mut r, points[0], points[1]));
    let mut input = CompileInput::problem();
    input.add_array("turn", 2, 1, "unit-vector").unwrap();
    input.add_array("points", 2, 2, "euclidean").unwrap();
    input.add_residuals("seen", vec![0, 1, 1], vec![0, 0, 1], Vec::new(), r.tape(outputs, 6)).unwrap();
    on_cpu(compiled(input), &[c, s, 1.0, 2.0, -0.5, 0.25])
}

#[test]
fn rank_and_covariance_take_blocks_on_manifolds_as_normalised() {
    // At the angle of 0.3, and as single precision and a file with four digits hold it.
    let (c, s) = (0.3f64.cos(), 0.3f64.sin());
    for (c, s) in [(c, s), (f64::from(c as f32), f64::from(s as f32)), (0.9553, 0.2955)] {
        let mut f = points_seen_from_a_turned_frame(c, s);
        let found = block_on(rank(&mut f, &mut HostModel::default(), TOLERANCE)).unwrap();
        assert_eq!((found.columns, found.rank, found.free.len()), (5, 4, 1), "({c}, {s})");
        let error = block_on(absolute(&mut f, None)).unwrap_err();
        assert!(error.message.contains("rank 4 of 5"), "{}", error.message);
        assert_eq!(f.values()[..2], [c, s], "the parameters stay as they were set");
    }
    // A block of which some numbers are constant has no tangent space.
    let mut f = points_seen_from_a_turned_frame(c, s);
    f.set_constant(vec![true, false, false, false, false, false]).unwrap();
    let error = block_on(absolute(&mut f, None)).unwrap_err();
    assert_eq!(error.code, ErrorCode::InvalidArgument);
    assert!(
        error.message.contains("turn[0] has manifold 'unit-vector' and some constant coordinates"),
        "{}",
        error.message
    );
}

#[test]
fn squares_beyond_the_range_give_no_covariance() {
    // 1e-160 (a·x + b − y), whose squares vanish.
    let mut r = Recorder::default();
    let (a, b, unit) = (r.parameter(0), r.parameter(1), r.constant(1e-160));
    let outputs = [0.0, 1.0, 2.0]
        .map(|x| {
            let x = r.constant(x);
            let product = r.apply(Op::Mul, &[a, x]);
            let sum = r.apply(Op::Add, &[product, b]);
            r.apply(Op::Mul, &[sum, unit])
        })
        .to_vec();
    let mut f = functions(r, outputs, &[1.0, 2.0]);
    let error =
        block_on(covariance(&mut f, &mut HostModel::default(), None, CovarianceOptions::default())).unwrap_err();
    assert_eq!(error.code, ErrorCode::NonFinite, "{}", error.message);
}
