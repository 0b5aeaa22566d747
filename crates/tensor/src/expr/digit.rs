//! Digits of keys, by which long rows are sorted.

/// A digit: eight bits of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Digit {
    /// The lowest of its bits.
    pub shift: u32,
}

impl Digit {
    /// How many bits it has.
    pub const BITS: u32 = 8;
    /// How many values it has.
    pub const VALUES: u32 = 1 << Digit::BITS;
    /// Keys of a block, whose digits are counted and moved by one workgroup.
    pub const BLOCK: u32 = 2048;

    /// The digit of a key.
    pub fn of(self, key: u32) -> u32 {
        (key >> self.shift) & (Digit::VALUES - 1)
    }
}
