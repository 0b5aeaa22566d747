//! Loops in generated WGSL, interpreted in f32: counts that differ, numbers of the state in single numbers and in pairs, loops in loops.

use crate::interpreter::run;
use crate::kernels;
use residua::eval::pairs::to_table;
use residua_codegen::wgsl::{self, Dispatch, PairDispatch, PairForm};
use residua_codegen::{Index, Kernel, Load, Output, TableBuffer, Width};
use residua_ir::autodiff;
use residua_ir::graph::{CheckedGraph, Graph, InputId, NodeId, Op};

/// Inputs: the count, and the four coefficients and two numbers of the initial state of predators and prey.
const INPUTS: u32 = 7;
const COUNTS: [f64; 6] = [40.0, 0.0, 7.0, 1.0, 39.0, 12.0];

/// One step of Euler's method for predators and prey (Lotka and Volterra), as two halves of a step in a loop within it.
fn body() -> (Graph, Vec<NodeId>) {
    let half = {
        let mut graph = Graph::new();
        let [x, y, a, b, c, d, h] = [1, 2, 3, 4, 5, 6, 7].map(|input| graph.input(InputId(input)));
        let (eaten, eats) = (graph.mul(b, y), graph.mul(d, x));
        let (of_prey, of_predators) = (graph.sub(a, eaten), graph.sub(eats, c));
        let (growth, decay) = (graph.mul(of_prey, x), graph.mul(of_predators, y));
        let (more_prey, more_predators) = (graph.mul(h, growth), graph.mul(h, decay));
        let next = vec![graph.add(x, more_prey), graph.add(y, more_predators)];
        (graph, next)
    };
    let mut graph = Graph::new();
    let inputs: Vec<NodeId> = (0..7).map(|input| graph.input(InputId(input))).collect();
    let (start, count, h) = (graph.literal(0.0), graph.literal(2.0), graph.literal(1.0 / 64.0));
    let operands = [&[start, count], &inputs[1..], &[h]].concat();
    let next = graph.apply_loop(&half.0, &half.1, &operands);
    (graph, next)
}

/// Both numbers of the final state, and their derivatives by the six that it depends on.
fn graph() -> (CheckedGraph, Vec<NodeId>) {
    let mut graph = Graph::new();
    let inputs: Vec<NodeId> = (0..INPUTS).map(|input| graph.input(InputId(input))).collect();
    let (inner, next) = body();
    let start = graph.literal(0.0);
    let states = graph.apply_loop(&inner, &next, &[&[start, inputs[0], inputs[5], inputs[6]], &inputs[1..5]].concat());
    let wrt: Vec<InputId> = (1..INPUTS).map(InputId).collect();
    let partials = autodiff::jacobian(&mut graph, &states, &wrt);
    let partials = partials.into_iter().flatten().map(|partial| partial.expect("each number depends on all"));
    let outputs: Vec<NodeId> = states.into_iter().chain(partials).collect();
    let (graph, outputs) = graph.extract(&outputs);
    assert_eq!(graph.loops().len(), 1);
    (graph.check(INPUTS).unwrap(), outputs)
}

/// Adds what a kernel reads besides its numbers.
fn push_uniforms(buffers: &mut Vec<Vec<u32>>, reads_zero: bool, width: Width, instances: usize) {
    if reads_zero {
        buffers.push(vec![0]);
    }
    let dispatch = Dispatch::new(instances as u32, instances as u32, 0);
    buffers.push(match width {
        Width::Single => dispatch.words().to_vec(),
        Width::Pair => PairDispatch::new(dispatch, [0, 0]).words().to_vec(),
    });
}

fn points() -> Vec<Vec<f64>> {
    let point = |(instance, count): (usize, &f64)| {
        let shift = 0.01 * instance as f64;
        vec![*count, 1.1 + shift, 0.4, 0.4 - shift, 0.1, 5.0 + shift, 3.0]
    };
    COUNTS.iter().enumerate().map(point).collect()
}

/// What an engine finds: for each instance the two numbers, each the sum of its parts, and the derivatives.
fn found(width: Width) -> Vec<Vec<f64>> {
    let (graph, outputs) = graph();
    let instances = COUNTS.len();
    let columns = INPUTS + if width == Width::Pair { INPUTS } else { 0 };
    let load = |column: u32| match width {
        Width::Single => Load::read(0, Index::column(column)),
        Width::Pair => Load::read_pair(0, Index::column(column), Index::column(INPUTS + column)),
    };
    // Derivatives are single numbers beside values in pairs, as in a linearisation.
    let of_output = |(column, node): (u32, &NodeId)| match width {
        Width::Pair if column < 2 => Output::store_pair(*node, 1, Index::column(column), Index::column(14 + column)),
        Width::Pair | Width::Single => Output::store(*node, 1, Index::column(column)),
    };
    let kernel = Kernel {
        buffers: vec![kernels::reals("operands", false), kernels::reals("results", true)],
        loads: (0..INPUTS).map(load).collect(),
        outputs: (0..).zip(&outputs).map(of_output).collect(),
        ..Kernel::new("steps", graph)
    };
    let kernel = kernel.check().unwrap();
    let numbers: Vec<f64> =
        (0..INPUTS as usize).flat_map(|column| points().into_iter().map(move |point| point[column])).collect();
    let data: Vec<u32> = to_table(width, &numbers).into_iter().map(f32::to_bits).collect();
    assert_eq!(data.len(), columns as usize * instances);
    let mut buffers = vec![data, vec![0; 16 * instances]];
    push_uniforms(&mut buffers, wgsl::reads_zero(&kernel), width, instances);
    let text = wgsl::write(&kernel, PairForm::Split).unwrap();
    assert_eq!(text.matches("fn loop_").count(), 2, "one loop in another, each once");
    run(&text, [1, 1], &mut buffers);
    let number = |column: usize, instance: usize| f64::from(f32::from_bits(buffers[1][column * instances + instance]));
    let of_instance = |instance: usize| {
        (0..14).map(move |column| {
            let low = if width == Width::Pair && column < 2 { number(14 + column, instance) } else { 0.0 };
            number(column, instance) + low
        })
    };
    (0..instances).map(|instance| of_instance(instance).collect()).collect()
}

#[test]
fn loops_in_single_numbers_and_in_pairs_are_those_of_the_reference() {
    let (graph, outputs) = graph();
    for width in [Width::Single, Width::Pair] {
        for (found, point) in found(width).iter().zip(points()) {
            // Pairs hold 48 bits of the inputs, single numbers 24. Some 40 steps add up their roundings.
            let rounded = |number: &f64| if width == Width::Pair { *number } else { f64::from(*number as f32) };
            let values = graph.evaluate(&point.iter().map(rounded).collect::<Vec<_>>());
            for (place, (found, output)) in found.iter().zip(&outputs).enumerate() {
                let expected = values[output.index()];
                let bound = if width == Width::Pair && place < 2 { 1e-12 } else { 3e-6 };
                let scale = expected.abs().max(1.0);
                assert!((found - expected).abs() <= bound * scale, "{width:?}: {place} is {found}, not {expected}");
            }
        }
    }
}

/// The sum of count numbers of a table, from its third on, each times the number of another that the sum so far is the place of.
fn of_tables() -> (CheckedGraph, NodeId) {
    let mut body = Graph::new();
    let [k, sum] = [0, 1].map(|input| body.input(InputId(input)));
    let [first, length, other, places] = [2.0, 4.0, 6.0, 3.0].map(|number| body.literal(number));
    let [a, b] = [[k, first, length], [sum, other, places]].map(|operands| body.apply(Op::Lookup, &operands));
    let product = body.mul(a, b);
    let next = body.add(sum, product);
    let mut graph = Graph::new();
    let [count, initial] = [0, 1].map(|input| graph.input(InputId(input)));
    let start = graph.literal(0.0);
    let end = graph.apply_loop(&body, &[next], &[start, count, initial])[0];
    (graph.check(2).unwrap(), end)
}

#[test]
fn loops_read_tables_in_single_numbers_and_in_pairs() {
    let tables = [9.0, 9.0, 0.1, -1.3, 2.7, 0.9, 1.0 / 3.0, 1.7, -0.2];
    let starts = [0.3, 0.4, 1.6, -2.0, 0.7, 9.0];
    let instances = COUNTS.len();
    for width in [Width::Single, Width::Pair] {
        let (graph, end) = of_tables();
        let (load, output) = match width {
            Width::Single => (Load::read(0, Index::column(1)), Output::store(end, 1, Index::column(0))),
            Width::Pair => (
                Load::read_pair(0, Index::column(1), Index::column(3)),
                Output::store_pair(end, 1, Index::column(0), Index::column(1)),
            ),
        };
        let kernel = Kernel {
            buffers: vec![
                kernels::reals("operands", false),
                kernels::reals("results", true),
                kernels::reals("tables", false),
            ],
            loads: vec![Load::read(0, Index::column(0)), load],
            outputs: vec![output],
            tables: Some(TableBuffer { buffer: 2, numbers: tables.len() as u32 }),
            ..Kernel::new("sums", graph.clone())
        };
        let kernel = kernel.check().unwrap();
        let bits = |numbers: &[f64]| to_table(width, numbers).into_iter().map(f32::to_bits).collect::<Vec<u32>>();
        let mut buffers = vec![bits(&[COUNTS, starts].concat()), vec![0; 2 * instances], bits(&tables)];
        push_uniforms(&mut buffers, wgsl::reads_zero(&kernel), width, instances);
        run(&wgsl::write(&kernel, PairForm::Split).unwrap(), [1, 1], &mut buffers);
        let number = |place: usize| f64::from(f32::from_bits(buffers[1][place]));
        for (instance, (count, start)) in COUNTS.into_iter().zip(starts).enumerate() {
            let low = if width == Width::Pair { number(instances + instance) } else { 0.0 };
            let mut values = vec![0.0; graph.graph().len()];
            graph.evaluate_with(&[count, start], &tables, &mut values);
            let (found, expected) = (number(instance) + low, values[end.index()]);
            // Places are far from the next ones, so that some 40 sums of single numbers have their roundings alone.
            let bound = if width == Width::Pair { 1e-11 } else { 1e-4 };
            let scale = expected.abs().max(1.0);
            assert!((found - expected).abs() <= bound * scale, "{width:?}: {instance} is {found}, not {expected}");
        }
    }
}
