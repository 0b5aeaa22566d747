//! Orders of the keys of rows.

use super::{Extent, Store};
use crate::expr::Digit;
use crate::scalar::Id;

/// A kernel that finds the order of the keys of rows: ascending, and of equal keys the order in which they stand. Coordinates 0 … count the outer
/// axes, the two after them are the place of a key in its row and a rank. The result `Folded { fold: 0, result: 0 }`, a u32, is the place of the
/// key of a rank.
#[derive(Clone, Debug, PartialEq)]
pub struct Sort {
    /// Extents of the axes whose points each have a row; may be empty.
    pub outer: Vec<Extent>,
    /// How many keys a row has.
    pub length: Extent,
    /// How many ranks are wanted: at most all.
    pub kept: Extent,
    /// How many keys a row has at most. On a device at most [`Sort::LONGEST`].
    pub most: u32,
    /// How many low bits of a key may differ from 0.
    pub bits: u32,
    /// The key at (outer, place), a u32.
    pub key: Id,
    /// What is written for each (outer, rank).
    pub elements: Vec<Store>,
}

impl Sort {
    /// Longest row that a workgroup sorts: its keys and their places take 16 KB.
    pub const LONGEST: u32 = 2048;
}

/// A kernel that counts digits in blocks of [`Digit::BLOCK`] keys of rows. Coordinates 0 … count the outer axes, the three after them are the place
/// of a key, a digit and a block. The result `Folded { fold: 0, result: 0 }`, a u32, is how often a digit occurs in a block.
#[derive(Clone, Debug, PartialEq)]
pub struct DigitCounts {
    /// Extents of the axes whose points each have a row; may be empty.
    pub outer: Vec<Extent>,
    /// How many keys a row has.
    pub length: Extent,
    /// Blocks of a row. Those beyond its end are empty.
    pub blocks: u32,
    /// What is counted.
    pub digit: Digit,
    /// The key at (outer, place), a u32.
    pub key: Id,
    /// What is written for each (outer, digit, block).
    pub elements: Vec<Store>,
}

/// A kernel that finds the order of the keys of rows by a digit, in which keys with equal digits stand as they do in the row. Coordinates 0 … count
/// the outer axes, the four after them are the place of a key, a rank, a digit and a block. The result `Folded { fold: 0, result: 0 }`, a u32, is
/// the place of the key of a rank.
#[derive(Clone, Debug, PartialEq)]
pub struct DigitSort {
    /// Extents of the axes whose points each have a row; may be empty.
    pub outer: Vec<Extent>,
    /// How many keys a row has.
    pub length: Extent,
    /// Blocks of a row.
    pub blocks: u32,
    /// By what.
    pub digit: Digit,
    /// The key at (outer, place), a u32.
    pub key: Id,
    /// How often a digit occurs in a row, at (outer, digit), a u32.
    pub total: Id,
    /// How often a digit occurs in the blocks before a block, at (outer, digit, block), a u32.
    pub before: Id,
    /// What is written for each (outer, rank).
    pub elements: Vec<Store>,
}
