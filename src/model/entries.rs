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
    /// For each a number that is the same for those that differ by their sign alone.
    keys: Vec<u64>,
}

impl Entries {
    pub(super) fn push(&mut self, place: (u32, u32), node: NodeId, graph: &Graph) {
        let first = self.nodes.len().saturating_sub(MOST_COMPARED);
        let key = key_without_sign(graph, node, KEY_DEPTH);
        let mut known = self.keys[first..].iter().zip(&self.nodes[first..]);
        let negative = known.position(|(of, &known)| *of == key && are_opposite(graph, known, node));
        self.places.push(place);
        self.negatives.push(negative.map(|position| (first + position) as u32));
        self.nodes.push(node);
        self.keys.push(key);
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

/// So many factors within factors enter a key.
const KEY_DEPTH: u32 = 3;

/// A number that two nodes share if [`are_opposite`] says so; few others do. It takes far less time to compare.
fn key_without_sign(graph: &Graph, node: NodeId, depth: u32) -> u64 {
    let mix = |hash: u64, word: u64| (hash.rotate_left(5) ^ word).wrapping_mul(0x517C_C1B7_2722_0A95);
    match graph.node(node) {
        Node::Literal(bits) => mix(1, f64::from_bits(bits).abs().to_bits()),
        Node::Apply(Op::Neg, [operand, ..]) => key_without_sign(graph, operand, depth),
        Node::Apply(op @ (Op::Mul | Op::Div), [a, b, ..]) => {
            let Some(depth) = depth.checked_sub(1) else { return op as u64 };
            let [a, b] = [a, b].map(|factor| key_without_sign(graph, factor, depth));
            // The factors of a product stand in any order.
            if op == Op::Mul { a.wrapping_add(b) } else { mix(a, b) }
        }
        Node::Apply(..) | Node::Input(_) | Node::Result(..) => mix(2, node.index() as u64),
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
        (Node::Apply(..) | Node::Literal(_) | Node::Input(_) | Node::Result(..), _) => false,
    }
}
