//! A model of several kinds of residuals over several kinds of blocks: springs between vertices, vertices turned by quaternions, and samples that share
//! one curve.
// Not every test file needs everything.
#![allow(dead_code, clippy::unwrap_used)]

use residua::model::losses::LossParameters;
use residua::model::{Model, Tape};
use residua_ir::graph::Op;

use crate::recorder::{Recorder, compiled, problem};

/// Vertices, the first blocks.
pub const VERTICES: u32 = 40;
/// Unit quaternions, the next ones.
pub const POSES: u32 = 6;
/// Numbers of all blocks; the last two are the curve's.
pub const PARAMETERS: usize = (3 * VERTICES + 4 * POSES + 2) as usize;

/// |a − b| − length.
fn spring() -> Tape {
    let mut r = Recorder::default();
    let squared = r.squared_distance();
    let length = r.apply(Op::Sqrt, &[squared]);
    let rest = r.data(0);
    let residual = r.apply(Op::Sub, &[length, rest]);
    r.tape(vec![residual], 6, 1)
}

/// Three products of a quaternion's numbers and a vertex's.
fn turned() -> Tape {
    let mut r = Recorder::default();
    let q: Vec<u32> = (0..4).map(|number| r.parameter(number)).collect();
    let v: Vec<u32> = (4..7).map(|number| r.parameter(number)).collect();
    let wx = r.apply(Op::Mul, &[q[0], v[0]]);
    let yz = r.apply(Op::Mul, &[q[2], v[2]]);
    let first = r.apply(Op::Sub, &[wx, yz]);
    let second = r.apply(Op::Mul, &[q[1], v[1]]);
    let zz = r.apply(Op::Mul, &[q[3], q[3]]);
    let third = r.apply(Op::Mul, &[zz, v[2]]);
    r.tape(vec![first, second, third], 7, 0)
}

/// c₀ exp(−c₁ t) − y.
fn decay() -> Tape {
    let mut r = Recorder::default();
    let c: Vec<u32> = (0..2).map(|number| r.parameter(number)).collect();
    let (t, y) = (r.data(0), r.data(1));
    let product = r.apply(Op::Mul, &[c[1], t]);
    let exponent = r.apply(Op::Neg, &[product]);
    let power = r.apply(Op::Exp, &[exponent]);
    let scaled = r.apply(Op::Mul, &[c[0], power]);
    let residual = r.apply(Op::Sub, &[scaled, y]);
    r.tape(vec![residual], 2, 2)
}

/// The model with losses of springs, turns and samples.
pub fn model(losses: [(&str, f64); 3]) -> Model {
    let mut input = problem(&[
        ("vertices", 3, VERTICES, "euclidean"),
        ("poses", 4, POSES, "unit-quaternion"),
        ("curve", 2, 1, "euclidean"),
    ]);
    let (springs, turns, samples) = (100u32, 24u32, 90u32);
    let ends = (0..springs).map(|i| i % VERTICES).chain((0..springs).map(|i| (i * 7 + 1) % VERTICES)).collect();
    let turned_by = (0..turns).map(|i| i % POSES).chain((0..turns).map(|i| (i * 5) % VERTICES)).collect();
    let times = (0..samples).map(|i| f64::from((0.05 * f64::from(i)) as f32));
    let values = (0..samples).map(|i| f64::from((2.0 - 0.02 * f64::from(i)) as f32));
    input.add_residuals("springs", vec![0, 0], ends, vec![1.0; springs as usize], spring()).unwrap();
    input.add_residuals("turns", vec![1, 0], turned_by, Vec::new(), turned()).unwrap();
    let curve = vec![0; samples as usize];
    input.add_residuals("samples", vec![2], curve, times.chain(values).collect(), decay()).unwrap();
    let mut model = compiled(input);
    for (block, (kind, scale)) in model.blocks.iter_mut().zip(losses) {
        block.loss = LossParameters::new(kind, scale, 1.0, 1.3).unwrap();
        block.weight = 0.7;
    }
    model
}

/// A point of blocks on their manifolds, in f32.
pub fn point() -> Vec<f64> {
    let mut x: Vec<f64> = (0..PARAMETERS).map(|i| f64::from((1.5 * (1.7 * i as f64).sin()) as f32)).collect();
    for pose in x[3 * VERTICES as usize..].chunks_exact_mut(4).take(POSES as usize) {
        let norm = pose.iter().map(|q| q * q).sum::<f64>().sqrt();
        pose.iter_mut().for_each(|q| *q = f64::from((*q / norm) as f32));
    }
    x
}
