//! Operations on single integers and bools: what addresses are made of.

use residua_codegen::wasm::encoding::instructions as wasm;
use residua_codegen::wasm::encoding::{Instruction, ValType};

use super::code::{Code, Local};
use crate::scalar::{Type, TypedOp};

impl Code<'_> {
    /// An operation on integers or bools, by the types of its operands.
    pub fn single(&mut self, block: usize, op: TypedOp, types: [Type; 3], [a, b, c]: [Local; 3]) -> Local {
        let (signed, is_bool) = (types[0] == Type::I32, types[0] == Type::Bool);
        let choose = |signed_one, unsigned_one| if signed { signed_one } else { unsigned_one };
        let instruction = match op {
            TypedOp::Eq => wasm::I32_EQ,
            TypedOp::Lt => choose(wasm::I32_LT_S, wasm::I32_LT_U),
            TypedOp::Le => choose(wasm::I32_LE_S, wasm::I32_LE_U),
            TypedOp::Select => {
                return self.keep(block, ValType::I32, &[b.get(), c.get(), a.get(), wasm::SELECT]);
            }
            TypedOp::IntAdd => wasm::I32_ADD,
            TypedOp::IntSub => wasm::I32_SUB,
            TypedOp::IntMul => wasm::I32_MUL,
            TypedOp::IntDiv | TypedOp::IntRem => return self.quotient_or_rest(block, op, signed, a, b),
            TypedOp::IntMin | TypedOp::IntMax => {
                let (first, second) = if op == TypedOp::IntMin { (a, b) } else { (b, a) };
                let is_less = choose(wasm::I32_LT_S, wasm::I32_LT_U);
                // Of a and b the one that is selected by the order of the pair.
                let code = [a.get(), b.get(), first.get(), second.get(), is_less, wasm::SELECT];
                return self.keep(block, ValType::I32, &code);
            }
            TypedOp::And => wasm::I32_AND,
            TypedOp::Or => wasm::I32_OR,
            TypedOp::Xor => wasm::I32_XOR,
            TypedOp::Not if is_bool => return self.keep(block, ValType::I32, &[a.get(), wasm::I32_EQZ]),
            TypedOp::Not => {
                return self.keep(block, ValType::I32, &[a.get(), Instruction::I32Const(-1), wasm::I32_XOR]);
            }
            TypedOp::Shl => wasm::I32_SHL,
            TypedOp::Shr => choose(wasm::I32_SHR_S, wasm::I32_SHR_U),
            TypedOp::ToI32 | TypedOp::ToU32 => return a,
            TypedOp::Real(_)
            | TypedOp::Trunc
            | TypedOp::HighProduct
            | TypedOp::ToF32
            | TypedOp::BitsToF32
            | TypedOp::BitsOfF32
            | TypedOp::HalfToF32
            | TypedOp::Level(_) => {
                unreachable!("operations of reals are on vectors")
            }
        };
        self.keep(block, ValType::I32, &[a.get(), b.get(), instruction])
    }

    /// Division by 0 gives 0; −2³¹ / −1, which traps, is the negative of the dividend, and wraps.
    fn quotient_or_rest(&mut self, block: usize, op: TypedOp, signed: bool, a: Local, b: Local) -> Local {
        let result = self.local(ValType::I32);
        let is_quotient = op == TypedOp::IntDiv;
        let zero = [Instruction::I32Const(0), result.set()];
        self.put(block, &zero);
        self.put(block, &[b.get(), Instruction::If]);
        if signed {
            let at_minus_one = match is_quotient {
                true => vec![Instruction::I32Const(0), a.get(), wasm::I32_SUB, result.set()],
                false => zero.to_vec(),
            };
            self.put(block, &[b.get(), Instruction::I32Const(-1), wasm::I32_EQ, Instruction::If]);
            self.put(block, &at_minus_one);
            self.put(block, &[wasm::ELSE]);
        }
        let instruction = match (is_quotient, signed) {
            (true, true) => wasm::I32_DIV_S,
            (true, false) => wasm::I32_DIV_U,
            (false, true) => wasm::I32_REM_S,
            (false, false) => wasm::I32_REM_U,
        };
        self.put(block, &[a.get(), b.get(), instruction, result.set()]);
        if signed {
            self.put(block, &[wasm::END]);
        }
        self.put(block, &[wasm::END]);
        result
    }
}
