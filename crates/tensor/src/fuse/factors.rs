//! Which factors of products have memory of their own, and which a product reads through views: as few operations on a device, on the host as
//! strides, blocks or windows.

use super::blocks::block_axes;
use super::operations::operations;
use crate::expr::{Border, Expr, Tensor, TensorId, TensorOp, with_memory};
use crate::size::Size;

/// Gives memory to factors of products that the product cannot compute as it reads them: on a device those of more than a few operations, since
/// each element is read many times, on the host all but views with fixed strides, blocks along the depth and windows. Windows are read in place: in
/// memory they are several times as large as what they are of, and that is what gets memory.
pub(super) fn store_factors(expr: &Expr, is_host: bool, stored: &mut [bool]) {
    let factors = |tensor: &Tensor| match tensor.op {
        TensorOp::MatMul => 2,
        TensorOp::Attention(_) => 3,
        _ => 0,
    };
    for tensor in &expr.nodes {
        for (side, factor) in tensor.operands[..factors(tensor)].iter().enumerate() {
            store_blocks(expr, *factor, stored);
            if !is_host {
                store_stack(expr, *factor, stored);
            }
            let base = under_windows(expr, stored, *factor, is_host);
            let may_have_windows = base.is_none() || tensor.op == TensorOp::MatMul;
            let is_short = |stored: &[bool]| !is_host && may_have_windows && is_short(expr, stored, *factor);
            if let Some(base) = base
                && may_have_windows
                && !is_short(stored)
            {
                stored[base.0 as usize] = true;
            }
            let is_read = if is_host {
                let is_view = is_view(expr, stored, *factor) || are_blocks(expr, stored, *factor, side);
                is_view || may_have_windows && are_windows(expr, stored, *factor)
            } else {
                is_short(stored)
            };
            stored[factor.0 as usize] |= !is_read;
        }
    }
}

/// Gives memory to stacks of stacks, whose kernel computes a block of them at once, in their own shape.
fn store_stack(expr: &Expr, mut factor: TensorId, stored: &mut [bool]) {
    while let TensorOp::Reshape = expr.tensor(factor).op {
        factor = expr.tensor(factor).operands[0];
    }
    if !block_axes(expr, stored, factor).is_empty() {
        stored[factor.0 as usize] = true;
    }
}

/// Gives memory to what blocks of a quantised factor are gathered into, which is less than the numbers.
fn store_blocks(expr: &Expr, factor: TensorId, stored: &mut [bool]) {
    let mut id = factor;
    while let Some(of) = viewed(expr, stored, id) {
        id = of;
    }
    let tensor = expr.tensor(id);
    if matches!(tensor.op, TensorOp::Dequantize(_)) && !stored[id.0 as usize] {
        tensor.operands.iter().for_each(|operand| stored[operand.0 as usize] = true);
    }
}

/// What an operation without memory reads elements of, as they are and in another order; none of memory, and of what computes its elements. Every
/// walk from a factor to its memory asks this, since sources compute theirs of nothing.
fn viewed(expr: &Expr, stored: &[bool], id: TensorId) -> Option<TensorId> {
    let tensor = expr.tensor(id);
    let is_view = match &tensor.op {
        TensorOp::Reshape
        | TensorOp::Expand
        | TensorOp::Permute(_)
        | TensorOp::Slice { .. }
        | TensorOp::Windows { .. }
        | TensorOp::Pad { .. } => true,
        with_memory!()
        | TensorOp::Constant(_)
        | TensorOp::Extent(_)
        | TensorOp::Number(_)
        | TensorOp::Iota(_)
        | TensorOp::RandomBits(_)
        | TensorOp::Elementwise(_)
        | TensorOp::Concat(_)
        | TensorOp::Gather(_)
        | TensorOp::GatherElements(_)
        | TensorOp::SetSlice { slot: None, .. }
        | TensorOp::Dequantize(_) => false,
    };
    tensor.operands.first().copied().filter(|_| is_view && !stored[id.0 as usize])
}

/// What the windows of a factor are of, with its border or without; none where there are no windows.
fn under_windows(expr: &Expr, stored: &[bool], factor: TensorId, with_border: bool) -> Option<TensorId> {
    let (mut id, mut has_windows) = (factor, false);
    while let Some(of) = viewed(expr, stored, id) {
        match &expr.tensor(id).op {
            TensorOp::Windows { .. } => has_windows = true,
            TensorOp::Pad { border, .. } if *border != Border::Constant || with_border || !has_windows => break,
            _ => {}
        }
        id = of;
    }
    has_windows.then_some(id)
}

/// Whether a factor takes few operations.
fn is_short(expr: &Expr, stored: &[bool], factor: TensorId) -> bool {
    const MOST_OPERATIONS: f64 = 4.0;
    let mut work = 0.0;
    let mut pending = vec![(factor, false)];
    while let Some((id, mut is_in_windows)) = pending.pop()
        && work <= MOST_OPERATIONS
    {
        let operand = expr.tensor(id);
        if stored[id.0 as usize] {
            continue;
        }
        work += match &operand.op {
            // Products read the words of quantised numbers, which are fewer bytes than these.
            TensorOp::Permute(_) | TensorOp::Expand | TensorOp::Reshape | TensorOp::Dequantize(_) => 0.0,
            TensorOp::Slice { steps, .. } if steps.iter().all(|step| *step > 0) => 0.0,
            TensorOp::Windows { .. } => {
                is_in_windows = true;
                1.0
            }
            // Neighbours in windows are read one by one anyway.
            TensorOp::Pad { border: Border::Constant, .. } if is_in_windows => 1.0,
            TensorOp::Elementwise(_) | TensorOp::Constant(_) | TensorOp::Extent(_) | TensorOp::Number(_) => {
                operations(&operand.op) + operand.operands.len().saturating_sub(1) as f64
            }
            _ => f64::INFINITY,
        };
        pending.extend(operand.operands.iter().map(|operand| (*operand, is_in_windows)));
    }
    work <= MOST_OPERATIONS
}

/// Whether a factor has the windows of memory as its rows or columns: a place is then the sum of one for the row or column and one along the depth.
fn are_windows(expr: &Expr, stored: &[bool], factor: TensorId) -> bool {
    let mut id = factor;
    while let Some(of) = viewed(expr, stored, id)
        && swaps_last(&expr.tensor(id).op)
    {
        id = of;
    }
    let tensor = expr.tensor(id);
    let Some(windows) = viewed(expr, stored, id).filter(|_| tensor.op == TensorOp::Reshape) else { return false };
    let from = expr.shape(windows);
    let batch = tensor.shape.len().saturating_sub(2);
    // Rows and columns are of several axes each, those of a batch of one.
    tensor.dtype.is_real()
        && from.len() >= batch
        && from[..batch] == tensor.shape[..batch]
        && is_division(&tensor.shape[batch..], &from[batch..])
        && is_view(expr, stored, windows)
}

/// Whether an operation exchanges the last two axes.
fn swaps_last(op: &TensorOp) -> bool {
    let TensorOp::Permute(axes) = op else { return false };
    let count = axes.len() as u32;
    count >= 2 && axes.iter().copied().eq((0..count - 2).chain([count - 1, count - 2]))
}

/// Whether a factor is memory that is read with fixed strides.
pub(super) fn is_view(expr: &Expr, stored: &[bool], factor: TensorId) -> bool {
    let mut id = factor;
    while let Some(of) = viewed(expr, stored, id) {
        let tensor = expr.tensor(id);
        let has_strides = match &tensor.op {
            TensorOp::Permute(_) | TensorOp::Expand | TensorOp::Windows { .. } => true,
            TensorOp::Slice { steps, .. } => steps.iter().all(|step| *step > 0),
            // Memory has one order.
            TensorOp::Reshape => stored[of.0 as usize] || is_division(expr.shape(of), &tensor.shape),
            _ => false,
        };
        if !has_strides {
            return false;
        }
        id = of;
    }
    stored[id.0 as usize]
}

/// Whether a reshape divides axes, and makes none of several.
fn is_division(from: &[Size], to: &[Size]) -> bool {
    let mut parts = to.iter().filter(|extent| !extent.is(1));
    for whole in from.iter().filter(|extent| !extent.is(1)) {
        let Some(mut product) = parts.next().cloned() else { return false };
        while product != *whole {
            let Some(part) = parts.next() else { return false };
            product = &product * part;
        }
    }
    parts.next().is_none()
}

/// Whether a factor is quantised along the depth, and its words and scales are memory: a left factor as it is, or a right one transposed.
fn are_blocks(expr: &Expr, stored: &[bool], factor: TensorId, side: usize) -> bool {
    let transposed = viewed(expr, stored, factor).filter(|_| swaps_last(&expr.tensor(factor).op));
    let Some(blocks) = (if side == 1 { transposed } else { Some(factor) }) else { return false };
    let tensor = expr.tensor(blocks);
    matches!(tensor.op, TensorOp::Dequantize(_)) && tensor.operands.iter().all(|operand| stored[operand.0 as usize])
}
