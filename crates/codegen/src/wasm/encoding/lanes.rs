//! Opcodes of the instructions on four lanes of 32 bits, and of those on single integers that go with them: plain constants, which cost
//! nothing where they are not used.

#![allow(missing_docs, reason = "the specification describes them")]

use super::{Instruction, MemArg, VECTOR};

pub const F32X4_ADD: Instruction = Instruction::Plain(VECTOR | 228);
pub const F32X4_SUB: Instruction = Instruction::Plain(VECTOR | 229);
pub const F32X4_MUL: Instruction = Instruction::Plain(VECTOR | 230);
pub const F32X4_DIV: Instruction = Instruction::Plain(VECTOR | 231);
pub const F32X4_MIN: Instruction = Instruction::Plain(VECTOR | 232);
pub const F32X4_MAX: Instruction = Instruction::Plain(VECTOR | 233);
pub const F32X4_PMIN: Instruction = Instruction::Plain(VECTOR | 234);
pub const F32X4_PMAX: Instruction = Instruction::Plain(VECTOR | 235);
pub const F32X4_ABS: Instruction = Instruction::Plain(VECTOR | 224);
pub const F32X4_NEG: Instruction = Instruction::Plain(VECTOR | 225);
pub const F32X4_SQRT: Instruction = Instruction::Plain(VECTOR | 227);
pub const F32X4_CEIL: Instruction = Instruction::Plain(VECTOR | 103);
pub const F32X4_FLOOR: Instruction = Instruction::Plain(VECTOR | 104);
pub const F32X4_TRUNC: Instruction = Instruction::Plain(VECTOR | 105);
pub const F32X4_NEAREST: Instruction = Instruction::Plain(VECTOR | 106);
pub const F32X4_EQ: Instruction = Instruction::Plain(VECTOR | 65);
pub const F32X4_NE: Instruction = Instruction::Plain(VECTOR | 66);
pub const F32X4_LT: Instruction = Instruction::Plain(VECTOR | 67);
pub const F32X4_GT: Instruction = Instruction::Plain(VECTOR | 68);
pub const F32X4_LE: Instruction = Instruction::Plain(VECTOR | 69);
pub const F32X4_GE: Instruction = Instruction::Plain(VECTOR | 70);
pub const I32X4_EQ: Instruction = Instruction::Plain(VECTOR | 55);
pub const I32X4_NE: Instruction = Instruction::Plain(VECTOR | 56);
pub const I32X4_LT_S: Instruction = Instruction::Plain(VECTOR | 57);
pub const I32X4_LT_U: Instruction = Instruction::Plain(VECTOR | 58);
pub const I32X4_GT_S: Instruction = Instruction::Plain(VECTOR | 59);
pub const I32X4_LE_S: Instruction = Instruction::Plain(VECTOR | 61);
pub const I32X4_LE_U: Instruction = Instruction::Plain(VECTOR | 62);
pub const I32X4_NEG: Instruction = Instruction::Plain(VECTOR | 161);
pub const I32X4_SHL: Instruction = Instruction::Plain(VECTOR | 171);
pub const I32X4_SHR_S: Instruction = Instruction::Plain(VECTOR | 172);
pub const I32X4_SHR_U: Instruction = Instruction::Plain(VECTOR | 173);
pub const I32X4_ADD: Instruction = Instruction::Plain(VECTOR | 174);
pub const I32X4_SUB: Instruction = Instruction::Plain(VECTOR | 177);
pub const I32X4_MUL: Instruction = Instruction::Plain(VECTOR | 181);
pub const I32X4_MIN_S: Instruction = Instruction::Plain(VECTOR | 182);
pub const I32X4_MIN_U: Instruction = Instruction::Plain(VECTOR | 183);
pub const I32X4_MAX_S: Instruction = Instruction::Plain(VECTOR | 184);
pub const I32X4_MAX_U: Instruction = Instruction::Plain(VECTOR | 185);
pub const I32X4_SPLAT: Instruction = Instruction::Plain(VECTOR | 17);
pub const I64X2_EXTMUL_LOW_I32X4_U: Instruction = Instruction::Plain(VECTOR | 222);
pub const I64X2_EXTMUL_HIGH_I32X4_U: Instruction = Instruction::Plain(VECTOR | 223);
pub const I16X8_EXTEND_LOW_I8X16_U: Instruction = Instruction::Plain(VECTOR | 137);
pub const I32X4_EXTEND_LOW_I16X8_U: Instruction = Instruction::Plain(VECTOR | 169);
pub const F32X4_CONVERT_I32X4_S: Instruction = Instruction::Plain(VECTOR | 250);
pub const F32X4_CONVERT_I32X4_U: Instruction = Instruction::Plain(VECTOR | 251);
pub const I32X4_TRUNC_SAT_F32X4_S: Instruction = Instruction::Plain(VECTOR | 248);
pub const I32X4_TRUNC_SAT_F32X4_U: Instruction = Instruction::Plain(VECTOR | 249);
pub const F64X2_PROMOTE_LOW_F32X4: Instruction = Instruction::Plain(VECTOR | 95);
pub const F32X4_DEMOTE_F64X2_ZERO: Instruction = Instruction::Plain(VECTOR | 94);
pub const F64X2_CONVERT_LOW_I32X4_S: Instruction = Instruction::Plain(VECTOR | 254);
pub const F64X2_CONVERT_LOW_I32X4_U: Instruction = Instruction::Plain(VECTOR | 255);
pub const I32X4_TRUNC_SAT_F64X2_S_ZERO: Instruction = Instruction::Plain(VECTOR | 252);
pub const I32X4_TRUNC_SAT_F64X2_U_ZERO: Instruction = Instruction::Plain(VECTOR | 253);
pub const F64X2_ADD: Instruction = Instruction::Plain(VECTOR | 240);
pub const F64X2_SUB: Instruction = Instruction::Plain(VECTOR | 241);
pub const F64X2_MUL: Instruction = Instruction::Plain(VECTOR | 242);
pub const F64X2_NEAREST: Instruction = Instruction::Plain(VECTOR | 148);
pub const F64X2_TRUNC: Instruction = Instruction::Plain(VECTOR | 122);
pub const F64X2_PMIN: Instruction = Instruction::Plain(VECTOR | 246);
pub const F64X2_PMAX: Instruction = Instruction::Plain(VECTOR | 247);
pub const F64X2_LT: Instruction = Instruction::Plain(VECTOR | 73);
pub const F64X2_GE: Instruction = Instruction::Plain(VECTOR | 76);
pub const I64X2_SHL: Instruction = Instruction::Plain(VECTOR | 203);
pub const F64X2_DIV: Instruction = Instruction::Plain(VECTOR | 243);
pub const V128_NOT: Instruction = Instruction::Plain(VECTOR | 77);
pub const V128_AND: Instruction = Instruction::Plain(VECTOR | 78);
pub const V128_ANDNOT: Instruction = Instruction::Plain(VECTOR | 79);
pub const V128_OR: Instruction = Instruction::Plain(VECTOR | 80);
pub const V128_XOR: Instruction = Instruction::Plain(VECTOR | 81);
pub const V128_BITSELECT: Instruction = Instruction::Plain(VECTOR | 82);
pub const V128_ANY_TRUE: Instruction = Instruction::Plain(VECTOR | 83);

pub const I32_EQZ: Instruction = Instruction::Plain(0x45);
pub const I32_EQ: Instruction = Instruction::Plain(0x46);
pub const I32_NE: Instruction = Instruction::Plain(0x47);
pub const I32_LT_S: Instruction = Instruction::Plain(0x48);
pub const I32_LT_U: Instruction = Instruction::Plain(0x49);
pub const I32_LE_S: Instruction = Instruction::Plain(0x4c);
pub const I32_LE_U: Instruction = Instruction::Plain(0x4d);
pub const I32_GE_U: Instruction = Instruction::Plain(0x4f);
pub const I32_ADD: Instruction = Instruction::Plain(0x6a);
pub const I32_SUB: Instruction = Instruction::Plain(0x6b);
pub const I32_MUL: Instruction = Instruction::Plain(0x6c);
pub const I32_DIV_S: Instruction = Instruction::Plain(0x6d);
pub const I32_DIV_U: Instruction = Instruction::Plain(0x6e);
pub const I32_REM_S: Instruction = Instruction::Plain(0x6f);
pub const I32_REM_U: Instruction = Instruction::Plain(0x70);
pub const I32_AND: Instruction = Instruction::Plain(0x71);
pub const I32_OR: Instruction = Instruction::Plain(0x72);
pub const I32_XOR: Instruction = Instruction::Plain(0x73);
pub const I32_SHL: Instruction = Instruction::Plain(0x74);
pub const I32_SHR_S: Instruction = Instruction::Plain(0x75);
pub const I32_SHR_U: Instruction = Instruction::Plain(0x76);
pub const SELECT: Instruction = Instruction::Plain(0x1b);

/// An instruction with a place in memory: an address on the stack plus an offset, of any alignment.
macro_rules! memory {
    ($($name:ident $opcode:expr;)+) => {
        $(pub const fn $name(offset: u32) -> Instruction {
            Instruction::Memory($opcode, MemArg { offset, align: 0 })
        })+
    };
}

memory! {
    v128_load VECTOR;
    v128_load32_splat VECTOR | 9;
    v128_store VECTOR | 11;
    v128_load32_zero VECTOR | 92;
    v128_load64_zero VECTOR | 93;
    i32_load 0x28;
    i32_load8_u 0x2d;
    i32_load16_u 0x2f;
    i32_store 0x36;
    i32_store8 0x3a;
    i32_store16 0x3b;
}

/// An instruction with a place in memory and a lane.
macro_rules! memory_lane {
    ($($name:ident $opcode:expr;)+) => {
        $(pub const fn $name(offset: u32, lane: u8) -> Instruction {
            Instruction::MemoryLane($opcode, MemArg { offset, align: 0 }, lane)
        })+
    };
}

memory_lane! {
    v128_load8_lane VECTOR | 84;
    v128_load16_lane VECTOR | 85;
    v128_load32_lane VECTOR | 86;
    v128_store8_lane VECTOR | 88;
    v128_store16_lane VECTOR | 89;
    v128_store32_lane VECTOR | 90;
    v128_store64_lane VECTOR | 91;
}

/// A lane of four integers.
pub const fn i32x4_extract_lane(lane: u8) -> Instruction {
    Instruction::Lane(VECTOR | 27, lane)
}

/// Four integers with another one in a lane.
pub const fn i32x4_replace_lane(lane: u8) -> Instruction {
    Instruction::Lane(VECTOR | 28, lane)
}

/// Four of the eight lanes of 32 bits in two vectors.
pub const fn shuffle(lanes: [u8; 4]) -> Instruction {
    let mut bytes = [0; 16];
    let mut position = 0;
    while position < 16 {
        bytes[position] = 4 * lanes[position / 4] + position as u8 % 4;
        position += 1;
    }
    Instruction::ShuffleBytes(bytes)
}
