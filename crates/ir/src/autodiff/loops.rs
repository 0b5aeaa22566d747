//! Derivatives of loops: the state is extended by its tangents, one for each direction that a number of the state depends on, and the longer loop has them all.
//!
//! A direction is an input that is differentiated by. The body's tangents are those of a sweep forward ([`super::forward`]); the tangents of what the body takes
//! from outside are operands of the new loop. Reverse sweeps stop at a loop: what has come down to a result goes on to the inputs, times the tangents. The
//! state grows with the number of inputs, so loops of very many inputs take long; there is no reverse sweep through their steps.
//!
//! The new loop computes the numbers of the old one too, and the graph is told so. It is a loop like any other, so second derivatives are those of its
//! results.

use std::rc::Rc;

use residua_base::list::{Listed, PushAll};
use residua_base::sort::ascending;

use super::{active_nodes, forward, sparsity};
use crate::graph::{Graph, InputId, LoopBody, LoopId, Node, NodeId};

/// Derivatives by inputs, ascending.
pub(super) type Row = Vec<(InputId, NodeId)>;

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

/// The longer loops that have been made, by what they are made of: loops of one body and with tangents of one kind, as those of a trajectory, differ in their
/// operands alone.
#[derive(Default)]
pub(super) struct Longer(Vec<Template>);

/// A loop with tangents, in a graph of its own that has the operands as inputs.
struct Template {
    body: Rc<LoopBody>,
    kinds: Vec<Vec<Kind>>,
    graph: Graph,
    /// The numbers of the state, and then the tangents of each.
    results: Vec<NodeId>,
    directions: Vec<Vec<InputId>>,
}

/// A tangent of an operand: its direction, and by its bits the number that it is, if it is one.
type Kind = (InputId, Option<u64>);

impl Longer {
    /// The derivatives of each number of a loop's final state, from those of its inputs.
    pub fn differentiate(&mut self, graph: &mut Graph, of: LoopId, rows: &[Row]) -> Vec<Row> {
        let of_loop = graph.loop_of(of).clone();
        let (body, states) = (of_loop.body(), of_loop.body().states());
        let literal = |node: NodeId| graph.literal_value(node).map(f64::to_bits);
        let kinds =
            rows.iter().map(|row| row.iter().map(|(direction, node)| (*direction, literal(*node))).list()).list();
        let is_such = |known: &Template| Rc::ptr_eq(&known.body, body) && known.kinds == kinds;
        let position = self.0.iter().position(is_such).unwrap_or_else(|| {
            self.0.push(Template::new(body, kinds));
            self.0.len() - 1
        });
        let template = &self.0[position];
        if template.directions.iter().all(Vec::is_empty) {
            return vec![Vec::new(); states];
        }
        let mut operands = of_loop.operands().to_vec();
        operands.push_all(rows.iter().flatten().map(|(_, node)| *node));
        let copies = graph.append(&template.graph, &operands);
        let results = template.results.iter().map(|result| copies[result.index()]).list();
        let (own, tangents) = results.split_at(states);
        graph.note_refinement(of, own);
        let mut tangents = tangents.iter().copied();
        let of_state = |directions: &Vec<InputId>| directions.iter().copied().zip(tangents.by_ref()).list();
        template.directions.iter().map(of_state).list()
    }
}

impl Template {
    /// The loop over a body whose inputs have tangents of these kinds.
    fn new(body: &Rc<LoopBody>, kinds: Vec<Vec<Kind>>) -> Template {
        let states = body.states();
        // The operands: start, count, the inputs of the body, and the tangents of these.
        let mut graph = Graph::new();
        let mut last = 0u32..;
        let mut input = |graph: &mut Graph| graph.input(InputId(last.next().unwrap_or_default()));
        let own = (0..2 + states + body.captured()).map(|_| input(&mut graph)).list();
        let mut rows: Vec<Row> = Vec::new();
        for kinds in &kinds {
            let mut tangent = |&(direction, literal): &Kind| {
                let operand = input(&mut graph);
                (direction, literal.map_or(operand, |bits| graph.literal(f64::from_bits(bits))))
            };
            rows.push(kinds.iter().map(&mut tangent).list());
        }
        let directions = influence(body).iter().map(|inputs| directions(inputs, &rows)).list();
        let (longer, next) = with_tangents(body, &directions, &rows[states..]);
        let (initial, captured) = own[2..].split_at(states);
        let mut operands = [&own[..2], initial].concat();
        let zero = graph.literal(0.0);
        for (directions, row) in directions.iter().zip(&rows) {
            operands.push_all(directions.iter().map(|direction| along(row, *direction).unwrap_or(zero)));
        }
        operands.push_all(captured.iter().copied());
        operands.push_all(rows[states..].iter().flatten().map(|(_, node)| *node));
        let results = graph.apply_loop(&longer, &next, &operands);
        Template { body: body.clone(), kinds, graph, results, directions }
    }
}

/// A body with tangents of its state along these directions, and the next state with its tangents. Its inputs are the counter, the state, its tangents, what the
/// body takes, and the tangents of that along the directions of these rows.
fn with_tangents(body: &LoopBody, directions: &[Vec<InputId>], captured: &[Row]) -> (Graph, Vec<NodeId>) {
    let mut graph = Graph::new();
    let mut last = 0u32..;
    let mut input = |graph: &mut Graph| graph.input(InputId(last.next().unwrap_or_default()));
    let mut inputs = (0..=body.states()).map(|_| input(&mut graph)).list();
    let mut seeds: Vec<Row> = vec![Vec::new()];
    for directions in directions {
        seeds.push(directions.iter().map(|direction| (*direction, input(&mut graph))).list());
    }
    let tangents: usize = directions.iter().map(Vec::len).sum();
    seeds.resize(1 + body.states() + tangents, Vec::new());
    for _ in 0..body.captured() {
        inputs.push(input(&mut graph));
    }
    for row in captured {
        seeds.push(row.iter().map(|(direction, _)| (*direction, input(&mut graph))).list());
    }
    let copies = graph.append(body.graph().graph(), &inputs);
    let mut next = body.next().iter().map(|next| copies[next.index()]).list();
    let with_seeds = (0..seeds.len()).filter(|input| !seeds[*input].is_empty());
    let active = active_nodes(&graph, &with_seeds.map(|input| InputId(input as u32)).list());
    let of_input = |input: InputId| seeds.get(input.0 as usize).cloned().unwrap_or_default();
    let tangents = forward::tangents(&mut graph, &active, &next, &of_input);
    let zero = graph.literal(0.0);
    for (directions, row) in directions.iter().zip(&tangents) {
        next.push_all(directions.iter().map(|direction| along(row, *direction).unwrap_or(zero)));
    }
    (graph, next)
}

/// The derivative along a direction.
fn along(row: &Row, direction: InputId) -> Option<NodeId> {
    row.iter().find(|(of, _)| *of == direction).map(|(_, node)| *node)
}

/// The directions of the inputs that something depends on, ascending.
fn directions(depends: &[bool], rows: &[Row]) -> Vec<InputId> {
    let mut found = Vec::new();
    for (row, _) in rows.iter().zip(depends).filter(|(_, depends)| **depends) {
        found.push_all(row.iter().map(|(direction, _)| *direction));
    }
    ascending(&mut found);
    found.dedup();
    found
}

/// The tangents of loops, as far as they have been found.
#[derive(Default)]
pub(super) struct Known {
    longer: Longer,
    tangents: Vec<Option<Vec<Row>>>,
    /// Nodes that have been looked at.
    visited: Vec<bool>,
}

impl Known {
    /// The loops that outputs depend on and that are not known, each after those that it depends on.
    pub fn missing(&mut self, graph: &Graph, active: &[bool], seeds: &[(NodeId, NodeId)]) -> Vec<LoopId> {
        if graph.loops().is_empty() {
            return Vec::new();
        }
        self.visited.resize(self.visited.len().max(active.len()), false);
        let mut found = Vec::new();
        let mut pending = seeds.iter().map(|(output, _)| *output).list();
        while let Some(node) = pending.pop() {
            let is_new =
                active.get(node.index()) == Some(&true) && !std::mem::replace(&mut self.visited[node.index()], true);
            if !is_new {
                continue;
            }
            if let Node::Result(of, _) = graph.node(node) {
                found.push(of);
            }
            pending.push_all(graph.operands(node).iter().copied());
        }
        ascending(&mut found);
        found.dedup();
        found.retain(|of| self.tangents.get(of.index()).is_none_or(Option::is_none));
        found
    }

    /// Adds the tangents of a loop's final state, from those of its inputs.
    pub fn add(&mut self, graph: &mut Graph, of: LoopId, rows: &[Row]) {
        let tangents = self.longer.differentiate(graph, of, rows);
        self.tangents.resize(self.tangents.len().max(of.index() + 1), None);
        self.tangents[of.index()] = Some(tangents);
    }

    /// The tangents of a loop's final state.
    pub fn of(&self, of: LoopId) -> &[Row] {
        self.tangents
            .get(of.index())
            .and_then(Option::as_deref)
            .expect("loops are differentiated before the sweep that meets them")
    }
}
