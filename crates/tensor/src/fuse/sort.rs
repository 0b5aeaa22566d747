//! Kernels of sorts, with what is computed from the place of each rank, and kernels that count digits.

use residua_base::error::{Error, Result};
use residua_base::list::Listed;

use super::build::{
    Buffers, Built, Destinations, Write, computed, coordinates, extent, extents, long_axes, name, roots_of, writes,
};
use crate::dtype::DType;
use crate::expr::{Expr, TensorId, TensorOp};
use crate::kernel::{Body, DigitCounts, DigitSort, Sort};
use crate::lower::merge::{Merged, merge};
use crate::lower::{ElementIndex, Lowering};
use crate::scalar::{Id, Type, TypedOp};
use crate::size::Size;

/// The coordinates of a kernel of rows of keys.
struct Rows {
    /// Of the rows.
    at: Vec<Id>,
    /// Extents of the axes that have coordinates.
    outer: Vec<Size>,
    /// Of a key.
    place: Id,
    /// Of a rank, or of a digit where digits are counted.
    second: Id,
    /// Of a digit, or of a block where digits are counted.
    third: Id,
    /// Of a block.
    fourth: Id,
}

impl Rows {
    fn of(lowering: &mut Lowering, shape: &[Size]) -> Rows {
        let (at, outer) = coordinates(lowering, shape, 0);
        let first = outer.len() as u32;
        let [place, second, third, fourth] = [0, 1, 2, 3].map(|axis| lowering.graph.coordinate(first + axis));
        Rows { at, outer, place, second, third, fourth }
    }

    /// A point of a tensor that has axes after those of the rows.
    fn point(&self, last: &[Id]) -> ElementIndex {
        ElementIndex::Coordinates([self.at.as_slice(), last].concat())
    }
}

/// The kernel of a sort, and of what is computed for each rank.
pub fn sort(
    expr: &Expr,
    stored: &[bool],
    sort: TensorId,
    elements: &[TensorId],
    destinations: Destinations,
    most_dims: &[u32],
) -> Result<Built> {
    let mut lowering = Lowering::of(expr, stored);
    let tensor = expr.tensor(sort);
    let shape = &tensor.shape;
    let last = shape.len() - 1;
    let length = expr.shape(tensor.operands[0])[last].clone();
    let rows = Rows::of(&mut lowering, &shape[..last]);
    let key = lowering.value(tensor.operands[0], rows.point(&[rows.place]))?;
    let place = lowering.graph.folded(0, 0, Type::U32);
    let place = lowering.converted(place, DType::U32, tensor.dtype);
    let at = [rows.at.as_slice(), &[rows.second]].concat();
    let all = rank_writes(&mut lowering, sort, elements, &at, place, destinations)?;

    let mut roots = vec![key];
    let mut groups = vec![rows.outer.clone(), vec![length.clone()], vec![shape[last].clone()]];
    if let TensorOp::DigitSort(_) = tensor.op {
        let sums = tensor.operands[1];
        let blocks = expr.shape(sums)[2].clone();
        roots.extend(bases(&mut lowering, sums, &rows, &blocks)?);
        groups.extend([vec![Size::constant(256)], vec![blocks]]);
    }
    let own = roots.len();
    roots.extend(roots_of(&all));
    let Merged { graph, mut sizes, groups, roots } = merge(&lowering.graph, &lowering.sizes, &groups, &roots);
    let mut buffers = Buffers::of(&lowering);
    let elements_of_ranks = buffers.stores(&all, &roots[own..]);
    let outer = extents(&groups[0], &mut sizes);
    let key = roots[0];
    let body = match tensor.op {
        TensorOp::Argsort { bits } => Body::Sort(Sort {
            outer,
            kept: extent(&groups[2][0], &mut sizes),
            most: length.at(most_dims).max(0) as u32,
            length: extent(&groups[1][0], &mut sizes),
            bits,
            key,
            elements: elements_of_ranks,
        }),
        TensorOp::DigitSort(digit) => Body::DigitSort(DigitSort {
            outer,
            length: extent(&groups[1][0], &mut sizes),
            blocks: blocks_of(&groups[4][0])?,
            digit,
            key,
            total: roots[1],
            before: roots[2],
            elements: elements_of_ranks,
        }),
        _ => return Err(Error::internal("a group of a sort without one")),
    };
    let members = [elements, &[sort]].concat();
    let name = name(expr, stored, "sort", &members);
    Ok(buffers.built(name, sizes, graph, body))
}

/// What is written for each rank: the place of its key, and what is computed from it.
fn rank_writes(
    lowering: &mut Lowering,
    sort: TensorId,
    elements: &[TensorId],
    at: &[Id],
    place: Id,
    destinations: Destinations,
) -> Result<Vec<Write>> {
    let expr = lowering.expr;
    let shape = &expr.tensor(sort).shape;
    lowering.set(sort, ElementIndex::Coordinates(at.to_vec()), place);
    // A single rank is asked for at 0.
    let zero = lowering.graph.u32(0);
    let ones = at.iter().zip(shape).map(|(at, extent)| if extent.is(1) { zero } else { *at }).list();
    lowering.set(sort, ElementIndex::Coordinates(ones), place);
    let mut all = Vec::new();
    writes(lowering, sort, at, place, destinations, &mut all);
    computed(lowering, elements, &long_axes(shape, at), destinations, &mut all)?;
    Ok(all)
}

/// How often a digit occurs in a row, and in the blocks before a block, from the counts in each block and those before it.
fn bases(lowering: &mut Lowering, sums: TensorId, rows: &Rows, blocks: &Size) -> Result<[Id; 2]> {
    let (digit, block) = (rows.third, rows.fourth);
    let (one, zero) = (lowering.graph.u32(1), lowering.graph.u32(0));
    let count = lowering.size(blocks);
    let last = lowering.graph.apply(TypedOp::IntSub, &[count, one]);
    let total = lowering.value(sums, rows.point(&[digit, last]))?;
    let is_first = lowering.graph.apply(TypedOp::Eq, &[block, zero]);
    let before = lowering.graph.apply(TypedOp::IntSub, &[block, one]);
    let before = lowering.graph.apply(TypedOp::Select, &[is_first, zero, before]);
    let sum = lowering.value(sums, rows.point(&[digit, before]))?;
    let before = lowering.graph.apply(TypedOp::Select, &[is_first, zero, sum]);
    Ok([total, before])
}

/// The kernel that counts digits.
pub fn counts(expr: &Expr, stored: &[bool], counts: TensorId, destinations: Destinations) -> Result<Built> {
    let mut lowering = Lowering::of(expr, stored);
    let tensor = expr.tensor(counts);
    let TensorOp::DigitCounts(digit) = tensor.op else {
        return Err(Error::internal("a group of counts without one"));
    };
    let shape = &tensor.shape;
    let length = expr.shape(tensor.operands[0])[1].clone();
    let rows = Rows::of(&mut lowering, &shape[..1]);
    let key = lowering.value(tensor.operands[0], rows.point(&[rows.place]))?;
    let count = lowering.graph.folded(0, 0, Type::U32);
    let block = if shape[2].is(1) { lowering.graph.u32(0) } else { rows.third };
    let at = [rows.at.as_slice(), &[rows.second, block]].concat();
    let mut all = Vec::new();
    writes(&mut lowering, counts, &at, count, destinations, &mut all);
    let roots = [vec![key], roots_of(&all)].concat();
    let groups = [rows.outer, vec![length], vec![shape[1].clone()], vec![shape[2].clone()]];
    let Merged { graph, mut sizes, groups, roots } = merge(&lowering.graph, &lowering.sizes, &groups, &roots);
    let mut buffers = Buffers::of(&lowering);
    let elements = buffers.stores(&all, &roots[1..]);
    let body = Body::DigitCounts(DigitCounts {
        outer: extents(&groups[0], &mut sizes),
        length: extent(&groups[1][0], &mut sizes),
        blocks: blocks_of(&groups[3][0])?,
        digit,
        key: roots[0],
        elements,
    });
    let name = name(expr, stored, "digits", &[counts]);
    Ok(buffers.built(name, sizes, graph, body))
}

/// How many blocks a row has.
fn blocks_of(size: &Size) -> Result<u32> {
    let known = size.known().and_then(|blocks| u32::try_from(blocks).ok());
    known.ok_or_else(|| Error::internal("blocks of a sort that depend on dims"))
}

/// Whether what is computed from a sort reads each place where it is found.
pub fn reads_itself_in_place(
    expr: &Expr,
    stored: &[bool],
    sort: TensorId,
    elements: &[TensorId],
    most_dims: &[u32],
) -> Result<bool> {
    let nowhere = |_: TensorId| Vec::new();
    let built = self::sort(expr, stored, sort, elements, &nowhere, most_dims)?;
    Ok(built.reads_in_place(&[elements, &[sort]].concat()))
}
