//! Equal operations on equal operands are one: derivatives and formulas compute many things twice.

use rustc_hash::FxHashMap;

use crate::expr::{Expr, Op, Tensor, TensorId};

/// The recipe with each operation once, without what no root needs, and the new places of the roots.
pub fn unique(expr: &Expr, roots: &[TensorId]) -> (Expr, Vec<TensorId>) {
    let mut used = vec![false; expr.nodes.len()];
    for root in roots {
        used[root.0 as usize] = true;
    }
    for (place, tensor) in expr.nodes.iter().enumerate().rev() {
        if used[place] {
            tensor.operands.iter().for_each(|operand| used[operand.0 as usize] = true);
        }
    }
    let mut result = Expr::default();
    let mut places: Vec<TensorId> = vec![TensorId(0); expr.nodes.len()];
    let mut known: FxHashMap<(u8, Vec<TensorId>), Vec<TensorId>> = FxHashMap::default();
    for (place, tensor) in expr.nodes.iter().enumerate().filter(|(place, _)| used[*place]) {
        let operands: Vec<TensorId> = tensor.operands.iter().map(|operand| places[operand.0 as usize]).collect();
        let candidates = known.entry((kind(&tensor.op), operands.clone())).or_default();
        let is_same = |id: &&TensorId| {
            let other = result.tensor(**id);
            other.op == tensor.op && other.dtype == tensor.dtype && other.shape == tensor.shape
        };
        places[place] = match candidates.iter().find(is_same) {
            Some(id) => *id,
            None => {
                let id = result.push(Tensor { operands, ..tensor.clone() });
                candidates.push(id);
                id
            }
        };
    }
    let roots = roots.iter().map(|root| places[root.0 as usize]).collect();
    (result, roots)
}

/// A number by which operations are told apart before they are compared.
fn kind(op: &Op) -> u8 {
    match op {
        Op::Input(_) => 0,
        Op::Constant(_) => 1,
        Op::Extent(_) => 2,
        Op::Iota(_) => 3,
        Op::RandomBits(_) => 4,
        Op::Elementwise(op) => 32 + *op as u8,
        Op::Reshape => 6,
        Op::Expand => 7,
        Op::Permute(_) => 8,
        Op::Slice { .. } => 9,
        Op::Pad { .. } => 10,
        Op::Concat(_) => 11,
        Op::Windows { .. } => 12,
        Op::Gather(_) => 13,
        Op::GatherElements(_) => 14,
        Op::Reduce(..) => 15,
        Op::Scan { .. } => 16,
        Op::Fold { .. } => 17,
        Op::ScanBy { .. } => 18,
        Op::MatMul => 19,
        Op::Scatter(..) => 20,
        Op::IndexPut(..) => 21,
        Op::Gradient => 22,
        Op::Argsort { .. } => 23,
        Op::SetSlice { .. } => 26,
        Op::Attention(_) => 25,
        Op::Dequantize(_) => 27,
        Op::DigitCounts(_) => 24,
        Op::DigitSort(_) => 28,
    }
}
