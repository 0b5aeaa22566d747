//! Composition: a graph written into another, its inputs replaced by nodes that stand there.

use super::{Graph, NodeId};
use residua_base::list::Listed;

impl Graph {
    /// Writes what some outputs of another graph depend on into this one, with `inputs[k]` in place of its input `k`, and
    /// gives the outputs' nodes here. Everything is simplified anew: a replaced input may be a number.
    ///
    /// # Panics
    /// If an output depends on an input that has no replacement.
    pub fn substitute(&mut self, source: &Graph, inputs: &[NodeId], outputs: &[NodeId]) -> Vec<NodeId> {
        let (needed, outputs) = source.extract(outputs);
        let copies = self.append(&needed, inputs);
        outputs.iter().map(|output| copies[output.index()]).list()
    }
}

#[cfg(test)]
mod tests {
    use super::super::InputId;
    use super::*;

    #[test]
    fn inputs_become_nodes_and_what_is_not_needed_stays_away() {
        let mut source = Graph::new();
        let (a, b) = (source.input(InputId(0)), source.input(InputId(1)));
        let product = source.mul(a, b);
        let _ = source.sin(product);
        let root = source.sqrt(product);

        let mut target = Graph::new();
        let x = target.input(InputId(5));
        let three = target.literal(3.0);
        let outputs = target.substitute(&source, &[x, three], &[root, product]);

        assert_eq!(target.len(), 4, "x, 3, 3x and its root, and no sine");
        let values = target.check(6).unwrap().evaluate(&[0.0, 0.0, 0.0, 0.0, 0.0, 12.0]);
        assert_eq!([values[outputs[0].index()], values[outputs[1].index()]], [6.0, 36.0]);
    }
}
