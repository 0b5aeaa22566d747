//! Sources as operands: what is computed of nothing may stand wherever memory does, on both engines.

use super::*;
use crate::grad::differentiate;
use crate::recorded::{Case, cases};

/// A tensor of a type and a shape that is computed of nothing.
type Source = fn(DType, &[Size]) -> Op;

/// One number everywhere, a size everywhere, and the coordinate along the last axis, where there is one and the type has numbers.
const SOURCES: [Source; 3] = [
    |_, _| Op::Constant(1.0),
    |dtype, _| if dtype == DType::Bool { Op::Constant(0.0) } else { Op::Extent(size(2)) },
    |dtype, shape| match shape.len() {
        axes @ 1.. if dtype != DType::Bool => Op::Iota(axes as u32 - 1),
        _ => Op::Constant(0.0),
    },
];

fn inputs_of(expr: &Expr) -> Vec<TensorId> {
    let is_input = |id: &TensorId| matches!(expr.tensor(*id).op, Op::Input(_));
    (0..expr.nodes.len() as u32).map(TensorId).filter(is_input).collect()
}

/// A recipe of the facade with sources in place of some inputs.
fn replaced(case: &Case, chosen: &[TensorId], source: Source) -> Recipe {
    let mut recipe = Recipe::decode(&case.tape).expect("a tape that is recorded");
    for id in chosen {
        let tensor = &mut recipe.expr.nodes[id.0 as usize];
        tensor.op = source(tensor.dtype, &tensor.shape);
    }
    recipe
}

/// Nodes of a recipe beyond which its tests take seconds: it is a transform of a large length, of operations that shorter ones have too.
const MOST_NODES: usize = 400;

/// Calls a test with each input of a recipe as a source, which is another one each time, and with all of them.
fn for_sources(case: &Case, mut test: impl FnMut(Recipe, &[TensorId])) {
    let recipe = Recipe::decode(&case.tape).expect("a tape that is recorded");
    if recipe.expr.nodes.len() > MOST_NODES {
        return;
    }
    let inputs = inputs_of(&recipe.expr);
    let mut choices: Vec<Vec<TensorId>> = inputs.iter().map(|id| vec![*id]).collect();
    if inputs.len() > 1 {
        choices.push(inputs);
    }
    for (turn, chosen) in choices.iter().enumerate() {
        eprintln!("{}: {chosen:?}", case.title);
        test(replaced(case, chosen, SOURCES[(case.title.len() + turn) % SOURCES.len()]), chosen);
    }
}

#[test]
fn every_input_of_every_operation_may_be_a_source() {
    let mut count = 0;
    for case in cases() {
        for_sources(&case, |Recipe { expr, results, .. }, _| {
            check(expr, &results, &case.inputs, &case.dims);
            count += 1;
        });
    }
    assert!(count > 600, "{count} recipes");
}

#[test]
fn derivatives_of_every_operation_by_and_of_sources_are_computed() {
    let mut count = 0;
    for case in cases() {
        for_sources(&case, |mut recipe, chosen| {
            let (expr, of) = (&mut recipe.expr, recipe.results[0]);
            if expr.dtype(of) != DType::F32 || case.title.starts_with("chain") {
                return;
            }
            let axes: Vec<u32> = (0..expr.shape(of).len() as u32).collect();
            let scalar = expr.reduce(Reduction::Sum, of, &axes);
            let leaves = [inputs_of(expr).as_slice(), chosen].concat();
            let leaves: Vec<TensorId> = leaves.into_iter().filter(|id| expr.dtype(*id) == DType::F32).collect();
            let slopes = leaves.iter().map(|leaf| expr.gradient(scalar, *leaf)).collect();
            recipe.results = slopes;
            if recipe.results.is_empty() {
                return;
            }
            differentiate(&mut recipe).expect("a recipe with derivatives");
            check(recipe.expr, &recipe.results, &case.inputs, &case.dims);
            count += 1;
        });
    }
    assert!(count > 400, "{count} recipes");
}
