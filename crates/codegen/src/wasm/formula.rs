//! Formulas over vectors as lists of steps, which take two bytes each: elementary functions are made of them.

use super::encoding::Instruction;
use super::encoding::instructions as wasm;
use super::expression::Expression;
use super::locals::Width;

/// A step, on the stack of numbers.
#[derive(Clone, Copy)]
pub(super) enum Step {
    /// Pushes one of the formula's locals.
    Get(u8),
    /// Pops one of the formula's locals.
    Set(u8),
    /// Pushes one of the formula's numbers.
    Number(u8),
    /// Pushes a local times a number.
    Times(u8, u8),
    /// Pushes Σ cᵢ zⁱ of a local z, from the first of six numbers.
    Powers(u8, u8),
    Add,
    Subtract,
    Multiply,
    And,
    Xor,
    Select,
    /// Of two vectors, their first lanes.
    Firsts,
    /// Their second lanes.
    Seconds,
    AddIntegers,
    NegateIntegers,
    ShiftLeft(u8),
    ShiftRight(u8),
    /// Nothing is on the stack: another round's steps may stand here.
    Mark,
}

impl Expression<'_> {
    /// Writes code that takes two numbers from the stack and leaves two, with locals of its own. One number is computed twice.
    pub(super) fn in_pairs<const N: usize>(&mut self, code: impl FnOnce(&mut Self, [u32; N])) {
        let width = std::mem::replace(&mut self.width, Width::Pair);
        if width == Width::Single {
            self.write(wasm::F64X2_SPLAT);
        }
        let locals = [(); N].map(|()| self.borrow());
        code(self, locals);
        locals.into_iter().for_each(|local| self.give_back(local));
        self.width = width;
        if width == Width::Single {
            self.write(wasm::f64x2_extract_lane(0));
        }
    }

    /// Writes a formula, in [`super::locals::Width::Pair`].
    pub(super) fn formula(&mut self, steps: &[Step], locals: &[u32], numbers: &[f64]) {
        use Instruction as I;
        for step in steps {
            let instruction = match *step {
                Step::Get(local) => I::LocalGet(locals[local as usize]),
                Step::Set(local) => I::LocalSet(locals[local as usize]),
                Step::Number(number) => {
                    self.number(numbers[number as usize]);
                    continue;
                }
                Step::Times(local, number) => {
                    self.formula(&[Step::Get(local), Step::Number(number), Step::Multiply], locals, numbers);
                    continue;
                }
                Step::Powers(z, first) => {
                    self.formula(&[Step::Number(first + 5)], locals, numbers);
                    for number in (first..first + 5).rev() {
                        let steps = [Step::Get(z), Step::Multiply, Step::Number(number), Step::Add];
                        self.formula(&steps, locals, numbers);
                    }
                    continue;
                }
                Step::Add => wasm::F64X2_ADD,
                Step::Subtract => wasm::F64X2_SUB,
                Step::Multiply => wasm::F64X2_MUL,
                Step::And => wasm::V128_AND,
                Step::Xor => wasm::V128_XOR,
                Step::Select => wasm::V128_BITSELECT,
                Step::Firsts => wasm::shuffle([0, 2]),
                Step::Seconds => wasm::shuffle([1, 3]),
                Step::AddIntegers => wasm::I64X2_ADD,
                Step::NegateIntegers => wasm::I64X2_NEG,
                Step::ShiftLeft(bits) => {
                    self.write(I::I32Const(bits.into()));
                    wasm::I64X2_SHL
                }
                Step::ShiftRight(bits) => {
                    self.write(I::I32Const(bits.into()));
                    wasm::I64X2_SHR_U
                }
                Step::Mark => {
                    self.mark();
                    continue;
                }
            };
            self.write(instruction);
        }
    }
}
