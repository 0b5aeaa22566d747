//! The smart constructor: [`Graph::apply`] makes the simplest node with the requested value.
//!
//! A rule stands here only if it changes no value beyond rounding and hides no NaN; so x·0, x − x and x/x stay as they are.
//! Signs of zero are not kept, and (−∞)^½ becomes NaN. Rules look at an operand's own op at most, so that none walks a graph.

use super::{Graph, Node, NodeId, Op, evaluate};
use crate::elementary;
use residua_base::list::Listed;

impl Graph {
    /// The node for an op on operands, simplified: literals folded, neutral elements dropped, signs drawn outward, small
    /// powers unrolled, operands of commutative ops in one order.
    pub fn apply(&mut self, op: Op, operands: &[NodeId]) -> NodeId {
        debug_assert_eq!(operands.len(), op.arity(), "{op:?} takes {} operands", op.arity());
        if let Some(value) = self.folded(op, operands) {
            return self.literal(value);
        }
        let operand = |place: usize| operands.get(place).copied().unwrap_or(operands[0]);
        self.simplify(op, [0, 1, 2].map(operand)).unwrap_or_else(|| match *operands {
            [a, b] if commutes(op) && a > b => self.apply_raw(op, &[b, a]),
            _ => self.apply_raw(op, operands),
        })
    }

    /// The value of an op on literals alone.
    fn folded(&self, op: Op, operands: &[NodeId]) -> Option<f64> {
        if op == Op::Lookup {
            return None;
        }
        let mut values = [0.0; 3];
        for (value, operand) in values.iter_mut().zip(operands) {
            *value = self.literal_value(*operand)?;
        }
        Some(evaluate(op, &values[..operands.len()]))
    }

    fn is_literal(&self, id: NodeId, value: f64) -> bool {
        self.literal_value(id) == Some(value)
    }

    /// The op and operands of a node that is not a leaf.
    fn application(&self, id: NodeId) -> Option<(Op, [NodeId; 3])> {
        match self.node(id) {
            Node::Apply(op, operands) => Some((op, operands)),
            Node::Literal(_) | Node::Input(_) | Node::Result(..) => None,
        }
    }

    /// The operand of a node that applies the given unary op.
    fn operand_of(&self, op: Op, id: NodeId) -> Option<NodeId> {
        self.application(id).filter(|(found, _)| *found == op).map(|(_, [a, ..])| a)
    }

    /// The factors (c, x) of a node c·x with a literal c.
    fn literal_product(&self, id: NodeId) -> Option<(f64, NodeId)> {
        let (Op::Mul, [a, b, _]) = self.application(id)? else { return None };
        match (self.literal_value(a), self.literal_value(b)) {
            (Some(c), _) => Some((c, b)),
            (_, Some(c)) => Some((c, a)),
            _ => None,
        }
    }

    /// The simpler node for an op; operands beyond its arity repeat the first.
    fn simplify(&mut self, op: Op, [a, b, c]: [NodeId; 3]) -> Option<NodeId> {
        let inner = self.application(a);
        match op {
            Op::Neg => {
                if let Some((c, x)) = self.literal_product(a) {
                    let c = self.literal(-c);
                    return Some(self.mul(c, x));
                }
                match inner? {
                    (Op::Neg, [x, ..]) => Some(x),
                    (Op::Sub, [x, y, _]) => Some(self.sub(y, x)),
                    _ => None,
                }
            }
            Op::Abs => match inner? {
                (Op::Neg, [x, ..]) => Some(self.abs(x)),
                (Op::Mul, [x, y, _]) if x == y => Some(a),
                (inner, _) => is_never_negative(inner).then_some(a),
            },
            Op::Floor | Op::Ceil | Op::Round => is_integral(inner?.0).then_some(a),
            // What has no derivative needs no stop.
            Op::StopGradient => (inner?.0 == Op::StopGradient || is_integral(inner?.0)).then_some(a),
            Op::Sign | Op::Sqrt | Op::Norm | Op::InverseNorm => None,
            Op::Add => self.simplify_sum(a, b),
            Op::Sub => self.simplify_difference(a, b),
            Op::Mul => self.simplify_product(a, b),
            Op::Div => self.simplify_quotient(a, b),
            Op::Pow => self.simplify_power(a, b),
            Op::GuardedMul => self.simplify_guarded_product(a, b),
            Op::Min | Op::Max => (a == b).then_some(a),
            Op::Mod | Op::Eq | Op::Ne | Op::Lt | Op::Le | Op::Gt | Op::Ge => None,
            Op::Select => self.simplify_select(a, b, c),
            Op::Lookup => None,
            elementary!(Op) => match (op, inner?) {
                (Op::Cos | Op::Cosh, (Op::Neg | Op::Abs, [x, ..])) => Some(self.apply(op, &[x])),
                _ => None,
            },
        }
    }

    fn simplify_sum(&mut self, a: NodeId, b: NodeId) -> Option<NodeId> {
        if self.is_literal(a, 0.0) {
            return Some(b);
        }
        if self.is_literal(b, 0.0) {
            return Some(a);
        }
        if a == b {
            let two = self.literal(2.0);
            return Some(self.mul(two, a));
        }
        match (self.operand_of(Op::Neg, a), self.operand_of(Op::Neg, b)) {
            (Some(x), Some(y)) => {
                let sum = self.add(x, y);
                Some(self.neg(sum))
            }
            (Some(x), None) => Some(self.sub(b, x)),
            (None, Some(y)) => Some(self.sub(a, y)),
            (None, None) => None,
        }
    }

    fn simplify_difference(&mut self, a: NodeId, b: NodeId) -> Option<NodeId> {
        if self.is_literal(b, 0.0) {
            return Some(a);
        }
        if self.is_literal(a, 0.0) {
            return Some(self.neg(b));
        }
        if let Some(y) = self.operand_of(Op::Neg, b) {
            return Some(self.add(a, y));
        }
        let x = self.operand_of(Op::Neg, a)?;
        let sum = self.add(x, b);
        Some(self.neg(sum))
    }

    fn simplify_product(&mut self, a: NodeId, b: NodeId) -> Option<NodeId> {
        let (literal, other) = match (self.literal_value(a), self.literal_value(b)) {
            (Some(c), _) => (Some(c), b),
            (None, Some(c)) => (Some(c), a),
            (None, None) => (None, b),
        };
        let Some(c) = literal else {
            return match (self.operand_of(Op::Neg, a), self.operand_of(Op::Neg, b)) {
                (Some(x), Some(y)) => Some(self.mul(x, y)),
                (Some(x), None) => {
                    let product = self.mul(x, b);
                    Some(self.neg(product))
                }
                (None, Some(y)) => {
                    let product = self.mul(a, y);
                    Some(self.neg(product))
                }
                (None, None) => None,
            };
        };
        if c == 1.0 {
            return Some(other);
        }
        if c == -1.0 {
            return Some(self.neg(other));
        }
        if let Some(x) = self.operand_of(Op::Neg, other) {
            let c = self.literal(-c);
            return Some(self.mul(c, x));
        }
        let (d, x) = self.literal_product(other)?;
        // Factors of ordinary size alone: c·(d·x) may overflow, or lose bits to underflow, where (c·d)·x does not.
        let ordinary = |c: f64| (2f64.powi(-32)..=2f64.powi(32)).contains(&c.abs());
        (ordinary(c) && ordinary(d)).then(|| {
            let product = self.literal(c * d);
            self.mul(product, x)
        })
    }

    fn simplify_quotient(&mut self, a: NodeId, b: NodeId) -> Option<NodeId> {
        if let Some(c) = self.literal_value(b) {
            return reciprocal_of_power_of_two(c).map(|reciprocal| {
                let reciprocal = self.literal(reciprocal);
                self.mul(a, reciprocal)
            });
        }
        match (self.operand_of(Op::Neg, a), self.operand_of(Op::Neg, b)) {
            (Some(x), Some(y)) => Some(self.div(x, y)),
            (Some(x), None) => {
                let quotient = self.div(x, b);
                Some(self.neg(quotient))
            }
            (None, Some(y)) => {
                let quotient = self.div(a, y);
                Some(self.neg(quotient))
            }
            (None, None) => None,
        }
    }

    /// Integer and half-integer exponents up to 8 become products and a square root: faster, exact in sign for negative
    /// bases, and closer to the true value than a logarithm and an exponential.
    fn simplify_power(&mut self, base: NodeId, exponent: NodeId) -> Option<NodeId> {
        let exponent = self.literal_value(exponent)?;
        let magnitude = exponent.abs();
        // A NaN to the power of 0 is 1, by the definition of pow.
        if magnitude == 0.0 {
            return Some(self.literal(1.0));
        }
        if magnitude > 8.0 || (2.0 * magnitude).fract() != 0.0 {
            return None;
        }
        let whole = magnitude.floor();
        let mut power = self.integer_power(base, whole as u32);
        if whole != magnitude {
            let root = self.sqrt(base);
            power = self.mul(power, root);
        }
        if exponent < 0.0 {
            let one = self.literal(1.0);
            power = self.div(one, power);
        }
        Some(power)
    }

    /// By repeated squaring; 1 for the exponent 0.
    fn integer_power(&mut self, base: NodeId, exponent: u32) -> NodeId {
        let mut power = self.literal(1.0);
        let mut square = base;
        let mut rest = exponent;
        while rest > 0 {
            if rest & 1 == 1 {
                power = self.mul(power, square);
            }
            rest >>= 1;
            if rest > 0 {
                square = self.mul(square, square);
            }
        }
        power
    }

    fn simplify_guarded_product(&mut self, a: NodeId, b: NodeId) -> Option<NodeId> {
        if let Some(c) = self.literal_value(a) {
            return Some(if c == 0.0 { self.literal(0.0) } else { self.mul(a, b) });
        }
        if self.literal_value(b).is_some_and(f64::is_finite) {
            return Some(self.mul(a, b));
        }
        None
    }

    fn simplify_select(&mut self, condition: NodeId, a: NodeId, b: NodeId) -> Option<NodeId> {
        if a == b {
            return Some(a);
        }
        if let Some(c) = self.literal_value(condition) {
            return Some(if c != 0.0 { a } else { b });
        }
        let is_truth = self.application(condition).is_some_and(|(op, _)| is_comparison(op));
        (is_truth && self.is_literal(a, 1.0) && self.is_literal(b, 0.0)).then_some(condition)
    }

    /// Copies another graph into this one, simplifying: input `k` of the other becomes the node `inputs[k]`. Returns the node
    /// of each of the other's nodes.
    pub fn append(&mut self, other: &Graph, inputs: &[NodeId]) -> Vec<NodeId> {
        let mut copies: Vec<NodeId> = Vec::with_capacity(other.len());
        let mut states: Vec<Option<Vec<NodeId>>> = vec![None; other.loops().len()];
        for node in other.nodes() {
            let copy = match node {
                Node::Literal(bits) => self.literal(f64::from_bits(*bits)),
                Node::Input(input) => inputs[input.0 as usize],
                Node::Apply(op, operands) => {
                    let operands = operands.map(|operand| copies[operand.index()]);
                    self.apply(*op, &operands[..op.arity()])
                }
                Node::Result(of, number) => {
                    let apply = || {
                        let of = other.loop_of(*of);
                        let operands = of.operands().iter().map(|operand| copies[operand.index()]).list();
                        self.apply_body(of.body(), operands)
                    };
                    states[of.index()].get_or_insert_with(apply)[*number as usize]
                }
            };
            copies.push(copy);
        }
        copies
    }
}

fn commutes(op: Op) -> bool {
    matches!(op, Op::Add | Op::Mul | Op::Min | Op::Max | Op::Eq | Op::Ne)
}

fn is_comparison(op: Op) -> bool {
    matches!(op, Op::Eq | Op::Ne | Op::Lt | Op::Le | Op::Gt | Op::Ge)
}

fn is_integral(op: Op) -> bool {
    is_comparison(op) || matches!(op, Op::Sign | Op::Floor | Op::Ceil | Op::Round)
}

fn is_never_negative(op: Op) -> bool {
    let positive = matches!(
        op,
        Op::Sqrt | Op::Norm | Op::InverseNorm | Op::Exp | Op::Cosh | Op::Acos | Op::Sigmoid | Op::Softplus
    );
    op == Op::Abs || positive || is_comparison(op)
}

/// 1/c if that is exact.
fn reciprocal_of_power_of_two(c: f64) -> Option<f64> {
    const MANTISSA: u64 = (1 << 52) - 1;
    (c.is_normal() && c.recip().is_normal() && c.to_bits() & MANTISSA == 0).then(|| c.recip())
}
