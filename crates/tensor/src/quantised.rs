//! The form of quantised numbers: blocks along the last axis, whose integers are words, and what belongs to a block the side, in memory of its own.
//!
//! The table of formats is that of the inner loops. Both memories have a row for each row of numbers. So neighbours along a row are neighbours in a word
//! or in words beside one another.

use std::ops::Deref;

use residua_tensor_loops::format::FORMATS;
pub use residua_tensor_loops::format::{BLOCK, CURVE, Field, Format, Level, Minimum};

use crate::dtype::DType;

/// A format, by its place in the table: its code on the tape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Form(u8);

impl Form {
    /// The format with a code.
    pub fn of_code(code: u32) -> Option<Form> {
        ((code as usize) < FORMATS.len()).then_some(Form(code as u8))
    }

    /// Its code.
    pub fn code(self) -> u32 {
        u32::from(self.0)
    }

    /// The type of the side: scales, or words of records.
    pub fn side_dtype(self) -> DType {
        match self.record {
            0 if self.is_single => DType::F32,
            0 => DType::F16,
            _ => DType::U32,
        }
    }

    /// Numbers a word.
    pub fn a_word(self) -> u32 {
        32 / self.low
    }
}

impl Deref for Form {
    type Target = Format;

    fn deref(&self) -> &Format {
        &FORMATS[self.0 as usize]
    }
}

#[cfg(test)]
#[cfg(not(target_arch = "wasm32"))]
impl Form {
    /// Bytes with a half for each block.
    pub const Q8_0: Form = Form(0);
    /// Nibbles with a half for each block.
    pub const Q4_0: Form = Form(1);
    /// Bytes with an f32 for each block: left factors of products of integers.
    pub const BYTES: Form = Form(12);

    /// All formats.
    pub fn all() -> impl Iterator<Item = Form> + Clone {
        (0..FORMATS.len() as u8).map(Form)
    }
}
