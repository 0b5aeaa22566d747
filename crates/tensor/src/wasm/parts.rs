//! Kernels in parts: a call does a range of the outermost axis, so that a large kernel leaves turns of the event loop to others.

use residua_codegen::wasm::encoding::instructions as wasm;
use residua_codegen::wasm::encoding::{Function, Instruction, ValType};

use super::code::Local;
use super::count::{Count, Part};
use super::schedule::MANY;
use super::values::Values;
use crate::kernel::Extent;

/// Points of a part, about: at most a fraction of a millisecond of work, so that threads share a kernel evenly. Tests have kernels of several parts too.
const PART_POINTS: u32 = if cfg!(test) { 40 } else { 1 << 13 };

/// The parameter that says which part is to be done.
const PART: Local = Local(1);

impl Values<'_, '_> {
    /// Has a call do a range of the outermost of some axes alone, if the kernel may have many points.
    pub fn cut(&mut self, space: &[Extent]) {
        let known: Option<u64> = space.iter().map(|extent| self.kernel.known(*extent).map(u64::from)).product();
        if space.is_empty() || known.is_some_and(|points| points < 2 * u64::from(PART_POINTS)) {
            return;
        }
        let whole = self.count(space[0]);
        let mut known: u32 = 1;
        let mut inner = vec![Instruction::I32Const(1)];
        for extent in &space[1..] {
            match self.count(*extent) {
                Count::Known(number) => known = known.saturating_mul(number),
                Count::Local(local, _) => inner.extend([local.get(), wasm::I32_MUL]),
            }
        }
        // What coordinates of the outermost axis make up a part: a whole number of bodies of the longest loop where it is the axis of the lanes, else at least one.
        let points = Instruction::I32Const((PART_POINTS / known.max(1)) as i32);
        let more = if space.len() == 1 { 4 * MANY as i32 - 1 } else { 0 };
        let mut code = vec![points];
        code.extend(inner);
        // A product of extents that wraps to 0 does not divide.
        code.extend([Instruction::I32Const(1), wasm::I32_OR, wasm::I32_DIV_U]);
        code.extend([Instruction::I32Const(more), wasm::I32_OR, Instruction::I32Const(1), wasm::I32_ADD]);
        let step = self.code.keep(0, ValType::I32, &code);
        let start = self.code.keep(0, ValType::I32, &[PART.get(), step.get(), wasm::I32_MUL]);
        // A thread may ask for a part behind the last, which has nothing.
        let within = [whole.get(), Instruction::I32Const(0), start.get(), whole.get(), wasm::I32_LT_U, wasm::SELECT];
        let whole = Count::Local(self.code.keep(0, ValType::I32, &within), whole.is_multiple());
        let smaller = [start.get(), whole.get(), start.get(), whole.get(), wasm::I32_LT_U, wasm::SELECT];
        let start = self.code.keep(0, ValType::I32, &smaller);
        let next = self.code.keep(0, ValType::I32, &[start.get(), step.get(), wasm::I32_ADD]);
        let smaller = [next.get(), whole.get(), next.get(), whole.get(), wasm::I32_LT_U, wasm::SELECT];
        let end = self.code.keep(0, ValType::I32, &smaller);
        self.part = Some(Part { start, end: Count::Local(end, whole.is_multiple()), whole });
    }

    /// The function, which gives the number of the next part, or 0 after the last.
    pub fn finish(mut self) -> Function {
        let code = match self.part {
            Some(Part { end, whole, .. }) => vec![
                PART.get(),
                Instruction::I32Const(1),
                wasm::I32_ADD,
                Instruction::I32Const(0),
                end.get(),
                whole.get(),
                wasm::I32_LT_U,
                wasm::SELECT,
            ],
            None => vec![Instruction::I32Const(0)],
        };
        self.code.put(0, &code);
        self.code.finish()
    }

    /// The range of the outermost axis, of this extent, as the bounds of the innermost loop.
    pub fn line(&mut self, count: Count) -> Count {
        match self.part {
            Some(Part { start, end, .. }) => {
                (self.start, self.start_block) = (start.get(), 0);
                end
            }
            None => count,
        }
    }
}
