//! Long sums: one energy over 100,000 terms is not one kernel of a million operations but 100,000 instances of the kernel of
//! its terms. Splitting only reorders an addition, which changes no value beyond rounding.

use super::tape::{Tape, TapeNode};
use residua_ir::graph::Op;

/// A sum of at least this many addends is taken apart. Below it a kernel of its own is cheap to compile and keeps the
/// residual's derivatives together.
pub(super) const LONG_SUM: usize = 32;

/// Finds the addends of long sums; its working memory serves one expression after another.
#[derive(Default)]
pub(super) struct Sums {
    /// The addends found last, each with its factor.
    pub addends: Vec<(u32, f64)>,
    stack: Vec<(u32, f64)>,
}

impl Sums {
    /// Whether the expression at `root` is a long sum; then `addends` are its. `uses` says how often each entry is used, counting up to
    /// 2: an inner sum that is used twice is computed once, not expanded. Factors by constants that stand before an inner sum (as in
    /// a mean) are carried down to its addends.
    pub fn find(&mut self, tape: &Tape, uses: &[u8], root: u32) -> bool {
        if !is_sum(tape, root) {
            return false;
        }
        let Sums { addends: found, stack } = self;
        found.clear();
        stack.push((root, 1.0));
        while let Some((position, scale)) = stack.pop() {
            let inner = position == root || uses[position as usize] == 1;
            match tape.node(position) {
                TapeNode::Apply(Op::Add, [a, b, _]) if inner => {
                    stack.push((b, scale));
                    stack.push((a, scale));
                }
                TapeNode::Apply(Op::Sub, [a, b, _]) if inner => {
                    stack.push((b, -scale));
                    stack.push((a, scale));
                }
                TapeNode::Apply(Op::Neg, [a, _, _]) if inner => stack.push((a, -scale)),
                TapeNode::Apply(Op::Mul | Op::Div, _) if inner => match scaled_sum(tape, position) {
                    // A factor that overflows would make infinities of addends that cancel.
                    Some((sum, factor)) if (scale * factor).is_finite() => stack.push((sum, scale * factor)),
                    _ => found.push((position, scale)),
                },
                _ => found.push((position, scale)),
            }
        }
        found.len() >= LONG_SUM
    }
}

/// Whether the entry is a sum, or one times a number.
fn is_sum(tape: &Tape, position: u32) -> bool {
    match tape.node(position) {
        TapeNode::Apply(Op::Add | Op::Sub | Op::Neg, _) => true,
        TapeNode::Apply(Op::Mul | Op::Div, _) => scaled_sum(tape, position).is_some(),
        _ => false,
    }
}

/// The sum and the number that make up a product or quotient.
fn scaled_sum(tape: &Tape, position: u32) -> Option<(u32, f64)> {
    let number = |position| match tape.node(position) {
        TapeNode::Literal(value) | TapeNode::Constant(value) => Some(value),
        TapeNode::Parameter(_) | TapeNode::Data(_) | TapeNode::Apply(..) => None,
        TapeNode::Counter(_) | TapeNode::State(..) | TapeNode::Link(..) | TapeNode::Loop(..) | TapeNode::Result(..) => {
            None
        }
    };
    let sum = |position| match tape.node(position) {
        TapeNode::Apply(Op::Add | Op::Sub | Op::Neg, _) => Some(position),
        _ => None,
    };
    match tape.node(position) {
        TapeNode::Apply(Op::Mul, [a, b, _]) => match (number(a), number(b)) {
            (Some(factor), None) => Some((sum(b)?, factor)),
            (None, Some(factor)) => Some((sum(a)?, factor)),
            _ => None,
        },
        TapeNode::Apply(Op::Div, [a, b, _]) => Some((sum(a)?, 1.0 / number(b)?)),
        _ => None,
    }
}
