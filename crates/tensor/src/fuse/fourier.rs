//! Kernels of Fourier transforms, with what is computed from their results.

use residua_base::error::{Error, Result};

use super::build::{Buffers, Built, Destinations, computed, coordinates, extents, long_axes, name, roots_of, writes};
use crate::dtype::DType;
use crate::expr::{Expr, TensorId, TensorOp};
use crate::kernel::{Body, Fourier};
use crate::lower::merge::{Merged, merge};
use crate::lower::{ElementIndex, Lowering, Memory};
use crate::scalar::{Id, Type};
use crate::size::Size;

/// The kernel of a transform, and of what is computed for each number of the result.
pub fn fourier(
    expr: &Expr,
    stored: &[bool],
    id: TensorId,
    elements: &[TensorId],
    destinations: Destinations,
    is_host: bool,
) -> Result<Built> {
    let tensor = expr.tensor(id);
    let TensorOp::Fourier(of) = tensor.op else { return Err(Error::internal("a group of a transform without one")) };
    let mut lowering = Lowering::of(expr, stored);
    let shape = expr.shape(tensor.operands[0]);
    let (at, outer) = coordinates(&mut lowering, &of.others(shape), 0);
    let first = outer.len() as u32;
    let zero = lowering.graph.u32(0);
    let [place, frequency] = [(0, of.taken()), (1, of.given())].map(|(axis, extent)| match extent {
        1 => zero,
        _ => lowering.graph.coordinate(first + axis),
    });
    let mut point = at.clone();
    point.insert(of.axis as usize, place);
    let mut parts = Vec::new();
    for operand in &tensor.operands {
        parts.push(lowering.value(*operand, ElementIndex::Coordinates(point.clone()))?);
    }
    let mut point: Vec<Id> = at;
    point.insert(of.to as usize, frequency);
    // The writes of real parts, of imaginary ones, and of what has no parts.
    let mut all = [Vec::new(), Vec::new(), Vec::new()];
    let mut points = Vec::new();
    for (part, writes_of_part) in all.iter_mut().enumerate().take(if of.is_complex() { 2 } else { 1 }) {
        let value = lowering.graph.folded(0, part as u32, Type::F32);
        let mut at = point.clone();
        if of.is_complex() {
            at.push(lowering.graph.u32(part as u32));
        }
        lowering.set(id, ElementIndex::Coordinates(at.clone()), value);
        writes(&mut lowering, id, &at, value, destinations, writes_of_part);
        points.push(at);
    }
    for element in elements {
        if of.is_complex() && has_parts(expr, id, *element) {
            for (at, writes_of_part) in points.iter().zip(&mut all) {
                let long = long_axes(&tensor.shape, at);
                computed(&mut lowering, &[*element], &long, destinations, writes_of_part)?;
            }
        } else {
            let long = long_axes(&tensor.shape[..point.len()], &point);
            computed(&mut lowering, &[*element], &long, destinations, &mut all[2])?;
        }
    }
    let [reals, imaginaries, others] = all;
    let pairs = imaginaries.len();
    let mut all = Vec::new();
    let mut imaginaries = imaginaries.into_iter();
    for real in reals {
        all.push(real);
        all.extend(imaginaries.next());
    }
    all.extend(others);
    // A device reads roots from memory, unless there are none.
    let roots = (!is_host && of.length > 2).then(|| lowering.buffer(Memory::Roots(of.length), DType::F32));
    let along = [of.taken(), of.given()].map(|extent| vec![Size::constant(i64::from(extent))]);
    let groups = [vec![outer], along.to_vec()].concat();
    let count = parts.len();
    let kept = [parts, roots_of(&all)].concat();
    let Merged { graph, mut sizes, groups, roots: kept } = merge(&lowering.graph, &lowering.sizes, &groups, &kept);
    let mut buffers = Buffers::of(&lowering);
    let elements_of_points = buffers.stores(&all, &kept[count..]);
    // Axes of extent 1 are no matter.
    let is_row = |axis: u32| shape[axis as usize + 1..].iter().all(|extent| extent.is(1));
    let body = Body::Fourier(Fourier {
        outer: extents(&groups[0], &mut sizes),
        of,
        re: kept[0],
        im: kept.get(1).copied().filter(|_| count == 2),
        has_pairs: are_parts(expr, stored, &tensor.operands),
        elements: elements_of_points,
        pairs,
        roots,
        reads_rows: is_row(of.axis),
        writes_rows: of.others(shape)[of.to as usize..].iter().all(|extent| extent.is(1)),
    });
    Ok(buffers.built(name(expr, stored, "fourier", &[elements, &[id]].concat()), sizes, graph, body))
}

/// Whether two tensors are the real and the imaginary parts of memory that has both along a last axis.
fn are_parts(expr: &Expr, stored: &[bool], operands: &[TensorId]) -> bool {
    let of = |operand: TensorId, part: i64| -> Option<TensorId> {
        let reshape = expr.tensor(operand);
        let slice = expr.tensor(*reshape.operands.first()?);
        let pairs = *slice.operands.first()?;
        let TensorOp::Slice { starts, .. } = &slice.op else { return None };
        let last = slice.shape.len() - 1;
        let is_part = starts[..last].iter().all(|start| start.is(0))
            && starts[last] == Size::constant(part)
            && slice.shape[..last] == expr.shape(pairs)[..last]
            && reshape.shape[..] == slice.shape[..last]
            && expr.shape(pairs)[last] == Size::constant(2);
        (reshape.op == TensorOp::Reshape && is_part && stored[pairs.0 as usize]).then_some(pairs)
    };
    match operands {
        [re, im] => {
            of(*re, 0).is_some_and(|pairs| of(*im, 1) == Some(pairs))
                && !operands.iter().any(|operand| stored[operand.0 as usize])
        }
        _ => false,
    }
}

/// Whether what is computed from a transform has both parts along a last axis, as the transform has.
fn has_parts(expr: &Expr, fourier: TensorId, element: TensorId) -> bool {
    let long = |id: TensorId| super::group::without_ones(expr.shape(id));
    long(fourier) == long(element)
}

/// Whether a shape is that of the result of a transform, or of a part of it.
pub fn is_of_results(expr: &Expr, fourier: TensorId, element: TensorId) -> bool {
    let shape = expr.shape(fourier);
    let is_complex = matches!(expr.tensor(fourier).op, TensorOp::Fourier(of) if of.is_complex());
    let own = super::group::without_ones(expr.shape(element));
    has_parts(expr, fourier, element) || is_complex && own == super::group::without_ones(&shape[..shape.len() - 1])
}

/// Whether what is computed from a transform reads each number where it is found.
pub fn reads_itself_in_place(expr: &Expr, stored: &[bool], id: TensorId, elements: &[TensorId]) -> Result<bool> {
    let nowhere = |_: TensorId| Vec::new();
    let built = fourier(expr, stored, id, elements, &nowhere, false)?;
    Ok(built.reads_in_place(&[elements, &[id]].concat()))
}
