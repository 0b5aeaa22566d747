//! Products of one left factor with several right ones, as the queries, keys and values of attention: one dispatch computes them side by side.
//!
//! Products with few rows take little longer than their dispatch. Those with many rows keep a device busy by themselves and stay apart.
//!
//! What writes a part of a slot runs side by side with another map that reads something of the same, or that is as short: rotated queries beside keys and
//! values.
//!
//! Two products of the same extents, where what follows one is computed from the same element of the other, as of a gate, run one after the
//! other in each workgroup.

use super::build::Built;
use super::composed::Composed;
use crate::kernel::{Body, Elements, Product, Store, TensorKernel, Tile};
use crate::scalar::{Id, TypedNode};
use residua_base::list::Listed;

/// Most products of a dispatch: each has workgroup memory of its own.
const MOST_PRODUCTS: usize = 4;

/// Kernels between two siblings at most, so that few are looked at.
const REACH: usize = 24;

/// Most points of maps that run side by side though they read nothing in common: a dispatch takes longer than they do.
const SHORT: u64 = 1 << 16;

/// Joins siblings of a run in one kernel, at the place of the first of them.
pub fn join_siblings(mut built: Vec<Built>, most_buffers: u32) -> Vec<Built> {
    let mut first = 0;
    while first < built.len() {
        let mut other = first + 1;
        while other < built.len().min(first + REACH) {
            let joined = if can_move(&built, first, other) { joined(&built[first], &built[other]) } else { None };
            let joined = joined.or_else(|| sequence(&built, first, other));
            match joined.filter(|joined| joined.memories.len() <= most_buffers as usize) {
                Some(joined) => {
                    built[first] = joined;
                    built.remove(other);
                }
                None => other += 1,
            }
        }
        first += 1;
    }
    join_maps(built, most_buffers)
}

/// Joins maps with what writes parts of slots, at the place of the later one.
fn join_maps(mut built: Vec<Built>, most_buffers: u32) -> Vec<Built> {
    let mut first = 0;
    while first < built.len() {
        let others = first + 1..built.len().min(first + REACH);
        let found = others.into_iter().find_map(|other| {
            let joined = maps(&built, first, other).filter(|joined| joined.memories.len() <= most_buffers as usize);
            Some((other, joined?))
        });
        match found {
            Some((other, joined)) => {
                built[other] = joined;
                built.remove(first);
            }
            None => first += 1,
        }
    }
    built
}

/// Whether a kernel may run at the place of an earlier one: none between them, nor that one, writes what it reads or writes, or reads what it writes.
fn can_move(built: &[Built], first: usize, other: usize) -> bool {
    built[first..other].iter().all(|between| !conflicts(between, &built[other]))
}

fn conflicts(a: &Built, b: &Built) -> bool {
    if let (Some(guard), Some(other)) = (&a.kernel.guard, &b.kernel.guard)
        && guard.excludes(other)
    {
        return false;
    }
    let of_b = |memory| b.memories.iter().position(|other| other == memory);
    a.memories.iter().zip(&a.kernel.buffers).any(|(memory, buffer)| {
        of_b(memory).is_some_and(|position| buffer.written || b.kernel.buffers[position].written)
    })
}

/// One kernel for two, if they are siblings.
fn joined(a: &Built, b: &Built) -> Option<Built> {
    let (of_a, of_b) = (products(a)?, products(b)?);
    if a.kernel.guard != b.kernel.guard || of_a.len() + of_b.len() > MOST_PRODUCTS {
        return None;
    }
    let mut composed = Composed::new(&a.kernel.sizes);
    let mut all: Vec<Product> = Vec::new();
    for (built, products) in [(a, of_a), (b, of_b)] {
        all.extend(products.iter().map(|product| composed.product(built, product)));
    }
    let is_sibling = |other: &Product| {
        let Product { left, rows, depth, batch, .. } = &all[0];
        (left, rows, depth, batch) == (&other.left, &other.rows, &other.depth, &other.batch)
    };
    if !all.iter().all(is_sibling) {
        return None;
    }
    let name = format!("{}_and_{}", a.kernel.name, b.kernel.name);
    let mut built = composed.built(name, Body::Products(all));
    built.kernel.guard = a.kernel.guard.clone();
    Some(built)
}

/// One kernel for two maps that read something in common, of which one writes a part of a slot.
fn maps(built: &[Built], first: usize, other: usize) -> Option<Built> {
    let (a, b) = (&built[first], &built[other]);
    let (of_a, of_b) = (elements(a)?, elements(b)?);
    let all_fill = of_a.iter().chain(of_b).all(|elements| elements.fills);
    let is_short = |built: &Built, maps: &[Elements]| {
        let points = |map: &Elements| {
            let extents = map.space.iter().map(|extent| built.kernel.bound(*extent).map(u64::from));
            extents.reduce(|a, b| Some(a?.saturating_mul(b?))).flatten()
        };
        maps.iter().all(|map| points(map).is_some_and(|points| points <= SHORT))
    };
    let shares = a.memories.iter().any(|memory| b.memories.contains(memory)) || is_short(a, of_a) && is_short(b, of_b);
    let can_wait = !built[first + 1..=other].iter().any(|later| conflicts(a, later));
    if all_fill || !shares || a.kernel.guard != b.kernel.guard || !can_wait {
        return None;
    }
    let mut composed = Composed::new(&a.kernel.sizes);
    let mut all = Vec::new();
    for (built, maps) in [(a, of_a), (b, of_b)] {
        all.extend(maps.iter().map(|elements| composed.elements(built, elements)));
    }
    let mut both = composed.built(format!("{}_and_{}", a.kernel.name, b.kernel.name), Body::Maps(all));
    both.kernel.guard.clone_from(&a.kernel.guard);
    Some(both)
}

/// The spaces of a kernel of maps.
fn elements(built: &Built) -> Option<&[Elements]> {
    match &built.kernel.body {
        Body::Elements(elements) => Some(std::slice::from_ref(elements)),
        Body::Maps(maps) => Some(maps),
        _ => None,
    }
}

/// One kernel for two products of the same extents, if nothing but the first is needed before the second.
fn sequence(built: &[Built], first: usize, other: usize) -> Option<Built> {
    let (a, b) = (&built[first], &built[other]);
    if !matches!((&a.kernel.body, &b.kernel.body), (Body::Product(_), Body::Product(_))) {
        return None;
    }
    if built[first + 1..other].iter().any(|between| conflicts(between, b)) {
        return None;
    }
    let mut both = joined(a, b)?;
    let Body::Products(products) = std::mem::replace(&mut both.kernel.body, Body::Products(Vec::new())) else {
        return None;
    };
    let [one, two] = &products[..] else { return None };
    let graph = &both.kernel.graph;
    let is_alike = one.columns == two.columns && are_alike(&both.kernel, one.right, two.right);
    // What the first writes is read by the second at the same element alone, and never as a factor, and nothing else is written twice or read
    // before it is written.
    let stores = |product: &Product| product.elements.iter().map(|store| (store.buffer, store.index)).list();
    let (of_one, of_two) = (stores(one), stores(two));
    let reads = |roots: &[Id]| graph.loads(roots.iter().copied());
    let results = |product: &Product| Store::roots(&product.elements).list();
    let is_written = |stores: &[(u32, Id)], buffer: u32| stores.iter().any(|(other, _)| *other == buffer);
    let factors = reads(&[one.left, one.right, two.right]);
    let fits = of_two.iter().all(|(buffer, _)| !is_written(&of_one, *buffer))
        && reads(&results(two)).iter().all(|read| !is_written(&of_one, read.0) || of_one.contains(read))
        && reads(&results(one)).iter().all(|read| !is_written(&of_two, read.0))
        && factors.iter().all(|read| !is_written(&of_one, read.0) && !is_written(&of_two, read.0));
    if !is_alike || !fits {
        return None;
    }
    both.kernel.name = format!("{}_then_{}", a.kernel.name, b.kernel.name);
    both.kernel.body = Body::Sequence(products);
    Some(both)
}

/// Whether two values are computed alike from buffers of the same types, at the same places.
fn are_alike(kernel: &TensorKernel, a: Id, b: Id) -> bool {
    let graph = &kernel.graph;
    match (graph.node(a), graph.node(b)) {
        (TypedNode::Load { buffer, index }, TypedNode::Load { buffer: other, index: place }) => {
            let dtype = |buffer: u32| kernel.buffers[buffer as usize].dtype;
            dtype(buffer) == dtype(other) && are_alike(kernel, index, place)
        }
        (TypedNode::Apply(op, _), TypedNode::Apply(other, _)) => {
            op == other && graph.operands(a).into_iter().zip(graph.operands(b)).all(|(a, b)| are_alike(kernel, a, b))
        }
        _ => a == b,
    }
}

/// The products of a kernel whose tile is for few rows.
fn products(built: &Built) -> Option<&[Product]> {
    match &built.kernel.body {
        Body::Product(product) => {
            let is_few = built.kernel.bound(product.rows).is_some_and(|rows| rows <= Tile::MOST_ROWS);
            (product.tile == Tile::Vector && is_few).then_some(std::slice::from_ref(product))
        }
        Body::Products(products) => Some(products),
        _ => None,
    }
}
