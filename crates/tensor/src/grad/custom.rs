//! Derivatives that the caller gives: a recipe from the adjoint of the result, which is recorded once and copied for each adjoint.

use residua_base::list::Listed;

use super::{Adjoint, PullBack, Shares};
use crate::expr::{Expr, TensorId};

impl PullBack<'_> {
    pub(super) fn custom(&mut self) -> Shares {
        let operands = self.operands;
        let given: Vec<TensorId> =
            (0..operands.len()).filter(|place| self.wanted[*place]).map(|place| operands[place + 1]).list();
        let Adjoint { node, guarded } = self.adjoint;
        let mut found = with_replaced(self.expr(), operands[1], node, &given).into_iter();
        let wanted = self.wanted.iter();
        wanted.map(|wanted| if *wanted { found.next().map(|node| Adjoint { node, guarded }) } else { None }).list()
    }
}

/// Nodes as they are with another node in place of one that stands before them.
fn with_replaced(expr: &mut Expr, of: TensorId, by: TensorId, nodes: &[TensorId]) -> Vec<TensorId> {
    let first = of.0 as usize;
    let end = nodes.iter().fold(first, |end, node| end.max(node.0 as usize)) + 1;
    // What is needed of the nodes from the first on.
    let mut needed = vec![false; end - first];
    for node in nodes.iter().filter(|node| **node >= of) {
        needed[node.0 as usize - first] = true;
    }
    for place in (0..needed.len()).rev().filter(|place| *place > 0) {
        if needed[place] {
            for operand in expr.nodes[first + place].operands.iter().filter(|operand| **operand >= of) {
                needed[operand.0 as usize - first] = true;
            }
        }
    }
    let mut copies: Vec<Option<TensorId>> = vec![None; end - first];
    copies[0] = Some(by);
    let copy_of = |copies: &[Option<TensorId>], id: TensorId| {
        let place = (id.0 as usize).checked_sub(first);
        place.and_then(|place| copies[place]).unwrap_or(id)
    };
    for place in 1..copies.len() {
        let mut tensor = expr.nodes[first + place].clone();
        let operands = tensor.operands.iter().map(|id| copy_of(&copies, *id)).list();
        if needed[place] && operands != tensor.operands {
            tensor.operands = operands;
            copies[place] = Some(expr.push(tensor));
        }
    }
    nodes.iter().map(|id| copy_of(&copies, *id)).list()
}
