//! Sines and cosines of two numbers in instructions: operation by operation what [`sine`] does. Angles that are too large for that are left to the
//! imported function.

use super::encoding::Instruction;
use super::encoding::instructions as wasm;
use super::expression::Expression;
use super::formula::Step::{
    self, Add, AddIntegers, And, Get, Mark, Multiply, NegateIntegers, Number, Powers, Select, Set, ShiftLeft,
    ShiftRight, Subtract, Times, Xor,
};
use residua_ir::graph::sine::{COSINE, MOST, QUARTER, ROUNDING, SINE};
use residua_ir::graph::{NodeId, Op};

#[cfg(doc)]
use residua_ir::graph::sine;

// The formula's locals, and what takes their places.
const X: u8 = 0;
const N: u8 = 1;
const K: u8 = 2;
const FIRST: u8 = 3;
const SECOND: u8 = 4;
const HIGH: u8 = 5;
const Z: u8 = 6;
const LESS: u8 = K;
const ONE: u8 = K;
const COSINE_OF_R: u8 = K;
const HALF: u8 = FIRST;
const R: u8 = SECOND;
const SINE_OF_R: u8 = SECOND;
const REST: u8 = HIGH;

/// Where the coefficients stand after the other numbers.
const OF_SINE: u8 = 8;
const OF_COSINE: u8 = 14;
/// The formula's; the eighth is the integer 1.
#[rustfmt::skip]
static NUMBERS: [f64; 20] = [
    std::f64::consts::FRAC_2_PI, ROUNDING, QUARTER[0], QUARTER[1], QUARTER[2], 0.5, 1.0, f64::from_bits(1),
    SINE[0], SINE[1], SINE[2], SINE[3], SINE[4], SINE[5],
    COSINE[0], COSINE[1], COSINE[2], COSINE[3], COSINE[4], COSINE[5],
];

#[rustfmt::skip]
const VALUES: &[Step] = &[
    Set(X),
    Times(X, 0), Number(1), Add, Set(N),
    Get(N), Number(1), Subtract, Set(K), Mark,
    Get(X), Times(K, 2), Subtract, Set(FIRST),
    Times(K, 3), Set(SECOND),
    Get(FIRST), Get(SECOND), Subtract, Set(HIGH),
    Times(K, 4), Get(FIRST), Get(HIGH), Subtract, Get(SECOND), Subtract, Subtract, Set(LESS),
    Get(HIGH), Get(LESS), Subtract, Set(R),
    Get(HIGH), Get(R), Subtract, Get(LESS), Subtract, Set(REST),
    Get(R), Get(R), Multiply, Set(Z),
    Times(Z, 5), Set(HALF), Mark,
    Number(6), Get(HALF), Subtract, Set(ONE),
    Get(ONE), Number(6), Get(ONE), Subtract, Get(HALF), Subtract,
    Get(Z), Get(Z), Multiply, Powers(Z, OF_COSINE), Multiply, Get(R), Get(REST), Multiply, Subtract,
    Add, Add, Set(COSINE_OF_R), Mark,
    Get(R), Get(HALF), Get(REST), Multiply, Get(REST), Subtract,
    Get(Z), Get(R), Multiply, Powers(Z, OF_SINE), Multiply, Subtract, Subtract, Set(SINE_OF_R), Mark,
];
/// A quarter of a turn more.
const FURTHER: &[Step] = &[Get(N), Number(7), AddIntegers, Set(N)];
/// By the last two bits of n.
#[rustfmt::skip]
const CHOICE: &[Step] = &[
    Get(COSINE_OF_R), Get(SINE_OF_R), Get(N), Number(7), And, NegateIntegers, Select,
    Get(N), ShiftRight(1), ShiftLeft(63), Xor, Set(R),
];

impl Expression<'_> {
    /// Pushes sin a or cos a.
    pub(super) fn turned(&mut self, op: Op, a: NodeId) {
        self.push(a);
        self.in_pairs(|code, locals| code.turned_two(op, locals));
    }

    /// The sines or cosines of the two numbers on the stack.
    fn turned_two(&mut self, op: Op, locals: [u32; 7]) {
        use Instruction as I;
        self.formula(VALUES, &locals, &NUMBERS);
        if op == Op::Cos {
            self.formula(FURTHER, &locals, &NUMBERS);
        }
        self.formula(CHOICE, &locals, &NUMBERS);

        let [x, value, mask] = [X, R, REST].map(|local| locals[local as usize]);
        self.write(I::LocalGet(x));
        self.write(wasm::F64X2_ABS);
        self.number(MOST);
        self.write(wasm::F64X2_GT);
        self.write(I::LocalTee(mask));
        self.write(wasm::V128_ANY_TRUE);
        self.write(I::If);
        let function = self.functions.math(op);
        for (lane, into) in [(0, wasm::F64X2_SPLAT), (1, wasm::f64x2_replace_lane(1))] {
            self.write(I::LocalGet(x));
            self.write(wasm::f64x2_extract_lane(lane));
            self.write(I::Call(function));
            self.write(into);
        }
        self.formula(&[Get(R), Get(REST), Select, Set(R)], &locals, &[]);
        self.write(wasm::END);
        self.write(I::LocalGet(value));
    }
}
