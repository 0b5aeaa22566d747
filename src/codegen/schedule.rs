//! In which order a kernel computes: so that few values are alive at a time, since each takes a register, and what finds none is
//! written to memory and read again.
//!
//! Takes a [`Kernel`], gives the [`Step`]s of one instance. What is computed stays the same to the last bit: operations are put in
//! another order, never made others. Reading an input is no step; writers read it where it is first used.
//!
//! Finding the best order is NP-complete (R. Sethi, "Complete Register Allocation Problems", 1975), so this is a walk from the
//! results to what they need, by two rules. Of the operands that are missing, the one that takes most registers comes first
//! (R. Sethi, J. D. Ullman, "The Generation of Optimal Code for Arithmetic Expressions", 1970). And a user whose operands are all
//! there is computed at once if no more values are alive after it than before: sums swallow their addends as they come. The walk
//! is made from the first result on and from the last, and the better order is kept.

use super::{Address, Kernel, Load};
use crate::graph::{Node, NodeId};
use crate::list::Listed;
use crate::order;

/// One step of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Computes a node: an operation, or the result of a call.
    Compute(NodeId),
    /// Makes a store, by its position in [`Kernel::stores`], of the node that has just been computed.
    Store(u32),
}

impl Kernel {
    /// The steps of an instance. Stores that are not among them wait for the end, in their order: they might overwrite what is
    /// still to be read, or meet other stores.
    pub fn schedule(&self) -> Vec<Step> {
        let early = self.early_stores();
        let demand = Demand::of(self, &early);
        let mut roots = self.results();
        let forward = demand.walk(&roots);
        roots.reverse();
        let backward = demand.walk(&roots);
        let order = if demand.peak(&backward) < demand.peak(&forward) { backward } else { forward };

        let none = u32::MAX;
        let (mut first, mut next) = (vec![none; self.graph.graph().len()], vec![none; self.stores.len()]);
        for (number, store) in self.stores.iter().enumerate().rev().filter(|(number, _)| early[*number]) {
            next[number] = std::mem::replace(&mut first[store.node.index()], number as u32);
        }
        let mut steps = Vec::with_capacity(order.len() + self.stores.len());
        for node in order {
            steps.push(Step::Compute(node));
            let mut store = first[node.index()];
            while store != none {
                steps.push(Step::Store(store));
                store = next[store as usize];
            }
        }
        steps
    }

    /// How many values are alive at once if the nodes are computed in an order that has all that are needed, operands before
    /// users: what is read before its first use, and kept until the last.
    pub fn peak(&self, order: &[NodeId]) -> usize {
        Demand::of(self, &self.early_stores()).peak(order)
    }

    /// The nodes that are stored or summed.
    fn results(&self) -> Vec<NodeId> {
        let results = self.stores.iter().map(|store| store.node).chain(self.total);
        results.chain(self.layers.map(|layers| layers.second)).list()
    }

    /// For each store whether it may be made as soon as its node is computed: it adds nothing, no load can see it, and no other
    /// store goes to the same place.
    fn early_stores(&self) -> Vec<bool> {
        let places = |buffer: u32| {
            let loads = self.loads.iter().filter_map(move |load| match *load {
                Load::Read { buffer: read, address } if read == buffer => Some((address, false)),
                Load::Read { .. } | Load::Call { .. } => None,
            });
            let stores = self.stores.iter().filter(move |store| store.buffer == buffer);
            stores.map(|store| (store.address, true)).chain(loads)
        };
        let apart = |buffer: u32| {
            let Some((first, true)) = places(buffer).next() else { return false };
            let mut columns = Vec::new();
            for (address, _) in places(buffer) {
                match (first, address) {
                    (Address::Column(_), Address::Column(column)) => columns.push(u64::from(column)),
                    (Address::Interleaved { width, .. }, Address::Interleaved { width: same, component })
                        if width == same && component < width =>
                    {
                        columns.push(u64::from(component));
                    }
                    _ => return false,
                }
            }
            order::ascending(&mut columns);
            columns.windows(2).all(|pair| pair[0] != pair[1])
        };
        let apart: Vec<bool> = (0..self.buffers.len() as u32).map(apart).list();
        let graph = self.graph.graph();
        let computed = |node| matches!(graph.node(node), Node::Apply(..));
        self.stores.iter().map(|store| computed(store.node) && !store.accumulate && apart[store.buffer as usize]).list()
    }
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
        let [start, end] = [0, 1].map(|after| self.starts[node.index() + after] as usize);
        &self.items[start..end]
    }
}

/// Who needs what: of the nodes that are needed, without literals, which stand in the code itself.
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
    fn of(kernel: &Kernel, early: &[bool]) -> Demand {
        let graph = kernel.graph.graph();
        let mut needed = vec![false; graph.len()];
        for result in kernel.results() {
            needed[result.index()] = true;
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
                Node::Input(input) => match kernel.loads[input.0 as usize] {
                    Load::Read { .. } => false,
                    Load::Call { call, .. } => {
                        let call = &kernel.calls[call as usize];
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
        let late = kernel.stores.iter().zip(early).filter(|(_, early)| !**early).map(|(store, _)| store.node);
        for node in late.chain(kernel.total).chain(kernel.layers.map(|layers| layers.second)) {
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

    /// An order in which everything is computed.
    fn walk(&self, roots: &[NodeId]) -> Vec<NodeId> {
        let mut progress = Progress::new(self);
        for &root in roots {
            let mut pending = vec![root];
            while let Some(&node) = pending.last() {
                let missing = self.operands.of(node).iter().rev().filter(|operand| progress.is_missing(**operand));
                if !progress.is_missing(node) {
                    pending.pop();
                } else if let Some(&operand) = missing.max_by_key(|operand| self.registers[operand.index()]) {
                    pending.push(operand);
                } else {
                    progress.compute(node);
                }
            }
        }
        progress.order
    }

    /// The most values that are alive at once.
    fn peak(&self, order: &[NodeId]) -> usize {
        let mut progress = Progress::new(self);
        let (mut alive, mut peak) = (0i32, 0);
        for &node in order {
            let operands = self.operands.of(node).iter();
            let read = operands.filter(|operand| !progress.alive[operand.index()]).count() as i32;
            peak = peak.max(alive + read);
            alive += progress.growth(node);
            progress.take(node);
            // A result that is stored at once takes a register until it is.
            peak = peak.max(alive + i32::from(progress.uses[node.index()] == 0));
        }
        peak as usize
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
}

impl Progress<'_> {
    fn new(demand: &Demand) -> Progress<'_> {
        Progress { demand, order: Vec::new(), alive: vec![false; demand.uses.len()], uses: demand.uses.clone() }
    }

    fn is_missing(&self, node: NodeId) -> bool {
        self.demand.computed[node.index()] && !self.alive[node.index()]
    }

    /// By how much the number of values alive grows with a node.
    fn growth(&self, node: NodeId) -> i32 {
        let of_operand =
            |operand: &NodeId| i32::from(!self.alive[operand.index()]) - i32::from(self.uses[operand.index()] == 1);
        i32::from(self.uses[node.index()] > 0) + self.demand.operands.of(node).iter().map(of_operand).sum::<i32>()
    }

    /// Counts a node as computed.
    fn take(&mut self, node: NodeId) {
        self.alive[node.index()] = true;
        for operand in self.demand.operands.of(node) {
            self.alive[operand.index()] = true;
            self.uses[operand.index()] -= 1;
        }
    }

    /// Computes a node, and every user that makes nothing worse: of the node, and of operands of which only one use is left.
    fn compute(&mut self, node: NodeId) {
        let demand = self.demand;
        let mut ready = vec![node];
        while let Some(node) = ready.pop() {
            if !self.is_missing(node) {
                continue;
            }
            self.take(node);
            self.order.push(node);
            let last = demand.operands.of(node).iter().filter(|operand| self.uses[operand.index()] == 1);
            let users = last.chain([&node]).flat_map(|value| demand.users.of(*value));
            let computable = |user: &NodeId| {
                self.is_missing(*user)
                    && !demand.operands.of(*user).iter().any(|operand| self.is_missing(*operand))
                    && self.growth(*user) <= 0
            };
            ready.extend(users.copied().filter(computable));
        }
    }
}
