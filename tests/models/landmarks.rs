//! Landmarks in the plane that places see: the smallest problem with a Schur complement, and of blocks of one kind if they are asked for.
// Not every test file needs everything.
#![allow(dead_code, clippy::unwrap_used)]

use residua::model::Model;
use residua_ir::graph::Op;

use crate::recorder::{Recorder, compiled, problem};

/// Places with a heading (three numbers, or two without it) that see landmarks of two numbers, each landmark from `seen_by` places.
pub fn model(places: u32, landmarks: u32, seen_by: u32, has_heading: bool) -> Model {
    let mut input = problem(&[
        ("places", if has_heading { 3 } else { 2 }, places, "euclidean"),
        ("landmarks", 2, landmarks, "euclidean"),
    ]);
    let mut r = Recorder::default();
    let first = if has_heading { 3 } else { 2 };
    let away: Vec<u32> = (0..2)
        .map(|axis| {
            let (place, landmark) = (r.parameter(axis), r.parameter(first + axis));
            r.sub(landmark, place)
        })
        .collect();
    let seen = if has_heading {
        let heading = r.parameter(2);
        let (cosine, sine) = (r.apply(Op::Cos, &[heading]), r.apply(Op::Sin, &[heading]));
        let products =
            [(cosine, away[0]), (sine, away[1]), (cosine, away[1]), (sine, away[0])].map(|(a, b)| r.mul(a, b));
        vec![r.add(products[0], products[1]), r.sub(products[2], products[3])]
    } else {
        away
    };
    let residuals = (0..2).map(|axis| {
        let measured = r.data(axis as u32);
        r.sub(seen[axis], measured)
    });
    let residuals = residuals.collect();
    let tape = r.tape(residuals, first + 2, 2);
    let count = landmarks * seen_by;
    let seers = (0..count).map(|i| (i / seen_by * 3 + i % seen_by) % places);
    let indices = seers.chain((0..count).map(|i| i / seen_by)).collect();
    let data = (0..2 * count).map(|i| f64::from((2.0 * (0.7 * f64::from(i)).sin()) as f32)).collect();
    input.add_residuals("sightings", vec![0, 1], indices, data, tape).unwrap();
    compiled(input)
}

/// A start.
pub fn start(model: &Model) -> Vec<f64> {
    (0..model.num_params).map(|i| f64::from((1.5 * (1.3 * f64::from(i)).sin()) as f32)).collect()
}
