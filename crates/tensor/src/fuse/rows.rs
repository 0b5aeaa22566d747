//! Kernels of reductions along rows, with what is computed from the results in the same pass.

use std::rc::Rc;

use residua_base::error::{Error, Result};
use residua_base::list::Listed;
use residua_ir::graph::Op as Real;

use super::build::{
    Buffers, Built, Destinations, Write, as_type, computed, coordinates, extents, long_axes, name, roots_of, writes,
};
use super::group::RowGroup;
use super::states::{Blocks, load_state, state_index, state_write};
use crate::expr::{Expr, Reduction, TensorId, TensorOp};
use crate::kernel::{Body, Combine, Extent, Fold, Rows};
use crate::lower::merge::{Merged, merge};
use crate::lower::{ElementIndex, Lowering, Memory};
use crate::scalar::{Id, Type, TypedOp};
use crate::size::Size;

/// What one kernel of a group computes, before axes are merged.
pub struct Lowered<'a> {
    /// The graph.
    pub lowering: Lowering<'a>,
    /// Extents of the outer axes and of the row's.
    pub groups: [Vec<Size>; 2],
    /// The reductions.
    pub folds: Vec<Fold>,
    /// Where points are within the row.
    pub valid: Option<Id>,
    /// What is written for each point.
    pub elements: Vec<Write>,
    /// What is written once a row.
    pub results: Vec<Write>,
}

/// Which part of a group in blocks a kernel computes.
#[derive(Clone, Copy, Debug)]
pub enum Part {
    /// The states of blocks, into scratch memory from a number on.
    Blocks(Blocks, u32),
    /// What is left, from the states in scratch memory.
    Merge(Blocks, u32),
}

/// The kernel of a group, or of a part of it.
pub fn rows(
    expr: &Expr,
    stored: &[bool],
    group: &RowGroup,
    destinations: Destinations,
    part: Option<Part>,
) -> Result<Built> {
    let lowered = lowered(expr, stored, group, destinations, part)?;
    let Lowered { lowering, groups, folds, valid, elements, results } = lowered;
    let mut roots: Vec<Id> = folds.iter().flat_map(|fold| fold.operands.iter().copied()).list();
    let operands = roots.len();
    roots.extend(valid);
    roots.extend(roots_of(&elements));
    roots.extend(roots_of(&results));
    let Merged { graph, mut sizes, groups, roots } = merge(&lowering.graph, &lowering.sizes, &groups, &roots);
    let mut nodes = roots[..operands].iter().copied();
    let folds =
        folds.into_iter().map(|fold| Fold { operands: nodes.by_ref().take(fold.operands.len()).list(), ..fold });
    let folds = folds.list();
    let mut rest = &roots[operands..];
    let valid = valid.map(|_| rest[0]);
    rest = &rest[usize::from(valid.is_some())..];
    let mut buffers = Buffers::of(&lowering);
    let (of_elements, of_results) = rest.split_at(2 * elements.len());
    let elements = buffers.stores(&elements, of_elements);
    let results = buffers.stores(&results, of_results);
    let outer = extents(&groups[0], &mut sizes);
    let mut row = extents(&groups[1], &mut sizes);
    if row.is_empty() {
        row.push(Extent::Known(1));
    }
    let prefix = if matches!(part, Some(Part::Merge(..))) { "merge" } else { "rows" };
    let members = [group.elements.as_slice(), &group.results, &group.folds].concat();
    Ok(buffers.built(
        name(expr, stored, prefix, &members),
        sizes,
        graph,
        Body::Rows(Rows { outer, row, valid, folds, elements, results }),
    ))
}

/// Lowers the members of a group at the points of its rows.
pub fn lowered<'a>(
    expr: &'a Expr,
    stored: &'a [bool],
    group: &RowGroup,
    destinations: Destinations,
    part: Option<Part>,
) -> Result<Lowered<'a>> {
    let mut lowering = Lowering::of(expr, stored);
    let (mut points, groups) = Points::of(&mut lowering, group, part);
    if group.is_of_ranges(expr) {
        let [row, end, _] = range_place(&mut lowering, group, &points)?;
        points.valid = Some(lowering.graph.apply(TypedOp::Lt, &[row, end]));
    }
    let (folds, elements, results) = (Vec::new(), Vec::new(), Vec::new());
    let mut lowered = Lowered { lowering, groups, folds, valid: points.valid, elements, results };
    let all = points.all(group)?;
    let is_of_blocks = matches!(part, Some(Part::Blocks(..)));
    let mut scratch = match part {
        Some(Part::Blocks(_, first) | Part::Merge(_, first)) => first,
        None => 0,
    };
    let mut known: Vec<TensorId> = Vec::new();
    for id in &group.folds {
        // Numbers of one state are results of one reduction.
        let fold = match known.iter().position(|other| is_same_rule(expr, *other, *id)) {
            Some(fold) => fold as u32,
            None => {
                known.push(*id);
                lowered.fold(group, *id, &points, &all, part, &mut scratch)?
            }
        };
        if is_of_blocks {
            continue;
        }
        let value = result_of(&mut lowered.lowering, *id, fold);
        lowered.lowering.set(*id, ElementIndex::Coordinates(points.outer.clone()), value);
        writes(&mut lowered.lowering, *id, &points.outer, value, destinations, &mut lowered.results);
    }
    if is_of_blocks {
        return Ok(lowered);
    }
    let Lowered { lowering, results, elements, .. } = &mut lowered;
    computed(lowering, &group.results, &long_axes(&group.outer(), &points.outer), destinations, results)?;
    computed(lowering, &group.elements, &long_axes(&group.shape, &all), destinations, elements)?;
    Ok(lowered)
}

/// The points of a kernel of rows.
struct Points {
    /// Coordinates of the axes that stay.
    outer: Vec<Id>,
    /// Coordinates of the axes that are reduced; of no meaning where states are merged.
    row: Vec<Id>,
    /// The block, of rows in blocks.
    block: Option<Id>,
    /// Where points are within the row.
    valid: Option<Id>,
}

impl Points {
    /// Those of a part of a group, with the extents of the outer axes and of the row's. Blocks are the outermost axis, so that neighbouring rows
    /// stay neighbours; to merge them they are the row.
    fn of(lowering: &mut Lowering, group: &RowGroup, part: Option<Part>) -> (Points, [Vec<Size>; 2]) {
        let row_shape = group.row();
        let shift = u32::from(matches!(part, Some(Part::Blocks(..))));
        let (outer, mut outer_extents) = coordinates(lowering, &group.outer(), shift);
        let first = shift + outer_extents.len() as u32;
        let (mut row, mut row_extents) = coordinates(lowering, &row_shape, first);
        if group.is_of_ranges(lowering.expr) {
            // Also of one term: some ranges are empty.
            (row, row_extents) = (vec![lowering.graph.coordinate(first)], row_shape.clone());
        }
        match part {
            None => (Points { outer, row, block: None, valid: None }, [outer_extents, row_extents]),
            Some(Part::Blocks(Blocks { count, length }, _)) => {
                let (own, within) = (lowering.graph.coordinate(0), lowering.graph.coordinate(first));
                let length_size = Size::constant(length.into());
                let factor = lowering.size(&length_size);
                let start = lowering.graph.apply(TypedOp::IntMul, &[own, factor]);
                let place = lowering.graph.apply(TypedOp::IntAdd, &[start, within]);
                let whole = Size::product(&row_shape);
                let is_whole = whole.is(i64::from(count) * i64::from(length));
                let valid = (!is_whole).then(|| {
                    let end = lowering.size(&whole);
                    lowering.graph.apply(TypedOp::Lt, &[place, end])
                });
                let row = lowering.coordinates_of(place, &row_shape);
                outer_extents.insert(0, Size::constant(count.into()));
                (Points { outer, row, block: Some(own), valid }, [outer_extents, vec![length_size]])
            }
            Some(Part::Merge(Blocks { count, .. }, _)) => {
                let block = Some(lowering.graph.coordinate(first));
                (Points { outer, row, block, valid: None }, [outer_extents, vec![Size::constant(count.into())]])
            }
        }
    }

    /// Coordinates of all axes, in their order.
    fn all(&self, group: &RowGroup) -> Result<Vec<Id>> {
        let (mut outer, mut row) = (self.outer.iter(), self.row.iter());
        let next = |axis: u32| if group.axes.contains(&axis) { row.next() } else { outer.next() };
        let all: Option<Vec<Id>> = (0..group.shape.len() as u32).map(next).map(|id| id.copied()).collect();
        all.ok_or_else(|| Error::internal("an axis without a coordinate"))
    }
}

impl Lowered<'_> {
    /// Adds the reduction of a tensor, with its state in scratch memory from a number on where a part writes or merges states. Gives its position.
    fn fold(
        &mut self,
        group: &RowGroup,
        id: TensorId,
        points: &Points,
        all: &[Id],
        part: Option<Part>,
        scratch: &mut u32,
    ) -> Result<u32> {
        let lowering = &mut self.lowering;
        let expr = lowering.expr;
        let combine = combine_of(expr, id)?;
        let types = combine.state_types(Type::of(expr.tensor(expr.tensor(id).operands[0]).dtype));
        let state = |lowering: &mut Lowering, block: Id| state_index(lowering, block, &points.outer, &group.outer());
        let (keeps_state, merges_states) =
            (matches!(part, Some(Part::Blocks(..))), matches!(part, Some(Part::Merge(..))));
        let operands = match points.block.filter(|_| merges_states) {
            Some(block) => {
                let state = state(lowering, block);
                let numbers = types.iter().zip(*scratch..);
                numbers.map(|(ty, number)| load_state(lowering, number, state, *ty)).list()
            }
            None if group.is_of_ranges(expr) => vec![range_term(lowering, group, points)?],
            None => operands_of(lowering, group, id, all, &points.row)?,
        };
        let fold = self.folds.len() as u32;
        if let Some(block) = points.block.filter(|_| keeps_state) {
            let state = state(lowering, block);
            for ((result, ty), number) in (0..).zip(&types).zip(*scratch..) {
                self.results.push(state_write(lowering, [fold, result], number, state, *ty));
            }
        }
        self.folds.push(Fold { combine, operands, merges_states, keeps_state });
        *scratch += types.len() as u32;
        Ok(fold)
    }
}

/// The coordinate along ranges that follow one another, where the last of them ends, and where the first ends.
fn range_place(lowering: &mut Lowering, group: &RowGroup, points: &Points) -> Result<[Id; 3]> {
    let mut ends = Vec::new();
    for part in lowering.expr.tensor(group.folds[0]).operands.chunks(3) {
        let [begin, end] = bounds(lowering, part, points)?;
        let length = lowering.graph.apply(TypedOp::IntSub, &[end, begin]);
        let before = ends.last().copied().unwrap_or_else(|| lowering.graph.u32(0));
        ends.push(lowering.graph.apply(TypedOp::IntAdd, &[before, length]));
    }
    Ok([points.row[0], ends[ends.len() - 1], ends[0]])
}

/// The first place of the range of a point, and the end, which are within the terms whatever memory holds.
fn bounds(lowering: &mut Lowering, part: &[TensorId], points: &Points) -> Result<[Id; 2]> {
    let at = ElementIndex::Coordinates(vec![points.outer[0]]);
    let extent = lowering.size(&lowering.expr.shape(part[0])[0]);
    let [begin, end] = [1, 2].map(|place| lowering.value(part[place], at.clone()));
    let end = lowering.graph.apply(TypedOp::IntMin, &[end?, extent]);
    Ok([lowering.graph.apply(TypedOp::IntMin, &[begin?, end]), end])
}

/// The term of a point of a range.
fn range_term(lowering: &mut Lowering, group: &RowGroup, points: &Points) -> Result<Id> {
    let [row, _, first_end] = range_place(lowering, group, points)?;
    let parts = lowering.expr.tensor(group.folds[0]).operands.chunks(3).list();
    let zero = lowering.graph.u32(0);
    let is_first = match parts.len() {
        1 => lowering.graph.bool(true),
        _ => lowering.graph.apply(TypedOp::Lt, &[row, first_end]),
    };
    let mut terms = Vec::new();
    for (number, part) in parts.iter().enumerate() {
        let [begin, _] = bounds(lowering, part, points)?;
        let along = if number == 0 { row } else { lowering.graph.apply(TypedOp::IntSub, &[row, first_end]) };
        let place = lowering.graph.apply(TypedOp::IntAdd, &[begin, along]);
        let of_part = if number == 0 { [is_first, place, zero] } else { [is_first, zero, place] };
        let place = lowering.graph.apply(TypedOp::Select, &of_part);
        let at = [&[place], &points.outer[1..]].concat();
        terms.push(lowering.value(part[0], ElementIndex::Coordinates(at))?);
    }
    let rest = terms[terms.len() - 1];
    Ok(lowering.graph.apply(TypedOp::Select, &[is_first, terms[0], rest]))
}

/// What each point contributes to a reduction.
fn operands_of(lowering: &mut Lowering, group: &RowGroup, id: TensorId, all: &[Id], row: &[Id]) -> Result<Vec<Id>> {
    let expr = lowering.expr;
    let tensor = expr.tensor(id);
    debug_assert_eq!(expr.tensor(tensor.operands[0]).shape, group.shape);
    let mut operands = Vec::new();
    for operand in &tensor.operands {
        operands.push(lowering.value(*operand, ElementIndex::Coordinates(all.to_vec()))?);
    }
    if matches!(tensor.op, TensorOp::Reduce(Reduction::Variance, _)) {
        // The variance is that of the differences to the first element of the row: a mean that is far from 0 would leave few digits for them.
        let zero = lowering.graph.u32(0);
        let first = (0..).zip(all).map(|(axis, at)| if group.axes.contains(&axis) { zero } else { *at }).list();
        let first = lowering.value(tensor.operands[0], ElementIndex::Coordinates(first))?;
        operands[0] = lowering.graph.real(Real::Sub, &[operands[0], first]);
    }
    if matches!(tensor.op, TensorOp::Reduce(Reduction::ArgMin | Reduction::ArgMax, _)) {
        operands[0] = as_type(lowering, operands[0], Type::U32);
        operands.push(lowering.linear_of(row, &group.row()));
    }
    Ok(operands)
}

/// The rule by which a reduction accumulates.
pub fn combine_of(expr: &Expr, id: TensorId) -> Result<Combine> {
    let tensor = expr.tensor(id);
    let is_real = expr.tensor(tensor.operands[0]).dtype.is_real();
    match &tensor.op {
        TensorOp::Reduce(reduction, _) | TensorOp::Scan { reduction, .. } => Ok(match reduction {
            Reduction::Sum if is_real => Combine::Sum,
            Reduction::Sum => Combine::PlainSum,
            Reduction::Prod => Combine::Prod,
            Reduction::Min => Combine::Min,
            Reduction::Max => Combine::Max,
            Reduction::ArgMin => Combine::ArgMin,
            Reduction::ArgMax => Combine::ArgMax,
            Reduction::Variance => Combine::Variance,
        }),
        TensorOp::RangeSum(is_compensated) => Ok(if *is_compensated { Combine::Sum } else { Combine::PlainSum }),
        TensorOp::Fold { rule, .. } | TensorOp::ScanBy { rule, .. } => Ok(Combine::By(Rc::clone(rule))),
        _ => Err(Error::internal("an operation that accumulates nothing")),
    }
}

/// How many numbers the states of reductions have together. Numbers of one user's state count once.
pub fn state_numbers(expr: &Expr, folds: &[TensorId]) -> Result<u32> {
    let mut numbers = 0;
    for (place, id) in folds.iter().enumerate() {
        if folds[..place].iter().any(|other| is_same_rule(expr, *other, *id)) {
            continue;
        }
        let operand = Type::of(expr.tensor(expr.tensor(*id).operands[0]).dtype);
        numbers += combine_of(expr, *id)?.state_types(operand).len() as u32;
    }
    Ok(numbers)
}

/// Whether two nodes are numbers of one user's reduction.
fn is_same_rule(expr: &Expr, a: TensorId, b: TensorId) -> bool {
    let (a, b) = (expr.tensor(a), expr.tensor(b));
    let (TensorOp::Fold { rule, axes, .. }, TensorOp::Fold { rule: other, axes: of, .. }) = (&a.op, &b.op) else {
        return false;
    };
    rule == other && axes == of && a.operands == b.operands
}

/// The result of a reduction as an element of its tensor.
pub fn result_of(lowering: &mut Lowering, id: TensorId, fold: u32) -> Id {
    let expr = lowering.expr;
    let tensor = expr.tensor(id);
    let operand = Type::of(expr.tensor(tensor.operands[0]).dtype);
    let (result, ty) = match &tensor.op {
        TensorOp::Reduce(Reduction::ArgMin | Reduction::ArgMax, _) => (0, Type::I32),
        TensorOp::Fold { result, .. } | TensorOp::ScanBy { result, .. } => (*result, Type::F32),
        _ => (0, operand),
    };
    let value = lowering.graph.folded(fold, result, ty);
    lowering.kept(value, tensor.dtype)
}

/// Whether members of a group of reductions read results of the group only where they are at hand.
pub fn reads_no_results(expr: &Expr, stored: &[bool], rows: &RowGroup) -> Result<bool> {
    let nowhere = |_: TensorId| Vec::new();
    let loaded = lowered(expr, stored, rows, &nowhere, None)?.lowering.loaded;
    let members = rows.members();
    Ok(!loaded.iter().any(|(memory, _)| members.iter().any(|member| *memory == Memory::Tensor(*member))))
}
