//! Scalar expressions as a hash-consed arena.
//!
//! A [`Graph`] holds numbers, inputs and operations on them; equal nodes exist once, so common subexpressions are shared by
//! construction, and an operand always stands before its user, so that one pass in the order of ids evaluates everything.
//! A graph has no parameters, data or buffers: its leaves are numbered [`InputId`]s, and the access plan of a kernel defines what an input is.

use rustc_hash::FxHashMap;
use std::rc::Rc;

use residua_base::error::{Error, Result};

mod construct;
pub(crate) mod elementary;
mod evaluate;
pub mod exponential;
mod extract;
mod loop_needs;
mod loops;
mod op;
#[cfg(test)]
mod op_codes;
mod simplify;
#[cfg(test)]
mod simplify_test;
pub mod sine;
mod substitute;

pub use evaluate::{evaluate, look_up};
pub use loops::{MOST_STEPS, steps};
pub use op::{ElementaryFunction, MathFunction, Op, leaf};

/// A node of the [`Graph`] that made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(u32);

impl NodeId {
    /// Position in [`Graph::nodes`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A number that the graph is given from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct InputId(pub u32);

/// What a node is. Operands beyond an op's arity repeat the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Node {
    /// A number, by its bits.
    Literal(u64),
    /// A number from outside.
    Input(InputId),
    /// An operation on nodes that stand before this one.
    Apply(Op, [NodeId; 3]),
    /// A number of the final state of a loop.
    Result(LoopId, u32),
}

impl Node {
    /// A number that differs between nodes, but for rare pairs: the hash of FxHasher's first version.
    fn key(&self) -> u64 {
        let [kind, first, second] = match *self {
            Node::Literal(bits) => [0, bits, 0],
            Node::Input(InputId(number)) => [1, u64::from(number), 0],
            Node::Apply(op, [a, b, c]) => [2 + op as u64, u64::from(a.0) | u64::from(b.0) << 32, u64::from(c.0)],
            Node::Result(of, number) => [2 + (1 << 8), u64::from(of.0), u64::from(number)],
        };
        let mix = |hash: u64, word: u64| (hash.rotate_left(5) ^ word).wrapping_mul(0x517C_C1B7_2722_0A95);
        mix(mix(mix(0, kind), first), second)
    }
}

/// A loop of the graph that made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LoopId(u32);

/// What a loop does in one step.
#[derive(Clone, Debug)]
pub struct LoopBody {
    graph: CheckedGraph,
    next: Vec<NodeId>,
}

/// A body with the numbers that it is applied to.
#[derive(Clone, Debug, PartialEq)]
pub struct Loop {
    body: Rc<LoopBody>,
    /// Start, count, initial state, captured numbers.
    operands: Vec<NodeId>,
}

/// The loop that computes the numbers of another one beside its own, and for each of these its number.
#[derive(Clone, Debug, PartialEq)]
struct Refinement {
    by: LoopId,
    states: Vec<u32>,
}

/// A hash-consed arena of expressions.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    nodes: Vec<Node>,
    loops: Vec<Loop>,
    /// For each loop another that computes its results too.
    refinements: Vec<Option<Refinement>>,
    /// The nodes by their keys: maps of numbers are all of one kind, of which the code exists once.
    ids: FxHashMap<u64, u32>,
}

impl Graph {
    /// An empty graph.
    pub fn new() -> Graph {
        Graph::default()
    }

    /// All nodes, operands before users.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The node of an id.
    pub fn node(&self, id: NodeId) -> Node {
        self.nodes[id.index()]
    }

    /// The operands of a node: as many as its op takes, those of the whole loop for a result, none for a leaf.
    pub fn operands(&self, id: NodeId) -> &[NodeId] {
        match &self.nodes[id.index()] {
            Node::Literal(_) | Node::Input(_) => &[],
            Node::Apply(op, operands) => &operands[..op.arity()],
            Node::Result(of, _) => self.loop_of(*of).operands(),
        }
    }

    /// The ids of all nodes, operands before users.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = NodeId> + ExactSizeIterator + use<> {
        (0..self.nodes.len() as u32).map(NodeId)
    }

    /// Whether any node is a number of a table, in a loop or outside.
    pub fn reads_tables(&self) -> bool {
        self.nodes.iter().any(|node| matches!(node, Node::Apply(Op::Lookup, _)))
            || self.loops.iter().any(|of_loop| of_loop.body().graph().graph().reads_tables())
    }

    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether another graph has the same nodes and loops.
    pub fn is_same(&self, other: &Graph) -> bool {
        self.nodes == other.nodes && self.loops == other.loops
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The number that a node is, if it is a literal.
    pub fn literal_value(&self, id: NodeId) -> Option<f64> {
        match self.node(id) {
            Node::Literal(bits) => Some(f64::from_bits(bits)),
            Node::Input(_) | Node::Apply(..) | Node::Result(..) => None,
        }
    }

    /// The node that holds a number.
    pub fn literal(&mut self, value: f64) -> NodeId {
        self.intern(Node::Literal(value.to_bits()))
    }

    /// The node that holds an input.
    pub fn input(&mut self, input: InputId) -> NodeId {
        self.intern(Node::Input(input))
    }

    /// The node that applies an op to these operands, without simplification.
    pub fn apply_raw(&mut self, op: Op, operands: &[NodeId]) -> NodeId {
        debug_assert_eq!(operands.len(), op.arity(), "{op:?} takes {} operands", op.arity());
        let mut padded = [operands[0]; 3];
        padded[..operands.len()].copy_from_slice(operands);
        self.intern(Node::Apply(op, padded))
    }

    fn intern(&mut self, node: Node) -> NodeId {
        let mut key = node.key();
        while let Some(&known) = self.ids.get(&key) {
            if self.nodes[known as usize] == node {
                return NodeId(known);
            }
            key = key.wrapping_add(1);
        }
        let next = self.nodes.len() as u32;
        self.ids.insert(key, next);
        self.nodes.push(node);
        NodeId(next)
    }
}

/// A graph that [`Graph::check`] has found sound: operands before users, arities kept, inputs within bounds.
/// Back ends take this type alone, so "checked" is a type.
#[derive(Clone, Debug)]
pub struct CheckedGraph {
    graph: Graph,
    inputs: u32,
}

impl CheckedGraph {
    /// The graph.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// How many inputs it may read: `InputId(0)` up to this, exclusive.
    pub fn input_count(&self) -> u32 {
        self.inputs
    }
}

impl Graph {
    /// Checks the graph against the number of its inputs.
    pub fn check(self, inputs: u32) -> Result<CheckedGraph> {
        for (position, node) in self.nodes.iter().enumerate() {
            match node {
                Node::Literal(_) => {}
                Node::Input(input) if input.0 >= inputs => {
                    return Err(Error::internal(format!(
                        "node {position} reads input {} of a graph with {inputs} inputs",
                        input.0
                    )));
                }
                Node::Input(_) => {}
                Node::Apply(op, _) => self.check_operands(position, op.name())?,
                Node::Result(of, number) => {
                    let states = self.loops.get(of.index()).map_or(0, |of| of.body().states());
                    if *number as usize >= states {
                        return Err(Error::internal(format!(
                            "node {position} is number {number} of a loop over {states}"
                        )));
                    }
                    self.check_operands(position, "loop")?;
                }
            }
        }
        Ok(CheckedGraph { graph: self, inputs })
    }

    fn check_operands(&self, position: usize, name: &str) -> Result<()> {
        let operands = self.operands(NodeId(position as u32));
        match operands.iter().find(|operand| operand.index() >= position) {
            None => Ok(()),
            Some(later) => Err(Error::internal(format!(
                "node {position} ({name}) has operand {} that does not stand before it",
                later.index()
            ))),
        }
    }
}
