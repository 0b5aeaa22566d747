//! What the facade records: its tapes decode, pass the checks of shapes and types, and give here what they give in the facade's own tests.

use super::Recipe;
use crate::expr::evaluate;

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

#[test]
fn recipes_mean_the_same_natively() {
    let text = include_str!("../../../../tests/golden/tensor-recipes.txt");
    let mut lines = text.lines();
    let mut wrong = Vec::new();
    let mut count = 0;
    while let Some(title) = lines.next() {
        let mut next = || numbers(lines.next().unwrap());
        let (tape, dims, inputs) = (next(), next(), next()[0] as usize);
        let inputs: Vec<Vec<f64>> = (0..inputs).map(|_| next()).collect();
        let expected = next();
        assert_eq!(lines.next(), Some(""), "{title}: an empty line ends a recipe");
        count += 1;
        let recipe = match Recipe::decode(&tape) {
            Ok(recipe) => recipe,
            Err(error) => {
                wrong.push(format!("{title}: {error:?}"));
                continue;
            }
        };
        let dims: Vec<u32> = dims.into_iter().map(|dim| dim as u32).collect();
        let found = &evaluate(&recipe.expr, &dims, &inputs)[recipe.results[0].0 as usize].data;
        let is_same = found.len() == expected.len()
            && found.iter().zip(&expected).all(|(found, expected)| is_near(*found, *expected));
        if !is_same {
            wrong.push(format!("{title}: {found:?}, in the facade {expected:?}"));
        }
    }
    assert!(count > 150, "{count} recipes");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
