//! Derivatives as expressions: graph → graph.
//!
//! [`gradient`] takes outputs with seeds and gives, as nodes of the same graph, the sums of seeds times partials: reverse mode,
//! one rule per op (rules.rs). The forward nodes are reused where a derivative is made of them, and equal subexpressions are
//! shared by the graph itself. Long graphs of many outputs and few inputs are swept forward (forward.rs). Loops are passed forward (tangents.rs), or
//! backward (backward.rs) where that takes fewer operations. [`jacobian`] is a gradient per output,
//! [`sparse_jacobian`] the same without what is not there; [`sparsity`] says which of its entries can differ from 0.
//!
//! Only a path that does not exist annihilates: a partial without one is `None`, and any other zero is multiplied like every
//! number, but for adjoints that came through a selection, whose zeros absorb what the branch not taken makes of them, and for zeros below
//! an infinite slope (of √a and aᵇ at 0) that their limit makes zeros: the derivative of (x/c)ᵇ by c is 0 at x = 0.

use crate::graph::{Graph, InputId, Loop, LoopId, Node, NodeId, Op};
use residua_base::list::Listed;
use residua_base::sort::ascending;
use std::collections::BinaryHeap;

mod backward;
mod dependence;
mod forward;
#[cfg(test)]
mod limits_test;
mod loops;
#[cfg(all(test, not(target_arch = "wasm32")))]
mod loops_test;
mod rules;
#[cfg(test)]
mod rules_test;
mod tangents;

use dependence::active_nodes;
pub use dependence::sparsity;
pub use rules::{Application, Derivation, Passage, Slope, passage};
use rules::{InGraph, slope};

/// For each input in `wrt` the node of Σ seed · ∂output/∂input over the `(output, seed)` pairs; `None` where no output depends
/// on it.
pub fn gradient(graph: &mut Graph, seeds: &[(NodeId, NodeId)], wrt: &[InputId]) -> Vec<Option<NodeId>> {
    Sweep::<true>::default().gradient(graph, seeds, wrt)
}

/// The same of a graph without loops. What differentiates loops is no part of a module that has none.
pub fn gradient_without_loops(graph: &mut Graph, seeds: &[(NodeId, NodeId)], wrt: &[InputId]) -> Vec<Option<NodeId>> {
    Sweep::<false>::default().gradient(graph, seeds, wrt)
}

/// For each output the row of its partials with respect to `wrt`; `None` where it does not depend on the input.
pub fn jacobian(graph: &mut Graph, outputs: &[NodeId], wrt: &[InputId]) -> Vec<Vec<Option<NodeId>>> {
    let rows = sparse_jacobian(graph, outputs, wrt);
    rows.iter().map(|row| in_order_of(wrt, row)).list()
}

/// The same of a graph without loops.
pub fn jacobian_without_loops(graph: &mut Graph, outputs: &[NodeId], wrt: &[InputId]) -> Vec<Vec<Option<NodeId>>> {
    let one = graph.literal(1.0);
    outputs.iter().map(|output| gradient_without_loops(graph, &[(*output, one)], wrt)).list()
}

/// For each output its partials with respect to the inputs in `wrt` that it depends on, ascending by input. Time and memory are of the nodes
/// that the outputs depend on, each once for each output, or once for each input where that is less by far.
pub fn sparse_jacobian(graph: &mut Graph, outputs: &[NodeId], wrt: &[InputId]) -> Vec<Vec<(InputId, NodeId)>> {
    let active = active_nodes(graph, wrt);
    if forward::is_shorter(graph, &active, outputs, wrt.len()) {
        return forward::jacobian(graph, &active, outputs);
    }
    let one = graph.literal(1.0);
    let mut sweep = Sweep::<true> { outputs: outputs.len(), ..Sweep::default() };
    outputs.iter().map(|output| sweep.run(graph, &active, &[(*output, one)])).list()
}

/// For each output its derivative along a direction, given by the velocity of each input that moves: Σ velocity · ∂output/∂input, in one sweep forward. `None`
/// where the output does not depend on them.
pub fn directional(graph: &mut Graph, outputs: &[NodeId], velocity: &[(InputId, NodeId)]) -> Vec<Option<NodeId>> {
    let wrt = velocity.iter().map(|(input, _)| *input).list();
    let active = active_nodes(graph, &wrt);
    let of_input = |input: InputId| {
        let moves = velocity.iter().find(|(moving, _)| *moving == input);
        moves.map(|(_, velocity)| (InputId(0), *velocity)).into_iter().list()
    };
    let rows = tangents::tangents(graph, &active, outputs, &of_input);
    rows.iter().map(|row| row.first().map(|(_, node)| *node)).list()
}

/// The derivatives by some inputs, given those that there are, ascending.
fn in_order_of(wrt: &[InputId], derivatives: &[(InputId, NodeId)]) -> Vec<Option<NodeId>> {
    let of_input = |input: &InputId| {
        let place = derivatives.binary_search_by_key(&input.0, |(input, _)| input.0).ok()?;
        Some(derivatives[place].1)
    };
    wrt.iter().map(of_input).list()
}

/// What has come down to a node so far: `node` where `under` holds, else 0.
///
/// Keeping the selection aside leaves the products below it plain, and one selection is applied to the final derivative.
#[derive(Clone, Copy)]
struct Adjoint {
    node: NodeId,
    /// Whether `node` is 0 where selections that are no longer kept aside have made it so.
    guarded: bool,
    /// How large `node` may be where the op below it is 0.
    slope: Slope,
    under: Option<Selection>,
}

/// Where a condition is not 0 or, if not `taken`, where it is 0.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Selection {
    condition: NodeId,
    taken: bool,
}

impl Adjoint {
    /// The same with the selection in its node.
    fn settled(self, graph: &mut Graph) -> Adjoint {
        let Some(Selection { condition, taken }) = self.under else { return self };
        let zero = graph.literal(0.0);
        let [one, other] = if taken { [self.node, zero] } else { [zero, self.node] };
        Adjoint { node: graph.select(condition, one, other), guarded: true, under: None, ..self }
    }

    /// The same where the selection holds too.
    fn selected(self, graph: &mut Graph, selection: Selection) -> Adjoint {
        let inner = if self.under == Some(selection) { self } else { self.settled(graph) };
        Adjoint { under: Some(selection), ..inner }
    }

    /// The sum. With an unguarded term the node is used whichever branch is selected, and a NaN there is the expression's.
    fn plus(self, graph: &mut Graph, other: Adjoint) -> Adjoint {
        let (a, b) =
            if self.under == other.under { (self, other) } else { (self.settled(graph), other.settled(graph)) };
        let (guarded, slope) = (a.guarded && b.guarded, a.slope.max(b.slope));
        Adjoint { node: graph.add(a.node, b.node), guarded, slope, under: a.under }
    }
}

/// How sweeps pass a loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Direction {
    /// As takes fewer operations.
    #[default]
    Cheaper,
    /// By tangents of its state.
    #[cfg(all(test, not(target_arch = "wasm32")))]
    Forward,
    /// By adjoints of its state.
    #[cfg(all(test, not(target_arch = "wasm32")))]
    Backward,
}

/// Reverse sweeps, which visit the nodes that the outputs depend on and no others; without LOOPS of graphs that have none.
#[derive(Default)]
struct Sweep<const LOOPS: bool> {
    direction: Direction,
    /// How many outputs are swept, one after another.
    outputs: usize,
    /// Which loops are passed backward, once that is decided.
    backward: Option<Vec<bool>>,
    /// Adjoints of the results of a loop that is passed backward, until all have come down: by loop, and whether any is guarded.
    results: Vec<Option<(Vec<Option<NodeId>>, bool)>>,
    /// The first result of each loop, which comes last.
    first_results: Vec<Option<NodeId>>,
    /// What has come down to each node; none of it stays after a sweep.
    adjoints: Vec<Option<Adjoint>>,
    /// The nodes that something has come down to, the newest on top.
    pending: BinaryHeap<NodeId>,
    /// The tangents of loops that outputs depend on.
    loops: loops::Known,
}

impl<const LOOPS: bool> Sweep<LOOPS> {
    /// The derivatives by the active inputs that the outputs depend on, ascending. Those of loops that they depend on are found first.
    fn run(&mut self, graph: &mut Graph, active: &[bool], seeds: &[(NodeId, NodeId)]) -> Vec<(InputId, NodeId)> {
        if !LOOPS || graph.loops().is_empty() {
            return self.sweep(graph, active, seeds);
        }
        self.choose_directions(graph, active);
        for of in self.loops.missing(graph, active, seeds) {
            if self.is_backward(of) {
                continue;
            }
            let one = graph.literal(1.0);
            let inputs = graph.loop_of(of).inputs().to_vec();
            let rows = inputs.iter().map(|input| self.sweep(graph, active, &[(*input, one)])).list();
            self.loops.add(graph, of, &rows);
        }
        self.sweep(graph, active, seeds)
    }

    /// The derivatives by inputs, as [`gradient`] gives them.
    fn gradient(mut self, graph: &mut Graph, seeds: &[(NodeId, NodeId)], wrt: &[InputId]) -> Vec<Option<NodeId>> {
        let active = active_nodes(graph, wrt);
        let derivatives = self.run(graph, &active, seeds);
        in_order_of(wrt, &derivatives)
    }

    /// Chooses how loops are passed, once for all sweeps.
    fn choose_directions(&mut self, graph: &Graph, active: &[bool]) {
        if self.backward.is_some() {
            return;
        }
        let input = |(node, active): (&Node, &bool)| match node {
            Node::Input(input) if *active => Some(*input),
            Node::Input(_) | Node::Literal(_) | Node::Apply(..) | Node::Result(..) => None,
        };
        let wrt = graph.nodes().iter().zip(active).filter_map(input).list();
        let is_backward = |of: &Loop| match self.direction {
            Direction::Cheaper => backward::is_cheaper(graph, of, self.outputs.max(1), &wrt),
            #[cfg(all(test, not(target_arch = "wasm32")))]
            direction => direction == Direction::Backward,
        };
        self.backward = Some(graph.loops().iter().map(is_backward).list());
        self.results.resize(graph.loops().len(), None);
        self.first_results.resize(graph.loops().len(), None);
        for id in graph.ids().take(active.len()) {
            if let Node::Result(of, _) = graph.node(id) {
                self.first_results[of.index()].get_or_insert(id);
            }
        }
    }

    fn is_backward(&self, of: LoopId) -> bool {
        self.backward.as_ref().is_some_and(|backward| backward.get(of.index()) == Some(&true))
    }

    /// Takes what has come down to a result of a loop that is passed backward. With the first result all have come, and the adjoints of the loop's
    /// inputs are added.
    fn pass_result(&mut self, graph: &mut Graph, active: &[bool], result: NodeId, of: LoopId, number: u32) {
        if let Some(adjoint) = self.adjoints[result.index()].take() {
            let Adjoint { node, guarded, .. } = adjoint.settled(graph);
            let states = graph.loop_of(of).body().states();
            let (adjoints, any_guarded) = self.results[of.index()].get_or_insert_with(|| (vec![None; states], false));
            adjoints[number as usize] = Some(node);
            *any_guarded |= guarded;
        }
        let first = self.first_results[of.index()];
        if first != Some(result) {
            self.pending.extend(first);
            return;
        }
        let Some((adjoints, guarded)) = self.results[of.index()].take() else { return };
        let of_loop = graph.loop_of(of).clone();
        let is_active = |id: &NodeId| active.get(id.index()).copied().unwrap_or(false);
        let are_active = of_loop.inputs().iter().map(is_active).list();
        let direction = self.direction;
        let of_body = |body: &mut Graph, seeds: &[(NodeId, NodeId)], wrt: &[InputId]| {
            Sweep::<true> { direction, ..Sweep::default() }.gradient(body, seeds, wrt)
        };
        for (input, node) in backward::pull_back(graph, &of_loop, &adjoints, &are_active, &of_body) {
            let adjoint = Adjoint { node, guarded, slope: Slope::Finite, under: None };
            self.add(graph, of_loop.inputs()[input], adjoint);
        }
    }

    /// One sweep; loops on its way are known.
    fn sweep(&mut self, graph: &mut Graph, active: &[bool], seeds: &[(NodeId, NodeId)]) -> Vec<(InputId, NodeId)> {
        // An output that is newer than the marks of activity can only be a literal 1 made beside them.
        let is_active = |id: NodeId| active.get(id.index()).copied().unwrap_or(false);
        self.adjoints.resize(self.adjoints.len().max(active.len()), None);
        for (output, seed) in seeds.iter().filter(|(output, _)| is_active(*output)) {
            self.add(graph, *output, Adjoint { node: *seed, guarded: false, slope: Slope::Finite, under: None });
        }
        let mut derivatives: Vec<(InputId, NodeId)> = Vec::new();
        while let Some(result) = self.pending.pop() {
            if LOOPS
                && let Node::Result(of, number) = graph.node(result)
                && self.is_backward(of)
            {
                self.pass_result(graph, active, result, of, number);
                continue;
            }
            let Some(adjoint) = self.adjoints[result.index()].take() else { continue };
            match graph.node(result) {
                Node::Literal(_) => {}
                Node::Input(input) => derivatives.push((input, adjoint.settled(graph).node)),
                Node::Apply(op, operands) => {
                    for place in 0..op.arity() {
                        let passage = passage(op, place);
                        if passage == Passage::Closed || !is_active(operands[place]) {
                            continue;
                        }
                        let Adjoint { node, guarded, slope: above, .. } = adjoint;
                        let are_active = operands.map(is_active);
                        let application = Application { operands, result, adjoint: node };
                        let mut rule = InGraph { graph, application, are_active, guarded, above };
                        let Some(node) = rule.pull_back(op, place) else { continue };
                        let slope = slope(graph, op, place, &operands).unwrap_or(above);
                        let share = Adjoint { node, slope, ..adjoint };
                        let share = match passage {
                            Passage::Closed | Passage::Open => share,
                            Passage::Guarded => Adjoint { guarded: true, ..share },
                            Passage::Selected { taken } => {
                                share.selected(graph, Selection { condition: operands[0], taken })
                            }
                        };
                        self.add(graph, operands[place], share);
                    }
                }
                Node::Result(of, number) if LOOPS => {
                    for (input, tangent) in self.loops.of(of)[number as usize].clone() {
                        let op = if adjoint.guarded { Op::GuardedMul } else { Op::Mul };
                        let node = graph.apply(op, &[adjoint.node, tangent]);
                        let input = graph.input(input);
                        self.add(graph, input, Adjoint { node, slope: Slope::Finite, ..adjoint });
                    }
                }
                Node::Result(..) => {}
            }
        }
        ascending(&mut derivatives);
        derivatives
    }

    fn add(&mut self, graph: &mut Graph, node: NodeId, term: Adjoint) {
        let sum = &mut self.adjoints[node.index()];
        *sum = Some(match *sum {
            Some(sum) => sum.plus(graph, term),
            None => {
                self.pending.push(node);
                term
            }
        });
    }
}
