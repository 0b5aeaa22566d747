//! What a [`Kernel`] promises its back ends: that every position in its plan is one that exists, and which nodes are needed.
//!
//! Plans are made by this crate, never by its users, so what [`Kernel::check`] refuses is a bug of ours; it says which part of
//! the plan is wrong and lets everything after it rely on the rest.

use super::{Address, Call, Case, Element, Kernel, Load};
use crate::error::{Error, Result};
use crate::graph::{Graph, InputId, Node, NodeId, Op};

impl Kernel {
    /// Checks that the positions in the plan exist, that buffers hold what is read from them, and that calls come after their
    /// arguments.
    pub fn check(&self) -> Result<()> {
        let nodes = self.graph.graph().nodes();
        let wrong = |what: String| Err(Error::internal(format!("kernel '{}': {what}", self.name)));
        let exists = |node: NodeId| node.index() < nodes.len();

        if self.loads.len() != self.graph.input_count() as usize {
            return wrong(format!("{} loads for {} inputs", self.loads.len(), self.graph.input_count()));
        }
        for (position, call) in self.calls.iter().enumerate() {
            if let Err(what) = check_call(call, exists) {
                return wrong(format!("call {position} {what}"));
            }
        }
        for (position, load) in self.loads.iter().enumerate() {
            match load {
                Load::Read { buffer, address } => {
                    if let Err(what) = self.check_place(*buffer, *address, false) {
                        return wrong(format!("input {position} {what}"));
                    }
                }
                Load::Call { call, result } => match self.calls.get(*call as usize) {
                    Some(call) if (*result as usize) < call.function.results => {}
                    _ => {
                        return wrong(format!(
                            "input {position} is result {result} of call {call}, which there is not"
                        ));
                    }
                },
            }
        }
        for (position, node) in nodes.iter().enumerate() {
            let Node::Input(input) = node else { continue };
            let Load::Call { call, .. } = self.loads[input.0 as usize] else { continue };
            let Call { selector, arguments, .. } = &self.calls[call as usize];
            if let Some(late) = arguments.iter().chain([selector]).find(|argument| argument.index() >= position) {
                return wrong(format!("call {call} takes node {}, after its result in node {position}", late.index()));
            }
        }
        for (position, store) in self.stores.iter().enumerate() {
            if !exists(store.node) {
                return wrong(format!("store {position} is of node {}, which there is not", store.node.index()));
            }
            if let Err(what) = self.check_place(store.buffer, store.address, true) {
                return wrong(format!("store {position} {what}"));
            }
        }
        match self.total {
            Some(node) if !exists(node) => wrong(format!("total is of node {}, which there is not", node.index())),
            _ => Ok(()),
        }
    }

    /// Operations of an instance; an elementary function counts as those that it takes.
    pub fn work(&self) -> u32 {
        let graph = self.graph.graph();
        let uses = self.uses();
        graph.ids().filter(|id| uses[id.index()] > 0).map(|id| work_of(graph.node(id))).sum()
    }

    fn check_place(&self, buffer: u32, address: Address, written: bool) -> Result<(), String> {
        match self.buffers.get(buffer as usize) {
            None => return Err(format!("is in buffer {buffer} of {}", self.buffers.len())),
            Some(buffer) if buffer.element != Element::Real => {
                return Err(format!("is in {}, of indices", buffer.name));
            }
            Some(buffer) if written && !buffer.written => {
                return Err(format!("writes {}, which is read only", buffer.name));
            }
            Some(_) => {}
        }
        match address {
            Address::Indexed { indices, .. } => match self.buffers.get(indices as usize) {
                Some(buffer) if buffer.element == Element::Index => Ok(()),
                _ => Err(format!("is found by buffer {indices}, which holds no indices")),
            },
            Address::Listed { .. } => Err("is an address of lists".into()),
            Address::Column(_) | Address::Fixed(_) | Address::Layer(_) | Address::Interleaved { .. } => Ok(()),
        }
    }

    /// For each node, how many operands, stores, calls and totals take it, counting only takers that are needed themselves:
    /// 0 for a node that need not be computed. A call takes its arguments once, however many of its results are needed.
    pub(super) fn uses(&self) -> Vec<u32> {
        let mut called = vec![false; self.calls.len()];
        let outputs = self.stores.iter().map(|store| store.node).chain(self.total);
        count_uses(self.graph.graph(), outputs, |input, uses| {
            let Load::Call { call, .. } = self.loads[input.0 as usize] else { return };
            if !std::mem::replace(&mut called[call as usize], true) {
                let Call { selector, arguments, .. } = &self.calls[call as usize];
                for argument in arguments.iter().chain([selector]) {
                    uses[argument.index()] += 1;
                }
            }
        })
    }
}

impl Case {
    /// For each node, how many operands and results it is, counting only operands of nodes that are needed themselves.
    pub(super) fn uses(&self) -> Vec<u32> {
        count_uses(self.graph.graph(), self.results.iter().copied(), |_, _| {})
    }
}

/// Operations that a node is on a GPU, roughly.
fn work_of(node: Node) -> u32 {
    match node {
        Node::Literal(_) | Node::Input(_) => 0,
        Node::Apply(op, _) => match op {
            Op::StopGradient => 0,
            Op::Neg | Op::Abs | Op::Add | Op::Sub | Op::Mul | Op::Floor | Op::Ceil | Op::GuardedMul | Op::Select => 1,
            Op::Eq | Op::Ne | Op::Lt | Op::Le | Op::Gt | Op::Ge | Op::Min | Op::Max | Op::Sign | Op::Round => 4,
            Op::Sqrt | Op::Norm | Op::InverseNorm | Op::Div => 8,
            Op::Exp | Op::Log | Op::Sin | Op::Cos | Op::Tan | Op::Asin | Op::Acos | Op::Atan | Op::Atan2 => 32,
            Op::Sinh | Op::Cosh | Op::Tanh | Op::Sigmoid | Op::Softplus | Op::Mod => 48,
            Op::Pow => 128,
        },
    }
}

/// Counts the uses of nodes; `input` adds those that an input makes of earlier nodes.
fn count_uses(
    graph: &Graph,
    outputs: impl Iterator<Item = NodeId>,
    mut input: impl FnMut(InputId, &mut [u32]),
) -> Vec<u32> {
    let mut uses = vec![0; graph.len()];
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
        }
    }
    uses
}

/// Checks a call and its function, without regard to where its results are used.
fn check_call(call: &Call, exists: impl Fn(NodeId) -> bool) -> Result<(), String> {
    let function = &call.function;
    if !exists(call.selector) || !call.arguments.iter().all(|argument| exists(*argument)) {
        return Err("takes a node that there is not".into());
    }
    if call.arguments.len() != function.parameters.len() {
        return Err(format!(
            "gives {} {} of {} arguments",
            function.name,
            call.arguments.len(),
            function.parameters.len()
        ));
    }
    if function.cases.is_empty() {
        return Err(format!("is of {}, which has no case", function.name));
    }
    for case in &function.cases {
        let sound = case.results.len() == function.results
            && case.graph.input_count() as usize <= function.parameters.len()
            && case.results.iter().all(|result| result.index() < case.graph.graph().len());
        if !sound {
            return Err(format!("is of {}, whose case {} does not keep to its signature", function.name, case.name));
        }
    }
    Ok(())
}
