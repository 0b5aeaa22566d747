//! Derivatives by a sweep forward, for graphs of many outputs and few inputs: the states of a simulation, of which each goes back through all before it in
//! a reverse sweep.

use super::rules::{Slope, slope};
use super::tangents::{needed, tangents};
use crate::graph::{Graph, InputId, Node, NodeId};

/// Graphs of fewer nodes are swept in reverse.
const LONG: usize = 4096;

/// Whether a sweep forward takes less than half the operations of a reverse sweep for each output. Where a slope may be infinite the reverse sweep has
/// limits that this one has not.
pub(super) fn is_shorter(graph: &Graph, active: &[bool], outputs: &[NodeId], inputs: usize) -> bool {
    if graph.len() < LONG || outputs.len() <= inputs || !graph.loops().is_empty() {
        return false;
    }
    let is_steep = |(node, &active): (&Node, &bool)| match node {
        Node::Apply(op, operands) if active => {
            (0..op.arity()).any(|place| slope(graph, *op, place, operands).is_some_and(|slope| slope > Slope::Finite))
        }
        Node::Apply(..) | Node::Literal(_) | Node::Input(_) | Node::Result(..) => false,
    };
    if graph.nodes().iter().zip(active).any(is_steep) {
        return false;
    }
    // A node is visited once for each output that depends on it in reverse, and forward once for each input at most.
    let needed = needed(graph, active, outputs);
    let mut marks = vec![usize::MAX; graph.len()];
    let mut pending = Vec::new();
    let (mut backward, enough) = (0, 2 * inputs * needed.iter().filter(|needed| **needed).count());
    for (number, output) in outputs.iter().enumerate() {
        pending.push(*output);
        while let Some(id) = pending.pop() {
            if !active.get(id.index()).is_some_and(|active| *active)
                || std::mem::replace(&mut marks[id.index()], number) == number
            {
                continue;
            }
            backward += 1;
            pending.extend_from_slice(graph.operands(id));
        }
        if backward > enough {
            return true;
        }
    }
    false
}

/// For each output its derivatives by the active inputs that it depends on, ascending.
pub(super) fn jacobian(graph: &mut Graph, active: &[bool], outputs: &[NodeId]) -> Vec<Vec<(InputId, NodeId)>> {
    let one = graph.literal(1.0);
    tangents(graph, active, outputs, &|input| vec![(input, one)])
}

#[cfg(test)]
mod tests {
    use super::super::sparse_jacobian;
    use super::*;
    use crate::graph::Op;

    #[test]
    fn many_states_of_a_simulation_have_the_derivatives_of_each_by_itself_in_a_graph_of_moderate_length() {
        let wrt = [0, 1, 2].map(InputId);
        let mut graph = Graph::new();
        let [a, b, c] = wrt.map(|input| graph.input(input));
        let data = graph.input(InputId(3));
        let small = graph.literal(1e-3);
        let mut outputs = Vec::new();
        let mut x = a;
        for step in 0..600 {
            // One of each kind of rule: by products, quotients, selections, both operands alike.
            let wave = [graph.sin(x), graph.exp(x)][step % 2];
            let quotient = graph.div(wave, b);
            let smaller = graph.apply(Op::Min, &[quotient, c]);
            let below = graph.lt(x, data);
            let chosen = graph.select(below, smaller, quotient);
            let square = graph.mul(x, x);
            let slope = graph.sub(chosen, square);
            let change = graph.mul(small, slope);
            x = graph.add(x, change);
            if step % 30 == 29 {
                outputs.push(x);
            }
        }
        // By itself an output is swept in reverse.
        let mut alone = graph.clone();
        let expected: Vec<_> =
            outputs.iter().map(|&output| sparse_jacobian(&mut alone, &[output], &wrt).remove(0)).collect();
        let found = sparse_jacobian(&mut graph, &outputs, &wrt);
        assert!(4 * graph.len() < alone.len(), "{} and {} nodes", graph.len(), alone.len());
        let at = [0.4, 1.3, 0.9, 0.45];
        let (values, others) = (graph.check(4).unwrap().evaluate(&at), alone.check(4).unwrap().evaluate(&at));
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!(found.len(), 3);
            for (&(input, node), &(of, other)) in found.iter().zip(expected) {
                assert_eq!(input, of);
                let (found, expected) = (values[node.index()], others[other.index()]);
                // Some thousand roundings.
                assert!((found - expected).abs() <= 1e-12 * expected.abs().max(1e-3), "{found}, not {expected}");
            }
        }
    }
}
