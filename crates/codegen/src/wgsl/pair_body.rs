//! Operations on pairs in straight-line code: which of the library's functions an operation takes, by what is known of its operands.

use residua_base::list::Listed;
use residua_ir::graph::{Node, NodeId, Op};

use super::body::Body;
use super::value::Value;
use super::{operation, pairs};
use crate::Width;

/// Of a sum of sums without normalisation, so many may follow one another. Each adds up errors of f32, which are 2⁻²⁴ of its largest addend, in f32: of
/// k of them the worst is k² 2⁻⁴⁸ of that addend.
const MOST_UNNORMALISED: u8 = 8;

impl Body<'_> {
    /// An operation on pairs, as an expression: a pair, or of a comparison a single number.
    pub(super) fn operation_in_pairs(&mut self, op: Op, operands: &[NodeId], normalised: bool) -> Value {
        if operation::is_comparison(op) {
            let [a, b] = [operands[0], operands[1]].map(|operand| self.pair(operand));
            return Value::Single(format!("select(0.0, 1.0, {})", pairs::comparison(op, &a, &b, self.imports())));
        }
        let mut texts: Vec<String> = Vec::with_capacity(operands.len());
        let mut rest = operands;
        if op == Op::Select {
            texts.push(self.condition(operands[0]));
            rest = &operands[1..];
        }
        for &operand in rest {
            let text = self.pair(operand);
            texts.push(text);
        }
        let literals = operands.iter().map(|operand| self.literal_of(*operand)).list();
        match (op, literals.as_slice()) {
            (Op::Mul, &[a, b]) if a.is_none() || b.is_none() => {
                let same = operands[0] == operands[1];
                return Value::Pair(pairs::product([&texts[0], &texts[1]], [a, b], same, normalised, self.imports()));
            }
            (Op::Select, _) => {}
            // An operation on nothing but literals is no constant expression, see `literal::opaque`.
            (_, literals) if literals.iter().all(Option::is_some) => {
                if let Some(number) = literals[0] {
                    texts[0] = pairs::opaque(number, self.imports());
                }
            }
            _ => {}
        }
        let texts: Vec<&str> = texts.iter().map(String::as_str).list();
        Value::Pair(match (op, normalised) {
            (Op::Add, false) => self.import("unnormalised_sum", &texts),
            (Op::Sub, false) => self.import("unnormalised_difference", &texts),
            _ => pairs::expression(op, &texts, self.imports()),
        })
    }

    /// For each node whether it is left unnormalised: a sum, difference or product in pairs that nothing but sums and differences in pairs take.
    /// These drop the errors where their result is infinite, so that results are of the same kind, and the last of them normalises.
    pub(super) fn unnormalised(&self, roots: &[NodeId]) -> Vec<bool> {
        let op = |node: NodeId| match self.graph.node(node) {
            Node::Apply(op, _) if self.widths.of(node) == Width::Pair => Some(op),
            Node::Apply(..) | Node::Literal(_) | Node::Input(_) | Node::Result(..) => None,
        };
        let mut needed = vec![false; self.graph.len()];
        let mut found: Vec<bool> =
            self.graph.ids().map(|node| matches!(op(node), Some(Op::Add | Op::Sub | Op::Mul))).list();
        for root in roots {
            needed[root.index()] = true;
            found[root.index()] = false;
        }
        // Takers come after what they take.
        for node in self.graph.ids().rev() {
            if needed[node.index()] {
                let is_sum = matches!(op(node), Some(Op::Add | Op::Sub));
                for operand in self.dependencies(node) {
                    needed[operand.index()] = true;
                    found[operand.index()] &= is_sum;
                }
            }
        }
        let mut rank = vec![0u8; self.graph.len()];
        for node in self.graph.ids().filter(|node| needed[node.index()]).list() {
            if found[node.index()] {
                let sums = if op(node) == Some(Op::Mul) { Vec::new() } else { self.dependencies(node) };
                let most = sums.iter().map(|operand| rank[operand.index()]).max();
                rank[node.index()] = 1 + most.unwrap_or_default();
                if rank[node.index()] > MOST_UNNORMALISED {
                    (found[node.index()], rank[node.index()]) = (false, 0);
                }
            }
        }
        found
    }
}
