//! A plain function against the same residuals as an expression, on manifolds.

use std::cell::Cell;
use std::rc::Rc;

use super::HostModel;
use crate::eval::Functions;
use crate::eval::tests::{block_on, on_cpu};
use crate::model::CompileInput;
use crate::model::losses::LossParameters;
use crate::model::plain::{PlainFunction, Wanted};
use crate::model::tests::{Recorder, compiled};
use residua_base::deadline::Deadline;
use residua_base::error::{Error, Result};
use residua_ir::graph::Op;

/// (x₀x₃ + x₂x₅) sin x₁₀ and cos(x₁x₈) + x₄², with counts of the calls by what was wanted.
struct Waves {
    calls: Rc<[Cell<u32>; 2]>,
    derivatives: bool,
}

impl PlainFunction for Waves {
    fn evaluate(&self, x: &[f64], wanted: Wanted, columns: &mut [f64]) -> Result<()> {
        self.calls[wanted as usize].set(self.calls[wanted as usize].get() + 1);
        if x[0] > 2.0 {
            return Err(Error::invalid_argument("x is too large"));
        }
        let sum = x[0] * x[3] + x[2] * x[5];
        columns[..2].copy_from_slice(&[sum * x[10].sin(), (x[1] * x[8]).cos() + x[4] * x[4]]);
        if wanted == Wanted::Residuals {
            assert_eq!(columns.len(), 2);
            return Ok(());
        }
        assert_eq!(columns.len(), 2 + 2 * 11);
        columns[2..].fill(0.0);
        let (sine, wave) = (x[10].sin(), -(x[1] * x[8]).sin());
        let firsts = [(0, x[3] * sine), (3, x[0] * sine), (2, x[5] * sine), (5, x[2] * sine), (10, sum * x[10].cos())];
        let seconds = [(1, wave * x[8]), (8, wave * x[1]), (4, 2.0 * x[4])];
        firsts.iter().for_each(|&(by, partial)| columns[2 + 2 * by] = partial);
        seconds.iter().for_each(|&(by, partial)| columns[3 + 2 * by] = partial);
        if !self.derivatives {
            columns[2..].iter_mut().for_each(|partial| *partial *= 1.5);
        }
        Ok(())
    }

    fn differences(&self, x: &[f64], columns: &mut [f64]) -> Result<()> {
        Waves { calls: self.calls.clone(), derivatives: true }.evaluate(x, Wanted::Derivatives, columns)
    }

    fn accuracy(&self) -> Result<Vec<f64>> {
        Ok((0..12)
            .map(|number| match number {
                11 => 0.25,
                4 | 9 => 1e-6 * f64::from(number),
                _ => 0.0,
            })
            .collect())
    }
}

const X: [f64; 11] = [0.6, 0.0, -0.8, 0.5, -0.5, 0.5, 0.5, 1.0, -0.7, 0.3, 1.1];

/// The residuals as an expression, or as the affine one of a plain function.
fn functions(plain: Option<Waves>) -> Functions {
    let mut input = CompileInput::problem();
    for (name, dim, manifold) in
        [("axis", 3, "unit-vector"), ("pose", 7, "unit-quaternion 4 × euclidean 3"), ("angle", 1, "angle")]
    {
        input.add_array(name, dim, 1, manifold).unwrap();
    }
    let mut r = Recorder::default();
    let p: Vec<u32> = (0..11).map(|number| r.parameter(number)).collect();
    let (outputs, columns) = if plain.is_some() {
        let outputs = (0..2).map(|output| {
            let value = r.data(output);
            (0..11).fold(value, |sum, by| {
                let stopped = r.apply(Op::StopGradient, &[p[by as usize]]);
                let zero = r.apply(Op::Sub, &[p[by as usize], stopped]);
                let partial = r.data(2 + 2 * by + output);
                let product = r.apply(Op::GuardedMul, &[zero, partial]);
                r.apply(Op::Add, &[sum, product])
            })
        });
        (outputs.collect(), 24)
    } else {
        let product = |r: &mut Recorder, a: usize, b: usize| r.apply(Op::Mul, &[p[a], p[b]]);
        let (a, b, c) = (product(&mut r, 0, 3), product(&mut r, 2, 5), product(&mut r, 1, 8));
        let sine = r.apply(Op::Sin, &[p[10]]);
        let sum = r.apply(Op::Add, &[a, b]);
        let first = r.apply(Op::Mul, &[sum, sine]);
        let wave = r.apply(Op::Cos, &[c]);
        let square = r.square(p[4]);
        (vec![first, r.apply(Op::Add, &[wave, square])], 0)
    };
    let tape = r.tape_with_data(outputs, 11, columns);
    input.add_residuals("all", vec![0, 1, 2], vec![0, 0, 0], vec![0.0; columns as usize], tape).unwrap();
    if let Some(plain) = plain {
        input.set_plain(0, Box::new(plain)).unwrap();
    }
    on_cpu(compiled(input), &X)
}

fn waves() -> (Functions, Rc<[Cell<u32>; 2]>) {
    let calls: Rc<[Cell<u32>; 2]> = Rc::default();
    (functions(Some(Waves { calls: calls.clone(), derivatives: true })), calls)
}

/// Dense J̃ᵀJ̃, J̃ᵀr̃ and the cost.
fn model_of(f: &mut Functions) -> Vec<f64> {
    let mut host = HostModel::default();
    let model = block_on(host.linearise(f, &X)).unwrap();
    let pattern = host.pattern(f).unwrap();
    let mut numbers = vec![0.0; 11 * 12];
    for row in 0..2 {
        let entries = pattern.row_offsets[row] as usize..pattern.row_offsets[row + 1] as usize;
        for a in entries.clone() {
            let place = 12 * pattern.col_indices[a] as usize;
            numbers[place + 11] += model.entries[a] * model.residuals[row];
            for b in entries.clone() {
                numbers[place + pattern.col_indices[b] as usize] += model.entries[a] * model.entries[b];
            }
        }
    }
    numbers.push(model.cost);
    numbers
}

fn assert_close(found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    for (place, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!((found - expected).abs() <= tolerance, "{place}: {found}, not {expected}");
    }
}

#[test]
fn a_plain_function_has_the_model_of_the_same_expression_with_any_loss() {
    for loss in [("squared", 1.0, 0.0), ("cauchy", 0.4, 0.0), ("tolerant", 0.5, 0.2)] {
        let [mut plain, mut expression] = [waves().0, functions(None)];
        for f in [&mut plain, &mut expression] {
            f.set_loss(0, LossParameters::new(loss.0, loss.1, loss.2, 1.0).unwrap()).unwrap();
            f.set_weight(0, 1.7).unwrap();
        }
        // Rounding of numbers near 1.
        assert_close(&model_of(&mut plain), &model_of(&mut expression), 1e-14);
    }
}

#[test]
fn a_linearisation_knows_how_exact_a_plain_function_is() {
    let [mut plain, mut expression] = [waves().0, functions(None)];
    let accuracy = |f: &mut Functions| block_on(HostModel::default().linearise(f, &X)).unwrap().accuracy;
    assert_eq!(accuracy(&mut plain), [0.0, 0.0, 0.0, 0.0, 4e-6, 0.0, 0.0, 0.0, 0.0, 9e-6, 0.0]);
    assert!(accuracy(&mut expression).is_empty());
    // Σ w e² of the functions' noise e.
    let noise = |f: &mut Functions| block_on(HostModel::default().linearise(f, &X)).unwrap().noise;
    let weights: f64 =
        plain.model().batches.iter().map(|batch| plain.model().blocks[batch.block as usize].weight).sum();
    assert_eq!((noise(&mut plain), noise(&mut expression)), (0.25 * weights, 0.0));
}

#[test]
fn second_derivatives_along_a_direction_are_differences_along_the_path() {
    let [mut plain, mut expression] = [waves().0, functions(None)];
    // The axis has two tangent coordinates, the quaternion three.
    let direction = [0.3, -0.4, 0.0, 0.2, 0.5, -0.1, 0.0, 0.4, 0.1, -0.3, 0.6];
    let seconds = |f: &mut Functions| block_on(HostModel::default().second_directional(f, &X, &direction)).unwrap();
    // A share of 2⁻¹⁰ leaves h²/12 = 8e-8 of a fourth derivative, which is at most 1 here, and 2⁻⁵²·2²⁰·4 = 1e-9 of rounding.
    assert_close(&seconds(&mut plain), &seconds(&mut expression), 1e-7);
    assert!(seconds(&mut expression).iter().any(|second| second.abs() > 1e-3));
    let prepared = |f: &mut Functions| block_on(HostModel::default().prepare_second_order(f, Deadline::NEVER)).unwrap();
    assert_eq!([prepared(&mut plain), prepared(&mut expression)], [Some(false), Some(true)]);
}

#[test]
fn a_second_difference_does_not_leave_the_bounds() {
    let (mut f, _) = waves();
    let seconds = |f: &mut Functions| {
        let mut direction = [0.0; 11];
        direction[10] = 1.0;
        block_on(HostModel::default().second_directional(f, &X, &direction)).unwrap()[0]
    };
    assert!(seconds(&mut f) != 0.0);
    let mut upper = vec![f64::INFINITY; 11];
    upper[10] = X[10];
    f.set_bounds(vec![f64::NEG_INFINITY; 11], upper).unwrap();
    assert_eq!(seconds(&mut f), 0.0);
}

#[test]
fn a_function_is_called_once_for_a_point_and_again_after_a_change() {
    let (mut f, calls) = waves();
    let counts = || [calls[0].get(), calls[1].get()];
    let values = |f: &mut Functions, x: &[f64]| block_on(f.evaluate(Some(x))).unwrap();
    let first = values(&mut f, &X);
    assert_eq!(values(&mut f, &X), first);
    assert_eq!(counts(), [1, 0]);
    block_on(f.evaluate_jacobian(Some(&X))).unwrap();
    // Derivatives come with residuals.
    values(&mut f, &X);
    assert_eq!(counts(), [1, 1]);
    f.set_data(0, 0, &[]).unwrap();
    values(&mut f, &X);
    assert_eq!(counts(), [2, 1]);
}

#[test]
fn an_error_of_the_function_is_that_of_the_call_and_leaves_nothing_behind() {
    let (mut f, _) = waves();
    let before = block_on(f.evaluate(Some(&X))).unwrap();
    let mut far = X;
    far[0] = 3.0;
    assert_eq!(block_on(f.evaluate(Some(&far))).unwrap_err().message, "x is too large");
    assert_eq!(block_on(f.evaluate(Some(&X))).unwrap(), before);
}

#[test]
fn wrong_derivatives_of_a_plain_function_are_found() {
    let calls: Rc<[Cell<u32>; 2]> = Rc::default();
    for derivatives in [true, false] {
        let mut f = functions(Some(Waves { calls: calls.clone(), derivatives }));
        let check = block_on(f.check_gradients(Some(&X))).unwrap();
        // The error is relative to the larger of both.
        assert!((check.max_relative_error - if derivatives { 0.0 } else { 1.0 / 3.0 }).abs() < 1e-12);
    }
}
