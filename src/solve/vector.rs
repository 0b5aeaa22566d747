//! Sums over vectors, always in the same order, so that a run repeats bit for bit.

pub(super) use residua_loops::{dot, max_norm, norm, subtract};
