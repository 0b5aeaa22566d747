//! Concatenations of more parts than a kernel has buffers.

use crate::expr::{Expr, TensorId};
use crate::fuse::Target;
use residua_base::list::Listed;

/// Parts of a concatenation, at most: a kernel has a few buffers more.
pub fn most_parts(target: &Target) -> usize {
    (target.most_buffers as usize).saturating_sub(3).max(2)
}

/// As many parts as a kernel takes, of which some are concatenations of the given ones.
pub fn fewer(expr: &mut Expr, mut parts: Vec<TensorId>, axis: u32, most: usize) -> Vec<TensorId> {
    while parts.len() > most {
        let join = |parts: &[TensorId]| if let [one] = parts { *one } else { expr.concat(parts, axis) };
        parts = parts.chunks(most).map(join).list();
    }
    parts
}

/// The parts one after the other.
pub fn join(expr: &mut Expr, parts: Vec<TensorId>, axis: u32, most: usize) -> TensorId {
    let parts = fewer(expr, parts, axis, most);
    expr.concat(&parts, axis)
}
