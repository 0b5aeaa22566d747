//! Parts of slots that are written in place: what runs, what is written, and that readers of every state of a slot see it.

use super::*;
use crate::kernel::{Body, TensorKernel};

/// Elements that a kernel without reductions writes.
fn written(kernel: &TensorKernel, dims: &[u32]) -> u32 {
    let Body::Elements(body) = &kernel.body else { panic!("{} has rows", kernel.name) };
    body.space.iter().map(|extent| kernel.extent(*extent, dims)).product::<u32>() * body.stores.len() as u32
}

fn copies(plan: &Plan) -> usize {
    plan.steps.iter().filter(|step| matches!(step, Step::Copy { .. })).count()
}

fn dim(place: u32) -> Size {
    Size::dim(place)
}

#[test]
fn a_part_of_a_slot_is_written_alone_and_read_from_the_slot() {
    let mut expr = Expr::default();
    let base = expr.input(0, DType::F32, &shape(&[3, 16, 4]));
    let source = expr.input(1, DType::F32, &[size(3), dim(1), size(4)]);
    let half = expr.constant(0.5, DType::F32);
    let scaled = expr.elementwise(E::Mul, &[source, half]);
    let next = expr.set_slice(base, vec![size(0), dim(0), size(0)], scaled);
    let end = &dim(0) + &dim(1);
    let filled = expr.slice(next, shape(&[0, 0, 0]), vec![1; 3], vec![size(3), end, size(4)]);
    let sum = expr.reduce(Reduction::Sum, filled, &[1]);
    for dims in [[0, 1], [5, 3], [15, 1], [4, 0], [0, 13]] {
        let inputs = [numbers(3 * 16 * 4, 1), numbers(12 * dims[1] as usize, 2)];
        let plan = check_assigned(expr.clone(), &[sum], &[(0, next)], &inputs, &dims);
        assert_eq!((plan.steps.len(), copies(&plan)), (2, 0), "{plan}");
        assert_eq!(written(&plan.kernels[0], &dims), 12 * dims[1]);
        assert!(!plan.places.iter().any(|place| matches!(place, super::super::Place::Temporary { .. })), "{plan}");
    }
}

#[test]
fn keys_and_values_are_cast_and_written_by_one_kernel_in_whole_words() {
    let mut expr = Expr::default();
    let cells = [0, 1].map(|slot| expr.input(slot, DType::F16, &shape(&[2, 9, 8])));
    let sources = [2, 3].map(|slot| expr.input(slot, DType::F32, &[dim(1), size(2), size(8)]));
    let mut results = Vec::new();
    let mut assignments = Vec::new();
    for slot in 0..2 {
        let heads = expr.permute(sources[slot], &[1, 0, 2]);
        let narrow = expr.cast(heads, DType::F16);
        let next = expr.set_slice(cells[slot], vec![size(0), dim(0), size(0)], narrow);
        let last = expr.slice(next, vec![size(0), dim(0), size(0)], vec![1; 3], vec![size(2), dim(1), size(8)]);
        let wide = expr.cast(last, DType::F32);
        results.push(expr.reduce(Reduction::Sum, wide, &[2]));
        assignments.push((slot as u32, next));
    }
    for dims in [[0, 1], [4, 3]] {
        let new = 16 * dims[1] as usize;
        // Numbers of few bits, which half precision holds.
        let halves = |count: usize| (0..count).map(|k| (k % 31) as f64 * 0.125).collect::<Vec<f64>>();
        let inputs = [halves(144), halves(144), halves(new), halves(new)];
        let plan = check_assigned(expr.clone(), &results, &assignments, &inputs, &dims);
        assert_eq!(copies(&plan), 0, "{plan}");
        let writer = &plan.kernels[0];
        assert_eq!(written(writer, &dims), 2 * 16 * dims[1], "{plan}");
        let text = crate::wgsl::write(writer, &crate::wgsl::DeviceLimits::default()).expect("a kernel").text;
        assert!(!text.contains("atomic"), "{text}");
        assert!(plan.steps.len() <= 3, "{plan}");
    }
}

#[test]
fn several_parts_of_a_slot_are_written_in_order_and_each_state_is_read() {
    let mut expr = Expr::default();
    let base = expr.input(0, DType::I32, &shape(&[10]));
    let one = expr.input(1, DType::I32, &shape(&[3]));
    let total = |expr: &mut Expr, x| expr.reduce(Reduction::Sum, x, &[0]);
    let before = total(&mut expr, base);
    let first = expr.set_slice(base, vec![dim(0)], one);
    let between = total(&mut expr, first);
    // What is written next depends on the sum before it.
    let twice = expr.elementwise(E::Mul, &[one, between]);
    let second = expr.set_slice(first, vec![dim(1)], twice);
    let after = total(&mut expr, second);
    for dims in [[0, 7], [2, 3], [5, 5]] {
        let inputs = [(0..10).map(f64::from).collect(), vec![7.0, -3.0, 11.0]];
        let plan = check_assigned(expr.clone(), &[before, between, after], &[(0, second)], &inputs, &dims);
        assert_eq!((plan.steps.len(), copies(&plan)), (5, 0), "{plan}");
    }
}

#[test]
fn a_kernel_that_needs_two_states_of_a_slot_gets_them() {
    let mut expr = Expr::default();
    let base = expr.input(0, DType::F32, &shape(&[8]));
    let source = expr.input(1, DType::F32, &shape(&[3]));
    let next = expr.set_slice(base, vec![dim(0)], source);
    let change = expr.elementwise(E::Sub, &[next, base]);
    for start in [0, 4, 5] {
        check_assigned(expr.clone(), &[change], &[(0, next)], &[numbers(8, 1), numbers(3, 2)], &[start]);
    }
}

#[test]
fn a_part_that_is_computed_from_other_places_of_the_slot_is_right() {
    // In place where each element is computed from the one that it replaces.
    let mut expr = Expr::default();
    let base = expr.input(0, DType::F32, &shape(&[8]));
    let at = |expr: &mut Expr, start: Size| expr.slice(base, vec![start], vec![1], shape(&[4]));
    let (own, other) = (at(&mut expr, dim(0)), at(&mut expr, &dim(0) + &size(1)));
    let one = expr.constant(1.0, DType::F32);
    let plus = expr.elementwise(E::Add, &[own, one]);
    let same = expr.set_slice(base, vec![dim(0)], plus);
    let plan = check_assigned(expr.clone(), &[], &[(0, same)], &[numbers(8, 1)], &[2]);
    assert_eq!((plan.steps.len(), written(&plan.kernels[0], &[2])), (1, 4));
    let moved = expr.set_slice(base, vec![dim(0)], other);
    check_assigned(expr, &[], &[(0, moved)], &[numbers(8, 1)], &[2]);
}

#[test]
fn packed_parts_may_begin_and_end_within_a_word() {
    for (dtype, start, count) in [(DType::U8, 1, 3), (DType::F16, 3, 1), (DType::Bool, 2, 5), (DType::U8, 4, 4)] {
        let mut expr = Expr::default();
        let base = expr.input(0, dtype, &shape(&[3, 9]));
        let source = expr.input(1, dtype, &shape(&[3, count]));
        let next = expr.set_slice(base, vec![size(0), dim(0)], source);
        let bits = |count: usize, step: usize| (0..count).map(|k| (k / step % 2) as f64).collect::<Vec<f64>>();
        let plan = check_assigned(expr, &[], &[(0, next)], &[bits(27, 2), bits(3 * count as usize, 1)], &[start]);
        assert_eq!((plan.steps.len(), written(&plan.kernels[0], &[start])), (1, 3 * count as u32));
    }
}

#[test]
fn a_part_that_no_slot_gets_is_computed_like_a_view() {
    let mut expr = Expr::default();
    let (x, part) = (expr.input(0, DType::F32, &shape(&[4, 5])), expr.input(1, DType::F32, &shape(&[2, 5])));
    let put = expr.set_slice(x, vec![dim(0), size(0)], part);
    let sine = expr.elementwise(E::Sin, &[put]);
    let sum = expr.reduce(Reduction::Sum, sine, &[1]);
    let plan = check(expr.clone(), &[sum], &[numbers(20, 1), numbers(10, 2)], &[1]);
    assert_eq!(plan.steps.len(), 1, "{plan}");
    // Assigned to another slot than the one that it comes from.
    check_assigned(expr, &[sum], &[(2, put)], &[numbers(20, 1), numbers(10, 2), numbers(20, 3)], &[1]);
}

#[test]
fn random_orders_of_parts_and_reads_agree() {
    let mut state = 2026u64;
    let mut draw = |bound: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % bound
    };
    let mut in_place = 0;
    for _ in 0..120 {
        let mut expr = Expr::default();
        let dtype = [DType::F32, DType::F16, DType::I32][draw(3) as usize];
        let mut states = vec![expr.input(0, dtype, &shape(&[5, 6]))];
        let other = expr.input(1, dtype, &shape(&[5, 6]));
        let mut pool = vec![other];
        let mut results = Vec::new();
        for _ in 0..2 + draw(4) {
            let from = states[draw(states.len() as u64) as usize];
            match draw(3) {
                // A result that is computed from some state.
                0 => {
                    let sum = expr.reduce(Reduction::Max, from, &[draw(2) as u32]);
                    results.push(sum);
                }
                // Something that later parts are computed from.
                1 => {
                    let limit = expr.constant(2.0, dtype);
                    let mixed = pool[draw(pool.len() as u64) as usize];
                    let least = expr.elementwise(E::Minimum, &[from, mixed]);
                    pool.push(expr.elementwise(E::Minimum, &[least, limit]));
                }
                _ => {
                    let source = pool[draw(pool.len() as u64) as usize];
                    let (rows, columns) = (1 + draw(3) as i64, 1 + draw(6) as i64);
                    let starts = [draw(3) as i64, draw((7 - columns) as u64) as i64];
                    let part = expr.slice(source, shape(&starts), vec![1, 1], shape(&[rows, columns]));
                    let start = if draw(2) == 0 { dim(0) } else { size(draw(3) as i64) };
                    let column = size(draw((7 - columns) as u64) as i64);
                    let last = states[states.len() - 1];
                    states.push(expr.set_slice(last, vec![start, column], part));
                }
            }
        }
        let last = states[states.len() - 1];
        if draw(3) == 0 {
            results.push(last);
        }
        // Eighths, which every type but i32 holds.
        let scale = if dtype == DType::I32 { 1.0 } else { 0.125 };
        let numbers = |seed: usize| (0..30).map(|k| ((k * 7 + seed * 5) % 23) as f64 * scale).collect::<Vec<f64>>();
        let plan = check_assigned(expr, &results, &[(0, last)], &[numbers(1), numbers(2)], &[2]);
        in_place += usize::from(states.len() > 1 && copies(&plan) == 0);
    }
    assert!(in_place > 40, "{in_place}");
}

#[test]
fn queries_are_turned_beside_the_keys_that_are_written() {
    for dtype in [DType::F32, DType::F16] {
        let mut expr = Expr::default();
        let cell = expr.input(0, dtype, &shape(&[2, 9, 8]));
        let table = expr.input(1, DType::F32, &[dim(1), size(8)]);
        let [queries, keys] = [(2, 3), (3, 2)].map(|(slot, heads)| {
            let x = expr.input(slot, DType::F32, &[dim(1), size(heads), size(8)]);
            let heads = expr.permute(x, &[1, 0, 2]);
            expr.elementwise(E::Mul, &[heads, table])
        });
        let narrow = expr.cast(keys, dtype);
        let next = expr.set_slice(cell, vec![size(0), dim(0), size(0)], narrow);
        let end = &dim(0) + &dim(1);
        let all = expr.slice(next, shape(&[0, 0, 0]), vec![1; 3], vec![size(2), end, size(8)]);
        let wide = expr.cast(all, DType::F32);
        let sum = expr.reduce(Reduction::Sum, wide, &[1]);
        for dims in [[0, 1], [4, 3], [9, 0]] {
            let count = dims[1] as usize;
            let halves = |count: usize| (0..count).map(|k| (k % 13) as f64 * 0.25).collect::<Vec<f64>>();
            let inputs = [halves(144), halves(8 * count), halves(24 * count), halves(16 * count)];
            let plan = check_assigned(expr.clone(), &[queries, sum], &[(0, next)], &inputs, &dims);
            let maps = plan.kernels.iter().filter(|kernel| matches!(kernel.body, Body::Maps(_))).count();
            assert_eq!((maps, plan.steps.len()), (1, 2), "{plan}");
        }
    }
}
