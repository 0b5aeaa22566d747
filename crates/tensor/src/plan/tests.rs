//! Plans against the reference: the same recipe, fused into kernels, gives the same numbers.

mod quantised;

use super::execute::{bytes_of, elements_of, execute, execute_by};
use super::*;
use crate::dtype::DType;
use crate::expr::evaluate;
use crate::expr::{Border, Combine, Elementwise as E, Reduction, Tensor, TensorOp};
use crate::expr::{Expr, TensorId};
use crate::size::Size;

mod attention;
mod borders;
mod convolutions;
mod empty;
mod extremes;
mod fourier;
mod linalg;
mod long;
mod narrow;
mod offsets;
mod parts;
mod products;
mod softmax;
mod sorting;
mod sources;
mod sparse;
mod sparse_systems;
mod verified;
mod windows;

const GPU: Target = Target { is_host: false, most_buffers: 8 };

fn size(value: i64) -> Size {
    Size::constant(value)
}

fn shape(extents: &[i64]) -> Vec<Size> {
    extents.iter().map(|extent| size(*extent)).collect()
}

/// Numbers between −2 and 2 that repeat nothing.
fn numbers(count: usize, seed: usize) -> Vec<f64> {
    (0..count).map(|k| f64::from((((k + 31 * seed) as f64 * 0.754_877_666).fract() * 4.0 - 2.0) as f32)).collect()
}

/// Runs a recipe as a plan and compares each result, and each slot, with the reference. Gives the plan.
fn check(expr: Expr, results: &[TensorId], inputs: &[Vec<f64>], dims: &[u32]) -> Plan {
    check_assigned(expr, results, &[], inputs, dims)
}

fn check_assigned(
    expr: Expr,
    results: &[TensorId],
    assignments: &[(u32, TensorId)],
    inputs: &[Vec<f64>],
    dims: &[u32],
) -> Plan {
    expr.check().expect("a recipe that plans and runs");
    let expected = evaluate(&expr, dims, inputs);
    let recipe = Recipe {
        expr,
        dims: dims.iter().map(|dim| dim + 3).collect(),
        results: results.to_vec(),
        assignments: assignments.to_vec(),
    };
    // A plan for the host gives the same numbers, by the code that is generated for its kernels.
    let host = Plan::new(&recipe, &Target { is_host: true, ..GPU }).expect("a recipe that plans and runs");
    let plan = Plan::new(&recipe, &GPU).expect("a recipe that plans and runs");
    for kernel in &plan.kernels {
        let text =
            crate::wgsl::write(kernel, &crate::wgsl::DeviceLimits::default()).expect("a recipe that plans and runs");
        residua_portable::validated(&text.text);
    }
    let dtype_of_slot = |slot: usize| {
        let is_slot = |tensor: &&Tensor| tensor.op == TensorOp::Input(slot as u32);
        recipe.expr.nodes.iter().find(is_slot).map_or(DType::F32, |tensor| tensor.dtype)
    };
    let mut slots: Vec<Vec<u8>> =
        inputs.iter().enumerate().map(|(slot, elements)| bytes_of(dtype_of_slot(slot), elements)).collect();
    let mut host_slots = slots.clone();
    let on_host =
        execute_by(&host, dims, &mut host_slots, &crate::wasm::run_generated).expect("a recipe that plans and runs");
    let found = execute(&plan, dims, &mut slots).expect("a recipe that plans and runs");
    for (id, result) in results.iter().zip(&plan.results) {
        let writes = plan.steps.iter().filter_map(|step| match step {
            Step::Dispatch { kernel, places } => {
                Some((*kernel as usize, places.iter().position(|place| place == result)?))
            }
            Step::Copy { .. } => None,
        });
        for (kernel, buffer) in writes.filter(|(kernel, buffer)| plan.kernels[*kernel].buffers[*buffer].written) {
            let count = plan.elements(kernel, dims)[buffer];
            assert_eq!(
                count,
                expected[id.0 as usize].data.len() as u64,
                "elements that '{}' writes",
                plan.kernels[kernel].name
            );
        }
    }
    let compare = |id: TensorId, bytes: &[u8]| {
        let expected = &expected[id.0 as usize].data;
        let found = elements_of(recipe.expr.tensor(id).dtype, bytes, expected.len());
        assert_eq!(found.len(), expected.len());
        for (place, (found, expected)) in found.iter().zip(expected).enumerate() {
            // Kernels compute in f32: a few roundings of numbers of this size.
            let close =
                (found - expected).abs() <= 2e-5 * (1.0 + expected.abs()) || found.is_nan() && expected.is_nan();
            assert!(close || found == expected, "element {place} of tensor {}: {found}, not {expected}", id.0);
        }
    };
    for found in [&found, &on_host] {
        for (id, bytes) in results.iter().zip(found) {
            compare(*id, bytes);
        }
    }
    for (slot, id) in assignments {
        compare(*id, &slots[*slot as usize]);
        compare(*id, &host_slots[*slot as usize]);
    }
    plan
}

fn names(plan: &Plan) -> Vec<&str> {
    plan.kernels.iter().map(|kernel| kernel.name.as_str()).collect()
}

fn softmax(expr: &mut Expr, x: TensorId) -> TensorId {
    let shape = expr.shape(x).to_vec();
    let axis = [shape.len() as u32 - 1];
    let most = expr.reduce(Reduction::Max, x, &axis);
    let most = expr.restore(most, &axis, &shape);
    let difference = expr.elementwise(E::Sub, &[x, most]);
    let exponential = expr.elementwise(E::Exp, &[difference]);
    let sum = expr.reduce(Reduction::Sum, exponential, &axis);
    let sum = expr.restore(sum, &axis, &shape);
    expr.elementwise(E::Div, &[exponential, sum])
}

#[test]
fn a_chain_of_maps_is_one_kernel_over_one_axis() {
    let mut expr = Expr::default();
    let (x, y) = (expr.input(0, DType::F32, &shape(&[5, 7])), expr.input(1, DType::F32, &shape(&[5, 7])));
    let sum = expr.elementwise(E::Add, &[x, y]);
    let sine = expr.elementwise(E::Sin, &[sum]);
    let root = expr.elementwise(E::Mul, &[sine, x]);
    let plan = check(expr, &[root], &[numbers(35, 1), numbers(35, 2)], &[]);
    assert_eq!(names(&plan), ["map_mul_sin_add"]);
    let crate::kernel::Body::Elements(body) = &plan.kernels[0].body else { panic!("a map") };
    assert_eq!(body.space.len(), 1);
}

#[test]
fn equal_dispatches_share_a_kernel() {
    let mut expr = Expr::default();
    let mut x = expr.input(0, DType::F32, &shape(&[4, 6]));
    let mut inputs = vec![numbers(24, 1)];
    for slot in 1..4 {
        let weight = expr.input(slot, DType::F32, &shape(&[6, 6]));
        inputs.push(numbers(36, slot as usize));
        x = softmax(&mut expr, x);
        x = expr.matmul(x, weight, DType::F32);
    }
    let plan = check(expr, &[x], &inputs, &[]);
    assert_eq!((plan.steps.len(), plan.kernels.len()), (6, 2), "{plan}");
}

#[test]
fn views_cost_no_kernel() {
    let mut expr = Expr::default();
    let x = expr.input(0, DType::F32, &shape(&[4, 6]));
    let transposed = expr.transpose(x);
    let flipped = expr.slice(transposed, shape(&[5, 0]), vec![-1, 2], shape(&[6, 2]));
    let flat = expr.reshape(flipped, &shape(&[3, 4]));
    let padded = expr.pad_with_zeros(flat, shape(&[1, 2]), &shape(&[5, 7]));
    let other = expr.input(1, DType::F32, &shape(&[7]));
    let sum = expr.elementwise(E::Add, &[padded, other]);
    let plan = check(expr, &[sum], &[numbers(24, 1), numbers(7, 2)], &[]);
    assert_eq!(plan.kernels.len(), 1);
}

#[test]
fn borders_read_what_they_say() {
    for border in [Border::Clamp, Border::Wrap, Border::Mirror] {
        let mut expr = Expr::default();
        let x = expr.input(0, DType::F32, &shape(&[3, 5]));
        let op = TensorOp::Pad { before: shape(&[2, 4]), border };
        let padded = expr.push(Tensor { op, operands: vec![x], dtype: DType::F32, shape: shape(&[8, 13]) });
        check(expr, &[padded], &[numbers(15, 3)], &[]);
    }
}

#[test]
fn every_reduction_agrees_over_every_choice_of_axes() {
    let reductions = [
        Reduction::Sum,
        Reduction::Prod,
        Reduction::Min,
        Reduction::Max,
        Reduction::ArgMin,
        Reduction::ArgMax,
        Reduction::Variance,
    ];
    for reduction in reductions {
        for axes in [&[0u32][..], &[1], &[2], &[0, 2], &[1, 2], &[0, 1, 2]] {
            let mut expr = Expr::default();
            let x = expr.input(0, DType::F32, &shape(&[3, 4, 5]));
            let y = expr.elementwise(E::Sin, &[x]);
            let reduced = expr.reduce(reduction, y, axes);
            check(expr, &[reduced], &[numbers(60, 5)], &[]);
        }
    }
}

#[test]
fn long_reductions_are_cut_into_blocks() {
    for (extents, axes) in [(&[50_000][..], &[0u32][..]), (&[3, 20_000], &[1]), (&[2000, 3], &[0])] {
        for reduction in [Reduction::Sum, Reduction::ArgMax, Reduction::Variance] {
            let mut expr = Expr::default();
            let x = expr.input(0, DType::F32, &shape(extents));
            let reduced = expr.reduce(reduction, x, axes);
            let two = expr.constant(2.0, expr.dtype(reduced));
            let scaled = expr.elementwise(E::Mul, &[reduced, two]);
            let count = extents.iter().product::<i64>() as usize;
            let plan = check(expr, &[scaled], &[numbers(count, 5)], &[]);
            assert_eq!(plan.kernels.len(), 2, "{:?}", names(&plan));
        }
    }
}

#[test]
fn scans_agree_short_and_long() {
    let every = &[(false, false), (true, false), (false, true), (true, true)][..];
    // Interpreting the kernels of a long scan takes seconds: each kind of scan has one shape.
    let (forward, backward) = (&[(false, false), (true, false)][..], &[(false, true), (true, true)][..]);
    for (extents, axis, kinds) in
        [(&[4, 9][..], 1, every), (&[9, 4], 0, every), (&[4100], 0, backward), (&[2, 4097], 1, forward)]
    {
        for &(exclusive, reverse) in kinds {
            let mut expr = Expr::default();
            let x = expr.input(0, DType::F32, &shape(extents));
            let scanned = expr.scan(x, Reduction::Sum, axis, exclusive, reverse);
            let count = extents.iter().product::<i64>() as usize;
            let plan = check(expr, &[scanned], &[numbers(count, 2)], &[]);
            assert_eq!(plan.kernels.len(), if extents[axis as usize] > 4096 { 3 } else { 1 });
        }
    }
}

#[test]
fn a_long_depth_is_cut_and_what_follows_is_computed_from_the_sum() {
    for batch in [1, 2] {
        let mut expr = Expr::default();
        let x = expr.input(0, DType::F32, &shape(&[batch, 2048, 9]));
        let w = expr.input(1, DType::F32, &shape(&[2048, 10]));
        let bias = expr.input(2, DType::F32, &shape(&[10]));
        let transposed = expr.transpose(x);
        let product = expr.matmul(transposed, w, DType::F32);
        let sum = expr.elementwise(E::Add, &[product, bias]);
        // Integers, whose sums are exact in every order.
        let integers = |count: i64, seed: i64| (0..count).map(|k| (k * seed % 9 - 4) as f64).collect::<Vec<_>>();
        let inputs = [integers(batch * 2048 * 9, 7), integers(20_480, 5), integers(10, 2)];
        let plan = check(expr, &[sum, product], &inputs, &[]);
        assert_eq!(names(&plan), ["product_add_of_slices", "product_add_sum"]);
    }
    // Few rows are summed by many threads as it is.
    let mut expr = Expr::default();
    let x = expr.input(0, DType::I32, &shape(&[8, 2048]));
    let w = expr.input(1, DType::I32, &shape(&[2048, 10]));
    let product = expr.matmul(x, w, DType::I32);
    let plan = check(expr, &[product], &[vec![3.0; 16_384], vec![-2.0; 20_480]], &[]);
    assert_eq!(plan.steps.len(), 1);
}

#[test]
fn an_optimiser_updates_in_place_by_one_kernel() {
    let mut expr = Expr::default();
    let [w, m, g] = [0, 1, 2].map(|slot| expr.input(slot, DType::F32, &shape(&[3, 5])));
    let rate = expr.constant(0.125, DType::F32);
    let scaled = expr.elementwise(E::Mul, &[g, rate]);
    let moment = expr.elementwise(E::Add, &[m, scaled]);
    let weight = expr.elementwise(E::Sub, &[w, moment]);
    let plan =
        check_assigned(expr, &[], &[(0, weight), (1, moment)], &[numbers(15, 1), numbers(15, 2), numbers(15, 3)], &[]);
    assert_eq!(plan.steps.len(), 1, "{:?}", names(&plan));
}

#[test]
fn an_assignment_that_reads_elsewhere_is_copied() {
    let mut expr = Expr::default();
    let x = expr.input(0, DType::F32, &shape(&[6]));
    let flipped = expr.slice(x, shape(&[5]), vec![-1], shape(&[6]));
    let plan = check_assigned(expr, &[], &[(0, flipped)], &[numbers(6, 1)], &[]);
    assert!(matches!(plan.steps.last(), Some(Step::Copy { .. })));
}

#[test]
fn a_result_computed_from_old_contents_is_computed_before_the_assignment() {
    let mut expr = Expr::default();
    let x = expr.input(0, DType::F32, &shape(&[6]));
    let one = expr.constant(1.0, DType::F32);
    let next = expr.elementwise(E::Add, &[x, one]);
    let sum = expr.reduce(Reduction::Sum, x, &[0]);
    check_assigned(expr, &[sum], &[(0, next)], &[numbers(6, 1)], &[]);
}

#[test]
fn scatters_combine_in_order() {
    for combine in [Combine::Set, Combine::Add, Combine::Mul, Combine::Min, Combine::Max] {
        let mut expr = Expr::default();
        let base = expr.input(0, DType::F32, &shape(&[4, 3]));
        let indices = expr.input(1, DType::I32, &shape(&[5]));
        let source = expr.input(2, DType::F32, &shape(&[5, 3]));
        let put = expr.index_put(base, indices, source, 0, combine);
        let inputs = [numbers(12, 1), vec![2.0, -1.0, 2.0, 7.0, 0.0], numbers(15, 3)];
        check(expr, &[put], &inputs, &[]);
        let mut expr = Expr::default();
        let base = expr.input(0, DType::F32, &shape(&[4, 3]));
        let indices = expr.input(1, DType::I32, &shape(&[4, 2]));
        let source = expr.input(2, DType::F32, &shape(&[4, 2]));
        let put = expr.scatter(base, indices, source, 1, combine);
        let inputs = [numbers(12, 1), vec![2.0, -1.0, 2.0, 2.0, 0.0, 1.0, 9.0, 1.0], numbers(8, 3)];
        check(expr, &[put], &inputs, &[]);
    }
}

#[test]
fn sizes_may_differ_from_run_to_run() {
    let mut expr = Expr::default();
    let rows = Size::dim(0);
    let x = expr.input(0, DType::F32, &[rows.clone(), size(4)]);
    let y = softmax(&mut expr, x);
    let flat = expr.reshape(y, &[&rows * &size(4)]);
    let total = expr.reduce(Reduction::Sum, flat, &[0]);
    let transposed = expr.transpose(y);
    for dim in [0, 1, 3, 6] {
        check(expr.clone(), &[transposed, total], &[numbers(4 * dim as usize, 1)], &[dim]);
    }
}

#[test]
fn a_product_of_rows_that_dims_decide_has_a_kernel_for_few() {
    for (dim, guards) in [(30, [(0, 1), (2, 8), (9, u32::MAX)].as_slice()), (3, &[(0, 1), (2, 8)])] {
        let mut expr = Expr::default();
        let x = expr.input(0, DType::F32, &[Size::dim(0), size(8)]);
        let y = expr.input(1, DType::F32, &shape(&[8, 5]));
        let product = expr.matmul(x, y, DType::F32);
        let shifted = expr.elementwise(E::Sin, &[product]);
        let plan = check(expr, &[shifted], &[numbers(8 * dim as usize, 1), numbers(40, 2)], &[dim]);
        let found: Vec<(u32, u32)> = plan
            .kernels
            .iter()
            .filter_map(|kernel| kernel.guard.as_ref())
            .map(|guard| (guard.least, guard.most))
            .collect();
        assert_eq!(found, guards, "{plan}");
        for dims in [0, 1, 2, 8, 9, 30].map(|dim| [dim]) {
            assert_eq!(
                plan.kernels.iter().filter(|kernel| kernel.runs(&dims)).count(),
                usize::from(dims[0] <= 8 || dim == 30)
            );
        }
    }
}

#[test]
fn a_slot_is_not_written_where_a_kernel_for_few_rows_reads_it_as_a_factor() {
    let mut expr = Expr::default();
    let x = expr.input(0, DType::F32, &[Size::dim(0), size(8)]);
    let y = expr.input(1, DType::F32, &shape(&[8, 8]));
    let product = expr.matmul(x, y, DType::F32);
    for dim in [1, 30] {
        let inputs = [numbers(8 * dim as usize, 1), numbers(64, 2)];
        let plan = check_assigned(expr.clone(), &[], &[(0, product)], &inputs, &[dim]);
        assert!(matches!(plan.steps.last(), Some(Step::Copy { .. })), "{plan}");
    }
}

#[test]
fn concatenations_of_many_parts_and_gathers_agree() {
    let mut expr = Expr::default();
    let parts: Vec<TensorId> =
        (0..12).map(|slot| expr.input(slot, DType::F32, &shape(&[2, 1 + i64::from(slot) % 3]))).collect();
    let whole = expr.concat(&parts, 1);
    let indices = expr.input(12, DType::I32, &shape(&[4]));
    let gathered = expr.gather(whole, indices, 1);
    let mut inputs: Vec<Vec<f64>> = (0..12).map(|slot| numbers(2 * (1 + slot % 3), slot)).collect();
    inputs.push(vec![3.0, -2.0, 100.0, 0.0]);
    check(expr, &[gathered, whole], &inputs, &[]);
}

#[test]
fn a_product_is_a_result_and_an_assignment() {
    let mut expr = Expr::default();
    let (x, y) = (expr.input(0, DType::F32, &shape(&[3, 5])), expr.input(1, DType::F32, &shape(&[5, 4])));
    expr.input(2, DType::F32, &shape(&[3, 4]));
    expr.input(3, DType::F32, &shape(&[3, 4]));
    let product = expr.matmul(x, y, DType::F32);
    let inputs = [numbers(15, 1), numbers(20, 2), numbers(12, 3), numbers(12, 4)];
    check_assigned(expr.clone(), &[product], &[(2, product)], &inputs, &[]);
    check_assigned(expr, &[], &[(2, product), (3, product)], &inputs, &[]);
}

#[test]
fn a_bias_is_updated_where_its_gradient_is_summed() {
    let mut expr = Expr::default();
    let (x, bias) = (expr.input(0, DType::F32, &shape(&[6, 5])), expr.input(1, DType::F32, &shape(&[5])));
    let gradient = expr.reduce(Reduction::Sum, x, &[0]);
    let next = expr.elementwise(E::Sub, &[bias, gradient]);
    let plan = check_assigned(expr, &[], &[(1, next)], &[numbers(30, 1), numbers(5, 2)], &[]);
    assert_eq!(plan.steps.len(), 1, "{plan}");
}

#[test]
fn a_scatter_by_a_sort_runs_as_kernels() {
    let mut expr = Expr::default();
    let base = expr.input(0, DType::F32, &shape(&[4, 3]));
    let indices = expr.input(1, DType::I32, &shape(&[5]));
    let source = expr.input(2, DType::F32, &shape(&[5, 3]));
    let put = {
        let target = Target { is_host: false, most_buffers: 8 };
        let on = super::sort::Where { target: &target, most_dims: &[] };
        super::scatter::by_sort(&mut expr, &[base, indices, source], 0, Combine::Add, false, on)
    };
    check(expr, &[put], &[numbers(12, 1), vec![2.0, -1.0, 2.0, 7.0, 0.0], numbers(15, 3)], &[]);
}

#[test]
fn states_of_long_reductions_fit_the_bindings() {
    let mut expr = Expr::default();
    let x = expr.input(0, DType::F32, &shape(&[20_000]));
    let reductions = [Reduction::Sum, Reduction::Variance, Reduction::Max, Reduction::ArgMax, Reduction::Min];
    let results = reductions.map(|reduction| expr.reduce(reduction, x, &[0]));
    // Every text is written for a device with eight storage buffers.
    check(expr, &results, &[numbers(20_000, 1)], &[]);
}

#[test]
fn two_cut_reductions_of_wide_states_have_memory_of_their_own() {
    let mut graph = residua_ir::graph::Graph::new();
    let sums: Vec<_> = (0..12)
        .map(|k| {
            let inputs = [k, k + 12].map(|input| graph.input(residua_ir::graph::InputId(input)));
            graph.apply(residua_ir::graph::Op::Add, &inputs)
        })
        .collect();
    let merge = graph.check(24).expect("inputs of two states");
    let rule = std::rc::Rc::new(crate::expr::Rule { identity: vec![0.0; 12], merge, results: sums });
    let mut expr = Expr::default();
    let mut results = Vec::new();
    for slot in 0..2 {
        let x = expr.input(slot, DType::F32, &shape(&[9000]));
        let operands: Vec<TensorId> = (1..=12)
            .map(|factor| {
                let factor = expr.constant(f64::from(factor), DType::F32);
                expr.elementwise(E::Mul, &[x, factor])
            })
            .collect();
        for result in 0..12 {
            let op = TensorOp::Fold { rule: rule.clone(), axes: vec![0], result };
            results.push(expr.push(Tensor { op, operands: operands.clone(), dtype: DType::F32, shape: Vec::new() }));
        }
    }
    let recipe = Recipe { expr, dims: Vec::new(), results, assignments: Vec::new() };
    let plan = Plan::new(&recipe, &Target { most_buffers: 64, ..GPU }).expect("a recipe that plans");
    let mut slots = [1.0, 2.0].map(|number| bytes_of(DType::F32, &[number; 9000]));
    let found = execute(&plan, &[], &mut slots).expect("a plan that runs");
    let found: Vec<f64> = found.iter().flat_map(|bytes| elements_of(DType::F32, bytes, 1)).collect();
    let expected = [1.0, 2.0].iter().flat_map(|number| (1..=12).map(move |factor| 9000.0 * number * f64::from(factor)));
    assert_eq!(found, expected.collect::<Vec<f64>>());
}
