//! Derivatives by a sweep forward, for graphs of many outputs and few inputs: the states of a simulation, of which each goes back through all before it in
//! a reverse sweep. It has the rules of reverse sweeps, since what they give is linear in the adjoint: with the derivative of an operand in its place it is
//! what that operand adds to the derivative of the result.

use super::loops::{Longer, Row};
use super::rules::{Application, Derivation, InGraph, Passage, Slope, passage, slope};
use crate::graph::{Graph, InputId, Node, NodeId, Op};
use residua_base::list::Listed;

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

/// The active nodes that the outputs depend on.
fn needed(graph: &Graph, active: &[bool], outputs: &[NodeId]) -> Vec<bool> {
    let mut needed = vec![false; active.len()];
    for output in outputs.iter().filter(|output| output.index() < active.len()) {
        needed[output.index()] = active[output.index()];
    }
    for id in graph.ids().take(active.len()).rev().filter(|id| active[id.index()]) {
        if needed[id.index()] {
            for operand in graph.operands(id) {
                needed[operand.index()] |= active[operand.index()];
            }
        }
    }
    needed
}

/// For each output its derivatives by the active inputs that it depends on, ascending.
pub(super) fn jacobian(graph: &mut Graph, active: &[bool], outputs: &[NodeId]) -> Vec<Vec<(InputId, NodeId)>> {
    let one = graph.literal(1.0);
    tangents(graph, active, outputs, &|input| vec![(input, one)])
}

/// For each output its derivatives along some directions, ascending, from those of the active inputs. A tangent of 0 is one whatever the slope.
pub(super) fn tangents(
    graph: &mut Graph,
    active: &[bool],
    outputs: &[NodeId],
    of_input: &dyn Fn(InputId) -> Vec<(InputId, NodeId)>,
) -> Vec<Vec<(InputId, NodeId)>> {
    let needed = needed(graph, active, outputs);
    let mut longer = Longer::default();
    let mut of_loops: Vec<Option<Vec<Row>>> = vec![None; graph.loops().len()];
    let mut derivatives: Vec<Row> = vec![Vec::new(); active.len()];
    for result in graph.ids().take(active.len()).list() {
        if !needed[result.index()] {
            continue;
        }
        derivatives[result.index()] = match graph.node(result) {
            Node::Literal(_) => Vec::new(),
            Node::Input(input) => of_input(input),
            Node::Apply(Op::Select, [condition, a, b]) => {
                let zero = graph.literal(0.0);
                let select = |graph: &mut Graph, a: Option<NodeId>, b: Option<NodeId>| {
                    graph.select(condition, a.unwrap_or(zero), b.unwrap_or(zero))
                };
                merged(graph, &derivatives[a.index()], &derivatives[b.index()], select)
            }
            Node::Apply(op, operands) => {
                let mut sum = Vec::new();
                for place in 0..op.arity() {
                    if passage(op, place) == Passage::Closed {
                        continue;
                    }
                    let guarded = slope(graph, op, place, &operands).is_some_and(|slope| slope > Slope::Finite);
                    let mut shares = Vec::new();
                    for &(input, adjoint) in &derivatives[operands[place].index()] {
                        let (are_active, above) = ([true; 3], Slope::Finite);
                        let application = Application { operands, result, adjoint };
                        let mut rule = InGraph { graph, application, are_active, guarded, above };
                        shares.extend(rule.pull_back(op, place).map(|share| (input, share)));
                    }
                    let add = |graph: &mut Graph, a: Option<NodeId>, b: Option<NodeId>| match (a, b) {
                        (Some(a), Some(b)) => graph.add(a, b),
                        (a, b) => a.or(b).expect("one of both has the input"),
                    };
                    sum = merged(graph, &sum, &shares, add);
                }
                sum
            }
            Node::Result(of, number) => {
                let rows =
                    || graph.loop_of(of).inputs().iter().map(|input| derivatives_of(&derivatives, *input)).list();
                let rows = of_loops[of.index()].is_none().then(rows);
                if let Some(rows) = rows {
                    of_loops[of.index()] = Some(longer.differentiate(graph, of, &rows));
                }
                of_loops[of.index()].as_ref().map_or_else(Vec::new, |states| states[number as usize].clone())
            }
        };
    }
    outputs.iter().map(|output| derivatives_of(&derivatives, *output)).list()
}

/// Those of a node; none of one that is newer than all that are active.
fn derivatives_of(derivatives: &[Row], node: NodeId) -> Row {
    derivatives.get(node.index()).cloned().unwrap_or_default()
}

/// Both lists as one, ascending by input.
fn merged(
    graph: &mut Graph,
    a: &[(InputId, NodeId)],
    b: &[(InputId, NodeId)],
    merge: impl Fn(&mut Graph, Option<NodeId>, Option<NodeId>) -> NodeId,
) -> Vec<(InputId, NodeId)> {
    let (mut a, mut b) = (a.iter().peekable(), b.iter().peekable());
    let mut merged = Vec::new();
    while let Some(input) = [a.peek(), b.peek()].into_iter().flatten().map(|entry| entry.0).min_by_key(|input| input.0)
    {
        let [of_a, of_b] = [&mut a, &mut b].map(|list| list.next_if(|entry| entry.0 == input).map(|entry| entry.1));
        merged.push((input, merge(graph, of_a, of_b)));
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::super::sparse_jacobian;
    use super::*;

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
