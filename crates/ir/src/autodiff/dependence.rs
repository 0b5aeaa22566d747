//! Which nodes depend on which inputs, as far as derivatives pass.

use residua_base::list::Listed;

use super::rules::{Passage, passage};
use crate::graph::{Graph, InputId, LoopBody, Node, NodeId};

/// Which entries of the [`jacobian`] are not `None`, without making it.
pub fn sparsity(graph: &Graph, outputs: &[NodeId], wrt: &[InputId]) -> Vec<Vec<bool>> {
    let words = wrt.len().div_ceil(64);
    let bit = |column: usize| (column / 64, 1u64 << (column % 64));
    // Node after node, `words` words each: the inputs that it depends on.
    let mut dependencies = vec![0u64; graph.len() * words];
    let mut influences: Vec<Option<Influence>> = vec![None; graph.loops().len()];
    for (position, node) in graph.nodes().iter().enumerate() {
        let (before, from) = dependencies.split_at_mut(position * words);
        let own = &mut from[..words];
        match node {
            Node::Literal(_) => {}
            Node::Input(input) => {
                for column in (0..wrt.len()).filter(|column| wrt[*column] == *input) {
                    let (word, mask) = bit(column);
                    own[word] |= mask;
                }
            }
            Node::Apply(op, operands) => {
                for (place, operand) in operands[..op.arity()].iter().enumerate() {
                    if passage(*op, place) != Passage::Closed {
                        let operand = &before[operand.index() * words..][..words];
                        own.iter_mut().zip(operand).for_each(|(own, operand)| *own |= operand);
                    }
                }
            }
            Node::Result(of, number) => {
                let of_loop = graph.loop_of(*of);
                let influence = influences[of.index()].get_or_insert_with(|| influence(of_loop.body()));
                for (input, has) in of_loop.inputs().iter().zip(&influence[*number as usize]) {
                    if *has {
                        let operand = &before[input.index() * words..][..words];
                        own.iter_mut().zip(operand).for_each(|(own, operand)| *own |= operand);
                    }
                }
            }
        }
    }
    let row = |output: &NodeId| {
        let set = &dependencies[output.index() * words..][..words];
        (0..wrt.len())
            .map(|column| {
                let (word, mask) = bit(column);
                set[word] & mask != 0
            })
            .list()
    };
    outputs.iter().map(row).list()
}

/// Whether each node of the graph has a derivative with respect to any input in `wrt`.
pub(super) fn active_nodes(graph: &Graph, wrt: &[InputId]) -> Vec<bool> {
    let mut wanted = vec![false; wrt.iter().map(|input| input.0 as usize + 1).max().unwrap_or_default()];
    for input in wrt {
        wanted[input.0 as usize] = true;
    }
    let mut active = vec![false; graph.len()];
    for (position, node) in graph.nodes().iter().enumerate() {
        active[position] = match node {
            Node::Literal(_) => false,
            Node::Input(input) => wanted.get(input.0 as usize) == Some(&true),
            Node::Apply(op, operands) => operands[..op.arity()]
                .iter()
                .enumerate()
                .any(|(place, operand)| active[operand.index()] && passage(*op, place) != Passage::Closed),
            Node::Result(of, _) => graph.loop_of(*of).inputs().iter().any(|input| active[input.index()]),
        };
    }
    active
}

/// For each number of a state, whether its final value depends on each input of the body after the counter.
pub(super) type Influence = Vec<Vec<bool>>;

/// What the final state of a loop depends on, through any number of steps.
pub(super) fn influence(body: &LoopBody) -> Influence {
    let states = body.states();
    let inputs = (1..body.graph().input_count()).map(InputId).list();
    let mut reached = sparsity(body.graph().graph(), body.next(), &inputs);
    for (state, row) in reached.iter_mut().enumerate() {
        row[state] = true;
    }
    // Warshall's closure over the numbers of the state.
    for through in 0..states {
        let row = reached[through].clone();
        for reached in reached.iter_mut().filter(|reached| reached[through]) {
            reached.iter_mut().zip(&row).for_each(|(own, other)| *own |= other);
        }
    }
    reached
}
