//! Results of products of one row that one kernel reads together, as the keys and values of attention: they share a piece of memory where a kernel has no
//! buffers left for what it is to contain.

use residua_base::list::Listed;

use super::build::Built;
use super::composed::{Composed, Move};
use crate::dtype::DType;
use crate::expr::TensorId;
use crate::kernel::Body;
use crate::lower::Memory;

/// Gives two results of a kernel of products one piece of scratch memory of this number, if they have one reader, a map, and no other. `kept` tells which
/// tensors are read elsewhere.
pub fn pack_results(built: &mut [Built], writer: usize, kept: &dyn Fn(TensorId) -> bool, scratch: u32) -> bool {
    let found = pair(built, writer, kept);
    let Some(([first, second], length, reader)) = found else { return false };
    let to = Memory::Scratch(scratch);
    let moves = [Move { from: first, to, distance: 0 }, Move { from: second, to, distance: length }];
    let both = [writer, reader].map(|at| moved(&built[at], &moves));
    let [Some(of_writer), Some(of_reader)] = both else { return false };
    (built[writer], built[reader]) = (of_writer, of_reader);
    true
}

/// Two results of a kernel with one reader, the length of the first, and the reader.
fn pair(built: &[Built], writer: usize, kept: &dyn Fn(TensorId) -> bool) -> Option<([Memory; 2], u32, usize)> {
    let Built { kernel, memories, .. } = &built[writer];
    let Body::Products(products) = &kernel.body else { return None };
    let mut results: Vec<(Memory, u32, usize)> = Vec::new();
    for product in products {
        let [store] = &product.elements[..] else { continue };
        let memory = memories[store.buffer as usize];
        let length = kernel.known(product.columns)?;
        let Memory::Tensor(id) = memory else { continue };
        let mut users = (0..built.len()).filter(|at| *at != writer && built[*at].memories.contains(&memory));
        let (Some(reader), None) = (users.next(), users.next()) else { continue };
        let is_read = |at: usize| {
            let Built { kernel, memories, .. } = &built[at];
            let is_map = matches!(kernel.body, Body::Elements(_) | Body::Maps(_));
            is_map && memories.iter().zip(&kernel.buffers).all(|(of, buffer)| *of != memory || !buffer.written)
        };
        let is_single = kernel.buffers[store.buffer as usize].dtype == DType::F32;
        let is_row = product.batch.is_empty() && kernel.known(product.rows) == Some(1) && length.is_multiple_of(4);
        if is_single && is_row && reader > writer && is_read(reader) && !kept(id) {
            results.push((memory, length, reader));
        }
    }
    let of_first = |(at, one): (usize, &(Memory, u32, usize))| {
        let other = results[at + 1..].iter().find(|other| other.2 == one.2)?;
        Some(([one.0, other.0], one.1, one.2))
    };
    results.iter().enumerate().find_map(of_first)
}

/// A kernel of products or a map whose memory stands elsewhere.
fn moved(built: &Built, moves: &[Move]) -> Option<Built> {
    let mut composed = Composed::new(&built.kernel.sizes);
    composed.moves = moves.to_vec();
    let body = match &built.kernel.body {
        Body::Products(products) => {
            Body::Products(products.iter().map(|product| composed.product(built, product)).list())
        }
        Body::Elements(elements) => Body::Elements(composed.elements(built, elements)),
        Body::Maps(maps) => Body::Maps(maps.iter().map(|elements| composed.elements(built, elements)).list()),
        _ => return None,
    };
    let mut moved = composed.built(built.kernel.name.clone(), body);
    moved.kernel.guard.clone_from(&built.kernel.guard);
    Some(moved)
}
