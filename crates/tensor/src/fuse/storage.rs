//! Which operations have memory of their own.
//!
//! An operation without memory is written into every kernel that uses it, and computed at each point of it. It gets memory where computing it
//! again costs more than writing and reading it, where a kernel would have too many buffers or become too long, and where no kernel can write
//! it into another: reductions, scans, products, scatters.

use residua_base::list::Listed;
use residua_base::sort::ascending;
use rustc_hash::FxHashSet;

use super::blocks::block_axes;
use super::factors::{is_view, store_factors};
use super::group::{is_packed, points};
use super::operations::operations;
use crate::expr::{Elementwise, Expr, Tensor, TensorId, TensorOp, has_memory};
use crate::size::Size;

/// What kernels run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// Whether they run on the host, in one thread.
    pub is_host: bool,
    /// Storage buffers that a kernel can have.
    pub most_buffers: u32,
}

/// Operations of a chain that one kernel holds at most: lowering is recursive, and compilers take time that grows with the text.
const MOST_DEPTH: u32 = 64;
/// Operations that one kernel holds at most.
const MOST_OPERATIONS: usize = 600;
/// Operations that cost as much as reading one number: what a GPU computes while it moves four bytes.
const OPERATIONS_A_NUMBER: f64 = 30.0;
/// Points of use beyond which an operation is given memory.
const MOST_USES: usize = 12;

/// A point of use: an iteration space, a path of views to the operation, and how many points are asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Use {
    space: u32,
    path: u64,
    points: f64,
}

/// The path of what a block of a kernel reads: once, by whatever path.
const BLOCK: u64 = u64::MAX;
/// The path of what the parts of a block view: read once, too, but no part of it.
const VIEWED: u64 = u64::MAX - 1;

/// Which tensors have memory. `roots` do.
pub fn stored(expr: &Expr, roots: &[TensorId], target: &Target, most_dims: &[u32]) -> Vec<bool> {
    let counts: Vec<f64> =
        expr.nodes.iter().map(|tensor| Size::product(&tensor.shape).at(most_dims).max(0) as f64).list();
    let mut stored: Vec<bool> = expr.nodes.iter().map(|tensor| has_memory(&tensor.op)).list();
    roots.iter().for_each(|root| stored[root.0 as usize] = true);
    store_factors(expr, target.is_host, &mut stored);
    store_epilogues(expr, &mut stored);
    store_of_sorts(expr, target, &mut stored);
    store_of_transforms(expr, target, &mut stored);
    store_what_is_used_often(expr, &counts, target, most_dims, &mut stored);
    store_for_limits(expr, target, &mut stored);
    stored
}

/// Gives memory to what several operations read of what a product gives, in place of the product: a sum with a residual, say. The product's
/// kernel writes it, and each of them reads it once. Without memory every reader would read all summands, those of earlier layers too.
fn store_epilogues(expr: &Expr, stored: &mut [bool]) {
    let mut users: Vec<Vec<u32>> = vec![Vec::new(); expr.nodes.len()];
    for (place, tensor) in (0..).zip(&expr.nodes) {
        for operand in &tensor.operands {
            let users = &mut users[operand.0 as usize];
            if users.last() != Some(&place) {
                users.push(place);
            }
        }
    }
    for (place, tensor) in expr.nodes.iter().enumerate().filter(|(_, tensor)| tensor.op == TensorOp::MatMul) {
        // What alone reads it, element by element.
        let mut last = place;
        while let [user] = users[last][..] {
            let next = &expr.nodes[user as usize];
            if !matches!(next.op, TensorOp::Elementwise(_)) || next.shape != tensor.shape {
                break;
            }
            last = user as usize;
        }
        // Elements that share words are not written by products.
        let is_epilogue = last != place && !is_packed(expr.nodes[last].dtype);
        stored[last] |= is_epilogue && users[last].len() > 1;
    }
}

/// Gives memory to the keys of sorts and to matrices that are factored on the host, which its loops read, and on a device to what is moved by a pass, since a pass reads in order
/// what the one before has written.
fn store_of_sorts(expr: &Expr, target: &Target, stored: &mut [bool]) {
    for (place, tensor) in expr.nodes.iter().enumerate() {
        match &tensor.op {
            TensorOp::Argsort { .. } if target.is_host => stored[tensor.operands[0].0 as usize] = true,
            TensorOp::Linalg(_) if target.is_host => {
                tensor.operands.iter().for_each(|operand| stored[operand.0 as usize] = true);
            }
            TensorOp::GatherElements(_) => {
                stored[place] |= matches!(expr.tensor(tensor.operands[1]).op, TensorOp::DigitSort(_));
            }
            _ => {}
        }
    }
}

/// Gives memory to what transforms on the host read, but for views with fixed strides; and on a device to pairs of which transforms read either part, so
/// that a pass writes both at once, and the next reads both at once.
fn store_of_transforms(expr: &Expr, target: &Target, stored: &mut [bool]) {
    for tensor in expr.nodes.iter().filter(|tensor| matches!(tensor.op, TensorOp::Fourier(_))) {
        for operand in &tensor.operands {
            if target.is_host {
                stored[operand.0 as usize] |= !is_view(expr, stored, *operand);
                continue;
            }
            let (mut id, mut is_part) = (*operand, false);
            while let TensorOp::Reshape | TensorOp::Slice { .. } = expr.tensor(id).op {
                is_part |= expr.tensor(id).op != TensorOp::Reshape;
                id = expr.tensor(id).operands[0];
            }
            let tensor = expr.tensor(id);
            let is_of_parts = |axis: u32| axis as usize + 1 == tensor.shape.len() && tensor.shape[axis as usize].is(2);
            stored[id.0 as usize] |= is_part && matches!(tensor.op, TensorOp::Concat(axis) if is_of_parts(axis));
        }
    }
}

fn store_what_is_used_often(expr: &Expr, counts: &[f64], target: &Target, most_dims: &[u32], stored: &mut [bool]) {
    // Work and numbers read for one element, as if nothing but what must have memory had it.
    let mut work: Vec<(f64, f64)> = Vec::with_capacity(expr.nodes.len());
    for (place, tensor) in expr.nodes.iter().enumerate() {
        let (mut own, mut read) = (operations(&tensor.op), 0.0);
        if has_memory(&tensor.op) {
            work.push((0.0, 1.0));
            continue;
        }
        for operand in &tensor.operands {
            let (operations, numbers) = work[operand.0 as usize];
            own += operations;
            read += numbers * (counts[operand.0 as usize] / counts[place].max(1.0)).min(1.0);
        }
        work.push((own.min(1e6), read.min(1e3)));
    }
    // A dispatch takes as long as moving so many numbers.
    let dispatch = if target.is_host { 1e3 } else { 2e6 };
    let mut spaces: Vec<&[Size]> = Vec::new();
    let mut uses: Vec<Vec<Use>> = vec![Vec::new(); expr.nodes.len()];
    for (place, tensor) in expr.nodes.iter().enumerate().rev() {
        let count = counts[place].max(1.0);
        if !stored[place] {
            let evaluations: f64 = uses[place].iter().map(|a_use| a_use.points / count).sum();
            let (operations, read) = work[place];
            let once = operations / OPERATIONS_A_NUMBER + read;
            // Written once and read at each use, or computed at each.
            let saved = (evaluations * once - (once + 1.0 + evaluations)) * count;
            // A view is cheap by itself: what it views may be worth storing, as is what stops a derivative. Quantised numbers are more bytes than what
            // they are made of.
            let is_view = matches!(
                tensor.op,
                TensorOp::Elementwise(Elementwise::StopGradient)
                    | TensorOp::Reshape
                    | TensorOp::Expand
                    | TensorOp::Permute(_)
                    | TensorOp::Slice { .. }
                    | TensorOp::Windows { .. }
                    | TensorOp::Dequantize(_)
            );
            // A stack of stacks that no block is computed from is one.
            let is_block = !target.is_host
                && matches!(tensor.op, TensorOp::Concat(_))
                && uses[place].iter().any(|one| one.path != BLOCK)
                && !block_axes(expr, stored, TensorId(place as u32)).is_empty();
            stored[place] =
                is_block || !is_view && operations >= 1.0 && (saved > dispatch || uses[place].len() > MOST_USES);
        }
        let own: Vec<Use> = if stored[place] {
            let space = space_of(expr, tensor, &mut spaces);
            let points = Size::product(points(expr, TensorId(place as u32))).at(most_dims).max(0) as f64;
            let is_block = !target.is_host && !block_axes(expr, stored, TensorId(place as u32)).is_empty();
            vec![Use { space, path: if is_block { BLOCK } else { 0 }, points }]
        } else {
            uses[place].clone()
        };
        for operand in &tensor.operands {
            let to = operand.0 as usize;
            if stored[to] && has_memory(&expr.tensor(*operand).op) {
                continue;
            }
            for one in &own {
                let one = through(expr, place, tensor, *operand, *one, counts);
                match uses[to].iter_mut().find(|known| known.space == one.space && known.path == one.path) {
                    Some(known) => known.points = known.points.max(one.points),
                    None => uses[to].push(one),
                }
            }
        }
    }
}

/// The iteration space of a kernel that gives a tensor, by a number. That of a reduction is the space of what it reduces, so that a reduction
/// and what is computed for each element of the same shape count as one kernel.
fn space_of<'a>(expr: &'a Expr, tensor: &'a Tensor, spaces: &mut Vec<&'a [Size]>) -> u32 {
    let shape: &[Size] = match &tensor.op {
        TensorOp::Reduce(..) | TensorOp::Fold { .. } => &expr.tensor(tensor.operands[0]).shape,
        TensorOp::SetSlice { slot: Some(_), .. } => &expr.tensor(tensor.operands[1]).shape,
        _ => &tensor.shape,
    };
    let place = spaces.iter().position(|known| *known == shape).unwrap_or_else(|| {
        spaces.push(shape);
        spaces.len() - 1
    });
    place as u32
}

/// A use of an operand, from a use of what it is an operand of.
fn through(expr: &Expr, place: usize, tensor: &Tensor, operand: TensorId, of: Use, counts: &[f64]) -> Use {
    let shape = &expr.tensor(operand).shape;
    let mix = |number: u64| (of.path ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29) | 1;
    match &tensor.op {
        TensorOp::Concat(_) | TensorOp::Slice { .. } | TensorOp::Elementwise(_) if of.path == BLOCK => {
            Use { points: of.points.min(counts[operand.0 as usize]), ..of }
        }
        _ if of.path >= VIEWED => Use { path: VIEWED, ..of },
        TensorOp::Elementwise(_) if *shape == tensor.shape => of,
        // Equal shapes that broadcast to one shape are read at the same points.
        TensorOp::Elementwise(_) | TensorOp::Expand => Use { path: mix(shape.len() as u64 + 1), ..of },
        // Terms are read once, here or by the sums of pieces, and bounds once a range: what all of it takes is little beside the terms.
        TensorOp::RangeSum(_) => Use { path: mix(place as u64 + 1000), points: 0.5 * counts[operand.0 as usize], ..of },
        TensorOp::Reduce(..) | TensorOp::Fold { .. } => Use { points: counts[operand.0 as usize], ..of },
        // A tile of a product reads its operands once.
        TensorOp::MatMul | TensorOp::Attention(_) => {
            Use { path: mix(place as u64 + 1000), points: 4.0 * counts[operand.0 as usize], ..of }
        }
        TensorOp::Scan { .. } | TensorOp::ScanBy { .. } => {
            Use { path: mix(2), points: 2.0 * counts[operand.0 as usize], ..of }
        }
        _ => Use { path: mix(place as u64 + 1000), ..of },
    }
}

/// Gives memory where kernels would become too deep, too long, or have too many buffers.
fn store_for_limits(expr: &Expr, target: &Target, stored: &mut [bool]) {
    // One binding is for the uniform, and two for results; a block of attention has three, and a transform its roots.
    let most_leaves = |op: &TensorOp| {
        let written = if matches!(op, TensorOp::Attention(_) | TensorOp::Fourier(_)) { 3 } else { 2 };
        (target.most_buffers as usize).saturating_sub(written).max(2)
    };
    let mut depth = vec![0u32; expr.nodes.len()];
    let mut leaves: Vec<Vec<u32>> = vec![Vec::new(); expr.nodes.len()];
    for (place, tensor) in expr.nodes.iter().enumerate() {
        let inlined = |stored: &[bool]| -> Vec<usize> {
            tensor.operands.iter().map(|operand| operand.0 as usize).filter(|operand| !stored[*operand]).list()
        };
        for operand in inlined(stored) {
            if depth[operand] >= MOST_DEPTH {
                stored[operand] = true;
            }
        }
        loop {
            let mut union: Vec<u32> = Vec::new();
            for operand in tensor.operands.iter().map(|operand| operand.0 as usize) {
                if stored[operand] {
                    union.push(operand as u32);
                } else {
                    union.extend(&leaves[operand]);
                }
            }
            ascending(&mut union);
            union.dedup();
            let widest = inlined(stored).into_iter().max_by_key(|operand| leaves[*operand].len());
            match widest {
                Some(widest) if union.len() > most_leaves(&tensor.op) && leaves[widest].len() > 1 => {
                    stored[widest] = true
                }
                Some(_) | None => {
                    leaves[place] = union;
                    break;
                }
            }
        }
        depth[place] = inlined(stored).into_iter().map(|operand| depth[operand] + 1).max().unwrap_or(0);
        if depth[place] > 8 && size(expr, place, stored) > MOST_OPERATIONS {
            let longest = inlined(stored).into_iter().max_by_key(|operand| depth[*operand]);
            if let Some(longest) = longest {
                stored[longest] = true;
            }
        }
    }
}

/// How many operations a kernel for a tensor holds.
fn size(expr: &Expr, place: usize, stored: &[bool]) -> usize {
    let mut seen: FxHashSet<usize> = FxHashSet::default();
    let mut pending = vec![place];
    while let Some(place) = pending.pop() {
        if seen.insert(place) {
            let operands = expr.nodes[place].operands.iter().map(|operand| operand.0 as usize);
            pending.extend(operands.filter(|operand| !stored[*operand]));
        }
    }
    seen.len()
}
