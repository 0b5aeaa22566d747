//! The order in which a kernel computes. Few values are live at a time, since each takes a register, and a value without a register is
//! written to memory and read again.
//!
//! Takes a [`Kernel`], gives the [`Step`]s of one instance. What is computed stays the same to the last bit: operations are put in
//! another order, never made others. Reading an input is no step; back ends read it where it is first used.
//!
//! Finding the best order is NP-complete (R. Sethi, "Complete Register Allocation Problems", 1975), so this is a traversal from the
//! results to their operands, by two rules. Of the operands that are missing, the one that takes most registers comes first
//! (R. Sethi, J. D. Ullman, "The Generation of Optimal Code for Arithmetic Expressions", 1970). And a user whose operands are all
//! there is computed at once if no more values are live after it than before, so that an addend is added as soon as it is computed.

use crate::{Epilogue, Index, Kernel, Load, Output};
use residua_base::list::Listed;
use residua_ir::graph::{Node, NodeId};

/// One step of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Computes a node: an operation, or the result of a call.
    Compute(NodeId),
    /// Writes an output, by its position in [`Kernel::outputs`], whose node has just been computed.
    Write(u32),
}

/// The steps of an instance. Writes that are not among them wait for the end, in their order: they might overwrite what is still to be
/// read, or meet other writes.
pub(crate) fn schedule(kernel: &Kernel) -> Vec<Step> {
    let early = early_writes(kernel);
    let is_written = |output: &&Output| output.element().is_some();
    // Those that are written, then sums.
    let (written, summed): (Vec<&Output>, Vec<&Output>) = kernel.outputs.iter().partition(is_written);
    let stores: Vec<NodeId> = written.iter().map(|output| output.node).list();
    let sums: Vec<NodeId> = summed.iter().map(|output| output.node).list();
    let waits = kernel.outputs.iter().zip(&early).filter(|(_, early)| !**early).map(|(output, _)| output.node);
    let demand = Demand::of(kernel, &[&stores[..], &sums].concat(), waits);
    // Sums and then writes in their order; or writes from the last to the first, since of derivatives that are sums over the same terms
    // reverse accumulation completes the last first, and then sums. The second must be clearly better: neighbours in memory are
    // written one after another in the first.
    let forward = [&sums[..], &stores].concat();
    let backward = stores.iter().rev().chain(&sums).copied().list();
    let (other, lower) = demand.walk(forward);
    let (mut order, peak) = demand.walk(backward);
    if lower + lower / 16 < peak {
        order = other;
    }

    // The early writes of a node, one leading to the next.
    let none = u32::MAX;
    let (mut first, mut next) = (vec![none; kernel.graph.graph().len()], vec![none; kernel.outputs.len()]);
    for (number, output) in kernel.outputs.iter().enumerate().rev() {
        if early[number] {
            next[number] = std::mem::replace(&mut first[output.node.index()], number as u32);
        }
    }
    let mut steps = Vec::with_capacity(order.len() + kernel.outputs.len());
    for node in order {
        steps.push(Step::Compute(node));
        let mut output = first[node.index()];
        while output != none {
            steps.push(Step::Write(output));
            output = next[output as usize];
        }
    }
    steps
}

/// For each output whether it may be written as soon as its node is computed: it adds to a sum that is stored after all instances, or it
/// is a store that no load can see, and no other write goes to the same place.
fn early_writes(kernel: &Kernel) -> Vec<bool> {
    // Where a buffer's elements are all in columns, or all components of instances, each column as a number; else none.
    let column = |index: &Index| index.as_column().map(|column| (0, column)).or_else(|| index.as_interleaved());
    let mut apart = Vec::with_capacity(kernel.buffers.len());
    for number in 0..kernel.buffers.len() as u32 {
        let mut columns = Vec::new();
        let mut kind = None;
        let mut are_columns = true;
        for element in kernel.elements().filter(|element| element.buffer == number) {
            for index in [Some(&element.index), element.low.as_ref()].into_iter().flatten() {
                match column(index) {
                    Some((width, column)) if *kind.get_or_insert(width) == width => columns.push(u64::from(column)),
                    _ => are_columns = false,
                }
            }
        }
        columns.sort_unstable();
        apart.push(are_columns && columns.windows(2).all(|pair| pair[0] != pair[1]));
    }
    let graph = kernel.graph.graph();
    let is_early = |output: &Output| {
        let may_be = match &output.epilogue {
            Epilogue::Store(element) => apart[element.buffer as usize],
            Epilogue::Accumulate(element) => element.index.is_same(),
            Epilogue::Reduce(_) => false,
        };
        may_be && matches!(graph.node(output.node), Node::Apply(..))
    };
    kernel.outputs.iter().map(is_early).list()
}

/// Nodes by node.
struct Lists {
    starts: Vec<u32>,
    items: Vec<NodeId>,
}

impl Lists {
    /// The items of each of so many nodes, in the order of the pairs.
    fn new(nodes: usize, pairs: &[(NodeId, NodeId)]) -> Lists {
        let mut starts = vec![0; nodes + 2];
        for (node, _) in pairs {
            starts[node.index() + 2] += 1;
        }
        for node in 2..starts.len() {
            starts[node] += starts[node - 1];
        }
        let mut items = pairs.iter().map(|(_, item)| *item).list();
        for (node, item) in pairs {
            let place = &mut starts[node.index() + 1];
            items[*place as usize] = *item;
            *place += 1;
        }
        Lists { starts, items }
    }

    fn of(&self, node: NodeId) -> &[NodeId] {
        let place = node.index();
        &self.items[self.starts[place] as usize..self.starts[place + 1] as usize]
    }
}

/// The nodes that are needed, with their operands and users; without literals, which stand in the code itself.
struct Demand {
    /// Whether a node is computed, not read.
    computed: Vec<bool>,
    operands: Lists,
    users: Lists,
    /// How often a node is taken: by its users, and more often if it must stay until the end.
    uses: Vec<u32>,
    /// Sethi's and Ullman's numbers: registers that a node would take if nothing were shared.
    registers: Vec<u32>,
}

impl Demand {
    /// The nodes that the roots need. Some must stay until the end.
    fn of(kernel: &Kernel, roots: &[NodeId], staying: impl Iterator<Item = NodeId>) -> Demand {
        let graph = kernel.graph.graph();
        let mut needed = vec![false; graph.len()];
        for root in roots {
            needed[root.index()] = true;
        }
        // The first result of a loop takes its operands, and all others that one.
        let mut first_results: Vec<Option<NodeId>> = vec![None; graph.loops().len()];
        for id in graph.ids().rev() {
            if let Node::Result(of, _) = graph.node(id) {
                first_results[of.index()] = Some(id);
            }
        }
        let mut computed = vec![false; graph.len()];
        let mut pairs: Vec<(NodeId, NodeId)> = Vec::new();
        for id in graph.ids().rev() {
            if !needed[id.index()] {
                continue;
            }
            let from = pairs.len();
            let mut operand = |operand: NodeId| {
                if graph.literal_value(operand).is_none() && !pairs[from..].contains(&(id, operand)) {
                    needed[operand.index()] = true;
                    pairs.push((id, operand));
                }
            };
            computed[id.index()] = match graph.node(id) {
                Node::Literal(_) => false,
                Node::Apply(op, operands) => {
                    operands[..op.arity()].iter().copied().for_each(operand);
                    true
                }
                Node::Result(of, _) => {
                    match first_results[of.index()] {
                        Some(first) if first != id => operand(first),
                        _ => graph.operands(id).iter().copied().for_each(operand),
                    }
                    true
                }
                Node::Input(input) => match &kernel.loads[input.0 as usize] {
                    Load::Read(_) => false,
                    Load::Call { call, .. } => {
                        let call = &kernel.calls[*call as usize];
                        call.arguments.iter().copied().for_each(&mut operand);
                        operand(call.selector);
                        true
                    }
                },
            };
        }
        let operands = Lists::new(graph.len(), &pairs);
        let mut uses = vec![0; graph.len()];
        for (user, operand) in &mut pairs {
            uses[operand.index()] += 1;
            std::mem::swap(user, operand);
        }
        let users = Lists::new(graph.len(), &pairs);
        for node in staying {
            uses[node.index()] += 1;
        }

        let mut registers = vec![1u32; graph.len()];
        for id in graph.ids() {
            // Operands after the first wait beside those before them.
            let operands = operands.of(id);
            for (place, operand) in operands.iter().enumerate() {
                let own = registers[operand.index()];
                let before = |(other, node): (usize, &NodeId)| {
                    let its = registers[node.index()];
                    its > own || (its == own && other < place)
                };
                let waiting = operands.iter().enumerate().filter(|other| before(*other)).count() as u32;
                registers[id.index()] = registers[id.index()].max(own + waiting);
            }
        }
        Demand { computed, operands, users, uses, registers }
    }

    /// An order in which everything is computed, the last root first, and how many values are live at once in it.
    fn walk(&self, mut pending: Vec<NodeId>) -> (Vec<NodeId>, i32) {
        let mut progress = Progress {
            demand: self,
            order: Vec::new(),
            alive: vec![false; self.uses.len()],
            uses: self.uses.clone(),
            count: 0,
            peak: 0,
        };
        while let Some(&node) = pending.last() {
            if !progress.is_missing(node) {
                pending.pop();
                continue;
            }
            let mut next = None;
            for &operand in self.operands.of(node) {
                let more = |known: NodeId| self.registers[operand.index()] > self.registers[known.index()];
                if progress.is_missing(operand) && next.is_none_or(more) {
                    next = Some(operand);
                }
            }
            match next {
                Some(operand) => pending.push(operand),
                None => progress.compute(node),
            }
        }
        (progress.order, progress.peak)
    }
}

/// How far an order has come.
struct Progress<'a> {
    demand: &'a Demand,
    order: Vec<NodeId>,
    /// What has been computed or read.
    alive: Vec<bool>,
    /// Uses to come.
    uses: Vec<u32>,
    /// Live values, and the largest number of them so far.
    count: i32,
    peak: i32,
}

impl Progress<'_> {
    fn is_missing(&self, node: NodeId) -> bool {
        self.demand.computed[node.index()] && !self.alive[node.index()]
    }

    /// By how much the number of live values grows with a node.
    fn growth(&self, node: NodeId) -> i32 {
        let of_operand =
            |operand: &NodeId| i32::from(!self.alive[operand.index()]) - i32::from(self.uses[operand.index()] == 1);
        i32::from(self.uses[node.index()] > 0) + self.demand.operands.of(node).iter().map(of_operand).sum::<i32>()
    }

    /// Computes a node, and every user that makes nothing worse: of the node, and of operands of which only one use is left.
    fn compute(&mut self, node: NodeId) {
        let demand = self.demand;
        let mut ready = vec![node];
        while let Some(node) = ready.pop() {
            if !self.is_missing(node) {
                continue;
            }
            self.order.push(node);
            self.count += self.growth(node);
            self.peak = self.peak.max(self.count);
            self.alive[node.index()] = true;
            let operands = demand.operands.of(node);
            for operand in operands {
                self.alive[operand.index()] = true;
                self.uses[operand.index()] -= 1;
            }
            for &value in operands.iter().chain([&node]) {
                if value != node && self.uses[value.index()] != 1 {
                    continue;
                }
                for &user in demand.users.of(value) {
                    let waits = |operand: &NodeId| self.is_missing(*operand);
                    if self.is_missing(user) && !demand.operands.of(user).iter().any(waits) && self.growth(user) <= 0 {
                        ready.push(user);
                    }
                }
            }
        }
    }
}
