//! Addresses of kernels of the host, as strides.

use residua_base::error::Result;

use crate::scalar::{Graph, Id, Node, fold};

/// An address as a sum: the first element and the stride of each axis.
pub struct Strides {
    /// Of the first element.
    pub first: i64,
    /// From one coordinate of an axis to the next.
    pub of_axes: Vec<i64>,
}

/// The strides of an address that is a sum of multiples of coordinates, that of the last axis for so many places.
pub fn strides(graph: &Graph, index: Id, words: &[u32], axes: usize, step: u32) -> Result<Strides> {
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

/// The value of an address at a point.
fn evaluate(graph: &Graph, root: Id, words: &[u32], at: &[u32]) -> Result<u32> {
    let mut values: Vec<u32> = Vec::with_capacity(root.index() + 1);
    for id in graph.ids().take(root.index() + 1) {
        values.push(match graph.node(id) {
            Node::Literal(_, bits) => bits,
            Node::Coordinate(axis) => at.get(axis as usize).copied().unwrap_or_default(),
            Node::Size(word) => words[word as usize],
            // What an address does not need has any value.
            Node::Load { .. } | Node::Folded { .. } => 0,
            Node::Apply(op, operands) => {
                let types = operands.map(|operand| graph.ty(operand));
                fold(op, types, operands.map(|operand| values[operand.index()])).unwrap_or_default()
            }
        });
    }
    Ok(values[root.index()])
}
