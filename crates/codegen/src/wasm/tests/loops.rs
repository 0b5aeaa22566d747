//! Loops in generated modules: lanes with different counts, loops in loops, a kernel of several functions.

use super::kernel;
use super::machine::{Contents, assert_same, real, run_compiled, run_interpreted, same};
use crate::{Index, InstanceRange, Load, Output};
use residua_ir::graph::{Graph, InputId, NodeId, Op};
use residua_portable::Random;

/// A body of random operations over the counter, the states and the captured numbers; with a loop within it if it is `nested`.
fn body(random: &mut Random, states: u32, captured: u32, nested: bool) -> (Graph, Vec<NodeId>) {
    const OPS: [Op; 12] = [
        Op::Add,
        Op::Sub,
        Op::Mul,
        Op::Neg,
        Op::Min,
        Op::Exp,
        Op::Sin,
        Op::Tanh,
        Op::Select,
        Op::Lt,
        Op::Round,
        Op::Atan2,
    ];
    let mut graph = Graph::new();
    let mut nodes: Vec<NodeId> = (0..=states + captured).map(|input| graph.input(InputId(input))).collect();
    nodes.push(graph.literal(0.75));
    for operation in 0..12 {
        if nested && operation == 6 {
            let (inner, next) = body(random, 2, 1, false);
            let operands: Vec<NodeId> = (0..5).map(|_| nodes[random.below(nodes.len())]).collect();
            let count = graph.literal(3.0);
            let operands = [&[operands[0], count], &operands[2..]].concat();
            nodes.extend(graph.apply_loop(&inner, &next, &operands));
        }
        let op = OPS[random.below(OPS.len())];
        let operands: Vec<NodeId> = (0..op.arity()).map(|_| nodes[random.below(nodes.len())]).collect();
        let result = graph.apply(op, &operands);
        // Large numbers would soon be infinite.
        nodes.push(graph.apply(Op::Sin, &[result]));
    }
    let next = (0..states).map(|_| nodes[nodes.len() - 1 - random.below(8)]).collect();
    (graph, next)
}

#[test]
fn loops_compute_what_the_reference_does_whatever_the_counts_of_the_lanes() {
    let counts = [3.0, 0.0, 5.0, 5.0, -2.0, 1.0, f64::NAN, 2.5, 7.0, f64::NEG_INFINITY, 4.0];
    let mut random = Random(11);
    for trial in 0..60 {
        let mut graph = Graph::new();
        let inputs: Vec<NodeId> = (0..4).map(|input| graph.input(InputId(input))).collect();
        let [count, a, b, start] = inputs[..] else { unreachable!("there are four") };
        let (inner, next) = body(&mut random, 3, 2, trial % 2 == 1);
        let states = graph.apply_loop(&inner, &next, &[start, count, a, b, a, b, start]);
        // The same body again, from where the first loop ends, and another one after it.
        let again = graph.apply_loop(&inner, &next, &[start, count, states[2], states[0], a, b, start]);
        let (other, next) = body(&mut random, 1, 1, false);
        let last = graph.apply_loop(&other, &next, &[start, count, again[1], states[1]]);
        let sum = graph.add(last[0], again[0]);
        let outputs = [states[0], sum, again[2]];
        let (graph, outputs) = graph.extract(&outputs);
        let outputs = (0..).zip(outputs).map(|(column, node)| Output::store(node, 1, Index::column(column)));
        let outputs: Vec<Output> = outputs.collect();
        let total = Output::reduce(outputs[1].node);
        let buffers = vec![real("data", false), real("values", true)];
        let loads = (0..4).map(|column| Load::read(0, Index::column(column))).collect();
        let kernel =
            kernel(graph.check(4).unwrap(), buffers, loads, [&outputs[..], std::slice::from_ref(&total)].concat());

        let instances = counts.len() as u32;
        let mut data = counts.to_vec();
        data.extend((0..3 * instances).map(|_| random.between((-2.0, 2.0))));
        let buffers = [Contents::Reals(data), Contents::Reals(vec![0.0; 3 * counts.len()])];
        let dispatch = InstanceRange { instances: 0..instances, stride: instances, first: 0, origin: 0 };
        let (mut compiled, mut interpreted) = (buffers.clone(), buffers);
        let found = run_compiled(&kernel, &mut compiled, &dispatch).unwrap();
        let expected = run_interpreted(&kernel, &mut interpreted, &dispatch).unwrap();
        assert!(same(found, expected), "trial {trial}: {found}, not {expected}");
        assert_same(&compiled, &interpreted, &format!("trial {trial}"));
    }
}

#[test]
fn a_loop_of_more_numbers_than_a_function_has_parameters_computes_the_same() {
    // Each number becomes the sine of the next, of 1,000; the last takes the first.
    const STATES: u32 = 1000;
    let mut inner = Graph::new();
    let next: Vec<NodeId> = (0..STATES)
        .map(|state| {
            let next = inner.input(InputId(1 + (state + 1) % STATES));
            inner.sin(next)
        })
        .collect();
    let mut graph = Graph::new();
    let count = graph.input(InputId(0));
    let start = graph.literal(0.0);
    let initial = (1..=STATES).map(|input| graph.input(InputId(input)));
    let operands: Vec<NodeId> = [start, count].into_iter().chain(initial.collect::<Vec<_>>()).collect();
    let states = graph.apply_loop(&inner, &next, &operands);
    let again = graph.apply_loop(&inner, &next, &[&operands[..2], &states].concat());
    let outputs = [Output::store(again[3], 1, Index::column(0)), Output::store(again[997], 1, Index::column(1))];
    let loads = (0..=STATES).map(|column| Load::read(0, Index::column(column))).collect();
    let buffers = vec![real("data", false), real("values", true)];
    let kernel = kernel(graph.check(1 + STATES).unwrap(), buffers, loads, outputs.to_vec());
    let counts = [3.0, 1.0, 0.0, 2.0, 4.0];
    let mut data = counts.to_vec();
    let mut random = Random(3);
    data.extend((0..counts.len() * STATES as usize).map(|_| random.between((-2.0, 2.0))));
    let buffers = [Contents::Reals(data), Contents::Reals(vec![0.0; 2 * counts.len()])];
    let dispatch = InstanceRange { instances: 0..5, stride: 5, first: 0, origin: 0 };
    let (mut compiled, mut interpreted) = (buffers.clone(), buffers);
    run_compiled(&kernel, &mut compiled, &dispatch).unwrap();
    run_interpreted(&kernel, &mut interpreted, &dispatch).unwrap();
    assert_same(&compiled, &interpreted, "many numbers");
}
