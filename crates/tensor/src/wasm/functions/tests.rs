//! Elementary functions against those of the standard library in f64.

use residua_ir::graph::{Op as Real, evaluate};

use crate::dtype::DType;
use crate::kernel::{Body, Elements, Extent, Store, TensorBuffer, TensorKernel};
use crate::scalar::{Id, Type, TypedGraph, TypedNode, TypedOp};
use crate::wasm::tests::machine::{reals, run, to_reals};

/// The values of an op at points.
fn values(op: Real, points: &[Vec<f32>]) -> Vec<f32> {
    values_by(op.name(), points, op.arity(), |graph, loads| {
        let operands = [loads[0], *loads.get(1).unwrap_or(&loads[0]), loads[0]];
        graph.intern(TypedNode::Apply(TypedOp::Real(op), operands), Type::F32)
    })
}

/// The values of a node, which a closure makes of the numbers of a point.
fn values_by(
    name: &str,
    points: &[Vec<f32>],
    arity: usize,
    node: impl FnOnce(&mut TypedGraph, &[Id]) -> Id,
) -> Vec<f32> {
    let mut graph = TypedGraph::default();
    let index = graph.intern(TypedNode::Coordinate(0), Type::U32);
    let loads: Vec<_> =
        (0..arity as u32).map(|buffer| graph.intern(TypedNode::Load { buffer, index }, Type::F32)).collect();
    let value = node(&mut graph, &loads);
    let mut buffers = vec![TensorBuffer { dtype: DType::F32, written: false }; arity];
    buffers.push(TensorBuffer { dtype: DType::F32, written: true });
    let kernel = TensorKernel {
        name: name.into(),
        buffers,
        sizes: Vec::new(),
        graph,
        body: Body::Elements(Elements {
            fills: true,
            space: vec![Extent::Known(points.len() as u32)],
            stores: vec![Store { buffer: arity as u32, index, value }],
        }),
        guard: None,
    };
    let mut contents: Vec<Vec<u8>> =
        (0..arity).map(|operand| reals(&points.iter().map(|point| point[operand]).collect::<Vec<_>>())).collect();
    contents.push(vec![0; 4 * points.len()]);
    run(&kernel, &mut contents, &[]);
    to_reals(&contents[arity])
}

/// How far a result is from a number, in units of the last place of the nearest f32; below the normal numbers of 2⁻¹⁴⁹.
fn distance(found: f32, expected: f64) -> f64 {
    let nearest = expected as f32;
    if found.is_nan() || expected.is_nan() {
        return if found.is_nan() && expected.is_nan() { 0.0 } else { f64::INFINITY };
    }
    if found == nearest {
        return if found.is_finite() && expected.is_finite() {
            0.5f64.min((f64::from(found) - expected).abs() / unit(expected))
        } else {
            0.0
        };
    }
    if !found.is_finite() {
        // One more than the largest number is 2¹²⁸.
        return (2f64.powi(128).copysign(f64::from(found)) - expected).abs() / 2f64.powi(104);
    }
    (f64::from(found) - expected).abs() / unit(expected)
}

fn unit(value: f64) -> f64 {
    let exponent = if value == 0.0 { -126 } else { value.abs().log2().floor() as i32 };
    2f64.powi(exponent.clamp(-126, 127) - 23)
}

const SPECIAL: [f32; 16] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    2.5,
    0.499_999_97,
    -3.0,
    8_388_609.0,
    1e30,
    -1e-40,
    f32::MIN_POSITIVE,
    f32::INFINITY,
    f32::NEG_INFINITY,
    f32::NAN,
];

/// Points of an interval, and of others by orders of magnitude.
fn points(op: Real, count: usize) -> Vec<Vec<f32>> {
    let mut state = 1u64;
    let mut random = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 40) as f64 / (1u64 << 24) as f64
    };
    let mut points: Vec<Vec<f32>> = (0..count)
        .map(|_| op.domain().iter().map(|(low, high)| (low + (high - low) * random()) as f32).collect())
        .collect();
    // Random exponents.
    points.extend((0..count / 4).map(|_| {
        let mut one = || (2f64.powf(random() * 60.0 - 40.0) * if random() < 0.5 { -1.0 } else { 1.0 }) as f32;
        op.domain().iter().map(|_| one()).collect()
    }));
    for a in SPECIAL {
        match op.arity() {
            1 => points.push(vec![a]),
            _ => points.extend(SPECIAL.map(|b| vec![a, b])),
        }
    }
    points
}

#[test]
fn elementary_functions_are_near_those_in_f64() {
    // Most are off by less than 1.5 units; a bound of 2 leaves room for other points. A tangent is a quotient of two such results. Softplus adds
    // the roundings of an exponential, a quotient and a product.
    let table: &[(Real, f64)] = &[
        (Real::Exp, 2.0),
        (Real::Log, 2.0),
        (Real::Sin, 2.0),
        (Real::Cos, 2.0),
        (Real::Tan, 4.0),
        (Real::Asin, 2.0),
        (Real::Acos, 2.0),
        (Real::Atan, 2.0),
        (Real::Sinh, 2.0),
        (Real::Cosh, 2.0),
        (Real::Tanh, 2.0),
        (Real::Erf, 2.0),
        (Real::Sigmoid, 2.5),
        (Real::Softplus, 2.5),
        (Real::Pow, 1.0),
        (Real::Mod, 0.0),
        (Real::Atan2, 2.0),
        (Real::Sign, 0.0),
        (Real::Round, 0.0),
        (Real::InverseNorm, 2.0),
        (Real::GuardedMul, 0.5),
    ];
    let mut wrong = Vec::new();
    for (op, bound) in table {
        let points = points(*op, 20_000);
        let results = values(*op, &points);
        let mut worst = (0.0, Vec::new(), 0.0, 0.0);
        for (point, result) in points.iter().zip(results) {
            let exact: Vec<f64> = point.iter().map(|number| f64::from(*number)).collect();
            let expected = evaluate(*op, &exact);
            // Beyond 2²⁸ angles have lost their meaning; sines must stay within bounds all the same.
            let is_angle = matches!(op, Real::Sin | Real::Cos | Real::Tan);
            if is_angle && exact[0].is_finite() && exact[0].abs() > 2f64.powi(28) {
                assert!(*op == Real::Tan || result.abs() <= 1.0, "{}{point:?} is {result}", op.name());
                continue;
            }
            let distance = distance(result, expected);
            if distance > worst.0 {
                worst = (distance, point.clone(), result, expected);
            }
        }
        println!("{}: {:.3} at {:?}: {:e} for {:e}", op.name(), worst.0, worst.1, worst.2, worst.3);
        if worst.0 > *bound {
            wrong.push((op.name(), worst));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_exponential_of_what_is_not_positive_is_near_that_in_f64() {
    // To where results are 0, so that those below the normal numbers are among them.
    let mut points = points(Real::Exp, 20_000);
    points.extend((0..20_000).map(|number| vec![number as f32 * -0.006]));
    let found = values_by("exponential", &points, 1, |graph, loads| {
        let size = graph.real(Real::Abs, loads);
        let opposite = graph.real(Real::Neg, &[size]);
        graph.real(Real::Exp, &[opposite])
    });
    let worst =
        points.iter().zip(found).map(|(point, found)| (distance(found, (-f64::from(point[0]).abs()).exp()), point[0]));
    let worst = worst.fold((0.0, 0.0), |worst, next| if next.0 > worst.0 { next } else { worst });
    println!("{:.3} at {}", worst.0, worst.1);
    // The bound of other exponentials.
    assert!(worst.0 <= 2.0, "{worst:?}");
}
