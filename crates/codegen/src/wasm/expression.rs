//! The values of a graph in the locals of a function: one local a value, given back after its last use.
//!
//! The same code writes both widths. In [`Width::Pair`] a value is a `v128` with the numbers of two instances, in
//! [`Width::Single`] an `f64`.

use rustc_hash::FxHashMap;

use super::encoding::instructions as wasm;
use super::encoding::{Instruction, ValType};
use super::functions::Functions;
use super::locals::{Locals, Width};
use crate::uses::Uses;
use residua_ir::elementary;
use residua_ir::graph::{Graph, Node, NodeId, Op};

/// Where the value of a node stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    pub local: u32,
    /// Whether the local is kept after the last use.
    pub kept: bool,
    /// Whether the local holds the negative, see [`super::sign`].
    pub negative: bool,
    /// The node whose local it is, if not its own.
    pub owner: Option<NodeId>,
}

/// Writes the code of a graph's operations.
pub(super) struct Expression<'a> {
    /// What is written.
    pub graph: &'a Graph,
    /// How many instances at a time.
    pub width: Width,
    /// The functions that may be called.
    pub functions: &'a Functions,
    /// The function's locals.
    pub locals: Locals,
    /// The code so far.
    pub code: Vec<u8>,
    /// Addresses in it where nothing is on the stack and no block is open.
    pub marks: Vec<usize>,
    uses: Uses,
    pub(super) slots: Vec<Option<Slot>>,
    /// The square roots so far.
    roots: Vec<NodeId>,
    /// Code that stands before the loop, if there is one, and the locals that it leaves numbers in, by their bits.
    pub before: Vec<u8>,
    constants: FxHashMap<u64, u32>,
    most_constants: usize,
    /// Whether functions are called, or assumed to do what their first case does.
    pub has_calls: bool,
    /// Variables of the module that hold nothing, if values are in such, which several functions share, and not in locals.
    pub free_variables: Option<Vec<u32>>,
    /// Addresses in the code at which another function begins.
    pub cuts: Vec<usize>,
    /// For each loop its results with their numbers, once a loop is run.
    pub(super) results: Vec<Vec<(NodeId, u32)>>,
}

/// Which nodes of an expression are computed.
#[derive(Clone)]
pub(super) struct State {
    uses: Uses,
    slots: Vec<Option<Slot>>,
    roots: Vec<NodeId>,
}

/// So many numbers of a loop are kept in locals.
const MOST_CONSTANTS: usize = 64;

impl<'a> Expression<'a> {
    /// An expression of which nothing is computed yet; `uses` counts for each node how often [`Expression::take`] will take it.
    pub fn new(graph: &'a Graph, uses: Uses, width: Width, functions: &'a Functions, locals: Locals) -> Expression<'a> {
        Expression {
            graph,
            width,
            functions,
            locals,
            code: Vec::new(),
            marks: Vec::new(),
            uses,
            slots: vec![None; graph.len()],
            free_variables: None,
            cuts: Vec::new(),
            results: Vec::new(),
            roots: Vec::new(),
            before: Vec::new(),
            constants: FxHashMap::default(),
            most_constants: 0,
            has_calls: true,
        }
    }

    /// The same within a loop, before which numbers are put into locals from variables of the module: engines make a vector anew wherever
    /// it is written as a constant, in several instructions, and read one that lies ready in one.
    pub fn in_loop(self) -> Expression<'a> {
        Expression { most_constants: MOST_CONSTANTS, ..self }
    }

    /// What is computed, to be [resumed](Expression::resume) later.
    pub fn state(&self) -> State {
        State { uses: self.uses.clone(), slots: self.slots.clone(), roots: self.roots.clone() }
    }

    /// Goes back to a state, for code that runs beside what was written since: no local of that is used again.
    pub fn resume(&mut self, state: State) {
        State { uses: self.uses, slots: self.slots, roots: self.roots } = state;
        self.locals.free.clear();
    }

    /// Marks a place in the code.
    pub fn mark(&mut self) {
        self.marks.push(self.code.len());
    }

    /// Writes one instruction.
    pub fn write(&mut self, instruction: Instruction) {
        instruction.encode(&mut self.code);
    }

    /// Writes the instruction for the width.
    pub fn either(&mut self, pair: Instruction, single: Instruction) {
        self.write(match self.width {
            Width::Pair => pair,
            Width::Single => single,
        });
    }

    /// How often a node is still to be taken.
    pub fn uses(&self, node: NodeId) -> u32 {
        self.uses.of(node)
    }

    /// Whether a node's value is in a local.
    pub fn is_computed(&self, node: NodeId) -> bool {
        self.slots[node.index()].is_some()
    }

    /// Pushes a number.
    pub fn number(&mut self, value: f64) {
        let bits = value.to_bits();
        let both = Instruction::V128Const(u128::from(bits) << 64 | u128::from(bits));
        if self.width == Width::Pair && bits != 0 {
            let mut known = self.constants.get(&bits).copied();
            if known.is_none() && self.constants.len() < self.most_constants {
                let local = self.locals.add(ValType::V128);
                Instruction::GlobalGet(self.functions.number(bits)).encode(&mut self.before);
                Instruction::LocalSet(local).encode(&mut self.before);
                self.constants.insert(bits, local);
                known = Some(local);
            }
            if let Some(local) = known {
                return self.write(Instruction::LocalGet(local));
            }
        }
        self.either(both, Instruction::F64Const(value));
    }

    /// Pushes the value of a node that is computed or a literal.
    pub fn push(&mut self, node: NodeId) {
        match (self.graph.literal_value(node), self.slots[node.index()]) {
            (Some(value), _) => self.number(value),
            (None, Some(slot)) => {
                self.get(slot.local);
                if slot.negative {
                    self.change_sign();
                }
            }
            (None, None) => unreachable!("operands stand before their users, and locals are kept until the last use"),
        }
    }

    /// Counts one use of a node as done.
    pub fn release(&mut self, node: NodeId) {
        self.uses.release(node);
        if self.uses.of(node) > 0 {
            return;
        }
        if let Some(Slot { local, kept: false, owner, .. }) = self.slots[node.index()] {
            self.slots[node.index()] = None;
            match owner {
                Some(owner) => self.release(owner),
                None => self.free_variables.as_mut().unwrap_or(&mut self.locals.free).push(local),
            }
        }
    }

    /// Pushes the value of a node that is computed or a literal, as one of its uses.
    pub fn take(&mut self, node: NodeId) {
        self.push(node);
        self.release(node);
    }

    /// Pushes one lane of a node's value, as an `f64`; the use is counted with the last lane.
    pub fn take_lane(&mut self, node: NodeId, lane: u8) {
        self.push_lane(node, lane);
        self.release_with_last(&[node], lane);
    }

    /// Counts one use of each node as done if that was the last lane.
    pub fn release_with_last(&mut self, nodes: &[NodeId], lane: u8) {
        if lane + 1 == self.width.lanes() {
            nodes.iter().for_each(|node| self.release(*node));
        }
    }

    /// Pushes one lane of two nodes' values, side by side; in [`Width::Pair`] alone. The uses are counted with the last lane.
    pub fn take_lane_of_two(&mut self, nodes: [NodeId; 2], lane: u8) {
        for node in nodes {
            self.settle(node);
            self.push(node);
        }
        self.write(wasm::shuffle([lane, 2 + lane]));
        self.release_with_last(&nodes, lane);
    }

    /// Pushes the first lane of a node's value, as an `f64`.
    pub fn push_uniform(&mut self, node: NodeId) {
        self.push_lane(node, 0);
    }

    pub(super) fn push_lane(&mut self, node: NodeId, lane: u8) {
        self.settle(node);
        self.push(node);
        if self.width == Width::Pair {
            self.write(wasm::f64x2_extract_lane(lane));
        }
    }

    /// Says that a node's value is in a local, which is kept.
    pub fn set_local(&mut self, node: NodeId, local: u32) {
        self.slots[node.index()] = Some(Slot { local, kept: true, negative: false, owner: None });
    }

    /// A local for a value, or a variable, that is never given back.
    pub fn add_kept(&mut self) -> u32 {
        match self.free_variables {
            Some(_) => self.functions.add_variable(self.width),
            None => self.locals.add(self.width.value()),
        }
    }

    /// Pushes what the local of a value, or the variable, holds.
    pub(super) fn get(&mut self, local: u32) {
        self.write(match self.free_variables {
            Some(_) => Instruction::GlobalGet(local),
            None => Instruction::LocalGet(local),
        });
    }

    /// Pops a value into its local, or variable.
    pub(super) fn set(&mut self, local: u32) {
        self.write(match self.free_variables {
            Some(_) => Instruction::GlobalSet(local),
            None => Instruction::LocalSet(local),
        });
    }

    /// Pops the value of a node into a local.
    pub fn assign(&mut self, node: NodeId) {
        let local = match &mut self.free_variables {
            Some(free) => free.pop().unwrap_or_else(|| self.functions.add_variable(self.width)),
            None => self.borrow(),
        };
        self.set(local);
        self.slots[node.index()] = Some(Slot { local, kept: false, negative: false, owner: None });
    }

    /// Keeps the local of a node that is computed after its last use too.
    pub fn keep(&mut self, node: NodeId) {
        self.settle(node);
        if let Some(slot) = &mut self.slots[node.index()] {
            slot.kept = true;
        }
    }

    /// A local of the value type that holds nothing, to be given back.
    pub fn borrow(&mut self) -> u32 {
        self.locals.borrow(self.width.value())
    }

    /// Gives a borrowed local back.
    pub fn give_back(&mut self, local: u32) {
        self.locals.free.push(local);
    }

    /// Computes a node that applies an op.
    pub fn apply(&mut self, node: NodeId, op: Op) {
        let graph = self.graph;
        let Node::Apply(_, operands) = graph.node(node) else { return };
        if op == Op::Neg && self.negate(node, operands[0]) {
            return;
        }
        let negative = match op {
            Op::Mul | Op::Div => self.product(op, operands[0], operands[1], self.uses(node) == 1),
            _ => {
                self.operation(op, operands);
                false
            }
        };
        if matches!(op, Op::Sqrt | Op::Norm) {
            self.roots.push(node);
        }
        for operand in &operands[..op.arity()] {
            self.release(*operand);
        }
        self.assign(node);
        self.slots[node.index()] = self.slots[node.index()].map(|slot| Slot { negative, ..slot });
    }

    /// Pushes the result of an op. Every case agrees with [`residua_ir::graph::evaluate`] to the last bit, but for the sign of a
    /// zero that is the smaller or larger of two, and the bits of a NaN.
    fn operation(&mut self, op: Op, operands: [NodeId; 3]) {
        let [a, b, c] = operands;
        match op {
            Op::StopGradient => self.push(a),
            Op::Neg => {
                self.push(a);
                self.change_sign();
            }
            Op::Abs => self.unary(a, wasm::F64X2_ABS, wasm::F64_ABS),
            Op::Sqrt | Op::Norm => self.unary(a, wasm::F64X2_SQRT, wasm::F64_SQRT),
            Op::Floor => self.unary(a, wasm::F64X2_FLOOR, wasm::F64_FLOOR),
            Op::Ceil => self.unary(a, wasm::F64X2_CEIL, wasm::F64_CEIL),
            Op::Add | Op::Sub => self.sum(op, a, b),
            Op::Mul | Op::Div => _ = self.product(op, a, b, false),
            Op::Min => self.binary(a, b, wasm::F64X2_MIN, wasm::F64_MIN),
            Op::Max => self.binary(a, b, wasm::F64X2_MAX, wasm::F64_MAX),
            Op::Eq => self.comparison(a, b, wasm::F64X2_EQ, wasm::F64_EQ),
            Op::Ne => self.comparison(a, b, wasm::F64X2_NE, wasm::F64_NE),
            Op::Lt => self.comparison(a, b, wasm::F64X2_LT, wasm::F64_LT),
            Op::Le => self.comparison(a, b, wasm::F64X2_LE, wasm::F64_LE),
            Op::Gt => self.comparison(a, b, wasm::F64X2_GT, wasm::F64_GT),
            Op::Ge => self.comparison(a, b, wasm::F64X2_GE, wasm::F64_GE),
            Op::Sign => {
                // ±1 where |a| > 0; else a itself, which is ±0 or NaN.
                self.number(1.0);
                self.copy_sign(a);
                self.push(a);
                self.unary(a, wasm::F64X2_ABS, wasm::F64_ABS);
                self.number(0.0);
                self.either(wasm::F64X2_GT, wasm::F64_GT);
                self.choose();
            }
            Op::InverseNorm => {
                self.zero_first();
                self.number(1.0);
                match self.root_of(a) {
                    Some(root) => self.push(root),
                    None => self.unary(a, wasm::F64X2_SQRT, wasm::F64_SQRT),
                }
                self.either(wasm::F64X2_DIV, wasm::F64_DIV);
                self.unless_zero(a);
            }
            Op::Round => {
                // ⌊a⌋, and one more where a lies a half or more above it; −0 for what rounds up to 0.
                self.unary(a, wasm::F64X2_FLOOR, wasm::F64_FLOOR);
                self.push(a);
                self.unary(a, wasm::F64X2_FLOOR, wasm::F64_FLOOR);
                self.either(wasm::F64X2_SUB, wasm::F64_SUB);
                self.number(0.5);
                self.either(wasm::F64X2_GE, wasm::F64_GE);
                self.truth();
                self.either(wasm::F64X2_ADD, wasm::F64_ADD);
                self.copy_sign(a);
            }
            Op::GuardedMul => {
                self.zero_first();
                self.binary(a, b, wasm::F64X2_MUL, wasm::F64_MUL);
                self.unless_zero(a);
            }
            Op::Select => {
                self.push(c);
                self.push(b);
                self.is_zero(a);
                self.choose();
            }
            Op::Lookup => unreachable!("it reads memory, see `Addresses::look_up`"),
            Op::Exp => self.exponential(a, false),
            Op::Sigmoid => self.sigmoid(a),
            Op::Sin | Op::Cos => self.turned(op, a),
            Op::Pow | Op::Mod | elementary!(Op) => self.math(op, &operands[..op.arity()]),
        }
    }

    /// A node that is computed and is the root of another one.
    fn root_of(&self, a: NodeId) -> Option<NodeId> {
        let is_root = |id: &NodeId| {
            self.is_computed(*id)
                && matches!(self.graph.node(*id), Node::Apply(Op::Sqrt | Op::Norm, [operand, ..]) if operand == a)
        };
        self.roots.iter().copied().find(is_root)
    }

    fn unary(&mut self, a: NodeId, pair: Instruction, single: Instruction) {
        self.push(a);
        self.either(pair, single);
    }

    fn binary(&mut self, a: NodeId, b: NodeId, pair: Instruction, single: Instruction) {
        self.push(a);
        self.push(b);
        self.either(pair, single);
    }

    fn comparison(&mut self, a: NodeId, b: NodeId, pair: Instruction, single: Instruction) {
        self.binary(a, b, pair, single);
        self.truth();
    }

    /// Turns the outcome of a comparison (a mask, or an `i32`) into 1 or 0.
    fn truth(&mut self) {
        match self.width {
            Width::Pair => {
                self.number(1.0);
                self.write(wasm::V128_AND);
            }
            Width::Single => self.write(wasm::F64_CONVERT_I32_U),
        }
    }

    /// Pushes the outcome of a = 0.
    fn is_zero(&mut self, a: NodeId) {
        self.push(a);
        self.number(0.0);
        self.either(wasm::F64X2_EQ, wasm::F64_EQ);
    }

    /// Makes ready for [`Expression::unless_zero`], before the value.
    fn zero_first(&mut self) {
        if self.width == Width::Single {
            self.number(0.0);
        }
    }

    /// Replaces the value on the stack by 0 where a = 0.
    fn unless_zero(&mut self, a: NodeId) {
        match self.width {
            Width::Pair => {
                self.push(a);
                self.number(0.0);
                self.write(wasm::F64X2_NE);
                self.write(wasm::V128_AND);
            }
            Width::Single => {
                self.is_zero(a);
                self.choose();
            }
        }
    }

    /// Of two values and the outcome of a comparison, leaves the first where it holds, else the second.
    fn choose(&mut self) {
        self.either(wasm::V128_BITSELECT, wasm::SELECT);
    }

    /// Gives the value on the stack the sign of a.
    fn copy_sign(&mut self, a: NodeId) {
        match self.width {
            Width::Pair => {
                // All bits but the sign's of the value, that one of a.
                self.push(a);
                let magnitude = u128::from(u64::MAX >> 1);
                self.write(Instruction::V128Const(magnitude << 64 | magnitude));
                self.write(wasm::V128_BITSELECT);
            }
            Width::Single => {
                self.push(a);
                self.write(wasm::F64_COPYSIGN);
            }
        }
    }

    /// Calls an imported function for every lane.
    fn math(&mut self, op: Op, operands: &[NodeId]) {
        let function = self.functions.math(op);
        for lane in 0..self.width.lanes() {
            for operand in operands {
                self.push_lane(*operand, lane);
            }
            self.write(Instruction::Call(function));
            match (self.width, lane) {
                (Width::Single, _) => {}
                (Width::Pair, 0) => self.write(wasm::F64X2_SPLAT),
                (Width::Pair, lane) => self.write(wasm::f64x2_replace_lane(lane)),
            }
        }
    }
}
