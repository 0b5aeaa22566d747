//! The precision guard on fits that lose digits in single precision, and on fits that do not.

use super::sample::Sample;
use super::*;
use crate::eval::tests::{block_on, functions, functions_with_losses, on_cpu};
use crate::eval::{Arithmetic, Functions};
use crate::model::CompileInput;
use crate::model::losses::LossParameters;
use crate::model::tests::{Recorder, compiled};
use crate::solve::LevenbergMarquardtOptions;
use crate::solve::findings::sentences;
use crate::solve::levenberg_marquardt::host;
use residua_ir::graph::Op;

/// All residuals, with parameters, data and every operation rounded to single precision: what a device computes.
fn in_single_precision(model: &Model, x: &[f64]) -> Vec<f64> {
    let round = |number: f64| Arithmetic::F32.quantise(number);
    let mut residuals = vec![0.0; model.num_residuals as usize];
    for batch in &model.batches {
        let class = &batch.class;
        for instance in 0..batch.count as usize {
            let locals =
                class.locals.iter().map(|local| x[(batch.column(local.column)[instance] + local.component) as usize]);
            let data = (0..class.data as usize).map(|column| batch.data[column * batch.count as usize + instance]);
            let inputs: Vec<f64> = locals.chain(data).chain(batch.batch_constants.iter().copied()).map(round).collect();
            let mut nodes = vec![0.0; class.graph.graph().len()];
            class.graph.evaluate_by(&inputs, &model.tables, &mut nodes, round);
            for (output, node) in class.outputs.iter().enumerate() {
                residuals[batch.row(instance) as usize + output] = nodes[node.index()];
            }
        }
    }
    residuals
}

/// The estimate of a solve from the parameters of the functions to a point whose numbers are rounded to single precision.
fn estimate_at(functions: &Functions, x: &[f64]) -> PrecisionEstimate {
    let x: Vec<f64> = x.iter().map(|&number| Arithmetic::F32.quantise(number)).collect();
    let residuals = in_single_precision(functions.model(), &x);
    let cost = residuals.iter().map(|residual| 0.5 * residual * residual).sum();
    let constant = functions.constant();
    let point = Evaluated { x: &x, constant, residuals: &residuals, cost, arithmetic: Arithmetic::F32 };
    estimate(functions.model(), Objective::LeastSquares, &point, Some(functions.values()), &[]).unwrap()
}

/// The least-squares solution in f64.
fn minimum(functions: &mut Functions) -> Vec<f64> {
    let options = LevenbergMarquardtOptions::defaults();
    let mut resources = Default::default();
    block_on(host::minimise_least_squares(functions, &mut resources, &options, &mut ())).unwrap().x
}

/// Residuals a + b·t − y.
fn line(points: impl Iterator<Item = (f64, f64)>, start: [f64; 2]) -> Functions {
    let mut r = Recorder::default();
    let (a, b) = (r.parameter(0), r.parameter(1));
    let outputs = points
        .map(|(t, y)| {
            let (t, y) = (r.constant(t), r.constant(y));
            let product = r.apply(Op::Mul, &[b, t]);
            let value = r.apply(Op::Add, &[a, product]);
            r.apply(Op::Sub, &[value, y])
        })
        .collect();
    functions_with_losses(r, outputs, &start)
}

/// A number between −½ and ½ for each position, the same every time.
fn noise(position: usize) -> f64 {
    (position as f64 * 0.618_033_988_749_895).fract() - 0.5
}

#[test]
fn a_line_through_ordinary_numbers_keeps_its_digits() {
    let points = (0..1_000).map(|i| (f64::from(i) * 0.01, 2.0 + 0.5 * f64::from(i) * 0.01 + 0.1 * noise(i as usize)));
    let mut functions = line(points, [0.0, 0.0]);
    let solution = minimum(&mut functions);
    let found = estimate_at(&functions, &solution);
    // Rounding errors of 1e-7 beside residuals of 0.03 in root mean square: a share of their square, 1e-11, in f64's estimate of it.
    assert!(found.loss < 1e-6 && found.suffices(), "{found:?}");
    assert!(found.instances >= 256, "{found:?}");
}

#[test]
fn unix_time_stamps_lose_the_slope() {
    let time = |i: u32| 1.7e9 + f64::from(i);
    let points = (0..1_000).map(|i| (time(i), 0.01 * (time(i) - 1.7e9) + 0.1 * noise(i as usize)));
    let functions = line(points, [0.0, 0.0]);
    // The exact solution: what is judged is the arithmetic, not the solver.
    let found = estimate_at(&functions, &[-0.01 * 1.7e9, 0.01]);
    assert!(!found.suffices(), "{found:?}");
    let text = sentences(found.findings(functions.model(), Arithmetic::F32).iter());
    assert!(text.starts_with("Rounding in single precision explains "), "{text}");
}

/// Ranges from a receiver to satellites, with noise of some centimetres.
fn ranges(receiver: [f64; 3]) -> Functions {
    let mut r = Recorder::default();
    let position = [0, 1, 2].map(|axis| r.parameter(axis));
    let outputs = (0..8)
        .map(|i| {
            let angle = f64::from(i) * 0.7;
            let satellite = [2.6e7 * angle.cos(), 2.6e7 * angle.sin() * 0.8, 2.6e7 * (0.3 + 0.05 * f64::from(i))];
            let length = (0..3).map(|axis| (receiver[axis] - satellite[axis]).powi(2)).sum::<f64>().sqrt();
            let squares = [0, 1, 2].map(|axis| {
                let along = r.constant(satellite[axis]);
                let difference = r.apply(Op::Sub, &[position[axis], along]);
                r.square(difference)
            });
            let two = r.apply(Op::Add, &[squares[0], squares[1]]);
            let three = r.apply(Op::Add, &[two, squares[2]]);
            let distance = r.apply(Op::Sqrt, &[three]);
            let measured = r.constant(length + 0.1 * noise(i as usize));
            r.apply(Op::Sub, &[distance, measured])
        })
        .collect();
    functions(r, outputs, &receiver)
}

#[test]
fn ranges_to_satellites_are_rounding_alone() {
    let receiver = [4.1e6, 6.2e5, 4.8e6];
    let functions = ranges(receiver);
    let found = estimate_at(&functions, &receiver);
    assert!(found.loss > 0.5 && !found.suffices(), "{found:?}");
}

#[test]
fn an_exact_solution_has_lost_nothing() {
    let functions = line((0..10).map(|i| (f64::from(i), 1.0 + 2.0 * f64::from(i))), [0.0, 0.0]);
    let found = estimate_at(&functions, &[1.0, 2.0]);
    assert_eq!(found.loss, 0.0);
    assert!(found.suffices(), "{found:?}");
}

/// Residuals a + b·t − y of a block of a and b, or a + c·t² + b·t − y of one of a, c and b.
fn line_of_block(manifold: &str, block: &[f64], points: &[(f64, f64)]) -> Functions {
    let dim = block.len() as u32;
    let mut input = CompileInput::problem();
    input.add_array("pose", dim, 1, manifold).unwrap();
    let mut r = Recorder::default();
    let numbers: Vec<u32> = (0..dim).map(|number| r.parameter(number)).collect();
    let (t, y) = (r.data(0), r.data(1));
    let product = r.apply(Op::Mul, &[numbers[dim as usize - 1], t]);
    let mut sum = r.apply(Op::Add, &[product, numbers[0]]);
    for &number in &numbers[1..dim as usize - 1] {
        let square = r.square(t);
        let product = r.apply(Op::Mul, &[number, square]);
        sum = r.apply(Op::Add, &[sum, product]);
    }
    let output = r.apply(Op::Sub, &[sum, y]);
    let data = points.iter().map(|point| point.0).chain(points.iter().map(|point| point.1)).collect();
    let tape = r.tape_with_data(vec![output], dim, 2);
    input.add_residuals("", vec![0], vec![0; points.len()], data, tape).unwrap();
    on_cpu(compiled(input), block)
}

#[test]
fn a_number_whose_exact_value_is_0_is_compared_with_what_it_is_a_part_of() {
    // 3 · 0.1 − 0.3 is 6e-17 in f64 and 1e-8 in single precision.
    let points: Vec<(f64, f64)> = (1..20).map(|i| (0.1 * f64::from(i), 0.1 * f64::from(i) * 3.0)).collect();
    let with_square = points.iter().map(|&(t, y)| (t, t * t + y)).collect();
    for (manifold, block, points) in [
        ("euclidean", vec![0.0, 3.0], points.clone()),
        ("angle 1 × euclidean 1", vec![0.0, 3.0], points.clone()),
        ("unit-vector 2 × euclidean 1", vec![0.0, 1.0, 3.0], with_square),
    ] {
        let functions = line_of_block(manifold, &block, &points);
        let found = estimate_at(&functions, &block);
        assert!(found.shift.is_some_and(|shift| shift.relative < MOST_SHIFT), "{manifold}: {found:?}");
        let text = sentences(found.findings(functions.model(), Arithmetic::F32).iter());
        assert!(!text.contains("of its scale"), "{manifold}: {text}");
    }
    // By itself it is compared with what rounding does to it: the root of the number of residuals at most.
    let functions = line(points.iter().copied(), [0.0, 0.0]);
    let found = estimate_at(&functions, &[0.0, 3.0]);
    assert!(found.shift.is_some_and(|shift| shift.relative <= 19f64.sqrt()), "{found:?}");
}

#[test]
fn squares_below_the_smallest_number_of_single_precision_are_lost() {
    // 2e-30 is a number of single precision and its square is not, so that the device sees a cost of 0. The square of 2e-15 is one.
    for (unit, is_lost) in [(1e-30, true), (1e-15, false)] {
        let functions = line([(0.0, 3.0 * unit)].into_iter(), [0.0, 0.0]);
        let found = estimate_at(&functions, &[unit, 0.0]);
        assert_eq!(
            (found.loss > 0.5, found.underflows, found.suffices()),
            (is_lost, is_lost, !is_lost),
            "{unit}: {found:?}"
        );
        let text = sentences(found.findings(functions.model(), Arithmetic::F32).iter());
        assert_eq!(text.contains("The cost underflows"), is_lost, "{text}");
    }
}

#[test]
fn residuals_that_are_no_numbers_in_single_precision_are_lost() {
    // 1e30² overflows in single precision alone.
    let mut r = Recorder::default();
    let x = r.parameter(0);
    let large = r.constant(1e30);
    let product = r.apply(Op::Mul, &[x, large]);
    let square = r.square(product);
    let root = r.apply(Op::Sqrt, &[square]);
    let small = r.constant(1e30);
    let residual = r.apply(Op::Div, &[root, small]);
    let functions = functions(r, vec![residual], &[2.0]);
    let found = estimate_at(&functions, &[2.0]);
    assert!(found.loss == 1.0 && !found.suffices(), "{found:?}");
}

#[test]
fn the_instances_with_the_largest_data_are_in_every_sample() {
    // One of 10,001 data is large enough to lose its last digits, at a position that regular samples leave out.
    let datum = |i: usize| if i == 7_777 { 1e8 + 0.3 } else { noise(i) };
    let mut r = Recorder::default();
    let x = r.parameter(0);
    let outputs = (0..10_001)
        .map(|i| {
            let y = r.constant(datum(i));
            r.apply(Op::Sub, &[x, y])
        })
        .collect();
    let functions = functions(r, outputs, &[0.0]);
    let batch = &functions.model().batches[0];
    let sample = Sample::of(batch, batch.count, &[0.0]);
    let sampled = |instance: usize| sample.instances.iter().any(|&(sampled, _)| sampled == instance);
    let largest = (0..10_001).max_by(|&a, &b| batch.data[a].abs().total_cmp(&batch.data[b].abs())).unwrap();
    assert!(sampled(largest) && sample.instances.len() < 300, "{}", sample.instances.len());
    let represented: f64 = sample.instances.iter().map(|(_, represented)| represented).sum();
    // The regular ones stand for all; each extreme counts once more.
    assert!((represented - 10_001.0 - 1.0).abs() < 2.0, "{represented}");
}

#[test]
fn blocks_that_take_no_part_and_constant_parameters_lose_nothing() {
    let receiver = [4.1e6, 6.2e5, 4.8e6];
    let mut functions = ranges(receiver);
    functions.set_enabled(0, false).unwrap();
    let found = estimate_at(&functions, &receiver);
    assert_eq!((found.loss, found.shift, found.instances), (0.0, None, 0));
    // With constant parameters only the operations round, and nothing is moved.
    functions.set_enabled(0, true).unwrap();
    functions.set_constant(vec![true; 3]).unwrap();
    assert_eq!(estimate_at(&functions, &receiver).shift, None);
}

#[test]
fn a_sum_loses_what_its_addends_lose() {
    // (x − 1e4)² − 1e8 + 1 is 1 at 0, and 0 or 8 in single precision, where numbers of 1e8 are 8 apart.
    let mut r = Recorder::default();
    let x = r.parameter(0);
    let (centre, offset) = (r.constant(1e4), r.constant(99_999_999.0));
    let difference = r.apply(Op::Sub, &[x, centre]);
    let square = r.square(difference);
    let energy = r.apply(Op::Sub, &[square, offset]);
    let functions = functions(r, vec![energy], &[0.0]);
    let residuals = in_single_precision(functions.model(), &[0.0]);
    let of = |residuals: &[f64]| {
        let constant = functions.constant();
        let point = Evaluated { x: &[0.0], constant, residuals, cost: residuals[0], arithmetic: Arithmetic::F32 };
        estimate(functions.model(), Objective::Sum, &point, None, &[]).unwrap()
    };
    assert!(of(&residuals).loss > 0.5, "{residuals:?}");
    assert_eq!(of(&[1.0]).loss, 0.0);
}

#[test]
fn robust_losses_weigh_what_rounding_changes() {
    // The residual is 3, and 4 in single precision, where 16,777,217 is one less.
    let at = [0.0, 16_777_220.0];
    let mut functions = line([(1.0, 16_777_217.0)].into_iter(), [0.0, 0.0]);
    assert!(estimate_at(&functions, &at).loss > 0.1);
    // Beyond its scale Tukey's loss is constant, and differences there change nothing.
    functions.set_loss(0, LossParameters::new("tukey", 1.0, 1.0, 1.0).unwrap()).unwrap();
    assert_eq!(estimate_at(&functions, &at).loss, 0.0);
}

/// Residuals a·exp(−b·t) − y at six points.
fn decay(start: [f64; 2]) -> Functions {
    let mut r = Recorder::default();
    let (a, b) = (r.parameter(0), r.parameter(1));
    let outputs = (1..=6)
        .map(|i| {
            let (t, y) =
                (r.constant(f64::from(i)), r.constant(3.0 * (-0.5 * f64::from(i)).exp() + 0.1 * noise(i as usize)));
            let exponent = r.apply(Op::Mul, &[b, t]);
            let exponent = r.apply(Op::Neg, &[exponent]);
            let value = r.apply(Op::Exp, &[exponent]);
            let value = r.apply(Op::Mul, &[a, value]);
            r.apply(Op::Sub, &[value, y])
        })
        .collect();
    functions(r, outputs, &start)
}

#[test]
fn a_parameter_that_single_precision_cannot_move_is_no_convergence() {
    // exp(−60) is 9e-27, whose square is below 1.2e-38; exp(−1000) is 0 in f64 too.
    for (rate, immovable, lost) in [(0.5, None, None), (60.0, Some(0), None), (1000.0, None, Some(0))] {
        let functions = decay([3.0, 0.5]);
        let found = estimate_at(&functions, &[3.0, rate]);
        assert_eq!((found.immovable, found.lost, found.without_effect), (immovable, lost, None), "{rate}: {found:?}");
        let is_lost = immovable.or(lost).is_some();
        assert_eq!((found.is_below_range(), found.suffices()), (is_lost, !is_lost), "{rate}");
        let text = sentences(found.findings(functions.model(), Arithmetic::F32).iter());
        assert_eq!(text.contains("could not be moved"), immovable.is_some(), "{text}");
        assert_eq!(text.contains("has no effect on the cost"), lost.is_some(), "{text}");
    }
}

#[test]
fn in_a_larger_problem_a_suspect_is_lost_if_it_had_an_effect_and_its_residuals_are_not_0() {
    // The fit, a limit that is kept, and 70 numbers besides.
    let mut r = Recorder::default();
    let (rate, limited) = (r.parameter(0), r.parameter(1));
    let (one, zero) = (r.constant(1.0), r.constant(0.0));
    let exponent = r.apply(Op::Neg, &[rate]);
    let power = r.apply(Op::Exp, &[exponent]);
    let beyond = r.apply(Op::Sub, &[limited, one]);
    let mut outputs = vec![r.apply(Op::Sub, &[power, one]), r.apply(Op::Max, &[beyond, zero])];
    for number in 2..72 {
        let (x, value) = (r.parameter(number), r.constant(f64::from(number)));
        outputs.push(r.apply(Op::Sub, &[x, value]));
    }
    let functions = functions(r, outputs, &[0.5; 72].map(|x: f64| 4.0 * x));
    let mut x: Vec<f64> = (0..72).map(f64::from).collect();
    (x[0], x[1]) = (1000.0, -3.0);
    let found = |start: &[f64], suspects: &[u32]| {
        let residuals = in_single_precision(functions.model(), &x);
        let constant = functions.constant();
        let point = Evaluated { x: &x, constant, residuals: &residuals, cost: 0.5, arithmetic: Arithmetic::F32 };
        let found = estimate(functions.model(), Objective::LeastSquares, &point, Some(start), suspects).unwrap();
        (found.immovable, found.lost, found.without_effect, found.suffices())
    };
    assert_eq!(found(functions.values(), &[0, 1, 5]), (None, Some(0), Some(1), false));
    assert_eq!(found(functions.values(), &[1, 5]), (None, None, Some(1), true));
    assert_eq!(found(functions.values(), &[]), (None, None, None, true));
    assert_eq!(found(&x, &[0, 5]), (None, None, Some(0), true), "it had no effect at the start either");
}

#[test]
fn a_suspect_is_evaluated_at_equal_distances_of_the_instances_that_touch_it() {
    // cᵢ(exp(−x₀) − 1), where c is 0 in the first half, and 70 numbers besides.
    let mut r = Recorder::default();
    let rate = r.parameter(0);
    let exponent = r.apply(Op::Neg, &[rate]);
    let power = r.apply(Op::Exp, &[exponent]);
    let one = r.constant(1.0);
    let rise = r.apply(Op::Sub, &[power, one]);
    let mut outputs = Vec::new();
    for i in 0..40 {
        let factor = r.constant(if i < 20 { 0.0 } else { 0.5 });
        outputs.push(r.apply(Op::Mul, &[factor, rise]));
    }
    for number in 1..71 {
        outputs.push(r.parameter(number));
    }
    let functions = functions(r, outputs, &[1.0; 71]);
    let model = functions.model();
    let batch = model.batches.iter().find(|batch| batch.count == 40).unwrap();
    let instances = Sample::at(batch, &[0, 7]).instances;
    let expected: Vec<usize> = (2..40).step_by(3).collect();
    assert_eq!(instances.iter().map(|&(instance, _)| instance).collect::<Vec<_>>(), expected);
    let mut x = vec![0.0; 71];
    x[0] = 1000.0;
    let residuals = in_single_precision(model, &x);
    let point = Evaluated {
        x: &x,
        constant: functions.constant(),
        residuals: &residuals,
        cost: 2.5,
        arithmetic: Arithmetic::F32,
    };
    let found = estimate(model, Objective::LeastSquares, &point, Some(functions.values()), &[0]).unwrap();
    assert_eq!((found.immovable, found.lost, found.without_effect), (None, Some(0), None));
}

#[test]
fn a_parameter_that_never_had_an_effect_is_not_lost() {
    let found = estimate_at(&decay([3.0, 1000.0]), &[3.0, 2000.0]);
    assert_eq!((found.lost, found.without_effect, found.suffices()), (None, Some(0), true), "{found:?}");
}

#[test]
fn a_parameter_within_its_limits_has_no_effect_and_is_not_lost() {
    // From x₀ = 2, max(x₀ − 1, 0) and x₁ − 3; in the second case x₀ − 1 and no weight.
    for weight in [1.0, 0.0] {
        let mut r = Recorder::default();
        let (a, b) = (r.parameter(0), r.parameter(1));
        let (one, zero, three) = (r.constant(1.0), r.constant(0.0), r.constant(3.0));
        let beyond = r.apply(Op::Sub, &[a, one]);
        let limit = r.apply(Op::Max, &[beyond, zero]);
        let limit = if weight == 0.0 { beyond } else { limit };
        let value = r.apply(Op::Sub, &[b, three]);
        let mut functions = functions(r, vec![limit, value], &[2.0, 2.0]);
        if weight == 0.0 {
            functions.set_weight(0, weight).unwrap();
        }
        let found = estimate_at(&functions, &[0.0, 2.0]);
        assert_eq!((found.lost, found.without_effect, found.suffices()), (None, Some(0), true), "{found:?}");
    }
}

#[test]
fn a_direction_without_effect_is_told_where_all_residuals_are_known() {
    // Multiples of x₀ + x₁ − 1, of which a sample is evaluated if they are many.
    for (count, expected) in [(3, true), (10_000, false)] {
        let mut r = Recorder::default();
        let (a, b) = (r.parameter(0), r.parameter(1));
        let sum = r.apply(Op::Add, &[a, b]);
        let outputs = (1..=count)
            .map(|i| {
                let (factor, one) = (r.constant(f64::from(i)), r.constant(1.0));
                let product = r.apply(Op::Mul, &[sum, factor]);
                r.apply(Op::Sub, &[product, one])
            })
            .collect();
        let found = estimate_at(&functions(r, outputs, &[1.0, 2.0]), &[0.25, 0.5]);
        assert_eq!((found.is_undetermined, found.suffices()), (expected, true), "{count}: {found:?}");
    }
    let determined = estimate_at(&line((0..3).map(|t| (f64::from(t), 1.0)), [0.0, 0.0]), &[1.0, 0.0]);
    assert!(!determined.is_undetermined, "{determined:?}");
    // What has no effect is told by itself.
    let vanished = estimate_at(&decay([3.0, 1000.0]), &[3.0, 2000.0]);
    assert!(!vanished.is_undetermined, "{vanished:?}");
}

/// Residuals eˣ − 1 and w x.
fn exponential_with_prior(weight: f64, start: f64) -> Functions {
    let mut r = Recorder::default();
    let x = r.parameter(0);
    let (one, weight) = (r.constant(1.0), r.constant(weight));
    let power = r.apply(Op::Exp, &[x]);
    let outputs = vec![r.apply(Op::Sub, &[power, one]), r.apply(Op::Mul, &[x, weight])];
    functions(r, outputs, &[start])
}

#[test]
fn rounding_of_a_cost_is_that_of_what_residuals_are_computed_from() {
    let functions = exponential_with_prior(0.1, 0.0);
    // eˣ is 1 and its rounding a unit of it, as is that of the difference; the other residual is off by a share of itself.
    let of_one = 0.5 * f64::EPSILON.powi(2);
    for x in [0.0, 1e-17, -1e-12] {
        let found = rounding_of_cost(functions.model(), &[x], &[false]).unwrap();
        assert!(found >= 0.5 * of_one && found <= 4.0 * of_one, "{x}: {found:e}");
    }
}

#[test]
fn a_cost_that_rounding_explains_is_a_minimum() {
    for weight in [0.01, 0.1, 0.5] {
        for start in [-3.0, 1.0, 1e-9, 1e-13] {
            let mut functions = exponential_with_prior(weight, start);
            let options = LevenbergMarquardtOptions::defaults();
            let found =
                block_on(host::minimise_least_squares(&mut functions, &mut Default::default(), &options, &mut ()))
                    .unwrap();
            let summary = &found.summary;
            assert!(summary.termination.converged(), "{weight}, {start}: {:?}", summary.termination);
            assert!(summary.iterations <= 128, "{weight}, {start}: {} iterations", summary.iterations);
            // The residual eˣ − 1 is 0 within a rounding of 1.
            assert!(found.x[0].abs() < 2.0 * f64::EPSILON, "{weight}, {start}: {}", found.x[0]);
        }
    }
}
