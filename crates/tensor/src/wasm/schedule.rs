//! The choices that a kernel's code is made by: what lanes are, and how many vectors a loop takes at a time.

use residua_base::list::Listed;
use residua_ir::graph::Op as Real;

use super::values::Values;
use crate::kernel::{Extent, TensorKernel};
use crate::scalar::{Access, Id, LoadAt, TypedNode, TypedOp};

/// Whether four rows, and not four points of one, stand side by side in memory.
pub(super) fn lanes_are_rows(kernel: &TensorKernel, outer: &[Extent], row: &[Extent], roots: &[Id]) -> bool {
    let Some(across) = (outer.len() as u32).checked_sub(1) else { return false };
    let along = (outer.len() + row.len()) as u32 - 1;
    let [Some(of_row), Some(of_rows)] = [row, outer].map(|extents| extents.last().map(|extent| kernel.known(*extent)))
    else {
        return false;
    };
    // A few points do not fill vectors.
    if of_row.is_some_and(|number| number < 8) && of_rows.is_none_or(|number| number >= 8) && row.len() == 1 {
        return true;
    }
    let score = |axis: u32| -> i32 {
        let loads = kernel.graph.loads(roots.iter().copied()).into_iter();
        loads
            .map(|(_, index)| match kernel.graph.access(index, axis, &kernel.sizes) {
                Access::Same => 0,
                Access::Vector | Access::Consecutive => 1,
                Access::Other => -1,
            })
            .sum()
    };
    score(across) > score(along)
}

/// Vectors that a loop takes at a time at most: as many exponentials as are faster together. Longer formulas have too many values for that.
pub(super) const MANY: u32 = 8;

/// How many vectors a loop takes at a time: several where the loop's own instructions would otherwise be a good part of all, and where there are
/// elementary functions.
pub(super) fn copies_of(values: &Values, roots: &[Id], axis: u32) -> u32 {
    /// Operations of a body of which four would be too much code.
    const LONG: u32 = 200;
    if !loads_are_plain(values, roots, axis) {
        return 1;
    }
    let formulas: Vec<Real> = values
        .graph
        .needed(roots.iter().copied())
        .into_iter()
        .filter_map(|id| match values.graph.node(id) {
            TypedNode::Apply(TypedOp::Real(op), _) if values.formula_of(id).is_some() => Some(op),
            _ => None,
        })
        .list();
    let are_short = formulas.iter().all(|op| matches!(op, Real::Exp | Real::Sigmoid));
    match (values.weight(roots, axis), formulas.len()) {
        (0..8, _) => 4,
        (0..48, 1) if are_short => MANY,
        (0..LONG, 1..) => 4,
        (8..24, _) => 2,
        _ => 1,
    }
}

/// Whether vectors of all elements that values take stand in memory.
pub(super) fn loads_are_plain(values: &Values, roots: &[Id], axis: u32) -> bool {
    let is_plain = |(_, index): LoadAt| values.graph.access(index, axis, &values.kernel.sizes) != Access::Other;
    values.graph.loads(roots.iter().copied()).into_iter().all(is_plain)
}
