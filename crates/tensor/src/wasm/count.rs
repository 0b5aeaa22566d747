//! Numbers of points along axes, as code.

use residua_codegen::wasm::encoding::Instruction;

use super::code::Local;

/// How many points there are along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Count {
    /// A number.
    Known(u32),
    /// A local, and whether it is always a multiple of 4.
    Local(Local, bool),
}

impl Count {
    /// Its value on the stack.
    pub fn get(self) -> Instruction {
        match self {
            Count::Known(number) => Instruction::I32Const(number as i32),
            Count::Local(local, _) => local.get(),
        }
    }

    /// Whether it is always a multiple of 4.
    pub fn is_multiple(self) -> bool {
        match self {
            Count::Known(number) => number % 4 == 0,
            Count::Local(_, is_multiple) => is_multiple,
        }
    }
}

/// A range of the outermost axis.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    /// Its first coordinate.
    pub start: Local,
    /// Its end.
    pub end: Count,
    /// The extent of the axis.
    pub whole: Count,
}
