//! Dead-code removal: what some outputs need, and nothing else.

use super::{Graph, Node, NodeId};
use residua_base::list::Listed;

impl Graph {
    /// A graph of what the outputs depend on, in the same order, and the outputs' nodes in it.
    pub fn extract(&self, outputs: &[NodeId]) -> (Graph, Vec<NodeId>) {
        let mut needed = vec![false; self.len()];
        for output in outputs {
            needed[output.index()] = true;
        }
        for id in self.ids().rev() {
            if needed[id.index()] {
                for operand in self.nodes()[id.index()].operands() {
                    needed[operand.index()] = true;
                }
            }
        }

        let mut extracted = Graph::new();
        // Only what was needed is looked up, and operands stand before their users.
        let mut copies = vec![NodeId(0); self.len()];
        for id in self.ids().filter(|id| needed[id.index()]) {
            let copy = match self.node(id) {
                leaf @ (Node::Literal(_) | Node::Input(_)) => leaf,
                Node::Apply(op, operands) => Node::Apply(op, operands.map(|operand| copies[operand.index()])),
            };
            copies[id.index()] = extracted.intern(copy);
        }
        let outputs = outputs.iter().map(|output| copies[output.index()]).list();
        (extracted, outputs)
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
