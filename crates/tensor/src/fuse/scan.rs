//! Kernels of accumulations along an axis.

use residua_base::error::Result;
use residua_base::list::Listed;

use super::build::{Buffers, Built, Destinations, coordinates, extent, extents, name, roots_of, writes};
use super::rows::{combine_of, result_of};
use super::states::{Blocks, load_state, state_index, state_write};
use crate::expr::{Expr, TensorId, TensorOp};
use crate::kernel::{Body, Combine, Fold, Rows, Scan};
use crate::lower::merge::{Merged, merge};
use crate::lower::{ElementIndex, Lowering};
use crate::scalar::{Id, Type, TypedOp};
use crate::size::Size;

/// Which part of a scan in blocks a kernel computes.
#[derive(Clone, Copy, Debug)]
pub enum Part {
    /// The state of each block, into scratch memory from a number on.
    States(Blocks, u32),
    /// From these the state before each block, into scratch memory from another number on.
    Before(Blocks, u32, u32),
    /// Each block from the state before it.
    Within(Blocks, u32),
}

/// What all parts of a scan know.
struct Parts {
    axis: usize,
    exclusive: bool,
    reverse: bool,
    combine: Combine,
    types: Vec<Type>,
}

/// The kernel of a scan, or of a part of it.
pub fn scan(
    expr: &Expr,
    stored: &[bool],
    scans: &[TensorId],
    destinations: Destinations,
    part: Option<Part>,
) -> Result<Built> {
    let tensor = expr.tensor(scans[0]);
    let (axis, exclusive, reverse) = match tensor.op {
        TensorOp::Scan { axis, exclusive, reverse, .. } | TensorOp::ScanBy { axis, exclusive, reverse, .. } => {
            (axis as usize, exclusive, reverse)
        }
        _ => unreachable!("a group of scans holds scans"),
    };
    let combine = combine_of(expr, scans[0])?;
    let types = combine.state_types(Type::of(expr.tensor(tensor.operands[0]).dtype));
    let parts = Parts { axis, exclusive, reverse, combine, types };
    match part {
        Some(Part::Before(blocks, from, to)) => parts.before(expr, stored, scans, blocks, from, to),
        Some(Part::States(blocks, to)) => parts.along(expr, stored, scans, destinations, Some((blocks, to, true))),
        Some(Part::Within(blocks, from)) => parts.along(expr, stored, scans, destinations, Some((blocks, from, false))),
        None => parts.along(expr, stored, scans, destinations, None),
    }
}

impl Parts {
    /// The kernel that goes along the axis, or along each block of it: for the states of blocks, or for the results.
    fn along(
        &self,
        expr: &Expr,
        stored: &[bool],
        scans: &[TensorId],
        destinations: Destinations,
        blocks: Option<(Blocks, u32, bool)>,
    ) -> Result<Built> {
        let mut lowering = Lowering::of(expr, stored);
        let shape = &expr.tensor(scans[0]).shape;
        let length = shape[self.axis].clone();
        let mut others = shape.clone();
        others[self.axis] = Size::constant(1);
        let shift = u32::from(blocks.is_some());
        let (mut at, mut outer) = coordinates(&mut lowering, &others, shift);
        let within = lowering.graph.coordinate(shift + outer.len() as u32);
        let others_at = at.clone();
        let (mut row, mut valid, mut block) = (length.clone(), None, None);
        at[self.axis] = within;
        if let Some((Blocks { count, length: size }, ..)) = blocks {
            let own = lowering.graph.coordinate(0);
            let size = Size::constant(size.into());
            let factor = lowering.size(&size);
            let start = lowering.graph.apply(TypedOp::IntMul, &[own, factor]);
            let place = lowering.graph.apply(TypedOp::IntAdd, &[start, within]);
            let end = lowering.size(&length);
            let is_whole = length.known().is_some_and(|length| length % size.known().unwrap_or(1) == 0);
            valid = (!is_whole).then(|| lowering.graph.apply(TypedOp::Lt, &[place, end]));
            at[self.axis] = if self.reverse { from_end(&mut lowering, place, end) } else { place };
            outer.insert(0, Size::constant(count.into()));
            row = size;
            block = Some(own);
        }
        let mut operands = Vec::new();
        for operand in &expr.tensor(scans[0]).operands {
            operands.push(lowering.value(*operand, ElementIndex::Coordinates(at.clone()))?);
        }
        let (mut all, mut initial) = (Vec::new(), None);
        let keeps_state = matches!(blocks, Some((.., true)));
        if let (Some((_, scratch, _)), Some(block)) = (blocks, block) {
            let index = state_index(&mut lowering, block, &others_at, &others);
            if keeps_state {
                for ((result, ty), number) in (0..).zip(&self.types).zip(scratch..) {
                    all.push(state_write(&mut lowering, [0, result], number, index, *ty));
                }
            } else {
                let load = |(ty, number): (&Type, u32)| load_state(&mut lowering, number, index, *ty);
                initial = Some(self.types.iter().zip(scratch..).map(load).list());
            }
        }
        if !keeps_state {
            for id in scans {
                let value = result_of(&mut lowering, *id, 0);
                writes(&mut lowering, *id, &at, value, destinations, &mut all);
            }
        }
        let mut roots = operands.clone();
        roots.extend(valid);
        roots.extend(initial.iter().flatten());
        roots.extend(roots_of(&all));
        let groups = [outer, vec![row]];
        let Merged { graph, mut sizes, groups, roots } = merge(&lowering.graph, &lowering.sizes, &groups, &roots);
        let mut roots = roots.into_iter();
        let operands: Vec<Id> = roots.by_ref().take(operands.len()).list();
        let valid = valid.and_then(|_| roots.next());
        let initial = initial.map(|states| roots.by_ref().take(states.len()).list());
        let rest: Vec<Id> = roots.list();
        let mut buffers = Buffers::of(&lowering);
        let stores = buffers.stores(&all, &rest);
        let outer = extents(&groups[0], &mut sizes);
        let length = extent(&groups[1][0], &mut sizes);
        let fold = Fold { combine: self.combine.clone(), operands, merges_states: false, keeps_state };
        let body = if keeps_state {
            Body::Rows(Rows {
                outer,
                row: vec![length],
                valid,
                folds: vec![fold],
                elements: Vec::new(),
                results: stores,
            })
        } else {
            let reverse = self.reverse && blocks.is_none();
            Body::Scan(Scan {
                outer,
                length,
                valid,
                fold,
                initial,
                exclusive: self.exclusive,
                reverse,
                elements: stores,
            })
        };
        let prefix = if keeps_state { "blocks" } else { "scan" };
        let name = name(expr, stored, prefix, scans);
        Ok(buffers.built(name, sizes, graph, body))
    }

    /// The kernel that gives the state before each block.
    fn before(
        &self,
        expr: &Expr,
        stored: &[bool],
        scans: &[TensorId],
        blocks: Blocks,
        from: u32,
        to: u32,
    ) -> Result<Built> {
        let mut lowering = Lowering::of(expr, stored);
        let mut others = expr.tensor(scans[0]).shape.clone();
        others[self.axis] = Size::constant(1);
        let (at, outer) = coordinates(&mut lowering, &others, 0);
        let block = lowering.graph.coordinate(outer.len() as u32);
        let index = state_index(&mut lowering, block, &at, &others);
        let mut operands = Vec::new();
        let mut all = Vec::new();
        for ((number, ty), result) in (from..).zip(&self.types).zip(0..) {
            operands.push(load_state(&mut lowering, number, index, *ty));
            all.push(state_write(&mut lowering, [0, result], to + result, index, *ty));
        }
        let mut roots = operands.clone();
        roots.extend(roots_of(&all));
        let groups = [outer, vec![Size::constant(blocks.count.into())]];
        let Merged { graph, mut sizes, groups, roots } = merge(&lowering.graph, &lowering.sizes, &groups, &roots);
        let (operands, rest) = roots.split_at(operands.len());
        let mut buffers = Buffers::of(&lowering);
        let elements = buffers.stores(&all, rest);
        let fold =
            Fold { combine: self.combine.clone(), operands: operands.to_vec(), merges_states: true, keeps_state: true };
        let outer = extents(&groups[0], &mut sizes);
        let length = extent(&groups[1][0], &mut sizes);
        let body = Scan { outer, length, valid: None, fold, initial: None, exclusive: true, reverse: false, elements };
        let name = name(expr, stored, "before", scans);
        Ok(buffers.built(name, sizes, graph, Body::Scan(body)))
    }
}

/// The place that stands as far from the end.
fn from_end(lowering: &mut Lowering, place: Id, end: Id) -> Id {
    let one = lowering.graph.u32(1);
    let last = lowering.graph.apply(TypedOp::IntSub, &[end, one]);
    lowering.graph.apply(TypedOp::IntSub, &[last, place])
}
