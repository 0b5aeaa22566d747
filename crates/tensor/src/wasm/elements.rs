//! Kernels whose points are independent.

use residua_base::list::Listed;
use residua_codegen::wasm::encoding::Function;

use super::count::Count;
use super::module::Shared;
use super::schedule::{copies_of, loads_are_plain};
use super::values::Values;
use crate::kernel::{Elements, TensorKernel};
use crate::scalar::{Access, Id, TypedNode};

/// How many columns are taken from all rows before the next ones, where a matrix is transposed: as many cache lines are in use at a time.
const TILE: u32 = 8;

/// A kernel of elements: loops over all axes, vectors along the last one.
pub(super) fn function(kernel: &TensorKernel, elements: &Elements, shared: &mut Shared) -> Function {
    let last = elements.space.len() as u32 - 1;
    let mut values = Values::new(kernel, shared, last, false);
    values.return_if_empty(&elements.space);
    values.cut(&elements.space);
    let counts: Vec<_> = elements.space.iter().map(|extent| values.count(*extent)).list();
    let roots: Vec<Id> = elements.stores.iter().flat_map(|store| [store.value, store.index]).list();
    let copies = copies_of(&values, &roots, last);
    // A store in C order from the start of its buffer may fill the padding.
    let in_order = |id: Id| values.graph.node(id) == TypedNode::Coordinate(0);
    let overruns = elements.fills
        && last == 0
        && elements.stores.iter().all(|store| in_order(store.index))
        && loads_are_plain(&values, &roots, last);
    let vectors = |values: &mut Values, count: Count| {
        values.innermost(last, |values| {
            values.vectors(count, copies, overruns, &mut |values, copies| {
                values.for_copies(copies, |values| values.store_all(&elements.stores));
            });
        });
    };
    let (inner, outer) = (counts[last as usize], &counts[..last as usize]);
    match outer.split_last() {
        Some((rows, outer)) if is_transposed(&mut values, &roots, last) => {
            values.nest(0, outer, &mut |values| {
                values.tiles(inner, TILE, &mut |values, end| {
                    values.each(last - 1, *rows, &mut |values| vectors(values, end));
                });
            });
        }
        _ if outer.is_empty() => {
            let line = values.line(inner);
            vectors(&mut values, line);
        }
        _ => values.nest(0, outer, &mut |values| vectors(values, inner)),
    }
    values.finish()
}

/// Whether elements that are far from one another along the last axis are neighbours along the one before it.
fn is_transposed(values: &mut Values, roots: &[Id], last: u32) -> bool {
    let graph = values.graph;
    graph.loads(roots.iter().copied()).into_iter().any(|(_, index)| {
        let access = |axis: u32| graph.access(index, axis, &values.kernel.sizes);
        let is_near = matches!(access(last - 1), Access::Vector | Access::Consecutive);
        is_near && access(last) == Access::Other && values.factor(index, last).is_some()
    })
}
