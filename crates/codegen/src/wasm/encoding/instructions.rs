//! The instructions that both writers use, but for control flow, variables and numbers: constants by the opcodes of the core specification, which cost
//! nothing where they are not used. A number is an f64 or an integer of 32 bits; a vector has two lanes of 64 bits or four of 32.

#![allow(missing_docs, reason = "the specification describes them")]

use super::{Instruction, MemArg};

/// The prefix of vector instructions, and of saturating conversions.
const VECTOR: u32 = 0xfd00;
const SATURATING: u32 = 0xfc00;

/// The opcodes of instructions that have 16 bytes behind them.
pub(super) const V128_CONST: u32 = VECTOR | 12;
pub(super) const SHUFFLE: u32 = VECTOR | 13;

/// Instructions without immediates.
macro_rules! plain {
    ($prefix:expr; $($name:ident $opcode:literal,)+) => {
        $(pub const $name: Instruction = Instruction::Plain($prefix | $opcode);)+
    };
}

plain! { 0;
    UNREACHABLE 0x00, ELSE 0x05, END 0x0b, RETURN 0x0f, DROP 0x1a, SELECT 0x1b,
    I32_EQZ 0x45, I32_EQ 0x46, I32_LT_S 0x48, I32_LT_U 0x49, I32_LE_S 0x4c, I32_LE_U 0x4d, I32_GE_U 0x4f,
    F64_EQ 0x61, F64_NE 0x62, F64_LT 0x63, F64_GT 0x64, F64_LE 0x65, F64_GE 0x66,
    I32_ADD 0x6a, I32_SUB 0x6b, I32_MUL 0x6c, I32_DIV_S 0x6d, I32_DIV_U 0x6e, I32_REM_S 0x6f, I32_REM_U 0x70,
    I32_AND 0x71, I32_OR 0x72, I32_XOR 0x73, I32_SHL 0x74, I32_SHR_S 0x75, I32_SHR_U 0x76,
    F64_ABS 0x99, F64_NEG 0x9a, F64_CEIL 0x9b, F64_FLOOR 0x9c, F64_SQRT 0x9f,
    F64_ADD 0xa0, F64_SUB 0xa1, F64_MUL 0xa2, F64_DIV 0xa3, F64_MIN 0xa4, F64_MAX 0xa5, F64_COPYSIGN 0xa6, F64_CONVERT_I32_U 0xb8,
}

plain! { SATURATING;
    I32_TRUNC_SAT_F64_U 3,
}

plain! { VECTOR;
    I32X4_SPLAT 17, F64X2_SPLAT 20,
    I32X4_EQ 55, I32X4_NE 56, I32X4_LT_S 57, I32X4_LT_U 58, I32X4_LE_S 61, I32X4_LE_U 62,
    F32X4_EQ 65, F32X4_NE 66, F32X4_LT 67, F32X4_LE 69, F32X4_GE 70,
    F64X2_EQ 71, F64X2_NE 72, F64X2_LT 73, F64X2_GT 74, F64X2_LE 75, F64X2_GE 76,
    V128_NOT 77, V128_AND 78, V128_ANDNOT 79, V128_OR 80, V128_XOR 81, V128_BITSELECT 82, V128_ANY_TRUE 83,
    F32X4_DEMOTE_F64X2_ZERO 94, F64X2_PROMOTE_LOW_F32X4 95,
    F32X4_CEIL 103, F32X4_FLOOR 104, F32X4_TRUNC 105, F64X2_CEIL 116, F64X2_FLOOR 117, F64X2_TRUNC 122, F64X2_NEAREST 148,
    I16X8_EXTEND_LOW_I8X16_U 137, I32X4_EXTEND_LOW_I16X8_U 169,
    I32X4_NEG 161, I32X4_SHL 171, I32X4_SHR_S 172, I32X4_SHR_U 173, I32X4_ADD 174, I32X4_SUB 177, I32X4_MUL 181,
    I32X4_MIN_S 182, I32X4_MIN_U 183, I32X4_MAX_S 184, I32X4_MAX_U 185,
    I64X2_NEG 193, I64X2_SHL 203, I64X2_SHR_U 205, I64X2_ADD 206, I64X2_EXTMUL_LOW_I32X4_U 222, I64X2_EXTMUL_HIGH_I32X4_U 223,
    F32X4_ABS 224, F32X4_NEG 225, F32X4_SQRT 227, F32X4_ADD 228, F32X4_SUB 229, F32X4_MUL 230, F32X4_DIV 231,
    F32X4_MIN 232, F32X4_MAX 233, F32X4_PMIN 234, F32X4_PMAX 235,
    F64X2_ABS 236, F64X2_NEG 237, F64X2_SQRT 239, F64X2_ADD 240, F64X2_SUB 241, F64X2_MUL 242, F64X2_DIV 243,
    F64X2_MIN 244, F64X2_MAX 245, F64X2_PMIN 246, F64X2_PMAX 247,
    I32X4_TRUNC_SAT_F32X4_S 248, I32X4_TRUNC_SAT_F32X4_U 249, F32X4_CONVERT_I32X4_S 250, F32X4_CONVERT_I32X4_U 251,
    I32X4_TRUNC_SAT_F64X2_S_ZERO 252, I32X4_TRUNC_SAT_F64X2_U_ZERO 253, F64X2_CONVERT_LOW_I32X4_S 254, F64X2_CONVERT_LOW_I32X4_U 255,
}

/// Instructions with a place in memory.
macro_rules! memory {
    ($($name:ident $opcode:expr,)+) => {
        $(pub fn $name(place: impl Into<MemArg>) -> Instruction {
            Instruction::Memory($opcode, place.into())
        })+
    };
}

memory! {
    i32_load 0x28, f64_load 0x2b, i32_load8_u 0x2d, i32_load16_u 0x2f,
    i32_store 0x36, f64_store 0x39, i32_store8 0x3a, i32_store16 0x3b,
    v128_load VECTOR, v128_load32_splat VECTOR | 9, v128_load64_splat VECTOR | 10,
    v128_load32_zero VECTOR | 92, v128_load64_zero VECTOR | 93, v128_store VECTOR | 11,
}

/// Instructions with a place in memory and a lane.
macro_rules! memory_lane {
    ($($name:ident $opcode:literal,)+) => {
        $(pub fn $name(place: impl Into<MemArg>, lane: u8) -> Instruction {
            Instruction::MemoryLane(VECTOR | $opcode, place.into(), lane)
        })+
    };
}

memory_lane! {
    v128_load8_lane 84, v128_load16_lane 85, v128_load32_lane 86, v128_load64_lane 87,
    v128_store8_lane 88, v128_store16_lane 89, v128_store32_lane 90, v128_store64_lane 91,
}

/// Instructions with a lane.
macro_rules! lane {
    ($($name:ident $opcode:literal,)+) => {
        $(pub const fn $name(lane: u8) -> Instruction {
            Instruction::Lane(VECTOR | $opcode, lane)
        })+
    };
}

lane! {
    i32x4_extract_lane 27, f64x2_extract_lane 33, f64x2_replace_lane 34,
}

/// Two of the four lanes of 64 bits in two vectors, four of the eight of 32 bits, or 16 of the bytes.
pub const fn shuffle<const N: usize>(lanes: [u8; N]) -> Instruction {
    let (mut bytes, mut position, size) = ([0; 16], 0, 16 / N);
    while position < 16 {
        bytes[position] = lanes[position / size] * size as u8 + (position % size) as u8;
        position += 1;
    }
    Instruction::Shuffle(bytes)
}
