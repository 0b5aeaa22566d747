//! How often the nodes of a graph are taken, counting only takers that are needed themselves.

use residua_ir::elementary;
use residua_ir::graph::{Graph, InputId, LoopBody, Node, NodeId, Op};

use crate::{Call, Case, Kernel, Load};

/// For each node, how many operands, outputs and calls take it: 0 for a node that need not be computed. A call takes its arguments once,
/// however many of its results are needed, and so does a loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Uses(Vec<u32>);

impl Uses {
    /// The uses in a kernel, of which the positions have been checked.
    pub fn of_kernel(kernel: &Kernel) -> Uses {
        let mut called = vec![false; kernel.calls.len()];
        let outputs = kernel.outputs.iter().map(|output| output.node);
        Uses::count(kernel.graph.graph(), outputs, |input, uses| {
            let Load::Call { call, .. } = kernel.loads[input.0 as usize] else { return };
            if !std::mem::replace(&mut called[call as usize], true) {
                let Call { selector, arguments, .. } = &kernel.calls[call as usize];
                for argument in arguments.iter().chain([selector]) {
                    uses[argument.index()] += 1;
                }
            }
        })
    }

    /// The uses in a graph without calls, of which some nodes are outputs.
    pub fn of_nodes(graph: &Graph, outputs: impl Iterator<Item = NodeId>) -> Uses {
        Uses::count(graph, outputs, |_, _| {})
    }

    /// The uses in a case of a function.
    pub fn of_case(case: &Case) -> Uses {
        Uses::of_nodes(case.graph.graph(), case.results.iter().copied())
    }

    /// Counts uses; `input` adds those that an input makes of earlier nodes.
    fn count(graph: &Graph, outputs: impl Iterator<Item = NodeId>, mut input: impl FnMut(InputId, &mut [u32])) -> Uses {
        let mut uses = vec![0; graph.len()];
        let mut has_run = vec![false; graph.loops().len()];
        for output in outputs {
            uses[output.index()] += 1;
        }
        for id in graph.ids().rev() {
            if uses[id.index()] == 0 {
                continue;
            }
            match graph.node(id) {
                Node::Literal(_) => {}
                Node::Input(number) => input(number, &mut uses),
                Node::Apply(op, operands) => {
                    for operand in &operands[..op.arity()] {
                        uses[operand.index()] += 1;
                    }
                }
                Node::Result(of, _) => {
                    if !std::mem::replace(&mut has_run[of.index()], true) {
                        graph.operands(id).iter().for_each(|operand| uses[operand.index()] += 1);
                    }
                }
            }
        }
        Uses(uses)
    }

    /// The uses of a node.
    pub fn of(&self, node: NodeId) -> u32 {
        self.0[node.index()]
    }

    /// Counts one use of a node as done.
    pub fn release(&mut self, node: NodeId) {
        self.0[node.index()] -= 1;
    }

    /// The nodes that are needed, in the order of the graph.
    pub fn needed<'a>(&'a self, graph: &'a Graph) -> impl Iterator<Item = NodeId> + 'a {
        graph.ids().filter(|id| self.of(*id) > 0)
    }

    /// Operations of the nodes that are needed.
    pub fn work(&self, graph: &Graph) -> u32 {
        let of_nodes: u32 = self.needed(graph).map(|id| work_of(graph.node(id))).sum();
        let of_loop = |body: &LoopBody| {
            let graph = body.graph().graph();
            Uses::of_nodes(graph, body.next().iter().copied()).work(graph).saturating_mul(TYPICAL_STEPS)
        };
        let of_loops = graph.loops().iter().map(|of| of_loop(of.body()));
        of_loops.fold(of_nodes, u32::saturating_add)
    }
}

/// The steps that a loop is taken to have, since its count is data.
const TYPICAL_STEPS: u32 = 256;

/// Operations that a node is on a GPU, roughly.
fn work_of(node: Node) -> u32 {
    match node {
        Node::Literal(_) | Node::Input(_) | Node::Result(..) => 0,
        Node::Apply(op, _) => match op {
            Op::StopGradient => 0,
            Op::Neg | Op::Abs | Op::Add | Op::Sub | Op::Mul | Op::Floor | Op::Ceil | Op::GuardedMul | Op::Select => 1,
            Op::Lookup => 4,
            Op::Eq | Op::Ne | Op::Lt | Op::Le | Op::Gt | Op::Ge | Op::Min | Op::Max | Op::Sign | Op::Round => 4,
            Op::Sqrt | Op::Norm | Op::InverseNorm | Op::Div => 8,
            Op::Sinh | Op::Cosh | Op::Tanh | Op::Sigmoid | Op::Softplus | Op::Mod => 48,
            elementary!(Op) => 32,
            Op::Pow => 128,
        },
    }
}
