//! Kernels of tensors that are computed point by point.

use residua_base::error::{Error, Result};

use super::blocks::{Side, places, whole};
use super::build::{
    Buffers, Built, Destinations, Write, aligned, coordinates, extents, long_axes, name, roots_of, writes,
};
use super::group::{is_packed, points};
use crate::expr::{Expr, TensorId, TensorOp};
use crate::kernel::{Body, Elements, Extent, Store};
use crate::lower::merge::{Merged, merge};
use crate::lower::{ElementIndex, Lowering};
use crate::scalar::{Id, TypedOp};
use crate::size::Size;

/// How many rows a thread has of what neighbours share loads of.
const ROWS: u32 = 4;
/// Fewest loads from one buffer that are looked at for that: of windows of five elements and more.
const FEWEST_LOADS: usize = 5;
/// Largest graph of an element of which a thread has several.
const MOST_NODES: usize = 250;
/// Fewest elements of which a thread has several: threads enough for any device are left.
const FEWEST_ELEMENTS: i64 = if cfg!(test) { 1 << 10 } else { 1 << 20 };

/// The kernel of a group of tensors that are computed point by point, of a block of axes at a time. On a device a thread also has several elements where
/// they share loads.
pub fn elements(
    expr: &Expr,
    stored: &[bool],
    roots: &[TensorId],
    destinations: Destinations,
    block: &[u32],
    is_host: bool,
) -> Result<Built> {
    let sides = whole(points(expr, roots[0]), block);
    let built = elements_of(expr, stored, roots, destinations, &sides, false)?;
    let Body::Elements(body) = &built.kernel.body else { return Ok(built) };
    let packs = body.stores.iter().any(|store| is_packed(built.kernel.buffers[store.buffer as usize].dtype));
    if !is_host
        && !packs
        && block.is_empty()
        && let Some(side) = rows_of(expr, roots)
        && let Some(single) = Some(most_loads(&built)).filter(|loads| *loads >= FEWEST_LOADS)
        && built.kernel.graph.len() <= MOST_NODES
    {
        let several = elements_of(expr, stored, roots, destinations, &[side], false)?;
        if most_loads(&several) * 4 <= single * ROWS as usize * 3 {
            return Ok(several);
        }
    }
    // Elements that share words are written by the thread that has all of them, which needs one axis.
    if packs && !has_gaps(expr, roots) && body.space.len() > 1 {
        elements_of(expr, stored, roots, destinations, &[], true)
    } else {
        Ok(built)
    }
}

/// Neighbours along the last axis but one, of which a thread may have several: those along the last are of neighbouring threads, so that a load of theirs
/// is of one line of memory.
fn rows_of(expr: &Expr, roots: &[TensorId]) -> Option<Side> {
    let shape = points(expr, roots[0]);
    let axis = shape.len().checked_sub(2)?;
    let rows = shape[axis].known()?;
    let is_long = Size::product(shape).known().is_some_and(|count| count >= FEWEST_ELEMENTS);
    // Others may have more axes of one element, before these.
    let is_alike = roots.iter().all(|root| points(expr, *root).ends_with(&shape[axis..]));
    let is_divided = rows > i64::from(ROWS) && rows % i64::from(ROWS) == 0;
    (is_long && is_alike && is_divided && !has_gaps(expr, roots)).then_some((axis as u32, ROWS))
}

/// The most loads of a point from one buffer.
fn most_loads(built: &Built) -> usize {
    let Body::Elements(body) = &built.kernel.body else { return 0 };
    let roots = Store::roots(&body.stores);
    let loads = built.kernel.graph.loads(roots);
    let of = |buffer: usize| loads.iter().filter(|(from, _)| *from as usize == buffer).count();
    (0..built.kernel.buffers.len()).map(of).max().unwrap_or(0)
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
    block: &[Side],
    is_linear: bool,
) -> Result<Built> {
    let mut lowering = Lowering::of(expr, stored);
    let mut shape = points(expr, *roots.first().ok_or_else(|| Error::internal("a kernel of nothing"))?).to_vec();
    let places = places(block);
    for (axis, count) in block {
        let axis = *axis as usize;
        shape[axis] = Size::constant(shape[axis].known().unwrap_or(1) / i64::from((*count).max(1)));
    }
    let is_whole = block.iter().any(|(axis, _)| shape[*axis as usize].is(1));
    lowering.in_blocks = is_whole;
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
            lowering.set(*root, ElementIndex::Linear(place), value);
            for memory in destinations(*root) {
                all.push(Write { memory, dtype: expr.tensor(*root).dtype, index: place, value });
            }
        } else {
            let mut at = aligned(&mut lowering, if is_whole { &shape } else { own }, &long);
            for ((axis, count), place) in place {
                let before_end = at.len() - (shape.len() - *axis as usize);
                let at = &mut at[before_end];
                let [count, place] = [*count, *place].map(|number| lowering.graph.u32(number));
                let first = lowering.graph.apply(TypedOp::IntMul, &[*at, count]);
                *at = lowering.graph.apply(TypedOp::IntAdd, &[first, place]);
            }
            if let TensorOp::SetSlice { starts, slot: Some(_) } = &expr.tensor(*root).op {
                part(&mut lowering, *root, &at, starts, destinations, &mut all)?;
                continue;
            }
            let value = lowering.computed(*root, &ElementIndex::Coordinates(at.clone()))?;
            lowering.set(*root, ElementIndex::Coordinates(at.clone()), value);
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
    let value = lowering.value(tensor.operands[1], ElementIndex::Coordinates(at.to_vec()))?;
    let mut places = Vec::with_capacity(at.len());
    for (coordinate, start) in at.iter().zip(starts) {
        let start = lowering.size(start);
        places.push(lowering.graph.apply(TypedOp::IntAdd, &[*coordinate, start]));
    }
    let index = lowering.linear_of(&places, &tensor.shape);
    writes.extend(destinations(id).into_iter().map(|memory| Write { memory, dtype: tensor.dtype, index, value }));
    Ok(())
}

/// A point by its position in C order, which of one axis is its coordinate.
fn flat(rank: usize, place: Id) -> ElementIndex {
    if rank == 1 { ElementIndex::Coordinates(vec![place]) } else { ElementIndex::Linear(place) }
}

/// Whether tensors that are computed point by point read each other only at the point where they are computed.
pub fn elements_read_each_other_in_place(
    expr: &Expr,
    stored: &[bool],
    roots: &[TensorId],
    block: &[u32],
) -> Result<bool> {
    let nowhere = |_: TensorId| Vec::new();
    let built = elements_of(expr, stored, roots, &nowhere, &whole(points(expr, roots[0]), block), false)?;
    Ok(built.reads_in_place(roots))
}
