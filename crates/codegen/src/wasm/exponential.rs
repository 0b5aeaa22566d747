//! eˣ of two numbers in instructions: operation by operation what [`exponential::exp`] does. The one instance that pairs leave is computed
//! twice.

use super::encoding::instructions as wasm;
use super::encoding::{Instruction, MemArg};
use super::expression::Expression;
use super::formula::Step::{
    self, Add, AddIntegers, Firsts, Get, Mark, Multiply, Number, Seconds, Set, ShiftLeft, ShiftRight, Subtract, Times,
};
use residua_ir::graph::NodeId;
use residua_ir::graph::exponential::{COEFFICIENTS, ENTRIES, LEAST, MOST, ROUNDING, SCALE, STEP, TableEntry};

#[cfg(doc)]
use residua_ir::graph::exponential;

/// Bytes of an entry of the table, as a shift.
const ENTRY: u32 = size_of::<TableEntry>().ilog2();

// The formulas' locals, and what takes their places.
const X: u8 = 0;
const BITS: u8 = 1;
const K: u8 = 2;
const R: u8 = 3;
const FIRST: u8 = 4;
const SECOND: u8 = 5;
const AT: u8 = R;
const HALF: u8 = BITS;
const POWER: u8 = K;
const T: u8 = X;

/// Where the entries of the table stand, by the last bits.
#[rustfmt::skip]
const PLACES: &[Step] = &[
    Set(X), Mark,
    Times(X, 0), Number(1), Add, Set(BITS),
    Get(BITS), Number(1), Subtract, Set(K), Mark,
    Get(BITS), ShiftLeft((u64::BITS - ENTRIES.ilog2()) as u8), ShiftRight((u64::BITS - ENTRIES.ilog2() - ENTRY) as u8), Set(AT),
];
/// x − k·ln 2/256, to the first part
const FIRST_STEP: &[Step] = &[Mark, Get(X), Times(K, 2), Subtract];
/// The same where −x is at hand: −(−x) − k·ln 2/256
const FIRST_STEP_BACK: &[Step] = &[Mark, Times(K, 6), Get(X), Subtract];
#[rustfmt::skip]
const REST: &[Step] = &[
    Times(K, 3), Subtract, Set(R), Mark,
    Get(BITS), ShiftRight(ENTRIES.ilog2() as u8), ShiftLeft(f64::MANTISSA_DIGITS as u8 - 1), Set(HALF), Mark,
    Get(FIRST), Get(SECOND), Firsts, Get(HALF), AddIntegers, Set(POWER),
    Get(POWER), Get(POWER),
    Get(FIRST), Get(SECOND), Seconds, Get(R), Add,
    Get(R), Get(R), Multiply, Set(T),
    Get(T), Number(7), Times(R, 4), Add, Times(T, 5), Add, Multiply,
    Add, Multiply, Add, Get(HALF), Multiply,
];

impl Expression<'_> {
    /// Pushes eᵃ, or e⁻ᵃ. Where the negative of the argument is available, its bounds and what it is multiplied with have their signs changed, which
    /// changes no bit of the result.
    pub(super) fn exponential(&mut self, a: NodeId, of_negative: bool) {
        let negative = self.push_either(a) != of_negative;
        self.in_pairs(|code, locals| code.exponential_of_two(negative, locals));
    }

    /// The exponential of the two numbers on the stack, or of their negatives.
    fn exponential_of_two(&mut self, negative: bool, locals: [u32; 6]) {
        use Instruction as I;
        let ([least, most], scale) = if negative { ([-MOST, -LEAST], -SCALE) } else { ([LEAST, MOST], SCALE) };
        let numbers = [scale, ROUNDING, STEP[0], STEP[1], COEFFICIENTS[0], COEFFICIENTS[1], -STEP[0], 0.5];
        // Where one of the two is NaN, these leave the first: a NaN stays.
        self.number(least);
        self.write(wasm::F64X2_PMAX);
        self.number(most);
        self.write(wasm::F64X2_PMIN);
        self.formula(PLACES, &locals, &numbers);
        for (lane, entry) in [(0, FIRST), (2, SECOND)] {
            self.write(I::LocalGet(locals[AT as usize]));
            self.write(wasm::i32x4_extract_lane(lane));
            self.write(wasm::v128_load(MemArg { offset: self.functions.powers, align: 3 }));
            self.write(I::LocalSet(locals[entry as usize]));
        }
        self.formula(if negative { FIRST_STEP_BACK } else { FIRST_STEP }, &locals, &numbers);
        self.formula(REST, &locals, &numbers);
    }

    /// Pushes 1/(1 + e⁻ᵃ).
    pub(super) fn sigmoid(&mut self, a: NodeId) {
        self.exponential(a, true);
        let sum = self.borrow();
        self.number(1.0);
        self.either(wasm::F64X2_ADD, wasm::F64_ADD);
        self.write(Instruction::LocalSet(sum));
        self.number(1.0);
        self.write(Instruction::LocalGet(sum));
        self.either(wasm::F64X2_DIV, wasm::F64_DIV);
        self.give_back(sum);
    }
}
