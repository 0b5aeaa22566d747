//! Attention of a batch of heads.

use super::{Extent, Store};
use crate::scalar::Id;

/// Attention of a batch of heads. Coordinates 0 … count the axes of the batch; those after them are the query, the key, the place along a vector
/// and the block of keys. For a product p of a query and a key, which is `Folded { fold: 0, result: 0 }`, the score is s(p); with m the largest
/// score, weights are exp(s − m), and a score of at most [`Attention::LEAST_SCORE`] has weight 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Attention {
    /// Extents of the axes of the batch; may be empty.
    pub batch: Vec<Extent>,
    /// How many queries.
    pub queries: Extent,
    /// How many keys.
    pub keys: Extent,
    /// Numbers of a query and of a key; a multiple of 4.
    pub size: u32,
    /// Numbers of a value; a multiple of 4.
    pub width: u32,
    /// The query at (batch, query, place): a load, or a few operations on loads.
    pub query: Id,
    /// The key at (batch, key, place).
    pub key: Id,
    /// The value at (batch, key, place).
    pub value: Id,
    /// The score at (batch, query, key), where the limits let the query see the key; else it is [`Attention::LEAST_SCORE`].
    pub score: Id,
    /// Which keys a query sees; none: all.
    pub limits: Option<CausalMask>,
    /// What is written for each (batch, query, place), and block if there are blocks. Results of fold 1 are, with tiles, 0 the weighted mean of
    /// the values; with blocks 0 the weighted sum, 1 the largest score, and 2 the sum of the weights. These two are written once a query and
    /// block.
    pub elements: Vec<Store>,
    /// How it is divided.
    pub schedule: AttentionSchedule,
}

/// Query i stands at place position + i of the keys, and sees those up to its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CausalMask {
    /// The place of the first query: the bits of an i32.
    pub position: Extent,
    /// How many keys before its own it sees; none: all.
    pub window: Option<u32>,
}

/// How attention is divided. Sums have the same order for the same extents and limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttentionSchedule {
    /// A workgroup has some queries, and goes through all keys.
    Tiles,
    /// A workgroup has one query and a block of keys, and writes a state, which a later kernel merges with those of other blocks.
    Blocks,
}

impl Attention {
    /// Most queries for which blocks are taken.
    pub const MOST_QUERIES: u32 = 8;
    /// Keys of a block.
    pub const BLOCK: u32 = 128;
    /// The score of a key that is not seen, and the largest score of no keys: −2¹²⁷. It is finite, so that differences of two are.
    pub const LEAST_SCORE: f32 = -170_141_183_460_469_231_731_687_303_715_884_105_728.0;
}
