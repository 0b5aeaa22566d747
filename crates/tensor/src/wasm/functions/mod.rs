//! Functions of four numbers that WebAssembly has no instruction for: elementary functions, divisions of integers, conversions of halves.
//!
//! An elementary function is a [`Formula`], a scalar graph of the operations that have instructions. It is written where it is used, or, if
//! it is long, once in the module as a function from vectors to a vector.

use residua_base::list::Listed;
use residua_codegen::wasm::encoding::instructions::{self as wasm, shuffle};
use residua_codegen::wasm::encoding::{Function, Instruction};
use residua_ir::graph::Op as Real;

use super::code::{Code, Local};
use super::module::Shared;
use super::routine::Routine;
use crate::scalar::{Formula, Id, Type, TypedGraph, TypedNode, TypedOp};

mod angles;
mod exponentials;
mod halves;
mod logarithms;
mod powers;
mod remainders;
mod shifts;
mod simple;
#[cfg(test)]
#[cfg(not(target_arch = "wasm32"))]
mod tests;

/// The code of a routine.
pub(super) fn function(routine: Routine, shared: &mut Shared) -> Function {
    let arity = routine.arity() as u32;
    let mut code = Code::new(shared, arity);
    let parameters: Vec<Local> = (0..arity).map(Local).list();
    let result = match routine {
        Routine::Real(op @ (Real::Sin | Real::Cos | Real::Tan)) => angles::of_angle(&mut code, op, parameters[0]),
        Routine::Real(Real::Pow) => powers::pow(&mut code, parameters[0], parameters[1]),
        Routine::Real(Real::Mod) => remainders::remainder(&mut code, parameters[0], parameters[1]),
        Routine::Real(op) => code.formula(0, &elementary(op), &parameters),
        Routine::Quotient { signed } => code.quotient(signed, parameters[0], parameters[1]),
        Routine::ShiftLeft => code.formula(0, &shifts::left(), &parameters),
        Routine::ShiftRight { signed } => code.formula(0, &shifts::right(signed), &parameters),
        Routine::FromHalf => code.formula(0, &halves::from_half(), &parameters),
        Routine::ToHalf => code.formula(0, &halves::to_half(), &parameters),
    };
    code.put(0, &[result.get()]);
    code.finish()
}

/// The formula of an op that is written where it is used: those that are short or occur in the inner loops of networks.
pub(super) fn inlined(op: Real) -> Option<Formula> {
    matches!(
        op,
        Real::Exp
            | Real::Log
            | Real::Sigmoid
            | Real::Tanh
            | Real::InverseNorm
            | Real::Sign
            | Real::Round
            | Real::GuardedMul
            | Real::Eq
            | Real::Ne
            | Real::Lt
            | Real::Le
            | Real::Gt
            | Real::Ge
            | Real::Select
    )
    .then(|| elementary(op))
}

/// The exponential of a number that is at most 0.
pub(super) fn exponential_of_nonpositive() -> Formula {
    exponentials::exp_of_nonpositive()
}

/// The exponential of a softmax, of the difference from the largest of a row.
pub(super) fn exponential_of_softmax() -> Formula {
    exponentials::exp_of_softmax()
}

/// The formula of an op without an instruction.
fn elementary(op: Real) -> Formula {
    match op {
        Real::Sign => simple::sign(),
        Real::InverseNorm => simple::inverse_norm(),
        Real::Round => simple::round(),
        Real::GuardedMul => simple::guarded_product(),
        Real::Eq | Real::Ne | Real::Lt | Real::Le | Real::Gt | Real::Ge => simple::comparison(op),
        Real::Select => simple::selection(),
        Real::Exp => exponentials::exp(),
        Real::Erf => exponentials::erf(),
        Real::Sinh => exponentials::sinh(),
        Real::Cosh => exponentials::cosh(),
        Real::Tanh => exponentials::tanh(),
        Real::Sigmoid => exponentials::sigmoid(),
        Real::Log => logarithms::log(),
        Real::Softplus => logarithms::softplus(),
        Real::Asin => angles::asin(),
        Real::Acos => angles::acos(),
        Real::Atan => angles::atan(),
        Real::Atan2 => angles::atan2(),
        // The others have instructions, or code that is no formula.
        _ => simple::instruction(op),
    }
}

impl Code<'_> {
    /// The value of a formula of vectors.
    pub fn formula(&mut self, block: usize, formula: &Formula, operands: &[Local]) -> Local {
        self.formulas(block, formula, &[operands.to_vec()])[0]
    }

    /// The values of a formula for some lists of operands, operation by operation: a processor then has several independent chains at hand.
    pub fn formulas(&mut self, block: usize, formula: &Formula, operands: &[Vec<Local>]) -> Vec<Local> {
        let graph = formula.graph();
        let mut values: Vec<Vec<Local>> = vec![Vec::new(); graph.len()];
        for id in graph.needed([formula.result()]) {
            values[id.index()] =
                (0..operands.len()).map(|copy| self.node(block, graph, id, &operands[copy], &values, copy)).list();
        }
        std::mem::take(&mut values[formula.result().index()])
    }

    /// A node of a formula, of which the values of earlier nodes are known.
    fn node(
        &mut self,
        block: usize,
        graph: &TypedGraph,
        id: Id,
        parameters: &[Local],
        values: &[Vec<Local>],
        copy: usize,
    ) -> Local {
        match graph.node(id) {
            TypedNode::Folded { fold, .. } => parameters[fold as usize],
            TypedNode::Literal(Type::Bool, bits) => self.word(0u32.wrapping_sub(bits)),
            TypedNode::Literal(_, bits) => self.word(bits),
            TypedNode::Apply(op, arguments) => {
                let value_of = |id: Id| values[id.index()][copy];
                let literal = match graph.node(arguments[1]) {
                    TypedNode::Literal(_, bits) => Some(bits),
                    _ => None,
                };
                match (op, literal) {
                    (TypedOp::Shl | TypedOp::Shr, Some(bits)) => {
                        self.shift(block, op, graph.ty(arguments[0]), value_of(arguments[0]), count(bits))
                    }
                    (TypedOp::Real(real @ (Real::Min | Real::Max)), Some(bits)) => {
                        self.bound(block, real, value_of(arguments[0]), f32::from_bits(bits))
                    }
                    _ => {
                        let types = arguments.map(|argument| graph.ty(argument));
                        self.operation(block, op, types, arguments.map(value_of))
                    }
                }
            }
            TypedNode::Coordinate(_) | TypedNode::Size(_) | TypedNode::Load { .. } => {
                unreachable!("formulas consist of operations on their parameters")
            }
        }
    }

    /// What is computed from lanes of 32 bits in f64: from the lower two lanes, which an instruction widens, then from the upper two. The results, in the lower
    /// lanes of vectors, come side by side.
    fn in_halves<const N: usize, const M: usize>(
        &mut self,
        widen: &Instruction,
        operands: [Local; N],
        of_two: impl Fn(&mut Self, [Local; N]) -> [Local; M],
    ) -> [Local; M] {
        let [low, high] = [false, true].map(|is_high| {
            let wide = operands.map(|operand| {
                let part = if is_high { self.two(0, shuffle([2, 3, 2, 3]), operand, operand) } else { operand };
                self.one(0, widen.clone(), part)
            });
            of_two(self, wide)
        });
        std::array::from_fn(|result| self.two(0, shuffle([0, 1, 4, 5]), low[result], high[result]))
    }

    /// Quotients by way of f64, in which they are exact enough: no quotient of 32-bit integers is as near to the next integer as a rounding.
    fn quotient(&mut self, signed: bool, a: Local, b: Local) -> Local {
        let choose = |signed_one, unsigned_one| if signed { signed_one } else { unsigned_one };
        let to_real = choose(wasm::F64X2_CONVERT_LOW_I32X4_S, wasm::F64X2_CONVERT_LOW_I32X4_U);
        let to_integer = choose(wasm::I32X4_TRUNC_SAT_F64X2_S_ZERO, wasm::I32X4_TRUNC_SAT_F64X2_U_ZERO);
        let [mut quotient] = self.in_halves(&to_real, [a, b], |code, [a, b]| {
            let quotient = code.two(0, wasm::F64X2_DIV, a, b);
            [code.one(0, to_integer.clone(), quotient)]
        });
        let zero = self.word(0);
        if signed {
            // −2³¹ / −1 wraps.
            let (least, minus_one) = (self.word(1 << 31), self.word(!0));
            let (is_least, is_minus_one) =
                (self.two(0, wasm::I32X4_EQ, a, least), self.two(0, wasm::I32X4_EQ, b, minus_one));
            let wraps = self.two(0, wasm::V128_AND, is_least, is_minus_one);
            quotient = self.choose(0, wraps, least, quotient);
        }
        let by_zero = self.two(0, wasm::I32X4_EQ, b, zero);
        self.two(0, wasm::V128_ANDNOT, quotient, by_zero)
    }
}

/// The count of a shift, on the stack.
fn count(bits: u32) -> Instruction {
    Instruction::I32Const(bits as i32)
}
