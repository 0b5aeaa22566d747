//! Vector operations, re-exported from the linear algebra. Their sums have a fixed order, so that a run repeats bit for bit.

pub(super) use residua_linalg::loops::{dot, max_norm, norm, subtract};
