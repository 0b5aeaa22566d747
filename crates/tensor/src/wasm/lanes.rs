//! Operations on four values at a time. Reals are f32x4, integers i32x4, bools masks of all bits of a lane.

use residua_base::list::Listed;
use residua_codegen::wasm::encoding::instructions::{self as wasm, shuffle};
use residua_codegen::wasm::encoding::{Instruction, ValType};
use residua_ir::graph::Op as Real;

use super::code::{Code, Local};
use super::functions::{function, inlined};
use super::routine::Routine;
use crate::scalar::{Type, TypedOp};

impl Code<'_> {
    /// The result of instructions on vectors in locals.
    pub fn vector(&mut self, block: usize, code: &[Instruction]) -> Local {
        self.keep(block, ValType::V128, code)
    }

    /// An instruction of one vector.
    pub fn one(&mut self, block: usize, instruction: Instruction, a: Local) -> Local {
        self.vector(block, &[a.get(), instruction])
    }

    /// An instruction of two vectors.
    pub fn two(&mut self, block: usize, instruction: Instruction, a: Local, b: Local) -> Local {
        self.vector(block, &[a.get(), b.get(), instruction])
    }

    /// The lanes of `a` where a mask is set, else those of `b`.
    pub fn choose(&mut self, block: usize, mask: Local, a: Local, b: Local) -> Local {
        // A selection takes three instructions on x86-64.
        if self.is_zero(b) {
            return self.two(block, wasm::V128_AND, a, mask);
        }
        if self.is_zero(a) {
            return self.two(block, wasm::V128_ANDNOT, b, mask);
        }
        self.vector(block, &[a.get(), b.get(), mask.get(), wasm::V128_BITSELECT])
    }

    /// A call of a routine.
    pub fn call(&mut self, block: usize, routine: Routine, operands: &[Local]) -> Local {
        let number = self.shared.routine(routine, function);
        let mut code: Vec<Instruction> = operands.iter().map(|operand| operand.get()).list();
        code.push(Instruction::Call(number));
        self.vector(block, &code)
    }

    /// A shift by the same count in all lanes, an i32 that code leaves on the stack.
    pub fn shift(&mut self, block: usize, op: TypedOp, ty: Type, a: Local, count: Instruction) -> Local {
        let instruction = match (op, ty) {
            (TypedOp::Shl, _) => wasm::I32X4_SHL,
            (_, Type::I32) => wasm::I32X4_SHR_S,
            _ => wasm::I32X4_SHR_U,
        };
        self.vector(block, &[a.get(), count, instruction])
    }

    /// An operation, by the types of its operands.
    pub fn operation(&mut self, block: usize, op: TypedOp, types: [Type; 3], [a, b, c]: [Local; 3]) -> Local {
        let signed = types[0] == Type::I32;
        let choose = |signed_one, unsigned_one| if signed { signed_one } else { unsigned_one };
        match op {
            TypedOp::Real(op) => self.real(block, op, [a, b, c]),
            TypedOp::Trunc => self.one(block, wasm::F32X4_TRUNC, a),
            TypedOp::Eq if types[0] == Type::F32 => self.two(block, wasm::F32X4_EQ, a, b),
            TypedOp::Eq => self.two(block, wasm::I32X4_EQ, a, b),
            TypedOp::Lt if types[0] == Type::F32 => self.two(block, wasm::F32X4_LT, a, b),
            TypedOp::Lt => self.two(block, choose(wasm::I32X4_LT_S, wasm::I32X4_LT_U), a, b),
            TypedOp::Le if types[0] == Type::F32 => self.two(block, wasm::F32X4_LE, a, b),
            TypedOp::Le => self.two(block, choose(wasm::I32X4_LE_S, wasm::I32X4_LE_U), a, b),
            TypedOp::Select => self.choose(block, a, b, c),
            TypedOp::IntAdd => self.two(block, wasm::I32X4_ADD, a, b),
            TypedOp::IntSub => self.two(block, wasm::I32X4_SUB, a, b),
            TypedOp::IntMul => self.two(block, wasm::I32X4_MUL, a, b),
            TypedOp::IntDiv => self.call(block, Routine::Quotient { signed }, &[a, b]),
            TypedOp::IntRem => {
                let quotient = self.call(block, Routine::Quotient { signed }, &[a, b]);
                let multiple = self.two(block, wasm::I32X4_MUL, quotient, b);
                let rest = self.two(block, wasm::I32X4_SUB, a, multiple);
                let zero = self.word(0);
                let by_zero = self.two(block, wasm::I32X4_EQ, b, zero);
                self.two(block, wasm::V128_ANDNOT, rest, by_zero)
            }
            TypedOp::IntMin => self.two(block, choose(wasm::I32X4_MIN_S, wasm::I32X4_MIN_U), a, b),
            TypedOp::IntMax => self.two(block, choose(wasm::I32X4_MAX_S, wasm::I32X4_MAX_U), a, b),
            TypedOp::HighProduct => {
                let low = self.two(block, wasm::I64X2_EXTMUL_LOW_I32X4_U, a, b);
                let high = self.two(block, wasm::I64X2_EXTMUL_HIGH_I32X4_U, a, b);
                self.two(block, shuffle([1, 3, 5, 7]), low, high)
            }
            TypedOp::And => self.two(block, wasm::V128_AND, a, b),
            TypedOp::Or => self.two(block, wasm::V128_OR, a, b),
            TypedOp::Xor => self.two(block, wasm::V128_XOR, a, b),
            TypedOp::Not => self.one(block, wasm::V128_NOT, a),
            TypedOp::Shl => self.call(block, Routine::ShiftLeft, &[a, b]),
            TypedOp::Shr => self.call(block, Routine::ShiftRight { signed }, &[a, b]),
            TypedOp::ToF32 => match types[0] {
                Type::F32 => a,
                Type::I32 => self.one(block, wasm::F32X4_CONVERT_I32X4_S, a),
                Type::U32 => self.one(block, wasm::F32X4_CONVERT_I32X4_U, a),
                Type::Bool => {
                    let one = self.word(1f32.to_bits());
                    self.two(block, wasm::V128_AND, a, one)
                }
            },
            TypedOp::ToI32 | TypedOp::ToU32 => match types[0] {
                Type::F32 if op == TypedOp::ToI32 => self.one(block, wasm::I32X4_TRUNC_SAT_F32X4_S, a),
                Type::F32 => self.one(block, wasm::I32X4_TRUNC_SAT_F32X4_U, a),
                Type::I32 | Type::U32 => a,
                Type::Bool => {
                    let one = self.word(1);
                    self.two(block, wasm::V128_AND, a, one)
                }
            },
            TypedOp::BitsToF32 | TypedOp::BitsOfF32 | TypedOp::Level(_) => a,
            TypedOp::HalfToF32 => self.call(block, Routine::FromHalf, &[a]),
        }
    }

    fn real(&mut self, block: usize, op: Real, [a, b, c]: [Local; 3]) -> Local {
        match op {
            Real::Neg => self.one(block, wasm::F32X4_NEG, a),
            Real::Abs => self.one(block, wasm::F32X4_ABS, a),
            Real::Sqrt | Real::Norm => self.one(block, wasm::F32X4_SQRT, a),
            Real::Floor => self.one(block, wasm::F32X4_FLOOR, a),
            Real::Ceil => self.one(block, wasm::F32X4_CEIL, a),
            Real::StopGradient => a,
            Real::Add => self.two(block, wasm::F32X4_ADD, a, b),
            Real::Sub => self.two(block, wasm::F32X4_SUB, a, b),
            Real::Mul => self.two(block, wasm::F32X4_MUL, a, b),
            Real::Div => self.two(block, wasm::F32X4_DIV, a, b),
            Real::Min => self.two(block, wasm::F32X4_MIN, a, b),
            Real::Max => self.two(block, wasm::F32X4_MAX, a, b),
            _ => {
                let operands = &[a, b, c][..op.arity()];
                match inlined(op) {
                    Some(formula) => self.formula(block, &formula, operands),
                    None => self.call(block, Routine::Real(op), operands),
                }
            }
        }
    }

    /// The larger or the smaller of a vector and a number that is neither a NaN nor −0: one instruction instead of the eight that the general one takes on
    /// x86-64.
    pub fn bound(&mut self, block: usize, op: Real, a: Local, bound: f32) -> Local {
        let number = self.word(bound.to_bits());
        if op == Real::Min {
            return self.two(block, wasm::F32X4_PMIN, a, number);
        }
        let larger = self.two(block, wasm::F32X4_PMAX, a, number);
        if bound != 0.0 {
            return larger;
        }
        // −0 + 0 is 0.
        let zero = self.word(0);
        self.two(block, wasm::F32X4_ADD, larger, zero)
    }
}
