//! The derivative of every op, one rule each, for whatever writes derivatives: graphs of numbers here, tensors elsewhere.

use crate::elementary;
use crate::graph::{Graph, Node, NodeId, Op};

/// How derivatives pass from an op to one of its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passage {
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
pub fn passage(op: Op, place: usize) -> Passage {
    match op {
        Op::Neg
        | Op::Abs
        | Op::Sqrt
        | Op::Norm
        | Op::InverseNorm
        | Op::Add
        | Op::Sub
        | Op::Mul
        | Op::Div
        | Op::Pow
        | Op::Mod => Passage::Open,
        elementary!(Op) => Passage::Open,
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
        | Op::Ge
        | Op::Lookup => Passage::Closed,
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
pub enum Slope {
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
        (elementary!(Op), _) => Some(Slope::Finite),
        (
            Op::Abs
            | Op::Norm
            | Op::InverseNorm
            | Op::Sign
            | Op::Floor
            | Op::Ceil
            | Op::Round
            | Op::StopGradient
            | Op::Div
            | Op::Pow
            | Op::Mod
            | Op::Eq
            | Op::Ne
            | Op::Lt
            | Op::Le
            | Op::Gt
            | Op::Ge
            | Op::Lookup,
            _,
        ) => Some(Slope::Finite),
    }
}

/// Products in products that are looked through for a factor: those of powers and of their seeds.
const DEEPEST: u32 = 6;

/// One application with the adjoint of its result.
#[derive(Clone, Copy)]
pub struct Application<V> {
    /// Those beyond the arity repeat another.
    pub operands: [V; 3],
    /// What it gives.
    pub result: V,
    /// What has come down to the result.
    pub adjoint: V,
}

/// What writes the derivative of one application: values are nodes of a graph, or tensors.
pub trait Derivation {
    /// A value.
    type Value: Copy + PartialEq;

    /// The application.
    fn application(&self) -> Application<Self::Value>;

    /// A number.
    fn number(&mut self, value: f64) -> Self::Value;

    /// An op on values. Outcomes of comparisons are taken by selections alone.
    fn apply(&mut self, op: Op, operands: &[Self::Value]) -> Self::Value;

    /// Whether the adjoint may be 0 by a selection, so that a product with it must stay 0.
    fn is_guarded(&self) -> bool;

    /// How large the adjoint may be where the result is 0.
    fn above(&self) -> Slope {
        Slope::Finite
    }

    /// The adjoint by the result, a root.
    fn adjoint_by_root(&mut self) -> Self::Value {
        let Application { result, adjoint, .. } = self.application();
        self.quotient(adjoint, result)
    }

    /// The adjoint by the divisor of a quotient.
    fn adjoint_by_divisor(&mut self) -> Self::Value {
        let Application { operands: [_, divisor, _], adjoint, .. } = self.application();
        self.quotient(adjoint, divisor)
    }

    /// The adjoint's share of the factor at a place.
    fn share_of_factor(&mut self, place: usize) -> Self::Value {
        let Application { operands, adjoint, .. } = self.application();
        self.product(adjoint, operands[1 - place])
    }

    /// The share of the operand at a place: adjoint · ∂op/∂operand, where the [`passage`] selects it. `None` where that is closed.
    fn pull_back(&mut self, op: Op, place: usize) -> Option<Self::Value> {
        let Application { operands: [a, b, _], result, adjoint } = self.application();
        let to_first = place == 0;
        Some(match op {
            Op::Neg => self.apply(Op::Neg, &[adjoint]),
            Op::Abs => self.times_of(adjoint, Op::Sign, a),
            // √a′ = 1/(2√a), infinite at 0.
            Op::Sqrt => {
                let quotient = self.adjoint_by_root();
                self.scaled(0.5, quotient)
            }
            Op::Norm => {
                let product = self.times_of(adjoint, Op::InverseNorm, a);
                self.scaled(0.5, product)
            }
            Op::InverseNorm => {
                // One factor after the other: for a vector of length l the cube alone would overflow f32 at l = 1e-13,
                // while the adjoint, which holds l, keeps the products within bounds.
                let mut product = self.scaled(-0.5, adjoint);
                for _ in 0..3 {
                    product = self.product(product, result);
                }
                product
            }
            Op::Exp => self.product(adjoint, result),
            Op::Log => self.quotient(adjoint, a),
            Op::Sin => self.times_of(adjoint, Op::Cos, a),
            Op::Cos => {
                let product = self.times_of(adjoint, Op::Sin, a);
                self.apply(Op::Neg, &[product])
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
                self.apply(Op::Neg, &[quotient])
            }
            Op::Atan => {
                let divisor = self.one_plus_square(a);
                self.quotient(adjoint, divisor)
            }
            Op::Sinh => self.times_of(adjoint, Op::Cosh, a),
            Op::Cosh => self.times_of(adjoint, Op::Sinh, a),
            Op::Tanh => {
                let partial = self.unit_complement(result);
                self.product(adjoint, partial)
            }
            Op::Sigmoid => {
                let one = self.number(1.0);
                let complement = self.apply(Op::Sub, &[one, result]);
                let partial = self.apply(Op::Mul, &[result, complement]);
                self.product(adjoint, partial)
            }
            Op::Softplus => self.times_of(adjoint, Op::Sigmoid, a),
            // 2/√π · e^(−a²)
            Op::Erf => {
                let square = self.apply(Op::Mul, &[a, a]);
                let negative = self.apply(Op::Neg, &[square]);
                let product = self.times_of(adjoint, Op::Exp, negative);
                self.scaled(std::f64::consts::FRAC_2_SQRT_PI, product)
            }
            Op::Add => adjoint,
            Op::Sub if to_first => adjoint,
            Op::Sub => self.apply(Op::Neg, &[adjoint]),
            // Of a square, once, so that the factor meets those of the adjoint, which all squares of a sum share.
            Op::Mul if a == b && !to_first => return None,
            Op::Mul if a == b => {
                let twice = self.scaled(2.0, adjoint);
                self.product(twice, a)
            }
            Op::Mul => self.share_of_factor(place),
            // (a/b)′ = −(a/b)/b
            Op::Div => {
                let by_divisor = self.adjoint_by_divisor();
                if to_first {
                    return Some(by_divisor);
                }
                // The result is 0 where the dividend is, and then whatever the slope above.
                let product = match self.above() {
                    Slope::Finite => self.product(by_divisor, result),
                    Slope::Logarithmic | Slope::Power => self.apply(Op::GuardedMul, &[result, by_divisor]),
                };
                self.apply(Op::Neg, &[product])
            }
            // The guard keeps 0·∞ out of a⁰ at a = 0; and with b − 1 in the exponent a may be 0, where aᵇ/a would be NaN.
            Op::Pow if to_first => {
                let one = self.number(1.0);
                let exponent = self.apply(Op::Sub, &[b, one]);
                let power = self.apply(Op::Pow, &[a, exponent]);
                let partial = self.apply(Op::GuardedMul, &[b, power]);
                match self.above() {
                    Slope::Finite | Slope::Power => self.product(adjoint, partial),
                    Slope::Logarithmic => self.apply(Op::GuardedMul, &[partial, adjoint]),
                }
            }
            // 0ᵇ is 0 for all b > 0, whatever the logarithm of 0, and less than that and any slope make infinite.
            Op::Pow => {
                let logarithm = self.apply(Op::Log, &[a]);
                let partial = self.apply(Op::GuardedMul, &[result, logarithm]);
                match self.above() {
                    Slope::Finite => self.product(adjoint, partial),
                    Slope::Logarithmic | Slope::Power => self.apply(Op::GuardedMul, &[partial, adjoint]),
                }
            }
            Op::Mod => self.share_of_remainder(place),
            // The angle of (x, y), operands in the order y, x: ∂/∂y = x/(x² + y²), ∂/∂x = −y/(x² + y²).
            Op::Atan2 => {
                let (y_square, x_square) = (self.apply(Op::Mul, &[a, a]), self.apply(Op::Mul, &[b, b]));
                let square = self.apply(Op::Add, &[y_square, x_square]);
                let by_square = self.quotient(adjoint, square);
                if to_first {
                    self.product(by_square, b)
                } else {
                    let product = self.product(by_square, a);
                    self.apply(Op::Neg, &[product])
                }
            }
            Op::Min if to_first => self.where_less(a, b),
            Op::Min => self.where_less(b, a),
            Op::Max if to_first => self.where_less(b, a),
            Op::Max => self.where_less(a, b),
            Op::GuardedMul if to_first => self.product(adjoint, b),
            Op::GuardedMul => self.apply(Op::GuardedMul, &[a, adjoint]),
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
            | Op::Ge
            | Op::Lookup => return None,
        })
    }

    /// The share of an operand of a remainder a − b·n with a whole n; rounding takes off what the division left of it.
    fn share_of_remainder(&mut self, place: usize) -> Self::Value {
        let Application { operands: [a, b, _], result, adjoint } = self.application();
        if place == 0 {
            return adjoint;
        }
        let multiple = self.apply(Op::Sub, &[a, result]);
        let quotient = self.apply(Op::Div, &[multiple, b]);
        let product = self.times_of(adjoint, Op::Round, quotient);
        self.apply(Op::Neg, &[product])
    }

    /// What comes of the adjoint, times a factor.
    fn product(&mut self, adjoint: Self::Value, factor: Self::Value) -> Self::Value {
        let op = if self.is_guarded() { Op::GuardedMul } else { Op::Mul };
        self.apply(op, &[adjoint, factor])
    }

    /// What comes of the adjoint, times a function of a value.
    fn times_of(&mut self, adjoint: Self::Value, function: Op, a: Self::Value) -> Self::Value {
        let factor = self.apply(function, &[a]);
        self.product(adjoint, factor)
    }

    /// What comes of the adjoint, by a divisor.
    fn quotient(&mut self, adjoint: Self::Value, divisor: Self::Value) -> Self::Value {
        if !self.is_guarded() {
            return self.apply(Op::Div, &[adjoint, divisor]);
        }
        let one = self.number(1.0);
        let reciprocal = self.apply(Op::Div, &[one, divisor]);
        self.product(adjoint, reciprocal)
    }

    /// A number times a value.
    fn scaled(&mut self, factor: f64, a: Self::Value) -> Self::Value {
        let factor = self.number(factor);
        self.apply(Op::Mul, &[factor, a])
    }

    /// 1 + a²
    fn one_plus_square(&mut self, a: Self::Value) -> Self::Value {
        let one = self.number(1.0);
        let square = self.apply(Op::Mul, &[a, a]);
        self.apply(Op::Add, &[one, square])
    }

    /// 1 − a² as (1 − a)(1 + a), which loses nothing near a = ±1.
    fn unit_complement(&mut self, a: Self::Value) -> Self::Value {
        let one = self.number(1.0);
        let below = self.apply(Op::Sub, &[one, a]);
        let above = self.apply(Op::Add, &[one, a]);
        self.apply(Op::Mul, &[below, above])
    }

    /// √(1 − a²)
    fn unit_complement_root(&mut self, a: Self::Value) -> Self::Value {
        let complement = self.unit_complement(a);
        self.apply(Op::Sqrt, &[complement])
    }

    /// The adjoint where `one < other`, half of it where both are equal.
    fn where_less(&mut self, one: Self::Value, other: Self::Value) -> Self::Value {
        let adjoint = self.application().adjoint;
        let half = self.scaled(0.5, adjoint);
        let tie = self.apply(Op::Eq, &[one, other]);
        let zero = self.number(0.0);
        let shared = self.apply(Op::Select, &[tie, half, zero]);
        let less = self.apply(Op::Lt, &[one, other]);
        self.apply(Op::Select, &[less, adjoint, shared])
    }
}

/// An application in a graph.
pub(super) struct InGraph<'graph> {
    pub graph: &'graph mut Graph,
    pub application: Application<NodeId>,
    /// Whether each operand depends on what is differentiated by.
    pub are_active: [bool; 3],
    pub guarded: bool,
    pub above: Slope,
}

impl Derivation for InGraph<'_> {
    type Value = NodeId;

    fn application(&self) -> Application<NodeId> {
        self.application
    }

    fn number(&mut self, value: f64) -> NodeId {
        self.graph.literal(value)
    }

    fn apply(&mut self, op: Op, operands: &[NodeId]) -> NodeId {
        self.graph.apply(op, operands)
    }

    fn is_guarded(&self) -> bool {
        self.guarded
    }

    fn above(&self) -> Slope {
        self.above
    }

    fn adjoint_by_root(&mut self) -> NodeId {
        let Application { result, adjoint, .. } = self.application;
        self.divided_by_root(adjoint, DEEPEST).unwrap_or_else(|| self.quotient(adjoint, result))
    }

    /// By the inverse, which is one for all that is divided by b, and computed once where b is the same for all residuals.
    fn adjoint_by_divisor(&mut self) -> NodeId {
        let Application { operands: [_, divisor, _], adjoint, .. } = self.application;
        let one = self.graph.literal(1.0);
        let inverse = self.graph.div(one, divisor);
        self.product(adjoint, inverse)
    }

    /// The adjoint times the other factor. Below a slope that may be infinite it is 0 where the other factor is 0: where that
    /// depends on nothing the product is constant, and where this factor is not 0 the product of slope and other factor goes to 0 with it. Where both
    /// are 0 there is no limit.
    fn share_of_factor(&mut self, place: usize) -> NodeId {
        let Application { operands, adjoint, .. } = self.application;
        let (own, other) = (operands[place], operands[1 - place]);
        let product = self.product(adjoint, other);
        let is_number = self.graph.literal_value(other).is_some_and(|value| value != 0.0);
        if self.above == Slope::Finite || is_number {
            return product;
        }
        let zero = self.graph.literal(0.0);
        let at_zero = if self.are_active[1 - place] { self.graph.select(own, zero, product) } else { zero };
        self.graph.select(other, product, at_zero)
    }
}

impl InGraph<'_> {
    /// The adjoint divided by the result, a root, if it is a product with the root or what that is taken of as a factor, or a sum of such: then its limit at 0
    /// is a number.
    fn divided_by_root(&mut self, adjoint: NodeId, depth: u32) -> Option<NodeId> {
        let (root, square) = (self.application.result, self.application.operands[0]);
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
            Node::Literal(_) | Node::Input(_) | Node::Apply(..) | Node::Result(..) => None,
        }
    }
}
