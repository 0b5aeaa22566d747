//! Several vectors in the body of a loop, computed together.
//!
//! An elementary function is a chain of some thirty operations, each of which needs the one before. A processor sees too few of the next
//! iterations to fill its units, so that several vectors are computed operation by operation.

use super::code::Local;
use super::functions::{exponential_of_nonpositive, exponential_of_softmax, inlined};
use super::signs::Sign;
use super::values::{Form, Values};
use crate::scalar::{Formula, Id, TypedNode, TypedOp};
use residua_base::list::Listed;
use residua_ir::graph::Op as Real;

impl Values<'_, '_> {
    /// Does work for each of some vectors. Values that are needed for the first are computed for all.
    pub fn for_copies(&mut self, copies: u32, mut work: impl FnMut(&mut Self)) {
        self.copies = copies;
        for copy in 0..copies {
            self.copy = copy;
            work(self);
        }
        (self.copy, self.copies) = (0, 1);
    }

    /// The formula of a node, if it is an elementary function that is written where it is used.
    pub fn formula_of(&self, id: Id) -> Option<Formula> {
        match self.graph.node(id) {
            TypedNode::Apply(TypedOp::Real(Real::Exp), [x, ..]) if self.is_below_largest(x) => {
                Some(exponential_of_softmax())
            }
            TypedNode::Apply(TypedOp::Real(Real::Exp), [x, ..]) if self.sign(x) == Sign::NotPositive => {
                Some(exponential_of_nonpositive())
            }
            TypedNode::Apply(TypedOp::Real(op), _) => inlined(op),
            _ => None,
        }
    }

    /// Computes a value of this vector, and with the first one those of all that are computed together.
    pub fn lanes_of_copies(&mut self, id: Id) {
        let first = self.copy;
        let last = if first == 0 { self.copies } else { first + 1 };
        for copy in first..last {
            self.copy = copy;
            self.lanes(id);
        }
        self.copy = first;
    }

    /// The values of a formula in this vector and the later ones that are computed with it.
    pub fn side_by_side(&mut self, id: Id, formula: &Formula, operands: &[Id], block: usize) -> Local {
        let first = self.copy;
        let last = if self.is_uniform(id) { first + 1 } else { self.copies.max(first + 1) };
        let mut locals = Vec::new();
        for copy in first..last {
            self.copy = copy;
            locals.push(operands.iter().map(|operand| self.lanes(*operand)).list());
        }
        self.copy = first;
        let results = self.code.formulas(block, formula, &locals);
        for (copy, result) in (first..last).zip(&results) {
            self.known[block].insert((id, Form::Lanes, copy), *result);
        }
        results[0]
    }
}
