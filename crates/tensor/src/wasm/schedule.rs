//! The choices that a kernel's code is made by: what lanes are, and how many vectors a loop takes at a time.

use super::values::Values;
use crate::kernel::{Extent, Kernel};
use crate::scalar::{Access, Id, LoadAt};

/// Whether four rows, and not four points of one, stand side by side in memory.
pub(super) fn lanes_are_rows(kernel: &Kernel, outer: &[Extent], row: &[Extent], roots: &[Id]) -> bool {
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

/// How many vectors a loop takes at a time: several where the loop's own instructions would otherwise be a good part of all, and where there are
/// elementary functions.
pub(super) fn copies_of(values: &Values, roots: &[Id], axis: u32) -> u32 {
    if !loads_are_plain(values, roots, axis) {
        return 1;
    }
    /// Beyond, a body is long enough, and four of them would be much code.
    const LONG: u32 = 200;
    let has_formulas = values.graph.needed(roots.iter().copied()).into_iter().any(|id| values.formula_of(id).is_some());
    match values.weight(roots, axis) {
        0..8 => 4,
        0..LONG if has_formulas => 4,
        8..24 => 2,
        _ => 1,
    }
}

/// Whether vectors of all elements that values take stand in memory.
pub(super) fn loads_are_plain(values: &Values, roots: &[Id], axis: u32) -> bool {
    let is_plain = |(_, index): LoadAt| values.graph.access(index, axis, &values.kernel.sizes) != Access::Other;
    values.graph.loads(roots.iter().copied()).into_iter().all(is_plain)
}
