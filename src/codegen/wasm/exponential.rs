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
        let [x, bits, k, high, low, r, t] = [(); 7].map(|()| self.borrow());
        // Where one of the two is NaN, these leave the first: a NaN stays.
        self.push(a);
        self.number(LEAST);
        self.either(I::F64x2PseudoMax, I::F64Max);
        self.number(MOST);
        self.either(I::F64x2PseudoMin, I::F64Min);
        self.write(I::LocalTee(x));

        // k in the last bits, where integer instructions find it, and as a number.
        self.number(std::f64::consts::LOG2_E);
        self.multiply();
        self.number(ROUNDING);
        self.add();
        self.write(I::LocalTee(bits));
        self.number(ROUNDING);
        self.subtract();
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

        // 2ᵏ in two factors.
        let half = x;
        self.integer(bits);
        match self.width {
            Width::Pair => {
                self.write(I::I32Const(1));
                self.write(I::I64x2ShrU);
            }
            Width::Single => {
                self.write(I::I64Const(1));
                self.write(I::I64ShrU);
                self.write(I::F64ReinterpretI64);
            }
        }
        self.write(I::LocalSet(half));
        self.integer(half);
        self.power_of_two();
        self.multiply();
        self.integer(bits);
        self.integer(half);
        self.either(I::I64x2Sub, I::I64Sub);
        self.power_of_two();
        self.multiply();
        for local in [x, bits, k, high, low, r, t] {
            self.give_back(local);
        }
    }

    /// Pushes the bits of a local as integers.
    fn integer(&mut self, local: u32) {
        self.write(Instruction::LocalGet(local));
        if self.width == Width::Single {
            self.write(Instruction::I64ReinterpretF64);
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

    /// Replaces an integer, of which the last eleven bits count, by that power of two.
    fn power_of_two(&mut self) {
        use Instruction as I;
        match self.width {
            Width::Pair => {
                self.write(I::I32Const(52));
                self.write(I::I64x2Shl);
                self.number(1.0);
                self.write(I::I64x2Add);
            }
            Width::Single => {
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
