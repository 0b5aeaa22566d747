//! Loops over the axes of an iteration space.

use residua_codegen::wasm::encoding::instructions as wasm;
use residua_codegen::wasm::encoding::{Instruction, ValType};

use super::code::Local;
use super::count::{Count, Part};
use super::values::{Axis, Points, Values};
use crate::kernel::Extent;
use crate::scalar::{Id, TypedNode, TypedOp};

impl Values<'_, '_> {
    /// The number of points along an axis of this extent.
    pub fn count(&mut self, extent: Extent) -> Count {
        match extent {
            Extent::Known(number) => Count::Known(number),
            Extent::Word(word) => Count::Local(self.size(word), self.kernel.is_multiple(extent, 4)),
        }
    }

    /// Ends the function if an extent is 0: no point means no work, and values that are computed before loops may assume a point.
    pub fn return_if_empty(&mut self, extents: &[Extent]) {
        for extent in extents {
            let leave = [Instruction::I32Const(0), wasm::RETURN];
            let code = [&[self.extent(*extent), wasm::I32_EQZ, Instruction::If], &leave[..], &[wasm::END]].concat();
            match extent {
                Extent::Known(0) => self.code.put(0, &leave),
                Extent::Known(_) => {}
                Extent::Word(_) => self.code.put(0, &code),
            }
        }
    }

    /// A loop over an axis from a coordinate that stands in a local to an end, `step` points at a time. Of the innermost loop, pointers advance.
    fn run(&mut self, axis: u32, at: Local, end: Instruction, step: u32, body: &mut dyn FnMut(&mut Self)) {
        self.open();
        let block = self.code.innermost();
        let place = self.place_at(axis, at);
        self.axes[axis as usize] = Some(Axis { at: place, block });
        body(self);
        if self.inner_axis == Some(axis) {
            self.advance(step);
        }
        self.axes[axis as usize] = None;
        let before =
            [Instruction::Block, at.get(), end.clone(), wasm::I32_GE_U, Instruction::BrIf(0), Instruction::Loop];
        let after = [
            at.get(),
            Instruction::I32Const(step as i32),
            wasm::I32_ADD,
            at.tee(),
            end,
            wasm::I32_LT_U,
            Instruction::BrIf(0),
            wasm::END,
            wasm::END,
        ];
        self.close(&before, &after);
    }

    /// The coordinate of a loop's count. A loop that goes from the last coordinate to the first counts all the same.
    fn place_at(&mut self, axis: u32, count: Local) -> Local {
        if !self.is_descending || self.inner_axis != Some(axis) {
            return count;
        }
        let block = self.code.innermost();
        let last = self.start.clone();
        self.code.keep(block, ValType::I32, &[last, count.get(), wasm::I32_SUB])
    }

    /// A coordinate that starts at 0.
    fn coordinate_from_zero(&mut self) -> Local {
        let block = self.code.innermost();
        self.code.keep(block, ValType::I32, &[Instruction::I32Const(0)])
    }

    /// A loop over pieces of an axis: within it, the innermost loop goes over the points of a piece, to the end that the closure is told.
    pub fn tiles(&mut self, count: Count, points: u32, body: &mut dyn FnMut(&mut Self, Count)) {
        let at = self.coordinate_from_zero();
        self.open();
        let block = self.code.innermost();
        let size = Instruction::I32Const(points as i32);
        let next = self.code.keep(block, ValType::I32, &[at.get(), size, wasm::I32_ADD]);
        let smaller = [next.get(), count.get(), next.get(), count.get(), wasm::I32_LT_U, wasm::SELECT];
        let end = self.code.keep(block, ValType::I32, &smaller);
        (self.start, self.start_block) = (at.get(), block);
        body(self, Count::Local(end, count.is_multiple()));
        (self.start, self.start_block) = (Instruction::I32Const(0), 0);
        let after = [end.get(), at.tee(), count.get(), wasm::I32_LT_U, Instruction::BrIf(0), wasm::END];
        self.close(&[Instruction::Loop], &after);
    }

    /// A loop over all points of an axis, or of the part of it that a call does, one at a time.
    pub fn each(&mut self, axis: u32, count: Count, body: &mut dyn FnMut(&mut Self)) {
        if let (0, Some(Part { start, end, .. })) = (axis, self.part) {
            let block = self.code.innermost();
            let at = self.code.keep(block, ValType::I32, &[start.get()]);
            return self.run(axis, at, end.get(), 1, body);
        }
        let at = self.coordinate_from_zero();
        self.run(axis, at, count.get(), 1, body);
    }

    /// Nested loops over axes, one point at a time.
    pub fn nest(&mut self, first: u32, counts: &[Count], body: &mut dyn FnMut(&mut Self)) {
        match counts.split_first() {
            None => body(self),
            Some((count, inner)) => self.each(first, *count, &mut |values| values.nest(first + 1, inner, body)),
        }
    }

    /// An innermost loop: addresses within it advance.
    pub fn innermost(&mut self, axis: u32, body: impl FnOnce(&mut Self)) {
        self.inner_axis = Some(axis);
        self.pointers.clear();
        self.pointers_block = self.code.innermost();
        body(self);
        self.inner_axis = None;
        self.pointers.clear();
    }

    /// Loops over all points of the axis of the lanes: `copies` vectors at a time, then one at a time, then the points that are left. Where
    /// `overruns`, the last vector may go beyond the end instead. The closure is told how many vectors it is to do.
    pub fn vectors(&mut self, count: Count, copies: u32, overruns: bool, body: &mut dyn FnMut(&mut Self, u32)) {
        let axis = self.lane_axis;
        let block = self.code.innermost();
        let start = if self.is_descending { Instruction::I32Const(0) } else { self.start.clone() };
        let at = self.code.keep(block, ValType::I32, &[start]);
        let mut done = 0;
        // The first multiple of a number of points at which that many are not left.
        let whole = |values: &mut Self, points: u32| match count {
            Count::Known(number) => Instruction::I32Const((number / points * points) as i32),
            Count::Local(local, _) => {
                let mask = Instruction::I32Const((points as i32).wrapping_neg());
                values.code.keep(block, ValType::I32, &[local.get(), mask, wasm::I32_AND]).get()
            }
        };
        if copies > 1 && !matches!(count, Count::Known(number) if number < 4 * copies) {
            let end = whole(self, 4 * copies);
            self.run(axis, at, end, 4 * copies, &mut |values| body(values, copies));
            done = match count {
                Count::Known(number) => number / (4 * copies) * 4 * copies,
                Count::Local(..) => 0,
            };
        }
        let singles = match count {
            Count::Known(number) if overruns => number > done,
            Count::Known(number) => number - done >= 4,
            Count::Local(..) => true,
        };
        if singles {
            let end = if overruns { count.get() } else { whole(self, 4) };
            self.run(axis, at, end, 4, &mut |values| body(values, 1));
        }
        let rest = match count {
            _ if overruns => return,
            Count::Known(number) if number % 4 == 0 => return,
            Count::Local(_, true) => return,
            Count::Known(number) => vec![Instruction::I32Const((number % 4) as i32)],
            Count::Local(local, _) => vec![local.get(), Instruction::I32Const(3), wasm::I32_AND],
        };
        let rest = self.code.keep(block, ValType::I32, &rest);
        self.open();
        let inner = self.code.innermost();
        let place = self.place_at(axis, at);
        self.axes[axis as usize] = Some(Axis { at: place, block: inner });
        self.points = Points::Some(rest);
        body(self, 1);
        self.points = Points::Four;
        self.axes[axis as usize] = None;
        self.close(&[rest.get(), Instruction::If], &[wasm::END]);
    }

    /// The number of operations that values take at each point of an axis: a measure of the code of a loop.
    pub fn weight(&self, roots: &[Id], axis: u32) -> u32 {
        let mut seen = vec![false; self.graph.len()];
        let mut pending = roots.to_vec();
        let mut weight = 0;
        while let Some(id) = pending.pop() {
            if std::mem::replace(&mut seen[id.index()], true) || !self.depends_on(id, axis) {
                continue;
            }
            weight += match self.graph.node(id) {
                TypedNode::Apply(TypedOp::Real(op), _) => match op {
                    residua_ir::graph::Op::Add
                    | residua_ir::graph::Op::Sub
                    | residua_ir::graph::Op::Mul
                    | residua_ir::graph::Op::Neg
                    | residua_ir::graph::Op::Abs
                    | residua_ir::graph::Op::Div
                    | residua_ir::graph::Op::Sqrt
                    | residua_ir::graph::Op::Min
                    | residua_ir::graph::Op::Max => 1,
                    _ => 20,
                },
                _ => 1,
            };
            pending.extend(self.graph.operands(id));
        }
        weight
    }
}
