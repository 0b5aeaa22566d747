//! Loops backward: from the adjoints of a loop's final state those of its inputs, by a loop over the steps from the last to the first.
//!
//! A step needs the state before it. A graph has no memory of the states that it passes, so they are computed again: the steps are divided into
//! segments, each of which runs forward from the initial state to its own start, and is divided again. With segments of segments of n steps this takes
//! some n^(4/3) steps, whatever the number of inputs, where tangents ([`super::tangents`]) extend the state for each input. The trade of memory for steps
//! is that of A. Griewank, "Achieving logarithmic growth of temporal and spatial complexity in reverse automatic differentiation", 1992.
//!
//! Where a slope may be infinite a tangent of 0 stays 0 ([`super::tangents`]), and an adjoint would not: such loops go forward.

use residua_base::list::{Listed, PushAll};

use super::dependence::{influence, sparsity};
use super::rules::{Slope, slope};
use crate::elementary;
use crate::graph::{Graph, InputId, Loop, LoopBody, MOST_STEPS, Node, NodeId, Op, steps};

/// How many steps a loop is taken to have whose count is no literal: those of residual functions are data or constants.
const UNKNOWN_STEPS: f64 = 200.0;

/// Operations of an elementary function, as the CPU computes it.
const ELEMENTARY: f64 = 128.0;

/// Operations of a derivative for each operation that is differentiated.
const DERIVATIVE: f64 = 3.0;

/// How often a range of steps is divided into segments.
fn divisions(count: Option<u32>) -> u32 {
    match count {
        Some(0..=8) => 0,
        Some(9..=100) => 1,
        Some(101..) | None => 2,
    }
}

/// Whether adjoints of so many outputs take fewer operations than tangents along the inputs `wrt`. A tangent of a number of the state takes a product
/// that is added for each number that the next one depends on; what counts is thus how many numbers depend on each other, and not the number of inputs
/// alone. Both estimates are of times on the CPU.
pub(super) fn is_cheaper(graph: &Graph, of: &Loop, outputs: usize, wrt: &[InputId]) -> bool {
    let known = graph.literal_value(of.count()).map(steps);
    let n = known.map_or(UNKNOWN_STEPS, f64::from);
    // The mean number of steps that are computed again for one.
    let again = match divisions(known) {
        0 => 0.5 * n,
        1 => n.sqrt(),
        // Short runs of steps take a third more than long ones.
        _ => 1.3 * (0.5 * n.powf(0.25) + n.powf(0.375)),
    };
    let body = &**of.body();
    if is_steep(body.graph().graph()) {
        return false;
    }
    let (step, derivatives) = (operations(body.graph().graph()), DERIVATIVE * body.graph().graph().len() as f64);
    let states = (0..body.states()).map(LoopBody::state).list();
    let depends = sparsity(body.graph().graph(), body.next(), &states);
    let of_inputs = sparsity(graph, of.inputs(), wrt);
    let mut tangents = 0;
    for (depends, influence) in depends.iter().zip(influence(body)) {
        let reaches = |column: &usize| of_inputs.iter().zip(&influence).any(|(row, has)| *has && row[*column]);
        let directions = (0..wrt.len()).filter(reaches).count();
        tangents += directions * (1 + depends.iter().filter(|depends| **depends).count());
    }
    outputs as f64 * ((1.0 + again) * step + derivatives) < step + derivatives + tangents as f64
}

/// Whether a slope of an operation may be infinite.
fn is_steep(graph: &Graph) -> bool {
    let of_node = |node: &Node| match node {
        Node::Apply(op, operands) => {
            (0..op.arity()).any(|place| slope(graph, *op, place, operands).is_some_and(|slope| slope > Slope::Finite))
        }
        Node::Literal(_) | Node::Input(_) | Node::Result(..) => false,
    };
    graph.nodes().iter().any(of_node) || graph.loops().iter().any(|of| is_steep(of.body().graph().graph()))
}

/// The operations of a graph, a loop with those of all its steps.
fn operations(graph: &Graph) -> f64 {
    let of_node = |node: &Node| match node {
        Node::Literal(_) | Node::Input(_) | Node::Result(..) => 0.0,
        Node::Apply(elementary!(Op), _) => ELEMENTARY,
        Node::Apply(..) => 1.0,
    };
    let of_loop = |of: &Loop| {
        let count = graph.literal_value(of.count()).map_or(UNKNOWN_STEPS, |count| f64::from(steps(count)));
        count * operations(of.body().graph().graph())
    };
    graph.nodes().iter().map(of_node).sum::<f64>() + graph.loops().iter().map(of_loop).sum::<f64>()
}

/// A loop that is differentiated.
struct Backward<'a> {
    body: &'a LoopBody,
    /// What a step adds to the adjoints: a graph over the inputs of the body and the adjoints, and its outputs.
    step: Graph,
    next: Vec<NodeId>,
}

/// Steps of a loop in a graph: that of the body with the state before the first one.
struct Steps {
    start: NodeId,
    count: NodeId,
    /// The state and the captured numbers.
    inputs: Vec<NodeId>,
}

/// Gives the derivatives of a body by some inputs, from outputs with seeds: reverse sweeps of the body.
pub(super) type Gradient<'a> = &'a dyn Fn(&mut Graph, &[(NodeId, NodeId)], &[InputId]) -> Vec<Option<NodeId>>;

/// The adjoints of a loop's inputs: positions among them, with nodes. `adjoints` are those of its final state, where there are any.
pub(super) fn pull_back(
    graph: &mut Graph,
    of: &Loop,
    adjoints: &[Option<NodeId>],
    are_active: &[bool],
    gradient: Gradient<'_>,
) -> Vec<(usize, NodeId)> {
    let body = &**of.body();
    let states = body.states();
    let influence = influence(body);
    let depends = |state: usize| influence[state].iter().zip(are_active).any(|(has, active)| *has && *active);
    let reaches = |input: usize| (0..states).any(|state| adjoints[state].is_some() && influence[state][input]);
    // Numbers of the state and captured ones that have adjoints: what is differentiated by reaches them, and they reach what has an adjoint.
    let has_adjoint =
        |input: &usize| reaches(*input) && if *input < states { depends(*input) } else { are_active[*input] };
    let wanted = (0..states + body.captured()).filter(has_adjoint).list();

    let mut step = body.graph().graph().clone();
    let first = body.graph().input_count();
    let seeds = (first..).zip(&wanted).map(|(number, _)| step.input(InputId(number))).list();
    let of_states = seeds.iter().zip(&wanted).filter(|(_, input)| **input < states);
    let pairs = of_states.map(|(seed, input)| (body.next()[*input], *seed)).list();
    let wrt = wanted.iter().map(|input| InputId(1 + *input as u32)).list();
    let partials = gradient(&mut step, &pairs, &wrt);
    let zero = step.literal(0.0);
    let mut next = Vec::new();
    for ((input, seed), partial) in wanted.iter().zip(&seeds).zip(partials) {
        next.push(match partial {
            // What the body takes is the same in all steps.
            Some(partial) if *input >= states => step.add(*seed, partial),
            None if *input >= states => *seed,
            partial => partial.unwrap_or(zero),
        });
    }

    let backward = Backward { body, step, next };
    let zero = graph.literal(0.0);
    let initial = wanted.iter().map(|input| adjoints.get(*input).copied().flatten().unwrap_or(zero)).list();
    let known = graph.literal_value(of.count()).map(steps);
    let count = match known {
        Some(count) => graph.literal(f64::from(count)),
        None => {
            let most = graph.literal(f64::from(MOST_STEPS));
            let bounded = graph.apply(Op::Min, &[of.count(), most]);
            let whole = graph.apply(Op::Floor, &[bounded]);
            // NaN counts as 0, and so do numbers below.
            let is_positive = graph.lt(zero, of.count());
            graph.select(is_positive, whole, zero)
        }
    };
    let all = Steps { start: of.start(), count, inputs: of.inputs().to_vec() };
    let found = backward.run(graph, divisions(known), &all, &initial);
    wanted.into_iter().zip(found).filter(|(input, _)| are_active[*input]).list()
}

impl Backward<'_> {
    /// The adjoints before some steps, from those after them.
    fn run(&self, graph: &mut Graph, divisions: u32, steps: &Steps, adjoints: &[NodeId]) -> Vec<NodeId> {
        let (zero, one) = (graph.literal(0.0), graph.literal(1.0));
        // Segments of the square root of the steps; those that are divided again are longer.
        let length = if divisions == 0 {
            one
        } else {
            let root = graph.sqrt(steps.count);
            let root = graph.apply(Op::Floor, &[root]);
            let root = graph.apply(Op::Max, &[root, one]);
            if divisions == 1 { root } else { self.longer(graph, steps.count, root) }
        };
        let segments = graph.div(steps.count, length);
        let segments = graph.apply(Op::Ceil, &[segments]);

        // The body: its counter, the adjoints, and what it takes from outside.
        let mut inner = Graph::new();
        let mut last = 0u32..;
        let mut input = |inner: &mut Graph| inner.input(InputId(last.next().unwrap_or_default()));
        let counter = input(&mut inner);
        let own = adjoints.iter().map(|_| input(&mut inner)).list();
        let [start, count, of_length, of_segments] = [0; 4].map(|_| input(&mut inner));
        let inputs = steps.inputs.iter().map(|_| input(&mut inner)).list();

        let inner_one = inner.literal(1.0);
        let before = inner.sub(of_segments, counter);
        let before = inner.sub(before, inner_one);
        let first = inner.mul(before, of_length);
        let (states, captured) = inputs.split_at(self.body.states());
        let from = inner.add(start, first);
        let operands = [&[start, first], states, captured].concat();
        let states = inner.apply_loop(self.body.graph().graph(), self.body.next(), &operands);
        let inputs = [&states[..], captured].concat();
        let next = if divisions == 0 {
            inner.substitute(&self.step, &[&[from], &inputs[..], &own].concat(), &self.next)
        } else {
            let rest = inner.sub(count, first);
            let count = inner.apply(Op::Min, &[of_length, rest]);
            self.run(&mut inner, divisions - 1, &Steps { start: from, count, inputs }, &own)
        };
        let mut operands = vec![zero, segments];
        operands.push_all(adjoints.iter().copied());
        operands.push_all([steps.start, steps.count, length, segments]);
        operands.push_all(steps.inputs.iter().copied());
        graph.apply_loop(&inner, &next, &operands)
    }

    /// The length of segments that are divided again: n^(3/4) of n steps.
    fn longer(&self, graph: &mut Graph, count: NodeId, root: NodeId) -> NodeId {
        let segments = graph.sqrt(root);
        let length = graph.div(count, segments);
        let length = graph.apply(Op::Ceil, &[length]);
        let one = graph.literal(1.0);
        graph.apply(Op::Max, &[length, one])
    }
}
