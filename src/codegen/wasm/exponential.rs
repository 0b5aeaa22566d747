//! eˣ in instructions, for both widths: operation by operation what [`elementary::exp`] does.

use super::encoding::Instruction;
use super::expression::{Expression, Width};
use crate::graph::NodeId;
use crate::graph::elementary::exponential::{COEFFICIENTS, LEAST, LN_2, MOST, ROUNDING};

#[cfg(doc)]
use crate::graph::elementary;

impl Expression<'_> {
    /// Pushes eᵃ.
    pub(super) fn exponential(&mut self, a: NodeId) {
        use Instruction as I;
        let [x, k, high, low, r, t] = [(); 6].map(|()| self.borrow());
        self.push(a);
        self.number(LEAST);
        self.either(I::F64x2Max, I::F64Max);
        self.number(MOST);
        self.either(I::F64x2Min, I::F64Min);
        self.write(I::LocalTee(x));

        self.number(std::f64::consts::LOG2_E);
        self.multiply();
        self.round();
        self.write(I::LocalSet(k));

        self.write(I::LocalGet(x));
        self.write(I::LocalGet(k));
        self.number(LN_2[0]);
        self.multiply();
        self.subtract();
        self.write(I::LocalTee(high));
        self.write(I::LocalGet(k));
        self.number(LN_2[1]);
        self.multiply();
        self.write(I::LocalTee(low));
        self.subtract();
        self.write(I::LocalTee(r));
        self.write(I::LocalGet(r));
        self.multiply();
        self.write(I::LocalSet(t));

        // 1 + (high + (t·rest − low))
        self.number(1.0);
        self.write(I::LocalGet(high));
        self.write(I::LocalGet(t));
        self.every_other(0, t);
        self.write(I::LocalGet(r));
        self.every_other(1, t);
        self.multiply();
        self.add();
        self.multiply();
        self.write(I::LocalGet(low));
        self.subtract();
        self.add();
        self.add();

        let half = x;
        self.write(I::LocalGet(k));
        self.number(0.5);
        self.multiply();
        self.round();
        self.write(I::LocalTee(half));
        self.power_of_two();
        self.multiply();
        self.write(I::LocalGet(k));
        self.write(I::LocalGet(half));
        self.subtract();
        self.power_of_two();
        self.multiply();
        for local in [x, k, high, low, r, t] {
            self.give_back(local);
        }
    }

    /// Pushes the sum of every other coefficient times powers of t.
    fn every_other(&mut self, first: usize, t: u32) {
        self.number(COEFFICIENTS[first + 10]);
        for number in (first..first + 10).step_by(2).rev() {
            self.write(Instruction::LocalGet(t));
            self.multiply();
            self.number(COEFFICIENTS[number]);
            self.add();
        }
    }

    /// Makes the number on the stack an integer.
    fn round(&mut self) {
        self.number(ROUNDING);
        self.add();
        self.number(ROUNDING);
        self.subtract();
    }

    /// Replaces an integer between −1022 and 1023 by that power of two.
    fn power_of_two(&mut self) {
        use Instruction as I;
        self.number(ROUNDING);
        self.add();
        match self.width {
            Width::Pair => {
                self.write(I::I32Const(52));
                self.write(I::I64x2Shl);
                self.number(1.0);
                self.write(I::I64x2Add);
            }
            Width::Single => {
                self.write(I::I64ReinterpretF64);
                self.write(I::I64Const(52));
                self.write(I::I64Shl);
                self.number(1.0);
                self.write(I::I64ReinterpretF64);
                self.write(I::I64Add);
                self.write(I::F64ReinterpretI64);
            }
        }
    }

    fn add(&mut self) {
        self.either(Instruction::F64x2Add, Instruction::F64Add);
    }

    fn subtract(&mut self) {
        self.either(Instruction::F64x2Sub, Instruction::F64Sub);
    }

    fn multiply(&mut self) {
        self.either(Instruction::F64x2Mul, Instruction::F64Mul);
    }
}
