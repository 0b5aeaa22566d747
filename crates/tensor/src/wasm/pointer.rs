//! Addresses that advance with a loop, and distances between addresses.

use residua_codegen::wasm::encoding::Instruction;

use super::code::Local;
use crate::scalar::Id;

/// An address that advances with the innermost loop.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pointer {
    /// The buffer.
    pub buffer: u32,
    /// The index of its element.
    pub index: Id,
    /// The address.
    pub at: Local,
    /// Bytes from one coordinate of the innermost loop to the next.
    pub step: Distance,
}

/// A distance in bytes, or a factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Distance {
    /// A number.
    Known(i32),
    /// A local.
    Local(Local),
}

impl Distance {
    /// Its value on the stack.
    pub fn get(self) -> Instruction {
        match self {
            Distance::Known(number) => Instruction::I32Const(number),
            Distance::Local(local) => local.get(),
        }
    }
}
