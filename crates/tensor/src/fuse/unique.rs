//! Equal operations on equal operands are one: derivatives and formulas compute many things twice.

use residua_base::list::Listed;
use std::mem::{Discriminant, discriminant};

use rustc_hash::FxHashMap;

use crate::expr::{Expr, Tensor, TensorId, TensorOp};

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
    let mut known: FxHashMap<(Discriminant<TensorOp>, Vec<TensorId>), Vec<TensorId>> = FxHashMap::default();
    for (place, tensor) in expr.nodes.iter().enumerate().filter(|(place, _)| used[*place]) {
        let operands: Vec<TensorId> = tensor.operands.iter().map(|operand| places[operand.0 as usize]).list();
        let candidates = known.entry((discriminant(&tensor.op), operands.clone())).or_default();
        let is_same = |id: &&TensorId| {
            let other = result.tensor(**id);
            are_equal(&other.op, &tensor.op) && other.dtype == tensor.dtype && other.shape == tensor.shape
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
    let roots = roots.iter().map(|root| places[root.0 as usize]).list();
    (result, roots)
}

/// Whether two operations are one. Of constants the bits count: 0 and −0 are equal numbers with other quotients.
fn are_equal(a: &TensorOp, b: &TensorOp) -> bool {
    match (a, b) {
        (TensorOp::Constant(a), TensorOp::Constant(b)) => a.to_bits() == b.to_bits(),
        _ => a == b,
    }
}

#[cfg(test)]
#[cfg(not(target_arch = "wasm32"))]
mod tests {
    use super::*;
    use crate::dtype::DType;
    use crate::expr::Elementwise;

    #[test]
    fn constants_of_other_bits_stay_apart_and_equal_ones_are_one() {
        let mut expr = Expr::default();
        let one = expr.constant(1.0, DType::F32);
        let numbers = [0.0, -0.0, 0.0, f64::NAN, f64::NAN].map(|number| expr.constant(number, DType::F32));
        let quotients = numbers.map(|number| expr.elementwise(Elementwise::Div, &[one, number]));
        let (_, [plus, minus, again, nan, same]) = {
            let (expr, roots) = unique(&expr, &quotients);
            (expr, <[TensorId; 5]>::try_from(roots).expect("as many roots as before"))
        };
        assert_ne!(plus, minus);
        assert_eq!((plus, nan), (again, same));
    }
}
