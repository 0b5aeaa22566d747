//! The entries of J̃ that a class has, and which of them differ by their sign alone (the two ends of an edge), so that they are stored and
//! read once.

use residua_ir::graph::{Graph, Node, NodeId, Op};

use super::class::Class;

/// An entry is compared with so many before it. Those that differ by their sign alone stand near each other, most of them in one row.
const MOST_COMPARED: usize = 256;

/// What J̃ is made of: its entries that are not zero whatever the point.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entries {
    /// Output and [`Class::gradient_column`] of each.
    pub places: Vec<(u32, u32)>,
    /// For each the earlier one that it is the negative of, if it is.
    pub negatives: Vec<Option<u32>>,
    nodes: Vec<NodeId>,
}

impl Entries {
    pub(super) fn push(&mut self, place: (u32, u32), node: NodeId, graph: &Graph) {
        let first = self.nodes.len().saturating_sub(MOST_COMPARED);
        let negative = self.nodes[first..].iter().position(|&known| are_opposite(graph, known, node));
        self.places.push(place);
        self.negatives.push(negative.map(|position| (first + position) as u32));
        self.nodes.push(node);
    }

    /// Whether each instance has two blocks, and each entry for the second is the negative of the first's.
    pub(super) fn are_mirrored(&self, class: &Class) -> bool {
        let [first, second] = class.block_dims[..] else { return false };
        let of = |block: u32| move |&(_, (_, place)): &(usize, (u32, u32))| (place >= first) == (block == 1);
        let places = || self.places.iter().copied().enumerate();
        first == second
            && places().filter(of(0)).count() == places().filter(of(1)).count()
            && places().filter(of(1)).all(|(number, (output, place))| {
                self.negatives[number].is_some_and(|other| self.places[other as usize] == (output, place - first))
            })
    }
}

/// Whether a node is the negative of another whatever the inputs, and to the bit: products and quotients in which one factor is the
/// other's negative are looked into.
fn are_opposite(graph: &Graph, a: NodeId, b: NodeId) -> bool {
    let opposite = |a, b| are_opposite(graph, a, b);
    match (graph.node(a), graph.node(b)) {
        (Node::Literal(a), Node::Literal(b)) => f64::from_bits(a) == -f64::from_bits(b),
        (Node::Apply(Op::Neg, [operand, ..]), _) if operand == b => true,
        (_, Node::Apply(Op::Neg, [operand, ..])) if operand == a => true,
        (Node::Apply(Op::Mul, [a, c, ..]), Node::Apply(Op::Mul, [b, d, ..])) => {
            a == b && opposite(c, d) || c == d && opposite(a, b) || a == d && opposite(c, b) || c == b && opposite(a, d)
        }
        (Node::Apply(Op::Div, [a, c, ..]), Node::Apply(Op::Div, [b, d, ..])) => {
            a == b && opposite(c, d) || c == d && opposite(a, b)
        }
        (Node::Apply(..) | Node::Literal(_) | Node::Input(_), _) => false,
    }
}
