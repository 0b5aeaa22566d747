//! Residuals of one topology share a batch, others never, whatever their order, parameters and constants.

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;

use crate::random::cases;
use crate::recorder::{Recorder, params_model};
use residua_ir::graph::Op;

/// Parameters of the model. Each residual has three different ones.
const PARAMETERS: u32 = 24;

/// An expression of three parameters and a constant. Sums of all and differences from it would be split or joined: the outermost op is none.
fn record(r: &mut Recorder, shape: u8, parameters: [u32; 3], constant: f64) -> u32 {
    let [a, b, c] = parameters.map(|number| r.parameter(number));
    let number = r.constant(constant);
    let inner = match shape % 4 {
        0 => r.mul(a, b),
        1 => r.sub(a, b),
        2 => r.apply(Op::Atan2, &[a, b]),
        _ => r.apply(Op::Sin, &[a]),
    };
    let outer = if (shape / 4).is_multiple_of(2) { r.div(inner, c) } else { r.div(c, inner) };
    match shape / 8 % 3 {
        0 => r.apply(Op::Max, &[outer, number]),
        1 => r.apply(Op::Tanh, &[outer]),
        _ => {
            let scaled = r.mul(outer, number);
            r.apply(Op::Exp, &[scaled])
        }
    }
}

proptest! {
    #![proptest_config(cases(64))]

    #[test]
    fn equal_topologies_share_a_batch_and_different_ones_never(residuals in vec((0..24_u8, 0..PARAMETERS - 2, 2.5..9.5), 1..40)) {
        let mut r = Recorder::default();
        let outputs = residuals
            .iter()
            .map(|&(shape, first, constant)| record(&mut r, shape, [first, first + 1, first + 2], constant))
            .collect();
        let model = params_model(r.tape(outputs, PARAMETERS, 0), PARAMETERS);
        let mut expected: BTreeMap<u8, Vec<u32>> = BTreeMap::new();
        for (row, &(shape, ..)) in (0..).zip(&residuals) {
            expected.entry(shape).or_default().push(row);
        }
        let mut expected: Vec<Vec<u32>> = expected.into_values().collect();
        let mut found: Vec<Vec<u32>> =
            model.batches.iter().map(|batch| (0..batch.count as usize).map(|instance| batch.row(instance)).collect()).collect();
        found.iter_mut().for_each(|rows| rows.sort());
        found.sort();
        expected.sort();
        prop_assert_eq!(found, expected);
    }
}
