//! The values of a kernel's graph as code: each node is computed once, in the outermost loop in which it does not vary.
//!
//! One axis of the iteration space is that of the lanes: a vector holds the values at four consecutive coordinates of it. A node that does not
//! depend on that axis is *uniform*. Uniform integers and bools are single i32, so that addresses cost no vector instructions; uniform reals
//! are vectors of equal lanes.

use residua_codegen::wasm::encoding::instructions as wasm;
use residua_codegen::wasm::encoding::{Instruction, ValType};
use residua_ir::graph::Op as Real;
use rustc_hash::FxHashMap;
use vecmap::VecMap;

use super::code::{Code, Local};
use super::count::Part;
use super::module::Shared;
use super::pointer::Pointer;
use crate::kernel::{Extent, TensorKernel};
use crate::scalar::{Id, Type, TypedGraph, TypedNode, TypedOp};

/// What is held of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Form {
    /// The values of four points.
    Lanes,
    /// The value of the first of them, an i32.
    First,
    /// The same at the start of the innermost loop.
    Start,
    /// The reciprocals of the values of four points.
    Reciprocal,
}

/// A loop over an axis.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis {
    /// The coordinate.
    pub at: Local,
    /// The block of the loop's body.
    pub block: usize,
}

/// Which lanes hold points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Points {
    /// All of them.
    Four,
    /// The first so many, a local that is 1, 2 or 3. The others repeat the last of these.
    Some(Local),
}

/// A kernel under construction.
pub(super) struct Values<'k, 'm> {
    /// The kernel.
    pub kernel: &'k TensorKernel,
    /// Its graph.
    pub graph: &'k TypedGraph,
    /// The function.
    pub code: Code<'m>,
    /// Of each node the coordinates and folds that it depends on, a bit each.
    depends: Vec<u64>,
    /// The open loops, by axis.
    pub axes: Vec<Option<Axis>>,
    /// The results of reductions, by fold, result and vector.
    pub folded: VecMap<(u32, u32, u32), Local>,
    /// The block of results of reductions.
    pub folds_block: usize,
    /// The axis of the lanes.
    pub lane_axis: u32,
    /// The innermost loop's axis, in which addresses advance; none outside of such a loop.
    pub inner_axis: Option<u32>,
    /// Where the innermost loop's coordinate starts, an i32 on the stack.
    pub start: Instruction,
    /// The block where that is known.
    pub start_block: usize,
    /// Whether the innermost loop's coordinate counts down.
    pub is_descending: bool,
    /// The range of the outermost axis that a call does; all of it if none.
    pub part: Option<Part>,
    /// Addresses that advance with the innermost loop, and the block in which they are set.
    pub pointers: Vec<Pointer>,
    /// The block around the innermost loop.
    pub pointers_block: usize,
    /// Which vector of several in a body this is.
    pub copy: u32,
    /// How many of them are computed together.
    pub copies: u32,
    /// Which lanes hold points.
    pub points: Points,
    /// Values that memory holds already: buffer and index.
    pub stored: VecMap<Id, (u32, Id)>,
    pub(super) known: Vec<FxHashMap<(Id, Form, u32), Local>>,
    sizes: VecMap<u32, Local>,
    bases: VecMap<u32, Local>,
}

/// The first bit of folds in the sets of what nodes depend on.
const FOLDS: u32 = 32;
/// All bits of folds.
const ANY_FOLD: u64 = !0 << FOLDS;

impl<'k, 'm> Values<'k, 'm> {
    /// A function for a kernel; its parameters are the address of the frame and the number of a part. Results of reductions may vary along the lanes.
    pub fn new(kernel: &'k TensorKernel, shared: &'m mut Shared, lane_axis: u32, folds_vary: bool) -> Values<'k, 'm> {
        let graph = &kernel.graph;
        let mut depends = vec![0u64; graph.len()];
        for id in graph.ids() {
            let own = match graph.node(id) {
                TypedNode::Coordinate(axis) => 1 << axis,
                TypedNode::Folded { .. } => 1 << FOLDS | u64::from(folds_vary) << lane_axis,
                _ => 0,
            };
            depends[id.index()] =
                graph.operands(id).into_iter().fold(own, |set, operand| set | depends[operand.index()]);
        }
        Values {
            kernel,
            graph,
            code: Code::new(shared, 2),
            depends,
            axes: vec![None; 32],
            folded: VecMap::default(),
            folds_block: 0,
            lane_axis,
            inner_axis: None,
            start: Instruction::I32Const(0),
            start_block: 0,
            is_descending: false,
            part: None,
            pointers: Vec::new(),
            pointers_block: 0,
            copy: 0,
            copies: 1,
            points: Points::Four,
            stored: VecMap::default(),
            known: vec![FxHashMap::default()],
            sizes: VecMap::default(),
            bases: VecMap::default(),
        }
    }

    /// Whether a node depends on a coordinate.
    pub fn depends_on(&self, id: Id, axis: u32) -> bool {
        self.depends[id.index()] >> axis & 1 != 0
    }

    /// Whether a node depends on a coordinate or a result of a reduction.
    pub fn varies(&self, id: Id) -> bool {
        self.depends[id.index()] != 0
    }

    /// Whether a node has one value for all lanes.
    pub fn is_uniform(&self, id: Id) -> bool {
        !self.depends_on(id, self.lane_axis)
    }

    /// Opens a block, in which other values are known.
    pub fn open(&mut self) {
        self.code.open();
        self.known.push(FxHashMap::default());
    }

    /// Closes the innermost block.
    pub fn close(&mut self, before: &[Instruction], after: &[Instruction]) {
        self.code.close(before, after);
        self.known.pop();
    }

    /// The block in which a node is computed: the outermost one where all that it depends on is known.
    pub fn block(&self, id: Id, form: Form) -> usize {
        let set = self.depends[id.index()];
        match (form, self.inner_axis) {
            (Form::Start, Some(axis)) => self.block_of(set & !(1 << axis)).max(self.start_block),
            _ => self.block_of(set),
        }
    }

    fn block_of(&self, set: u64) -> usize {
        let folds = if set & ANY_FOLD != 0 { self.folds_block } else { 0 };
        let axes = self.axes.iter().enumerate().filter(|(axis, _)| set >> axis & 1 != 0);
        axes.filter_map(|(_, axis)| axis.map(|axis| axis.block)).fold(folds, usize::max)
    }

    /// A value that is computed by a closure unless it is known.
    fn once(&mut self, id: Id, form: Form, compute: impl FnOnce(&mut Self, usize) -> Local) -> Local {
        let block = self.block(id, form);
        let copy = if self.is_uniform(id) { 0 } else { self.copy };
        let key = (id, form, copy);
        if let Some(local) = self.known[block].get(&key) {
            return *local;
        }
        let local = compute(self, block);
        self.known[block].insert(key, local);
        local
    }

    /// Whether a uniform value is computed as an i32.
    fn is_single(&self, id: Id) -> bool {
        let real = |id: Id| self.graph.ty(id) == Type::F32;
        if real(id) {
            return false;
        }
        match self.graph.node(id) {
            TypedNode::Literal(..) | TypedNode::Coordinate(_) | TypedNode::Size(_) => true,
            TypedNode::Load { .. } => self.is_uniform(id),
            TypedNode::Folded { .. } | TypedNode::Apply(TypedOp::HighProduct, _) => false,
            TypedNode::Apply(op, operands) => !operands[..op.arity()].iter().any(|operand| real(*operand)),
        }
    }

    /// Computes the reals that values are made of, operands first, so that the depth of calls does not grow with that of the graph.
    pub fn prepare(&mut self, roots: impl IntoIterator<Item = Id>) {
        let mut is_needed = vec![false; self.graph.len()];
        roots.into_iter().for_each(|root| is_needed[root.index()] = true);
        for id in self.graph.ids().rev().filter(|id| !self.stored.contains_key(id)) {
            if is_needed[id.index()] {
                self.graph.operands(id).into_iter().for_each(|operand| is_needed[operand.index()] = true);
            }
        }
        for id in self.graph.ids().filter(|id| is_needed[id.index()]) {
            if self.graph.ty(id) == Type::F32 {
                self.lanes_of_copies(id);
            }
        }
    }

    /// The value in four lanes.
    pub fn lanes(&mut self, id: Id) -> Local {
        if let TypedNode::Literal(ty, bits) = self.graph.node(id) {
            return self.code.word(if ty == Type::Bool { 0u32.wrapping_sub(bits) } else { bits });
        }
        self.once(id, Form::Lanes, |values, block| values.compute_lanes(id, block))
    }

    fn compute_lanes(&mut self, id: Id, block: usize) -> Local {
        if self.is_uniform(id) && self.is_single(id) {
            let single = self.first(id);
            let mut code = vec![single.get(), wasm::I32X4_SPLAT];
            if self.graph.ty(id) == Type::Bool {
                code.push(wasm::I32X4_NEG);
            }
            return self.code.vector(block, &code);
        }
        if let Some((buffer, index)) = self.stored.get(&id).copied() {
            return self.load_lanes(id, buffer, index, block);
        }
        match self.graph.node(id) {
            TypedNode::Coordinate(axis) => self.lane_coordinates(axis, block),
            TypedNode::Folded { fold, result } => {
                let copy = if self.is_uniform(id) { 0 } else { self.copy };
                self.folded[&(fold, result, copy)]
            }
            TypedNode::Load { buffer, index } => self.load_lanes(id, buffer, index, block),
            TypedNode::Apply(op, operands) => match self.formula_of(id) {
                Some(formula) => self.side_by_side(id, &formula, &operands[..op.arity()], block),
                None => self.apply_lanes(op, operands, block),
            },
            TypedNode::Literal(..) | TypedNode::Size(_) => unreachable!("literals and sizes are uniform integers"),
        }
    }

    /// The coordinates of four points: consecutive ones, or the last one for lanes without points.
    fn lane_coordinates(&mut self, axis: u32, block: usize) -> Local {
        let at = self.coordinate(axis);
        let step = if self.is_descending && self.inner_axis == Some(axis) { -1i32 } else { 1 };
        let lanes = (0..4u32).rev().fold(0u128, |bits, lane| {
            let distance = (4 * self.copy + lane) as i32 * step;
            bits << 32 | u128::from(distance as u32)
        });
        let distances = self.code.constant(lanes);
        let distances = match self.points {
            Points::Four => distances,
            Points::Some(count) => {
                let minimum = if step < 0 { wasm::I32X4_MAX_S } else { wasm::I32X4_MIN_S };
                let last = [
                    distances.get(),
                    count.get(),
                    Instruction::I32Const(1),
                    wasm::I32_SUB,
                    Instruction::I32Const(step),
                    wasm::I32_MUL,
                    wasm::I32X4_SPLAT,
                    minimum,
                ];
                self.code.vector(block, &last)
            }
        };
        self.code.vector(block, &[at.get(), wasm::I32X4_SPLAT, distances.get(), wasm::I32X4_ADD])
    }

    fn apply_lanes(&mut self, op: TypedOp, operands: [Id; 3], block: usize) -> Local {
        if let TypedOp::Level(_) = op {
            return self.lanes(operands[0]);
        }
        if matches!(op, TypedOp::Shl | TypedOp::Shr) && self.is_uniform(operands[1]) {
            let (a, count) = (self.lanes(operands[0]), self.first(operands[1]));
            return self.code.shift(block, op, self.graph.ty(operands[0]), a, count.get());
        }
        if let TypedOp::Real(real @ (Real::Min | Real::Max)) = op {
            let [a, b, _] = operands;
            for (value, bound) in [(a, b), (b, a)] {
                if let TypedNode::Literal(_, bits) = self.graph.node(bound)
                    && !f32::from_bits(bits).is_nan()
                    && bits != (-0f32).to_bits()
                {
                    let value = self.lanes(value);
                    return self.code.bound(block, real, value, f32::from_bits(bits));
                }
            }
        }
        if op == TypedOp::Real(Real::Pow)
            && let TypedNode::Literal(_, bits) = self.graph.node(operands[1])
            && matches!(f32::from_bits(bits), 2.0 | 3.0)
        {
            let a = self.lanes(operands[0]);
            let square = self.code.two(block, wasm::F32X4_MUL, a, a);
            return match f32::from_bits(bits) {
                2.0 => square,
                _ => self.code.two(block, wasm::F32X4_MUL, square, a),
            };
        }
        // Such a sum is neither so small nor so large that its reciprocal would lose digits.
        if op == TypedOp::Real(Real::Div)
            && let TypedNode::Folded { fold, result: 0 } = self.graph.node(operands[1])
            && self.is_sum_of_softmax(fold as usize)
        {
            let value = self.lanes(operands[0]);
            let reciprocal = self.reciprocal(operands[1]);
            return self.code.two(block, wasm::F32X4_MUL, value, reciprocal);
        }
        let mut locals = [Local(0); 3];
        for (local, operand) in locals.iter_mut().zip(&operands[..op.arity()]) {
            *local = self.lanes(*operand);
        }
        let types = operands.map(|operand| self.graph.ty(operand));
        self.code.operation(block, op, types, locals)
    }

    /// 1 / x, computed once for all points that divide by x.
    fn reciprocal(&mut self, id: Id) -> Local {
        let divisor = self.lanes(id);
        let one = self.code.word(1f32.to_bits());
        self.once(id, Form::Reciprocal, |values, block| values.code.two(block, wasm::F32X4_DIV, one, divisor))
    }

    /// The local of a coordinate of an open loop.
    pub fn coordinate(&self, axis: u32) -> Local {
        self.axes[axis as usize].expect("values depend on coordinates of open loops alone").at
    }

    /// The value of the first point, an integer or a bool.
    pub fn first(&mut self, id: Id) -> Local {
        self.once(id, Form::First, |values, block| values.compute_first(id, block))
    }

    fn compute_first(&mut self, id: Id, block: usize) -> Local {
        if !self.is_single(id) {
            let vector = self.lanes(id);
            let mut code = vec![vector.get(), wasm::i32x4_extract_lane(0)];
            if self.graph.ty(id) == Type::Bool {
                code.extend([Instruction::I32Const(1), wasm::I32_AND]);
            }
            return self.code.keep(block, ValType::I32, &code);
        }
        match self.graph.node(id) {
            TypedNode::Literal(_, bits) => self.code.keep(block, ValType::I32, &[Instruction::I32Const(bits as i32)]),
            TypedNode::Coordinate(axis) => {
                let mut code = vec![self.coordinate(axis).get()];
                if axis == self.lane_axis && self.copy > 0 {
                    code.extend([Instruction::I32Const(4 * self.copy as i32), wasm::I32_ADD]);
                }
                self.code.keep(block, ValType::I32, &code)
            }
            TypedNode::Size(word) => self.size(word),
            TypedNode::Load { buffer, index } => self.load_single(buffer, index, block),
            TypedNode::Apply(op, operands) => {
                let mut locals = [Local(0); 3];
                for (local, operand) in locals.iter_mut().zip(&operands[..op.arity()]) {
                    *local = self.first(*operand);
                }
                let types = operands.map(|operand| self.graph.ty(operand));
                self.code.single(block, op, types, locals)
            }
            TypedNode::Folded { .. } => unreachable!("results of reductions are vectors"),
        }
    }

    /// The value of the first point at the start of the innermost loop, of a sum in which that loop's coordinate is linear.
    pub fn at_start(&mut self, id: Id) -> Local {
        match self.inner_axis {
            Some(axis) if self.depends_on(id, axis) => self.once(id, Form::Start, |values, block| {
                let code = match values.graph.node(id) {
                    TypedNode::Apply(op, operands) => {
                        let types = operands.map(|operand| values.graph.ty(operand));
                        let [a, b, _] = operands;
                        let (a, b) = (values.at_start(a), values.at_start(b));
                        return values.code.single(block, op, types, [a, b, a]);
                    }
                    _ => [values.start.clone()],
                };
                values.code.keep(block, ValType::I32, &code)
            }),
            _ => self.first(id),
        }
    }

    /// A word of the uniform.
    pub fn size(&mut self, word: u32) -> Local {
        if let Some(local) = self.sizes.get(&word) {
            return *local;
        }
        let local = self.frame_word(self.kernel.buffers.len() as u32 + word);
        self.sizes.insert(word, local);
        local
    }

    /// The address of a buffer.
    pub fn base(&mut self, buffer: u32) -> Local {
        if let Some(local) = self.bases.get(&buffer) {
            return *local;
        }
        let local = self.frame_word(buffer);
        self.bases.insert(buffer, local);
        local
    }

    fn frame_word(&mut self, word: u32) -> Local {
        const FRAME: Local = Local(0);
        self.code.keep(0, ValType::I32, &[FRAME.get(), wasm::i32_load(4 * word)])
    }

    /// An extent, on the stack.
    pub fn extent(&mut self, extent: Extent) -> Instruction {
        match extent {
            Extent::Known(number) => Instruction::I32Const(number as i32),
            Extent::Word(word) => self.size(word).get(),
        }
    }
}
