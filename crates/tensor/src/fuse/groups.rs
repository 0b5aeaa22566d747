//! Fusion: which operations become one kernel.
//!
//! Every tensor with memory is written by one group. Groups are formed in the order of the recipe: a tensor joins an earlier group if that can
//! write it in the same pass over the same numbers, and if nothing that it reads waits for that group.

use residua_base::error::Result;
use residua_base::list::Listed;
use residua_base::sort::ascending;

use super::blocks::block_axes;
use super::group::{Group, RowGroup, is_packed, points, slot_of, without_ones};
use super::storage::Target;
use super::{elements, fourier, product, rows, sort};
use crate::expr::{Expr, TensorId, TensorOp};
use crate::size::Size;
use crate::turns;

/// Rows longer than this are not kept within a workgroup, so that nothing which needs their reductions joins them.
const LONGEST_ROW: i64 = 16384;

/// Groups, and in which of them each tensor is written.
pub struct Groups<'a> {
    /// The recipe.
    pub expr: &'a Expr,
    /// Which tensors have memory.
    pub stored: &'a [bool],
    /// In the order of their making.
    pub groups: Vec<Group>,
    /// For each tensor.
    pub of: Vec<Option<usize>>,
    /// For each group the tensors with memory that it reads, sorted; those that it writes itself left out.
    pub reads: Vec<Vec<TensorId>>,
    /// For each group those that write what it reads.
    pub before: Vec<Vec<usize>>,
    target: Target,
    most_dims: &'a [u32],
    /// For each tensor with memory, the tensors with memory that it is computed from.
    leaves: Vec<Vec<TensorId>>,
}

/// Forms the groups of a recipe.
pub async fn groups<'a>(
    expr: &'a Expr,
    stored: &'a [bool],
    target: Target,
    most_dims: &'a [u32],
) -> Result<Groups<'a>> {
    let count = expr.nodes.len();
    let mut groups = Groups {
        expr,
        stored,
        groups: Vec::new(),
        of: vec![None; count],
        reads: Vec::new(),
        before: Vec::new(),
        target,
        most_dims,
        leaves: vec![Vec::new(); count],
    };
    for place in (0..count).filter(|place| stored[*place]) {
        let id = TensorId(place as u32);
        if matches!(expr.tensor(id).op, TensorOp::Input(_) | TensorOp::Roots(_)) {
            continue;
        }
        groups.leaves[place] = leaves(expr, stored, id);
        let group = groups.group_for(id)?;
        groups.of[place] = Some(group);
        groups.take_reads(group, id);
        turns::checkpoint().await;
    }
    Ok(groups)
}

/// The tensors with memory that an operation is computed from.
fn leaves(expr: &Expr, stored: &[bool], id: TensorId) -> Vec<TensorId> {
    let mut seen = vec![false; id.0 as usize + 1];
    let mut found = Vec::new();
    let mut pending = expr.tensor(id).operands.clone();
    while let Some(operand) = pending.pop() {
        if std::mem::replace(&mut seen[operand.0 as usize], true) {
            continue;
        }
        if stored[operand.0 as usize] {
            found.push(operand);
        } else {
            pending.extend(&expr.tensor(operand).operands);
        }
    }
    ascending(&mut found);
    found
}

/// Whether a group waits for another, where `before` are those that each waits for directly.
pub fn waits_for(before: &[Vec<usize>], group: usize, other: usize) -> bool {
    let mut seen = vec![false; before.len()];
    let mut pending = vec![group];
    while let Some(group) = pending.pop() {
        if group == other {
            return true;
        }
        if !std::mem::replace(&mut seen[group], true) {
            pending.extend(&before[group]);
        }
    }
    false
}

impl Groups<'_> {
    /// Adds what a new member of a group reads to what the group reads.
    fn take_reads(&mut self, group: usize, id: TensorId) {
        if group == self.reads.len() {
            self.reads.push(Vec::new());
            self.before.push(Vec::new());
        }
        let new = self.leaves[id.0 as usize].iter().filter(|leaf| self.of[leaf.0 as usize] != Some(group));
        let reads = &mut self.reads[group];
        reads.extend(new);
        ascending(reads);
        reads.dedup();
        self.before[group] = reads.iter().filter_map(|read| self.of[read.0 as usize]).list();
    }

    /// Whether a group and a tensor read something in common.
    fn share_reads(&self, group: usize, id: TensorId) -> bool {
        self.reads[group].iter().any(|read| self.leaves[id.0 as usize].contains(read))
    }

    /// Adds a tensor to a group, or makes one for it.
    fn group_for(&mut self, id: TensorId) -> Result<usize> {
        let tensor = self.expr.tensor(id);
        let group = match &tensor.op {
            TensorOp::Reduce(_, axes) | TensorOp::Fold { axes, .. } => {
                let shape = self.expr.tensor(tensor.operands[0]).shape.clone();
                let rows =
                    RowGroup { shape, axes: axes.clone(), folds: vec![id], elements: Vec::new(), results: Vec::new() };
                if let Some(group) = self.join_reduction(id, &rows)? {
                    return Ok(group);
                }
                Group::Rows(rows)
            }
            TensorOp::RangeSum(_) => Group::Rows(RowGroup::of_ranges(self.expr, id)),
            TensorOp::Scan { .. } => Group::Scan { scans: vec![id] },
            TensorOp::ScanBy { .. } => {
                if let Some(group) = self.same_scan(id) {
                    return Ok(group);
                }
                Group::Scan { scans: vec![id] }
            }
            TensorOp::MatMul => Group::Product { product: id, elements: Vec::new() },
            TensorOp::Argsort { .. } | TensorOp::DigitSort(_) => Group::Sort { sort: id, elements: Vec::new() },
            TensorOp::Fourier(_) => Group::Fourier { fourier: id, elements: Vec::new() },
            TensorOp::DigitCounts(_) => Group::DigitCounts { counts: id },
            TensorOp::Linalg(_) => Group::Linalg { linalg: id },
            TensorOp::Attention(_) => Group::Attention { attention: id },
            TensorOp::Scatter(..) | TensorOp::IndexPut(..) => Group::Scatter { scatter: id },
            _ => {
                if let Some(group) = self.join_elements(id)? {
                    return Ok(group);
                }
                Group::Elements { roots: vec![id] }
            }
        };
        self.groups.push(group);
        Ok(self.groups.len() - 1)
    }

    /// Whether a group can take a tensor: nothing else that the tensor reads waits for the group, and there are bindings left.
    fn is_free(&self, group: usize, id: TensorId) -> bool {
        let own = &self.leaves[id.0 as usize];
        let others = own.iter().filter_map(|leaf| self.of[leaf.0 as usize]).filter(|other| *other != group);
        if others.into_iter().any(|other| waits_for(&self.before, other, group)) {
            return false;
        }
        let is_new = |leaf: &&TensorId| self.of[leaf.0 as usize] != Some(group) && !self.reads[group].contains(leaf);
        let read = self.reads[group].len() + own.iter().filter(is_new).count();
        // Transforms read their roots too.
        let hidden = usize::from(matches!(self.groups[group], Group::Fourier { .. }));
        let written = self.groups[group].members().len() + 1 + hidden;
        read + written <= self.target.most_buffers as usize
    }

    /// Whether no slot of which either writes a part is read or written by the other too: what is there before and what is there afterwards are
    /// one memory, of which a kernel can read one state alone.
    fn is_apart(&self, group: usize, id: TensorId) -> bool {
        let slots_of = |ids: &[TensorId]| ids.iter().filter_map(|id| slot_of(self.expr, *id)).list();
        let members = slots_of(&self.groups[group].members());
        let own = slot_of(self.expr, id);
        let all_of_group = [members.as_slice(), &slots_of(&self.reads[group])].concat();
        let leaves = slots_of(&self.leaves[id.0 as usize]);
        own.is_none_or(|slot| !all_of_group.contains(&slot)) && !leaves.iter().any(|slot| members.contains(slot))
    }

    /// The groups that write something which a tensor reads, the last first.
    fn sources(&self, id: TensorId) -> Vec<usize> {
        let mut sources: Vec<usize> =
            self.leaves[id.0 as usize].iter().filter_map(|leaf| self.of[leaf.0 as usize]).list();
        ascending(&mut sources);
        sources.dedup();
        sources.reverse();
        sources
    }

    /// Whether a row can be read again after a reduction of it.
    fn is_short(&self, rows: &RowGroup) -> bool {
        !rows.is_of_ranges(self.expr)
            && rows.is_innermost()
            && Size::product(&rows.row()).at(self.most_dims) <= LONGEST_ROW
    }

    fn join_reduction(&mut self, id: TensorId, new: &RowGroup) -> Result<Option<usize>> {
        let fits = |group: &Group| match group {
            Group::Rows(rows) => rows.shape == new.shape && rows.axes == new.axes && !rows.is_of_ranges(self.expr),
            _ => false,
        };
        // A reduction that reads results of others along the same rows.
        for group in self.sources(id) {
            let Group::Rows(rows) = &self.groups[group] else { continue };
            if !fits(&self.groups[group]) || !self.is_short(rows) || !self.is_free(group, id) {
                continue;
            }
            let mut joined = rows.clone();
            joined.folds.push(id);
            if rows::reads_no_results(self.expr, self.stored, &joined)? {
                self.groups[group] = Group::Rows(joined);
                return Ok(Some(group));
            }
        }
        // One that reads the same numbers.
        for group in (0..self.groups.len()).rev() {
            let is_sibling = fits(&self.groups[group]) && self.share_reads(group, id) && self.is_free(group, id);
            if !is_sibling || self.sources(id).contains(&group) || !self.states_fit_with(group, id)? {
                continue;
            }
            if let Group::Rows(rows) = &mut self.groups[group] {
                rows.folds.push(id);
            }
            return Ok(Some(group));
        }
        Ok(None)
    }

    /// Whether the states of a group of reductions fit the bindings of the two kernels that it is cut into.
    pub fn states_fit(&self, group: usize) -> Result<bool> {
        self.fit_as_states(group, &[])
    }

    /// The same with one reduction more.
    fn states_fit_with(&self, group: usize, id: TensorId) -> Result<bool> {
        self.fit_as_states(group, &[id])
    }

    fn fit_as_states(&self, group: usize, more: &[TensorId]) -> Result<bool> {
        let Group::Rows(rows) = &self.groups[group] else { return Ok(true) };
        let folds = [rows.folds.as_slice(), more].concat();
        let numbers = rows::state_numbers(self.expr, &folds)? as usize;
        let is_new = |leaf: &&TensorId| !self.reads[group].contains(leaf);
        let new: usize = more.iter().map(|id| self.leaves[id.0 as usize].iter().filter(is_new).count()).sum();
        let read = self.reads[group].len() + new;
        // The first kernel reads the operands and writes the states, the second reads these and writes what the group gives.
        let written = folds.len() + rows.results.len();
        let of_results = if rows.results.is_empty() { 0 } else { read };
        Ok(numbers + read.max(written + of_results) <= self.target.most_buffers as usize)
    }

    /// The group of a scan with the same rule of the same operands, of which this is another number.
    fn same_scan(&mut self, id: TensorId) -> Option<usize> {
        let new = self.expr.tensor(id);
        let TensorOp::ScanBy { rule, axis, exclusive, reverse, .. } = &new.op else { return None };
        let is_same = |other: &TensorId| {
            let other = self.expr.tensor(*other);
            other.operands == new.operands
                && matches!(&other.op, TensorOp::ScanBy { rule: r, axis: a, exclusive: e, reverse: b, .. }
                    if r == rule && a == axis && e == exclusive && b == reverse)
        };
        let fits = |group: &Group| matches!(group, Group::Scan { scans } if scans.iter().all(is_same));
        let group = self.groups.iter().position(fits)?;
        if let Group::Scan { scans } = &mut self.groups[group] {
            scans.push(id);
        }
        Some(group)
    }

    fn join_elements(&mut self, id: TensorId) -> Result<Option<usize>> {
        let (expr, stored) = (self.expr, self.stored);
        let tensor = expr.tensor(id);
        let shape = without_ones(points(expr, id));
        for group in self.sources(id) {
            let is_of_elements = matches!(self.groups[group], Group::Elements { .. });
            let needs_elements = is_packed(tensor.dtype) || matches!(tensor.op, TensorOp::SetSlice { .. });
            if needs_elements && !is_of_elements || !self.is_apart(group, id) || !self.is_free(group, id) {
                continue;
            }
            let joined = match &self.groups[group] {
                Group::Rows(rows) => {
                    let mut joined = rows.clone();
                    if shape == without_ones(&rows.outer()) {
                        joined.results.push(id);
                    } else if shape == without_ones(&rows.shape) && self.is_short(rows) {
                        joined.elements.push(id);
                    } else {
                        continue;
                    }
                    if !rows::reads_no_results(expr, stored, &joined)? {
                        continue;
                    }
                    Group::Rows(joined)
                }
                Group::Product { product, elements } if !self.target.is_host => {
                    let whole = without_ones(&expr.tensor(*product).shape);
                    if shape != whole {
                        continue;
                    }
                    let mut elements = elements.clone();
                    elements.push(id);
                    if !product::product_reads_itself_in_place(expr, stored, *product, &elements)? {
                        continue;
                    }
                    Group::Product { product: *product, elements }
                }
                Group::Sort { sort, elements } if !self.target.is_host => {
                    if shape != without_ones(&expr.tensor(*sort).shape) {
                        continue;
                    }
                    let (sort, elements) = (*sort, [elements.as_slice(), &[id]].concat());
                    if !sort::reads_itself_in_place(expr, stored, sort, &elements, self.most_dims)? {
                        continue;
                    }
                    Group::Sort { sort, elements }
                }
                Group::Fourier { fourier, elements } if !self.target.is_host => {
                    if !fourier::is_of_results(expr, *fourier, id) {
                        continue;
                    }
                    let (fourier, elements) = (*fourier, [elements.as_slice(), &[id]].concat());
                    if !fourier::reads_itself_in_place(expr, stored, fourier, &elements)? {
                        continue;
                    }
                    Group::Fourier { fourier, elements }
                }
                Group::Elements { roots } => {
                    let joined = [roots.as_slice(), &[id]].concat();
                    let fits = without_ones(points(expr, roots[0])) == shape;
                    let block = self.block_axes(roots[0]);
                    if !fits
                        || self.block_axes(id) != block
                        || !block.is_empty() && expr.shape(id) != expr.shape(roots[0])
                        || !elements::elements_read_each_other_in_place(expr, stored, &joined, &block)?
                    {
                        continue;
                    }
                    Group::Elements { roots: joined }
                }
                Group::Scan { .. }
                | Group::Scatter { .. }
                | Group::Product { .. }
                | Group::Sort { .. }
                | Group::Fourier { .. }
                | Group::DigitCounts { .. }
                | Group::Linalg { .. }
                | Group::Attention { .. } => continue,
            };
            self.groups[group] = joined;
            return Ok(Some(group));
        }
        // Parts of one shape, and tables that are computed from nothing, need no common source: a dispatch costs more than what they share.
        let reads_nothing = |group: usize| {
            self.leaves[id.0 as usize].is_empty() && self.reads[group].is_empty() && !is_packed(tensor.dtype)
        };
        let is_part = |id: TensorId| matches!(expr.tensor(id).op, TensorOp::SetSlice { .. });
        let fits = |group: usize| match &self.groups[group] {
            Group::Elements { roots } => {
                without_ones(points(expr, roots[0])) == shape
                    && self.block_axes(roots[0]).is_empty()
                    && self.block_axes(id).is_empty()
                    && (self.share_reads(group, id) || is_part(id) && is_part(roots[0]) || reads_nothing(group))
                    && self.is_apart(group, id)
                    && !self.sources(id).contains(&group)
                    && self.is_free(group, id)
            }
            _ => false,
        };
        let sibling = (0..self.groups.len()).rev().find(|group| fits(*group));
        if let Some(group) = sibling
            && let Group::Elements { roots } = &mut self.groups[group]
        {
            roots.push(id);
        }
        Ok(sibling)
    }

    /// The axes of a tensor along which a thread has a block; on the host none.
    pub fn block_axes(&self, id: TensorId) -> Vec<u32> {
        if self.target.is_host { Vec::new() } else { block_axes(self.expr, self.stored, id) }
    }

    /// The groups that read a tensor and do not write it.
    pub fn readers(&self, id: TensorId) -> impl Iterator<Item = usize> {
        (0..self.reads.len()).filter(move |group| self.reads[*group].binary_search(&id).is_ok())
    }

    /// For each tensor whether a group reads it that does not write it.
    pub fn read_elsewhere(&self) -> Vec<bool> {
        let mut read = vec![false; self.of.len()];
        self.reads.iter().flatten().for_each(|id| read[id.0 as usize] = true);
        read
    }
}
