//! Loops are compared with the same steps written one after another.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use super::*;
use crate::graph::{LoopBody, MOST_STEPS, Op, steps};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// Inputs of the outer graph: parameters and a count.
const PARAMETERS: u32 = 3;

/// A body over some states and captured numbers, in a graph of its own.
#[derive(Clone, Debug)]
struct Body {
    graph: Graph,
    next: Vec<NodeId>,
}

/// The loop as one, or as steps one after another.
fn apply(graph: &mut Graph, body: &Body, operands: &[NodeId], unrolled: Option<u32>) -> Vec<NodeId> {
    let Some(count) = unrolled else { return graph.apply_loop(&body.graph, &body.next, operands) };
    let (mut state, captured) = {
        let (initial, captured) = operands[2..].split_at(body.next.len());
        (initial.to_vec(), captured.to_vec())
    };
    for step in 0..count {
        let step = graph.literal(f64::from(step));
        let counter = graph.add(operands[0], step);
        let inputs = [&[counter], &state[..], &captured[..]].concat();
        state = graph.substitute(&body.graph, &inputs, &body.next);
    }
    state
}

#[derive(Clone, Debug)]
struct Application {
    op: Op,
    operands: [Index; 3],
}

const OPS: &[Op] = &[
    Op::Add,
    Op::Sub,
    Op::Mul,
    Op::Sin,
    Op::Cos,
    Op::Tanh,
    Op::Atan,
    Op::Sigmoid,
    Op::Min,
    Op::Select,
    Op::Lt,
    Op::StopGradient,
];

/// A body of random operations. Each number of the next state is within −3 and 3, so that nothing grows.
fn bodies(states: usize, captured: usize) -> impl Strategy<Value = Body> {
    let application = (select(OPS), [any::<Index>(), any::<Index>(), any::<Index>()]);
    let application = application.prop_map(|(op, operands)| Application { op, operands });
    (vec(application, 1..10), vec(any::<Index>(), states)).prop_map(move |(applications, next)| {
        let mut graph = Graph::new();
        let mut nodes: Vec<NodeId> =
            (0..(1 + states + captured) as u32).map(|input| graph.input(InputId(input))).collect();
        nodes.push(graph.literal(0.75));
        for Application { op, operands } in applications {
            let operands: Vec<NodeId> = operands[..op.arity()].iter().map(|index| *index.get(&nodes)).collect();
            nodes.push(graph.apply(op, &operands));
        }
        let bounded = |graph: &mut Graph, node: NodeId| {
            let sine = graph.sin(node);
            let three = graph.literal(3.0);
            graph.mul(three, sine)
        };
        let next = next.iter().map(|index| {
            let node = *index.get(&nodes);
            if index.index(7) == 0 { node } else { bounded(&mut graph, node) }
        });
        let next = next.collect();
        Body { graph, next }
    })
}

/// Values, the Jacobian and the gradient of the Jacobian's sum, of all outputs by all parameters.
fn derivatives(mut graph: Graph, outputs: &[NodeId], at: &[f64], direction: Direction) -> Vec<f64> {
    let wrt: Vec<InputId> = (0..PARAMETERS).map(InputId).collect();
    let (zero, one) = (graph.literal(0.0), graph.literal(1.0));
    let row = |graph: &mut Graph, output: NodeId| {
        let row = Sweep::<true> { direction, ..Sweep::default() }.gradient(graph, &[(output, one)], &wrt);
        row.into_iter().map(|partial| partial.unwrap_or(zero)).collect::<Vec<_>>()
    };
    let partials: Vec<NodeId> = outputs.iter().flat_map(|output| row(&mut graph, *output)).collect();
    let sum = partials.iter().fold(zero, |sum, partial| graph.add(sum, *partial));
    let second = row(&mut graph, sum);
    let all: Vec<NodeId> = outputs.iter().copied().chain(partials).chain(second).collect();
    let (graph, all) = graph.extract(&all);
    let values = graph.check(PARAMETERS + 1).unwrap().evaluate(at);
    all.iter().map(|node| values[node.index()]).collect()
}

fn assert_close(found: &[f64], expected: &[f64]) -> Result<(), TestCaseError> {
    prop_assert_eq!(found.len(), expected.len());
    for (place, (found, expected)) in found.iter().zip(expected).enumerate() {
        // Tangents go forward through a loop, and adjoints backward with sums of their own, so that terms are added in another order than backward through the
        // steps. Selections may fall otherwise where a step's roundings decide.
        let is_close = (found - expected).abs() <= 1e-10 * expected.abs().max(1.0);
        prop_assert!(
            is_close || found == expected || found.is_nan() && expected.is_nan(),
            "{place}: {found}, not {expected}"
        );
    }
    Ok(())
}

fn config() -> ProptestConfig {
    let rng_seed = proptest::test_runner::RngSeed::Fixed(1);
    ProptestConfig { cases: 512, rng_seed, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_loop_has_the_values_and_derivatives_of_its_steps(
        body in bodies(3, 2),
        other in bodies(2, 1),
        initial in vec(0..5usize, 3),
        count in 0..6u32,
        is_literal in any::<bool>(),
        direction in select(&[Direction::Forward, Direction::Backward][..]),
        at in vec(-1.5..1.5, PARAMETERS as usize),
    ) {
        let graph_of = |is_unrolled: bool| {
            let mut graph = Graph::new();
            let parameters: Vec<NodeId> = (0..PARAMETERS).map(|input| graph.input(InputId(input))).collect();
            let known = if is_literal { graph.literal(f64::from(count)) } else { graph.input(InputId(PARAMETERS)) };
            let (half, start) = (graph.literal(0.5), graph.literal(2.0));
            let product = graph.mul(parameters[0], parameters[1]);
            let sources = [parameters[0], parameters[1], parameters[2], half, product];
            let state: Vec<NodeId> = initial.iter().map(|source| sources[*source]).collect();
            let operands = [&[start, known], &state[..], &[parameters[2], product]].concat();
            let unrolled = is_unrolled.then_some(count);
            let first = apply(&mut graph, &body, &operands, unrolled);
            // A second loop over what the first one gives, and the first again from there.
            let of_second = apply(&mut graph, &other, &[start, known, first[1], first[0], parameters[1]], unrolled);
            let again = apply(&mut graph, &body, &[start, known, of_second[0], first[2], first[0], parameters[2], product], unrolled);
            let last = graph.mul(again[0], first[0]);
            (graph, vec![first[0], of_second[1], last, again[2]])
        };
        let at = [&at[..], &[f64::from(count)]].concat();
        let [(of_loop, outputs), (steps, expected)] = [false, true].map(graph_of);
        let expected = derivatives(steps, &expected, &at, Direction::Cheaper);
        assert_close(&derivatives(of_loop, &outputs, &at, direction), &expected)?;
    }

    #[test]
    fn loops_in_loops_have_the_values_and_derivatives_of_their_steps(
        inner in bodies(2, 2),
        takes_state in any::<bool>(),
        takes_counter in any::<bool>(),
        direction in select(&[Direction::Forward, Direction::Backward][..]),
        [outer_count, inner_count] in [0..5u32, 0..4u32],
        at in vec(-1.5..1.5, PARAMETERS as usize),
    ) {
        let graph_of = |is_unrolled: bool| {
            let unrolled = |count| is_unrolled.then_some(count);
            // The outer body: states x and y, captured a and the inner count.
            let mut graph = Graph::new();
            let [counter, x, y, a, count] = [0, 1, 2, 3, 4].map(|input| graph.input(InputId(input)));
            let start = if takes_counter { counter } else { graph.literal(0.0) };
            let from = if takes_state { x } else { a };
            let states = apply(&mut graph, &inner, &[start, count, from, a, a, from], unrolled(inner_count));
            let next_x = graph.add(states[0], y);
            let next_x = graph.sin(next_x);
            let next_y = graph.mul(states[1], x);
            let next_y = graph.apply(Op::Tanh, &[next_y]);
            let outer = Body { graph, next: vec![next_x, next_y] };
            let mut graph = Graph::new();
            let [p, q, r] = [0, 1, 2].map(|input| graph.input(InputId(input)));
            let (zero, count) = (graph.literal(0.0), graph.input(InputId(PARAMETERS)));
            let steps = graph.literal(f64::from(outer_count));
            let outputs = apply(&mut graph, &outer, &[zero, steps, p, q, r, count], unrolled(outer_count));
            (graph, outputs)
        };
        let at = [&at[..], &[f64::from(inner_count)]].concat();
        let [(of_loop, outputs), (steps, expected)] = [false, true].map(graph_of);
        let expected = derivatives(steps, &expected, &at, Direction::Cheaper);
        assert_close(&derivatives(of_loop, &outputs, &at, direction), &expected)?;
    }

    #[test]
    fn the_predicted_pattern_is_that_of_the_jacobian(body in bodies(3, 2), initial in vec(0..4usize, 3)) {
        let mut graph = Graph::new();
        let parameters: Vec<NodeId> = (0..PARAMETERS).map(|input| graph.input(InputId(input))).collect();
        let (count, zero) = (graph.input(InputId(PARAMETERS)), graph.literal(0.0));
        let sources = [&parameters[..], &[zero]].concat();
        let state: Vec<NodeId> = initial.iter().map(|source| sources[*source]).collect();
        let outputs = graph.apply_loop(&body.graph, &body.next, &[&[zero, count], &state[..], &parameters[1..]].concat());
        let wrt: Vec<InputId> = (0..PARAMETERS).map(InputId).collect();
        let pattern = sparsity(&graph, &outputs, &wrt);
        let one = graph.literal(1.0);
        for direction in [Direction::Forward, Direction::Backward] {
            for (output, pattern) in outputs.iter().zip(&pattern) {
                let row = Sweep::<true> { direction, ..Sweep::default() }.gradient(&mut graph, &[(*output, one)], &wrt);
                prop_assert_eq!(&row.iter().map(Option::is_some).collect::<Vec<_>>(), pattern);
            }
        }
    }
}

#[test]
fn adjoints_of_many_steps_are_those_of_tangents_whatever_the_segments() {
    // x ← x + h·(a − x·y) and y ← y·cos(b·x), with the counter: Jacobians of some digits after hundreds of steps.
    let mut body = Graph::new();
    let [counter, x, y, a, b] = [0, 1, 2, 3, 4].map(|input| body.input(InputId(input)));
    let (h, scale) = (body.literal(1e-2), body.literal(1e-3));
    let product = body.mul(x, y);
    let slope = body.sub(a, product);
    let change = body.mul(h, slope);
    let next_x = body.add(x, change);
    let angle = body.mul(b, x);
    let angle = body.mul(angle, scale);
    let (wave, drift) = (body.cos(angle), body.mul(counter, scale));
    let next_y = body.mul(y, wave);
    let drift = body.mul(drift, scale);
    let next_y = body.add(next_y, drift);
    for count in [0u32, 1, 2, 7, 8, 9, 10, 31, 100, 101, 120, 257, 700] {
        for is_literal in [true, false] {
            let mut graph = Graph::new();
            let [a, b, c] = [0, 1, 2].map(|input| graph.input(InputId(input)));
            let start = graph.literal(3.0);
            let known = if is_literal { graph.literal(f64::from(count)) } else { graph.input(InputId(PARAMETERS)) };
            let states = graph.apply_loop(&body, &[next_x, next_y], &[start, known, c, b, a, c]);
            let at = [0.7, 0.9, 1.3, f64::from(count)];
            let [forward, backward] = [Direction::Forward, Direction::Backward]
                .map(|direction| derivatives(graph.clone(), &states, &at, direction));
            for (place, (found, expected)) in backward.iter().zip(&forward).enumerate() {
                // Some thousand roundings.
                let is_close = (found - expected).abs() <= 1e-11 * expected.abs().max(1.0);
                assert!(is_close, "{count} steps, {place}: {found}, not {expected}");
            }
        }
    }
}

#[test]
fn loops_of_many_numbers_that_depend_on_each_other_are_passed_backward_and_others_forward() {
    // xᵢ ← xᵢ + tanh(Σ wᵢⱼ·xⱼ), by all weights.
    let is_backward = |states: u32, outputs: usize, count: f64| {
        let mut body = Graph::new();
        let mut next = Vec::new();
        for i in 0..states {
            let mut sum = body.literal(0.0);
            for j in 0..states {
                let (x, weight) =
                    (body.input(LoopBody::state(j as usize)), body.input(InputId(1 + states + i * states + j)));
                let product = body.mul(weight, x);
                sum = body.add(sum, product);
            }
            let (x, wave) = (body.input(LoopBody::state(i as usize)), body.apply(Op::Tanh, &[sum]));
            next.push(body.add(x, wave));
        }
        let mut graph = Graph::new();
        let (zero, one, count) = (graph.literal(0.0), graph.literal(1.0), graph.literal(count));
        let wrt: Vec<InputId> = (0..states * states).map(InputId).collect();
        let mut operands = vec![zero, count];
        operands.extend((0..states).map(|state| graph.literal(f64::from(state))));
        operands.extend(wrt.iter().map(|input| graph.input(*input)));
        let results = graph.apply_loop(&body, &next, &operands);
        let active = active_nodes(&graph, &wrt);
        let mut sweep = Sweep::<true> { outputs, ..Sweep::default() };
        let _ = sweep.run(&mut graph, &active, &[(results[0], one)]);
        sweep.backward
    };
    for (states, outputs, count, expected) in [
        (3, 1, 100.0, false),
        (12, 1, 100.0, true),
        (12, 12, 100.0, false),
        (12, 1, 1_000_000.0, false),
        (12, 1, 2.0, true),
    ] {
        assert_eq!(
            is_backward(states, outputs, count),
            Some(vec![expected]),
            "{states} numbers, {outputs} outputs, {count} steps"
        );
    }
}

/// x ← x + h·a·x, with y that nothing needs.
fn growth(graph: &mut Graph, count: NodeId) -> Vec<NodeId> {
    let mut body = Graph::new();
    let [counter, x, y, a, h] = [0, 1, 2, 3, 4].map(|input| body.input(InputId(input)));
    let rate = body.mul(a, h);
    let change = body.mul(rate, x);
    let (next_x, next_y) = (body.add(x, change), body.add(y, counter));
    let (a, zero, step) = (graph.input(InputId(0)), graph.literal(0.0), graph.literal(1e-3));
    let one = graph.literal(1.0);
    graph.apply_loop(&body, &[next_x, next_y], &[zero, count, one, zero, a, step])
}

#[test]
fn the_length_of_a_graph_does_not_depend_on_the_count() {
    let lengths = [10.0, 100_000.0].map(|count| {
        let mut graph = Graph::new();
        let count = graph.literal(count);
        let states = growth(&mut graph, count);
        let partial = jacobian(&mut graph, &states[..1], &[InputId(0)])[0][0].unwrap();
        let (graph, outputs) = graph.extract(&[states[0], partial]);
        let steps = graph.literal_value(graph.loops()[0].count()).unwrap();
        let values = graph.clone().check(1).unwrap().evaluate(&[0.2]);
        // (1 + h·a)ⁿ, whose derivative is n·h·(1 + h·a)ⁿ⁻¹. A step rounds twice.
        let expected = [(1.0 + 2e-4f64).powf(steps), steps * 1e-3 * (1.0 + 2e-4f64).powf(steps - 1.0)];
        for (output, expected) in outputs.iter().zip(expected) {
            let found = values[output.index()];
            assert!((found - expected).abs() <= 4e-16 * steps * expected, "{found}, not {expected}");
        }
        assert_eq!(graph.loops().len(), 1, "values and derivatives are of one loop");
        assert_eq!(graph.loops()[0].body().states(), 2, "the state that is not needed is dropped");
        graph.len() + graph.loops()[0].body().graph().graph().len()
    });
    assert_eq!(lengths[0], lengths[1]);
}

#[test]
fn what_does_not_change_is_computed_before_the_loop() {
    let mut graph = Graph::new();
    let count = graph.input(InputId(1));
    let states = growth(&mut graph, count);
    let (graph, _) = graph.extract(&states[..1]);
    let body = graph.loops()[0].body();
    assert_eq!((body.states(), body.captured()), (1, 1), "the rate is one captured number");
    assert_eq!(graph.literal_value(graph.loops()[0].start()), Some(0.0), "the counter is not taken");
}

#[test]
fn the_same_body_exists_once_for_all_loops() {
    let mut graph = Graph::new();
    let [first, second] = [0, 1].map(|input| graph.input(InputId(1 + input)));
    let states = [growth(&mut graph, first), growth(&mut graph, second), growth(&mut graph, first)];
    assert_eq!(states[0], states[2]);
    assert_eq!(graph.loops().len(), 2);
    assert!(std::rc::Rc::ptr_eq(graph.loops()[0].body(), graph.loops()[1].body()));
}

#[test]
fn a_count_is_a_whole_number_within_bounds() {
    let expected = [(f64::NAN, 0), (-3.0, 0), (2.9, 2), (1e300, MOST_STEPS), (f64::INFINITY, MOST_STEPS), (0.0, 0)];
    for (count, expected) in expected {
        assert_eq!(steps(count), expected, "{count}");
    }
}

#[test]
fn what_a_body_leaves_as_it_is_stays_the_initial_number() {
    let mut body = Graph::new();
    let [x, y] = [0, 1].map(|state| body.input(LoopBody::state(state)));
    let product = body.mul(x, y);
    let mut graph = Graph::new();
    let [a, b, count] = [0, 1, 2].map(|input| graph.input(InputId(input)));
    let zero = graph.literal(0.0);
    let states = graph.apply_loop(&body, &[product, y], &[zero, count, a, b]);
    assert_eq!(states[1], b);
    assert_eq!(graph.apply_loop(&body, &[product, y], &[zero, zero, a, b]), [a, b], "no step");
    // a·b³, by a and by b.
    let partials = jacobian(&mut graph, &states[..1], &[InputId(0), InputId(1)]).remove(0);
    let values = graph.check(3).unwrap().evaluate(&[5.0, 2.0, 3.0]);
    assert_eq!(partials.iter().map(|partial| values[partial.unwrap().index()]).collect::<Vec<_>>(), [8.0, 60.0]);
}

#[test]
fn a_tangent_of_zero_is_one_at_an_infinite_slope_too() {
    // x ← √x · a from x = 0, where the slope of the root is infinite and x does not depend on a.
    let mut body = Graph::new();
    let [x, a] = [1, 2].map(|input| body.input(InputId(input)));
    let root = body.sqrt(x);
    let next = body.mul(root, a);
    let mut graph = Graph::new();
    let (a, zero, two) = (graph.input(InputId(0)), graph.literal(0.0), graph.literal(2.0));
    let states = graph.apply_loop(&body, &[next], &[zero, two, zero, a]);
    let partial = jacobian(&mut graph, &states, &[InputId(0)])[0][0].unwrap();
    assert_eq!(graph.check(1).unwrap().evaluate(&[1.5])[partial.index()], 0.0);
}
