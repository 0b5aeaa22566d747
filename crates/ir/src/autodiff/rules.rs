//! The derivative of every op, one rule each.

use crate::graph::{Graph, Node, NodeId, Op};

/// How derivatives pass from an op to one of its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Passage {
    /// Not at all: the op is constant in that operand wherever it has a derivative, or is declared so.
    Closed,
    /// By multiplication with a partial.
    Open,
    /// By a factor that selects, and so may make the adjoint 0: products below it are guarded.
    Guarded,
    /// Whole where the condition, the op's first operand, is not 0 (or, if not `taken`, where it is 0), else not at all.
    Selected {
        /// Whether this is the operand that a condition other than 0 takes.
        taken: bool,
    },
}

/// How derivatives pass from an op to the operand at a place.
pub(super) fn passage(op: Op, place: usize) -> Passage {
    match op {
        Op::Neg
        | Op::Abs
        | Op::Sqrt
        | Op::Norm
        | Op::InverseNorm
        | Op::Exp
        | Op::Log
        | Op::Sin
        | Op::Cos
        | Op::Tan
        | Op::Asin
        | Op::Acos
        | Op::Atan
        | Op::Sinh
        | Op::Cosh
        | Op::Tanh
        | Op::Sigmoid
        | Op::Softplus
        | Op::Add
        | Op::Sub
        | Op::Mul
        | Op::Div
        | Op::Pow
        | Op::Mod
        | Op::Atan2 => Passage::Open,
        Op::Sign
        | Op::Floor
        | Op::Ceil
        | Op::Round
        | Op::StopGradient
        | Op::Eq
        | Op::Ne
        | Op::Lt
        | Op::Le
        | Op::Gt
        | Op::Ge => Passage::Closed,
        Op::Min | Op::Max | Op::GuardedMul => Passage::Guarded,
        Op::Select => match place {
            0 => Passage::Closed,
            1 => Passage::Selected { taken: true },
            _ => Passage::Selected { taken: false },
        },
    }
}

/// How large an adjoint may be where what it belongs to is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Slope {
    /// A number.
    Finite,
    /// As the logarithm of it.
    Logarithmic,
    /// As a power of it, less than its inverse.
    Power,
}

/// The slope below an op at the operand at a place; none where it is that above. Only an op whose value is 0 where its operand is, or may be, keeps it.
pub(super) fn slope(graph: &Graph, op: Op, place: usize, operands: &[NodeId; 3]) -> Option<Slope> {
    let is_log = |id: NodeId| matches!(graph.node(id), Node::Apply(Op::Log, _));
    match (op, place) {
        (Op::Sqrt, _) => Some(Slope::Power),
        (Op::Pow, 0) => {
            let is_steep = graph.literal_value(operands[1]).is_none_or(|exponent| exponent < 1.0);
            Some(if is_steep { Slope::Power } else { Slope::Finite })
        }
        // The other factor may be infinite where this one is 0.
        (Op::GuardedMul, 0) => Some(if is_log(operands[1]) { Slope::Logarithmic } else { Slope::Power }),
        (Op::Mul, _) if operands[0] == operands[1] => Some(Slope::Finite),
        (Op::Neg | Op::Add | Op::Sub | Op::Mul | Op::GuardedMul | Op::Min | Op::Max | Op::Select, _) => None,
        (Op::Div, 0) => None,
        (
            Op::Abs
            | Op::Norm
            | Op::InverseNorm
            | Op::Exp
            | Op::Log
            | Op::Sin
            | Op::Cos
            | Op::Tan
            | Op::Asin
            | Op::Acos
            | Op::Atan
            | Op::Sinh
            | Op::Cosh
            | Op::Tanh
            | Op::Sigmoid
            | Op::Softplus
            | Op::Sign
            | Op::Floor
            | Op::Ceil
            | Op::Round
            | Op::StopGradient
            | Op::Div
            | Op::Pow
            | Op::Mod
            | Op::Atan2
            | Op::Eq
            | Op::Ne
            | Op::Lt
            | Op::Le
            | Op::Gt
            | Op::Ge,
            _,
        ) => Some(Slope::Finite),
    }
}

/// Products in products that are looked through for a factor: those of powers and of their seeds.
const DEEPEST: u32 = 6;

/// One application with the adjoint of its result.
pub(super) struct PullBack<'graph> {
    pub graph: &'graph mut Graph,
    pub operands: [NodeId; 3],
    /// Whether each operand depends on what is differentiated by.
    pub are_active: [bool; 3],
    pub result: NodeId,
    pub adjoint: NodeId,
    /// Whether the adjoint may be 0 by a selection.
    pub guarded: bool,
    /// How large the adjoint may be where the result is 0.
    pub above: Slope,
}

impl PullBack<'_> {
    /// The share of the operand at a place: adjoint · ∂op/∂operand, where the [`passage`] selects it. `None` where that is closed.
    pub fn pull_back(&mut self, op: Op, place: usize) -> Option<NodeId> {
        let [a, b, _] = self.operands;
        let (adjoint, result) = (self.adjoint, self.result);
        let to_first = place == 0;
        Some(match op {
            Op::Neg => self.graph.neg(adjoint),
            Op::Abs => {
                let sign = self.graph.sign(a);
                self.product(adjoint, sign)
            }
            // √a′ = 1/(2√a), infinite at 0.
            Op::Sqrt => {
                let quotient = match self.divided_by_root(adjoint, DEEPEST) {
                    Some(quotient) => quotient,
                    None => self.quotient(adjoint, result),
                };
                self.scaled(0.5, quotient)
            }
            Op::Norm => {
                let inverse = self.graph.inverse_norm(a);
                let product = self.product(adjoint, inverse);
                self.scaled(0.5, product)
            }
            Op::InverseNorm => {
                // One factor after the other: for a vector of length l the cube alone would overflow f32 at l = 1e-13,
                // while the adjoint, which holds l, keeps the products within bounds.
                let minus_half = self.scaled(-0.5, adjoint);
                let once = self.product(minus_half, result);
                let twice = self.product(once, result);
                self.product(twice, result)
            }
            Op::Exp => self.product(adjoint, result),
            Op::Log => self.quotient(adjoint, a),
            Op::Sin => {
                let cosine = self.graph.cos(a);
                self.product(adjoint, cosine)
            }
            Op::Cos => {
                let sine = self.graph.sin(a);
                let product = self.product(adjoint, sine);
                self.graph.neg(product)
            }
            // 1 + tan²
            Op::Tan => {
                let partial = self.one_plus_square(result);
                self.product(adjoint, partial)
            }
            Op::Asin => {
                let root = self.unit_complement_root(a);
                self.quotient(adjoint, root)
            }
            Op::Acos => {
                let root = self.unit_complement_root(a);
                let quotient = self.quotient(adjoint, root);
                self.graph.neg(quotient)
            }
            Op::Atan => {
                let denominator = self.one_plus_square(a);
                self.quotient(adjoint, denominator)
            }
            Op::Sinh => {
                let cosh = self.graph.cosh(a);
                self.product(adjoint, cosh)
            }
            Op::Cosh => {
                let sinh = self.graph.sinh(a);
                self.product(adjoint, sinh)
            }
            Op::Tanh => {
                let partial = self.unit_complement(result);
                self.product(adjoint, partial)
            }
            Op::Sigmoid => {
                let one = self.graph.literal(1.0);
                let complement = self.graph.sub(one, result);
                let partial = self.graph.mul(result, complement);
                self.product(adjoint, partial)
            }
            Op::Softplus => {
                let sigmoid = self.graph.sigmoid(a);
                self.product(adjoint, sigmoid)
            }
            Op::Add => adjoint,
            Op::Sub if to_first => adjoint,
            Op::Sub => self.graph.neg(adjoint),
            // Of a square, once, so that the factor meets those of the adjoint, which all squares of a sum share.
            Op::Mul if a == b && !to_first => return None,
            Op::Mul if a == b => {
                let twice = self.scaled(2.0, adjoint);
                self.product(twice, a)
            }
            Op::Mul => self.product_below(place),
            // (a/b)′ = −(a/b)/b. The inverse is one for all that is divided by b, and computed once where b is the same for all residuals.
            Op::Div => {
                let one = self.graph.literal(1.0);
                let inverse = self.graph.div(one, b);
                let by_divisor = self.product(adjoint, inverse);
                if to_first {
                    return Some(by_divisor);
                }
                // The result is 0 where the dividend is, and then whatever the slope above.
                let product = match self.above {
                    Slope::Finite => self.product(by_divisor, result),
                    Slope::Logarithmic | Slope::Power => self.graph.guarded_mul(result, by_divisor),
                };
                self.graph.neg(product)
            }
            // The guard keeps 0·∞ out of a⁰ at a = 0; and with b − 1 in the exponent a may be 0, where aᵇ/a would be NaN.
            Op::Pow if to_first => {
                let one = self.graph.literal(1.0);
                let exponent = self.graph.sub(b, one);
                let power = self.graph.pow(a, exponent);
                let partial = self.graph.guarded_mul(b, power);
                match self.above {
                    Slope::Finite | Slope::Power => self.product(adjoint, partial),
                    Slope::Logarithmic => self.graph.guarded_mul(partial, adjoint),
                }
            }
            // 0ᵇ is 0 for all b > 0, whatever the logarithm of 0, and less than that and any slope make infinite.
            Op::Pow => {
                let logarithm = self.graph.log(a);
                let partial = self.graph.guarded_mul(result, logarithm);
                match self.above {
                    Slope::Finite => self.product(adjoint, partial),
                    Slope::Logarithmic | Slope::Power => self.graph.guarded_mul(partial, adjoint),
                }
            }
            Op::Mod if to_first => adjoint,
            // a mod b = a − b·trunc(a/b); rounding takes off what the division left of the exact whole number.
            Op::Mod => {
                let whole_multiple = self.graph.sub(a, result);
                let quotient = self.graph.div(whole_multiple, b);
                let multiple = self.graph.round(quotient);
                let product = self.product(adjoint, multiple);
                self.graph.neg(product)
            }
            // The angle of (x, y), operands in the order y, x: ∂/∂y = x/(x² + y²), ∂/∂x = −y/(x² + y²).
            Op::Atan2 => {
                let (squared_y, squared_x) = (self.graph.mul(a, a), self.graph.mul(b, b));
                let squared_radius = self.graph.add(squared_x, squared_y);
                let by_radius = self.quotient(adjoint, squared_radius);
                if to_first {
                    self.product(by_radius, b)
                } else {
                    let product = self.product(by_radius, a);
                    self.graph.neg(product)
                }
            }
            Op::Min if to_first => self.where_less(a, b),
            Op::Min => self.where_less(b, a),
            Op::Max if to_first => self.where_less(b, a),
            Op::Max => self.where_less(a, b),
            Op::GuardedMul if to_first => self.product(adjoint, b),
            Op::GuardedMul => self.graph.guarded_mul(a, adjoint),
            Op::Select if to_first => return None,
            // Under the selection that the passage names.
            Op::Select => adjoint,
            Op::Sign
            | Op::Floor
            | Op::Ceil
            | Op::Round
            | Op::StopGradient
            | Op::Eq
            | Op::Ne
            | Op::Lt
            | Op::Le
            | Op::Gt
            | Op::Ge => return None,
        })
    }

    /// What comes of the adjoint, times a factor.
    fn product(&mut self, adjoint: NodeId, factor: NodeId) -> NodeId {
        if self.guarded { self.graph.guarded_mul(adjoint, factor) } else { self.graph.mul(adjoint, factor) }
    }

    /// The adjoint's share of a factor: the adjoint times the other one. Below a slope that may be infinite it is 0 where the other factor is 0: where that
    /// depends on nothing the product is constant, and where this factor is not 0 the product of slope and other factor goes to 0 with it. Where both
    /// are 0 there is no limit.
    fn product_below(&mut self, place: usize) -> NodeId {
        let (own, other) = (self.operands[place], self.operands[1 - place]);
        let product = self.product(self.adjoint, other);
        let is_number = self.graph.literal_value(other).is_some_and(|value| value != 0.0);
        if self.above == Slope::Finite || is_number {
            return product;
        }
        let zero = self.graph.literal(0.0);
        let at_zero = if self.are_active[1 - place] { self.graph.select(own, zero, product) } else { zero };
        self.graph.select(other, product, at_zero)
    }

    /// The adjoint divided by the result, a root, if it is a product with the root or what that is taken of as a factor, or a sum of such: then its limit at 0
    /// is a number.
    fn divided_by_root(&mut self, adjoint: NodeId, depth: u32) -> Option<NodeId> {
        let (root, square) = (self.result, self.operands[0]);
        match self.graph.node(adjoint) {
            _ if adjoint == square => Some(root),
            _ if adjoint == root => Some(self.graph.literal(1.0)),
            Node::Apply(Op::Mul, [a, b, _]) if depth > 0 => {
                if let Some(a) = self.divided_by_root(a, depth - 1) {
                    return Some(self.graph.mul(a, b));
                }
                let b = self.divided_by_root(b, depth - 1)?;
                Some(self.graph.mul(a, b))
            }
            Node::Apply(op @ (Op::Add | Op::Sub), [a, b, _]) if depth > 0 => {
                let [a, b] = [self.divided_by_root(a, depth - 1)?, self.divided_by_root(b, depth - 1)?];
                Some(self.graph.apply(op, &[a, b]))
            }
            Node::Apply(Op::Neg, [a, ..]) if depth > 0 => {
                let quotient = self.divided_by_root(a, depth - 1)?;
                Some(self.graph.neg(quotient))
            }
            Node::Literal(_) | Node::Input(_) | Node::Apply(..) => None,
        }
    }

    /// What comes of the adjoint, by a divisor.
    fn quotient(&mut self, adjoint: NodeId, divisor: NodeId) -> NodeId {
        if self.guarded {
            let one = self.graph.literal(1.0);
            let reciprocal = self.graph.div(one, divisor);
            self.graph.guarded_mul(adjoint, reciprocal)
        } else {
            self.graph.div(adjoint, divisor)
        }
    }

    fn scaled(&mut self, factor: f64, adjoint: NodeId) -> NodeId {
        let factor = self.graph.literal(factor);
        self.graph.mul(factor, adjoint)
    }

    fn one_plus_square(&mut self, a: NodeId) -> NodeId {
        let one = self.graph.literal(1.0);
        let square = self.graph.mul(a, a);
        self.graph.add(one, square)
    }

    /// 1 − a² as (1 − a)(1 + a), which loses nothing near a = ±1.
    fn unit_complement(&mut self, a: NodeId) -> NodeId {
        let one = self.graph.literal(1.0);
        let below = self.graph.sub(one, a);
        let above = self.graph.add(one, a);
        self.graph.mul(below, above)
    }

    fn unit_complement_root(&mut self, a: NodeId) -> NodeId {
        let complement = self.unit_complement(a);
        self.graph.sqrt(complement)
    }

    /// The adjoint where `one < other`, half of it where both are equal.
    fn where_less(&mut self, one: NodeId, other: NodeId) -> NodeId {
        let zero = self.graph.literal(0.0);
        let half = self.scaled(0.5, self.adjoint);
        let tie = self.graph.eq(one, other);
        let shared = self.graph.select(tie, half, zero);
        let less = self.graph.lt(one, other);
        self.graph.select(less, self.adjoint, shared)
    }
}
