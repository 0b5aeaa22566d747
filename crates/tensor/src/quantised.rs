//! The form of quantised numbers: blocks along the last axis, with few bits a number and a scale a block.
//!
//! Words hold the numbers of a block in their order, low bits first; scales are f16 in memory of their own. So neighbours along a row are
//! neighbours in a word, and rows of both are multiples of whole words where a row is a multiple of 64 numbers.

/// Numbers of a block, which share a scale.
pub const BLOCK: u32 = 32;

/// How many bits a quantised number has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum QuantBits {
    /// 0 … 15, which stand for −8 … 7.
    Four,
    /// −128 … 127.
    Eight,
}

impl QuantBits {
    /// Numbers a word.
    pub const fn a_word(self) -> u32 {
        match self {
            QuantBits::Four => 8,
            QuantBits::Eight => 4,
        }
    }

    /// Bits of a number.
    pub const fn bits(self) -> u32 {
        32 / self.a_word()
    }
}
