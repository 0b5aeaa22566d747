//! Addresses in memory: what is the same for all instances is computed before the loop, what several accesses share once an
//! instance. Neighbouring components of what an index names are read and written two at a time.

use rustc_hash::FxHashMap;

use super::encoding::{Instruction, MemArg, ValType};
use super::expression::Expression;
use super::frame;
use super::locals::Width;
use crate::codegen::{Address, Kernel, Store};
use crate::graph::{Node, NodeId};

/// A byte address (or a figure) that has a local of its own.
#[derive(Clone, Copy, Debug)]
enum Figure {
    /// A word of the frame.
    Word(u32),
    /// Instance 0 of a column of elements of 2^shift bytes.
    Column { buffer: u32, column: u32, shift: u32 },
    /// Where element 0 of instance 0 stands in an interleaved buffer, or would.
    First { buffer: u32, width: u32 },
    /// The instance times 2^shift.
    Scaled(u32),
    /// Component 0 of the instance in an interleaved buffer.
    Interleaved { buffer: u32, width: u32 },
    /// Component 0 of what an index names.
    Indexed { buffer: u32, indices: u32, column: u32, lane: u8 },
    /// What a column of indices says, if it leads out of no buffer.
    Index { indices: u32, column: u32, lane: u8 },
    /// The least number in a column of indices that leads out of a buffer.
    Limit { indices: u32, column: u32 },
}

impl Figure {
    /// Tells figures apart. Buffers are few: a kernel has one for each role.
    fn key(self) -> u64 {
        let (kind, buffer, rest, column) = match self {
            Figure::Word(word) => (0, 0, 0, word),
            Figure::Column { buffer, column, shift } => (1, buffer, shift, column),
            Figure::First { buffer, width } => (2, buffer, 0, width),
            Figure::Scaled(shift) => (3, 0, shift, 0),
            Figure::Interleaved { buffer, width } => (4, buffer, 0, width),
            Figure::Indexed { buffer, indices, column, lane } => (5 + u64::from(lane), buffer, indices, column),
            Figure::Index { indices, column, lane } => (7, indices, u32::from(lane), column),
            Figure::Limit { indices, column } => (8, indices, 0, column),
        };
        kind << 60 | u64::from(buffer) << 46 | u64::from(rest) << 32 | u64::from(column)
    }

    /// Whether the figure of a key is what an index says of one instance. The others are of the local's, from which there is a fixed way.
    fn is_of_one_instance(key: u64) -> bool {
        matches!(key >> 60, 5..=7)
    }
}

/// Whether a pair's two numbers stand beside each other.
enum Spacing {
    Beside,
    Same,
    Apart,
}

/// Bytes of a number, and of an index, as shifts.
const REAL: u32 = 3;
const INDEX: u32 = 2;

/// The addresses of a kernel's function.
pub(super) struct Places<'k> {
    /// Code that runs once, before the loop.
    pub prologue: Vec<u8>,
    /// The local that holds the instance (the first of a pair).
    pub instance: u32,
    /// How many instances after it the round's first is.
    ahead: u32,
    /// The node of each input.
    pub inputs: Vec<Option<NodeId>>,
    figures: FxHashMap<u64, u32>,
    /// Those of the instance.
    varying: Vec<u64>,
    kernel: &'k Kernel,
}

impl<'k> Places<'k> {
    /// No address yet.
    pub fn new(kernel: &'k Kernel, instance: u32) -> Places<'k> {
        let graph = kernel.graph.graph();
        let mut inputs = vec![None; kernel.loads.len()];
        for id in graph.ids() {
            if let Node::Input(input) = graph.node(id) {
                inputs[input.0 as usize] = Some(id);
            }
        }
        Places {
            prologue: Vec::new(),
            instance,
            ahead: 0,
            inputs,
            figures: FxHashMap::default(),
            varying: Vec::new(),
            kernel,
        }
    }

    /// Finds the addresses of what pinned columns name, before the loop.
    pub fn pin(&mut self, to: &mut Expression) {
        for (buffer, address) in self.kernel.addresses() {
            if let Address::Indexed { indices, column, .. } = address
                && self.kernel.is_same(address)
            {
                self.indexed(to, buffer, indices, column, 0);
            }
        }
        // Of the loop's first instance: the others have theirs.
        self.figures.remove(&Figure::Scaled(INDEX).key());
        self.varying.clear();
    }

    /// Goes to a round of the loop: its first instance is so many after the local's.
    pub fn go_to(&mut self, ahead: u32) {
        self.ahead = ahead;
        self.forget(Figure::is_of_one_instance);
    }

    /// Forgets what code that is not run before has computed.
    pub fn start_over(&mut self) {
        self.forget(|_| true);
    }

    fn forget(&mut self, which: impl Fn(u64) -> bool) {
        for figure in std::mem::take(&mut self.varying) {
            match which(figure) {
                true => _ = self.figures.remove(&figure),
                false => self.varying.push(figure),
            }
        }
    }

    /// Pushes a number from memory, one for each instance at a time.
    pub fn load(&mut self, to: &mut Expression, buffer: u32, address: Address) {
        let width = to.width;
        match (width, self.spacing(address)) {
            (Width::Single, _) => {
                let at = self.push(to, buffer, address, 0);
                to.write(Instruction::F64Load(at));
            }
            (Width::Pair, Spacing::Beside) => {
                let at = self.push(to, buffer, address, 0);
                to.write(Instruction::V128Load(at));
            }
            (Width::Pair, Spacing::Same) => {
                let at = self.push(to, buffer, address, 0);
                to.write(Instruction::V128Load64Splat(at));
            }
            (Width::Pair, Spacing::Apart) => {
                let second = self.push(to, buffer, address, 1);
                let first = self.push(to, buffer, address, 0);
                to.write(Instruction::V128Load64Zero(first));
                to.write(Instruction::V128Load64Lane { memarg: second, lane: 1 });
            }
        }
    }

    /// Reads a component and the next one of what an index names, in [`Width::Pair`], and leaves them to two nodes.
    pub fn load_two(&mut self, to: &mut Expression, buffer: u32, address: Address, nodes: [NodeId; 2]) {
        let halves = [to.borrow(), to.borrow()];
        for (lane, half) in (0..).zip(halves) {
            let at = self.push(to, buffer, address, lane);
            to.write(Instruction::V128Load(at));
            to.write(Instruction::LocalSet(half));
        }
        for (lane, node) in (0..).zip(nodes) {
            for half in halves {
                to.write(Instruction::LocalGet(half));
            }
            to.write(Instruction::Shuffle([lane, 2 + lane]));
            to.assign(node);
        }
        halves.into_iter().for_each(|half| to.give_back(half));
    }

    /// Writes one lane of two nodes' values to a component and the next one of what an index names, in [`Width::Pair`].
    pub fn store_two(&mut self, to: &mut Expression, store: &Store, nodes: [NodeId; 2], lane: u8) {
        let at = self.push(to, store.buffer, store.address, lane);
        to.take_lane_of_two(nodes, lane);
        to.write(Instruction::V128Store(at));
    }

    /// Adds one lane of two nodes' values to such components.
    pub fn accumulate_two(&mut self, to: &mut Expression, store: &Store, nodes: [NodeId; 2], lane: u8) {
        self.push(to, store.buffer, store.address, lane);
        let at = self.push(to, store.buffer, store.address, lane);
        to.write(Instruction::V128Load(at));
        to.add_lane_of_two(nodes, lane);
        to.write(Instruction::V128Store(at));
    }

    /// Writes a node's value to memory, as one of its uses; where both instances write to one place, the second stays.
    pub fn store(&mut self, to: &mut Expression, buffer: u32, address: Address, node: NodeId) {
        match (to.width, self.spacing(address)) {
            (Width::Pair, Spacing::Beside) => {
                let at = self.push(to, buffer, address, 0);
                to.take(node);
                to.write(Instruction::V128Store(at));
            }
            _ => {
                for lane in 0..to.width.lanes() {
                    let at = self.push(to, buffer, address, lane);
                    to.take_lane(node, lane);
                    to.write(Instruction::F64Store(at));
                }
            }
        }
    }

    /// Adds one lane of a node's value to what stands in memory; the use is counted with the last lane.
    pub fn accumulate(&mut self, to: &mut Expression, store: &Store, node: NodeId, lane: u8) {
        self.push(to, store.buffer, store.address, lane);
        let at = self.push(to, store.buffer, store.address, lane);
        to.write(Instruction::F64Load(at));
        to.add_lane(node, lane);
        to.write(Instruction::F64Store(at));
    }

    /// Adds the sum of both lanes of a local to a place that is the same for all instances, after the loop.
    pub fn add(&mut self, to: &mut Expression, store: &Store, local: u32) {
        self.push(to, store.buffer, store.address, 0);
        let at = self.push(to, store.buffer, store.address, 0);
        to.write(Instruction::F64Load(at));
        to.write(Instruction::LocalGet(local));
        if to.width == Width::Pair {
            to.write(Instruction::F64x2ExtractLane(0));
            to.write(Instruction::LocalGet(local));
            to.write(Instruction::F64x2ExtractLane(1));
            to.write(Instruction::F64Add);
        }
        to.write(Instruction::F64Add);
        to.write(Instruction::F64Store(at));
    }

    fn spacing(&self, address: Address) -> Spacing {
        match address {
            Address::Column(_) | Address::Interleaved { width: 1, .. } => Spacing::Beside,
            Address::Fixed(_) | Address::Layer(_) => Spacing::Same,
            Address::Indexed { .. } if self.kernel.is_same(address) => Spacing::Same,
            Address::Interleaved { .. } | Address::Indexed { .. } | Address::Listed { .. } => Spacing::Apart,
        }
    }

    /// Pushes what the address of a lane's number is relative to, and gives the rest.
    fn push(&mut self, to: &mut Expression, buffer: u32, address: Address, lane: u8) -> MemArg {
        let lane_number = self.ahead + u32::from(lane);
        let elements = match address {
            Address::Column(column) => {
                let start = self.fixed(to, Figure::Column { buffer, column, shift: REAL });
                let scaled = self.scaled(to, REAL);
                to.write(Instruction::LocalGet(start));
                to.write(Instruction::LocalGet(scaled));
                to.write(Instruction::I32Add);
                lane_number
            }
            Address::Fixed(position) | Address::Layer(position) => {
                let pointer = self.fixed(to, Figure::Word(frame::pointer(buffer)));
                to.write(Instruction::LocalGet(pointer));
                position
            }
            Address::Interleaved { width, component } => {
                let local = self.interleaved(to, buffer, width);
                to.write(Instruction::LocalGet(local));
                lane_number * width + component
            }
            Address::Indexed { indices, column, component } => {
                let local = self.indexed(to, buffer, indices, column, lane);
                to.write(Instruction::LocalGet(local));
                component
            }
            Address::Listed { .. } => unreachable!("a kernel's check refuses addresses of lists"),
        };
        at(elements << REAL, REAL)
    }

    /// The local of a figure that is the same for all instances.
    pub fn word(&mut self, to: &mut Expression, word: u32) -> u32 {
        self.fixed(to, Figure::Word(word))
    }

    fn fixed(&mut self, to: &mut Expression, figure: Figure) -> u32 {
        if let Some(local) = self.figures.get(&figure.key()) {
            return *local;
        }
        // What this one is computed from comes first.
        let mut from = Vec::new();
        match figure {
            Figure::Column { buffer, column: 0, .. } => return self.word(to, frame::pointer(buffer)),
            Figure::Column { buffer, .. } => {
                from.extend([self.word(to, frame::STRIDE), self.word(to, frame::pointer(buffer))]);
            }
            Figure::First { buffer, .. } => {
                let words = [frame::FIRST, frame::ORIGIN, frame::pointer(buffer)];
                from.extend(words.map(|word| self.word(to, word)));
            }
            Figure::Limit { indices: by, column: of } => {
                for (buffer, address) in self.kernel.addresses() {
                    if let Address::Indexed { indices, column, component } = address
                        && (indices, column) == (by, of)
                    {
                        let length = self.word(to, frame::length(buffer));
                        match from.chunks_exact_mut(2).find(|known| known[0] == length) {
                            Some(known) => known[1] = component.max(known[1]),
                            None => from.extend([length, component]),
                        }
                    }
                }
            }
            Figure::Word(_)
            | Figure::Scaled(_)
            | Figure::Interleaved { .. }
            | Figure::Index { .. }
            | Figure::Indexed { .. } => {}
        };
        let local = to.locals.add(ValType::I32);
        let mut write = |instruction: Instruction| instruction.encode(&mut self.prologue);
        match figure {
            Figure::Word(word) => {
                write(Instruction::LocalGet(frame::PARAMETER));
                write(Instruction::I32Load(at(word << INDEX, INDEX)));
            }
            Figure::Column { column, shift, .. } => {
                write(Instruction::LocalGet(from[0]));
                write(Instruction::I32Const((column << shift) as i32));
                write(Instruction::I32Mul);
                write(Instruction::LocalGet(from[1]));
                write(Instruction::I32Add);
            }
            Figure::First { width, .. } => {
                write(Instruction::LocalGet(from[0]));
                write(Instruction::LocalGet(from[1]));
                write(Instruction::I32Const(width as i32));
                write(Instruction::I32Mul);
                write(Instruction::I32Sub);
                write(Instruction::I32Const(REAL as i32));
                write(Instruction::I32Shl);
                write(Instruction::LocalGet(from[2]));
                write(Instruction::I32Add);
            }
            // A length is above every component, which the check of the dispatch has seen to. The least difference counts.
            Figure::Limit { .. } => {
                for (number, pair) in from.chunks_exact(2).enumerate() {
                    let difference =
                        [Instruction::LocalGet(pair[0]), Instruction::I32Const(pair[1] as i32), Instruction::I32Sub];
                    if number == 0 {
                        difference.into_iter().for_each(&mut write);
                        continue;
                    }
                    write(Instruction::LocalTee(local));
                    difference.clone().into_iter().for_each(&mut write);
                    write(Instruction::LocalGet(local));
                    difference.into_iter().for_each(&mut write);
                    write(Instruction::I32LtU);
                    write(Instruction::Select);
                }
            }
            Figure::Scaled(_) | Figure::Interleaved { .. } | Figure::Index { .. } | Figure::Indexed { .. } => {
                unreachable!("these depend on the instance")
            }
        }
        write(Instruction::LocalSet(local));
        self.figures.insert(figure.key(), local);
        local
    }

    fn scaled(&mut self, to: &mut Expression, shift: u32) -> u32 {
        let instance = self.instance;
        self.varying(to, Figure::Scaled(shift), |to, _| {
            to.write(Instruction::LocalGet(instance));
            to.write(Instruction::I32Const(shift as i32));
            to.write(Instruction::I32Shl);
        })
    }

    fn interleaved(&mut self, to: &mut Expression, buffer: u32, width: u32) -> u32 {
        let (first, instance) = (self.fixed(to, Figure::First { buffer, width }), self.instance);
        self.varying(to, Figure::Interleaved { buffer, width }, |to, _| {
            to.write(Instruction::LocalGet(instance));
            to.write(Instruction::I32Const((width << REAL) as i32));
            to.write(Instruction::I32Mul);
            to.write(Instruction::LocalGet(first));
            to.write(Instruction::I32Add);
        })
    }

    /// The address of component 0 of what an index names.
    fn indexed(&mut self, to: &mut Expression, buffer: u32, indices: u32, column: u32, lane: u8) -> u32 {
        let lane = if self.kernel.pinned.contains(&(indices, column)) { 0 } else { lane };
        let (index, pointer) = (self.index(to, indices, column, lane), self.word(to, frame::pointer(buffer)));
        self.varying(to, Figure::Indexed { buffer, indices, column, lane }, |to, _| {
            to.write(Instruction::LocalGet(index));
            to.write(Instruction::I32Const(REAL as i32));
            to.write(Instruction::I32Shl);
            to.write(Instruction::LocalGet(pointer));
            to.write(Instruction::I32Add);
        })
    }

    /// An index, which traps if it leads out of one of the buffers that it is for.
    fn index(&mut self, to: &mut Expression, indices: u32, column: u32, lane: u8) -> u32 {
        let figure = Figure::Index { indices, column, lane };
        if let Some(local) = self.figures.get(&figure.key()) {
            return *local;
        }
        let start = self.fixed(to, Figure::Column { buffer: indices, column, shift: INDEX });
        let limit = self.fixed(to, Figure::Limit { indices, column });
        let (scaled, ahead) = (self.scaled(to, INDEX), self.ahead + u32::from(lane));
        self.varying(to, figure, |to, index| {
            to.write(Instruction::LocalGet(start));
            to.write(Instruction::LocalGet(scaled));
            to.write(Instruction::I32Add);
            to.write(Instruction::I32Load(at(ahead << INDEX, INDEX)));
            to.write(Instruction::LocalTee(index));
            to.write(Instruction::LocalGet(limit));
            to.write(Instruction::I32GeU);
            to.write(Instruction::If);
            to.write(Instruction::Unreachable);
            to.write(Instruction::End);
            to.write(Instruction::LocalGet(index));
        })
    }

    /// The local of a figure of the instance, computed where it is first needed; while that happens it is free for use.
    fn varying(&mut self, to: &mut Expression, figure: Figure, compute: impl FnOnce(&mut Expression, u32)) -> u32 {
        if let Some(local) = self.figures.get(&figure.key()) {
            return *local;
        }
        let local = to.locals.add(ValType::I32);
        compute(to, local);
        to.write(Instruction::LocalSet(local));
        self.varying.push(figure.key());
        self.figures.insert(figure.key(), local);
        local
    }
}

fn at(offset: u32, align: u32) -> MemArg {
    MemArg { offset, align }
}
