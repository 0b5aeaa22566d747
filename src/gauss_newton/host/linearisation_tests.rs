//! The Gauss-Newton model against the cost that it models.

use super::HostModel;
use crate::eval::tests::{block_on, functions_with_losses};
use crate::eval::{Functions, Objective};
use crate::model::losses::LossParameters;
use crate::model::tests::Recorder;
use residua_ir::graph::Op;

/// x·y − 1, y², sin(x) − 1, and √(x² + y²) + 2 taken apart into a hundred addends if wanted.
fn model(with_long_sum: bool) -> Functions {
    let mut r = Recorder::default();
    let (x, y) = (r.parameter(0), r.parameter(1));
    let one = r.constant(1.0);
    let product = r.apply(Op::Mul, &[x, y]);
    let first = r.apply(Op::Sub, &[product, one]);
    let second = r.square(y);
    let sine = r.apply(Op::Sin, &[x]);
    let third = r.apply(Op::Sub, &[sine, one]);
    let mut outputs = vec![first, second, third];
    if with_long_sum {
        let terms: Vec<u32> = (0..100)
            .map(|number| {
                let parameter = r.parameter(number % 2);
                let share = r.constant(0.01 * f64::from(1 + number));
                let scaled = r.apply(Op::Mul, &[parameter, share]);
                r.apply(Op::Sin, &[scaled])
            })
            .collect();
        outputs.push(terms.into_iter().reduce(|a, b| r.apply(Op::Add, &[a, b])).unwrap());
    }
    functions_with_losses(r, outputs, &[2.0, 3.0])
}

fn losses() -> Vec<LossParameters> {
    let table = [
        ("squared", 1.0, 1.0, 1.0),
        ("huber", 0.7, 1.0, 1.5),
        ("softL1", 0.7, 1.0, 1.0),
        ("cauchy", 0.7, 1.0, 1.0),
        ("arctan", 0.7, 1.0, 1.0),
        ("tukey", 20.0, 1.0, 1.0),
        ("tolerant", 1.2, 0.4, 1.0),
    ];
    table.iter().map(|&(kind, a, b, factor)| LossParameters::new(kind, a, b, factor).unwrap()).collect()
}

#[test]
fn the_model_has_the_cost_and_the_gradient_of_what_it_models() {
    for with_long_sum in [false, true] {
        for loss in losses() {
            let (mut f, mut host) = (model(with_long_sum), HostModel::default());
            f.set_loss(0, loss).unwrap();
            f.set_weight(0, 1.7).unwrap();
            let x = [0.9, 1.1];
            let exact = block_on(f.evaluate_at(Objective::LeastSquares, &x)).unwrap();
            let model = block_on(host.linearise(&mut f, &x)).unwrap();
            let pattern = host.pattern(&mut f).unwrap();
            let mut gradient = [0.0; 2];
            for row in 0..model.residuals.len() {
                for entry in pattern.row_offsets[row] as usize..pattern.row_offsets[row + 1] as usize {
                    gradient[pattern.col_indices[entry] as usize] += model.entries[entry] * model.residuals[row];
                }
            }
            assert!((model.cost - exact.cost).abs() < 1e-13 * exact.cost, "rounding: {loss:?}");
            for (got, expected) in gradient.iter().zip(&exact.gradient) {
                assert!((got - expected).abs() < 1e-12, "rounding of some numbers near 100: {loss:?} {got} {expected}");
            }
            // A loss that bends up: J̃ᵀJ̃ is closer to the second derivative of the cost than ρ′JᵀJ would be, which the
            // correction's own formula says for one residual: (1 − α)² = 1 + 2sρ″/ρ′.
            for to in [[0.9, 1.1], [0.9 + 1e-9, 1.1], [-2.0, 0.3]] {
                let reduction = block_on(host.reduction(&mut f, &to)).unwrap();
                let other = block_on(f.evaluate_at(Objective::LeastSquares, &to)).unwrap();
                let difference = exact.cost - other.cost;
                assert!((reduction - difference).abs() < 1e-13 * exact.cost + 1e-5 * difference.abs(), "{loss:?}");
            }
            assert_eq!(block_on(host.reduction(&mut f, &x)).unwrap(), 0.0);
            assert!(block_on(host.reduction(&mut f, &[f64::NAN, 0.0])).unwrap().is_nan(), "{loss:?}");
        }
    }
}

#[test]
fn small_steps_keep_the_digits_of_their_reduction() {
    let (mut f, mut host) = (model(false), HostModel::default());
    let x = [0.9, 1.1];
    let model = block_on(host.linearise(&mut f, &x)).unwrap();
    let gradient = block_on(f.evaluate_at(Objective::LeastSquares, &x)).unwrap().gradient;
    let step = 1e-12;
    let reduction = block_on(host.reduction(&mut f, &[x[0] + step, x[1]])).unwrap();
    let made = (x[0] + step) - x[0];
    // The difference of costs near 1 has an error of 1e-16, which is 1e-4 of this reduction; what is left here is the
    // rounding of residuals near 1, each 1e-16 of a change of 1e-12.
    assert!((reduction + gradient[0] * made).abs() < 5e-4 * reduction.abs(), "{reduction} at {}", model.cost);
}

#[test]
fn a_loss_that_bends_up_enters_the_model() {
    let mut r = Recorder::default();
    let x = r.parameter(0);
    let twice = r.apply(Op::Add, &[x, x]);
    let (mut f, mut host) = (functions_with_losses(r, vec![twice], &[1.0]), HostModel::default());
    f.set_loss(0, LossParameters::new("tolerant", 1.0, 0.5, 1.0).unwrap()).unwrap();
    let (mut entries, mut bends) = (Vec::new(), Vec::new());
    for x in [0.3, 0.5, 0.8] {
        let model = block_on(host.linearise(&mut f, &[x])).unwrap();
        entries.push(model.entries[0]);
        let gradient = |x: f64| block_on(f.evaluate_at(Objective::LeastSquares, &[x])).unwrap().gradient[0];
        let mut gradient = gradient;
        bends.push((gradient(x + 1e-5) - gradient(x - 1e-5)) / 2e-5);
    }
    for (entry, second) in entries.iter().zip(&bends) {
        // The cost of one linear residual has the second derivative J̃², since α makes it so.
        assert!((entry * entry - second).abs() < 1e-6 * second.abs(), "central differences: {entry} {second}");
    }
}

#[test]
fn constant_parameters_and_blocks_that_take_no_part_are_zeros() {
    let (mut f, mut host) = (model(true), HostModel::default());
    f.set_constant(vec![true, false]).unwrap();
    let x = [0.9, 1.1];
    let entries = block_on(host.linearise(&mut f, &x)).unwrap().entries;
    for (entry, &column) in entries.iter().zip(&host.pattern(&mut f).unwrap().col_indices) {
        assert_eq!(*entry == 0.0, column == 0);
    }
    f.set_enabled(0, false).unwrap();
    let nothing = block_on(host.linearise(&mut f, &x)).unwrap();
    assert_eq!(nothing.cost, 0.0);
    assert!(nothing.residuals.iter().chain(&nothing.entries).all(|&number| number == 0.0));
    assert_eq!(block_on(host.reduction(&mut f, &[5.0, 5.0])).unwrap(), 0.0);
}
