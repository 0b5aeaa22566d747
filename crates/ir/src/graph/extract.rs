//! Dead-code removal: what some outputs need, and nothing else.

use super::loop_needs::Needs;
use super::{Graph, LoopId, Node, NodeId};
use residua_base::list::{Listed, PushAll};
use std::borrow::Cow;
use std::rc::Rc;

impl Graph {
    /// A graph of what the outputs depend on, in the same order, and the outputs' nodes in it. Of a loop it has the numbers of the state that are needed, and
    /// results of a loop that another one computes too are those of that one.
    pub fn extract(&self, outputs: &[NodeId]) -> (Graph, Vec<NodeId>) {
        let own = Needed::of(self, outputs, vec![None; self.loops.len()]);
        let refined = |position: usize| self.refined(LoopId(position as u32), |by| own.loops[by.index()].is_some());
        let redirected =
            (0..self.loops.len()).map(|position| own.loops[position].as_ref().and_then(|_| refined(position)));
        let redirected: Vec<_> = redirected.list();
        let needed = if redirected.iter().all(Option::is_none) { own } else { Needed::of(self, outputs, redirected) };

        let mut copier = Copier {
            source: self,
            needed: &needed,
            extracted: Graph::new(),
            copies: vec![None; self.len()],
            loops: vec![None; self.loops.len()],
        };
        for id in self.ids().filter(|id| needed.nodes[id.index()]) {
            copier.copy(id);
        }
        let outputs = outputs.iter().map(|output| copier.copy_of(*output)).list();
        (copier.extracted, outputs)
    }
}

/// For each loop the one that its results are taken from, and for each number of its state the number there.
type Redirected = Vec<Option<(LoopId, Vec<u32>)>>;

/// What some outputs depend on.
struct Needed {
    nodes: Vec<bool>,
    /// Of loops of which a result is needed, what is.
    loops: Vec<Option<Needs>>,
    redirected: Redirected,
}

impl Needed {
    fn of(graph: &Graph, outputs: &[NodeId], redirected: Redirected) -> Needed {
        let loops = graph.loops.iter().map(|_| None).list();
        let mut needed = Needed { nodes: vec![false; graph.len()], loops, redirected };
        let mut pending = outputs.to_vec();
        while let Some(id) = pending.pop() {
            if std::mem::replace(&mut needed.nodes[id.index()], true) {
                continue;
            }
            match graph.node(id) {
                Node::Literal(_) | Node::Input(_) => {}
                Node::Apply(..) => pending.push_all(graph.operands(id).iter().copied()),
                Node::Result(of, number) => {
                    let (of, number) = needed.source(of, number);
                    let of_loop = graph.loop_of(of);
                    let needs = needed.loops[of.index()].get_or_insert_with(|| Needs::none(of_loop.body()));
                    let inputs = needs.add(of_loop.body(), number as usize);
                    pending.push_all([of_loop.start(), of_loop.count()]);
                    pending.push_all(inputs.into_iter().map(|input| of_loop.inputs()[input]));
                }
            }
        }
        needed
    }

    /// The loop and number that a result is taken from.
    fn source(&self, of: LoopId, number: u32) -> (LoopId, u32) {
        match &self.redirected[of.index()] {
            Some((by, numbers)) => (*by, numbers[number as usize]),
            None => (of, number),
        }
    }

    /// The operands of a loop that are needed.
    fn operands(&self, graph: &Graph, of: LoopId) -> Vec<NodeId> {
        let of_loop = graph.loop_of(of);
        let mut operands = vec![of_loop.start(), of_loop.count()];
        if let Some(needs) = &self.loops[of.index()] {
            let are_needed = needs.states.iter().chain(&needs.captured);
            operands.push_all(
                of_loop.inputs().iter().zip(are_needed).filter(|(_, needed)| **needed).map(|(input, _)| *input),
            );
        }
        operands
    }
}

/// A copy of what is needed, in the making.
struct Copier<'a> {
    source: &'a Graph,
    needed: &'a Needed,
    extracted: Graph,
    copies: Vec<Option<NodeId>>,
    /// The copies of loops, and for each number of their states its number there.
    loops: Vec<Option<(LoopId, Vec<u32>)>>,
}

impl Copier<'_> {
    fn copy_of(&self, id: NodeId) -> NodeId {
        self.copies[id.index()].expect("operands are copied before their users")
    }

    /// Copies a node. A loop may stand before what the one needs that its results are taken from, which is then copied first.
    fn copy(&mut self, id: NodeId) {
        let mut pending = vec![id];
        while let Some(&id) = pending.last() {
            if self.copies[id.index()].is_none() {
                let operands = match self.source.node(id) {
                    Node::Literal(_) | Node::Input(_) => Cow::default(),
                    Node::Apply(..) => Cow::Borrowed(self.source.operands(id)),
                    Node::Result(of, number) => {
                        Cow::Owned(self.needed.operands(self.source, self.needed.source(of, number).0))
                    }
                };
                let before = pending.len();
                pending.push_all(operands.iter().copied().filter(|operand| self.copies[operand.index()].is_none()));
                if pending.len() > before {
                    continue;
                }
                let copy = match self.source.node(id) {
                    leaf @ (Node::Literal(_) | Node::Input(_)) => self.extracted.intern(leaf),
                    Node::Apply(op, operands) => {
                        let operands = operands.map(|operand| self.copy_of(operand));
                        self.extracted.intern(Node::Apply(op, operands))
                    }
                    Node::Result(of, number) => {
                        let (of, number) = self.needed.source(of, number);
                        let (of, numbers) = self.copy_loop(of, &operands);
                        let number = numbers[number as usize];
                        self.extracted.result(of, number)
                    }
                };
                self.copies[id.index()] = Some(copy);
            }
            pending.pop();
        }
    }

    /// The copy of a loop whose operands are copied.
    fn copy_loop(&mut self, of: LoopId, operands: &[NodeId]) -> (LoopId, Vec<u32>) {
        if let Some(copy) = &self.loops[of.index()] {
            return copy.clone();
        }
        let body = self.source.loop_of(of).body();
        let needs = self.needed.loops[of.index()].as_ref().expect("a needed result needs its loop");
        let body = if needs.are_all() { body.clone() } else { Rc::new(body.with(needs)) };
        let operands = operands.iter().map(|operand| self.copy_of(*operand)).list();
        let mut count = 0;
        let number = |needed: &bool| {
            count += u32::from(*needed);
            count.saturating_sub(1)
        };
        let numbers = needs.states.iter().map(number).list();
        let copy = (self.extracted.push_loop(body, operands), numbers);
        self.loops[of.index()] = Some(copy.clone());
        copy
    }
}

#[cfg(test)]
mod tests {
    use super::super::InputId;
    use super::*;

    #[test]
    fn extraction_keeps_what_outputs_need_and_drops_the_rest() {
        let mut graph = Graph::new();
        let x = graph.input(InputId(0));
        let y = graph.input(InputId(1));
        let dead = graph.sin(y);
        let sine = graph.sin(x);
        let also_dead = graph.add(dead, sine);
        let root = graph.sqrt(sine);

        let (extracted, outputs) = graph.extract(&[root, sine, root]);

        assert_eq!(extracted.len(), 3, "{:?} was dropped", graph.node(also_dead));
        assert_eq!(outputs[0], outputs[2]);
        let values = extracted.check(1).unwrap().evaluate(&[0.5]);
        assert_eq!(values[outputs[1].index()], 0.5f64.sin());
        assert_eq!(values[outputs[0].index()], 0.5f64.sin().sqrt());
    }
}
