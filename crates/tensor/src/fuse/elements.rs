//! Kernels of tensors that are computed point by point.

use residua_base::error::{Error, Result};

use super::blocks::places;
use super::build::{
    Buffers, Built, Destinations, Write, aligned, coordinates, extents, long_axes, name, roots_of, writes,
};
use super::group::{is_packed, points};
use crate::expr::{Expr, Op, TensorId};
use crate::kernel::{Body, Elements, Extent};
use crate::lower::merge::{Merged, merge};
use crate::lower::{Index, Lowering};
use crate::scalar::{Id, Op as Scalar};
use crate::size::Size;

/// The kernel of a group of tensors that are computed point by point.
pub fn elements(
    expr: &Expr,
    stored: &[bool],
    roots: &[TensorId],
    destinations: Destinations,
    block: &[u32],
) -> Result<Built> {
    let built = elements_of(expr, stored, roots, destinations, block, false)?;
    let Body::Elements(body) = &built.kernel.body else { return Ok(built) };
    let packs = body.stores.iter().any(|store| is_packed(built.kernel.buffers[store.buffer as usize].dtype));
    // Elements that share words are written by the thread that has all of them, which needs one axis.
    if packs && !has_gaps(expr, roots) && body.space.len() > 1 {
        elements_of(expr, stored, roots, destinations, &[], true)
    } else {
        Ok(built)
    }
}

/// Whether some root is a part of a larger tensor: there are other elements between its rows, and after the last one.
fn has_gaps(expr: &Expr, roots: &[TensorId]) -> bool {
    roots.iter().any(|root| points(expr, *root) != expr.tensor(*root).shape)
}

fn elements_of(
    expr: &Expr,
    stored: &[bool],
    roots: &[TensorId],
    destinations: Destinations,
    block: &[u32],
    is_linear: bool,
) -> Result<Built> {
    let mut lowering = Lowering::of(expr, stored);
    let mut shape = points(expr, *roots.first().ok_or_else(|| Error::internal("a kernel of nothing"))?).to_vec();
    let places = places(&shape, block);
    block.iter().for_each(|axis| shape[*axis as usize] = Size::constant(1));
    lowering.in_blocks = !block.is_empty();
    let mut all = Vec::new();
    let mut space = vec![Size::product(&shape)];
    let mut long = Vec::new();
    if !is_linear {
        let (at, extents) = coordinates(&mut lowering, &shape, 0);
        (space, long) = (extents, long_axes(&shape, &at));
    }
    for (root, place) in roots.iter().flat_map(|root| places.iter().map(move |place| (root, place))) {
        let own = points(expr, *root);
        if is_linear {
            let place = lowering.graph.coordinate(0);
            let value = lowering.computed(*root, &flat(own.len(), place))?;
            lowering.set(*root, Index::Linear(place), value);
            for memory in destinations(*root) {
                all.push(Write { memory, dtype: expr.tensor(*root).dtype, index: place, value });
            }
        } else {
            let mut at = aligned(&mut lowering, if block.is_empty() { own } else { &shape }, &long);
            for (axis, place) in place {
                at[*axis] = lowering.graph.u32(*place);
            }
            if let Op::SetSlice { starts, slot: Some(_) } = &expr.tensor(*root).op {
                part(&mut lowering, *root, &at, starts, destinations, &mut all)?;
                continue;
            }
            let value = lowering.computed(*root, &Index::Coordinates(at.clone()))?;
            lowering.set(*root, Index::Coordinates(at.clone()), value);
            writes(&mut lowering, *root, &at, value, destinations, &mut all);
        }
    }
    let Merged { graph, mut sizes, groups, roots: nodes } =
        merge(&lowering.graph, &lowering.sizes, &[space], &roots_of(&all));
    let mut space = extents(&groups[0], &mut sizes);
    if space.is_empty() {
        space.push(Extent::Known(1));
    }
    let mut buffers = Buffers::of(&lowering);
    let stores = buffers.stores(&all, &nodes);
    let name = name(expr, stored, "map", roots);
    Ok(buffers.built(name, sizes, graph, Body::Elements(Elements { space, stores, fills: !has_gaps(expr, roots) })))
}

/// What writes an element of a part to its place in the whole.
fn part(
    lowering: &mut Lowering,
    id: TensorId,
    at: &[Id],
    starts: &[Size],
    destinations: Destinations,
    writes: &mut Vec<Write>,
) -> Result<()> {
    let expr = lowering.expr;
    let tensor = expr.tensor(id);
    let value = lowering.value(tensor.operands[1], Index::Coordinates(at.to_vec()))?;
    let mut places = Vec::with_capacity(at.len());
    for (coordinate, start) in at.iter().zip(starts) {
        let start = lowering.size(start);
        places.push(lowering.graph.apply(Scalar::IntAdd, &[*coordinate, start]));
    }
    let index = lowering.linear_of(&places, &tensor.shape);
    writes.extend(destinations(id).into_iter().map(|memory| Write { memory, dtype: tensor.dtype, index, value }));
    Ok(())
}

/// A point by its position in C order, which of one axis is its coordinate.
fn flat(rank: usize, place: Id) -> Index {
    if rank == 1 { Index::Coordinates(vec![place]) } else { Index::Linear(place) }
}

/// Whether tensors that are computed point by point read each other only at the point where they are computed.
pub fn elements_read_each_other_in_place(
    expr: &Expr,
    stored: &[bool],
    roots: &[TensorId],
    block: &[u32],
) -> Result<bool> {
    let nowhere = |_: TensorId| Vec::new();
    let built = elements_of(expr, stored, roots, &nowhere, block, false)?;
    Ok(built.reads_in_place(roots))
}
