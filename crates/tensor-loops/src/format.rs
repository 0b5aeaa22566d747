//! The forms of quantised numbers, as one table: each is a few numbers that say where a block has its integers, its scale and its minimum.
//!
//! A number is scale × level − minimum, of integers of at most 8 bits that are levels. Blocks lie along rows, in two pieces of memory. *Words* hold the
//! integers in order, or their low bits; the *side* holds what belongs to a block: one number, or a record of words. Formats and their meaning are those of
//! GGML (ggml-common.h and ggml-quants.c in the repository ggml-org/ggml); the order of bits is one of our own, in which a few shifts give eight integers
//! of 4 bits in a word.
//!
//! Integers of b = 1, 2 or 4 bits lie in groups of 32 / b, which share a word. Integer p of a row is in word p · b / 32, from bit
//! 4 (p mod 8) + b (p / 8 mod 4 / b) on. So bits of eight neighbours have a distance of 4. Bytes follow one another.

/// Numbers that are read together: every format has whole blocks of so many.
pub const BLOCK: u32 = 32;

/// What the integers of a block stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Level {
    /// The integer less this one.
    Less(u32),
    /// A byte with a sign.
    Signed,
    /// An entry of [`CURVE`].
    Curve,
}

/// The levels of 4-bit integers that are not equidistant.
pub const CURVE: [i8; 16] = [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113];

/// Integers of a record that follow one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Field {
    /// Bits of each in words of the record: 4, or 8 with a sign.
    pub bits: u32,
    /// The first of these words.
    pub at: u32,
    /// The bit of the record with the fifth and sixth bit of the first one; those of the others follow.
    pub upper: Option<u32>,
    /// What they are less than their bits.
    pub less: u32,
}

/// What the minimum of a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Minimum {
    /// There is none.
    None,
    /// The second half of the record with the opposite sign.
    Opposite,
    /// The second half of the record times the integer of a group.
    Times(Field),
}

/// A form of quantised numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Format {
    /// Low bits of an integer, in the words: 2, 4 or 8.
    pub low: u32,
    /// Bits above them, in the record: 0, 1 or 2.
    pub high: u32,
    /// The word of the record where those begin.
    pub high_at: u32,
    /// What the integers stand for.
    pub level: Level,
    /// Numbers that share a scale and a minimum: 16 or 32.
    pub group: u32,
    /// Numbers of a record.
    pub span: u32,
    /// Words of a record; 0 if it is one number, the scale.
    pub record: u32,
    /// Whether that number is an f32 in place of a half.
    pub is_single: bool,
    /// Numbers that share a half: one after the other from the first of the record on.
    pub half: u32,
    /// What halves are multiplied by.
    pub scales: Option<Field>,
    /// What is taken away.
    pub minimum: Minimum,
}

/// With a half for every 32 numbers.
const PLAIN: Format = Format {
    low: 4,
    high: 0,
    high_at: 0,
    level: Level::Less(8),
    group: 32,
    span: 32,
    record: 0,
    is_single: false,
    half: 32,
    scales: None,
    minimum: Minimum::None,
};

/// With records for 256 numbers.
const LONG: Format = Format { span: 256, half: 256, ..PLAIN };

const NIBBLES: Field = Field { bits: 4, at: 1, upper: None, less: 0 };

/// All formats, by their codes on the tape.
pub const FORMATS: [Format; 13] = [
    // q8_0
    Format { low: 8, level: Level::Signed, ..PLAIN },
    // q4_0
    PLAIN,
    // q4_1
    Format { level: Level::Less(0), record: 1, minimum: Minimum::Opposite, ..PLAIN },
    // q5_0: two halves, the fifth bits of 64 numbers
    Format { high: 1, high_at: 1, level: Level::Less(16), span: 64, record: 3, ..PLAIN },
    // q5_1
    Format { high: 1, high_at: 1, level: Level::Less(0), record: 2, minimum: Minimum::Opposite, ..PLAIN },
    // q2_K
    Format {
        low: 2,
        level: Level::Less(0),
        group: 16,
        record: 5,
        scales: Some(NIBBLES),
        minimum: Minimum::Times(Field { at: 3, ..NIBBLES }),
        ..LONG
    },
    // q3_K
    Format {
        low: 2,
        high: 1,
        high_at: 4,
        level: Level::Less(4),
        group: 16,
        record: 12,
        scales: Some(Field { upper: Some(96), less: 32, ..NIBBLES }),
        ..LONG
    },
    // q4_K
    Format { record: 4, ..Q5_K_WITHOUT_FIFTH_BITS },
    // q5_K
    Format { high: 1, high_at: 4, record: 12, ..Q5_K_WITHOUT_FIFTH_BITS },
    // q6_K
    Format {
        high: 2,
        high_at: 5,
        level: Level::Less(32),
        group: 16,
        record: 21,
        scales: Some(Field { bits: 8, ..NIBBLES }),
        ..LONG
    },
    // iq4_nl
    Format { level: Level::Curve, ..PLAIN },
    // iq4_xs
    Format { level: Level::Curve, record: 2, scales: Some(Field { upper: Some(16), less: 32, ..NIBBLES }), ..LONG },
    // Left factors of products of integers: bytes from -127 to 127.
    Format { low: 8, level: Level::Signed, is_single: true, ..PLAIN },
];

const Q5_K_WITHOUT_FIFTH_BITS: Format = Format {
    level: Level::Less(0),
    record: 4,
    scales: Some(Field { upper: Some(96), ..NIBBLES }),
    minimum: Minimum::Times(Field { at: 2, upper: Some(112), ..NIBBLES }),
    ..LONG
};

impl Field {
    /// The integer of a group.
    #[inline]
    pub fn integer(&self, record: &[u32], group: u32) -> i32 {
        let bits_at = |bit: u32| record[bit as usize / 32] >> (bit % 32);
        let low = bits_at(32 * self.at + self.bits * group);
        if self.bits == 8 {
            return i32::from(low as i8);
        }
        let upper = self.upper.map_or(0, |upper| bits_at(upper + 2 * group) & 3);
        (low & 15 | upper << 4) as i32 - self.less as i32
    }
}

impl Format {
    /// Words of a block of 32 numbers.
    pub const fn block_words(&self) -> u32 {
        self.low
    }

    /// Words of the side for a row of so many numbers; scales of a format whose record is one.
    pub const fn side(&self, numbers: u32) -> u32 {
        let records = numbers.div_ceil(self.span);
        if self.record == 0 { records } else { records * self.record }
    }

    /// Numbers of which a row has a multiple.
    pub const fn multiple(&self) -> u32 {
        self.half
    }
}
