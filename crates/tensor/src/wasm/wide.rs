//! Sums and products of reals in f64. One loses 2⁻⁵³ of each partial result, less than a pair of f32 does, in fewer instructions, and what it gives is
//! rounded once. A product in f64 leaves the range of f32 and comes back.

use residua_codegen::wasm::encoding::Instruction;
use residua_codegen::wasm::encoding::instructions::{self as wasm, shuffle};

use super::code::{Code, Local};
use crate::kernel::{Combine, Fold};
use crate::scalar::Type;

/// What is accumulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// A sum.
    Sum,
    /// A product.
    Product,
}

impl Rule {
    /// The rule of a reduction of operands of a type, if it is one of these.
    pub fn of(fold: &Fold, ty: Type) -> Option<Rule> {
        match (&fold.combine, ty) {
            (Combine::Sum, _) => Some(Rule::Sum),
            (Combine::Prod, Type::F32) => Some(Rule::Product),
            _ => None,
        }
    }

    fn instruction(self) -> Instruction {
        match self {
            Rule::Sum => wasm::F64X2_ADD,
            Rule::Product => wasm::F64X2_MUL,
        }
    }

    /// The bits of the result of nothing.
    fn identity(self) -> u64 {
        match self {
            Rule::Sum => 0,
            Rule::Product => 1f64.to_bits(),
        }
    }

    /// The bits of the same as an f32.
    pub fn neutral(self) -> u32 {
        match self {
            Rule::Sum => 0,
            Rule::Product => 1f32.to_bits(),
        }
    }
}

/// Four sums or products: the lower two lanes and the upper two.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wide {
    /// What is accumulated.
    pub rule: Rule,
    parts: [Local; 2],
}

/// Lanes of f64 in terms of lanes of 32 bits.
const UPPER: [u8; 4] = [2, 3, 2, 3];
const SHIFTED: [u8; 4] = [0, 1, 4, 5];

impl Wide {
    /// Four reals.
    pub fn of(code: &mut Code, block: usize, rule: Rule, reals: Local) -> Wide {
        let upper = code.two(block, shuffle(UPPER), reals, reals);
        Wide { rule, parts: [reals, upper].map(|part| code.one(block, wasm::F64X2_PROMOTE_LOW_F32X4, part)) }
    }

    /// States of a number and what its rounding lost.
    pub fn of_state(code: &mut Code, block: usize, rule: Rule, number: Local, error: Local) -> Wide {
        let number = Wide::of(code, block, Rule::Sum, number);
        let error = Wide::of(code, block, Rule::Sum, error);
        Wide { rule, ..number.merged(code, block, &error) }
    }

    fn identity(code: &mut Code, rule: Rule) -> Local {
        let bits = u128::from(rule.identity());
        code.constant(bits << 64 | bits)
    }

    /// Variables of nothing.
    pub fn variables(code: &mut Code, block: usize, rule: Rule) -> Wide {
        let nothing = Wide::identity(code, rule);
        Wide { rule, parts: [0, 1].map(|_| code.vector(block, &[nothing.get()])) }
    }

    /// Variables of these.
    pub fn to_variables(self, code: &mut Code, block: usize) -> Wide {
        Wide { parts: self.parts.map(|part| code.vector(block, &[part.get()])), ..self }
    }

    /// Accumulates four reals in variables.
    pub fn add(&self, code: &mut Code, block: usize, reals: Local) {
        let (low, high, instruction) = (self.parts[0], self.parts[1], self.rule.instruction());
        code.put(block, &[low.get(), reals.get(), wasm::F64X2_PROMOTE_LOW_F32X4, instruction, low.set()]);
        let upper = [high.get(), reals.get(), reals.get(), shuffle(UPPER), wasm::F64X2_PROMOTE_LOW_F32X4];
        code.put(block, &upper);
        code.put(block, &[self.rule.instruction(), high.set()]);
    }

    /// Merged, lane by lane.
    pub fn merged(&self, code: &mut Code, block: usize, other: &Wide) -> Wide {
        let parts = [0, 1].map(|part| code.two(block, self.rule.instruction(), self.parts[part], other.parts[part]));
        Wide { parts, ..*self }
    }

    /// Replaces the values of variables.
    pub fn assign(&self, code: &mut Code, block: usize, other: &Wide) {
        for (own, other) in self.parts.iter().zip(other.parts) {
            code.put(block, &[other.get(), own.set()]);
        }
    }

    /// As f32.
    pub fn narrow(&self, code: &mut Code, block: usize) -> Local {
        let [low, high] = self.parts.map(|part| code.one(block, wasm::F32X4_DEMOTE_F64X2_ZERO, part));
        code.two(block, shuffle([0, 1, 4, 5]), low, high)
    }

    /// Of each lane that of the lanes before it, with its own if not `exclusive`, and that of all lanes in every lane.
    pub fn within(&self, code: &mut Code, block: usize, exclusive: bool) -> (Wide, Wide) {
        let (nothing, instruction) = (Wide::identity(code, self.rule), || self.rule.instruction());
        let shifted = self.parts.map(|part| code.two(block, shuffle(SHIFTED), nothing, part));
        let pairs = [0, 1].map(|part| code.two(block, instruction(), self.parts[part], shifted[part]));
        let lower = code.two(block, shuffle(UPPER), pairs[0], pairs[0]);
        let kept = if exclusive { shifted } else { pairs };
        let upper = code.two(block, instruction(), kept[1], lower);
        let total = code.two(block, shuffle(UPPER), pairs[1], pairs[1]);
        let total = code.two(block, instruction(), total, lower);
        (Wide { parts: [kept[0], upper], ..*self }, Wide { parts: [total, total], ..*self })
    }

    /// That of all lanes, in each lane.
    pub fn across_lanes(&self, code: &mut Code, block: usize) -> Wide {
        let halves = code.two(block, self.rule.instruction(), self.parts[0], self.parts[1]);
        let exchanged = code.two(block, shuffle([2, 3, 0, 1]), halves, halves);
        let total = code.two(block, self.rule.instruction(), halves, exchanged);
        Wide { parts: [total, total], ..*self }
    }

    /// As f32, and what that leaves if a state is kept.
    pub fn finish(&self, code: &mut Code, block: usize, keeps_state: bool) -> Vec<Local> {
        let number = self.narrow(code, block);
        if !keeps_state {
            return vec![number];
        }
        let rounded = Wide::of(code, block, Rule::Sum, number);
        let parts = [0, 1].map(|part| code.two(block, wasm::F64X2_SUB, self.parts[part], rounded.parts[part]));
        let error = Wide { rule: Rule::Sum, parts }.narrow(code, block);
        let infinity = code.word(f32::INFINITY.to_bits());
        let size = code.one(block, wasm::F32X4_ABS, number);
        let is_finite = code.two(block, wasm::F32X4_LT, size, infinity);
        vec![number, code.two(block, wasm::V128_AND, error, is_finite)]
    }
}
