//! Kernels that put elements at places that numbers say.
//!
//! Each element of the result goes through all sources that may be put there, in order, and combines those whose index names it: no atomic
//! operations, and a fixed order of every sum. The work is elements times sources along the axis.

use residua_base::error::{Error, Result};
use residua_ir::graph::Op as Real;

use super::build::{Buffers, Built, Destinations, coordinates, extents, roots_of, writes};
use crate::expr::{Combine as How, Expr, TensorId, TensorOp};
use crate::kernel::{Body, Combine, Extent, Fold, Rows};
use crate::lower::merge::{Merged, merge};
use crate::lower::{ElementIndex, Lowering};
use crate::scalar::{Type, TypedOp};

/// The kernel of a scatter.
pub fn scatter(expr: &Expr, stored: &[bool], id: TensorId, destinations: Destinations) -> Result<Built> {
    let mut lowering = Lowering::of(expr, stored);
    let tensor = expr.tensor(id);
    let (axis, how, of_elements) = match tensor.op {
        TensorOp::Scatter(axis, how) => (axis as usize, how, true),
        TensorOp::IndexPut(axis, how) => (axis as usize, how, false),
        _ => return Err(Error::internal("an operation that is no scatter")),
    };
    let [base, indices, source] = tensor.operands[..] else {
        return Err(Error::internal("a scatter without three operands"));
    };
    let shape = &tensor.shape;
    let (at, outer) = coordinates(&mut lowering, shape, 0);
    let own = at[axis];
    let along = lowering.graph.coordinate(outer.len() as u32);
    let source_shape = &expr.tensor(source).shape;
    // The point of the source, and whether it is within it: it may be smaller than the result.
    let mut from = at.clone();
    from[axis] = along;
    let mut is_here = lowering.graph.bool(true);
    for (place, (extent, whole)) in source_shape.iter().zip(shape).enumerate() {
        if place == axis || extent == whole {
            continue;
        }
        let extent = lowering.size(extent);
        let zero = lowering.graph.u32(0);
        let within = lowering.graph.apply(TypedOp::Lt, &[from[place], extent]);
        from[place] = lowering.graph.apply(TypedOp::Select, &[within, from[place], zero]);
        is_here = lowering.graph.apply(TypedOp::And, &[is_here, within]);
    }
    let index_at = if of_elements { from.clone() } else { vec![along] };
    let index = lowering.value(indices, ElementIndex::Coordinates(index_at))?;
    let extent = lowering.size(&shape[axis]);
    let (place, within) = lowering.place(index, extent);
    let is_own = lowering.graph.apply(TypedOp::Eq, &[place, own]);
    is_here = lowering.graph.apply(TypedOp::And, &[is_here, within]);
    is_here = lowering.graph.apply(TypedOp::And, &[is_here, is_own]);
    let ty = Type::of(tensor.dtype);
    let (combine, operand) = match how {
        How::Set => {
            // One more than the place of the last source, and 0 if there is none.
            let (zero, one) = (lowering.graph.u32(0), lowering.graph.u32(1));
            let number = lowering.graph.apply(TypedOp::IntAdd, &[along, one]);
            (Combine::Max, lowering.graph.apply(TypedOp::Select, &[is_here, number, zero]))
        }
        How::Add | How::Mul | How::Min | How::Max => {
            let value = lowering.value(source, ElementIndex::Coordinates(from.clone()))?;
            let combine = combine_of(how, ty);
            let nothing = lowering.graph.literal(ty, combine.identity(ty)[0]);
            (combine, lowering.graph.apply(TypedOp::Select, &[is_here, value, nothing]))
        }
    };
    let before = lowering.value(base, ElementIndex::Coordinates(at.clone()))?;
    let value = match how {
        How::Set => {
            let number = lowering.graph.folded(0, 0, Type::U32);
            let (zero, one) = (lowering.graph.u32(0), lowering.graph.u32(1));
            let is_none = lowering.graph.apply(TypedOp::Eq, &[number, zero]);
            let last = lowering.graph.apply(TypedOp::IntSub, &[number, one]);
            from[axis] = lowering.graph.apply(TypedOp::Select, &[is_none, zero, last]);
            let value = lowering.value(source, ElementIndex::Coordinates(from))?;
            lowering.graph.apply(TypedOp::Select, &[is_none, before, value])
        }
        How::Add | How::Mul | How::Min | How::Max => {
            let folded = lowering.graph.folded(0, 0, ty);
            let merged = lowering.graph.apply(merge_of(how, ty), &[before, folded]);
            lowering.kept(merged, tensor.dtype)
        }
    };
    let mut all = Vec::new();
    writes(&mut lowering, id, &at, value, destinations, &mut all);
    let mut roots = vec![operand];
    roots.extend(roots_of(&all));
    let groups = [outer, vec![source_shape[axis].clone()]];
    let Merged { graph, mut sizes, groups, roots } = merge(&lowering.graph, &lowering.sizes, &groups, &roots);
    let mut buffers = Buffers::of(&lowering);
    let results = buffers.stores(&all, &roots[1..]);
    let outer: Vec<Extent> = extents(&groups[0], &mut sizes);
    let row = extents(&groups[1], &mut sizes);
    let fold = Fold { combine, operands: vec![roots[0]], merges_states: false, keeps_state: false };
    let rows = Rows { outer, row, valid: None, folds: vec![fold], elements: Vec::new(), results };
    Ok(buffers.built("scatter".to_owned(), sizes, graph, Body::Rows(rows)))
}

fn combine_of(how: How, ty: Type) -> Combine {
    match how {
        How::Add if ty == Type::F32 => Combine::Sum,
        How::Add => Combine::PlainSum,
        How::Mul => Combine::Prod,
        How::Min => Combine::Min,
        How::Max | How::Set => Combine::Max,
    }
}

fn merge_of(how: How, ty: Type) -> TypedOp {
    let is_real = ty == Type::F32;
    match (how, ty) {
        (How::Add, _) if is_real => TypedOp::Real(Real::Add),
        (How::Add, _) => TypedOp::IntAdd,
        (How::Mul, _) if is_real => TypedOp::Real(Real::Mul),
        (How::Mul, _) => TypedOp::IntMul,
        (How::Min, Type::Bool) => TypedOp::And,
        (How::Max | How::Set, Type::Bool) => TypedOp::Or,
        (How::Min, _) if is_real => TypedOp::Real(Real::Min),
        (How::Min, _) => TypedOp::IntMin,
        (How::Max | How::Set, _) if is_real => TypedOp::Real(Real::Max),
        (How::Max | How::Set, _) => TypedOp::IntMax,
    }
}
