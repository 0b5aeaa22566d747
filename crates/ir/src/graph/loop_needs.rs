//! What of a loop is needed for some numbers of its state, and the body of these alone.

use residua_base::list::Listed;

use super::{Graph, InputId, LoopBody, Node};

/// The numbers of a loop's state and the captured numbers that are needed, as they are found.
pub(super) struct Needs {
    nodes: Vec<bool>,
    /// By number of the state.
    pub states: Vec<bool>,
    /// By captured number.
    pub captured: Vec<bool>,
}

impl Needs {
    /// Nothing of a body.
    pub fn none(body: &LoopBody) -> Needs {
        let nodes = vec![false; body.graph().graph().len()];
        Needs { nodes, states: vec![false; body.states()], captured: vec![false; body.captured()] }
    }

    /// Adds a number of the state and all that it depends on, step after step. Gives the inputs of the body, after the counter, that are needed since.
    pub fn add(&mut self, body: &LoopBody, number: usize) -> Vec<usize> {
        let graph = body.graph().graph();
        let mut found = Vec::new();
        let mut states = vec![number];
        while let Some(state) = states.pop() {
            if std::mem::replace(&mut self.states[state], true) {
                continue;
            }
            found.push(state);
            let mut pending = vec![body.next()[state]];
            while let Some(node) = pending.pop() {
                if std::mem::replace(&mut self.nodes[node.index()], true) {
                    continue;
                }
                match graph.node(node) {
                    Node::Literal(_) | Node::Input(LoopBody::COUNTER) => {}
                    Node::Input(InputId(input)) => match (input as usize - 1).checked_sub(body.states()) {
                        None => states.push(input as usize - 1),
                        Some(captured) => {
                            self.captured[captured] = true;
                            found.push(input as usize - 1);
                        }
                    },
                    Node::Apply(..) | Node::Result(..) => pending.extend_from_slice(graph.operands(node)),
                }
            }
        }
        found
    }

    /// Whether everything is needed.
    pub fn are_all(&self) -> bool {
        self.states.iter().chain(&self.captured).all(|needed| *needed)
    }
}

impl LoopBody {
    /// The body without captured numbers that no next state needs, and which of them are needed.
    pub(super) fn without_unread(self) -> (LoopBody, Vec<usize>) {
        let mut needs = Needs::none(&self);
        for state in 0..self.states() {
            needs.add(&self, state);
        }
        let needed = (0..needs.captured.len()).filter(|position| needs.captured[*position]).list();
        (self.with(&needs), needed)
    }

    /// The body of what is needed.
    pub(super) fn with(&self, needs: &Needs) -> LoopBody {
        let next = self.next().iter().zip(&needs.states).filter(|(_, needed)| **needed).map(|(next, _)| *next).list();
        let (graph, next) = self.graph().graph().extract(&next);
        // Inputs are counted anew, without those that are not needed.
        let mut numbers = vec![0u32; 1 + needs.states.len() + needs.captured.len()];
        let mut count = 1;
        for (position, needed) in needs.states.iter().chain(&needs.captured).enumerate() {
            numbers[1 + position] = count;
            count += u32::from(*needed);
        }
        let graph = graph.with_inputs(|input| InputId(numbers[input.0 as usize]));
        LoopBody::of(graph.check(count).expect("a part of a sound body is sound"), next)
    }
}

impl Graph {
    /// The same nodes with other numbers of the inputs.
    fn with_inputs(self, number: impl Fn(InputId) -> InputId) -> Graph {
        let mut renumbered = Graph::new();
        for node in self.nodes() {
            match *node {
                Node::Input(input) => renumbered.input(number(input)),
                other => renumbered.intern(other),
            };
        }
        Graph { loops: self.loops, refinements: self.refinements, ..renumbered }
    }
}
