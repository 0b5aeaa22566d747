//! Which operations have memory of their own.
//!
//! An operation without memory is written into every kernel that uses it, and computed at each point of it. It gets memory where computing it
//! again costs more than writing and reading it, where a kernel would have too many buffers or become too long, and where no kernel can write
//! it into another: reductions, scans, products, scatters.

use residua_base::list::Listed;
use residua_base::sort::ascending;
use rustc_hash::FxHashSet;

use super::group::{is_packed, points};
use crate::expr::{Border, Elementwise, Expr, Op, Tensor, TensorId, has_memory};
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

/// Which tensors have memory. `roots` do.
pub fn stored(expr: &Expr, roots: &[TensorId], target: &Target, most_dims: &[u32]) -> Vec<bool> {
    let counts: Vec<f64> =
        expr.nodes.iter().map(|tensor| Size::product(&tensor.shape).at(most_dims).max(0) as f64).list();
    let mut stored: Vec<bool> = expr.nodes.iter().map(|tensor| has_memory(&tensor.op)).list();
    roots.iter().for_each(|root| stored[root.0 as usize] = true);
    store_factors(expr, target, &mut stored);
    store_epilogues(expr, &mut stored);
    store_of_sorts(expr, target, &mut stored);
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
    for (place, tensor) in expr.nodes.iter().enumerate().filter(|(_, tensor)| tensor.op == Op::MatMul) {
        // What alone reads it, element by element.
        let mut last = place;
        while let [user] = users[last][..] {
            let next = &expr.nodes[user as usize];
            if !matches!(next.op, Op::Elementwise(_)) || next.shape != tensor.shape {
                break;
            }
            last = user as usize;
        }
        // Elements that share words are not written by products.
        let is_epilogue = last != place && !is_packed(expr.nodes[last].dtype);
        stored[last] |= is_epilogue && users[last].len() > 1;
    }
}

/// Gives memory to factors of products that the product cannot compute as it reads them: on a device those of more than a few operations, since
/// each element is read many times, on the host all but views with fixed strides, blocks along the depth and windows. Windows are read in place: in
/// memory they are several times as large as what they are of, and that is what gets memory.
fn store_factors(expr: &Expr, target: &Target, stored: &mut [bool]) {
    let factors = |tensor: &Tensor| match tensor.op {
        Op::MatMul => 2,
        Op::Attention(_) => 3,
        _ => 0,
    };
    for tensor in &expr.nodes {
        for (side, factor) in tensor.operands[..factors(tensor)].iter().enumerate() {
            let is_short = |stored: &[bool]| !target.is_host && is_short(expr, stored, *factor);
            if tensor.op == Op::MatMul
                && !is_short(stored)
                && let Some(base) = under_windows(expr, *factor, target.is_host)
            {
                stored[base.0 as usize] = true;
            }
            let is_read = if target.is_host {
                is_view(expr, stored, *factor)
                    || are_blocks(expr, stored, *factor, side)
                    || are_windows(expr, stored, *factor)
            } else {
                is_short(stored)
            };
            stored[factor.0 as usize] |= !is_read;
        }
    }
}

/// What the windows of a factor are of, with its border or without; none where there are no windows.
fn under_windows(expr: &Expr, factor: TensorId, with_border: bool) -> Option<TensorId> {
    let (mut id, mut has_windows) = (factor, false);
    loop {
        let tensor = expr.tensor(id);
        match &tensor.op {
            Op::Windows { .. } => has_windows = true,
            Op::Permute(_) | Op::Expand | Op::Reshape | Op::Slice { .. } => {}
            Op::Pad { border: Border::Constant, .. } if has_windows && !with_border => {}
            _ => return has_windows.then_some(id),
        }
        id = tensor.operands[0];
    }
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
            Op::Permute(_) | Op::Expand | Op::Reshape | Op::Dequantize(_) => 0.0,
            Op::Slice { steps, .. } if steps.iter().all(|step| *step > 0) => 0.0,
            Op::Windows { .. } => {
                is_in_windows = true;
                1.0
            }
            // Neighbours in windows are read one by one anyway.
            Op::Pad { border: Border::Constant, .. } if is_in_windows => 1.0,
            Op::Elementwise(_) | Op::Constant(_) | Op::Extent(_) => {
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
    let mut tensor = expr.tensor(factor);
    let swaps_last = |axes: &[u32]| {
        let count = axes.len() as u32;
        count >= 2 && axes.iter().copied().eq((0..count - 2).chain([count - 1, count - 2]))
    };
    while let (Op::Permute(axes), false) = (&tensor.op, stored[tensor.operands[0].0 as usize]) {
        if !swaps_last(axes) {
            return false;
        }
        tensor = expr.tensor(tensor.operands[0]);
    }
    let from = tensor.operands.first().map(|operand| expr.tensor(*operand).shape.as_slice()).unwrap_or_default();
    let batch = tensor.shape.len().saturating_sub(2);
    // Rows and columns are of several axes each, those of a batch of one.
    tensor.op == Op::Reshape
        && tensor.dtype.is_real()
        && from.len() >= batch
        && from[..batch] == tensor.shape[..batch]
        && is_division(&tensor.shape[batch..], &from[batch..])
        && is_view(expr, stored, tensor.operands[0])
}

/// Whether a factor is memory that is read with fixed strides.
fn is_view(expr: &Expr, stored: &[bool], factor: TensorId) -> bool {
    let mut id = factor;
    while !stored[id.0 as usize] {
        let tensor = expr.tensor(id);
        let has_strides = match &tensor.op {
            Op::Permute(_) | Op::Expand | Op::Windows { .. } => true,
            Op::Slice { steps, .. } => steps.iter().all(|step| *step > 0),
            // Memory has one order.
            Op::Reshape => {
                stored[tensor.operands[0].0 as usize]
                    || is_division(&expr.tensor(tensor.operands[0]).shape, &tensor.shape)
            }
            _ => false,
        };
        if !has_strides {
            return false;
        }
        id = tensor.operands[0];
    }
    true
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
    let mut tensor = expr.tensor(factor);
    if side == 1 {
        let Op::Permute(axes) = &tensor.op else { return false };
        let rank = axes.len() as u32;
        let swaps = |axis: u32| match rank - axis {
            1 => axis - 1,
            2 => axis + 1,
            _ => axis,
        };
        if rank < 2 || stored[tensor.operands[0].0 as usize] || !axes.iter().copied().eq((0..rank).map(swaps)) {
            return false;
        }
        tensor = expr.tensor(tensor.operands[0]);
    }
    matches!(tensor.op, Op::Dequantize(_)) && tensor.operands.iter().all(|operand| stored[operand.0 as usize])
}

/// Gives memory to the keys of sorts on the host, which its loops read, and on a device to what is moved by a pass, since a pass reads in order
/// what the one before has written.
fn store_of_sorts(expr: &Expr, target: &Target, stored: &mut [bool]) {
    for (place, tensor) in expr.nodes.iter().enumerate() {
        match &tensor.op {
            Op::Argsort { .. } if target.is_host => stored[tensor.operands[0].0 as usize] = true,
            Op::GatherElements(_) => {
                stored[place] |= matches!(expr.tensor(tensor.operands[1]).op, Op::DigitSort(_));
            }
            _ => {}
        }
    }
}

/// Operations of one element, in units of a sum.
fn operations(op: &Op) -> f64 {
    match op {
        Op::Elementwise(op) => match op {
            Elementwise::Neg
            | Elementwise::Abs
            | Elementwise::Not
            | Elementwise::StopGradient
            | Elementwise::Cast
            | Elementwise::Bitcast
            | Elementwise::Floor
            | Elementwise::Ceil
            | Elementwise::Trunc
            | Elementwise::Add
            | Elementwise::Sub
            | Elementwise::Mul
            | Elementwise::And
            | Elementwise::Or
            | Elementwise::Xor
            | Elementwise::Shl
            | Elementwise::Shr
            | Elementwise::Select => 1.0,
            Elementwise::Sign
            | Elementwise::Round
            | Elementwise::IsNan
            | Elementwise::IsFinite
            | Elementwise::Minimum
            | Elementwise::Maximum
            | Elementwise::Eq
            | Elementwise::Ne
            | Elementwise::Lt
            | Elementwise::Le
            | Elementwise::Gt
            | Elementwise::Ge
            | Elementwise::GuardedMul => 3.0,
            Elementwise::Sqrt | Elementwise::Div | Elementwise::VectorNorm | Elementwise::InverseNorm => 8.0,
            Elementwise::Mod | Elementwise::FloorMod => 12.0,
            Elementwise::Exp
            | Elementwise::Expm1
            | Elementwise::Log
            | Elementwise::Log1p
            | Elementwise::Erf
            | Elementwise::Sin
            | Elementwise::Cos
            | Elementwise::Tan
            | Elementwise::Asin
            | Elementwise::Acos
            | Elementwise::Atan
            | Elementwise::Atan2
            | Elementwise::Sinh
            | Elementwise::Cosh
            | Elementwise::Tanh
            | Elementwise::Sigmoid
            | Elementwise::Softplus
            | Elementwise::Pow => 25.0,
        },
        Op::RandomBits(_) => 80.0,
        Op::Pad { .. }
        | Op::SetSlice { slot: None, .. }
        | Op::Concat(_)
        | Op::Gather(_)
        | Op::GatherElements(_)
        | Op::Dequantize(_) => 4.0,
        Op::Reshape | Op::Permute(_) | Op::Slice { .. } | Op::Windows { .. } => 1.0,
        Op::Expand | Op::Constant(_) | Op::Extent(_) | Op::Iota(_) => 0.0,
        Op::Input(_)
        | Op::Reduce(..)
        | Op::Scan { .. }
        | Op::Fold { .. }
        | Op::ScanBy { .. }
        | Op::MatMul
        | Op::Attention(_)
        | Op::Scatter(..)
        | Op::IndexPut(..)
        | Op::Argsort { .. }
        | Op::SetSlice { slot: Some(_), .. }
        | Op::DigitCounts(_)
        | Op::DigitSort(_)
        | Op::Gradient => 0.0,
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
                Op::Elementwise(Elementwise::StopGradient)
                    | Op::Reshape
                    | Op::Expand
                    | Op::Permute(_)
                    | Op::Slice { .. }
                    | Op::Windows { .. }
                    | Op::Dequantize(_)
            );
            stored[place] = !is_view && operations >= 1.0 && (saved > dispatch || uses[place].len() > MOST_USES);
        }
        let own: Vec<Use> = if stored[place] {
            let space = space_of(expr, tensor, &mut spaces);
            let points = Size::product(points(expr, TensorId(place as u32))).at(most_dims).max(0) as f64;
            vec![Use { space, path: 0, points }]
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
        Op::Reduce(..) | Op::Fold { .. } => &expr.tensor(tensor.operands[0]).shape,
        Op::SetSlice { slot: Some(_), .. } => &expr.tensor(tensor.operands[1]).shape,
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
        Op::Elementwise(_) if *shape == tensor.shape => of,
        // Equal shapes that broadcast to one shape are read at the same points.
        Op::Elementwise(_) | Op::Expand => Use { path: mix(shape.len() as u64 + 1), ..of },
        Op::Reduce(..) | Op::Fold { .. } => Use { points: counts[operand.0 as usize], ..of },
        // A tile of a product reads its operands once.
        Op::MatMul | Op::Attention(_) => {
            Use { path: mix(place as u64 + 1000), points: 4.0 * counts[operand.0 as usize], ..of }
        }
        Op::Scan { .. } | Op::ScanBy { .. } => Use { path: mix(2), points: 2.0 * counts[operand.0 as usize], ..of },
        _ => Use { path: mix(place as u64 + 1000), ..of },
    }
}

/// Gives memory where kernels would become too deep, too long, or have too many buffers.
fn store_for_limits(expr: &Expr, target: &Target, stored: &mut [bool]) {
    // One binding is for the uniform, and two for results; a block of attention has three.
    let most_leaves = |op: &Op| {
        let written = if matches!(op, Op::Attention(_)) { 3 } else { 2 };
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
