//! Products of one left factor with several right ones, as the queries, keys and values of attention: one dispatch computes them side by side.
//!
//! Products with few rows take little longer than their dispatch. Those with many rows keep a device busy by themselves and stay apart.

use super::build::Built;
use super::part::Part;
use crate::kernel::{Body, Extent, Product, Store, Tile};
use crate::scalar::Id;

/// Most products of a dispatch: each has workgroup memory of its own.
const MOST_PRODUCTS: usize = 4;

/// Kernels between two siblings at most, so that few are looked at.
const REACH: usize = 24;

/// Joins siblings of a run in one kernel, at the place of the first of them.
pub fn join_siblings(mut built: Vec<Built>, most_buffers: u32) -> Vec<Built> {
    let mut first = 0;
    while first < built.len() {
        let mut other = first + 1;
        while other < built.len().min(first + REACH) {
            let joined = if can_move(&built, first, other) { joined(&built[first], &built[other]) } else { None };
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
    built
}

/// Whether a kernel may run at the place of an earlier one: none between them, nor that one, writes what it reads or writes, or reads what it writes.
fn can_move(built: &[Built], first: usize, other: usize) -> bool {
    built[first..other].iter().all(|between| !conflicts(between, &built[other]))
}

fn conflicts(a: &Built, b: &Built) -> bool {
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
    let mut part = Part::new(&a.kernel.sizes);
    let mut all: Vec<Product> = Vec::new();
    for (built, products) in [(a, of_a), (b, of_b)] {
        let words: Vec<u32> = built.kernel.sizes.iter().map(|size| part.word(size)).collect();
        for product in products {
            all.push(copied(&mut part, built, &words, product));
        }
    }
    let is_sibling = |other: &Product| {
        let Product { left, rows, depth, batch, .. } = &all[0];
        (left, rows, depth, batch) == (&other.left, &other.rows, &other.depth, &other.batch)
    };
    if !all.iter().all(is_sibling) {
        return None;
    }
    let name = format!("{}_and_{}", a.kernel.name, b.kernel.name);
    let mut built = part.built(name, Body::Products(all));
    built.kernel.guard = a.kernel.guard.clone();
    Some(built)
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

/// A product in another kernel.
fn copied(part: &mut Part, built: &Built, words: &[u32], product: &Product) -> Product {
    let extent = |extent: Extent| match extent {
        Extent::Known(number) => Extent::Known(number),
        Extent::Word(word) => Extent::Word(words[word as usize]),
    };
    let coordinates: Vec<Id> = (0..product.batch.len() as u32 + 3).map(|axis| part.graph.coordinate(axis)).collect();
    let mut roots = vec![product.left, product.right];
    roots.extend(product.elements.iter().flat_map(|store| [store.index, store.value]));
    let mut copies = part.copy(built, Some(words), &roots, &coordinates).into_iter();
    let mut next = |old: Id| copies.next().unwrap_or(old);
    let (left, right) = (next(product.left), next(product.right));
    let stores = product.elements.iter().map(|store| {
        let position = store.buffer as usize;
        let buffer = part.buffer(built.memories[position], built.kernel.buffers[position]);
        Store { buffer, index: next(store.index), value: next(store.value) }
    });
    let elements = stores.collect();
    Product {
        batch: product.batch.iter().copied().map(extent).collect(),
        rows: extent(product.rows),
        columns: extent(product.columns),
        depth: extent(product.depth),
        left,
        right,
        elements,
        tile: product.tile,
    }
}
