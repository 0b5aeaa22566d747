//! What the facade records: its tapes decode, pass the checks of shapes and types, and give here what they give in the facade's own tests.

use crate::dtype::DType;
use crate::expr::{Elementwise, Reduction, TensorId, TensorOp, evaluate};
use crate::grad::differentiate;
use crate::tape::Recipe;

/// Both evaluate in double precision; only error functions and sums in another order differ.
const TOLERANCE: f64 = 1e-9;

fn numbers(line: &str) -> Vec<f64> {
    line.split_whitespace().map(|number| number.parse().unwrap()).collect()
}

fn is_near(found: f64, expected: f64) -> bool {
    found == expected
        || (found.is_nan() && expected.is_nan())
        || (found - expected).abs() <= TOLERANCE * (1.0 + expected.abs())
}

/// A recipe with one result, what it reads, and what it gives.
pub(crate) struct RecordedCase {
    pub title: &'static str,
    pub tape: Vec<f64>,
    pub dims: Vec<u32>,
    pub inputs: Vec<Vec<f64>>,
    expected: Vec<f64>,
}

pub(crate) fn cases() -> Vec<RecordedCase> {
    let mut lines = include_str!("../../../tests/facade/tensor-recipes.txt").lines();
    let mut cases = Vec::new();
    while let Some(title) = lines.next() {
        let mut next = || numbers(lines.next().unwrap());
        let (tape, dims, count) = (next(), next(), next()[0] as usize);
        let inputs = (0..count).map(|_| next()).collect();
        let expected = next();
        assert_eq!(lines.next(), Some(""), "{title}: an empty line ends a recipe");
        cases.push(RecordedCase {
            title,
            tape,
            dims: dims.into_iter().map(|dim| dim as u32).collect(),
            inputs,
            expected,
        });
    }
    assert!(cases.len() > 150, "{} recipes", cases.len());
    cases
}

/// What a recipe gives.
fn result(recipe: &Recipe, case: &RecordedCase, inputs: &[Vec<f64>], which: usize) -> Vec<f64> {
    evaluate(&recipe.expr, &case.dims, inputs)[recipe.results[which].0 as usize].data.clone()
}

#[test]
fn recipes_mean_the_same_natively() {
    let mut wrong = Vec::new();
    for case in cases() {
        let RecordedCase { title, expected, .. } = &case;
        match Recipe::decode(&case.tape) {
            Err(error) => wrong.push(format!("{title}: {error:?}")),
            Ok(recipe) => {
                let found = result(&recipe, &case, &case.inputs, 0);
                let is_same = found.len() == expected.len()
                    && found.iter().zip(expected).all(|(found, expected)| is_near(*found, *expected));
                if !is_same {
                    wrong.push(format!("{title}: {found:?}, in the facade {expected:?}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Recipes of which differences say little: 800² beside (log 2)² leaves few digits, at 2 the derivative of min(x, 2) jumps, and rounding jumps at halves.
const NOT_BY_DIFFERENCES: [&str; 3] =
    ["activations: logSigmoid does not overflow", "map: min and max", "elementwise: round to even"];

/// Central differences in double precision: their error is the square of the step, and rounding divided by it.
const STEP: f64 = 1e-5;
const SLOPE_TOLERANCE: f64 = 1e-7;

#[test]
fn recipes_have_the_derivatives_of_central_differences() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for case in cases() {
        let Ok(mut recipe) = Recipe::decode(&case.tape) else { continue };
        let of = recipe.results[0];
        let is_smooth = recipe.expr.dtype(of) == DType::F32 && case.expected.iter().all(|number| number.is_finite());
        // Random chains have ties and corners.
        if !is_smooth || case.title.starts_with("chain") || NOT_BY_DIFFERENCES.contains(&case.title) {
            continue;
        }
        // The sum of the squares: a sum alone would be constant for a softmax.
        let square = recipe.expr.elementwise(Elementwise::Mul, &[of, of]);
        let axes: Vec<u32> = (0..recipe.expr.shape(of).len() as u32).collect();
        let scalar = recipe.expr.reduce(Reduction::Sum, square, &axes);
        let leaves: Vec<(TensorId, usize)> = (0..of.0)
            .map(TensorId)
            .filter(|id| recipe.expr.dtype(*id) == DType::F32)
            .filter_map(|id| match recipe.expr.tensor(id).op {
                TensorOp::Input(slot) => Some((id, slot as usize)),
                _ => None,
            })
            .collect();
        recipe.results = vec![scalar];
        for (leaf, _) in &leaves {
            let slope = recipe.expr.gradient(scalar, *leaf);
            recipe.results.push(slope);
        }
        differentiate(&mut recipe).unwrap();
        for (place, (_, slot)) in leaves.iter().enumerate() {
            let slopes = result(&recipe, &case, &case.inputs, place + 1);
            for (element, slope) in slopes.iter().enumerate() {
                let at = |step: f64| {
                    let mut inputs = case.inputs.clone();
                    inputs[*slot][element] += step;
                    result(&recipe, &case, &inputs, 0)[0]
                };
                let step = STEP * (1.0 + case.inputs[*slot][element].abs());
                let expected = (at(step) - at(-step)) / (2.0 * step);
                count += 1;
                if (slope - expected).abs() > SLOPE_TOLERANCE * (1.0 + expected.abs()) || slope.is_nan() {
                    wrong.push(format!("{}: input {slot}, element {element}: {slope}, not {expected}", case.title));
                }
            }
        }
    }
    assert!(count > 300, "{count} derivatives");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
