//! Kernels of matrix products, with what is computed from each element.

use residua_base::error::Result;
use residua_base::list::Listed;

use super::build::{
    Buffers, Built, Destinations, computed, coordinates, extent, extents, long_axes, name, roots_of, writes,
};
use crate::expr::{Expr, TensorId};
use crate::kernel::{Body, Extent, Product, Tile};
use crate::lower::merge::{Merged, merge};
use crate::lower::{ElementIndex, Lowering};
use crate::scalar::{Id, Type};

/// The kernel of a product and of elementwise operations on its result.
pub fn product(
    expr: &Expr,
    stored: &[bool],
    product: TensorId,
    elements: &[TensorId],
    destinations: Destinations,
) -> Result<Built> {
    let mut lowering = Lowering::of(expr, stored);
    let tensor = expr.tensor(product);
    let rank = tensor.shape.len();
    let (left, right) = (tensor.operands[0], tensor.operands[1]);
    let depth = expr.tensor(left).shape.last().cloned().unwrap_or_default();
    let (at, mut axes) = coordinates(&mut lowering, &tensor.shape, 0);
    // Row, column and depth have coordinates of their own even where they are 1.
    let batch: Vec<Id> = at[..rank - 2].to_vec();
    axes.truncate(long_axes(&tensor.shape[..rank - 2], &batch).len());
    let first = axes.len() as u32;
    let own = |lowering: &mut Lowering, axis: u32| lowering.graph.coordinate(first + axis);
    let (row, column, along) = (own(&mut lowering, 0), own(&mut lowering, 1), own(&mut lowering, 2));
    let operand = |lowering: &mut Lowering, id: TensorId, last: [Id; 2]| {
        let shape = &expr.tensor(id).shape;
        let own = shape.len() - 2;
        let zero = lowering.graph.u32(0);
        let skipped = batch.len() - own;
        let mut coordinates: Vec<Id> =
            (0..own).map(|axis| if shape[axis].is(1) { zero } else { batch[skipped + axis] }).list();
        coordinates.extend(last);
        lowering.value(id, ElementIndex::Coordinates(coordinates))
    };
    let left = operand(&mut lowering, left, [row, along])?;
    let right = operand(&mut lowering, right, [along, column])?;
    let ty = Type::of(tensor.dtype);
    let folded = lowering.graph.folded(0, 0, ty);
    let folded = lowering.kept(folded, tensor.dtype);
    // Of one row all kernels name the elements alike, so that siblings find what others write.
    let zero = lowering.graph.u32(0);
    let mut place = batch.clone();
    place.extend([if tensor.shape[rank - 2].is(1) { zero } else { row }, column]);
    lowering.set(product, ElementIndex::Coordinates(place.clone()), folded);
    let mut all = Vec::new();
    writes(&mut lowering, product, &place, folded, destinations, &mut all);
    let shape = &tensor.shape;
    // What follows asks for the product at 0 where an axis has extent 1: these are the same point.
    let ones = place.iter().zip(shape).map(|(at, extent)| if extent.is(1) { zero } else { *at }).list();
    lowering.set(product, ElementIndex::Coordinates(ones), folded);
    computed(&mut lowering, elements, &long_axes(shape, &place), destinations, &mut all)?;
    let mut roots = vec![left, right];
    roots.extend(roots_of(&all));
    let (rows, columns) = (shape[rank - 2].clone(), shape[rank - 1].clone());
    let groups = [axes, vec![rows], vec![columns], vec![depth]];
    let Merged { graph, mut sizes, groups, roots } = merge(&lowering.graph, &lowering.sizes, &groups, &roots);
    let mut buffers = Buffers::of(&lowering);
    let stores = buffers.stores(&all, &roots[2..]);
    let batch: Vec<Extent> = extents(&groups[0], &mut sizes);
    let mut axis = |group: usize| extent(&groups[group][0], &mut sizes);
    let body = Product {
        rows: axis(1),
        columns: axis(2),
        depth: axis(3),
        batch,
        folds: Vec::new(),
        left: roots[0],
        right: roots[1],
        elements: stores,
        tile: Tile::Small,
    };
    let members = [elements, &[product]].concat();
    Ok(buffers.built(name(expr, stored, "product", &members), sizes, graph, Body::Product(body)))
}

/// Whether what is computed from a product reads its elements where they are made.
pub fn product_reads_itself_in_place(
    expr: &Expr,
    stored: &[bool],
    product: TensorId,
    elements: &[TensorId],
) -> Result<bool> {
    let nowhere = |_: TensorId| Vec::new();
    let built = self::product(expr, stored, product, elements, &nowhere)?;
    Ok(built.reads_in_place(&[elements, &[product]].concat()))
}
