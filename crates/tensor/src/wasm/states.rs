//! States of reductions in vectors: a state is a vector for each of its numbers, with a state in each lane. Sums and products of reals are
//! accumulated in f64 instead, see [`super::wide`].

use residua_base::list::Listed;
use residua_codegen::wasm::encoding::ValType;
use residua_codegen::wasm::encoding::instructions::{self as wasm, shuffle};
use residua_ir::graph::Node as RuleNode;

use super::code::{Code, Local};
use crate::expr::Rule;
use crate::kernel::{Combine, Fold};
use crate::scalar::{Type, TypedOp};

/// A reduction: how states of an operand's type merge.
#[derive(Clone, Copy, Debug)]
pub(super) struct Accumulation<'k> {
    /// The reduction.
    pub fold: &'k Fold,
    /// The type of what is accumulated.
    pub ty: Type,
}

impl<'k> Accumulation<'k> {
    /// The state of nothing, by the bits of its numbers. The bools of lanes are masks.
    pub fn identity(&self) -> Vec<u32> {
        let numbers = self.fold.combine.identity(self.ty).into_iter();
        numbers.map(|bits| if self.ty == Type::Bool { 0u32.wrapping_sub(bits) } else { bits }).list()
    }

    /// The states of points, from their operands.
    pub fn lift(&self, code: &mut Code, operands: &[Local]) -> Vec<Local> {
        if self.fold.merges_states {
            return operands.to_vec();
        }
        match self.fold.combine {
            Combine::Variance => vec![code.word(1f32.to_bits()), operands[0], code.word(0)],
            _ => operands.to_vec(),
        }
    }

    /// The states of two neighbouring ranges each, the earlier ones first.
    pub fn merge(&self, code: &mut Code, block: usize, a: &[Local], b: &[Local]) -> Vec<Local> {
        let types = [self.ty; 3];
        match &self.fold.combine {
            Combine::Sum => unreachable!("sums of reals are accumulated in f64"),
            Combine::Prod if self.ty == Type::F32 => unreachable!("products of reals are accumulated in f64"),
            Combine::PlainSum => {
                let instruction = if self.ty == Type::F32 { wasm::F32X4_ADD } else { wasm::I32X4_ADD };
                vec![code.two(block, instruction, a[0], b[0])]
            }
            Combine::Prod => vec![code.two(block, wasm::I32X4_MUL, a[0], b[0])],
            Combine::Min | Combine::Max => {
                let is_min = matches!(self.fold.combine, Combine::Min);
                let instruction = match (is_min, self.ty) {
                    (true, Type::F32) => wasm::F32X4_MIN,
                    (false, Type::F32) => wasm::F32X4_MAX,
                    (true, Type::Bool) => wasm::V128_AND,
                    (false, Type::Bool) => wasm::V128_OR,
                    (true, Type::I32) => wasm::I32X4_MIN_S,
                    (false, Type::I32) => wasm::I32X4_MAX_S,
                    (true, Type::U32) => wasm::I32X4_MIN_U,
                    (false, Type::U32) => wasm::I32X4_MAX_U,
                };
                vec![code.two(block, instruction, a[0], b[0])]
            }
            Combine::ArgMin | Combine::ArgMax => {
                let is_min = matches!(self.fold.combine, Combine::ArgMin);
                let later = match is_min {
                    true => is_better(code, block, self.ty, [b[0], a[0]], [b[0], a[0]]),
                    false => is_better(code, block, self.ty, [a[0], b[0]], [b[0], a[0]]),
                };
                let earlier = match is_min {
                    true => is_better(code, block, self.ty, [a[0], b[0]], [a[0], b[0]]),
                    false => is_better(code, block, self.ty, [b[0], a[0]], [a[0], b[0]]),
                };
                let is_before = code.two(block, wasm::I32X4_LT_U, b[1], a[1]);
                let tie = code.two(block, wasm::V128_ANDNOT, is_before, earlier);
                let later = code.two(block, wasm::V128_OR, later, tie);
                vec![code.choose(block, later, b[0], a[0]), code.choose(block, later, b[1], a[1])]
            }
            Combine::Variance => merged_variances(code, block, [a[0], a[1], a[2]], [b[0], b[1], b[2]]),
            Combine::By(rule) => merged_by(code, block, rule, &types, &[a, b].concat()),
        }
    }

    /// The results of final states.
    pub fn finish(&self, code: &mut Code, block: usize, state: &[Local]) -> Vec<Local> {
        if self.fold.keeps_state {
            return state.to_vec();
        }
        match self.fold.combine {
            Combine::ArgMin | Combine::ArgMax => {
                // A row of values as bad as that of nothing begins at its first point.
                let nowhere = code.word(Combine::NOWHERE);
                let is_nowhere = code.two(block, wasm::I32X4_EQ, state[1], nowhere);
                vec![code.two(block, wasm::V128_ANDNOT, state[1], is_nowhere)]
            }
            Combine::Variance => vec![code.two(block, wasm::F32X4_DIV, state[2], state[0])],
            _ => state.to_vec(),
        }
    }

    /// The numbers of a state in locals of its own, which loops change.
    pub fn variables(code: &mut Code, block: usize, state: &[Local]) -> Vec<Local> {
        state.iter().map(|number| code.vector(block, &[number.get()])).list()
    }

    /// Replaces a state.
    pub fn assign(code: &mut Code, block: usize, state: &[Local], values: &[Local]) {
        // All are read before any is set: a rule may exchange numbers.
        let gets: Vec<_> = values.iter().map(|value| value.get()).list();
        let sets: Vec<_> = state.iter().rev().map(|number| number.set()).list();
        code.put(block, &gets);
        code.put(block, &sets);
    }

    /// Lanes of each number of a state, and of another's from lane 4 on.
    pub fn shuffled(code: &mut Code, block: usize, a: &[Local], b: &[Local], lanes: [u8; 4]) -> Vec<Local> {
        a.iter().zip(b).map(|(a, b)| code.two(block, shuffle(lanes), *a, *b)).list()
    }
}

/// Whether the first of a pair is smaller than the second, or a NaN where another first is and another second is none: for the larger, the
/// pair is exchanged but NaNs are still better.
fn is_better(code: &mut Code, block: usize, ty: Type, pair: [Local; 2], [new, old]: [Local; 2]) -> Local {
    match ty {
        Type::F32 => {
            let is_less = code.two(block, wasm::F32X4_LT, pair[0], pair[1]);
            let new_is_nan = code.two(block, wasm::F32X4_NE, new, new);
            let old_is_nan = code.two(block, wasm::F32X4_NE, old, old);
            let only_new = code.two(block, wasm::V128_ANDNOT, new_is_nan, old_is_nan);
            code.two(block, wasm::V128_OR, is_less, only_new)
        }
        Type::I32 => code.two(block, wasm::I32X4_LT_S, pair[0], pair[1]),
        Type::U32 | Type::Bool => code.two(block, wasm::I32X4_LT_U, pair[0], pair[1]),
    }
}

/// Counts, means and sums of squares of differences (Chan, Golub and LeVeque 1979).
fn merged_variances(code: &mut Code, block: usize, a: [Local; 3], b: [Local; 3]) -> Vec<Local> {
    let zero = code.word(0);
    let total = code.two(block, wasm::F32X4_ADD, a[0], b[0]);
    let part = code.two(block, wasm::F32X4_DIV, b[0], total);
    let difference = code.two(block, wasm::F32X4_SUB, b[1], a[1]);
    let step = code.two(block, wasm::F32X4_MUL, difference, part);
    let mean = code.two(block, wasm::F32X4_ADD, a[1], step);
    let weighted = code.two(block, wasm::F32X4_MUL, step, a[0]);
    let between = code.two(block, wasm::F32X4_MUL, weighted, difference);
    let squares = code.two(block, wasm::F32X4_ADD, a[2], b[2]);
    let squares = code.two(block, wasm::F32X4_ADD, squares, between);
    let (no_a, no_b) = (code.two(block, wasm::F32X4_EQ, a[0], zero), code.two(block, wasm::F32X4_EQ, b[0], zero));
    [total, mean, squares]
        .into_iter()
        .enumerate()
        .map(|(number, merged)| {
            let merged = code.choose(block, no_a, b[number], merged);
            code.choose(block, no_b, a[number], merged)
        })
        .list()
}

/// The user's rule.
fn merged_by(code: &mut Code, block: usize, rule: &Rule, types: &[Type; 3], inputs: &[Local]) -> Vec<Local> {
    let mut values: Vec<Local> = Vec::new();
    for node in rule.merge.graph().nodes() {
        let value = match node {
            RuleNode::Literal(bits) => code.word((f64::from_bits(*bits) as f32).to_bits()),
            RuleNode::Input(input) => inputs[input.0 as usize],
            RuleNode::Result(..) => unreachable!("rules of tensors have no loops"),
            RuleNode::Apply(op, operands) => {
                let operands = operands.map(|operand| values[operand.index()]);
                code.operation(block, TypedOp::Real(*op), *types, operands)
            }
        };
        values.push(value);
    }
    rule.results.iter().map(|result| values[result.index()]).list()
}

/// The mask of lanes that hold points, of which there are so many.
pub(super) fn mask_of_points(code: &mut Code, block: usize, count: Local) -> Local {
    let numbers = code.constant(3 << 96 | 2 << 64 | 1 << 32);
    code.keep(block, ValType::V128, &[numbers.get(), count.get(), wasm::I32X4_SPLAT, wasm::I32X4_LT_U])
}
