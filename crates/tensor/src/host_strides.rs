//! Addresses of kernels of the host, as strides.

use residua_base::error::Result;
use residua_base::list::Listed;

use crate::scalar::{Id, TypedGraph, TypedNode, TypedOp, fold};

/// An address as a sum: the first element and the stride of each axis.
pub struct Strides {
    /// Of the first element.
    pub first: i64,
    /// From one coordinate of an axis to the next.
    pub of_axes: Vec<i64>,
}

/// The strides of an address that is a sum of multiples of coordinates, that of the last axis for so many places.
pub fn strides(graph: &TypedGraph, index: Id, words: &[u32], axes: usize, step: u32) -> Result<Strides> {
    let mut at = vec![0u32; axes];
    let origin = evaluate(graph, index, words, &at)?;
    let mut of_axes = Vec::with_capacity(axes);
    for axis in 0..axes {
        at[axis] = if axis == axes - 1 { step } else { 1 };
        of_axes.push(i64::from(evaluate(graph, index, words, &at)?.wrapping_sub(origin) as i32));
        at[axis] = 0;
    }
    Ok(Strides { first: i64::from(origin), of_axes })
}

/// Whether an address is a multiple of a coordinate, besides what does not depend on it.
pub fn is_linear(graph: &TypedGraph, index: Id, axis: usize) -> bool {
    varying(graph, index, axis).into_iter().all(|id| match graph.node(id) {
        TypedNode::Apply(op, _) => matches!(op, TypedOp::IntAdd | TypedOp::IntSub | TypedOp::IntMul),
        _ => true,
    })
}

/// How much further than its first place each of so many places of an axis is.
pub fn places(
    graph: &TypedGraph,
    index: Id,
    words: &[u32],
    axes: usize,
    axis: usize,
    extent: usize,
) -> Result<Vec<u32>> {
    let mut at = vec![0u32; axes];
    let mut values = evaluated(graph, index, words, &at);
    let origin = values[index.index()];
    let varying = varying(graph, index, axis);
    Ok((0..extent)
        .map(|place| {
            at[axis] = place as u32;
            for id in &varying {
                values[id.index()] = value(graph, *id, words, &at, &values);
            }
            values[index.index()].wrapping_sub(origin)
        })
        .list())
}

/// What of an address depends on the coordinate of an axis, operands first.
fn varying(graph: &TypedGraph, index: Id, axis: usize) -> Vec<Id> {
    let mut varies = vec![false; index.index() + 1];
    let needed = graph.needed([index]);
    for id in &needed {
        varies[id.index()] = match graph.node(*id) {
            TypedNode::Coordinate(of) => of as usize == axis,
            TypedNode::Apply(_, operands) => operands.iter().any(|operand| varies[operand.index()]),
            TypedNode::Literal(..) | TypedNode::Size(_) | TypedNode::Load { .. } | TypedNode::Folded { .. } => false,
        };
    }
    needed.into_iter().filter(|id| varies[id.index()]).list()
}

/// The value of an address at a point.
fn evaluate(graph: &TypedGraph, root: Id, words: &[u32], at: &[u32]) -> Result<u32> {
    Ok(evaluated(graph, root, words, at)[root.index()])
}

/// The values of all nodes up to one.
fn evaluated(graph: &TypedGraph, root: Id, words: &[u32], at: &[u32]) -> Vec<u32> {
    let mut values: Vec<u32> = Vec::with_capacity(root.index() + 1);
    for id in graph.ids().take(root.index() + 1) {
        values.push(value(graph, id, words, at, &values));
    }
    values
}

/// The value of a node of those of its operands.
fn value(graph: &TypedGraph, id: Id, words: &[u32], at: &[u32], values: &[u32]) -> u32 {
    match graph.node(id) {
        TypedNode::Literal(_, bits) => bits,
        TypedNode::Coordinate(axis) => at.get(axis as usize).copied().unwrap_or_default(),
        TypedNode::Size(word) => words[word as usize],
        // What an address does not need has any value.
        TypedNode::Load { .. } | TypedNode::Folded { .. } => 0,
        TypedNode::Apply(op, operands) => {
            let types = operands.map(|operand| graph.ty(operand));
            fold(op, types, operands.map(|operand| values[operand.index()])).unwrap_or_default()
        }
    }
}
