//! eˣ of two numbers in instructions: operation by operation what [`exponential::exp`] does. The one instance that pairs leave is computed
//! twice.

use super::encoding::{Instruction, MemArg};
use super::expression::Expression;
use super::locals::Width;
use crate::graph::NodeId;
use crate::graph::exponential::{COEFFICIENTS, ENTRIES, Entry, LEAST, MOST, ROUNDING, SCALE, STEP};

#[cfg(doc)]
use crate::graph::exponential;

/// Bytes of an entry of the table, as a shift.
const ENTRY: u32 = size_of::<Entry>().ilog2();

impl Expression<'_> {
    /// Pushes eᵃ, or e⁻ᵃ. Where the negative of what is asked for is at hand, bounds, steps and r have their signs changed, which changes no bit of
    /// the result.
    pub(super) fn exponential(&mut self, a: NodeId, of_negative: bool) {
        use Instruction as I;
        let (sign, [least, most], plus, minus) = match self.push_either(a) != of_negative {
            false => (1.0, [LEAST, MOST], I::F64x2Add, I::F64x2Sub),
            true => (-1.0, [-MOST, -LEAST], I::F64x2Sub, I::F64x2Add),
        };
        let width = std::mem::replace(&mut self.width, Width::Pair);
        if width == Width::Single {
            self.write(I::F64x2Splat);
        }
        let [x, bits, k, r, first, second] = [(); 6].map(|()| self.borrow());
        // Where one of the two is NaN, these leave the first: a NaN stays.
        self.number(least);
        self.write(I::F64x2PseudoMax);
        self.number(most);
        self.write(I::F64x2PseudoMin);
        self.write(I::LocalTee(x));
        self.number(sign * SCALE);
        self.write(I::F64x2Mul);
        self.number(ROUNDING);
        self.write(I::F64x2Add);
        self.write(I::LocalTee(bits));
        self.number(ROUNDING);
        self.write(I::F64x2Sub);
        self.write(I::LocalSet(k));
        self.mark();

        // The entries that the last bits name.
        let at = r;
        self.write(I::LocalGet(bits));
        self.shift(I::I64x2Shl, u64::BITS - ENTRIES.ilog2());
        self.shift(I::I64x2ShrU, u64::BITS - ENTRIES.ilog2() - ENTRY);
        self.write(I::LocalSet(at));
        for (lane, entry) in [(0, first), (2, second)] {
            self.write(I::LocalGet(at));
            self.write(I::I32x4ExtractLane(lane));
            self.write(I::V128Load(MemArg { offset: self.functions.powers, align: 3 }));
            self.write(I::LocalSet(entry));
        }

        self.mark();
        self.write(I::LocalGet(x));
        for step in STEP {
            self.times(k, step);
            self.write(minus.clone());
        }
        self.write(I::LocalSet(r));
        self.mark();

        let (half, power, t) = (bits, k, x);
        self.write(I::LocalGet(bits));
        self.shift(I::I64x2ShrU, ENTRIES.ilog2());
        self.shift(I::I64x2Shl, f64::MANTISSA_DIGITS - 1);
        self.write(I::LocalSet(half));
        self.mark();
        self.write(I::LocalGet(first));
        self.write(I::LocalGet(second));
        self.write(I::Shuffle([0, 2]));
        self.write(I::LocalGet(half));
        self.write(I::I64x2Add);
        self.write(I::LocalTee(power));

        self.write(I::LocalGet(power));
        self.write(I::LocalGet(first));
        self.write(I::LocalGet(second));
        self.write(I::Shuffle([1, 3]));
        self.write(I::LocalGet(r));
        self.write(plus.clone());
        self.write(I::LocalGet(r));
        self.write(I::LocalGet(r));
        self.write(I::F64x2Mul);
        self.write(I::LocalTee(t));
        self.number(0.5);
        self.times(r, COEFFICIENTS[0]);
        self.write(plus);
        self.times(t, COEFFICIENTS[1]);
        for instruction in
            [I::F64x2Add, I::F64x2Mul, I::F64x2Add, I::F64x2Mul, I::F64x2Add, I::LocalGet(half), I::F64x2Mul]
        {
            self.write(instruction);
        }
        for local in [x, bits, k, r, first, second] {
            self.give_back(local);
        }
        self.width = width;
        if width == Width::Single {
            self.write(I::F64x2ExtractLane(0));
        }
    }

    /// Pushes 1/(1 + e⁻ᵃ).
    pub(super) fn sigmoid(&mut self, a: NodeId) {
        self.exponential(a, true);
        let sum = self.borrow();
        self.number(1.0);
        self.either(Instruction::F64x2Add, Instruction::F64Add);
        self.write(Instruction::LocalSet(sum));
        self.number(1.0);
        self.write(Instruction::LocalGet(sum));
        self.either(Instruction::F64x2Div, Instruction::F64Div);
        self.give_back(sum);
    }

    /// Pushes a local times a number.
    fn times(&mut self, local: u32, number: f64) {
        self.write(Instruction::LocalGet(local));
        self.number(number);
        self.write(Instruction::F64x2Mul);
    }

    fn shift(&mut self, instruction: Instruction, bits: u32) {
        self.write(Instruction::I32Const(bits as i32));
        self.write(instruction);
    }
}
