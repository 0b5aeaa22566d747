//! Compiled functions on the CPU engine, natively (where kernels are interpreted).

use super::*;
use crate::model::tests::{Recorder, params_model, with_any_loss};
pub(crate) use residua_base::cooperative::run_synchronously as block_on;
use residua_base::error::ErrorCode;
use residua_codegen::Width;
use residua_ir::graph::Op;

pub(crate) fn functions(recorder: Recorder, outputs: Vec<u32>, x: &[f64]) -> Functions {
    let params = x.len() as u32;
    on_cpu(params_model(recorder.tape(outputs, params), params), x)
}

/// The same with kernels for any loss.
pub(crate) fn functions_with_losses(recorder: Recorder, outputs: Vec<u32>, x: &[f64]) -> Functions {
    let params = x.len() as u32;
    on_cpu(with_any_loss(params_model(recorder.tape(outputs, params), params)), x)
}

/// Functions of a model at a point.
pub(crate) fn on_cpu(model: Model, x: &[f64]) -> Functions {
    Functions::new(model, Engine::Cpu(cpu::CpuEngine::new()), x.to_vec()).unwrap()
}

/// Residuals x·y − 1, y², sin(x) − 1 of x = 2, y = 3.
fn three() -> Functions {
    let mut r = Recorder::default();
    let (x, y) = (r.parameter(0), r.parameter(1));
    let one = r.constant(1.0);
    let product = r.apply(Op::Mul, &[x, y]);
    let first = r.apply(Op::Sub, &[product, one]);
    let second = r.square(y);
    let sine = r.apply(Op::Sin, &[x]);
    let third = r.apply(Op::Sub, &[sine, one]);
    functions_with_losses(r, vec![first, second, third], &[2.0, 3.0])
}

#[test]
fn residuals_stand_in_the_order_in_which_they_were_given() {
    let mut f = three();
    assert_eq!(block_on(f.evaluate(None)).unwrap(), [5.0, 9.0, 2f64.sin() - 1.0]);
    assert_eq!(block_on(f.evaluate(Some(&[0.0, 1.0]))).unwrap(), [-1.0, 1.0, -1.0]);
    assert_eq!(f.values(), [2.0, 3.0], "passing x does not change the current parameters");
}

#[test]
fn sums_and_costs_have_the_gradients_of_their_formulas() {
    let mut f = three();
    let sum = block_on(f.evaluate_with_gradient(Objective::Sum, None)).unwrap();
    let r3 = 2f64.sin() - 1.0;
    assert!((sum.cost - (14.0 + r3)).abs() < 1e-14, "three additions of numbers near 10: a few ulp");
    assert_eq!(sum.gradient, [3.0 + 2f64.cos(), 2.0 + 6.0]);
    let cost = block_on(f.evaluate_with_gradient(Objective::LeastSquares, None)).unwrap();
    assert!((cost.cost - 0.5 * (25.0 + 81.0 + r3 * r3)).abs() < 1e-13, "rounding of numbers near 100");
    let expected = [5.0 * 3.0 + r3 * 2f64.cos(), 5.0 * 2.0 + 9.0 * 6.0];
    for (got, expected) in cost.gradient.iter().zip(expected) {
        assert!((got - expected).abs() < 1e-13, "rounding of numbers near 100");
    }
}

#[test]
fn the_jacobian_has_each_place_once_and_zeros_for_constants() {
    let mut f = three();
    let linearisation = block_on(f.evaluate_jacobian(None)).unwrap();
    let pattern = f.pattern().unwrap().clone();
    assert_eq!(pattern.row_offsets, [0, 2, 3, 4]);
    assert_eq!(pattern.col_indices, [0, 1, 1, 0]);
    assert_eq!(linearisation.entries, [3.0, 2.0, 6.0, 2f64.cos()]);
    f.set_constant(vec![false, true]).unwrap();
    assert_eq!(block_on(f.evaluate_jacobian(None)).unwrap().entries, [3.0, 0.0, 0.0, 2f64.cos()]);
    assert_eq!(f.pattern(), Some(&pattern), "the pattern stays");
    assert_eq!(block_on(f.evaluate_with_gradient(Objective::Sum, None)).unwrap().gradient[1], 0.0);
}

#[test]
fn a_jacobian_in_pieces_is_the_one_made_as_a_whole() {
    // Enough for two pieces each: products of neighbours, and differences whose second parameter is every other time the lower one.
    let count = 20_000u32;
    let made = || {
        let mut r = Recorder::default();
        let x: Vec<u32> = (0..=count).map(|number| r.parameter(number)).collect();
        let pairs = |k: usize| (x[k], x[k + 1]);
        let mut outputs: Vec<u32> = Vec::new();
        for k in 0..count as usize {
            let (a, b) = pairs(k);
            outputs.push(r.apply(Op::Mul, &[a, b]));
        }
        for k in 0..count as usize {
            let (a, b) = if k % 2 == 0 { pairs(k) } else { (pairs(k).1, pairs(k).0) };
            let square = r.square(b);
            outputs.push(r.apply(Op::Sub, &[a, square]));
        }
        functions(r, outputs, &(0..=count).map(|k| f64::from(k % 97) + 0.5).collect::<Vec<_>>())
    };
    let (mut whole, mut in_pieces) = (made(), made());
    for batch in &mut in_pieces.model.batches {
        let first = batch.row(0);
        assert!((0..count).all(|instance| batch.row(instance as usize) == first + instance));
        batch.rows = Rows::From(first);
    }
    let mut pieces = Vec::new();
    let mut give = |part, start, piece: &mut [f64]| pieces.push((part, start, piece.len()));
    block_on(in_pieces.evaluate_jacobian_in_pieces(None, &mut give)).unwrap();
    pieces.retain(|(part, ..)| *part == Part::Residuals);
    let lengths = [16_384, 3_616, 16_384, 3_616];
    assert_eq!(pieces.iter().map(|(.., length)| *length).collect::<Vec<_>>(), lengths, "32,768 entries each");
    in_pieces.set_constant((0..=count).map(|k| k % 5 == 0).collect()).unwrap();
    whole.set_constant(in_pieces.constant.clone()).unwrap();
    let expected = block_on(whole.evaluate_jacobian(None)).unwrap();
    assert_eq!(block_on(in_pieces.evaluate_jacobian(None)).unwrap(), expected);
}

#[test]
fn weights_and_losses_shape_the_cost_and_leave_residuals_raw() {
    let mut f = three();
    f.set_weight(0, 2.0).unwrap();
    f.set_loss(0, LossParameters::new("huber", 1.0, 0.0, 1.0).unwrap()).unwrap();
    assert_eq!(block_on(f.evaluate(None)).unwrap()[1], 9.0);
    let r3: f64 = 2f64.sin() - 1.0;
    let huber = |r: f64| if r.abs() <= 1.0 { r * r } else { 2.0 * r.abs() - 1.0 };
    let cost = block_on(f.evaluate_with_gradient(Objective::LeastSquares, None)).unwrap();
    let expected = 0.5 * 2.0 * (huber(5.0) + huber(9.0) + huber(r3));
    assert!((cost.cost - expected).abs() < 1e-13, "rounding of numbers near 20");
    assert!((cost.gradient[1] - 2.0 * (2.0 + 6.0)).abs() < 1e-13, "ρ′ = 1/|r| outside");
    f.set_enabled(0, false).unwrap();
    let nothing = block_on(f.evaluate_with_gradient(Objective::LeastSquares, None)).unwrap();
    assert_eq!((nothing.cost, nothing.gradient), (0.0, vec![0.0, 0.0]));
}

#[test]
fn a_long_sum_is_one_residual_in_values_cost_and_jacobian() {
    let count = 100u32;
    let mut r = Recorder::default();
    let terms: Vec<u32> = (0..count)
        .map(|number| {
            let x = r.parameter(number);
            r.square(x)
        })
        .collect();
    let sum = terms.into_iter().reduce(|a, b| r.apply(Op::Add, &[a, b])).unwrap();
    let x: Vec<f64> = (0..count).map(f64::from).collect();
    let mut f = functions(r, vec![sum], &x);
    let total: f64 = x.iter().map(|x| x * x).sum();
    assert_eq!(block_on(f.evaluate(None)).unwrap(), [total], "whole numbers add up exactly");
    let cost = block_on(f.evaluate_with_gradient(Objective::LeastSquares, None)).unwrap();
    assert_eq!(cost.cost, 0.5 * total * total);
    assert_eq!(cost.gradient[7], total * 14.0);
    let linearisation = block_on(f.evaluate_jacobian(None)).unwrap();
    assert_eq!(linearisation.entries, x.iter().map(|x| 2.0 * x).collect::<Vec<_>>());
    assert_eq!(f.pattern().unwrap().row_offsets, [0, count]);
}

#[test]
fn right_derivatives_pass_the_check() {
    let check = block_on(three().check_gradients(None)).unwrap();
    // Central differences with a step of 6e-6 give a smooth function's derivative to about 1e-10.
    assert!(check.max_relative_error < 1e-8, "{check:?}");
}

#[test]
fn a_derivative_that_is_not_a_number_is_an_error_of_gradients() {
    let mut r = Recorder::default();
    let x = r.parameter(0);
    let root = r.apply(Op::Sqrt, &[x]);
    let mut f = functions(r, vec![root], &[4.0]);
    let check = block_on(f.check_gradients(None)).unwrap();
    // Central differences with steps of a few 1e-6 have some ten digits.
    assert!(check.max_relative_error < 1e-9, "{check:?}");
    let check = block_on(f.check_gradients(Some(&[-1.0]))).unwrap();
    assert_eq!(check.max_relative_error, f64::INFINITY, "derivative and difference are both NaN");
}

#[test]
fn what_is_not_finite_is_named() {
    let mut r = Recorder::default();
    let (x, y) = (r.parameter(0), r.parameter(1));
    let outputs = vec![r.apply(Op::Add, &[x, y]), r.apply(Op::Sqrt, &[y])];
    let mut f = functions(r, outputs, &[1.0, -1.0]);
    let error = block_on(f.non_finite_error(&[1.0, -1.0], Arithmetic::F64)).unwrap();
    assert_eq!(error.code, ErrorCode::NonFinite);
    assert!(error.message.contains("residual 1") && error.message.contains("NaN"), "{}", error.message);
    let error = block_on(f.non_finite_error(&[1.0, 0.0], Arithmetic::F64)).unwrap();
    assert!(error.message.contains("parameter 1") && error.message.contains("inf"), "{}", error.message);
    for (x, named) in [
        ([1e200, 1e300], "residual 0 is 1.0e300 at the start, too large for sums of squares"),
        ([0.0, 1e-320], "the derivative of residual 1 with respect to parameter 1 is "),
    ] {
        let error = block_on(f.non_finite_error(&x, Arithmetic::F64)).unwrap();
        assert!(error.message.contains(named) && error.message.contains("double precision"), "{}", error.message);
    }
}

#[test]
fn numbers_are_set_by_their_places_and_those_after_a_solve_remembered_once() {
    let mut r = Recorder::default();
    let outputs: Vec<_> = (0..1000).map(|number| r.parameter(number)).collect();
    let mut f = functions(r, outputs, &[0.0; 1000]);
    f.set_values_at(&[3, 5], &[2, 1], &[1.0, 2.0, 3.0]).unwrap();
    assert_eq!(f.values()[2..7], [0.0, 1.0, 2.0, 3.0, 0.0]);
    assert_eq!(f.set_since_solve(), None, "no solve has left anything elsewhere");
    f.leave_on_device();
    for _ in 0..10_000 {
        f.set_values_at(&[8, 4], &[1, 1], &[4.0, 5.0]).unwrap();
    }
    assert_eq!(f.set_since_solve(), Some(&[8..9, 4..5][..]));
    for place in 0..500 {
        f.set_values_at(&[2 * place], &[1], &[6.0]).unwrap();
    }
    assert_eq!(f.set_since_solve(), None, "too many places to look at each");
    f.leave_on_device();
    assert_eq!(f.set_since_solve(), Some(&[][..]));
    f.set_values_at(&[0], &[1000], &[7.0; 1000]).unwrap();
    assert_eq!(f.set_since_solve(), None, "all of them are here again");
    let error = f.set_values_at(&[999], &[2], &[1.0, 2.0]).unwrap_err();
    assert!(error.message.contains("2 numbers from 999 on"), "{}", error.message);
}

#[test]
fn wrong_lengths_and_numbers_are_refused_in_words() {
    let mut f = three();
    for (result, words) in [
        (f.set_values(vec![0.0]), "1 numbers; it takes numParams = 2"),
        (f.set_constant(vec![true; 3]), "3 numbers; it takes numParams = 2"),
        (f.set_weight(1, 1.0), "1 residual blocks, and no number 1"),
        (f.set_data(0, 0, &[1.0, 2.0, 3.0]), "do not fit a data table"),
    ] {
        let error = result.unwrap_err();
        assert_eq!(error.code, ErrorCode::InvalidArgument);
        assert!(error.message.contains(words), "{}", error.message);
    }
}

/// 16,400 residuals of two kinds, one after the other, over 300 parameters, of which all of the first kind share one; and, if
/// wanted, a long sum.
fn two_kinds(with_long_sum: bool) -> Model {
    let parameters = 300u32;
    let mut r = Recorder::default();
    let shared = r.parameter(0);
    let (mut products, mut squares, mut addends) = (Vec::new(), Vec::new(), Vec::new());
    for number in 0..8_200 {
        let x = r.parameter(1 + number % (parameters - 1));
        products.push(r.apply(Op::Mul, &[x, shared]));
        squares.push(r.square(x));
        addends.push(r.apply(Op::Exp, &[x]));
    }
    products.extend(squares);
    if with_long_sum {
        products.push(addends.into_iter().reduce(|a, b| r.apply(Op::Add, &[a, b])).unwrap());
    }
    functions(r, products, &vec![0.5; parameters as usize]).model().clone()
}

/// A gradient that comes back.
fn gradient_call(objective: Objective, seeded: bool) -> record_gradient::GradientCall {
    record_gradient::GradientCall { objective, seeded, at: record_gradient::Point::Brought, stays: false, fixed: false }
}

#[test]
fn recordings_keep_to_small_limits_and_run_every_instance_once() {
    use residua_gpu::submission::{Encoded, Step};
    use residua_gpu::{Limits, Submissions};

    // The long sum's seeds bind all residuals at once, so it goes with the large limit alone.
    for (width, binding, batch_size, with_long_sum) in [
        (Width::Single, 1 << 15, None, false),
        (Width::Single, 1 << 27, None, true),
        // The residuals of pairs are bound at once.
        (Width::Pair, 1 << 18, Some(1000), false),
        (Width::Pair, 1 << 27, None, true),
    ] {
        let model = two_kinds(with_long_sum);
        let (numbers, count) = texts::kernel_numbers(&model);
        let mut plans = access_plan_cache::AccessPlanCache::new(&model, numbers, count, width);
        for entry in crate::model::access_plan::Entry::ALL {
            plans.make(&model, entry).unwrap();
        }
        let partials: Vec<usize> = (0..count)
            .map(|number| plans.of_kernel(number, crate::model::access_plan::Entry::Jacobian).unwrap().partials.len())
            .collect();
        let instances: u32 = model.batches.iter().map(|batch| batch.count).sum();
        let limits = Limits { max_storage_buffer_binding_size: binding, ..Limits::default() };
        let layout = layout::Layout::new(&model, width, &partials, &limits, batch_size).unwrap();
        for entry in [crate::model::access_plan::Entry::SumGradient, crate::model::access_plan::Entry::CostGradient] {
            plans.make_lists(&layout, entry).unwrap();
        }
        assert_eq!(layout.chunks.iter().map(|chunk| chunk.range.len() as u32).sum::<u32>(), instances);
        let have_lists = layout.lists.of_chunks.iter().filter(|lists| lists.is_some()).count();
        assert!(have_lists > 0);
        assert!(have_lists < layout.chunks.len());
        assert_eq!(layout.chunks.len() > model.batches.len(), !with_long_sum, "{} chunks", layout.chunks.len());
        let recordings = [
            record_gradient::record_gradient(&model, &layout, &plans, &limits, gradient_call(Objective::Sum, false))
                .unwrap(),
            record_gradient::record_gradient(
                &model,
                &layout,
                &plans,
                &limits,
                gradient_call(Objective::LeastSquares, with_long_sum),
            )
            .unwrap(),
            record::record_values(&model, &layout, &plans, &limits).unwrap(),
            record::record_partials(&model, &layout, &plans, &limits).unwrap(),
        ];
        for recording in recordings {
            // Checks every binding against the limits, alignments and aliasing.
            let plan = Submissions::new(&recording.list, &limits).unwrap();
            let dispatches = plan.steps.iter().flat_map(|step| match step {
                Step::Submit(parts) => parts.as_slice(),
                Step::Write { .. } => &[],
            });
            let kernels = dispatches
                .flat_map(|part| match part {
                    Encoded::Pass(dispatches) => dispatches.as_slice(),
                    Encoded::Copy { .. } | Encoded::Clear { .. } | Encoded::Download { .. } => &[],
                })
                .count();
            assert!(kernels >= layout.chunks.len(), "one dispatch a chunk at least");
        }
    }
    for binding in [1 << 16, 1 << 27] {
        let model = two_kinds(false);
        let (numbers, count) = texts::kernel_numbers(&model);
        let mut plans = access_plan_cache::AccessPlanCache::new(&model, numbers, count, Width::Single);
        for entry in crate::model::access_plan::Entry::ALL {
            plans.make(&model, entry).unwrap();
        }
        let limits = Limits { max_storage_buffer_binding_size: binding, ..Limits::default() };
        let layout = layout::Layout::new(&model, Width::Single, &[2, 1], &limits, None).unwrap();
        for objective in [Objective::Sum, Objective::LeastSquares] {
            plans
                .make_lists(&layout, objective::Descent::<access_plan_cache::AccessPlanCache>::entries(objective)[0])
                .unwrap();
        }
        let mut list = declare::Segment::<(), ()>::default();
        let vectors: Vec<_> = ["x", "g", "p"].map(|name| list.list.buffer(name, 4 * 300)).into();
        let [x, g, p] = [0, 1, 2].map(|k| list.list.whole(vectors[k]));
        let gate = list.list.buffer("gate", 16);
        let gate = list.list.whole(gate);
        for objective in [Objective::Sum, Objective::LeastSquares] {
            let descent =
                objective::Descent { model: &model, layout: &layout, kernels: &plans, limits: &limits, objective };
            let sums = descent.evaluate(&mut list, x, g, gate).unwrap();
            assert!(sums.count <= 1024 && u64::from(sums.count * sums.width) * 4 <= sums.slice.size);
            let steps = list.list.buffer("steps", 16);
            let steps = list.list.whole(steps);
            descent.along(&mut list, x, p, steps).unwrap();
        }
        let plan = Submissions::new(&list.list, &limits).unwrap();
        assert!(
            matches!(plan.steps.as_slice(), [Step::Submit(parts)] if matches!(parts.as_slice(), [Encoded::Pass(_)]))
        );
    }
    let small = Limits { max_storage_buffer_binding_size: 1024, ..Limits::default() };
    let refused = layout::Layout::new(&two_kinds(false), Width::Single, &[2, 1], &small, None);
    assert_eq!(refused.unwrap_err().code, ErrorCode::LimitExceeded, "300 parameters take 1,200 bytes");
}

#[test]
fn what_differs_in_derivatives_alone_is_another_kernel() {
    let mut r = Recorder::default();
    let (x, y) = (r.parameter(0), r.parameter(1));
    let fixed = r.apply(Op::StopGradient, &[y]);
    let outputs = vec![r.square(x), r.apply(Op::Mul, &[y, fixed])];
    let f = functions(r, outputs, &[2.0, 3.0]);
    assert_eq!(texts::kernel_numbers(f.model()), (vec![0, 1], 2));
}

#[test]
fn kernels_in_pairs_have_losses_from_when_a_block_has_one() {
    use crate::model::access_plan::Entry;

    let mut r = Recorder::default();
    let (x, y) = (r.parameter(0), r.parameter(1));
    let outputs = vec![r.square(x), r.apply(Op::Mul, &[x, y])];
    let mut model = functions_with_losses(r, outputs, &[2.0, 3.0]).model().clone();
    let (numbers, count) = texts::kernel_numbers(&model);
    let plans_in = |model: &Model, width| {
        let mut plans = access_plan_cache::AccessPlanCache::new(model, numbers.clone(), count, width);
        for entry in [Entry::CostGradient, Entry::Values] {
            plans.make(model, entry).unwrap();
        }
        plans
    };
    let losses = |plans: &access_plan_cache::AccessPlanCache| -> Vec<usize> {
        (0..count).map(|number| plans.of_kernel(number, Entry::CostGradient).unwrap().kernel.calls.len()).collect()
    };
    assert_eq!(losses(&plans_in(&model, Width::Single)), vec![1; count]);
    let mut plans = plans_in(&model, Width::Pair);
    assert_eq!(losses(&plans), vec![0; count]);
    model.blocks[0].loss = LossParameters::new("squared", 1.0, 1.0, 2.0).unwrap();
    assert_eq!(plans.loss_changed(&model), []);

    model.blocks[0].loss = LossParameters::new("huber", 1.0, 1.0, 1.0).unwrap();
    assert_eq!(plans.loss_changed(&model), (0..count).collect::<Vec<_>>());
    assert!(plans.of_kernel(0, Entry::CostGradient).is_err(), "a kernel with a loss is planned again");
    assert!(plans.of_kernel(0, Entry::Values).is_ok(), "residuals have no loss");
    plans.make(&model, Entry::CostGradient).unwrap();
    assert_eq!(losses(&plans), vec![1; count]);
    assert_eq!(losses(&plans_in(&model, Width::Pair)), vec![1; count], "a loss at the start");

    model.blocks[0].loss = LossParameters::default();
    assert_eq!(plans.loss_changed(&model), [], "a kernel that has losses keeps them");
}
