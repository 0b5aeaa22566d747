//! What a recipe is made ready for: each operation once, roots that kernels can write, concatenations of few parts.

use super::reshapes::Products;
use super::sort::Where;
use super::{attention, concat, fourier, linalg, matrices, scatter, sort, sparse};
use crate::dtype::DType;
use crate::expr::winograd::Convolution;
use crate::expr::{Elementwise, Expr, Tensor, TensorId, TensorOp, memory_dtype};
use crate::fuse::{Target, unique};
use crate::tape::Recipe;
use residua_base::list::Listed;

/// A recipe ready to be fused.
pub struct Prepared {
    /// The operations.
    pub expr: Expr,
    /// What a run gives.
    pub results: Vec<TensorId>,
    /// Which slots a run writes, and with what.
    pub assignments: Vec<(u32, TensorId)>,
}

/// Makes a recipe without derivatives ready. Parts of all slots but some are written where they are.
pub fn prepare(recipe: &Recipe, target: &Target, whole: &[u32]) -> Prepared {
    let roots: Vec<TensorId> =
        recipe.results.iter().copied().chain(recipe.assignments.iter().map(|(_, value)| *value)).list();
    let (expr, places) = rewritten(&recipe.expr, target, &recipe.dims);
    let roots: Vec<TensorId> = roots.iter().map(|root| places[root.0 as usize]).list();
    let (mut expr, mut roots) = unique(&expr, &roots);
    let assigned = recipe.assignments.iter().map(|(slot, _)| *slot);
    for (slot, root) in assigned.clone().zip(roots[recipe.results.len()..].iter().copied()) {
        if !whole.contains(&slot) {
            write_parts(&mut expr, slot, root);
        }
    }
    let slots: Vec<Option<u32>> = recipe.results.iter().map(|_| None).chain(assigned.map(Some)).list();
    // A root is written by a kernel as what it is: inputs and what stands in another slot are copied, and numbers that stand as words in memory are packed.
    for place in 0..roots.len() {
        // A reshape has the memory of what it is of.
        while let TensorOp::Reshape = expr.tensor(roots[place]).op {
            roots[place] = expr.tensor(roots[place]).operands[0];
        }
        let root = roots[place];
        let is_elsewhere = match expr.tensor(root).op {
            TensorOp::Input(_) => true,
            TensorOp::SetSlice { slot: Some(slot), .. } => slots[place] != Some(slot),
            _ => false,
        };
        if is_elsewhere || memory_dtype(&expr, root) != expr.tensor(root).dtype {
            let known = roots[..place].iter().find(|other| expr.tensor(**other).operands == [root]);
            let is_copy =
                |id: &TensorId| matches!(expr.tensor(*id).op, TensorOp::Elementwise(Elementwise::StopGradient));
            roots[place] = match known.copied().filter(is_copy) {
                Some(copy) => copy,
                None => {
                    let Tensor { dtype, shape, .. } = expr.tensor(root).clone();
                    let op = TensorOp::Elementwise(Elementwise::StopGradient);
                    expr.push(Tensor { op, operands: vec![root], dtype, shape })
                }
            };
        }
    }
    let assigned = roots.split_off(recipe.results.len());
    let assignments = recipe.assignments.iter().map(|(slot, _)| *slot).zip(assigned).list();
    Prepared { expr, results: roots, assignments }
}

/// Where a slot gets its own contents with parts replaced, one after the other, the parts are written into its memory.
fn write_parts(expr: &mut Expr, slot: u32, root: TensorId) {
    let mut parts = Vec::new();
    let mut id = root;
    while let TensorOp::SetSlice { slot: None, .. } = expr.tensor(id).op {
        parts.push(id);
        id = expr.tensor(id).operands[0];
    }
    if expr.tensor(id).op == TensorOp::Input(slot) {
        for part in parts {
            if let TensorOp::SetSlice { slot: memory, .. } = &mut expr.nodes[part.0 as usize].op {
                *memory = Some(slot);
            }
        }
    }
}

/// Rewrites what kernels have no form for; gives the new places of all nodes. What follows products stands before their reshapes. Attention of other sizes than kernels take becomes products and
/// reductions, long Fourier transforms become passes, singular values on a device become rotations and reflections, sorts of long rows become sorts of blocks or passes over digits, large scatters become sorts and scans,
/// concatenations of more parts than a kernel has buffers become concatenations of concatenations, and
/// bytes that are factors of products on the host become words, which its loops read.
fn rewritten(expr: &Expr, target: &Target, most_dims: &[u32]) -> (Expr, Vec<TensorId>) {
    let most = concat::most_parts(target);
    let mut result = Expr::default();
    let mut products = Products::new(!target.is_host);
    let mut places: Vec<TensorId> = Vec::with_capacity(expr.nodes.len());
    for tensor in &expr.nodes {
        let mut operands: Vec<TensorId> = tensor.operands.iter().map(|operand| places[operand.0 as usize]).list();
        if let TensorOp::Concat(axis) = tensor.op {
            // A kernel reads the first element of each part, which an empty one lacks.
            operands.retain(|part| !result.tensor(*part).shape[axis as usize].is(0));
            if let [one] = operands[..] {
                places.push(one);
                continue;
            }
            if operands.is_empty() {
                operands.push(places[tensor.operands[0].0 as usize]);
            }
            operands = concat::fewer(&mut result, operands, axis, most);
        }
        if let TensorOp::Attention(of) = &tensor.op
            && !attention::has_kernels(&result, &operands, target)
        {
            places.push(result.composed_attention(of, &operands));
            continue;
        }
        if let TensorOp::Fourier(of) = tensor.op {
            places.push(fourier::transform(&mut result, of, &operands, target));
            continue;
        }
        if let TensorOp::Linalg(kind) = tensor.op {
            places.push(linalg::linalg(&mut result, kind, &operands, target, most_dims));
            continue;
        }
        if tensor.op == TensorOp::SparseProduct {
            places.push(sparse::product(&mut result, &operands, Where { target, most_dims }));
            continue;
        }
        if let TensorOp::Argsort { bits } = tensor.op {
            places.push(sort::argsort(&mut result, operands[0], bits, &tensor.shape, Where { target, most_dims }));
            continue;
        }
        if let TensorOp::Scatter(axis, how) | TensorOp::IndexPut(axis, how) = tensor.op
            && scatter::is_shorter_by_sort(&result, &operands, tensor, target, most_dims)
        {
            let is_of_elements = matches!(tensor.op, TensorOp::Scatter(..));
            places.push(scatter::by_sort(
                &mut result,
                &operands,
                axis,
                how,
                is_of_elements,
                Where { target, most_dims },
            ));
            continue;
        }
        if let TensorOp::Elementwise(_) = tensor.op
            && let Some(moved) = products.behind(&mut result, tensor, &operands)
        {
            places.push(moved);
            continue;
        }
        if tensor.op == TensorOp::MatMul
            && !target.is_host
            && let Some(convolution) = Convolution::of(&result, tensor, &operands)
            && let Some(tiles) = convolution.tiles(most_dims)
        {
            places.push(convolution.in_tiles(&mut result, &tiles));
            continue;
        }
        if tensor.op == TensorOp::MatMul
            && !target.is_host
            && let Some(sums) = matrices::small_product(&mut result, tensor, &operands, most_dims)
        {
            places.push(sums);
            continue;
        }
        if tensor.op == TensorOp::MatMul && target.is_host {
            for operand in &mut operands {
                *operand = in_words(&mut result, *operand);
            }
            if tensor.dtype == DType::U8 {
                let product = result.push(Tensor { operands, dtype: DType::U32, ..tensor.clone() });
                let op = TensorOp::Elementwise(Elementwise::Cast);
                places.push(result.push(Tensor { op, operands: vec![product], ..tensor.clone() }));
                continue;
            }
        }
        places.push(result.push(Tensor { operands, ..tensor.clone() }));
    }
    (result, places)
}

/// A tensor of bytes as one of words.
fn in_words(expr: &mut Expr, id: TensorId) -> TensorId {
    let Tensor { dtype, shape, .. } = expr.tensor(id).clone();
    let dtype = match dtype {
        DType::U8 | DType::Bool => DType::U32,
        DType::F16 | DType::F32 | DType::I32 | DType::U32 => return id,
    };
    expr.push(Tensor { op: TensorOp::Elementwise(Elementwise::Cast), operands: vec![id], dtype, shape })
}
