//! Kernels that reduce along rows.
//!
//! Lanes are either points of a row, with a partial state each that merge at the end, or points of four rows beside one another: whichever
//! has its elements side by side in memory. Reductions of which none needs another's result share a pass over the row; later ones, and the
//! elements that are written, take the row again.

use residua_base::error::{Error, Result};
use residua_base::list::Listed;
use residua_codegen::wasm::encoding::instructions as wasm;
use residua_codegen::wasm::encoding::{Function, Instruction, ValType};

use super::code::Local;
use super::count::Count;
use super::module::Shared;
use super::partial::Partial;
use super::pointer::Distance;
use super::schedule::{MANY, copies_of, lanes_are_rows};
use super::states::{Accumulation, mask_of_points};
use super::values::{Points, Values};
use crate::dtype::DType;
use crate::kernel::{Combine, Extent, Fold, Rows, Store, TensorKernel};
use crate::scalar::{Id, Type, TypedGraph, TypedNode, TypedOp};

/// How many terms of a softmax's sum are added in f32 before they are added in f64: two roundings, of at most half a unit of the sum each.
const JOINED: usize = 4;

/// A kernel of rows.
pub(super) fn function(kernel: &TensorKernel, rows: &Rows, shared: &mut Shared) -> Result<Function> {
    let last = (rows.outer.len() + rows.row.len()) as u32 - 1;
    let roots: Vec<Id> = rows
        .folds
        .iter()
        .flat_map(|fold| fold.operands.iter().copied())
        .chain(rows.elements.iter().flat_map(|store| [store.value, store.index]))
        .list();
    // Rows side by side have one length.
    let length = rows.length(&kernel.graph);
    let is_across = match length {
        Some(length) => {
            (rows.outer.len() as u32).checked_sub(1).is_some_and(|axis| !kernel.graph.depends_on(length, axis))
        }
        None => lanes_are_rows(kernel, &rows.outer, &rows.row, &roots),
    };
    let lane_axis = if is_across { rows.outer.len() as u32 - 1 } else { last };
    let mut values = Values::new(kernel, shared, lane_axis, is_across);
    values.return_if_empty(&rows.outer);
    // The axis of the lanes is not cut.
    if rows.outer.len() > usize::from(is_across) {
        let average = [Extent::Known(kernel.average_length(rows).max(1))];
        let row = if length.is_some() { &average } else { &rows.row[..] };
        values.cut(&[&rows.outer[..], row].concat());
    }
    let outer: Vec<Count> = rows.outer.iter().map(|extent| values.count(*extent)).list();
    let mut copies = copies_of(&values, &roots, lane_axis);
    // The order of a user's rule is kept with one state alone.
    if !is_across && rows.folds.iter().any(|fold| matches!(fold.combine, Combine::By(_))) {
        copies = 1;
    }
    if let Some(number) = rows.row.last().and_then(|extent| kernel.known(*extent)).filter(|_| !is_across) {
        // A short body runs twice at least.
        let least = if copies == MANY { 4 } else { 8 };
        while copies > 1 && number < least * copies {
            copies /= 2;
        }
    }
    let mut result = Ok(());
    if is_across {
        let (across, outer) = (outer[outer.len() - 1], &outer[..outer.len() - 1]);
        values.nest(0, outer, &mut |values| {
            values.vectors(across, copies, false, &mut |values, copies| {
                result = result.clone().and(Row { rows, last, copies, is_across }.run(values));
            });
        });
    } else {
        values.nest(0, &outer, &mut |values| {
            result = result.clone().and(Row { rows, last, copies, is_across }.run(values));
        });
    }
    result.map(|()| values.finish())
}

/// The reductions whose results an operand needs.
fn folds_of(graph: &TypedGraph, fold: &Fold) -> Vec<u32> {
    let nodes = graph.needed(fold.operands.iter().copied()).into_iter();
    nodes
        .filter_map(|id| match graph.node(id) {
            TypedNode::Folded { fold, .. } => Some(fold),
            _ => None,
        })
        .list()
}

/// An operand of a reduction that takes many operations and that the elements need again: the memory of the elements keeps it until they are
/// written. So a softmax takes one exponential a point. Nothing may read that memory.
fn kept(values: &Values, rows: &Rows, axis: u32) -> Option<Store> {
    const MANY: u32 = 20;
    let graph = values.graph;
    let roots: Vec<Id> = rows.elements.iter().chain(&rows.results).flat_map(|store| [store.value, store.index]).list();
    let folds: Vec<Id> = rows.folds.iter().flat_map(|fold| fold.operands.iter().copied()).list();
    let read: Vec<u32> = graph.loads(graph.ids()).into_iter().map(|(buffer, _)| buffer).list();
    let free = rows.elements.iter().find(|store| {
        let writers = rows.elements.iter().chain(&rows.results).filter(|other| other.buffer == store.buffer).count();
        let dtype = values.kernel.buffers[store.buffer as usize].dtype;
        dtype == DType::F32 && writers == 1 && !read.contains(&store.buffer)
    })?;
    let again = graph.reachable(roots);
    let value = folds
        .into_iter()
        .find(|id| graph.ty(*id) == Type::F32 && again[id.index()] && values.weight(&[*id], axis) >= MANY)?;
    Some(Store { value, ..*free })
}

/// A row, or as many side by side as there are lanes in some vectors.
struct Row<'k> {
    rows: &'k Rows,
    last: u32,
    copies: u32,
    is_across: bool,
}

impl<'k> Row<'k> {
    fn run(&self, values: &mut Values<'k, '_>) -> Result<()> {
        let block = values.code.innermost();
        values.folds_block = block;
        let first = self.rows.outer.len() as u32;
        let mut counts: Vec<Count> = self.rows.row.iter().map(|extent| values.count(*extent)).list();
        if let Some(valid) = self.rows.valid
            && let Some(last) = counts.last_mut()
        {
            *last = values.prefix(valid, self.last, *last)?;
        }
        let kept = kept(values, self.rows, self.last);
        let mut next = 0;
        while next < self.rows.folds.len() {
            let begin = next;
            next += 1;
            while next < self.rows.folds.len()
                && folds_of(values.graph, &self.rows.folds[next]).iter().all(|fold| (*fold as usize) < begin)
            {
                next += 1;
            }
            self.pass(values, begin..next, first, &counts, kept);
        }
        if !self.rows.elements.is_empty() {
            self.points(values, first, &counts, &mut |values, copies| {
                values.for_copies(copies, |values| values.store_all(&self.rows.elements));
            });
        }
        if !self.rows.results.is_empty() {
            let copies = if self.is_across { self.copies } else { 1 };
            values.for_copies(copies, |values| values.store_all(&self.rows.results));
        }
        values.stored.clear();
        Ok(())
    }

    /// Loops over the points of the row. The closure is told how many vectors it is to do.
    fn points(
        &self,
        values: &mut Values<'k, '_>,
        first: u32,
        counts: &[Count],
        body: &mut dyn FnMut(&mut Values<'k, '_>, u32),
    ) {
        let Some((inner, outer)) = counts.split_last() else { return };
        let (last, copies, is_across) = (self.last, self.copies, self.is_across);
        values.nest(first, outer, &mut |values| {
            values.innermost(last, |values| match is_across {
                true => values.each(last, *inner, &mut |values| body(values, copies)),
                false => values.vectors(*inner, copies, false, body),
            });
        });
    }

    /// Reductions that share a pass over the row.
    fn pass(
        &self,
        values: &mut Values<'k, '_>,
        folds: std::ops::Range<usize>,
        first: u32,
        counts: &[Count],
        kept: Option<Store>,
    ) {
        let block = values.code.innermost();
        let graph = values.graph;
        let is_operand =
            |store: &Store| self.rows.folds[folds.clone()].iter().any(|fold| fold.operands.contains(&store.value));
        let kept = kept.filter(is_operand);
        let is_joined: Vec<bool> = folds.clone().map(|fold| !self.is_across && values.is_sum_of_softmax(fold)).list();
        let partials: Vec<Vec<Partial>> = folds
            .clone()
            .zip(&is_joined)
            .map(|(fold, is_joined)| {
                let fold = &self.rows.folds[fold];
                let ty = fold.operands.first().map_or(Type::F32, |operand| graph.ty(*operand));
                let accumulation = Accumulation { fold, ty };
                let parts = match (is_joined, self.is_across, self.copies) {
                    (true, _, _) => 1,
                    // Merging more takes longer than they save.
                    (_, false, MANY) => 2,
                    (_, _, copies) => copies,
                };
                (0..parts).map(|_| Partial::new(&mut values.code, block, accumulation, self.is_across)).list()
            })
            .list();
        self.points(values, first, counts, &mut |values, copies| {
            let block = values.code.innermost();
            let mask = match values.points {
                Points::Some(count) if !self.is_across => Some(mask_of_points(&mut values.code, block, count)),
                Points::Four | Points::Some(_) => None,
            };
            // Of a joined reduction, the operands that wait for others.
            let mut waiting: Vec<Vec<Local>> = vec![Vec::new(); partials.len()];
            values.for_copies(copies, |values| {
                values.prepare(self.rows.folds[folds.clone()].iter().flat_map(|fold| fold.operands.iter().copied()));
                for ((partials, is_joined), waiting) in partials.iter().zip(&is_joined).zip(&mut waiting) {
                    let partial = &partials[values.copy as usize % partials.len()];
                    let mut operands: Vec<_> =
                        partial.accumulation.fold.operands.iter().map(|operand| values.lanes(*operand)).list();
                    let block = values.code.innermost();
                    if *is_joined {
                        waiting.append(&mut operands);
                        if values.copy + 1 < values.copies && waiting.len() < JOINED {
                            continue;
                        }
                        while waiting.len() > 1 {
                            let pairs = std::mem::take(waiting);
                            waiting.extend(pairs.chunks(2).map(|pair| match *pair {
                                [a, b] => values.code.two(block, wasm::F32X4_ADD, a, b),
                                _ => pair[0],
                            }));
                        }
                        operands.append(waiting);
                    }
                    partial.add(&mut values.code, block, &operands, mask);
                }
                values.store_all(kept.as_slice());
            });
        });
        if let Some(store) = kept {
            values.stored.insert(store.value, (store.buffer, store.index));
        }
        for (fold, partials) in folds.zip(&partials) {
            if !self.is_across {
                for other in &partials[1..] {
                    partials[0].merge(&mut values.code, block, other);
                }
            }
            let kept = if self.is_across { self.copies as usize } else { 1 };
            for (copy, partial) in partials[..kept].iter().enumerate() {
                let results = partial.finish(&mut values.code, block);
                for (number, result) in results.into_iter().enumerate() {
                    values.folded.insert((fold as u32, number as u32, copy as u32), result);
                }
            }
        }
    }
}

impl Values<'_, '_> {
    /// How many points of an axis come before the first where a bool does not hold: one that compares a sum that grows with the coordinate with
    /// a bound.
    pub fn prefix(&mut self, valid: Id, axis: u32, count: Count) -> Result<Count> {
        let refused = || Error::internal("the valid points of a row are not its first ones");
        let TypedNode::Apply(TypedOp::Lt, [place, bound, _]) = self.graph.node(valid) else { return Err(refused()) };
        if self.depends_on(bound, axis) || self.factor(place, axis) != Some(Distance::Known(1)) {
            return Err(refused());
        }
        if axis != self.lane_axis && !self.is_uniform(valid) {
            return Err(refused());
        }
        self.inner_axis = Some(axis);
        let (start, bound) = (self.at_start(place), self.first(bound));
        self.inner_axis = None;
        let block = self.code.innermost();
        let rest = self.code.keep(block, ValType::I32, &[bound.get(), start.get(), wasm::I32_SUB]);
        let none = Instruction::I32Const(0);
        let some = [rest.get(), count.get(), rest.get(), count.get(), wasm::I32_LT_U, wasm::SELECT];
        let some = self.code.keep(block, ValType::I32, &some);
        let code = [some.get(), none, start.get(), bound.get(), wasm::I32_LT_U, wasm::SELECT];
        Ok(Count::Local(self.code.keep(block, ValType::I32, &code), false))
    }
}
