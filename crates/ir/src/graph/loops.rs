//! Loops: a body of its own that is applied to a state again and again.
//!
//! A [`Loop`] is a count, a start, the initial numbers of its state and the outer numbers that its body takes; a [`LoopBody`] is a graph over the counter,
//! the state and those outer numbers, with one node for each number of the next state. The body is computed `count` times, with the counter at `start`,
//! `start + 1`, …; [`Node::Result`] is a number of the state afterwards, which is the initial one where the count is 0. The count is cut to a whole number from
//! 0 to [`MOST_STEPS`], and NaN counts as 0, so that no loop runs without end.
//!
//! A loop is a node like others to all that stands outside of it: it comes after its operands and is the same for the same operands and body. The body is
//! shared by all loops that have it. [`Graph::apply_loop`] makes the simplest loop with the requested results: what does not depend on counter or state is
//! computed before it, numbers that are known stand in the body, and what a body leaves as it is no part of the state. [`Graph::extract`] drops numbers of the
//! state that no output needs.
//!
//! Derivatives extend the state by tangents ([`crate::autodiff`]). The longer loop computes the numbers of the shorter one too, so a graph that needs both
//! keeps the longer one alone: see [`Graph::note_refinement`].

use std::rc::Rc;

use residua_base::list::{Listed, PushAll};
use residua_base::sort::ascending;
use rustc_hash::FxHashMap;

use super::{CheckedGraph, Graph, InputId, Loop, LoopBody, LoopId, Node, NodeId, Refinement};

/// A loop runs so many steps at most: more would keep a device busy for so long that the browser takes it away.
pub const MOST_STEPS: u32 = 1_000_000;

impl LoopId {
    /// Position in [`Graph::loops`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl PartialEq for LoopBody {
    fn eq(&self, other: &LoopBody) -> bool {
        let (graph, others) = (&self.graph, &other.graph);
        self.next == other.next && graph.inputs == others.inputs && graph.graph.is_same(&others.graph)
    }
}

/// The whole number of steps that a count means.
pub fn steps(count: f64) -> u32 {
    // The conversion gives 0 for NaN.
    count.clamp(0.0, f64::from(MOST_STEPS)) as u32
}

impl LoopBody {
    /// The counter, as an input of a body.
    pub const COUNTER: InputId = InputId(0);

    /// A number of the state, as an input of a body.
    pub fn state(number: usize) -> InputId {
        InputId(1 + number as u32)
    }

    pub(super) fn of(graph: CheckedGraph, next: Vec<NodeId>) -> LoopBody {
        LoopBody { graph, next }
    }

    /// What is computed. Its inputs are the counter, the state and the captured numbers.
    pub fn graph(&self) -> &CheckedGraph {
        &self.graph
    }

    /// The next state.
    pub fn next(&self) -> &[NodeId] {
        &self.next
    }

    /// How many numbers the state has.
    pub fn states(&self) -> usize {
        self.next.len()
    }

    /// How many outer numbers the body takes.
    pub fn captured(&self) -> usize {
        self.graph.input_count() as usize - 1 - self.states()
    }

    /// The state after the given steps from an initial one, of a body that may read tables.
    pub fn run(&self, start: f64, count: f64, state: &[f64], captured: &[f64], tables: &[f64]) -> Vec<f64> {
        let mut inputs = [&[start], state, captured].concat();
        let mut values = vec![0.0; self.graph.graph().len()];
        for step in 0..steps(count) {
            inputs[0] = start + f64::from(step);
            self.graph.evaluate_with(&inputs, tables, &mut values);
            for (number, next) in self.next.iter().enumerate() {
                inputs[1 + number] = values[next.index()];
            }
        }
        inputs[1..][..self.states()].to_vec()
    }
}

impl Loop {
    /// What it does in one step.
    pub fn body(&self) -> &Rc<LoopBody> {
        &self.body
    }

    /// Start, count, initial state and captured numbers.
    pub fn operands(&self) -> &[NodeId] {
        &self.operands
    }

    /// The counter of the first step.
    pub fn start(&self) -> NodeId {
        self.operands[0]
    }

    /// How many steps.
    pub fn count(&self) -> NodeId {
        self.operands[1]
    }

    /// The initial state, and what the body takes from outside: the inputs of the body after the counter.
    pub fn inputs(&self) -> &[NodeId] {
        &self.operands[2..]
    }

    /// The final state, from the values of the nodes before the loop and the tables.
    pub fn run(&self, value: impl Fn(NodeId) -> f64, tables: &[f64]) -> Vec<f64> {
        let inputs = self.inputs().iter().map(|input| value(*input)).list();
        let (state, captured) = inputs.split_at(self.body.states());
        self.body.run(value(self.start()), value(self.count()), state, captured, tables)
    }
}

/// A node of a body in the making: one of the graph around it where it depends on neither counter nor state.
#[derive(Clone, Copy)]
enum Place {
    Outer(NodeId),
    Inner(NodeId),
}

/// A body in the making.
struct Inner {
    graph: Graph,
    states: usize,
    captured: Vec<NodeId>,
    numbers: FxHashMap<NodeId, u32>,
}

impl Inner {
    /// The node of the body that has the value of a place.
    fn node(&mut self, outer: &Graph, place: Place) -> NodeId {
        let captured = match place {
            Place::Inner(node) => return node,
            Place::Outer(node) => match outer.literal_value(node) {
                Some(value) => return self.graph.literal(value),
                None => node,
            },
        };
        let number = *self.numbers.entry(captured).or_insert_with(|| {
            self.captured.push(captured);
            self.captured.len() as u32 - 1
        });
        self.graph.input(InputId(1 + self.states as u32 + number))
    }
}

impl Graph {
    /// All loops, each after those that it depends on.
    pub fn loops(&self) -> &[Loop] {
        &self.loops
    }

    /// The ids of all loops.
    pub fn loop_ids(&self) -> impl Iterator<Item = LoopId> + use<> {
        (0..self.loops.len() as u32).map(LoopId)
    }

    /// The loop of an id.
    pub fn loop_of(&self, id: LoopId) -> &Loop {
        &self.loops[id.index()]
    }

    /// The final state of a loop over `next.len()` numbers: nodes of a body whose inputs are the counter, the state and the captured numbers. `operands` are start,
    /// count, initial state and captured numbers.
    pub fn apply_loop(&mut self, body: &Graph, next: &[NodeId], operands: &[NodeId]) -> Vec<NodeId> {
        let (initial, captured) = operands[2..].split_at(next.len());
        if self.literal_value(operands[1]).is_some_and(|count| steps(count) == 0) {
            return initial.to_vec();
        }
        let (body, next) = body.extract(next);
        let stays = |number: usize| body.node(next[number]) == Node::Input(LoopBody::state(number));
        let changing = (0..next.len()).filter(|number| !stays(*number)).list();
        let mut inner =
            Inner { graph: Graph::new(), states: changing.len(), captured: Vec::new(), numbers: FxHashMap::default() };
        let mut takes_counter = false;
        let mut results: Vec<Option<Vec<Place>>> = vec![None; body.loops.len()];
        let mut places: Vec<Place> = Vec::with_capacity(body.len());
        for node in body.nodes() {
            let place = match *node {
                Node::Literal(bits) => Place::Outer(self.literal(f64::from_bits(bits))),
                Node::Input(LoopBody::COUNTER) => {
                    takes_counter = true;
                    Place::Inner(inner.graph.input(LoopBody::COUNTER))
                }
                Node::Input(InputId(input)) => match (input as usize - 1).checked_sub(next.len()) {
                    Some(number) => Place::Outer(captured[number]),
                    None => match changing.binary_search(&(input as usize - 1)) {
                        Ok(number) => Place::Inner(inner.graph.input(LoopBody::state(number))),
                        Err(_) => Place::Outer(initial[input as usize - 1]),
                    },
                },
                Node::Apply(op, operands) => {
                    let operands = operands[..op.arity()].iter().map(|operand| places[operand.index()]).list();
                    match all_outer(&operands) {
                        Some(operands) => Place::Outer(self.apply(op, &operands)),
                        None => {
                            let operands = operands.iter().map(|place| inner.node(self, *place)).list();
                            Place::Inner(inner.graph.apply(op, &operands))
                        }
                    }
                }
                Node::Result(id, number) => {
                    let of_loop = results[id.index()].get_or_insert_with(|| {
                        let Loop { body, operands } = body.loop_of(id);
                        let operands = operands.iter().map(|operand| places[operand.index()]).list();
                        let (graph, next) = (body.graph.graph(), &body.next);
                        match all_outer(&operands) {
                            Some(operands) => {
                                self.apply_loop(graph, next, &operands).into_iter().map(Place::Outer).list()
                            }
                            None => {
                                let operands = operands.iter().map(|place| inner.node(self, *place)).list();
                                let states = inner.graph.apply_loop(graph, next, &operands);
                                states.into_iter().map(Place::Inner).list()
                            }
                        }
                    });
                    of_loop[number as usize]
                }
            };
            places.push(place);
        }
        let next = changing.iter().map(|number| inner.node(self, places[next[*number].index()])).list();
        let start = if takes_counter { operands[0] } else { self.literal(0.0) };
        let captured = (1 + inner.states + inner.captured.len()) as u32;
        let graph = inner.graph.check(captured).expect("a body is made of its own nodes and inputs");
        let body = LoopBody { graph, next };
        let (body, needed) = body.without_unread();
        let mut operands = vec![start, operands[1]];
        operands.push_all(changing.iter().map(|number| initial[*number]));
        operands.push_all(needed.iter().map(|number| inner.captured[*number]));
        let id = self.push_loop(Rc::new(body), operands);
        let result = |number: usize| match changing.binary_search(&number) {
            Ok(changing) => self.intern(Node::Result(id, changing as u32)),
            Err(_) => initial[number],
        };
        (0..initial.len()).map(result).list()
    }

    /// The final state of a loop over a body of another one.
    pub(super) fn apply_body(&mut self, body: &Rc<LoopBody>, operands: Vec<NodeId>) -> Vec<NodeId> {
        let captured = &operands[2 + body.states()..];
        let mut distinct = captured.to_vec();
        ascending(&mut distinct);
        distinct.dedup();
        let is_known = |operand: &NodeId| self.literal_value(*operand).is_some();
        let is_empty = self.literal_value(operands[1]).is_some_and(|count| steps(count) == 0);
        if is_empty || distinct.len() < captured.len() || captured.iter().any(is_known) {
            return self.apply_loop(body.graph.graph(), &body.next, &operands);
        }
        let id = self.push_loop(body.clone(), operands);
        (0..body.states() as u32).map(|number| self.result(id, number)).list()
    }

    /// The loop of a body and its operands, new or not.
    pub(super) fn push_loop(&mut self, body: Rc<LoopBody>, operands: Vec<NodeId>) -> LoopId {
        let known = self.loops.iter().find(|known| Rc::ptr_eq(&known.body, &body));
        let known = known.or_else(|| self.loops.iter().find(|known| known.body == body));
        let new = Loop { body: known.map_or(body, |known| known.body.clone()), operands };
        let is_same = |known: &Loop| Rc::ptr_eq(&known.body, &new.body) && known.operands == new.operands;
        let position = self.loops.iter().position(is_same).unwrap_or_else(|| {
            self.loops.push(new);
            self.refinements.push(None);
            self.loops.len() - 1
        });
        LoopId(position as u32)
    }

    /// The node of a number of a loop's final state.
    pub(super) fn result(&mut self, id: LoopId, number: u32) -> NodeId {
        self.intern(Node::Result(id, number))
    }

    /// Notes that another loop computes the numbers of one: these are its results, in order. A graph that needs any result of the other one takes all from it.
    pub fn note_refinement(&mut self, id: LoopId, results: &[NodeId]) {
        let found = results.iter().map(|result| match self.node(*result) {
            Node::Result(by, number) => Some((by, number)),
            Node::Literal(_) | Node::Input(_) | Node::Apply(..) => None,
        });
        let Some(found) = found.collect::<Option<Vec<_>>>() else { return };
        let by = found[0].0;
        if by > id && found.iter().all(|(other, _)| *other == by) {
            let states = found.into_iter().map(|(_, number)| number).list();
            self.refinements[id.index()] = Some(Refinement { by, states });
        }
    }

    /// The last of the refinements of a loop that is needed, and for each number of the loop its number there.
    pub(super) fn refined(&self, id: LoopId, is_needed: impl Fn(LoopId) -> bool) -> Option<(LoopId, Vec<u32>)> {
        let mut found = None;
        let mut states = (0..self.loop_of(id).body.states() as u32).list();
        let mut current = id;
        while let Some(Refinement { by, states: numbers }) = &self.refinements[current.index()] {
            states = states.iter().map(|state| numbers[*state as usize]).list();
            current = *by;
            if is_needed(current) {
                found = Some((current, states.clone()));
            }
        }
        found
    }
}

fn all_outer(places: &[Place]) -> Option<Vec<NodeId>> {
    let outer = |place: &Place| match place {
        Place::Outer(node) => Some(*node),
        Place::Inner(_) => None,
    };
    places.iter().map(outer).collect()
}
