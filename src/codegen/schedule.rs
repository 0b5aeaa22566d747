//! In which order a kernel computes: so that few values are alive at a time, since each takes a register, and what finds none is
//! written to memory and read again.
//!
//! Takes a [`Kernel`], gives the [`Step`]s of one instance. What is computed stays the same to the last bit: operations are put in
//! another order, never made others. Reading an input is no step; writers read it where it is first used.
//!
//! Finding the best order is NP-complete (R. Sethi, "Complete Register Allocation Problems", 1975), so this is a walk from the
//! results to what they need, by two rules. Of the operands that are missing, the one that takes most registers comes first
//! (R. Sethi, J. D. Ullman, "The Generation of Optimal Code for Arithmetic Expressions", 1970). And a user whose operands are all
//! there is computed at once if no more values are alive after it than before: sums swallow their addends as they come.

use super::{Address, Kernel, Load, Store};
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
        let mut roots: Vec<NodeId> = self.stores.iter().map(|store| store.node).list();
        roots.extend(self.total);
        roots.extend(self.layers.map(|layers| layers.second));
        let demand = Demand::of(self, &roots, &early);
        // Sums and then stores in their order; or stores from the last to the first, since of derivatives that are sums over the same terms
        // reverse accumulation completes the last first, and then sums. The second must be clearly better: neighbours in memory are
        // stored one after another in the first.
        let (stores, sums) = roots.split_at(self.stores.len());
        let (mut forward, mut backward) = (sums.to_vec(), stores.to_vec());
        forward.extend_from_slice(stores);
        backward.reverse();
        backward.extend_from_slice(sums);
        let (other, lower) = demand.walk(forward);
        let (mut order, peak) = demand.walk(backward);
        if lower + lower / 16 < peak {
            order = other;
        }

        // The early stores of a node, one leading to the next.
        let none = u32::MAX;
        let (mut first, mut next) = (vec![none; self.graph.graph().len()], vec![none; self.stores.len()]);
        for (number, store) in self.stores.iter().enumerate().rev() {
            if early[number] {
                next[number] = std::mem::replace(&mut first[store.node.index()], number as u32);
            }
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

    /// For each store whether it may be made as soon as its node is computed: it adds to a sum that memory sees after all instances, or it
    /// adds nothing, no load can see it, and no other store goes to the same place.
    fn early_stores(&self) -> Vec<bool> {
        // Where a buffer's numbers are all in columns, or all components of instances, each column as a number; else none.
        let column = |address| match address {
            Address::Column(column) => Some((0, column)),
            Address::Interleaved { width, component } if component < width => Some((width, component)),
            Address::Interleaved { .. }
            | Address::Fixed(_)
            | Address::Layer(_)
            | Address::Indexed { .. }
            | Address::Listed { .. } => None,
        };
        let mut apart = Vec::with_capacity(self.buffers.len());
        for number in 0..self.buffers.len() as u32 {
            let mut columns = Vec::new();
            let mut kind = None;
            let mut are_columns = true;
            let mut add = |address| match column(address) {
                Some((width, column)) if *kind.get_or_insert(width) == width => columns.push(u64::from(column)),
                _ => are_columns = false,
            };
            for store in &self.stores {
                if store.buffer == number {
                    add(store.address);
                }
            }
            for load in &self.loads {
                match *load {
                    Load::Read { buffer, address } if buffer == number => add(address),
                    Load::Read { .. } | Load::Call { .. } => {}
                }
            }
            order::ascending(&mut columns);
            apart.push(are_columns && columns.windows(2).all(|pair| pair[0] != pair[1]));
        }
        let graph = self.graph.graph();
        let computed = |node| matches!(graph.node(node), Node::Apply(..));
        let is_early = |store: &Store| {
            let is_sum = store.accumulate && self.is_same(store.address);
            (is_sum || (!store.accumulate && apart[store.buffer as usize])) && computed(store.node)
        };
        self.stores.iter().map(is_early).list()
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
    /// What the roots need: the nodes of all stores, then sums.
    fn of(kernel: &Kernel, roots: &[NodeId], early: &[bool]) -> Demand {
        let graph = kernel.graph.graph();
        let mut needed = vec![false; graph.len()];
        for root in roots {
            needed[root.index()] = true;
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
        for (number, root) in roots.iter().enumerate() {
            if early.get(number) != Some(&true) {
                uses[root.index()] += 1;
            }
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

    /// An order in which everything is computed, the last root first, and how many values are alive at once in it.
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
    /// Values alive, and the most that were.
    count: i32,
    peak: i32,
}

impl Progress<'_> {
    fn is_missing(&self, node: NodeId) -> bool {
        self.demand.computed[node.index()] && !self.alive[node.index()]
    }

    /// By how much the number of values alive grows with a node.
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
