//! Sweeps forward, and derivatives of loops: the state of a loop is extended by its tangents, one for each direction that a number of the state depends on, and
//! the longer loop has them all.
//!
//! A sweep has the rules of reverse sweeps, since what they give is linear in the adjoint: with the derivative of an operand in its place it is what that operand
//! adds to the derivative of the result. A direction is an input that is differentiated by. The tangents of what a body takes from outside are operands of the
//! new loop. The state grows with the number of inputs; loops of very many go backward ([`super::backward`]).
//!
//! The new loop computes the numbers of the old one too, and the graph is told so. It is a loop like any other, so second derivatives are those of its
//! results.

use std::rc::Rc;

use residua_base::list::{Listed, PushAll};
use residua_base::sort::ascending;

use super::dependence::{active_nodes, influence};
use super::rules::{Application, Derivation, InGraph, Passage, Slope, passage, slope};
use crate::graph::{Graph, InputId, LoopBody, LoopId, Node, NodeId, Op};

/// Derivatives by inputs, ascending.
pub(super) type Row = Vec<(InputId, NodeId)>;

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
    let count: usize = directions.iter().map(Vec::len).sum();
    seeds.resize(1 + body.states() + count, Vec::new());
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
    let rows = tangents(&mut graph, &active, &next, &of_input);
    let zero = graph.literal(0.0);
    for (directions, row) in directions.iter().zip(&rows) {
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

/// The active nodes that the outputs depend on.
pub(super) fn needed(graph: &Graph, active: &[bool], outputs: &[NodeId]) -> Vec<bool> {
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
