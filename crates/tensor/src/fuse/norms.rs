//! Norms of one row that products alone read: each workgroup of a product normalises the row itself, since that takes less time than a dispatch.
//!
//! It holds for a decoder's token: a kernel of rows has one row, of which the product after it reads every element in every workgroup anyway.

use residua_base::list::Listed;

use super::build::Built;
use super::composed::Composed;
use super::packed::pack_results;
use crate::dtype::DType;
use crate::expr::TensorId;
use crate::kernel::{
    Body, Combine, Fold, Product, Rows, Store, TensorKernel, Tile, WORKGROUP_BYTES, WORKGROUP_THREADS,
};
use crate::lower::Memory;
use crate::scalar::{Id, TypedGraph, TypedNode, TypedOp};

/// Kernels between a norm and its product at most.
const REACH: usize = 8;

/// Joins norms with the products after them. `kept` tells which tensors are read elsewhere: by the caller, or by copies at the end of a run.
/// `scratch` counts pieces of scratch memory.
pub fn join_norms(
    mut built: Vec<Built>,
    most_buffers: u32,
    kept: &dyn Fn(TensorId) -> bool,
    scratch: &mut u32,
) -> Vec<Built> {
    let most = most_buffers as usize;
    let mut at = 0;
    while at < built.len() {
        let reader = reader_of(&built, at, kept);
        let mut found = reader.and_then(|reader| Some((reader, joined(&built[at], &built[reader])?)));
        if let Some((reader, of)) = &found
            && of.memories.len() == most + 1
            && pack_results(&mut built, *reader, kept, *scratch)
        {
            *scratch += 1;
            let reader = *reader;
            found = joined(&built[at], &built[reader]).map(|joined| (reader, joined));
        }
        let joined = found.filter(|(_, joined)| joined.memories.len() <= most);
        match joined {
            Some((reader, joined)) => {
                built[reader] = joined;
                built.remove(at);
            }
            None => at += 1,
        }
    }
    built
}

/// The only kernel that reads what a norm of one row writes, if nothing before it changes what the norm reads.
fn reader_of(built: &[Built], at: usize, kept: &dyn Fn(TensorId) -> bool) -> Option<usize> {
    let norm = &built[at];
    let (rows, _) = row_of(&norm.kernel)?;
    let memory = norm.memories[rows.elements[0].buffer as usize];
    let Memory::Tensor(id) = memory else { return None };
    let mut readers = (0..built.len()).filter(|other| *other != at && built[*other].memories.contains(&memory));
    let reader = readers.next().filter(|reader| (at + 1..=at + REACH).contains(reader))?;
    let is_written = |memory: &Memory| {
        let writes = |between: &Built| {
            between
                .memories
                .iter()
                .zip(&between.kernel.buffers)
                .any(|(other, buffer)| other == memory && buffer.written)
        };
        built[at + 1..=reader].iter().any(writes)
    };
    let is_alone = readers.next().is_none() && !kept(id) && !norm.memories.iter().any(is_written);
    is_alone.then_some(reader)
}

/// The body and the length of a kernel of one row that writes an f32 for each element and nothing else, from reductions that need no others.
fn row_of(kernel: &TensorKernel) -> Option<(&Rows, u32)> {
    let Body::Rows(rows) = &kernel.body else { return None };
    let ([extent], [store]) = (&rows.row[..], &rows.elements[..]) else { return None };
    let length = kernel.known(*extent)?;
    let is_one = rows.outer.iter().all(|extent| kernel.known(*extent) == Some(1));
    let depends = |fold: &Fold| {
        let needed = kernel.graph.needed(fold.operands.iter().copied());
        needed.into_iter().any(|id| matches!(kernel.graph.node(id), TypedNode::Folded { .. }))
    };
    let are_plain = rows.folds.iter().all(|fold| {
        !fold.merges_states && !fold.keeps_state && !matches!(fold.combine, Combine::By(_)) && !depends(fold)
    });
    let is_plain = kernel.guard.is_none() && rows.valid.is_none() && rows.results.is_empty();
    let is_single = kernel.buffers.iter().all(|buffer| buffer.dtype == DType::F32);
    let is_place = is_place(&kernel.graph, store.index, None, rows.outer.len() as u32);
    let fits =
        is_one && are_plain && is_plain && is_single && is_place && length >= Rows::SHORT && length.is_multiple_of(4);
    fits.then_some((rows, length))
}

/// Whether an index is that of an element of a row by its coordinate; the first row has index 0.
fn is_place(graph: &TypedGraph, index: Id, row: Option<u32>, axis: u32) -> bool {
    match graph.node(index) {
        TypedNode::Coordinate(of) => of == axis,
        TypedNode::Apply(TypedOp::IntAdd, [a, b, _]) => {
            let is_row = |id: Id| match graph.node(id) {
                TypedNode::Apply(TypedOp::IntMul, [a, b, _]) => {
                    [a, b].iter().any(|id| row.is_some_and(|row| graph.node(*id) == TypedNode::Coordinate(row)))
                }
                _ => false,
            };
            [(a, b), (b, a)].iter().any(|(a, b)| is_row(*a) && graph.node(*b) == TypedNode::Coordinate(axis))
        }
        _ => false,
    }
}

/// One kernel for a norm and a product.
fn joined(norm: &Built, product: &Built) -> Option<Built> {
    let (rows, length) = row_of(&norm.kernel)?;
    let products: &[Product] = match &product.kernel.body {
        Body::Product(product) => std::slice::from_ref(product),
        Body::Products(products) | Body::Sequence(products) => products,
        _ => return None,
    };
    let memory = norm.memories[rows.elements[0].buffer as usize];
    let buffer = product.memories.iter().position(|other| *other == memory)? as u32;
    let graph = &product.kernel.graph;
    let reads_row = |product: &Product| {
        let is_left = matches!(graph.node(product.left), TypedNode::Load { buffer: of, index } if of == buffer && is_place(graph, index, Some(0), 2));
        let roots = Store::roots(&product.elements).chain([product.right]);
        is_left && graph.loads(roots).iter().all(|(of, _)| *of != buffer)
    };
    let kernel = &product.kernel;
    let is_one = |product: &Product| {
        product.tile == Tile::Vector
            && product.batch.is_empty()
            && product.folds.is_empty()
            && kernel.known(product.rows) == Some(1)
            && kernel.known(product.depth) == Some(length)
    };
    let fits = 4 * length + reduction_bytes(kernel, &rows.folds, products) <= WORKGROUP_BYTES && kernel.guard.is_none();
    if !fits || !products.iter().all(|product| reads_row(product) && is_one(product)) {
        return None;
    }
    let mut composed = Composed::new(&kernel.sizes);
    let mut all = Vec::new();
    for one in products {
        let coordinates: Vec<Id> = (0..3).map(|axis| composed.graph.coordinate(axis)).list();
        let zero = composed.graph.u32(0);
        let of_norm = rows.outer.iter().map(|_| zero).chain([coordinates[2]]).list();
        composed.first_fold = 0;
        let mut roots: Vec<Id> = rows.folds.iter().flat_map(|fold| fold.operands.iter().copied()).list();
        roots.push(rows.elements[0].value);
        let mut copies = composed.copy(norm, &roots, &of_norm).into_iter();
        let mut folds = rows.folds.clone();
        for operand in folds.iter_mut().flat_map(|fold| &mut fold.operands) {
            *operand = copies.next().unwrap_or(*operand);
        }
        let left = copies.next()?;
        composed.first_fold = folds.len() as u32;
        let (right, elements) = composed.copy_with_stores(product, &[one.right], &one.elements, &coordinates);
        all.push(Product { folds, left, right: right[0], elements, ..one.clone() });
    }
    let body = match &kernel.body {
        Body::Products(_) => Body::Products(all),
        Body::Sequence(_) => Body::Sequence(all),
        _ => Body::Product(all.pop()?),
    };
    Some(composed.built(format!("{}_of_{}", kernel.name, norm.kernel.name), body))
}

/// Bytes that states of reductions and sums of products take of a workgroup's memory, for each thread: a vector where moments are kept and for each product,
/// else two words. Products have fewer threads if all read blocks.
fn reduction_bytes(kernel: &TensorKernel, folds: &[Fold], products: &[Product]) -> u32 {
    let is_in_blocks = |product: &Product| {
        kernel.graph.as_dequantized(product.right).is_some_and(|factor| {
            kernel.graph.is_in_blocks(&factor, 2, &kernel.sizes) && !kernel.buffers[factor.word.0 as usize].written
        })
    };
    let threads = if products.iter().all(is_in_blocks) { Product::BLOCK_THREADS } else { WORKGROUP_THREADS };
    let states = folds.iter().map(|fold| if matches!(fold.combine, Combine::Variance) { 16 } else { 8 });
    WORKGROUP_THREADS * states.sum::<u32>() + threads * 16 * products.len() as u32
}
