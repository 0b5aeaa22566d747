//! Kernels whose points are independent.

use residua_codegen::wasm::encoding::Function;

use super::module::Shared;
use super::values::Values;
use crate::kernel::{Elements, Kernel};
use crate::scalar::{Access, Id, Node};

/// A kernel of elements: loops over all axes, vectors along the last one.
pub(super) fn function(kernel: &Kernel, elements: &Elements, shared: &mut Shared) -> Function {
    let last = elements.space.len() as u32 - 1;
    let mut values = Values::new(kernel, shared, last, false);
    values.return_if_empty(&elements.space);
    let counts: Vec<_> = elements.space.iter().map(|extent| values.count(*extent)).collect();
    let roots: Vec<Id> = elements.stores.iter().flat_map(|store| [store.value, store.index]).collect();
    let copies = copies_of(&values, &roots, last);
    // A store in C order from the start of its buffer may fill the padding.
    let in_order = |id: Id| values.graph.node(id) == Node::Coordinate(0);
    let overruns = last == 0
        && elements.stores.iter().all(|store| in_order(store.index))
        && loads_are_plain(&values, &roots, last);
    let (inner, outer) = (counts[last as usize], &counts[..last as usize]);
    values.nest(0, outer, &mut |values| {
        values.innermost(last, |values| {
            values.vectors(inner, copies, overruns, &mut |values, copies| {
                for copy in 0..copies {
                    values.copy = copy;
                    values.store_all(&elements.stores);
                }
                values.copy = 0;
            });
        });
    });
    values.code.finish()
}

/// How many vectors a loop takes at a time: several where the loop's own instructions would otherwise be a good part of all.
pub(super) fn copies_of(values: &Values, roots: &[Id], axis: u32) -> u32 {
    if !loads_are_plain(values, roots, axis) {
        return 1;
    }
    match values.weight(roots, axis) {
        0..8 => 4,
        8..24 => 2,
        _ => 1,
    }
}

/// Whether vectors of all elements that values take stand in memory.
fn loads_are_plain(values: &Values, roots: &[Id], axis: u32) -> bool {
    let mut seen = vec![false; values.graph.len()];
    let mut pending = roots.to_vec();
    while let Some(id) = pending.pop() {
        if std::mem::replace(&mut seen[id.index()], true) {
            continue;
        }
        if let Node::Load { index, .. } = values.graph.node(id)
            && values.graph.access(index, axis, &values.kernel.sizes) == Access::Other
        {
            return false;
        }
        pending.extend(values.graph.operands(id));
    }
    true
}
